"Options are made from signatures and docstrings, and every mistake is one sentence."
import re
from pathlib import Path
from typing import Annotated, Literal

import pytest

from annotated_transformer import InputError
from annotated_transformer.command_line.arguments import described, from_signature, help_text, parse
from annotated_transformer.config import TrainingConfig


def test_values_have_the_types_of_the_signature():
    def command(
        place: Annotated[Path, "PLACE"], number: int = 3, rate: float | None = None,
        rows: tuple[str, ...] = (), heads: tuple[int, ...] | None = None,
        kind: Literal["a", "b"] = "a", tone: Literal["c", "d"] | None = None, shown: bool = False, compiled: bool | None = None,
    ) -> None:
        "Nothing."


    def with_a_place_to_leave_out(place: Annotated[Path | None, "PLACE"] = None) -> None:
        "Nothing."


    arguments = from_signature(command)
    given = parse("x", arguments, "--rate 1e-3 there --rows A1 B2 --heads 2 1 --kind b --tone d --shown --compiled False".split())
    assert given == {"rate": 1e-3, "place": Path("there"), "rows": ("A1", "B2"), "heads": (2, 1), "kind": "b", "tone": "d",
                     "shown": True, "compiled": False}
    assert parse("x", arguments, "here --number=-4 --rate None --no-shown --compiled".split()) == {
        "place": Path("here"), "number": -4, "rate": None, "shown": False, "compiled": True}
    assert parse("x", arguments, ["--no-compiled", "-- here"]) == {"place": Path("-- here"), "compiled": False}
    assert parse("x", from_signature(with_a_place_to_leave_out), []) == {}
    assert parse("x", arguments, ["there", "--rows=--"]) == {"place": Path("there"), "rows": ("--",)}
    assert parse("x", arguments, ["~/there"]) == {"place": Path.home() / "there"}
    assert parse("x", arguments, ["--number", "-4", "there", "--rate", "2"]) == {"place": Path("there"), "number": -4, "rate": 2.0}
    for words, said in (
        ("here --number 1.5", "--number: '1.5' is not a whole number"), ("here --rate x", "--rate: 'x' is not a number"),
        ("here --kind c", "'c' is none of a, b"), ("here --tone a", "'a' is none of c, d"),
        ("here --numbre 4", "there is no option --numbre; did you mean --number?"),
        ("here --number", "--number: a value is missing"), ("--number 4", "PLACE is missing"),
        ("here there", "'there' is one word too many"),
        ("here --heads 1 x", "'x' is not a whole number"), ("here --rate=", "--rate: the value is empty"),
        ("here --rate=--", "--rate: '--' is not a number"), ("here --kind=--", "'--' is none of a, b"),
        ("here --shown=--", "--shown: ignored explicit argument '--'"),
    ):
        with pytest.raises(InputError, match=re.escape(said) + ".*see x --help$"):
            parse("x", arguments, words.split())


def test_help_fits_80_columns_and_hides_what_is_seldom_needed():
    def command(model: Annotated[str, "MODEL"], out: Path, a_name_that_is_long_for_an_option: int = 3, seldom: float = 0.5) -> None:
        """Do something with a model, and say at such length what it is that the line of the help must be broken in two.

    Args:
        model: Its directory, which is described here
            on two lines.

    More:
        seldom: Seldom needed.

    Example:
        do it
    """


    said, arguments = described(command.__doc__), from_signature(command)
    short, long = (help_text("do", said, arguments, everything) for everything in (False, True))
    for text in (short, long):
        assert all(len(line) <= 80 for line in text.splitlines()) and text.startswith("usage: do MODEL --out OUT [options]")
        assert "Its directory, which is described here on two lines." in " ".join(text.split()) and text.endswith("example:\n  do it")
    assert "--seldom" not in short and "Show 1 more options" not in long and "--seldom X" in long and "[0.5]" in long


def test_a_configuration_says_what_its_settings_are_for():
    found = {argument.name: argument for argument in from_signature(TrainingConfig)}
    assert (found["steps"].kind, found["steps"].about, found["steps"].default) == (int, "updates", 100_000)
    assert found["clip_norm"].kind == float | None and found["vocab_size"].required
    assert not found.keys() & {"model", "execution"} and found["device_tokens"].about
