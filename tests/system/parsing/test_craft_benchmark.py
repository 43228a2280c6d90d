"The benchmark of the parser of biology, on a toy treebank."
import dataclasses
import json

import pytest

from annotated_transformer.config import TransformerConfig
from annotated_transformer.training.checkpoints import read_state
from annotated_transformer.training.runs import Run
from benchmarks import craft, semi


@pytest.fixture
def small(treebank, tmp_path, monkeypatch):
    model = TransformerConfig(110, n_layers=1, d_model=16, d_ff=24, n_heads=2, dropout=0.1, max_length=200)
    monkeypatch.setattr(craft, "RECIPE", dataclasses.replace(
        craft.RECIPE, model=model, corpus=f"{treebank}-words", batch_tokens=600, steps=8, warmup_steps=4, validate_every=4,
        checkpoint_every=1, keep=7, log_every=1))
    monkeypatch.setattr(craft, "EVERY", {"validation": 2, "test": 1})
    monkeypatch.setattr(semi, "AVERAGES", (1, 2))
    return ["--runs", str(tmp_path / "runs"), "--out", str(tmp_path / "results" / "parser.craft.json")]


@pytest.mark.parametrize("steps, expected", [
    ([250, 500, 750, 1000], [250, 500, 1000]), ([7], [7]), (range(3, 9), [4, 8]),
    (range(100, 100_001, 100), [6200, 12500, 25000, 50000, 100000]),
], ids=["halves", "one", "no smaller one", "five at most"])
def test_the_curve_halves_the_updates(steps, expected):
    assert craft.points(list(steps)) == expected


def test_a_run_is_trained_and_measured_and_measured_as_it_stands(small, tmp_path, refused):
    craft.main(small)
    record = json.loads((tmp_path / "results" / "parser.craft.json").read_text())
    found = record["figures"]
    assert found["training_sentences"] == 120 and found["updates"] == 8 and record["seed"] == 1
    for how, split in (("constrained", "validation"), ("constrained", "test"), ("free", "validation")):
        scores = found["scores"][how][split]
        assert scores["sentences"] == (5 if split == "validation" else 9) and scores["processor_seconds_per_sentence"] > 0
        assert how == "free" or scores["malformed"] == 0
    assert [(point["updates"], point["sentences"]) for point in found["curve"]] == [(2, 5), (4, 5), (8, 5)]
    assert found["right_branching"]["label"] == "VP" and found["right_branching"]["sentences"] == 9

    run = Run(tmp_path / "runs" / "seed1")
    assert [read_state(path)["step"] for path in run.checkpoints()] == list(range(2, 9))
    craft.main([*small, "--steps", "99", "--as-it-stands"])
    again = json.loads((tmp_path / "results" / "parser.craft.json").read_text())
    assert again["figures"]["updates"] == 8 and again["figures"]["scores"]["constrained"]["test"]["f1"] == pytest.approx(
        found["scores"]["constrained"]["test"]["f1"])
    assert "nowhere" in refused(craft.main, ["--as-it-stands", "--runs", str(tmp_path / "nowhere")])
