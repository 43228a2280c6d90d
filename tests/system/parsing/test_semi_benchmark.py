"The benchmark that makes the parser that ships: its data, its two parts, its table of what is lost, and what it ships."
import json
from collections import Counter

import pytest
import torch
from nltk.tree import Tree
from safetensors.torch import load_file

from annotated_transformer.data import corpora
from annotated_transformer.data.trees import print_tree
from annotated_transformer.files import damage, read_sums, sha256
from annotated_transformer.parsing.parser import Parse, Parser
from annotated_transformer.training.runs import Run
from benchmarks import semi
from benchmarks.parser import write_trees


def test_what_is_taken_is_neither_held_out_nor_doubled_nor_short_nor_long(tmp_path):
    def tree(words):
        return Tree("TOP", [Tree("S", [Tree("NN", [word]) for word in words.split()])])

    long, longest = (" ".join("a" * n) for n in (41, 40))
    write_trees(tmp_path / "one.mrg", map(tree, ("a b c", "a b", "held out now", "a b c", long, longest)))
    write_trees(tmp_path / "two.mrg", map(tree, ("a b c", "a b c d", "d e f g h")))
    found = semi.taken([tmp_path / "one.mrg", tmp_path / "two.mrg"], [3, 5], {("held", "out", "now")})
    assert [" ".join(one.leaves()) for one in found] == ["a b c", longest, "d e f g h"]


def test_lost_brackets_are_counted_by_label_and_by_length():
    gold = [Tree.fromstring(text) for text in (
        "(TOP (S (NP (NN a)) (VP (VB b) (PP (IN c) (NP (NN d)))) (. .)))", f"(TOP (NP {'(NN a) ' * 12}))", "(TOP (. .))")]
    guess = [Tree.fromstring(text) for text in (
        "(TOP (S (NP (XX a)) (VP (XX b) (NP (XX c) (XX d))) (XX .)))", f"(TOP (S {'(XX a) ' * 12}))", "(TOP (X (XX .)))")]
    lost = semi.where_brackets_are_lost(gold, [Parse(tree, Counter()) for tree in guess])
    rows = {row["of"]: [row[kind] for kind in ("gold", "predicted", "matched")] for row in lost["by_label"]}
    assert rows == {"NP": [3, 2, 1], "PP": [1, 0, 0], "S": [1, 2, 1], "VP": [1, 1, 1]}
    assert [row["of"] for row in lost["by_label"]][:2] == ["NP", "PP"]  # most lost first
    assert [(row["of"], row["gold"], row["predicted"], row["matched"]) for row in lost["by_length"]] == [
        (10, 5, 4, 3), (20, 1, 1, 0)]
    assert lost["by_length"][0]["f1"] == pytest.approx(200 * 3 / 9)
    assert lost["instead"] == {"another label": 2, "nothing like it": 1} and not lost["by_attachment"]


@pytest.mark.parametrize("gold, guess, instead, by_attachment", [
    ("(S (NP (NN a)) (VP (VB b) (NP (NP (NN c)) (PP (IN d) (NP (NN e))))))", "(S (NP a) (VP b (NP (NP c)) (PP d (NP e))))",
     {"another end": 1}, [("PP", 1, 0)]),
    ("(S (NP (NN a)) (VP (VB b) (NP (NN c)) (PP (IN d) (NP (NN e)))))", "(S (NP a) (VP b (NP c (PP d (NP e)))))",
     {"another end": 1}, [("PP", 0, 1)]),
    ("(S (VP (VB a) (NP (NP (NN b)) (CC or) (NP (NN c)))))", "(S (VP a (NP (NP b))) or (NP c))",
     {"another end": 2}, [("coordination", 2, 0)]),
    ("(S (NP (NN a) (NN b)) (VP (VB c)))", "(S a (NP b) (SBAR c))", {"another beginning": 1, "another label": 1}, []),
    ("(S (NP (NN a) (NN b)) (VP (VB c) (NN d)))", "(S (NP a) b (VP c) d)", {"another end": 2}, [("words", 2, 0)]),
    ("(S (NP (NN a) (NN b)) (NN c))", "(S a (PP b c))", {"nothing like it": 1}, []),
], ids=["too high", "too low", "coordination", "beginning and label", "words", "nothing"])
def test_what_was_attached_elsewhere(gold, guess, instead, by_attachment):
    right = Tree.fromstring(f"(TOP {gold})")
    words = iter(right.leaves())
    other = Tree.fromstring(f"(TOP {guess})", read_leaf=lambda _: Tree("XX", [next(words)]))
    lost = semi.where_brackets_are_lost([right], [Parse(other, Counter())])
    assert lost["instead"] == instead
    assert [(row["of"], row["too_high"], row["too_low"]) for row in lost["by_attachment"]] == by_attachment


def test_both_parts_are_trained_measured_and_shipped(semi_recipe, treebank, tmp_path, capsys):
    out, shipped = tmp_path / "results/parser.semi.json", tmp_path / "shipped" / semi.NAME
    semi.main([*semi_recipe, "--least", "3", "4"])
    record = json.loads(out.read_text())
    gold = corpora.load(treebank).trees("train")
    mixed, finish = (corpora.load(Run(tmp_path / f"runs/part{n}-seed1").config.corpus).trees("train") for n in (1, 2))
    sizes = record["figures"]["trees"]
    assert sizes["gold"] == len(gold) == 120 and 0 < sizes["others"] < 70 and len(mixed) == 5 * 120 + sizes["others"]
    assert [[print_tree(tree) for tree in mixed[:240]]] == [[print_tree(tree) for tree in [*gold, *gold]]]
    assert finish[:120] == gold and len(finish) == 240 and finish[120:] != gold
    held_out = [tree.leaves() for split in ("validation", "test") for tree in corpora.load(treebank).trees(split)]
    assert not [tree for tree in mixed[600:] if tree.leaves() in held_out]
    one, = record["figures"]["by_seed"]
    assert one["updates"] == [8, 4] and set(one["f1_by_average"]) == {"1", "2"} and not shipped.exists()
    for split, how in (("validation", "constrained"), ("test", "constrained"), ("test", "papers_beam")):
        scores = one["scores"][split][how]
        assert scores["malformed"] == 0 and scores["sentences"] == 9
    assert one["scores"]["validation"]["constrained"]["f1"] == pytest.approx(max(one["f1_by_average"].values()), abs=0.001)
    assert sum(row["gold"] for row in one["lost"]["by_label"]) == one["scores"]["test"]["constrained"]["gold"]

    semi.main([*semi_recipe, "--least", "3", "4", "--as-it-stands", "--ship"])
    record = json.loads(out.read_text())
    assert record["command"].endswith("--least 3 4 --seeds 1 --steps 8 4 --ship") and record["figures"]["by_seed"] == [one]
    files = read_sums(shipped)
    assert damage(shipped, files) is None and len(files) == 5
    assert {weight.dtype for weight in load_file(shipped / "model.safetensors").values()} == {torch.float16}
    assert sha256(shipped / "model.safetensors") == record["figures"]["weights_sha256"]
    parses = Parser.from_pretrained(shipped).parse([line.split() for line in semi.EXAMPLES])
    assert [print_tree(parse.tree) for parse in parses] == one["examples"]
    card = (shipped / "README.md").read_text(encoding="utf-8")
    for words in ("8 updates", "4 updates", record["command"], "non-commercial use only", f"{one['parameters']:,} parameters",
                  f"245 sentences: {one['scores']['test']['constrained']['f1']:.2f}"):
        assert words in " ".join(card.split())


@pytest.mark.parametrize("given, words", [
    (["--least", "3"], "--least has 1 numbers for 2 files"), (["--as-it-stands", "--seeds", "1", "2"], "one seed"),
    (["--as-it-stands"], "part1-seed1"),
])
def test_mistakes_take_one_sentence_and_no_training(semi_recipe, given, words, monkeypatch, refused):
    monkeypatch.setattr(semi, "train", lambda *_: pytest.fail("it trains"))
    assert words in refused(semi.main, [*semi_recipe, *given])
