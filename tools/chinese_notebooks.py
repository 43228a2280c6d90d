"The notebooks of the Chinese edition, which tools/chinese.py writes: the English ones with the Chinese in place of the prose."
import posixpath
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import chinese_figures
import chinese_texts
from chinese_texts import FENCED, HEADING, README, README_ZH, TARGET, in_one_line
from colab import LINK as OPEN_IN_COLAB
from contents import (
    INDEX,
    NEIGHBOURS,
    PAGES,
    PARTS,
    TABLE,
    Page,
    around,
    chapters,
    notebook_of,
    read_contents,
    seconds,
    way,
    write_notebook,
)
from repository import settings, site

MADE = Path("zh")
PARTS_ZH = {"paper": "论文", "workshop": "工坊"}  # headings of the contents, as `PARTS`
BELOW = "words-"  # begins the id of a cell that explains the words of a figure


def anchor(heading: str) -> str:
    "How Jupyter names it."
    return heading.strip().replace(" ", "-")


def anchors(text: str) -> list[str]:
    "Of the headings of a text."
    return [anchor(heading) for _, heading in HEADING.findall(FENCED.sub("", text))]


def anchors_in_chinese(name: str) -> dict[str, str]:
    "Of each English anchor of a page the Chinese one."
    there, here = chinese_texts.english(name), chinese_texts.chinese(name)
    pairs = [pair for cell, text in there.items() if cell in here for pair in zip(anchors(text), anchors(here[cell][1]))]
    return dict(pairs) | (dict(zip(map(anchor, PARTS.values()), map(anchor, PARTS_ZH.values()))) if name == INDEX else {})


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
        elif not there.startswith("../"):  # a page without Chinese, or a picture
            target = posixpath.relpath(f"../nbs/{there}", folder or ".")
        return f"]({target}{f'#{anchor}' * bool(anchor)})"

    return TARGET.sub(led, text)


def led_from_readme(target: str) -> str:
    "Where README.zh.md leads for a link of README.md: to the site's Chinese pages, its own sections, README.md for itself."
    page = target.removeprefix("nbs/").removesuffix(".ipynb")
    if target == README_ZH.name:
        return "README.md"
    if (anchor := target.removeprefix("README.md")).startswith("#"):
        ours = {there.lower(): here for there, here in anchors_in_chinese(README).items()}
        return f"#{ours.get(anchor[1:], anchor[1:])}"
    return f"{site(settings())}zh/{page}.html" if target.startswith("nbs/") and page in chinese_texts.names() else target


def title(page: Page, found: dict) -> str:
    return found["pages"].get(page.notebook, {}).get("title", page.title)


def label(page: Page, found: dict) -> str:
    return replace(page, title=title(page, found)).label


def chapter_in_chinese(chapter: str, found: dict) -> str:
    return found["chapters"].get(chapter, {}).get("title", chapter)


def address(page: Page, here: str) -> str:
    "How a link on the Chinese page `here` names a page: its Chinese, or the English where there is none yet."
    return way(here, page.notebook if chinese_texts.has_chinese(page) else f"../nbs/{page.notebook}")


def table(pages: list[Page], found: dict) -> str:
    "For the index."
    lines = [f"### {PARTS_ZH['paper']}", "", "| | 页面 | 内容 |", "|---|---|---|"]
    for (part, chapter), members in chapters(pages).items():
        if part == "paper":
            name = chapter_in_chinese(chapter, found)
            lines += [f"| {name if page is members[0] else ''} | [{label(page, found)}]({address(page, INDEX)}) | "
                      f"{found['pages'].get(page.notebook, {}).get('shows', page.shows)} |" for page in members]
    lines += ["", f"### {PARTS_ZH['workshop']}", "", "| | 什么时候读 | 页面 |", "|---|---|---|"]
    for (part, chapter), members in chapters(pages).items():
        if part == "workshop":
            about = found["chapters"].get(chapter, {}).get("about", members[0].about)
            links = " · ".join(f"[{label(page, found)}]({address(page, INDEX)})" for page in members)
            lines.append(f"| {chapter_in_chinese(chapter, found)} | {about} | {links} |")
    return "\n".join(lines)


def list_of_pages(pages: list[Page], found: dict, here: str = "reference") -> str:
    "For the reference: every page with its module and how long it runs; the workshop's with what they are about."
    lines, measured = ["| 页面 | 模块 | 两核上的秒数 |", "|---|---|---|"], seconds()
    for page in sorted(pages, key=lambda page: page.part == "workshop"):
        if page.part == "workshop" and "" not in lines:  # its table begins
            lines += ["", "| 页面 | 模块 | 两核上的秒数 | 内容 |", "|---|---|---|---|"]
        module, took = f"`{page.module}`" if page.module else "", str(measured.get(page.notebook, ""))
        about = f" {found['pages'].get(page.notebook, {}).get('shows', page.shows)} |" if page.part == "workshop" else ""
        lines.append(f"| [{label(page, found)}]({address(page, here)}) | {module} | {took} |{about}")
    return "\n".join(lines)


def neighbours(name: str, pages: list[Page], found: dict) -> str:
    "The line that ends a page."
    ways = [f"{word}：[{label(page, found)}]({address(page, name)})"
            for word, page in zip(("上一页", "下一页"), around(name, pages)) if page]
    return " · ".join(ways + [f"[目录]({way(name, INDEX)})"] * (name != INDEX))


def made(name: str, pages: list[Page], found: dict, translated: dict[str, dict[str, str]]) -> dict:
    "The Chinese notebook of a page: code and outputs are the English one's; a cell without Chinese stays English."
    notebook, here = notebook_of(name), chinese_texts.chinese(name)
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
    "The cells with figures in Chinese where they have been drawn, and below the others what their words mean."
    words, drawn = chinese_figures.words().get(name, {}), chinese_figures.drawn(name)
    for cell in cells:
        yield cell
        if cell["id"] in drawn:
            for data, picture in zip(chinese_figures.pictures(cell), drawn[cell["id"]]):
                data[chinese_figures.PICTURE] = picture
        elif text := chinese_figures.explained(words.get(cell["id"], {}), chinese_figures.alt("".join(cell["source"]))):
            yield {"cell_type": "markdown", "id": f"{BELOW}{cell['id']}", "metadata": {}, "source": [text]}


def all_made() -> Iterator[tuple[str, dict]]:
    "Each Chinese notebook by its name, with links to the headings of the others."
    pages, found = read_contents(), chinese_texts.titles()
    translated = {name: anchors_in_chinese(name) for name in chinese_texts.names()}
    for name in translated:
        yield name, made(name, pages, found, translated)


def make() -> None:
    "Write zh/."
    for name, notebook in all_made():
        path = MADE / f"{name}.ipynb"
        path.parent.mkdir(parents=True, exist_ok=True)
        write_notebook(path, notebook)
    (MADE / "figures").mkdir(exist_ok=True)  # two pages keep a picture there when they run
    print(f"{len(chinese_texts.names())} of {len(chinese_texts.wanted()) - 1} pages are in {MADE}/.")
