"The command `workbook`: write the book's notebooks with their code left out, or check what stands in them."
from pathlib import Path
from typing import Annotated

from .. import InputError

__all__ = ["workbook_command"]


def workbook_command(
    directory: Annotated[Path, "DIRECTORY"],
    check: bool = False,
) -> None:
    """Write the book's notebooks with the code left out, for you to write; or check what you have written.

    Args:
        directory: Where the notebooks are, or are to be. Those that are there stay as they are.
        check: Run the book's tests on your code, and say what is green, what is red, and why.

    Example:
        annotated-transformer workbook my-transformer
        annotated-transformer workbook my-transformer --check
    """
    if directory.exists() and not directory.is_dir():
        raise InputError(f"{directory} is a file: name a directory")
    from ..workbook import check_all, exercises, write

    if not check:
        written, kept = write(directory)
        left = f"; {len(kept)} were there and stay as they are" if kept else ""
        first = next(iter(exercises().values())).page
        print(f"{directory}: {len(written)} notebooks written{left}\nBegin with {directory / first}.ipynb.\n"
              f"To see how far you are: annotated-transformer workbook {directory} --check")
        return
    found = check_all(directory)
    for page, verdicts in found.items():
        print(page, *verdicts, sep="\n  ")
    everything = [verdict for verdicts in found.values() for verdict in verdicts]
    print(f"{sum(verdict.green is True for verdict in everything)} of {len(everything)} exercises are green")
