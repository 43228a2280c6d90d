"The grammar of the baseline finds the trees that NLTK's own search finds."
import json
import math

import pytest
from nltk import Nonterminal, ProbabilisticProduction, ViterbiParser
from nltk.grammar import PCFG
from nltk.tree import Tree

from benchmarks import pcfg
from benchmarks.pcfg import Grammar, looks, measure

TREES = [Tree.fromstring(text) for text in (
    "(TOP (S (NP (DT the) (NN dog)) (VP (VBD saw) (NP (DT a) (NN cat))) (. .)))",
    "(TOP (S (NP (NNP Ann)) (VP (VBD saw) (NP (NP (DT a) (NN cat)) (PP (IN in) (NP (DT the) (NN garden))))) (. .)))",
    "(TOP (S (NP (NNP Ann)) (VP (VBD saw) (NP (NNP Bob)) (PP (IN in) (NP (DT the) (NN garden)))) (. .)))",
    "(TOP (S (VP (VBD ran) (ADVP|PRT (RP up))) (. .)))",
    "(TOP (FRAG (UH no)))",
)]
MEMORIES = ((0, 0), (1, 0), (1, 1), (2, 1))


def nltk_parser(grammar: Grammar) -> ViterbiParser:
    names, start = [Nonterminal(label) for label in grammar.labels], Nonterminal("START")
    roots = [(name, math.exp(log_p)) for name, log_p in zip(names, grammar.root) if log_p > -math.inf]
    productions = [ProbabilisticProduction(start, [name], prob=p) for name, p in roots]
    for parent, left, right, log_p in zip(grammar.parent, grammar.left, grammar.right, grammar.log_p):
        productions.append(ProbabilisticProduction(names[parent], [names[left], names[right]], prob=math.exp(log_p)))
    for word, options in grammar.words.items():
        if word != pcfg.RARE:  # the class of all rare words stands beside their own classes, so with it the sums pass 1
            productions += [ProbabilisticProduction(names[label], [word], prob=math.exp(log_p)) for label, log_p in options]
    return ViterbiParser(PCFG(start, productions))


@pytest.mark.parametrize("memory", MEMORIES)
def test_the_likeliest_tree_has_the_probability_that_nltk_finds(memory):
    grammar = Grammar(TREES, *memory)
    theirs = nltk_parser(grammar)  # which also checks that the shares of each left side add up to 1
    found = 0
    for sentence in ("the dog saw a cat .", "Ann saw Bob .", "Ann saw a cat in the garden .", "no",
                     "the garden saw a cat in the dog in Ann .", "ran up .", "Job saw the cat ."):
        words = sentence.split()
        tree, log_p = grammar.parse(words)
        expected = list(theirs.parse([word if word in grammar.known else looks(word) for word in words]))
        assert (tree is None) == (not expected)
        if expected:
            found += 1
            assert abs(log_p - math.log(expected[0].prob())) < 1e-9 and tree.leaves() == words and tree.label() == "TOP"
    assert found > 4
    assert grammar.parse(["cat", "cat"])[0] is None


def test_trees_come_back_as_they_were():
    grammar = Grammar(TREES, neighbours=9, parents=9)  # remembers everything
    for gold in (TREES[0], TREES[3], TREES[4]):
        assert grammar.parse(gold.leaves())[0] == gold
    assert grammar.parse(TREES[1].leaves())[0] == TREES[1]
    figures = measure(grammar, TREES, "")
    assert figures["f1"] == 100 and figures["without_a_tree"] == 0


def test_rare_words_stand_for_those_never_seen():
    grammar = Grammar(TREES)
    assert grammar.known == {"the", "saw", "a", "cat", ".", "Ann", "in", "garden"}
    assert [looks(word) for word in ("Bob", "x-ray", "1990s", "14.2", "%")] == ["?Aob", "?-ay", "?1", "?1", "?"]
    assert grammar.entries("Job") == grammar.entries("Bob") and len(grammar.entries("Job")) == 1  # Job looks like Bob, a name
    labels = {grammar.labels[label] for label, _ in grammar.entries("zzz")}                  # and zzz like nothing: any rare word
    assert labels == {"NN", "NP+NNP", "VBD", "ADVP|PRT+RP", "FRAG+UH"}
    gold = Tree.fromstring(str(TREES[2]).replace("Bob", "Job"))
    assert grammar.parse(gold.leaves())[0] == gold


def test_a_sentence_without_a_tree_gets_a_flat_one():
    figures = measure(Grammar(TREES), [Tree.fromstring("(TOP (S (NN cat) (NN cat)))"), TREES[0]], "")
    assert figures["without_a_tree"] == 1 and figures["sentences"] == 2 and figures["f1"] == 100


def test_the_command_chooses_on_the_development_split(treebank, tmp_path, refused):
    out = tmp_path / "pcfg.json"
    pcfg.main(["--corpus", str(treebank), "--out", str(out)])
    record = json.loads(out.read_text())
    figures = record["figures"]
    assert [(one["neighbours"], one["parents"]) for one in figures["tried"]] == list(pcfg.MEMORIES)
    assert figures["validation"]["f1"] == max(one["validation"]["f1"] for one in figures["tried"])
    assert figures["test"]["sentences"] == 9 and figures["test"]["f1"] > 90 and figures["training_sentences"] == 120
    assert "nowhere" in refused(pcfg.main, ["--corpus", str(tmp_path / "nowhere"), "--out", str(out)])
