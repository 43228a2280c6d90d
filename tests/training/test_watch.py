"Tests of training.watch."
import dataclasses
import json
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn

from annotated_transformer.config import PRESETS
from annotated_transformer.tables.training_cost import training_flops
from annotated_transformer.training import watch
from annotated_transformer.training.processes import Group
from annotated_transformer.training.watch import Gpu, Watch, peak_of

CPU = torch.device("cpu")


@pytest.fixture
def clock(monkeypatch):
    "A GPU's marks note the time that it is."
    clock = SimpleNamespace(now=0.0)

    def mark():
        now = clock.now
        return SimpleNamespace(time=now, elapsed_time=lambda end: 1e3 * (end.time - now))

    monkeypatch.setattr(watch, "mark", mark)
    return clock


def test_each_update_is_timed_slow_ones_are_named_and_saving_does_not_count(clock):
    config = dataclasses.replace(PRESETS["demo"], log_every=10)
    gpu = Gpu(config, Group(CPU, size=2), 40, lambda lengths: float(lengths.sum()), peak=50.0)
    for step in range(41, 51):
        clock.now += 3.0 if step == 47 else 0.5
        gpu.updated(np.array([[10, 5]]))
        if step == 44:  # a validation
            gpu.read()
            clock.now += 100
            gpu.go_on()
    said = gpu.line()
    assert said["slow_updates"] == {47: 3.0} and said["seconds_per_update"] == 0.5
    assert said["share_of_peak"] == pytest.approx(10 * 15 / (7.5 * 2 * 50))  # each of two devices did half of it
    gpu.go_on()
    clock.now += 0.5
    gpu.updated(np.array([[10, 5]]))
    said = gpu.line()
    assert said["slow_updates"] == {} and said["share_of_peak"] == pytest.approx(15 / (0.5 * 2 * 50))
    assert "gradient_norm" not in said and "reserved_bytes" not in said


def test_the_gradients_norm_is_that_before_a_line(clock):
    gpu = Gpu(dataclasses.replace(PRESETS["demo"], log_every=3), Group(CPU), 4)
    learner = nn.Linear(3, 2)
    learner(torch.ones(1, 3)).square().sum().backward()
    gpu.gradient(learner)  # of update 5
    assert gpu.norm is None
    gpu.updated(np.array([[1, 1]]))
    gpu.gradient(learner)  # of update 6
    gpu.updated(np.array([[1, 1]]))
    expected = torch.cat([p.grad.flatten() for p in learner.parameters()]).norm()
    said = gpu.line()
    assert said["gradient_norm"] == pytest.approx(float(expected)) and "share_of_peak" not in said
    learner.weight.grad[1, 2] = float("inf")
    for _ in range(2):
        gpu.updated(np.array([[1, 1]]))
    gpu.gradient(learner)  # of update 9
    gpu.updated(np.array([[1, 1]]))
    assert gpu.norm.isinf() and "gradient_norm" not in gpu.line(), "JSON has no infinity"


def test_a_line_says_what_memory_a_gpu_holds(clock, monkeypatch):
    monkeypatch.setattr(torch.cuda, "max_memory_reserved", lambda device: 7 * 10**9 if device.index == 1 else None)
    gpu = Gpu(PRESETS["demo"], Group(torch.device("cuda", 1)), 0)
    clock.now += 0.5
    gpu.updated(np.array([[1, 1]]))
    assert gpu.line()["reserved_bytes"] == 7 * 10**9


def test_the_work_is_counted_as_in_the_tables(clock, monkeypatch):
    config, lengths = PRESETS["base"], np.array([[28, 31], [3, 5]])
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: "NVIDIA H100 80GB HBM3")
    group, state = Group(torch.device("cuda", 0)), {"step": 7}
    for consistency, passes in ((0.0, 1), (5.0, 2)):
        asked = dataclasses.replace(config, consistency=consistency)
        execution = dataclasses.replace(config.execution, precision="bfloat16")
        seen = watch.watching(asked, execution, None, state, group, None, 0, training_flops)
        seen.updated(lengths)
        assert seen.gpu.work == passes * training_flops(config.model, 28, 31) + passes * training_flops(config.model, 3, 5)
        assert seen.gpu.peak == 989e12
    long = dataclasses.replace(config.execution, precision="float32")
    assert watch.watching(config, long, None, state, group, None, 0, training_flops).gpu.flops is None


def test_a_gpu_is_known_by_its_name():
    names = {
        "NVIDIA H100 80GB HBM3": 989e12, "NVIDIA H100 PCIe": 756e12, "NVIDIA H200": 989e12, "NVIDIA A100-SXM4-80GB": 312e12,
        "NVIDIA L4": 121e12, "NVIDIA L40S": 362e12, "NVIDIA L40": None, "NVIDIA A10": None, "Tesla T4": None,
        "NVIDIA B200": 2250e12, "NVIDIA GB200": None, "NVIDIA H100 NVL": 835e12, "NVIDIA H200 NVL": 835e12,
        "NVIDIA A100 80GB PCIe": 312e12, "NVIDIA H100 80GB HBM3 MIG 3g.40gb": None,  # a part of a GPU
    }
    assert {name: peak_of(name) for name in names} == names


def test_on_a_cpu_nothing_is_watched_and_a_trace_has_the_updates_asked_for(tmp_path):
    from contextlib import ExitStack

    from annotated_transformer.training.runs import Run

    config, group, lengths = dataclasses.replace(PRESETS["demo"], steps=9), Group(CPU), np.array([[1, 1]])
    with ExitStack() as stack:
        plain = watch.watching(config, config.execution, Run(tmp_path), {"step": 0}, group, stack)
        assert (plain.gpu, plain.trace, plain.gradient, plain.line()) == (None, None, None, {})
        other = watch.watching(config, config.execution, Run(tmp_path), {"step": 0}, Group(CPU, rank=1), stack, 3)
        assert other.trace is None, "only the leader writes"
    with ExitStack() as stack:
        seen = watch.watching(config, config.execution, Run(tmp_path), {"step": 0}, group, stack, profile=3)
        for step in range(9):
            torch.ones(step + 1, 2) @ torch.ones(2, 2)
            seen.updated(lengths)
    assert [path.name for path in tmp_path.iterdir()] == ["trace.json"]
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert sum(event.get("name") == "aten::mm" for event in events) == 3
    told = []
    threads = SimpleNamespace(number=3, updated=lambda: told.append("updated"), go_on=lambda: told.append("go on"))
    seen = Watch(threads=threads)
    seen.updated(lengths)
    seen.go_on()
    assert told == ["updated", "go on"] and seen.line() == {"threads": 3}
