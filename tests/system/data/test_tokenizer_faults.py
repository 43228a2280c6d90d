"Vocabularies: long lines are learnt too; what cannot be learnt or read is one sentence that says what to do."
import io

import numpy as np
import pytest
from sentencepiece import SentencePieceTrainer

from annotated_transformer import UNK, InputError
from annotated_transformer.data.tokenizer import Tokenizer
from annotated_transformer.training.processes import Stopped

TEXT = ["eins zwei drei vier fünf sechs sieben acht neun zehn"] * 9


def refusal(text: list[str], size: int) -> str:
    with pytest.raises(InputError) as caught:
        Tokenizer.train(text, size)
    return str(caught.value)


def test_too_small_a_vocabulary_is_refused_with_the_least_possible_one():
    characters = len(set(TEXT[0])) + 3  # the blank counts as ▁
    assert refusal(TEXT, characters - 1).endswith(f"take {characters}; choose a --vocab-size above that")
    assert Tokenizer.train(TEXT, characters + 1).vocab_size == characters + 1


def test_too_large_a_vocabulary_becomes_the_greatest_possible_one_with_a_warning(caplog):
    greatest = Tokenizer.train(TEXT, 3_000)
    most = greatest.vocab_size
    assert caplog.messages == [f"the text gives no more than {most} pieces: the vocabulary has that many, not 3000"]
    with pytest.raises(RuntimeError, match=f"value <= {most}"):  # SentencePiece by itself
        SentencePieceTrainer.train(sentence_iterator=iter(TEXT), model_writer=io.BytesIO(), model_type="bpe", vocab_size=3_000,
                                   character_coverage=1.0, bos_id=-1, pad_id=0, eos_id=1, unk_id=2, minloglevel=2)
    exact = Tokenizer.train(TEXT, most)
    assert len(caplog.messages) == 1 and exact.pieces(range(most)) == greatest.pieces(range(most))


@pytest.mark.parametrize("text", [[], ["", " "]])
def test_a_text_without_words_is_refused(text):
    assert refusal(text, 50) == "no vocabulary of 50 pieces can be learnt from this text: it holds no words"


@pytest.mark.parametrize("wrong, said", [("b \ud83d", "sentence 2 holds half a character (a lone surrogate)"),
                                         (None, "sentence 2 is not a str, but of the type NoneType")])
def test_what_is_no_text_is_refused_by_its_number(wrong, said):
    assert refusal(["a", wrong], 50).startswith(said)


def test_words_of_a_line_of_any_length_are_learnt():
    lines = TEXT * 30
    assert len(" ".join(lines)) > 4_192  # bytes: SentencePiece by itself leaves out what is longer, and says nothing
    assert Tokenizer.train([" ".join(lines)], 60).model == Tokenizer.train(lines, 60).model
    without_blanks = Tokenizer.train([*TEXT, "東京" * 3_000], 60)
    assert UNK not in without_blanks.encode("京東") and without_blanks.decode(without_blanks.encode("京東")) == "京東"


def test_a_tilde_is_the_home_directory(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    learnt = Tokenizer.train(TEXT * 9, 30)
    learnt.save("~/tokenizer.model")
    assert (tmp_path / "tokenizer.model").read_bytes() == Tokenizer.load("~/tokenizer.model").model == learnt.model


def test_a_size_that_is_none_is_refused():
    assert "choose another --vocab-size" in refusal(TEXT, 0)


@pytest.fixture(scope="module")
def contents() -> dict[str, bytes]:
    "By what the complaint says, what stands in the file."
    whole, other = Tokenizer.train(["eins zwei drei vier"] * 9, 30).model, io.BytesIO()
    SentencePieceTrainer.train(sentence_iterator=iter(["eins zwei"] * 9), model_writer=other, vocab_size=12, minloglevel=2)
    return {"empty": b"", "text": b"hello", "half": whole[: len(whole) // 2], "other": other.getvalue(),
            "no UTF-8": whole.replace("▁eins".encode(), b"\xe2\x96\x81e\xffns")}


@pytest.mark.parametrize("content, words", [
    ("empty", "damaged"), ("text", "damaged"), ("half", "damaged"), ("other", "must be 0, 1 and 2"),
    ("no UTF-8", "damaged"),
])
def test_a_damaged_model_is_named(tmp_path, contents, content, words):
    path = tmp_path / "tokenizer.model"
    path.write_bytes(contents[content])
    with pytest.raises(InputError) as caught:
        Tokenizer.load(path)
    assert str(caught.value).startswith(str(path)) and words in str(caught.value)


def test_a_missing_model_and_a_directory_in_its_place_are_named(tmp_path):
    for path, words in ((tmp_path / "tokenizer.model", "no such tokenizer file"), (tmp_path, "cannot be read")):
        with pytest.raises(InputError) as caught:
            Tokenizer.load(path)
        assert str(caught.value).startswith(str(path)) and words in str(caught.value)


def test_one_text_is_no_list_and_texts_may_come_in_whatever_several_come_in():
    vocabulary = Tokenizer.train(TEXT, 40)
    expected = [vocabulary.encode(text) for text in TEXT[:2]]
    for several in (tuple, iter, np.array):
        assert vocabulary.encode_all(several(TEXT[:2])) == expected
    for call in (lambda: Tokenizer.train(TEXT[0], 40), lambda: vocabulary.encode_all(TEXT[0])):
        with pytest.raises(InputError, match=r"^give a list of texts, not one: \['eins zwei"):
            call()
    with pytest.raises(InputError, match="^give a text or a list of texts, not 5$"):
        vocabulary.encode_all(5)


@pytest.mark.parametrize("kind", (KeyboardInterrupt, InputError, OSError, Stopped))
def test_what_ends_the_reading_of_sentences_is_no_matter_of_the_vocabulary(kind):
    def sentences():
        yield "a sentence"
        raise kind("of its own")

    with pytest.raises(kind, match="^of its own$"):
        Tokenizer.train(sentences(), 50)


class OneThread:
    "SentencePiece where the system starts no thread: it encodes a text, and no list of texts."

    def __init__(self, processor):
        self.processor = processor

    def encode(self, text, **options):
        if isinstance(text, list):
            raise RuntimeError("Resource temporarily unavailable")
        return self.processor.encode(text, **options)


@pytest.mark.parametrize("few", [10_000, 0], ids=["few letters", "many"])
def test_texts_are_encoded_also_where_the_system_starts_no_thread(few, monkeypatch):
    monkeypatch.setattr("annotated_transformer.data.tokenizer._FEW", few)
    tokenizer, texts = Tokenizer.train(TEXT, 40), [*TEXT, ""]
    expected = [tokenizer.encode(text) for text in texts]
    assert tokenizer.encode_all(texts) == expected
    monkeypatch.setattr(tokenizer, "_processor", OneThread(tokenizer._processor))
    assert tokenizer.encode_all(texts) == expected
    for wrong in (3, "\ud800", ["eins"]):
        with pytest.raises(InputError, match="a text must be a str"):
            tokenizer.encode_all([*texts, wrong])


def test_a_vocabulary_that_no_thread_learns_is_not_called_a_fault_of_the_text(monkeypatch):
    def fails(**options):
        raise RuntimeError("Resource temporarily unavailable")

    monkeypatch.setattr("sentencepiece.SentencePieceTrainer.train", fails)
    assert "starts no more threads" in refusal(TEXT, 40)
