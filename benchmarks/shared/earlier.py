"""Weights for a later training to start from, with their history: training that goes on from session to session.

    python -m benchmarks.shared.earlier RUN [RUN ...] --average N --out DIRECTORY

Writes the mean of the last N checkpoints of the last run in half precision; earlier.json, with the settings and the cost of each
run, after those of the weights that the first one started from, if known; and the metrics of these runs. From there
`benchmarks.pretrained --start DIRECTORY` continues, and records all of it; `--made DIRECTORY` scores and ships them as they are.
"""
import dataclasses
import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from annotated_transformer import Translator
from annotated_transformer.config import TrainingConfig
from annotated_transformer.files import write_text_file
from annotated_transformer.tables.training_cost import run_cost
from annotated_transformer.training.runs import Run
from benchmarks.shared.command import Options, one_sentence

FILE, COURSE = "earlier.json", "metrics.jsonl"
COSTS = ("updates", "seconds", "device_seconds", "target_tokens", "flops", "source_tokens")


def part(
    run: Path,
    config: TrainingConfig | None = None,  # instead of the run's own settings, which may name a directory as the corpus
) -> dict:
    "What one run was asked to do, with the updates that it came to, what that cost, and what did it."
    cost, config = run_cost(run), config or Run(run).config
    start = json.loads((run / "config.json").read_text(encoding="utf-8"))["starts"][-1]
    execution = dataclasses.replace(config.execution, precision=start["precision"])  # if "auto" was asked for, what it chose
    config = dataclasses.replace(config, steps=cost.updates, execution=execution)
    costs = {name: getattr(cost, name) for name in COSTS}
    return {"config": config.to_dict(), "cost": costs, "hardware": start["hardware"]}


def earlier(directory: str | Path | None) -> list[dict]:
    "The parts that weights have had, first to last; none where it is not known."
    file = Path(directory or "", FILE)
    return json.loads(file.read_text(encoding="utf-8")) if directory and file.exists() else []


def write_start(runs: Sequence[Path], average: int, out: Path) -> None:
    "The weights at the end of these runs, each of which started from the one before, and what they have had."
    known = earlier(Run(runs[0]).config.start_from)
    translator = Translator.from_pretrained(runs[-1], average, device="cpu")
    translator.model.half()
    translator.save_pretrained(out)
    parts = [*known, *map(part, runs)]
    parts[-1]["average"] = average
    write_text_file(out / FILE, json.dumps(parts, indent=1) + "\n")
    write_text_file(out / COURSE, "".join(f"{json.dumps(line)}\n" for line in course(runs, len(known) + 1)))


def course(runs: Iterable[Path], first: int = 1) -> Iterator[dict]:
    "What the runs have reported, with the number of their part, of which the first run is number `first`."
    for number, run in enumerate(runs, first):
        yield from ({"part": number, **line} for line in Run(run).metrics())


def kept_course(directory: Path) -> list[dict]:
    "The same of weights that `write_start` kept."
    return [json.loads(line) for line in (directory / COURSE).read_text(encoding="utf-8").splitlines()]


@one_sentence()
def main(options: Sequence[str] | None = None) -> None:
    parser = Options("benchmarks.shared.earlier", __doc__)
    parser.add_argument("runs", type=Path, nargs="+", metavar="RUN")
    parser.add_argument("--average", type=int, required=True)
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args(options)
    write_start(arguments.runs, arguments.average, arguments.out)
    print(f"{sum(one['cost']['updates'] for one in earlier(arguments.out)):,} updates so far; {arguments.out}")


if __name__ == "__main__":
    main()
