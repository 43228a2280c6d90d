"""A parser of biology: CRAFT's 18,951 training trees, half as many as the paper's 40,000.

    python -m benchmarks.craft [--steps N] [--as-it-stands] [--runs runs/craft] [--out results/parsing/parser.craft.json]

One training run, one seed. How many checkpoints to average is chosen on every ninth development sentence with the search that
writes only trees, beam 4. With that choice this search parses every third test sentence (all of the 9,099 would take a core two
hours), and both this search and the paper's free one parse the same ninth of the development split. The learning curve is F1 of
single checkpoints on that ninth. Weights are rounded to the 16 bits in which they would be stored. The same command continues
a run that was stopped; `--as-it-stands` measures what there is. CRAFT is a separate clone in the download cache;
nbs/data/treebanks says which.
"""
import dataclasses
import time
from collections.abc import Sequence
from pathlib import Path

from nltk.tree import Tree

from annotated_transformer.data import corpora
from annotated_transformer.model.transformer import count_parameters
from annotated_transformer.model.weights import load_into, load_weights
from annotated_transformer.parsing.evalb import bracket_scores
from annotated_transformer.parsing.parser import score_parses
from annotated_transformer.training.loop import train
from annotated_transformer.training.runs import Run
from benchmarks.pretrained import as_it_stands
from benchmarks.semi import BEAM, MIXED, choose_on_development, open_parser, parses_of, sooner
from benchmarks.shared.baselines import commonest_right_label, right_branching
from benchmarks.shared.command import Options, one_sentence
from benchmarks.shared.side_by_side import save

RECIPE = dataclasses.replace(MIXED, corpus="craft-words", steps=10_000, checkpoint_every=250, keep=40)
POINTS, EVERY = 5, {"validation": 9, "test": 3}  # of the curve; one sentence in so many is used


def points(steps: Sequence[int]) -> list[int]:
    "Of these numbers of updates the last, about half of it, a quarter, ..."
    found, wanted = [], float(max(steps))
    while len(found) < POINTS and wanted >= min(steps) / 2**0.5:
        nearest = min(steps, key=lambda step: abs(step - wanted))
        found += [nearest] * (nearest not in found)
        wanted /= 2
    return sorted(found)


def some(corpus: corpora.Treebank, split: str) -> list[Tree]:
    "The part of a split that is parsed."
    return corpus.trees(split)[:: EVERY[split]]


def learning_curve(run: Path, corpus: corpora.Treebank) -> list[dict]:
    "F1 of single checkpoints on a part of the development split, by updates."
    checkpoints = {int(path.name.removeprefix("step-")): path for path in Run(run).checkpoints()}
    parser, gold, curve = open_parser(run, 1), some(corpus, "validation"), []
    for step in points(list(checkpoints)):
        path = checkpoints[step] / "model.safetensors"
        weights = {name: weight.half() for name, weight in load_weights(path).items()}
        load_into(parser.translator.model, weights, path)
        scores = score_parses(gold, parses_of(sooner(parser), gold))
        curve.append({"updates": step, "sentences": len(gold), "f1": scores.brackets.f1})
    return curve


def measure(run: Path, corpus: corpora.Treebank) -> dict:
    "What the run has reached."
    end, chosen = Run(run).reached(), choose_on_development(run, some(corpus, "validation"))
    parser = open_parser(run, chosen["average"])
    scores: dict[str, dict] = {"constrained": {}, "free": {}}
    for how, split in (("constrained", "validation"), ("free", "validation"), ("constrained", "test")):
        gold, start = some(corpus, split), time.process_time()
        parses = parses_of(parser, gold, free=how == "free")
        seconds = (time.process_time() - start) / len(gold)
        scores[how][split] = {**score_parses(gold, parses).to_dict(), "processor_seconds_per_sentence": seconds}
    label, gold = commonest_right_label(corpus.trees("train")), some(corpus, "test")
    guess = bracket_scores(gold, [right_branching(tree.leaves(), label) for tree in gold])
    return {
        "training_sentences": len(corpus.trees("train")), "updates": end["step"], "beam_size": BEAM,
        "minutes_of_updates": round(end["seconds"] / 60, 1), "parameters": count_parameters(parser.translator.model),
        "validation_perplexity": end["validation_perplexity"], "target_tokens": end["target_tokens"], **chosen, "scores": scores,
        "right_branching": {"label": label, **guess.to_dict()}, "curve": learning_curve(run, corpus),
    }


@one_sentence()
def main(options: Sequence[str] | None = None) -> None:
    parser = Options("benchmarks.craft", __doc__, "results/parsing/parser.craft.json")
    parser.add_argument("--steps", type=int, default=RECIPE.steps, help="updates")
    parser.add_argument("--as-it-stands", action="store_true", help="train no further")
    parser.add_argument("--runs", type=Path, default=Path("runs/craft"), help="where the run stands")
    arguments = parser.parse_args(options)
    run, config = arguments.runs / f"seed{RECIPE.seed}", dataclasses.replace(RECIPE, steps=arguments.steps)
    corpus = corpora.load(config.corpus)
    if arguments.as_it_stands:
        config = as_it_stands(run, config)
    else:
        train(config, run)
    figures = measure(run, corpus)
    save(arguments.out, "benchmarks.craft", figures, config.to_dict(), config.seed, options)
    print(f"{arguments.out} is written")


if __name__ == "__main__":
    main()
