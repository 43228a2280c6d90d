"""One Chinese word for one thing: what tools/chinese.py checks with nbs/zh/glossary.yml in each cell and its English.

The file's first part has terms, which also apply to the words of figures. The second part has variants that the text once used
alongside the book's own: wherever there is Chinese they are errors, as no English term says where to look for them.
"""
import re
from collections.abc import Iterator
from pathlib import Path

import chinese_compared
import chinese_figures
import chinese_texts

HERE = Path("tools")
LETTERS = re.compile(r"[\u4e00-\u9fff]")


def files() -> Iterator[Path]:
    "Where Chinese is written: pages, titles, exercises, words of figures, README.zh.md, and the tools' own strings."
    yield from sorted({*chinese_texts.CHINESE.rglob("*.md"), *chinese_texts.CHINESE.glob("*.yml")} - {chinese_texts.GLOSSARY})
    yield chinese_texts.README_ZH
    yield from sorted(HERE.glob("*.py"))


def variants(text: str, never: dict[str, list[str]]) -> Iterator[tuple[str, str]]:
    "What a text has that is not to be written, with its surroundings, and the book's word."
    one_line = chinese_texts.in_one_line(text)
    for ours, others in never.items():
        for found in re.finditer("|".join(others), one_line):
            around = one_line[max(0, found.start() - 6):found.end() + 6]
            yield around.replace("\n", " "), ours


def complaints() -> Iterator[str]:
    _, never = chinese_texts.glossary_file()
    for path in files():
        for around, ours in variants(path.read_text(encoding="utf-8"), never):
            yield f"{path} has {around!r}, which is {ours} in {chinese_texts.GLOSSARY}"
    terms = chinese_texts.glossary()
    for name, cells in chinese_figures.words().items():
        for cell, words in cells.items():
            for english, ours in words.items():
                for term, ways in chinese_compared.lacking(english, ours, terms) if LETTERS.search(ours) else ():
                    yield f"{chinese_figures.WORDS}, {name}, {cell}, {english!r}: {term} is {' or '.join(ways)}"
