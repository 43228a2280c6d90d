"""The Chinese edition: index, the paper's part and README.md, each in one text file beside the English, and never behind it.

python tools/chinese.py stale [NAME ...]   each cell whose Chinese is missing, or is of other English: page, cell, both texts
python tools/chinese.py check              what is stale or unlike its English, one line each; exit status 1 if there is any
python tools/chinese.py make               the Chinese notebooks, in zh/: the English ones with the Chinese in place of the prose
python tools/chinese.py note NAME ...      note the hashes of the English as it stands, of cells whose Chinese was changed since
                                           the last commit; --checked: also of those whose Chinese is right as it was
python tools/chinese.py begin NAME         a file with the English text of every cell, to be translated in place

nbs/zh/paper/3.2_attention.md holds the Chinese of nbs/paper/3.2_attention.ipynb. Each cell begins with a line

    <!-- 0ab27f61 5c1d9e02 -->

the cell's id, and the first digits of the hash of the English that it translates. Code, outputs, equations and links stand in
the English alone or are compared with it: a number, an equation, a code span or a link that the English has and the Chinese has
not is a complaint. So are a term that nbs/zh/glossary.yml translates in another way, a way of writing that it rules out, a page
that nbs/zh/contents.yml calls by another name, and stars that a reader would see. README.zh.md leads to the Chinese pages where
the site has them, as the repository holds only their text.
"""
import json
import os
import posixpath
import re
import subprocess
import sys
import unicodedata
from calendar import month_name
from collections import Counter
from collections.abc import Iterator
from configparser import ConfigParser
from decimal import Decimal
from functools import cache
from hashlib import sha256
from pathlib import Path

import chinese_figures
import yaml
from colab import CELL as COLAB
from colab import LINK as OPEN_IN_COLAB
from contents import INDEX, NEIGHBOURS, NOTEBOOKS, PAGES, TABLE, Page, chapters, read_contents, refuse, seconds

ROOT = Path(__file__).resolve().parents[1]
CHINESE, MADE = NOTEBOOKS / "zh", Path("zh")
GLOSSARY, TITLES = CHINESE / "glossary.yml", CHINESE / "contents.yml"
README, README_ZH, REFERENCE = "README", Path("README.zh.md"), "reference"
MARK = re.compile(r"^<!-- ([\w.-]+) ([0-9a-f]{8}|-) -->\n", re.MULTILINE)
HEADING = re.compile(r"^(#+) (.+)$", re.MULTILINE)
TARGET = re.compile(r"\]\(((?:[^()\s]|\([^()\s]*\))+)\)")
FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
MATHS = re.compile(r"\$\$.*?\$\$|(?<![\\$])\$[^$]+\$", re.DOTALL)
SPAN = re.compile(r"``[^`]+``|`[^`\n]+`")
NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")
UNITS = {"million": 10**6, "billion": 10**9, "\u4e07": 10**4, "\u4ebf": 10**8}
IN_UNITS = re.compile(rf"({NUMBER.pattern}(?:(?:, (?:and )?| and | or | to ){NUMBER.pattern})*) ?({'|'.join(UNITS)})")
LINK = re.compile(rf"\[([^\[\]]+){TARGET.pattern}")
HAN = r"[\0\u3400-\u9fff\u3000-\u303f\uff00-\uffef*”’]"
WIDE = {",": "\uff0c", ";": "\uff1b", ":": "\uff1a", "?": "\uff1f", "!": "\uff01"}
BLOCK = r"[|#<>]|\$\$|```|!\[|(?:[-*+]|\d+\.) "  # what a line begins with that is not the last one's paragraph
NO_PROSE = re.compile("|".join(one.pattern for one in (FENCED, MATHS, SPAN)) + r"|\]\([^)]*\)|<[^>]+>", re.MULTILINE | re.DOTALL)
CHECKED = "--checked"
BELOW = "words-"  # begins the id of a cell that explains the words of a figure
WRITTEN_HERE = {COLAB, NEIGHBOURS, PAGES, TABLE}  # cells that the build writes


def digits(text: str) -> str:
    "The first digits of the hash of a text."
    return sha256(text.encode()).hexdigest()[:8]


def wanted() -> list[str]:
    "The pages that the edition is meant to have, in reading order, and README.md."
    return [INDEX, *(page.notebook for page in read_contents() if page.part == "paper"), REFERENCE, README]


def names() -> list[str]:
    "Those of them that are notebooks and that somebody has translated, and the index, which leads to them in any case."
    return [name for name in wanted() if name == INDEX or name != README and place(name).exists()]


def place(name: str) -> Path:
    "Where the Chinese of a page stands."
    return README_ZH if name == README else CHINESE / f"{name}.md"


def english(name: str) -> dict[str, str]:
    "The text of each prose cell by its id; of README.md, of each section by its number and heading."
    if name == README:
        parts = re.split(r"^(?=## )", Path("README.md").read_text(encoding="utf-8"), flags=re.MULTILINE)
        return {f"section-{number}": part.strip("\n") for number, part in enumerate(parts)}
    notebook = json.loads((NOTEBOOKS / f"{name}.ipynb").read_text(encoding="utf-8"))
    prose = [cell for cell in notebook["cells"] if cell["cell_type"] == "markdown" and cell["id"] not in WRITTEN_HERE]
    return {cell["id"]: OPEN_IN_COLAB.sub("", "".join(cell["source"])).strip("\n") for cell in prose}


def chinese(name: str) -> dict[str, tuple[str, str]]:
    "Of each cell the noted digits and the Chinese; nothing where there is no file yet."
    return parsed(place(name).read_text(encoding="utf-8"), place(name)) if place(name).exists() else {}


def parsed(text: str, where: Path) -> dict[str, tuple[str, str]]:
    "The cells of a file."
    before, *rest = MARK.split(text)
    if before.strip():
        refuse(f"{where} must begin with the mark of a cell, as in <!-- 0ab27f61 5c1d9e02 -->.")
    cells = [(rest[at], rest[at + 1], rest[at + 2].strip("\n")) for at in range(0, len(rest), 3)]
    if twice := [cell for cell, n in Counter(cell for cell, *_ in cells).items() if n > 1]:
        refuse(f"{where} has the cell {twice[0]} more than once.")
    return {cell: (noted, text) for cell, noted, text in cells}


def write_chinese(name: str, cells: dict[str, tuple[str, str]]) -> None:
    text = "\n".join(f"<!-- {cell} {noted} -->\n{text}\n" for cell, (noted, text) in cells.items())
    place(name).parent.mkdir(parents=True, exist_ok=True)
    place(name).write_text(text, encoding="utf-8", newline="\n")


def punctuated(text: str) -> str:
    "Signs after a Chinese character, outside of code and equations, as Chinese has them."
    kept = []

    def away(match: re.Match) -> str:
        kept.append(match[0])
        return f"\0{len(kept) - 1}\0"

    bare = NO_PROSE.sub(away, text)
    bare = re.sub(rf"\(([^()\n]*{HAN}[^()\n]*)\)|(?<={HAN})\(([^()\n]*)\)", lambda one: f"\uff08{one[1] or one[2]}\uff09", bare)
    bare = re.sub(rf"(?<={HAN})([,;:?!]) ?|(?<=\S)([,;:?!]) ?(?=[\u3400-\u9fff])", lambda sign: WIDE[sign[1] or sign[2]], bare)
    return re.sub("\0(\\d+)\0", lambda place: kept[int(place[1])], bare)


def committed(name: str) -> dict[str, tuple[str, str]]:
    "The Chinese of a page as it was at the last commit; nothing outside of a clone, or where it is new."
    asked = ["git", "show", f"HEAD:{place(name).as_posix()}"]
    found = subprocess.run(asked, capture_output=True, text=True, encoding="utf-8")
    return parsed(found.stdout, place(name)) if found.returncode == 0 else {}


def untouched(name: str) -> list[str]:
    "Cells whose English has changed since they were translated, and whose Chinese has not."
    there, here, before = english(name), chinese(name), committed(name)
    return [cell for cell, (noted, text) in here.items()
            if cell in there and noted not in ("-", digits(there[cell])) and cell in before
            and punctuated(text) == punctuated(before[cell][1])]


def note(name: str, checked: bool = False) -> list[str]:
    """Bring the noted digits, the order of the cells and the signs up to date; cells that the English no longer has go.

    A cell whose Chinese nobody has touched keeps its digits, unless somebody has `checked` it: these cells are returned.
    """
    there, here, left = english(name), chinese(name), [] if checked else untouched(name)
    write_chinese(name, {cell: (here[cell][0] if cell in left else digits(there[cell]), punctuated(here[cell][1]))
                         for cell in there if cell in here})
    return left


def behind(name: str) -> Iterator[tuple[str, str]]:
    "The cells that are not translated, or not as they are now, and why."
    there, here = english(name), chinese(name)
    for cell, text in there.items():
        if cell not in here:
            yield cell, "has no Chinese yet"
        elif here[cell][0] != digits(text):
            yield cell, "has changed since it was translated"
    for cell in here.keys() - there.keys():
        yield cell, "is gone"


@cache
def glossary_file() -> tuple[dict, dict[str, list[str]]]:
    "The two parts of nbs/zh/glossary.yml: terms, and what is not to be written."
    terms, never = yaml.safe_load_all(GLOSSARY.read_text(encoding="utf-8"))
    return terms, never


def glossary() -> dict[str, list[str]]:
    "Of each term, in small letters, the ways of writing it in Chinese: the first is the book's."
    found, _ = glossary_file()
    return {term.lower(): ways if isinstance(ways, list) else [ways] for term, ways in found.items()}


def prose(text: str) -> str:
    "Without code, equations, links' targets and HTML tags."
    return re.sub(r"\]\([^)]*\)|<[^>]+>", " ", SPAN.sub("", MATHS.sub("", FENCED.sub("", text))))


def facts(text: str) -> dict[str, Counter]:
    "What both languages must have alike."
    bare = FENCED.sub("", text)
    spans = MATHS.sub("", bare)
    return {
        "heading": Counter(len(marks) for marks, _ in HEADING.findall(bare)),
        "equation": Counter(re.sub(r"\s+", "", re.sub(r"\\text(?:rm)?\{[^}]*\}", "", maths)) for maths in MATHS.findall(bare)),
        "code span": Counter(SPAN.findall(spans)),
        "block of code": Counter(FENCED.findall(text)),
        "link": Counter(TARGET.findall(bare)),
        "HTML tag": Counter(re.findall(r"</?\w+", bare)),
        "row of a table": Counter(line.count("|") for line in bare.split("\n") if line.startswith("|")),
        "quotation": Counter(len(re.findall(r"^ *>", bare, re.MULTILINE)) * ["> §"]) if "> §" in bare else Counter(),
        "number": Counter(found.strip(",.") for found in NUMBER.findall(in_figures(prose(text))) if len(found.strip(",.")) > 1),
    }


def in_figures(text: str) -> str:
    "The months of dates as numbers: in Chinese they have no other names."
    return re.sub(rf"\b({'|'.join(month_name[1:])})(?= \d{{4}}\b)", lambda name: str([*month_name].index(name[0])), text)


def amounts(text: str) -> list[tuple[str, Decimal]]:
    "Each number that a unit follows, and how much it is: 4.5 of 4.5 million and 450 of 450 \u4e07 are alike."
    return [(number, Decimal(number.replace(",", "")) * UNITS[unit])
            for numbers, unit in IN_UNITS.findall(prose(text)) for number in NUMBER.findall(numbers)]


def without_equal_amounts(text: str, ours: Counter, chinese: str, theirs: Counter) -> tuple[Counter, Counter]:
    "The numbers of both languages less those that name one amount in two units."
    there = amounts(chinese)
    for number, amount in amounts(text):
        for other in [other for other in there if other[1] == amount and other[0] != number][:1]:
            there.remove(other)
            ours, theirs = ours - Counter([number]), theirs - Counter([other[0]])
    return ours, theirs


def site() -> str:
    "Where the Chinese pages are published; the repository holds only what they are made of."
    settings = ConfigParser(delimiters=["="], interpolation=None)
    settings.read("settings.ini", encoding="utf-8")
    return "https://{user}.github.io/{repo}/zh/".format(**settings["DEFAULT"])


def led_from_readme(target: str) -> str:
    "Where README.zh.md leads for a link of README.md: to pages in Chinese, to its own sections, to README.md for itself."
    page = target.removeprefix("nbs/").removesuffix(".ipynb")
    if target == README_ZH.name:
        return "README.md"
    if (anchor := target.removeprefix("README.md")).startswith("#"):
        ours = {there.lower(): here for there, here in anchors_in_chinese(README).items()}
        return f"#{ours.get(anchor[1:], anchor[1:])}"
    return f"{site()}{page}.html" if target.startswith("nbs/") and page in names() else target


def is_sign(one: str) -> bool:
    return unicodedata.category(one)[0] in "PS"


def stars_that_show(text: str) -> Iterator[str]:
    """Of each paragraph the first place where CommonMark shows a star.

    A star opens after a Chinese character only if no sign follows it, and closes before one only if no sign precedes it.
    """
    one_line = in_one_line(text)
    bare = re.sub(r"\\.", "``", NO_PROSE.sub(lambda match: "`" * len(match[0]), one_line))
    for block in re.finditer(r"(?:[^\n]|\n(?!\n))+", bare):
        opened, shown = [], []
        for run in re.finditer(r"\*+", block[0]):
            before, after = (block[0][:run.start()] or " ")[-1], (block[0][run.end():] or " ")[0]
            outside = before.isspace() or is_sign(before), after.isspace() or is_sign(after)
            opens = not after.isspace() and (not is_sign(after) or outside[0])
            closes = not before.isspace() and (not is_sign(before) or outside[1])
            if closes and opened and opened[-1][0] == run[0]:
                opened.pop()
            elif opens:
                opened.append(run)
            elif closes:
                shown.append(run)
        for run in sorted([*opened, *shown], key=lambda run: run.start())[:1]:
            at = block.start() + run.start()
            yield one_line[max(block.start(), at - 8):min(block.end(), at + 24)].replace("\n", " ")


def misnamed(text: str, chinese: str, called: dict[tuple[str, str], str], name: str) -> Iterator[str]:
    "Links whose English is the title of the page that they lead to, and whose Chinese is not what that page is called."
    there = LINK.findall(chinese)
    for words, target in LINK.findall(text):
        page = posixpath.basename(target.partition("#")[0]).removesuffix(".ipynb")
        wanted = called.get((words, page))
        if wanted and (wanted, led_from_readme(target) if name == README else target) not in there:
            yield f"{target} is called {wanted}, as in {TITLES}"


def unlike(name: str, terms: dict[str, list[str]]) -> Iterator[str]:
    "Where the Chinese of a page does not have what its English has."
    here, called = chinese(name), page_names()
    for cell, text in english(name).items():
        if cell not in here or here[cell][0] != digits(text):
            continue
        ours, theirs = facts(text), facts(here[cell][1])
        ours["number"], theirs["number"] = without_equal_amounts(text, ours["number"], here[cell][1], theirs["number"])
        if name == README:
            ours["link"] = Counter(led_from_readme(target) for target in ours["link"].elements())
        for kind in ours:
            if kind == "quotation":
                if bool(ours[kind]) != bool(theirs[kind]):
                    yield f"{place(name)}, cell {cell}: what the paper says must stand in a quotation, as in the English"
                continue
            for one in (ours[kind] - theirs[kind]):
                yield f"{place(name)}, cell {cell} lacks the {kind} {one!r} of the English"
            for one in (theirs[kind] - ours[kind]):
                yield f"{place(name)}, cell {cell} has a {kind} {one!r} that the English has not"
        words = re.sub(r"\]\([^)]*\)", "]", SPAN.sub("", FENCED.sub("", MATHS.sub("", text))))
        yield from (f"{place(name)}, cell {cell}: {term} is {' or '.join(ways)}"
                    for term, ways in lacking(words, here[cell][1], terms))
        yield from (f"{place(name)}, cell {cell}: {what}" for what in misnamed(text, here[cell][1], called, name))
        yield from (f"{place(name)}, cell {cell} shows its stars; a sign must stand outside of them: {shown!r}"
                    for shown in stars_that_show(here[cell][1]))


def titles() -> dict[str, dict[str, str]]:
    "Of each page and each heading of the contents what it is called in Chinese, and the English that this translates."
    return yaml.safe_load(TITLES.read_text(encoding="utf-8"))


@cache
def page_names() -> dict[tuple[str, str], str]:
    "Of each page, by its title and the name of its file, what it is called in Chinese."
    found = titles()
    names_of = {page: found["pages"].get(page.notebook, {}).get("title") or found["workshop"].get(page.title)
                for page in read_contents()}
    return {(page.title, page.name): called for page, called in names_of.items() if called}


def title_complaints() -> Iterator[str]:
    found = titles()
    in_workshop = {page.title for page in read_contents() if page.part == "workshop"}
    for title in sorted(in_workshop ^ found["workshop"].keys()):
        yield f"{TITLES}: {title} {'has no Chinese' if title in in_workshop else 'is no page of the workshop'}"
    for page in read_contents():
        if page.part == "workshop" and found["about"].get(page.notebook, {}).get("of") != digits(page.shows):
            yield f"{TITLES}: about {page.notebook} is missing or behind; its English has the digits {digits(page.shows)}"
        if page.part == "paper":
            row = found["pages"].get(page.notebook, {})
            if row.get("of") != digits(f"{page.title}\n{page.shows}"):
                yield (f"{TITLES}: {page.notebook} is missing or behind; its English has the digits "
                       f"{digits(f'{page.title}{chr(10)}{page.shows}')}")
            if page.chapter not in found["chapters"]:
                yield f"{TITLES}: the chapter {page.chapter} has no Chinese"


def complaints() -> Iterator[str]:
    "What is behind, and what is unlike."
    if not TITLES.exists():  # a book without a Chinese edition
        return
    terms = glossary()
    for name in filter(lambda name: place(name).exists(), wanted()):
        yield from (f"{place(name)}, cell {cell} {why}: python tools/chinese.py stale {name}" for cell, why in behind(name))
        yield from unlike(name, terms)
        if name != README:
            yield from chinese_figures.complaints(name)
    for name in chinese_figures.words().keys() - {*wanted()}:
        yield f"{chinese_figures.WORDS}: {name} is no page of the edition"
    for path in CHINESE.rglob("*.md"):
        if str(path.relative_to(CHINESE).with_suffix("")) not in [*wanted(), "workbook"]:
            yield f"{path} is of no page of the edition"
    yield from title_complaints()
    yield from complaints_elsewhere()


def complaints_elsewhere() -> Iterator[str]:
    from chinese_terms import complaints as of_the_terms  # both import this module
    from chinese_workbook import complaints as of_the_workbook

    yield from of_the_workbook()
    yield from of_the_terms()


def lacking(english: str, ours: str, terms: dict[str, list[str]]) -> Iterator[tuple[str, list[str]]]:
    "Terms of the English that the Chinese does not have."
    for term, ways in terms.items():
        if re.search(rf"\b{re.escape(term)}s?\b", english.lower()) and not any(way in ours for way in ways):
            yield term, ways


def in_one_line(text: str) -> str:
    "A paragraph's lines joined after Chinese, or its signs: a browser would show the break as a space."
    joined = re.sub(r"(?<=[\u3000-\u9fff\uff00-\uffef])\n(?:> | +)?(?=[\u3000-\u9fff\uff00-\uffef])", "", text)
    return re.sub(rf"(?<=[\u3001\u3002\uff01-\uff0f\uff1a-\uff1f])\n(?:> | +)?(?!{BLOCK})(?=\S)", "", joined)


def anchors(text: str) -> list[str]:
    "How Jupyter names the headings of a text."
    return [heading.strip().replace(" ", "-") for _, heading in HEADING.findall(FENCED.sub("", text))]


def anchors_in_chinese(name: str) -> dict[str, str]:
    "Of each English anchor of a page the Chinese one."
    there, here = english(name), chinese(name)
    pairs = [pair for cell, text in there.items() if cell in here for pair in zip(anchors(text), anchors(here[cell][1]))]
    return dict(pairs)


def with_links(text: str, name: str, translated: dict[str, dict[str, str]]) -> str:
    "Links to pages of the edition lead to their Chinese; to others, into nbs/."
    folder = posixpath.dirname(name)

    def led(match: re.Match) -> str:
        target, _, anchor = match[1].partition("#")
        if "://" in target or not target and not anchor:
            return match[0]
        there = posixpath.normpath(posixpath.join(folder, target)) if target else f"{name}.ipynb"
        page = there.removesuffix(".ipynb")
        if page in translated:
            anchor = translated[page].get(anchor, anchor)
        elif not there.startswith("../"):  # a page of the workshop, or a picture
            target = posixpath.relpath(f"../nbs/{there}", folder or ".")
        return f"]({target}{f'#{anchor}' * bool(anchor)})"

    return TARGET.sub(led, text)


def label(page: Page, found: dict) -> str:
    number = page.name.partition("_")[0]
    title = found["pages"].get(page.notebook, {}).get("title", page.title)
    return f"§{number} {title}" if number[0].isdigit() else title


def address(page: Page, here: str) -> str:
    "How a link on the Chinese page `here` names a page: its Chinese, or the English where there is none yet."
    there = page.notebook if page.notebook in names() else f"../nbs/{page.notebook}"
    return posixpath.relpath(f"{there}.ipynb", posixpath.dirname(here) or ".")


def table(pages: list[Page], found: dict) -> str:
    "For the index."
    lines = ["### 论文", "", "| | 页面 | 内容 |", "|---|---|---|"]
    for (part, chapter), members in chapters(pages).items():
        if part == "paper":
            name = found["chapters"].get(chapter, chapter)
            lines += [f"| {name if page is members[0] else ''} | [{label(page, found)}]({address(page, INDEX)}) | "
                      f"{found['pages'].get(page.notebook, {}).get('shows', page.shows)} |" for page in members]
    lines += ["", "### 工坊（除参考资料外，都是英文）", "", "| | |", "|---|---|"]
    for (part, chapter), members in chapters(pages).items():
        if part == "workshop":
            links = " · ".join(f"[{found['workshop'].get(page.title, page.label)}]({address(page, INDEX)})" for page in members)
            lines.append(f"| {found['chapters'].get(chapter, chapter)} | {links} |")
    return "\n".join(lines)


def list_of_pages(pages: list[Page], found: dict) -> str:
    "For the reference: every page with its module and how long it runs; the workshop's with what they are about."
    lines, measured = ["| 页面 | 模块 | 秒 | 内容 |", "|---|---|---|---|"], seconds()
    for page in pages:
        called = label(page, found) if page.part == "paper" else found["workshop"].get(page.title, page.label)
        module, took = f"`{page.module}`" if page.module else "", str(measured.get(page.notebook, ""))
        about = found["about"].get(page.notebook, {}).get("shows", page.shows) if page.part == "workshop" else ""
        lines.append(f"| [{called}]({address(page, REFERENCE)}) | {module} | {took} | {about} |")
    return "\n".join(lines)


def neighbours(name: str, pages: list[Page], found: dict) -> str:
    "The line that ends a page."
    own = [page for page in pages if page.part == "paper"]
    at = next((number for number, page in enumerate(own) if page.notebook == name), -1 if name == INDEX else len(own))
    ways = [f"上一页：[{label(own[at - 1], found)}]({address(own[at - 1], name)})"] if 0 < at < len(own) else []
    ways += [f"下一页：[{label(own[at + 1], found)}]({address(own[at + 1], name)})"] if at + 1 < len(own) else []
    contents = posixpath.relpath(f"{INDEX}.ipynb", posixpath.dirname(name) or ".")
    return " · ".join([*ways, f"[目录]({contents})"] if at >= 0 else ways)


def made(name: str, pages: list[Page], found: dict, translated: dict[str, dict[str, str]]) -> dict:
    "The Chinese notebook of a page: code and outputs are the English one's; a cell without Chinese stays English."
    notebook, here = json.loads((NOTEBOOKS / f"{name}.ipynb").read_text(encoding="utf-8")), chinese(name)
    for cell in notebook["cells"]:
        if cell["id"] == TABLE:
            text = table(pages, found)
        elif cell["id"] == PAGES:
            text = list_of_pages(pages, found)
        elif cell["id"] == NEIGHBOURS:
            text = neighbours(name, pages, found)
        elif cell["cell_type"] == "markdown":
            source = "".join(cell["source"])
            text = with_links(in_one_line(here.get(cell["id"], ("", OPEN_IN_COLAB.sub("", source)))[1]), name, translated)
        else:
            continue
        cell["source"] = text.splitlines(keepends=True)
    return notebook | {"cells": [*with_figures(name, notebook["cells"])]}


def with_figures(name: str, cells: list[dict]) -> Iterator[dict]:
    "The cells with figures in Chinese where they have been drawn, and below each other one what its words mean."
    words, drawn = chinese_figures.words().get(name, {}), chinese_figures.drawn(name)
    for cell in cells:
        yield cell
        english = words.get(cell["id"], {})
        if cell["id"] in drawn:
            english = chinese_figures.with_formulas(english)
            for data, picture in zip(chinese_figures.pictures(cell), drawn[cell["id"]]):
                data[chinese_figures.PICTURE] = picture
        if text := chinese_figures.explained(english):
            yield {"cell_type": "markdown", "id": f"{BELOW}{cell['id']}", "metadata": {}, "source": [text]}


def make() -> None:
    "Write zh/."
    pages, found = read_contents(), titles()
    translated = {name: anchors_in_chinese(name) for name in names()}
    for name in names():
        path = MADE / f"{name}.ipynb"
        path.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps(made(name, pages, found, translated), sort_keys=True, indent=1, ensure_ascii=False)
        path.write_text(f"{text}\n", encoding="utf-8", newline="\n")
    (MADE / "figures").mkdir(exist_ok=True)  # two pages keep a picture there when they run
    print(f"{len(translated)} of {len(wanted()) - 1} pages are in {MADE}/.")


def show_stale(chosen: list[str]) -> None:
    for name in chosen or wanted():
        there, here = english(name), chinese(name)
        for cell, why in behind(name):
            print(f"\n=== {name}, cell {cell} {why}\n{there.get(cell, '')}\n--- {place(name)}\n{here.get(cell, ('', ''))[1]}")


def main(options: list[str]) -> int:
    os.chdir(ROOT)
    match options:
        case ["stale", *chosen]:
            show_stale(chosen)
        case ["note", *chosen] if {*chosen} - {CHECKED}:
            left = [f"{place(name)}, cell {cell}: its English has changed and its Chinese has not. Renew it, or, if it is right "
                    f"as it is: python tools/chinese.py note {CHECKED} {name}"
                    for name in chosen if name != CHECKED for cell in note(name, CHECKED in chosen)]
            print(*left, sep="\n", end="\n" * bool(left))
            return 1 if left else 0
        case ["begin", name]:
            write_chinese(name, {cell: chinese(name).get(cell, ("-", text)) for cell, text in english(name).items()})
        case ["make"]:
            make()
        case ["check"]:
            found = list(complaints())
            print("\n".join(found) or "The Chinese edition is in step.")
            return 1 if found else 0
        case _:
            refuse(__doc__)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
