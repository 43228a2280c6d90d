"""The search that writes only trees: does every sentence get a tree, and how good is it compared with other searches?

    python -m benchmarks.tree_search [--sentences 1000]     trees over nonsense: results/parsing/parser.repairs.json
    python -m benchmarks.tree_search --compare          searches on the development split: results/parsing/parser.searches.json

The first parses the development and the test split of the free sample; N sentences of 1 to 30 random words from the
training split, words of random letters, signs of other scripts and brackets, each kind alone and mixed; and five sentences of
random words that fill the model's positions, with a beam of 1. For each row it counts the outputs that were not trees over
exactly the given words or needed a repair: there should be none.

The second parses the development split freely, restricted to trees with each word's own probability, and restricted to trees
with the probability of any word, each with several alphas. Seconds are processor time of one thread.
"""
import random
import time
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

from annotated_transformer.data import corpora
from annotated_transformer.data.trees import Tree
from annotated_transformer.parsing.parser import Parser, score_parses
from annotated_transformer.parsing.tree_search import TreesSoFar
from benchmarks.shared.command import Options, one_sentence, results_file
from benchmarks.shared.side_by_side import save

SEED, LONGEST, LONG, BEAM = 1, 30, 5, 4
SIGNS = "( ) (S )NP XX TOP -LRB- -NONE- ⁇ ▁ 日本語 naïve 😀 … -- `` 3,000,000 '' & %".split()
SEARCHES = {"free": (0.3,), "trees, each word's own": (0.3, 2.0), "trees": (0.3, 2.0)}  # alphas


def word_of_letters(random_: random.Random) -> str:
    return "".join(random_.choices("abcdefghijklmnopqrstuvwxyzßéø'-0123456789", k=random_.randint(1, 14)))


def nonsense(words: Sequence[str], n: int, seed: int) -> dict[str, list[list[str]]]:
    "Sentences that nobody would write, a third of each kind and the rest mixed."
    random_ = random.Random(seed)
    kinds = {"random words": lambda: random_.choice(words), "words of random letters": lambda: word_of_letters(random_),
             "signs": lambda: random_.choice(SIGNS)}
    found = {kind: [[draw() for _ in range(random_.randint(1, LONGEST))] for _ in range(n // 4)] for kind, draw in kinds.items()}
    draws = list(kinds.values())
    rest = n - 3 * (n // 4)
    return found | {"mixed": [[random_.choice(draws)() for _ in range(random_.randint(1, LONGEST))] for _ in range(rest)]}


def filling(parser: Parser, words: Sequence[str], n: int, seed: int) -> list[list[str]]:
    "Sentences of random words, as long as the model takes them."
    random_, tokenizer, limit = random.Random(seed), parser.translator.tokenizer, parser.translator.model.config.max_length
    found = []
    for _ in range(n):
        sentence: list[str] = []
        while len(tokenizer.encode(" ".join([*sentence, word := random_.choice(words)]))) <= limit:
            sentence.append(word)
        found.append(sentence)
    return found


def measured(parser: Parser, sentences: list[list[str]], beam_size: int) -> dict:
    start = time.perf_counter()
    parses = parser.parse(sentences, replace(parser.search, beam_size=beam_size))
    wrong = sum(parse.tree.leaves() != words for parse, words in zip(parses, sentences, strict=True))
    return {"sentences": len(sentences), "words": sum(map(len, sentences)), "longest": max(map(len, sentences)),
            "beam_size": beam_size, "repaired": sum(bool(parse.repairs) for parse in parses), "other_words": wrong,
            "seconds": round(time.perf_counter() - start, 1)}


def compared(parser: Parser, gold: Sequence[Tree], beam_size: int) -> list[dict]:
    "What each search reaches on these trees, and how long it took."
    sentences, rows = [tree.leaves() for tree in gold], []
    for search, alphas in SEARCHES.items():
        for alpha in alphas:
            with patch.object(TreesSoFar, "weigh", lambda *_: None) if "own" in search else nullcontext():
                start = time.process_time()
                how = replace(parser.search, beam_size=beam_size, alpha=alpha)
                scores = score_parses(gold, parser.parse(sentences, how, free=search == "free"))
            rows.append({"search": search, "alpha": alpha, "processor_seconds": round(time.process_time() - start, 1),
                         **scores.to_dict()})
    return rows


@one_sentence()
def main(options: Sequence[str] | None = None) -> None:
    parser = Options("benchmarks.tree_search", __doc__)
    parser.add_argument("--model", default="parser-en")
    parser.add_argument("--corpus", default="treebank-words")
    parser.add_argument("--sentences", type=int, default=1_000, help="of nonsense")
    parser.add_argument("--compare", action="store_true", help="searches on the development split instead")
    parser.add_argument("--out", type=results_file,
                        help="results/parsing/parser.repairs.json or parser.searches.json if not given")
    arguments = parser.parse_args(options)
    corpus, model = corpora.load(arguments.corpus), Parser.from_pretrained(arguments.model)
    out = arguments.out or Path(f"results/parsing/parser.{'searches' if arguments.compare else 'repairs'}.json")
    config = {"model": arguments.model, "corpus": arguments.corpus, "beam_size": BEAM}
    if arguments.compare:
        figures = {"searches": compared(model, corpus.trees("validation"), BEAM)}
        save(out, "benchmarks.tree_search", figures, config, SEED, options)
        return print(f"{out} is written")
    words = sorted({word for tree in corpus.trees("train") for word in tree.leaves()})
    rows = {split: [tree.leaves() for tree in corpus.trees(split)] for split in ("validation", "test")}
    rows |= nonsense(words, arguments.sentences, SEED)
    figures = {name: measured(model, sentences, BEAM) for name, sentences in rows.items()}
    figures["as long as the model takes"] = measured(model, filling(model, words, LONG, SEED), 1)
    total = sum(row["repaired"] + row["other_words"] for row in figures.values())
    save(out, "benchmarks.tree_search", {"by_kind": figures, "total": total}, config, SEED, options)
    print(f"{out} is written: {total} of {sum(row['sentences'] for row in figures.values()):,} outputs took a repair")


if __name__ == "__main__":
    main()
