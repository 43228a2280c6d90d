"Which words call which command."
import tempfile
from pathlib import Path

from annotated_transformer import InputError
from annotated_transformer.command_line.main import COMMANDS, overview
from annotated_transformer.command_line.train_and_score import variations_command


def test_variations_refuse_wrong_options_first():
    with tempfile.TemporaryDirectory() as directory:
        (run := Path(directory, "runs")).mkdir()
        mistakes = {"--rows A1 F7": "no row F7", "--out table.csv": ".json", "--preset miniture": "miniture", "--seeds x": "x"}
        for wrong, said in mistakes.items():
            try:
                variations_command(["--run", str(run), *wrong.split()])
            except InputError as error:
                assert said in str(error), error
            else:
                raise AssertionError(wrong)
        assert not any(run.iterdir())


def test_the_overview_names_every_command_and_fits_80_columns():
    lines = overview().splitlines()
    assert all(len(line) <= 80 for line in lines)
    assert [line.split()[0] for line in lines if line[:3].strip() and line.startswith("  ")] == list(COMMANDS)
