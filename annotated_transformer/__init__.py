"""An annotated, tested reproduction of "Attention Is All You Need" (Vaswani et al. 2017).

The modules are exported from the notebooks in `nbs/`. This file is written by hand and holds what all of them share:
the ids of the special tokens, the one exception that a user's mistake raises, the packages that are not always installed,
the progress bar, and the public names, loaded on first use so that `import annotated_transformer` stays cheap.
"""
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # for type checkers and editors; whoever runs the package gets them from `__getattr__` below
    from .model.transformer import Transformer as Transformer
    from .model.transformer import TransformerConfig as TransformerConfig
    from .translation.translator import Translator as Translator

__version__ = "0.1.0"

PAD, EOS, UNK = 0, 1, 2  # no BOS: the decoder's first input is PAD, whose embedding is the zero vector


class InputError(ValueError):
    "A mistake in what the user gave: one sentence that names it and says what to do. The command line exits with status 2."


EXTRAS = {
    "nltk": "parsing", "num2words": "numbers", "babel": "numbers", "tensorboard": "tensorboard", "vl_convert": "charts",
    "transformers": "exchange", "ctranslate2": "exchange", "onnx": "exchange", "onnxruntime": "exchange",
    "datasets": "hub", "ipywidgets": "dev",
}


def extra(module: str):
    "A module of a package that only some work needs; InputError says how to install it where it is missing."
    from importlib import import_module

    package = module.partition(".")[0]
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != package:
            raise
        command = f"pip install 'annotated_transformer[{EXTRAS[package]}]'"
        raise InputError(f"{package} is not installed: {command}") from None


def progress_bar(shown: bool = True, **options):
    "tqdm's bar on a terminal or in a notebook; a line of text a minute where the output is a file or a pipe; or nothing."
    import sys
    import time

    from tqdm import tqdm

    if not shown:
        return tqdm(**options, disable=True)
    if sys.stderr.isatty() or "ipykernel" in sys.modules:
        return tqdm(**options)

    class Lines:
        "Where tqdm writes: what a terminal would show over and over in one place is a line each time."

        def write(self, text: str) -> None:
            if text := text.strip():
                sys.stderr.write(f"{text}\n")

        def flush(self) -> None:
            sys.stderr.flush()

    class Bar(tqdm):
        def write(self, text: str) -> None:  # also what others want to say waits until the work has proved to be long
            if time.time() - self.start_t >= EVERY:
                sys.stderr.write(f"{text}\n")

        def set_postfix_str(self, text: str = "", refresh: bool = False) -> None:
            super().set_postfix_str(text, refresh=False)  # the next line will say it

    often = {"delay": EVERY, "mininterval": EVERY, "maxinterval": EVERY, "miniters": 1}
    return Bar(**options | often | {"dynamic_ncols": False, "ncols": 0}, file=Lines())  # ncols 0: numbers and no bar


EVERY = 60.0  # seconds between two lines

_HOME = {"Transformer": "model.transformer", "TransformerConfig": "model.transformer", "Translator": "translation.translator"}
__all__ = ["EOS", "PAD", "UNK", "InputError", *_HOME]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f".{_HOME[name]}", __name__), name)
