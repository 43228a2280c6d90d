"PyTorch's defaults are the user's: a device on which the library does not compute, and a kind of number that it does not take."
import dataclasses
from concurrent.futures import ThreadPoolExecutor

import matplotlib.pyplot as plt
import pytest
import torch

from annotated_transformer import Parser, Translator, explore, plot_figure
from annotated_transformer.config import Execution
from annotated_transformer.training.loop import train

SENTENCE = "The dog sleeps, because it is tired."


@pytest.fixture()
def elsewhere():
    "A device on which nothing can be computed: a tensor that is made there by mistake is noticed."
    before = torch.get_default_device()
    torch.set_default_device("meta")
    yield lambda device: torch.set_default_device(device)
    torch.set_default_device(before)


def test_a_training_is_the_same_and_goes_on(elsewhere, config, tmp_path):
    config = dataclasses.replace(config, execution=Execution(device="cpu"))
    train(dataclasses.replace(config, steps=4), tmp_path / "there")
    found = train(config, tmp_path / "there").state_dict()
    elsewhere("cpu")
    expected = train(config, tmp_path / "here").state_dict()
    assert found.keys() == expected.keys() and all(torch.equal(found[name], expected[name]) for name in found)


def numbers_of_what_ships() -> dict[str, torch.Tensor]:
    model = Translator.from_pretrained("pronouns-en-de", device="cpu", precision="int8").model
    return dict(model.named_parameters()) | dict(model.named_buffers())


@pytest.mark.parametrize("kind", [torch.float64, torch.bfloat16])
def test_what_ships_is_loaded_as_it_is_stored(kind):
    expected = numbers_of_what_ships()
    torch.set_default_dtype(kind)
    try:
        found = numbers_of_what_ships()
        assert torch.get_default_dtype() == kind
    finally:
        torch.set_default_dtype(torch.float32)
    assert found.keys() == expected.keys()
    assert all(found[name].dtype == value.dtype and torch.equal(found[name], value) for name, value in expected.items())


def test_threads_that_load_at_once_leave_the_programs_kind_of_number():
    torch.set_default_dtype(torch.float64)
    try:
        with ThreadPoolExecutor(4) as threads:
            found = list(threads.map(lambda _: numbers_of_what_ships(), range(12)))
        assert torch.get_default_dtype() == torch.float64
    finally:
        torch.set_default_dtype(torch.float32)
    assert {value.dtype for numbers in found for value in numbers.values() if value.is_floating_point()} == {torch.float32}


@pytest.mark.parametrize("precision, old", [("float32", True), ("float16", True), ("int8", True), ("int8", False)])
def test_what_ships_translates_and_draws(elsewhere, precision, old, monkeypatch):
    if not old:  # as where PyTorch's old operators are gone, or slower
        monkeypatch.setattr("annotated_transformer.translation.packed_weights.old_is_faster", lambda bits: False)
    translator = Translator.from_pretrained("everyday-en-de", device="cpu", precision=precision)
    found, maps = translator(SENTENCE), translator.attention(SENTENCE)
    for draw in (lambda: plot_figure(maps, 3, heads=[1]), lambda: explore(maps)):
        draw()
    plt.close("all")
    elsewhere("cpu")
    assert found == translator(SENTENCE) and maps.encoder.device.type == "cpu"


def test_what_ships_parses(elsewhere):
    pytest.importorskip("nltk", reason="the extra `parsing` is not installed")
    parser, words = Parser.from_pretrained("parser-en", device="cpu"), "The dog barked .".split()
    [found] = parser.parse([words])
    elsewhere("cpu")
    assert str(found.tree) == str(parser.parse([words])[0].tree)
