"""The `annotated-transformer` command: which words call which function, and how a mistake is reported.

`--help` and `--version` answer immediately, so nothing here loads PyTorch; each command loads what it uses, after reading its
options. Our errors show where in the code they happened, in a traceback. The user's errors say what to do, in one sentence,
with status 2.
"""
import re
import sys

from .. import InputError, __version__
from ..environment import blamed, require_docstrings
from ..progress_bar import one_line
from .arguments import call, perhaps, wrapped
from .draw_and_export import attend, export, page
from .options import Train, Variations
from .terminal import give_up_output, has_no_reader, open_streams, warnings_in_one_line
from .train_and_score import average, cost, list_corpora, score_command, train_command, variations_command
from .translate_and_parse import parse_command, translate
from .workbook import workbook_command

__all__ = ["COMMANDS", "main", "overview", "run_command"]

COMMANDS = {
    "translate": translate, "train": Train, "score": score_command, "attend": attend, "average": average, "export": export,
    "corpora": list_corpora, "cost": cost, "variations": Variations, "parse": parse_command,
    "page": page, "workbook": workbook_command,
}
WITH_PRESETS = {"train": train_command, "variations": variations_command}  # their options depend on one another


def overview() -> str:
    "What there is to do, one line for each command."
    lines = ["usage: annotated-transformer COMMAND [options]", "", "\"Attention Is All You Need\", in practice.", ""]
    for name, command in COMMANDS.items():
        first = command.__doc__.splitlines()[0]
        lines += wrapped(f"  {name:<12}{first}", " " * 14)
    more = "`annotated-transformer COMMAND --help` shows the options of a command, --version says which version this is."
    lines += ["", *wrapped(more, "")]
    return "\n".join(lines)


def run_command(arguments: list[str]) -> None:
    "Run the command that the words ask for."
    for word in arguments:
        if "\0" in word or any("\ud800" <= character <= "\udfff" for character in word):  # Python's stand-ins for other bytes
            raise InputError(f"{word[:40]!a}: this is not text in your locale (LC_ALL=C.UTF-8 takes UTF-8), or has a zero byte")
    if arguments[:1] == ["help"]:
        arguments = [*arguments[1:], "--help"]
    if not arguments or arguments[0] in ("--help", "-h"):
        print(overview())
    elif arguments[0] == "--version":
        print(f"annotated-transformer {__version__}")
    elif arguments[0] in WITH_PRESETS:
        WITH_PRESETS[arguments[0]](arguments[1:])
    elif arguments[0] in COMMANDS:
        call(COMMANDS[arguments[0]], arguments[1:], f"annotated-transformer {arguments[0]}")
    else:
        near = perhaps(arguments[0], list(COMMANDS)) or f"; choose one of {', '.join(COMMANDS)}"
        raise InputError(f"there is no command {arguments[0]!r}{near}")


def main(
    arguments: list[str] | None = None,  # None: those of the process
) -> None:
    "The `annotated-transformer` command. A user's mistake ends it with one sentence and status 2."
    arguments = sys.argv[1:] if arguments is None else arguments
    open_streams()
    try:
        if sys.stdout is None:
            raise InputError("standard output is closed: give it a file, or /dev/null")
        require_docstrings()
        with warnings_in_one_line():
            run_command(arguments)
        sys.stdout.flush()
    except (InputError, OSError) as error:  # OSError: no permission, a full disk; it names its file
        if sys.stdout is not None:
            give_up_output(error)
        if has_no_reader(error):
            sys.exit(1)
        sentence = isinstance(error, OSError) and blamed(error) or re.sub(r"^\[Errno \d+\] ", "", str(error))
        print(f"annotated-transformer: {one_line(sentence)}", file=sys.stderr)
        sys.exit(2)
    except Exception as error:
        if (sentence := blamed(error)) is None:
            raise
        print(f"annotated-transformer: {one_line(sentence)}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        if arguments and arguments[0] in WITH_PRESETS:
            print("stopped; the same command continues a training from its last checkpoint", file=sys.stderr)
        sys.exit(130)
