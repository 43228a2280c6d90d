"What the benchmarks share: contenders that take turns, memory, choices, and the file that the figures go to."
import argparse
import importlib.util
import json
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from multiprocessing import get_all_start_methods, get_context
from multiprocessing.context import BaseContext
from pathlib import Path

import torch

from annotated_transformer import results
from annotated_transformer.files import write_file
from annotated_transformer.progress_bar import progress_bar

LOAD_BEFORE = results.machine_load()  # when a benchmark begins


def take_turns(
    contenders: dict[str, Callable[[], object]], rounds: int, warmup: int = 1, desc: str = "",
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, list[float]]:
    "Seconds of each round of each contender. All run in every round, so that whatever else the machine does slows all of them."
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    with progress_bar(total=(warmup + rounds) * len(contenders), unit="run", desc=desc, leave=False) as bar:
        for number in range(warmup + rounds):
            for name, run in contenders.items():
                start = clock()
                run()
                if number >= warmup:
                    seconds[name].append(clock() - start)
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
    "What a function of one of our modules returns in a new process, one that was never larger, since a peak never goes down."
    call = f"import json; from {module} import {function}; print(json.dumps({function}(*{arguments!r})))"
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run([sys.executable, "-c", call], cwd=root, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout)


def server(*modules: str) -> BaseContext:
    """Processes come from a server that has imported these modules, and PyTorch's compiler, which every optimizer loads:
    a start took five seconds of processor time. Where there is no such server, each imports for itself."""
    if "forkserver" not in get_all_start_methods():
        return get_context("spawn")
    context = get_context("forkserver")
    context.set_forkserver_preload([*modules, "torch._dynamo", "torch.utils.tensorboard"])
    return context


def free_port() -> int:
    "A port of this machine that nobody uses now, and where nobody answers."
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextmanager
def one_thread(set_threads: Callable[[int], None] = torch.set_num_threads) -> Iterator[None]:
    "Within it, one: the processor's seconds are those of all threads, of which some may do nothing but wait."
    threads = torch.get_num_threads()
    set_threads(1)
    try:
        yield
    finally:
        set_threads(threads)


def resident_peak() -> int:
    "The most bytes that this process and a child of it held, pages of files included."
    import resource

    unit = 1 if sys.platform == "darwin" else 1024
    children = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * unit
    status = Path("/proc/self/status")
    if status.exists():  # ru_maxrss of a new process starts with what its parent held; this figure starts from nothing
        own = next(int(line.split()[1]) for line in status.read_text().splitlines() if line.startswith("VmHWM")) * 1024
    else:
        own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    return own + children


def mean_and_deviation(values: Sequence[float]) -> dict:
    "Of several seeds; for one there is no standard deviation."
    return {"mean": statistics.mean(values), "deviation": statistics.stdev(values) if len(values) > 1 else None}


def choose(score: Callable[..., float], options: dict[str, Sequence], start: dict) -> tuple[dict, dict[str, dict]]:
    "The best option of one setting after another, the others as chosen before or as at the start; and all scores, by setting."
    chosen, scores = dict(start), {}
    for name, values in options.items():
        scores[name] = {value: score(**{**chosen, name: value}) for value in values}
        chosen[name] = max(scores[name], key=scores[name].get)
    return chosen, scores


def require_packages(parser: argparse.ArgumentParser, packages: Sequence[str]) -> None:
    "One sentence and status 2 where one is missing."
    for package in packages:
        if importlib.util.find_spec(package) is None:
            parser.exit(2, f'{package} is not installed; install the extra: pip install "annotated_transformer[exchange]"\n')


def versions(packages: Sequence[str]) -> dict[str, str]:
    "Of the packages of others that take part."
    return {package: version(package) for package in packages}


def command_of(module: str, options: Sequence[str] | None = None) -> list[str]:
    "The words that start a benchmark with these options, or those of the command line."
    return ["python", "-m", module, *(sys.argv[1:] if options is None else options)]


def save(
    path: Path, module: str, figures: dict | list, config: dict, seed: int | list[int] = 0, options: Sequence[str] | None = None,
    **more,
) -> dict:
    "Write the figures of a benchmark with everything needed to reproduce them; returns the contents of the file."
    words = command_of(module, options)
    models = [*config.get("models", []), *([config["model"]] if isinstance(config.get("model"), str) else [])]
    return results.write(path, figures, command=words, config=config, seed=seed, load_before=LOAD_BEFORE, models=models, **more)


def save_picture(figure, path: Path) -> None:
    "Save a matplotlib figure as a PNG: the old file or the new one, never half of one."
    write_file(path, lambda path: figure.savefig(path, format="png", dpi=150, metadata={"Software": None}))
