"""What training needs: the peak memory of a step, and the time to open a tokenised corpus.

    python -m benchmarks.footprint [--out results/speed/footprint.json]

Each measurement runs in a process of its own, since a process never gives its peak back.
"""
import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np
import torch

from annotated_transformer.config import PRESETS
from annotated_transformer.data.batching import batches, collate
from annotated_transformer.data.large_corpora import TokenizedPairs
from annotated_transformer.data.tokenizer import Tokenizer
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.training.loop import WithLoss, train_step
from annotated_transformer.training.optimizer import adam
from benchmarks.shared import side_by_side
from benchmarks.shared.side_by_side import resident_peak, save

PRESET, TOKENS, LENGTH, PAIRS = "tiny", 4_096, 16, 29_000  # Multi30k: 29,000 pairs, 14 tokens each on average


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


def main(options: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.footprint", description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("results/speed/footprint.json"))
    arguments = parser.parse_args(options)
    peaks = [in_own_process("peak_of_training") for _ in range(3)]
    step = {name: statistics.median(peak[name] for peak in peaks) for name in peaks[0] if name != "losses"}
    step["peak_gibibytes"] = round(step["peak_bytes"] / 2**30, 3)
    with tempfile.TemporaryDirectory() as directory:
        write_pairs(directory)
        opened = in_own_process("time_to_open", directory)
    model = PRESETS[PRESET].to_dict()["model"]
    figures = {"training_step": step, "tokenised_corpus": opened}
    config = {"preset": PRESET, "model": model, "padded_tokens_a_side": TOKENS, "pairs": "random words"}
    save(arguments.out, "benchmarks.footprint", figures, config, options=options)
    print(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
