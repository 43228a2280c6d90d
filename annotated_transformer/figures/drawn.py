"""Types of what the drawings take and return, for type checkers and editors: the only package they load is `torch`.

`AttentionMaps` is above the modules that draw it, so they cannot name it: they ask for `Maps`, and it is one.
"""
from typing import TYPE_CHECKING, Any, Protocol

from torch import Tensor

if TYPE_CHECKING:  # matplotlib is loaded only when something is drawn
    from matplotlib.axes import Axes as Axes
    from matplotlib.figure import Figure as Figure

__all__ = ["Maps"]

HOME = {"Axes": "matplotlib.axes", "Figure": "matplotlib.figure"}

if not TYPE_CHECKING:  # for programs that look up types: `typing.get_type_hints`, nbdev's `show_doc`
    def __getattr__(name: str) -> Any:
        if name not in HOME:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        return getattr(import_module(HOME[name]), name)


class Maps(Protocol):
    "What the drawings require of attention maps."

    @property
    def kinds(self) -> dict[str, Any]:
        "The kinds of attention that have weights, by name: title, queries, keys."

    @property
    def aligned(self) -> tuple[int, int] | None:
        "Layer and head of the head that most often looks at the word being translated, if measured."

    @property
    def languages(self) -> tuple[str, ...]:
        "Of the source and the target, as web pages name them, if known."

    def of(self, kind: str) -> tuple[Tensor, list[str], list[str]]:
        "Weights (L, h, queries, keys), labels of the queries, labels of the keys."

    def words(self) -> "Maps":
        "The same with the pieces of each word merged."

    def without_end(self) -> "Maps":
        "The same without tokens that stand for no word."
