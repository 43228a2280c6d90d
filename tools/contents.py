"""Read nbs/contents.yml, the single list of notebooks, and write what the book makes from it.

The contents are in a cell of nbs/index.ipynb: what each page of the paper's part is about, and links to the workshop's pages. A
cell of nbs/reference.ipynb says what those are about, and which module each page explains. The last cell of each notebook
links to its neighbours. The build writes and renews all of these: nobody edits them in a notebook.

A page is named by its path under nbs, without .ipynb: paper/3.2_attention. The number is the section of the paper.
"""
import functools
import json
import os
import posixpath
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import yaml
from repository import from_yaml

NOTEBOOKS = Path("nbs")
GUIDES = Path("docs")
INDEX = "index"
SECONDS = Path("results/checks/pages.json")
TABLE, PAGES, NEIGHBOURS = "contents", "pages", "neighbours"  # the ids of the cells that are written here
PARTS = {"paper": "The paper", "workshop": "The workshop"}
ROW = ("notebook", "title", "shows")  # and a tag, where a page has equations of its own


class Words(NamedTuple):
    "What stands in the tables of pages, and in the line that ends a page: in English, unless said otherwise."

    parts: dict[str, str] = PARTS
    page: str = "notebook"
    pages: str = "notebooks"
    shows: str = "what it is about"
    about: str = "what for"
    module: str = "module"
    seconds: str = "seconds on two cores"
    before: str = "Before: "
    next: str = "Next: "
    contents: str = "Contents"


ENGLISH = Words()


@dataclass(frozen=True)
class Page:
    "A row of the list."

    notebook: str       # path under nbs, without .ipynb
    title: str
    shows: str
    part: str           # of PARTS
    chapter: str
    module: str | None  # what the notebook exports: model.attention
    tag: str | None = None  # of its own equations: the first is (tag.1)
    about: str = ""         # what one goes to its chapter for

    @property
    def name(self) -> str:
        "The name of its file."
        return self.notebook.rpartition("/")[2]

    @property
    def label(self) -> str:
        "Its title, after the section of the paper that it follows."
        number = self.name.partition("_")[0]
        return f"§{number} {self.title}" if number[0].isdigit() else self.title

    def link(self, here: str = INDEX) -> str:
        "A link to it from the page `here`."
        return f"[{self.label}]({way(here, self.notebook)})"


def way(here: str, there: str) -> str:
    "How a link on the page `here` names the page `there`."
    return posixpath.relpath(f"{there}.ipynb", posixpath.dirname(here) or ".")


def notebook_files(notebooks: Path = NOTEBOOKS) -> list[Path]:
    "All notebooks, in the order of their paths; copies that Jupyter keeps are none."
    return sorted(path for path in notebooks.rglob("*.ipynb") if ".ipynb_checkpoints" not in path.parts)


def guides() -> list[str]:
    "The guides, as docs/speed, in the order in which a newcomer needs them."
    first = ["first-hour", "installation"]
    return [f"{GUIDES}/{name}" for name in (*first, *sorted({path.stem for path in GUIDES.glob("*.md")} - {*first}))]


def called(path: Path, notebooks: Path = NOTEBOOKS) -> str:
    "What a notebook is called: its path under nbs without .ipynb, with / on any system."
    return path.relative_to(notebooks).with_suffix("").as_posix()


def read_notebook(path: Path) -> dict:
    "What its file holds."
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        refuse(f"{path} is no notebook ({error}): if a merge left its marks in it, take one side whole, and edit it again.")


def notebook_of(name: str) -> dict:
    "The notebook of a page."
    return read_notebook(NOTEBOOKS / f"{name}.ipynb")


def write_notebook(path: Path, notebook: dict) -> None:
    "As nbdev writes it; all of it or nothing."
    for cell in notebook["cells"]:
        cell["source"] = "".join(cell["source"]).splitlines(keepends=True)  # some programs write one string
    text = json.dumps(notebook, sort_keys=True, indent=1, ensure_ascii=False) + "\n"
    if not path.exists() or path.read_bytes() != text.encode():
        beside = path.with_name(f"{path.name}.tmp")
        beside.write_text(text, encoding="utf-8", newline="\n")
        os.replace(beside, path)


def refuse(why: str):
    "End with one sentence."
    print(why, file=sys.stderr)
    sys.exit(2)


def names_beginning(beginnings: list[str]) -> list[str]:
    "The pages whose names begin so, in reading order; all if none is said. Where no name begins so, it ends with one sentence."
    names = [name for name in [INDEX, *(page.notebook for page in read_contents())] if name.startswith(tuple(beginnings or [""]))]
    if not names:
        refuse(f"no page's name begins with {' or '.join(beginnings)}: write paper/3.3_feed_forward, say, or paper.")
    return names


def module_of(notebook: dict) -> str | None:
    "The module that a notebook exports."
    cells = ("".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code")
    return next((found[1] for found in map(re.compile(r"^#\| *default_exp ([\w.]+)", re.MULTILINE).search, cells) if found), None)


@functools.cache
def module_from(path: Path, *state: int) -> str | None:
    "The module that a file exports, read again only when the state that `os.stat` tells is another."
    return module_of(read_notebook(path))


def checked(row: dict, group: dict, notebooks: Path) -> Page:
    "A row, when it has what it must have and its notebook is there."
    contents = notebooks / "contents.yml"
    if not isinstance(row, dict) or any(not isinstance(row.get(key), str) for key in ROW) or row.keys() - {*ROW, "tag"}:
        refuse(f"{contents}: a row has {', '.join(ROW)} and at most a tag; this one has not: {row}.")
    if not re.fullmatch("[a-z]+", str(row.get("tag", "a"))):
        refuse(f"{contents}: a tag is a short word of small letters, and that of {row['notebook']} is {row['tag']}.")
    path = notebooks / f"{row['notebook']}.ipynb"
    if not path.exists():
        refuse(f"{contents} has a row for {path}, which does not exist: write the notebook or take the row out.")
    found = path.stat()
    module = module_from(path.resolve(), found.st_mtime_ns, found.st_size)
    told = {key: group.get(key, "") for key in ("part", "chapter", "about")}
    return Page(**{key: row[key] for key in ROW}, **told, module=module, tag=row.get("tag"))


def read_contents(notebooks: Path = NOTEBOOKS) -> list[Page]:
    "All notebooks but the index, in reading order; ends with one sentence when the list and the files do not agree."
    contents, pages = notebooks / "contents.yml", []
    try:
        groups = from_yaml(contents.read_text(encoding="utf-8"))
    except yaml.MarkedYAMLError as error:
        refuse(f"{contents}, line {error.problem_mark.line + 1}: {error.problem}; a text with a colon needs quotation marks.")
    for chapter in groups:
        if chapter.get("part") not in PARTS or not isinstance(chapter.get("chapter"), str):
            refuse(f"{contents}: each group of notebooks has a `part` ({' or '.join(PARTS)}) and a `chapter`, its heading.")
        pages += [checked(row, chapter, notebooks) for row in chapter.get("notebooks") or []]
    names = [page.notebook for page in pages]
    for twice in sorted({name for name in names if names.count(name) > 1}):
        refuse(f"{contents} has more than one row for {twice}.")
    tags = [page.tag for page in pages if page.tag]
    for twice in sorted({tag for tag in tags if tags.count(tag) > 1}):
        refuse(f"{contents} has more than one page with the tag {twice}.")
    for path in notebook_files(notebooks):
        if called(path, notebooks) not in [*names, INDEX]:
            refuse(f"{path} has no row in {contents}: write one where a reader should come to it.")
    return pages


def chapters(pages: list[Page]) -> dict[tuple[str, str], list[Page]]:
    "The pages by part and chapter."
    found = {}
    for page in pages:
        found.setdefault((page.part, page.chapter), []).append(page)
    return found


def captions(pages: list[Page], guides: tuple[str, list[str]], workshop: str = "") -> list[tuple[str, list[str]]]:
    "The groups of the site's navigation, heading and pages: the paper's chapters, the guides, the workshop's chapters."
    groups = chapters(pages)
    found = [(chapter if part == "paper" else workshop + chapter, [page.notebook for page in members])
             for (part, chapter), members in groups.items()]
    paper = sum(part == "paper" for part, _ in groups)
    return [*found[:paper], guides, *found[paper:]]


def table(pages: list[Page], words: Words) -> str:
    "For the index: the paper's pages with what they are about, and the names of the workshop's with what one goes there for."
    lines = [f"### {words.parts['paper']}", "", f"| | {words.page} | {words.shows} |", "|---|---|---|"]
    for (part, chapter), members in chapters(pages).items():
        if part == "paper":
            lines += [f"| {chapter if page is members[0] else ''} | {page.link()} | {page.shows} |" for page in members]
    lines += ["", f"### {words.parts['workshop']}", "", f"| | {words.about} | {words.pages} |", "|---|---|---|"]
    for (part, chapter), members in chapters(pages).items():
        if part == "workshop":
            lines.append(f"| {chapter} | {members[0].about} | {' · '.join(page.link() for page in members)} |")
    return "\n".join(lines)


def list_of_pages(pages: list[Page], words: Words) -> str:
    "For the reference: every page with its module and how long it runs; the workshop's with what they are about."
    head = f"| {words.page} | {words.module} | {words.seconds} |"
    lines, measured = [head, "|---|---|---|"], seconds()
    for page in sorted(pages, key=lambda page: page.part == "workshop"):
        if page.part == "workshop" and "" not in lines:  # its table begins
            lines += ["", f"{head} {words.shows} |", "|---|---|---|---|"]
        module, took = f"`{page.module}`" if page.module else "", str(measured.get(page.notebook, ""))
        shown = f" {page.shows} |" if page.part == "workshop" else ""
        lines.append(f"| {page.link('reference')} | {module} | {took} |{shown}")
    return "\n".join(lines)


def seconds() -> dict[str, int]:
    "How many seconds of a processor each page takes, by its name, as `python tools/pages.py --run` has measured it."
    return json.loads(SECONDS.read_text(encoding="utf-8"))["figures"]["seconds"] if SECONDS.exists() else {}


def around(name: str, pages: list[Page]) -> tuple[Page | None, Page | None]:
    "What stands before a notebook and after it in its part; after the index, the first page."
    if name == INDEX:
        return None, pages[0]
    [here] = [page for page in pages if page.notebook == name]
    part = [None, *(page for page in pages if page.part == here.part), None]
    place = part.index(here)
    return part[place - 1], part[place + 1]


def neighbours(name: str, pages: list[Page], words: Words) -> str:
    "The line that ends a notebook."
    ways = [f"{word}{page.link(name)}" for word, page in zip((words.before, words.next), around(name, pages)) if page]
    return " · ".join(ways + [f"[{words.contents}]({way(name, INDEX)})"] * (name != INDEX))


def with_contents(notebook: dict, name: str, pages: list[Page]) -> dict:
    "The notebook with its last cell, and with the tables for which it has a cell, as the list has them."
    def written(cell_id: str, text: str) -> dict:
        return {"cell_type": "markdown", "id": cell_id, "metadata": {}, "source": text.splitlines(keepends=True)}

    tables = {TABLE: table, PAGES: list_of_pages}
    cells = [cell for cell in notebook["cells"] if cell.get("id") != NEIGHBOURS]
    if name == INDEX and not any(cell.get("id") == TABLE for cell in cells):
        refuse(f"{INDEX}.ipynb lacks the cell with the id `{TABLE}`, into which the build writes the table of all notebooks.")
    cells = [written(cell["id"], tables[cell["id"]](pages, ENGLISH)) if cell.get("id") in tables else cell for cell in cells]
    return notebook | {"cells": [*cells, written(NEIGHBOURS, neighbours(name, pages, ENGLISH))]}
