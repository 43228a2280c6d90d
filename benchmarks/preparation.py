"""Preparing a large corpus: the memory and the time it takes, at half and at full size.

    python -m benchmarks.preparation [--pairs 2000000] [--out results/speed/preparation.json]

The sentences are made up: words with the frequencies of natural text (Zipf), 25 to a sentence on average and up to 100.
Each measurement runs in its own process, since a process's peak never goes down.
"""
import json
import tempfile
import time
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path

import numpy as np

from annotated_transformer import PAD
from annotated_transformer.data import corpora
from annotated_transformer.data.batching import collate
from annotated_transformer.data.large_corpora import SAMPLE, TokenizedPairs, epoch_batches, sample
from annotated_transformer.data.tokenizer import Tokenizer
from benchmarks.shared import side_by_side
from benchmarks.shared.command import Options, one_sentence
from benchmarks.shared.side_by_side import resident_peak, save

LANGUAGES = {"en": "bcdfghklmnprst", "de": "bdfghklmnrstwz"}  # and their consonants
WORDS, MEAN, LONGEST, VALIDATION = 300_000, 25, 100, 1_000    # different words of a language; words of a sentence; pairs
VOCABULARY, BATCH_TOKENS, MAX_LENGTH, SEED = 37_000, 25_000, 512, 0


def vocabulary(words: int, consonants: str, random: np.random.Generator) -> np.ndarray:
    "Made-up words of one to five syllables, roughly the short ones first."
    syllables = np.array([a + v + b for a in consonants for v in "aeiou" for b in [*consonants, "", ""]], dtype=object)
    found: dict[str, None] = {}
    while len(found) < words:
        sizes = random.geometric(0.35, words).clip(1, 5)
        drawn = iter(syllables[random.integers(0, len(syllables), sizes.sum())])
        found.update(dict.fromkeys("".join(islice(drawn, int(size))) for size in sizes))
    ordered = np.array(sorted(islice(found, words), key=len), dtype=object)
    return ordered[np.argsort(np.log(np.arange(1, words + 1)) + random.normal(0, 0.7, words))]


def sentence_pairs(pairs: int, words: int, seed: int) -> Iterator[tuple[str, str]]:
    "Word r of a language comes up in proportion to 1 / (r + 2.7); the two sides are of about the same length."
    random = np.random.default_rng(seed)
    vocabularies = [vocabulary(words, consonants, random) for consonants in LANGUAGES.values()]
    up_to = np.cumsum(1 / (np.arange(words) + 2.7))
    for start in range(0, pairs, 10_000):
        size = min(10_000, pairs - start)
        lengths = random.gamma(2.6, MEAN / 2.6, size)
        sides = []
        for known, factor in zip(vocabularies, (np.ones(size), random.normal(0.95, 0.12, size))):
            count = (lengths * factor).clip(1, LONGEST).astype(int)
            drawn = known[np.searchsorted(up_to, random.random(count.sum()) * up_to[-1]).clip(0, words - 1)]
            ends = np.cumsum(count)
            sides.append([" ".join(drawn[a:b]) for a, b in zip(ends - count, ends)])
        yield from zip(*sides)


def write_corpus(directory: str, pairs: int, words: int = WORDS) -> None:
    "train.en, train.de, validation.en and validation.de in `directory`/whole, and in `directory`/half half as many pairs."
    for folder, size in (("half", pairs // 2), ("whole", pairs)):
        Path(directory, folder).mkdir(parents=True)
        made = sentence_pairs(size + VALIDATION, words, SEED)
        for name, some in (("validation", islice(made, VALIDATION)), ("train", made)):
            paths = [Path(directory, folder, f"{name}.{language}") for language in LANGUAGES]
            with open(paths[0], "w") as source_file, open(paths[1], "w") as target_file:
                for source, target in some:
                    source_file.write(source + "\n")
                    target_file.write(target + "\n")


def prepare(corpus: str, out: str, vocab_size: int, most: int, chunk: int = 20_000) -> dict:
    "Count the pairs, learn the pieces, tokenise: what training does before its first step."
    before, clock, seconds = resident_peak(), time.perf_counter(), {}

    def lap(name: str) -> None:
        nonlocal clock
        seconds[name], clock = time.perf_counter() - clock, time.perf_counter()

    train = corpora.load(corpus).train
    n = sum(1 for _ in train)
    lap("count")
    tokenizer = Tokenizer.train(sample(train, n, most), vocab_size)
    lap("learn_the_pieces")
    written = TokenizedPairs.write(out, "train", train, tokenizer, MAX_LENGTH, chunk=chunk, total=n)
    lap("tokenise")
    peaks = {"peak_bytes_before": before, "peak_bytes": resident_peak()}
    return {"pairs": n, "left_out": written.left_out, "seconds": seconds} | peaks


def one_epoch(out: str, batch_tokens: int, block: int) -> dict:
    "Go through all batches of an epoch as training does: choose the rows, read them, pad them."
    before, clock = resident_peak(), time.perf_counter()
    pairs = TokenizedPairs.open(out, "train")
    rows = batches = real = positions = 0
    for chosen in epoch_batches(pairs, batch_tokens, SEED, 0, block=block):
        batch = collate(pairs, chosen)
        rows, batches = rows + len(chosen), batches + 1
        real += int((batch.source != PAD).sum() + (batch.target != PAD).sum())
        positions += batch.source.numel() + batch.target.numel()
    return {
        "pairs": rows, "batches": batches, "tokens": real, "padding_share": round(1 - real / positions, 4),
        "seconds": {"epoch": time.perf_counter() - clock}, "peak_bytes_before": before, "peak_bytes": resident_peak(),
    }


in_own_process = partial(side_by_side.in_own_process, "benchmarks.preparation")


def measure(
    directory: str, pairs: int, words: int, vocab_size: int, batch_tokens: int, most: int, block: int, chunk: int
) -> dict:
    "Prepare and go through half the corpus and the whole of it."
    in_own_process("write_corpus", directory, pairs, words)
    found = {}
    for size in ("half", "whole"):
        out = str(Path(directory, size, "data"))
        found[size] = {
            "prepare": in_own_process("prepare", str(Path(directory, size)), out, vocab_size, most, chunk),
            "epoch": in_own_process("one_epoch", out, batch_tokens, block),
        }
    return found


def growth(found: dict, stage: str) -> float:
    "How much higher the peak of the whole is than that of half, in percent."
    half, whole = (found[size][stage]["peak_bytes"] for size in ("half", "whole"))
    return round(100 * (whole / half - 1), 2)


def extrapolated(found: dict, millions: float) -> dict:
    "Hours for a corpus of another size: learning the pieces takes what it took, everything else grows with the pairs."
    whole = found["whole"]
    times = whole["prepare"]["seconds"] | whole["epoch"]["seconds"]
    fixed = times.pop("learn_the_pieces")
    scaled = {name: seconds * millions * 1e6 / whole["prepare"]["pairs"] for name, seconds in times.items()}
    preparation = fixed + scaled["count"] + scaled["tokenise"]
    return {"preparation_hours": round(preparation / 3600, 3), "reading_an_epoch_hours": round(scaled["epoch"] / 3600, 3)}


@one_sentence()
def main(options: Sequence[str] | None = None) -> None:
    parser = Options("benchmarks.preparation", __doc__, "results/speed/preparation.json")
    parser.add_argument("--pairs", type=int, default=2_000_000)
    arguments = parser.parse_args(options)

    # For a small corpus, a quarter: if half of it fitted into one sample or one block, the whole would need more than the half.
    sizes = {name: min(usual, arguments.pairs // 4) for name, usual in (("most", SAMPLE), ("block", 2**19), ("chunk", 20_000))}
    settings = {"words": WORDS, "vocab_size": VOCABULARY, "batch_tokens": BATCH_TOKENS, **sizes}
    with tempfile.TemporaryDirectory() as directory:
        found = measure(directory, arguments.pairs, **settings)
    for stages in found.values():
        for stage in stages.values():
            grows = {name: value for name, value in stage["seconds"].items() if name != "learn_the_pieces"}
            per_million = {name: round(1e6 * value / stage["pairs"], 2) for name, value in grows.items()}
            stage["seconds"] = {name: round(value, 2) for name, value in stage["seconds"].items()}
            stage |= {"seconds_per_million_pairs": per_million, "peak_gibibytes": round(stage["peak_bytes"] / 2**30, 3)}
    figures = found | {
        "growth_of_the_peak_from_half_to_whole_percent": {stage: growth(found, stage) for stage in ("prepare", "epoch")},
        "extrapolated": {"how": "plain proportion; learning the pieces takes what it took, since the sample does not grow"}
        | {f"{millions} million pairs": extrapolated(found, millions) for millions in (4.5, 36)},
    }
    config = {"pairs": arguments.pairs, **settings, "mean_words": MEAN, "longest": LONGEST, "max_length": MAX_LENGTH}
    save(arguments.out, "benchmarks.preparation", figures, config, SEED, options)
    print(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
