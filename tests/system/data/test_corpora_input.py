"Bad input to the corpora: one clear sentence each, which names the file and what is wrong with it."
import errno
import gzip
import hashlib
import io
import itertools
import os
import shutil
import subprocess
import sys
import tarfile
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import sacrebleu
from sacrebleu.dataset import DATASETS

from annotated_transformer import InputError
from annotated_transformer.data.corpora import from_directory, load, sums
from annotated_transformer.data.downloads import (
    MULTI30K_SHA256,
    WMT14,
    Archive,
    cache_directory,
    extract,
    multi30k,
    newstest,
    wmt14,
    wmt14_files,
)
from annotated_transformer.data.number_words import numbers
from annotated_transformer.data.parallel_text import Corpus, PairFiles, line_batches
from annotated_transformer.data.tatoeba import tatoeba_pairs
from annotated_transformer.data.treebanks import Treebank
from annotated_transformer.parsing.parser import score_split


@pytest.fixture
def directory(tmp_path):
    "A corpus of two training pairs, without fault."
    for name in ("train", "validation", "test"):
        (tmp_path / f"{name}.en").write_text("one\ntwo\n", encoding="utf-8")
        (tmp_path / f"{name}.de").write_text("eins\nzwei\n", encoding="utf-8")
    return tmp_path


def complaint(call, *arguments, **options) -> str:
    "What the InputError says, after a check that it is a single line."
    with pytest.raises(InputError) as caught:
        call(*arguments, **options)
    message = str(caught.value)
    assert "\n" not in message and not message.endswith(".")
    assert caught.value.__context__ is None or caught.value.__suppress_context__  # no chain of tracebacks
    return message


def first_pass(directory) -> list:
    "Load a directory and go through its training pairs."
    return list(load(directory).train)


def test_the_directory_is_good_before_a_fault_is_put_in(directory):
    assert first_pass(directory) == load(str(directory)).test == [("one", "eins"), ("two", "zwei")]


@pytest.mark.parametrize("data", [b"", b"eins\n", b"\xff\n\xff\n"])
def test_a_fault_in_the_training_files_is_found_in_the_first_pass_and_keeps_nobody_from_the_test_set(directory, data):
    (directory / "train.de").write_bytes(data)
    corpus = load(directory)
    assert corpus.test == corpus.validation == [("one", "eins"), ("two", "zwei")]
    assert str(directory / "train.de") in complaint(list, corpus.train)
    assert str(directory / "train.de") in complaint(list, corpus.train)  # and in each later one


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="elsewhere every name is text")
def test_names_that_are_no_text_can_be_said_and_written(directory):
    own = directory / os.fsdecode(b"own\xff")
    own.mkdir()
    for path in directory.glob("*.*"):
        shutil.copy(path, own / path.name.replace("test", os.fsdecode(b"test\xfe")))
    corpus = from_directory(own)
    assert corpus.name == "own\ufffd" and len(corpus.tests) == 1
    for encoding in ("UTF-8", "ASCII"):
        environment = os.environ | {"PYTHONIOENCODING": encoding, "PYTHONPATH": str(Path(__file__).parents[3])}
        words = [sys.executable, "-m", "annotated_transformer", "corpora", "."]
        done = subprocess.run(words, capture_output=True, env=environment, cwd=own)
        assert done.returncode == 0 and b"test\\udcfe: 2 pairs" in done.stdout and not done.stderr


@pytest.mark.parametrize("split", ["train", "validation", "test"])
def test_unequal_line_counts(directory, split):
    (directory / f"{split}.de").write_text("eins\nzwei\ndrei\n", encoding="utf-8")
    message = complaint(first_pass, directory)
    assert f"{split}.en has 2 lines" in message and f"{split}.de has 3" in message


def test_lines_without_a_partner_are_counted_to_the_end(tmp_path):
    short, long = tmp_path / "short", tmp_path / "long"
    short.write_text("a line\n" * 1_203)
    long.write_text("a line of the longer file\n" * 150_000)
    for paths in ((short, long), (long, short)):
        counts = [f"{path} has {'1,203' if path == short else '150,000'}" for path in paths]
        assert complaint(list, PairFiles([paths])).startswith(f"{counts[0]} lines but {counts[1]}: ")
        found = itertools.islice(PairFiles([paths]), 1_203)  # as many pairs as there are come out first
        assert sum(1 for _ in found) == 1_203


def test_a_missing_training_file_is_missed_before_the_first_pair(tmp_path):
    for side in ("en", "de"):
        (tmp_path / f"first.{side}").write_text("one\n")
    pairs = PairFiles([(tmp_path / f"{name}.en", tmp_path / f"{name}.de") for name in ("first", "second")])
    assert complaint(next, iter(pairs)).startswith(f"{tmp_path / 'second.en'} does not exist")


def test_files_that_a_zip_names_are_read_in_each_pass(tmp_path):
    for name in ("first", "second"):
        for side in ("en", "de"):
            (tmp_path / f"{name}.{side}").write_text(f"{name} {side}\n")
    pairs = PairFiles(zip(sorted(tmp_path.glob("*.en")), sorted(tmp_path.glob("*.de"))))
    assert list(pairs) == list(pairs) == [("first en", "first de"), ("second en", "second de")]
    assert len({pairs, PairFiles([*pairs.files])}) == 1  # it may be a key, as of a cache


@pytest.mark.parametrize("name", ["validation.en", "validation.de", "test.de"])
def test_a_missing_file(directory, name):
    (directory / name).unlink()
    assert f"{directory / name} does not exist" in complaint(load, directory)


def test_training_files_alone_are_no_corpus_yet(tmp_path):
    for name in ("train.cs", "train.en"):
        (tmp_path / name).write_text("a line\n")
    message = complaint(from_directory, tmp_path)
    assert message.startswith(str(tmp_path / "validation.en")) and "validation.cs a few hundred pairs" in message


@pytest.mark.parametrize("content", [b"", b"\n", b" \n\n"])
def test_an_empty_file(directory, content):
    (directory / "train.de").write_bytes(content)
    assert f"{directory / 'train.de'} is empty" in complaint(first_pass, directory)


@pytest.mark.parametrize("mark", [b"", "\ufeff".encode()])
def test_text_that_is_not_utf_8(directory, mark):
    (directory / "train.de").write_bytes(mark + "eins\nzwölf\n".encode())
    assert first_pass(directory)[1] == ("two", "zwölf")
    (directory / "train.de").write_bytes(mark + b"eins\n" + "zwölf\n".encode("latin-1"))
    message = complaint(first_pass, directory)
    assert f"{directory / 'train.de'}, line 2, is not UTF-8" in message and "convert" in message


def test_the_line_that_is_not_utf_8_is_counted_over_megabytes(directory):
    good = "größer als ein Megabyte\n".encode()
    (directory / "train.en").write_bytes(good * 200_000)
    (directory / "train.de").write_bytes(good * 123_456 + b"gr\xf6\xdfer\n" + good * 76_543)
    assert f"{directory / 'train.de'}, line 123457, is not UTF-8" in complaint(first_pass, directory)


ZIPPED = gzip.compress(b"eins\nzwei\n" * 99)


@pytest.mark.parametrize(
    "data", [b"no gzip file", ZIPPED[:-20], ZIPPED[:10] + b"\xff" + ZIPPED[11:], ZIPPED[:-8] + bytes(4) + ZIPPED[-4:]],
    ids=["no gzip file", "cut short", "no block", "another sum"],
)  # named: compressed bytes hold the time, and two workers must agree on the names of the tests
def test_a_gzip_file_that_is_none_or_stops_short_or_is_damaged(directory, data):
    (directory / "train.de").unlink()
    (directory / "train.de.gz").write_bytes(data)
    assert f"{directory / 'train.de.gz'} is not a complete gzip file" in complaint(first_pass, directory)


def test_a_small_gzip_file_of_one_endless_line_takes_neither_time_nor_memory(directory):
    (directory / "train.de").unlink()
    with gzip.open(directory / "train.de.gz", "wb", compresslevel=1) as file:
        file.write(b"eins\n")
        for _ in range(2**5):
            file.write(bytes(2**20))
    assert f"{directory / 'train.de.gz'}, line 2, has more than 16 MiB" in complaint(first_pass, directory)


def test_a_directory_in_the_place_of_a_file(tmp_path):
    assert f"{tmp_path} cannot be read" in complaint(next, line_batches(tmp_path))


def test_a_directory_without_training_files(tmp_path):
    message = complaint(load, tmp_path)
    assert str(tmp_path) in message and "no language" in message and "train.TARGET" in message


def test_languages_that_are_missing_or_not_clear(directory):
    for name in ("train", "validation", "test"):
        (directory / f"{name}.fr").write_text("un\ndeux\n", encoding="utf-8")
    assert "de, en, fr" in complaint(load, directory)  # en is the source, but what is the target?
    assert next(iter(from_directory(directory, target_language="fr").train)) == ("one", "un")
    assert "train.nl does not exist" in complaint(from_directory, directory, "en", "nl")
    assert "de, en, fr" in complaint(from_directory, directory, "en", "en")
    for path in directory.glob("*.en"):
        path.unlink()
    message = complaint(load, directory)
    assert message.endswith(f"has training files in de, fr: say from which into which, as in {directory}:de-fr")
    assert next(iter(from_directory(directory, "fr").train)) == ("un", "eins")


def test_a_directory_may_say_its_direction(directory, monkeypatch):
    for name in ("train", "validation"):
        (directory / f"{name}.pt-BR").write_text("um\ndois\n", encoding="utf-8")
    monkeypatch.chdir(directory.parent)
    corpus = load(f"{directory.name}:de-en")
    assert (corpus.name, corpus.source_language, corpus.target_language) == (f"{directory.name}:de-en", "de", "en")
    assert list(corpus.train) == corpus.validation == corpus.test == [("eins", "one"), ("zwei", "two")]
    (directory / "test.pt-BR").write_text("um\ndois\n", encoding="utf-8")
    assert next(iter(load(f"./{directory.name}/:en-pt-BR").train)) == ("one", "um")
    assert load(f"{directory}:pt-BR-en").test == [("um", "one"), ("dois", "two")]
    message = complaint(load, f"{directory}:fr-en")
    assert message.startswith(f"{directory / 'train.fr'} does not exist: {directory} needs train.fr and train.en")
    assert complaint(load, f"{directory}:en-en").startswith(f"{directory} has training files in de, en, pt-BR: say from which")
    for name in ("C:fr-en", r"C:\mine:fr-en", "nosuch:fr-en", "numbers-en-de:de-en"):  # no directory, so no direction
        assert f"no corpus and no directory {name!r}" in complaint(load, name)


@pytest.mark.skipif(os.name == "nt", reason="no colons in names")
def test_a_directory_that_is_really_called_so_comes_first(directory):
    called = shutil.copytree(directory, directory.parent / f"{directory.name}:de-en")
    assert load(called).source_language == "en" and load(called).name == called.name
    assert load(f"{called}:de-en").source_language == "de"


@pytest.mark.skipif(os.name == "nt", reason="no colons in names")
def test_a_plus_sign_and_a_colon_do_not_disturb_each_other(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for directory, endings in (("trees", ["mrg"]), ("c++", ["en", "fr"])):
        Path(directory).mkdir()
        for name in (f"{split}.{ending}" for split in ("train", "validation") for ending in endings):
            Path(directory, name).write_text("( (S (NN a)))\n")
    Path("more:de-en").write_text("(TOP (S (XX two)))\n")
    assert [source for source, _ in load("trees+more:de-en").train] == ["a", "two"]
    assert load("c++:fr-en").source_language == "fr"


@pytest.mark.parametrize("half", ["test2016.en", "test2016.de"])
def test_half_a_test_set_is_refused_whichever_half_it_is(directory, half):
    (directory / half).write_text("one\n")
    missing = "test2016.de" if half.endswith("en") else "test2016.en"
    said = f"{directory / missing} does not exist and {directory / half} does: add it, or remove the other"
    assert complaint(load, directory) == said


@pytest.mark.parametrize("name", ["val", "valid", "dev"])
@pytest.mark.parametrize("ending", ["", ".gz"])
def test_other_names_of_the_validation_files_are_known(directory, name, ending):
    for side in ("en", "de"):
        (directory / f"validation.{side}").rename(directory / f"{name}.{side}{ending}")
    path = directory / f"{name}.en{ending}"
    assert complaint(load, directory) == f"{directory / 'validation.en'} does not exist and {path} does: rename it"


def test_endings_that_are_no_language_are_not_read(directory):
    (directory / "train.de.bak").write_text("x\n")
    (directory / "train.de~").write_text("x\n")
    (directory / "train.tsv").write_text("x\n")
    assert first_pass(directory) == [("one", "eins"), ("two", "zwei")]
    (directory / "train.tsv").unlink()
    (directory / "train.de").unlink()
    said = "has training files in en (not read: train.de.bak, train.de~): give it train.en and train.TARGET, line i of one"
    assert said in complaint(load, directory)
    (directory / "train.en").rename(directory / "train.en.txt")
    assert complaint(load, directory).endswith("train.en.txt): rename train.en.txt to train.en, and the others likewise")
    for language in ("en", "fr", "de"):
        (directory / f"train.{language}").write_text("x\n")
    assert "say from which into which" in complaint(load, directory)  # train.en exists already
    for language in ("en", "fr", "de"):
        (directory / f"train.{language}").unlink()
    (directory / "train.en.txt").rename(directory / "train.tsv")
    assert "no language (not read: train.de.bak, train.de~, train.tsv): cut the columns" in complaint(load, directory)


def test_a_directory_of_test_sets_alone_can_be_scored_and_not_trained_on(tmp_path):
    for name, text in (("test.en", "one\ntwo\n"), ("test.de", "eins\nzwei\n"), ("test.2.en", "six\n"), ("test.2.de", "sechs\n"),
                       ("testimony.txt", "x\n")):
        (tmp_path / name).write_text(text)
    corpus = load(tmp_path)
    assert [*corpus.train] == corpus.validation == [] and corpus.tests == {
        "test": [("one", "eins"), ("two", "zwei")], "test.2": [("six", "sechs")]}
    assert load(f"{tmp_path}:de-en").test == [("eins", "one"), ("zwei", "two")]
    said = f"{tmp_path / 'test.fr'} does not exist and {tmp_path / 'test.en'} does: add it, or remove the other"
    assert complaint(load, f"{tmp_path}:fr-en") == said
    (tmp_path / "test.fr").write_text("un\ndeux\n")
    said = "has test files in de, en, fr (not read: testimony.txt): say from which into which, as in"
    assert complaint(load, tmp_path) == f"{tmp_path} {said} {tmp_path}:en-de"
    (tmp_path / "validation.en").write_text("x\n")
    said = f"{tmp_path / 'validation.de'} does not exist and {tmp_path / 'validation.en'} does: add it, or remove the other"
    assert complaint(load, f"{tmp_path}:en-de") == said
    (tmp_path / "validation.de").write_text("y\n")
    assert load(f"{tmp_path}:en-de").validation == [("x", "y")] and [*load(f"{tmp_path}:en-de").train] == []
    (tmp_path / "training.en").write_text("x\n")
    assert "has training files in no language" in complaint(load, tmp_path)


def test_trees_for_a_test_alone_can_be_scored_and_not_trained_on(tmp_path):
    (tmp_path / "test.mrg").write_text("(S (NN a))\n(S (NN b))\n")
    corpus = load(tmp_path)
    assert [*corpus.train] == corpus.validation == [] and corpus.test == [("a", "(S XX )S"), ("b", "(S XX )S")]
    assert len(corpus.trees("test")) == 2
    said = f"{tmp_path.name} has no trees in validation: there is nothing to score"
    assert complaint(score_split, None, corpus, "validation") == said
    (tmp_path / "validation.mrg").write_text("(S (NN c))\n")
    assert load(f"{tmp_path}-words").validation == [("c", "(S c )S")]
    (tmp_path / "validation.mrg").rename(tmp_path / "train.mrg")
    assert complaint(load, tmp_path).startswith(f"{tmp_path} has no trees for the split validation")
    (tmp_path / "train.mrg").unlink()
    (tmp_path / "test.mrg").rename(tmp_path / "validation.mrg")
    assert complaint(load, tmp_path).startswith(f"{tmp_path} has no trees for the split train")


def test_texts_with_a_file_of_test_trees_among_them_are_texts(directory):
    (directory / "test.mrg").write_text("(S (NN a))\n")
    assert load(directory).scorer == "translation" and [*load(directory).train] and load(f"{directory}-tags").scorer == "parsing"


def test_files_that_are_compressed_or_in_utf_16_are_told_by_what_they_are(directory):
    (directory / "validation.de").write_bytes(gzip.compress(b"eins\n"))
    said = complaint(load, directory)
    assert said == f"{directory / 'validation.de'} is compressed by gzip: unpack it, as by gunzip -c"
    (directory / "validation.de").write_text("eins\n", encoding="utf-16")
    said = complaint(load, directory)
    assert said == f"{directory / 'validation.de'} is UTF-16: convert it, as by iconv -f UTF-16 -t UTF-8"
    for order in ("UTF-16LE", "UTF-16BE"):  # without a mark, both are UTF-8 with zeros
        (directory / "validation.de").write_bytes("eins\n".encode(order))
        said = complaint(load, directory)
        assert said.endswith(f"is UTF-16 without a byte-order mark: convert it, as by iconv -f {order} -t UTF-8")


def test_sums_are_of_the_files_that_a_corpus_reads(directory, tmp_path):
    (directory / "train.log").write_text("x\n")
    (directory / "train.fr").write_text("un\ndeux\n")
    pairs = {f"{part}.{side}" for part in ("train", "validation") for side in ("de", "en")}
    assert sums(f"{directory}:en-de", ("en", "de")).keys() == sums(str(directory), ("en", "de")).keys() == pairs
    assert sums(str(directory), ("en", "fr")).keys() == {"train.en", "train.fr", "validation.en"}
    (trees := tmp_path / "trees").mkdir()
    for name in ("train.mrg", "validation.mrg", "test.mrg", "stray.mrg", "more.txt"):
        (trees / name).write_text("(S)")
    (trees / "deep").mkdir()
    (trees / "deep" / "train2.mrg.gz").write_bytes(gzip.compress(b"(S)"))
    own = {"train.mrg", "deep/train2.mrg.gz", "validation.mrg"}
    assert sums(f"{trees}-tags", ()).keys() == sums(str(trees), ()).keys() == own
    assert len(set(sums(str(trees), ()).values())) == 1  # that of what is in the gzipped file
    assert sums(f"{trees}-words+{trees / 'more.txt'}", ()).keys() == own | {str(trees / "more.txt")}
    assert sums("numbers-en-de", ("en", "de")) == sums(f"{tmp_path}/nowhere", ("en", "de")) == sums("hub:a/b", ()) == {}
    one = sums(str(directory), ("en", "de"))
    assert one["train.en"] == hashlib.sha256(b"one\ntwo\n").hexdigest()
    (directory / "train.en.gz").write_bytes(gzip.compress(b"three\n"))  # not read beside the plain file
    assert sums(str(directory), ("en", "de")) == one
    (directory / "train.en.gz").write_bytes(gzip.compress((directory / "train.en").read_bytes()))
    (directory / "train.en").unlink()
    assert sums(str(directory), ("en", "de")) == one
    (directory / "train.en.gz").write_bytes(gzip.compress(b"one\ntwo\n")[:-6])
    assert "is not a complete gzip file" in complaint(sums, str(directory), ("en", "de"))


@pytest.mark.parametrize("names", [
    ("train.psd", "validation.psd"), ("train.mrg.bz2", "validation.mrg.bz2"), ("train.txt", "validation.txt"),
    ("train", "validation"), ("02-21.mrg", "22.mrg"), ("train/a.mrg", "dev/a.mrg"), ("a.PTB", "b.PTB")])
def test_trees_in_files_of_other_names_are_no_parallel_text(tmp_path, names):
    for name in names:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("( (S\n  (NN a)))\n" * 3)
    said = "has no trees for the split train: it needs wsj_0200.mrg to"
    for name in (tmp_path, f"{tmp_path}-words"):
        message = complaint(load, name)
        assert said in message and message.endswith("or files called train*.mrg and validation*.mrg (or .mrg.gz)")
    file = tmp_path / names[0]
    assert complaint(load, file).startswith(f"{file} is a file, and a corpus is a directory: with train.en and train.fr")


def test_capitals_in_the_names_of_a_treebanks_files_do_not_matter(tmp_path):
    for number in (200, 2200, 2300):
        (tmp_path / f"WSJ_{number:04}.MRG").write_text("( (S (NN a)))\n")
    assert load(f"{tmp_path}-words").test == [("a", "(S a )S")]


def test_what_stands_behind_a_treebank_and_behind_its_plus_sign_is_told(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("gold").mkdir()
    Path("silver").mkdir()
    for file in ("gold/train.mrg", "gold/validation.mrg", "one.mrg", "silver/one.mrg"):
        Path(file).write_text("( (S (NN a)))\n")
    assert [*load("gold-words+one.mrg+silver/one.mrg").train] == 3 * [("a", "(S a )S")]
    message = complaint(load, "gold+one.mrg-words")
    assert message.startswith("one.mrg-words does not exist: if -words says") and message.endswith("as in gold-words+one.mrg")
    assert complaint(load, "gold-words+silver").endswith("name each, as in gold-words+silver/parsed.mrg")
    assert complaint(load, "gold-word").endswith("'gold-word': if gold has trees, after it comes -tags, -words or nothing")
    assert complaint(load, "gold+one.mr") == "one.mr does not exist: check the name and the directory"


def test_an_unknown_corpus():
    message = complaint(load, "multi30k-en-ed")
    assert "did you mean multi30k-en-de?" in message and "numbers-en-de" in message and "directory" in message
    assert "did you mean" not in complaint(load, "/no/such/place")
    assert "no directory 'numbers-en-de/' (did you mean numbers-en-de?)" in complaint(load, "numbers-en-de/")


def test_an_unknown_split(directory):
    message = complaint(load(directory).split, "dev")
    assert "'dev'" in message and "train, validation, test" in message


def test_more_expressions_than_there_are():
    message = complaint(numbers, train=1, validation=1_000_000, test=1)
    assert "at most 10,000 pairs in validation, not 1,000,000" in message


def test_no_network_and_no_cached_file(tmp_path, closed_port):
    message = complaint(multi30k, "de", tmp_path / "multi30k", closed_port)
    assert f"{tmp_path / 'multi30k' / 'train.en.gz'} is missing" in message
    assert f"{closed_port}train.en.gz" in message and "ANNOTATED_TRANSFORMER_DATA" in message
    assert not list((tmp_path / "multi30k").glob("*"))


def test_a_damaged_cached_file_and_no_network(tmp_path, closed_port):
    (tmp_path / "train.en.gz").write_bytes(b"damaged")
    assert f"{tmp_path / 'train.en.gz'} is damaged" in complaint(multi30k, "de", tmp_path, closed_port)
    assert (tmp_path / "train.en.gz").read_bytes() == b"damaged"  # left for its owner to look at


@pytest.mark.parametrize("name", ["tatoeba-en-de", "everyday-en-de"])
def test_tatoeba_without_a_network_says_which_file_is_missing(name, tmp_path, closed_port, monkeypatch):
    monkeypatch.setenv("ANNOTATED_TRANSFORMER_DATA", str(tmp_path))
    monkeypatch.setattr("annotated_transformer.data.tatoeba.tatoeba_pairs", partial(tatoeba_pairs, base_url=closed_port))
    path = tmp_path / "tatoeba-en-de" / "deu-eng.zip"
    message = complaint(load, name)
    assert f"{path} is missing" in message and "a directory that holds tatoeba-en-de/deu-eng.zip" in message
    path.write_bytes(b"damaged")
    assert f"{path} is damaged" in complaint(load, name)


def test_the_environment_moves_the_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("ANNOTATED_TRANSFORMER_DATA", str(tmp_path))
    assert cache_directory() == tmp_path
    monkeypatch.delenv("ANNOTATED_TRANSFORMER_DATA")
    assert "annotated_transformer" in str(cache_directory())


def test_a_name_that_is_known_is_a_file_with_a_sum():
    assert len(MULTI30K_SHA256) == 15 and all(len(digest) == 64 for digest in MULTI30K_SHA256.values())


# WMT 2014: archives and test sets in small, in the layout of the real ones


PAIRS = {  # the training pairs of each archive
    "de": {
        "europarl": [("one", "eins"), (" ", "nichts"), ("two", "zwei")],
        "commoncrawl": [("three", "drei")],
        "nc": [("four", "vier")],
    },
    "fr": {
        "europarl": [("one", "un"), ("two", "ou deux")],
        "commoncrawl": [("three", "trois")],
        "nc": [("four", "quatre")],
        "giga": [("five", "cinq"), ("word " * 176, "mot " * 176)],
        "un": [("six", "six"), ("", "vide")],
    },
}
KEPT = {
    "de": [("one", "eins"), ("two", "zwei"), ("three", "drei"), ("four", "vier")],
    "fr": [("one", "un"), ("three", "trois"), ("four", "quatre"), ("five", "cinq"), ("six", "six")],
}
MEMBERS = {
    "europarl": "training/europarl-v7.{x}-en.{side}",
    "commoncrawl": "commoncrawl.{x}-en.{side}",
    "nc": "training/news-commentary-v9.{x}-en.{side}",
    "giga": "giga-fren.release2.fixed.{side}.gz",
    "un": "un/undoc.2000.{x}-en.{side}",
}


def training_files(other: str) -> dict[str, dict[str, bytes]]:
    "By archive and name in it, the files of one language pair."
    files = {}
    for part, pairs in PAIRS[other].items():
        sides = ["".join(f"{text}\n" for text in side).encode() for side in zip(*pairs)]
        files[part] = {
            MEMBERS[part].format(x=other, side=side): gzip.compress(text) if part == "giga" else text
            for side, text in zip(("en", other), sides)
        }
    return files


def tar(entries: dict[str, bytes], mode: str = "w:gz") -> bytes:
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode=mode) as archive:
        for name, content in entries.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return data.getvalue()


@pytest.fixture
def newstests(tmp_path, monkeypatch):
    "Where sacreBLEU keeps its files: here three pairs of newstest2013 and two of newstest2014."
    directory = tmp_path / "sacrebleu"
    monkeypatch.setattr(sacrebleu, "SACREBLEU_DIR", str(directory))
    for name, n in (("wmt13", 3), ("wmt14/full", 2)):
        monkeypatch.setattr(DATASETS[name], "_outdir", str(directory / name))
        monkeypatch.setattr(DATASETS[name], "_rawdir", str(directory / name / "raw"))
        (directory / name).mkdir(parents=True)
        for other in ("de", "fr"):
            for field in ("src", "ref", "docid", "genre", "origlang"):
                text = "".join(f"{field} {i} of {name}, {other}\n" for i in range(n))
                (directory / name / f"{name.replace('/', '_')}.en-{other}.{field}").write_text(text, encoding="utf-8")
    return directory


@pytest.fixture
def server(tmp_path):
    "What stands in `far` is served; `asked` are the names that were asked for."
    class Handler(SimpleHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path[1:])
            super().do_GET()

        def log_message(self, *args):
            pass

    asked, far = [], tmp_path / "far"
    far.mkdir()
    serving = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=far))
    threading.Thread(target=serving.serve_forever, daemon=True).start()
    serving.asked, serving.far = asked, far
    yield serving
    serving.shutdown()
    serving.server_close()


def served(server, name: str, data: bytes, member: str, languages: str = "de fr") -> Archive:
    (server.far / name).write_bytes(data)
    url = f"http://127.0.0.1:{server.server_port}/{name}"
    return Archive(url, len(data), hashlib.sha256(data).hexdigest(), member, languages)


@pytest.fixture
def archives(server):
    "The five, with their real names and members."
    both = {other: training_files(other) for other in ("de", "fr")}
    made = []
    for part, archive in zip(MEMBERS, WMT14):
        entries = {name: data for other in both for name, data in both[other].get(part, {}).items()}
        entries |= {"README": b"what nobody asked for"}
        data = tar(entries, "w" if part == "giga" else "w:gz")
        made.append(served(server, archive.name, data, archive.member, archive.languages))
    return made


def test_the_archives_of_wmt14_have_sums_sizes_and_our_files():
    assert all(len(archive.sha256) == 64 and archive.url.startswith("http") for archive in WMT14)
    assert len({archive.sha256 for archive in WMT14}) == 5
    assert [round(sum(archive.size for archive in WMT14 if x in archive.languages) / 1e9, 1) for x in ("de", "fr")] == [1.7, 6.6]
    for other in ("de", "fr"):
        members = [name for archive in WMT14 if other in archive.languages for name in archive.members(other)]
        assert members == [name for files in training_files(other).values() for name in files]


@pytest.mark.parametrize("other", ["de", "fr"])
def test_wmt14_by_name_from_files_that_are_there(other, tmp_path, monkeypatch, newstests):
    monkeypatch.setenv("ANNOTATED_TRANSFORMER_DATA", str(tmp_path))
    for files in training_files(other).values():
        for name, data in files.items():
            (tmp_path / "wmt14" / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / "wmt14" / name).write_bytes(data)
    corpus = load(f"wmt14-en-{other}")
    assert (corpus.name, corpus.source_language, corpus.target_language) == (f"wmt14-en-{other}", "en", other)
    assert list(corpus.train) == list(corpus.train) == KEPT[other]
    assert corpus.validation == [(f"src {i} of wmt13, {other}", f"ref {i} of wmt13, {other}") for i in range(3)]
    assert corpus.test == corpus.split("newstest2014") == corpus.split("test")
    assert corpus.test == [(f"src {i} of wmt14/full, {other}", f"ref {i} of wmt14/full, {other}") for i in range(2)]


def test_wmt14_downloads_at_the_first_pass_and_never_again(tmp_path, newstests, server, archives):
    near = tmp_path / "wmt14"
    german, french = (wmt14(other, near, archives) for other in ("de", "fr"))
    assert german.test and french.validation and not server.asked and not near.exists()
    assert list(german.train) == KEPT["de"]
    assert server.asked == [archive.name for archive in WMT14[:3]]
    assert list(french.train) == KEPT["fr"]
    assert server.asked == [archive.name for archive in WMT14]
    for archive in WMT14:
        (near / archive.name).unlink()
    assert list(german.train) + list(french.train) == KEPT["de"] + KEPT["fr"] and len(server.asked) == 5
    files = {str(path.relative_to(near)) for path in near.rglob("*") if path.is_file()}
    assert files == {name for other in PAIRS for part in training_files(other).values() for name in part}


def test_wmt14_without_a_network_serves_its_test_set_and_says_what_training_misses(tmp_path, newstests, closed_port):
    archives = [archive._replace(url=closed_port + archive.name, size=1) for archive in WMT14]
    corpus = wmt14("de", tmp_path / "wmt14", archives)
    assert len(corpus.test) == 2
    message = complaint(list, corpus.train)
    assert f"{tmp_path / 'wmt14' / WMT14[0].name} is missing" in message and "try again with a network" in message
    assert not list((tmp_path / "wmt14").iterdir())


def test_a_damaged_archive_is_fetched_again_or_named(tmp_path, server):
    archive = served(server, "a.tgz", tar({"a.en": b"one\n", "a.de": b"eins\n"}), "a.{side}")
    (tmp_path / "a.tgz").write_bytes(b"damaged")
    pairs = PairFiles(partial(wmt14_files, "de", tmp_path, [archive]))
    (server.far / "a.tgz").rename(server.far / "gone")
    assert f"{tmp_path / 'a.tgz'} is damaged" in complaint(list, pairs)
    (server.far / "gone").rename(server.far / "a.tgz")
    assert list(pairs) == [("one", "eins")]


def test_an_archive_that_claims_a_tebibyte_is_damaged(tmp_path):
    header = tarfile.TarInfo("pax")
    header.type, header.size = tarfile.XHDTYPE, 2**40
    (tmp_path / "a.tar").write_bytes(header.tobuf(tarfile.GNU_FORMAT) + bytes(1024))
    assert f"{tmp_path / 'a.tar'} is damaged" in complaint(extract, tmp_path / "a.tar", {"a.en"}, tmp_path)


@pytest.mark.parametrize("name", ["a.tgz", "a.tar"])
def test_an_archive_that_stops_short_leaves_no_half_file(tmp_path, server, name):
    lines = {side: "".join(f"{side} {i}\n" for i in range(20_000)).encode() for side in ("en", "de")}
    whole = tar({f"a.{side}": text for side, text in lines.items()}, "w:gz" if name == "a.tgz" else "w")
    archive = served(server, name, whole[: len(whole) * 3 // 4], "a.{side}")
    pairs = PairFiles(partial(wmt14_files, "de", tmp_path / "near", [archive]))
    assert f"{tmp_path / 'near' / name} is damaged: delete it" in complaint(list, pairs)
    assert {path.name for path in (tmp_path / "near").iterdir()} == {name, "a.en"}  # the first was whole

    (tmp_path / "near" / "a.en").write_bytes(b"kept as it is\n" * 20_000)
    again = served(server, name, whole, "a.{side}")
    pairs = list(PairFiles(partial(wmt14_files, "de", tmp_path / "near", [again])))
    assert pairs[1] == ("kept as it is", "de 1") and len(pairs) == 20_000


def test_files_that_were_lost_come_back_out_of_their_archives(tmp_path, server):
    entries = {f"./training/a.{x}-en.{side}": f"a {x} {side}\n".encode() for x in ("cs", "fr") for side in ("en", x)}
    near, archive = tmp_path / "near", served(server, "a.tgz", tar(entries), "training/a.{other}-en.{side}")
    pairs = PairFiles(partial(wmt14_files, "fr", near, [archive]))
    assert not near.exists()  # nothing is fetched before it is needed
    assert list(pairs) == [("a fr en", "a fr fr")]
    there = {"a.tgz", "training/a.fr-en.en", "training/a.fr-en.fr"}  # no other language
    assert {str(path.relative_to(near)) for path in near.rglob("*") if path.is_file()} == there
    (near / "training/a.fr-en.fr").unlink()
    (server.far / "a.tgz").unlink()
    assert list(pairs) == [("a fr en", "a fr fr")] and server.asked == ["a.tgz"]
    assert {str(path.relative_to(near)) for path in near.rglob("*") if path.is_file()} == there


def captions(server) -> tuple[str, dict[str, str]]:
    "Multi30k in small, three lines a file, the third blank in French: its address and sums."
    sha256 = {}
    for name in MULTI30K_SHA256:
        third = "" if ".fr" in name else f"{name} line 3"
        data = gzip.compress(f"{name} line 1\n{name} line 2\n{third}\n".encode())
        (server.far / name).write_bytes(data)
        sha256[name] = hashlib.sha256(data).hexdigest()
    return f"http://127.0.0.1:{server.server_port}/", sha256


def test_multi30k_is_fetched_once_and_a_damaged_file_again(tmp_path, server):
    cache, (url, sha256) = tmp_path / "multi30k", captions(server)
    corpus = multi30k("fr", cache, url, sha256)
    assert corpus.train == [(f"train.en.gz line {i}", f"train.fr.gz line {i}") for i in (1, 2)]
    assert corpus.test[2] == ("test_2016_flickr.en.gz line 3", "")  # kept, since everybody measures on the same lines
    assert {name: pairs[0][1] for name, pairs in corpus.tests.items()} == {
        "test2016": "test_2016_flickr.fr.gz line 1",
        "test2017": "test_2017_flickr.fr.gz line 1",
        "mscoco": "test_2017_mscoco.fr.gz line 1",
    }
    needed = {name for name in sha256 if ".de." not in name}
    assert {path.name for path in cache.iterdir()} == set(server.asked) == needed and len(server.asked) == len(needed)
    (cache / "val.fr.gz").write_bytes(b"damaged")
    assert multi30k("fr", cache, url, sha256) == corpus and server.asked[len(needed):] == ["val.fr.gz"]
    assert multi30k("fr", cache, url, sha256) == corpus and len(server.asked) == len(needed) + 1


def test_who_shares_the_cache_may_read_what_another_has_fetched(tmp_path, server):
    url, sha256 = captions(server)
    multi30k("de", tmp_path / "multi30k", url, sha256)
    (tmp_path / "usual").touch()
    usual = (tmp_path / "usual").stat().st_mode  # by the umask
    assert {path.stat().st_mode for path in (tmp_path / "multi30k").iterdir()} == {usual}


def test_a_disk_that_is_full_before_a_file_is_whole_is_no_matter_of_the_network(tmp_path, monkeypatch):
    def full(self, url, output_file, pooch):
        Path(output_file).write_bytes(b"half")
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("pooch.HTTPDownloader.__call__", full)
    said = complaint(multi30k, "de", tmp_path)
    assert said.startswith(f"{tmp_path / 'train.en.gz'} could not be written (No space left on device): make room")
    assert list(tmp_path.iterdir()) == []


def test_files_that_are_there_need_no_pooch(tmp_path, server, monkeypatch):
    cache, (url, sha256) = tmp_path / "multi30k", captions(server)
    corpus = multi30k("fr", cache, url, sha256)
    monkeypatch.setitem(sys.modules, "pooch", None)  # as where it is not installed
    assert multi30k("fr", cache, url, sha256) == corpus
    (cache / "val.fr.gz").write_bytes(b"damaged")
    with pytest.raises(ModuleNotFoundError):
        multi30k("fr", cache, url, sha256)


def test_a_broken_download_leaves_nothing_behind(tmp_path):
    class Half(SimpleHTTPRequestHandler):
        "Announces 2,000 bytes, sends 1,000 and hangs up."
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Length", "2000")
            self.end_headers()
            self.wfile.write(bytes(1000))

        def log_message(self, *args):
            pass

    serving = ThreadingHTTPServer(("127.0.0.1", 0), Half)
    threading.Thread(target=serving.serve_forever, daemon=True).start()
    assert "train.en.gz is missing" in complaint(multi30k, "de", tmp_path, f"http://127.0.0.1:{serving.server_port}/")
    assert list(tmp_path.iterdir()) == []
    serving.shutdown()
    serving.server_close()


def test_an_archive_without_our_file(tmp_path, server):
    archive = served(server, "a.tgz", tar({"a.en": b"one\n", "b.de": b"zwei\n"}), "a.{side}")
    message = complaint(wmt14_files, "de", tmp_path / "near", [archive])
    assert f"{tmp_path / 'near' / 'a.tgz'} does not hold a.de" in message and "under these names" in message


def test_an_archive_cannot_write_where_it_likes(tmp_path, server):
    outside = tmp_path / "outside"
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:gz") as archive:
        for name, target in (("a.en", "../outside"), ("sub", "..")):  # our own name, but a link; and a directory that is one
            link = tarfile.TarInfo(name)
            link.type, link.linkname = tarfile.SYMTYPE, target
            archive.addfile(link)
        for name in ("../outside", str(outside), "sub/outside", "a.de"):
            entry = tarfile.TarInfo(name)
            entry.size = 5
            archive.addfile(entry, io.BytesIO(b"eins\n"))
    archive = served(server, "a.tgz", data.getvalue(), "a.{side}")
    assert "does not hold a.en" in complaint(wmt14_files, "de", tmp_path / "near", [archive])
    assert not outside.exists() and {path.name for path in (tmp_path / "near").iterdir()} == {"a.tgz", "a.de"}


def test_too_little_room_is_said_before_the_download_and_before_a_file_is_taken_out(tmp_path, monkeypatch, server):
    text = b"one\n" * 500_000  # 2 MB, and a few kB as an archive
    archive = served(server, "a.tgz", tar({"a.en": text, "a.de": text}), "a.{side}")
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage._replace(free=1_000_000))
    real = [archive._replace(size=real.size, languages=real.languages) for real in WMT14]
    message = complaint(wmt14_files, "fr", tmp_path / "near", real)
    assert f"{tmp_path / 'near'} needs 13.2 GB, but only 0.0 GB" in message and "ANNOTATED_TRANSFORMER_DATA" in message
    assert not server.asked
    assert "needs 0.0 GB" in complaint(wmt14_files, "de", tmp_path / "near", [archive])
    assert server.asked == ["a.tgz"] and [path.name for path in (tmp_path / "near").iterdir()] == ["a.tgz"]
    monkeypatch.undo()
    assert len(list(PairFiles(wmt14_files("de", tmp_path / "near", [archive])))) == 500_000


def test_a_disk_that_fills_while_a_file_is_taken_out(tmp_path, monkeypatch, server):
    def full(source, target, length):
        target.write(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(shutil, "copyfileobj", full)
    (tmp_path / "a.tgz").write_bytes(tar({"a.en": b"one\n", "a.de": b"eins\n"}))
    archive = served(server, "a.tgz", (tmp_path / "a.tgz").read_bytes(), "a.{side}")
    message = complaint(wmt14_files, "de", tmp_path, [archive])
    assert f"{tmp_path / 'a.tgz'} cannot be extracted to {tmp_path} (No space left on device)" in message
    assert not list(tmp_path.glob("a.en*"))


def test_a_test_set_and_no_network(monkeypatch, newstests, closed_port, caplog, capfd):
    shutil.rmtree(newstests / "wmt13")
    monkeypatch.setattr(DATASETS["wmt13"], "data", [f"{closed_port}test.tgz"])
    for name in ("wmt14-en-de", "wmt14-en-fr"):
        message = complaint(load, name)
        assert f"wmt13 from {closed_port}test.tgz (URLError)" in message and "network" in message and "SACREBLEU" in message
    assert capfd.readouterr() == ("", "") and not caplog.text


def test_half_a_download_of_a_test_set_does_not_stay_in_the_way(monkeypatch, newstests, server, caplog, capfd):
    shutil.rmtree(newstests / "wmt13")
    sides = {side: "".join(f'<seg id="{i}">{side} &amp; {i}</seg>\n' for i in range(4)) for side in ("en", "de")}
    sgml = {f"test/newstest2013-src.{side}.sgm": f'<doc docid="d" genre="news" origlang="en">\n{sides[side]}' for side in sides}
    data = tar({name: text.encode() for name, text in sgml.items()})
    (server.far / "test.tgz").write_bytes(data)
    monkeypatch.setattr(DATASETS["wmt13"], "data", [f"http://127.0.0.1:{server.server_port}/test.tgz"])
    monkeypatch.setattr(DATASETS["wmt13"], "md5", [hashlib.md5(data).hexdigest()])
    half = newstests / "wmt13" / "raw" / "wmt13.test.tgz"
    half.parent.mkdir(parents=True)
    half.write_bytes(data[:-20])
    assert "could not fetch its test set wmt13" in complaint(newstest, "wmt13", "en-de")
    assert not half.exists()
    assert newstest("wmt13", "en-de") == [(f"en &amp; {i}", f"de &amp; {i}") for i in range(4)]

    half.unlink()  # and a server with something else: sacreBLEU exits, and keeps what it got
    (newstests / "wmt13" / "wmt13.en-de.ref").unlink()
    (server.far / "test.tgz").write_bytes(b"another file")
    assert "(SystemExit)" in complaint(newstest, "wmt13", "en-de") and not half.exists()
    assert capfd.readouterr() == ("", "") and not caplog.text


def test_a_test_set_that_lost_its_end(newstests):
    (newstests / "wmt14/full/wmt14_full.en-de.ref").write_text("ref 0\n", encoding="utf-8")
    message = complaint(load, "wmt14-en-de")
    assert "wmt14_full.en-de.src has 2 lines" in message and f"delete {newstests / 'wmt14/full'}" in message
    assert len(load("wmt14-en-fr").test) == 2


def test_the_variable_of_sacrebleu_says_where_the_newstests_are(tmp_path, newstests):
    program = "from annotated_transformer.data import corpora; print(corpora.load('wmt14-en-fr').test[1])"
    environment = os.environ | {"SACREBLEU": str(newstests), "ANNOTATED_TRANSFORMER_DATA": str(tmp_path / "empty")}
    root = Path(__file__).parents[3]
    done = subprocess.run([sys.executable, "-c", program], cwd=root, env=environment, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("('src 1 of wmt14/full, fr', 'ref 1 of wmt14/full, fr')\n", "")
    assert not (tmp_path / "empty").exists()


def test_a_corpus_shows_itself_by_its_sizes(directory):
    pairs = [("one", "eins")] * 1_200
    assert repr(Corpus("mine", "en", "de", pairs, pairs[:9], {"test": pairs[:2]})) == (
        "<Corpus mine: en to de; pairs: train 1,200, validation 9, test 2>")
    assert "pairs: train on disk, validation " in repr(from_directory(directory))
    assert repr(Treebank("wsj", "en", "tree", pairs, [], {})) == "<Treebank wsj: en to tree; pairs: train 1,200, validation 0>"


@pytest.mark.parametrize("ask", [
    lambda directory: multi30k(directory=directory, base_url="http://127.0.0.1:9/"),
    lambda directory: wmt14_files("de", directory),
])
def test_a_cache_that_cannot_be_written_is_no_missing_network(ask, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")

    def refuse(path, **_):
        raise PermissionError(errno.EACCES, "Permission denied")

    def said_of(directory: Path, reason: str):
        with pytest.raises(InputError) as told:
            ask(directory)
        assert str(told.value) == (f"{directory} cannot be written ({reason}): fix that, or set ANNOTATED_TRANSFORMER_DATA to "
                                   "another directory")

    said_of(tmp_path / "file" / "cache", "Not a directory")
    monkeypatch.setattr(Path, "touch", refuse)  # for root there is no such directory
    said_of(tmp_path, "Permission denied")
