"Progress is told where somebody may read it; where nobody can, the work goes on."
import io
import sys

import pytest

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
