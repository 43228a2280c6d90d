"Progress is told where somebody may read it; where nobody can, the work goes on."
import errno
import io
import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from tqdm import tqdm

from annotated_transformer.command_line.main import main
from annotated_transformer.progress_bar import progress_bar


class WriteOnly:
    "A logger that stands in for a stream."

    def write(self, text):
        pass

    def flush(self):
        pass


def closed() -> io.StringIO:
    stream = io.StringIO()
    stream.close()
    return stream


@pytest.mark.parametrize("make", [lambda: None, closed, WriteOnly], ids=["missing", "closed", "write only"])
def test_a_standard_error_that_cannot_be_used_ends_nothing(monkeypatch, make):
    monkeypatch.setattr(sys, "stderr", make())
    assert list(progress_bar(iterable=range(3))) == [0, 1, 2]
    with progress_bar(total=2) as bar:
        bar.update()
        bar.set_postfix_str("half")


def test_a_terminal_obeys_no_name_of_a_directory(monkeypatch):
    stream = io.StringIO()
    stream.isatty = lambda: True
    monkeypatch.setattr(sys, "stderr", stream)
    with progress_bar(total=1, desc="runs\x1b[2J\n", file=stream) as bar:
        bar.update()
    assert "runs\\x1b[2J\\n" in stream.getvalue() and "\x1b[2J" not in stream.getvalue()


class Gone(io.StringIO):
    "A pipe whose reader has ended, or a file on a full disk."

    def write(self, text):
        raise BrokenPipeError(errno.EPIPE, "Broken pipe")

    def flush(self):
        self.write("")


def test_messages_that_nobody_takes_end_no_work(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Gone())
    monkeypatch.setattr("annotated_transformer.progress_bar.EVERY", 0.0)
    with progress_bar(total=2) as bar:
        bar.update()
        bar.write("half")
    with pytest.raises(SystemExit) as end:
        main(["no such command"])
    assert end.value.code == 2 and list(progress_bar(iterable=range(3), desc=None)) == [0, 1, 2]


SLOW = "from annotated_transformer import progress_bar as p; p.EVERY = 0; bar = p.progress_bar(iterable=range(3)); print(*bar)"


def test_a_service_keeps_it_out_of_its_log():
    for silent, lines in (("", True), ("1", False)):
        done = subprocess.run([sys.executable, "-c", SLOW], capture_output=True, text=True, env=os.environ | {"TQDM_DISABLE": silent})
        assert done.stdout.split() == ["0", "1", "2"] and bool(done.stderr) == lines


@pytest.mark.skipif(not hasattr(os, "fork"), reason="not on Windows")
@pytest.mark.parametrize("shown", [True, False])
def test_a_process_that_is_forked_while_a_bar_is_drawn_waits_for_nobody(shown, monkeypatch):
    monkeypatch.setattr(sys, "stderr", io.StringIO())  # a terminal's bars keep the lock of tqdm
    with ThreadPoolExecutor(1) as other:
        other.submit(tqdm.get_lock().acquire).result()
        if (child := os.fork()) == 0:
            try:
                signal.signal(signal.SIGALRM, signal.SIG_DFL)
                signal.alarm(60)  # ends it where it waits
                with progress_bar(shown, total=2) as bar:
                    bar.update()
                os._exit(0)
            finally:
                os._exit(1)
        status = os.waitpid(child, 0)[1]
        other.submit(tqdm.get_lock().release).result()
    assert status == 0
