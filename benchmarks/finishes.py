"""Which way of finishing a small translator pays off? Plain updates, or two draws that must agree (R-Drop).

    python -m benchmarks.finishes [--updates 200] [--seeds 1 2 3] [--ways plain ...] [--out FILE]

Each way continues from the shipped weights for equally many updates at the same low rate, with the same batches for each seed.
The comparison uses only the validation split: loss and perplexity along the way, BLEU at the end.
"""
import dataclasses
from collections.abc import Sequence
from pathlib import Path

from annotated_transformer import Translator
from annotated_transformer.config import Search
from annotated_transformer.data import corpora
from annotated_transformer.training.loop import train
from annotated_transformer.training.runs import Run
from benchmarks.pretrained import EVERYDAY_MORE, JUDGES
from benchmarks.shared.command import Options, one_sentence
from benchmarks.shared.side_by_side import mean_and_deviation, save

NAME = "everyday-en-de"
RECIPE = dataclasses.replace(  # at most half the rate that its training ended with
    EVERYDAY_MORE, steps=2_500, warmup_steps=200, rate_factor=0.01, validate_every=250, checkpoint_every=100,
)
WAYS = {"plain": 0.0, "two draws": 5.0}  # weight of the divergence


def finish(way: str, seed: int, updates: int, directory: Path, corpus: str) -> dict:
    "Go on for so many updates in this way; what the validation split says of it."
    config = dataclasses.replace(
        RECIPE, consistency=WAYS[way], seed=seed, steps=updates, warmup_steps=min(200, updates // 2), start_from=NAME,
        validate_every=max(1, updates // 4), checkpoint_every=updates, keep=1, corpus=corpus,
    )
    run = directory / f"{NAME}-{way.replace(' ', '-')}-seed{seed}"
    train(config, run)
    course = [line for line in Run(run).metrics() if "validation_loss" in line]
    bleu, minutes = validation_bleu(run), Run(run).reached()["seconds"] / 60
    return {"seed": seed, "validation": course, "validation_bleu": bleu, "minutes": minutes}


def over_seeds(found: Sequence[dict]) -> dict:
    "Mean and standard deviation of one way, and each of its seeds."
    summary = {
        "validation_bleu": mean_and_deviation([one["validation_bleu"] for one in found]),
        "validation_perplexity": mean_and_deviation([one["validation"][-1]["validation_perplexity"] for one in found]),
    }
    return summary | {"by_seed": list(found)}


def validation_bleu(model: str | Path) -> float:
    "Of one set of weights, with the paper's search."
    sources, references = zip(*corpora.load(RECIPE.corpus).validation)
    found = Translator.from_pretrained(model).translate(list(sources), Search(alpha=0.6), split=False)
    return JUDGES[NAME](found, list(references)).score


@one_sentence()
def main(options: Sequence[str] | None = None) -> None:
    parser = Options("benchmarks.finishes", __doc__, "results/translation/finishes.json")
    parser.add_argument("--updates", type=int, default=200)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--ways", nargs="+", default=list(WAYS), choices=WAYS)
    parser.add_argument("--corpus", default=RECIPE.corpus, help="pairs to train on, such as benchmarks.everyday_extra writes")
    parser.add_argument("--runs", type=Path, default=Path("runs/finishes"))
    arguments = parser.parse_args(options)
    figures = {"before": {"validation_bleu": validation_bleu(NAME)}}
    found = [  # seed by seed, so that an interrupted run has complete comparisons
        finish(way, seed, arguments.updates, arguments.runs, arguments.corpus)
        for seed in arguments.seeds for way in arguments.ways
    ]
    for number, way in enumerate(arguments.ways):
        figures[way] = over_seeds(found[number :: len(arguments.ways)])
    recipe = dataclasses.replace(RECIPE, corpus=arguments.corpus, start_from=NAME)
    config = {"recipe": recipe.to_dict(), "updates": arguments.updates}
    save(arguments.out, "benchmarks.finishes", figures, config, seed=arguments.seeds, options=options)


if __name__ == "__main__":
    main()
