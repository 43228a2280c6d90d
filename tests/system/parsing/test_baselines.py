"The guesses that parsers are measured beside, by hand."
from annotated_transformer.data.trees import Tree, print_tree
from annotated_transformer.parsing.evalb import bracket_scores
from benchmarks.shared.baselines import commonest_right_label, right_branching

GOLD = Tree.fromstring("(TOP (S (NP (NN Ann)) (VP (VBZ wants) (S (VP (TO to) (VP (VB sleep))))) (. .)))")


def test_right_branching_by_hand():
    tree = right_branching("Ann wants to sleep .".split(), "VP")
    assert print_tree(tree) == "(TOP (S (XX Ann) (VP (XX wants) (VP (XX to) (XX sleep))) (XX .)))"
    assert print_tree(right_branching(["."])) == "(TOP (S (XX .)))" and right_branching(list("ab"), "X").leaves() == ["a", "b"]
    scores = bracket_scores([GOLD], [tree])
    assert (scores.matched, scores.gold, scores.predicted) == (3, 6, 3)  # missing: NP over Ann, VP over sleep, S over "to sleep"


def test_only_a_last_mark_stands_apart():
    for words, tree in (("a b c", "(S (XX a) (VP (XX b) (XX c)))"), ("a b ?", "(S (XX a) (XX b) (XX ?))"), ("!", "(S (XX !))")):
        assert print_tree(right_branching(words.split())) == f"(TOP {tree})"


def test_the_commonest_label_is_that_of_constituents_at_the_end():
    assert commonest_right_label([GOLD, Tree.fromstring("(TOP (NP (NN a) (PP (IN b))))")]) == "VP"
    mark, clause = (Tree.fromstring(text) for text in ("(TOP (FRAG (. !)))", "(TOP (S (NP (PRP it)) (VP (VBZ rains)) (. !)))"))
    assert commonest_right_label([mark, clause]) == "VP"
