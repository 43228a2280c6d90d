"One model in several threads: what one thread exchanges or records is nothing to the others."
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch

from annotated_transformer import EOS, Transformer, TransformerConfig
from annotated_transformer.config import Search
from annotated_transformer.figures.head_changes import without_heads
from annotated_transformer.model.attention import recorded
from annotated_transformer.model.pretrained import filled
from annotated_transformer.translation.fast_search import beam_search

SOURCE, TARGET = torch.tensor([[4, 5, 6, EOS]]), torch.tensor([[0, 7, 8]])


@pytest.fixture
def model():
    torch.manual_seed(0)
    return Transformer(TransformerConfig(11, n_layers=2, d_model=12, d_ff=10, n_heads=3))


@pytest.fixture
def other():
    "Another thread."
    with ThreadPoolExecutor(1) as thread:
        yield thread


def test_maps_hold_nothing_of_what_another_thread_translates_or_draws(model, other):
    def elsewhere():
        return beam_search(model, SOURCE[:, 1:], Search(beam_size=2, extra_length=3)), model.attention_maps(SOURCE[:, 2:], TARGET)

    found, maps = elsewhere()
    with recorded(model) as here:
        theirs, their_maps = other.submit(elsewhere).result()
        assert not here
        model(SOURCE, TARGET)
    assert [len(weights[0, 0]) for weights in here] == [4, 4, 3, 3, 3, 3]
    assert theirs == found and all(map(torch.equal, maps, their_maps))


def test_who_leaves_first_does_not_matter(model, other):
    theirs, mine = recorded(model), recorded(model)
    found = [other.submit(theirs.__enter__).result(), mine.__enter__()]
    other.submit(theirs.__exit__, None, None, None).result()
    mine.__exit__(None, None, None)
    model(SOURCE, TARGET)
    other.submit(model, SOURCE, TARGET).result()
    assert found == [[], []], "nobody records any more"


def test_heads_that_are_off_here_are_on_elsewhere(model, other):
    model.eval()
    with torch.no_grad():
        whole = model(SOURCE, TARGET)
        with without_heads(model, {"encoder": [(1, 2)]}):
            assert not torch.allclose(model(SOURCE, TARGET), whole)
            assert torch.equal(other.submit(torch.no_grad()(model), SOURCE, TARGET).result(), whole)


def test_heads_that_are_off_are_off_in_layers_that_share_what_is_compiled(model):
    model.eval()
    found = []
    for compiled in (False, True):
        for layer in (*model.encoder.layers, *model.decoder.layers) if compiled else ():
            layer.compile(backend="eager", dynamic=True)
        with torch.no_grad(), without_heads(model, {"encoder": [(1, 2)]}):
            found.append(model(SOURCE, TARGET))
    torch.testing.assert_close(*found)


def test_threads_that_load_at_once_take_no_draw_from_the_programs_generator(model, other):
    begun = threading.Event()

    class Slow(Transformer):
        def __init__(self, config):
            super().__init__(config)
            if not begun.is_set():
                begun.set()
                threading.Event().wait(0.5)  # meanwhile the other begins

    def load():
        return filled(Slow, model.config, model.state_dict(), Path("weights"))

    torch.manual_seed(3)
    expected = torch.rand(2)
    torch.manual_seed(3)
    theirs = other.submit(load)
    begun.wait(20)
    load()
    theirs.result()
    assert torch.equal(torch.rand(2), expected)
