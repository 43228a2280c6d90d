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
WITHIN: WeakKeyDictionary[nn.Module, tuple[set[object], Modes]] = WeakKeyDictionary()  # who, and the modes before the first came


def enter(model: nn.Module, who: object) -> None:
    "No part is in training any more."
    with LOCK.lock:
        others, modes = WITHIN.get(model) or (set(), [(part, part.training) for part in model.modules()])
        WITHIN[model] = {*others, who}, modes
        model.eval()


def leave(model: nn.Module, who: object) -> None:
    "The last one puts the modes back. What an interruption broke off can be done anew."
    with LOCK.lock:
        there, modes = WITHIN.get(model) or (set(), [])
        if there == {who}:
            model.train(modes[0][1])  # before the others: a part may have a `train` of its own
            for part, training in modes:
                if part.training != training:  # a part that is frozen, say
                    part.training = training
            del WITHIN[model]
        elif who in there:
            WITHIN[model] = there - {who}, modes


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Without dropout and gradients; afterwards each part of the model is in its former mode, also after an error.

    Several threads may be within at a time; the last one that leaves puts the modes back.
    """
    one_thread_after_fork()  # also here: a model need not be loaded by `filled`
    who = object()
    try:
        enter(model, who)
        with torch.inference_mode():
            yield
    finally:
        try:
            leave(model, who)
        except BaseException:  # Ctrl-C, or what else a signal raises, while the parts change their modes
            leave(model, who)
            raise
