"""Everyday pairs made by rule, to mix into a translator's training: clock times, dates, prices and numbers in sentences, names
to copy, greetings, directions; and sentences in which German must say er, sie or es.

The train leaves at a quarter to six.       Der Zug fährt um Viertel vor sechs ab.
Carla Sutton from Leeds called yesterday.   Carla Sutton aus Leeds hat gestern angerufen.
"""
import random
from collections.abc import Callable
from string import Formatter

from .number_words import DAYS, MONTHS, before_noun, words
from .parallel_text import Pairs
from .phrasebook_words import CITIES, CITIES_IN_GERMAN, EVERYDAY, FIXED, GOODS, MEN, OWNERS, PLACES, SURNAMES, TEMPLATES, WOMEN
from .pronouns import NEVER_TRAINED, PRONOUNS, Noun, contracted, nouns_of, pair_with_meaning, plain_words, split_of, upper

__all__ = ["phrases", "pronoun_pairs_both_orders"]

PERSONAL = {"nom": PRONOUNS, "acc": ("ihn", "sie", "es"), "dat": ("ihm", "ihr", "ihm")}
THIS = {"nom": ("er", "e", "es"), "acc": ("en", "e", "es")}
Draw = tuple[str, str]  # English and German of what fills a slot


def same(text: str) -> Draw:
    "A name is copied."
    return text, text


def number(rng: random.Random, least: int = 2, most: int = 99) -> Draw:
    "In words up to twelve; above that, half of the time in digits."
    n = rng.randint(least, most)
    digits = n > 12 and rng.random() < 0.5 or n > 100 and n % 100 == 1
    return same(str(n)) if digits else (words(n, "en"), words(n, "de"))


def clock_time(rng: random.Random) -> Draw:
    "half past six → halb sieben; ten to seven → zehn vor sieben; 6:45 → 6:45 Uhr"
    hour, way = rng.randint(1, 12), rng.random()
    following = hour % 12 + 1
    if way < 0.12:
        clock = f"{hour}:{rng.choice((5, 10, 15, 20, 30, 35, 40, 45, 50)):02d}"
        return clock, f"{clock} Uhr"
    if way < 0.20:
        return words(hour, "en"), words(hour, "de")
    if way < 0.35:
        return f"{words(hour, 'en')} o'clock", f"{before_noun(hour)} Uhr"
    if way < 0.60:
        return f"half past {words(hour, 'en')}", f"halb {words(following, 'de')}"
    minutes = rng.choice((15, 15, 5, 10, 20))
    quarter = rng.choice(("a quarter", "quarter"))
    english, german = (quarter, "Viertel") if minutes == 15 else (words(minutes, "en"), words(minutes, "de"))
    if rng.random() < 0.5:
        return f"{english} past {words(hour, 'en')}", f"{german} nach {words(hour, 'de')}"
    return f"{english} to {words(following, 'en')}", f"{german} vor {words(following, 'de')}"


def time_in_day(rng: random.Random) -> Draw:
    "A clock time, sometimes with the part of the day."
    english, german = clock_time(rng)
    if rng.random() < 0.15 and "Uhr" in german and ":" not in german:
        part = rng.choice((("in the morning", "morgens"), ("in the evening", "abends"), ("in the afternoon", "nachmittags")))
        return f"{english} {part[0]}", f"{german} {part[1]}"
    return english, german


def weekday(rng: random.Random) -> Draw:
    "Monday → Montag"
    day = rng.randrange(7)
    return DAYS["en"][day], DAYS["de"][day]


def month(rng: random.Random) -> Draw:
    "May → Mai"
    n = rng.randint(1, 12)
    return MONTHS["en"][n], MONTHS["de"][n]


def day_of_month(rng: random.Random) -> tuple[str, str, str]:
    "May 3rd → 3. Mai (twice); the third of May → dritten Mai, dritte Mai."
    (english, german), n = month(rng), rng.randint(1, 28)
    if rng.random() < 0.5:
        ending = "th" if 10 < n < 20 else {1: "st", 2: "nd", 3: "rd"}.get(n % 10, "th")
        said = rng.choice((f"{english} {n}{ending}", f"{english} {n}", f"the {n}{ending} of {english}"))
        return said, f"{n}. {german}", f"{n}. {german}"
    ordinal = words(n, "de", "ordinal")
    return f"the {words(n, 'en', 'ordinal')} of {english}", f"{ordinal}n {german}", f"{ordinal} {german}"


def date_when(rng: random.Random) -> Draw:
    "After on and am."
    english, german, _ = day_of_month(rng)
    return english, german


def date_today(rng: random.Random) -> Draw:
    "After is and der."
    english, _, german = day_of_month(rng)
    return english, german


def date_with_year(rng: random.Random) -> Draw:
    "May 3, 1984 → 3. Mai 1984"
    (english, german), n, year = month(rng), rng.randint(1, 28), rng.randint(1900, 2024)
    return f"{english} {n}, {year}", f"{n}. {german} {year}"


def price(rng: random.Random) -> Draw:
    "ten euros → zehn Euro; 12 dollars → 12 Dollar; nine euros and fifty cents → neun Euro fünfzig"
    coin, coin_de = rng.choice((("euros", "Euro"), ("euros", "Euro"), ("dollars", "Dollar"), ("pounds", "Pfund")))
    english, german = number(rng, 2, rng.choice((20, 99, 500)))
    if coin == "euros" and not english.isdigit() and rng.random() < 0.25:
        cents = rng.choice((20, 30, 50, 80, 90))
        return f"{english} euros and {words(cents, 'en')} cents", f"{german} Euro {words(cents, 'de')}"
    return f"{english} {coin}", f"{german} {coin_de}"


def city(rng: random.Random) -> Draw:
    "Munich → München, Leeds → Leeds"
    return rng.choice(CITIES_IN_GERMAN) if rng.random() < 0.2 else same(rng.choice(CITIES))


def full_name(rng: random.Random) -> Draw:
    "Carla Sutton"
    return same(f"{rng.choice(MEN + WOMEN)} {rng.choice(SURNAMES)}")


class This(Noun):
    "A noun after `this`."

    def __format__(self, case: str) -> str:
        "dieser Mantel, diesen Mantel"
        return f"dies{THIS[case][self.gender]} {self.german}"


def place(rng: random.Random) -> tuple[str, Noun]:
    "the station → der Bahnhof, den Bahnhof, dem Bahnhof"
    english, german, gender = rng.choice(PLACES)
    return f"the {english}", Noun(english, german, gender)


def goods(rng: random.Random) -> tuple[str, Noun]:
    "this coat → dieser Mantel, diesen Mantel"
    english, german, gender = rng.choice(GOODS)
    return f"this {english}", This(english, german, gender)


def floor(rng: random.Random) -> Draw:
    "second → zweiten"
    n = rng.randint(2, 12)
    return words(n, "en", "ordinal"), f"{words(n, 'de', 'ordinal')}n"


SLOTS: dict[str, Callable[[random.Random], tuple[str, str | Noun]]] = {
    "time": time_in_day, "day": weekday, "month": month, "date": date_when, "today": date_today, "long_date": date_with_year,
    "year": lambda rng: same(str(rng.randint(1900, 2024))), "price": price, "n": number,
    "many": lambda rng: number(rng, 13, 400), "age": lambda rng: number(rng, 3, 95), "few": lambda rng: number(rng, 2, 12),
    "floor": floor,
    "name": lambda rng: same(rng.choice(MEN + WOMEN)), "other": lambda rng: same(rng.choice(MEN + WOMEN)),
    "man": lambda rng: same(rng.choice(MEN)), "woman": lambda rng: same(rng.choice(WOMEN)),
    "full": full_name, "last": lambda rng: same(rng.choice(SURNAMES)), "city": city, "town": city,
    "place": place, "goods": goods,
    "side": lambda rng: rng.choice((("left", "links"), ("right", "rechts"))),
}


def fill(rng: random.Random, template: str) -> Draw:
    "A template `English = German` with its slots filled."
    english, german = template.split(" = ")
    names = {name for _, name, _, _ in Formatter().parse(english) if name}
    drawn = {name: SLOTS[name](rng) for name in sorted(names)}
    source, target = (text.format(**{name: draw[i] for name, draw in drawn.items()}) for i, text in enumerate((english, german)))
    return upper(source), upper(contracted(target))


def phrases(n: int, seed: int = 1, leave_out: frozenset[str] = frozenset()) -> Pairs:
    "`n` pairs, each once: all phrases without slots, even if `n` is smaller, and others made from templates of random groups."
    rng = random.Random(seed)
    found = {source: target for source, target in (line.split(" = ") for line in FIXED) if source not in leave_out}
    groups = list(TEMPLATES.values())
    while len(found) < n:
        source, target = fill(rng, rng.choice(rng.choice(groups)))
        if source not in leave_out:
            found.setdefault(source, target)
    return list(found.items())


def everyday_pair(rng: random.Random) -> Draw:
    "A short sentence of `EVERYDAY`, in which it is er, sie or es."
    kind, english, german, *choices = rng.choice(EVERYDAY)
    noun = rng.choice(rng.choice(nouns_of(kind)))
    who, have = rng.choice(OWNERS)
    says, says_de = rng.choice(choices[0].split(", ")).split() if choices else ("", "")
    forms = {f"it_{case}": PERSONAL[case][noun.gender] for case in PERSONAL}
    german = german.format(n=noun, have=have, says=says_de.replace("_", " "), upper_it=upper(forms["it_nom"]), **forms)
    return upper(english.format(n=noun.english, who=who, says=says)), upper(contracted(german))


def pronoun_pairs_both_orders(n: int, seed: int = 1) -> Pairs:
    """Pairs to mix into the training of a general translator: the clause comes first or last in German. A quarter of the draws
    are short everyday sentences, which repeat sooner; each is kept once. The pairs of nouns that `pronouns-en-de` keeps for its
    tests occur only in some short sentences, those of NEVER_TRAINED in none."""
    rng, found = random.Random(seed), {}
    while len(found) < n:
        if rng.random() < 0.25:
            source, target = everyday_pair(rng)
            if any(nouns <= set(plain_words(source)) for nouns in NEVER_TRAINED):
                continue
        else:
            source, target, meaning = pair_with_meaning(rng, clause_first=0.3)
            if split_of(meaning) != "train":
                continue
        found.setdefault(source, target)
    return list(found.items())
