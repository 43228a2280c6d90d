"""What an installation brings, and what a first command costs: distributions, megabytes, seconds of processor time.

    python -m benchmarks.installation [--before DIRECTORY] [--out results/installation/installation.json]

The distributions are those that the requirements name, and all that these require, as installed here; what PyTorch itself
brings is not counted. Seconds are processor time, user and system, the minimum of several fresh processes, next to those of
`import torch` alone. With `--before`, the same is measured for another checkout.
"""
import json
import os
import re
import resource
import subprocess
import sys
from collections.abc import Sequence
from configparser import ConfigParser
from importlib import metadata
from pathlib import Path

from benchmarks.shared.command import Options, one_sentence
from benchmarks.shared.side_by_side import save

ROOT = Path(__file__).parents[1]
COMMANDS = {
    "import torch": ["-c", "import torch"],
    "--version": ["-m", "annotated_transformer", "--version"],
    "train --help": ["-m", "annotated_transformer", "train", "--help"],
    "translate, one sentence": ["-m", "annotated_transformer", "translate"],
}


def closure(requirements: Sequence[str]) -> set[str]:
    "The distributions that are installed because of these requirements, by their normal names."
    found: set[str] = set()
    open_names = [re.split(r"[\s<>=!~;\[(]", requirement.strip(), maxsplit=1)[0] for requirement in requirements]
    while open_names:
        name = re.sub(r"[-_.]+", "-", open_names.pop()).lower()
        if name in found:
            continue
        try:
            needed = metadata.distribution(name).requires or []
        except metadata.PackageNotFoundError:  # for another system, or not installed
            continue
        found.add(name)
        open_names += [re.split(r"[\s<>=!~;\[(]", one, maxsplit=1)[0] for one in needed if "extra ==" not in one]
    return found


def megabytes(names: set[str]) -> float:
    "What the files of these distributions take."
    sizes = [file.size or 0 for name in names for file in metadata.distribution(name).files or []]
    return round(sum(sizes) / 1e6, 1)


def installed(checkout: Path) -> dict:
    "What the requirements of a checkout bring, beside PyTorch."
    config = ConfigParser(delimiters=["="], interpolation=None)
    config.read(checkout / "settings.ini", encoding="utf-8")
    found = closure(config["DEFAULT"]["requirements"].split()) - closure(["torch"])
    return {"distributions": len(found), "megabytes": megabytes(found), "names": sorted(found)}


def cpu_seconds(checkout: Path, words: Sequence[str]) -> float:
    "User and system time of one fresh process."
    environment = {**os.environ, "PYTHONPATH": str(checkout), "OMP_NUM_THREADS": "1"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, *words]
    subprocess.run(command, env=environment, cwd=checkout, input=b"A girl reads.\n", stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def measure(checkout: Path, times: int) -> dict:
    "All figures of one checkout."
    seconds = {name: min(cpu_seconds(checkout, words) for _ in range(times)) for name, words in COMMANDS.items()}
    torch = seconds["import torch"]
    return installed(checkout) | {
        "cpu_seconds": {name: round(value, 2) for name, value in seconds.items()},
        "times_import_torch": {name: round(value / torch, 2) for name, value in seconds.items()},
    }


@one_sentence()
def main(options: Sequence[str] | None = None) -> None:
    parser = Options("benchmarks.installation", __doc__, "results/installation/installation.json")
    parser.add_argument("--before", type=Path, help="another checkout, to compare with")
    parser.add_argument("--times", type=int, default=3, help="fresh processes for each command")
    arguments = parser.parse_args(options)
    if arguments.before and not (arguments.before / "settings.ini").is_file():
        parser.error(f"--before {arguments.before} is no checkout: it has no settings.ini")
    figures = {"now": measure(ROOT, arguments.times)}
    if arguments.before:
        figures = {"before": measure(arguments.before.resolve(), arguments.times)} | figures
    save(arguments.out, "benchmarks.installation", figures, {"times": arguments.times}, options=options)
    print(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
