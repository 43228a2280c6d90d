"""An annotated, tested reproduction of "Attention Is All You Need" (Vaswani et al. 2017).

The modules are exported from the notebooks in `nbs/`. This file is written by hand and holds what all of them share:
the ids of the special tokens, the one exception that a user's mistake raises, the progress bar, and the public names,
loaded on first use so that `import annotated_transformer` stays cheap.
"""
__version__ = "0.1.0"

PAD, EOS, UNK = 0, 1, 2  # no BOS: the decoder's first input is PAD, whose embedding is the zero vector


class InputError(ValueError):
    "A mistake in what the user gave: one sentence that names it and says what to do. The command line exits with status 2."


def progress_bar(shown: bool = True, **options):
    "tqdm's bar, on a terminal or in a notebook; silent when the output is a file or a pipe, or when it is not to be shown."
    import sys

    from tqdm import tqdm

    seen = shown and (sys.stderr.isatty() or "ipykernel" in sys.modules)
    return tqdm(**options) if seen else tqdm(**options, disable=True)


_HOME = {"Transformer": "transformer", "TransformerConfig": "transformer", "Translator": "translation"}
__all__ = ["EOS", "PAD", "UNK", "InputError", *_HOME]


def __getattr__(name: str):
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f".{_HOME[name]}", __name__), name)
