"Details of data that no page tells: each was changed by hand without a test that noticed. Names begin with the module's."
from itertools import chain
from types import SimpleNamespace

import pytest
from nltk import Tree

from annotated_transformer import EOS, InputError
from annotated_transformer.config import TrainingConfig, TransformerConfig
from annotated_transformer.data.corpora import require
from annotated_transformer.data.large_corpora import TokenizedPairs
from annotated_transformer.data.number_words import numbers
from annotated_transformer.data.parallel_text import Corpus
from annotated_transformer.data.pronouns import pronouns
from annotated_transformer.data.tokenizer import Tokenizer
from annotated_transformer.data.trees import print_tree
from annotated_transformer.training.runs import prepare

NUMBERS = SimpleNamespace(
    vocab_size=100, model=b"", encode_all=lambda texts, threads: [[*map(int, text.split()), EOS] for text in texts]
)
PAIRS = [(f"{i} 7", f"{i + 1} 8 9") for i in range(2, 22)]


def stopped_after(directory, n):
    "Pairs of which `n` were read, in chunks of three, when something stopped it."
    def pairs():
        yield from PAIRS[:n]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        TokenizedPairs.write(directory, "train", pairs(), NUMBERS, chunk=3)


def rows(pairs):
    return [row.tolist() for row in chain.from_iterable(pairs)]


@pytest.mark.parametrize("n", [3, 10])
def test_large_corpora_go_on_with_the_pairs_that_they_began_with(tmp_path, n):
    stopped_after(tmp_path / "broken" / "off", n)  # the directory above is made, too
    found = TokenizedPairs.write(tmp_path / "broken" / "off", "train", PAIRS, NUMBERS, chunk=3)
    whole = TokenizedPairs.write(tmp_path, "train", PAIRS, NUMBERS)
    assert len(found) == 20 and rows(found) == rows(whole)


@pytest.mark.parametrize("other", [[("5 5", "6"), *PAIRS[1:]], [*PAIRS[:8], ("5 5", "6"), *PAIRS[9:]], PAIRS[:8]])
def test_large_corpora_take_no_other_pairs_and_keep_what_is_there(tmp_path, other):
    stopped_after(tmp_path, 10)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(InputError, match="these are not the pairs that it was begun with"):
        TokenizedPairs.write(tmp_path, "train", other, NUMBERS, chunk=3)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize("made", [numbers, pronouns])
def test_corpora_of_less_than_no_pair_have_none(made):
    corpus = made(-1, 2, 3)
    assert [len(part) for part in (corpus.train, corpus.validation, corpus.test)] == [0, 2, 3]


def test_parallel_text_has_the_splits_that_it_names():
    corpus = Corpus("letters", "en", "de", [("a", "b")], [("c", "d")], {"first": [("e", "f")], "second": []})
    assert corpus.split("train") == [("a", "b")] and corpus.split("test") == corpus.split("first") == [("e", "f")]
    with pytest.raises(InputError, match="no split 'third': choose one of train, validation, first, second, test"):
        corpus.split("third")


def test_corpora_propose_another_name_for_validation_alone(tmp_path):
    (tmp_path / "valid.en").write_text("a\n")
    with pytest.raises(InputError, match=r"valid.en does: rename it"):
        require(tmp_path, [tmp_path / "validation.en"], "en", "de")
    with pytest.raises(InputError, match="train.en does not exist: .* needs train.en and train.de"):
        require(tmp_path, [tmp_path / "train.en"], "en", "de")


WRITTEN = "“你好，世界！” ㎡ ﬁ นำ"


@pytest.mark.parametrize("language, found", [("zh", WRITTEN), ("th", WRITTEN), ("de", "“你好,世界!” m2 fi นํา")])
def test_tokenizer_of_a_target_without_blanks_gives_back_what_was_written(language, found, tmp_path):
    for split in ("train", "validation"):
        (tmp_path / f"{split}.en").write_text(9 * "hello, world\n")
        (tmp_path / f"{split}.{language}").write_text(9 * f"{WRITTEN}\n")
    config = TrainingConfig(TransformerConfig(60, n_layers=1, d_model=8, d_ff=8, n_heads=1), corpus=str(tmp_path))
    tokenizer, train, _ = prepare(config, tmp_path / "run")
    again = Tokenizer.train(9 * ["hello, world", WRITTEN], 60, as_written=found == WRITTEN).model
    assert again == tokenizer.model and b".tsv" not in again
    given = ["cafe\u0301", "\ufeffcaf\xe9", "caf\xe9\x07"]  # of accents apart, of marks that nobody sees
    if found == WRITTEN:
        known = Tokenizer.train(9 * ["café", WRITTEN], 60, as_written=True)
        assert {known.decode(known.encode(text)) for text in given} == {"café"}
        known = Tokenizer.train(9 * ["Việt", WRITTEN], 60, as_written=True)
        given = ["Vi\u1ec7t", "Vi\xea\u0323t", "Vi\u1eb9\u0302t", "Vie\u0323\u0302t", "Vie\u0302\u0323t"]  # accents apart
        assert {known.decode(known.encode(text)) for text in given} == {"Việt"}
    assert tokenizer.decode(train[0][1]) == tokenizer.decode(tokenizer.encode_target(f" {WRITTEN}\u3000 ")) == found


def test_trees_are_printed_and_stay_as_they_are():
    tree = Tree("TOP", [Tree("NP", ["a)", "(b"])])
    assert print_tree(tree) == "(TOP (NP a-RRB- -LRB-b))"
    assert tree.leaves() == ["a)", "(b"]
