"What is due after an update (a line, validation, a checkpoint), and how it is counted and reported; no update depends on it."
import signal
import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any, NamedTuple

import numpy as np
from torch import Tensor

from ..config import TrainingConfig
from ..progress_bar import progress_bar
from .metrics import Metrics
from .processes import Group
from .runs import Run
from .watch import Watch

__all__ = ["Due", "Schedule", "Meter", "Reporter"]


class Due(NamedTuple):
    "What is due after an update."

    line: bool        # of metrics.jsonl
    measure: bool     # on the validation split
    save: bool
    regular: bool     # a scheduled checkpoint, not one because of a signal
    stop: int | None  # the signal that ends the run


def signal_of(terminated: float, interrupted: float) -> int | None:
    "The signal to act on."
    return signal.SIGTERM if terminated else signal.SIGINT if interrupted else None


class Schedule:
    "Decides what is due; all processes get the same answer."

    def __init__(self, config: TrainingConfig, group: Group, received: list[int]):
        self.config, self.group, self.received = config, group, received
        self.saved = time.perf_counter()
        self.asked: Callable[[], list[float]] | None = None  # the answer to the question sent after the last update

    def due(self, step: int) -> Due | None:
        "What is due after this update; None: nothing."
        c = self.config
        by_steps = c.checkpoint_every is not None and step % c.checkpoint_every == 0
        minutes = (time.perf_counter() - self.saved) / 60
        by_minutes = c.checkpoint_minutes is not None and minutes > c.checkpoint_minutes
        last = step == c.steps
        terminated, interrupted, by_minutes = self.agreed(
            signal.SIGTERM in self.received, signal.SIGINT in self.received, by_minutes and not by_steps, last,
        )
        regular = by_steps or by_minutes
        stop = signal_of(terminated, interrupted)
        due = Due(
            line=step % c.log_every == 0, measure=last or step % c.validate_every == 0,
            save=last or regular or stop is not None, regular=regular, stop=None if last else stop,
        )
        return due if due.line or due.measure or due.save else None

    def agreed(self, terminated: bool, interrupted: bool, by_minutes: bool, last: bool) -> list[bool]:
        "Signals to any process and the leader's clock; with several processes, as of the update before, so that nobody waits."
        if self.group.size == 1:
            return [terminated, interrupted, by_minutes]
        found = [False] * 3 if self.asked is None else [bool(wish) for wish in self.asked()]
        over = last or found[0] or found[1]  # then nobody asks again: all leave with no message in flight
        wishes = terminated, interrupted, by_minutes and not found[2] and self.group.rank == 0
        self.asked = None if over else self.group.highest_later(*wishes)
        return found

    def leave(self, stopped: Callable[[int], BaseException]) -> None:
        """Wait for pending answers, so that all leave with no message in flight, even if `watch` ended the training.

        A signal that came too late to be answered by an update still ends the program: it may have more to train."""
        if self.asked is not None:
            self.asked()
        if late := signal_of(*self.group.highest(signal.SIGTERM in self.received, signal.SIGINT in self.received)):
            raise stopped(late)

    def has_saved(self, due: Due) -> None:
        "Count the minutes until the next checkpoint from here."
        if due.regular:
            self.saved = time.perf_counter()


class Meter:
    "Adds up losses, tokens and seconds. Losses stay on the device until they are read, since reading waits for the device."

    def __init__(self, state: dict, group: Group, watch: Watch):
        self.state, self.group, self.watch = state, group, watch
        self.unread: Tensor | float = 0.0  # loss of all tokens since it was last read, on the device
        # Since the last line of metrics.jsonl. Checkpoints keep it, so that a resumed run writes the same next line.
        self.since = state.setdefault("since_line", {"loss": 0.0, "tokens": 0, "seconds": 0.0})
        self.clock = time.perf_counter()

    def add(self, share: Tensor, source_tokens: int, tokens: int, lengths: np.ndarray | None = None, **place: int) -> None:
        "Count another update and the run's position after it."
        self.watch.updated(lengths)
        self.unread = self.unread + share * tokens
        self.since["tokens"] += tokens
        self.state.update(place)
        self.state["source_tokens"] += source_tokens
        self.state["target_tokens"] += tokens

    def read(self) -> float:
        "Read the loss of all tokens since the last reading, over all processes, and the clock."
        loss, = self.group.total(float(self.unread))
        seconds = time.perf_counter() - self.clock
        self.state["seconds"] += seconds
        self.state["device_seconds"] += self.group.size * seconds
        self.since["seconds"] += seconds
        self.since["loss"] += loss
        self.unread = 0.0
        return loss

    def line(self) -> dict[str, float]:
        "Mean loss and speed since the last line, and whatever else was watched."
        loss, tokens, seconds = (self.since[name] for name in ("loss", "tokens", "seconds"))
        self.since.update(loss=0.0, tokens=0, seconds=0.0)
        return {"loss": loss / tokens, "target_tokens_per_second": round(tokens / seconds, 1), **self.watch.line()}

    def go_on(self) -> None:
        "Restart the clock: validation and saving are not training time."
        self.watch.go_on()
        self.clock = time.perf_counter()


def is_true(answer: object) -> bool:
    "Whether this is True, including NumPy's and PyTorch's. A number or a list that a function happens to return is not."
    return (answer.item() if getattr(answer, "ndim", None) == 0 else answer) is True


class Reporter:
    "What a run reports: metrics.jsonl and curves, both written by the leader, and the progress bar."

    def __init__(
        self, run: Run, config: TrainingConfig, state: dict, group: Group, stack: ExitStack,
        watch: Callable[[dict], Any] | None = None,  # gets each line
    ):
        self.state, self.group, self.watch, self.unseen = state, group, watch, []
        self.watched = bool(group.highest(group.rank == 0 and watch is not None)[0])  # other processes may not have one
        self.metrics = group.lead(lambda: stack.enter_context(Metrics(run.directory, state["step"])))
        named = {"unit": "step", "desc": run.directory.name, "dynamic_ncols": True, "shown": group.rank == 0}
        self.bar = stack.enter_context(progress_bar(total=config.steps, initial=state["step"], **named))

    def record(self, **values: float | dict) -> None:
        "Let the leader write a line, which `watch` will see."
        self.unseen.append(self.metrics.record(self.state, **values))

    def enough(self) -> bool:
        "Show `watch` the new lines, in the leader, and return whether it wants the training to end; all get the same answer."
        lines, self.unseen = self.unseen, []
        if not self.watched:
            return False
        answers = self.group.lead(lambda: [is_true(self.watch(line)) for line in lines])
        return bool(self.group.highest(any(answers or []))[0])

    def line(self, loss: float, target_tokens_per_second: float, learning_rate: float, **watched) -> None:
        "Report the updates since the last line."
        speed = {"target_tokens_per_second": target_tokens_per_second, **watched}
        self.group.lead(lambda: self.record(loss=loss, learning_rate=learning_rate, **speed))
        share = f", {watched['share_of_peak']:.0%} of peak" if "share_of_peak" in watched else ""
        self.bar.set_postfix_str(f"loss {loss:.3f}, {target_tokens_per_second:,.0f} tokens/s{share}")
        for step, seconds in watched.get("slow_updates", {}).items() if not self.bar.disable else ():
            self.bar.write(f"step {step:,} took {seconds:.3f} s; the median is {watched['seconds_per_update']:.3f} s")

    def measure(self, loss: float, perplexity: float) -> None:
        "Report a measurement on the validation split."
        values = {"validation_loss": loss, "validation_perplexity": perplexity}
        self.group.lead(lambda: self.record(**values))
        if not self.bar.disable:
            self.bar.write(f"step {self.state['step']:,}: validation perplexity {perplexity:.3f}")
