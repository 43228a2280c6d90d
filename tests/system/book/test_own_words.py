"""No page, docstring or guide has eight words in a row of the paper: what it says is said in our words.

paper_words.bin has of each eight words of the paper's text, without its references, the first five bytes of a sum, in order.
`python tests/system/book/test_own_words.py TEXT ...` makes it from texts of the paper, which is not in the repository.
"""
import hashlib
import json
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT, SUMS = Path(__file__).parents[3], Path(__file__).with_name("paper_words.bin")
LENGTH, BYTES = 8, 5


def sequences(text: str) -> Iterator[tuple[str, bytes]]:
    "Each eight words in a row, and their sum: words of two letters or more, so that equations count little."
    words = re.findall("[a-z]{2,}", text.lower())
    for i in range(len(words) - LENGTH + 1):
        phrase = " ".join(words[i : i + LENGTH])
        yield phrase, hashlib.sha256(phrase.encode()).digest()[:BYTES]


def read(path: Path) -> str:
    "The prose of a page, or a whole file."
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".ipynb":
        return text
    return "\n".join("".join(cell["source"]) for cell in json.loads(text)["cells"] if cell["cell_type"] == "markdown")


def copied(files: Iterable[Path], paper: set[bytes]) -> list[str]:
    "Where words of the paper stand, and which."
    return [f"{path.relative_to(ROOT) if path.is_relative_to(ROOT) else path.name}: {phrase}"
            for path in files for phrase, held in sequences(read(path)) if held in paper]


def test_eight_words_in_a_row_are_of_the_paper_nowhere():
    held = SUMS.read_bytes()
    paper = {held[i : i + BYTES] for i in range(0, len(held), BYTES)}
    places = ("*.md", "docs/*.md", "docs/*.py", "nbs/**/*.ipynb", "annotated_transformer/**/*.py")
    files = [path for place in places for path in ROOT.glob(place) if ".ipynb_checkpoints" not in path.parts]
    assert len(paper) > 4_000 and len(files) > 150
    assert copied(files, paper) == []


def test_words_of_another_text_are_found_whatever_stands_between_them(tmp_path):
    text = "The dog of my aunt has never once been late for its dinner"
    cell = {"cell_type": "markdown", "source": ["> §9 the DOG, of my\n", "> *aunt* has never once (been) late."]}
    (tmp_path / "page.ipynb").write_text(json.dumps({"cells": [cell, cell | {"cell_type": "code"}]}), encoding="utf-8")
    (tmp_path / "own.md").write_text("The dog of my aunt has never been late once.", encoding="utf-8")
    found = copied([tmp_path / "page.ipynb", tmp_path / "own.md"], {held for _, held in sequences(text)})
    assert found == [f"page.ipynb: {words}" for words in (
        "the dog of my aunt has never once", "dog of my aunt has never once been", "of my aunt has never once been late")]


if __name__ == "__main__":
    texts = [Path(name).read_text(encoding="utf-8") for name in sys.argv[1:]]
    parts = [part for text in texts for part in re.split(r"^ *• \[\d+\].*$", text, flags=re.MULTILINE)]  # [1] ...
    SUMS.write_bytes(b"".join(sorted({held for part in parts for _, held in sequences(part)})))
