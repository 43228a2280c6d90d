"A model whose weights have 16 bits, on a CPU, with rows longer than those that attention treats by itself."
import torch

from annotated_transformer import EOS, PAD
from annotated_transformer.config import TransformerConfig
from annotated_transformer.model.fast_attention import SHORT
from annotated_transformer.model.transformer import Transformer


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
