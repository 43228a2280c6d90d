"""Which head does what: the measures of nbs/figures/head_scores.ipynb, over a corpus and over the lists in benchmarks/sentences.

python -m benchmarks.heads --model multi30k-en-de --corpus multi30k-en-de --out results/heads/multi30k.json
python -m benchmarks.heads --model everyday-en-de --corpus tatoeba-en-de --out results/heads/everyday.json

Positions and aligned words are counted in the corpus's (first) test set. Pronouns with their nouns and verbs with their objects
are found by the rules of benchmarks.word_pairs, in all its splits; a hundred of each were judged by hand.
"""
import argparse
import re
from collections import Counter, defaultdict
from pathlib import Path

import torch
from nltk.translate import AlignedSent, IBMModel1

from annotated_transformer import InputError, Transformer, Translator
from annotated_transformer.data.corpora import load
from annotated_transformer.data.parallel_text import Corpus
from annotated_transformer.figures.attention_maps import AttentionMaps, token_labels
from annotated_transformer.figures.head_scores import (
    Aligned,
    Tally,
    add_aligned,
    add_marked,
    add_positions,
    by_kind,
    claim,
    read_aligned,
)
from annotated_transformer.figures.token_labels import group_words
from annotated_transformer.model_record import PRETRAINED
from annotated_transformer.progress_bar import progress_bar
from benchmarks.shared.shipping import keep
from benchmarks.shared.side_by_side import save
from benchmarks.word_pairs import SEARCHES, find, mark, read_judged

HERE = Path(__file__).parent
ROUNDS = 5           # of the aligner's learning, in each direction
ALIGNER = 30_000     # pairs from which it learns, about a minute
TEST = 1_000         # sentences of the test set


def sentences(name: str) -> list[str]:
    "The lines of a list."
    return (HERE / "sentences" / f"{name}.txt").read_text(encoding="utf-8").splitlines()


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


def fits(translator: Translator, sentence: str, side: str = "source") -> bool:
    "Whether the tokenizer makes of a sentence the words that its blanks separate: it writes some signs in another way."
    tokenizer = translator.tokenizer
    ids = (tokenizer.encode if side == "source" else tokenizer.encode_target)(sentence)
    words, _ = group_words(token_labels(tokenizer, ids))
    return len(words) == len(sentence.split()) + 1 and len(ids) <= translator.model.config.max_length


def marked_lists(translator: Translator, corpus: Corpus, limit: int | None) -> tuple[dict[str, list[str]], dict]:
    "Marked sentences by the name of their measure, and where those found by rule are from."
    lists, origins = {}, {}
    for name in SEARCHES:
        kept, everywhere = find(corpus, name)
        kept = [(split, mark(pair)) for split, pair in kept if fits(translator, pair.sentence)][:limit]
        lists[name] = [line for _, line in kept]
        lists[f"{name}, not trained on"] = [line for split, line in kept if split != "train"]
        measured = Counter(split for split, _ in kept)
        origins[name] = {"found": dict(sorted(everywhere.items())), "measured": dict(sorted(measured.items()))}
    lists["pronoun's noun, by hand"], lists["verb's object, by hand"] = sentences("pronouns"), sentences("objects")
    return {name: lines for name, lines in lists.items() if lines}, origins


def measure(translator: Translator, test: list[Aligned], lists: dict[str, list[str]], by_hand: list[Aligned], desc: str) -> dict:
    "All measures of all heads."
    tallies = defaultdict(Tally)
    with progress_bar(total=len(test) + sum(map(len, lists.values())), desc=desc, unit="sentence") as bar:
        for pair in test:
            maps: AttentionMaps = translator.attention(pair.source, pair.target)
            add_positions(tallies, maps)
            add_aligned(tallies, "aligned word", maps, pair)
            add_aligned(tallies, "word just read", maps, pair, late=1)
            bar.update()
        for name, lines in lists.items():
            add_marked(tallies, name, translator.attention, lines)
            bar.update(len(lines))
    for pair in by_hand:
        add_aligned(tallies, "aligned by hand", translator.attention(pair.source, pair.target), pair)
    return by_kind(tallies)


def judged(lists: dict[str, list[str]]) -> dict[str, dict[str, int]]:
    "Of each kind found by rule: how many of those judged by hand are measured here, and how many of these are right."
    verdicts = {name: read_judged(HERE.parent / "results" / "heads" / search.file) for name, search in SEARCHES.items()}
    found = {}
    for name, of_kind in verdicts.items():
        counts = Counter(of_kind.get(line, "open") for line in lists.get(name, []))
        found[name] = {"judged": counts["right"] + counts["wrong"], "right": counts["right"]}
    return found


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.heads", description=__doc__.split("\n")[0])
    parser.add_argument("--model", default="multi30k-en-de", help="name of weights that ship, or a directory")
    parser.add_argument("--corpus", default="multi30k-en-de", help="name or directory")
    parser.add_argument("--limit", type=int, help="for trials: sentences of test set and lists, as many hundred of training")
    parser.add_argument("--out", type=Path, default=Path("results/heads/multi30k.json"))
    parser.add_argument("--ship", action="store_true", help="put the head that aligns best into the record of the shipped model")
    arguments = parser.parse_args()
    try:
        translator, corpus = Translator.from_pretrained(arguments.model), load(arguments.corpus)
        test, train = ([pair[:2] for pair in corpus.split(split)] for split in ("test", "train"))
    except InputError as error:
        parser.error(str(error))
    most = 100 * arguments.limit if arguments.limit else ALIGNER
    train = train[:: -(-len(train) // most)]
    test = [pair for pair in test if fits(translator, pair[0]) and fits(translator, pair[1], "target")][: arguments.limit or TEST]
    by_hand = [read_aligned(line) for line in sentences("aligned")]
    print(f"Aligning {len(train) + len(test):,} pairs by words, about a minute for 30,000")
    found = links(train + test + [pair[:2] for pair in by_hand])
    n = len(train), len(train) + len(test)
    test = [Aligned(*pair, some) for pair, some in zip(test, found[n[0] : n[1]])]
    lists, origins = marked_lists(translator, corpus, arguments.limit)
    torch.manual_seed(0)
    untrained = Translator(Transformer(translator.model.config), translator.tokenizer)
    figures = {
        "aligner": precision(found[n[1] :], by_hand),
        "judged": judged(lists),
        "measures": measure(translator, test, lists, by_hand, "the model"),
        "untrained": measure(untrained, test, lists, by_hand, "one that has learnt nothing"),
    }
    config = {
        "model": arguments.model, "sizes": vars(translator.model.config), "corpus": arguments.corpus, "sentences": len(test),
        "aligner": {"name": "IBM Model 1, both directions", "rounds": ROUNDS, "training_pairs": len(train)},
        "lists": {name: len(lines) for name, lines in lists.items()}, "by_rule": origins,
    }
    save(arguments.out, "benchmarks.heads", figures, config)
    if arguments.ship:
        best = figures["measures"]["encoder_decoder"]["aligned word"]["best"]
        keep(PRETRAINED / arguments.model, alignment_head=(best["layer"], best["head"]))
    for kind, measures in figures["measures"].items():
        for name, one in measures.items():
            if one["interval"]:
                print(claim(kind, name, one, figures["untrained"][kind][name]))


if __name__ == "__main__":
    main()
