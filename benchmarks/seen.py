"""What memory is worth: a translator on pairs that it has learnt from, compared with pairs that it has never seen.

    python -m benchmarks.seen [--out results/translation/seen.json]

The pairs are from Tatoeba (CC BY 2.0), equally many from the training and the test split of `everyday-en-de`. Pairs about Tom are
left out of both: in training most of them had another name (`benchmarks.everyday_extra`). Each has one reference, since a leak is
a line.
"""
import random
import re

from annotated_transformer import Translator
from annotated_transformer.data import corpora
from annotated_transformer.data.parallel_text import Pairs
from annotated_transformer.data.tatoeba import leaks
from annotated_transformer.translation.bleu import sacre_bleu
from benchmarks.shared.command import Options, one_sentence
from benchmarks.shared.side_by_side import save

MODEL = "everyday-en-de"


def nameless(pairs: Pairs) -> Pairs:
    "Those in which nobody is called Tom."
    return [pair for pair in pairs if not any(re.search(r"\bToms?\b", side) for side in pair)]


def scored(translator: Translator, pairs: Pairs) -> dict:
    "BLEU, and the share of the lines that are the reference letter for letter."
    sources, references = map(list, zip(*pairs))
    found = translator.translate(sources, split=False)
    exact = sum(one == other for one, other in zip(found, references)) / len(pairs)
    words = sum(len(source.split()) for source in sources) / len(pairs)
    bleu = sacre_bleu(found, references)
    return {"pairs": len(pairs), "english_words": round(words, 2), "bleu": round(bleu.score, 2), "exact": round(100 * exact, 1)}


def measure(seed: int) -> dict:
    "Of the pairs in training, drawn at random, and of those of the test set."
    tatoeba, everyday = corpora.load("tatoeba-en-de"), corpora.load(MODEL)
    new, learnt = nameless(tatoeba.test), set(everyday.train)
    assert not leaks(new, everyday.train)
    seen = random.Random(seed).sample([pair for pair in nameless(tatoeba.train) if pair in learnt], len(new))
    translator = Translator.from_pretrained(MODEL)
    return {"seen": scored(translator, seen), "new": scored(translator, new)}


@one_sentence()
def main() -> None:
    parser = Options("benchmarks.seen", __doc__, "results/translation/seen.json")
    options = parser.parse_args()
    figures = measure(seed=0)
    save(options.out, "benchmarks.seen", figures, {"model": MODEL, "corpora": ["tatoeba-en-de", "everyday-en-de"]})
    for name, value in figures.items():
        print(f"{name}: {value}")


if __name__ == "__main__":
    main()
