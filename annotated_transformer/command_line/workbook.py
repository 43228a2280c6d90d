"The command `workbook`: write the book's notebooks with their code left out, or check the reader's code in them."
import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO, Literal, TypedDict

from .. import InputError
from ..progress_bar import one_line
from .terminal import as_typed, may_be_interrupted

if TYPE_CHECKING:
    from ..workbook import Exercise, Verdict

__all__ = ["judged_apart", "tell", "workbook_command"]

SECONDS = 180  # per exercise; the first of a notebook also waits for the notebook's own cells
LONGEST = 1_000  # characters of a sentence
PROGRAM = "from annotated_transformer.command_line.workbook import tell; tell()"


def workbook_command(
    directory: Annotated[tuple[Path, ...], "DIRECTORY"],
    check: bool = False,
    json_: Path | None = None,
    for_: Literal["nbgrader"] | None = None,
    language: Literal["en", "zh"] = "en",
) -> None:
    """Write the book's notebooks with the code left out, for you to write; or check what you have written.

    Args:
        directory: Where the notebooks are or will be. Existing ones stay as they are. --check takes several.
        check: Run the book's tests on your code, and say what is green, what is red, and why. It runs the code with your rights.
        json_: With --check: write into this file, for each directory and exercise, whether it is green, and why not.
        for_: Write a new nbgrader course directory instead, for teachers: an assignment for each page, 12 points for \
each exercise. nbgrader runs students' code with your rights.
        language: Of the instructions: English or Chinese (zh). Code, tests and the messages of a check are English.

    Example:
        annotated-transformer workbook my-transformer
        annotated-transformer workbook my-transformer --check
        annotated-transformer workbook students/* --check --json checks.json
        annotated-transformer workbook my-course --for nbgrader
    """
    for one in directory:
        if one.exists() and not one.is_dir():
            raise InputError(f"{one} is a file: name a directory")
    if json_ is not None and not check:
        raise InputError("--json writes what --check finds: add --check")
    if len(directory) > 1 and not check:
        raise InputError(f"{str(directory[1])!r} is one word too many: only --check takes several directories")
    if for_ is not None:
        if language != "en":
            raise InputError("--for nbgrader has its instructions only in English: leave --language out")
        write_course(directory[0], check)
    elif check:
        check_directories(tuple(found for one in directory for found in meant_by(one)), json_)
    else:
        write_notebooks(directory[0], language)


def write_notebooks(directory: Path, language: str) -> None:
    "Write the notebooks for a reader who begins."
    from ..workbook import exercises, write

    may_be_interrupted()
    written, kept = write(directory, language)
    left = f"; {len(kept)} were there and stay as they are" if kept else ""
    first = next(iter(exercises().values())).page
    print(f"{directory}: {len(written)} notebooks written{left}\nBegin with {directory / first}.ipynb.\n"
          f"To see how far you are: annotated-transformer workbook {as_typed(directory)} --check")


def meant_by(directory: Path) -> list[Path]:
    "For students/*, which Windows shells pass on unchanged, the directories that other shells would substitute."
    if "*" not in directory.name or directory.exists():
        return [directory]
    there = (path for path in directory.parent.glob("*") if path.is_dir() and not path.name.startswith("."))
    return sorted(path for path in there if fnmatch(path.name, directory.name)) or [directory]


def check_directories(directories: tuple[Path, ...], out: Path | None) -> None:
    "Say what is green, and write it down. If one of several directories cannot be checked, the verdicts on the others stay."
    from ..files import require_place, write_text_file

    if out is not None:
        require_place(out)
    several, rows, mistakes = len(directories) > 1, [], []
    for directory in directories:
        row = {"directory": str(directory), "mistake": None, "exercises": []}
        rows.append(row)
        try:
            row["exercises"] = check_one(directory, heading=f"{directory}\n" * several)
        except InputError as mistake:
            row["mistake"] = str(mistake)
            mistakes.append(str(mistake))
            if several:
                print(directory, mistake, sep="\n", end="\n\n")
    if out is not None and (several or not mistakes):
        text = json.dumps(rows, indent=1, ensure_ascii=False) + "\n"
        out.parent.mkdir(parents=True, exist_ok=True)
        write_text_file(out, text)
    if mistakes:
        raise InputError(f"{len(mistakes)} of {len(directories)} directories could not be checked: {mistakes[0]}"
                         if several else mistakes[0])


def check_one(directory: Path, heading: str) -> list[dict]:
    "Print what the book's tests say about each exercise in a directory, and return it."
    from ..progress_bar import progress_bar
    from ..workbook import in_directory, notebook_of

    there, found = in_directory(directory), {}
    files = {exercise.page: notebook_of(directory, exercise.page).name for exercise in there}
    for exercise, verdict in progress_bar(iterable=judged_apart(there, directory), total=len(there), desc="checks", leave=False):
        found.setdefault(exercise.page, []).append(verdict)
    print(heading, end="")
    for page, verdicts in found.items():
        another = f" ({one_line(files[page])})" if files[page] != f"{page}.ipynb" else ""
        print(page + another, *verdicts, sep="\n  ")
    everything = [{"page": page} | verdict._asdict() for page, verdicts in found.items() for verdict in verdicts]
    print(f"{sum(row['green'] is True for row in everything)} of {len(everything)} exercises are green")
    if heading:
        print()
    return everything


def write_course(directory: Path, check: bool) -> None:
    "Write the course for teachers."
    if check:
        raise InputError("--check judges your own notebooks, and nbgrader judges those of --for nbgrader: leave one of them out")
    from ..files import new_directory

    new_directory(directory)
    from ..workbook.assignments import write_assignments

    may_be_interrupted()
    names = write_assignments(directory)
    print(f"{directory}: a course of nbgrader with {len(names)} assignments\n"
          f"Next, in {directory}: nbgrader generate_assignment {names[0]}")


def judged_apart(
    there: list["Exercise"],
    directory: Path,
    seconds: float = SECONDS,
) -> Iterator[tuple["Exercise", "Verdict"]]:
    "Verdicts from a separate process: code that never ends, or that ends Python, is red, and the others are still judged."
    from ..workbook import Verdict

    left = list(there)
    while left:
        last = None
        for said in answers(left, directory, seconds):
            if isinstance(said, str):
                page = left[0].page
                reading = last is None or last.page != page  # if so, the notebook's own cells are to blame
                for exercise in [one for one in left if one.page == page][: None if reading else 1]:
                    yield exercise, Verdict(exercise.name, False, f"{said}, and was stopped")
                    left.remove(exercise)
                break
            last = left.pop(0)
            yield last, Verdict(**said)
            if not left:
                return


class Said(TypedDict):
    "What `tell` says about an exercise."
    name: str
    green: bool | None
    sentence: str


def answers(left: list["Exercise"], directory: Path, seconds: float) -> Iterator[dict | str]:
    "What `tell` says in another process; finally, why it stopped."
    # The working directory must not come first.
    own = [*map(str, filter(None, sys.path)), str(Path(__file__).parents[2]), str(directory)]
    program = f"import sys; sys.path[:] = {own!r}; {PROGRAM}"
    words = [sys.executable, "-c", program, str(directory), *(exercise.name for exercise in left)]
    apart = {"stdin": subprocess.PIPE, "start_new_session": True}  # Ctrl-C goes only to us, and when we end, its input ends
    with subprocess.Popen(words, stdout=subprocess.PIPE, **apart) as child:
        lines: queue.Queue[bytes] = queue.Queue()
        threading.Thread(target=pass_on, args=(child.stdout, lines), daemon=True).start()
        limit = SECONDS  # to be ready
        try:
            while line := lines.get(timeout=limit):
                limit, said = seconds, understood(line, left[0].name)
                if said is None:
                    yield "it has written among the answers of the check"
                    return
                if "mistake" in said:
                    raise InputError(said["mistake"])
                if said:
                    yield said
            yield f"it has ended Python (status {child.wait()})"
        except queue.Empty:
            yield f"it did not finish within {limit:g} seconds"
        finally:
            child.kill()
            if os.name == "posix":  # including processes that readers' code has started, which Ctrl-C does not reach either
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(child.pid, signal.SIGKILL)


def understood(line: bytes, name: str) -> dict | None:
    "A line from `tell`, which reports on this exercise next; None for a line that readers' code wrote into an open file."
    from ..json_files import checked, parsed

    try:
        said = parsed(line, dict)
        if said and said.keys() != {"mistake"} and checked(said, Said)["name"] != name:
            return None
    except InputError:
        return None
    return said


def plain(sentence: str) -> str:
    "A sentence as one line for any terminal, not too long; it may contain what readers' code says."
    return one_line(sentence[:LONGEST]) + "…" * (len(sentence) > LONGEST)


def pass_on(stream: BinaryIO, lines: "queue.Queue[bytes]") -> None:
    "Pass on line after line, and an empty one at the end."
    with contextlib.suppress(ValueError):  # whoever reads closes it, as after a time limit
        for line in stream:
            lines.put(line)
    lines.put(b"")


def end_with_parent() -> None:
    "From here on this process ends when the one that holds the other end of its standard input does; its input is empty."
    parent = os.dup(0)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    threading.Thread(target=lambda: os.read(parent, 1) or os._exit(1), daemon=True).start()


def tell() -> None:
    "In that process: a line of JSON when ready, and one for each exercise. What readers' code prints to standard output is lost."
    directory, *names = sys.argv[1:]
    end_with_parent()
    with contextlib.suppress(BrokenPipeError), os.fdopen(os.dup(1), "w", encoding="utf-8") as out:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        import torch  # noqa: F401

        from ..workbook import exercises, verdicts_on

        print("{}", file=out, flush=True)  # on a busy machine loading PyTorch alone takes long, and no exercise is to blame
        try:
            for verdict in verdicts_on([exercises()[name] for name in names], Path(directory)):
                print(json.dumps(verdict._replace(sentence=plain(verdict.sentence))._asdict()), file=out, flush=True)
        except InputError as mistake:
            print(json.dumps({"mistake": plain(str(mistake))}), file=out, flush=True)
