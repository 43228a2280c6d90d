"What depends on the device: where a process computes, with which kernels and number format, and what happens to freed memory."
import ctypes
import functools
import logging
import platform
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace

import torch
from torch import nn

from .. import InputError
from ..config import Execution
from ..environment import keep_few_kernels, launched

__all__ = [
    "as_chosen", "autocast", "compile_each", "compiles_loss", "memory_kept", "on_device", "own_device", "products", "ready",
]


def own_device(
    device: str | None,  # as in `Execution`
    local: int,          # the number of this process on its machine
    size: int = 1,       # processes, on all machines
) -> torch.device:
    "Where this process computes; InputError if PyTorch finds no such device, or if several processes would use the same GPU."
    try:
        chosen = torch.device(("cuda" if torch.cuda.is_available() else "cpu") if device is None else device)
    except RuntimeError:
        chosen = None
    if chosen is None or chosen.type not in ("cuda", "cpu", "mps"):
        raise InputError(f"device {device}: nothing is computed there; choose cuda, cpu or mps")
    if chosen.type == "cuda":
        index, there = local if chosen.index is None else chosen.index, torch.cuda.device_count()
        if size > 1 and chosen.index is not None and there > 1:
            raise InputError(
                f"--device {device} would put all {size} processes on one GPU: choose --device cuda, and each takes its own; "
                "CUDA_VISIBLE_DEVICES says which GPUs there are"
            )
        if index >= there:
            here = f"{there} of them" if there else "no CUDA GPU here"
            if size == 1 and local == 0:
                raise InputError(f"device {device}: PyTorch finds {here}; choose {'cuda' if there else 'cpu'}")
            wanted = f"process {local} of this machine wants the CUDA GPU number {index}, and PyTorch finds {here}"
            alone = ", or --device cuda:0 if each process is shown a GPU of its own, as by Slurm" if there == 1 else ""
            raise InputError(f"{wanted}: start fewer processes with --nproc-per-node, or choose --device cpu{alone}")
        chosen = torch.device("cuda", index)
    if chosen.type == "mps" and not torch.backends.mps.is_available():
        raise InputError("device mps: PyTorch finds no such GPU here; choose cpu")
    return chosen


def ready(device: torch.device) -> None:
    "Select this process's GPU, and decide which attention kernels it may use. On other devices there is nothing to do."
    if device.type == "cuda":
        torch.cuda.set_device(device)
        # On Hopper and Blackwell, PyTorch from 2.11 on prefers cuDNN's kernels. They plan again for every new batch shape, of
        # which there are thousands: half a second each way (FunASR issue 3704, on a B200). With a mask, their gradient may be
        # NaN (PyTorch issue 196678, on H100 and H200). PyTorch's own kernels have neither problem.
        torch.backends.cuda.enable_cudnn_sdp(False)


def on_device(execution: Execution, device: torch.device) -> Execution:
    "The same settings with every choice made."
    precision = execution.precision or ("auto" if device.type == "cuda" else "float32")
    if precision == "auto":
        precision = "bfloat16" if time_in_16_bits(device) < 1 else "float32"
    elif precision == "bfloat16":
        say_if_slow(device)
    elif precision == "tf32" and device.type != "cuda":
        raise InputError("precision tf32: only CUDA GPUs have this format; choose float32, bfloat16 or auto")
    compiled = execution.compile if device.type == "cuda" else bool(execution.compile)
    return replace(execution, device=device.type, precision=precision, compile=compiled)


@functools.cache
def time_in_16_bits(device: torch.device) -> float:
    "How many times as long products take in bfloat16 as in float32, as far as it matters: below 1 if bfloat16 is faster."
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
    "Warn a user who asked for bfloat16, once and from one process only."
    if time_in_16_bits(device) >= 1 and launched().rank == 0:
        why = "products in bfloat16 are slower than in float32 here"
        logging.getLogger(__name__).warning(f"precision bfloat16: {why}; take float32 or auto")


def compile_each(layers: Iterable[nn.Module]) -> None:
    "Let PyTorch compile each layer separately: layers of the same kind share the compiled code."
    import torch._dynamo  # takes a second to load

    known = torch._dynamo.config
    known.recompile_limit = max(64, known.recompile_limit)  # beyond it, a layer would silently run without being compiled
    for layer in layers:
        layer.compile(dynamic=True)


def compiles_loss(
    execution: Execution,  # with every choice made
) -> bool:
    "Whether the loss is compiled: on a GPU, unless the user wants nothing compiled."
    return execution.device == "cuda" and execution.compile is not False


def autocast(
    device: str,
    precision: str,  # "bfloat16", or a precision for products of 32-bit numbers
) -> torch.autocast:
    "Within it, matrix products use numbers of this precision."
    return torch.autocast(device, torch.bfloat16, enabled=precision == "bfloat16")


@contextmanager
def products(
    precision: str,  # "tf32": a GPU rounds the factors of a product to 10 mantissa bits; weights and sums keep 32 bits
) -> Iterator[None]:
    "Within it, products of 32-bit numbers have this precision; with any other precision nothing changes."
    before = torch.get_float32_matmul_precision()
    if precision == "tf32":
        torch.set_float32_matmul_precision("high")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


@contextmanager
def memory_kept() -> Iterator[None]:
    "Let the C library keep freed memory for the next step instead of returning it to the system; if it cannot, nothing happens."
    keep_few_kernels()
    libc = ctypes.CDLL(None) if sys.platform == "linux" else None
    if not hasattr(libc, "mallopt"):
        yield
        return
    trim, mmap = -1, -3  # M_TRIM_THRESHOLD, M_MMAP_THRESHOLD: bytes above which memory is returned, or obtained, piece by piece
    libc.mallopt(trim, 2**31 - 1)
    libc.mallopt(mmap, 2**31 - 1)
    try:
        yield
    finally:
        libc.mallopt(trim, 2**26)  # the value that these reach in a process that uses large pieces
        libc.mallopt(mmap, 2**25)
        libc.malloc_trim(0)


def as_chosen(
    execution: Execution,  # with every choice made
) -> AbstractContextManager[None]:
    "Within it, a CPU keeps freed memory, and a GPU's products have the requested precision."
    return memory_kept() if execution.device == "cpu" else products(execution.precision)
