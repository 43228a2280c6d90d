"What nbs/tables/training_cost.ipynb need not show: runs and numbers that are refused, places given as text."
import json
import math
import re

import pytest

from annotated_transformer import InputError
from annotated_transformer.config import PRESETS, TransformerConfig
from annotated_transformer.tables import variations
from annotated_transformer.tables.noise import STUDENT_T
from annotated_transformer.tables.training_cost import RunCost, predict, predict_table, run_cost, table_row


def test_training_cost_names_what_is_missing_or_damaged_in_a_run(tmp_path):
    def complaint(run, rate=None):
        with pytest.raises(InputError) as refused:
            run_cost(run, rate)
        return str(refused.value)

    run = tmp_path
    assert all("config.json: there is no such file" in complaint(place) for place in (run, run / "nowhere"))
    for broken in ("{", "[]", "3", "{}", '{"training": 3}', '{"training": {}}'):
        (run / "config.json").write_text(broken)
        assert "config.json: " in complaint(run), broken
    for sizes, words in (({"vocab_size": 1}, "vocab_size must be at least 2"), ({"vocab_size": 9, "width": 3}, "'width'")):
        (run / "config.json").write_text(json.dumps({"training": {"model": sizes}}))
        assert str(run / "config.json") in complaint(run) and words in complaint(run), sizes
    assert "config.json: there is no such file" in complaint(run / "config.json")  # a file where a directory should be
    sizes = {"vocab_size": 20, "n_layers": 1, "d_model": 2, "d_ff": 3, "n_heads": 1}
    (run / "config.json").write_text(json.dumps({"training": {"model": sizes}}))
    assert complaint(run).endswith("the run has no checkpoint yet; train it first")
    checkpoint = run / "checkpoints" / "step-00000010"
    checkpoint.mkdir(parents=True)
    good = {"step": 10, "epoch": 0, "batch": 3, "seconds": 5.0, "device_seconds": 5.0, "source_tokens": 8, "target_tokens": 6}
    for bad, words in [
        ("{", "the file is damaged"),
        ("7", "the file is damaged"),
        (json.dumps({"step": 10}), "seconds must be a number above 0, not None"),
        (json.dumps(good | {"device_seconds": 0}), "device seconds must be a number above 0, not 0"),
        (json.dumps(good | {"seconds": math.nan}), "the file is damaged"),
        (json.dumps(good | {"source_tokens": None}), "source_tokens must be a whole number, not None"),
        (json.dumps(good | {"target_tokens": "6"}), "target_tokens must be a whole number, not '6'"),
    ]:
        (checkpoint / "state.json").write_text(bad)
        assert "state.json" in complaint(run) and words in complaint(run), bad
    (checkpoint / "state.json").write_text(json.dumps(good))
    assert "train.json: there is no such file" in complaint(run)
    for rate in (0, -9.5e12, math.nan, math.inf):
        assert complaint(run, rate) == f"the rate must be a number above 0, not {rate!r}"


def test_training_cost_takes_a_scored_file_given_as_text(tmp_path):
    scored = tmp_path / "test.json"
    scored.write_text(json.dumps({"figures": {"paper_bleu": {"score": 27.314}, "sacre_bleu": {"score": 26.0}}}))
    cost = RunCost(5, seconds=10.0, device_seconds=80.0, target_tokens=7, flops=3e15)
    assert table_row("mine", str(scored), cost) == table_row("mine", scored, cost)
    with pytest.raises(InputError, match="nowhere.json: there is no such file"):
        table_row("mine", str(tmp_path / "nowhere.json"), cost)


def test_variations_takes_its_directory_given_as_text(tmp_path, monkeypatch):
    base, runs, asked = PRESETS["miniature"], tmp_path / "runs", []
    monkeypatch.setattr(variations, "measured", lambda run, config: asked.append(run) or {"seed": config.seed})
    table = variations.run_variations(base, str(runs), ("base",), (1,))
    assert asked == [runs / "base-seed1"] and table == variations.collect(base, str(runs))


def test_training_cost_refuses_impossible_numbers():
    config = TransformerConfig.base(37_000)
    good = {"steps": 10, "batch_tokens": 20, "tokens_per_second": 30.0, "devices": 2, "watts": 40.0, "efficiency": 0.5}
    for rate, devices in ((1e-300, 1), (1e-320, 1), (1e308, 1), (1.0, 10**400)):
        with pytest.raises(InputError, match=re.escape("no farther from 1 than 10^30")):
            predict_table({"base": rate}, (devices,))
    for name in good:
        for bad in (0, -1, math.nan, math.inf, "7"):
            with pytest.raises(InputError, match=f"^{name.replace('_', ' ')} must be a number above 0, not {bad!r}$"):
                predict(config, **good | {name: bad})
    for call, words in [
        (lambda: predict(config, **good | {"efficiency": 1.5}), "cannot be above 1: 1.5"),
        (lambda: predict_table({"medium": 3.0}), "base and big, not 'medium'"),
        (lambda: predict_table({}), "give the rate of base, big or both"),
        (lambda: predict_table({"big": -3.0}), "tokens per second must be a number above 0, not -3.0"),
    ]:
        with pytest.raises(InputError, match=words):
            call()


@pytest.mark.parametrize("degrees", STUDENT_T)
def test_noise_has_students_t_for_95_percent(degrees):
    # The share between -t and t, added up over slices of the density: half of it is the integral from 0 to t.
    constant = math.gamma((degrees + 1) / 2) / (math.gamma(degrees / 2) * (degrees * math.pi) ** 0.5)
    slices = 20_000
    width = STUDENT_T[degrees] / slices
    density = (constant * (1 + ((i + 0.5) * width) ** 2 / degrees) ** (-(degrees + 1) / 2) for i in range(slices))
    assert 2 * width * sum(density) == pytest.approx(0.95, abs=2e-4)
