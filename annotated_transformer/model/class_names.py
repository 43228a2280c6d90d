"""The names of a user's own classes and functions: files record them, so that nothing saved as one class is opened as another.

Nothing is imported by such a name: whoever opens the file provides the class.
"""
from pathlib import Path
from typing import Any

from .. import InputError

__all__ = ["name_of", "only_known", "require_class", "same_name"]


def name_of(what: Any) -> str:
    "`module:name` of a class or a function; for a `partial`, that of its function; for another object, that of its class."
    what = getattr(what, "func", what)
    named = what if hasattr(what, "__qualname__") else type(what)
    return f"{named.__module__}:{named.__qualname__}"


def only_known(model: Any) -> bool:
    "Whether every module in it belongs to a class of this package or of PyTorch."
    known = {__name__.partition(".")[0], "torch"}
    return {type(module).__module__.partition(".")[0] for module in model.modules()} <= known


def same_name(first: str, second: str) -> bool:
    "Whether two names mean the same thing. A script or a notebook is called `__main__` while it runs, otherwise by its own name."
    (module, _, name), (other, _, other_name) = first.partition(":"), second.partition(":")
    return name == other_name and (module == other or "__main__" in (module, other))


def require_class(
    noted: str | None,   # the class name in a file; None: not a user's own class
    kind: type,          # the class to open it as
    place: str | Path,   # where the file is, for the message
) -> None:
    "InputError if a model of a user's own class is not opened as that class."
    if noted and not same_name(noted, name_of(kind)):
        how = f"Translator.from_pretrained({str(place)!r}, model={noted.rpartition(':')[2]})"
        raise InputError(f"{place} holds a model of the class {noted}, not of {name_of(kind)}: no command can open it; in Python "
                         f"give the class, as in {how}")
