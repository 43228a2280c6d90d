"Lines in, lines out: where a person types, a mistake ends nothing; and an answer gives no orders to the terminal."
import contextlib
import io
import logging
import os
import sys
import types

import pytest

from annotated_transformer import InputError
from annotated_transformer.command_line import terminal
from annotated_transformer.command_line.arguments import from_signature, parse
from annotated_transformer.command_line.draw_and_export import attend


@pytest.fixture()
def answers(monkeypatch, capsys):
    "What is answered to bytes of standard input, by a person or from a pipe."

    def ask(data, answer, typed, require=lambda lines: None):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data), encoding="ascii"))
        monkeypatch.setattr(terminal, "at_terminal", lambda: typed)
        terminal.answer_lines(lambda lines, before: answer(lines), require)
        return capsys.readouterr()

    return ask


def shout(lines):
    if "long" in lines:
        raise InputError("sentence 1 is too long")
    return [line.upper() for line in lines]


def test_a_mistake_at_a_terminal_is_told_and_the_session_goes_on(answers):
    out, err = answers(b"eins\ncaf\xe9\nlong\nf\xc3\xbcnf\r\nsechs", shout, True)
    assert out == "EINS\nFÜNF\nSECHS\n"
    assert err.splitlines() == [
        "standard input, line 2, is not UTF-8: convert it first, for example with iconv", "sentence 1 is too long"]


def test_what_a_person_types_is_counted_and_a_mistake_of_two_lines_is_told_in_one(monkeypatch, capsys):
    def answer(lines, before):
        raise InputError(f"sentence {before + 1}\nis too long")

    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a\nb\nc\n")))
    monkeypatch.setattr(terminal, "at_terminal", lambda: True)
    terminal.answer_lines(answer, lambda lines: None)
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 3 and all(line.startswith(f"sentence {n}") for n, line in enumerate(said, 1))


def test_what_is_written_is_utf_8_whatever_the_locale_and_a_name_of_other_bytes_ends_nothing(monkeypatch):
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="ascii"))
    monkeypatch.setattr(sys, "stderr", None)
    terminal.open_streams()
    print("fünf \udcff", flush=True)
    print("fünf", file=sys.stderr, flush=True)
    assert raw.getvalue() == "fünf \\udcff\n".encode()


def test_others_hear_the_librarys_warnings_again_after_the_command():
    library = logging.getLogger("annotated_transformer")
    before = [*library.handlers]
    with terminal.warnings_in_one_line():
        assert not library.propagate and len(library.handlers) == len(before) + 1
    assert library.propagate and library.handlers == before


@pytest.mark.parametrize("typed", [False, True])
def test_a_byte_order_mark_is_no_part_of_the_first_line(answers, typed):
    mark = "\ufeff"
    out, _ = answers(f"{mark}ein{mark}s\n{mark}zwei\n".encode(), shout, typed)
    assert out == f"EIN{mark}S\n{mark}ZWEI\n"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no such device here")
def test_a_disk_that_is_full_before_the_last_line_is_told_with_the_name_of_the_stream(answers, monkeypatch):
    with contextlib.suppress(OSError), open("/dev/full", "w") as full:
        monkeypatch.setattr(sys, "stdout", full)
        with pytest.raises(OSError, match="No space left on device: 'standard output'"):
            answers(b"eins\n" * 5_000, shout, False)


def test_a_part_is_written_before_the_next_is_answered_and_all_lines_are_asked_for_first(monkeypatch):
    written, asked = io.StringIO(), []

    def answer(lines, before):
        asked.append((len(lines), before, written.getvalue().count("\n")))
        return lines

    def require(lines):
        asked.append(len(lines))
        if "wrong" in lines:
            raise InputError("line 1 is wrong")

    monkeypatch.setattr(terminal, "AT_ONCE", 4)
    monkeypatch.setattr(terminal, "at_terminal", lambda: False)
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw := io.BytesIO(), write_through=False))
    monkeypatch.setattr(written, "getvalue", lambda: raw.getvalue().decode())  # what a kill would leave
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a\n" * 9)))
    terminal.answer_lines(answer, require)
    assert asked == [9, (4, 0, 0), (4, 4, 4), (1, 8, 8)] and raw.getvalue() == b"a\n" * 9
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a\n" * 9 + b"wrong")))
    with pytest.raises(InputError, match="line 1 is wrong"):
        terminal.answer_lines(answer, require)
    assert asked[4:] == [10] and raw.getvalue() == b"a\n" * 9


@pytest.mark.parametrize("lines, seen, shown", [
    (9, "", True), (9, "stderr", True), (9, "stdout", True), (9, "stdout stderr", False), (4, "", False)])
def test_a_bar_says_how_far_all_lines_are_but_among_answers(answers, monkeypatch, lines, seen, shown):
    asked = []
    monkeypatch.setattr(terminal, "AT_ONCE", 4)
    monkeypatch.setattr(terminal, "progress_bar", lambda *given, **options: asked.append(given) or contextlib.nullcontext(
        types.SimpleNamespace(update=asked.append)))
    monkeypatch.setattr(terminal, "shows", lambda stream: ("stderr" if stream is sys.stderr else "stdout") in seen)
    answers(b"a\n" * lines, shout, False)
    assert asked == [(shown,), *([4, 4, 1] if lines == 9 else [4])]


@pytest.mark.parametrize("data, said", [
    (b"\x1f\x8b\x08\x00", "standard input is compressed by gzip: unpack it, as by gunzip -c"),
    ("a\n".encode("utf-16"), "standard input is UTF-16: convert it, as by iconv -f UTF-16 -t UTF-8"),
    ("a\n".encode("utf-16-be"),
     "standard input is UTF-16 without a byte-order mark: convert it, as by iconv -f UTF-16BE -t UTF-8")])
def test_other_kinds_of_files_are_told_by_what_they_are(answers, data, said):
    with pytest.raises(InputError) as error:
        answers(data, shout, False)
    assert str(error.value) == said


@pytest.mark.parametrize("typed", [False, True])
def test_an_answer_is_one_line_without_control_characters(answers, typed):
    out, _ = answers(b"a\nb\n", lambda lines: ["x\ny\x1b[2J\r\x85\tz\u00a0\u200d" for _ in lines], typed)
    assert out == 2 * "x\\x0ay\\x1b[2J\\x0d\\x85\tz\u00a0\u200d\n"


def test_a_text_that_begins_like_an_option_stands_behind_two_dashes():
    arguments = from_signature(attend)
    given = parse("attend", arguments, ["--out", "x.svg", "--", "-Five"])
    assert given["sentence"] == "-Five"
    assert parse("attend", arguments, ["--out", "x.svg", "--", "--out"])["sentence"] == "--out"
    for words, said in ((["-Five", "--out", "x.svg"], "no option -Five, and a text that begins with - goes after --"),
                        (["--out", "x.svg", "--", "a", "-b"], "'-b' is one word too many"),
                        (["--out", "x.svg", "a", "b" * 5_000], f"^'{'b' * 40}' is one word too many"),
                        (["", "--out", "x.svg"], "the value is empty")):
        with pytest.raises(InputError, match=said):
            parse("attend", arguments, words)


@pytest.mark.parametrize("system, path, typed", [
    ("nt", "runs\\mine", "runs\\mine"), ("nt", "C:\\my runs\\one", '"C:\\my runs\\one"'), ("posix", "my runs/one", "'my runs/one'"),
])
def test_what_to_type_next_is_quoted_as_the_system_wants_it(monkeypatch, system, path, typed):
    monkeypatch.setattr(terminal, "os", types.SimpleNamespace(name=system))
    assert terminal.as_typed(path) == typed
