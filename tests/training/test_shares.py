"Tests of training.shares."
import numpy as np

from annotated_transformer.training.shares import shares


def test_shares_by_hand():
    def parts(tokens, n):
        return [part.tolist() for part in shares(np.arange(len(tokens)), np.array([(1, t - 1) for t in tokens]), n)]

    assert parts([2, 2, 4, 8, 8], 2) == [[0, 1, 2], [3, 4]]
    assert parts([2, 2, 4, 8, 8], 1) == [[0, 1, 2, 3, 4]]
    assert parts([3] * 6, 3) == [[0, 1], [2, 3], [4, 5]]
    assert parts([2, 2, 20, 2, 2], 4) == [[0, 1], [2], [3], [4]]   # by their middles the rows 0 and 1, 2, 3 and 4, and none
    assert parts([30, 2, 2], 3) == [[0], [1], [2]]
    assert sorted(map(len, parts([5, 5], 4))) == [0, 0, 1, 1] and sum(parts([5, 5], 4), []) == [0, 1]
    assert parts([7], 2) in ([[0], []], [[], [0]])
    rows = np.array([8, 3, 5])
    assert [part.tolist() for part in shares(rows, np.array([(2, 9), (1, 1), (9, 4)]), 2)] == [[8, 3], [5]]


def test_shares_are_whole_in_order_and_even():
    random = np.random.default_rng(0)
    for _ in range(2_000):
        size, n = random.integers(1, 40), random.integers(1, 12)
        lengths = random.integers(1, random.choice([3, 50, 2_000]), (size, 2))
        lengths[random.integers(size)] *= random.choice([1, 100])
        rows = random.permutation(size)
        cut = shares(rows, lengths, n)
        assert len(cut) == n and np.concatenate(cut).tolist() == rows.tolist()
        assert size < n or min(map(len, cut)) > 0
        tokens = dict(zip(rows.tolist(), lengths.sum(axis=1).tolist()))
        largest = max(sum(tokens[row] for row in part.tolist()) for part in cut)
        assert largest <= lengths.sum() / n + lengths.sum(axis=1).max()
