"The workbook with Chinese instructions: the same code, cell by cell, and its Chinese never behind."
import json
import re
from pathlib import Path

import chinese_workbook
import pytest

from annotated_transformer import InputError
from annotated_transformer.workbook import exercises, folder, write

NAMES = sorted(path.name for path in folder().glob("*.ipynb"))


def cells(path: Path) -> list[tuple[str, str]]:
    notebook = json.loads(path.read_text(encoding="utf-8"))
    return [(cell["cell_type"], "".join(cell["source"])) for cell in notebook["cells"]]


@pytest.mark.parametrize("name", NAMES)
def test_code_is_the_same_and_prose_is_chinese(name):
    english, ours = cells(folder() / name), cells(folder() / "zh" / name)
    assert [kind for kind, _ in ours] == [kind for kind, _ in english]
    for (kind, here), (_, there) in zip(ours, english):
        if kind == "code":
            assert here == there
        else:
            assert re.search("[\u4e00-\u9fff]", here), here
            assert not re.search(r"\[([^\]]+)\]\(\1\.ipynb\)", here + there), "a page is called by its name, not by its file's"
            blocks = r"```python\n.*?```"
            assert re.findall(blocks, here, re.DOTALL) == re.findall(blocks, there, re.DOTALL)
            assert re.findall(r"\$\$.*?\\tag\{(.*?)\}", here, re.DOTALL) == re.findall(r"\$\$.*?\\tag\{(.*?)\}", there, re.DOTALL)
            assert here.count("<details>") == there.count("<details>")
            assert not re.search(r"Hint|Solution|What is tested|Next:|Module|模块", re.sub(blocks, "", here, flags=re.DOTALL))


def test_the_command_writes_it_and_checks_it_in_english(command, tmp_path):
    status, out, _ = command("workbook", tmp_path / "mine", "--language", "zh")
    assert status == 0 and f"{len(NAMES)} notebooks written" in out
    name = "learning_rate"
    path = tmp_path / "mine" / f"{exercises()[name].page}.ipynb"
    text = path.read_text(encoding="utf-8")
    assert "自己写一遍" in text and "提示 1" in text
    notebook = json.loads(text)
    for cell in notebook["cells"]:
        if "".join(cell["source"]).startswith(f"def {name}("):
            cell["source"] = exercises()[name].solution
    path.write_text(json.dumps(notebook), encoding="utf-8")
    for other in {*(tmp_path / "mine").iterdir()} - {path}:
        other.unlink()
    status, out, _ = command("workbook", tmp_path / "mine", "--check")
    assert status == 0 and f"✓ green  {name}: " in out and "1 of 2 exercises are green" in out


def test_another_language_is_refused(command, tmp_path):
    status, _, err = command("workbook", tmp_path / "mine", "--language", "fr")
    assert status == 2 and "fr" in err and not (tmp_path / "mine").exists()
    with pytest.raises(InputError, match="English .en. and Chinese .zh., not in 'fr'"):
        write(tmp_path / "mine", "fr")
    status, _, err = command("workbook", tmp_path / "mine", "--language", "zh", "--for", "nbgrader")
    assert status == 2 and "leave --language out" in err and len(err.splitlines()) == 1


@pytest.mark.parametrize("change, said", [
    (lambda entry: entry.update(of="00000000"), "is behind"),
    (lambda entry: entry.update(hints=entry["hints"][1:]), "as many hints"),
    (lambda entry: entry.update(hints=[entry["hints"][0], *entry["hints"][:-1]]), "differ in the code span"),
])
def test_an_exercise_unlike_its_english_is_named(monkeypatch, change, said):
    found = {name: dict(entry) for name, entry in chinese_workbook.listed().items()}
    change(found["sinusoids"])
    monkeypatch.setattr(chinese_workbook, "listed", lambda: found)
    lines = list(chinese_workbook.complaints())
    assert all("sinusoids" in line for line in lines) and any(said in line for line in lines)
