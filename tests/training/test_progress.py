"Tests of training.progress."
import dataclasses
import json
import signal
from contextlib import ExitStack
from unittest.mock import Mock, patch

import pytest
import torch

from annotated_transformer.config import PRESETS
from annotated_transformer.training.processes import Group
from annotated_transformer.training.progress import Meter, Reporter, Schedule
from annotated_transformer.training.runs import Run


def test_the_mean_counts_each_token_once_and_the_clock_stands_while_the_run_saves():
    state = dict.fromkeys(("step", "epoch", "batch", "source_tokens", "target_tokens", "seconds", "device_seconds"), 0)
    now = 100.0
    with patch("time.perf_counter", lambda: now):
        watch = Mock(**{"line.return_value": {}})
        meter = Meter(state, Group(torch.device("cpu"), size=1), watch)
        for step, (share, tokens) in enumerate([(4.0, 10), (1.0, 30)], 1):
            meter.add(torch.tensor(share), 7, tokens, step=step, epoch=0, batch=step)
        now += 2
        assert meter.read() == 70.0                                # 4 · 10 + 1 · 30
        meter.go_on()
        assert meter.read() == 0.0                                 # what was read is not read again
        assert (state["step"], state["batch"], state["source_tokens"], state["target_tokens"], state["seconds"]) == (2, 2, 14, 40, 2)
        now += 100                                                 # the run saves
        meter.go_on()
        meter.add(torch.tensor(2.0), 1, 5, step=3, epoch=0, batch=3)
        now += 3
        assert meter.read() == 10.0 and state["seconds"] == 5
        assert meter.line()["loss"] == 80 / 45
        meter.add(torch.tensor(3.0), 1, 5, step=4, epoch=0, batch=4)
        now += 1
        meter.read()
        assert meter.line()["loss"] == 3.0                         # since the last line
        assert [name for name, *_ in watch.method_calls] == ["updated", "updated", "go_on", "go_on", "updated", "line", "updated", "line"]


def test_a_checkpoint_is_due_in_its_turn_at_the_end_and_after_a_signal():
    config = dataclasses.replace(PRESETS["demo"], steps=30, log_every=10, validate_every=15, checkpoint_every=20)
    group, received = Group(torch.device("cpu")), []
    schedule = Schedule(config, group, received)
    saved = {step: due for step in range(1, 31) if (due := schedule.due(step)) and due.save}
    assert list(saved) == [20, 30] and (saved[20].regular, saved[30].regular) == (True, False)
    assert not any(due.stop for due in saved.values())
    others = {step: due for step in range(1, 31) if (due := schedule.due(step))}
    assert [step for step, due in others.items() if due.line] == [10, 20, 30]
    assert [step for step, due in others.items() if due.measure] == [15, 30] and list(others) == [10, 15, 20, 30]
    received.append(signal.SIGTERM)
    due = schedule.due(7)
    assert due.save and not due.regular and due.stop == signal.SIGTERM and not due.line
    assert schedule.due(30).stop is None                           # it has ended by itself, the program has not
    for numbers, answered in (([signal.SIGTERM], signal.SIGTERM), ([signal.SIGINT], signal.SIGINT),
                              ([signal.SIGINT, signal.SIGTERM], signal.SIGTERM)):
        with pytest.raises(SystemExit) as ended:
            Schedule(config, group, numbers).leave(SystemExit)
        assert ended.value.code == answered
    Schedule(config, group, []).leave(SystemExit)
    minutes = Schedule(dataclasses.replace(config, checkpoint_every=None, checkpoint_minutes=10.0), group, [])
    assert minutes.due(7) is None
    minutes.saved -= 601
    due = minutes.due(7)
    assert due.save and due.regular
    minutes.has_saved(due)
    assert minutes.due(8) is None


def test_several_processes_hear_of_a_signal_at_the_next_update_and_nobody_waits_for_it():
    config = dataclasses.replace(PRESETS["demo"], steps=30, log_every=100, validate_every=100, checkpoint_every=20)
    config = dataclasses.replace(config, checkpoint_minutes=10.0)
    asked, others, group = [], [0, 0, 0], Group(torch.device("cpu"), rank=0, size=2)

    def highest_later(self, *wishes):
        asked.append(wishes)
        answer = [max(pair) for pair in zip(wishes, others)]
        return lambda: answer

    with patch.object(Group, "highest_later", highest_later), patch.object(Group, "highest", lambda *_: 1 / 0):
        schedule = Schedule(config, group, received := [])
        assert schedule.due(1) is None and schedule.due(2) is None and len(asked) == 2
        schedule.saved -= 601                                      # ten minutes are over
        assert schedule.due(3) is None
        due = schedule.due(4)
        assert due.save and due.regular and due.stop is None and asked[-1][2] is False, "asked once"
        schedule.has_saved(due)
        assert schedule.due(5) is None
        schedule.saved -= 601
        assert schedule.due(19) is None and schedule.due(20).regular  # the minutes and the updates: one checkpoint for both
        schedule.has_saved(due)
        assert schedule.due(21) is None
        others[0] = 1                                              # another process gets SIGTERM
        assert schedule.due(22) is None
        before = len(asked)
        due = schedule.due(23)
        assert due.save and not due.regular and due.stop == signal.SIGTERM and len(asked) == before, "nothing is on the way"
        others[0] = 0
        received.append(signal.SIGINT)
        schedule = Schedule(config, group, received)
        assert schedule.due(7) is None and schedule.due(8).stop == signal.SIGINT
        before = len(asked)
        assert schedule.due(30).save and len(asked) == before      # the last update: nobody asks any more
        another = patch.object(Group, "highest", lambda self, *wishes: [1.0, *wishes[1:]])  # got SIGTERM meanwhile
        with another, pytest.raises(SystemExit) as ended:
            schedule.leave(SystemExit)
        assert ended.value.code == signal.SIGTERM


def test_what_is_told_stands_in_the_metrics(tmp_path):
    state = {"step": 5, "epoch": 1, "seconds": 2.0}
    with ExitStack() as stack:
        reporter = Reporter(Run(tmp_path), PRESETS["demo"], state, Group(torch.device("cpu")), stack)
        reporter.line(loss=1.5, target_tokens_per_second=90.0, learning_rate=0.25)
        reporter.measure(1.25, 3.0)
        one, two = (json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines())
    assert one == state | {"loss": 1.5, "learning_rate": 0.25, "target_tokens_per_second": 90.0}
    assert two == state | {"validation_loss": 1.25, "validation_perplexity": 3.0}
