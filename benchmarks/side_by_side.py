"What the comparisons share: contenders that take turns, the machine's own rate, and the file that the figures go to."
import json
import os
import shlex
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch

from annotated_transformer import progress_bar
from annotated_transformer.checkpoints import write_file
from annotated_transformer.runs import environment

LOAD_BEFORE = os.getloadavg()[0]  # of the last minute before the benchmark started


def take_turns(
    contenders: dict[str, Callable[[], object]], rounds: int, warmup: int = 1, desc: str = "",
) -> dict[str, list[float]]:
    "Seconds of each round of each contender. All run in every round, so that whatever else the machine does slows all of them."
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    with progress_bar(total=(warmup + rounds) * len(contenders), unit="run", desc=desc, leave=False) as bar:
        for number in range(warmup + rounds):
            for name, run in contenders.items():
                start = time.perf_counter()
                run()
                if number >= warmup:
                    seconds[name].append(time.perf_counter() - start)
                bar.update()
    return seconds


def summary(seconds: dict[str, list[float]], ours: str = "ours") -> dict:
    "Medians, the quartiles of each, and how many times as long as ours each of the others took (median of the rounds' ratios)."
    found = {
        name: {"median_seconds": statistics.median(values), "seconds": [round(value, 5) for value in values]}
        for name, values in seconds.items()
    }
    for name, values in seconds.items():
        if name != ours:
            found[name]["times_ours"] = round(statistics.median(b / a for a, b in zip(seconds[ours], values)), 3)
    return found


def matrix_products(side: int = 2048) -> Callable[[], object]:
    "A contender that does nothing but multiply two square float32 matrices into memory that is there: 2 * side**3 FLOPs."
    a, b, out = torch.randn(side, side), torch.randn(side, side), torch.empty(side, side)
    return lambda: torch.mm(a, b, out=out)


def in_own_process(module: str, function: str, *arguments):
    "What a function of a module of ours returns in a new process: one that was never larger, since a peak does not come down."
    call = f"import json; from {module} import {function}; print(json.dumps({function}(*{arguments!r})))"
    root = Path(__file__).resolve().parents[1]
    done = subprocess.run([sys.executable, "-c", call], cwd=root, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout)


def save(path: Path, module: str, figures: dict, config: dict, seed: int = 0, options: list[str] | None = None) -> None:
    "Write a result with all that it takes to get it again."
    command = shlex.join(["python", "-m", module, *(sys.argv[1:] if options is None else options)])
    about = environment()
    about["hardware"] = about["hardware"] | {"threads": torch.get_num_threads(), "load_before": LOAD_BEFORE}
    whole = {"command": command, "figures": figures, "config": config, "seed": seed, **about}
    path.parent.mkdir(parents=True, exist_ok=True)
    write_file(path, lambda path: path.write_text(json.dumps(whole, indent=1) + "\n", encoding="utf-8"))


def save_picture(figure, path: Path) -> None:
    "A figure of matplotlib's as a PNG: the old file or the new one, never half of one."
    write_file(path, lambda path: figure.savefig(path, format="png", dpi=150, metadata={"Software": None}))
