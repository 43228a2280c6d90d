"A directory of the workbook's notebooks: written, read, checked, and used instead of the package's code."
import ast
import contextlib
import functools
import io
import linecache
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TypedDict

from .. import InputError
from ..files import named, write_file
from ..json_files import read_json
from ..progress_bar import progress_bar
from .cells import names_defined, parsed_cell, text_of
from .exercise import Exercise, exercises, folder, replace
from .judging import Verdict, judge, lacking

__all__ = ["Cell", "Notebook", "check_all", "in_directory", "notebook_of", "read_own", "use_own", "verdicts_on", "write"]


def write(
    directory: str | Path,
    language: str = "en",           # of the instructions; "zh" for Chinese ones
) -> tuple[list[str], list[str]]:   # names of the notebooks written, and of those that were there already
    "Write the workbook's notebooks into a directory; existing ones stay as they are."
    there = folder() if language == "en" else folder() / language
    if not there.is_dir():
        raise InputError(f"the workbook is in English (en) and Chinese (zh), not in {language!r}")
    directory, written, kept = named(directory), [], []
    directory.mkdir(parents=True, exist_ok=True)
    for source in sorted(there.glob("*.ipynb")):
        target = directory / source.name
        if target.exists():
            kept.append(source.name)
        else:
            write_file(target, functools.partial(shutil.copyfile, source))
            written.append(source.name)
    return written, kept


class Cell(TypedDict):
    "What a cell of a notebook holds, among other things."
    cell_type: str
    source: str | list[str]


class Notebook(TypedDict):
    "What a notebook holds, among other things."
    cells: list[Cell]


DEFINING = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef, ast.Assign, ast.AnnAssign)


def read_own(
    notebook: Path,
) -> tuple[dict, dict[str, str]]:   # the names that it defines; and why it fails to define others, in one sentence each
    "What a reader wrote in a notebook: only its definitions, imports and assignments are run."
    cells = read_json(notebook, Notebook, "rename it, and write it again")["cells"]
    namespace, broken = {"__name__": notebook.stem}, {}
    sources = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    for number, source in enumerate(sources, 1):
        statements, problem = parsed_cell(source)
        if problem:
            broken |= dict.fromkeys(names_defined(source), problem)
        label = f"{notebook.name}, code cell {number}"
        linecache.cache[label] = len(source), None, source.splitlines(keepends=True), label
        for statement in statements:
            if isinstance(statement, DEFINING):
                name = getattr(statement, "name", None)
                try:
                    with contextlib.redirect_stdout(io.StringIO()):
                        exec(compile(ast.Module([statement], []), label, "exec"), namespace)
                    broken.pop(name, None)
                except (Exception, SystemExit) as error:
                    broken[name] = f"{type(error).__name__} where it is defined: {text_of(error)}"
    return namespace, broken


def notebook_of(directory: Path, page: str) -> Path | None:
    """A page's notebook in the directory, if it is there.

    Colab calls a copy "Copy of 3.2_attention.ipynb", browsers a second download "3.2_attention (1).ipynb", and courses' sites put
    a student's name before it. If no file has the page's own name, one with such a name is meant.
    """
    own = directory / f"{page}.ipynb"
    if own.exists():
        return own
    alike = sorted(path for path in directory.glob("*.ipynb") if page in path.stem and not path.name.startswith("."))
    if len(alike) > 1:
        raise InputError(f"{directory} holds {' and '.join(path.name for path in alike)}: call the one to check {own.name}")
    return alike[0] if alike else None


def in_directory(directory: Path) -> list[Exercise]:
    "The exercises whose notebooks are in the directory."
    found = {page: notebook_of(directory, page) for page in dict.fromkeys(one.page for one in exercises().values())}
    there = [exercise for exercise in exercises().values() if found[exercise.page]]
    if not there:
        raise InputError(f"{directory} holds no notebook of the workbook: annotated-transformer workbook {directory} writes them")
    return there


def verdicts_on(there: list[Exercise], directory: Path) -> Iterator[Verdict]:
    "A verdict on one exercise after the other. This runs readers' code, so the command calls it in a process with a time limit."
    read = {}
    for exercise in there:
        if exercise.page not in read:
            notebook = notebook_of(directory, exercise.page) or directory / f"{exercise.page}.ipynb"
            read[exercise.page] = notebook.name, *read_own(notebook)
        name, namespace, broken = read[exercise.page]
        with contextlib.redirect_stdout(io.StringIO()):
            if verdict := lacking(exercise):
                pass
            elif exercise.name in broken:
                verdict = Verdict(exercise.name, False, broken[exercise.name])
            elif namespace.get(exercise.name, exercise.own) is exercise.own:
                verdict = Verdict(exercise.name, False, f"{name} does not define it")
            else:
                verdict = judge(exercise, namespace[exercise.name])
        yield verdict


def check_all(
    directory: str | Path,
) -> dict[str, list[Verdict]]:   # by notebook
    "Check every exercise of the workbook notebooks in a directory, with a progress bar."
    there, found = in_directory(named(directory)), {}
    bar = progress_bar(iterable=verdicts_on(there, named(directory)), total=len(there), desc="checks", leave=False)
    for exercise, verdict in zip(there, bar):
        found.setdefault(exercise.page, []).append(verdict)
    return found


def use_own(directory: str | Path = ".") -> None:
    "From now on, the reader's functions that are green replace the package's; prints which do."
    directory = named(directory)
    spaces = {page: read_own(notebook)[0] for page in dict.fromkeys(exercise.page for exercise in exercises().values())
              if (notebook := notebook_of(directory, page))}
    verdicts = [verdict for found in check_all(directory).values() for verdict in found] if spaces else []
    green = [verdict.name for verdict in verdicts if verdict.green]
    own = {name: exercise.own for name, exercise in exercises().items() if not lacking(exercise)}
    used = {name: spaces[exercises()[name].page][name] if name in green else own[name] for name in own}
    for name in green:
        replace(own[name], used[name])
    for space in spaces.values():
        space.update({name: function for name, function in used.items() if name in space})
    print("yours:", ", ".join(green) or "none yet")
    print("the package's:", ", ".join(name for name in used if name not in green) or "none")
