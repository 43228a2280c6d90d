"A batch cut into parts, for several processes or for accumulation: equally many tokens in each, since the largest takes longest."
import numpy as np

__all__ = ["shares"]


def shares(
    rows: np.ndarray,      # (B,) of one batch, in order
    lengths: np.ndarray,   # (B, 2): their numbers of tokens
    n: int,                # parts
) -> list[np.ndarray]:     # n parts, which together are the rows
    "A batch in `n` consecutive parts with about equally many tokens; none is empty unless there are fewer rows than parts."
    tokens = lengths.sum(axis=1)
    middle = np.cumsum(tokens) - tokens / 2  # of each row, in tokens from the start
    k = np.arange(1, n)
    cut = np.searchsorted(middle, k * tokens.sum() / n)
    if len(rows) >= n:  # a very long row would leave nothing for its neighbours: at least one row each
        cut = k + np.clip(np.maximum.accumulate(cut - k), 0, len(rows) - n)
    return np.split(rows, cut)
