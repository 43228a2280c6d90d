"""benchmarks.tree_search: small."""
from dataclasses import replace

from annotated_transformer.data.trees import Tree
from annotated_transformer.parsing.parser import TREES, Parser
from annotated_transformer.parsing.tree_search import TreesSoFar
from benchmarks import tree_search


def test_nonsense_and_long_sentences_become_trees():
    parser = Parser.from_pretrained("parser-en")
    kinds = tree_search.nonsense(["a", "dog", "sleeps"], 10, 1)
    assert [len(sentences) for sentences in kinds.values()] == [2, 2, 2, 4]
    assert kinds == tree_search.nonsense(["a", "dog", "sleeps"], 10, 1)
    for sentences in kinds.values():
        assert all(1 <= len(words) <= tree_search.LONGEST for words in sentences)
        row = tree_search.measured(parser, sentences[:2], 1)
        assert row["repaired"] == row["other_words"] == 0 and row["sentences"] == 2
    long, = tree_search.filling(parser, ["dog"], 1, 1)
    limit, encode = parser.translator.model.config.max_length, parser.translator.tokenizer.encode
    assert len(encode(" ".join(long))) <= limit < len(encode(" ".join([*long, "dog"])))


def test_words_of_which_the_tokenizer_keeps_nothing_still_become_a_tree():
    lone, pair = Parser.from_pretrained("parser-en").parse([["▁"], ["▁", "▁"]], replace(TREES, beam_size=2))
    assert lone.tree.leaves() == ["▁"] and pair.tree.leaves() == ["▁", "▁"] and not lone.repairs and not pair.repairs


def test_searches_are_compared_and_the_rule_is_whole_again():
    gold, weigh = [Tree.fromstring("(TOP (S (NP (NNP Ann)) (VP (VBZ sleeps)) (. .)))")], TreesSoFar.weigh
    rows = tree_search.compared(Parser.from_pretrained("parser-en"), gold, 1)
    assert [(row["search"], row["alpha"]) for row in rows] == [(s, a) for s, given in tree_search.SEARCHES.items() for a in given]
    assert all(row["f1"] == 100 for row in rows) and TreesSoFar.weigh is weigh
