"How likely a difference of BLEU is by chance."
import random

import pytest
from sacrebleu.metrics import BLEU

from benchmarks.shared.chance import bleu_of, by_chance, counted

WORDS = "a dog runs over the green grass and looks at me".split()
DRAW = random.Random(0)
REFERENCES = [" ".join(DRAW.choices(WORDS, k=8)) for _ in range(60)]


def spoiled(share: float) -> list[str]:
    "The references, each word with this probability another."
    return [" ".join(word if DRAW.random() >= share else DRAW.choice(WORDS) for word in line.split()) for line in REFERENCES]


def test_the_sums_give_sacrebleus_score():
    lines = spoiled(0.3)
    assert bleu_of(counted(lines, REFERENCES).sum(0)) == pytest.approx(BLEU().corpus_score(lines, [REFERENCES]).score)


def test_what_does_not_differ_and_what_one_line_decides_is_chance():
    lines = spoiled(0.3)
    assert by_chance(lines, lines, REFERENCES, 50) == 1
    assert by_chance(lines, [REFERENCES[0], *lines[1:]], REFERENCES, 50) == 1  # that line falls to one or to the other


def test_the_direction_does_not_count_and_a_large_difference_is_not_chance():
    better, worse = spoiled(0.1), spoiled(0.3)
    assert by_chance(better, worse, REFERENCES, 300) == by_chance(worse, better, REFERENCES, 300) == 1 / 301


def test_of_translators_of_which_neither_is_better_one_pair_in_ten_passes_at_a_tenth():
    found = sorted(by_chance(spoiled(0.2), spoiled(0.2), REFERENCES, 200) for _ in range(60))
    assert 1 <= sum(one < 0.1 for one in found) <= 12 and 0.35 < found[30] < 0.65  # sacreBLEU's bootstrap: half are below 0.25
    assert found[-1] > 0.9
