"A benchmark as a command: its options, and how it ends where it cannot begin or go on."
import argparse
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from annotated_transformer import InputError
from annotated_transformer.training.stopping import STOPPED, Stopped


class Options(argparse.ArgumentParser):
    "The options of a benchmark. A mistake among them ends with one sentence and status 2."

    def __init__(
        self,
        module: str,     # as `python -m` names it
        doc: str,        # of which the first line says what it does
        out: str = "",   # where the figures go unless --out says otherwise
    ):
        super().__init__(prog=f"python -m {module}", description=doc.split("\n")[0])
        if out:
            self.add_argument("--out", type=results_file, default=Path(out), help="file of the figures")

    def error(self, message: str) -> None:
        self.exit(2, f"{self.prog}: error: {message}\n")


def results_file(text: str) -> Path:
    "The type of --out: a file that can be written, as one hears before anything is measured."
    path = Path(text)
    if path.is_dir():
        raise argparse.ArgumentTypeError(f"{path} is a directory: name a file")
    results_directory(path.parent, "file")
    return path


def results_directory(
    text: str | Path,
    instead: str = "directory",  # what the user is to name if it cannot be made
) -> Path:
    "The type of --out where it is the directory of several files."
    path = Path(text)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise argparse.ArgumentTypeError(f"{path} cannot be made ({error.strerror}): name another {instead}") from None
    return path


@contextmanager
def one_sentence() -> Iterator[None]:
    "A mistake of the user ends with its sentence and status 2; a stop says how to go on."
    try:
        yield
    except InputError as error:
        print(error, file=sys.stderr)
        sys.exit(2)
    except Stopped as stopped:
        print(f"{stopped}; the same command goes on from there", file=sys.stderr)
        sys.exit(STOPPED)


def at_least(least: int) -> Callable[[str], int]:
    "The type of an option of argparse: whole numbers from this one on."
    def number(text: str) -> int:
        if int(text) < least:
            raise argparse.ArgumentTypeError(f"must be at least {least}, not {text}")
        return int(text)

    return number
