"""The command and the terminal: streams, messages, interruptions, and lines of standard input.

A line ends with \\n, with or without \\r before it, and nothing else ends it. `splitlines` would also cut at U+2028 and at half a
dozen other characters that occur in text from the web, and every later translation would be on the wrong line.
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
    """UTF-8 in any locale, with Python's surrogates for other bytes, as in file names, escaped; and a place for messages if
    standard error is closed. If the stream for messages fails, the work goes on."""
    sys.stderr = sys.stderr or open(os.devnull, "w", encoding="utf-8")
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            with contextlib.suppress(OSError):  # a file that was redirected into a pipe cannot be changed
                stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    if not isinstance(sys.stderr, Unfailing):
        sys.stderr = Unfailing(sys.stderr)


class Messages(logging.Handler):
    "Writes each warning of the library as one line to standard error."

    def emit(self, record: logging.LogRecord) -> None:
        "Write one."
        print(one_line(self.format(record)), file=sys.stderr)


@contextlib.contextmanager
def warnings_in_one_line() -> Iterator[None]:
    "The command prints the library's warnings itself, and nobody else prints them again."
    library, messages = logging.getLogger("annotated_transformer"), Messages()
    library.addHandler(messages)
    library.propagate = False
    try:
        yield
    finally:
        library.removeHandler(messages)
        library.propagate = True


def as_typed(path: Path) -> str:
    "A path as the shell takes it. Windows shells split words at spaces, and know only double quotation marks."
    return subprocess.list2cmdline([str(path)]) if os.name == "nt" else shlex.quote(str(path))


def draw_into_files() -> None:
    """Keep Matplotlib from opening windows, unless MPLBACKEND, or a program that draws and calls the command, says how to draw.

    By default it makes a window for each figure on macOS and Windows, even for one that is only saved; with an incomplete Tk
    the command would end with a traceback."""
    if not drawing_given() and "matplotlib.pyplot" not in sys.modules:
        import matplotlib

        matplotlib.use("agg")


def may_be_interrupted() -> None:
    """From here on Ctrl-C raises KeyboardInterrupt, and SIGTERM or a closed terminal raises SystemExit, so that half-written
    files are removed; before, they end the process immediately. The status stays that of the signal."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # in another program, which handles its own signals
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
    "A line as text, without the \\r of \\r\\n; the first one without a byte-order mark."
    try:
        return line.removeprefix(codecs.BOM_UTF8 if number == 1 else b"").decode().removesuffix("\r")
    except UnicodeDecodeError:
        raise InputError(f"standard input, line {number}, is not UTF-8: convert it first, for example with iconv") from None


END_OF_INPUT = "Ctrl-Z and Enter end" if os.name == "nt" else "Ctrl-D ends"  # what the user types
OUTPUT = "standard output"  # its name in messages
CONTROLS = {n: f"\\x{n:02x}" for n in (*range(9), *range(10, 32), *range(127, 160))}  # all but the tab


def plain_line(text: str) -> str:
    "A text that stays on one line: line ends and control characters, which files from elsewhere may contain, are escaped."
    return text.translate(CONTROLS)


def print_lines(lines: list[str]) -> None:
    "Print the lines of an answer, each on one line."
    try:
        for line in lines:
            print(plain_line(line))
        sys.stdout.flush()
    except OSError as error:
        error.filename = OUTPUT
        raise


def has_no_reader(error: Exception) -> bool:
    "Whether the reader of our output has seen enough, as after `| head`. On Windows the pipe is then an invalid argument."
    if isinstance(error, BrokenPipeError):
        return True
    # Windows calls many things an invalid argument; `give_up_output` has checked whether it is the output.
    return os.name == "nt" and isinstance(error, OSError) and error.errno == errno.EINVAL and error.filename == OUTPUT


def give_up_output(error: Exception) -> None:
    """After an error: if standard output accepts no more, as on a full disk, discard the rest, since Python would try again at
    its end and complain. An error without a name was then this one, and gets its name."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, OSError) and error.filename is None:
            error.filename = OUTPUT


def require_standard_input() -> None:
    "InputError if there is none, as after `<&-`."
    if sys.stdin is None:
        raise InputError("standard input is closed: give it a file, or a pipe")


def at_terminal() -> bool:
    "Whether a person types the input."
    return sys.stdin.isatty()


def shows(stream: TextIO | None) -> bool:
    "Whether this stream is shown on a terminal."
    return stream is not None and not stream.closed and stream.isatty()


AT_ONCE = 2_000  # lines that are answered together: their answers are written before the next are computed


def answer_lines(
    answer: Callable[[list[str], int], list[str]],  # lines, and how many came before them -> one line for each
    require: Callable[[list[str]], object],         # InputError for a line that cannot be answered
) -> None:
    """All of standard input is read, and refused if a line is wrong, before the first answer is written. If a person types, each
    line is answered as it comes, and a mistake does not end the command."""
    if at_terminal():
        for number, line in enumerate(sys.stdin.buffer, 1):
            try:
                print_lines(answer([decoded(line.removesuffix(b"\n"), number)], number - 1))
            except InputError as error:
                print(one_line(str(error)), file=sys.stderr)
        return
    require(lines := read_standard_input())
    apart = not (shows(sys.stdout) and shows(sys.stderr))  # if both are shown, answers would run through a bar that stays
    with progress_bar(len(lines) > AT_ONCE and apart, total=len(lines), unit="line", leave=False) as bar:
        for first in range(0, len(lines), AT_ONCE):
            print_lines(answer(part := lines[first : first + AT_ONCE], first))
            bar.update(len(part))
