"The rough vocabulary of 61h at work, which takes a processor that multiplies numbers of 8 bits."
import pytest
import torch

from annotated_transformer import EOS, PAD
from annotated_transformer.config import TransformerConfig
from annotated_transformer.data.batching import pad
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.translation.rough_vocabulary import RoughVocabulary
from annotated_transformer.translation.search import greedy_search

pytestmark = pytest.mark.skipif(
    not RoughVocabulary.can(torch.empty(1, 1)), reason="this processor has no instructions for 8-bit dot products (VNNI)"
)


@pytest.mark.parametrize(("V", "d_model", "spread"), [(3_000, 64, 1.0), (3_000, 512, 4.0), (501, 100, 0.05)])
def test_no_word_that_could_win_is_ruled_out(V, d_model, spread):
    torch.manual_seed(0)
    weight = torch.randn(V, d_model) * d_model**-0.5 * torch.rand(V, 1).add(0.2)
    weight[PAD] = 0
    weight[7] = weight[8] * 1.0005  # a rival that only exact numbers can tell apart
    rough = RoughVocabulary(weight)
    for R in (1, 3):
        near = 30 * weight[torch.randint(7, 9, (R,))] + 0.01 * torch.randn(R, d_model)
        for hidden in (spread * torch.randn(R, d_model), near):
            logits = hidden @ weight.T
            logits[:, PAD] = float("-inf")
            words = rough.shortlist(hidden)
            assert logits.argmax(1).tolist() == rough.likeliest(hidden).tolist()
            assert PAD not in words and len(words) < V / 2, "and most are ruled out"


def test_greedy_search_writes_the_same_with_a_rough_vocabulary():
    torch.manual_seed(5)
    model = Transformer(TransformerConfig(700, n_layers=2, d_model=32, d_ff=16, n_heads=2)).eval()
    model.decoder.layers[-1].feed_forward.norm.weight.data.normal_(std=3)
    source = pad([[*torch.randint(3, 700, (n,)).tolist(), EOS] for n in (6, 1, 4, 2, 5, 3)])
    rough = RoughVocabulary(model.embedding.weight)
    rough.MOST_ROWS = 4
    for rows in (source, source[:3], source[5:]):  # more than it takes at a time, fewer, one
        expected = greedy_search(model, rows, extra_length=9)
        assert greedy_search(model, rows, 9, rough) == expected and len(set(sum(expected, []))) > 3
