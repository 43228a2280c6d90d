"""Pairs made by rule for the training of everyday-en-de: python -m benchmarks.everyday_extra --out DIRECTORY [--with-corpus]

18,000 sentences with it as er, sie or es and 12,000 of the phrasebook, mixed, as train.en and train.de. None of them is a
sentence that a translator was measured on when the training began: the validation and test sets of Tatoeba and Multi30k, two
lists of `benchmarks.everyday`, and the two sentences of the dog and the street. (Of the third, written later, two greetings are.)

With `--with-corpus`, the corpus's own training pairs stand before them, and its validation pairs beside them. One pair of five in
Tatoeba is about Tom and hardly any other name occurs ten times, so a translator learns to write Tom and not to copy a name: here
most of those pairs get another one, a common name or one that nobody has, made letter by letter after the common ones.
"""
import argparse
import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path

from annotated_transformer.data import corpora
from annotated_transformer.data.phrasebook import phrases, pronoun_pairs_both_orders
from annotated_transformer.data.phrasebook_words import CITIES, MEN, SURNAMES, WOMEN
from annotated_transformer.data.pronouns import plain_words
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
        self.names, self.taken, self.after = set(names), taken, defaultdict(Counter)
        for name in self.names:
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


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.everyday_extra", description=__doc__.split("\n")[0])
    parser.add_argument("--with-corpus", action="store_true", help="the corpus's own pairs too, Tom renamed in most of them")
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    pairs = made()
    splits = {"train": pairs}
    if arguments.with_corpus:
        corpus = corpora.load("everyday-en-de")
        splits["train"] = [*renamed(corpus.train, RENAMED, measured_on(), SEED), *pairs]
        splits["validation"] = corpus.validation
    write_corpus(splits, arguments.out)
    print(f"{len(splits['train']):,} pairs in {arguments.out}")


if __name__ == "__main__":
    main()
