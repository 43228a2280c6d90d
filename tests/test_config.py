"The settings stand apart from PyTorch, say what they mean, and name the parts that the model has."
import dataclasses
import subprocess
import sys
from pkgutil import resolve_name

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


@pytest.mark.parametrize("wrong", [{"beam_size": 0}, {"alpha": -0.1}, {"alpha": float("nan")}, {"extra_length": -1}], ids=str)
def test_an_impossible_search_is_refused(wrong):
    with pytest.raises(InputError, match=f"^{next(iter(wrong))} must be at least"):
        Search(**wrong)
