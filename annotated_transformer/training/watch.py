"""What an expert looks for in a GPU's log: the gradient norm, memory, the share of peak speed, slow updates; and a trace.

On a CPU none of this is measured unless a trace is requested, so no update does more work. There the number of threads is chosen.
"""
import re
import statistics
from collections import deque
from collections.abc import Callable
from contextlib import ExitStack

import numpy as np
import torch
from torch import nn

from ..config import Execution, TrainingConfig
from ..files import write_file
from ..threads import Threads, chosen_threads
from .processes import Group
from .runs import Run

__all__ = ["PEAKS", "TRACE", "Gpu", "Watch", "peak_of", "traced", "watching"]

# FLOP/s of products in bfloat16 with 32-bit sums, without sparsity: half of what NVIDIA's data sheets say with sparsity.
# The first name that matches counts.
PEAKS = {
    "B200": 2250e12,     # Blackwell data sheet (3384703), HGX B200: 4,500 TFLOP/s with sparsity; a GB200 has 5,000
    "H200 NVL": 835e12,  # assumed to equal the H100 NVL, which has the same chip; its data sheet was not at hand
    "H200": 989e12,      # H200 data sheet, SXM: 1,979
    "H100 NVL": 835e12,  # H100 data sheet: 1,671
    "H100 PCIe": 756e12,  # H100 data sheet: 1,513
    "H100": 989e12,      # H100 data sheet, SXM: 1,979
    "A100": 312e12,      # A100 data sheet (1758950): 624, for both SXM and PCIe
    "L40S": 362e12,      # L40S data sheet: 362 without, 733 with
    "L4": 121e12,        # L4 data sheet: 242
}
TRACE = "trace.json"  # in the run directory


def peak_of(name: str) -> float | None:
    "FLOP/s in bfloat16 of the GPU with this name; None if we do not know it."
    words = set(re.split("[ -]", name))
    if "MIG" in words:  # part of a GPU, as in "NVIDIA H100 80GB HBM3 MIG 3g.40gb", has part of its peak
        return None
    return next((peak for known, peak in PEAKS.items() if words.issuperset(known.split())), None)


def mark() -> torch.cuda.Event:
    "A mark in the GPU's queue of work: when the GPU reaches it, it records the time, and nobody waits."
    event = torch.cuda.Event(enable_timing=True)
    event.record()
    return event


class Gpu:
    "What one process sees of its GPU. Nothing is read until the loop waits for the device anyway."

    def __init__(
        self,
        config: TrainingConfig,
        group: Group,
        step: int,                                         # the run's current step
        flops: Callable[[np.ndarray], float] | None = None,  # FLOPs of an update on pairs of these lengths, in all processes
        peak: float | None = None,                         # FLOP/s of one device
    ):
        self.config, self.group, self.step = config, group, step
        self.flops, self.peak = flops if peak else None, peak
        self.norm: torch.Tensor | None = None
        self.work, self.seconds = 0.0, {}                  # since the last line: FLOPs, and seconds by update
        self.usual: deque[float] = deque(maxlen=200)
        self.marks = [mark()]

    def gradient(self, learner: nn.Module) -> None:
        "The norm of the whole gradient before clipping, for those updates after which a line is written."
        if (self.step + 1) % self.config.log_every == 0:
            norms = torch._foreach_norm([p.grad for p in learner.parameters() if p.grad is not None])
            self.norm = torch.stack(norms).norm()

    def updated(self, lengths: np.ndarray) -> None:
        "Count another update, on pairs of these lengths (n, 2)."
        self.step += 1
        self.marks.append(mark())
        if self.flops:
            self.work += self.flops(lengths)

    def read(self) -> None:
        "Read the seconds of each update so far. The loop has waited for the device."
        first = self.step - len(self.marks) + 2
        for step, (start, end) in enumerate(zip(self.marks, self.marks[1:]), first):
            self.seconds[step] = start.elapsed_time(end) / 1e3
        self.usual.extend(self.seconds[step] for step in range(first, self.step + 1))
        self.marks = self.marks[-1:]

    def go_on(self) -> None:
        "Restart the clock: validation and saving are not training time."
        self.read()
        self.marks = [mark()]

    def line(self) -> dict:
        "What a line of metrics.jsonl says besides loss and speed."
        self.read()
        said, total = {}, sum(self.seconds.values())
        if self.norm is not None and self.norm.isfinite():  # JSON has no infinity; the next loss will be NaN
            said["gradient_norm"] = float(self.norm)
        if self.flops and total:
            said["share_of_peak"] = self.work / (total * self.group.size * self.peak)
        if self.group.device.type == "cuda":
            said["reserved_bytes"] = torch.cuda.max_memory_reserved(self.group.device)
        said["seconds_per_update"] = statistics.median(self.usual)
        said["slow_updates"] = {step: round(s, 3) for step, s in self.seconds.items() if s > 2 * said["seconds_per_update"]}
        self.work, self.seconds, self.norm = 0.0, {}, None
        return said


def traced(run: Run, updates: int, left: int):
    "A profiler of some updates after the first ones, which are slow; it writes a file that Chrome opens."
    from torch.profiler import ProfilerActivity, profile, schedule  # imported here because nothing else needs it

    before = max(0, min(10, left - updates))

    def ready(seen: profile) -> None:
        write_file(run.directory / TRACE, lambda path: seen.export_chrome_trace(str(path)))

    kinds = [ProfilerActivity.CPU, *[ProfilerActivity.CUDA] * torch.cuda.is_available()]
    when = schedule(wait=max(0, before - 1), warmup=min(1, before), active=min(updates, max(1, left)), repeat=1)
    return profile(activities=kinds, schedule=when, on_trace_ready=ready)


class Watch:
    "What is watched in a run; by default nothing."

    def __init__(self, gpu: Gpu | None = None, trace=None, threads: Threads | None = None):
        self.gpu, self.trace, self.threads = gpu, trace, threads
        self.gradient = gpu.gradient if gpu else None

    def updated(self, lengths: np.ndarray) -> None:
        "After every update."
        if self.gpu:
            self.gpu.updated(lengths)
        if self.trace:
            self.trace.step()
        if self.threads:
            self.threads.updated()

    def line(self) -> dict:
        "For metrics.jsonl."
        threads = {"threads": self.threads.number} if self.threads else {}
        return (self.gpu.line() if self.gpu else {}) | threads

    def go_on(self) -> None:
        "After a line, a validation or a checkpoint."
        if self.gpu:
            self.gpu.go_on()
        if self.threads:
            self.threads.go_on()


def watching(
    config: TrainingConfig,
    execution: Execution,
    run: Run,
    state: dict,
    group: Group,
    stack: ExitStack,            # ends the trace, and restores the number of threads
    profile: int = 0,            # updates to trace
    flops: Callable[..., int | np.ndarray] | None = None,  # as in `training_flops` of tables.training_cost
) -> Watch:
    "The watch that this run's device and options call for."
    gpu = trace = threads = None
    if group.device.type == "cuda":
        passes = 2 if config.consistency else 1
        count = flops and (lambda lengths: passes * float(flops(config.model, lengths[:, 0], lengths[:, 1]).sum()))
        peak = peak_of(torch.cuda.get_device_name(group.device)) if execution.precision == "bfloat16" else None
        gpu = Gpu(config, group, state["step"], count, peak)
    elif group.device.type == "cpu" and group.size == 1:
        threads = stack.enter_context(chosen_threads(torch.get_num_threads()))
    left = config.steps - state["step"]
    if profile and group.rank == 0 and left > 0:
        trace = stack.enter_context(traced(run, profile, left))
    return Watch(gpu, trace, threads)
