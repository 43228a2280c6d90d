"Lines in, translations out: cut, joined, and how sure the model is; by a tokenizer and a search that are written out here."
import math
from types import SimpleNamespace

import pytest

from annotated_transformer import EOS, UNK, InputError
from annotated_transformer.translation.lines import (
    UNSURE,
    WHOLE,
    Translation,
    in_capitals,
    joined,
    numbers_differ,
    sentences_of,
    translate_lines,
)

WORDS = ["<pad>", "<eos>", "<unk>"]


class Words:
    "Each word is a token; words with an x are unknown."

    def encode(self, text):
        for word in text.split():
            if word not in WORDS and "x" not in word:
                WORDS.append(word)
        return [UNK if "x" in word else WORDS.index(word) for word in text.split()] + [EOS]

    def encode_all(self, texts):
        return [self.encode(text) for text in texts]

    def decode(self, ids):
        return " ".join(WORDS[i] for i in ids)


def shout(ids):
    "Copies each sentence but for its last word, a nat lost for each token of the source."
    return [SimpleNamespace(tokens=row[:-2], log_probability=-len(row), score=-len(row) / 2, ended=True) if len(row) > 1 else None
            for row in ids]


def of(lines, below=None, split=True, longest=100):
    return translate_lines(lines, Words(), longest, shout, below, split)


LONG = "We had " + "very " * WHOLE + "much rain. Did you see it? No."
SHORT = "We came. You left."


def test_a_line_is_cut_and_joined_and_two_short_sentences_stay_together():
    assert sentences_of(SHORT, Words()) == [SHORT] and len(sentences_of(LONG, Words())) == 3
    assert sentences_of("Go. Run. Hide.", Words()) == ["Go.", "Run.", "Hide."], "only two stay together"
    found = of(["", LONG, SHORT, "   ", "One."])
    assert [one.text for one in found] == ["", LONG.replace(" rain.", "").replace(" it?", "").replace(" No.", ""), "We came. You", "", ""]
    assert of([LONG], split=False)[0].text == LONG.removesuffix(" No.")
    assert of([]) == []


def test_what_is_no_text_is_refused_by_its_number():
    for lines, said in ((["a", None], "sentence 2 is not a str, but of the type NoneType"),
                        ([["a"]], "sentence 1 is not a str, but of the type list"),
                        (["a", "b \ud83d"], "sentence 2 holds half a character (a lone surrogate)"),
                        (b"a", "sentence 1 is not a str, but of the type int"), (None, "give a text or a list of texts, not None"),
                        ("A dog runs.", "give a list of texts, not one: ['A dog runs.']")):
        with pytest.raises(InputError) as refused:
            of(lines)
        assert str(refused.value).startswith(said)
    with pytest.raises(InputError, match="^sentence 2 is not a str, but of the type bytes"):
        of(["a", b"b"], split=False)
    with pytest.raises(InputError, match="^the text is not a str, but of the type list: give one text$"):
        sentences_of(["a"], Words())
    assert [one.text for one in of(line for line in ("one two", "three four"))] == ["one", "three"]


@pytest.mark.parametrize("words, parts", [(WHOLE - 1, 1), (WHOLE, 2)])  # and the EOS
def test_the_longest_pair_that_stays_whole(words, parts):
    line = "Go. " + "Far " * (words - 1)
    assert len(Words().encode(line)) == words + 1 and len(sentences_of(line, Words())) == parts


def test_chinese_sentences_are_joined_without_a_blank():
    for parts, text in (("我很好。 你好！ 我们走", "我很好。你好！我们走"), ("「そうだ」 本当？ はい", "「そうだ」本当？はい"),
                        ("Go! No. (Yes.) So", "Go! No. (Yes.) So")):
        assert joined([*map(Translation, parts.split())]).text == text


def test_log_probabilities_and_tokens_add_up():
    (one,) = of([LONG])
    lengths = [len(sentence.split()) + 1 for sentence in sentences_of(LONG, Words())]  # of the sources, with EOS
    assert one.log_probability == -sum(lengths) and one.tokens == sum(length - 1 for length in lengths)
    assert one.log_probability_per_token == one.log_probability / one.tokens
    assert one.score is None and of([LONG], split=False)[0].score == -(len(LONG.split()) + 1) / 2  # scores do not add up
    (blank,) = of([""], below=-0.1)
    assert blank == Translation("") == Translation("", 0.0, 0, False) and blank.log_probability_per_token == 0 and not blank.doubtful and blank.warning == ""


def test_one_doubtful_sentence_is_enough_and_a_model_without_a_threshold_never_doubts():
    # n words have the mean -(n + 1) / n: "No." -2, "Did you see it?" -5/4, and the first sentence hardly below -1.
    assert [of([LONG], below)[0].doubtful for below in (-1.9, -2.1)] == [True, False]
    assert [of([LONG], below, split=False)[0].doubtful for below in (-1.9, -1.01)] == [False, True]
    assert [one.doubtful for one in of(["Did you see it?", "No."], -1.9)] == [False, True]
    assert not any(one.doubtful for one in of([LONG, "No.", "A xx."])) and of(["No."])[0].warning == ""
    assert of(["No."], -1.9)[0].warning == UNSURE and "\n" not in UNSURE


def test_what_has_no_number_is_doubtful():
    def lost(ids):
        return [SimpleNamespace(tokens=row[:-1], log_probability=math.nan, score=math.nan, ended=True) for row in ids]

    assert [translate_lines(["A dog."], Words(), 100, lost, below)[0].doubtful for below in (-50, None)] == [True, False]


def test_a_translation_without_an_end_is_doubtful_and_counts_no_token_for_it():
    def without_end(ids):  # but for those of four tokens; all are likelier than the threshold
        return [SimpleNamespace(tokens=row, log_probability=-0.5, score=-0.1, ended=len(row) == 4) for row in ids]

    lines = ["We saw it.", "So we ran and ran."]
    found = translate_lines(lines, Words(), 100, without_end, -1.0)
    assert [(one.tokens, one.doubtful) for one in found] == [(5, False), (6, True)]
    assert [one.doubtful for one in translate_lines(lines, Words(), 100, without_end)] == [False, False]


def test_letters_that_the_vocabulary_lacks_are_doubtful():
    assert [one.doubtful for one in of(["A dog.", "A xx dog."], -50)] == [False, True]


@pytest.mark.parametrize("sentence, expected", [
    ("A DOG RUNS.", True), ("ÜBER UNS!", True), ("STOP", False), ("He saw NATO.", False), ("10 20.", False), ("你好 世界", False),
    ("", False), ("A\x1cB", True), ("A\ufeffB", True), ("\ufeffSTOP\x85", False),
])
def test_a_sentence_in_capitals_is_doubtful_and_a_word_in_capitals_is_not(sentence, expected):
    assert in_capitals(sentence) == expected


def test_capitals_are_warned_of_by_a_model_with_a_threshold():
    assert [one.doubtful for one in of(["A dog.", "A DOG."], -50)] == [False, True]
    assert not of(["A DOG."])[0].doubtful


def test_a_sentence_too_long_is_named_by_its_line():
    fits = len(LONG.split()) - 4  # the first sentence, with EOS
    assert len(of(["One.", LONG], longest=fits)) == 2
    with pytest.raises(InputError, match=f"sentence 3 has {fits} tokens and the model takes {fits - 1}"):
        of(["One.", "Go. Run. Hide.", LONG], longest=fits - 1)


@pytest.mark.parametrize("sentence, text, expected", [
    ("42", "422.", True), ("42", "42.", False), ("3 times 5 is 15.", "Drei mal fünf ist 155.", True),
    ("It costs $20.", "Es kostet zwanzig Dollar.", False),    # in words: not judged
    ("It costs twenty dollars.", "Es kostet 20 Dollar.", False),  # so, too
    ("A day has 86,400 seconds.", "Ein Tag hat 86400 Sekunden.", False), ("A day has 86,400 seconds.", "86.400", False),
    ("Call 911 now.", "Ruf jetzt 91 an.", True), ("About 3.4 percent.", "Etwa 34 Prozent.", True),
    ("It has 629,313 people.", "Es hat 6293 Einwohner.", True), ("It costs $10.00.", "Es kostet 1000 Dollar.", True),
    ("It costs 86400.", "Es kostet 86.400.", False), ("Call 555-1234.", "Ruf 555 1234 an.", False),
    ("1,000,000 people", "1.000.000 Menschen", False), ("1,000,000 people", "1.000 Menschen", True),
    ("In the 1990s.", "In den 90er Jahren.", False), ("In 1990.", "Im Jahr 19.", True),
    ("On May 5 200 came.", "Am 5. Mai kamen 200.", False), ("The 13th.", "Der 13.000.", True),
    ("86,400", "86 400", False), ("86,400", "86\u202f400", False), ("86 400", "86400", False), ("At 12:30 a.m.", "Um 0:30 Uhr.", False),
    ("A day has 86,400 seconds.", "Ein Tag hat 8600 Sekunden.", True), ("Is this 223-1374?", "Ist das 2231374?", False),
    ("It's 2:30 p.m.", "Es ist 14.30 Uhr.", False), ("It's 02:30 p.m.", "Es ist 14.30 Uhr.", False),
    ("It's 2:30 p.m.", "Es ist 15.30 Uhr.", True), ("He is 30.", "Er ist 42.", True), ("He is 3.", "Er ist 15.", False),  # an hour?
    ("I come at 5 p.m.", "Ich komme um 17.00 Uhr.", False), ("It costs $5.", "Es kostet 5,00 Dollar.", False),
    ("In room 5.", "In Raum 5.000.", True), ("In room 07.", "In Raum 7.", False), ("In room 7.", "In Raum 007.", False),
    ("1" * 5_000, "2" * 5_000, True),
])
def test_a_number_in_digits_that_the_sentence_lacks(sentence, text, expected):
    assert numbers_differ(sentence, text) == expected


def test_other_numbers_are_warned_of_by_a_model_with_a_threshold():
    def forty_two(ids):  # it writes, whatever it reads
        return [SimpleNamespace(tokens=Words().encode("42")[:-1], log_probability=-0.5, score=-0.1, ended=True) for _ in ids]

    lines = ["I am 42.", "I am 43.", "I am old."]
    assert [one.doubtful for one in translate_lines(lines, Words(), 100, forty_two, -1.0)] == [False, True, False]
    assert not any(one.doubtful for one in translate_lines(lines, Words(), 100, forty_two))
