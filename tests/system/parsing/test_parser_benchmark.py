"The benchmark that trains the parser: all of its parts on a treebank of a toy language, and what it takes up again."
import dataclasses
import json
import random

import pytest
import torch
from nltk.tree import Tree

from annotated_transformer.config import PRESETS, TransformerConfig
from annotated_transformer.data import corpora
from annotated_transformer.data.trees import linearize, repair
from annotated_transformer.figures.attention_maps import AttentionMaps
from annotated_transformer.parsing.evalb import bracket_scores
from annotated_transformer.parsing.parser import Parse
from annotated_transformer.training.runs import Run
from benchmarks import parser as benchmark
from benchmarks.shared.baselines import damaged

RECIPE = dataclasses.replace(
    PRESETS["parsing-small"], model=TransformerConfig(96, n_layers=1, d_model=32, d_ff=64, n_heads=4, dropout=0.0, max_length=60),
    steps=60, batch_tokens=600, warmup_steps=20, rate_factor=0.5, validate_every=30, checkpoint_every=30, keep=2,
)


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    return tmp_path_factory.mktemp("parser")


@pytest.fixture
def laboratory(treebank, runs, monkeypatch):
    monkeypatch.setattr(benchmark, "AVERAGES", (1, 2, 5))
    monkeypatch.setattr(benchmark, "BEAMS", (1, 4, 5))
    monkeypatch.setattr(benchmark, "ALPHAS", (0.3, 1.0))
    monkeypatch.setattr(benchmark, "TRIED_AVERAGE", 2)
    recipe = dataclasses.replace(RECIPE, corpus=str(treebank))
    return benchmark.Laboratory(corpora.load(treebank), recipe, runs)


def test_the_parser_is_chosen_on_the_development_split_and_measured_once(laboratory, monkeypatch):
    parts = benchmark.parser_itself(laboratory, [1, 2])
    figures, example = parts[""], parts[".attention"]
    assert figures["training_sentences"] == 120 and [run["seed"] for run in figures["by_seed"]] == [1, 2]
    for run in figures["by_seed"]:
        assert run["updates"] == 60 and set(run["f1_by_average"]) == {"1", "2"}  # the run keeps no five
        for name, chosen in (("average", "average"), ("beam", "beam_size"), ("alpha", "alpha")):
            table = run[f"f1_by_{name}"]
            assert table[str(run[chosen])] == max(table.values())
        assert abs(max(run["f1_by_alpha"].values()) - run["scores"]["validation"]["f1"]) < 0.001
        assert run["scores"]["test"]["sentences"] == 9 and 0 <= run["scores"]["test"]["malformed"] <= 9
    one, two = (run["scores"]["validation"]["f1"] for run in figures["by_seed"])
    assert figures["best_seed"] == 1 + (two > one)
    test = [run["scores"]["test"]["f1"] for run in figures["by_seed"]]
    assert figures["summary"]["test"]["f1"]["mean"] == pytest.approx(sum(test) / 2) and figures["summary"]["seeds"] == 2
    assert figures["summary"]["test"]["f1"]["deviation"] == pytest.approx(abs(test[0] - test[1]) / 2**0.5)
    bound = [run["bound"]["test"] for run in figures["by_seed"]]
    assert all(scores["sentences"] == 9 and scores["malformed"] == 0 for scores in bound)
    assert figures["bound"]["test"]["f1"]["mean"] == pytest.approx(sum(scores["f1"] for scores in bound) / 2)
    for run in figures["by_seed"]:
        chosen = run["bound_chosen"]
        assert chosen["f1_by_alpha"][str(chosen["alpha"])] == max(chosen["f1_by_alpha"].values())
        assert chosen["f1_by_beam"][str(chosen["beam_size"])] == max(chosen["f1_by_beam"].values())
        assert chosen["f1_by_average"][str(chosen["average"])] == max(chosen["f1_by_average"].values())
        assert abs(max(chosen["f1_by_alpha"].values()) - run["bound"]["validation"]["f1"]) < 0.001
    assert figures["right_branching"]["label"] == "VP" and 30 < figures["right_branching"]["scores"]["test"]["f1"] < 100
    assert Tree.fromstring(example["tree"]).leaves() == benchmark.EXAMPLE.split()
    maps = AttentionMaps(**example["maps"], **{
        kind: torch.tensor([[[[int(n) for n in row.split()] for row in head] for head in layer] for layer in layers]) / 1000
        for kind, layers in example["thousandths"].items()
    })
    assert (maps.encoder_decoder.sum(-1) - 1).abs().max() < 0.03 and len(maps.words().source) == 10

    monkeypatch.setattr(benchmark, "measure", lambda *_: pytest.fail("what was measured is measured again"))
    assert benchmark.parser_itself(laboratory, [1, 2])[""] == figures
    monkeypatch.setattr(benchmark, "measure", lambda *_: {"updates": 61})
    longer = dataclasses.replace(laboratory, recipe=dataclasses.replace(laboratory.recipe, steps=61))
    assert longer.train("share100", 2) == {"updates": 61}  # more updates: measured anew


def test_a_part_of_the_trees_lies_within_a_larger_part():
    trees = [Tree("TOP", [Tree("NN", [str(n)])]) for n in range(61)]
    (quarter, rest), (half, _), (whole, nothing) = (benchmark.part_of(trees, share) for share in (25, 50, 100))
    assert (len(quarter), len(rest), len(half), whole, nothing) == (15, 46, 30, trees, [])
    for part in (quarter, rest, half):
        assert [tree for tree in trees if tree in part] == part  # in the old order
    assert all(tree in half for tree in quarter) and not any(tree in rest for tree in quarter)
    assert quarter != trees[:15]


def test_the_curve_trains_on_parts_and_scores_on_the_same_sentences(laboratory):
    figures = benchmark.learning_curve(laboratory, [1])[".curve"]
    assert [(point["share"], point["sentences"]) for point in figures["points"]] == [(25, 30), (50, 60), (100, 120)]
    gold = laboratory.corpus.trees("train")
    for share in (25, 50):
        corpus = corpora.load(Run(laboratory.run(f"share{share}", 1)).config.corpus)
        assert corpus.trees("train") == benchmark.part_of(gold, share)[0]
        for split in ("validation", "test"):
            assert corpus.trees(split) == laboratory.corpus.trees(split)
    assert figures["points"][2]["by_seed"] == [laboratory.train_on(100, 1)]


def test_self_training_adds_the_sure_parses_of_the_other_sentences(laboratory):
    figures = benchmark.self_training(laboratory, [1])[".self-training"]
    one, = figures["by_seed"]
    assert (one["gold"], one["unlabelled"]) == (60, 60) and 0 < one["kept"] <= 60
    assert one["parsed"]["sure"]["sentences"] == one["kept"] and one["validation"]["sure"]["sentences"] >= 5  # of 9
    gold, rest = benchmark.part_of(laboratory.corpus.trees("train"), 50)
    corpus = corpora.load(Run(laboratory.run("self-training-after-60", 1)).config.corpus)
    trees = corpus.trees("train")
    assert trees[:60] == gold and len(trees) == 60 + one["kept"]
    words = [tree.leaves() for tree in rest]
    assert all(tree.leaves() in words for tree in trees[60:]) and one["words_kept"] == sum(len(t.leaves()) for t in trees[60:])
    assert all(tag == "XX" for tree in trees[60:] for _, tag in tree.pos())  # made by the parser, not copied
    assert corpus.validation == laboratory.corpus.validation and corpus.test == laboratory.corpus.test
    assert figures["before"]["test"]["f1"]["mean"] == one["before"]["scores"]["test"]["f1"]
    assert figures["after"]["test"]["f1"]["mean"] == one["after"]["scores"]["test"]["f1"]


def test_sure_parses_and_others_are_scored_apart(treebank):
    gold, rng = corpora.load(treebank).trees("train"), random.Random(1)
    parses = [Parse(*repair(damaged(linearize(tree), rng, share=0.3 * (i % 2)), tree.leaves())) for i, tree in enumerate(gold)]
    apart = benchmark.by_sureness(gold, parses, [i % 2 == 0 for i in range(len(gold))])
    assert apart["sure"]["f1"] == 100 and apart["others"]["f1"] < 90
    assert apart["others"]["f1"] == bracket_scores(gold[1::2], [parse.tree for parse in parses[1::2]]).f1
    assert benchmark.by_sureness(gold[:1], parses[:1], [True])["others"] is None


def test_every_beam_is_timed_on_the_same_sentences(laboratory, monkeypatch):
    monkeypatch.setattr(benchmark, "ROUNDS", 1)
    monkeypatch.setattr(benchmark, "ALONE", 4)
    figures = benchmark.decoding_times(laboratory, [1])[".times"]
    assert (figures["in_batches"]["sentences"], figures["one_at_a_time"]["sentences"]) == (9, 5)
    words = [len(tree.leaves()) for tree in laboratory.corpus.trees("validation")]
    assert (figures["in_batches"]["words"], figures["one_at_a_time"]["words"]) == (sum(words), sum(words[::2]))
    for name in ("in_batches", "one_at_a_time"):
        seconds = figures[name]["seconds_per_sentence"]
        assert list(seconds) == ["1", "4", "5"] and min(seconds.values()) > 0


def test_the_command_writes_its_part_and_says_what_is_provisional(laboratory, monkeypatch, tmp_path, capsys, refused):
    monkeypatch.setattr(benchmark, "RECIPE", laboratory.recipe)
    out = tmp_path / "results" / "parser.json"
    places = ["--runs", str(laboratory.runs), "--out", str(out)]
    benchmark.main(["--curve", *places])
    record = json.loads((out.parent / "parser.curve.json").read_text())
    assert record["command"] == f"python -m benchmarks.parser --curve --runs {laboratory.runs} --out {out}"
    assert record["config"]["provisional"] is False and record["config"]["recipe"]["steps"] == 60 and not out.exists()
    benchmark.main(["--runs", str(tmp_path / "runs"), "--out", str(out), "--seeds", "3", "--steps", "30"])
    record = json.loads(out.read_text())
    assert record["config"]["provisional"] is True and record["seed"] == 3 and record["figures"]["by_seed"][0]["updates"] == 30
    assert (out.parent / "parser.attention.json").exists()
    capsys.readouterr()
    benchmark.main(["--tried", str(laboratory.run("share25", 1)), *places])
    record = json.loads((out.parent / "parser.tried.json").read_text())
    run, = record["figures"]["runs"]
    assert run["updates"] == 60 and run["change"] == {"corpus": str(laboratory.treebank(25))}
    assert run["scores"]["sentences"] == 9 and record["figures"]["average"] == 2
    assert "nowhere" in refused(benchmark.main, ["--tried", str(tmp_path / "nowhere")])
