"""Are the equations numbered as their pages require, and does each reference lead to one?

python tools/equations.py     the equations of each page in reading order, then one sentence for each mistake

The paper's own equations are (1), (2) and (3). Ours are numbered by page: the second on a page whose `tag` in nbs/contents.yml
is `att` is (att.2), wherever the page stands in the list.
"""
import os
import re
import sys
from collections.abc import Iterator
from itertools import count
from pathlib import Path

from contents import NOTEBOOKS, Page, notebook_files, read_contents, read_notebook
from usage import words_given

ROOT = Path(__file__).resolve().parents[1]
PAPERS = ("1", "2", "3")
TAG = re.compile(r"\\tag\{([^}]*)\}")
REFERENCE = re.compile(r"\(([a-z]+\.\d+)\)")
ELSEWHERE = ("docs/*.md", "annotated_transformer/**/*.py", "tests/**/*.py", "*.md")  # where equations are named, too


def markdown(path: Path) -> str:
    "The text of a notebook."
    cells = read_notebook(path)["cells"]
    return "\n\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")


def source(path: Path) -> str:
    "All that is written in a notebook, or in a file."
    if path.suffix != ".ipynb":
        return path.read_text(encoding="utf-8")
    return "\n\n".join("".join(cell["source"]) for cell in read_notebook(path)["cells"])


def equations(notebooks: Path, pages: list[Page]) -> dict[str, list[str]]:
    "The numbers of each page's equations, by its name."
    return {page.notebook: TAG.findall(markdown(notebooks / f"{page.notebook}.ipynb")) for page in pages}


def misnumbered(found: dict[str, list[str]], pages: list[Page]) -> Iterator[str]:
    "A sentence for each equation whose number is not the next of its page."
    for page in pages:
        own = [number for number in found[page.notebook] if number not in PAPERS]
        if own and not page.tag:
            yield f"{page.notebook} numbers an equation ({own[0]}): give it a `tag` in contents.yml."
        if page.tag and not own:
            yield f"{page.notebook} has the tag {page.tag} and no equation: take the tag out of contents.yml."
        for number, n in zip(own if page.tag else (), count(1)):
            if number != f"{page.tag}.{n}":
                yield f"{page.notebook}: its equation ({number}) must be ({page.tag}.{n})."
    papers = [number for page in pages for number in found[page.notebook] if number in PAPERS]
    if papers != list(dict.fromkeys(papers)):
        yield f"an equation of the paper is numbered twice: {', '.join(f'({number})' for number in papers)}."


def lost(found: dict[str, list[str]], pages: list[Page], notebooks: Path, others: list[Path]) -> Iterator[str]:
    "A sentence for each reference to an equation that no page has."
    known, tags = {number for own in found.values() for number in own}, {page.tag for page in pages if page.tag}
    for path in [*notebook_files(notebooks), *others]:
        for number in dict.fromkeys(REFERENCE.findall(source(path))):
            if number.partition(".")[0] in tags and number not in known:
                yield f"{path} names equation ({number}), which no page has."
    for path in notebook_files(notebooks):  # in prose, a word and a number in brackets are nothing else
        for number in dict.fromkeys(REFERENCE.findall(markdown(path))):
            if number.partition(".")[0] not in tags:
                yield f"{path} names equation ({number}), and no page has that tag."


def complaints(notebooks: Path = NOTEBOOKS) -> Iterator[str]:
    "All that is wrong with the numbers of equations, a sentence each."
    pages = read_contents(notebooks)
    found = equations(notebooks, pages)
    others = sorted({path for pattern in ELSEWHERE for path in notebooks.parent.glob(pattern)})
    yield from misnumbered(found, pages)
    yield from lost(found, pages, notebooks, others)


if __name__ == "__main__":
    words_given(__doc__, ())
    os.chdir(ROOT)
    for name, own in equations(NOTEBOOKS, read_contents()).items():
        if own:
            print(f"{name:<30} {' '.join(f'({number})' for number in own)}")
    wrong = list(complaints())
    print("\n".join(wrong))
    sys.exit(1 if wrong else 0)
