"""How finely should a corpus be sorted before it is cut into batches? Padding against learning.

    python -m benchmarks.batch_order [--seeds 1] [--out results/translation/batch-order.json]

Trains the preset `demo` once for each way to sort, everything else equal, and counts the test expressions that come out exactly
right. The finer the sort, the less padding, and the more similar the sentences of a batch. The last way separates the two
effects: much padding, and hardly any batch with sentences of two kinds. `--orders` selects some; the others stay in the file as
they were.
"""
import dataclasses
import functools
import json
import re
import tempfile
from collections.abc import Sequence
from pathlib import Path
from unittest.mock import patch

import numpy as np

from annotated_transformer import Translator
from annotated_transformer.config import PRESETS
from annotated_transformer.data import batching, corpora
from annotated_transformer.data.batching import batches, padding_share
from annotated_transformer.training.loop import train
from annotated_transformer.training.runs import Run
from benchmarks.shared.command import Options, one_sentence
from benchmarks.shared.side_by_side import save


def by_both_sides(lengths: np.ndarray, tie: np.ndarray) -> np.ndarray:
    "By the longer side, then by the difference of the two, up and down in turn, so that neighbouring lengths fit together."
    longest, difference = lengths.max(axis=1), lengths[:, 0] - lengths[:, 1]
    return np.lexsort((tie, np.where(longest % 2, difference, -difference), longest))


KINDS = {"price": "euro|cent", "date and time": "^on.* at ", "date": "^on ", "ordinal": "^the ", "time": " (past|to) |clock",
         "number": ""}


def kind_of(english: str) -> str:
    return next(name for name, sign in KINDS.items() if re.search(sign, english))


@functools.cache
def kinds_of_the_training_pairs() -> np.ndarray:
    return np.array([list(KINDS).index(kind_of(source)) for source, _ in corpora.load(PRESETS["demo"].corpus).train])


def by_kind(lengths: np.ndarray, tie: np.ndarray) -> np.ndarray:
    "Each kind of expression for itself, by the longer side. The validation pairs, from which nothing is learnt, as usual."
    if len(lengths) != len(kinds_of_the_training_pairs()):
        return batching_by_length(lengths, tie)
    return np.lexsort((tie, lengths.max(axis=1), kinds_of_the_training_pairs()))


batching_by_length = batching.by_length  # the library's own, while another replaces it
ORDERS = {
    "longer side": lambda lengths, tie: np.lexsort((tie, lengths.max(axis=1))),
    "longer side, then source (ours)": batching_by_length,
    "longer side, then both": by_both_sides,
    "kind, then longer side": by_kind,
}


def measure(order, seed: int) -> dict:
    "Train with the pairs in this order. No user has a choice of orders, so for so long it stands in for the library's own."
    with patch.object(batching, "by_length", order):
        return train_and_score(seed)


def train_and_score(seed: int) -> dict:
    "What the preset comes to."
    config = dataclasses.replace(PRESETS["demo"], seed=seed)
    with tempfile.TemporaryDirectory() as directory:
        run = Run(Path(directory, "run"))
        train(config, run.directory)
        lengths, reached = run.pairs("train").lengths, run.reached()
        translator = Translator.from_pretrained(run.directory)
        pairs = corpora.load(config.corpus).test
        found = translator.translate([source for source, _ in pairs], split=False)
    return {
        "seed": seed,
        "padding_share": round(padding_share(lengths, batches(lengths, config.batch_tokens, seed)), 4),
        "validation_perplexity": reached["validation_perplexity"],
        "exactly_right": sum(text == reference for text, (_, reference) in zip(found, pairs)) / len(pairs),
    }


@one_sentence()
def main(options: Sequence[str] | None = None) -> None:
    parser = Options("benchmarks.batch_order", __doc__, "results/translation/batch-order.json")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1])
    parser.add_argument("--orders", nargs="+", choices=ORDERS, default=list(ORDERS), metavar="ORDER",
                        help=", ".join(map(repr, ORDERS)))
    arguments = parser.parse_args(options)
    there = json.loads(arguments.out.read_text(encoding="utf-8"))["figures"] if arguments.out.exists() else {}
    figures: dict[str, list] = {name: [] if name in arguments.orders else there[name] for name in ORDERS
                                if name in arguments.orders or name in there}
    for seed in arguments.seeds:
        for name in arguments.orders:
            figures[name].append(measure(ORDERS[name], seed))
            print(name, figures[name][-1], flush=True)
    save(arguments.out, "benchmarks.batch_order", figures, PRESETS["demo"].to_dict(), arguments.seeds, options)


if __name__ == "__main__":
    main()
