"""Whether a line of several sentences is translated better whole or sentence by sentence, by sacreBLEU on Tatoeba.

    python -m benchmarks.paragraphs [--model everyday-en-de] [--out results/translation/paragraphs.json]

There are three kinds of lines: unrelated validation sentences, joined; lines of several sentences that belong together, from the
training split, which favours whole lines since training saw them; and the few of those in the other splits. Each is translated
whole, cut at every end of a sentence, and as `translate` does it, which keeps two short ones together.
"""
import random
from collections.abc import Sequence

from sacrebleu.metrics import BLEU

from annotated_transformer import Translator
from annotated_transformer.data.corpora import load
from annotated_transformer.data.parallel_text import Pairs
from annotated_transformer.data.sentences import split_sentences
from annotated_transformer.translation.lines import WHOLE
from benchmarks.shared.chance import SHUFFLES, by_chance
from benchmarks.shared.command import Options, one_sentence
from benchmarks.shared.side_by_side import save

JOINED = (2, 3, 4, 6)
LENGTHS = ((0, WHOLE), (WHOLE + 1, 20), (21, 26), (27, 10**6))  # tokens, EOS included
TRIED = 600  # lines of the training split


def joined(pairs: Pairs, n: int, draw: random.Random) -> Pairs:
    "Sentences in any order, n on a line, each once."
    order = draw.sample(pairs, len(pairs))
    lines = [order[i : i + n] for i in range(0, len(order) - n + 1, n)]
    return [tuple(" ".join(side) for side in zip(*line)) for line in lines]


class Known:
    "Translates lines as they are, none twice."

    def __init__(self, translator: Translator):
        self.translator, self.found = translator, {}

    def __call__(self, lines: list[str]) -> list[str]:
        new = [line for line in dict.fromkeys(lines) if line not in self.found]
        self.found.update(zip(new, self.translator.translate(new, split=False)))
        return [self.found[line] for line in lines]


def compared(known: Known, pairs: Pairs) -> dict:
    "BLEU of each way; for all but the whole, how likely its difference from the whole is by chance."
    sources, references = map(list, zip(*pairs))
    whole, parts = known(sources), [split_sentences(line) for line in sources]
    each = iter(known([sentence for part in parts for sentence in part]))
    by_sentence = [" ".join(next(each) for _ in part) for part in parts]
    usual = [cut if len(known.translator.sentences(line)) > 1 else uncut for line, cut, uncut in zip(sources, by_sentence, whole)]
    found = {"whole": whole, "by_sentence": by_sentence, "as_translate_does": usual}
    tokens = sum(map(len, known.translator.tokenizer.encode_all(sources))) / len(sources)
    named = {name: round(BLEU().corpus_score(lines, [references]).score, 2) for name, lines in found.items()}
    p = {f"p_{name}": round(by_chance(whole, lines, references), 4) for name, lines in found.items() if name != "whole"}
    return {"lines": len(pairs), "tokens_of_a_line": round(tokens, 1), **named, **p}


def measure(translator: Translator, limit: int | None) -> dict:
    "All figures of one model."
    corpus, draw, known = load("tatoeba-en-de"), random.Random(0), Known(translator)
    several = {name: [pair for pair in corpus.split(name) if len(split_sentences(pair[0])) > 1]
               for name in ("train", "validation", "test")}
    together = draw.sample(several["train"], min(limit or TRIED, len(several["train"])))
    single = [pair for pair in dict((pair[0], pair) for pair in corpus.validation).values() if pair not in several["validation"]]
    single = single[:limit]

    def by_length(pairs: Pairs) -> dict:
        sizes = [len(ids) for ids in translator.tokenizer.encode_all([source for source, _ in pairs])]
        bins = {f"{low} to {high} tokens": [pair for pair, n in zip(pairs, sizes) if low <= n <= high] for low, high in LENGTHS}
        return {name: compared(known, some) for name, some in bins.items() if len(some) > 1}

    return {
        "joined": {f"{n} sentences": compared(known, joined(single, n, draw)) for n in JOINED},
        "joined_two_by_length": by_length(joined(single, 2, draw) + joined(single, 2, draw)),
        "together_in_training_by_length": by_length(together),
        "together_held_out": compared(known, several["validation"] + several["test"]),
    }


@one_sentence()
def main(options: Sequence[str] | None = None) -> None:
    parser = Options("benchmarks.paragraphs", __doc__, "results/translation/paragraphs.json")
    parser.add_argument("--model", default="everyday-en-de", help="name of weights that ship, or a directory")
    parser.add_argument("--limit", type=int, help="for trials: so many sentences of a kind")
    arguments = parser.parse_args(options)
    figures = measure(Translator.from_pretrained(arguments.model, precision="auto"), arguments.limit)
    config = {"model": arguments.model, "corpus": "tatoeba-en-de", "whole_up_to": WHOLE, "shuffles": SHUFFLES}
    save(arguments.out, "benchmarks.paragraphs", figures, config, 0, options)
    for name, found in figures.items():
        for row, one in ([(name, found)] if "whole" in found else found.items() if isinstance(found, dict) else []):
            print(f"{name}, {row}: whole {one['whole']}, by sentence {one['by_sentence']}, translate {one['as_translate_does']}")


if __name__ == "__main__":
    main()
