"What a file of JSON must hold is said by a type, and refused in one sentence otherwise."
import re
from dataclasses import dataclass
from typing import Annotated, Any, NotRequired, TypedDict

import pytest

from annotated_transformer import InputError
from annotated_transformer.json_files import checked, parsed, read_json


@dataclass(frozen=True)
class Size:
    width: int
    share: Annotated[float, 0, 1] = 0.5


class File(TypedDict):
    size: Size
    names: NotRequired[tuple[str, ...]]
    count: NotRequired[Annotated[int, 1, 9]]


GOOD = [
    (3, int, 3), (-(2**64) + 1, int, -(2**64) + 1), (3, float, 3), (0.5, float, 0.5), (True, bool, True), ("ü", str, "ü"), (None, Any, None),
    (None, int | None, None), (4, int | None, 4), (["a"], str | list[str], ["a"]), ("a", str | list[str], "a"),
    ([1, 2], tuple[int, ...], (1, 2)), ([1, "a"], tuple[int, str], (1, "a")), ([[1], []], list[list[int]], [[1], []]),
    ({"a": 1}, dict[str, int], {"a": 1}), (9, Annotated[int, 0, 9], 9), ({"width": 2}, Size, Size(2)),
    ({"size": {"width": 2, "share": 1}, "more": {"of": "it"}}, File, {"size": Size(2, 1), "more": {"of": "it"}}),
    ({"size": {"width": 2}, "names": ["a"]}, File, {"size": Size(2), "names": ("a",)}),
]
BAD = [
    (True, int, "it must be a whole number, not True"), (3.0, int, "whole number"), (2**64, int, "whole number"), ("3", int, "whole number"),
    (True, float, "it must be a number"), (10**400, float, "a number"), (None, float, "a number"), (1, bool, "true or false"),
    ("a\ud800", str, "a text"), (3, str, "a text"), ({}, list, "a list"), ("ab", list[str], "a list"), ([1, "a"], list[int], r"it\[1\] must"),
    ([1], tuple[int, int], "a list of 2"), ([], dict, "an object"), ({"a": "b"}, dict[str, int], "a must be a whole"),
    (10, Annotated[int, 0, 9], "at least 0 and can be at most 9, not 10"), ("x", Annotated[int, 0, 9], "a whole number"),
    (-1, Annotated[int, 0, 9] | None, "at least 0"), (None, str | list[str], "a text"), (3, Size, "an object"), ({}, Size, "width is missing"),
    ({"width": 1, "height": 2}, Size, "knows no field 'height'"), ({"width": 1.0}, Size, "width must be a whole"),
    ({}, File, "size is missing"), ({"size": {"width": 1}, "names": [3]}, File, r"names\[0\] must be a text"),
    ({"width": 1, "share": 2}, Size, "share must be at least 0 and can be at most 1, not 2"),
    ({"size": {"width": 1}, "count": 0}, File, "count must be at least 1"),
]


@pytest.mark.parametrize("value, kind, expected", GOOD, ids=str)
def test_what_has_its_type_is_given_back(value, kind, expected):
    found = checked(value, kind)
    assert found == expected and type(found) is type(expected)


@pytest.mark.parametrize("value, kind, said", BAD, ids=str)
def test_what_has_another_is_refused(value, kind, said):
    with pytest.raises(InputError, match=said):
        checked(value, kind)


@pytest.mark.parametrize("text", ["", "{", "NaN", "[Infinity]", "[" * 100_000, "9" * 5_000, b"\xff"], ids=lambda text: str(text)[:9])
def test_what_is_no_json_is_refused(text):
    with pytest.raises(InputError, match="this is not JSON"):
        parsed(text, Any)


def test_a_file_is_named_with_what_to_do(tmp_path):
    path = tmp_path / "a.json"
    for text, said in ((None, "there is no such file"), ('{"size": 3}', "the file is damaged .size must"), ("{", "this is not JSON")):
        if text is not None:
            path.write_text(text)
        with pytest.raises(InputError, match=f"^{re.escape(str(path))}: .*{said}.*; copy it again$"):
            read_json(path, File, "copy it again")
    path.write_text('{"size": {"height": 1}}')
    with pytest.raises(InputError, match="knows no field 'height'; use the version that wrote it$"):
        read_json(path, File, "copy it again")
    path.write_text('{"size": {"tall": 1, "height": 1, "wide": 1, "deep": 1, "thick": 1}}')
    with pytest.raises(InputError, match="no field 'deep'"):  # the first by the alphabet, each time
        read_json(path, File, "copy it again")
    with pytest.raises(InputError, match="cannot be read"):
        read_json(tmp_path, File, "copy it again")
