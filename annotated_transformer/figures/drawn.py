"""Types of what the drawings take and give, for type checkers and editors: nothing here is loaded for them but `torch`.

`AttentionMaps` stands above the modules that draw it, so that these cannot name it: they ask for `Maps`, and it is one.
"""
from typing import TYPE_CHECKING, Any, Protocol

from torch import Tensor

if TYPE_CHECKING:  # matplotlib is loaded only when something is drawn
    from matplotlib.axes import Axes as Axes
    from matplotlib.figure import Figure as Figure

__all__ = ["Maps"]

HOME = {"Axes": "matplotlib.axes", "Figure": "matplotlib.figure"}

if not TYPE_CHECKING:  # for programs that look types up: `typing.get_type_hints`, nbdev's `show_doc`
    def __getattr__(name: str) -> Any:
        if name not in HOME:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        return getattr(import_module(HOME[name]), name)


class Maps(Protocol):
    "What the drawings ask of attention maps."

    @property
    def kinds(self) -> dict[str, Any]:
        "By name, those kinds of attention of which there are weights: title, queries, keys."

    @property
    def aligned(self) -> tuple[int, int] | None:
        "Layer and head that most often look at the word being translated, where measured."

    def of(self, kind: str) -> tuple[Tensor, list[str], list[str]]:
        "Weights (L, h, queries, keys), labels of the queries, labels of the keys."

    def words(self) -> "Maps":
        "The same with the pieces of each word made one."

    def without_end(self) -> "Maps":
        "The same without tokens that stand for no word."
