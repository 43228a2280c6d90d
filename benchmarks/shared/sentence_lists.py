"The lists in benchmarks/sentences: sentences written before any translation of them was seen; and a part of any list."
import json
from collections.abc import Iterable
from pathlib import Path

LISTS = Path(__file__).parents[1] / "sentences"


def sentences(name: str) -> tuple[list[str], dict[tuple[str, str], str]]:
    "The sentences of a list, and the translations of them that are right without a judge."
    if (LISTS / f"{name}.txt").exists():
        return (LISTS / f"{name}.txt").read_text(encoding="utf-8").splitlines(), {}
    rows = json.loads((LISTS / f"{name}.json").read_text(encoding="utf-8"))
    return [row["source"] for row in rows], {(row["source"], german): "right" for row in rows for german in row["accepted"]}


def spread(rows: Iterable, n: int) -> list:
    "So many of the rows, evenly over the whole: a split of Tatoeba begins with its shortest sentences."
    rows = list(rows)
    return [rows[i * len(rows) // n] for i in range(n)] if n < len(rows) else rows
