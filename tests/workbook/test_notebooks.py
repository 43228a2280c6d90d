"A directory of the workbook's notebooks: what is there stays, and one cell costs no other."
import contextlib
import io
import json
import sys
from pathlib import Path
from unittest.mock import patch

import pytest

from annotated_transformer import InputError
from annotated_transformer.workbook import check, check_all, exercises, folder, write
from annotated_transformer.workbook.cells import names_defined


def fill(directory, name, code):
    "Write code into the cell of a workbook notebook that leaves it out."
    path = directory / f"{exercises()[name].page}.ipynb"
    notebook = json.loads(path.read_text(encoding="utf-8"))
    [place] = [cell for cell in notebook["cells"] if cell["cell_type"] == "code" and name in names_defined("".join(cell["source"]))]
    place["source"] = code.splitlines(keepends=True)
    path.write_text(json.dumps(notebook), encoding="utf-8")


def test_nothing_that_is_there_is_overwritten(tmp_path):
    everything = write(tmp_path)[0]
    mine = tmp_path / "3.2_attention.ipynb"
    mine.write_text("mine", encoding="utf-8")
    (tmp_path / "3.5_position.ipynb").unlink()
    written, kept = write(tmp_path)
    assert written == ["3.5_position.ipynb"] and len(kept) == len(everything) - 1
    assert mine.read_text(encoding="utf-8") == "mine"


def test_every_stub_is_red_and_says_that_it_is_not_written(tmp_path):
    write(tmp_path)
    verdicts = [verdict for found in check_all(tmp_path).values() for verdict in found]
    assert [verdict.name for verdict in verdicts] == list(exercises())
    assert {(verdict.green, verdict.sentence) for verdict in verdicts} == {(False, "not written yet")}


def test_a_cell_that_is_not_python_costs_only_its_own_exercise(tmp_path):
    write(tmp_path)
    fill(tmp_path, "causal_mask", "def causal_mask(length, device=None)\n    return 1")
    right = exercises()["padding_mask"].solution
    assert "!= PAD" in right
    own = "%time\n!pip list\nHIDDEN: int = PAD\n" + right.replace("!= PAD", "!= HIDDEN")
    fill(tmp_path, "padding_mask", own + "\nraise SystemExit")
    found = {verdict.name: verdict for verdict in check_all(tmp_path)["3.2_attention"]}
    assert found["padding_mask"].green
    sentence = "line 1 of its cell is not Python (expected ':'): `def causal_mask(length, device=None)`"
    assert found["causal_mask"].sentence == sentence
    (tmp_path / "3.2_attention.ipynb").write_text("{", encoding="utf-8")
    with pytest.raises(InputError, match="rename it"):
        check_all(tmp_path)


def test_a_missing_package_is_named_and_not_a_red_exercise(tmp_path):
    with patch.dict(sys.modules, {"nltk": None, "nltk.tree": None}):
        for name in ("trees", "tree_repair"):
            sys.modules.pop(f"annotated_transformer.data.{name}", None)
        write(tmp_path)
        [verdict] = check_all(tmp_path)["6.3_trees"]
        assert str(verdict) == '○ open   linearize: nltk is not installed: pip install "annotated_transformer[parsing]"'
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            exec("check('linearize')", {"check": check})
        assert output.getvalue() == f"{verdict}\n"


def test_a_notebook_is_written_whole_or_not_at_all(tmp_path):
    def half(source, target):
        Path(target).write_text("half", encoding="utf-8")
        raise KeyboardInterrupt

    with patch("shutil.copyfile", half), pytest.raises(KeyboardInterrupt):
        write(tmp_path)
    assert not list(tmp_path.iterdir())
    assert len(write(tmp_path)[0]) == len(list(folder().glob("*.ipynb")))
