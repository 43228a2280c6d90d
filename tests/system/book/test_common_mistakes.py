"docs/common-mistakes.md: its checks find the mistakes that it says they find, and its figures are those of results/."
import contextlib
import io
import json
import re
import sys
from pathlib import Path

import pytest

from benchmarks import mistakes

ROOT = Path(__file__).parents[3]
TEXT = (ROOT / "docs/common-mistakes.md").read_text(encoding="utf-8")
RECORD = json.loads((ROOT / "results/checks/mistakes.json").read_text(encoding="utf-8"))
ROWS = {cells[0]: cells[1:] for line in re.findall(r"^\| (.+) \|$", TEXT, re.MULTILINE) if len(cells := line.split(" | ")) == 6}


def failing(mistake: str, monkeypatch) -> list[str]:
    "The names of the checks that the page's own code prints, for docs/transformer.py with a mistake."
    [code] = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    monkeypatch.setitem(sys.modules, "transformer", mistakes.planted(*mistakes.MISTAKES[mistake]))
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(code, {})
    return re.findall(r"'([^']+)'", printed.getvalue())


@pytest.mark.parametrize("mistake", mistakes.MISTAKES)
def test_the_checks_that_need_no_training_find_what_the_page_says(mistake, monkeypatch):
    found = failing(mistake, monkeypatch)
    assert ROWS[mistake][4] == (", ".join(found) or "none")


def test_the_page_has_the_figures_of_the_file():
    assert set(ROWS) - {"mistake"} == set(RECORD["figures"]) == set(mistakes.MISTAKES)
    for name, found in RECORD["figures"].items():
        means = {key: float("nan") if None in values else sum(values) / len(values) for key, values in found.items()}
        losses = [loss.replace("nan", "NaN") for loss in (f"{means['first_loss']:.1f}", f"{means['last_loss']:.2f}")]
        assert ROWS[name][:4] == [*losses, f"{means['right']:.0f}%", f"{means['right_padded']:.0f}%"], name


def test_the_page_counts_mistakes_and_checks_and_names_spreads():
    unfound = [name for name, row in ROWS.items() if row[4] == "none" and name != "none"]
    assert f"We planted {len(mistakes.MISTAKES) - 1} mistakes" in TEXT
    assert f"find {len(mistakes.MISTAKES) - 1 - len(unfound)} of the {len(mistakes.MISTAKES) - 1}" in TEXT
    assert len(re.findall(r'^    "[\w -]+": ', TEXT, re.MULTILINE)) == 14 and "## Fourteen checks" in TEXT
    spread = ["{:.0f}% to {:.0f}%".format(min(found["right"]), max(found["right"])) for found in (
        RECORD["figures"]["none"], RECORD["figures"]["embeddings not multiplied by the root of d_model"])]
    assert "whose seeds have {} (without the root of d_model they have {})".format(*spread) in TEXT
    unmasked = [sum(RECORD["figures"]["padding is not masked"][key]) for key in ("right", "right_padded")]
    assert 0.2 < 1 - unmasked[1] / unmasked[0] < 0.25 and "spoil more than a fifth" in TEXT


def test_a_mistake_is_learnt_and_written_as_the_file_has_it(tmp_path, monkeypatch):
    kept = {name: mistakes.MISTAKES[name] for name in ("none", "softmax twice")}
    monkeypatch.setattr(mistakes, "MISTAKES", kept)
    monkeypatch.setattr(mistakes, "BATCHES", 2)
    mistakes.main(["--seeds", "2", "--steps", "2", "--out", str(tmp_path / "mistakes.json")])
    record = json.loads((tmp_path / "mistakes.json").read_text(encoding="utf-8"))
    assert record["config"] == {**RECORD["config"], "seeds": [1, 2], "steps": 2} and set(record["figures"]) == set(kept)
    first = record["figures"]["none"]["first_loss"]
    assert first == pytest.approx(RECORD["figures"]["none"]["first_loss"][:2], abs=0.01) and first[0] != first[1]
    assert record["figures"]["softmax twice"]["first_loss"] != first


@pytest.mark.parametrize("option", ["--seeds", "--steps"])
def test_impossible_options_are_refused(option, capsys):
    with pytest.raises(SystemExit) as ended:
        mistakes.main([option, "0"])
    assert ended.value.code == 2 and "must be at least 1" in capsys.readouterr().err


def test_a_piece_that_the_file_has_no_longer_is_named():
    with pytest.raises(AssertionError, match="'no such line' stands 0 times in transformer.py"):
        mistakes.planted("no such line", "")
