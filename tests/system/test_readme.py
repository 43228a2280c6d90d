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
