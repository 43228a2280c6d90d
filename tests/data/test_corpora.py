"Corpora by name and from directories; faulty files and downloads are tested in tests/system/data/test_corpora_input.py."
import gzip
import re
from functools import partial

import pytest

from annotated_transformer import InputError
from annotated_transformer.command_line.train_and_score import list_corpora
from annotated_transformer.data.corpora import CORPORA, about, from_directory, load
from annotated_transformer.data.tatoeba import leaks
from annotated_transformer.data.treebanks import Treebank, treebank


def test_the_built_in_corpus_keeps_its_sets_apart_on_both_sides():
    corpus = load("numbers-en-de")  # leaks: the package's form of readable_leaks
    for one, other in (("test", "train"), ("validation", "train"), ("test", "validation")):
        assert leaks(corpus.split(one), corpus.split(other)) == []
    assert leaks(corpus.train[:1], corpus.train) == corpus.train[:1]  # a pair that stands in both would be found
    assert len(load("pronouns-en-de").train) == 30_000


def test_a_directory_of_plain_files_equals_one_of_gzipped_files(tmp_path):
    texts = {"train.en": "one\n \ntwo\nthree", "train.de": "eins\nnichts\nzwei\n\n"}
    texts |= {"validation.en": "four", "validation.de": "vier\n"}
    texts |= {"test.en": "five\n\n", "test.de": "fünf\nsechs\n", "test_hard.en": "seven\n", "test_hard.de": "sieben\n"}
    plain, gzipped = tmp_path / "plain", tmp_path / "gzipped"
    plain.mkdir()
    gzipped.mkdir()
    for name, text in texts.items():
        (plain / name).write_text(text, encoding="utf-8")
        (gzipped / f"{name}.gz").write_bytes(gzip.compress(text.encode()))
    corpus, other = from_directory(plain), from_directory(gzipped)
    assert list(corpus.train) == [("one", "eins"), ("two", "zwei")]  # the pairs with a blank side are gone
    assert list(corpus.train) == list(other.train)
    assert corpus.tests == {"test": [("five", "fünf"), ("", "sechs")], "test_hard": [("seven", "sieben")]}  # and here they stay
    assert corpus.test == corpus.split("test") == corpus.tests["test"]
    assert (corpus.validation, corpus.tests) == (other.validation, other.tests)


def test_english_is_the_source_unless_told_otherwise(tmp_path):
    for language in ("de", "en", "fr"):
        for name in ("train", "validation"):
            (tmp_path / f"{name}.{language}").write_text(f"a sentence in {language}", encoding="utf-8")

    def chosen(*languages):
        corpus = from_directory(tmp_path, *languages)
        (source, target), = corpus.train
        return corpus.source_language, corpus.target_language, source[-2:], target[-2:]

    assert chosen(None, "de") == ("en", "de", "en", "de")
    assert chosen("fr", "en") == ("fr", "en", "fr", "en")
    (tmp_path / "train.de").unlink()
    assert chosen() == ("en", "fr", "en", "fr")
    assert chosen("fr") == chosen(None, "en") == ("fr", "en", "fr", "en")


def test_a_directory_of_trees_is_loaded_as_a_treebank(tmp_path):
    for name, text in {"train.en": "a\n", "train.de": "b\n", "validation.en": "a\n", "validation.de": "b\n"}.items():
        (tmp_path / name).write_text(text)
    assert not isinstance(load(tmp_path), Treebank) and load(tmp_path).scorer == "translation"
    for name in ("train", "validation"):
        (tmp_path / f"{name}.mrg").write_text("( (S (NN a)))")
    assert isinstance(load(tmp_path), Treebank) and load(tmp_path).scorer == "parsing"
    assert list(load(tmp_path).train) == [("a", "(S XX )S")]
    for leaves, word in (("tags", "NN"), ("words", "a")):
        corpus = load(f"{tmp_path}-{leaves}")
        assert list(corpus.train) == [("a", f"(S {word} )S")] and corpus.name.endswith(f"-{leaves}")


def test_trees_behind_a_plus_sign_join_the_training_trees_alone(tmp_path):
    for name in ("train", "validation", "test"):
        (tmp_path / f"{name}.mrg").write_text(f"( (S (NN {name})))")
    for name in ("one", "two"):
        (tmp_path / f"{name}.parsed").write_text(f"(TOP (S (XX {name})))\n\n(TOP (NP (XX {name})))")
    mixed = load(f"{tmp_path}+{tmp_path}/one.parsed+{tmp_path}/two.parsed")
    assert [source for source, _ in mixed.train] == ["train", "one", "one", "two", "two"]
    assert len(mixed.trees("train")) == 5 and dict(mixed.train)["one"] == "(NP XX )NP"
    assert mixed.validation == load(tmp_path).validation and mixed.test == load(tmp_path).test
    assert mixed.name == f"{tmp_path.name}+one.parsed+two.parsed"
    for name, expected in ((f"{tmp_path}+{tmp_path}/three", f"{tmp_path}/three does not exist"),
                           ("numbers-en-de+one.parsed", "numbers-en-de is not a treebank")):
        with pytest.raises(InputError, match=f"^{re.escape(expected)}"):
            load(name)
    plus = tmp_path / "a+b"
    plus.mkdir()
    for name in ("train", "validation"):
        (plus / f"{name}.mrg").write_text("( (S (NN a)))")
    assert load(plus).name == "a+b"  # a directory may be called so


def test_the_list_tells_the_terms_of_each_corpus_that_others_wrote():
    ours = {"numbers-en-de", "pronouns-en-de"}
    told = {name: re.findall(r"CC BY[\w-]* \d\.0|non-commercial|own terms|not free", about(name)) for name in CORPORA}
    assert {name for name, terms in told.items() if not terms} == ours
    assert told["multi30k-en-fr"] == ["non-commercial", "CC BY-NC-SA 4.0"] and told["everyday-en-de"] == ["CC BY 2.0", "non-commercial"]


def test_a_corpus_of_ones_own_among_the_named_ones_is_told_whatever_its_function_takes(monkeypatch, capsys):
    own = {"two": partial(treebank, "trees", leaves="tags"), "three": partial(from_directory, "mine", "en", "es"),
           "silent": lambda: None, "list": partial(treebank, leaves=["tags"])}
    for name, make in own.items():
        monkeypatch.setitem(CORPORA, name, make)
    assert about("two") == f"{treebank.__doc__} In the trees to be written, each word is its part of speech."
    assert about("three") == from_directory.__doc__ and about("silent") == "" and about("list") == treebank.__doc__
    assert about("multi30k-en-fr").endswith(" English to French.")
    list_corpora()
    assert capsys.readouterr().out.splitlines()[-2:] == [f"{'silent':<16}", f"{'list':<16}{treebank.__doc__}"]
