"A source of vectors, as frames of sound are: a class that overrides `encode` and `visible` is searched and drawn."
import pytest
import torch
from torch import Tensor, nn

from annotated_transformer import PAD
from annotated_transformer.config import Search, TransformerConfig
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.translation.fast_search import beam_search, greedy_search
from annotated_transformer.translation.search import next_token_without_cache, readable_beam_search, readable_greedy_search


class FromFrames(Transformer):
    "Vectors of zeros are padding."

    def __init__(self, config: TransformerConfig):
        super().__init__(config)
        self.frames = nn.Linear(3, config.d_model)

    def visible(self, source: Tensor) -> Tensor:
        return (source != 0).any(-1)[:, None, None]

    def encode(self, source: Tensor) -> Tensor:
        return self.encoder(self.positions(self.frames(source)), self.visible(source))


@pytest.fixture
def model() -> FromFrames:
    torch.manual_seed(0)
    return FromFrames(TransformerConfig(11, n_layers=2, d_model=12, d_ff=16, n_heads=2, d_k=4, d_v=5, max_length=20)).eval()


@pytest.fixture
def sound() -> Tensor:  # (B, S, 3)
    sound = torch.randn(2, 6, 3, generator=torch.Generator().manual_seed(1))
    sound[0, :, 0] = 0  # a zero within a vector hides nothing
    sound[1, 4:] = 0
    return sound


def test_frames_are_searched_as_the_readable_form_searches_them(model, sound):
    beams, greedy = beam_search(model, sound, Search(3, 0.6, 2)), greedy_search(model, sound, Search(extra_length=2))
    for row, length in enumerate((6, 4)):
        next_token = next_token_without_cache(model, sound[row, :length])
        expected = readable_beam_search(next_token, 3, 0.6, length + 2)[0]
        assert beams[row][0].tokens == expected.tokens and beams[row][0].score == pytest.approx(expected.score, abs=1e-4)
        assert greedy[row] == readable_greedy_search(next_token, length + 2)


def test_padding_frames_get_no_attention(model, sound):
    target_input = torch.tensor([[PAD, 3, 4], [PAD, 5, 6]])
    maps = model.attention_maps(sound, target_input)
    assert maps.encoder_decoder.shape == (2, 2, 2, 3, 6) and (maps.encoder_decoder[:, 1, ..., 4:] == 0).all()
    assert (maps.encoder_decoder[:, 0] > 0).all()
    torch.testing.assert_close(model(sound, target_input)[1], model(sound[1:, :4], target_input[1:])[0])
