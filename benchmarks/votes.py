"""Parsers that vote: how well several seeds of one recipe parse together.

    python -m benchmarks.votes MODEL MODEL MODEL ... [--average 8] [--out results/parsing/parser.votes.json]

Each MODEL is a parser: a directory, a shipped name, or a run, whose last checkpoints are averaged. An odd number of them
parses the development and the test split with the search that writes only trees, beam 4, weights rounded to 16 bits. A
constituent stays if more than half of the parsers have written it. Two that stay never cross: some parser has written both.
"""
import itertools
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from nltk.tree import Tree

from annotated_transformer.data import corpora
from annotated_transformer.data.trees import TOP, is_word
from annotated_transformer.parsing.evalb import PUNCTUATION, bracket_scores, constituents
from annotated_transformer.parsing.parser import Parser
from benchmarks.semi import BEAM, CORPUS, open_parser, parses_of, sooner
from benchmarks.shared.command import Options, one_sentence
from benchmarks.shared.side_by_side import save


def votes(trees: Sequence[Tree], counted: list[bool]) -> Counter:
    "How many of these trees have each constituent. The second of two alike in one tree counts as another: its key ends in 2."
    found: Counter = Counter()
    for tree in trees:
        for constituent, times in constituents(tree, counted).items():
            found.update((*constituent, number) for number in range(1, times + 1))
    return found


def from_outside(tree: Tree) -> list[tuple]:
    "Label, first word, word after the last and number among those alike of each constituent, those around others before them."
    found: list[tuple] = []
    alike: Counter = Counter()

    def visit(part: Tree, start: int) -> None:
        one = part.label(), start, start + len(part.leaves())
        if one[0] != TOP:
            alike[one] += 1
            found.append((*one, alike[one]))
        for child in part:
            if not is_word(child):
                visit(child, start)
            start += len(child.leaves())

    visit(tree, 0)
    return found


def elected(trees: Sequence[Tree]) -> Tree:
    "The tree of the constituents that more than half of these trees have; they are an odd number, over the same words."
    each = [from_outside(tree) for tree in trees]
    kept = [one for one, n in Counter(itertools.chain(*each)).items() if 2 * n > len(trees)]

    def place(one: tuple) -> tuple:
        "Around others comes first; over the same words, as a tree with the most of those that were kept nests them."
        _, start, end, _ = one
        same = [other for other in kept if other[1:3] == (start, end)]
        best = max(each, key=lambda found: sum(other in found for other in same))
        return start, -end, best.index(one) if one in best else len(best)

    kept.sort(key={one: place(one) for one in kept}.get)
    leaves = [Tree(tag, [word]) for word, tag in trees[0].pos()]

    def build(label: str, start: int, end: int) -> Tree:
        parts = []
        while start < end:
            if kept and kept[0][1] == start and kept[0][2] <= end:  # from the outermost inwards
                inner, _, after, _ = kept.pop(0)
                parts.append(build(inner, start, after))
                start = after
            else:
                parts.append(leaves[start])
                start += 1
        return Tree(label, parts)

    return build(TOP, 0, len(leaves))


def by_votes(gold: Sequence[Tree], parses: Sequence[Sequence[Tree]]) -> dict[int, dict[str, int]]:
    "Of the constituents that so many parsers have written, how many there are and how many of them are right."
    found = {n: {"written": 0, "right": 0} for n in range(1, len(parses[0]) + 1)}
    for right, trees in zip(gold, parses):
        counted = [tag not in PUNCTUATION for _, tag in right.pos()]
        if any(counted):
            ours = votes([right], counted)
            for constituent, n in votes(trees, counted).items():
                found[n]["written"] += 1
                found[n]["right"] += constituent in ours
    return found


def measure(parsers: Sequence[Parser], gold: Sequence[Tree]) -> dict:
    "Each parser alone, and all together."
    each = [[parse.tree for parse in parses_of(parser, gold)] for parser in parsers]
    together = [elected(trees) for trees in zip(*each)]
    pairs = [(one, other) for i, one in enumerate(each) for other in each[i + 1 :]]
    return {
        "each": [bracket_scores(gold, trees).to_dict() for trees in each], "together": bracket_scores(gold, together).to_dict(),
        "between_two": [agreement(one, other) for one, other in pairs], "by_votes": by_votes(gold, list(zip(*each))),
    }


def agreement(one: Sequence[Tree], other: Sequence[Tree]) -> float:
    "F1 of the trees of one parser against those of another, punctuation counted."
    found = [[constituents(tree, [True] * len(tree.leaves())) for tree in trees] for trees in (one, other)]
    common = sum((ours & theirs).total() for ours, theirs in zip(*found))
    return 200 * common / sum(counts.total() for counts in [*found[0], *found[1]])


def opened(model: str, average: int) -> Parser:
    "A run as the mean of so many checkpoints, rounded; another model as it is stored."
    return open_parser(Path(model), average) if Path(model, "checkpoints").is_dir() else sooner(Parser.from_pretrained(model))


@one_sentence()
def main(options: Sequence[str] | None = None) -> None:
    parser = Options("benchmarks.votes", __doc__, "results/parsing/parser.votes.json")
    parser.add_argument("models", nargs="+", metavar="MODEL", help="parsers, an odd number of them")
    parser.add_argument("--average", type=int, default=8, help="checkpoints of a run")
    arguments = parser.parse_args(options)
    if len(arguments.models) % 2 == 0:
        parser.error(f"{len(arguments.models)} parsers can be of two minds: name an odd number")
    corpus, parsers = corpora.load(CORPUS), [opened(model, arguments.average) for model in arguments.models]
    figures = {split: measure(parsers, corpus.trees(split)) for split in ("validation", "test")}
    config = {"models": arguments.models, "average": arguments.average, "beam_size": BEAM}
    save(arguments.out, "benchmarks.votes", figures, config, options=options)
    print(f"{arguments.out} is written")


if __name__ == "__main__":
    main()
