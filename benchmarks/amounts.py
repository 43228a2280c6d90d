"""What more trees bring: parsers of one size, with equally many updates, on the gold trees and a growing number of others.

    python -m benchmarks.amounts FILE ... [--least N ...] [--amounts 0 16000 80000] [--exchanged 16000] [--seed 1]

FILE and `--least` are as for `benchmarks.semi`, whose two parts are trained here with fewer updates: first the gold trees five
times over and this many of the others, drawn at random, smaller samples within larger ones; then only the gold trees and their
exchanges. A number above the total means all. With `--exchanged` the others do not come from another parser but from the gold
trees: each tree has some constituents exchanged, and trees are drawn until there are enough. These parsers, like the one of
`--amounts 0`, have learnt nothing from another parser.

The development split decides how many checkpoints are averaged; it and the test split are parsed by the search that writes only
trees, beam 4. All figures go to results/parsing/parser.amounts.json. The same command continues a run that was stopped.
"""
import argparse
import dataclasses
import itertools
import random
from collections.abc import Sequence
from pathlib import Path

from annotated_transformer.data import corpora
from annotated_transformer.data.treebanks import TreeFiles
from annotated_transformer.model.transformer import count_parameters
from annotated_transformer.parsing.parser import score_parses
from annotated_transformer.parsing.self_training import exchange_constituents
from annotated_transformer.training.runs import Run
from benchmarks import semi
from benchmarks.parser import write_trees
from benchmarks.shared.command import one_sentence
from benchmarks.shared.side_by_side import save

ANOTHER_PARSER, EXCHANGED = "another parser", "exchanged"  # whose trees were added
STEPS = (3_600, 300)


def some_of(path: Path, amount: int) -> Path:
    "A file with so many of its lines, in their order, or itself if it has no more. Fewer lie within more."
    with path.open(encoding="utf-8") as file:
        lines = list(file)
    if amount >= len(lines):
        return path
    numbers = list(range(len(lines)))
    random.Random(0).shuffle(numbers)
    part = path.with_name(f"{path.stem}-{amount}.mrg")
    part.write_text("".join(lines[i] for i in sorted(numbers[:amount])), encoding="utf-8")
    return part


def exchanges(directory: Path, corpus: corpora.Treebank, amount: int, seed: int) -> Path:
    "A file of so many exchanged trees, drawn apart from those of the second part."
    path, gold = directory / f"exchanged-{amount}-seed{seed}.mrg", corpus.trees("train")
    drawn = (tree for epoch in itertools.count(semi.ROUNDS) for tree in exchange_constituents(gold, seed, epoch))
    write_trees(path, itertools.islice(drawn, amount))
    return path


def measure(runs: Sequence[Path], corpus: corpora.Treebank) -> dict:
    "What a parser has reached, by the search that writes only trees."
    last, gold = runs[-1], {split: corpus.trees(split) for split in ("validation", "test")}
    chosen, ends = semi.choose_on_development(last, gold["validation"]), [Run(run).reached() for run in runs]
    parser = semi.open_parser(last, chosen["average"])
    scores = {split: score_parses(trees, semi.parses_of(parser, trees)).to_dict() for split, trees in gold.items()}
    return {
        "updates": [end["step"] for end in ends], "validation_perplexity": [end["validation_perplexity"] for end in ends],
        "parameters": count_parameters(parser.translator.model), **chosen, "scores": scores,
    }


def trained(kind: str, others: Path, arguments: argparse.Namespace, corpus: corpora.Treebank) -> dict:
    "One parser, trained on these trees beside the gold ones and measured."
    size = sum(1 for _ in TreeFiles([others]).trees()) if others.stat().st_size else 0
    gold = [str(arguments.runs / "gold.mrg")] * (semi.GOLD_TIMES - 1)
    trees = "+".join([semi.CORPUS, *gold, *[str(others)] * bool(size)])
    finish = semi.finishing(arguments.runs, arguments.seed, corpus)
    parts = semi.both_parts(arguments.runs / others.stem, arguments.seed, arguments.steps, (trees, finish))
    return {"kind": kind, "trees": size, **measure(list(parts), corpus)}


def options_read(options: Sequence[str] | None) -> argparse.Namespace:
    parser = semi.parser_with_files("benchmarks.amounts", __doc__, "results/parsing/parser.amounts.json")
    parser.add_argument("--amounts", type=int, nargs="*", default=[0, 16_000, 80_000], help="of these trees")
    parser.add_argument("--exchanged", type=int, nargs="*", default=[16_000], help="of trees made of the gold ones")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--steps", type=int, nargs=2, default=STEPS, help="updates of both parts")
    return semi.parsed_with_files(parser, options)


@one_sentence()
def main(options: Sequence[str] | None = None) -> None:
    arguments = options_read(options)
    corpus = corpora.load(semi.CORPUS)
    _, sizes = semi.mixture(arguments.files, arguments.least, arguments.runs, corpus)
    added = [(ANOTHER_PARSER, some_of(arguments.runs / "others.mrg", amount)) for amount in arguments.amounts]
    added += [(EXCHANGED, exchanges(arguments.runs, corpus, amount, arguments.seed)) for amount in arguments.exchanged]
    points = [trained(kind, others, arguments, corpus) for kind, others in added]
    recipe = [
        dataclasses.replace(part, steps=n, seed=arguments.seed) for part, n in zip((semi.MIXED, semi.FINISH), arguments.steps)]
    config = {"recipe": [part.to_dict() for part in recipe], "longest": semi.LONGEST, "least": arguments.least}
    save(arguments.out, "benchmarks.amounts", {**sizes, "points": points}, config, arguments.seed, options)
    print(f"{arguments.out} is written")


if __name__ == "__main__":
    main()
