"Lines of several sentences: a list, most of it written before the rule was, and what no text may do to it."
from pathlib import Path

import pytest

from annotated_transformer.data.sentences import split_sentences

CASES = [line.split(" | ") for line in Path(__file__).with_name("sentences.txt").read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("sentences", CASES, ids=" ".join)
def test_a_line_is_cut_where_a_reader_would_cut_it(sentences):
    assert split_sentences(" ".join(sentences)) == sentences


@pytest.mark.parametrize("line", ["My flight is at 9 p.m. Paul will drive me.", "He lives at 12 King St. Peter lives next door."])
def test_where_only_the_meaning_tells_it_does_not_cut(line):
    assert split_sentences(line) == [line]


def test_blanks_between_sentences_go_and_those_within_stay():
    assert split_sentences("A  dog.\t\n It  ran.\u3000Far. ") == ["A  dog.", "It  ran.", "Far. "]
    assert split_sentences("") == [""] and split_sentences("  ") == ["  "] and split_sentences("No end") == ["No end"]
    assert split_sentences("你好，世界。你好。\u3000再见！\n") == ["你好，世界。", "你好。", "再见！\n"]


@pytest.mark.parametrize("text", ["!" * 300_000, "!)" * 200_000, "! " + " " * 300_000 + "x", "Mr. X" * 60_000, "U." * 200_000 + " x",
                                  "。" * 300_000, "。 " + " " * 300_000 + "”", "。”" * 200_000])
def test_hostile_texts_are_read_to_their_end(text):  # where each sign looked at all others, this would take hours
    assert "".join(split_sentences(text)).replace(" ", "") == text.replace(" ", "")
