"""How likely a difference of BLEU is by chance: approximate randomization (Riezler and Maxwell 2005), two-sided.

Each line's two translations change places or not, at random. How often is the difference at least as large as the one seen?
sacreBLEU's paired bootstrap does not answer that: it centres absolute differences, which gives about half of the probability
where a difference is large, and less where it is small.
"""
from collections.abc import Sequence

import numpy as np
from sacrebleu.metrics import BLEU

SHUFFLES = 10_000


def counted(lines: Sequence[str], references: Sequence[str]) -> np.ndarray:  # (lines, 10)
    "Of each line what BLEU adds up: runs that match and runs, by length, and the tokens of both sides."
    metric = BLEU()
    scores = [metric.corpus_score([line], [[reference]]) for line, reference in zip(lines, references, strict=True)]
    return np.array([[*score.counts, *score.totals, score.sys_len, score.ref_len] for score in scores])


def bleu_of(sums: Sequence[int]) -> float:
    "BLEU of these sums."
    *runs, written, asked = map(int, sums)
    return BLEU.compute_bleu(runs[:4], runs[4:], written, asked, smooth_method="exp").score


def by_chance(one: Sequence[str], other: Sequence[str], references: Sequence[str], shuffles: int = SHUFFLES) -> float:
    "How likely two translators of which neither is better differ by so much BLEU or more, in either direction."
    first, second = (counted(lines, references) for lines in (one, other))
    both, apart = first.sum(0) + second.sum(0), first - second
    seen, random, at_least = abs(bleu_of(first.sum(0)) - bleu_of(second.sum(0))), np.random.default_rng(0), 0
    for _ in range(shuffles):
        shuffled = first.sum(0) - random.integers(2, size=len(first)) @ apart
        at_least += abs(bleu_of(shuffled) - bleu_of(both - shuffled)) >= seen - 1e-9
    return (at_least + 1) / (shuffles + 1)
