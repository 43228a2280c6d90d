"Bad input to the corpora: one clear sentence each, which names the file and what is wrong with it."
import gzip
import socket

import pytest

from annotated_transformer import InputError
from annotated_transformer.corpora import MULTI30K_SHA256, cache_directory, load, multi30k, numbers, read_lines


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


def test_the_directory_is_good_before_a_fault_is_put_in(directory):
    assert load(directory).train == load(str(directory)).test == [("one", "eins"), ("two", "zwei")]


@pytest.mark.parametrize("split", ["train", "validation", "test"])
def test_unequal_line_counts(directory, split):
    (directory / f"{split}.de").write_text("eins\nzwei\ndrei\n", encoding="utf-8")
    message = complaint(load, directory)
    assert f"{split}.en has 2 lines" in message and f"{split}.de has 3" in message


@pytest.mark.parametrize("name", ["validation.en", "validation.de", "test.de"])
def test_a_missing_file(directory, name):
    (directory / name).unlink()
    assert f"{directory / name} does not exist" in complaint(load, directory)


@pytest.mark.parametrize("content", [b"", b"\n", b" \n\n"])
def test_an_empty_file(directory, content):
    (directory / "train.de").write_bytes(content)
    assert f"{directory / 'train.de'} is empty" in complaint(load, directory)


@pytest.mark.parametrize("mark", [b"", "\ufeff".encode()])
def test_text_that_is_not_utf_8(directory, mark):
    (directory / "train.de").write_bytes(mark + "eins\nzwölf\n".encode())
    assert load(directory).train[1] == ("two", "zwölf")
    (directory / "train.de").write_bytes(mark + b"eins\n" + "zwölf\n".encode("latin-1"))
    message = complaint(load, directory)
    assert f"{directory / 'train.de'}, line 2, is not UTF-8" in message and "convert" in message


@pytest.mark.parametrize("data", [b"no gzip file", gzip.compress(b"eins\nzwei\n" * 99)[:-20]])
def test_a_gzip_file_that_is_none_or_stops_short(directory, data):
    (directory / "train.de").unlink()
    (directory / "train.de.gz").write_bytes(data)
    assert f"{directory / 'train.de.gz'} is not a complete gzip file" in complaint(load, directory)


def test_a_directory_in_the_place_of_a_file(tmp_path):
    assert f"{tmp_path} cannot be read" in complaint(read_lines, tmp_path)


def test_a_directory_without_training_files(tmp_path):
    message = complaint(load, tmp_path)
    assert str(tmp_path) in message and "no language" in message and "train.SOURCE" in message


def test_languages_that_are_missing_or_not_clear(directory):
    for name in ("train", "validation", "test"):
        (directory / f"{name}.fr").write_text("un\ndeux\n", encoding="utf-8")
    assert "de, en, fr" in complaint(load, directory)  # en is the source, but what is the target?
    assert load(directory, target_language="fr").train[0] == ("one", "un")
    assert "train.nl does not exist" in complaint(load, directory, "en", "nl")
    assert "de, en, fr" in complaint(load, directory, "en", "en")
    for path in directory.glob("*.en"):
        path.unlink()
    assert "name the source and the target language" in complaint(load, directory)
    assert load(directory, "fr").train[0] == ("un", "eins")


def test_an_unknown_corpus():
    message = complaint(load, "multi30k-en-ed")
    assert "did you mean multi30k-en-de?" in message and "numbers-en-de" in message and "directory" in message
    assert "did you mean" not in complaint(load, "/no/such/place")


def test_languages_for_a_corpus_that_fixes_them():
    assert "fixes its own languages" in complaint(load, "numbers-en-de", source_language="de")


def test_an_unknown_split(directory):
    message = complaint(load(directory).split, "dev")
    assert "'dev'" in message and "train, validation, test" in message


def test_more_expressions_than_there_are():
    message = complaint(numbers, train=1, validation=1_000_000, test=1)
    assert "at most 10,000 pairs in validation, not 1,000,000" in message


@pytest.fixture
def closed_port():
    "An address on this machine where nobody answers."
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    return f"http://127.0.0.1:{port}/"


def test_no_network_and_no_cached_file(tmp_path, closed_port):
    message = complaint(multi30k, "de", tmp_path / "multi30k", closed_port)
    assert f"{tmp_path / 'multi30k' / 'train.en.gz'} is missing" in message
    assert f"{closed_port}train.en.gz" in message and "ANNOTATED_TRANSFORMER_DATA" in message
    assert not list((tmp_path / "multi30k").glob("*"))


def test_a_damaged_cached_file_and_no_network(tmp_path, closed_port):
    (tmp_path / "train.en.gz").write_bytes(b"damaged")
    assert f"{tmp_path / 'train.en.gz'} is damaged" in complaint(multi30k, "de", tmp_path, closed_port)
    assert (tmp_path / "train.en.gz").read_bytes() == b"damaged"  # left for its owner to look at


def test_the_environment_moves_the_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("ANNOTATED_TRANSFORMER_DATA", str(tmp_path))
    assert cache_directory() == tmp_path
    monkeypatch.delenv("ANNOTATED_TRANSFORMER_DATA")
    assert "annotated_transformer" in str(cache_directory())


def test_a_name_that_is_known_is_a_file_with_a_sum():
    assert len(MULTI30K_SHA256) == 15 and all(len(digest) == 64 for digest in MULTI30K_SHA256.values())
