"A model without dropout for a while, whatever its mode: measuring, translating and recording need that."
from collections.abc import Iterator
from contextlib import contextmanager
from weakref import WeakKeyDictionary

import torch
from torch import nn

from ..threads import OneThread, one_thread_after_fork

__all__ = ["evaluating"]

LOCK = OneThread()  # a separate lock: evaluating should not wait for loading
Modes = list[tuple[nn.Module, bool]]  # of all parts, the model itself first
WITHIN: WeakKeyDictionary[nn.Module, tuple[set[object], Modes]] = WeakKeyDictionary()  # who is within, and the modes before


def enter(model: nn.Module, who: object) -> None:
    "Take every part out of training mode."
    with LOCK.lock:
        others, modes = WITHIN.get(model) or (set(), [(part, part.training) for part in model.modules()])
        WITHIN[model] = {*others, who}, modes
        model.eval()


def leave(model: nn.Module, who: object) -> None:
    "The last one restores the modes. After an interruption it can be called again."
    with LOCK.lock:
        there, modes = WITHIN.get(model) or (set(), [])
        if there == {who}:
            model.train(modes[0][1])  # before the others: a part may define its own `train`
            for part, training in modes:
                if part.training != training:  # for example a frozen part
                    part.training = training
            del WITHIN[model]
        elif who in there:
            WITHIN[model] = there - {who}, modes


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Without dropout and gradients; afterwards each part of the model is back in its former mode, even after an error.

    Several threads may be within at a time; the last one to leave restores the modes.
    """
    one_thread_after_fork()  # needed here too: a model need not be loaded by `filled`
    who = object()
    try:
        enter(model, who)
        with torch.inference_mode():
            yield
    finally:
        try:
            leave(model, who)
        except BaseException:  # Ctrl-C, or another exception from a signal, while the parts change their modes
            leave(model, who)
            raise
