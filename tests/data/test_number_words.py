"Expressions of all kinds beside examples written by hand and num2words; three sets that share none."
import random
import re
from collections import Counter
from datetime import date

from babel.dates import get_day_names, get_month_names
from num2words import num2words

from annotated_transformer.data.number_words import DAYS, MONTHS, clock, full_date, numbers, price, time_of_day, words, year


def test_numbers_as_written_by_hand():
    for n, english, german in [
        (0, "zero", "null"),
        (1, "one", "eins"),
        (16, "sixteen", "sechzehn"),
        (17, "seventeen", "siebzehn"),
        (21, "twenty-one", "einundzwanzig"),
        (30, "thirty", "dreißig"),
        (67, "sixty-seven", "siebenundsechzig"),
        (101, "one hundred and one", "einhunderteins"),
        (1_000, "one thousand", "eintausend"),
        (1_001, "one thousand and one", "eintausendeins"),
        (12_345, "twelve thousand three hundred and forty-five", "zwölftausenddreihundertfünfundvierzig"),
        (21_305, "twenty-one thousand three hundred and five", "einundzwanzigtausenddreihundertfünf"),
        (101_000, "one hundred and one thousand", "einhunderteintausend"),
        (
            999_999,
            "nine hundred and ninety-nine thousand nine hundred and ninety-nine",
            "neunhundertneunundneunzigtausendneunhundertneunundneunzig",
        ),
    ]:
        assert (words(n, "en"), words(n, "de")) == (english, german)
    for n, english, german in [
        (1, "first", "erste"),
        (3, "third", "dritte"),
        (7, "seventh", "siebte"),
        (8, "eighth", "achte"),
        (16, "sixteenth", "sechzehnte"),
        (21, "twenty-first", "einundzwanzigste"),
        (101, "one hundred and first", "einhunderterste"),
        (100, "one hundredth", "einhundertste"),
        (1_000, "one thousandth", "eintausendste"),
        (12_000, "twelve thousandth", "zwölftausendste"),
        (40_012, "forty thousand and twelfth", "vierzigtausendzwölfte"),
    ]:
        assert (words(n, "en", "ordinal"), words(n, "de", "ordinal")) == (english, german)


def test_words_agree_with_num2words_on_whole_numbers():
    rng = random.Random(0)
    for n in [*range(1_200), *range(100_900, 101_100), *(rng.randrange(1_000_000) for _ in range(300))]:
        for to in ("cardinal", "ordinal"):
            english, german = (num2words(n, lang=language, to=to) for language in ("en", "de"))
            assert words(n, "en", to) == english.replace(",", "")
            # It shortens the hundredth and the thousandth alone (hundertste, but eintausendeinhundertste), and mistakes 101,000.
            german = re.sub("^(hundert|tausend)", r"ein\1", german).replace("einstausend", "eintausend")
            assert words(n, "de", to) == german


def test_years_agree_with_num2words():
    for n in range(1_700, 2_100):
        for language in ("en", "de"):
            assert year(n, language) == num2words(n, lang=language, to="year")


def test_names_of_months_and_days_agree_with_babel():
    for language in ("en", "de"):
        assert MONTHS[language] == get_month_names("wide", locale=language)
        assert DAYS[language] == get_day_names("wide", locale=language)


def test_times_as_written_by_hand():
    for hour, minute, english, german in [
        (1, 0, "one o'clock", "ein Uhr"),
        (7, 0, "seven o'clock", "sieben Uhr"),
        (6, 1, "one minute past six", "eine Minute nach sechs"),
        (6, 11, "eleven minutes past six", "elf Minuten nach sechs"),
        (12, 15, "a quarter past twelve", "Viertel nach zwölf"),
        (6, 30, "half past six", "halb sieben"),
        (12, 30, "half past twelve", "halb eins"),
        (6, 31, "twenty-nine minutes to seven", "neunundzwanzig Minuten vor sieben"),
        (6, 45, "a quarter to seven", "Viertel vor sieben"),
        (12, 59, "one minute to one", "eine Minute vor eins"),
    ]:
        assert clock(hour, minute) == (english, german)


def test_dates_and_prices_as_written_by_hand():
    class Drawn(random.Random):
        "A generator that draws what we tell it to."
        def __init__(self, *values):
            super().__init__()
            self.values = iter(values)
        def randrange(self, *args):
            return next(self.values)
        randint = randrange

    day = (date(1984, 3, 21) - date(1700, 1, 1)).days
    assert full_date(Drawn(day)) == (
        "on Wednesday, the twenty-first of March nineteen eighty-four",
        "am Mittwoch, dem einundzwanzigsten März neunzehnhundertvierundachtzig",
    )
    day = (date(2005, 10, 1) - date(1700, 1, 1)).days
    assert full_date(Drawn(day)) == (
        "on Saturday, the first of October two thousand and five",
        "am Samstag, dem ersten Oktober zweitausendfünf",
    )
    assert time_of_day(Drawn(6, 30, 1, 123)) == ("on the third of May at half past six", "am dritten Mai um halb sieben")
    assert time_of_day(Drawn(6, 30, 0)) == ("half past six", "halb sieben")

    assert price(Drawn(4, 1, 0)) == ("one euro", "ein Euro")
    assert price(Drawn(4, 1, 1)) == ("one euro and one cent", "ein Euro und ein Cent")
    assert price(Drawn(4, 21, 50)) == ("twenty-one euros and fifty cents", "einundzwanzig Euro und fünfzig Cent")
    assert price(Drawn(4, 101, 99)) == (
        "one hundred and one euros and ninety-nine cents",
        "einhundertein Euro und neunundneunzig Cent",
    )


def test_no_expression_is_in_two_sets():
    small, large = numbers(2_000, 100, 300), numbers(6_000, 300, 900, seed=2)
    assert [len(small.train), len(small.validation), len(small.test)] == [2_000, 100, 300]
    sources = {}
    for name in ("train", "validation", "test"):
        sources[name] = {source for corpus in (small, large) for source, _ in corpus.split(name)}
    for one, other in (("train", "test"), ("train", "validation"), ("validation", "test")):
        assert not sources[one] & sources[other]
    for name in sources:  # within a corpus, each expression once
        assert len(dict(large.split(name))) == len(large.split(name))


def test_the_same_seed_gives_the_same_corpus():
    assert numbers(1_000, 50, 100) == numbers(1_000, 50, 100)
    assert numbers(1_000, 50, 100).train == numbers(1_500, 50, 100).train[:1_000]  # more only adds
    assert numbers(1_000, 50, 100, seed=2).train != numbers(1_000, 50, 100).train


def test_one_right_answer_for_each_expression():
    answers = {}
    for seed in (1, 2, 3):
        for source, target in numbers(5_000, 200, 500, seed=seed).train:
            assert answers.setdefault(source, target) == target


def test_nothing_is_left_to_the_test_set_alone():
    corpus = numbers()
    seen = Counter(word for source, target in corpus.train for word in f"{source} {target}".replace(",", "").split())
    names = [name for names in (MONTHS, DAYS) for language in ("en", "de") for name in names[language].values()]
    assert min(seen[name] for name in names) > 500
    assert min(seen[words(n, "en")] for n in range(1, 100)) > 200
    for hour, minute in [(1, 30), (7, 0), (12, 45)]:
        assert sum(f" um {clock(hour, minute)[1]}" in target for _, target in corpus.train) > 5


    def kind(source):
        if source.startswith("the "):
            return "ordinal"
        return "date" if ", " in source else "price" if " euro" in source else "time or cardinal"


    shares = Counter(kind(source) for source, _ in corpus.test)
    assert all(300 < shares[name] < 500 for name in ("date", "ordinal", "price"))
    assert 600 < shares["time or cardinal"] < 1_000
