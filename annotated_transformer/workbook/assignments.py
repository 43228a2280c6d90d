"""The workbook's notebooks as assignments for nbgrader, which hands them out without their solutions and grades them itself.

Each test of an exercise is a cell with points, and all exercises are worth the same. Tests take all other exercises from the
package, so an unsolved exercise costs points only once. The tier of an exercise says
how much it builds on others: exercises in tier 1 use no other exercise, those in tier 2 use one of tier 1, and so on.
"""
import ast
import difflib
import functools
import inspect
import json
import re
import sys
from pathlib import Path

from ..files import new_directory, write_directory
from .cells import names_defined, parsed_cell
from .exercise import Exercise, exercises, folder, functions_of
from .judging import failure, lacking

__all__ = ["COURSE", "grade", "tier", "write_assignments"]

COURSE, SOURCE = "annotated_transformer", "source"  # nbgrader reads source/ASSIGNMENT/*.ipynb
CONFIG = f"""c = get_config()
c.CourseDirectory.course_id = "{COURSE}"
c.ExecutePreprocessor.timeout = 300  # seconds for a cell: a test may wait for PyTorch, and a student's code may never end
c.ClearSolutions.code_stub = {{"python": "raise NotImplementedError"}}
"""
POINTS = 12  # per exercise; its tests share them
BEGIN, END = "### BEGIN SOLUTION", "### END SOLUTION"  # nbgrader removes what is between them
# Each test imports `grade` again: a student's function of that name must not grade.
GRADED = """# {said}
from annotated_transformer.workbook.assignments import grade

grade({name!r}, {test!r})"""
INTRODUCTION = """Write your code in place of `raise NotImplementedError`, run the cell, then the cells below it: each is one of
the book's own tests, and has points. Where there is an `__init__`, leave it and its names as they are: tests use them. Begin
with any exercise you like, because the tests take everything else from the package. Hints are folded below each exercise, and
the first says the least.

{licence}"""


@functools.cache
def tier(name: str) -> int:
    "Counted from 1: one more than the highest tier among the exercises that the solution uses."
    used = {node.id for node in ast.walk(ast.parse(exercises()[name].solution)) if isinstance(node, ast.Name)}
    return 1 + max((tier(other) for other in used & exercises().keys() - {name}), default=0)


def begun(exercise: Exercise, written: object) -> bool:
    "Whether the function, or one of the required methods, is more than its stub: some tests need only what the stub has."
    asked = [getattr(written, name, None) for name in exercise.methods] if exercise.methods else functions_of(written)
    bare = [inspect.unwrap(one).__code__ for one in asked if hasattr(one, "__code__")]
    return any("NotImplementedError" not in code.co_names for code in bare)


def missing(name: str, namespace: dict) -> str:
    "Why a notebook does not have the name: the last cell that would define it is not Python, or none does."
    for source in reversed(namespace.get("In", [])):  # IPython keeps the cells it has run
        if name in names_defined(source):
            return parsed_cell(source)[1] or f"the cell that defines {name} stops before its end"
    return f"the notebook does not define {name}: write it in its cell, and run that cell first"


def grade(name: str, test: str) -> None:
    "Run one of the book's tests on what the notebook calls `name`; AssertionError, with the reason in a sentence, if it fails."
    namespace, exercise = sys._getframe(1).f_globals, exercises()[name]
    if verdict := lacking(exercise):
        raise AssertionError(verdict.sentence)
    if name not in namespace:
        raise AssertionError(missing(name, namespace))
    if namespace[name] is exercise.own or not begun(exercise, namespace[name]):
        raise AssertionError(f"{name} is not written yet: write it, and run its cell first")
    [asked] = [one for one in exercise.tests if one["name"] == test]
    if sentence := failure(exercise, namespace[name], asked):
        raise AssertionError(sentence)
    print("✓ passed")


def with_solution(stub: str, solution: str) -> str:
    "The solution, with everything that the stub leaves out between nbgrader's marks."
    there, whole, found = stub.splitlines(), solution.splitlines(), []
    for kind, i, j, k, m in difflib.SequenceMatcher(None, there, whole, autojunk=False).get_opcodes():
        if kind == "equal":
            found += whole[k:m]
            continue
        [missing] = [line for line in there[i:j] if line.strip() == "raise NotImplementedError"]
        indent = missing[: len(missing) - len(missing.lstrip())]
        found += [indent + BEGIN, *whole[k:m], indent + END]
    return "\n".join(found)


def cell(kind: str, source: str, name: str, **nbgrader) -> dict:
    "A cell; cells for nbgrader carry its metadata."
    usual = {"grade": False, "solution": False, "locked": True, "task": False}
    about = {"schema_version": 3, "grade_id": name, **usual, **nbgrader}
    found = {"cell_type": kind, "id": re.sub(r"\W", "-", name)[:64], "metadata": {"nbgrader": about} if nbgrader else {},
             "source": source.splitlines(keepends=True)}
    return found | ({"execution_count": None, "outputs": []} if kind == "code" else {})


def exercise_cells(exercise: Exercise, text: str, stub: str, hints: str) -> list[dict]:
    "The cells that a student reads, writes, and is graded by."
    name, tests = exercise.name, exercise.tests
    heading, _, rest = text.partition("\n")
    shares = [POINTS // len(tests) + (number < POINTS % len(tests)) for number in range(len(tests))]
    hints = re.sub(r"\n*<details><summary>Solution</summary>.*?</details>", "", hints, flags=re.DOTALL)
    return [
        cell("markdown", f"{heading}\n\n*Tier {tier(name)}, {POINTS} points.*\n{rest}", f"{name}-text"),
        cell("code", with_solution(stub, exercise.solution), name, solution=True, locked=False),
        *(cell("code", GRADED.format(said=one["name"].replace("_", " "), name=name, test=one["name"]), f"{name}-{one['name']}",
               grade=True, points=points) for one, points in zip(tests, shares)),
        cell("markdown", hints, f"{name}-hints"),
    ]


def assignment(page: str) -> dict:
    "A notebook of the workbook as the source of an nbgrader assignment."
    notebook = json.loads((folder() / f"{page}.ipynb").read_text(encoding="utf-8"))
    read = [(one["cell_type"], "".join(one["source"])) for one in notebook["cells"]]
    [imports] = [source for _, source in read if "import check" in source]
    imports = imports.replace("\nfrom annotated_transformer.workbook import check", "")
    title, *_, licence = read[0][1].splitlines()
    cells = [
        cell("markdown", f"{title}\n\n{INTRODUCTION.format(licence=licence)}", "title"),
        cell("code", imports, "imports", locked=True),
    ]
    for number, (_, source) in enumerate(read):
        if asked := re.fullmatch(r'check\("(\w+)"\)', source):
            text, stub, hints = (read[number + away][1] for away in (-2, -1, 1))
            cells += exercise_cells(exercises()[asked[1]], text, stub, hints)
    return notebook | {"cells": cells}


def write_assignments(directory: str | Path) -> list[str]:  # their names
    "Write a new nbgrader course directory: its settings, and an assignment for each page. All or nothing."
    names = list(dict.fromkeys(exercise.page for exercise in exercises().values()))

    def write(beside: Path) -> None:
        (beside / "nbgrader_config.py").write_text(CONFIG, encoding="utf-8", newline="\n")
        for name in names:
            place = beside / SOURCE / name
            place.mkdir(parents=True)
            text = json.dumps(assignment(name), indent=1, ensure_ascii=False, sort_keys=True) + "\n"
            (place / f"{name}.ipynb").write_text(text, encoding="utf-8", newline="\n")

    write_directory(new_directory(directory), write)
    return names
