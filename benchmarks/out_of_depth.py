"""When a translator should warn: the mean log-probability per token of its best beam, inside and outside its field.

    python -m benchmarks.out_of_depth [--model everyday-en-de] [--inside CORPUS] [--out FILE] [--write]

There are two hundred lines (sentences/out_of_depth.json), half of them everyday ones that training did not see. On 100 lines a
threshold is chosen: the lowest that flags at most 5% of the everyday lines and at least 90% of the others, since users meet
needless warnings every day; if none does both, the one that maximises the share flagged outside minus the share flagged inside.
(Until the weights of 2026-11-25 only the second rule was used: for these it chose a threshold that flagged 4 of the 50 everyday
lines that had not chosen it, so that half was seen before the rule was changed.) The other 100 lines test it, by what
`Translator.translations` says. A line is as doubtful as its most doubtful sentence. Letters that the vocabulary lacks are always
doubtful, and so are a sentence in capitals and a translation with different numbers. (The rule about numbers came on 2026-11-30
and flags no further line. The rule about capitals came after the weights of 2026-11-26 had been measured without it: they missed
four of the five lines in capitals in the half that tests, as earlier ones had missed some.) `--write` puts the threshold into the
model's record.

A model of a narrow field does not know everyday lines either: with `--inside CORPUS`, 100 test sentences of that corpus are
inside, and all two hundred lines are outside, except those that are too long for it, which it refuses. If no line outside is as
likely as any inside, the threshold is the middle of that gap.
"""
import dataclasses
import json
import random
from collections.abc import Sequence
from pathlib import Path

from annotated_transformer import UNK, InputError, Translator
from annotated_transformer.data import corpora
from annotated_transformer.figures.head_scores import wilson
from annotated_transformer.model.weights import model_directory
from annotated_transformer.translation.lines import in_capitals
from benchmarks.shared.command import Options, one_sentence, results_file
from benchmarks.shared.shipping import keep
from benchmarks.shared.side_by_side import save

LINES = Path(__file__).with_name("sentences") / "out_of_depth.json"
FALSE_ALARMS, FLAGGED = 0.05, 0.9  # at most of the everyday lines, at least of the others


def lines(inside: str | None = None, sentences: int = 100) -> list[dict]:
    "What is looked at: the list, or test sentences of a corpus, and all of the list outside."
    rows = json.loads(LINES.read_text(encoding="utf-8"))["sentences"]
    if inside is None:
        return rows
    tests = sorted({source for pairs in corpora.load(inside).tests.values() for source, _ in pairs})
    own = random.Random(1).sample(tests, min(sentences, len(tests)))
    about = {"kind": f"{inside}, test", "everyday": True}
    return [
        *({"text": text, **about, "half": ("choose", "report")[number % 2]} for number, text in enumerate(own)),
        *({**row, "everyday": False} for row in rows),
    ]


def fits(translator: Translator, line: str) -> bool:
    "Whether no sentence of the line is too long for the model."
    ids = translator.tokenizer.encode_all(translator.sentences(line))
    return max(map(len, ids)) <= translator.model.config.max_length


def lowest(translator: Translator, line: str) -> tuple[float, bool, bool]:
    """The lowest mean log-probability per token among the sentences of a line; whether it has letters unknown to the model, and
    whether a sentence is in capitals."""
    sentences = translator.sentences(line)
    means = [found.log_probability_per_token for found in translator.translations(sentences, split=False)]
    unknown = any(UNK in ids for ids in translator.tokenizer.encode_all(sentences))
    return min(means), unknown, any(map(in_capitals, sentences))


def always(row: dict) -> bool:
    "Whether it would be flagged whatever the threshold."
    return row["unknown_letters"] or row["capitals"]


def share(rows: list[dict], everyday: bool, threshold: float) -> float:
    "Of the lines inside or outside, those that would be flagged."
    own = [row for row in rows if row["everyday"] == everyday]
    return sum(row["lowest"] < threshold or always(row) for row in own) / len(own)


def choose(rows: list[dict]) -> float:
    "The threshold, between two neighbouring lines; InputError where none keeps the false alarms low enough."
    inside, outside = ([row["lowest"] for row in rows if row["everyday"] == side] for side in (True, False))
    if inside and outside and max(outside) < min(inside):
        return round((max(outside) + min(inside)) / 2, 3)
    means = sorted({row["lowest"] for row in rows})
    cuts = [round((a + b) / 2, 3) for a, b in zip(means, means[1:])]
    allowed = [cut for cut in cuts if share(rows, True, cut) <= FALSE_ALARMS]
    if not allowed:
        raise InputError("no threshold flags so few everyday lines: is this a model for them?")
    if enough := [cut for cut in allowed if share(rows, False, cut) >= FLAGGED]:
        return min(enough)
    return max(allowed, key=lambda cut: (share(rows, False, cut) - share(rows, True, cut), cut))


def counted(rows: list[dict]) -> dict:
    "How many lines are flagged, with a 95% interval (Wilson 1927)."
    flagged = sum(row["doubtful"] for row in rows)
    low, high = wilson(flagged / len(rows), len(rows))
    return {"lines": len(rows), "flagged": flagged, "interval": [round(low, 4), round(high, 4)]}


def half(rows: list[dict], name: str) -> dict:
    "The counts of one half, also by kind."
    own = [row for row in rows if row["half"] == name]
    sides = {"everyday": [row for row in own if row["everyday"]], "outside": [row for row in own if not row["everyday"]]}
    kinds = {kind: counted([row for row in own if row["kind"] == kind]) for kind in dict.fromkeys(row["kind"] for row in own)}
    return {**{side: counted(lines) for side, lines in sides.items()}, "by_kind": kinds}


def measure(translator: Translator, inside: str | None = None) -> dict:
    "All figures of one model."
    rows = [row for row in lines(inside) if inside is None or fits(translator, row["text"])]
    for row in rows:
        row["lowest"], row["unknown_letters"], row["capitals"] = lowest(translator, row["text"])
        row["lowest"] = round(row["lowest"], 4)
    threshold = choose([row for row in rows if row["half"] == "choose"])
    translator.record = dataclasses.replace(translator.record, doubtful_below=threshold)
    for row, found in zip(rows, translator.translations([row["text"] for row in rows])):
        row |= {"doubtful": found.doubtful, "translation": found.text}
    anyway = sum(always(row) and row["lowest"] >= threshold for row in rows)
    halves = {"chosen_on": half(rows, "choose"), "reported_on": half(rows, "report")}
    return {"doubtful_below": threshold, **halves, "flagged_whatever_the_threshold": anyway, "lines": rows}


@one_sentence()
def main(options: Sequence[str] | None = None) -> None:
    parser = Options("benchmarks.out_of_depth", __doc__)
    parser.add_argument("--model", default="everyday-en-de", help="name of weights that ship, or a directory")
    parser.add_argument("--inside", metavar="CORPUS", help="its test sentences are inside, and the whole list is outside")
    parser.add_argument("--out", type=results_file,
                        help="results/translation/out_of_depth.json, with the name of CORPUS, if not given")
    parser.add_argument("--write", action="store_true", help="put the threshold into the model's record")
    arguments = parser.parse_args(options)
    name = f"out_of_depth.{arguments.inside}" if arguments.inside else "out_of_depth"
    out = arguments.out or Path(f"results/translation/{name}.json")
    directory = model_directory(arguments.model)
    figures = measure(Translator.from_pretrained(arguments.model, precision="auto"), arguments.inside)
    config = {"model": arguments.model, "false_alarms": FALSE_ALARMS}
    save(out, "benchmarks.out_of_depth", figures, config, None, options)
    if arguments.write:
        keep(directory, doubtful_below=figures["doubtful_below"])
    print(f"{arguments.model}: doubtful below {figures['doubtful_below']}")
    for name in ("chosen_on", "reported_on"):
        for side in ("outside", "everyday"):
            one = figures[name][side]
            low, high = one["interval"]
            print(f"{name:12} {side:9} {one['flagged']} of {one['lines']} flagged ({low:.0%} to {high:.0%})")


if __name__ == "__main__":
    main()
