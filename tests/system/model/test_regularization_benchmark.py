"Dropout and smoothing over many seeds: what benchmarks.regularization trains, measures and compares."
import json

import pytest
import torch

from annotated_transformer import PAD
from benchmarks import regularization


def test_each_setting_is_trained_from_the_same_weights_and_what_it_writes_is_compared_seed_by_seed(tmp_path, monkeypatch):
    asked = []

    def trained(smoothing, dropout, pairs, seed, real=regularization.trained):
        asked.append((len(pairs), dropout, smoothing, seed))
        return real(smoothing, dropout, pairs[:128], seed)

    monkeypatch.setattr(regularization, "UPDATES", 2)
    monkeypatch.setattr(regularization, "trained", trained)
    regularization.main(["--seeds", "2", "--out", str(tmp_path / "found.json")])
    record = json.loads((tmp_path / "found.json").read_text())["figures"]
    many = len(regularization.data()[1])
    assert asked == [(few or many, *rest, seed) for few, *rest in regularization.SETTINGS for seed in (0, 1)]
    assert [(row["pairs"], row["dropout"], row["smoothing"]) for row in record] == [one[:3] for one in asked[::2]]
    for of in ("right", "perplexity"):
        before, after = ([seed["new"][of] for seed in record[row]["seeds"]] for row in (2, 4))
        found = regularization.difference(record, (many, 0, 0), (many, 0, 0.1), of)
        gains = [more - less for less, more in zip(before, after)]
        assert found["mean"] == pytest.approx(sum(gains) / 2) and found["more"] == sum(gain > 0 for gain in gains)
        half = 12.706 * abs(gains[0] - gains[1]) / 2  # Student's, of two: their deviation is the difference over √2
        assert found["interval"] == pytest.approx((found["mean"] - half, found["mean"] + half))


def test_a_sentence_is_right_if_all_its_tokens_are():
    _, pairs, batch = regularization.data()
    logits = torch.nn.functional.one_hot(batch.target, 400).float() * 50
    assert regularization.measured(lambda *_: logits, batch) == {"right": 1.0, "perplexity": 1.0}
    logits[0, 0] = logits[0, 0].flip(0)
    logits[batch.target == PAD] = float("nan")
    assert regularization.measured(lambda *_: logits.nan_to_num(), batch)["right"] == 0.995
    assert not set(map(tuple, (source for source, _ in pairs))) & set(map(tuple, batch.source.tolist()))
