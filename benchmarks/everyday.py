"""Sentences written before any translation of them was seen: what the shipped model writes, judged by hand.

    python -m benchmarks.everyday [LIST] [--model everyday-en-de] [--out results/translation/LIST-sentences.json]

The lists are in benchmarks/sentences: `everyday` and `everyday-2`, sixty sentences each, the second written before training of
the shipped weights was finished; `phrasebook`, forty with times, dates, names, prices and greetings, with German that is
accepted without a judge; and `tatoeba`, sixty from Tatoeba's test split (by its contributors, CC BY 2.0), drawn from the 1,515
whose translations by the weights of 2026-11-26 did not equal the reference letter for letter.

A verdict is right, nearly (the meaning is right, but a word or an ending is not) or wrong. It is written into the results file by
hand, and the next run keeps it, wherever it writes, as long as the translation stays the same; a new translation is `open` until
somebody judges it. `second` is the verdict of a second judge that saw no verdict of the first; it also judged `tatoeba`,
with the reference in view. Both are language models.
"""
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from annotated_transformer import InputError, Translator
from annotated_transformer.data import corpora
from annotated_transformer.data.tatoeba import key
from benchmarks.everyday_extra import made
from benchmarks.shared.command import Options, one_sentence, results_file
from benchmarks.shared.sentence_lists import sentences
from benchmarks.shared.side_by_side import save

VERDICTS = ("right", "nearly", "wrong", "open")


def known_verdicts(*files: Path, judge: str = "verdict") -> dict[tuple[str, str], str]:
    "Of each sentence and its translation, from earlier runs, by one of the judges; what a later file says holds."
    records = [json.loads(file.read_text(encoding="utf-8")) for file in files if file.exists()]
    rows = [row for record in records for row in record["figures"]["sentences"] if row.get(judge, "open") != "open"]
    return {(row["source"], row["translation"]): row[judge] for row in rows}


def seen_in_training(sources: Sequence[str]) -> list[bool] | None:
    "Which sentences stand among the training pairs, made ones too, but for capitals and signs; None without the corpus at hand."
    try:
        training = {key(source) for source, _ in [*corpora.load("everyday-en-de").train, *made()]}
    except InputError:
        return None
    return [key(source) in training for source in sources]


@one_sentence()
def main(options: Sequence[str] | None = None) -> None:
    parser = Options("benchmarks.everyday", __doc__)
    parser.add_argument("list", nargs="?", default="everyday", choices=("everyday", "everyday-2", "phrasebook", "tatoeba"))
    parser.add_argument("--model", default="everyday-en-de")
    parser.add_argument("--out", type=results_file, help="results/translation/LIST-sentences.json if not given")
    arguments = parser.parse_args(options)
    judged = Path(f"results/translation/{arguments.list}-sentences.json")
    arguments.out = arguments.out or judged
    sources, accepted = sentences(arguments.list)
    known, second = known_verdicts(judged, arguments.out) | accepted, known_verdicts(judged, arguments.out, judge="second")
    seen = seen_in_training(sources)
    translations = Translator.from_pretrained(arguments.model).translate(sources)
    rows = [
        {"source": source, "translation": found, "verdict": known.get((source, found), "open"),
         **({"second": second[source, found]} if (source, found) in second else {}),
         **({} if seen is None else {"in_training": seen[i]})}
        for i, (source, found) in enumerate(zip(sources, translations))
    ]
    counts = Counter(row["verdict"] for row in rows)
    figures: dict = {"counts": {verdict: counts[verdict] for verdict in VERDICTS}}
    if seen is not None:
        unseen = Counter(row["verdict"] for row in rows if not row["in_training"])
        figures["counts_not_in_training"] = {verdict: unseen[verdict] for verdict in VERDICTS}
    if second:
        again = Counter(row["second"] for row in rows if "second" in row)
        figures["counts_of_second_judge"] = {verdict: again[verdict] for verdict in VERDICTS if verdict != "open"}
    save(arguments.out, "benchmarks.everyday", {**figures, "sentences": rows}, {"model": arguments.model}, None, options)
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
