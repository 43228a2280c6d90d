"Round brackets among the words of a sentence."
from annotated_transformer import Parser
from annotated_transformer.data.trees import Tree, print_tree
from annotated_transformer.parsing.self_training import parse_lines


def test_a_tree_over_round_brackets_reads_back_when_it_is_printed_and_is_that_of_the_line():
    parser, line = Parser.from_pretrained("parser-en"), "He ( John ) left ."
    for free in (False, True):
        [(tree, _)] = parser.parse([line.split()], free=free)
        assert tree.leaves() == line.split()
        assert Tree.fromstring(print_tree(tree)).leaves() == "He -LRB- John -RRB- left .".split()
        assert [print_tree(tree)] == parse_lines(parser, [line], free=free)[0]
