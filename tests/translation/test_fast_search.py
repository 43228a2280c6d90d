"Tests of translation.fast_search: against the readable searches, the model itself, and each other."
import pytest
import torch

from annotated_transformer import EOS, PAD, InputError
from annotated_transformer.config import Search, TransformerConfig
from annotated_transformer.data.batching import pad, shift_right
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.translation.fast_search import beam_search, greedy_search
from annotated_transformer.translation.search import (
    length_penalty,
    next_token_without_cache,
    readable_beam_search,
    readable_greedy_search,
)


def random_model(seed, vocab_size=9):
    "A model with random weights; those of its last LayerNorm are large, or it would mostly repeat its last token."
    torch.manual_seed(seed)
    model = Transformer(TransformerConfig(vocab_size, n_layers=2, d_model=8, d_ff=16, n_heads=2, d_k=3, d_v=5)).eval()
    model.decoder.layers[-1].feed_forward.norm.weight.data.normal_(std=3)
    return model


@pytest.mark.parametrize("seed", range(6))
def test_a_beam_of_one_is_greedy_search(seed):
    model = random_model(seed)
    source = torch.tensor([[3, 4, 5, 6, EOS], [7, 8, EOS, PAD, PAD], [EOS, PAD, PAD, PAD, PAD]])
    found = greedy_search(model, source, Search(extra_length=6))
    assert found == [readable_greedy_search(next_token_without_cache(model, row), int((row != PAD).sum()) + 6) for row in source]
    for alpha in (0.0, 0.6):
        one_beam = beam_search(model, source, Search(beam_size=1, alpha=alpha, extra_length=6))
        assert [[h.tokens for h in hypotheses] for hypotheses in one_beam] == [[tokens] for tokens in found]


@pytest.mark.parametrize("seed, beam_size, alpha", [(1, 2, 0.6), (2, 5, 0.0), (4, 4, 3.0)])
def test_it_stops_early_and_finds_what_the_readable_one_finds(seed, beam_size, alpha):
    model = random_model(seed, vocab_size=11)
    source = torch.tensor([[3, 9, 5, EOS, PAD], [7, 8, 10, 4, EOS]])
    for row, hypotheses in zip(source, beam_search(model, source, Search(beam_size, alpha, extra_length=3))):
        readable = readable_beam_search(next_token_without_cache(model, row), beam_size, alpha, int((row != PAD).sum()) + 3)
        assert hypotheses[0].tokens == readable[0].tokens and abs(hypotheses[0].score - readable[0].score) < 1e-4


def test_every_hypothesis_has_the_probability_that_the_model_gives_it():
    model = random_model(3)
    source = torch.tensor([[3, 4, 5, 6, EOS], [7, 8, EOS, PAD, PAD], [EOS, PAD, PAD, PAD, PAD]])
    ended = 0
    for row, hypotheses in enumerate(beam_search(model, source, Search(beam_size=4, alpha=0.6, extra_length=3))):
        longest = int((source[row] != PAD).sum()) + 3
        assert 1 <= len(hypotheses) <= 4
        assert [h.score for h in hypotheses] == sorted((h.score for h in hypotheses), reverse=True)
        assert len({tuple(h.tokens) for h in hypotheses}) == len(hypotheses)
        for h in hypotheses:
            assert not {PAD, EOS} & set(h.tokens) and len(h.tokens) <= longest
            target = torch.tensor([h.tokens + [EOS] * (len(h.tokens) < longest)])  # as long as the limit: it did not end
            logits = model(source[row : row + 1], shift_right(target)).detach()
            logits[..., PAD] = float("-inf")
            log_p = float(logits.log_softmax(-1).gather(-1, target[..., None]).sum())
            assert abs(h.log_probability - log_p) < 1e-4
            assert h.score == h.log_probability / length_penalty(target.size(1), 0.6)
            assert h.ended == (len(h.tokens) < longest)
            ended += h.ended
    assert ended > 4


@pytest.mark.parametrize("seed, alpha", [(4, 0.6), (6, 0.6), (2, 2.0)])
def test_batch_mates_and_their_order_do_not_matter(seed, alpha):
    model = random_model(seed)
    source = pad([[*torch.randint(2, 9, (n,)).tolist(), EOS] for n in (6, 1, 4, 2, 5, 3)])
    search = Search(alpha=alpha, extra_length=8)
    together = beam_search(model, source, search)
    assert len({len(h.tokens) for hypotheses in together for h in hypotheses}) > 2
    order = torch.tensor([3, 0, 5, 1, 4, 2])
    shuffled = beam_search(model, source[order], search)
    for row in range(6):
        alone = beam_search(model, source[row : row + 1, : int((source[row] != PAD).sum())], search)[0]
        for other in (alone, shuffled[order.tolist().index(row)]):
            assert [h.tokens for h in other] == [h.tokens for h in together[row]]
            torch.testing.assert_close([h.score for h in other], [h.score for h in together[row]], atol=1e-4, rtol=1e-4)
    greedy = greedy_search(model, source, search)
    assert [greedy[i] for i in order] == greedy_search(model, source[order], search)


def test_length_is_limited_and_padding_never_written():
    torch.manual_seed(0)
    model = Transformer(TransformerConfig(9, n_layers=1, d_model=8, d_ff=16, n_heads=2, max_length=10)).eval()
    model.decoder.layers[-1].feed_forward.norm.bias.data = torch.arange(8) - 3.5  # the decoder's output leans this way
    model.embedding.weight.data[EOS] = -(torch.arange(8) - 3.5)                   # and EOS is its opposite
    source = torch.tensor([[3, 4, 5, EOS], [6, EOS, PAD, PAD]])
    for extra_length, expected in [(0, [4, 2]), (3, [7, 5]), (50, [10, 10])]:
        assert [len(tokens) for tokens in greedy_search(model, source, Search(extra_length=extra_length))] == expected
        for row, hypotheses in enumerate(beam_search(model, source, Search(beam_size=3, alpha=0.6, extra_length=extra_length))):
            assert [len(h.tokens) for h in hypotheses] == [expected[row]] * 3
    model.embedding.weight.data[EOS] *= -1                                        # now all words are far less likely than EOS...
    model.embedding.weight.data[2:] = -model.embedding.weight.data[EOS]           # ...and than PAD, whose logit is 0
    assert greedy_search(model, source) == [[], []]
    assert not any(PAD in h.tokens for hypotheses in beam_search(model, source, Search(beam_size=3)) for h in hypotheses)


def test_a_larger_alpha_never_gives_a_shorter_best_translation():
    grew = 0
    for seed in range(4):
        torch.manual_seed(seed)
        model = Transformer(TransformerConfig(6, n_layers=1, d_model=8, d_ff=16, n_heads=2)).eval()
        model.decoder.layers[-1].feed_forward.norm.weight.data.normal_(std=3)
        source = torch.tensor([[3, 4, EOS]])
        lengths = [len(beam_search(model, source, Search(64, alpha, 1))[0][0].tokens) for alpha in (0.0, 0.5, 1.0, 2.0, 4.0)]
        assert lengths == sorted(lengths)
        grew += lengths[-1] > lengths[0]
    assert grew > 0


@pytest.mark.parametrize("search", [beam_search, greedy_search])
def test_no_sentences_have_no_translations(search):
    assert search(random_model(0), torch.empty(0, 3, dtype=torch.int64)) == []


@pytest.mark.parametrize("beam_size", [1, 3])
def test_under_autocast_it_finds_what_it_finds_without(beam_size):
    model, search = random_model(3), Search(beam_size=beam_size, extra_length=6)
    source = torch.tensor([[3, 4, 5, 6, EOS], [7, 8, EOS, PAD, PAD]])
    expected = beam_search(model, source, search)
    with torch.autocast("cpu", torch.bfloat16):
        found = beam_search(model, source, search)
    for one, other in zip(found, expected, strict=True):
        assert one[0].tokens == other[0].tokens and one[0].log_probability == pytest.approx(other[0].log_probability, abs=0.05)


def test_the_model_is_handed_back_as_it_came():
    torch.manual_seed(0)
    model = Transformer(TransformerConfig(9, n_layers=1, d_model=8, d_ff=16, n_heads=2, dropout=0.5, max_length=10))
    source = torch.tensor([[3, 4, EOS]])
    for mode in (True, False):
        model.train(mode)
        assert beam_search(model, source) == beam_search(model, source)  # dropout is off: nothing is random
        assert greedy_search(model, source) == greedy_search(model, source)
        assert model.training is mode
    model.train()
    try:
        beam_search(model, torch.full((1, 11), 3))  # longer than the model's positions
    except InputError:
        assert model.training
    else:
        raise AssertionError("a source that is too long was accepted")


@pytest.mark.parametrize("others", [[], [[3, 4, EOS]]])
def test_nothing_is_written_where_no_token_may_be(others):
    model, search = random_model(1), Search(beam_size=3, extra_length=0)
    source = torch.tensor([*others, [PAD] * 3])
    assert readable_greedy_search(next_token_without_cache(model, source[-1]), 0) == greedy_search(model, source, search)[-1] == []
    assert beam_search(model, source, search)[-1] == readable_beam_search(next_token_without_cache(model, source[-1]), 3, 0.6, 0)
