"""The workbook for nbgrader: what it is given, and, where nbgrader is installed, the points that it gives by itself.

nbgrader pulls in much, so no extra of ours has it: `pip install nbgrader`, or name its command in the variable NBGRADER.
"""
import csv
import json
import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from workbook import planted

from annotated_transformer.workbook import exercises, folder, written_as
from annotated_transformer.workbook.assignments import (
    BEGIN,
    END,
    POINTS,
    assignment,
    grade,
    tier,
    with_solution,
    write_assignments,
)

ROOT = Path(__file__).parents[3]

PAGES = list(dict.fromkeys(exercise.page for exercise in exercises().values()))
NBGRADER = os.environ.get("NBGRADER") or shutil.which("nbgrader")
REGION = re.compile(rf"^( *){BEGIN}\n.*?^ *{END}$", re.MULTILINE | re.DOTALL)


def source(cell: dict) -> str:
    return "".join(cell["source"])


def cells_of(page: str, *asked: str) -> list[dict]:
    "The cells of an assignment that are so and so to nbgrader."
    return [cell for cell in assignment(page)["cells"] if all(cell["metadata"].get("nbgrader", {}).get(one) for one in asked)]


@pytest.mark.parametrize("page", PAGES)
def test_a_cell_without_its_solution_is_the_workbooks_and_with_it_the_packages(page):
    stubs = ["".join(cell["source"]) for cell in json.loads((folder() / f"{page}.ipynb").read_text(encoding="utf-8"))["cells"]]
    written = cells_of(page, "solution")
    assert [cell["metadata"]["nbgrader"]["grade_id"] for cell in written] == [
        name for name, exercise in exercises().items() if exercise.page == page]
    for cell in written:
        own = exercises()[cell["metadata"]["nbgrader"]["grade_id"]]
        assert REGION.sub(r"\1raise NotImplementedError", source(cell)) in stubs and BEGIN in source(cell)
        assert re.sub(rf"^ *({BEGIN}|{END})\n?", "", source(cell), flags=re.MULTILINE).rstrip("\n") == own.solution


@pytest.mark.parametrize("page", PAGES)
def test_each_test_is_a_locked_cell_with_points_and_no_solution_is_told(page):
    graded = cells_of(page, "grade", "locked")
    own = [exercise for exercise in exercises().values() if exercise.page == page]
    points = [cell["metadata"]["nbgrader"]["points"] for cell in graded]
    assert len(points) == sum(len(exercise.tests) for exercise in own)
    assert sum(points) == POINTS * len(own) and min(points) >= 1  # of one exercise as many as of any other
    cells = assignment(page)["cells"]
    assert "Apache 2.0" in source(cells[0]) and "`__init__`" in source(cells[0])
    ids = [cell["metadata"]["nbgrader"]["grade_id"] for cell in cells if cell["metadata"]]
    assert len(ids) == len(set(ids)) and len({cell["id"] for cell in cells}) == len(cells)
    assert not any("<summary>Solution" in source(cell) for cell in cells)
    assert sum("<summary>Hint 1" in source(cell) for cell in cells) == len(own)


def test_tiers_say_how_much_an_exercise_builds_on_others():
    names = ("scaled_dot_product_attention", "one_head", "multi_head_attention", "causal_mask")
    assert [tier(name) for name in names] == [1, 2, 3, 1]
    assert "*Tier 2, 12 points.*" in "".join(map(source, assignment("3.2_attention")["cells"]))


def test_what_a_stub_leaves_out_stands_between_the_marks():
    stub = 'def f(x):\n    "Half."\n    raise NotImplementedError\n\n\ndef g(x):\n    return x'
    whole = 'def f(x):\n    "Half."\n    y = x\n    return y / 2\n\n\ndef g(x):\n    return x'
    assert with_solution(stub, whole) == (
        f'def f(x):\n    "Half."\n    {BEGIN}\n    y = x\n    return y / 2\n    {END}\n\n\ndef g(x):\n    return x')


def graded(name: str, source: str | None) -> list[bool]:
    "Which of an exercise's tests give their point to this code."
    found = []
    for test in exercises()[name].tests:
        cell = {"grade": grade, **({} if source is None else {name: written_as(exercises()[name], source)})}
        try:
            exec(f"grade({name!r}, {test['name']!r})", cell)
            found.append(True)
        except AssertionError as error:
            assert str(error)
            found.append(False)
    return found


@pytest.mark.parametrize("name", ["one_head", "length_penalty", "FeedForward", "Residual", "SharedEmbedding"])
def test_a_solution_gets_all_points_and_a_stub_none(name):
    cell, = (cell for cell in cells_of(exercises()[name].page, "solution") if cell["metadata"]["nbgrader"]["grade_id"] == name)
    assert all(graded(name, exercises()[name].solution))
    assert not any(graded(name, REGION.sub(r"\1raise NotImplementedError", source(cell)))) and not any(graded(name, None))


def test_a_function_of_the_students_that_is_called_grade_gives_no_points():
    cells = [cell for cell in cells_of("3.2_attention", "grade") if "'causal_mask'" in source(cell)]
    assert len(cells) == len(exercises()["causal_mask"].tests)
    for cell in cells:
        with pytest.raises(AssertionError, match="causal_mask"):
            exec(source(cell), {"grade": lambda *_: None})


def test_a_graded_cell_says_that_it_passes_or_what_became_of_the_name(capsys):
    test = exercises()["causal_mask"].tests[0]["name"]

    def said(source: str | None, **namespace) -> str:
        known = {"grade": grade, **({} if source is None else {"In": ["", source]}), **namespace}
        with pytest.raises(AssertionError) as raised:
            exec(f"grade('causal_mask', {test!r})", known)
        return str(raised.value)

    own = written_as(exercises()["causal_mask"], exercises()["causal_mask"].solution)
    exec(f"grade('causal_mask', {test!r})", {"grade": grade, "causal_mask": own})
    assert capsys.readouterr().out == "✓ passed\n"
    missing = "the notebook does not define causal_mask: write it in its cell, and run that cell first"
    assert said(None) == said("def mask(length):\n    return 1") == missing
    broken = "def causal_mask(length)\n    return 1"
    assert said(broken) == "line 1 of its cell is not Python (expected ':'): `def causal_mask(length)`"
    assert "stops before its end" in said("1 / 0\ndef causal_mask(length):\n    return 1")
    assert "not written yet" in said(None, causal_mask=exercises()["causal_mask"].own)


def test_a_class_that_is_half_written_gets_some_points():
    half = exercises()["SharedEmbedding"].solution.replace("return F.pad(F.linear(x, self.weight[PAD + 1 :]), (1, 0))",
                                                           "raise NotImplementedError")
    assert 0 < sum(graded("SharedEmbedding", half)) < len(exercises()["SharedEmbedding"].tests)


def test_the_command_writes_a_course_once(tmp_path, command, complaint):
    status, out, err = command("workbook", tmp_path / "course", "--for", "nbgrader")
    assert (status, err) == (0, "") and f"{len(PAGES)} assignments" in out and "nbgrader generate_assignment" in out
    assert sorted(path.stem for path in (tmp_path / "course").glob("source/*/*.ipynb")) == sorted(PAGES)
    assert "already exists" in complaint("workbook", tmp_path / "course", "--for", "nbgrader")
    assert "leave one of them out" in complaint("workbook", tmp_path / "other", "--for", "nbgrader", "--check")
    assert not (tmp_path / "other").exists()


def environment_of_nbgrader(home: Path) -> dict[str, str]:
    path = f"{Path(NBGRADER).parent}{os.pathsep}{os.environ['PATH']}"  # it calls a command beside it
    return os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "HOME": str(home), "PATH": path}


@pytest.mark.skipif(NBGRADER is None, reason="nbgrader is not installed: pip install nbgrader")
def test_the_commands_of_the_page_for_teachers_grade_what_a_student_has_handed_in(tmp_path, command):
    text = (ROOT / "docs/teaching.md").read_text(encoding="utf-8")
    lines = [line for block in re.findall(r"^```\n(.*?)^```$", text, re.MULTILINE | re.DOTALL) for line in block.splitlines()]
    first, *others = [shlex.split(line) for line in lines if line.startswith("nbgrader ")]
    command("workbook", tmp_path / "course", "--for", "nbgrader")
    path = Path("3.2_attention/3.2_attention.ipynb")
    source_path = tmp_path / "course/source" / path
    whole = json.loads(source_path.read_text(encoding="utf-8"))
    cells = [cell for cell in whole["cells"] if cell["id"] in ("title", "imports") or cell["id"].startswith("causal_mask")]
    source_path.write_text(json.dumps(whole | {"cells": cells}), encoding="utf-8")  # one exercise, chosen as the page says
    for words in (first, *others):
        done = subprocess.run([NBGRADER, *words[1:]], cwd=tmp_path / "course", env=environment_of_nbgrader(tmp_path),
                              capture_output=True, text=True)
        assert done.returncode == 0, done.stderr[-3000:]
        if words is first:
            notebook = json.loads((tmp_path / "course/release" / path).read_text(encoding="utf-8"))
            for cell in notebook["cells"]:
                if cell["metadata"].get("nbgrader", {}).get("grade_id") == "causal_mask":
                    cell["source"] = exercises()["causal_mask"].solution
            place = tmp_path / "course/submitted/ann" / path
            place.parent.mkdir(parents=True)
            place.write_text(json.dumps(notebook), encoding="utf-8")
    with open(tmp_path / "course/grades.csv", encoding="utf-8") as file:
        scores = {row["student_id"]: (float(row["score"]), float(row["max_score"])) for row in csv.DictReader(file)}
    assert scores == {"ann": (POINTS, POINTS)} and list((tmp_path / "course/feedback/ann/3.2_attention").glob("*.html"))


@pytest.mark.skipif(NBGRADER is None, reason="nbgrader is not installed: pip install nbgrader")
def test_nbgrader_gives_solutions_all_points_stubs_none_and_takes_some_for_each_mistake(tmp_path):
    course, pages = tmp_path / "course", ["3.3_feed_forward", "5.3_optimizer"]
    write_assignments(course)
    environment = environment_of_nbgrader(tmp_path)

    def nbgrader(*words: str) -> None:
        done = subprocess.run([NBGRADER, *words], cwd=course, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr[-3000:]

    mistakes = [(number, *mistake) for number, mistake in enumerate(planted(ROOT)) if exercises()[mistake[0]].page in pages]
    assert len(mistakes) > 10
    for page in pages:
        nbgrader("generate_assignment", page, "--create")
        released = (course / "release" / page / f"{page}.ipynb").read_text(encoding="utf-8")
        assert "raise NotImplementedError" in released and "SOLUTION" not in released
        own = {name: exercise.solution for name, exercise in exercises().items() if exercise.page == page}
        students = {"solved": own, "stubs": {}} | {
            f"mistake{number}": own | {name: wrong} for number, name, _, wrong in mistakes if name in own}
        for student, code in students.items():
            notebook = json.loads(released)
            for cell in notebook["cells"]:
                name = cell["metadata"].get("nbgrader", {}).get("grade_id")
                if name in code:
                    cell["source"] = code[name].splitlines(keepends=True)
            place = course / "submitted" / student / page
            place.mkdir(parents=True)
            (place / f"{page}.ipynb").write_text(json.dumps(notebook), encoding="utf-8")
        nbgrader("autograde", page, "--create")
    nbgrader("export", "--to", "grades.csv")
    with open(course / "grades.csv", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    points = {(row["student_id"], row["assignment"]): (float(row["score"]), float(row["max_score"])) for row in rows}
    for page in pages:
        most = POINTS * sum(exercise.page == page for exercise in exercises().values())
        assert points["solved", page] == (most, most) and points["stubs", page] == (0, most)
    for number, name, what, _ in mistakes:
        score, most = points[f"mistake{number}", exercises()[name].page]
        assert score < most, f"{name}, {what}: costs nothing"
