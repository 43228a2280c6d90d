"""The corpus `pronouns-en-de`: the meaning decides what `it` stands for, and so whether German says *er*, *sie* or *es*.

The dog didn't cross the street because it was too tired.  Weil er zu müde war, überquerte der Hund die Straße nicht.
The dog didn't cross the street because it was too wide.   Weil sie zu breit war, überquerte der Hund die Straße nicht.

The German puts the clause first, so the decoder has not yet written a noun whose gender it could copy.
"""
import hashlib
import itertools
import random
from dataclasses import dataclass, replace
from functools import cache, lru_cache

from .parallel_text import Corpus

__all__ = ["Meaning", "meanings", "pronouns", "sentences"]

PRONOUNS = ("er", "sie", "es")  # masculine, feminine, neuter
ARTICLES = {"nom": ("der", "die", "das"), "acc": ("den", "die", "das"), "dat": ("dem", "der", "dem")}

# Nouns by kind: masculine; feminine; neuter, equally many of each. None changes in the singular.
KINDS = {
    "being": "dog Hund, bird Vogel, fox Fuchs, donkey Esel, wolf Wolf, hedgehog Igel, tiger Tiger, hamster Hamster; "
             "cat Katze, mouse Maus, cow Kuh, goat Ziege, duck Ente, goose Gans, turtle Schildkröte, rat Ratte; "
             "animal Tier, horse Pferd, chicken Huhn, sheep Schaf, pig Schwein, rabbit Kaninchen, "
             "squirrel Eichhörnchen, calf Kalb",
    "pet": "dog Hund, bird Vogel, hedgehog Igel, hamster Hamster; cat Katze, mouse Maus, duck Ente, turtle Schildkröte; "
           "animal Tier, chicken Huhn, rabbit Kaninchen, squirrel Eichhörnchen",
    "led": "dog Hund, donkey Esel, stallion Hengst, bull Stier; cat Katze, cow Kuh, goat Ziege, mare Stute; "
           "animal Tier, horse Pferd, sheep Schaf, camel Kamel",
    "way": "path Weg, yard Hof, square Platz, ditch Graben; street Straße, meadow Wiese, intersection Kreuzung, pasture Weide; "
           "field Feld, valley Tal, riverbed Flussbett, cornfield Maisfeld",
    "slope": "hill Hügel, mountain Berg, dam Damm, pass Pass; dune Düne, ramp Rampe, bridge Brücke, meadow Wiese; "
             "field Feld, plank Brett, terrain Gelände, ice Eis",
    "obstacle": "fence Zaun, rock Felsen, bush Busch, log Baumstamm; wall Mauer, hedge Hecke, barrier Schranke, crate Kiste; "
                "gate Tor, obstacle Hindernis, railing Geländer, barrel Fass",
    "height": "tree Baum, tower Turm, rock Felsen, hill Hügel; wall Mauer, ladder Leiter, pyramid Pyramide, statue Statue; "
              "roof Dach, scaffold Gerüst, shelf Regal, house Haus",
    "thing": "ball Ball, shoe Schuh, hat Hut, umbrella Schirm, hammer Hammer, helmet Helm; "
             "lamp Lampe, bottle Flasche, jacket Jacke, vase Vase, doll Puppe, blanket Decke; "
             "book Buch, pillow Kissen, toy Spielzeug, instrument Instrument, parcel Paket, shirt Hemd",
    "load": "stick Stock, hat Hut, ball Ball, bone Knochen; bottle Flasche, doll Puppe, newspaper Zeitung, root Wurzel; "
            "toy Spielzeug, pillow Kissen, parcel Paket, book Buch",
    "container": "suitcase Koffer, basket Korb, backpack Rucksack, bucket Eimer, sack Sack; "
                 "bag Tasche, box Schachtel, crate Kiste, drawer Schublade, chest Truhe; "
                 "compartment Fach, barrel Fass, locker Schließfach, jar Glas, casket Kästchen",
    "carrier": "basket Korb, cage Käfig, backpack Rucksack; bag Tasche, crate Kiste, box Schachtel; "
               "net Netz, nest Nest, barrel Fass",
    "bowl": "bucket Eimer, pot Topf, trough Trog; pan Pfanne, bowl Schüssel, cup Tasse; jar Glas, barrel Fass, sink Waschbecken",
    "food": "cake Kuchen, cheese Käse, rice Reis, stew Eintopf; soup Suppe, sausage Wurst, pizza Pizza, sauce Soße; "
            "bread Brot, meat Fleisch, omelette Omelett, egg Ei",
    "furniture": "table Tisch, cupboard Schrank, armchair Sessel, carpet Teppich; "
                 "couch Couch, mattress Matratze, bathtub Badewanne, statue Statue; "
                 "sofa Sofa, bed Bett, piano Klavier, shelf Regal",
    "opening": "entrance Eingang, hallway Flur, passage Durchgang, tunnel Tunnel; door Tür, opening Öffnung, "
               "hatch Luke, gap Lücke; window Fenster, gate Tor, hole Loch, stairwell Treppenhaus",
    "vehicle": "bus Bus, truck Lastwagen, tractor Traktor; carriage Kutsche, tram Straßenbahn, limousine Limousine; "
               "car Auto, boat Boot, airplane Flugzeug",
    "hall": "shed Schuppen, hangar Hangar, cellar Keller; garage Garage, barn Scheune, workshop Werkstatt; "
            "tent Zelt, warehouse Lagerhaus, building Gebäude",
    "home": "basket Korb, cage Käfig, stable Stall; crate Kiste, hut Hütte, barn Scheune; nest Nest, house Haus, tent Zelt",
    "place": "garden Garten, yard Hof, cellar Keller; kitchen Küche, garage Garage, barn Scheune; "
             "room Zimmer, car Auto, tent Zelt",
}

# What can be said about them. ! means that nothing comes before it (no "too"); ~ is a verb, with its German past and present.
BEING = ("tired müde, weak schwach, scared ängstlich, ill krank, nervous nervös, lazy faul, sleepy schläfrig, "
         "exhausted erschöpft, young jung, !injured verletzt, ~limping hinkte hinkt")
WAY = "wide breit, broad breit, muddy schlammig, stony steinig, !flooded überschwemmt, !closed gesperrt"
SLOPE = "steep steil, slippery rutschig, uneven uneben"
HIGH = "high hoch, wide breit, broad breit"
LOAD = "heavy schwer, bulky sperrig, big groß"
TIGHT = "small klein, tiny winzig, narrow eng"

# Verb (base, third person, past), nouns by slot; the German infinitive (- where "could" would sound odd), present, past, and
# the rest. `WE` instead of a first noun: several people. For each kind, what the clause may say about it; then it is meant.
FRAMES = [
    ("{0} | cross crosses crossed | {1}", "überqueren überquert überquerte | {1:acc} NOT", {"being": BEING, "way": WAY}),
    ("{0} | jump jumps jumped | over {1}", "springen springt sprang | NOT über {1:acc}", {"being": BEING, "obstacle": HIGH}),
    ("{0} | eat eats ate | {1}", "fressen frisst fraß | {1:acc} NOT",
     {"being": BEING, "food": "salty salzig, greasy fettig, bitter bitter, !burnt angebrannt, !spoiled verdorben"}),
    ("{0} | climb climbs climbed | onto {1}", "klettern klettert kletterte | NOT auf {1:acc}",
     {"being": BEING, "height": "high hoch, steep steil, smooth glatt, slippery rutschig"}),
    ("{0} | sleep sleeps slept | in {1}", "schlafen schläft schlief | NOT in {1:dat}",
     {"pet": "nervous nervös, scared ängstlich, hungry hungrig, thirsty durstig, restless unruhig, ~coughing hustete hustet",
      "home": "narrow eng, uncomfortable unbequem, !damaged beschädigt"}),
    ("{0} | carry carries carried | {1}", "tragen trägt trug | {1:acc} NOT", {"being": BEING, "load": LOAD}),
    ("{0} | fit fits fit | into {1}", "- passt passte | NOT in {1:acc}",
     {"thing": "big groß, large groß, bulky sperrig", "container": TIGHT + ", full voll"}),
    ("{0} | fit fits fit | through {1}", "- passt passte | NOT durch {1:acc}",
     {"furniture": "wide breit, big groß, large groß, bulky sperrig", "opening": TIGHT + ", low niedrig"}),
    ("{0} | fit fits fit | into {1}", "- passt passte | NOT in {1:acc}",
     {"vehicle": "long lang, wide breit, high hoch, big groß", "hall": "small klein, short kurz, low niedrig, full voll"}),
    ("WE | put put put | {0} into {1}", "packen packen packten | {0:acc} NOT in {1:acc}",
     {"thing": LOAD, "container": TIGHT + ", full voll"}),
    ("WE | throw throw threw | {0} over {1}", "werfen werfen warfen | {0:acc} NOT über {1:acc}",
     {"thing": LOAD, "obstacle": HIGH}),
    ("WE | lead lead led | {0} across {1}", "führen führen führten | {0:acc} NOT über {1:acc}", {"led": BEING, "slope": SLOPE}),
    ("WE | leave leave left | {0} in {1}", "lassen lassen ließen | {0:acc} NOT in {1:dat}",
     {"being": BEING, "place": "narrow eng, dusty staubig, damp feucht"}),
    # The same kinds in another order, so that the adjective does not give away the position of the noun.
    ("WE | use use used | {0} for {1}", "benutzen benutzen benutzten | {0:acc} NOT für {1:acc}",
     {"container": TIGHT, "thing": "big groß, large groß, bulky sperrig"}),
    ("WE | use use used | {0} for {1}", "benutzen benutzen benutzten | {0:acc} NOT für {1:acc}",
     {"hall": "small klein, short kurz, low niedrig, full voll", "vehicle": "long lang, wide breit, high hoch, big groß"}),
    ("WE | use use used | {0} for {1}", "benutzen benutzen benutzten | {0:acc} NOT für {1:acc}",
     {"home": "narrow eng, uncomfortable unbequem, !damaged beschädigt", "pet": BEING}),
    ("WE | open open opened | {0} for {1}", "öffnen öffnen öffneten | {0:acc} NOT für {1:acc}",
     {"opening": TIGHT + ", low niedrig", "being": BEING}),
    ("WE | choose choose chose | {0} for {1}", "wählen wählen wählten | {0:acc} NOT für {1:acc}", {"slope": SLOPE, "led": BEING}),
    ("WE | bring bring brought | {0} to {1}", "bringen bringen brachten | {0:acc} NOT zu {1:dat}",
     {"load": LOAD, "being": BEING}),
    ("WE | give give gave | {0} to {1}", "geben geben gaben | {1:dat} {0:acc} NOT",
     {"food": "salty salzig, greasy fettig, bitter bitter, !burnt angebrannt, !spoiled verdorben", "being": BEING}),
    ("WE | throw throw threw | {0} over {1} to {2}", "werfen werfen warfen | {0:acc} NOT über {1:acc} zu {2:dat}",
     {"load": LOAD, "obstacle": HIGH, "being": BEING}),
    ("WE | carry carry carried | {0} across {1} to {2}", "tragen tragen trugen | {0:acc} NOT über {1:acc} zu {2:dat}",
     {"load": LOAD, "way": WAY, "being": BEING}),
    ("WE | take take took | {0} in {1} to {2}", "bringen bringen brachten | {0:acc} in {1:dat} NOT zu {2:dat}",
     {"food": "salty salzig, greasy fettig, bitter bitter, !spoiled verdorben", "bowl": "dirty schmutzig, deep tief",
      "being": BEING}),
    ("{0} with {1} | cross crosses crossed | {2}", "überqueren überquert überquerte | {2:acc} NOT",
     {"being": BEING, "load": LOAD, "way": WAY}),
    ("{0} | carry carries carried | {1} across {2}", "tragen trägt trug | {1:acc} NOT über {2:acc}",
     {"being": BEING, "load": LOAD, "way": WAY}),
    ("{0} | eat eats ate | {1} from {2}", "fressen frisst fraß | {1:acc} NOT aus {2:dat}",
     {"being": BEING, "food": "salty salzig, greasy fettig, bitter bitter, !spoiled verdorben",
      "bowl": "dirty schmutzig, deep tief"}),
    ("{0} | jump jumps jumped | out of {1} over {2}", "springen springt sprang | NOT aus {1:dat} über {2:acc}",
     {"pet": BEING, "carrier": "deep tief, narrow eng", "obstacle": HIGH}),
    ("WE | take take took | {0} in {1} across {2}", "bringen bringen brachten | {0:acc} in {1:dat} NOT über {2:acc}",
     {"pet": BEING, "carrier": "narrow eng, uncomfortable unbequem, !damaged beschädigt", "slope": SLOPE}),
    ("WE | carry carry carried | {0} through {1} into {2}", "tragen tragen trugen | {0:acc} NOT durch {1:acc} in {2:acc}",
     {"furniture": LOAD, "opening": "narrow eng, low niedrig", "hall": "full voll, dirty schmutzig, dusty staubig"}),
    ("WE | push push pushed | {0} across {1} into {2}", "schieben schieben schoben | {0:acc} NOT über {1:acc} in {2:acc}",
     {"furniture": LOAD, "way": "muddy schlammig, stony steinig", "hall": "full voll, dirty schmutzig, dusty staubig"}),
]
PEOPLE = [("we", "wir"), ("the children", "die Kinder"), ("the workers", "die Arbeiter"), ("my parents", "meine Eltern"),
          ("our friends", "unsere Freunde"), ("the students", "die Studenten")]
# Adjectives before a noun; they decide nothing.
QUALITIES = [("old", "alt"), ("other", "ander"), ("strange", "seltsam"), ("beautiful", "schön")]
TIMES = {"past": [("yesterday", "gestern"), ("this morning", "heute Morgen"), ("on Sunday", "am Sonntag"),
                  ("last week", "letzte Woche")],
         "present": [("today", "heute"), ("now", "jetzt")]}
REASONS = [("because", "weil"), ("since", "da")]             # with a negative sentence
CONTRASTS = [("although", "obwohl"), ("even though", "obwohl")]  # with a positive one
DEGREES = {True: [("too", "zu")] * 3 + [("much too", "viel zu"), ("a bit too", "etwas zu")],
           False: [("very", "sehr"), ("quite", "ziemlich"), ("really", "wirklich")]}
NEVER_TRAINED = ({"animal", "street"}, {"ball", "bag"})  # the well-known examples
DRAW = "second"  # which draw of held-out pairs of nouns: the recipe was chosen on another one


@dataclass(frozen=True)
class Noun:
    "A noun in a sentence; `format` gives its German phrase in a case."

    english: str
    german: str
    gender: int  # 0 masculine, 1 feminine, 2 neuter
    quality: tuple[str, str] | None = None  # an adjective before it

    def phrase(self) -> str:
        "the old dog"
        return f"the {self.quality[0]} {self.english}" if self.quality else f"the {self.english}"

    def __format__(self, case: str) -> str:
        "der alte Hund, den alten Hund"
        ending = "e" if case == "nom" or (case == "acc" and self.gender) else "en"
        return " ".join([ARTICLES[case][self.gender], *([self.quality[1] + ending] if self.quality else []), self.german])


@dataclass(frozen=True)
class Meaning:
    "What `it` stands for in a sentence. Positions are counted in words, from 0."

    noun: str                          # the noun that is meant, in English
    place: int                         # its position
    gender: int                        # in German: 0 masculine, 1 feminine, 2 neuter
    pronoun: str                       # er, sie or es
    it: int                            # the position of "it"
    others: tuple[tuple[str, int, int], ...]  # the other nouns that it could stand for: English, position, German gender

    def tells(self) -> bool:
        "Whether every other noun has a different gender, so that the pronoun tells which noun is meant."
        return all(gender != self.gender for _, _, gender in self.others)


def plain_words(sentence: str) -> list[str]:
    "The words of a sentence in lower case, without commas and the full stop."
    return [word.strip(".,").lower() for word in sentence.split()]


@cache
def nouns_of(kind: str) -> tuple[tuple[Noun, ...], ...]:
    "The nouns of a kind, by gender."
    groups = enumerate(KINDS[kind].split("; "))
    return tuple(tuple(Noun(*noun.split(), gender) for noun in group.split(", ")) for gender, group in groups)


def predicate(rng: random.Random, choices: str, tense: str, no: bool) -> tuple[str, str]:
    "What the clause says about the noun: `was too tired`, `zu müde war`."
    english, *german = rng.choice(choices.split(", ")).split()
    be, sein = ("was", "war") if tense == "past" else ("is", "ist")
    if english[0] == "~":
        return f"{be} {english[1:]}", german[tense != "past"]
    if english[0] == "!":
        return f"{be} {english[1:]}", f"{german[0]} {sein}"
    degree_en, degree_de = rng.choice(DEGREES[no])
    return f"{be} {degree_en} {english}", f"{degree_de} {german[0]} {sein}"


def upper(sentence: str) -> str:
    "With a capital letter."
    return sentence[0].upper() + sentence[1:]


def contracted(german: str) -> str:
    "im for in dem, ins for in das, zum for zu dem, zur for zu der."
    for apart, joined in (("in dem", "im"), ("in das", "ins"), ("zu dem", "zum"), ("zu der", "zur")):
        german = german.replace(f" {apart} ", f" {joined} ")
    return german


def main_clause(rng: random.Random, frame: tuple, nouns: list[Noun], tense: str, no: bool) -> tuple[str, str, str, str]:
    "The English main clause; the German subject, verb and rest, whose order depends on where the clause stands."
    subject, verb, rest = frame[0].split(" | ")
    forms, rest_de = frame[1].split(" | ")
    (base, third, past), (infinitive, present_de, past_de) = verb.split(), forms.split()
    phrases, people = [noun.phrase() for noun in nouns], subject == "WE"
    who, who_de = rng.choice(PEOPLE) if people else (subject.format(*phrases), f"{nouns[0]:nom}")
    if " with " in subject:
        who_de += f" mit {nouns[1]:dat}"
    time, time_de = rng.choice(TIMES[tense]) if rng.random() < 0.15 else ("", "")
    if no and tense == "past" and infinitive != "-" and rng.random() < 0.3:
        verb, verb_de = f"couldn't {base}", "konnten" if people else "konnte"
    else:
        helper = "didn't" if tense == "past" else "don't" if people else "doesn't"
        verb = f"{helper} {base}" if no else past if tense == "past" else third
        verb_de, infinitive = past_de if tense == "past" else present_de, ""
    english = " ".join(f"{who} {verb} {rest.format(*phrases)} {time}".split())
    rest_de = f"{time_de} {rest_de.format(*nouns)} {infinitive}".replace("NOT", "nicht" if no else "")
    return english, who_de, verb_de, contracted(" " + " ".join(rest_de.split()))


def pair_with_meaning(rng: random.Random, clause_first: float = 1) -> tuple[str, str, Meaning]:
    "A sentence, its translation and what `it` means; in the share `clause_first` of the cases German begins with the clause."
    n = rng.choice((2, 3))
    frame = rng.choice([frame for frame in FRAMES if len(frame[2]) == n])
    nouns = [rng.choice(rng.choice(nouns_of(kind))) for kind in frame[2]]
    meant = rng.randrange(n)
    if rng.random() < 0.25:
        with_quality = rng.randrange(n)
        nouns[with_quality] = replace(nouns[with_quality], quality=rng.choice(QUALITIES))
    tense, no = rng.choice(("past", "past", "past", "present")), rng.random() < 0.75
    english, who, verb, rest = main_clause(rng, frame, nouns, tense, no)
    says, says_de = predicate(rng, list(frame[2].values())[meant], tense, no)
    link, link_de = rng.choice(REASONS if no else CONTRASTS)
    pronoun = PRONOUNS[nouns[meant].gender]
    source = f"{link} it {says}, {english}." if rng.random() < 0.3 else f"{english} {link} it {says}."
    target = f"{link_de} {pronoun} {says_de}, {verb} {who}{rest}."
    if clause_first < 1 and rng.random() >= clause_first:
        target = f"{who} {verb}{rest}, {link_de} {pronoun} {says_de}."
    words = plain_words(source)
    places = [(noun.english, words.index(noun.english), noun.gender) for noun in nouns]
    others = tuple(place for i, place in enumerate(places) if i != meant)
    return upper(source), upper(target), Meaning(*places[meant], pronoun, words.index("it"), others)


def split_of(meaning: Meaning) -> str | None:
    "The split of a sentence, by its pairs of nouns; None if a noun comes twice, or if it has pairs of both test and validation."
    nouns, found = {meaning.noun, *[noun for noun, _, _ in meaning.others]}, set()
    if len(nouns) <= len(meaning.others):
        return None
    for pair in itertools.combinations(sorted(nouns), 2):
        percent = int(hashlib.sha256(" ".join([DRAW, *pair]).encode()).hexdigest(), 16) % 100
        found.add("test" if set(pair) in NEVER_TRAINED or percent < 8 else "validation" if percent < 12 else "train")
    return "train" if found == {"train"} else next(iter(found - {"train"})) if len(found - {"train"}) == 1 else None


def sentences(
    train: int = 30_000, validation: int = 500, test: int = 2_000, seed: int = 1, clause_first: float = 1,
) -> dict[str, list[tuple[str, str, Meaning]]]:
    "Sentences by split, each once. Each one in validation and test has two nouns that occur together in no other split."
    return {name: [*split] for name, split in made(train, validation, test, seed, clause_first).items()}  # a copy for the caller


@lru_cache(maxsize=4)  # which knows nothing of default arguments; one seed's sentences take 20 MB
def made(train: int, validation: int, test: int, seed: int, clause_first: float) -> dict[str, list[tuple[str, str, Meaning]]]:
    "Like `sentences`."
    wanted = {"train": train, "validation": validation, "test": test}
    splits: dict[str, dict[str, tuple[str, str, Meaning]]] = {name: {} for name in wanted}
    rng = random.Random(seed)
    while any(len(splits[name]) < size for name, size in wanted.items()):
        source, target, meaning = pair_with_meaning(rng, clause_first)
        split = split_of(meaning)
        if split and len(splits[split]) < wanted[split]:
            splits[split].setdefault(source, (source, target, meaning))
    return {name: list(found.values()) for name, found in splits.items()}


def pronouns(train: int = 30_000, validation: int = 500, test: int = 2_000, seed: int = 1) -> Corpus:
    "Sentences made by rule, English and German, whose meaning says what `it` stands for, by `sentences`."
    pairs = {name: [found[:2] for found in split] for name, split in sentences(train, validation, test, seed).items()}
    return Corpus("pronouns-en-de", "en", "de", pairs["train"], pairs["validation"], {"test": pairs["test"]})


@cache
def meanings() -> dict[str, Meaning]:
    "What `it` stands for, by English sentence of the corpus."
    return {source: meaning for split in sentences().values() for source, _, meaning in split}
