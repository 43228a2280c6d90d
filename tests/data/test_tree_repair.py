"Every rule of repair does what it says, and no damage loses a word."
import random
from collections import Counter

import pytest

from annotated_transformer import InputError
from annotated_transformer.data.tree_repair import EMPTY, TOP, WORD, Tree, repair
from annotated_transformer.data.trees import bracket_free, delinearize, linearize, print_tree


def test_no_damage_loses_or_moves_a_word():
    rng = random.Random(0)
    readable = ["(S", ")S", "(NP", ")NP", "(VP", ")VP", ")QP"]
    unreadable = ["(", ")", TOP, EMPTY, "X)X", f"({TOP}", "(-x"]
    needed = Counter()
    for _ in range(3000):
        words = [f"w{i}" for i in range(rng.randint(1, 9))]
        tokens = rng.choices([*readable, *readable, *unreadable, WORD, WORD, WORD, "⁇"], k=rng.randint(1, 20))
        found, repairs = repair(tokens, words)
        assert found.leaves() == words and found.label() == TOP
        assert Tree.fromstring(print_tree(found)).leaves() == words
        undamaged, nothing = repair(linearize(found, "tags"), words, "tags")
        assert undamaged == found and not nothing
        needed.update(repairs.keys())
        found, repairs = repair(rng.sample(tokens + words, len(tokens)), words, "words")
        assert found.leaves() == words and found.label() == TOP
        needed.update(repairs.keys())
    assert len(needed) == 7 and min(needed.values()) > 100  # all rules but that of depth took part, and often


def test_each_rule_of_repair_does_what_it_says():
    words = "the dog chased it".split()
    for output, tree, repairs in (
        ("(S (NP XX XX )NP (VP XX (NP XX )S", "(TOP (S (NP the dog) (VP chased (NP it))))", {"closing brackets added": 2}),
        ("(S XX )NP XX XX XX )S", "(TOP (S the dog chased it))", {"closing brackets dropped": 1}),
        ("(S (NP XX XX )NP (VP XX )VP )S", "(TOP (S (NP the dog) (VP chased) it))", {"words added": 1}),
        ("(S XX XX XX XX (NP (NP XX )NP )NP )S", "(TOP (S the dog chased it))",
         {"words dropped": 1, "empty constituents removed": 2}),
        ("XX (S XX )S XX", "(TOP the (S dog) chased it)", {"words added": 1}),
        ("(S XX XX )S (NP )NP", "(TOP (S the dog chased it))", {"words added": 2, "empty constituents removed": 1}),
        ("( (TOP XX ) XX)S XX (N(P XX XX", "(TOP the dog chased it)", {"unreadable tokens dropped": 5}),
        ("", "(TOP the dog chased it)", {"words added": 4}),
        ("(S " * 120 + "XX XX XX XX" + " )S" * 120, "(TOP " + "(S " * 100 + "the dog chased it" + ")" * 101,
         {"opening brackets dropped": 20, "closing brackets dropped": 20}),
    ):
        found, counted = repair(output.split(), words)
        expected = Tree.fromstring(tree, read_leaf=lambda word: Tree(WORD, [word]))
        assert (found, counted) == (expected, Counter(repairs)), output


def test_words_of_a_row_are_found_in_the_sentence():
    words = "the dog chased the old dog .".split()
    for output, tree, repairs in (
        ("(S (NP the dog )NP chased (NP the old dog )NP . )S", "(TOP (S (NP the dog) chased (NP the old dog) .))", {}),
        ("(S (NP the )NP chased (NP the old dog )NP . )S", "(TOP (S (NP the dog) chased (NP the old dog) .))", {"words added": 1}),
        ("(S (NP the dog )NP chased chased (NP dog )NP . )S", "(TOP (S (NP the dog) chased the old (NP dog) .))",
         {"words added": 1, "words exchanged": 1}),
        ("(S (NP the dog )NP chased (NP the old dog . . )NP )S", "(TOP (S (NP the dog) chased (NP the old dog .)))",
         {"words dropped": 1}),
        ("(S (NP the the dog )NP chased (NP old dog )NP . )S", "(TOP (S (NP the dog) chased the (NP old dog) .))",
         {"words added": 1, "words dropped": 1}),
        ("(S (NP dog )NP chased (NP the ollld dog )NP . )S", "(TOP the (S (NP dog) chased (NP the old dog) .))",
         {"words added": 1, "words exchanged": 1}),
        ("(S )S", "(TOP the dog chased the old dog .)", {"words added": 7, "empty constituents removed": 1}),
        ("(NP the dog X)X chased )NP", "(TOP (NP the dog chased the old dog .))",
         {"words added": 4, "unreadable tokens dropped": 1}),
    ):
        found, counted = repair(output.split(), words, "words")
        expected = Tree.fromstring(tree, read_leaf=lambda word: Tree(WORD, [word]))
        assert (found, counted) == (expected, Counter(repairs)), (output, found, counted)


def test_a_sentence_of_any_length_is_found_in_the_row_that_repeats_it():
    words = ["once"] + ["so"] * 150 + ["it"] * 150  # from 200 on, difflib would take what is frequent for noise
    found, counted = repair(["(S", *words[1:140], "(NP", *words[140:], ")NP", ")S"], words, "words")
    assert found.leaves() == words and [len(part) for part in (found, found[1])] == [2, 140] and counted == {"words added": 1}


def test_a_word_with_a_bracket_survives_being_printed():
    tree = delinearize(["(S", WORD, WORD, ")S"], [bracket_free(word) for word in ("f(x)", ")")])
    assert Tree.fromstring(print_tree(tree)) == tree and tree.leaves() == ["f-LRB-x-RRB-", "-RRB-"]


def test_a_text_is_no_row_of_tokens_and_no_words():
    for tokens, words, said in (("(S XX )S", ["Bob"], r"the tokens are one text: give a list, '\(S XX \)S'.split\(\)"),
                                (["(S", "XX", ")S"], "Bob", r"the words are one text: give a list, 'Bob'.split\(\)")):
        for read in (repair, delinearize):
            with pytest.raises(InputError, match=said):
                read(tokens, words)
