"How training ends before its last update: after a signal, or when numbers have left their range."
import math
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import torch
from torch import nn

from .. import InputError
from .checkpoints import newest_checkpoint
from .evaluation import Evaluation
from .processes import Group, Stopped
from .runs import Run

__all__ = ["STOPPED", "Stopped", "all_finite", "noted_signals", "refuse_to_go_on", "require_finite", "stopped"]

STOPPED = 75  # exit status after SIGTERM, with a checkpoint written: sysexits.h calls it a temporary failure, to be tried again


@contextmanager
def noted_signals(
    alone: bool,  # the only process; several would all get the same Ctrl-C
) -> Iterator[list[int]]:
    "Record SIGTERM and SIGINT in a list instead of ending the process; a closed terminal (SIGHUP) counts as SIGTERM."
    received: list[int] = []

    def note(number, frame):
        if number == signal.SIGINT in received and alone:
            raise KeyboardInterrupt
        received.append(signal.SIGINT if number == signal.SIGINT else signal.SIGTERM)

    if threading.current_thread() is not threading.main_thread():  # there Python does not allow signal handlers
        yield received
        return
    numbers = [signal.SIGTERM, signal.SIGINT]
    if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:  # nohup ignores it
        numbers.append(signal.SIGHUP)
    before = {number: signal.signal(number, note) for number in numbers}
    try:
        yield received
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def stopped(run: Run, step: int, number: int, group: Group) -> BaseException:
    "How a process ends after a signal, once the checkpoint is written; only the leader prints a message."
    if group.rank:
        return SystemExit(STOPPED if number == signal.SIGTERM else 130)
    return Stopped(f"{run} is saved at step {step:,}") if number == signal.SIGTERM else KeyboardInterrupt()


def all_finite(model: nn.Module) -> bool:
    "Whether every weight is finite."
    return bool(torch.stack([p.detach().isfinite().all() for p in model.parameters()]).all())


def refuse_to_go_on(run: Run, step: int) -> None:
    "InputError saying that numbers have left their range, and from which checkpoint one can start again."
    found = newest_checkpoint(run.directory)
    raise InputError(
        f"{run}: by update {step} the loss or a weight has become infinite or NaN; none of it was written, "
        f"and {f'{found.name} is the last checkpoint' if found else 'there is no checkpoint yet'}. "
        "Start another run with a lower --rate-factor, more --warmup-steps, or --clip-norm 1"
    )


def require_finite(measured: Evaluation, run: Run, step: int, group: Group) -> Evaluation:
    "Return it, in all processes. InputError if it is not finite: finite weights may be so large that their products are not."
    if not math.isfinite(measured.loss):
        group.lead(partial(refuse_to_go_on, run, step))
    return measured
