"""Products of a few rows with a matrix of floats, on a CPU.

At each step, a search for one sentence multiplies one row, or one per beam, by every matrix of the decoder. MKL, PyTorch's
library for products, is slow at that on some processors, AMD's among them, and gains nothing there from a second thread. The same
product as a batch of two, each half of the matrix times the transposed rows, was two to three times as fast there. We measure
once for each model which is faster. The halves are views: no weight is copied, and they follow every change of the weights.
"""
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

import torch
import torch.nn.functional as F
from torch import Tensor

from ..model.attention import is_exchanged
from ..model.transformer import Transformer
from .packed_weights import PackedEmbedding, PackedMatrix, held_by, with_matrices

__all__ = ["FEW_ROWS", "HalvedMatrix", "for_few_rows", "halves_are_faster", "in_halves"]

FEW_ROWS = 8   # at most this many rows; with a matrix that has fewer rows than columns, one
SMALL = 2**22  # minimum weights of a decoder: fewer stay in the processor's cache from one step to the next


def in_two(
    matrix: Tensor,  # (n, d)
) -> Tensor:         # (2, (n + 1) // 2, d), a view; where n is odd, both halves hold the row in the middle
    "The first half of its rows and the last."
    n, half = len(matrix), (len(matrix) + 1) // 2
    return matrix.as_strided((2, half, matrix.size(1)), ((n - half) * matrix.stride(0), *matrix.stride()))


def times_halves(
    halves: Tensor,  # (2, half, d)
    n: int,          # rows of the matrix
    x: Tensor,       # (..., d), N rows in all
) -> Tensor:         # x Wᵀ (..., n)
    "The product as a batch of two, each half times the transposed rows."
    N = x.numel() // x.size(-1)
    # The strides mark these as transposed rows, even if there is only one: MKL is slow with a column.
    columns = x.contiguous().as_strided((2, x.size(-1), N), (0, 1, x.size(-1)))
    found = torch.bmm(halves, columns)                                          # (2, half, N)
    if n % 2:
        found = torch.cat([found[0], found[1, 1:]])
    return found.view(n, N).T.reshape(*x.shape[:-1], n) if N > 1 else found.view(*x.shape[:-1], n)


class HalvedMatrix(PackedMatrix):
    "Weights as they are; small numbers of rows are multiplied by its halves."

    @staticmethod
    def product(matrix: Tensor, bias: Tensor | None, few: int) -> Callable[[Tensor], Tensor]:
        "Like `F.linear`, except in the last bits."
        (n, d), halves = matrix.shape, in_two(matrix)
        most = FEW_ROWS * d if n >= d else d

        def times(x: Tensor) -> Tensor:
            if x.numel() > most:
                return F.linear(x, matrix, bias)
            found = times_halves(halves, n, x)
            return found if bias is None else found.add_(bias)

        return times


class HalvedEmbedding(PackedEmbedding):
    "An embedding whose output projection does the same; it leaves many rows to the given embedding."

    def project_into(
        self,
        space: Tensor,  # (N, V), may be overwritten
        x: Tensor,      # (N, d_model)
    ) -> Tensor:        # logits (N, V)
        "Logits, by the halves if there are few rows."
        if self.words is None or len(x) > FEW_ROWS:
            return self.embedding.project_into(space, x)
        return self.words.times(x)


def seconds(products: Sequence[Callable[[Tensor], Tensor]], rows: Sequence[Tensor]) -> float:
    "The time to compute all of these, one after the other."
    start = time.perf_counter()
    for product, row in zip(products, rows):
        product(row)
    return time.perf_counter() - start


def halves_are_faster(model: Transformer) -> bool:
    "Whether a row passes the decoder's matrices in less than nine tenths of the usual time; small models are not measured."
    matrices = [weight for weight in (*model.decoder.parameters(), model.embedding.weight) if weight.dim() == 2]
    if sum(map(Tensor.numel, matrices)) < SMALL:
        return False
    with torch.inference_mode():
        usual, halved = zip(*((partial(F.linear, weight=matrix), HalvedMatrix(matrix).times) for matrix in matrices))
        rows = [matrix.new_ones(1, matrix.size(1)) for matrix in matrices]
        times = [(seconds(usual, rows), seconds(halved, rows)) for _ in range(3)]
    return min(second for _, second in times) < 0.9 * min(first for first, _ in times)


def is_changed(model: Transformer) -> bool:
    "Whether a part has a replaced function, or calls a hook: a copy would lose the former or keep the latter."
    return is_exchanged(model) or any(
        module._forward_hooks or module._forward_pre_hooks or any(map(callable, vars(module).values()))
        for module in model.modules()
    )


KNOWN: WeakKeyDictionary[Transformer, tuple[list[Any], list[int], Transformer | None]] = WeakKeyDictionary()


def for_few_rows(
    model: Transformer,
) -> Transformer:        # for searching; it shares the model's parameters
    "The same model, with products of few rows by the halves of its matrices; the model itself if that is no faster."
    weights = list(model.parameters())
    plain = all(weight.device.type == "cpu" and weight.dtype == torch.float32 for weight in weights)
    if not plain or isinstance(model.embedding, PackedEmbedding) or is_changed(model):
        return model
    held, places = held_by(model), [weight.data_ptr() for weight in weights]  # `to` keeps the weight and swaps its memory
    seen, before, found = KNOWN.get(model, ([], [], None))
    if places != before or len(seen) != len(held) or any(old is not new for old, new in zip(seen, held)):
        found = in_halves(model) if halves_are_faster(model) else None
        KNOWN[model] = held, places, found
    return found or model


def in_halves(model: Transformer) -> Transformer:
    "The same model with halves, whether that is faster or not."
    found = with_matrices(model, HalvedMatrix)
    found.embedding = HalvedEmbedding(model.embedding, HalvedMatrix)
    return found
