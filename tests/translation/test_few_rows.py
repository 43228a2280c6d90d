"Tests of translation.few_rows: the halves give the product, in a model the search's outputs, and they follow the weights."
import copy
import gc
import weakref

import pytest
import torch
import torch.nn.functional as F

from annotated_transformer import EOS, PAD, Translator
from annotated_transformer.config import Search, TransformerConfig
from annotated_transformer.exchange.marian_parts import MarianTransformer
from annotated_transformer.figures.head_changes import without_heads
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.model.variants import LearnedPositions
from annotated_transformer.translation import few_rows
from annotated_transformer.translation.fast_search import beam_search, greedy_search
from annotated_transformer.translation.few_rows import FEW_ROWS, HalvedMatrix, for_few_rows, halves_are_faster, in_halves
from annotated_transformer.translation.packed_weights import in_eight_bits

SOURCE = torch.tensor([[3, 4, 5, 6, EOS], [7, 8, EOS, PAD, PAD]])


@pytest.fixture
def model():
    torch.manual_seed(0)
    model = Transformer(TransformerConfig(31, n_layers=2, d_model=8, d_ff=20, n_heads=2, d_k=3, d_v=5)).eval()
    model.decoder.layers[-1].feed_forward.norm.weight.data.normal_(std=3)  # else it mostly repeats its last token
    return model


@pytest.fixture
def faster(monkeypatch):
    "A processor on which the halves win, also for a small model."
    monkeypatch.setattr(few_rows, "SMALL", 0)
    monkeypatch.setattr(few_rows, "seconds", lambda products, rows: float(isinstance(products[0], few_rows.partial)))


@pytest.mark.parametrize("n, d", [(2, 3), (7, 5), (40, 16), (5, 40), (41, 16), (3, 3), (1, 4)])
def test_it_multiplies_as_the_matrix(n, d):
    torch.manual_seed(0)
    weight, bias = torch.randn(n + 1, d)[1:], torch.randn(n)   # which does not start where its memory does
    for B, T in ((1, 1), (2, 1), (1, FEW_ROWS), (3, 3)):
        x = torch.randn(T, B, d).transpose(0, 1)
        for given in (None, bias):
            exact = F.linear(x.double(), weight.double(), given if given is None else given.double())
            found = F.linear(x, HalvedMatrix(weight, given))
            assert found.shape == (B, T, n)
            torch.testing.assert_close(found.double(), exact, rtol=1e-5, atol=1e-5)
    part = F.linear(x, HalvedMatrix(weight)[n // 2 :])
    torch.testing.assert_close(part, F.linear(x, weight[n // 2 :]), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("n, d, most", [(40, 16, FEW_ROWS), (16, 16, FEW_ROWS), (5, 40, 1)])
def test_the_halves_are_for_few_rows_alone(n, d, most, monkeypatch):
    used, halves = [], few_rows.times_halves
    monkeypatch.setattr(few_rows, "times_halves", lambda *about: used.append(1) or halves(*about))
    matrix = HalvedMatrix(torch.randn(n, d))
    for rows in (1, most, most + 1):
        before = len(used)
        F.linear(torch.randn(rows, d), matrix)
        assert len(used) - before == (rows <= most)


def test_a_search_finds_the_same(model, faster):
    halved = for_few_rows(model)
    assert halved is not model and isinstance(halved.decoder.layers[0].feed_forward.sublayer.inner.weight, HalvedMatrix)
    exactly = copy.deepcopy(model).double()
    assert for_few_rows(exactly) is exactly
    for search in (Search(beam_size=1, extra_length=6), Search(beam_size=4, extra_length=6)):
        found, expected = beam_search(model, SOURCE, search), beam_search(exactly, SOURCE, search)
        assert [[h.tokens for h in each] for each in found] == [[h.tokens for h in each] for each in expected]
    assert greedy_search(model, SOURCE) == greedy_search(exactly, SOURCE)


def test_biases_and_swish_of_a_marian_model_are_kept():
    torch.manual_seed(0)
    model = MarianTransformer(TransformerConfig(31, n_layers=2, d_model=8, d_ff=20, n_heads=2), swish=True).eval()
    for parameter in model.parameters():
        parameter.data.normal_(std=0.5)
    found, expected = (beam_search(one, SOURCE, Search(extra_length=6)) for one in (in_halves(model), model))
    for ours, theirs in zip(found, expected):
        assert [h.tokens for h in ours] == [h.tokens for h in theirs]
        assert [h.score for h in ours] == pytest.approx([h.score for h in theirs], abs=1e-4)


def test_the_halves_follow_the_weights(model, faster):
    halved = for_few_rows(model)
    assert for_few_rows(model) is halved
    with torch.no_grad():
        model.decoder.layers[0].feed_forward.sublayer.inner.weight.mul_(3)
    x = torch.randn(1, 1, 8)
    sublayers = (one.decoder.layers[0].feed_forward.sublayer for one in (halved, model))
    torch.testing.assert_close(*(sublayer(x) for sublayer in sublayers))
    model.embedding.weight = torch.nn.Parameter(torch.randn(31, 8))
    renewed = for_few_rows(model)
    assert renewed is not halved and renewed.embedding.weight is model.embedding.weight


def test_a_model_that_is_changed_for_a_while_is_searched_itself(model, faster):
    search, halved = Search(beam_size=2, extra_length=6), for_few_rows(model)
    before = [one[0].log_probability for one in beam_search(model, SOURCE, search)]
    with without_heads(model, {"encoder_decoder": [(1, 1), (2, 2)]}):
        assert for_few_rows(model) is model
        within = [one[0].log_probability for one in beam_search(model, SOURCE, search)]
    assert for_few_rows(model) is halved and all(abs(a - b) > 1e-4 for a, b in zip(before, within))
    assert [one[0].log_probability for one in beam_search(model, SOURCE, search)] == before
    fresh = copy.deepcopy(model)
    with without_heads(fresh, {"decoder": [(1, 1)]}):
        beam_search(fresh, SOURCE, search)
    after = [one[0].log_probability for one in beam_search(fresh, SOURCE, search)]
    assert after == pytest.approx(before, abs=1e-5), "nothing stays off"
    seen = []
    handle = model.decoder.layers[0].register_forward_hook(lambda *_: seen.append(1))
    beam_search(model, SOURCE, search)
    handle.remove()
    assert seen and for_few_rows(model) is halved


def test_a_part_a_buffer_or_a_function_that_is_exchanged_is_searched_with(model, faster):
    search = Search(beam_size=2, extra_length=6)

    def probability(of):
        return [one[0].log_probability for one in beam_search(of, SOURCE, search)]

    def exchanged_part(of):
        of.positions = LearnedPositions(8, of.config.max_length)
        of.positions.table.data.fill_(0.5)

    def exchanged_buffer(of):
        of.positions.table = -of.positions.table

    def own_function(of):
        of.encode = lambda source: type(of).encode(of, source) * 0

    def setting(of):
        of.decoder.layers[0].feed_forward.norm.eps = 10.0

    for change in (exchanged_part, exchanged_buffer, own_function, setting):
        changed, searched_before = copy.deepcopy(model), copy.deepcopy(model)
        before = probability(searched_before)
        for each in (changed, searched_before):
            change(each)
        expected = probability(changed.double())
        assert probability(searched_before) == pytest.approx(expected, abs=1e-4) and before != pytest.approx(expected, abs=1e-3)


def test_a_model_that_was_searched_is_freed(model, faster):
    other = copy.deepcopy(model)
    greedy_search(other, SOURCE)
    assert for_few_rows(other) is for_few_rows(other) and other in few_rows.KNOWN
    gone = weakref.ref(other)
    del other
    gc.collect()
    assert gone() is None


def test_where_it_is_no_faster_the_model_is_searched_itself(model, monkeypatch):
    assert not halves_are_faster(model), "a small model is not asked"
    asked = []
    monkeypatch.setattr(few_rows, "SMALL", 0)
    monkeypatch.setattr(few_rows, "seconds", lambda products, rows: asked.append(len(rows)) or 1.0)
    assert for_few_rows(model) is model and for_few_rows(model) is model
    matrices = [each for each in (*model.decoder.parameters(), model.embedding.weight) if each.dim() == 2]
    assert asked == [len(matrices)] * 6, "three rounds of two, once for each model"


def test_packed_weights_and_other_devices_stay_as_they_are(model, faster):
    for other in (in_eight_bits(model), model.to("meta")):
        assert for_few_rows(other) is other


def test_the_shipped_translator_is_asked_with_the_real_clock_and_says_the_same(monkeypatch):
    translator, text = Translator.from_pretrained("everyday-en-de", precision="float32"), "Where is the station?"
    assert isinstance(halves_are_faster(translator.model), bool)
    found = []
    for answer in (True, False):
        few_rows.KNOWN.clear()
        monkeypatch.setattr(few_rows, "halves_are_faster", lambda model, answer=answer: answer)
        assert (for_few_rows(translator.model) is translator.model) is not answer
        found.append(translator.translate(text))
    assert found[0] == found[1] == "Wo ist der Bahnhof?"
