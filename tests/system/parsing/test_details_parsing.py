"Details of parsing that no page tells: each was changed by hand without a test that noticed. Names begin with the module's."
import numpy as np
import pytest
import torch

from annotated_transformer import InputError, Transformer, TransformerConfig, Translator
from annotated_transformer.config import Search
from annotated_transformer.data.tokenizer import Tokenizer
from annotated_transformer.data.trees import Tree, clean, delinearize, linearize
from annotated_transformer.parsing.evalb import bracket_scores
from annotated_transformer.parsing.parser import PARSING, Parser
from annotated_transformer.parsing.self_training import confidences, parse_lines


@pytest.mark.parametrize("tag, counted", [
    (",", False), (":", False), ("``", False), ("''", False), (".", False),            # DELETE_LABEL of COLLINS.prm
    ("-LRB-", True), ("-RRB-", True), ("$", True), ("#", True), ("SYM", True),
])
def test_evalb_numbers_no_word_of_these_parts_of_speech(tag, counted):
    # X holds the word alone: it is a constituent only where the word is numbered.
    tree = Tree.fromstring(f"(TOP (S (NN a) (X ({tag} b)) (VB c)))")
    assert bracket_scores([tree], [tree]).gold == 1 + counted


def test_evalb_goes_on_after_a_sentence_of_marks_alone():
    marks, one, two = (Tree.fromstring(text) for text in (
        "(TOP (X (. .)))", "(TOP (S (NN a) (NP (NN b))))", "(TOP (S (NP (NN a)) (VP (VB b))))"))
    trees = [one, marks, two]
    assert bracket_scores(trees, trees) == bracket_scores([one, two], [one, two])
    assert bracket_scores(trees, trees).gold == 5


def test_evalb_takes_a_tree_of_words_on_each_side():
    tree, nothing = Tree.fromstring("(TOP (S (NN a)))"), Tree.fromstring("(TOP (NP (-NONE- *)))")  # no word is written
    for gold, predicted in ((nothing, tree), (tree, nothing), (nothing, nothing)):
        with pytest.raises(InputError, match="^sentence 2: .* do not have the same words"):
            bracket_scores([tree, gold], [tree, predicted])
    for n, m in ((2, 1), (1, 2)):
        with pytest.raises(InputError, match=f"^{n} gold trees but {m} predicted ones"):
            bracket_scores(n * [tree], m * [tree])


def test_parser_takes_sentences_and_words_from_whatever_gives_them():
    lines = ["Ann wants to sleep .", "(S (NP XX )NP (VP XX )VP )S"] * 9
    tokenizer = Tokenizer.train(lines, 40, ["(S", ")S", "(NP", ")NP", "(VP", ")VP", "XX"])
    torch.manual_seed(0)
    parser = Parser(Translator(Transformer(TransformerConfig(40, n_layers=1, d_model=8, d_ff=8, n_heads=2)), tokenizer))
    sentences, how = ["Ann wants to sleep .".split(), ["sleep"]], Search(1, 0.3, 12)
    expected = parser.parse(sentences, how)
    assert len(expected) == 2
    for given in ((words for words in sentences), [(word for word in words) for words in sentences], [*map(np.array, sentences)]):
        assert parser.parse(given, how) == expected
    with pytest.raises(InputError, match="^search must be a Search, such as Search\\(beam_size=4\\), not 4$"):
        parser.parse(sentences, 4)


def test_evalb_counts_complete_sentences_also_of_one_and_takes_trees_from_a_generator():
    tree = Tree.fromstring("(TOP (S (NN a) (NP (NN b))))")
    one, two = bracket_scores([tree], [tree]), bracket_scores((tree for _ in "ab"), (tree for _ in "ab"))
    assert type(one.complete) is int and (one.complete, two.complete) == (1, 2) and two.sentences == 2


def test_parser_searches_as_the_paper_did():
    assert (PARSING.beam_size, PARSING.alpha, PARSING.extra_length) == (21, 0.3, 300)  # §6.3


def test_trees_that_are_not_cleaned_or_no_list_are_refused():
    parser = Parser.from_pretrained("parser-en")
    raw = Tree.fromstring("( (S (NP-SBJ-1 (NNP Ann)) (VP (VBZ wants) (S (NP-SBJ (-NONE- *-1)) (VP (TO to) (VP (VB sleep)))))))")
    for tree, said in ((raw, "a bracket of the tree has no label, which no row can have: clean it"),
                       (raw[0], "the tree has the label -NONE-, which no row can have"),
                       (Tree("ROOT", [clean(raw)[0]]), "has the label ROOT, which no row can have"),
                       (Tree("TOP", []), r"the bracket \(TOP\) is empty"),
                       (Tree("TOP", [Tree("NP", [])]), r"bracket \(NP\) is empty"),
                       ("(S (NN a))", r"'\(S \(NN a\)\)' is not a tree: give one from NLTK")):
        for use in (linearize, lambda tree: confidences(parser, [tree])):
            with pytest.raises(InputError, match=said):
                use(tree)
    with pytest.raises(InputError, match=r"^'\(S \(NN a\)\)' is not a tree"):
        bracket_scores(["(S (NN a))"], [clean(raw)])
    for use in (lambda: linearize(clean(raw), "word"), lambda: delinearize(["XX"], ["Ann"], "word")):
        with pytest.raises(InputError, match="^leaves says how a row writes a word: one of XX, tags, words, not 'word'$"):
            use()
    with pytest.raises(InputError, match="^confidences takes a list of trees, not one tree"):
        confidences(parser, clean(raw))
    with pytest.raises(InputError, match=r"^give a list of texts, not one: \['No \.'\]$"):
        parse_lines(parser, "No .")
