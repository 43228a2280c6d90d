"Memory: what a training step takes, measured as `python -m benchmarks.footprint` does; and that a run keeps what it has freed."
import ctypes
import json
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = "import json; from benchmarks.footprint import peak_of_training; print(json.dumps(peak_of_training()))"


def test_a_training_step_of_tiny_at_4096_tokens_stays_under_2_gibibytes():
    root = Path(__file__).parents[3]
    done = subprocess.run([sys.executable, "-c", PROGRAM], cwd=root, stdout=subprocess.PIPE, check=True, text=True)
    found = json.loads(done.stdout)
    assert (found["tokens"], found["vocabulary"]) == (4096, 10_000)
    assert found["losses"][1] < found["losses"][0], "no step was taken"
    assert found["peak_bytes_before_the_first_step"] < found["peak_bytes"] < 2 * 2**30


KEPT = """
import resource, sys
from pathlib import Path
import torch
from annotated_transformer.training.devices import memory_kept

def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(40):
        torch.zeros(2**24).add_(1)  # 64 MiB
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()

torch.zeros(2**24)
usual, before = faults(), resident()
with memory_kept():
    faults()  # threads that start now may take a little of the first block, so that a second one is needed
    kept, meanwhile = faults(), resident()
print(usual, kept, meanwhile - before, resident() - before)
"""


def test_kept_memory_is_used_again_and_given_back_at_the_end():
    if sys.platform != "linux" or not hasattr(ctypes.CDLL(None), "mallopt"):
        pytest.skip("memory is kept by mallopt, which is glibc's: Linux only")
    run = subprocess.run([sys.executable, "-c", KEPT], capture_output=True, text=True, check=True)
    usual, kept, meanwhile, afterwards = map(int, run.stdout.split())
    assert usual > 50 and kept < usual / 10, "pages that the system had to hand out"
    assert meanwhile > 2**25 > afterwards
