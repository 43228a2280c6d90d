"What the page of heads says is what Python makes of the files of results, and these are of the weights that ship."
import json
import re
from pathlib import Path

import pytest

from annotated_transformer.figures.head_scores import NONE, RESTS, TASKS, catalogue, shows
from annotated_transformer.model_record import record_of
from annotated_transformer.results import weights_of

ROOT = Path(__file__).parents[3]
RECORDS = {name: json.loads((ROOT / f"results/heads/{name}.json").read_text(encoding="utf-8")) for name in
           ("everyday", "multi30k", "seeds")}
SEEDS = RECORDS["seeds"]["figures"]
MODELS = {"everyday": RECORDS["everyday"]["figures"], "seed 1": SEEDS["seed 1"], "multi30k": RECORDS["multi30k"]["figures"],
          "seed 2": SEEDS["seed 2"], "seed 3": SEEDS["seed 3"]}  # in the order of the page's columns


def tables() -> list[list[str]]:
    "Rows of all tables that the page has put out."
    cells = json.loads((ROOT / "nbs/figures/head_scores.ipynb").read_text(encoding="utf-8"))["cells"]
    texts = ["".join(output.get("data", {}).get("text/markdown", "")) for cell in cells for output in cell.get("outputs", [])]
    rows = [line for text in texts for line in text.split("\n") if line.startswith("| ")]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]


@pytest.mark.parametrize("name", ["everyday", "multi30k"])
def test_what_was_measured_are_the_weights_that_ship(name):
    record = RECORDS[name]
    model = record["config"]["model"]
    assert record["weights"] == weights_of([model])
    best = record["figures"]["measures"]["encoder_decoder"]["aligned by hand"]["best"]
    assert record_of(model).alignment_head == (best["layer"], best["head"])


@pytest.mark.parametrize("name", MODELS)
def test_the_names_in_the_file_follow_from_its_figures(name):
    figures = MODELS[name]
    named = {kind: [[one.name for one in row] for row in rows] for kind, rows in catalogue(figures).items()}
    assert figures["catalogue"] == named
    for kind, rows in figures["catalogue"].items():
        assert figures["without"]["named_and_others"][kind]["named"] == sum(n not in (RESTS, NONE) for row in rows for n in row)
        order = figures["without"]["in_order"][kind]["order"]
        assert sorted(order) == [[layer, head] for layer, row in enumerate(rows, 1) for head in range(1, len(row) + 1)]


def test_at_least_five_kinds_of_head_are_above_every_baseline():
    figures = MODELS["everyday"]
    found = {name for kind, tasks in TASKS.items() for question, name in tasks.items()
             if shows(figures["measures"][kind][question], figures["untrained"][kind][question])}
    assert len(found) >= 5, found


def test_the_page_says_of_each_question_what_python_says():
    figures, *others = MODELS.values()
    rows = {row[0]: row for row in tables() if re.match("(encoder|decoder|encoder-decoder): ", row[0]) and len(row) > 8}
    said = {True: "**yes**", False: "no", None: "–"}
    asked = [(kind, question) for kind, tasks in TASKS.items() for question in tasks]
    for kind, question in asked:
        row = rows[f"{kind.replace('_', '-')}: {question}"]
        found = [shows(some["measures"][kind][question], some["untrained"][kind][question]) for some in (figures, *others)]
        assert row[-len(found) :] == [said[one] for one in found], question
        assert row[2] == "layer {layer}, head {head}".format(**figures["measures"][kind][question]["best"])


def test_the_page_counts_the_heads_that_python_names():
    rows = {row[0]: row[1:] for row in tables() if len(row) == 1 + len(MODELS)}
    for number, name in enumerate(MODELS):
        for kind, layers in MODELS[name]["catalogue"].items():
            names = [one for layer in layers for one in layer]
            for one in set(names):
                assert rows[f"{kind.replace('_', '-')}: {one}"][number].split()[0] == str(names.count(one)), (name, kind, one)
