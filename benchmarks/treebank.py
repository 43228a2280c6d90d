"""The whole free treebank sample: round trips, repairs of damage, our scores compared with EVALB's, and right-branching.

python -m benchmarks.treebank                        (the sample is downloaded once, 1.7 MB)
python -m benchmarks.treebank --evalb DIRECTORY      with the program evalb, compiled, and its COLLINS.prm in the directory

EVALB is in the public domain; its source is, among other places, in the package allennlp 0.9.0. Unchanged, it gives up on more
than 200 words or brackets; compile it with MAX_WORD_IN_SENT, MAX_BRACKET_IN_SENT and the array match_j at 2000, MAX_SENT_LEN
at 100000 and MAX_QUOTE_TERM at 500.
"""
import random
import subprocess
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

from nltk.tree import Tree

from annotated_transformer import InputError
from annotated_transformer.data import corpora
from annotated_transformer.data.treebanks import read_trees
from annotated_transformer.data.trees import delinearize, is_word, linearize, print_tree, repair
from annotated_transformer.parsing.evalb import bracket_scores
from annotated_transformer.progress_bar import progress_bar
from benchmarks.shared.baselines import damaged, right_branching_scores
from benchmarks.shared.command import Options, one_sentence
from benchmarks.shared.side_by_side import save

SHARES = (0.0, 0.02, 0.1, 0.3)  # of the tokens that are damaged


def with_tags_of(gold: Tree, tree: Tree) -> Tree:
    "The same tree with the parts of speech of the gold one: EVALB asks the tags of both trees what is punctuation."
    tags = iter(gold.pos())

    def copy(part: Tree) -> Tree:
        return Tree(next(tags)[1], list(part)) if is_word(part) else Tree(part.label(), [copy(child) for child in part])

    return copy(tree)


def evalb_counts(directory: Path, gold: list[Tree], predicted: list[Tree]) -> tuple[list[tuple[int, ...]], dict[str, float]]:
    "What EVALB prints: of each sentence (skipped, matched, gold, predicted), and the totals."
    with TemporaryDirectory() as temporary:
        paths = [Path(temporary, name) for name in ("gold", "predicted")]
        for path, trees in zip(paths, (gold, [with_tags_of(*pair) for pair in zip(gold, predicted)])):
            path.write_text("".join(f"{print_tree(tree)}\n" for tree in trees), encoding="utf-8")
        command = [directory / "evalb", "-e", "100000", "-p", directory / "COLLINS.prm", *paths]
        lines = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()
    rows = [line.split() for line in lines if len(line.split()) == 12 and line.split()[0].isdigit()]
    if len(rows) != len(gold) or any(row[2] == "1" for row in rows):
        raise InputError(f"{directory / 'evalb'} did not score every sentence: compile it with the limits named in {__file__}")
    totals = [line.split("=") for line in lines[lines.index("-- All --") : lines.index("-- len<=40 --")] if "=" in line]
    return [tuple(map(int, (row[2] == "2", *row[5:8]))) for row in rows], {name.strip(): float(value) for name, value in totals}


def own_counts(gold: list[Tree], predicted: list[Tree]) -> list[tuple[int, ...]]:
    "The same by our own count, a sentence at a time."
    scores = [bracket_scores([one], [other]) for one, other in zip(gold, predicted)]
    return [(not score.sentences, score.matched, score.gold, score.predicted) for score in scores]


def under_damage(trees: list[Tree], share: float, seed: int, evalb: Path | None) -> dict:
    "Damage the rows, repair them, look whether all words are there, and score."
    rng = random.Random(seed)
    found, malformed, rules, lost = [], 0, Counter(), 0
    for tree in trees:
        parsed, repairs = repair(damaged(linearize(tree), rng, share), tree.leaves())
        again, = read_trees([print_tree(parsed)], "output")
        lost += parsed.leaves() != tree.leaves() or again.leaves() != tree.leaves()
        malformed += bool(repairs)
        rules += repairs
        found.append(parsed)
    scores = bracket_scores(trees, found)
    row = {"share": share, "sentences": len(trees), "malformed": malformed, "words_lost_or_moved": lost, "repairs": dict(rules),
           "f1": scores.f1, "complete_match": scores.complete_match}
    if evalb is not None:
        theirs, totals = evalb_counts(evalb, trees, found)
        ours = own_counts(trees, found)
        # EVALB counts nothing of a sentence without words that count
        equal = sum(one == other or one[0] and other[0] for one, other in zip(ours, theirs))
        row |= {"equal": equal, "evalb_f1": totals["Bracketing FMeasure"], "evalb_complete_match": totals["Complete match"]}
    return row


@one_sentence()
def main() -> None:
    parser = Options("benchmarks.treebank", __doc__, "results/parsing/treebank.json")
    parser.add_argument("--evalb", type=Path, help="directory with the program evalb and its COLLINS.prm")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    corpus = corpora.load("treebank")
    splits = {split: corpus.trees(split) for split in ("train", "validation", "test")}
    trees = sum(splits.values(), [])
    rows = {split: [len(linearize(tree)) for tree in part] for split, part in splits.items()}
    figures = {
        "splits": {
            split: {"sentences": len(part), "words": sum(len(tree.leaves()) for tree in part),
                    "mean_row": sum(rows[split]) / len(part), "longest_row": max(rows[split])}
            for split, part in splits.items()
        },
        "labels": len({part.label() for tree in trees for part in tree[0].subtrees() if not is_word(part)}),
        "deepest": max(tree.height() for tree in trees) - 1,  # NLTK counts the words as well
        "round_trips": {"trees": len(trees), "exact": sum(
            delinearize(linearize(tree, "tags"), tree.leaves(), "tags") == tree
            and linearize(delinearize(linearize(tree), tree.leaves())) == linearize(tree)
            for tree in trees
        )},
    }
    figures["right_branching"] = right_branching_scores(corpus)
    bar = progress_bar(iterable=SHARES, desc="damage")
    damage = [under_damage(trees, share, options.seed, options.evalb) for share in bar]
    figures["damage"] = damage
    save(options.out, "benchmarks.treebank", figures, {"corpus": corpus.name}, options.seed)
    for row in damage:
        print({name: value for name, value in row.items() if name != "repairs"})
    print(figures["splits"], figures["labels"], figures["deepest"], figures["round_trips"], figures["right_branching"])


if __name__ == "__main__":
    main()
