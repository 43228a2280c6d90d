"A tokenizer of one's own: what it must have, that a model is saved with it, and loaded with no other."
import json
from pathlib import Path

import pytest

from annotated_transformer import EOS, InputError, Parser, Transformer, TransformerConfig, Translator, load
from annotated_transformer.data.tokenizer import Tokenizer
from annotated_transformer.exchange.marian import save_marian
from annotated_transformer.exchange.onnx import to_onnx
from annotated_transformer.training.own_tokenizer import NEEDED, AnyTokenizer, require_tokenizer

SIZES = TransformerConfig(13, n_layers=1, d_model=32, d_ff=64, n_heads=4, max_length=30)


class Digits:
    vocab_size = 13

    def encode(self, text):
        return [int(digit) + 3 for digit in text.split()] + [EOS]

    encode_target = encode

    def encode_all(self, texts, threads=None):
        return [self.encode(text) for text in texts]

    def decode(self, ids):
        return " ".join(str(token - 3) for token in ids if token > 2)

    def pieces(self, ids):
        return [str(token - 3) for token in ids]

    def save(self, path):
        Path(path).write_text("digits")


class Backwards(Digits):
    pass


class Shouting(Tokenizer):
    def encode_all(self, texts, threads=None):
        return super().encode_all([text.upper() for text in texts], threads)


class Half:
    vocab_size = 13
    encode = Digits.encode


def test_what_is_asked_of_a_tokenizer_is_what_is_written_down():
    named = {name for name in vars(AnyTokenizer) if not name.startswith("_")}
    assert named == {*NEEDED, "save"} and all(getattr(AnyTokenizer, name).__doc__ for name in named)
    require_tokenizer(Digits())
    with pytest.raises(InputError, match="the tokenizer, Half, has no encode_target, encode_all, decode, pieces: give it what .*AnyTok"):
        Translator(Transformer(SIZES), Half())
    with pytest.raises(InputError, match="the tokenizer is the class Digits: give an object of it"):
        Translator(Transformer(SIZES), Digits)


def test_an_export_has_no_form_for_a_tokenizer_of_ones_own(tmp_path):
    translator = Translator(Transformer(SIZES).eval(), Digits())
    for module, write in (("onnx", to_onnx), ("transformers", save_marian)):
        pytest.importorskip(module)
        with pytest.raises(InputError, match="Digits is a tokenizer of your own, and the files of an export hold that of Sentence"):
            write(translator, tmp_path / module)
        assert not (tmp_path / module).exists()


def test_a_model_is_saved_with_a_tokenizer_of_ones_own_and_loaded_with_it_alone(tmp_path):
    translator = Translator(Transformer(SIZES).eval(), Digits())
    for _ in range(2):  # over what is there
        translator.save_pretrained(tmp_path / "digits")
    assert (tmp_path / "digits" / "tokenizer.model").read_text() == "digits"
    assert json.loads((tmp_path / "digits" / "record.json").read_text())["tokenizer"] == f"{__name__}:Digits"
    again = Translator.from_pretrained(tmp_path / "digits", tokenizer=Digits())
    assert again(["3 1 2"]) == translator(["3 1 2"]) and len(again.attention("3 1 2", "1 2").source) == 4
    again.save_pretrained(tmp_path / "again")
    assert isinstance(load(tmp_path / "again", tokenizer=Digits()).tokenizer, Digits)
    for given in (None, Backwards(), load("numbers-en-de").tokenizer):
        for opened in (load, Translator.from_pretrained):
            with pytest.raises(InputError, match=f"digits has a tokenizer of the class {__name__}:Digits: in Python make it"):
                opened(tmp_path / "digits", tokenizer=given)
    with pytest.raises(InputError, match="the model has 13 tokens and the tokenizer 9"):
        nine = Digits()
        nine.vocab_size = 9
        load(tmp_path / "digits", tokenizer=nine)


def test_a_tokenizer_of_ones_own_takes_the_place_of_another_and_one_that_writes_no_file_is_not_saved(tmp_path):
    shipped = load("numbers-en-de")
    shouting = Shouting(shipped.tokenizer.model)
    translator = Translator.from_pretrained("numbers-en-de", tokenizer=shouting)
    assert translator.tokenizer is shouting and translator("seven") != Translator.from_pretrained("numbers-en-de")("seven")
    translator.save_pretrained(tmp_path / "shouting")
    with pytest.raises(InputError, match="Shouting: in Python make it from its tokenizer.model"):
        load(tmp_path / "shouting")
    found = load(tmp_path / "shouting", tokenizer=Shouting.load(tmp_path / "shouting" / "tokenizer.model"))
    plain = Translator(found.model, shipped.tokenizer)
    plain.record = found.record
    plain.save_pretrained(tmp_path / "shouting")
    assert type(load(tmp_path / "shouting").tokenizer) is Tokenizer

    class Unwritten(Digits):
        save = property()

    with pytest.raises(InputError, match="the tokenizer, Unwritten, has no save: give it what"):
        Translator(Transformer(SIZES), Unwritten()).save_pretrained(tmp_path / "unwritten")
    assert not (tmp_path / "unwritten").exists()


def test_a_parser_takes_one_too():
    tokenizer = load("parser-en").tokenizer
    assert Parser.from_pretrained("parser-en", tokenizer=tokenizer).translator.tokenizer is tokenizer
