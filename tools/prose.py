"""Check what the pages say: the numbers in their prose, their words, and that no name comes before its explanation.

python tools/prose.py           one line for each number without a witness, each word that is not the book's, each name too early
python tools/prose.py paper/3   only the pages whose names begin like this

A number of three or more digits, or with a decimal point, needs a witness: it occurs, as written or more exactly, in an output of
the same notebook, in a results file that the notebook's code names, or in that code itself (an input, or what a test asserts).
Exempt are

- quotation blocks, which say what the paper says, and the figures of LITERATURE, each with its source;
- code spans, blocks of code and addresses;
- formulas, sums in plain text that come out (5.29 / 4.92 = 1.075), and their numbers elsewhere on the page: the arithmetic is
  before the reader's eyes;
- years, and numbers that are part of a name: §6.1, Table 2, equation (att.1), version 2.13, issue 317, test2016, files 0180.

A name of the glossary (in nbs/reference.ipynb) may be used from the page that explains it onwards. An earlier page of the
paper's part may use it in a quotation block, in a code span, or in a paragraph that links to the explanation. The first page,
PREVIEW, runs ahead of the book. Words that also mean something else are not searched for: EVERYDAY.
"""
import functools
import json
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from contents import Page, names_beginning, notebook_of, read_contents, way
from pages import ROOT, prose_of, source_of, written_here
from usage import words_given

LITERATURE = {  # source: figures that a page may state without showing where it has them from
    "§5.1, data and batches": "4.5 37,000 32,000 25,000",
    "§5.2, §5.3, Table 3: sizes, schedules, parameters in millions":
        "512 2,048 2048 1,024 1024 4,096 4096 100,000 300,000 4,000 213",
    "Table 2, BLEU": "23.75 39.2 24.6 39.92 25.16 40.46 26.03 40.56 40.4 26.30 41.16 26.36 41.29 27.3 38.1 28.4 41.8 41.0",
    "Multi30k, README of its makers: pairs of each split": "29,000 1,014 1,000 461",
    "newstest2013 and newstest2014: sentences": "3,000 3,003",
    "Penn Treebank, the usual sections: sentences": "39,832 1,700 2,416",
    "Wu et al. 2021, lower-cased BLEU on Multi30k's test2016": "41.02",
    "tensor2tensor, issue 317, and fairseq's README: one model's BLEU, two ways": "27.52 29.02 1.50 26.25 26.50 0.25 28.6 29.29",
    "WMT14's Hugging Face copy, pairs en-de; Gehring et al. 2017, millions of pairs en-fr": "4,508,785 40.8 35.5",
    "Vinyals et al. 2015, share of malformed parses in percent": "1.5",
    "NVIDIA's README of the Transformer in PyTorch: BLEU of big, A100": "27.76",
}
FROM_LITERATURE = {figure for figures in LITERATURE.values() for figure in figures.split()}

GLOSSARY = "reference"
PREVIEW = "paper/ten_minutes"
EVERYDAY = {"position", "memory", "unit"}  # the place in a sentence; what a machine has, twice

DIGITS = r"(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?"
NUMBER = re.compile(rf"(?<![\w.,/])[−-]?({DIGITS})(?![\w/]|[.,]\d)( ?%)?")
SUM = re.compile(rf"(?:\(*{DIGITS}\)*\s*[-·×+−/]\s*)+\(*{DIGITS}\)*\s*=\s*({DIGITS})(?![\w.,]*\d)")
FORMULA = re.compile(r"\$\$.*?\$\$|(?<![\\$])\$[^$]+\$", re.DOTALL)
QUOTED = re.compile(r"^ *>.*(?:\n *\S.*)*", re.MULTILINE)
CODE = re.compile(r"```.*?```|``[^`]+``|`[^`]+`", re.DOTALL)
LEFT_ALONE = [
    QUOTED,
    CODE,
    re.compile(r"\]\([^)]*\)|<[^>]+>|https?://\S+"),                                    # addresses
    FORMULA,
    re.compile(r"§§?\s?\d[\d.]*(?:\s?(?:,|-|–|and|to)\s?§?\d[\d.]*\b)*|\([a-z]+\.\d+\)"),   # sections, equations
    re.compile(r"\b(?:[Tt]able|[Ff]igure|[Ee]quations?|[Vv]ersions?|Python|PyTorch|JupyterLab|issue|line|seed) \d[\d.]*"),
    re.compile(r"\b(?:19|20)\d\d\b(?![.,]\d)"),                                         # years
]
# One word for one thing; what stands on the right is said instead.
NOT_OURS = {
    r"\b(?:this|that|next|each|every|earlier|last|other|whose) room\b|\brooms\b": "page or notebook",
    r"\battention shares?\b|\bshares? of (?:the )?attention\b": "weights",
    r"\bstart sign\b|\bBOS\b(?! id)|<start>": "start token",
    r"\bembedded corpus\b": "built-in corpus",
    r"\bby lot\b": "at random",
    r"\bleave (?:it|them) away\b": "leave out",
    r"\bby the clock\b": "give the time alone",
    r"\bcan be told beforehand\b": "can predict",
}


def stated(markdown: str) -> Iterator[tuple[str, bool]]:
    "The numbers in a Markdown cell that need a witness, as written, and whether they are percentages."
    for left_alone in LEFT_ALONE:
        markdown = left_alone.sub(" x ", markdown)
    for found in NUMBER.finditer(markdown):
        number = found[1]
        digits = number.replace(",", "")
        counted = "." in digits or len(digits) > 2 and not digits.startswith("0")
        if counted and number not in FROM_LITERATURE:
            yield number, bool(found[2])


def values_in(text: str) -> set[float]:
    found = re.findall(r"\d{1,3}(?:[,_]\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?(?:e[+-]?\d+)?", text)
    return {float(re.sub("[,_]", "", number)) for number in found}


def from_arithmetic(markdown: str) -> set[float]:
    "The numbers of formulas, and of sums in plain text that come out."
    found = set().union(*(values_in(formula.replace("{,}", ",")) for formula in FORMULA.findall(markdown)))
    for worked in SUM.finditer(markdown):
        left = worked[0].rpartition("=")[0].replace(",", "")
        try:
            value = eval(left.translate(str.maketrans("·×−", "**-")))  # digits, brackets and signs alone: SUM has seen to that
        except (SyntaxError, ZeroDivisionError):
            continue
        if has_witness(worked[1], False, {value}):
            found |= values_in(worked[0])
    return found


def leaves(value) -> Iterator[str]:
    "All keys, texts and numbers of a JSON value."
    if isinstance(value, dict):
        yield from value
        value = list(value.values())
    if isinstance(value, list):
        for one in value:
            yield from leaves(one)
    else:
        yield str(value)


@functools.cache
def values_of(results: Path) -> set[float]:
    return values_in("\n".join(leaves(json.loads(results.read_text(encoding="utf-8")))))


def witnesses(notebook: dict, results: Path) -> set[float]:
    "The numbers in a notebook's outputs, code, formulas and sums, and in the results files that its code names."
    cells = [cell for cell in notebook["cells"] if written_here(cell)]
    code = "\n".join(source_of(cell) for cell in cells if cell["cell_type"] == "code")
    found = values_in(code)
    for cell in cells:
        if cell["cell_type"] == "markdown":
            found |= from_arithmetic(source_of(cell))
        for output in cell.get("outputs", []):
            shown = [value for kind, value in output.get("data", {}).items() if not kind.startswith("image/")]
            for value in [output.get("text", ""), *shown]:
                text = "".join(value) if isinstance(value, list) else value
                found |= values_in("\n".join(leaves(text)))
    for path in results.rglob("*.json"):
        if re.search(rf"(?<![\w.-]){re.escape(path.stem)}(?![\w-]|\.(?!json))", code):
            found |= values_of(path)
    return found


def has_witness(number: str, percent: bool, found: set[float]) -> bool:
    "Whether one of the numbers found is this one or rounds to it; 9.8% may be found as 0.0981."
    digits = number.replace(",", "")
    value, half = float(digits), 0.5000001 * 10 ** -len(digits.partition(".")[2])
    return any(abs(one - value) <= half or percent and abs(100 * one - value) <= half for one in found)


def numbers_without_witness(notebook: dict, results: Path) -> list[str]:
    "The numbers of a page's prose that nothing in it supports, each with its cell."
    found = witnesses(notebook, results)
    return [f"cell {cell['id']}: {number}{'%' * percent}"
            for cell in notebook["cells"] if cell["cell_type"] == "markdown" and written_here(cell)
            for number, percent in stated(source_of(cell)) if not has_witness(number, percent, found)]


def words_not_ours(notebook: dict) -> list[str]:
    "What a page calls by another word than the book's."
    return [f"cell {cell['id']}: “{found[0]}” (say: {instead})"
            for cell in notebook["cells"] if cell["cell_type"] == "markdown" and written_here(cell)
            for pattern, instead in NOT_OURS.items()
            for found in re.finditer(pattern, " ".join(CODE.sub("x", prose_of(source_of(cell))).split()), re.IGNORECASE)]


def glossary(notebook: dict) -> dict[str, str]:
    "Each name of the glossary and the notebook that explains it."
    text = next(source_of(cell) for cell in notebook["cells"] if "## Glossary" in source_of(cell))
    rows = re.findall(r"^\| ([^|]+?) \| [^|]+ \| \[[^]]+\]\(([\w./]+)\.ipynb\) \|$", text, re.MULTILINE)
    return {name: page for names, page in rows for name in names.split(", ")}


def names_too_early(name: str, notebook: dict, explained: dict[str, str], pages: list[Page]) -> list[str]:
    "The names that a page of the paper's part uses although a later page explains them."
    order = [page.notebook for page in pages if page.part == "paper"]
    if name not in order or name == PREVIEW:
        return []
    later = {word: page for word, page in explained.items() if page in order[order.index(name) + 1:] and word not in EVERYDAY}
    said = []
    for cell in notebook["cells"]:
        if cell["cell_type"] == "markdown" and written_here(cell):
            text = CODE.sub("x", QUOTED.sub(" ", source_of(cell)))
            for paragraph in re.split(r"\n\s*\n", text):
                prose = " ".join(prose_of(paragraph).split())
                said += [f"cell {cell['id']}: “{found[0]}” is explained in {page}" for word, page in later.items()
                         if f"({way(name, page)}" not in paragraph
                         and (found := re.search(rf"(?<!\w){re.escape(word)}s?(?!\w)", prose, re.IGNORECASE))]
    return said


def main() -> int:
    pages = read_contents()
    explained, found = glossary(notebook_of(GLOSSARY)), 0
    for name in names_beginning(words_given(__doc__, None)):
        notebook = notebook_of(name)
        for line in [*numbers_without_witness(notebook, Path("results")), *words_not_ours(notebook),
                     *names_too_early(name, notebook, explained, pages)]:
            print(f"{name}, {line}")
            found = 1
    return found


if __name__ == "__main__":
    os.chdir(ROOT)
    sys.exit(main())
