"What parsers are compared with: trees guessed without learning, and rows of tokens damaged at random."
import random
from collections import Counter
from collections.abc import Iterable, Sequence

from annotated_transformer.data.corpora import Treebank
from annotated_transformer.data.trees import EMPTY, TOP, WORD, Tree, is_word
from annotated_transformer.parsing.evalb import bracket_scores


def right_branching(
    words: Sequence[str],
    label: str = "VP",  # of all constituents but the outermost, which is S
) -> Tree:
    "Every constituent reaches to the end and leaves out one word more; a last full stop, ? or ! stands beside it."
    leaves = [Tree(WORD, [word]) for word in words]
    mark = [leaves.pop()] if words[-1] in ".?!" else []
    inner = leaves[-2:]
    for leaf in reversed(leaves[:-2]):
        inner = [leaf, Tree(label, inner)]
    return Tree(TOP, [Tree("S", inner + mark)])


def commonest_right_label(trees: Iterable[Tree]) -> str:
    "The label that constituents at the end of a sentence have most often, the outermost and a last mark apart."
    count: Counter = Counter()
    for tree in trees:
        spine = tree[0]
        while not is_word(spine):
            last = spine[-2] if len(spine) > 1 and is_word(spine[-1]) and spine[-1][0] in ".?!" else spine[-1]
            count[last.label()] += not is_word(last)
            spine = last
    return count.most_common(1)[0][0]


def right_branching_scores(corpus: Treebank) -> dict:
    "Of the development and the test split, with the label that training trees have most often."
    label = commonest_right_label(corpus.trees("train"))
    return {"label": label, "scores": {
        split: bracket_scores(gold, [right_branching(tree.leaves(), label) for tree in gold]).to_dict()
        for split in ("validation", "test") for gold in [corpus.trees(split)]
    }}


def damaged(
    tokens: Sequence[str],
    rng: random.Random,
    share: float,  # of the tokens that something happens to
) -> list[str]:
    "Some tokens dropped, doubled, exchanged for others, or pulled to the front: a model at its worst."
    odd = ["(", ")", "(NP", ")NP", "(S", ")S", ")QP", WORD, TOP, EMPTY, "⁇", "X)X", f"({TOP}", "(-x"]
    found: list[str] = []
    for token in tokens:
        kind = rng.randrange(4) if rng.random() < share else None
        if kind is None:
            found.append(token)
        elif kind == 1:
            found += [token, token]
        elif kind == 2:
            found.append(rng.choice(odd))
        elif kind == 3:
            found.insert(0, token)
    return found
