"The workbook: every solution is green, every planted mistake is noticed, and a student finds the way from an empty directory."
import json
import sys
from pathlib import Path

import pytest

from annotated_transformer.workbook import exercises, failures, folder, judge, written_as

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools"))
from workbook import planted  # noqa: E402

MISTAKES = planted(ROOT)


@pytest.mark.parametrize("name", exercises())
def test_the_solution_is_green(name):
    verdict = judge(exercises()[name], written_as(exercises()[name], exercises()[name].solution))
    assert verdict.green, verdict


@pytest.mark.parametrize("name, mistake, source", MISTAKES, ids=[f"{name}: {mistake}" for name, mistake, _ in MISTAKES])
def test_a_planted_mistake_is_noticed(name, mistake, source):
    _, sentence = next(failures(exercises()[name], written_as(exercises()[name], source)), (None, None))
    assert sentence, "no test of the page notices it: the page lacks one"
    assert sentence.startswith("“") and "\n" not in sentence and len(sentence) < 500, sentence


def test_the_table_of_mistakes_is_complete():
    rows = json.loads((ROOT / "results/workbook.json").read_text(encoding="utf-8"))["figures"]["mistakes"]
    assert [(row["exercise"], row["mistake"]) for row in rows] == [(name, mistake) for name, mistake, _ in MISTAKES]
    assert len(rows) >= 40 and all(row["noticed by"] for row in rows)


def test_it_adds_less_than_a_mebibyte_to_the_wheel():
    assert sum(path.stat().st_size for path in folder().iterdir()) < 2**20


def solve(directory: Path, name: str, source: str) -> None:
    "Write code where the stub stands."
    path = directory / f"{exercises()[name].page}.ipynb"
    notebook = json.loads(path.read_text(encoding="utf-8"))
    for cell in notebook["cells"]:
        text = "".join(cell["source"])
        if cell["cell_type"] == "code" and text.startswith((f"def {name}(", f"class {name}(")):
            cell["source"] = source
    path.write_text(json.dumps(notebook), encoding="utf-8")


def test_a_student_writes_solves_and_breaks(command, tmp_path):
    directory = tmp_path / "mine"
    status, out, _ = command("workbook", directory)
    assert status == 0 and "notebooks written" in out and "32_attention.ipynb" in out
    three = ("scaled_dot_product_attention", "causal_mask", "learning_rate")
    for name in three:
        solve(directory, name, exercises()[name].solution)
    status, out, _ = command("workbook", directory, "--check")
    assert status == 0 and f"3 of {len(exercises())} exercises are green" in out
    assert all(f"✓ green  {name}: " in out for name in three)
    solve(directory, "causal_mask", exercises()["causal_mask"].solution.replace("tril()", "triu()"))
    before = (directory / "32_attention.ipynb").read_bytes()
    status, out, _ = command("workbook", directory)
    assert "0 notebooks written" in out and (directory / "32_attention.ipynb").read_bytes() == before
    status, out, _ = command("workbook", directory, "--check")
    [line] = [line for line in out.splitlines() if " causal_mask:" in line]
    assert "✗ red" in line and "“no look ahead” fails for length=5" in line


def test_a_mistake_in_the_command_ends_in_one_sentence(command, tmp_path):
    status, _, err = command("workbook", tmp_path / "nowhere", "--check")
    assert status == 2 and "holds no notebook of the workbook" in err and len(err.splitlines()) == 1
    (tmp_path / "file").touch()
    status, _, err = command("workbook", tmp_path / "file")
    assert status == 2 and "is a file" in err
