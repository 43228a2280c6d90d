"The figures that README.md prints are those in results/."
import json
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_every_row_of_the_results_table_is_what_was_measured():
    row = r"^\| ([a-z0-9-]+) \| \[([a-z0-9]+)\]\((results/[\w.-]+)\) \| ([\d.]+) \| ([\d.]+) \| ([\d.]*) \| ([\d.]+)% \|$"
    rows = re.findall(row, (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert len(rows) == 4
    for corpus, split, path, sacre, lowercased, _, exact in rows:
        record = json.loads((ROOT / path).read_text(encoding="utf-8"))
        assert record["config"]["corpus"] == corpus and f"--split {split}" in record["command"]
        figures = record["figures"]
        measured = (figures["sacre_bleu"]["score"], figures["multi30k_bleu"]["score"], 100 * figures["exact"])
        assert (sacre, lowercased, exact) == tuple(f"{value:.{digits}f}" for value, digits in zip(measured, (2, 2, 1)))


def test_the_measures_in_the_text_are_those_of_their_files():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    kills = json.loads((ROOT / "results/kills.json").read_text(encoding="utf-8"))["figures"]
    assert [(figures["processes"], figures["kills"]) for figures in kills] == [(1, 50), (2, 50)]
    assert all(figures["runs_equal_to_the_uninterrupted_one"] == figures["runs"] for figures in kills)
    assert "50 random kills with one process and 50 with two" in text
    figures = json.loads((ROOT / "results/preparation.json").read_text(encoding="utf-8"))["figures"]
    assert figures["whole"]["prepare"]["pairs"] == 2_000_000 and figures["half"]["prepare"]["pairs"] == 1_000_000
    assert {round(figures[size]["prepare"]["peak_gibibytes"], 2) for size in ("half", "whole")} == {0.83} and "0.83 GiB" in text
    assert round(figures["whole"]["prepare"]["seconds_per_million_pairs"]["tokenise"]) == 29 and "29 seconds a million" in text
