"The settings stand apart from PyTorch, say what they mean, and name the parts that the model has."
import dataclasses
import re
from pkgutil import resolve_name

import numpy as np
import pytest
from torch import nn

from annotated_transformer import InputError
from annotated_transformer.command_line.arguments import described
from annotated_transformer.config import MOST, PARTS, PRESETS, ROWS, Execution, Search, TrainingConfig, TransformerConfig, changed
from annotated_transformer.tables.variations import table_3


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
    (TrainingConfig, {"model": TransformerConfig(9), "execution": None}, "execution must be an Execution, not None"),
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


@pytest.mark.parametrize("kind, name, most, said", [
    (Search, "beam_size", 2**24, "2^24"), (Search, "alpha", 100, "100"), (Search, "extra_length", 1_000_000, "1,000,000"),
    (Execution, "device_tokens", MOST, "1,000,000,000,000"),
])
def test_a_setting_goes_up_to_its_bound_which_is_named_beyond(kind, name, most, said):
    assert getattr(kind(**{name: most}), name) == most
    with pytest.raises(InputError, match=f"^{name} must be at least . and can be at most {re.escape(said)}, not {most + 1}$"):
        kind(**{name: most + 1})


def test_a_search_may_be_the_smallest_that_there_is():
    least = Search(beam_size=1, alpha=0, extra_length=0)
    assert (least.beam_size, least.alpha, least.extra_length) == (1, 0, 0)
    with pytest.raises(InputError, match="^device_tokens must be at least 1, not 0$"):  # its bound is so far that none is named
        Execution(device_tokens=0)


def test_a_beam_is_no_wider_than_the_vocabulary():
    search = Search(beam_size=9)
    assert search.within(9) is search and search.within(10) is search
    with pytest.raises(InputError, match="at most 8, the tokens of the model, not 9"):
        search.within(8)


def test_what_pytorch_computes_in_is_chosen_by_name():
    for precision in (None, "auto", "bfloat16", "tf32", "float32"):
        assert Execution(precision=precision).precision == precision
    for wrong in ("float16", "", "TF32"):
        with pytest.raises(InputError, match="precision must be auto, bfloat16, tf32 or float32"):
            Execution(precision=wrong)


@pytest.mark.parametrize("device_tokens", [1, 7, 499, 500, 2_000, 2_001, 9_999])
@pytest.mark.parametrize("processes", [1, 3, 4])
def test_a_batch_is_cut_into_the_fewest_parts_that_fit_and_as_many_for_each_process(device_tokens, processes):
    parts = Execution(device_tokens=device_tokens).parts(2_000, processes)
    fitting = [n for n in range(processes, 2_000 + processes, processes) if 2_000 / n <= device_tokens]
    assert parts == fitting[0]
    assert Execution().parts(2_000, processes) == processes


def test_what_may_not_change_during_a_run_is_named_with_both_values():
    before = PRESETS["demo"]
    other = {"steps": 7, "validate_every": 7, "checkpoint_every": 7, "checkpoint_minutes": 7.0, "keep": 7, "log_every": 7,
             "execution": Execution(precision="tf32")}
    assert changed(before, dataclasses.replace(before, **other)) == {}
    for name, value in {"batch_tokens": 7, "init_gain": 7.0, "warmup_steps": 7, "rate_factor": 7.0, "smoothing": 0.7, "seed": 7,
                        "consistency": 7.0, "start_from": "numbers-en-de", "clip_norm": 7.0, "corpus": "wmt14-en-de"}.items():
        other[name] = value
        assert changed(before, dataclasses.replace(before, **{name: value})) == {name: (getattr(before, name), value)}
    assert other.keys() | {"model"} == {field.name for field in dataclasses.fields(before)}
    for name, value in {"d_ff": 7, "dropout": 0.7, "norm": "pre"}.items():
        model = dataclasses.replace(before.model, **{name: value})
        assert changed(before, dataclasses.replace(before, model=model)) == {name: (getattr(before.model, name), value)}


def test_a_corpus_is_the_same_however_its_path_is_written():
    mine, other = (dataclasses.replace(PRESETS["demo"], corpus=name) for name in ("mine", "mine2"))
    for written in ("mine/", "./mine", "mine//"):
        assert changed(mine, dataclasses.replace(mine, corpus=written)) == {}
    assert changed(mine, other) == {"corpus": ("mine", "mine2")}


def test_a_setting_that_no_longer_is_one_is_passed_over_wherever_it_stands():
    config = PRESETS["tiny"]
    for place in ((), ("model",), ("execution",)):
        values = config.to_dict()
        at = values[place[0]] if place else values
        at["fused_adam"] = True
        assert TrainingConfig.from_dict(values) == config
        at["never_was"] = 1
        with pytest.raises(InputError, match="never_was"):
            TrainingConfig.from_dict(values)
    for part in ("model", "execution"):
        with pytest.raises(InputError, match=part):
            TrainingConfig.from_dict(config.to_dict() | {part: 9})
