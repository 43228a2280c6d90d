"Round brackets among the words of a sentence."
from annotated_transformer import Parser
from annotated_transformer.data.trees import LEAVES, Tree, linearize, print_tree, repair
from annotated_transformer.parsing.evalb import bracket_scores
from annotated_transformer.parsing.self_training import confidences, parse_lines


def test_a_tree_over_round_brackets_reads_back_when_it_is_printed_and_is_that_of_the_line():
    parser, line = Parser.from_pretrained("parser-en"), "He ( John ) left ."
    for free in (False, True):
        [(tree, _)] = parser.parse([line.split()], free=free)
        assert tree.leaves() == line.split()
        assert Tree.fromstring(print_tree(tree)).leaves() == "He -LRB- John -RRB- left .".split()
        assert [print_tree(tree)] == parse_lines(parser, [line], free=free)[0]


def test_a_word_with_a_round_bracket_is_the_same_to_all_functions_as_its_treebank_form():
    parser = Parser.from_pretrained("parser-en")
    tree = Tree.fromstring("(TOP (S (NP (XX It)) (VP (XX <) (NP (XX f<x>))) (XX >)))")
    for place in tree.treepositions("leaves"):
        tree[place] = tree[place].replace("<", "(").replace(">", ")")
    printed = Tree.fromstring(print_tree(tree))
    for leaves in LEAVES:
        assert linearize(tree, leaves) == linearize(printed, leaves)
        assert repair(linearize(tree, leaves), tree.leaves(), leaves) == (tree, {})
    assert len(set(confidences(parser, [tree, printed]))) == 1
    assert bracket_scores([printed], [tree]).f1 == bracket_scores([tree], [printed]).f1 == 100
