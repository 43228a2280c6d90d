"Lines in, lines out."
import io
from unittest.mock import patch

import pytest

from annotated_transformer import InputError
from annotated_transformer.command_line.terminal import read_standard_input
from annotated_transformer.command_line.translate_and_parse import open_translator


def test_a_line_ends_at_a_line_feed_and_nowhere_else():
    inside = "a\u2028b\x0cc"  # other characters at which Python's splitlines would cut
    for data, lines in (("", []), ("a", ["a"]), ("a\n", ["a"]), ("a\r\n\nb\n", ["a", "", "b"]), (f"{inside}\n", [inside])):
        with patch("sys.stdin", io.TextIOWrapper(io.BytesIO(data.encode()))):
            assert read_standard_input() == lines
    with patch("sys.stdin", io.TextIOWrapper(io.BytesIO(b"a\n\xff\n"))):
        with pytest.raises(InputError, match="line 2.*UTF-8"):
            read_standard_input()


def test_a_model_of_marians_is_opened_where_its_files_lie(tmp_path):
    (tmp_path / "source.spm").write_bytes(b"")
    with pytest.raises(InputError, match="Marian"):
        open_translator(str(tmp_path))
