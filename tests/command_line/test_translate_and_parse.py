"Lines in, lines out."
import io
from unittest.mock import patch

from annotated_transformer import InputError
from annotated_transformer.command_line.terminal import read_standard_input
from annotated_transformer.command_line.translate_and_parse import open_translator, warning


def test_a_line_ends_at_a_line_feed_and_nowhere_else():
    inside = "a\u2028b\x0cc"  # other characters at which Python's splitlines would cut
    for data, lines in (("", []), ("a", ["a"]), ("a\n", ["a"]), ("a\r\n\nb\n", ["a", "", "b"]), (f"{inside}\n", [inside])):
        with patch("sys.stdin", io.TextIOWrapper(io.BytesIO(data.encode()))):
            assert read_standard_input() == lines
    with patch("sys.stdin", io.TextIOWrapper(io.BytesIO(b"a\n\xff\n"))):
        try:
            read_standard_input()
        except InputError as error:
            assert "line 2" in str(error) and "UTF-8" in str(error)
        else:
            raise AssertionError("read what is no UTF-8")


def test_a_sentence_of_unknown_words_is_told_and_a_known_one_is_not():
    translator = open_translator("everyday-en-de")
    assert warning(translator, ["A girl reads a book.", "", "What time is it?"]) == ""
    said = warning(translator, ["A girl reads.", "Zebrafish embryos exhibit pluripotency."])
    assert said.startswith("1 of 2 lines, the first of them line 2,") and "Zebrafish" in said
    assert warning(translator, ["Zebrafish embryos exhibit pluripotency."]).startswith("the sentence has many words")
