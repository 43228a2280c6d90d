"What tools/chinese.py writes for the Chinese edition: the notebooks with their prose in Chinese, and the guides."
import posixpath
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import chinese_figures
import chinese_texts
from chinese_texts import FENCED, HEADING, README, README_ZH, TARGET, in_address, in_one_line
from colab import LINK as OPEN_IN_COLAB
from contents import (
    INDEX,
    NEIGHBOURS,
    PAGES,
    PARTS,
    TABLE,
    Page,
    Words,
    list_of_pages,
    neighbours,
    notebook_of,
    read_contents,
    table,
    write_notebook,
)
from repository import site_address

MADE = Path("zh")
WORDS = Words({"paper": "论文", "workshop": "工坊"}, "页面", "页面", "内容", "什么时候读", "模块", "两核上的秒数",
              "上一页：", "下一页：", "目录")
BELOW = "words-"  # begins the id of a cell that explains the words of a figure


def anchor(heading: str) -> str:
    "How Jupyter names it."
    return heading.strip().replace("`", "").replace(" ", "-")


def anchors(text: str) -> list[str]:
    "Of the headings of a text."
    return [anchor(heading) for _, heading in HEADING.findall(FENCED.sub("", text))]


def anchors_in_chinese(name: str) -> dict[str, str]:
    "Of each English anchor of a page the Chinese one."
    there, here = chinese_texts.english(name), chinese_texts.chinese(name)
    pairs = [pair for cell, text in there.items() if cell in here for pair in zip(anchors(text), anchors(here[cell][1]))]
    if chinese_texts.is_text(name):
        return {in_address(english.replace("-", " ")): ours for english, ours in pairs}
    return dict(pairs) | (dict(zip(map(anchor, PARTS.values()), map(anchor, WORDS.parts.values()))) if name == INDEX else {})


def with_links(text: str, name: str, translated: dict[str, dict[str, str]]) -> str:
    "Links to pages of the edition lead to their Chinese; to others, into nbs/."
    source = chinese_texts.source(name)

    def led(match: re.Match) -> str:
        target, _, anchor = match[1].partition("#")
        if "://" in target or not target and not anchor:
            return f"]({told(match[1])})"
        there = posixpath.normpath(posixpath.join(posixpath.dirname(source), target)) if target else source
        if page := next((page for page in translated if chinese_texts.source(page) == there), None):
            there, anchor = file(page), translated[page].get(anchor, anchor)
        target = target and posixpath.relpath(there, posixpath.dirname(file(name)))
        return f"]({target}{f'#{anchor}' * bool(anchor)})"

    return chinese_texts.outside_code(lambda prose: TARGET.sub(led, prose), text)


def told(target: str) -> str:
    "A link, which tells the page that translates that its reader reads Chinese."
    return f"{target}?language=zh" if target == f"{site_address()}translate.html" else target


def file(name: str) -> str:
    "Where the Chinese of a page or guide is written."
    return f"{MADE}/{chinese_texts.source(name).removeprefix('nbs/')}"


def led_from_readme(target: str) -> str:
    "Where README.zh.md leads for a link of README.md: to the site's Chinese pages, its own sections, README.md for itself."
    path, _, place = target.partition("#")
    page, suffix = posixpath.splitext(path.removeprefix("nbs/"))
    if target == README_ZH.name:
        return "README.md"
    if (anchor := target.removeprefix("README.md")).startswith("#"):
        ours = {there.lower(): here for there, here in anchors_in_chinese(README).items()}
        return f"#{ours.get(anchor[1:], anchor[1:])}"
    there = page in (chinese_texts.names() if suffix == ".ipynb" else chinese_texts.translated_guides())
    place = place and f"#{anchors_in_chinese(page).get(place, place) if there else place}"
    return f"{site_address()}{MADE}/{page}.html{place}" if there else told(target)


def pages_in_chinese() -> list[Page]:
    "The pages by their Chinese names; one that has no Chinese yet stays English, and links lead to it there."
    found, pages = chinese_texts.titles(), []
    for page in read_contents():
        here, chapter = found["pages"].get(page.notebook, {}), found["chapters"].get(page.chapter, {})
        pages.append(replace(
            page, notebook=page.notebook if chinese_texts.has_chinese(page) else f"../nbs/{page.notebook}",
            title=here.get("title", page.title), shows=here.get("shows", page.shows),
            chapter=chapter.get("title", page.chapter), about=chapter.get("about", page.about),
        ))
    return pages


def made(name: str, pages: list[Page], translated: dict[str, dict[str, str]]) -> dict:
    "The Chinese notebook of a page: code and outputs are the English one's; a cell without Chinese stays English."
    notebook, here = notebook_of(name), chinese_texts.chinese(name)
    for cell in notebook["cells"]:
        if cell["id"] == TABLE:
            text = table(pages, WORDS)
        elif cell["id"] == PAGES:
            text = list_of_pages(pages, WORDS)
        elif cell["id"] == NEIGHBOURS:
            text = neighbours(name, pages, WORDS)
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


def guides_made() -> Iterator[tuple[str, str]]:
    "Each guide by its name, in Chinese."
    translated = all_anchors()
    for name in chinese_texts.translated_guides():
        parts = [text for _, text in chinese_texts.chinese(name).values()]
        yield name, with_links(in_one_line("\n\n".join(parts)), name, translated) + "\n"


def all_anchors() -> dict[str, dict[str, str]]:
    "Of each page and guide of the edition its anchors."
    return {name: anchors_in_chinese(name) for name in (*chinese_texts.names(), *chinese_texts.translated_guides())}


def all_made() -> Iterator[tuple[str, dict]]:
    "Each Chinese notebook by its name, with links to the headings of the others."
    pages, translated = pages_in_chinese(), all_anchors()
    for name in chinese_texts.names():
        yield name, made(name, pages, translated)


def make() -> None:
    "Write zh/."
    for name, notebook in all_made():
        path = MADE / f"{name}.ipynb"
        path.parent.mkdir(parents=True, exist_ok=True)
        write_notebook(path, notebook)
    for name, text in guides_made():
        path = MADE / f"{name}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")
    (MADE / "figures").mkdir(exist_ok=True)  # two pages keep a picture there when they run
    print(f"{len(chinese_texts.names())} pages and {len(chinese_texts.translated_guides())} guides are in {MADE}/.")
