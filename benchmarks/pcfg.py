"""A probabilistic grammar (PCFG) on the treebank sample: the classic baseline for a parser, counted from the same training trees.

    python -m benchmarks.pcfg

NLTK makes the trees binary and back again; the probability of a rule is its share among the rules with its left side. NLTK's own
search for the most likely tree (CKY) would take hours with so many rules, so here NumPy does it, a span at a time. Like our
parser, the grammar is given only words; unlike it, it has learnt from parts of speech. Words that training has seen once stand
for all that it has never seen, in classes by their appearance. How much a constituent remembers of its neighbours and of the one
around it is chosen by F1 on the development split.
"""
from collections import Counter
from collections.abc import Sequence

import numpy as np
from nltk.tree import Tree
from nltk.tree.transforms import chomsky_normal_form, collapse_unary, un_chomsky_normal_form

from annotated_transformer.data import corpora
from annotated_transformer.data.trees import TOP, WORD, is_word
from annotated_transformer.parsing.evalb import bracket_scores
from annotated_transformer.progress_bar import progress_bar
from benchmarks.shared.command import Options, one_sentence
from benchmarks.shared.side_by_side import save

JOIN, INNER, PARENT = "+", "@", "^"          # in labels: joined unary chains, nodes that only binary trees have, parents
RARE = "?"                                   # begins the classes of rare words; alone, the class of all of them
MEMORIES = ((0, 0), (1, 0), (1, 1), (2, 1))  # neighbours and parents that a label remembers


def looks(word: str) -> str:
    "The class of a rare word: capital, digit, hyphen, last two letters."
    marks = "A" * word[0].isupper() + "1" * any(map(str.isdigit, word)) + "-" * ("-" in word)
    return f"{RARE}{marks}{word[-2:].lower() if word[-2:].isalpha() else ''}"


class Grammar:
    "Rules of binary trees with their probabilities, and the search for the likeliest tree."

    def __init__(
        self,
        trees: Sequence[Tree],  # for training, outermost TOP
        neighbours: int = 1,    # that the inner nodes of a binary tree remember
        parents: int = 0,       # constituents around it that a label remembers
    ):
        words = Counter(word for tree in trees for word in tree.leaves())
        self.known = {word for word, count in words.items() if count > 1}
        binary, lexical, rare, total, roots = Counter(), Counter(), Counter(), Counter(), Counter()
        for tree in trees:
            part = tree[0].copy(deep=True)
            collapse_unary(part, collapsePOS=True, collapseRoot=True, joinChar=JOIN)
            chomsky_normal_form(part, horzMarkov=neighbours, vertMarkov=parents, childChar=INNER, parentChar=PARENT)
            roots[part.label()] += 1
            for node in part.subtrees():
                total[node.label()] += 1
                if not is_word(node):
                    binary[node.label(), node[0].label(), node[1].label()] += 1
                elif node[0] in self.known:
                    lexical[node.label(), node[0]] += 1
                else:
                    lexical[node.label(), looks(node[0])] += 1
                    rare[node.label(), RARE] += 1
        self.labels = sorted(total)
        number = {label: i for i, label in enumerate(self.labels)}
        rules = sorted((tuple(number[label] for label in rule), count / total[rule[0]]) for rule, count in binary.items())
        self.parent, self.left, self.right = np.array([rule for rule, _ in rules]).T
        self.log_p = np.log([p for _, p in rules])
        self.words: dict[str, list[tuple[int, float]]] = {}  # of a known word or a class: labels, each with its log-probability
        for (label, word), count in (lexical | rare).items():
            self.words.setdefault(word, []).append((number[label], float(np.log(count / total[label]))))
        self.root = np.full(len(self.labels), -np.inf)
        for label, count in roots.items():
            self.root[number[label]] = np.log(count / len(trees))

    def entries(self, word: str) -> list[tuple[int, float]]:
        "What a word may be."
        return self.words[word] if word in self.known else self.words.get(looks(word), self.words.get(RARE, []))

    def parse(
        self,
        words: Sequence[str],
    ) -> tuple[Tree | None, float]:  # outermost TOP; and its log-probability
        "The likeliest tree by CKY; None if the grammar has none."
        n = len(words)
        best = np.full((n, n + 1, len(self.labels)), -np.inf)                     # of each span and label
        back: dict[tuple[int, int], tuple[np.ndarray, ...]] = {}
        for i, word in enumerate(words):
            for label, log_p in self.entries(word):
                best[i, i + 1, label] = log_p
        for width in range(2, n + 1):
            for i in range(n - width + 1):
                j = i + width
                left, right = best[i, i + 1 : j], best[i + 1 : j, j]              # (splits, labels)
                some_left, some_right = (np.isfinite(side).any(0) for side in (left, right))
                rules = (some_left[self.left] & some_right[self.right]).nonzero()[0]
                if not len(rules):
                    continue
                scores = left[:, self.left[rules]] + right[:, self.right[rules]]  # (splits, rules)
                split = scores.argmax(0)
                score = scores[split, np.arange(len(rules))] + self.log_p[rules]
                order = np.lexsort((score, self.parent[rules]))                   # by parent, the best of each last
                last = np.append(np.diff(self.parent[rules][order]) > 0, True)
                chosen = order[last]
                best[i, j, self.parent[rules][chosen]] = score[chosen]
                back[i, j] = self.parent[rules][chosen], rules[chosen], split[chosen] + i + 1
        whole = best[0, n] + self.root
        root = int(whole.argmax())
        if not np.isfinite(whole[root]):
            return None, -np.inf

        def build(label: int, i: int, j: int) -> Tree:
            if j == i + 1:
                return Tree(self.labels[label], [words[i]])
            parents, rules, splits = back[i, j]
            at = int(np.searchsorted(parents, label))
            rule, k = rules[at], int(splits[at])
            return Tree(self.labels[label], [build(int(self.left[rule]), i, k), build(int(self.right[rule]), k, j)])

        tree = Tree(TOP, [build(root, 0, n)])
        un_chomsky_normal_form(tree, childChar=INNER, parentChar=PARENT, unaryChar=JOIN)
        return tree, float(whole[root])


def measure(grammar: Grammar, gold: Sequence[Tree], desc: str) -> dict:
    "Scores, and how many sentences have no tree; they get a flat one."
    found, without = [], 0
    for tree in progress_bar(iterable=gold, desc=desc, unit="sentence"):
        words = tree.leaves()
        part, _ = grammar.parse(words)
        without += part is None
        found.append(part or Tree(TOP, [Tree("S", [Tree(WORD, [word]) for word in words])]))
    return bracket_scores(gold, found).to_dict() | {"without_a_tree": without}


@one_sentence()
def main(options: Sequence[str] | None = None) -> None:
    parser = Options("benchmarks.pcfg", __doc__, "results/parsing/pcfg.json")
    parser.add_argument("--corpus", default="treebank")
    arguments = parser.parse_args(options)
    corpus = corpora.load(arguments.corpus)
    trees, tried = corpus.trees("train"), []
    for neighbours, parents in MEMORIES:
        grammar = Grammar(trees, neighbours, parents)
        memory = {"neighbours": neighbours, "parents": parents, "labels": len(grammar.labels), "rules": len(grammar.log_p)}
        tried.append({**memory, "validation": measure(grammar, corpus.trees("validation"), f"{neighbours}, {parents}")})
    best = max(tried, key=lambda one: one["validation"]["f1"])
    test = measure(Grammar(trees, best["neighbours"], best["parents"]), corpus.trees("test"), "test")
    figures = {**best, "test": test, "tried": tried, "training_sentences": len(trees)}
    save(arguments.out, "benchmarks.pcfg", figures, {"corpus": corpus.name}, options=options)
    print(figures)


if __name__ == "__main__":
    main()
