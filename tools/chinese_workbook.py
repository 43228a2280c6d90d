"""The workbook's instructions in Chinese: what tools/workbook.py writes into annotated_transformer/workbook/pages/zh/.

The exercises' texts come from the Chinese pages, those of the last notebook from nbs/zh/workbook.md. Titles, notes and
hints are in nbs/zh/exercises.yml. Code, tests, solutions and the messages of a check stay English.
"""
import posixpath
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import chinese_compared
import chinese_notebooks
import chinese_texts
import yaml
from chinese_texts import in_one_line
from repository import site_address

EXERCISES = Path("nbs/zh/exercises.yml")
NAMES = ("title", "note", "hints", "without")


def said(entry: dict) -> dict:
    "What a reader sees of an entry."
    return {name: entry[name] for name in NAMES if name in entry}


def digits(entry: dict) -> str:
    "Those that note which English an entry translates."
    return chinese_texts.digits(yaml.safe_dump(said(entry), allow_unicode=True))


@cache
def listed() -> dict[str, dict]:
    "The Chinese of each exercise."
    return yaml.safe_load(EXERCISES.read_text(encoding="utf-8")) if EXERCISES.exists() else {}


def exercises_in_chinese(english: dict[str, dict]) -> dict[str, dict]:
    "The entries of nbs/exercises.yml with what a reader sees in Chinese; what is not translated yet stays English."
    return {name: entry | said(listed().get(name, {})) for name, entry in english.items()}


def cells_in_chinese(name: str, cells: list) -> list:
    "The cells of a page with the Chinese in place of the prose."
    here = chinese_texts.chinese(name)
    for cell in cells:
        if cell.cell_type == "markdown" and cell.id in here:
            cell.source = in_one_line(here[cell.id][1])
    return cells


def heading_in_chinese(name: str, heading: str) -> str:
    "What the Chinese page calls a section."
    pairs = chinese_notebooks.anchors_in_chinese(name)
    return pairs.get(chinese_notebooks.anchor(heading), heading).replace("-", " ")


def led(target: str, page: str) -> str | None:
    "Where a link to a page of the Chinese edition leads: to the site; None for others. A heading's name there is not known here."
    there = posixpath.normpath(posixpath.join(posixpath.dirname(page), target.partition("#")[0])).removesuffix(".ipynb")
    return f"{site_address()}zh/{there}.html" if there in chinese_texts.names() else None


def complaints() -> Iterator[str]:
    "Exercises whose Chinese is missing, behind or unlike."
    english = yaml.safe_load(Path("nbs/exercises.yml").read_text(encoding="utf-8"))
    for name in sorted(english.keys() | listed().keys()):
        if name not in english:
            yield f"{EXERCISES}: {name} is no exercise"
        elif name not in listed():
            yield f"{EXERCISES}: {name} has no Chinese yet; its English has the digits {digits(english[name])}"
        elif listed()[name].get("of") != digits(english[name]):
            yield f"{EXERCISES}: {name} is behind; its English has the digits {digits(english[name])}"
        else:
            yield from unlike(name, english[name], listed()[name])


def unlike(name: str, english: dict, ours: dict) -> Iterator[str]:
    "Code, equations and numbers that the Chinese of an exercise has not, or has alone."
    if len(ours["hints"]) != len(english["hints"]) or ("note" in ours) != ("note" in english):
        yield f"{EXERCISES}: {name} must have the note and as many hints as the English"
        return
    notes = english.get("note", ""), ours.get("note", "")
    for text, chinese_text in [(english["title"], ours["title"]), notes, *zip(english["hints"], ours["hints"])]:
        wanted, found = chinese_compared.facts(text), chinese_compared.facts(chinese_text)
        for kind in ("code span", "equation"):
            for one in (wanted[kind] - found[kind]) + (found[kind] - wanted[kind]):
                yield f"{EXERCISES}: {name} and its English differ in the {kind} {one!r}"
