"""The command and the terminal: streams, messages, interruptions, and lines of standard input.

A line ends with \\n, with \\r before it or not, and nothing else ends it. `splitlines` would also cut at U+2028 and at half a
dozen other characters that occur in text from the web, and every translation after it would stand beside the wrong sentence.
"""
import codecs
import contextlib
import errno
import logging
import os
import shlex
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TextIO

from .. import InputError
from ..environment import drawing_given
from ..files import what_it_is
from ..progress_bar import Unfailing, one_line, progress_bar

__all__ = ["END_OF_INPUT", "answer_lines", "as_typed", "at_terminal", "draw_into_files", "give_up_output", "has_no_reader",
           "may_be_interrupted", "open_streams", "plain_line", "require_standard_input", "warnings_in_one_line"]


def open_streams() -> None:
    """UTF-8 whatever the locale says, where Python's stand-ins for other bytes, as in the names of files, are written out; and a
    place for messages, if standard error is closed. One that takes no more ends no work."""
    sys.stderr = sys.stderr or open(os.devnull, "w", encoding="utf-8")
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            with contextlib.suppress(OSError):  # one that was a file, and was led into a pipe, cannot be told
                stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    if not isinstance(sys.stderr, Unfailing):
        sys.stderr = Unfailing(sys.stderr)


class Messages(logging.Handler):
    "Puts each warning of the library on a line of standard error."

    def emit(self, record: logging.LogRecord) -> None:
        "Write one."
        print(one_line(self.format(record)), file=sys.stderr)


@contextlib.contextmanager
def warnings_in_one_line() -> Iterator[None]:
    "The command says the library's warnings itself, and nobody else says them again."
    library, messages = logging.getLogger("annotated_transformer"), Messages()
    library.addHandler(messages)
    library.propagate = False
    try:
        yield
    finally:
        library.removeHandler(messages)
        library.propagate = True


def as_typed(path: Path) -> str:
    "A path as the shell takes it. Those of Windows part words at blanks, and know double quotation marks alone."
    return subprocess.list2cmdline([str(path)]) if os.name == "nt" else shlex.quote(str(path))


def draw_into_files() -> None:
    """Let Matplotlib open no window, unless MPLBACKEND, or a program that draws and calls the command, says how to draw.

    Of itself it makes one for each figure on macOS and Windows, also for one that is only saved; where Tk is not whole, the
    command would end with a traceback."""
    if not drawing_given() and "matplotlib.pyplot" not in sys.modules:
        import matplotlib

        matplotlib.use("agg")


def may_be_interrupted() -> None:
    """From here on Ctrl-C raises KeyboardInterrupt, and SIGTERM or a closed terminal SystemExit, so that what is half written is
    removed; before, they end the process at once. The status stays that of the signal."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # in another program, whose signals are its own
        return
    if signal.getsignal(signal.SIGINT) == signal.SIG_DFL:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)):  # nohup ignores the second
        if threading.current_thread() is threading.main_thread() and signal.getsignal(number) == signal.SIG_DFL:
            signal.signal(number, lambda number, frame: sys.exit(128 + number))


def read_standard_input() -> list[str]:
    r"The lines of standard input, which end at \n or \r\n and nowhere else; InputError for one that is not UTF-8."
    data = sys.stdin.buffer.read()
    if kind := what_it_is(data):
        raise InputError(f"standard input {kind}")
    lines = data.removesuffix(b"\n").split(b"\n") if data else []
    return [decoded(line, number) for number, line in enumerate(lines, 1)]


def decoded(line: bytes, number: int) -> str:
    "A line as text, without the \\r of \\r\\n, and the first without a byte-order mark."
    try:
        return line.removeprefix(codecs.BOM_UTF8 if number == 1 else b"").decode().removesuffix("\r")
    except UnicodeDecodeError:
        raise InputError(f"standard input, line {number}, is not UTF-8: convert it first, for example with iconv") from None


END_OF_INPUT = "Ctrl-Z and Enter end" if os.name == "nt" else "Ctrl-D ends"  # what is typed
OUTPUT = "standard output"  # as messages call it
CONTROLS = {n: f"\\x{n:02x}" for n in (*range(9), *range(10, 32), *range(127, 160))}  # all but the tab


def plain_line(text: str) -> str:
    "A text that stays one line: what files from elsewhere may hold of line ends, or orders to a terminal, is written out."
    return text.translate(CONTROLS)


def print_lines(lines: list[str]) -> None:
    "Lines of an answer, each in one line."
    try:
        for line in lines:
            print(plain_line(line))
        sys.stdout.flush()
    except OSError as error:
        error.filename = OUTPUT
        raise


def has_no_reader(error: Exception) -> bool:
    "Whether whoever read our output has seen enough, as after `| head`. On Windows their pipe is then an invalid argument."
    if isinstance(error, BrokenPipeError):
        return True
    # Windows calls much an invalid argument; `give_up_output` has tried whether it is the output.
    return os.name == "nt" and isinstance(error, OSError) and error.errno == errno.EINVAL and error.filename == OUTPUT


def give_up_output(error: Exception) -> None:
    """After an error: where standard output takes nothing more, as on a full disk, let go of the rest, since Python would try
    again at its end and say so; an error without a name was then this one, and gets its name."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, OSError) and error.filename is None:
            error.filename = OUTPUT


def require_standard_input() -> None:
    "InputError where there is none, as after `<&-`."
    if sys.stdin is None:
        raise InputError("standard input is closed: give it a file, or a pipe")


def at_terminal() -> bool:
    "Whether a person types the input."
    return sys.stdin.isatty()


def shows(stream: TextIO | None) -> bool:
    "Whether what is written there is seen on a terminal."
    return stream is not None and not stream.closed and stream.isatty()


AT_ONCE = 2_000  # lines that are answered together: what is answered is written before the next are


def answer_lines(
    answer: Callable[[list[str], int], list[str]],  # lines, and how many were before them -> one line for each
    require: Callable[[list[str]], object],         # InputError for a line that cannot be answered
) -> None:
    """All of standard input is read, and refused if a line is wrong, before the first answer is written. Where a person types,
    each line is answered as it comes, and a mistake ends nothing."""
    if at_terminal():
        for number, line in enumerate(sys.stdin.buffer, 1):
            try:
                print_lines(answer([decoded(line.removesuffix(b"\n"), number)], number - 1))
            except InputError as error:
                print(one_line(str(error)), file=sys.stderr)
        return
    require(lines := read_standard_input())
    apart = not (shows(sys.stdout) and shows(sys.stderr))  # where both are seen, answers would run through a bar that stays
    with progress_bar(len(lines) > AT_ONCE and apart, total=len(lines), unit="line", leave=False) as bar:
        for first in range(0, len(lines), AT_ONCE):
            print_lines(answer(part := lines[first : first + AT_ONCE], first))
            bar.update(len(part))
