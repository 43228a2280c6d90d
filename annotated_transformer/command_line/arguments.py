"Options of a command, built from its function's signature and docstring; a mistake is reported in one sentence."
import argparse
import dataclasses
import difflib
import inspect
import os
import re
import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Literal, NamedTuple, NoReturn, Union, get_args, get_origin

from .. import InputError
from ..files import named

__all__ = ["HELP", "Argument", "call", "described", "from_signature", "help_text", "parse", "perhaps", "wrapped"]


class Argument(NamedTuple):
    "One thing that a command takes."

    name: str                 # of the parameter or the field
    kind: object              # its type
    about: str = ""           # one line of help
    default: object = None
    required: bool = False
    positional: str = ""      # its name in the help if it is not an option
    also: str = ""            # another name of the option
    first: bool = True        # shown by --help; the others only by --help-all

    @property
    def option(self) -> str:
        "`--warmup-steps` for `warmup_steps`, `--for` for `for_`, since `for` is a keyword of Python."
        return "--" + self.name.rstrip("_").replace("_", "-")


class Described(NamedTuple):
    "What a docstring says about a command."

    about: str
    arguments: dict[str, str]   # the entries under `Args:` and `More:`
    more: set[str]              # the names under `More:`
    example: str


def described(docstring: str | None) -> Described:
    "Take a docstring apart at its headings Args, More and Example."
    about, *rest = re.split(r"^(Args|More|Example):\n", inspect.cleandoc(docstring or ""), flags=re.MULTILINE)
    parts = dict(zip(rest[::2], rest[1::2]))
    entry = re.compile(r"^    (\w+): (.*(?:\n {5,}.*)*)", re.MULTILINE)
    found = {name: dict(entry.findall(parts.get(name, ""))) for name in ("Args", "More")}
    texts = {name: " ".join(text.split()) for part in found.values() for name, text in part.items()}
    return Described(about.strip(), texts, set(found["More"]), inspect.cleandoc(parts.get("Example", "")))


def from_signature(
    command: Callable,  # a function, or a dataclass
) -> list[Argument]:
    "An option for each parameter, or for each field if it is a dataclass; `Annotated[..., \"MODEL\"]` is positional instead."
    said, found = described(command.__doc__), []
    for name, parameter in inspect.signature(command).parameters.items():
        kind, mark = parameter.annotation, ""
        if dataclasses.is_dataclass(kind):
            found += from_signature(kind)
            continue
        if get_origin(kind) is Annotated:
            kind, mark = get_args(kind)
        place, also = ("", mark) if mark.startswith("--") else (mark, "")
        required = parameter.default is parameter.empty
        default = None if required else parameter.default
        about = said.arguments.get(name, "")
        found.append(Argument(name, kind, about, default, required, place, also, name not in said.more))
    return found


def parts_of(kind: object) -> tuple[type, tuple, bool, bool]:
    "For an annotation: the type of a value, the values to choose from, whether None is allowed, whether there may be several."
    optional = many = False
    if get_origin(kind) in (UnionType, Union):  # `Literal[...] | None` is the latter
        kind, optional = next(part for part in get_args(kind) if part is not NoneType), True
    if get_origin(kind) is tuple:
        kind, many = get_args(kind)[0], True
    choices = get_args(kind) if get_origin(kind) is Literal else ()
    return (str if choices else kind), choices, optional, many


def reader(argument: Argument) -> Callable[[str], object]:
    "The function that turns a word into a value."
    kind, choices, optional, _ = parts_of(argument.kind)

    def read(word: str) -> object:
        if optional and word == "None":
            return None
        word = word.removeprefix(PLAIN)
        if not (word.strip() if kind is Path else word):
            raise argparse.ArgumentTypeError("the value is empty: give one, or leave the option out")
        if choices and word not in choices:
            raise argparse.ArgumentTypeError(f"{word!r} is none of {', '.join(choices)}{perhaps(word, choices)}")
        if kind is bool:
            if word not in ("True", "False"):
                raise argparse.ArgumentTypeError(f"{word[:40]!r} is neither True nor False")
            return word == "True"
        try:
            return named(word) if kind is Path else kind(word)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{word[:40]!r} is not a {'whole ' * (kind is int)}number") from None

    return read


def perhaps(word: str, known: Sequence[str]) -> str:
    "`; did you mean train?`, or nothing."
    near = difflib.get_close_matches(word, known, 1)
    return f"; did you mean {near[0]}?" if near else ""


class OneSentence(argparse.ArgumentParser):
    "argparse that reports a mistake in one sentence."

    def error(self, message: str) -> NoReturn:
        "Raise what argparse has found wrong."
        message = message.replace(repr(PLAIN)[1:-1], "")  # argparse shows words by repr
        message = message.removeprefix("argument ").replace("expected one argument", "a value is missing")
        names = message.removeprefix("the following arguments are required: ")
        if names != message:
            message = f"{names.replace(', ', ' and ')} {'are' if ',' in names else 'is'} missing"
        raise InputError(f"{message}; see {self.prog} --help")


def make_parser(prog: str, arguments: Sequence[Argument]) -> OneSentence:
    "argparse's parser for these arguments; arguments not given have no value."
    parser = OneSentence(prog=prog, add_help=False, allow_abbrev=False, argument_default=argparse.SUPPRESS, usage="")
    for argument in arguments:
        kind, _, optional, many = parts_of(argument.kind)
        settings = {"type": reader(argument)}
        if argument.positional:
            times = ("+" if many else None) if argument.required else ("*" if many else "?")
            parser.add_argument(argument.name, metavar=argument.positional, nargs=times, **settings)
            continue
        if many:
            settings["nargs"] = "*"
        if kind is bool:
            settings = settings | {"nargs": "?", "const": True} if optional else {"action": "store_true"}
            parser.add_argument(f"--no-{argument.option[2:]}", dest=argument.name, action="store_false")
        names = [argument.option, *filter(None, [argument.also])]
        parser.add_argument(*names, dest=argument.name, required=argument.required, **settings)
    return parser


HELP = ("--help", "-h", "--help-all")
FILTERS = (" translate", " parse")  # the commands that read standard input
PLAIN = "\0"  # marks a word after --, which is not an option; no word from a shell contains it


def parse(
    prog: str,                       # annotated-transformer score
    arguments: Sequence[Argument],
    words: Sequence[str],            # as the shell gives them
) -> dict[str, object]:              # what is given, by the names of the parameters
    "Turn the words into values; InputError names the word that is wrong."
    parser = make_parser(prog, arguments)
    known = [option for action in parser._actions for option in action.option_strings]
    normal, end = [], words.index("--") if "--" in words else len(words)
    for word in words[:end]:
        name, equals, value = word.partition("=")
        if re.fullmatch(r"-[^-\d. ][^ ]*", word) and word not in known:
            raise InputError(f"there is no option {word}, and a text that begins with - goes after --; see {prog} --help")
        if name.startswith("--") and " " not in name:
            name = name.replace("_", "-")  # --d_k is --d-k
            if name not in known and name[2:].upper() in (argument.positional for argument in arguments):
                raise InputError(f"there is no option {name}: {name[2:].upper()} is given without an option; see {prog} --help")
            if name not in known:
                raise InputError(f"there is no option {name}{perhaps(name, known)}; see {prog} --help")
            word = name + equals + PLAIN * (value == "--") + value  # argparse would take the value -- for no value
        normal.append(word)
    given, rest = parser.parse_known_intermixed_args([*normal, *(PLAIN + word for word in words[end + 1 :])])
    if rest:
        word = rest[0].removeprefix(PLAIN)
        if prog.endswith(FILTERS) and os.path.isfile(word):
            raise InputError(f"{word!r} is one word too many: the text comes from standard input, as in {prog} MODEL < {word}")
        raise InputError(f"{word[:40]!r} is one word too many; see {prog} --help")
    # An omitted positional: Python 3.11.7 makes a value from the mark that says so.
    values = {name: value for name, value in vars(given).items() if str(value) != argparse.SUPPRESS}
    return {name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}


def call(command: Callable, words: Sequence[str], prog: str) -> None:
    "Show the help of a command, or read its arguments and call it."
    arguments = from_signature(command)
    if asked := [word for word in words if word in HELP]:
        print(help_text(prog, described(command.__doc__), arguments, "--help-all" in asked))
        return
    given = parse(prog, arguments, words)
    for name, parameter in inspect.signature(command).parameters.items():
        if dataclasses.is_dataclass(kind := parameter.annotation):
            own = {field.name for field in dataclasses.fields(kind)} & given.keys()
            given[name] = kind(**{field: given.pop(field) for field in own})
    command(**given)


WIDTH, INDENT = 80, 26


def help_text(
    prog: str,
    said: Described,
    arguments: Sequence[Argument],
    everything: bool,                    # or only the first arguments
    defaults: dict | None = None,        # if they are not those of the signature
) -> str:
    "The help of a command, 80 columns wide."
    places = [argument for argument in arguments if argument.positional]
    options = [argument for argument in arguments if not argument.positional]
    shown = [argument for argument in options if argument.first or everything]
    names = [argument.positional + " ..." * parts_of(argument.kind)[3] for argument in places]
    usage = [name if argument.required else f"[{name}]" for name, argument in zip(names, places)]
    usage += [f"{argument.option} {value_name(argument)}" for argument in options if argument.required]
    lines = [*wrapped(f"usage: {' '.join([prog, *usage, '[options]'])}", "  "), "", *wrapped(said.about, ""), ""]
    for argument in [*places, *shown]:
        lines += entry(argument, argument.default if defaults is None else defaults.get(argument.name))
    hidden = len(options) - len(shown)
    lines += entry(Argument("help", bool, "Show this."), None)
    if hidden or everything:
        about = f"Show {hidden} more options." if hidden else "Show all options, as here."
        lines += entry(Argument("help_all", bool, about), None)
    if said.example:
        lines += ["", "example:" if "\n" not in said.example else "examples:", textwrap.indent(said.example, "  ")]
    return "\n".join(lines)


def wrapped(text: str, indent: str) -> list[str]:
    "Lines of a paragraph; the second and all others are indented."
    return textwrap.wrap(text, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def value_name(argument: Argument) -> str:
    "The name of the value in the help: N, NUMBER, the choices, or the option's name in capitals."
    kind, choices, _, many = parts_of(argument.kind)
    names = {int: "N", float: "X", bool: ""}
    return ("{" + ",".join(choices) + "}" if choices else names.get(kind, argument.name.rstrip("_").upper())) + " ..." * many


def entry(argument: Argument, default: object) -> list[str]:
    "The lines of one argument."
    option = f"--no-{argument.option[2:]}" if argument.default is True else argument.option  # the form that changes something
    name = argument.positional or f"{option} {value_name(argument)}".strip()
    shown = "" if default in (None, (), "") or isinstance(default, bool) else f" [{default}]"
    about = textwrap.wrap(argument.about + shown, WIDTH - INDENT, break_on_hyphens=False) or [""]
    head = f"  {name}"
    if len(head) + 2 > INDENT:
        return [head, *(" " * INDENT + line for line in about)]
    return [head.ljust(INDENT) + about[0], *(" " * INDENT + line for line in about[1:])]
