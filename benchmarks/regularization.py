"""What dropout and label smoothing do for sentences that the model has not seen, over many first weights (§5.4).

    python -m benchmarks.regularization [--seeds 20] [--out results/translation/regularization.json]

The model of the page "Ten minutes" learns dates with times in 120 updates of 64 pairs: from 100 pairs and from all, with and
without dropout; and from all, without dropout, with label smoothing. For each seed, all settings begin with the same weights and
use the same batches, so they are compared in pairs.
"""
import json
import random
import statistics
from collections.abc import Sequence
from functools import cache

import torch

from annotated_transformer import PAD, Transformer, TransformerConfig
from annotated_transformer.data import corpora
from annotated_transformer.data.batching import Batch, collate
from annotated_transformer.data.tokenizer import Tokenizer
from annotated_transformer.model.regularization import label_smoothed_cross_entropy
from annotated_transformer.tables.noise import STUDENT_T
from annotated_transformer.training.optimizer import adam, learning_rate
from benchmarks.shared.command import Options, one_sentence
from benchmarks.shared.side_by_side import save

UPDATES, SENTENCES, VOCABULARY, NEW, FEW = 120, 64, 400, 200, 100
Pairs = list[tuple[list[int], list[int]]]
SETTINGS = [  # pairs (None: all), dropout, smoothing
    (FEW, 0.0, 0.0), (FEW, 0.1, 0.0), (None, 0.0, 0.0), (None, 0.1, 0.0), (None, 0.0, 0.1),
]


@cache
def data() -> tuple[Tokenizer, Pairs, Batch]:
    "A tokenizer, the training pairs, and new pairs of which none is among them."
    corpus = corpora.load("numbers-en-de")
    learnt, new = ([pair for pair in split if " at " in pair[0]] for split in (corpus.train, corpus.test))
    tokenizer = Tokenizer.train([text for pair in learnt for text in pair], vocab_size=VOCABULARY)
    pairs, unseen = ([(tokenizer.encode(source), tokenizer.encode(target)) for source, target in some] for some in (learnt, new))
    return tokenizer, pairs, collate(unseen, range(NEW))


def trained(smoothing: float, dropout: float, pairs: Pairs, seed: int) -> Transformer:
    "The model of Ten minutes after some updates; of a seed always the same first weights and the same batches."
    torch.manual_seed(seed)
    random.seed(seed)
    size = {"n_layers": 1, "d_model": 64, "d_ff": 256, "n_heads": 4}
    model = Transformer(TransformerConfig(data()[0].vocab_size, **size, dropout=dropout))
    optimizer = adam(model.parameters())
    for update in range(1, UPDATES + 1):
        batch = collate(pairs, random.sample(range(len(pairs)), SENTENCES))
        loss = label_smoothed_cross_entropy(model(batch.source, batch.target_input), batch.target, smoothing)
        optimizer.zero_grad()
        loss.backward()
        optimizer.param_groups[0]["lr"] = learning_rate(update, 64, warmup_steps=80)
        optimizer.step()
    return model.eval()


@torch.no_grad()
def measured(model: Transformer, batch: Batch) -> dict:
    "The share of its sentences with every token right: up to its first wrong token the model writes what it is given here."
    logits = model(batch.source, batch.target_input)
    right = (logits.argmax(-1) == batch.target) | (batch.target == PAD)
    perplexity = label_smoothed_cross_entropy(logits, batch.target, 0.0).exp()
    return {"right": round(right.all(-1).float().mean().item(), 4), "perplexity": round(perplexity.item(), 4)}


def difference(record: list[dict], one: tuple, other: tuple, of: str = "right") -> dict:
    """By how much the second setting has more than the first, on new sentences and seed by seed: the mean, its 95% interval (by
    Student's t), and in how many seeds it is more. A setting is named as in `SETTINGS`, with the number of its pairs."""
    before, after = (
        next([seed["new"][of] for seed in row["seeds"]] for row in record
             if (row["pairs"], row["dropout"], row["smoothing"]) == setting) for setting in (one, other))
    gains = [more - less for less, more in zip(before, after, strict=True)]
    mean, t = statistics.mean(gains), STUDENT_T[max(freedom for freedom in STUDENT_T if freedom < len(gains))]
    half = t * statistics.stdev(gains) / len(gains) ** 0.5
    return {"mean": mean, "interval": (mean - half, mean + half), "more": sum(gain > 0 for gain in gains)}


@one_sentence()
def main(options: Sequence[str] | None = None) -> None:
    parser = Options("benchmarks.regularization", __doc__, "results/translation/regularization.json")
    parser.add_argument("--seeds", type=int, default=20, help="how many, from 0 on")
    arguments = parser.parse_args(options)
    _, pairs, new = data()
    known, figures = collate(pairs, range(FEW)), []
    for few, dropout, smoothing in SETTINGS:
        some, found = pairs[:few], []
        for seed in range(arguments.seeds):
            model = trained(smoothing, dropout, some, seed)
            found.append({"seed": seed, "new": measured(model, new), "first_100": measured(model, known)})
        figures.append({"pairs": len(some), "dropout": dropout, "smoothing": smoothing, "seeds": found})
        print(json.dumps(figures[-1]), flush=True)
    config = {"updates": UPDATES, "sentences": SENTENCES, "vocabulary": VOCABULARY, "new_sentences": NEW}
    save(arguments.out, "benchmarks.regularization", figures, config, [*range(arguments.seeds)], options)


if __name__ == "__main__":
    main()
