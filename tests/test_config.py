"The settings stand apart from PyTorch, say what they mean, and name the parts that the model has."
import dataclasses
import subprocess
import sys
from pkgutil import resolve_name

import numpy as np
import pytest
from torch import nn

from annotated_transformer import InputError
from annotated_transformer.command_line.arguments import described
from annotated_transformer.config import PARTS, PRESETS, ROWS, Execution, Search, TrainingConfig, TransformerConfig
from annotated_transformer.tables.variations import table_3


def test_the_settings_need_no_pytorch():
    program = "import sys; sys.modules['torch'] = None; from annotated_transformer.config import PRESETS; print(len(PRESETS))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == f"{len(PRESETS)}\n", done.stderr


def test_each_part_has_a_name_and_a_class():
    for kind, places in PARTS.items():
        assert getattr(TransformerConfig(9), kind) == next(iter(places)), "the paper's comes first"
        classes = [resolve_name(place) for place in places.values()]
        assert len(set(classes)) == len(places) and all(issubclass(found, nn.Module) for found in classes)


def test_the_names_of_rows_are_those_of_the_table():
    assert ROWS == (*table_3(PRESETS["miniature"]),)


@pytest.mark.parametrize("kind", [TransformerConfig, TrainingConfig, Execution, Search])
def test_each_setting_says_what_it_means(kind):
    assert list(described(kind.__doc__).arguments) == [field.name for field in dataclasses.fields(kind)]
    for method in ("base", "big", "to_dict", "parts"):
        assert not hasattr(kind, method) or getattr(kind, method).__doc__


@pytest.mark.parametrize("kind, wrong, said", [
    (TransformerConfig, {"vocab_size": True}, "vocab_size must be a whole number, not True"),
    (TransformerConfig, {"vocab_size": 9, "d_model": 16.0}, "d_model must be a whole number, not 16.0"),
    (TransformerConfig, {"vocab_size": 9, "d_k": np.array([1, 2])}, "d_k must be a whole number, not array"),
    (TransformerConfig, {"vocab_size": 9, "dropout": "0.1"}, "dropout must be a number, not '0.1'"),
    (TransformerConfig, {"vocab_size": 9, "positions": ["learned"]}, "positions must be a text, not ['learned']"),
    (Search, {"beam_size": "2"}, "beam_size must be a whole number, not '2'"),
    (Search, {"beam_size": 2.0}, "beam_size must be a whole number, not 2.0"),
    (Search, {"alpha": None}, "alpha must be a number, not None"),
    (Execution, {"compile": 1}, "compile must be true or false, not 1"),
    (TrainingConfig, {"model": TransformerConfig(9), "steps": 1e3}, "steps must be a whole number, not 1000.0"),
    (TrainingConfig, {"model": 9}, "model must be a TransformerConfig, not 9"),
])
def test_a_setting_of_another_type_is_refused(kind, wrong, said):
    with pytest.raises(InputError) as refused:
        kind(**wrong)
    assert str(refused.value).startswith(said)


def test_a_number_that_numpy_has_computed_is_one_of_python():
    found = TransformerConfig(np.int64(9), dropout=np.float32(0.5))
    assert (type(found.vocab_size), type(found.dropout), found) == (int, float, TransformerConfig(9, dropout=0.5))
    assert type(Search(alpha=np.float64(1)).alpha) is float and Search(alpha=1) == Search(alpha=1.0)


@pytest.mark.parametrize("wrong", [{"beam_size": 0}, {"alpha": -0.1}, {"alpha": float("nan")}, {"extra_length": -1}], ids=str)
def test_an_impossible_search_is_refused(wrong):
    with pytest.raises(InputError, match=f"^{next(iter(wrong))} must be at least"):
        Search(**wrong)
