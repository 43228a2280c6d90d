"How many tokens a device takes at a time, found out before the first update: what does not fit is accumulated."
import gc
import logging
import math
from collections.abc import Callable
from dataclasses import replace

import torch

from .. import InputError
from ..config import Execution
from .processes import Group

__all__ = ["LEAST", "fitting", "may_run_out"]

LEAST = 64  # positions at a time below which it is no use to look further: a single sentence may be as long


def may_run_out(device: torch.device) -> bool:
    "Whether it says so when its memory is full. A CPU's system does not: it ends the process."
    return device.type == "cuda"


def fitting(
    execution: Execution,
    batch_tokens: int,
    group: Group,
    rehearse: Callable[[int], object],  # the passes of one update in so many parts, without the update and without an exchange
) -> Execution:
    "The same, with `device_tokens` halved until no process runs out of memory. All processes take the same."
    while True:
        out_of_memory = False
        try:
            rehearse(execution.parts(batch_tokens, group.size))
        except torch.OutOfMemoryError:
            out_of_memory = True
        if out_of_memory:  # out here no traceback holds the tensors any more
            gc.collect()
            if group.device.type == "cuda":
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
