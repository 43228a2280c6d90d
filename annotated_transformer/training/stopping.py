"How a training ends before its last update: after a signal, or when numbers have left their range."
import signal

import torch
from torch import nn

from .. import InputError
from .checkpoints import newest_checkpoint
from .processes import STOPPED, Group, Stopped
from .runs import Run

__all__ = ["all_finite", "refuse_to_go_on", "stopped"]


def stopped(run: Run, step: int, number: int, group: Group) -> BaseException:
    "How a process ends after a signal, when the checkpoint is written; the leader alone speaks."
    if group.rank:
        return SystemExit(STOPPED if number == signal.SIGTERM else 130)
    return Stopped(f"{run} is saved at step {step:,}") if number == signal.SIGTERM else KeyboardInterrupt()


def all_finite(
    model: nn.Module,
) -> bool:
    "Whether every weight is a number and finite."
    return bool(torch.stack([p.detach().isfinite().all() for p in model.parameters()]).all())


def refuse_to_go_on(run: Run, step: int) -> None:
    "InputError: numbers have left the range, and from which checkpoint one can start again."
    found = newest_checkpoint(run.directory)
    raise InputError(
        f"{run}: by update {step} the loss or a weight has become infinite or no number; nothing of it was written, "
        f"and {f'{found.name} is the last checkpoint' if found else 'there is no checkpoint yet'}. "
        "Start another run with a lower --rate-factor, more --warmup-steps, or --clip-norm 1"
    )
