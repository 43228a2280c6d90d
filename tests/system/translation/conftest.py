"What the losses for the everyday translator are tested on: itself, a model of random weights, and two short pairs."
import pytest
import torch

from annotated_transformer import Translator
from annotated_transformer.config import TransformerConfig
from annotated_transformer.data.batching import collate
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.training.loop import WithLoss


@pytest.fixture(scope="module")
def translator():
    return Translator.from_pretrained("everyday-en-de", device="cpu", precision="float32")


@pytest.fixture
def rows():
    return [[[5, 7, 9, 2], [4, 8, 2]], [[6, 2], [3, 3, 9, 10, 2]]]  # EOS is 2


@pytest.fixture
def learner():
    torch.manual_seed(0)
    config = TransformerConfig(12, n_layers=1, d_model=16, d_ff=24, n_heads=2, dropout=0.0, max_length=16)
    return WithLoss(Transformer(config), 0.1)


@pytest.fixture
def batch(rows):
    return collate([tuple(map(torch.tensor, row)) for row in rows], [0, 1])
