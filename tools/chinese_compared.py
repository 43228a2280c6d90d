"""Where the Chinese differs from the English: cells that are missing or behind, and different numbers, equations, links or words.

Code, outputs, equations and links exist only in the English or are compared with it: a number, an equation, a code span or a
link that the English has and the Chinese lacks is reported. So are a term that nbs/zh/glossary.yml translates differently,
a page that nbs/zh/contents.yml gives another name, and stars that a reader would see. README.zh.md links to the Chinese
pages on the site, as the repository holds only their text.
"""
import posixpath
import re
import unicodedata
from calendar import month_name
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal

import chinese_texts
from chinese_notebooks import led_from_readme
from chinese_texts import FENCED, HEADING, MATHS, NO_PROSE, README, SPAN, TARGET, TITLES, digits, in_one_line, place
from contents import chapters, read_contents

NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")
UNITS = {"million": 10**6, "billion": 10**9, "\u4e07": 10**4, "\u4ebf": 10**8}
IN_UNITS = re.compile(rf"({NUMBER.pattern}(?:(?:, (?:and )?| and | or | to ){NUMBER.pattern})*)\s?({'|'.join(UNITS)})")
LINK = re.compile(rf"\[([^\[\]]+){TARGET.pattern}")


def behind(name: str) -> Iterator[tuple[str, str]]:
    "The cells that are not translated, or not as they are now, and why."
    there, here = chinese_texts.english(name), chinese_texts.chinese(name)
    for cell, text in there.items():
        if cell not in here:
            yield cell, "has no Chinese yet"
        elif here[cell][0] != digits(text):
            yield cell, "has changed since it was translated"
    for cell in here.keys() - there.keys():
        yield cell, "is gone"


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
        "block of code": Counter(re.sub(r"(?m)(?:^| +)# .*", "", block) for block in FENCED.findall(text)),  # comments apart
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


def lacking(english: str, ours: str, terms: dict[str, list[str]]) -> Iterator[tuple[str, list[str]]]:
    "Terms of the English that the Chinese does not have."
    for term, ways in terms.items():
        if re.search(rf"\b{re.escape(term)}s?\b", english.lower()) and not any(way in ours for way in ways):
            yield term, ways


def unlike(name: str, terms: dict[str, list[str]]) -> Iterator[str]:
    "Where the Chinese of a page does not have what its English has."
    here, called = chinese_texts.chinese(name), chinese_texts.page_names()
    for cell, text in chinese_texts.english(name).items():
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


def title_complaints() -> Iterator[str]:
    found = chinese_texts.titles()
    pages = read_contents()
    for name in sorted(found["pages"].keys() - {page.notebook for page in pages}):
        yield f"{TITLES}: {name} is no page of the book"
    for page in pages:
        now = digits(f"{page.title}\n{page.shows}")
        if found["pages"].get(page.notebook, {}).get("of") != now:
            yield f"{TITLES}: {page.notebook} is missing or behind; its English has the digits {now}"
    for (_, chapter), (first, *_) in chapters(pages).items():
        row = found["chapters"].get(chapter, {})
        if "title" not in row:
            yield f"{TITLES}: the chapter {chapter} has no Chinese"
        elif first.about and row.get("of") != digits(first.about):
            yield f"{TITLES}: the chapter {chapter} is behind; its English has the digits {digits(first.about)}"
