"Names by which files note a user's own classes and functions."
from functools import partial

import pytest
import torch

from annotated_transformer import InputError, Transformer
from annotated_transformer.model.class_names import name_of, require_class, same_name


class Own(Transformer):
    pass


class Rate:
    def __call__(self, step):
        return 0.1


def test_classes_functions_and_objects_have_names():
    assert name_of(Own) == f"{__name__}:Own" and name_of(Rate()) == f"{__name__}:Rate"
    assert name_of(partial(torch.optim.AdamW, weight_decay=0.1)) == name_of(torch.optim.AdamW) == "torch.optim.adamw:AdamW"
    assert name_of(lambda step: 0.1) == f"{__name__}:test_classes_functions_and_objects_have_names.<locals>.<lambda>"


def test_a_script_has_two_names_and_is_one():
    assert same_name("mine:Own", "mine:Own") and same_name("__main__:Own", "mine:Own") and same_name("mine:Own", "__main__:Own")
    for other in ("mine:Other", "theirs:Own", "__main__:Other", "the paper's"):
        assert not same_name("mine:Own", other)


def test_a_model_of_ones_own_is_opened_as_such_alone():
    for kind, noted in ((Transformer, None), (Own, None), (Own, name_of(Own))):
        require_class(noted, kind, "runs/mine")
    for kind, noted in ((Transformer, name_of(Own)), (Own, "mine:Other")):
        with pytest.raises(InputError, match=r"^runs/mine holds .*: no command can .* Translator.from_pretrained\('runs/mine', model="):
            require_class(noted, kind, "runs/mine")
