"Parsers that vote: what more than half have written, as a tree; and how often it is right."
import json
import random

import pytest
from nltk.tree import Tree

from annotated_transformer.data import corpora
from annotated_transformer.parsing.evalb import constituents
from benchmarks import votes

WORDS = "a b c d e f g".split()


def tree_over(rng: random.Random, words: list[str], depth: int = 0) -> Tree:
    "Random brackets, chains of one and the same words among them."
    if len(words) == 1 and (depth > 3 or rng.random() < 0.6):
        return Tree("XX", words)
    cut = sorted(rng.sample(range(1, len(words)), rng.randrange(0, min(3, len(words))))) if depth < 4 else range(1, len(words))
    parts = [words[a:b] for a, b in zip([0, *cut], [*cut, len(words)])]
    return Tree(rng.choice("SNP"), [tree_over(rng, part, depth + 1) for part in parts])


def test_a_constituent_stays_if_more_than_half_have_written_it():
    rng, lost = random.Random(1), 0
    for trial in range(300):
        voters = 3 + 2 * (trial % 2)
        first = tree_over(rng, WORDS)
        trees = [Tree("TOP", [first if rng.random() < 0.4 else tree_over(rng, WORDS)]) for _ in range(voters)]
        found, every = votes.elected(trees), [constituents(tree, [True] * 7) for tree in trees]
        assert found.leaves() == WORDS
        wanted = {}
        for one in set().union(*every):
            times = sorted((counts[one] for counts in every), reverse=True)[voters // 2]  # what more than half have at least
            wanted |= {one: times} if times else {}
        assert constituents(found, [True] * 7) == wanted
        lost += wanted != every[0]
        assert votes.elected([trees[0]] * 3) == trees[0]
    assert 50 < lost < 290


def test_votes_are_counted_without_punctuation():
    gold = [Tree.fromstring("(TOP (S (NP (NN a)) (VP (VB b) (NP (NN c))) (. .)))")]
    texts = "(TOP (S (NP (XX a)) (VP (XX b) (NP (XX c))) (XX .)))", "(TOP (S (NP (XX a)) (VP (XX b) (XX c) (XX .))))", \
        "(TOP (X (NP (XX a) (XX b)) (NP (XX c) (XX .))))"
    found = votes.by_votes(gold, [[Tree.fromstring(text) for text in texts]])
    assert found == {  # three wrote none; S, NP of a, VP, NP of c; X, NP of a and b
        3: {"written": 0, "right": 0}, 2: {"written": 4, "right": 4}, 1: {"written": 2, "right": 0}}
    one, other = ([Tree.fromstring(text)] for text in texts[:2])
    assert votes.agreement(one, other) == pytest.approx(200 * 2 / (4 + 3))  # NP of a, S


def test_three_runs_vote_and_an_even_number_cannot(semi_recipe, treebank, tmp_path, monkeypatch, refused):
    from benchmarks import semi

    monkeypatch.setattr(votes, "CORPUS", f"{treebank}-words")
    semi.main([*semi_recipe, "--seeds", "1", "2"])
    out, runs = tmp_path / "votes.json", [str(tmp_path / f"runs/part2-seed{seed}") for seed in (1, 2)]
    votes.main([*runs, "parser-en", "--average", "2", "--out", str(out)])
    record = json.loads(out.read_text())
    for split, figures in record["figures"].items():
        gold = corpora.load(treebank).trees(split)
        assert len(figures["each"]) == len(figures["between_two"]) == 3 and figures["together"]["sentences"] == len(gold) == 9
        of_two_or_three = [figures["by_votes"][n] for n in ("2", "3")]
        assert sum(row["written"] for row in of_two_or_three) >= figures["together"]["predicted"]  # with punctuation, fewer agree
        assert figures["each"][0]["f1"] != figures["each"][2]["f1"]
    assert "odd number" in refused(votes.main, [*runs])
