"The benchmark that adds more and more trees: what each parser learns from, and that no gold tree but those for training is seen."
import json
from pathlib import Path

import pytest

from annotated_transformer.data import corpora
from annotated_transformer.data.trees import print_tree
from annotated_transformer.training.runs import Run
from benchmarks import amounts, semi


def train_trees(run: Path):
    return corpora.load(Run(run).config.corpus).trees("train")


def test_each_parser_learns_from_the_gold_trees_and_so_many_others(semi_recipe, treebank):
    *files, _, runs, _, out = semi_recipe
    runs, out = Path(runs), Path(out)
    options = [*files, "--runs", str(runs), "--out", str(out), "--steps", "6", "3", "--seed", "2"]
    amounts.main([*options, "--amounts", "0", "20", "999", "--exchanged", "130"])
    figures, gold = json.loads(out.read_text())["figures"], corpora.load(treebank).trees("train")
    points, everything = figures["points"], figures["others"]
    assert [(point["kind"], point["trees"]) for point in points] == [
        ("another parser", 0), ("another parser", 20), ("another parser", everything), ("exchanged", 130)]
    names = "others-0", "others-20", "others", "exchanged-130-seed2"
    none, some, all_, new = ([print_tree(tree) for tree in train_trees(runs / name / "part1-seed2")[600:]] for name in names)
    assert [len(trees) for trees in (none, some, all_, new)] == [0, 20, everything, 130] and everything > 20
    assert [tree for tree in all_ if tree in some] == some != all_[:20]  # drawn, in their order
    known = {word for tree in gold for word in tree.leaves()}
    assert {word for tree in train_trees(runs / names[-1] / "part1-seed2") for word in tree.leaves()} <= known
    ends = {name: [print_tree(tree) for tree in train_trees(runs / name / "part2-seed2")] for name in names}
    assert len({*map(tuple, ends.values())}) == 1 and ends["others"][:120] == list(map(print_tree, gold))
    assert new[:120] != ends["others"][120:]  # drawn anew
    for name, point in zip(names, points):
        assert point["updates"] == [6, 3] and point["scores"]["validation"]["malformed"] == 0
        assert point["scores"]["validation"]["f1"] == pytest.approx(max(point["f1_by_average"].values()), abs=0.001)
        assert Run(runs / name / "part2-seed2").config.start_from == str(runs / name / "part1-seed2")


def test_fewer_trees_lie_within_more(tmp_path):
    path = tmp_path / "others.mrg"
    path.write_text("".join(f"(TOP (NN a{i}\x85b))\n" for i in range(50)), encoding="utf-8")
    few, more = (amounts.some_of(path, n).read_text(encoding="utf-8").split("\n")[:-1] for n in (7, 30))
    assert len(few) == 7 and len(more) == 30 and [line for line in more if line in few] == few
    assert amounts.some_of(path, 50) == path == amounts.some_of(path, 51)


def test_a_mistake_takes_one_sentence_and_no_training(semi_recipe, monkeypatch, refused):
    monkeypatch.setattr(semi, "train", lambda *_: pytest.fail("it trains"))
    assert "--least has 1 numbers for 2 files" in refused(amounts.main, [*semi_recipe[:2], "--least", "3"])
