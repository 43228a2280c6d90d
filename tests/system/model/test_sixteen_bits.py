"A model whose weights have 16 bits, on a CPU, with rows longer than those that attention treats by itself."
import math

import pytest
import torch
import torch.nn.functional as F

from annotated_transformer import EOS, PAD
from annotated_transformer.config import Search, TransformerConfig
from annotated_transformer.data.batching import Batch
from annotated_transformer.model.fast_attention import SHORT, attend
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.training.evaluation import evaluate
from annotated_transformer.training.loop import WithLoss, batch_loss
from annotated_transformer.translation.fast_search import beam_search


def test_long_rows_and_masks_have_the_numbers_of_the_model_in_floats():
    torch.manual_seed(0)
    model = Transformer(TransformerConfig(31, n_layers=2, d_model=8, d_ff=20, n_heads=2, d_k=3, d_v=5, dropout=0.0)).eval()
    source = torch.randint(3, 31, (3, SHORT + 7))
    source[:, -1] = EOS
    source[1, SHORT - 5 :] = PAD
    target = source[:, : SHORT + 3]
    with torch.inference_mode():
        expected = model(source, target)
        found = model.bfloat16()(source, target)
    assert found.dtype == torch.bfloat16
    assert (found - expected).norm() < 0.03 * expected.norm()


@pytest.mark.parametrize("kind", [torch.bfloat16, torch.float16])
def test_a_large_batch_is_measured_as_that_of_the_model_in_floats(kind):
    # In 16 bits a sum of losses this large moves in steps of 256 nats, or has no number.
    torch.manual_seed(0)
    model = Transformer(TransformerConfig(300, n_layers=1, d_model=8, d_ff=12, n_heads=2, dropout=0.0, max_length=60)).eval()
    data = [Batch(*(torch.randint(2, 300, (300, 60)) for _ in range(3)))]
    expected, found = evaluate(model, data, 0.1), evaluate(model.to(kind), data, 0.1)
    assert found.loss == pytest.approx(expected.loss, rel=1e-3)
    assert found.perplexity == pytest.approx(expected.perplexity, rel=1e-2)


@pytest.mark.parametrize("consistency", [0.0, 1.0])
def test_a_loss_of_16_bits_has_32_and_gradients_near_those_of_floats(consistency):
    torch.manual_seed(0)
    model = Transformer(TransformerConfig(31, n_layers=1, d_model=8, d_ff=12, n_heads=2, dropout=0.0))
    batch, gradients = Batch(*(torch.randint(2, 31, (4, 6)) for _ in range(3))), []
    for learner in (model, model.bfloat16()):
        loss = batch_loss(learner, batch, 0.1, consistency=consistency)
        assert loss.dtype == torch.float32
        gradients.append([g.float() for g in torch.autograd.grad(loss, list(learner.parameters()))])
    whole, short = (torch.cat([g.flatten() for g in each]) for each in gradients)
    assert (short - whole).norm() < 0.05 * whole.norm()


@pytest.mark.parametrize("kind", [{}, {"compatibility": "additive"}])
@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_a_row_of_padding_alone_harms_neither_the_gradients_nor_the_search(kind, precision):
    torch.manual_seed(0)
    model = Transformer(TransformerConfig(31, n_layers=2, d_model=8, d_ff=20, n_heads=2, dropout=0.0, **kind))
    source, target_input, target = ([[5, 6, EOS]], [[PAD, 5, 6]], [[5, 6, EOS]])
    gradients = []
    for padding in ([], [[PAD] * 3]):
        model.zero_grad()
        batch = (torch.tensor(rows + padding) for rows in (source, target_input, target))
        WithLoss(model, 0.1, precision)(*batch, 3).backward()
        gradients.append(torch.cat([weight.grad.flatten() for weight in model.parameters()]))
    alone, padded = gradients
    assert padded.isfinite().all() and (padded - alone).norm() < 0.02 * alone.norm()
    model, search = model.to(getattr(torch, precision)), Search(beam_size=2, extra_length=3)
    for found in beam_search(model, torch.tensor(source + padding), search):
        assert all(math.isfinite(hypothesis.log_probability) for hypothesis in found)


@pytest.mark.parametrize("allowed", [torch.tensor([[[[True, True]]], [[[False, False]]]]),
                                     torch.tensor([[[[0.0, 0.0]]], [[[-math.inf, -math.inf]]]])])
def test_attend_gives_zeros_where_all_keys_are_hidden(allowed):
    for dtype in (torch.float32, torch.bfloat16, torch.float16):
        query = torch.ones(2, 1, 3, 4, dtype=dtype, requires_grad=True)
        found = attend(query, query[:, :, :2], query[:, :, :2], allowed if allowed.dtype == torch.bool else allowed.to(dtype))
        (1e3 * found.float()).sum().backward()
        assert found[0].eq(1).all() and found[1].eq(0).all() and query.grad.isfinite().all() and query.grad[1].eq(0).all()


def test_attend_scales_before_it_multiplies_what_float16_could_not_hold():
    torch.manual_seed(0)
    large = torch.full((1, 1, 2, 64), 40.0, dtype=torch.float16)
    assert torch.equal(attend(large, large, large), large)
    query, key, value = torch.randn(3, 2, 3, 5, 24, dtype=torch.float16).unbind()   # a width whose root is no whole number
    expected = F.scaled_dot_product_attention(query.double(), key.double(), value.double())
    assert (attend(query, key, value) - expected).norm() < 1e-3 * expected.norm()


def test_attend_makes_its_causal_mask_where_the_numbers_are():
    query = torch.randn(1, 2, 3, 4, dtype=torch.bfloat16)
    expected = attend(query, query, query, causal=True)
    with torch.device("meta"):  # another default device, as in a program that computes on a GPU
        assert torch.equal(attend(query, query, query, causal=True), expected)
