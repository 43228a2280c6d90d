"""The two texts of the Chinese edition: for each prose cell of a page, the English, and the Chinese in its own file.

nbs/zh/paper/3.2_attention.md holds the Chinese of nbs/paper/3.2_attention.ipynb, nbs/zh/docs/speed.md that of docs/speed.md. Each
cell begins with a line

    <!-- 0ab27f61 5c1d9e02 -->

the cell's id, and the first digits of the hash of the English that it translates. The cells of a guide and of README.md are
their sections, with ids made from their headings.
"""
import re
from collections import Counter
from collections.abc import Callable
from functools import cache
from hashlib import sha256
from pathlib import Path

import yaml
from colab import LINK as OPEN_IN_COLAB
from contents import GUIDES, INDEX, NOTEBOOKS, Page, guides, notebook_of, read_contents, refuse
from pages import written_here
from repository import from_yaml

CHINESE = NOTEBOOKS / "zh"
GLOSSARY, TITLES = CHINESE / "glossary.yml", CHINESE / "contents.yml"
README, README_ZH = "README", Path("README.zh.md")
MARK = re.compile(r"^<!-- ([\w.-]+) ([0-9a-f]{8}|-) -->\n", re.MULTILINE)
HEADING = re.compile(r"^(#+) (.+)$", re.MULTILINE)
TARGET = re.compile(r"\]\(((?:[^()\s]|\([^()\s]*\))+)\)")
FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
MATHS = re.compile(r"\$\$.*?\$\$|(?<![\\$`])\$[^$]+\$", re.DOTALL)
SPAN = re.compile("|".join(rf"(?<!`){marks}(?!`)[^\n]+?(?<!`){marks}(?!`)" for marks in ("`", "``", "```")))
NO_PROSE = re.compile("|".join(one.pattern for one in (FENCED, MATHS, SPAN)) + r"|\]\([^)]*\)|<[^>]+>", re.MULTILINE | re.DOTALL)
BLOCK = r"[|#<>]|\$\$|```|!\[|(?:[-*+]|\d+\.) "  # what a line begins with that is not the last one's paragraph


def digits(text: str) -> str:
    "The first digits of the hash of a text."
    return sha256(text.encode()).hexdigest()[:8]


def wanted() -> list[str]:
    "All pages of the book, in reading order, the guides, and README.md."
    return [INDEX, *(page.notebook for page in read_contents()), *guides(), README]


def is_text(name: str) -> bool:
    "Whether it is a guide or README.md, and so no notebook."
    return name == README or name.startswith(f"{GUIDES}/")


def has_chinese(page: Page) -> bool:
    "Whether it is among `names()`."
    return place(page.notebook).exists()


def names() -> list[str]:
    "Those of them that are notebooks and that somebody has translated, and the index, which leads to them in any case."
    return [name for name in wanted() if name == INDEX or not is_text(name) and place(name).exists()]


def source(name: str) -> str:
    "The file of a page or a guide."
    return f"{name}.md" if is_text(name) else f"{NOTEBOOKS.as_posix()}/{name}.ipynb"


def translated_guides() -> list[str]:
    return [name for name in guides() if place(name).exists()]


def place(name: str) -> Path:
    "Where the Chinese of a page stands."
    return README_ZH if name == README else CHINESE / f"{name}.md"


def english(name: str) -> dict[str, str]:
    "The text of each prose cell by its id, or of each section."
    if is_text(name):
        return sections(Path(f"{name}.md").read_text(encoding="utf-8"))
    notebook = notebook_of(name)
    prose = [cell for cell in notebook["cells"] if cell["cell_type"] == "markdown" and written_here(cell)]
    return {cell.get("id"): OPEN_IN_COLAB.sub("", "".join(cell["source"])).strip("\n") for cell in prose}


def sections(text: str) -> dict[str, str]:
    "By what GitHub calls their headings; what stands above the first is the title's."
    heads = [found for found in re.finditer(rf"{FENCED.pattern}|^## ([^\n]+)$", text, FENCED.flags) if found[1]]
    names, starts = ["title", *(in_address(head[1]) for head in heads)], [0, *(head.start() for head in heads), len(text)]
    if twice := [name for name, n in Counter(names).items() if n > 1]:
        refuse(f"Two sections have one heading: {', '.join(twice)}.")
    return {name: text[start:end].strip("\n") for name, start, end in zip(names, starts, starts[1:])}


def in_address(heading: str) -> str:
    "How GitHub names a heading."
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


def chinese(name: str) -> dict[str, tuple[str, str]]:
    "Of each cell the noted digits and the Chinese; nothing where there is no file yet."
    return renamed(name, parsed(place(name).read_text(encoding="utf-8"), place(name))) if place(name).exists() else {}


def renamed(name: str, cells: dict[str, tuple[str, str]]) -> dict[str, tuple[str, str]]:
    "The cells of a text, those whose English has another heading now under that one: what is behind it is not lost."
    there = english(name) if is_text(name) else cells
    gone, new = ([cell for cell in one if cell not in other] for one, other in ((cells, there), (there, cells)))
    now = dict(zip(gone, new)) if len(gone) == len(new) else {}
    return {now.get(cell, cell): found for cell, found in cells.items()}


def parsed(text: str, where: Path) -> dict[str, tuple[str, str]]:
    "The cells of a file."
    before, *rest = MARK.split(text)
    if before.strip():
        refuse(f"{where} must begin with the mark of a cell, as in <!-- 0ab27f61 5c1d9e02 -->.")
    if unlike := re.search(r"^<!-- [\w.-]+( [\w-]+)? -->$", "".join(rest[2::3]), re.MULTILINE):
        refuse(f"{where}: {unlike[0]} is no mark of a cell; a new one is <!-- ID - -->.")
    cells = [(rest[at], rest[at + 1], rest[at + 2].strip("\n")) for at in range(0, len(rest), 3)]
    if twice := [cell for cell, n in Counter(cell for cell, *_ in cells).items() if n > 1]:
        refuse(f"{where} has the cell {twice[0]} more than once.")
    return {cell: (noted, text) for cell, noted, text in cells}


def write_chinese(name: str, cells: dict[str, tuple[str, str]]) -> None:
    text = "\n".join(f"<!-- {cell} {noted} -->\n{text}\n" for cell, (noted, text) in cells.items())
    place(name).parent.mkdir(parents=True, exist_ok=True)
    place(name).write_text(text, encoding="utf-8", newline="\n")


def outside_code(change: Callable[[str], str], text: str, code: re.Pattern = FENCED) -> str:
    "A text, changed where it is no code."
    parts, at = [], 0
    for found in code.finditer(text):
        parts += [change(text[at:found.start()]), found[0]]
        at = found.end()
    return "".join([*parts, change(text[at:])])


def in_one_line(text: str) -> str:
    "A paragraph's lines joined after Chinese, or its signs: a browser would show the break as a space."
    def joined(prose: str) -> str:
        prose = re.sub(r"(?<=[\u3000-\u9fff\uff00-\uffef])\n(?:> | +)?(?=[\u3000-\u9fff\uff00-\uffef])", "", prose)
        return re.sub(rf"(?<=[\u3001\u3002\uff01-\uff0f\uff1a-\uff1f])\n(?:> | +)?(?!{BLOCK})(?=\S)", "", prose)

    return outside_code(joined, text)


@cache
def glossary_file() -> tuple[dict, dict[str, list[str]]]:
    "The two parts of nbs/zh/glossary.yml: terms, and what is not to be written."
    terms, never = yaml.safe_load_all(GLOSSARY.read_text(encoding="utf-8"))
    return terms, never


def glossary() -> dict[str, list[str]]:
    "Of each term, in small letters, the ways of writing it in Chinese: the first is the book's."
    found, _ = glossary_file()
    return {term.lower(): ways if isinstance(ways, list) else [ways] for term, ways in found.items()}


def titles() -> dict[str, dict[str, str]]:
    "Of each page and each chapter what it is called in Chinese and what is said of it, and digits of the English of both."
    return from_yaml(TITLES.read_text(encoding="utf-8"))


@cache
def page_names() -> dict[tuple[str, str], str]:
    "Of each page, by its title and the name of its file, what it is called in Chinese."
    found = titles()["pages"]
    return {(page.title, page.name): found[page.notebook]["title"] for page in read_contents() if page.notebook in found}
