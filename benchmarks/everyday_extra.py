"""Pairs made by rule for the training of everyday-en-de: python -m benchmarks.everyday_extra --out DIRECTORY [--with-corpus]

18,000 sentences with it as er, sie or es and 12,000 from the phrasebook, mixed, as train.en and train.de. None of them is a
sentence that translators were measured on when the training began: the validation and test sets of Tatoeba and Multi30k, two
lists of `benchmarks.everyday`, and the two sentences about the dog and the street. (Two greetings of the third list, written
later, are among them.)

With `--with-corpus`, the corpus's own training pairs come before them, and its validation pairs are written too. One pair in five
in Tatoeba is about Tom, and hardly any other name occurs ten times, so a translator learns to write Tom, not to copy a name: here
most of those pairs get another name, a common one or an invented one, made letter by letter after the common ones.

`--names DIRECTORY` draws from longer lists: the first and last names of the United States census of 1990, as in the package
`names` 0.3.0 (`dist.male.first`, `dist.female.first`, `dist.all.last`; its source: `pip download names==0.3.0`). Then half of
the pairs with Mary or Boston get another name too. Names in the sentences used for measuring are left out.
"""
import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path

from annotated_transformer.data import corpora
from annotated_transformer.data.phrasebook import phrases, pronoun_pairs_both_orders
from annotated_transformer.data.phrasebook_words import CITIES, MEN, SURNAMES, WOMEN
from annotated_transformer.data.pronouns import plain_words
from benchmarks.shared.command import Options, one_sentence, results_directory
from benchmarks.shared.corpus_files import write_corpus
from benchmarks.shared.sentence_lists import sentences

SEED, RENAMED = 1, 0.7  # of the pairs with Tom, the share that gets another name
FAMOUS = [f"The dog didn't cross the street because it was too {word}." for word in ("tired", "wide")]


def measured_on() -> set[str]:
    "The sentences that training pairs must not hold, in small letters and without signs."
    measured = list(FAMOUS)
    for name in ("tatoeba-en-de", "everyday-en-de"):
        corpus = corpora.load(name)
        measured += [pair[0] for split in (corpus.validation, *corpus.tests.values()) for pair in split]
    measured += [source for name in ("everyday", "phrasebook") for source in sentences(name)[0]]
    return {key(sentence) for sentence in measured}


def key(sentence: str) -> str:
    "What makes two sentences the same: the words, without signs and capitals."
    return " ".join(word.strip("!?\"'") for word in plain_words(sentence))


def made() -> list[tuple[str, str]]:
    "The pairs, mixed."
    held, pairs = measured_on(), []
    for make, n in ((pronoun_pairs_both_orders, 18_000), (phrases, 12_000)):
        pairs += [pair for pair in make(n + n // 20 + 100, SEED) if key(pair[0]) not in held][:n]
    random.Random(SEED).shuffle(pairs)
    return pairs


class Inventor:
    "Names after the manner of others: each letter is drawn by the two before it."

    def __init__(self, names: Iterable[str], taken: set[str]):
        names = list(names)
        self.names, self.taken, self.after = set(names), taken, defaultdict(Counter)
        for name in dict.fromkeys(names):  # not in the order of a set, which is another in each process
            letters = f"^^{name}$"
            for at in range(2, len(letters)):
                self.after[letters[at - 2 : at]][letters[at]] += 1

    def __call__(self, rng: random.Random) -> str:
        while True:
            letters = "^^"
            while letters[-1] != "$":
                found = self.after[letters[-2:]]
                letters += rng.choices(list(found), list(found.values()))[0]
            if 4 <= len(name := letters[2:-1]) <= 11 and name.isalpha() and name.lower() not in self.taken:
                return name


TOM = re.compile(r"\bTom\b")
MASCULINE = re.compile(r"\b(he|him|his|himself|man|boy|er|ihn|ihm|sein\w*|Herr\w*|Mann|Junge)\b", re.IGNORECASE)
KNOWN = (  # names that Tatoeba's sentences have: in English, in German, which list is drawn from, for what share of the pairs
    (TOM, TOM, "male.first", RENAMED), (re.compile(r"\bMary\b"), re.compile(r"\b(?:Mary|Maria)\b"), "female.first", 0.5),
    (re.compile(r"\bBoston\b"), re.compile(r"\bBoston\b"), "all.last", 0.5),
)
LISTED = 12_000  # of the census's names; rarer ones are left for measuring


def renamed(pairs: Iterable[tuple[str, str]], share: float, held: set[str], seed: int) -> list[tuple[str, str]]:
    "The pairs, of those with Tom on both sides equally often this share with another name: a man's, or an invented person's."
    pairs, rng = list(pairs), random.Random(seed)
    taken = {word for sentence in held for word in sentence.split()}
    taken |= {word for english, _ in pairs for word in re.findall(r"\b[a-z]+\b", english)}
    first = Inventor([*MEN, *WOMEN], taken)
    last = Inventor([*SURNAMES, *CITIES], taken)
    made = []
    for english, german in pairs:
        count = len(TOM.findall(english))
        # A German genitive (Toms) is another word, so that its pair keeps the name: not every name takes an s.
        if count and count == len(TOM.findall(german)) and rng.random() < share:
            name = first(rng) if rng.random() < 0.6 else rng.choice(MEN)
            if rng.random() < 0.3:
                name += " " + (last(rng) if rng.random() < 0.6 else rng.choice(SURNAMES))
            one = TOM.sub(name, english), TOM.sub(name, german)
            if key(one[0]) not in held:
                english, german = one
        made.append((english, german))
    return made


def census(directory: Path, held: set[str]) -> dict[str, list[str]]:
    "Names of men, women and families, the commonest first, without those of the sentences that are measured."
    taken, found = {word for sentence in held for word in sentence.split()}, {}
    for kind in ("male.first", "female.first", "all.last"):
        lines = (directory / f"dist.{kind}").read_text(encoding="ascii").splitlines()[:LISTED]
        names = [line.split()[0].capitalize() for line in lines]
        found[kind] = [name for name in names if len(name) > 2 and name.lower() not in taken]
    return found


def from_lists(
    pairs: Iterable[tuple[str, str]],
    names: dict[str, list[str]],  # of `census`
    held: set[str],
    seed: int,
) -> list[tuple[str, str]]:
    "The pairs, of those with Tom most and of those with Mary or Boston half with a name of the lists, or with an invented one."
    rng, made = random.Random(seed), []
    common = [*names["female.first"][:1_000], *names["male.first"][:1_000], *names["all.last"][:2_000]]
    invented = Inventor(common, {word for sentence in held for word in sentence.split()})

    def drawn(kind: str) -> str:
        return invented(rng) if rng.random() < 0.3 else rng.choice(names[kind])

    for english, german in pairs:
        one = english, german
        for here, there, kind, share in KNOWN:
            count = len(here.findall(one[0]))
            if count and count == len(there.findall(one[1])) and rng.random() < share:
                if here is TOM and not MASCULINE.search(f"{english} {german}") and rng.random() < 0.5:
                    kind = "female.first"
                name = drawn(kind)
                if kind != "all.last" and rng.random() < 0.25:
                    name += f" {drawn('all.last')}"
                one = here.sub(name, one[0]), there.sub(name, one[1])
        made.append(one if key(one[0]) not in held else (english, german))
    return made


@one_sentence()
def main() -> None:
    parser = Options("benchmarks.everyday_extra", __doc__)
    parser.add_argument("--with-corpus", action="store_true", help="the corpus's own pairs too, Tom renamed in most of them")
    parser.add_argument("--names", type=Path, metavar="DIRECTORY", help="with the corpus's pairs: lists of names to draw from")
    parser.add_argument("--seed", type=int, default=SEED, help="of the names drawn")
    parser.add_argument("--draws", type=int, default=1, help="how often the pairs stand there, each time with other names")
    parser.add_argument("--out", type=results_directory, required=True)
    arguments = parser.parse_args()
    pairs = made()
    splits = {"train": pairs}
    if arguments.with_corpus:
        corpus = corpora.load("everyday-en-de")
        held = measured_on()
        splits["train"] = []
        for seed in range(arguments.seed, arguments.seed + arguments.draws):
            if arguments.names:
                own = from_lists(corpus.train, census(arguments.names, held), held, seed)
            else:
                own = renamed(corpus.train, RENAMED, held, seed)
            splits["train"] += [*own, *pairs]
        splits["validation"] = corpus.validation
    write_corpus(splits, arguments.out)
    print(f"{len(splits['train']):,} pairs in {arguments.out}")


if __name__ == "__main__":
    main()
