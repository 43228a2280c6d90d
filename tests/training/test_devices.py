"Tests of training.devices."
from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pytest
import torch

from annotated_transformer import InputError, Translator
from annotated_transformer.config import Execution
from annotated_transformer.environment import Launched
from annotated_transformer.training import devices
from annotated_transformer.training.devices import autocast, on_device, own_device, say_if_slow


def test_choices_are_made_by_the_device_and_each_can_be_switched():
    cpu = on_device(Execution(), torch.device("cpu"))
    assert cpu == Execution(device="cpu", precision="float32", compile=False)
    given = Execution(precision="float32", compile=True, device_tokens=7)
    assert on_device(given, torch.device("cpu")) == replace(given, device="cpu")
    with autocast("cpu", "bfloat16"):
        assert (torch.ones(2, 2) @ torch.ones(2, 2)).dtype == torch.bfloat16
    with autocast("cpu", "float32"):
        assert (torch.ones(2, 2) @ torch.ones(2, 2)).dtype == torch.float32
    for gains, chosen in ((0.5, "bfloat16"), (1.5, "float32")):
        with patch.dict(on_device.__globals__, time_in_16_bits=lambda device, gains=gains: gains):
            assert on_device(Execution(precision="auto"), torch.device("cpu")).precision == chosen
            assert on_device(Execution(), torch.device("cpu")).precision == "float32"
            with patch("logging.Logger.warning") as said:
                say_if_slow.cache_clear()
                for _ in range(2):
                    assert on_device(Execution(precision="bfloat16"), torch.device("cpu")).precision == "bfloat16"
            assert said.call_count == (gains > 1) and ("take float32 or auto" in str(said.call_args)) == (gains > 1)
    say_if_slow.cache_clear()
    for wrong in ({"precision": "float16"}, {"device_tokens": 0}):
        with pytest.raises(InputError, match=next(iter(wrong))):
            Execution(**wrong)


@pytest.fixture
def products(monkeypatch):
    "A processor of one's choice: what it can, and how long its products take; the function that asks, without its memory."

    def products(amx=False, avx=True, machine="x86_64", seconds=()):
        monkeypatch.setattr(torch.cpu, "_is_amx_tile_supported", lambda: amx, raising=False)
        monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: avx, raising=False)
        monkeypatch.setattr(devices.platform, "machine", lambda: machine)
        clock = iter(np.cumsum([x for taken in seconds for x in (7, taken)]).tolist())
        monkeypatch.setattr(devices.time, "perf_counter", lambda: next(clock))
        monkeypatch.setattr(torch, "ones", lambda *shape, dtype: torch.empty(shape, dtype=dtype, device="meta"))
        return devices.time_in_16_bits.__wrapped__

    return products


def test_they_know_where_16_bits_pay(products, monkeypatch):
    cpu = torch.device("cpu")
    assert products(amx=True)(cpu) < 1 < products(amx=True)(torch.device("mps"))
    assert products(avx=False)(cpu) > 1 and products(avx=False, machine="AMD64")(cpu) > 1
    plain, short = [5, 4, 6, 8, 9], [3, 3, 2, 3, 3]  # the shortest of each counts
    assert products(seconds=plain + short)(cpu) == 0.5 and products(seconds=short + plain)(cpu) == 2
    assert products(avx=False, machine="arm64", seconds=plain + short)(cpu) == 0.5
    for capability, pays in (((7, 5), False), ((8, 0), True), ((9, 0), True)):
        monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device, capability=capability: capability)
        assert (products()(torch.device("cuda")) < 1) == pays


def test_they_keep_freed_memory_where_the_c_library_can(monkeypatch):
    told = []

    class Library:
        def mallopt(self, what, value):
            told.append((what, value))

        def malloc_trim(self, pad):
            told.append("trim")

    for platform, library, can in (("linux", Library(), True), ("linux", object(), False), ("darwin", Library(), False)):
        monkeypatch.setattr(devices.sys, "platform", platform)
        monkeypatch.setattr(devices.ctypes, "CDLL", lambda name, library=library: library)
        told.clear()
        with devices.memory_kept():
            high = dict(told)
        assert set(high) == ({-1, -3} if can else set())  # M_TRIM_THRESHOLD, M_MMAP_THRESHOLD of malloc.h
        if can:
            assert all(2**30 < value < 2**31 for value in high.values()) and told[-1] == "trim"  # an int of C
            assert all(2**24 < value < 2**30 for _, value in told[2:4]) and [what for what, _ in told[2:4]] == [-1, -3]


def test_they_complain_of_slow_products_once_and_by_one_voice(monkeypatch, caplog):
    cpu = torch.device("cpu")
    for ratio, rank, lines in ((1.0, "0", 1), (0.9, "0", 0), (1.0, "1", 0), (3.0, None, 1)):
        monkeypatch.setattr(devices, "time_in_16_bits", lambda device, ratio=ratio: ratio)
        monkeypatch.setattr(devices, "launched", lambda rank=rank: Launched(int(rank or 0), 2))
        devices.say_if_slow.cache_clear()
        caplog.clear()
        for _ in range(2):
            devices.say_if_slow(cpu)
        assert len(caplog.records) == lines
        assert devices.on_device(Execution(precision="auto"), cpu).precision == ("bfloat16" if ratio < 1 else "float32")
    devices.say_if_slow.cache_clear()


def test_several_processes_never_share_a_gpu(monkeypatch):
    gpus = iter([8, 8, 8, 1, 1])
    monkeypatch.setattr(torch.cuda, "device_count", lambda: next(gpus))
    assert own_device("cuda", 3, 8) == torch.device("cuda", 3)
    assert own_device("cuda:1", 0, 1) == torch.device("cuda", 1)    # a process alone may choose
    with pytest.raises(InputError, match="--device cuda:1 would put all 8 processes on one GPU: choose --device cuda,"):
        own_device("cuda:1", 1, 8)
    assert own_device("cuda:0", 5, 8) == torch.device("cuda", 0)    # Slurm shows each process its own GPU, as number 0
    with pytest.raises(InputError, match="--device cuda:0 if each process is shown a GPU of its own"):
        own_device("cuda", 5, 8)


@pytest.mark.parametrize("device, there, said", [
    ("cuda", 0, "device cuda: PyTorch finds no CUDA GPU here; choose cpu"),
    ("cuda:3", 2, "device cuda:3: PyTorch finds 2 of them; choose cuda"),
])
def test_a_process_alone_hears_nothing_of_other_processes(device, there, said, monkeypatch):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: there)
    with pytest.raises(InputError, match=f"^{said}$"):
        own_device(device, 0)


def test_a_number_is_the_gpu_of_that_number_and_never_the_cpu(monkeypatch):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    with pytest.raises(InputError, match="^device 0: "):
        own_device(0, 0)
    with pytest.raises(InputError, match="^device 0: "):
        Translator.from_pretrained("numbers-en-de", device=0)


def test_attention_on_a_gpu_needs_no_plan_for_each_shape(monkeypatch):
    done = []
    monkeypatch.setattr(torch.cuda, "set_device", lambda device: done.append(device))
    monkeypatch.setattr(torch.backends.cuda, "enable_cudnn_sdp", lambda allowed: done.append(allowed))
    devices.ready(torch.device("cpu"))
    assert not done
    devices.ready(torch.device("cuda", 2))
    assert done == [torch.device("cuda", 2), False]


def test_tf32_is_for_gpus_and_is_put_back():
    with pytest.raises(InputError, match="^precision tf32: only CUDA GPUs"):
        on_device(Execution(precision="tf32"), torch.device("cpu"))
    assert on_device(Execution(precision="tf32"), torch.device("cuda", 0)).precision == "tf32"
    before = torch.get_float32_matmul_precision()
    for precision, inside in (("tf32", "high"), ("float32", before), ("bfloat16", before)):
        with devices.products(precision):
            assert torch.get_float32_matmul_precision() == inside
            assert torch.ones(1).dtype == torch.float32 and not torch.is_autocast_enabled("cpu")
        assert torch.get_float32_matmul_precision() == before


def test_on_a_gpu_the_loss_alone_is_compiled_unless_told_otherwise():
    for wanted in (None, True, False):
        asked = Execution(precision="float32", compile=wanted)
        on_gpu, on_cpu = (on_device(asked, torch.device(name)) for name in ("cuda:0", "cpu"))
        assert on_gpu.compile is wanted and on_cpu.compile is bool(wanted)
        assert devices.compiles_loss(on_gpu) is (wanted is not False) and devices.compiles_loss(on_cpu) is False
