"Details of the model that no page tells: each was changed by hand without a test that noticed. Names begin with the module's."
import copy
import json
from dataclasses import replace

import huggingface_hub
import pytest
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import fully_shard

from annotated_transformer import InputError, Translator
from annotated_transformer.config import TransformerConfig
from annotated_transformer.model import position
from annotated_transformer.model.attention import MultiHeadAttention, recorded
from annotated_transformer.model.fast_attention import SHORT, attend
from annotated_transformer.model.feed_forward import FeedForward
from annotated_transformer.model.regularization import Dropout, label_smoothed_cross_entropy
from annotated_transformer.model.transformer import Transformer, count_parameters

UNEQUAL = TransformerConfig(11, n_layers=2, d_model=12, d_ff=10, n_heads=2, d_k=4, d_v=5)


def test_transformer_has_queries_and_keys_of_one_width_and_values_of_another():
    # Both widths swapped make as many numbers, so the count below cannot tell.
    encoder, decoder = Transformer(UNEQUAL).encoder.layers[1], Transformer(UNEQUAL).decoder.layers[0]
    for part in (encoder.self_attention, decoder.self_attention, decoder.memory_attention):
        assert part.sublayer.in_projection.shape == (2 * (4 + 4 + 5), 12)
        assert part.sublayer.out_projection.weight.shape == (12, 2 * 5)


def test_transformer_counts_each_sublayer_of_its_own():
    attention, feed_forward, norm = 12 * 2 * (4 + 4 + 5) + 2 * 5 * 12, 12 * 10 + 10 + 10 * 12 + 12, 2 * 12
    encoder_layer, decoder_layer = attention + feed_forward + 2 * norm, 2 * attention + feed_forward + 3 * norm
    assert count_parameters(Transformer(UNEQUAL)) == 11 * 12 + 2 * (encoder_layer + decoder_layer)


def test_position_is_counted_on_the_cpu_where_the_default_device_has_no_float64(monkeypatch):
    where, count = [], position.sinusoids
    monkeypatch.setattr(position, "sinusoids", lambda *sizes: where.append(torch.empty(0).device.type) or count(*sizes))
    with torch.device("meta"):  # stands for an Apple GPU, of which a tensor cannot be made here
        Transformer(UNEQUAL)
        monkeypatch.setattr(torch, "get_default_device", lambda: torch.device("mps"))
        assert Transformer(UNEQUAL).positions.table.is_meta
    assert where == ["meta", "cpu"]


@pytest.mark.parametrize("kind", [torch.bfloat16, torch.float64])
def test_transformer_is_made_in_the_precision_that_is_pytorchs_default(kind):
    torch.set_default_dtype(kind)
    try:
        assert Transformer(UNEQUAL)(torch.tensor([[5, 6, 1]]), torch.tensor([[0, 3]])).dtype == kind
    finally:
        torch.set_default_dtype(torch.float32)


def test_transformer_keeps_no_graph_of_the_maps_that_it_shows():
    maps = Transformer(UNEQUAL).attention_maps(torch.tensor([[5, 6, 1]]), torch.tensor([[0, 3]]))
    assert not any(weights.requires_grad for weights in maps)


def test_transformer_goes_to_the_hub_as_it_is_told(monkeypatch):
    asked = []

    class StandIn:
        def create_repo(self, repo_id, private, exist_ok):
            asked.append((repo_id, private))

        def file_exists(self, repo_id, name):
            return name == "README.md"

        def upload_folder(self, commit_message, **_):
            asked.append(commit_message)

    monkeypatch.setattr(huggingface_hub, "HfApi", StandIn)
    model = Transformer(UNEQUAL)
    model.push_to_hub("ann/model")
    model.push_to_hub("ann/other", private=True, commit_message="Better")
    assert asked == [("ann/model", False), "Push model", ("ann/other", True), "Better"]


def test_transformer_comes_as_its_own_kind_and_of_the_revision_that_is_named(tmp_path, monkeypatch):
    class Linear(Transformer):
        def feed_forward(self):
            return nn.Linear(12, 12)

    asked = []
    monkeypatch.setattr(huggingface_hub, "snapshot_download", lambda repo_id, **options: asked.append(options) or str(tmp_path))
    Linear(UNEQUAL).save_pretrained(tmp_path)
    assert type(Linear.from_pretrained("ann/model", revision="v2")) is Linear
    assert asked[0]["revision"] == "v2"


def test_pretrained_takes_no_draw_from_the_generator():
    before = torch.get_rng_state()
    Translator.from_pretrained("numbers-en-de")
    assert torch.equal(torch.get_rng_state(), before)


def test_transformer_takes_one_target_for_each_source_in_two_dimensions():
    model, source, target = Transformer(UNEQUAL), torch.tensor([[3, 4, 1], [5, 1, 0]]), torch.tensor([[0, 4], [0, 5]])
    for one, other in ((source[:1], target), (source, target[:1])):
        with pytest.raises(InputError, match=f"there are {len(one)} sources and {len(other)} targets"):
            model(one, other)
    for one, shape in ((source[0], r"\(3,\)"), (source[None], r"\(1, 2, 3\)"), (source[:, :0], r"\(2, 0\)")):
        with pytest.raises(InputError, match=rf"ids have the shape {shape}: give \(sentences, tokens\)"):
            model.encode(one)


def test_attention_records_no_weights_that_contradict_what_comes_out():
    attention, x = MultiHeadAttention(16, 2, 8, 8), torch.randn(1, 3, 16)
    hidden = torch.tensor([True, True, False]).expand(3, 3)
    summand = torch.zeros(3, 3).masked_fill(~hidden, float("-inf"))
    assert torch.equal(attention.weights(x, allowed=hidden), attention.weights(x, allowed=summand))
    bias = -0.5 * (torch.arange(3)[:, None] - torch.arange(3)).abs().float()
    for numbers in (bias, hidden.float(), hidden.long()):
        with pytest.raises(InputError, match="numbers other than 0 and -inf: .* give a mask of True and False"):
            attention.weights(x, allowed=numbers)


@pytest.mark.parametrize("p", [-0.1, 1.0, 2, float("nan")])
def test_regularization_refuses_a_share_that_cannot_be(p):
    with pytest.raises(InputError, match=f"dropout must be at least 0 and less than 1, not {p}"):
        Dropout(p)
    with pytest.raises(InputError, match=f"smoothing must be at least 0 and less than 1, not {p}"):
        label_smoothed_cross_entropy(torch.randn(2, 5), torch.tensor([3, 4]), p)


@pytest.mark.parametrize("kind", [torch.float16, torch.bfloat16])
def test_regularization_counts_the_loss_of_16_bits_in_32(kind):
    logits, target = torch.randn(700, 900).to(kind), torch.arange(700)
    expected = label_smoothed_cross_entropy(logits.double(), target, 0.1)
    torch.testing.assert_close(label_smoothed_cross_entropy(logits, target, 0.1), expected.float(), rtol=1e-6, atol=0)
    assert expected.dtype == torch.float64


def test_regularization_asks_pytorch_elsewhere_than_on_a_cpu(monkeypatch):
    asked, x = [], torch.ones(3, 5, device="meta")  # stands for a GPU
    monkeypatch.setattr(torch.nn.functional, "dropout", lambda x, p, *training: asked.append((p, *training)) or x)
    assert Dropout(0.3)(x).shape == (3, 5) and Dropout(0.3).eval()(x) is x
    assert asked in ([(0.3,)], [(0.3, True)])


@pytest.mark.parametrize("kind", [{}, {"compatibility": "additive", "norm": "pre"}])
def test_transformer_takes_a_batch_of_no_sentences(kind):
    model, none = Transformer(replace(UNEQUAL, **kind)), torch.empty(0, 3, dtype=torch.long)
    for each in (model, model.eval(), model.bfloat16()):
        assert each(none, none[:, :2]).shape == (0, 2, 11)
    assert [tuple(weights.shape) for weights in model.float().attention_maps(none, none)] == [(2, 0, 2, 3, 3)] * 3


def test_transformer_is_exported_for_any_number_of_sentences():
    model, source, target = Transformer(UNEQUAL).eval(), torch.tensor([[3, 4, 1], [5, 1, 0]]), torch.tensor([[0, 4], [0, 5]])
    rows = {0: torch.export.Dim("B")}
    exported = torch.export.export(model, (source, target), dynamic_shapes=(rows, rows)).module()
    for given in ((source[:1], target[:1]), (source.repeat(3, 1), target.repeat(3, 1))):
        torch.testing.assert_close(exported(*given), model(*given))


def test_regularization_draws_where_pytorch_traces_or_batches_the_model():
    model, source, target = Transformer(UNEQUAL).train(), torch.tensor([[3, 4, 1], [5, 1, 0]]), torch.tensor([[0, 4], [0, 5]])
    weights = dict(model.named_parameters())

    def loss(weights, source, target):
        return torch.func.functional_call(model, weights, (source[None], target[None])).logsumexp(-1).sum()

    gradients = torch.func.vmap(torch.func.grad(loss), (None, 0, 0), randomness="different")(weights, source, target)
    assert all(gradients[name].shape == (2, *weight.shape) for name, weight in weights.items())
    forms = (torch.compile(model, fullgraph=True, backend="eager"), torch.export.export(model, (source, target)).module(),
             lambda *pair: torch.func.vmap(lambda *one: model(*(ids[None] for ids in one))[0], randomness="different")(*pair))
    for form in forms:
        torch.manual_seed(0)
        assert not torch.equal(form(source, target), form(source, target)), "drawn anew each time"
    torch.compiler.reset()


def test_regularization_draws_where_the_numbers_are():
    x, before = torch.ones(50), torch.get_default_device()
    torch.manual_seed(0)
    expected = Dropout(0.3)(x)
    torch.set_default_device("meta")
    try:
        torch.manual_seed(0)
        assert torch.equal(Dropout(0.3)(x), expected)
    finally:
        torch.set_default_device(before)


def test_regularization_draws_on_a_cpu_what_it_always_drew():
    torch.manual_seed(0)
    kept = Dropout(0.3)(torch.ones(24)) != 0
    assert "".join(str(int(one)) for one in kept) == "001001001100111010011110"


def test_regularization_keeps_the_mean_where_few_numbers_or_nearly_all_are_dropped():
    torch.manual_seed(0)
    few, n = 2**-20, 2**22
    kept = Dropout(1 - few)(torch.ones(n)).mean() * n * few  # 4 are expected
    dropped = n - Dropout(few)(torch.ones(n)).count_nonzero()
    assert 0 < kept < 12 and 0 < dropped < 12


def test_feed_forward_shows_hooks_its_numbers_as_it_says():
    network, seen = FeedForward(8, 12), []
    network.inner.register_forward_hook(lambda module, inputs, output: seen.append(output.clone()))
    network.outer.register_full_backward_hook(lambda module, into, out: seen.append(into[0]))
    x = torch.randn(5, 8, requires_grad=True)
    network(x).sum().backward()
    torch.testing.assert_close(seen[0], x @ network.inner.weight.T + network.inner.bias)
    torch.testing.assert_close(seen[1], network.outer.weight.sum(0).expand(5, -1))


def test_pretrained_notes_the_class_of_ones_own_alone(tmp_path):
    class Own(Transformer):
        pass

    for kind, noted in ((Transformer, None), (Own, "Own")):
        kind(UNEQUAL).save_pretrained(tmp_path / kind.__name__)
        name = json.loads((tmp_path / kind.__name__ / "config.json").read_text()).get("model")
        assert name == noted or name.endswith(noted)


def test_pretrained_names_what_fully_shard_has_cut(tmp_path):
    model = Transformer(UNEQUAL)
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    try:
        fully_shard(model)
        with pytest.raises(InputError, match="'embedding.weight' is of DTensor, and a file holds"):
            model.save_pretrained(tmp_path / "saved")
    finally:
        dist.destroy_process_group()
    assert not (tmp_path / "saved").exists()


def test_fast_attention_adds_a_mask_of_numbers_to_long_rows_in_16_bits():
    torch.manual_seed(0)
    query, key, value = (torch.randn(2, 3, SHORT + 5, 8).bfloat16() for _ in range(3))
    mask = torch.randn(SHORT + 5, SHORT + 5).bfloat16()
    expected = (query.double() @ key.double().mT / 8**0.5 + mask.double()).softmax(-1) @ value.double()
    assert torch.allclose(attend(query, key, value, mask).double(), expected, atol=0.03)


def test_attention_records_weights_by_which_what_comes_out_has_gradients():
    torch.manual_seed(0)
    model = Transformer(TransformerConfig(11, n_layers=2, d_model=12, d_ff=10, n_heads=3, dropout=0.0))
    source, target_input = torch.tensor([[5, 6, 7, 1], [8, 1, 0, 0]]), torch.tensor([[0, 3, 4], [0, 9, 2]])
    with recorded(model) as plain:
        expected = model(source, target_input)
    with recorded(model, for_gradients=True) as found:
        out = model(source, target_input)
    torch.testing.assert_close((out, found), (expected, plain))
    gradients = torch.autograd.grad(out.square().sum(), found)
    assert len(found) == 6 and all(map(torch.any, gradients))
    assert torch.autograd.grad(expected.square().sum(), plain, allow_unused=True) == (None,) * 6
    with recorded(model), pytest.raises(InputError, match="record outside of it"), recorded(model, for_gradients=True):
        pass


@pytest.mark.parametrize("norm, positions", [("post", "sinusoidal"), ("pre", "learned")])
@pytest.mark.parametrize("assign", [True, False])
def test_position_has_its_numbers_where_weights_are_loaded_into_a_model_made_on_no_device(norm, positions, assign):
    config = replace(UNEQUAL, norm=norm, positions=positions, max_length=9)
    expected = Transformer(config).eval()
    with torch.device("meta"):
        found = Transformer(config).eval()
    if not assign:
        found = copy.deepcopy(found).to_empty(device="cpu")
        found.positions.table.data.fill_(float("nan"))  # what an empty tensor holds is chance
    found.load_state_dict(expected.state_dict(), assign=assign)
    texts = torch.tensor([[5, 6, 1], [7, 1, 0]]), torch.tensor([[0, 3], [0, 9]])
    assert torch.equal(found(*texts), expected(*texts))
    assert "positions.table" not in found.state_dict() or positions == "learned"
