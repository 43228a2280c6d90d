"A model whose weights have 16 bits, on a CPU, with rows longer than those that attention treats by itself."
import pytest
import torch

from annotated_transformer import EOS, PAD
from annotated_transformer.config import TransformerConfig
from annotated_transformer.data.batching import Batch
from annotated_transformer.model.fast_attention import SHORT
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.training.evaluation import evaluate
from annotated_transformer.training.loop import batch_loss


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
