"""An exercise: a function or class that the reader writes, and its place in the package.

`tools/workbook.py` makes the notebooks and exercises.json of `pages/` from the cells that say `#| exercise`, and from
nbs/exercises.yml. A page's tests call the package's functions by name, and some call them through others: `MultiHeadAttention`
makes its masks with `causal_mask`. So during a check the reader's function replaces the package's everywhere.
"""
import contextlib
import functools
import importlib
import inspect
import json
import linecache
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import FunctionType
from unittest.mock import patch

__all__ = ["Exercise", "exercises", "folder", "functions_of", "in_place", "replace", "written_as"]


@dataclass(frozen=True)
class Exercise:
    "What the reader writes, and what judges it."
    name: str                                          # of the function or class
    page: str                                          # its notebook, without .ipynb
    module: str                                        # where it is in the package
    methods: list[str]                                 # for a class: those that the reader writes
    solution: str                                      # the package's own code
    tests: list[dict[str, str]] = field(repr=False)    # for each: its name, its imports and its body

    @property
    def own(self) -> object:
        "The package's function or class."
        return getattr(importlib.import_module(f"annotated_transformer.{self.module}"), self.name)


def folder() -> Path:
    "Where the package keeps the notebooks of the workbook, and exercises.json."
    return Path(__file__).with_name("pages")


@functools.cache
def exercises() -> dict[str, Exercise]:
    "All exercises by name, in reading order."
    return {row["name"]: Exercise(**row) for row in json.loads((folder() / "exercises.json").read_text(encoding="utf-8"))}


def replace(old: object, new: object) -> None:
    "Replace one object by another in all modules of the package, and in their tables of parts."
    for name, module in list(sys.modules.items()):
        if name.startswith("annotated_transformer."):
            for space in (vars(module), *[value for value in vars(module).values() if type(value) is dict]):
                for key, value in list(space.items()):
                    if value is old:
                        space[key] = new


@contextlib.contextmanager
def in_place(exercise: Exercise, written: object) -> Iterator[None]:
    "Within, the reader's function replaces the package's; if it calls other exercises, it calls the package's versions."
    own = exercise.own
    namespace = next((function.__globals__ for function in functions_of(written)), {})  # of the notebook
    others = {other.name: other.own for other in exercises().values() if other is not exercise and other.name in namespace}
    replace(own, written)
    try:
        with patch.dict(namespace, others):
            yield
    finally:
        replace(written, own)


def functions_of(written: object) -> list[FunctionType]:
    "The function, or the methods of the class, as they were written."
    members = vars(written).values() if inspect.isclass(written) else [written]
    bare = [inspect.unwrap(member) for member in members if callable(member)]
    return [member for member in bare if isinstance(member, FunctionType)] or (
        functions_of(written.__base__) if inspect.isclass(written) and written.__base__ is not object else [])


def written_as(
    exercise: Exercise,
    source: str,
) -> object:   # what the code defines under the exercise's name
    "A solution from its text, with the names that its page imports."
    label, namespace = f"<{exercise.name}>", dict(vars(importlib.import_module(f"annotated_transformer.{exercise.module}")))
    linecache.cache[label] = len(source), None, source.splitlines(keepends=True), label
    exec(compile(source, label, "exec"), namespace)
    return namespace[exercise.name]
