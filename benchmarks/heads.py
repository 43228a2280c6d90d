"""Which head does what, and what is lost without it: the questions of nbs/figures/head_scores.ipynb, over many sentences.

python -m benchmarks.heads --model multi30k-en-de --corpus multi30k-en-de --out results/heads/multi30k.json
python -m benchmarks.heads --model everyday-en-de --corpus tatoeba-en-de --out results/heads/everyday.json
python -m benchmarks.heads --seeds 1 2 3 --weights DIRECTORY DIRECTORY DIRECTORY --out results/heads/seeds.json

Positions, rare tokens and aligned words are counted in the corpus's (first) test set. Pronouns with their nouns and verbs with
their objects are found by the rules of benchmarks.word_pairs, in all its splits; a hundred of each were judged by hand. <eos>,
and for questions about words all punctuation, is left out before the strongest key is taken. Then each head is
switched off: losses are those of the validation split, translations those of the test set. With --seeds, models that differ
only in their seed are compared: for the file above, those of `benchmarks.pretrained multi30k-en-de --parts 1 --steps 12000`.
"""
import argparse
import dataclasses
import re
from collections import Counter, defaultdict
from pathlib import Path

import torch
from nltk.translate import AlignedSent, IBMModel1

from annotated_transformer import InputError, Transformer, Translator
from annotated_transformer.data.corpora import load
from annotated_transformer.data.parallel_text import Corpus
from annotated_transformer.figures.attention_maps import KINDS, AttentionMaps, token_labels
from annotated_transformer.figures.head_scores import (
    NONE,
    RESTS,
    Aligned,
    Resting,
    Tally,
    add_aligned,
    add_marked,
    add_positions,
    add_rarest,
    by_kind,
    catalogue,
    claim,
    read_aligned,
)
from annotated_transformer.figures.token_labels import group_words
from annotated_transformer.model_record import PRETRAINED
from annotated_transformer.progress_bar import progress_bar
from benchmarks.shared import heads_off
from benchmarks.shared.command import Options, one_sentence
from benchmarks.shared.sentence_lists import sentences, spread
from benchmarks.shared.shipping import keep
from benchmarks.shared.side_by_side import save
from benchmarks.word_pairs import SEARCHES, find, mark, read_judged

JUDGED = Path(__file__).parents[1] / "results" / "heads"  # the lists of benchmarks.word_pairs, with verdicts
ROUNDS = 5           # of training the aligner, in each direction
ALIGNER = 30_000     # pairs that it learns from, in about a minute
TEST = 1_000         # sentences of the test set
LOSSES = 800         # pairs of the validation split
TRANSLATED = 500     # sentences of the test set
UNTRAINED = 5        # untrained models: if one has no head that finds pronouns by luck, another has
BACK = {"pronoun's noun": "noun's pronoun", "verb's object": "object's verb"}  # the same pairs of words the other way round


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
    "Marked sentences by the name of their question, and where those found by rule are from."
    lists, origins = {}, {}
    for name in SEARCHES:
        kept, everywhere = find(corpus, name)
        kept = [(split, mark(pair)) for split, pair in kept if fits(translator, pair.sentence)][:limit]
        lists[name] = [line for _, line in kept]
        lists[f"{name}, not trained on"] = [line for split, line in kept if split != "train"]
        measured = Counter(split for split, _ in kept)
        origins[name] = {"found": dict(sorted(everywhere.items())), "measured": dict(sorted(measured.items()))}
    lists["pronoun's noun, by hand"], lists["verb's object, by hand"] = sentences("pronouns")[0], sentences("objects")[0]
    return {name: lines for name, lines in lists.items() if lines}, origins


@dataclasses.dataclass
class Sample:
    "What the heads of a model are asked about."

    test: list[Aligned]             # sentences of the test set with their links
    counts: Counter[int]            # how often each token stands in the training split
    lists: dict[str, list[str]]     # marked sentences
    by_hand: list[Aligned]

    def measure(self, translator: Translator, desc: str) -> tuple[dict, dict]:
        "All questions to all heads; and the share of weight that rests on the end and the start."
        tallies, resting = defaultdict(Tally), {kind: Resting() for kind in KINDS}
        with progress_bar(total=len(self.test) + sum(map(len, self.lists.values())), desc=desc, unit="sentence") as bar:
            for pair in self.test:
                maps: AttentionMaps = translator.attention(pair.source, pair.target)
                add_positions(tallies, maps)
                add_rarest(tallies, maps, [self.counts[token] for token in translator.tokenizer.encode(pair.source)])
                add_aligned(tallies, "aligned word", maps, pair)
                add_aligned(tallies, "word just read", maps, pair, late=1)
                for kind, share in resting.items():
                    share.add(*maps.of(kind))
                bar.update()
            for name, lines in self.lists.items():
                question, _, which = name.partition(", ")
                back = ", ".join(filter(None, [BACK[question], which]))
                add_marked(tallies, {name: False, back: True}, translator.attention, lines)
                bar.update(len(lines))
        for pair in self.by_hand:
            add_aligned(tallies, "aligned by hand", translator.attention(pair.source, pair.target), pair)
        shares = {kind: [[round(one, 4) for one in row] for row in found.shares.tolist()] for kind, found in resting.items()}
        return by_kind(tallies), shares


def judged(lists: dict[str, list[str]]) -> dict[str, dict[str, int]]:
    "Of each kind found by rule: how many of those judged by hand are measured here, and how many of these are right."
    verdicts = {name: read_judged(JUDGED / search.file) for name, search in SEARCHES.items()}
    found = {}
    for name, of_kind in verdicts.items():
        counts = Counter(of_kind.get(line, "open") for line in lists.get(name, []))
        found[name] = {"judged": counts["right"] + counts["wrong"], "right": counts["right"]}
    return found


def sample(translator: Translator, corpus: Corpus, limit: int | None) -> tuple[Sample, dict, dict]:
    "The sentences of a corpus, what is known of the aligner, and what the configuration says of both."
    test, train = ([pair[:2] for pair in corpus.split(split)] for split in ("test", "train"))
    most = 100 * limit if limit else ALIGNER
    aligner = train[:: -(-len(train) // most)]
    test = [pair for pair in test if fits(translator, pair[0]) and fits(translator, pair[1], "target")]
    test = spread(test, limit or TEST)
    by_hand = [read_aligned(line) for line in sentences("aligned")[0]]
    print(f"Aligning {len(aligner) + len(test):,} pairs by words, about a minute for 30,000")
    found = links(aligner + test + [pair[:2] for pair in by_hand])
    n = len(aligner), len(aligner) + len(test)
    test = [Aligned(*pair, some) for pair, some in zip(test, found[n[0] : n[1]])]
    lists, origins = marked_lists(translator, corpus, limit)
    counts = Counter(token for row in translator.tokenizer.encode_all([source for source, _ in train]) for token in row)
    config = {
        "sentences": len(test),
        "aligner": {"name": "IBM Model 1, both directions", "rounds": ROUNDS, "training_pairs": len(aligner)},
        "lists": {name: len(lines) for name, lines in lists.items()}, "by_rule": origins, "untrained": UNTRAINED,
    }
    known = {"aligner": precision(found[n[1] :], by_hand), "judged": judged(lists)}
    return Sample(test, counts, lists, by_hand), known, config


def without(translator: Translator, corpus: Corpus, named: dict, limit: int | None, desc: str) -> dict:
    "What is lost when heads are off."
    pairs = [pair[:2] for pair in corpus.split("validation") if all(side.strip() for side in pair[:2])]
    pairs = spread(pairs, limit or LOSSES)
    halves = [heads_off.Losses(translator.model, heads_off.batches_of(translator, pairs[start::2])) for start in (0, 1)]
    alone, chosen_on = heads_off.alone(halves, desc)
    orders = heads_off.in_order(chosen_on, halves[1], desc)
    marks = {kind: [[one.name not in (RESTS, NONE) for one in row] for row in rows] for kind, rows in named.items()}
    texts = spread([pair[:2] for pair in corpus.split("test")], limit or TRANSLATED)
    return {
        "pairs": len(pairs), "tokens": int(sum(half.tokens.sum() for half in halves)), **alone, "in_order": orders,
        "named_and_others": heads_off.separations({kind: one["harm"] for kind, one in alone["alone"].items()}, marks),
        "translations": {"sentences": len(texts), **heads_off.translated(translator, texts, orders, desc)},
    }


def of_nothing(translator: Translator, asked: Sample) -> dict:
    "The same questions to models of the same size that have learnt nothing: to each, the figures of the one that scores highest."
    found = []
    for seed in range(UNTRAINED):
        torch.manual_seed(seed)
        untrained = Translator(Transformer(translator.model.config), translator.tokenizer)
        found.append(asked.measure(untrained, f"{seed + 1} of {UNTRAINED} that have learnt nothing"))
    (measures, resting), *_ = found
    best = {kind: {
        name: max((one[kind][name] for one, _ in found), key=lambda figures: figures["held_out"] or 0) for name in questions
    } for kind, questions in measures.items()}
    shares = {kind: [[round(sum(heads) / UNTRAINED, 4) for heads in zip(*rows)] for rows in zip(*(one[kind] for _, one in found))]
              for kind in resting}
    return {"untrained": best, "resting_untrained": shares}


def figures_of(translator: Translator, asked: Sample, untrained: dict, corpus: Corpus, limit: int | None, desc: str) -> dict:
    "All that is measured of one model; `untrained` as `of_nothing` returns it."
    measures, resting = asked.measure(translator, desc)
    figures = {"measures": measures, "resting": resting, **untrained}
    named = catalogue(figures)
    figures["catalogue"] = {kind: [[one.name for one in row] for row in rows] for kind, rows in named.items()}
    return figures | {"without": without(translator, corpus, named, limit, desc)}


def print_claims(figures: dict) -> None:
    "What the figures of a model allow to be said."
    for kind, measures in figures["measures"].items():
        for name, one in measures.items():
            if one["interval"]:
                print(claim(kind, name, one, figures["untrained"][kind][name]))


@one_sentence()
def main() -> None:
    parser = Options("benchmarks.heads", __doc__, "results/heads/multi30k.json")
    parser.add_argument("--model", default="multi30k-en-de", help="name of weights that ship, or a directory")
    parser.add_argument("--corpus", default="multi30k-en-de", help="name or directory")
    parser.add_argument("--limit", type=int, help="for trials: sentences of test set and lists, as many hundred of training")
    parser.add_argument("--ship", action="store_true", help="the head that aligns best, by hand, into the shipped record")
    parser.add_argument("--seeds", type=int, nargs="+", help="measure models that differ in these seeds alone instead")
    parser.add_argument("--weights", nargs="+", default=[], metavar="DIRECTORY", help="the model or run of each of the seeds")
    arguments = parser.parse_args()
    (of_seeds if arguments.seeds else of_model)(arguments)


def of_model(arguments: argparse.Namespace) -> None:
    "Measure one model."
    translator, corpus = Translator.from_pretrained(arguments.model), load(arguments.corpus)
    asked, known, config = sample(translator, corpus, arguments.limit)
    figures = known | figures_of(translator, asked, of_nothing(translator, asked), corpus, arguments.limit, "the model")
    config = {"model": arguments.model, "sizes": vars(translator.model.config), "corpus": arguments.corpus} | config
    save(arguments.out, "benchmarks.heads", figures, config)
    if arguments.ship:
        best = figures["measures"]["encoder_decoder"]["aligned by hand"]["best"]
        keep(PRETRAINED / arguments.model, alignment_head=(best["layer"], best["head"]))
    print_claims(figures)


def of_seeds(arguments: argparse.Namespace) -> None:
    "Measure models that differ in their seed alone: all are asked about the same sentences."
    if len(arguments.weights) != len(arguments.seeds):
        raise InputError(f"--weights names {len(arguments.weights)} models, and there are {len(arguments.seeds)} seeds")
    first, *others = translators = [Translator.from_pretrained(weights) for weights in arguments.weights]
    for weights, translator in zip(arguments.weights[1:], others):
        if (translator.model.config, translator.tokenizer.model) != (first.model.config, first.tokenizer.model):
            raise InputError(f"{weights}: its sizes or its vocabulary are not those of {arguments.weights[0]}")
    corpus, figures = load(arguments.corpus), {}
    asked, known, about = sample(first, corpus, arguments.limit)
    untrained = of_nothing(first, asked)
    for seed, translator in zip(arguments.seeds, translators):
        figures[f"seed {seed}"] = figures_of(translator, asked, untrained, corpus, arguments.limit, f"seed {seed}")
        print(f"\nSeed {seed}")
        print_claims(figures[f"seed {seed}"])
    config = {"weights": arguments.weights, "sizes": vars(first.model.config), "corpus": arguments.corpus} | about
    save(arguments.out, "benchmarks.heads", known | figures, config, arguments.seeds)


if __name__ == "__main__":
    main()
