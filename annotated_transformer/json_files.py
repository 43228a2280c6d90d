"""One reader for every JSON file of a model, a run or a corpus: a type states what the file must hold.

A type is int, float, bool, str, list, dict or Any; `X | None`, list[X], tuple[X, ...], tuple[X, Y] or dict[str, X];
`Annotated[int, 0, 9]`, a number between the two; a dataclass, which allows only its own fields and whose __post_init__
may refuse values; or a TypedDict, whose fields must be present, while other fields are allowed.
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

LARGEST = 2**64  # larger whole numbers are refused: sizes and counts must fit into 64 bits
WORDS = {int: "a whole number", float: "a number", bool: "true or false", str: "a text", list: "a list", tuple: "a list"}


class FromAnotherVersion(InputError):
    "A file is undamaged, but holds something that this version of the package does not know."


def checked(
    value: Any,           # as read from JSON
    kind: Any,            # the type that it must have
    name: str = "it",     # of the value, for the message
) -> Any:                 # the same; lists become tuples, and objects dataclasses, where the type says so
    "InputError names the first value that has the wrong type, is out of range, is missing, or is one too many."
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
    "Whether a JSON value has a plain type: true is not a number, 16.0 is not a whole number, and infinity is neither."
    if kind is float and type(value) is int or kind is int:
        return type(value) is int and abs(value) < LARGEST
    if kind is str:
        return type(value) is str and not any("\ud800" <= character <= "\udfff" for character in value)
    return type(value) is (list if kind is tuple else kind) and (kind is not float or math.isfinite(value))


def refuse(value: Any, kind: type, name: str) -> NoReturn:
    "InputError for a value of the wrong type."
    raise InputError(f"{name} must be {WORDS.get(kind, 'an object with names')}, not {reprlib.repr(value)}")


def checked_object(value: Any, kind: Any, name: str) -> Any:
    "A JSON object as a dataclass, or as a plain dictionary."
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
    "Refuse NaN and Infinity, which JSON does not have but Python would read and write."
    raise ValueError(text)


def parsed(text: str | bytes, kind: Any) -> Any:
    "The contents of a JSON text, checked; InputError also if it is not JSON or is nested too deeply."
    try:
        value = json.loads(text, parse_constant=no_number)
    except (ValueError, RecursionError):
        raise InputError("this is not JSON") from None
    return checked(value, kind)


def read_json(
    path: Path,
    kind: Any,       # what the file must hold
    advice: str,     # what to do if it does not
) -> Any:
    "The contents of a JSON file, checked; InputError in one sentence for anything that can be wrong with it."
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
