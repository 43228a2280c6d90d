"What the benchmark of heads says is lost without them, against other ways to count it."
import copy

import pytest
import torch

from annotated_transformer import Transformer, TransformerConfig, Translator
from annotated_transformer.data.batching import shift_right
from annotated_transformer.data.tokenizer import Tokenizer
from benchmarks.shared import heads_off

PAIRS = [("one two three", "drei zwei"), ("two", "eins zwei drei vier"), ("four three two one", "vier"), ("one", "eins"),
         ("three four", "drei vier eins")]


@pytest.fixture(scope="module")
def translator():
    torch.manual_seed(3)
    model = Transformer(TransformerConfig(60, n_layers=2, d_model=12, d_ff=10, n_heads=3, dropout=0.0))
    for parameter in model.parameters():
        parameter.data *= 2  # so that a head matters
    return Translator(model, Tokenizer.train([text for pair in PAIRS for text in pair], 60))


@pytest.fixture(scope="module")
def losses(translator):
    return heads_off.Losses(translator.model, heads_off.batches_of(translator, PAIRS))


def nats(translator, model):
    "Of each pair by itself, token by token."
    found = []
    for source, target in PAIRS:
        source, target = (torch.tensor([translator.tokenizer.encode(text)]) for text in (source, target))
        logits = model(source, shift_right(target)).log_softmax(-1)[0]
        found.append(-sum(float(row[token].detach()) for row, token in zip(logits, target[0])))
    return torch.tensor(found)


def test_nats_are_those_of_each_pair_alone(translator, losses, monkeypatch):
    torch.testing.assert_close(losses.all_on, nats(translator, translator.model))
    monkeypatch.setattr(heads_off, "TOGETHER", 2)  # another cut into batches
    parts = heads_off.batches_of(translator, PAIRS)
    assert sorted(number for batch in parts for number in batch.numbers) == [*range(5)] and len(parts) == 3
    torch.testing.assert_close(heads_off.Losses(translator.model, parts).all_on, losses.all_on)
    assert losses.tokens.tolist() == [len(translator.tokenizer.encode(target)) for _, target in PAIRS]


@pytest.mark.parametrize("kind", ["encoder", "decoder", "encoder_decoder"])
def test_the_harm_of_a_head_is_what_the_loss_rises_without_its_part_of_the_output(translator, losses, kind, zeroed):
    found = losses.without({kind: [(2, 3)]})
    torch.testing.assert_close(found, nats(translator, zeroed(translator.model, kind, 2, 3)))
    more = found - losses.all_on
    assert heads_off.harm([losses], [found])[0] == pytest.approx(float(more.sum() / losses.tokens.sum()), abs=1e-6)


def test_harm_and_its_error_by_hand(losses):
    half = copy.copy(losses)
    half.tokens, half.all_on = torch.tensor([1.0, 3.0]), torch.tensor([1.0, 1.0])
    found = heads_off.harm([half, half], [torch.tensor([3.0, 1.0]), torch.tensor([3.0, 1.0])])
    # 4 nats more on 8 tokens, 0.5 each; the four pairs lie 2 - 0.5 above that, 0 - 1.5 below, and so again
    assert found == pytest.approx((0.5, (4 * 1.5**2 / 3) ** 0.5 * 4**0.5 / 8))


def test_every_head_is_switched_off_and_the_order_is_that_of_the_other_half(translator, zeroed):
    halves = [heads_off.Losses(translator.model, heads_off.batches_of(translator, PAIRS[start::2])) for start in (0, 1)]
    figures, chosen_on = heads_off.alone(halves, "test")
    assert {kind: (len(found["harm"]), len(found["error"][0])) for kind, found in figures["alone"].items()} == {
        kind: (2, 3) for kind in heads_off.KINDS}
    model = zeroed(translator.model, "decoder", 1, 2)
    tokens = sum(float(half.tokens.sum()) for half in halves)
    both = [float(nats(translator, one).sum()) / tokens for one in (translator.model, model)]
    assert figures["loss"] == pytest.approx(both[0], abs=2e-5)
    assert figures["alone"]["decoder"]["harm"][0][1] == pytest.approx(both[1] - both[0], abs=2e-5)
    orders = heads_off.in_order(chosen_on, halves[1], "test")
    for kind, found in orders.items():
        assert sorted(found["order"]) == heads_off.every_head(translator.model, kind)
        on_first = [halves[0].mean(halves[0].without({kind: [head]})) for head in found["order"]]
        assert on_first == sorted(on_first)
        for curve in (found["least harmful first"], found["random"]):
            assert len(curve) == 7 and curve[0] == pytest.approx(halves[1].mean(halves[1].all_on), abs=1e-5)
            everything = halves[1].mean(halves[1].without({kind: found["order"]}))
            assert curve[-1] == pytest.approx(everything, abs=1e-5)
        two = halves[1].mean(halves[1].without({kind: found["order"][:2]}))
        assert found["least harmful first"][2] == pytest.approx(two, abs=1e-5)


def test_ranks_by_hand():
    harm, named = torch.tensor([3.0, 1.0, 2.0, 0.0]), torch.tensor([True, False, False, False])
    above, chance = heads_off.rank(harm, named, torch.zeros(4))
    assert above == 1.0 and abs(chance - 0.25) < 0.04  # one of four places is as good
    assert heads_off.rank(harm, torch.tensor([False, False, True, False]), torch.zeros(4))[0] == 0.6667
    assert heads_off.rank(torch.ones(4), named, torch.zeros(4))[0] == 0.5  # equal harm: half a win
    group = torch.tensor([0, 1, 0, 1])  # within them: 3 above 2; the second group has no name
    assert heads_off.rank(harm, named, group)[0] == 1.0
    layers = torch.tensor([0, 1, 2, 3])
    assert heads_off.rank(harm, named, layers) == (None, None)


def test_heads_with_a_name_are_set_apart_by_kind_and_layer():
    harm = {"encoder": [[0.1, 0.2, 0.0], [0.9, 1.0, 0.8]], "decoder": [[0.0, 0.1]]}
    named = {"encoder": [[False, True, False], [False, True, False]], "decoder": [[True, True]]}
    found = heads_off.separations(harm, named)
    assert found["encoder"]["means"] == [0.6, 0.45] and found["encoder"]["difference"] == 0.15
    assert found["encoder"]["interval"][0] < 0.15 < found["encoder"]["interval"][1]
    assert found["encoder"]["above"] == 0.75  # 0.2 is below 0.9 and 0.8
    assert found["decoder"] == {"named": 2, "others": 0}
    assert found["same kind"]["above"] == 0.75 and found["same kind and layer"]["above"] == 1.0
    assert found["same kind and layer"]["by_chance"] == pytest.approx(1 / 9, abs=0.03)


def test_translations_without_heads(translator, zeroed):
    orders = {kind: {"order": [(2, 1), (1, 2), (1, 1), (2, 2), (2, 3), (1, 3)]} for kind in heads_off.KINDS}
    before = translator.translate([source for source, _ in PAIRS])
    found = heads_off.translated(translator, PAIRS, orders, "test")["choices"]
    assert list(found)[:3] == ["all heads", "encoder, without the most important", "encoder, without the less harmful half"]
    assert len(found) == 7 and found["all heads"]["changed"] == 0 and found["all heads"]["by_chance"] is None
    assert found["decoder, without the most important"]["off"] == [(1, 3)]
    assert found["encoder, without the less harmful half"]["off"] == [(2, 1), (1, 2), (1, 1)]
    other = translator
    for head in ((2, 1), (1, 2), (1, 1)):
        other = Translator(zeroed(other.model, "encoder_decoder", *head), translator.tokenizer)
    changed = sum(one != two for one, two in zip(before, other.translate([source for source, _ in PAIRS]))) / len(PAIRS)
    assert found["encoder_decoder, without the less harmful half"]["changed"] == changed
    assert translator.translate([source for source, _ in PAIRS]) == before
