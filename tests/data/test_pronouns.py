"The corpora made by rule: pronouns-en-de and the phrasebook."
import hashlib
import json
import random
import re
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from annotated_transformer.data.corpora import load
from annotated_transformer.data.number_words import numbers
from annotated_transformer.data.phrasebook import phrases, pronoun_pairs_both_orders
from annotated_transformer.data.phrasebook_words import CITIES, MEN, SURNAMES, TEMPLATES, WOMEN
from annotated_transformer.data.pronouns import (
    FRAMES,
    KINDS,
    NEVER_TRAINED,
    PRONOUNS,
    Noun,
    meanings,
    nouns_of,
    pair_with_meaning,
    plain_words,
    pronouns,
    sentences,
    split_of,
)

BOOK = Path(__file__).parents[2] / "benchmarks" / "sentences" / "phrasebook.json"


def nouns(meaning) -> set[str]:
    "All nouns that it could stand for."
    return {meaning.noun, *[noun for noun, _, _ in meaning.others]}


def test_the_corpus_has_its_sizes_and_its_name():
    corpus = load("pronouns-en-de")
    assert (len(corpus.train), len(corpus.validation), len(corpus.test)) == (30_000, 500, 2_000)
    assert corpus.train[:3] == [found[:2] for found in sentences()["train"][:3]]


def of_all_splits(corpus) -> list[tuple[str, str]]:
    return [*corpus.train, *corpus.validation, *corpus.test]


@cache
def phrasebook() -> list[tuple[str, str]]:
    return phrases(30_000)


@pytest.mark.parametrize("make, expected", [
    (lambda: of_all_splits(numbers()), "3f11e6fa851a3583"),
    (lambda: of_all_splits(pronouns()), "4c72052025daeb9f"),
    (lambda: pronoun_pairs_both_orders(2_000), "e3f4723dd2c7a028"),
    (phrasebook, "4132f128436055b2"),
])
def test_what_weights_were_trained_and_measured_on_is_made_as_it_was(make, expected):
    text = "".join(f"{english}\t{german}\n" for english, german in make())
    assert hashlib.sha256(text.encode()).hexdigest().startswith(expected)


def test_the_same_seed_gives_the_same_pairs_and_another_seed_others():
    once, again, other = (pronouns(50, 5, 10, seed).train for seed in (4, 4, 5))
    assert once == again and once != other


def test_no_two_nouns_of_a_test_sentence_stand_together_in_training():
    pairs = {name: {pair for _, _, meaning in split for pair in split_pairs(meaning)} for name, split in sentences().items()}
    assert all(set(pair) not in NEVER_TRAINED for pair in pairs["train"])
    for name, split in sentences().items():
        assert all(split_of(meaning) == name for _, _, meaning in split)


def split_pairs(meaning) -> list[tuple[str, str]]:
    "Of a sentence the pairs of nouns."
    found = sorted(nouns(meaning))
    return [(a, b) for a in found for b in found if a < b]


def test_the_three_genders_are_equally_frequent_and_every_kind_has_as_many_nouns_of_each():
    assert all(len({len(group) for group in nouns_of(kind)}) == 1 for kind in KINDS)
    counts = Counter(meaning.gender for _, _, meaning in sentences()["train"])
    assert all(abs(count / 30_000 - 1 / 3) < 0.01 for count in counts.values())


def test_a_noun_has_one_german_word_and_one_gender():
    found: dict[str, set] = {}
    for kind in KINDS:
        for group in nouns_of(kind):
            for noun in group:
                found.setdefault(noun.english, set()).add((noun.german, noun.gender))
    assert all(len(forms) == 1 for forms in found.values())


def test_german_articles_and_endings_follow_gender_and_case():
    dog, cat, animal = (Noun("x", german, gender, ("old", "alt")) for gender, german in enumerate(("Hund", "Katze", "Tier")))
    assert f"{dog:nom}, {dog:acc}, {dog:dat}" == "der alte Hund, den alten Hund, dem alten Hund"
    assert f"{cat:nom}, {cat:acc}, {cat:dat}" == "die alte Katze, die alte Katze, der alten Katze"
    assert f"{animal:nom}, {animal:acc}, {animal:dat}" == "das alte Tier, das alte Tier, dem alten Tier"


def test_the_meaning_says_where_the_noun_stands_and_the_pronoun_comes_second_in_german():
    for source, target, meaning in sentences()["test"]:
        words = plain_words(source)
        assert words[meaning.place] == meaning.noun and words[meaning.it] == "it"
        assert all(words[place] == noun for noun, place, _ in meaning.others)
        assert target.split()[1] == meaning.pronoun == PRONOUNS[meaning.gender]
        assert meanings()[source] == meaning


def test_who_changes_the_lists_of_sentences_changes_nobody_elses():
    asked = {"train": 30, "validation": 3, "test": 5}
    mine, expected = sentences(**asked), pronouns(**asked)
    random.Random(0).shuffle(mine["train"])
    mine["test"].clear()
    del mine["validation"]
    assert pronouns(**asked) == expected and {name: len(split) for name, split in sentences(**asked).items()} == asked


def test_one_adjective_means_one_kind_in_a_sentence():
    for *_, says in FRAMES:
        lists = [{choice.split()[0] for choice in choices.split(", ")} for choices in says.values()]
        assert all(not one & other for i, one in enumerate(lists) for other in lists[:i])


def test_both_orders_occur_where_they_are_asked_for():
    pairs = pronoun_pairs_both_orders(600, 2)
    first = sum(target.startswith(("Weil ", "Da ", "Obwohl ")) for _, target in pairs)
    assert 100 < first < 300
    assert not any(words <= set(plain_words(source)) for source, _ in pairs for words in NEVER_TRAINED)
    always = [pair_with_meaning(random.Random(seed))[1] for seed in range(50)]
    assert all(target.startswith(("Weil ", "Da ", "Obwohl ")) for target in always)


@pytest.mark.parametrize("source, target", [
    ("Excuse me, where is the station?", "Entschuldigung, wo ist der Bahnhof?"),
    ("It is half past seven.", "Es ist halb acht."),
    ("How much is this coat?", "Wie viel kostet dieser Mantel?"),
    ("How do I get to the church?", "Wie komme ich zur Kirche?"),
])
def test_the_phrasebook_says_it_as_people_do(source, target):
    assert dict(phrasebook()).get(source) == target


def test_the_phrasebook_leaves_out_the_sentences_that_measure_it_and_their_names():
    book = {one["source"] for one in json.loads(BOOK.read_text("utf-8"))}
    assert len(book) == 40
    assert not book & set(dict(phrases(3_000, leave_out=frozenset(book))))
    held = "Sarah Miller Manchester Philip Hawkins Rebecca Nottingham Henderson Gregory Deborah Thornton Valerie Sheffield"
    assert not set(held.split()) & {*MEN, *WOMEN, *SURNAMES, *CITIES}
    assert sum(map(len, TEMPLATES.values())) > 200


def test_the_main_clause_may_stand_first_in_german():
    first, last = (sentences(60, 5, 10, 3, clause_first=share)["train"] for share in (1, 0))
    assert all(target.split()[0] in ("Weil", "Da", "Obwohl") for _, target, _ in first)
    for _, target, meaning in last:
        main, link, clause = re.fullmatch(r"(.+), (weil|da|obwohl) (.+)\.", target).groups()
        assert clause.split()[0] == meaning.pronoun and not main.startswith(("Weil", "Da ", "Obwohl"))
    both = sentences(300, 5, 10, 3, clause_first=0.3)["train"]
    assert 0.2 < sum(target.split()[0] in ("Weil", "Da", "Obwohl") for _, target, _ in both) / 300 < 0.4
