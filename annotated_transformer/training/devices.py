"What a device decides: where a process computes, in which number format, and what becomes of freed memory."
import ctypes
import functools
import logging
import platform
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import torch

from .. import InputError
from ..config import Execution
from ..environment import launched

__all__ = ["autocast", "memory_kept", "on_device", "own_device"]


def own_device(
    device: str | None,  # as in `Execution`
    local: int,          # the number of this process on its machine
) -> torch.device:
    "Where this process computes; InputError where PyTorch finds no such device."
    try:
        chosen = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
    except RuntimeError:
        chosen = None
    if chosen is None or chosen.type not in ("cuda", "cpu", "mps"):
        raise InputError(f"--device {device}: nothing is computed there; choose cuda, cpu or mps")
    if chosen.type == "cuda":
        index, there = local if chosen.index is None else chosen.index, torch.cuda.device_count()
        if index >= there:
            here = f"{there} of them" if there else "no CUDA GPU here"
            wanted = f"process {local} of this machine wants the CUDA GPU number {index}, and PyTorch finds {here}"
            raise InputError(f"{wanted}: start fewer processes with --nproc-per-node, or choose --device cpu")
        chosen = torch.device("cuda", index)
    if chosen.type == "mps" and not torch.backends.mps.is_available():
        raise InputError("--device mps: PyTorch finds no such GPU here; choose --device cpu")
    return chosen


def on_device(
    execution: Execution,
    device: torch.device,
) -> Execution:
    "The same with every choice made."
    precision = execution.precision or ("auto" if device.type == "cuda" else "float32")
    if precision == "auto":
        precision = "bfloat16" if time_in_16_bits(device) < 1 else "float32"
    elif precision == "bfloat16":
        say_if_slow(device)
    return replace(execution, device=device.type, precision=precision, compile=bool(execution.compile))


@functools.cache
def time_in_16_bits(device: torch.device) -> float:
    "How many times as long products take in bfloat16 as in float32, as far as it matters: below 1 where bfloat16 is the faster."
    if device.type == "cuda":
        return 0.5 if torch.cuda.get_device_capability(device)[0] >= 8 else 2.0  # older chips only imitate it
    has = {name: getattr(torch.cpu, f"_is_{name}_supported", lambda: False)() for name in ("amx_tile", "avx512_bf16")}
    if device.type == "cpu" and has["amx_tile"]:
        return 0.5
    if device.type != "cpu" or platform.machine() in ("x86_64", "AMD64") and not has["avx512_bf16"]:
        return 2.0
    seconds = {}
    for kind in (torch.float32, torch.bfloat16):
        a, b = torch.ones(512, 512, dtype=kind), torch.ones(512, 2048, dtype=kind)
        taken = []
        for _ in range(5):
            start = time.perf_counter()
            a @ b
            taken.append(time.perf_counter() - start)
        seconds[kind] = min(taken)
    return seconds[torch.bfloat16] / seconds[torch.float32]


@functools.cache
def say_if_slow(device: torch.device) -> None:
    "One warning, once, by one process, to a user who asked for bfloat16."
    if time_in_16_bits(device) >= 1 and launched().rank == 0:
        why = "products in bfloat16 are slower than in float32 here"
        logging.getLogger(__name__).warning(f"--precision bfloat16: {why}; leave the option out, or take --precision auto")


def autocast(
    device: str,
    precision: str,  # "bfloat16" or "float32"
) -> torch.autocast:
    "Within it, matrix products take numbers of this precision."
    return torch.autocast(device, torch.bfloat16, enabled=precision == "bfloat16")


@contextmanager
def memory_kept() -> Iterator[None]:
    "Let the C library keep freed memory for the next step instead of handing it back; where it cannot, nothing happens."
    libc = ctypes.CDLL(None) if sys.platform == "linux" else None
    if not hasattr(libc, "mallopt"):
        yield
        return
    trim, mmap = -1, -3  # M_TRIM_THRESHOLD, M_MMAP_THRESHOLD: above how many bytes memory goes back, or comes, piece by piece
    libc.mallopt(trim, 2**31 - 1)
    libc.mallopt(mmap, 2**31 - 1)
    try:
        yield
    finally:
        libc.mallopt(trim, 2**26)  # what these grow to in a process that uses large pieces
        libc.mallopt(mmap, 2**25)
        libc.malloc_trim(0)
