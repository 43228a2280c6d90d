"""The pairs made for the training of everyday-en-de: another name stands on both sides, and nothing that is measured is made."""
import os
import random
import re
import subprocess
import sys
from pathlib import Path

import pytest

from annotated_transformer.data.phrasebook_words import MEN, SURNAMES, WOMEN
from benchmarks.everyday_extra import Inventor, census, from_lists, key, renamed

ROOT = Path(__file__).parents[3]
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


FULL = {"male.first": MEN, "female.first": WOMEN, "all.last": SURNAMES}
LISTS = {"male.first": ["Aldo", "Bert"], "female.first": ["Cleo", "Dora"], "all.last": ["Emmet", "Foley", "Gatlin"]}


@pytest.mark.parametrize("seed", range(4))
def test_names_of_lists_fit_the_sentence_and_stand_on_both_sides(seed):
    pairs = [("Tom saw himself.", "Tom sah sich selbst."), ("Mary left Boston.", "Maria verließ Boston."),
             ("Mary ate.", "Sie aß."), ("Tom is here.", "Tom ist hier.")] * 200
    himself, left, ate, here = (from_lists(pairs, FULL, set(), seed)[number::4] for number in range(4))
    assert ate == [pairs[2]] * 200, "a name on one side alone"
    named = [{english.split()[0] for english, _ in some} & {*WOMEN} - {*MEN} for some in (himself, here)]
    assert len(named[0]) < 5 < 15 < len(named[1]), "himself is a man"
    assert all(english.split(" saw")[0] == german.split(" sah")[0] for english, german in himself)
    names = [(english.split(" left "), german.split(" verließ ")) for english, german in left]
    assert 0.3 < sum(english[0] == german[0] != "Mary" for english, german in names) / 200 < 0.7
    assert all(english[1] == german[1] for english, german in names) and len({english[1] for english, _ in names}) > 20


def test_what_is_measured_is_not_made_and_its_names_are_not_in_the_lists(tmp_path):
    for kind, names in LISTS.items():
        lines = [f"{name.upper():15}0.100 0.200 {number}\n" for number, name in enumerate([*names, "Al"], 1)]
        (tmp_path / f"dist.{kind}").write_text("".join(lines))
    assert census(tmp_path, {"foley sleeps"}) == LISTS | {"all.last": ["Emmet", "Gatlin"]}
    many = [("Tom left.", "Tom ging.")] * 50
    once = {key(english) for english, _ in from_lists(many, FULL, set(), 1)} - {"tom left"}
    again = {key(english) for english, _ in from_lists(many, FULL, once, 1)}
    assert len(once) > 10 and not once & again


def test_invented_names_are_the_same_in_each_process():
    program = ("import random; from benchmarks.everyday_extra import Inventor\n"
               "print(Inventor(['Anna', 'Hannah', 'Susanna', 'Anton', 'Sandor'], set())(random.Random(5)))")
    said = {subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT,
                           env=os.environ | {"PYTHONHASHSEED": seed}).stdout for seed in "0123"}
    assert len(said) == 1
