"""Which way of finishing a small translator pays? Plain updates, two draws that must agree, or a cut of the words.

    python -m benchmarks.finishes [everyday-en-de] [--updates 200] [--seeds 1 2 3] [--ways plain ...] [--out FILE]

Each way goes on from the shipped weights for equally many updates at the same low rate, with each seed on the same batches.
`two draws` is R-Drop. `cut` is SimCut (Gao et al. 2022): the same batch once more with 5% of the embedded tokens set to zero, on
both sides, and 3 times the divergence of that prediction from the whole one added to the loss. Both cost two passes for an
update. What is compared comes from the validation split alone: loss and perplexity on the way, BLEU at the end.
"""
import argparse
import dataclasses
from collections.abc import Sequence
from pathlib import Path
from unittest.mock import patch

import torch
from torch import Tensor, nn

from annotated_transformer import PAD, Translator
from annotated_transformer.config import Search
from annotated_transformer.data import corpora
from annotated_transformer.data.batching import Batch
from annotated_transformer.model.regularization import label_smoothed_cross_entropy
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.training import loop as training
from annotated_transformer.training.runs import Run
from benchmarks.pretrained import EVERYDAY_MORE, JUDGES
from benchmarks.shared.ending import one_sentence
from benchmarks.shared.side_by_side import mean_and_deviation, save

RECIPES = {
    "everyday-en-de": dataclasses.replace(  # at half the rate or less that its training ended with
        EVERYDAY_MORE, steps=2_500, warmup_steps=200, rate_factor=0.01, validate_every=250, checkpoint_every=100,
    ),
}
CUT, STRENGTH = 0.05, 3.0  # share of the tokens, weight of the divergence: the published ones


def cut_second_half(module: nn.Module, inputs: tuple, vectors: Tensor) -> Tensor:
    "Hook on the embedding: of the second half of the rows, some tokens become zero."
    kept = torch.rand(vectors.shape[:2]) >= CUT
    kept[: len(kept) // 2] = True
    return vectors * kept[..., None]


def divergence(
    logits: Tensor,  # (2, ..., V): of whole rows and of cut rows
    target: Tensor,  # (...) ids; PAD is not counted
) -> Tensor:         # mean per real token, in nats
    "Kullback-Leibler divergence of the cut prediction from the whole one; the gradient goes through both."
    whole, cut = logits.log_softmax(-1)
    real = target != PAD
    return ((whole.exp() * (whole - cut)).sum(-1) * real).sum() / real.sum()


def cut_loss(
    model: Transformer, batch: Batch, smoothing: float, tokens: int | None = None, consistency: float = STRENGTH,
) -> Tensor:
    "What stands in for `batch_loss`: the smoothed loss of the whole rows, and how much the cut changes the prediction."
    source, target_input = (torch.cat([ids, ids]) for ids in batch[:2])
    hook = model.embedding.register_forward_hook(cut_second_half)
    hidden = model.decode(target_input, model.encode(source), source)
    hook.remove()
    logits = model.embedding.project(hidden).unflatten(0, (2, -1))
    return label_smoothed_cross_entropy(logits[0], batch.target, smoothing) + consistency * divergence(logits, batch.target)


WAYS = {"plain": (0.0, training.batch_loss), "two draws": (5.0, training.batch_loss), "cut": (STRENGTH, cut_loss)}


def finish(name: str, way: str, seed: int, updates: int, directory: Path, corpus: str) -> dict:
    "Go on for so many updates in this way; what the validation split says of it."
    consistency, loss = WAYS[way]
    config = dataclasses.replace(
        RECIPES[name], consistency=consistency, seed=seed, steps=updates, warmup_steps=min(200, updates // 2), start_from=name,
        validate_every=max(1, updates // 4), checkpoint_every=updates, keep=1, corpus=corpus,
    )
    run = directory / f"{name}-{way.replace(' ', '-')}-seed{seed}"
    with patch.object(training, "batch_loss", loss):
        training.train(config, run)
    course = [line for line in Run(run).metrics() if "validation_loss" in line]
    bleu, minutes = validation_bleu(name, run), Run(run).reached()["seconds"] / 60
    return {"seed": seed, "validation": course, "validation_bleu": bleu, "minutes": minutes}


def over_seeds(found: Sequence[dict]) -> dict:
    "Mean and standard deviation of one way, and each of its seeds."
    summary = {
        "validation_bleu": mean_and_deviation([one["validation_bleu"] for one in found]),
        "validation_perplexity": mean_and_deviation([one["validation"][-1]["validation_perplexity"] for one in found]),
    }
    return summary | {"by_seed": list(found)}


def validation_bleu(name: str, model: str | Path) -> float:
    "Of one set of weights, with the paper's search."
    sources, references = zip(*corpora.load(RECIPES[name].corpus).validation)
    found = Translator.from_pretrained(model).translate(list(sources), Search(alpha=0.6), split=False)
    return JUDGES[name](found, list(references)).score


def main(options: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.finishes", description=__doc__.split("\n")[0])
    parser.add_argument("name", nargs="?", default="everyday-en-de", choices=RECIPES)
    parser.add_argument("--updates", type=int, default=200)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--ways", nargs="+", default=list(WAYS), choices=WAYS)
    parser.add_argument("--corpus", help="pairs to train on, such as benchmarks.everyday_extra writes; the recipe's if not given")
    parser.add_argument("--runs", type=Path, default=Path("runs/finishes"))
    parser.add_argument("--out", type=Path, default=Path("results/translation/finishes.json"))
    arguments = parser.parse_args(options)
    corpus = arguments.corpus or RECIPES[arguments.name].corpus
    with one_sentence():
        figures = {"before": {"validation_bleu": validation_bleu(arguments.name, arguments.name)}}
        found = [  # seed by seed, so that a run that is cut short has whole comparisons
            finish(arguments.name, way, seed, arguments.updates, arguments.runs, corpus)
            for seed in arguments.seeds for way in arguments.ways
        ]
    for number, way in enumerate(arguments.ways):
        figures[way] = over_seeds(found[number :: len(arguments.ways)])
    recipe = dataclasses.replace(RECIPES[arguments.name], corpus=corpus)
    config = {"recipe": recipe.to_dict(), "cut": CUT, "strength": STRENGTH, "updates": arguments.updates}
    save(arguments.out, "benchmarks.finishes", figures, config, seed=arguments.seeds, options=options)


if __name__ == "__main__":
    main()
