"""An annotated, tested reproduction of "Attention Is All You Need" (Vaswani et al. 2017).

The modules are exported from the notebooks in `nbs/`. This file is written by hand and holds what all of them share:
the ids of the special tokens, the one exception that a user's mistake raises, the packages that are not always installed,
and the public names, loaded on first use so that `import annotated_transformer` stays cheap.
"""
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # for type checkers and editors; at run time `__getattr__` below provides them
    from .figures.attention_maps import AttentionMaps as AttentionMaps
    from .figures.attention_maps import explore as explore
    from .figures.attention_maps import plot_figure as plot_figure
    from .figures.attention_maps import plot_heads as plot_heads
    from .figures.attention_maps import plot_heat_maps as plot_heat_maps
    from .figures.attention_maps import save_drawing as save_drawing
    from .model.transformer import Transformer as Transformer
    from .config import Search as Search
    from .config import TransformerConfig as TransformerConfig
    from .parsing.parser import Parser as Parser
    from .training.loading import load as load
    from .translation.translator import Translator as Translator

__version__ = "0.1.0"

PAD, EOS, UNK = 0, 1, 2  # no BOS: the decoder's first input is PAD, whose embedding is the zero vector


class InputError(ValueError):
    "A mistake in what the user gave: one sentence that names it and says what to do. The command line exits with status 2."


def reason_of(error: BaseException) -> str:
    "The first line of another package's error message, or the error's type if the message is empty."
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


EXTRAS = {
    "nltk": "parsing", "tensorboard": "tensorboard", "vl_convert": "charts",
    "transformers": "exchange", "ctranslate2": "exchange", "onnx": "exchange", "onnxruntime": "exchange",
    "datasets": "hub",
}


def extra(module: str):
    "A module of an optional package; if it is missing, InputError says how to install it."
    from importlib import import_module

    package = module.partition(".")[0]
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != package:
            raise
        wanted = f'"annotated_transformer[{EXTRAS[package]}]"' if package in EXTRAS else package  # ipywidgets is in no extra
        raise InputError(f"{package} is not installed: pip install {wanted}") from None


_HOME = {
    "Transformer": "model.transformer", "TransformerConfig": "config", "Translator": "translation.translator",
    "Parser": "parsing.parser", "AttentionMaps": "figures.attention_maps", "plot_figure": "figures.attention_maps",
    "plot_heads": "figures.attention_maps", "plot_heat_maps": "figures.attention_maps",
    "save_drawing": "figures.attention_maps", "explore": "figures.attention_maps", "load": "training.loading", "Search": "config",
}
__all__ = [  # for `from annotated_transformer import *`; each name is written out, since mypy cannot expand a star here
    "EOS", "PAD", "UNK", "InputError", "Transformer", "TransformerConfig", "Translator", "Parser", "AttentionMaps", "plot_figure",
    "plot_heads", "plot_heat_maps", "save_drawing", "explore", "load", "Search",
]


if not TYPE_CHECKING:  # otherwise a type checker would accept any name
    def __getattr__(name: str) -> Any:
        if name not in _HOME:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        return getattr(import_module(f".{_HOME[name]}", __name__), name)


from .environment import wait_briefly  # noqa: E402 (it needs InputError from above)

wait_briefly()  # before PyTorch loads
del wait_briefly


def __dir__() -> list[str]:
    "Includes names that are not loaded yet, so that an editor offers them after a dot."
    return sorted({*globals(), *__all__} - {"Any", "TYPE_CHECKING"})
