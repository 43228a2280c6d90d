"Heads that are off or look where they are told, against the same done to the matrices of the model."
import pytest
import torch
import torch.nn.functional as F

from annotated_transformer import InputError, Transformer, TransformerConfig
from annotated_transformer.config import Search
from annotated_transformer.data.batching import shift_right
from annotated_transformer.figures.head_changes import changed_heads, every_head, without_heads
from annotated_transformer.model.attention import HERE
from annotated_transformer.translation.fast_search import beam_search, greedy_search

B, S, T, V = 2, 5, 3, 11
SOURCE, TARGET = torch.tensor([[4, 5, 6, 7, 1], [8, 9, 1, 0, 0]]), torch.tensor([[3, 5, 1], [7, 1, 0]])


@pytest.fixture(params=["dot-product", "additive"])
def model(request):
    torch.manual_seed(1)
    sizes = {"n_layers": 2, "d_model": 12, "d_ff": 10, "n_heads": 3, "d_k": 4, "d_v": 6, "dropout": 0.0}
    return Transformer(TransformerConfig(V, **sizes, compatibility=request.param)).eval()


def logits(model):
    return model(SOURCE, shift_right(TARGET))


@pytest.mark.parametrize("kind", ["encoder", "decoder", "encoder_decoder"])
def test_a_head_that_is_off_adds_nothing_by_its_rows_of_the_output_projection(model, kind, zeroed):
    before = logits(model)
    for layer, head in ((1, 2), (2, 3), (2, 1)):
        with without_heads(model, {kind: [(layer, head)]}):
            found = logits(model)
        torch.testing.assert_close(found, logits(zeroed(model, kind, layer, head)))
        assert not torch.allclose(found, before)
    assert torch.equal(logits(model), before)  # outside, all is as it was


def test_several_heads_of_several_kinds_are_off_at_once_also_in_a_search(model, zeroed):
    off, expected = {"encoder": [[1, 1], [1, 3]], "encoder_decoder": [(2, 2)], "decoder": [(1, 2)]}, model
    for kind, heads in off.items():
        for layer, head in heads:
            expected = zeroed(expected, kind, layer, head)
    with without_heads(model, off):
        torch.testing.assert_close(logits(model), logits(expected))
        assert greedy_search(model, SOURCE) == greedy_search(expected, SOURCE)
        found, other = (beam_search(one, SOURCE, Search(beam_size=3)) for one in (model, expected))
    assert [[one.tokens for one in some] for some in found] == [[one.tokens for one in some] for some in other]


def test_all_heads_of_a_kind_are_off_when_every_head_is(model):
    heads = every_head(model, "encoder_decoder")
    assert heads == [(1, 1), (1, 2), (1, 3), (2, 1), (2, 2), (2, 3)]
    with without_heads(model, {"encoder_decoder": heads}):
        first = logits(model)
        other_source = model(SOURCE.flip(1), shift_right(TARGET))
    assert torch.equal(first, other_source) and not torch.allclose(logits(model), model(SOURCE.flip(1), shift_right(TARGET)))


def test_a_head_told_what_it_does_anyway_changes_nothing(model):
    maps = model.attention_maps(SOURCE, shift_right(TARGET))
    before = logits(model)
    for kind, weights in zip(("encoder", "decoder", "encoder_decoder"), maps):
        with changed_heads(model, {kind: {(2, 3): weights[1, :, 2].clone()}}):
            torch.testing.assert_close(logits(model), before)


def test_a_head_told_where_to_look_gives_the_value_that_stands_there(model):
    attention = model.decoder.layers[0].memory_attention.sublayer
    x, memory = torch.randn(B, T, 12), torch.randn(B, S, 12)
    places = torch.tensor([4, 1])
    with changed_heads(model, {"encoder_decoder": {(1, 2): F.one_hot(places, S)[:, None].float(), (1, 1): None}}):
        found = attention(x, memory)
    heads = attention.attend_with_weights(*attention.project(x, memory), None)[0]  # (B, h, T, d_v)
    W_V = attention.in_projection[2 * 12 :].view(3, 6, 12)[1]
    heads = torch.stack([torch.zeros(B, T, 6), (memory[range(B), places] @ W_V.T)[:, None].expand(B, T, 6), heads[:, 2]], 1)
    torch.testing.assert_close(found, attention.join(heads))


@pytest.mark.parametrize("shape", [(B, T, T), (3, T, S), (1, B, T, S), (S - 1,)])
def test_weights_of_another_batch_are_refused(model, shape):
    with changed_heads(model, {"encoder_decoder": {(1, 2): torch.ones(shape)}}), pytest.raises(InputError) as refused:
        logits(model)
    assert str(refused.value) == f"weights for a head have (B, T, S) = (2, 3, 5) here, or what broadcasts to it; these have {shape}"


def test_training_goes_on_through_a_changed_head(model):
    with without_heads(model, {"encoder": [(1, 2)]}):
        logits(model).sum().backward()
    gradient = model.encoder.layers[0].self_attention.sublayer.in_projection.grad[2 * 12 :].view(3, 6, 12)  # of W^V
    assert gradient[1].abs().max() == 0 and gradient[0].abs().max() > 0


@pytest.mark.parametrize("off, said", [
    ({"encoder": [(3, 1)]}, "no layer 3: the model has 2"), ({"encoder": [(0, 1)]}, "no layer 0"),
    ({"decoder": [(1, 4)]}, "no head 4: each layer has 3"), ({"decoder": [(1, 0)]}, "no head 0"),
    ({"cross": [(1, 1)]}, "encoder_decoder"),
])
def test_a_head_that_is_not_there_is_named(model, off, said):
    with pytest.raises(InputError, match=said), without_heads(model, off):
        pass
    assert not HERE.exchanged


@pytest.mark.parametrize("off", [[("encoder", 1, 2)], {"encoder": (1, 2)}, {"encoder": [1, 2]}, {"encoder": [(1.0, 2)]}])
def test_what_names_no_head_is_told_how_to(model, off):
    with pytest.raises(InputError, match="each as a pair of layer and head"), without_heads(model, off):
        pass


def test_a_translator_is_told_to_give_its_model():
    with pytest.raises(InputError, match="as `translator.model`"), without_heads("a translator", {"encoder": [(1, 2)]}):
        pass
