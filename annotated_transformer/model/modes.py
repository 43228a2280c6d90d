"A model without dropout for a while, whatever its mode: what measures, translates or records by it needs that."
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from weakref import WeakKeyDictionary

import torch
from torch import nn

__all__ = ["evaluating"]

LOCK = threading.Lock()
WITHIN: WeakKeyDictionary[nn.Module, tuple[int, bool]] = WeakKeyDictionary()  # how many, and the mode before the first came


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Without dropout and gradients; afterwards the model is in its former mode, also after an error.

    Several threads may be within at a time; the last one that leaves puts the mode back.
    """
    with LOCK:
        others, training = WITHIN.get(model, (0, model.training))
        WITHIN[model] = others + 1, training
        model.eval()
    try:
        with torch.inference_mode():
            yield
    finally:
        with LOCK:
            within, training = WITHIN.pop(model)
            if within > 1:
                WITHIN[model] = within - 1, training
            else:
                model.train(training)
