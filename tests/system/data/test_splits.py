"Tatoeba's real file, where it is in the cache: no leak between splits, and the split is the one that weights were trained on."
import functools
import hashlib
import json
import re
from pathlib import Path

import pytest

from annotated_transformer.data.corpora import load
from annotated_transformer.data.downloads import MULTI30K_SHA256, cache_directory
from annotated_transformer.data.parallel_text import references
from annotated_transformer.data.tatoeba import leaks, tatoeba_pairs
from benchmarks import splits

RECORD = Path(__file__).parents[3] / "results/translation/tatoeba-splits.json"
FIGURES = json.loads(RECORD.read_text(encoding="utf-8"))["figures"]
SHA256 = {  # of the pairs, `English TAB German`, a line each
    "train": "15d2f80d7ca1a5446c60409a9e15ef71228afe7776850db7df38a505f640e846",
    "validation": "55106ce5c9de5db493e7dc33959418fcbf97b55786e221bbe80f14a7ad986196",
    "tatoeba": "e95fc50bc4e8dcca99c512b2cf5b9bdb9d8435af59906c61518e840dcffde0a2",
}


def require(*files: Path) -> None:
    for path in files:
        if not path.exists():
            pytest.skip(f"{path} is not there: set ANNOTATED_TRANSFORMER_DATA to a directory that holds it")


@pytest.fixture(scope="module")
def tatoeba():
    require(cache_directory() / "tatoeba-en-de" / "deu-eng.zip")
    return load("tatoeba-en-de")


@pytest.fixture(scope="module")
def everyday(tatoeba):
    require(*(cache_directory() / "multi30k" / name for name in MULTI30K_SHA256 if ".fr." not in name))
    return load("everyday-en-de")


@functools.cache
def words(sentence: str) -> str:
    "What counts as the same sentence, by a rule of this test's own: nothing but what is no word is taken away."
    return " ".join(re.sub(r"\W+", " ", sentence.casefold()).split())


def shared(one, other) -> list[int]:
    "Different English and different German sentences that stand in both."
    return [len({words(pair[side]) for pair in one} & {words(pair[side]) for pair in other}) for side in (0, 1)]


def test_the_split_never_changes(tatoeba):
    for name, expected in SHA256.items():
        text = "".join(f"{english}\t{german}\n" for english, german in tatoeba.split(name))
        assert hashlib.sha256(text.encode()).hexdigest() == expected, name


def test_no_sentence_of_tatoeba_stands_in_two_splits(tatoeba):
    splits = [tatoeba.train, tatoeba.validation, tatoeba.test]
    assert [len(split) for split in splits] == [166_813, 1_000, 2_000]
    assert [shared(one, other) for one, other in (splits[:2], splits[1:], splits[::2])] == [[0, 0]] * 3
    assert sorted(pair for split in splits for pair in split) == sorted(tatoeba_pairs())


def test_a_pair_that_is_put_on_the_other_side_is_found(tatoeba):
    moved = next(pair for pair in tatoeba.test if sum(pair[0] == english for english, _ in tatoeba.test) > 1)
    assert leaks(tatoeba.test, [*tatoeba.train, moved]) and shared(tatoeba.test, [*tatoeba.train, moved]) != [0, 0]


def test_the_test_set_has_all_german_sentences_of_an_english_one(tatoeba):
    sources, targets = references(tatoeba.test)
    assert len(sources) == 1_592 and sum(map(len, targets)) == 2_000
    everything = dict(zip(*references(tatoeba_pairs())))
    assert all(everything[source] == found for source, found in zip(sources, targets))


def test_no_training_pair_of_everyday_stands_in_a_held_out_split(everyday, tatoeba):
    captions = load("multi30k-en-de")
    assert list(everyday.tests) == ["tatoeba", "test2016", "test2017", "mscoco"] and everyday.test == tatoeba.test
    assert {name: everyday.tests[name] for name in captions.tests} == captions.tests
    assert everyday.validation == tatoeba.validation + captions.validation
    for name in ("validation", *everyday.tests):
        assert shared(everyday.train, everyday.split(name)) == [0, 0], name
    assert len(tatoeba.train) + len(captions.train) - len(everyday.train) == 6


@pytest.mark.slow
def test_the_figures_are_those_of_the_file(everyday):
    assert splits.measure(tatoeba_pairs(), load("multi30k-en-de")) == FIGURES
    assert all(n == 0 for n in FIGURES["test_pairs_that_leak"]["by groups"].values())
    assert FIGURES["test_pairs_that_leak"]["by line"]["either"] > 500
