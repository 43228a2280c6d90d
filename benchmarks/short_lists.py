"""A list of likely words for each sentence: how much faster is a search that looks at nothing else, and what does it lose?

    python -m benchmarks.short_lists [--model everyday-en-de] [--corpus tatoeba-en-de] [--rounds 4] [--out ...]

IBM's model 1 (Brown et al. 1993) learns from the training pairs, in the model's own tokens, which target tokens a source token
may become. A batch's list has the NEAR most likely of each of its source tokens, and the OFTEN most frequent targets. The search
is the package's own, with a model whose vocabulary is the list: its outputs are renumbered. Products with the list use the same
kernel as without it. For a few rows, packing the list would take too long: there 8 bits take rows as they are,
16 bits the halves of floats.

Searches with and without lists take turns; times are processor time of one thread, including making the list, so other work
does less harm. BLEU is that of the validation split with beam 4, in float32.
"""
import copy
import dataclasses
import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from annotated_transformer import EOS, PAD, UNK, Transformer, Translator
from annotated_transformer.config import Search
from annotated_transformer.data.batching import pad
from annotated_transformer.data.corpora import load
from annotated_transformer.threads import set_threads
from annotated_transformer.translation.bleu import sacre_bleu
from annotated_transformer.translation.fast_search import beam_search, greedy_search
from annotated_transformer.translation.few_rows import HalvedEmbedding, HalvedMatrix, for_few_rows
from annotated_transformer.translation.packed_weights import EightBits, PackedMatrix, SixteenBits, times_short, whole_rows
from benchmarks.shared.command import Options, at_least, one_sentence
from benchmarks.shared.sentence_lists import spread
from benchmarks.shared.side_by_side import one_thread, save, take_turns

ROUNDS = 5            # of training model 1
NEAR, OFTEN = 100, 100
TIMED = 128           # sentences of the validation split
FEW = 8               # up to this many rows of a product, packing the list takes longer than it saves
WORKS = {"greedy, one at a time": (1, 1), "beam 4, one at a time": (4, 1), "beam 4, 16 at a time": (4, 16),
         "beam 4, 64 at a time": (4, 64)}
PACKED: dict[str, type[PackedMatrix]] = {"float16": SixteenBits, "int8": EightBits}


class Likely(NamedTuple):
    "What the lists are made from."

    near: Tensor   # (V, n) the likeliest targets of each source token, PAD where there are fewer
    often: Tensor  # bool (V), what every list has

    def of(self, source: Tensor) -> Tensor:
        "The list of a batch (B, S): ids in order, which begin with PAD, EOS and UNK."
        listed = self.often.clone()
        listed[self.near[source].flatten()] = True
        return listed.nonzero().squeeze(1)


def model_1(sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]], V: int, rounds: int) -> tuple[np.ndarray, ...]:
    "p(target | source) of IBM's model 1 without its empty word: source ids, target ids, probabilities of the pairs that occur."
    unique = [np.unique(row) for row in sources]
    several = np.concatenate([np.full(len(row), len(there)) for there, row in zip(unique, targets)])  # sources of each target
    starts = np.concatenate([[0], several.cumsum()[:-1]])
    pairs = np.concatenate([np.tile(there, len(row)) for there, row in zip(unique, targets)]) * V
    pairs += np.repeat(np.concatenate([np.asarray(row) for row in targets]), several)
    different, place = np.unique(pairs, return_inverse=True)
    source, p = different // V, np.ones(len(different))
    for _ in range(rounds):
        shares = p[place]
        shares /= np.repeat(np.add.reduceat(shares, starts), several)
        counts = np.bincount(place, shares)
        p = counts / np.bincount(source, counts, V)[source]
    return source, different % V, p


def learn(sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]], V: int, near: int, often: int) -> Likely:
    "From the tokens of the training pairs."
    source, target, p = model_1(sources, targets, V, ROUNDS)
    order = np.lexsort((-p, source))
    source, target = source[order], target[order]
    rank = np.arange(len(source)) - np.searchsorted(source, source)
    kept, table = rank < near, torch.full((V, near), PAD)
    table[source[kept], rank[kept]] = torch.from_numpy(target[kept])
    counts = np.bincount(np.concatenate([np.asarray(row) for row in targets]), minlength=V)
    always = torch.zeros(V, dtype=torch.bool)
    always[torch.from_numpy(np.argsort(-counts, kind="stable")[:often].copy())] = True
    always[[PAD, EOS, UNK]] = True
    return Likely(table, always)


class ListedEmbedding(nn.Module):
    "An embedding whose vocabulary is a list: token i is the i-th of it."

    def __init__(self, embedding: nn.Module, listed: Tensor, whole: tuple[Tensor, Tensor], precision: str):
        super().__init__()
        self.embedding, self.listed, self.precision, self.many = embedding, listed, precision, None
        if precision == "int8":
            self.few = times_short(*(part[listed] for part in whole), None)
        elif precision == "float16" or isinstance(embedding, HalvedEmbedding):
            self.few = HalvedMatrix.product(embedding.weight[listed], None, 0)
        else:
            self.few = self.for_many()

    @property
    def weight(self) -> Tensor:
        return self.embedding.weight

    def for_many(self) -> Callable[[Tensor], Tensor]:
        rows = self.weight[self.listed]
        return PACKED[self.precision].product(rows, None, 0) if self.precision in PACKED else lambda x: F.linear(x, rows)

    def forward(self, ids: Tensor) -> Tensor:
        return self.embedding(self.listed[ids])

    def project_into(self, space: Tensor, x: Tensor) -> Tensor:
        if len(x) <= FEW:
            return self.few(x)
        self.many = self.many or self.for_many()
        return self.many(x)


def narrowed(model: Transformer, listed: Tensor, whole: tuple[Tensor, Tensor], precision: str) -> Transformer:
    "The same model for a search: it reads all tokens, and writes those of the list by their places in it."
    found = copy.copy(model)
    found._modules = dict(model._modules)
    found.embedding = ListedEmbedding(model.embedding, listed, whole, precision)
    found.encode, found.config = model.encode, dataclasses.replace(model.config, vocab_size=len(listed))
    return found


class Contender:
    "A translator's searches, with lists or without."

    def __init__(self, translator: Translator, likely: Likely | None):
        self.model, self.likely, self.precision = for_few_rows(translator.searched), likely, translator.precision
        self.whole = whole_rows(translator.model.embedding.weight.detach())

    def __call__(self, batches: Iterable[Tensor], search: Search) -> list[list[int]]:
        "Tokens of the best translation of each sentence."
        found, model = [], self.model
        with torch.inference_mode():
            for source in batches:
                if self.likely:
                    listed = self.likely.of(source)
                    model = narrowed(self.model, listed, self.whole, self.precision)
                if search.beam_size == 1:
                    rows = greedy_search(model, source, search)
                else:
                    rows = [one[0].tokens for one in beam_search(model, source, search)]
                found += [listed[torch.tensor(row, dtype=torch.long)].tolist() for row in rows] if self.likely else rows
        return found


def in_batches(rows: Iterable[list[int]], n: int) -> list[Tensor]:
    "Sentences of like length together."
    ordered = sorted(rows, key=len)
    return [pad(ordered[start:start + n]) for start in range(0, len(ordered), n)]


def changed(one: Sequence, other: Sequence) -> int:
    return sum(a != b for a, b in zip(one, other))


def timed(translator: Translator, likely: Likely, rows: list[list[int]], rounds: int) -> dict[str, dict]:
    "By work: how many times as fast the search is with lists."
    contenders, found = (Contender(translator, None), Contender(translator, likely)), {}
    for work, (beam, n) in WORKS.items():
        batches, search = in_batches(rows, n), Search(beam, translator.search.alpha)
        without, with_lists = (one(batches, search) for one in contenders)
        seconds = take_turns({name: partial(one, batches, search) for name, one in zip(("without", "with"), contenders)}, rounds,
                             warmup=0, desc=work, clock=time.process_time)
        ratios = [a / b for a, b in zip(seconds["without"], seconds["with"])]
        listed = [len(likely.of(source)) for source in batches]
        found[work] = {"times_as_fast": round(statistics.median(ratios), 3), "rounds": [round(one, 3) for one in ratios],
                       "tokens_listed": round(statistics.mean(listed)), "changed": changed(without, with_lists)}
        print(translator.precision, work, found[work], flush=True)
    return found


def scored(translator: Translator, likely: Likely, pairs: list[tuple[str, str]]) -> dict:
    "BLEU of a split with lists and without, 16 sentences at a time."
    sources = translator.tokenizer.encode_all([source for source, _ in pairs])
    order = sorted(range(len(pairs)), key=lambda number: len(sources[number]))
    batches = in_batches(sources, 16)
    references = [pairs[number][1] for number in order]
    search = Search(4, translator.search.alpha)
    texts = [[translator.tokenizer.decode(row) for row in Contender(translator, how)(batches, search)] for how in (None, likely)]
    bleu = [sacre_bleu(text, references, "de").score for text in texts]
    return {"sentences": len(pairs), "without": bleu[0], "with": bleu[1], "changed": changed(*texts)}


@one_sentence()
@torch.no_grad()
@one_thread(set_threads)
def main(options: Sequence[str] | None = None) -> None:
    parser = Options("benchmarks.short_lists", __doc__, "results/speed/short-lists.json")
    parser.add_argument("--model", default="everyday-en-de")
    parser.add_argument("--corpus", default="tatoeba-en-de")
    parser.add_argument("--rounds", type=at_least(1), default=4)
    parser.add_argument("--pairs", type=at_least(1), help="learn from so many, for a trial")
    parser.add_argument("--sentences", type=at_least(1), help="score so many, for a trial")
    arguments = parser.parse_args(options)
    corpus = load(arguments.corpus)
    translators = {how: Translator.from_pretrained(arguments.model, device="cpu", precision=how)
                   for how in ("float32", "float16", "int8")}
    translator, V = translators["float32"], translators["float32"].model.config.vocab_size
    pairs = spread(corpus.train, arguments.pairs or len(corpus.train))
    sources, targets = (translator.tokenizer.encode_all(list(side)) for side in zip(*pairs))
    start = time.process_time()
    likely = learn(sources, targets, V, NEAR, OFTEN)
    seconds = time.process_time() - start
    validation = spread(corpus.validation, arguments.sentences or len(corpus.validation))
    score = scored(translator, likely, validation)
    print(score, flush=True)
    rows = translator.tokenizer.encode_all([source for source, _ in spread(validation, TIMED)])
    figures = {
        "pairs": len(pairs), "seconds_to_learn": round(seconds, 1), "near": NEAR, "often": OFTEN, "validation": score,
        "sentences_timed": len(rows), "by_precision": {how: timed(one, likely, rows, arguments.rounds)
                                                       for how, one in translators.items()},
    }
    config = {"model": arguments.model, "corpus": arguments.corpus, "rounds": arguments.rounds}
    save(arguments.out, "benchmarks.short_lists", figures, config, options=options)


if __name__ == "__main__":
    main()
