"""Pairs made by rule for the training of everyday-en-de: python -m benchmarks.everyday_extra --out DIRECTORY

18,000 sentences with it as er, sie or es and 12,000 of the phrasebook, mixed, as train.en and train.de. None of them is a
sentence that a translator was measured on when the training began: the validation and test sets of Tatoeba and Multi30k, two
lists of `benchmarks.everyday`, and the two sentences of the dog and the street. (Of the third, written later, two greetings are.)
"""
import argparse
import random
from pathlib import Path

from annotated_transformer.data import corpora
from annotated_transformer.data.phrasebook import phrases, pronoun_pairs_both_orders
from annotated_transformer.data.pronouns import plain_words
from benchmarks import everyday

FAMOUS = [f"The dog didn't cross the street because it was too {word}." for word in ("tired", "wide")]


def measured_on() -> set[str]:
    "The sentences that training pairs must not hold, in small letters and without signs."
    sentences = list(FAMOUS)
    for name in ("tatoeba-en-de", "everyday-en-de"):
        corpus = corpora.load(name)
        sentences += [pair[0] for split in (corpus.validation, *corpus.tests.values()) for pair in split]
    sentences += [source for name in ("everyday", "phrasebook") for source in everyday.sentences(name)[0]]
    return {key(sentence) for sentence in sentences}


def key(sentence: str) -> str:
    "What makes two sentences the same: the words, without signs and capitals."
    return " ".join(word.strip("!?\"'") for word in plain_words(sentence))


def made(pronouns: int = 18_000, phrases_: int = 12_000, seed: int = 1) -> list[tuple[str, str]]:
    "The pairs, mixed."
    held, pairs = measured_on(), []
    for make, n in ((pronoun_pairs_both_orders, pronouns), (phrases, phrases_)):
        pairs += [pair for pair in make(n + n // 20 + 100, seed) if key(pair[0]) not in held][:n]
    random.Random(seed).shuffle(pairs)
    return pairs


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.everyday_extra", description=__doc__.split("\n")[0])
    parser.add_argument("--pronouns", type=int, default=18_000)
    parser.add_argument("--phrases", type=int, default=12_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    pairs = made(arguments.pronouns, arguments.phrases, arguments.seed)
    arguments.out.mkdir(parents=True, exist_ok=True)
    for side, name in enumerate(("train.en", "train.de")):
        (arguments.out / name).write_text("".join(f"{pair[side]}\n" for pair in pairs), encoding="utf-8")
    print(f"{len(pairs):,} pairs in {arguments.out}")


if __name__ == "__main__":
    main()
