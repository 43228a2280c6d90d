"Data sets of the Hugging Face hub become corpora, and what is none is refused in one sentence."
from pathlib import Path

import datasets
import pyarrow
import pytest

from annotated_transformer import InputError
from annotated_transformer.data.corpora import load
from annotated_transformer.data.huggingface import from_hub


def saved(directory, **splits) -> str:
    "A data set of these rows on the disk."
    datasets.disable_progress_bars()
    made = {"fingerprint": "made here"}  # for the library's own cache, which nobody needs here
    tables = {name: datasets.Dataset(pyarrow.Table.from_pylist(rows), **made) for name, rows in splits.items()}
    datasets.DatasetDict(tables).save_to_disk(directory)
    return str(directory)


PAIRS = [("a dog", "ein Hund"), ("", "nichts"), ("a  cat\n", "eine Katze")]


@pytest.mark.parametrize("rows", [
    [{"translation": {"de": de, "en": en}} for en, de in PAIRS],
    [{"number": i, "en": en, "de": de} for i, (en, de) in enumerate(PAIRS)],
], ids=["a column for the pair", "a column for each language"])
def test_a_set_that_was_saved_is_a_corpus_in_either_form(rows, tmp_path):
    name = saved(tmp_path / "animals", train=rows, dev=rows[:1], test=rows, test_hard=rows[2:], other=rows)
    corpus = from_hub(name)
    assert (corpus.name, corpus.source_language, corpus.target_language) == ("animals", "en", "de")
    for _ in range(2):  # one pass after another
        assert list(corpus.train) == [("a dog", "ein Hund"), ("a cat", "eine Katze")]
    assert corpus.validation == PAIRS[:1] and list(corpus.tests) == ["test", "test_hard"]
    assert corpus.test == [("a dog", "ein Hund"), ("", "nichts"), ("a cat", "eine Katze")]
    assert list(from_hub(name, "de", "en").train)[0] == ("ein Hund", "a dog")
    assert from_hub(Path(name), target_language="en").source_language == "de"


def test_other_columns_than_two_languages_are_left_and_any_may_be_named(tmp_path):
    rows = [{"id": "7", "url": "x", "en": "one", "de": "eins"}]
    assert list(from_hub(name := saved(tmp_path / "more", train=rows, validation=rows)).train) == [("one", "eins")]
    assert list(from_hub(name, "id", "de").train) == [("7", "eins")]
    rows = [{"translation": {"en": "one", "id": "satu", "vi": "một"}}]
    with pytest.raises(InputError, match="has text in en, id, vi: it needs"):
        from_hub(saved(tmp_path / "three", train=rows, validation=rows))
    rows = [{"id": "satu", "en": "one"}]  # Indonesian
    assert from_hub(saved(tmp_path / "id", train=rows, validation=rows)).target_language == "id"
    rows = [{"question": "one", "answer": "eins"}]
    name = saved(tmp_path / "named", train=rows, validation=rows)
    assert list(from_hub(name, "question", "answer").train) == [("one", "eins")]
    with pytest.raises(InputError, match="has text in no language"):
        from_hub(name)


ROW = {"en": "one", "de": "eins"}


def test_a_saved_set_in_the_home_directory_is_found_by_a_tilde(tmp_path, monkeypatch):
    saved(tmp_path / "mine", train=[ROW], validation=[ROW])
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    corpus = load("hub:~/mine")
    assert corpus.name == "mine" and corpus.validation == [("one", "eins")]


@pytest.mark.parametrize("splits, problem", [
    ({"train": [ROW]}, "has the splits train: a corpus needs train and validation"),
    ({"train": [{"text": "one"}], "validation": [{"text": "one"}]}, "has text in no language"),
    ({"train": [ROW | {"fr": "un"}], "validation": [ROW]}, "has text in de, en, fr"),
])
def test_a_set_that_is_no_corpus_is_refused_in_one_sentence(splits, problem, tmp_path):
    with pytest.raises(InputError) as refused:
        from_hub(saved(tmp_path / "set", **splits))
    assert problem in str(refused.value) and "\n" not in str(refused.value)


@pytest.mark.parametrize("name", ["", "alone", "a/b/c/d", "../up"])
def test_a_name_in_another_form_is_refused(name):
    with pytest.raises(InputError) as refused:
        from_hub(name)
    assert str(refused.value).startswith(f"hub:{name}: write hub:OWNER/NAME")


def test_versions_that_run_code_of_a_data_set_are_refused(tmp_path, monkeypatch):
    requirements = (Path(__file__).parents[2] / "settings.ini").read_text(encoding="utf-8")
    assert "hub_requirements = datasets>=4\n" in requirements
    name = saved(tmp_path / "set", train=[ROW], validation=[ROW])
    monkeypatch.setattr(datasets, "__version__", "3.6.0")
    with pytest.raises(InputError, match=r'datasets 3\.6\.0 can run code of a data set: pip install "annotated_transformer\[hub\]"'):
        from_hub(name)
