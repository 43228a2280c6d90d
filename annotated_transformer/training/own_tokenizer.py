"A user's own tokenizer instead of `Tokenizer`: what it must have, and how it is recognised when a model is loaded."
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Protocol

from .. import InputError
from ..data.tokenizer import Tokenizer
from ..model.class_names import name_of, same_name

__all__ = ["AnyTokenizer", "known_as", "require_tokenizer", "tokenizer_in"]


class AnyTokenizer(Protocol):
    "What a `Translator` requires of a tokenizer. Ids are below `vocab_size`; 0 is PAD, 1 EOS, 2 UNK."

    @property
    def vocab_size(self) -> int:
        "V: all tokens, including the three special ones."

    def encode(self, text: str) -> list[int]:
        "Ids of a source, EOS last."

    def encode_target(self, text: str) -> list[int]:
        "Ids of a target, EOS last."

    def encode_all(self, texts: Iterable[str], threads: int | None = None) -> list[list[int]]:
        "Ids of each source, EOS last."

    def decode(self, ids: Iterable[int]) -> str:
        "The text up to the first EOS, padding left out."

    def pieces(self, ids: Iterable[int]) -> list[str]:
        "How a figure shows each token, including PAD; '▁' begins a word."

    def save(self, path: str | Path) -> None:
        "Write one file from which you can recreate it: only `save_pretrained` needs this."


NEEDED = ("vocab_size", "encode", "encode_target", "encode_all", "decode", "pieces")


def require_tokenizer(given: Any, *more: str) -> None:
    "InputError names what a tokenizer lacks."
    if isinstance(given, type):
        raise InputError(f"the tokenizer is the class {given.__name__}: give an object of it, {given.__name__}(...)")
    if missing := [name for name in (*NEEDED, *more) if not hasattr(given, name)]:
        raise InputError(f"the tokenizer, {type(given).__name__}, has no {', '.join(missing)}: give it what "
                         "annotated_transformer.training.own_tokenizer.AnyTokenizer names")


def known_as(tokenizer: AnyTokenizer) -> str | None:
    "The name of its class, as recorded in record.json; None for the package's own. InputError if it cannot be saved."
    require_tokenizer(tokenizer, "save")
    return None if type(tokenizer) is Tokenizer else name_of(tokenizer)


def tokenizer_in(
    directory: Path,
    given: AnyTokenizer | None,   # by whoever loads the model
    noted: str | None,            # as returned by `known_as`
    place: str | Path,            # where the model is, for the message
) -> Any:                         # a `Tokenizer`, or the one given
    "The tokenizer of a model; InputError if it is of a user's own class and is not given."
    if given is None and noted is None:
        return Tokenizer.load(directory / "tokenizer.model")
    if noted is not None and not same_name(noted, name_of(given)):
        raise InputError(f"{place} has a tokenizer of the class {noted}: in Python make it from its tokenizer.model and give it, "
                         f"as in Translator.from_pretrained({str(place)!r}, tokenizer=...); `train` takes only SentencePiece's")
    require_tokenizer(given)
    return given
