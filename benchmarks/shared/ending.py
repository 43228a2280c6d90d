"How a benchmark ends that cannot begin or go on."
import argparse
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from annotated_transformer import InputError
from annotated_transformer.training.stopping import STOPPED, Stopped


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
