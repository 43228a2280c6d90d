"The package's progress bar, which adapts to where its output goes."
import sys
import threading
import time
from contextlib import suppress
from typing import TextIO
from weakref import WeakSet

from .environment import dumb_terminal

__all__ = ["EVERY", "Unfailing", "one_line", "progress_bar"]

EVERY = 60.0  # seconds between two lines


def one_line(text: str) -> str:
    "The text with its control characters escaped: a terminal obeys them, and a directory name may contain some."
    return "".join(character if character.isprintable() else ascii(character)[1:-1] for character in text)


class Unfailing:
    "A stream for messages. When it stops accepting them, because `tee` has ended or the disk is full, the work goes on."

    def __init__(self, stream: TextIO):
        self.stream = stream

    def __getattr__(self, name: str):
        return getattr(self.stream, name)

    def write(self, text: str) -> int:
        "Reports everything as written."
        with suppress(OSError):
            self.stream.write(text)
        return len(text)

    def flush(self) -> None:
        "Flush if possible."
        with suppress(OSError):
            self.stream.flush()


def in_notebook() -> bool:
    "Is this the kernel of a notebook? A script that has merely imported IPython is not."
    asked = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return getattr(asked, "kernel", None) is not None


def progress_bar(shown: bool = True, **options):
    """tqdm's bar on a terminal or in a notebook; nothing if `shown` is false, or if standard error is missing or closed.

    If the output is a file or a pipe, or the terminal is `dumb`, as for a screen reader: one line of text per minute.
    """
    from tqdm import tqdm

    options |= {"desc": one_line(options["desc"])} if options.get("desc") else {}  # tqdm's own is None

    class Apart(tqdm):
        """Bars that share no lock. All threads and forked processes share tqdm's: a process forked while a thread holds it would
        wait forever, and so would all processes once one that holds it is killed."""
        _lock, _instances = threading.RLock(), WeakSet()
        monitor_interval = 0  # otherwise tqdm starts a thread for each class of bars, and the thread outlives them

    if not shown or getattr(sys.stderr, "closed", True):  # a daemon has none
        return Apart(**options, disable=True)
    if sys.stderr.isatty() and not dumb_terminal() or in_notebook():
        return tqdm(**options)

    messages = Unfailing(sys.stderr)

    class Lines:
        "Where tqdm writes: what a terminal would keep overwriting in one place becomes a new line each time."

        def write(self, text: str) -> None:
            if text := text.strip():
                messages.write(f"{text}\n")

        def flush(self) -> None:
            messages.flush()

    class Bar(Apart):
        def write(self, text: str) -> None:  # other messages, too, wait until the work has proved to be long
            if time.time() - self.start_t >= EVERY:
                messages.write(f"{text}\n")

        def set_postfix_str(self, text: str = "", refresh: bool = False) -> None:
            super().set_postfix_str(text, refresh=False)  # the next line will say it

    often = {"delay": EVERY, "mininterval": EVERY, "maxinterval": EVERY, "miniters": 1}
    return Bar(**options | often | {"dynamic_ncols": False, "ncols": 0}, file=Lines())  # ncols 0: numbers and no bar
