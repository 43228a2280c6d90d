"How many tokens fit on a device at a time, determined before the first update: larger batches are accumulated."
import gc
import logging
import math
from collections.abc import Callable
from dataclasses import replace

import torch
from torch import nn

from .. import InputError
from ..config import Execution, TrainingConfig
from ..environment import allowed_memory, processes_here
from .processes import Group

__all__ = ["LEAST", "fitting", "may_run_out", "warn_of_memory"]

LEAST = 64  # positions at a time below which searching further is useless: a single sentence may be as long


def may_run_out(device: torch.device) -> bool:
    "Whether the device reports that its memory is full. On a CPU the system does not: it ends the process."
    return device.type == "cuda"


def fitting(
    execution: Execution,
    batch_tokens: int,
    group: Group,
    rehearse: Callable[[int], object],  # runs the passes of an update in this many parts, without updating or exchanging
) -> Execution:
    "The same, with `device_tokens` halved until no process runs out of memory. All processes use the same value."
    while True:
        out_of_memory = False
        try:
            rehearse(execution.parts(batch_tokens, group.size))
        except torch.OutOfMemoryError:
            out_of_memory = True
        if out_of_memory:  # here no traceback keeps the tensors alive any more
            gc.collect()
            torch.cuda.empty_cache()
        if not group.highest(out_of_memory)[0]:
            return execution
        taken = math.ceil(batch_tokens / execution.parts(batch_tokens, group.size))
        half = math.ceil(taken / 2)
        if half < LEAST:
            raise InputError(f"not even {taken} tokens at a time fit into the memory of the device: choose a smaller model")
        execution = replace(execution, device_tokens=half)
        if group.rank == 0:
            parts = execution.parts(batch_tokens, group.size) // group.size
            logging.getLogger(__name__).warning(
                "%d tokens at a time do not fit into the memory of the device: going on with --device-tokens %d, "
                "so each process adds up the gradients of %d parts", taken, half, parts,
            )


def warn_of_memory(
    config: TrainingConfig,
    execution: Execution,   # with every choice made
    model: nn.Module,
    n_parts: int,           # the number of parts into which all processes together cut a batch
    tokens: int,            # of the training split, both sides
    own_loss: bool = False, # a user's loss takes the logits of all positions; ours takes some at a time
) -> None:
    """Warn if an update on a CPU needs more memory than this process may use: the system would end it without a word.

    Python and PyTorch take a quarter of a GiB; a weight with its gradient and Adam's two means takes 16 bytes, a frozen weight 4
    (in the embedding 8: the loss computes its gradient anyway, which is not counted here). What the backward
    pass needs for a source and a target token together was measured for tiny, base and parsing: in float32 it is within
    a fifth of this. In bfloat16 it is three quarters: what the LayerNorms and sums keep stays in float32.
    """
    c, there = config.model, allowed_memory()
    if there is not None:
        there //= processes_here()
    fixed = 2**28 + sum((16 if weight.requires_grad else 4) * weight.numel() for weight in model.parameters())
    each = c.n_layers * (38 * c.d_model + 2 * c.d_ff) * (3 if execution.precision == "bfloat16" else 4)
    each += 12 * c.vocab_size if own_loss else 0
    each *= 2 if config.consistency else 1  # two draws of dropout
    needed = fixed + each * min(math.ceil(config.batch_tokens / n_parts), tokens // 2)
    if there is None or needed <= there:
        return
    fewer = (there - fixed) // (2 * each)  # leaves as much again for other programs
    advice = f"--device-tokens {fewer} takes a batch in parts" if fewer >= LEAST else "choose a smaller model"
    logging.getLogger(__name__).warning("an update takes some %.1f GiB of memory, and this process may take %.1f: the system "
                                        "may end it without a word; %s", needed / 2**30, there / 2**30, advice)
