"What a part of one's own would spoil without a word: it is said, refused, or works."
from dataclasses import replace

import pytest
import torch
from torch import nn

from annotated_transformer import InputError, Transformer, Translator
from annotated_transformer.config import PRESETS
from annotated_transformer.model.attention import MultiHeadAttention, causal_mask
from annotated_transformer.model.pretrained import planned
from annotated_transformer.model.variants import AdditiveMultiHeadAttention
from annotated_transformer.training.loop import train
from annotated_transformer.training.starting import new_model
from annotated_transformer.translation.fast_search import check_decoding


class Ahead(nn.Module):
    "Looks one token ahead, as a convolution does that is not told otherwise."

    def __init__(self, d_model):
        super().__init__()
        self.over_neighbours = nn.Conv1d(d_model, d_model, 3, padding=1)

    def forward(self, x):
        return self.over_neighbours(x.transpose(1, 2)).transpose(1, 2)


class Seeing(Transformer):
    def feed_forward(self):
        return Ahead(self.config.d_model)


class Back(Ahead):
    def forward(self, x):
        padded = nn.functional.pad(x.transpose(1, 2), (2, 0))
        return nn.functional.conv1d(padded, self.over_neighbours.weight, self.over_neighbours.bias).transpose(1, 2)


class LookingBack(Transformer):
    def feed_forward(self):
        return Back(self.config.d_model)


class Keeping(Back):
    "Computes a number once, where it is first asked for, and keeps it: for itself, and for all of its kind."
    of_all = None

    def __init__(self, d_model):
        super().__init__(d_model)
        self.own = None

    def forward(self, x):
        self.own = torch.ones(x.size(-1)) if self.own is None else self.own
        Keeping.of_all = torch.ones(x.size(-1)) if Keeping.of_all is None else Keeping.of_all
        return super().forward(x) * self.own * Keeping.of_all


class Counting(Back):
    "Its output depends on how often it was asked."

    def __init__(self, d_model):
        super().__init__(d_model)
        self.register_buffer("asked", torch.zeros(()))

    def forward(self, x):
        self.asked += 1
        return super().forward(x) / self.asked


class Counted(Transformer):
    def feed_forward(self):
        return Counting(self.config.d_model)


class Kept(Transformer):
    def feed_forward(self):
        return Keeping(self.config.d_model)


class Frozen(Transformer):
    "Its encoder is given."

    def __init__(self, config):
        super().__init__(config)
        torch.manual_seed(0)
        self.encoder.load_state_dict({name: torch.randn_like(value) for name, value in self.encoder.state_dict().items()})
        self.encoder.requires_grad_(False)


class Nothing(Transformer):
    def __init__(self, config):
        super().__init__(config)
        self.requires_grad_(False)


class Numbers(Transformer):
    "Reads numbers while it is made; one layer in place of two, so that weights are fewer than the sizes say."

    def __init__(self, config):
        super().__init__(config)
        self.decoder.layers = self.decoder.layers[:1]
        self.rates = [rate.item() for rate in torch.linspace(0, 0.2, config.n_layers)]


class PyTorchs(nn.Module):
    "PyTorch's attention: it keeps no keys and values for a search."

    def __init__(self, d_model):
        super().__init__()
        self.inner = nn.MultiheadAttention(d_model, 2, batch_first=True)

    def forward(self, x, memory=None, allowed=None, causal=False, cache=None):
        memory = x if memory is None else memory
        hidden = ~causal_mask(x.size(1)) if causal else None
        return self.inner(x, memory, memory, attn_mask=hidden, need_weights=False)[0]


class WithPyTorchs(Transformer):
    def memory_attention(self):
        return PyTorchs(self.config.d_model)


class OnlyPyTorchs(WithPyTorchs):
    attention = WithPyTorchs.memory_attention


class Noisy(LookingBack):
    "Gives other numbers each time."

    def embed(self, ids, start=0):
        embedded = super().embed(ids, start)
        return embedded + 0.1 * torch.randn_like(embedded)


def by_decay(weights):
    "Two groups, each from all weights: the usual way to let norms and biases go without decay."
    groups = [{"params": [one for one in weights if one.dim() > 1], "weight_decay": 0.1},
              {"params": [one for one in weights if one.dim() < 2], "weight_decay": 0.0}]
    return torch.optim.AdamW(groups)


def without_biases(kind):
    return lambda weights: kind([one for one in weights if one.dim() > 1], lr=0.01)


def test_groups_of_an_optimizer_may_each_go_through_all_weights(config, tmp_path, caplog):
    found = train(config, tmp_path / "run", optimizer=by_decay, rate=lambda step: 0.01)
    biases = [value for name, value in found.named_parameters() if name.endswith("bias")]
    assert biases and all(bias.abs().sum() > 0 for bias in biases) and not caplog.messages


@pytest.mark.parametrize("kind", [torch.optim.AdamW, torch.optim.SGD, torch.optim.Adagrad, torch.optim.Rprop])
def test_weights_that_no_optimizer_has_are_counted_once(kind, config, tmp_path, caplog):
    found = train(replace(config, steps=2), tmp_path / "run", optimizer=without_biases(kind), rate=lambda step: 0.01)
    left, every = (sum(test(one) for one in found.parameters()) for test in (lambda one: one.dim() < 2, lambda one: True))
    [said] = caplog.messages
    assert said.startswith(f"{kind.__name__} was not given {left} of the {every} weights that require gradients:")


def test_frozen_weights_need_no_optimizer(config, tmp_path, caplog, recwarn):
    train(config, tmp_path / "run", model=Frozen, rate=lambda step: 0.01,
          optimizer=lambda weights: torch.optim.SGD([one for one in weights if one.requires_grad]))
    assert not caplog.messages and not [one for one in recwarn if "non-meta" in str(one.message)]


def test_given_weights_are_not_scaled_as_initial_ones(config):
    config = replace(config, init_gain=0.5)
    found, given = new_model(config, 14, Frozen), Frozen(config.model)
    assert all(torch.equal(one, other) for one, other in zip(found.encoder.parameters(), given.encoder.parameters(), strict=True))
    plain = new_model(replace(config, init_gain=1.0), 14, Frozen)
    name = "layers.0.self_attention.sublayer.in_projection"
    assert torch.equal(found.decoder.get_parameter(name), 0.5 * plain.decoder.get_parameter(name))


def test_a_model_that_sees_the_future_is_named_before_it_trains(config, tmp_path, caplog):
    for kind in (LookingBack, Noisy):
        train(config, tmp_path / kind.__name__, model=kind)
        assert not caplog.messages
    train(config, tmp_path / "run", model=Seeing)
    [said] = caplog.messages
    assert said.startswith("Seeing sees target tokens before it predicts them")


def test_a_part_may_keep_what_it_computes_first(config, tmp_path, caplog):
    train(config, tmp_path / "run", model=Kept)
    assert not caplog.messages and Keeping.of_all is not None


def test_what_is_tried_of_a_model_is_tried_on_a_copy(config, tmp_path):
    whole = train(config, tmp_path / "whole", model=Counted)
    train(replace(config, steps=4), tmp_path / "run", model=Counted)
    found = train(config, tmp_path / "run", model=Counted)
    assert all(torch.equal(found.state_dict()[name], value) for name, value in whole.state_dict().items())


def test_a_model_of_which_nothing_learns_is_refused_before_anything_is_written(config, tmp_path):
    with pytest.raises(InputError, match="no weight of Nothing requires gradients, so nothing would be learnt"):
        train(config, tmp_path / "run", model=Nothing)
    assert not (tmp_path / "run").exists()


def test_a_class_that_reads_numbers_while_it_is_made_is_trained_saved_and_loaded(config, tmp_path):
    config = replace(config, model=replace(config.model, n_layers=2))  # its file has fewer weights than such sizes give
    train(config, tmp_path / "run", model=Numbers)
    found = Translator.from_pretrained(tmp_path / "run", model=Numbers)
    found.save_pretrained(tmp_path / "saved")
    again = Numbers.from_pretrained(tmp_path / "saved")
    assert again.rates == pytest.approx([0, 0.2]) and len(again.decoder.layers) == 1
    assert all(torch.equal(one, other) for one, other in zip(found.model.parameters(), again.parameters(), strict=True))


def test_a_forged_size_of_such_a_class_takes_no_memory():
    with pytest.raises(InputError, match="this model takes .* GiB and this process may take"):
        planned(Numbers, replace(PRESETS["tiny"].model, vocab_size=300, n_layers=8, d_model=2**14, d_ff=2**24))


@pytest.mark.parametrize("kind", [WithPyTorchs, OnlyPyTorchs])
def test_an_attention_without_keys_for_a_search_is_one_sentence(kind, config):
    model = kind(config.model).eval()
    with pytest.raises(InputError, match="a search keeps keys and values, .* inherit from MultiHeadAttention"):
        check_decoding(model)


def test_a_mask_beside_causal_is_not_dropped():
    attention, x = MultiHeadAttention(8, 2, 4, 4), torch.randn(1, 5, 8)
    allowed, additive = torch.tensor([True, True, False, True, True]), AdditiveMultiHeadAttention(8, 2, 4, 4)
    for call in (attention, attention.weights, additive, additive.weights):
        with pytest.raises(InputError, match="give only one of them, or both as `allowed & causal_mask"):
            call(x, allowed=allowed, causal=True)
    both, changed = allowed & causal_mask(5), x.clone()
    changed[:, 2] = 9
    assert torch.allclose(attention(x, allowed=both)[:, 3:], attention(changed, allowed=both)[:, 3:])
