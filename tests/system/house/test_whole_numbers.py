"What would not fit into a whole number of 64 bits comes out all the same."
import numpy as np
import pytest

from annotated_transformer.config import TransformerConfig
from annotated_transformer.data import large_corpora
from annotated_transformer.data.large_corpora import epoch_batches
from annotated_transformer.tables.training_cost import flops_per_target_token


def test_an_epoch_of_very_many_pairs_goes_the_way_that_it_should(monkeypatch):
    n, some = 2**40 - 3, np.array([0, 1, 7])  # of each block a few: all would take days

    class Pairs:
        def __len__(self) -> int:
            return n

        def lengths_of(self, rows: np.ndarray) -> np.ndarray:
            return np.full((len(rows), 2), 5)

    def few(*ends, **options):
        return (some + (ends[0] if len(ends) == 2 else 0)).astype(**options)

    monkeypatch.setattr(large_corpora, "cut_sorted", lambda lengths, most, random: [slice(None)])
    start, step = large_corpora.stride(n, np.random.default_rng((1, 0)))
    assert step * n > 2**63, "as a whole number of 64 bits it would be another one"
    with monkeypatch.context() as patch:
        patch.setattr(np, "arange", few)
        found = [rows.tolist() for rows in epoch_batches(Pairs(), 5_000, seed=1, epoch=0, block=n // 4)]
    firsts = [n * k // len(found) for k in range(len(found))]
    assert len(found) == 5 and found == [[(start + step * (first + i)) % n for i in some.tolist()] for first in firsts]


def test_the_flops_of_many_long_sentences_are_as_many_for_each_token_as_those_of_one():
    big, one = TransformerConfig.big(37_000), np.array([[25_000, 25_000]])
    assert flops_per_target_token(big, one.repeat(100_000, 0)) == pytest.approx(flops_per_target_token(big, one), rel=1e-12)
