"""What helped other parsers with little data, tried on the small one (§6.3): two draws that agree, parts of speech in the row.

    python -m benchmarks.parser_trials plain agreement tags [--seed 2] [--steps 4250]      results/parsing/parser.trials.json

All use the recipe of `benchmarks.parser` with fewer updates. `agreement` asks two draws of dropout to agree (R-Drop). For
`tags` each word has its own brackets, labelled with its part of speech: `(NP (DT the )DT (NN dog )NN )NP`. These
brackets are removed before a tree is scored. Each trial is measured as the mean of its last checkpoints, only on the development
split: by the search that writes only trees, and by the free one. The same command continues a run that was stopped.
"""
import dataclasses
import re
from collections.abc import Sequence
from pathlib import Path

from nltk.tree import Tree

from annotated_transformer.config import TrainingConfig
from annotated_transformer.data import corpora, trees
from annotated_transformer.data.trees import is_word
from annotated_transformer.parsing.parser import PARSING, Parser, score_parses
from annotated_transformer.training.loop import train
from annotated_transformer.training.runs import Run
from benchmarks.parser import RECIPE, TRIED_AVERAGE, USUAL_BEAM, write_trees
from benchmarks.shared.command import Options, one_sentence
from benchmarks.shared.side_by_side import save

AGREEMENT = 5.0  # the weight that Liang et al. (2021) give it in translation


def in_tags(tree: Tree) -> Tree:
    "Each word in brackets of its part of speech; not so signs, whose tags are signs themselves."
    if is_word(tree):
        return Tree(tree.label(), [tree]) if is_tag(tree.label()) else tree
    return Tree(tree.label(), [in_tags(child) for child in tree])


def is_tag(label: str) -> bool:
    "NN, PRP$: a tag that a word can have."
    return re.fullmatch("[A-Z]+[$]?", label) is not None


def without_tags(tree: Tree, tags: set[str]) -> Tree:
    "The same without the brackets that have such a label; what they hold stays."
    if is_word(tree):
        return tree
    inside = [without_tags(child, tags) for child in tree]
    return Tree(tree.label(), [part for child in inside for part in (child if takes_away(child, tags) else [child])])


def takes_away(part: Tree, tags: set[str]) -> bool:
    return not is_word(part) and part.label() in tags


def tags_of(corpus: corpora.Treebank) -> set[str]:
    "The tags of the training trees that can stand in brackets; a label of constituents is none of them."
    found = {tag for tree in corpus.trees("train") for _, tag in tree.pos() if is_tag(tag)}
    return found - set(trees.LABELS)


def tagged_treebank(directory: Path, corpus: corpora.Treebank) -> str:
    "The corpus with parts of speech in brackets."
    for split in ("train", "validation", "test"):
        write_trees(directory / f"{split}.mrg", map(in_tags, corpus.trees(split)))
    return f"{directory}-words"


def measure(run: Path, corpus: corpora.Treebank, tags: set[str]) -> dict:
    "What a trial has reached on the development split."
    parser, gold, end = Parser.from_pretrained(run, TRIED_AVERAGE), corpus.trees("validation"), Run(run).reached()
    sentences, found = [tree.leaves() for tree in gold], {}
    for name, free in (("bound", False), ("free", True)):
        parses = parser.parse(sentences, dataclasses.replace(PARSING if free else parser.search, beam_size=USUAL_BEAM), free)
        parses = [parse._replace(tree=without_tags(parse.tree, tags)) for parse in parses]
        found[name] = score_parses(gold, parses).to_dict()
    facts = {name: end[name] for name in ("validation_perplexity", "target_tokens")}
    return {"updates": end["step"], "minutes_of_updates": round(end["seconds"] / 60, 1), **facts, "scores": found}


def trial(name: str, config: TrainingConfig, corpus: corpora.Treebank, runs: Path) -> dict:
    "Train, or go on, and measure."
    run, tags = runs / f"{name}-seed{config.seed}", set()
    if name == "agreement":
        config = dataclasses.replace(config, consistency=AGREEMENT)
    if name == "tags":
        tags = tags_of(corpus)
        config = dataclasses.replace(config, corpus=tagged_treebank(runs / "treebank-tagged", corpus))
    train(config, run)
    return {"trial": name, "seed": config.seed, **measure(run, corpus, tags)}


@one_sentence()
def main(options: Sequence[str] | None = None) -> None:
    parser = Options("benchmarks.parser_trials", __doc__, "results/parsing/parser.trials.json")
    parser.add_argument("trials", nargs="+", choices=["plain", "agreement", "tags"])
    parser.add_argument("--seed", type=int, default=2)
    parser.add_argument("--steps", type=int, default=4250, help="updates of each")
    parser.add_argument("--runs", type=Path, default=Path("runs/parser-trials"), help="where the runs stand")
    arguments = parser.parse_args(options)
    config = dataclasses.replace(RECIPE, steps=arguments.steps, seed=arguments.seed)
    corpus = corpora.load(config.corpus)
    found = [trial(name, config, corpus, arguments.runs) for name in arguments.trials]
    figures = {"average": TRIED_AVERAGE, "beam_size": USUAL_BEAM, "trials": found}
    save(arguments.out, "benchmarks.parser_trials", figures, {"recipe": config.to_dict()}, arguments.seed, options)
    print(f"{arguments.out} is written")


if __name__ == "__main__":
    main()
