"Table 3: its rows on any base, its differences, its training row by row, and its picture."
import json
import math
from dataclasses import replace

import pytest

from annotated_transformer import InputError
from annotated_transformer.config import PRESETS, TrainingConfig, TransformerConfig
from annotated_transformer.tables.noise import noise
from annotated_transformer.tables.variations import (
    PRINTED,
    change,
    difference,
    joined,
    longest,
    parameters,
    plot_variations,
    printed_difference,
    run_variations,
    table_3,
    variations_table,
)
from annotated_transformer.training.runs import Run


def test_with_the_papers_base_the_rows_are_those_of_table_3():
    rows = table_3(PRESETS["base"], PRESETS["big"])
    assert list(rows)[:20] == list(PRINTED)
    base = TransformerConfig(37_000, n_layers=6, d_model=512, d_ff=2048, n_heads=8, d_k=64, d_v=64, dropout=0.1)
    expected = {
        "base": {}, "A1": {"n_heads": 1, "d_k": 512, "d_v": 512}, "A2": {"n_heads": 4, "d_k": 128, "d_v": 128},
        "A3": {"n_heads": 16, "d_k": 32, "d_v": 32}, "A4": {"n_heads": 32, "d_k": 16, "d_v": 16},
        "B1": {"d_k": 16}, "B2": {"d_k": 32}, "C1": {"n_layers": 2}, "C2": {"n_layers": 4}, "C3": {"n_layers": 8},
        "C4": {"d_model": 256, "d_k": 32, "d_v": 32}, "C5": {"d_model": 1024, "d_k": 128, "d_v": 128},
        "C6": {"d_ff": 1024}, "C7": {"d_ff": 4096}, "D1": {"dropout": 0.0}, "D2": {"dropout": 0.2}, "D3": {}, "D4": {},
        "E": {"positions": "learned"}, "big": {"d_model": 1024, "d_ff": 4096, "n_heads": 16, "dropout": 0.3},
        "additive": {"compatibility": "additive"}, "pre-norm": {"norm": "pre"},
    }
    smoothing, steps = {"D3": 0.0, "D4": 0.2}, {"big": 300_000}
    for name, row in rows.items():
        assert row.model == replace(base, **expected[name]), name
        assert (row.smoothing, row.steps) == (smoothing.get(name, 0.1), steps.get(name, 100_000)), name
    assert change(rows["A1"], rows["base"]) == "h = 1, d_k = 512, d_v = 512"
    assert change(rows["big"], rows["base"]) == "d_model = 1,024, d_ff = 4,096, h = 16, P_drop = 0.3, updates = 300,000"


def test_differences_by_hand():
    table = {
        "base": {"seeds": [{"seed": s, "perplexity": p, "bleu": b} for s, p, b in ((1, 9.0, 30.0), (2, 10.0, 31.0), (3, 11.0, 32.0))]},
        "A1": {"seeds": [{"seed": s, "perplexity": p, "bleu": b} for s, p, b in ((3, 12.1, 30.5), (7, 99.0, 0.0), (2, 13.0, 30.0))]},
        "A2": {"seeds": []}, "A3": {"seeds": [{"seed": 8, "perplexity": 1.0, "bleu": 1.0}]},
    }
    assert abs(difference(table, "A1").perplexity - 20) < 1e-9  # the mean of 10% and 30%
    assert difference(table, "A1").bleu == -1.25
    assert difference(table, "A2") is difference(table, "A3") is None and difference(table, "base") == (0, 0)
    found = printed_difference("A1")
    assert abs(found.perplexity - 7.52) < 0.01 and abs(found.bleu + 0.9) < 1e-9
    assert printed_difference("additive") is None


def test_parameter_counts_are_exact():
    def by_hand(V, N, d_model, d_ff, h, d_k, d_v):
        attention = 2 * d_model * h * (d_k + d_v)
        feed_forward, norm = 2 * d_model * d_ff + d_ff + d_model, 2 * d_model
        return V * d_model + N * (3 * attention + 2 * feed_forward + 5 * norm)


    expected = {
        "base": 63_045_632, "A1": 63_045_632, "A2": 63_045_632, "A3": 63_045_632, "A4": 63_045_632,
        "B1": 55_967_744, "B2": 58_327_040,
        "C1": 33_644_544, "C2": 48_345_088, "C3": 77_746_176, "C4": 26_816_512, "C5": 163_815_424,
        "C6": 50_450_432, "C7": 88_236_032,
        "D1": 63_045_632, "D2": 63_045_632, "D3": 63_045_632, "D4": 63_045_632,
        "E": 63_569_920,         # and a table of 1,024 positions
        "big": 214_171_648,
        "additive": 63_195_392,  # and in each of 18 attentions 2 · 64² + 2 · 64
        "pre-norm": 63_047_680,  # and a norm above each stack
    }
    for name, row in table_3(PRESETS["base"], PRESETS["big"]).items():
        m, count = row.model, parameters(row.model)
        more = {"E": 1024 * 512, "additive": 18 * (2 * 64**2 + 2 * 64), "pre-norm": 2 * 2 * 512}.get(name, 0)
        assert count == expected[name] == by_hand(m.vocab_size, m.n_layers, m.d_model, m.d_ff, m.n_heads, m.d_k, m.d_v) + more, name


def test_a_small_base_gets_rows_of_its_own_and_none_twice():
    rows = table_3(PRESETS["miniature"])
    assert [rows[name].model.n_heads for name in ("A1", "A2", "A3", "A4")] == [1, 2, 8, 16]
    assert all(row.model.n_heads * row.model.d_k == 128 for name, row in rows.items() if name[0] == "A")
    assert [rows[name].model.n_layers for name in ("C1", "C2", "base", "C3")] == [1, 3, 4, 5]
    assert len(set(map(str, rows.values()))) == len(rows)


def test_a_row_that_would_be_the_base_again_or_no_model_is_left_out():
    base = TrainingConfig(TransformerConfig(40, n_layers=1, d_model=8, d_ff=6, n_heads=4, dropout=0.5), smoothing=0.0)
    rows = table_3(base)
    assert set(PRINTED) - set(rows) == {"C1", "C2", "C3", "D2", "D3", "D4"} and rows["base"] == base
    assert "D2" in table_3(replace(base, model=replace(base.model, dropout=0.49)))


def test_a_table_is_run_row_by_row_and_goes_on_where_it_stood(tmp_path):
    words = ["one", "two", "three", "four", "five"]
    for split, n in (("train", 40), ("validation", 6)):
        lines = [" ".join(words[(i * k) % 5] for k in range(2, 5 + i % 3)) + "\n" for i in range(n)]
        for language in ("en", "de"):
            (tmp_path / f"{split}.{language}").write_text("".join(lines))
    model = TransformerConfig(40, n_layers=2, d_model=8, d_ff=6, n_heads=4, dropout=0.1)
    base = TrainingConfig(model, corpus=str(tmp_path), batch_tokens=80, steps=4, warmup_steps=3, validate_every=2, log_every=1)
    runs, seen = tmp_path / "runs", []
    first = run_variations(base, runs, ["base", "C1", "A1"], seeds=[1], report=lambda table: seen.append(table))
    assert [sum(len(row["seeds"]) for row in table.values()) for table in seen] == [1, 2, 3] and seen[-1] == first
    assert [name for name, row in first.items() if row["seeds"]] == ["base", "A1", "C1"]
    assert first["A1"]["change"] == "h = 1, d_k = 8, d_v = 8" and first["A1"]["parameters"] == first["base"]["parameters"]
    value, = first["A1"]["seeds"]
    assert value["steps"] == 4 and value["seed"] == 1 and 1 < value["perplexity"] < 100 and 0 <= value["bleu"] <= 100
    config = Run(runs / "A1-seed1").config
    assert (config.model.n_heads, config.model.d_k, config.seed) == (1, 8, 1)
    text = variations_table(first)
    assert text.count("not run") == 19 and "| A1 | h = 1, d_k = 8, d_v = 8 |" in text

    written = {path: path.stat().st_mtime_ns for path in runs.rglob("*.*")}
    again = run_variations(base, runs, ["base", "A1"], seeds=[1, 2], report=lambda table: seen.append(table))
    assert len(seen) == 5 and [len(again[name]["seeds"]) for name in ("base", "A1", "C1")] == [2, 2, 1]
    assert again["A1"]["seeds"][0] == value != again["A1"]["seeds"][1]
    assert written == {path: path.stat().st_mtime_ns for path in written}        # what was there was left alone

    more = run_variations(replace(base, steps=6), runs, ["A1"], seeds=[1])       # goes on
    assert more["A1"]["seeds"][0]["steps"] == 6 and not more["base"]["seeds"]    # and figures of other budgets stay out
    for wrong, said in (
        (lambda: run_variations(base, runs, ["F1"]), "no row F1"),
        (lambda: run_variations(base, runs, ["A1"], seeds=[1]), "has made 6 updates, and you ask for 4: take another"),
        (lambda: run_variations(replace(base, smoothing=0.3), runs, ["base"], seeds=[1]), "smoothing"),
    ):
        with pytest.raises(InputError, match=said):
            wrong()
    assert json.loads(json.dumps(again)) == again, "a file can hold it"


def test_a_bar_that_is_far_longer_than_the_others_is_cut_and_says_how_long_it_is():
    def seeds(perplexity):
        return {"change": "x", "parameters": 1, "seeds": [{"seed": 1, "perplexity": perplexity, "bleu": 30.0}]}


    table = {"base": seeds(10.0), "A1": seeds(11.0), "A2": seeds(9.5), "D2": seeds(20.0)}
    limit = longest(table, 0)
    assert abs(limit - 3 * 10) < 1e-9                       # +10%, -5%, +100%; Table 3 stays below 27%
    left, right = plot_variations(table).axes
    assert max(bar.get_width() for bar in left.patches) == limit and " +100% " in [text.get_text() for text in left.texts]
    assert not right.texts


def test_a_row_of_more_seeds_has_a_narrower_grey():
    def row(*perplexities):
        return {"change": "x", "parameters": 1, "seeds": [
            {"seed": seed, "perplexity": value, "bleu": 30.0 + value} for seed, value in enumerate(perplexities)]}

    table = {"base": row(9.9, 10.0, 10.1), "A1": row(10.5), "A2": row(10.4, 10.6), "A3": row(10.0, 10.5)}
    left, right = plot_variations(table).axes
    for what, axis in ((0, left), (1, right)):
        grey = [bar for bar in axis.patches if bar.get_height() == 1]
        for bar, n in zip(grey, (1, 2, 2), strict=True):
            value = noise(table, n)[what]
            assert math.isclose(bar.get_width(), 2 * value) and math.isclose(bar.get_x(), -value)
    assert math.isclose(noise(table, 1).perplexity / noise(table, 2).perplexity, 2**0.5)


def test_tables_of_the_same_rows_are_joined_seed_by_seed():
    def table(*seeds, change="x"):
        return {"base": {"change": "", "parameters": 1, "seeds": []},
                "A1": {"change": change, "parameters": 1, "seeds": [{"seed": seed} for seed in seeds]}}

    parts = table(1), table(5, 2), table()
    assert joined(parts) == table(1, 5, 2) and parts == (table(1), table(5, 2), table()) and joined(parts[:1]) == table(1)
    for wrong, said in (((table(1), table(2, 1)), "A1 has a seed twice"), ((table(1), table(2, change="y")), "A1 differs"),
                        ((table(1), {**table(2), "B1": table()["A1"]}), "B1 differs"),
                        (({**table(1), "B1": table()["A1"]}, table(2)), "B1 differs")):
        with pytest.raises(InputError, match=said):
            joined(wrong)
