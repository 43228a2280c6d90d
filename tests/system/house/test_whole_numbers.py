"""Where a whole number of NumPy takes 4 bytes, as on Windows before NumPy 2, the same comes out: this machine plays it.

And what would not fit into 8.
"""
import importlib.util
import runpy
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest

from annotated_transformer import Translator
from annotated_transformer.config import TransformerConfig
from annotated_transformer.data import large_corpora
from annotated_transformer.data.large_corpora import epoch_batches
from annotated_transformer.exchange.onnx import to_onnx
from annotated_transformer.exchange.onnx_translator import OnnxTranslator
from annotated_transformer.tables.training_cost import flops_per_target_token

missing = [package for package in ("onnx", "onnxruntime") if importlib.util.find_spec(package) is None]


@contextmanager
def four_bytes() -> Iterator[None]:
    "What makes an array of whole numbers makes one of 4 bytes each, unless it is told how many."
    def narrow(make):
        def made(*given, **options):
            out = make(*given, **options)
            told = options or any(part is np.int64 for part in given)
            return out if told or out.dtype != np.int64 else out.astype(np.int32)
        return made

    with pytest.MonkeyPatch.context() as patch:
        for name in ("arange", "array", "full"):
            patch.setattr(np, name, narrow(getattr(np, name)))
        yield


class Pairs:
    "So many pairs that the square of their number takes more than 4 bytes."

    def __len__(self) -> int:
        return 200_000

    def lengths_of(self, rows: np.ndarray) -> np.ndarray:
        return np.full((len(rows), 2), 5)


def test_an_epoch_has_each_pair_once():
    with four_bytes():
        rows = np.concatenate(list(epoch_batches(Pairs(), 5_000, seed=1, epoch=0, block=2**14)))
    assert sorted(rows.tolist()) == list(range(len(Pairs())))


@pytest.mark.skipif(bool(missing), reason="the extra `exchange` is not installed")
def test_exported_graphs_translate(tmp_path):
    ours = Translator.from_pretrained("numbers-en-de", device="cpu")
    to_onnx(ours, tmp_path / "graphs")
    exported, lines = OnnxTranslator(tmp_path / "graphs"), ["forty-two", "half past six"]
    with four_bytes():
        assert exported.translate(lines) == ours.translate(lines)


@pytest.mark.filterwarnings("ignore:.*found in sys.modules")  # on purpose: its constants are made anew
def test_a_training_costs_what_it_costs():
    config = TransformerConfig.big(37_000)
    with four_bytes():
        module = runpy.run_module("annotated_transformer.tables.training_cost")
        assert module["flops_per_target_token"](config) == flops_per_target_token(config)


def test_an_epoch_of_very_many_pairs_goes_the_way_that_it_should(monkeypatch):
    n, some = 2**40 - 3, np.array([0, 1, 7])  # of each block a few: all would take days

    def few(*ends, **options):
        return (some + (ends[0] if len(ends) == 2 else 0)).astype(**options)

    monkeypatch.setattr(Pairs, "__len__", lambda self: n)
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
