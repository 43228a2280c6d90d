"""The built-in corpus numbers-en-de: numbers, prices, dates and times in English and German words, made by rules.

Each function of KINDS draws one expression from a random number generator and returns the pair.

- How often: nine in ten of the numbers below a million have six digits, so the number of digits is drawn first; otherwise a
  model would hardly ever see "seventeen" by itself.
- One style: German may say "Viertel vor sieben" or "drei viertel sieben". Both are right, but a corpus that mixed them would
  count right answers as wrong.
"""
import hashlib
import itertools
import random
from collections.abc import Callable
from datetime import date, timedelta

from .. import InputError
from .parallel_text import Corpus

__all__ = ["numbers"]


# The words from 0 to 19, and the tens from 20 on.
SMALL = {
    "en": "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
          "eighteen nineteen".split(),
    "de": "null eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn fünfzehn sechzehn siebzehn "
          "achtzehn neunzehn".split(),
}
TENS = {
    "en": "twenty thirty forty fifty sixty seventy eighty ninety".split(),
    "de": "zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig".split(),
}
ORDINAL = {  # the ones that do not simply add the usual ending
    "en": {"one": "first", "two": "second", "three": "third", "five": "fifth", "eight": "eighth", "nine": "ninth",
           "twelve": "twelfth"},
    "de": {"eins": "erste", "drei": "dritte", "sieben": "siebte", "acht": "achte"},
}


def below_hundred(n: int, language: str) -> str:
    "twenty-one, einundzwanzig"
    if n < 20:
        return SMALL[language][n]
    ten, one = TENS[language][n // 10 - 2], n % 10
    if not one:
        return ten
    return f"{ten}-{SMALL['en'][one]}" if language == "en" else f"{before_noun(one)}und{ten}"


def cardinal_words(n: int, language: str) -> str:
    "A number below a million in words."
    thousands, hundreds, rest = n // 1000, n // 100 % 10, n % 100
    last = below_hundred(rest, language) if rest or not n else ""
    if language == "de":
        first = f"{before_noun(thousands)}tausend" if thousands else ""
        return first + (f"{before_noun(hundreds)}hundert" if hundreds else "") + last
    groups = [f"{cardinal_words(thousands, 'en')} thousand"] if thousands else []
    groups += [f"{SMALL['en'][hundreds]} hundred"] if hundreds else []
    return " and ".join(filter(None, [" ".join(groups), last]))


def ordinal_words(cardinal: str, language: str) -> str:
    "The last word decides: twenty-first, thirtieth; einundzwanzigste, zwölfte."
    for word, other in ORDINAL[language].items():
        if cardinal.endswith(word):
            return cardinal.removesuffix(word) + other
    if language == "en":
        return f"{cardinal[:-1]}ieth" if cardinal.endswith("ty") else f"{cardinal}th"
    return cardinal + ("te" if cardinal.endswith(tuple(SMALL["de"])) else "ste")


def words(
    n: int,  # below a million
    language: str,  # "en" or "de"
    to: str = "cardinal",  # or "ordinal"
) -> str:
    "A number in words: 21 is `twenty-one`, `twenty-first`, `einundzwanzig`, `einundzwanzigste`."
    cardinal = cardinal_words(n, language)
    return cardinal if to == "cardinal" else ordinal_words(cardinal, language)


def year(n: int, language: str) -> str:
    "As it is read, from 1700 to 2099: nineteen eighty-four, seventeen oh-five; neunzehnhundertvierundachtzig, zweitausendfünf."
    century, rest = divmod(n, 100)
    if language == "de":
        return words(n, "de") if century == 20 else f"{words(century, 'de')}hundert{words(rest, 'de') if rest else ''}"
    if century == 20 and rest < 10:
        return words(n, "en")
    oh = "oh-" if 0 < rest < 10 else ""
    return f"{words(century, 'en')} {oh}{words(rest, 'en') if rest else 'hundred'}"


def before_noun(n: int) -> str:
    "German counts `eins, zwei`, but says `ein Euro, zwei Euro`, and `einhundertein Euro`."
    return words(n, "de").removesuffix("s") if n % 100 == 1 else words(n, "de")


def random_number(rng: random.Random, digits: int = 6) -> int:
    "From 1 up, short numbers as often as long ones."
    return rng.randrange(1, 10 ** rng.randint(1, digits))


def cardinal(rng: random.Random) -> tuple[str, str]:
    "twenty-one → einundzwanzig"
    n = random_number(rng)
    return words(n, "en"), words(n, "de")


def ordinal(rng: random.Random) -> tuple[str, str]:
    "the twenty-first → der einundzwanzigste"
    n = random_number(rng)
    return f"the {words(n, 'en', 'ordinal')}", f"der {words(n, 'de', 'ordinal')}"


def counted(n: int, singular: str, plural: str) -> str:
    "In English: one euro, two euros."
    return f"{words(n, 'en')} {singular if n == 1 else plural}"


def price(rng: random.Random) -> tuple[str, str]:
    "one euro and fifty cents → ein Euro und fünfzig Cent"
    euros, cents = random_number(rng, digits=4), rng.randrange(100)
    english, german = counted(euros, "euro", "euros"), f"{before_noun(euros)} Euro"
    if cents:
        english += f" and {counted(cents, 'cent', 'cents')}"
        german += f" und {before_noun(cents)} Cent"
    return english, german


MONTHS = {  # from 1
    "en": dict(enumerate("January February March April May June July August September October November December".split(), 1)),
    "de": dict(enumerate("Januar Februar März April Mai Juni Juli August September Oktober November Dezember".split(), 1)),
}
DAYS = {  # from 0, Monday
    "en": dict(enumerate("Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split())),
    "de": dict(enumerate("Montag Dienstag Mittwoch Donnerstag Freitag Samstag Sonntag".split())),
}


def day_and_month(day: date) -> tuple[str, str]:
    "the third of May → dritten Mai"
    english = f"the {words(day.day, 'en', 'ordinal')} of {MONTHS['en'][day.month]}"
    return english, f"{words(day.day, 'de', 'ordinal')}n {MONTHS['de'][day.month]}"


def full_date(rng: random.Random) -> tuple[str, str]:
    "on Wednesday, the twenty-first of March nineteen eighty-four → am Mittwoch, dem einundzwanzigsten März ..."
    day = date(1700, 1, 1) + timedelta(days=rng.randrange(146_097))  # 400 years of our calendar
    english, german = day_and_month(day)
    english = f"on {DAYS['en'][day.weekday()]}, {english} {year(day.year, 'en')}"
    return english, f"am {DAYS['de'][day.weekday()]}, dem {german} {year(day.year, 'de')}"


def clock(hour: int, minute: int) -> tuple[str, str]:
    "half past six → halb sieben; one minute to seven → eine Minute vor sieben"
    following = hour % 12 + 1
    if minute == 0:
        return f"{words(hour, 'en')} o'clock", f"{before_noun(hour)} Uhr"
    if minute == 30:
        return f"half past {words(hour, 'en')}", f"halb {words(following, 'de')}"
    link_en, link_de, named, minutes = ("past", "nach", hour, minute) if minute < 30 else ("to", "vor", following, 60 - minute)
    english = "a quarter" if minutes == 15 else counted(minutes, "minute", "minutes")
    german = {1: "eine Minute", 15: "Viertel"}.get(minutes, f"{words(minutes, 'de')} Minuten")
    return f"{english} {link_en} {words(named, 'en')}", f"{german} {link_de} {words(named, 'de')}"


def time_of_day(rng: random.Random) -> tuple[str, str]:
    "half past six → halb sieben, and more often: on the third of May at half past six → am dritten Mai um halb sieben"
    english, german = clock(rng.randint(1, 12), rng.randrange(60))
    if rng.randrange(8) == 0:
        return english, german
    day_en, day_de = day_and_month(date(2000, 1, 1) + timedelta(days=rng.randrange(366)))
    return f"on {day_en} at {english}", f"am {day_de} um {german}"


KINDS: dict[str, Callable[[random.Random], tuple[str, str]]] = {
    "cardinal": cardinal,
    "ordinal": ordinal,
    "price": price,
    "date": full_date,
    "time": time_of_day,
}


SHARES = {"test": 5, "validation": 2, "train": 93}  # in a hundred


def split_of(source: str) -> str:
    "The set an expression belongs to, decided by its own text, so that no two sets can share one."
    percent = int(hashlib.sha256(source.encode()).hexdigest(), 16) % 100
    return "test" if percent < SHARES["test"] else "validation" if percent < 100 - SHARES["train"] else "train"


def numbers(train: int = 40_000, validation: int = 500, test: int = 2_000, seed: int = 1) -> Corpus:
    "Numbers, prices, dates and times written out in English and German, each expression once, the kinds in turn."
    wanted = {"train": train, "validation": validation, "test": test}
    for name, size in wanted.items():
        if size > (most := SHARES[name] * 5_000):
            raise InputError(f"numbers-en-de has at most {most:,} pairs in {name}, not {size:,}: ask for fewer")
    splits: dict[str, dict[str, str]] = {name: {} for name in wanted}
    rng = random.Random(seed)
    for draw in itertools.cycle(KINDS.values()):
        if all(len(splits[name]) >= wanted[name] for name in wanted):
            break
        for source, target in (draw(rng) for _ in range(20)):  # short numbers run out, so one draw may not be enough
            name = split_of(source)
            if source not in splits[name]:
                if len(splits[name]) < wanted[name]:
                    splits[name][source] = target
                break
    pairs = {name: list(split.items()) for name, split in splits.items()}
    return Corpus("numbers-en-de", "en", "de", pairs["train"], pairs["validation"], {"test": pairs["test"]})
