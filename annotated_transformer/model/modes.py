"A model without dropout for a while, whatever its mode: what measures, translates or records by it needs that."
from collections.abc import Iterator
from contextlib import contextmanager
from weakref import WeakKeyDictionary

import torch
from torch import nn

from ..threads import OneThread, one_thread_after_fork

__all__ = ["evaluating"]

LOCK = OneThread()  # of its own: who evaluates shall not wait for who loads
Modes = list[tuple[nn.Module, bool]]  # of all parts, the model itself first
WITHIN: WeakKeyDictionary[nn.Module, tuple[int, Modes]] = WeakKeyDictionary()  # how many, and the modes before the first came


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Without dropout and gradients; afterwards each part of the model is in its former mode, also after an error.

    Several threads may be within at a time; the last one that leaves puts the modes back.
    """
    one_thread_after_fork()  # also here: a model need not be loaded by `filled`
    with LOCK.lock:
        others, modes = WITHIN.get(model) or (0, [(part, part.training) for part in model.modules()])
        WITHIN[model] = others + 1, modes
        model.eval()
    try:
        with torch.inference_mode():
            yield
    finally:
        with LOCK.lock:
            within, modes = WITHIN.pop(model)
            if within > 1:
                WITHIN[model] = within - 1, modes
            else:
                model.train(modes[0][1])  # before the others: a part may have a `train` of its own
                for part, training in modes:
                    if part.training != training:  # a part that is frozen, say
                        part.training = training
