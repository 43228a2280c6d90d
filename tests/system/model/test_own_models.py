"What researchers make of the model: settings, parts and stacks of their own, through all that a model goes through here."
import dataclasses
import json

import pytest
import torch
from torch import nn

from annotated_transformer import InputError, Transformer, TransformerConfig, Translator, load
from annotated_transformer.config import Execution, TrainingConfig
from annotated_transformer.training.loop import train

SIZES = TransformerConfig(14, n_layers=2, d_model=8, d_ff=12, n_heads=2, dropout=0.1, max_length=30)


@dataclasses.dataclass(frozen=True)
class OwnConfig(TransformerConfig):
    scale: float = 1.0


class OwnTraining(TrainingConfig):
    "No field more, and yet not what would be read."


class OwnExecution(Execution):
    pass


class Scaled(Transformer):
    scale = 3.0

    def embed(self, ids, start=0):
        return self.scale * super().embed(ids, start)


@pytest.fixture
def config(tmp_path):
    for split, n in (("train", 30), ("validation", 4)):
        for language in ("en", "de"):
            (tmp_path / f"{split}.{language}").write_text("".join("abcdef "[: 1 + i % 6] + "\n" for i in range(n)))
    return TrainingConfig(
        SIZES, corpus=str(tmp_path), batch_tokens=60, steps=4, validate_every=2, checkpoint_every=2, log_every=1, keep=2,
    )


def pair() -> tuple[torch.Tensor, torch.Tensor]:
    return torch.tensor([[5, 6, 7, 1]]), torch.tensor([[0, 4, 5, 8]])


def test_settings_of_ones_own_are_refused_before_anything_is_written(config, tmp_path):
    own = OwnConfig(**dataclasses.asdict(SIZES), scale=3.0)
    for wrong, said in (
        (dataclasses.replace(config, model=own), "OwnConfig is a class of your own, and config.json holds what TransformerConfig has"),
        (OwnTraining(**vars(config)), "OwnTraining is a class of your own, and config.json holds what TrainingConfig has"),
        (dataclasses.replace(config, execution=OwnExecution()), "OwnExecution is .* Execution has"),
    ):
        with pytest.raises(InputError, match=f"{said}: make a setting of your own an attribute of the class of your model"):
            train(wrong, tmp_path / "run", model=Scaled)
    with pytest.raises(InputError, match="OwnConfig is a class of your own"):
        Scaled(own).save_pretrained(tmp_path / "saved")
    assert not (tmp_path / "run").exists() and not (tmp_path / "saved").exists()


def test_a_setting_of_ones_own_is_an_attribute_of_the_class(config, tmp_path):
    trained = train(config, tmp_path / "run", model=Scaled)
    found = load(tmp_path / "run", 1, model=Scaled).model
    assert torch.equal(found(*pair()), trained(*pair())) and not torch.equal(found(*pair()), Transformer.forward(plain(found), *pair()))


def plain(model: Transformer) -> Transformer:
    "The paper's model with the same weights."
    found = Transformer(model.config)
    found.load_state_dict(model.state_dict())
    return found.eval()
