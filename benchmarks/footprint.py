"""What training needs: the peak memory of a step, what a long training in 16 bits holds, and the time to open a tokenised corpus.

    python -m benchmarks.footprint [--parts step long corpus] [--updates 1000] [--out results/speed/footprint.json]

Each measurement runs in its own process, since a process's peak never goes down. The long training has the size of the
shipped everyday translator, on random tokens with lengths like Tatoeba's: nearly every batch has a new shape. PyTorch
and oneDNN keep a kernel for each shape, 1,024 each by default; several limits are compared. Parts that are not named
stay in the file as they were.
"""
import json
import os
import statistics
import tempfile
import time
from collections.abc import Sequence
from functools import partial

import numpy as np
import torch

from annotated_transformer.config import PRESETS, TransformerConfig
from annotated_transformer.data.batching import Batch, batches, collate
from annotated_transformer.data.large_corpora import TokenizedPairs
from annotated_transformer.data.tokenizer import Tokenizer
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.training.devices import memory_kept
from annotated_transformer.training.loop import WithLoss, train_step
from annotated_transformer.training.optimizer import adam
from benchmarks.shared import side_by_side
from benchmarks.shared.command import Options, one_sentence
from benchmarks.shared.side_by_side import resident_peak, save

PRESET, TOKENS, LENGTH, PAIRS = "tiny", 4_096, 16, 29_000  # Multi30k: 29,000 pairs, 14 tokens each on average

EVERYDAY = {"vocab_size": 8_000, "n_layers": 4, "d_model": 256, "d_ff": 1_024, "n_heads": 8, "dropout": 0.2}
LONG_TOKENS = 2_048
CONTENDERS = {  # kernels kept by oneDNN and by PyTorch's cache (None: 1,024), and the multiple that lengths are rounded up to
    "as it is": (64, 64, 1), "by themselves": (None, None, 1), "oneDNN's 64": (64, None, 1), "16 and 16": (16, 16, 1),
    "lengths rounded up to eight": (64, 64, 8),
}


def peak_of_training(steps: int = 2) -> dict:
    "Train on random pairs that fill a batch of 4,096 positions a side; report this process's peak."
    config = PRESETS[PRESET].model
    torch.manual_seed(0)
    model = Transformer(config)
    optimizer = adam(model.parameters())
    before = resident_peak()
    rows = torch.randint(3, config.vocab_size, (TOKENS // LENGTH, 2, LENGTH)).numpy()
    batch = collate(rows, range(len(rows)))
    learner, tokens = WithLoss(model, PRESETS[PRESET].smoothing), batch.target.numel()
    losses = [float(train_step(learner, optimizer, [(step, batch)], tokens, rate=1e-3)) for step in range(steps)]
    return {
        "tokens": tokens, "vocabulary": config.vocab_size, "losses": losses,
        "peak_bytes": resident_peak(), "peak_bytes_before_the_first_step": before,
    }


def long_training(updates: int, contender: str) -> dict:
    "Train on batches of many shapes, in 16 bits; report what this process holds after the first quarter and at the end."
    stores = ("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "LRU_CACHE_CAPACITY")
    for store, kept in zip(stores, CONTENDERS[contender]):
        os.environ[store] = str(kept or 1_024)
    multiple, random = CONTENDERS[contender][2], np.random.default_rng(0)
    torch.manual_seed(0)
    source = np.clip(random.lognormal(2.3, 0.45, 40_000).round(), 3, 80)
    target = np.clip((source * random.normal(1.05, 0.2, len(source))).round(), 3, 90)
    lengths = np.stack([source, target], 1).astype(int)
    model = Transformer(TransformerConfig(**EVERYDAY))
    optimizer, learner = adam(model.parameters(), fused=True), WithLoss(model, 0.1, "bfloat16")
    cut = (rows for epoch in range(updates) for rows in batches(lengths, LONG_TOKENS, 0, epoch))
    shapes, held, start = set(), {}, time.process_time()
    with memory_kept():
        for step, rows in zip(range(1, updates + 1), cut):
            pairs = [[random.integers(3, EVERYDAY["vocab_size"], n) for n in lengths[row]] for row in rows]
            longer = (torch.nn.functional.pad(ids, (0, -ids.size(1) % multiple)) for ids in collate(pairs, range(len(pairs))))
            batch = Batch(*longer)
            train_step(learner, optimizer, [(step, batch)], int(lengths[rows, 1].sum()), rate=1e-4)
            shapes.add((*batch.source.shape, batch.target.size(1)))
            if step in (updates // 4, updates):
                held[step] = resident_peak()
    return {
        "shapes": len(shapes), "processor_seconds": round(time.process_time() - start, 1),
        "peak_gibibytes_after": {step: round(peak / 2**30, 3) for step, peak in held.items()},
    }


def time_to_open(directory: str, times: int = 20) -> dict:
    "Open the tokenised pairs and cut an epoch into batches, over and over."
    seconds = {"open": [], "open_and_cut_into_batches": []}
    for _ in range(times):
        start = time.perf_counter()
        pairs = TokenizedPairs.open(directory, "train")
        seconds["open"].append(time.perf_counter() - start)
        batches(pairs.lengths, TOKENS)
        seconds["open_and_cut_into_batches"].append(time.perf_counter() - start)
    return {"pairs": len(pairs), "tokens": int(pairs.lengths.sum()), "times": times} | {
        f"{name}_median_seconds": round(statistics.median(values), 5) for name, values in seconds.items()
    }


def write_pairs(directory: str) -> None:
    "As many pairs as Multi30k has, of random words, tokenised."
    random = np.random.default_rng(0)
    words = np.array(["".join(random.choice(list("abcdefgh"), size)) for size in random.integers(2, 7, 500)])
    texts = [" ".join(random.choice(words, size)) for size in random.integers(4, 20, 2 * PAIRS)]
    TokenizedPairs.write(directory, "train", list(zip(texts[:PAIRS], texts[PAIRS:])), Tokenizer.train(texts[:2_000], 500))


in_own_process = partial(side_by_side.in_own_process, "benchmarks.footprint")


@one_sentence()
def main(options: Sequence[str] | None = None) -> None:
    parser = Options("benchmarks.footprint", __doc__, "results/speed/footprint.json")
    parser.add_argument("--parts", nargs="+", choices=("step", "long", "corpus"), default=("step", "long", "corpus"))
    parser.add_argument("--updates", type=int, default=1_000, help="of the long training")
    parser.add_argument("--contenders", nargs="+", choices=list(CONTENDERS), default=list(CONTENDERS), help="of that")
    arguments = parser.parse_args(options)
    figures = json.loads(arguments.out.read_text(encoding="utf-8"))["figures"] if arguments.out.exists() else {}
    if "step" in arguments.parts:
        peaks = [in_own_process("peak_of_training") for _ in range(3)]
        step = {name: statistics.median(peak[name] for peak in peaks) for name in peaks[0] if name != "losses"}
        figures["training_step"] = step | {"peak_gibibytes": round(step["peak_bytes"] / 2**30, 3)}
    if "corpus" in arguments.parts:
        with tempfile.TemporaryDirectory() as directory:
            write_pairs(directory)
            figures["tokenised_corpus"] = in_own_process("time_to_open", directory)
    if "long" in arguments.parts:
        long = {name: in_own_process("long_training", arguments.updates, name) for name in arguments.contenders}
        figures[f"long_training_of_{arguments.updates}"] = long
    model = PRESETS[PRESET].to_dict()["model"]
    config = {
        "preset": PRESET, "model": model, "padded_tokens_a_side": TOKENS, "pairs": "random words",
        "long_training": EVERYDAY | {"padded_tokens_a_side": LONG_TOKENS},
    }
    save(arguments.out, "benchmarks.footprint", figures, config, options=options)
    print(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
