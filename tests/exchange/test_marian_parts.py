"Two biases in the place of four, and the bias of the logits. tests/system/exchange/test_exchange.py compares whole models with Marian's."
import torch
from torch import nn

from annotated_transformer import PAD
from annotated_transformer.exchange.marian_parts import BiasedAttention, BiasedEmbedding


def test_two_biases_do_what_four_do():
    torch.manual_seed(0)
    B, T, S, d_model, h = 2, 3, 5, 12, 3
    theirs = nn.MultiheadAttention(d_model, h, batch_first=True).eval()
    nn.init.normal_(theirs.in_proj_bias)
    nn.init.normal_(theirs.out_proj.bias)
    ours = BiasedAttention(d_model, h, 4, 4)
    (query, key, value), matrix = theirs.in_proj_bias.detach().chunk(3), theirs.out_proj.weight.detach()
    ours.load_state_dict({"in_projection": theirs.in_proj_weight, "query_bias": query, "out_projection.weight": matrix,
                          "out_projection.bias": theirs.out_proj.bias + matrix @ value})
    x, memory = torch.randn(B, T, d_model), torch.randn(B, S, d_model)
    allowed = torch.arange(S) < torch.tensor([[[[3]]], [[[5]]]])
    expected, weights = theirs(x, memory, memory, key_padding_mask=~allowed[:, 0, 0], average_attn_weights=False)
    torch.testing.assert_close(ours(x, memory, allowed), expected)
    torch.testing.assert_close(ours.weights(x, memory, allowed), weights)
    torch.testing.assert_close(ours(x), theirs(x, x, x)[0])  # the three projections by one product
    assert (key != 0).all()


def test_the_bias_of_the_logits_is_added_in_training_and_in_decoding():
    torch.manual_seed(0)
    embedding, x = BiasedEmbedding(7, 6), torch.randn(3, 6)
    nn.init.normal_(embedding.bias)
    expected = x @ embedding.weight.T + embedding.bias
    torch.testing.assert_close(embedding.project(x)[:, 1:], expected[:, 1:])
    assert (embedding.project(x)[:, PAD] == 0).all()
    with torch.no_grad():
        torch.testing.assert_close(embedding.project_into(torch.empty(3, 7), x), expected)
