"""`translate`, `score` and `train` with one thread, with two and with the number that they choose, alone and next to other work.

    python -m benchmarks.busy [--rounds 3] [--out results/speed/threads.json]

Each command runs in its own process and is timed by the wall clock. The numbers of threads take turns in every round, alone and
then next to two processes that only count, so each ratio compares neighbours. If the machine has other work all the time, we are
never alone: the file says how many cores were busy before this began.
"""
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial

from annotated_transformer.data import corpora
from annotated_transformer.threads import allowed_cores, reading
from benchmarks.shared.command import Options, one_sentence
from benchmarks.shared.side_by_side import save, take_turns

NUMBERS = {  # what the user sets; in the last, threads wait for one another as GNU's OpenMP does: they check 300,000 times
    "one": {"OMP_NUM_THREADS": "1"}, "two": {"OMP_NUM_THREADS": "2"}, "chosen": {},
    "two, waiting long": {"OMP_NUM_THREADS": "2", "GOMP_SPINCOUNT": "300000"},
}
SAID = {"OMP_NUM_THREADS", "MKL_NUM_THREADS", "OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME"}
COUNT = "while True: pass"
CORPUS, LIMIT = "numbers-en-de", 300  # scored, its sentences translated, and trained on; seconds after which a command is stopped


def busy_cores(seconds: float = 2.0) -> float:
    "How many of the cores that we may use others keep busy now."
    first = reading()
    time.sleep(seconds)
    last = reading()
    return round(allowed_cores() - (last.free - first.free) / (last.seconds - first.seconds), 2)


@contextmanager
def counting(processes: int) -> Iterator[None]:
    "Within it, so many processes each keep a core busy."
    started = [subprocess.Popen([sys.executable, "-c", COUNT]) for _ in range(processes)]
    try:
        yield
    finally:
        for process in started:
            process.kill()
            process.wait()


def run(make: Callable[[], list[str]], said: dict[str, str], lines: str, limit: float = LIMIT) -> None:
    "A command of ours; one that takes longer than the limit is stopped, and counts as the limit."
    words = make()
    environment = {name: value for name, value in os.environ.items() if name not in SAID} | said
    command = [sys.executable, "-m", "annotated_transformer", *words]
    try:
        subprocess.run(command, env=environment, input=lines, text=True, capture_output=True, check=True, timeout=limit)
    except subprocess.TimeoutExpired:
        print(f"stopped after {limit:.0f} seconds: {words[0]} with {said}", file=sys.stderr)


def training(directory: str, steps: int) -> list[str]:
    "The words of a short training, each time in a new directory: `train` goes on where there is a run."
    place = tempfile.mkdtemp(dir=directory)
    small = ["--preset", "tiny", "--batch-tokens", "1024"]
    return ["train", "--corpus", CORPUS, *small, "--steps", str(steps), "--run-directory", f"{place}/run"]


@one_sentence()
def main(options: Sequence[str] | None = None) -> None:
    parser = Options("benchmarks.busy", __doc__, "results/speed/threads.json")
    parser.add_argument("--sentences", type=int, default=200, help="to translate")
    parser.add_argument("--steps", type=int, default=40, help="of the training")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--works", nargs="+", default=["translate", "one line", "score", "train"])
    parser.add_argument("--beside", nargs="+", type=int, default=[0, 2], help="processes that count")
    arguments = parser.parse_args(options)
    figures: dict = {"busy_cores_before": busy_cores()}
    sources = [source for source, _ in corpora.load(CORPUS).train][: arguments.sentences]
    config = {"corpus": CORPUS, "sentences": len(sources), "steps": arguments.steps, "models": ["everyday-en-de"]}
    config |= {"limit_seconds": LIMIT, "scored": CORPUS, "trained": "tiny, 1,024 tokens"}
    with tempfile.TemporaryDirectory() as directory:
        works = {
            "translate": (lambda: ["translate"], "\n".join(sources)),
            "one line": (lambda: ["translate"], "A girl is reading a book."),
            "score": (lambda: ["score", CORPUS], ""),
            "train": (partial(training, directory, arguments.steps), ""),
        }
        for beside in arguments.beside:
            for name in arguments.works:
                words, lines = works[name]
                contenders = {number: partial(run, words, said, lines) for number, said in NUMBERS.items()}
                with counting(beside):
                    seconds = take_turns(contenders, arguments.rounds, 0, name)
                rounds = zip(seconds["one"], seconds["two"], seconds["chosen"])
                ratios = [chosen / min(one, two) for one, two, chosen in rounds]
                row = {number: round(statistics.median(values), 2) for number, values in seconds.items()}
                row["chosen_to_the_better"] = round(statistics.median(ratios), 2)
                figures.setdefault(f"beside {beside}", {})[name] = row | {"seconds": seconds}
                print(json.dumps({"beside": beside, name: row}), flush=True)
                save(arguments.out, "benchmarks.busy", figures, config, options=options)


if __name__ == "__main__":
    main()
