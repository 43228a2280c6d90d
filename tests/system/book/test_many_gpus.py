"What docs/many-gpus.md must not lose: each of these was missing once, and somebody waited or lost a run for it."
import json
import re
import shlex
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "many-gpus.md").read_text(encoding="utf-8")
STARTS = [line for line in PAGE.splitlines() if re.match(r"(srun )?torchrun .* train ", line)]


def test_every_start_by_torchrun_names_its_run_in_full():
    assert len(STARTS) == 3  # eight GPUs, two machines, Slurm
    for line in STARTS:
        words = shlex.split(line)
        assert "--run-directory" in words and "--run" not in words, line


def test_what_one_machine_is_told_and_what_two_are():
    alone, *several = (shlex.split(line) for line in STARTS)
    assert "--standalone" in alone and "--max-restarts" in alone
    for words in several:
        told = dict(zip(words, words[1:]))
        assert told["--nnodes"] == "2" and told["--rdzv-backend"] == "c10d" and told["--rdzv-id"]
        assert re.fullmatch(r".+:\d+", told["--rdzv-endpoint"]) and "--standalone" not in words


@pytest.mark.parametrize("said", [
    "It also repeats a mistake of yours as often",              # --max-restarts
    "`--device cuda:1` is refused", "give `--device cuda:0`",   # one GPU for all, and one GPU for each
    "NCCL_SOCKET_IFNAME=", "GLOO_SOCKET_IFNAME=",
    "kills what has not ended 30 seconds later", "`--shutdown-timeout`",
    "each gets 3,125 tokens", "between four and five times as fast as one, not eight",
    "stays the size of the whole batch", "a process with other settings is refused",
    "after ten minutes", "at the same path, the texts too", "remove that file",
    "**estimated, not measured**", "Multiply the last column by the price of an hour",
])
def test_it_says(said):
    assert said in PAGE


def test_the_slurm_script_starts_one_task_a_machine_and_asks_for_a_checkpoint():
    script = PAGE.split("#!/bin/bash")[1].split("```")[0]
    for words in ("--ntasks-per-node=1", "--gpus-per-node=8", "--signal=TERM@",
                  "export SRUN_CPUS_PER_TASK=$SLURM_CPUS_PER_TASK\n", '--rdzv-id "$SLURM_JOB_ID"'):
        assert words in script


GPU = json.loads((ROOT / "results" / "speed" / "gpu.json").read_text(encoding="utf-8"))["figures"]


@pytest.mark.parametrize("size, setting, row, updates", [
    ("base", "bfloat16", "base, the loss compiled (the default)", 100_000),
    ("base", "bfloat16 uncompiled", "base, nothing compiled", 100_000),
    ("base", "bfloat16 compiled", "base, every layer compiled", 100_000),
    ("base", "bfloat16 exchanged", "base, gradients exchanged by NCCL, of one process with itself", 100_000),
    ("big", "bfloat16", "big, the loss compiled", 300_000),
])
def test_the_measured_table_is_that_of_the_file(size, setting, row, updates):
    found = GPU[size]["by_setting"][setting]
    seconds = found["seconds_per_update"]
    cells = [
        f"{seconds:.4f}", f"{found['target_tokens_per_second']:,.0f}", f"{found['share_of_the_given_peak']:.1%}",
        f"{found['peak_bytes'] / 1e9:.1f} GB",
    ]
    line = next(line for line in PAGE.splitlines() if line.startswith(f"| {row} |"))
    assert [cell.strip() for cell in line.split("|")[2:6]] == cells
    assert f"{updates * seconds / 3600:.2f} h" in line and found["finite"] and not found["slow_updates"]


def test_what_cudnn_would_cost_is_that_of_the_file():
    kernels = GPU["base"]["attention"]
    waits = [kernels[how]["seconds_of_a_new_shape"] for how in ("with cuDNN", "without cuDNN")]
    assert f"waits {waits[0]:.1f} s for each new shape of a batch in base; without it, it takes {1e3 * waits[1]:.0f} ms" in PAGE
    assert all(kernels["with cuDNN"][form]["kernel"] == "cudnn_attention" for form in ("encoder", "decoder", "memory"))
    assert not any("cudnn" in kernels["without cuDNN"][form]["kernel"] for form in ("encoder", "decoder", "memory"))
    products = [GPU[size]["matrix_products_flops_per_second"]["bfloat16"] / 1e12 for size in ("big", "base")]
    assert "products reach {:.0f} to {:.0f} TFLOP/s".format(*products) in PAGE
