"""One reader for every JSON file of a model, a run, a corpus: what the file must hold is said by a type.

A type is int, float, bool, str, list, dict or Any; `X | None`, list[X], tuple[X, ...], tuple[X, Y] or dict[str, X];
`Annotated[int, 0, 9]`, a number between the two; a dataclass, which has no other fields than its own and whose __post_init__
may refuse values; or a TypedDict, whose fields must be there, while others may be.
"""
import contextlib
import dataclasses
import json
import math
import reprlib
from itertools import repeat
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, NoReturn, NotRequired, Union, get_args, get_origin, get_type_hints, is_typeddict

from . import InputError
from .files import opened

__all__ = ["checked", "parsed", "read_json"]

LARGEST = 2**64  # no larger whole number is read: sizes and counts go into 64 bits
WORDS = {int: "a whole number", float: "a number", bool: "true or false", str: "a text", list: "a list", tuple: "a list"}


class FromAnotherVersion(InputError):
    "A file is whole, and holds what this version of the package does not know."


def checked(
    value: Any,           # as JSON has it
    kind: Any,            # the type that it must have
    name: str = "it",     # of the value, for the message
) -> Any:                 # the same; lists are made tuples, and objects dataclasses, where the type says so
    "InputError names the first value that is of another type, out of its range, missing, or one too many."
    origin, parts = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        if value is None and NoneType in parts:
            return None
        first, *others = (part for part in parts if part is not NoneType)
        for part in others:
            with contextlib.suppress(InputError):
                return checked(value, part, name)
        return checked(value, first, name)
    if origin is NotRequired:
        return checked(value, parts[0], name)
    if origin is Annotated:
        least, most = kind.__metadata__
        if not least <= checked(value, parts[0], name) <= most:
            raise InputError(f"{name} must be at least {least:,} and can be at most {most:,}, not {reprlib.repr(value)}")
        return value
    if dataclasses.is_dataclass(kind) or is_typeddict(kind):
        return checked_object(value, kind, name)
    plain = origin or kind
    if plain is not Any and not fits(value, plain):
        refuse(value, plain, name)
    if origin in (list, tuple):
        kinds = repeat(parts[0]) if origin is list or parts[-1] is ... else parts
        if kinds is parts and len(value) != len(parts):
            raise InputError(f"{name} must be a list of {len(parts)}, not {reprlib.repr(value)}")
        return origin(checked(one, part, f"{name}[{i}]") for i, (one, part) in enumerate(zip(value, kinds)))
    if origin is dict:
        return {key: checked(one, parts[1], key) for key, one in value.items()}
    return value


def fits(value: Any, kind: type) -> bool:
    "Whether a value of JSON is of a plain type: true is no number, 16.0 no whole one, and infinity none at all."
    if kind is float and type(value) is int or kind is int:
        return type(value) is int and abs(value) < LARGEST
    if kind is str:
        return type(value) is str and not any("\ud800" <= character <= "\udfff" for character in value)
    return type(value) is (list if kind is tuple else kind) and (kind is not float or math.isfinite(value))


def refuse(value: Any, kind: type, name: str) -> NoReturn:
    "InputError for a value of the wrong type."
    raise InputError(f"{name} must be {WORDS.get(kind, 'an object with names')}, not {reprlib.repr(value)}")


def checked_object(value: Any, kind: Any, name: str) -> Any:
    "An object of JSON as a dataclass, or as the dictionary that it is."
    if type(value) is not dict:
        refuse(value, dict, name)
    types = get_type_hints(kind, include_extras=True)
    if is_typeddict(kind):
        wanted = kind.__required_keys__
        known = value.keys() & types.keys()
    else:
        wanted = {field.name for field in dataclasses.fields(kind)
                  if field.default is field.default_factory is dataclasses.MISSING}
        known = value.keys()
    for unknown in sorted(known - types.keys()):
        what = f"this version of the package knows no field {reprlib.repr(unknown)}"
        raise FromAnotherVersion(f"{what}; use the version that wrote it")
    for missing in sorted(wanted - value.keys()):
        raise InputError(f"{missing} is missing")
    found = {one: checked(value[one], types[one], one) for one in value if one in known}
    return value | found if is_typeddict(kind) else kind(**found)


def no_number(text: str) -> NoReturn:
    "Python would read and write NaN and Infinity, which JSON does not have."
    raise ValueError(text)


def parsed(text: str | bytes, kind: Any) -> Any:
    "What a text of JSON holds, checked; InputError, also where it is no JSON or too deep."
    try:
        value = json.loads(text, parse_constant=no_number)
    except (ValueError, RecursionError):
        raise InputError("this is no JSON") from None
    return checked(value, kind)


def read_json(
    path: Path,
    kind: Any,       # what the file must hold
    advice: str,     # what to do where it does not
) -> Any:
    "What a file of JSON holds, checked; InputError in one sentence for all that can be wrong with it."
    try:
        with opened(path) as file:
            return parsed(file.read(), kind)
    except (FileNotFoundError, NotADirectoryError):
        raise InputError(f"{path}: there is no such file; {advice}") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}); {advice}") from None
    except FromAnotherVersion as error:
        raise InputError(f"{path}: {error}") from None
    except InputError as error:
        raise InputError(f"{path}: the file is damaged ({error}); {advice}") from None
