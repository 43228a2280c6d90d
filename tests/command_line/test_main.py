"Which words call which command."

import pytest

from annotated_transformer import InputError
from annotated_transformer.command_line.main import COMMANDS, overview
from annotated_transformer.command_line.train_and_score import variations_command


def test_variations_refuse_wrong_options_first(tmp_path):
    mistakes = {"--rows A1 F7": "no row F7", "--out table.csv": ".json", "--preset miniture": "miniture", "--seeds x": "x"}
    for wrong, said in mistakes.items():
        with pytest.raises(InputError, match=said):
            variations_command(["--run", str(tmp_path), *wrong.split()])
    assert not any(tmp_path.iterdir())


def test_variations_draw_over_no_picture_of_the_users(tmp_path, monkeypatch):
    monkeypatch.setattr("annotated_transformer.tables.variations.run_variations", lambda *_: pytest.fail("it trained first"))
    (tmp_path / "table.png").write_text("mine")
    with pytest.raises(InputError, match="table.json also writes .*table.png, which already exists"):
        variations_command(["--run", str(tmp_path / "runs"), "--out", str(tmp_path / "table.json")])
    assert (tmp_path / "table.png").read_text() == "mine" and len(list(tmp_path.iterdir())) == 1


def test_the_overview_names_every_command_and_fits_80_columns():
    lines = overview().splitlines()
    assert all(len(line) <= 80 for line in lines)
    assert [line.split()[0] for line in lines if line[:3].strip() and line.startswith("  ")] == list(COMMANDS)
