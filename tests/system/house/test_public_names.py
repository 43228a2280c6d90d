"The names that others build on are there, and whoever asks for help on a name gets it."
import dataclasses
import importlib
import inspect
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[3] / "annotated_transformer"
FILES = [path.relative_to(PACKAGE) for path in PACKAGE.rglob("*.py") if path.stem[0] != "_"]
MODULES = sorted(".".join(path.with_suffix("").parts) for path in FILES)

# What users and other projects may count on, by module; it changes only with a line in CHANGELOG.md.
FIXED = {
    "config": "TransformerConfig TrainingConfig Execution Search PRESETS",
    "model.transformer": "Transformer",
    "model.attention": "scaled_dot_product_attention MultiHeadAttention",
    "training.optimizer": "learning_rate",
    "model.regularization": "label_smoothed_cross_entropy",
    "translation.fast_search": "beam_search greedy_search",
    "training.averaging": "average_checkpoints",
    "translation.bleu": "sacre_bleu paper_bleu",
    "translation.translator": "Translator",
    "figures.attention_maps": "plot_heads explore",
    "parsing.parser": "Parser linearize delinearize bracket_scores",
    "exchange.marian": "to_marian from_marian",
    "exchange.ctranslate2": "to_ctranslate2",
    "exchange.onnx": "to_onnx",
    "data.corpora": "load",
}


def own_doc(thing: object) -> str:
    "What its author wrote; dataclasses and named tuples without a docstring are given their signature by Python."
    doc = vars(thing).get("__doc__") if inspect.isclass(thing) else thing.__doc__
    return "" if not doc or doc.startswith(f"{thing.__name__}(") else doc


ROOT = "Transformer TransformerConfig Translator Parser AttentionMaps plot_figure plot_heads explore load"  # loaded on first use


@pytest.mark.parametrize("name", ROOT.split())
def test_the_root_gives_the_names_that_are_used_most(name):
    import annotated_transformer

    assert getattr(annotated_transformer, name).__name__ == name and name in annotated_transformer.__all__


@pytest.mark.parametrize("module", FIXED)
def test_the_fixed_names_are_public(module):
    assert set(FIXED[module].split()) <= set(importlib.import_module(f"annotated_transformer.{module}").__all__)


@pytest.mark.parametrize("module", MODULES)
def test_every_function_class_and_method_says_what_it_does(module):
    found = importlib.import_module(f"annotated_transformer.{module}")
    public = {name for name in found.__all__ if inspect.isclass(getattr(found, name)) or inspect.isfunction(getattr(found, name))}
    helpers = {name for name, thing in vars(found).items() if not name.startswith("_")
               and (inspect.isclass(thing) or inspect.isfunction(thing)) and thing.__module__ == found.__name__}
    names = sorted(public | helpers)
    assert names or found.__all__  # a module may hold tables alone
    silent = [name for name in names if not own_doc(getattr(found, name))]
    for name in names:
        thing = getattr(found, name)
        if inspect.isclass(thing) and thing.__module__ == found.__name__:
            methods = {key: value for key, value in vars(thing).items() if inspect.isfunction(value) and not key.startswith("_")}
            # what a module computes stands in its class's docstring and in the comments of its arguments
            silent += [f"{name}.{key}" for key, method in methods.items() if key != "forward" and not own_doc(method)]
    assert not silent, f"{module}: write a docstring for {', '.join(silent)}"


@pytest.mark.parametrize("module", MODULES)
def test_what_holds_values_stays_as_it_was_made(module):
    found = vars(importlib.import_module(f"annotated_transformer.{module}")).values()
    classes = [thing for thing in found if inspect.isclass(thing) and dataclasses.is_dataclass(thing)]
    assert [kind.__name__ for kind in classes if not kind.__dataclass_params__.frozen] == []


def test_what_users_hold_says_in_a_line_what_it_is(tmp_path):
    from annotated_transformer import Parser, Translator, explore, load
    from annotated_transformer.training.runs import Run

    translator = Translator.from_pretrained("numbers-en-de", device="cpu")
    held = [translator, Parser(translator), translator.tokenizer, load("numbers-en-de"), Run(tmp_path / "mine"),
            translator.attention("forty-two"), explore(translator.attention("forty-two"))]
    said = [repr(one) for one in held]
    known = ["Translator numbers", "Parser numbers", "600 tokens", "corpus='numbers-en-de'", str(tmp_path), "forty", "forty"]
    assert all(word in line for word, line in zip(known, said, strict=True))
    assert not [line for line in said if " object at 0x" in line or "\n" in line]
