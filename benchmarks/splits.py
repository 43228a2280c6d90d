"""Tatoeba's pairs in groups: how many leaks a split by line would have, and how many ours has.

python -m benchmarks.splits      (Tatoeba is downloaded once, 4 MB; Multi30k, 1.4 MB)

A pair leaks when its English or its German sentence is in the training set too, ignoring capitals and punctuation.
The pairs are from tatoeba.org, by way of manythings.org/anki (CC BY 2.0).
"""
import hashlib

from annotated_transformer.data.downloads import multi30k
from annotated_transformer.data.parallel_text import Corpus, Pairs, references
from annotated_transformer.data.tatoeba import everyday, groups, leaks, tatoeba, tatoeba_pairs
from benchmarks.shared.command import Options, one_sentence
from benchmarks.shared.side_by_side import save


def by_line(pairs: Pairs, like: Corpus) -> Corpus:
    "Sets of the same sizes, but every line by itself, in the order of its own SHA-256."
    order = sorted(pairs, key=lambda pair: hashlib.sha256("\t".join(pair).encode()).hexdigest())
    test, validation = len(like.test), len(like.validation)
    return Corpus("by line", "en", "de", order[test + validation :], order[test : test + validation], {"test": order[:test]})


def counted(corpus: Corpus, name: str) -> dict[str, int]:
    "Pairs of a split that share a sentence with the training set."
    english, german = (set(leaks(corpus.split(name), corpus.train, [side])) for side in (0, 1))
    return {"English": len(english), "German": len(german), "either": len(english | german)}


def measure(pairs: Pairs, captions: Corpus) -> dict:
    "All figures, from Tatoeba's pairs and Multi30k."
    ours = tatoeba(pairs)
    both, rules = everyday(ours, captions), {"by line": by_line(pairs, ours), "by groups": ours}
    sizes = {
        corpus.name: {name: len(corpus.split(name)) for name in ("train", "validation", *corpus.tests)} for corpus in (ours, both)
    }
    found = groups(pairs)
    return {
        "pairs": len(pairs),
        "english_sentences": len({english for english, _ in pairs}),
        "groups": len(found),
        "largest_group": max(map(len, found)),
        **sizes,
        "test_english_sentences": len(references(ours.test)[0]),
        "test_pairs_that_leak": {rule: counted(corpus, "test") for rule, corpus in rules.items()},
        "validation_pairs_that_leak": {rule: counted(corpus, "validation") for rule, corpus in rules.items()},
        "test_pairs_that_stand_in_validation": {rule: len(leaks(one.test, one.validation)) for rule, one in rules.items()},
        "left_out_of_everyday_training": len(ours.train) + len(captions.train) - len(both.train),
        "everyday_pairs_that_leak": {name: counted(both, name)["either"] for name in ("validation", *both.tests)},
    }


@one_sentence()
def main() -> None:
    parser = Options("benchmarks.splits", __doc__, "results/translation/tatoeba-splits.json")
    options = parser.parse_args()
    figures = measure(tatoeba_pairs(), multi30k("de"))
    save(options.out, "benchmarks.splits", figures, {"corpora": ["tatoeba-en-de", "everyday-en-de"]})
    for name, value in figures.items():
        print(f"{name}: {value}")


if __name__ == "__main__":
    main()
