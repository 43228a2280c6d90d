"""The pairs made for the training of everyday-en-de: another name stands on both sides, and nothing that is measured is made."""
import random
import re

import pytest

from benchmarks.everyday_extra import Inventor, key, renamed

PAIRS = [
    ("Tom saw Tom.", "Tom sah Tom."), ("Tom's dog sleeps.", "Toms Hund schläft."), ("It rains on Tommy.", "Es regnet auf Tommy."),
    ("Did Tom call?", "Hat Tom angerufen?"), ("Tom left.", "Er ging."),
]


@pytest.mark.parametrize("seed", range(5))
def test_a_new_name_stands_on_both_sides_and_as_often(seed):
    found = renamed(PAIRS, 1.0, set(), seed)
    for number in (1, 2, 4):  # a German genitive, another word, a name on one side alone: as they were
        assert found[number] == PAIRS[number]
    for number in (0, 3):
        pattern = [re.escape(side).replace("Tom", "(?P<name>[A-Z]\\w+( [A-Z]\\w+)?)", 1).replace("Tom", "(?P=name)")
                   for side in PAIRS[number]]
        english, german = (re.fullmatch(one, side) for one, side in zip(pattern, found[number]))
        assert english["name"] == german["name"] != "Tom"


def test_the_share_is_kept_and_a_sentence_that_is_measured_is_not_made():
    many = [("Tom left.", "Tom ging.")] * 400
    assert 0.4 < sum(pair not in PAIRS and "Tom" not in pair[0] for pair in renamed(many, 0.5, set(), 1)) / 400 < 0.6
    held = {key(english) for english, _ in renamed(many, 1.0, set(), 1)}
    again = renamed(many, 1.0, held, 1)
    assert {key(english) for english, _ in again if "Tom" not in english} & held == set()


def test_an_invented_name_is_no_word_that_is_taken():
    names, taken = ["Anna", "Hannah", "Susanna"], {"susannah"}
    invented = {Inventor(names, taken)(random.Random(seed)) for seed in range(200)}
    assert len(invented) > 3 and "Susannah" not in invented and all(4 <= len(name) <= 11 for name in invented)
