"Where a whole number of NumPy takes 4 bytes, as on Windows before NumPy 2, the same comes out: this machine plays it."
import importlib.util
import runpy
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest

from annotated_transformer import Translator
from annotated_transformer.config import TransformerConfig
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
