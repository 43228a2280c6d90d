"""Which head does what: the measures of nbs/70b_heads.ipynb, over Multi30k's test2016 and the lists of that notebook.

python -m benchmarks.heads --model multi30k-en-de --out results/heads.json
"""
import argparse
import re
from collections import defaultdict
from pathlib import Path

import torch
from nltk.translate import AlignedSent, IBMModel1

from annotated_transformer import InputError, Transformer, Translator, progress_bar
from annotated_transformer.attention_maps import AttentionMaps
from annotated_transformer.corpora import load
from annotated_transformer.heads import (
    ALIGNED,
    OBJECTS,
    PRONOUNS,
    Aligned,
    Tally,
    add_aligned,
    add_marked,
    add_positions,
    by_kind,
    read_aligned,
)
from benchmarks.side_by_side import save

CORPUS, TEST_SET = "multi30k-en-de", "test2016"
ROUNDS = 5  # of the aligner's learning, in each direction


def plain_words(sentence: str) -> list[str]:
    "Lower case, without punctuation: what the aligner counts. As many words as blanks say, as in the maps."
    return [re.sub(r"\W", "", word.lower()) or word for word in sentence.split()]


def links(pairs: list[tuple[str, str]], rounds: int = ROUNDS) -> list[list[tuple[int, int]]]:
    "Of each pair the words that IBM Model 1 joins in both directions."
    texts = [(plain_words(source), plain_words(target)) for source, target in pairs]
    ways = []
    for there in (True, False):
        sentences = [AlignedSent(target, source) if there else AlignedSent(source, target) for source, target in texts]
        IBMModel1(sentences, rounds)  # it leaves its choice in the sentences: for each word of the first one of the second
        ways.append([{(b, a) if there else (a, b) for a, b in sentence.alignment if b is not None} for sentence in sentences])
    return [sorted(one & other) for one, other in zip(*ways)]


def precision(found: list[list[tuple[int, int]]], by_hand: list[Aligned]) -> dict:
    "How many of the links found are among those set by hand, and how many of those were found."
    right = sum(len(set(some) & set(pair.links)) for some, pair in zip(found, by_hand))
    n_found, n_set = sum(map(len, found)), sum(len(pair.links) for pair in by_hand)
    return {"links": n_found, "precision": round(right / n_found, 4), "by_hand": n_set, "recall": round(right / n_set, 4)}


def measure(translator: Translator, test: list[Aligned], by_hand: list[Aligned], desc: str) -> dict:
    "All measures of all heads."
    tallies = defaultdict(Tally)
    for pair in progress_bar(iterable=test, desc=desc, unit="sentence"):
        maps: AttentionMaps = translator.attention(pair.source, pair.target)
        add_positions(tallies, maps)
        add_aligned(tallies, "aligned word", maps, pair)
        add_aligned(tallies, "word just read", maps, pair, late=1)
    add_marked(tallies, "verb's object", translator.attention, OBJECTS)
    add_marked(tallies, "pronoun's noun", translator.attention, PRONOUNS)
    for pair in by_hand:
        add_aligned(tallies, "aligned by hand", translator.attention(pair.source, pair.target), pair)
    return by_kind(tallies)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.heads", description=__doc__.split("\n")[0])
    parser.add_argument("--model", default="multi30k-en-de", help="name of weights that ship, or a directory")
    parser.add_argument("--limit", type=int, help="sentences of the test set, and as many hundred of training: for trials")
    parser.add_argument("--out", type=Path, default=Path("results/heads.json"))
    arguments = parser.parse_args()
    try:
        translator, corpus = Translator.from_pretrained(arguments.model), load(CORPUS)
        test, train = list(corpus.split(TEST_SET)), list(corpus.train)
    except InputError as error:
        parser.error(str(error))
    if arguments.limit:
        test, train = test[: arguments.limit], train[: 100 * arguments.limit]
    by_hand = [read_aligned(line) for line in ALIGNED]
    print(f"Aligning {len(train) + len(test):,} pairs by words, about a minute for 30,000")
    found = links(train + test + [pair[:2] for pair in by_hand])
    n = len(train), len(train) + len(test)
    test = [Aligned(*pair, some) for pair, some in zip(test, found[n[0] : n[1]])]
    torch.manual_seed(0)
    untrained = Translator(Transformer(translator.model.config), translator.tokenizer)
    figures = {
        "aligner": precision(found[n[1] :], by_hand),
        "measures": measure(translator, test, by_hand, "the model"),
        "untrained": measure(untrained, test, by_hand, "one that has learnt nothing"),
    }
    config = {
        "model": arguments.model, "sizes": vars(translator.model.config),
        "corpus": CORPUS, "test_set": TEST_SET, "sentences": len(test),
        "aligner": {"name": "IBM Model 1, both directions", "rounds": ROUNDS, "training_pairs": len(train)},
        "lists": {"verb's object": len(OBJECTS), "pronoun's noun": len(PRONOUNS), "aligned by hand": len(by_hand)},
    }
    save(arguments.out, "benchmarks.heads", figures, config)
    for kind, measures in figures["measures"].items():
        for name, one in measures.items():
            best = one["best"]
            which = f"layer {best['layer']}, head {best['head']}"
            print(f"{kind:<16} {name:<28} {best['score']:>6.1%} by {which}; held out {one['held_out']:.1%}")


if __name__ == "__main__":
    main()
