"""The Chinese edition: every page of the book, the guides and README.md, each in a text file kept in step with the English.

python tools/chinese.py stale [NAME ...]   each cell whose Chinese is missing or belongs to older English: page, cell, both texts
python tools/chinese.py check              what is stale or differs from its English, one line each; exit status 1 if there is any
python tools/chinese.py make               the Chinese notebooks, in zh/: the English ones with the prose in Chinese
python tools/chinese.py note NAME ...      record the hashes of the current English for cells whose Chinese has changed since
                                           the last commit; --checked: also for those whose Chinese is right as it was
python tools/chinese.py begin NAME         a file with the English text of every cell, to be translated in place

tools/chinese_texts.py says where the texts are, tools/chinese_compared.py what is compared, tools/chinese_terms.py which words.
"""
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import chinese_compared
import chinese_figures
import chinese_notebooks
import chinese_terms
import chinese_texts
import chinese_workbook
from chinese_texts import CHINESE, NO_PROSE, TITLES, digits, is_text, parsed, place, wanted, write_chinese
from contents import called, refuse

ROOT = Path(__file__).resolve().parents[1]
HAN = r"[\0\u3400-\u9fff\u3000-\u303f\uff00-\uffef*”’]"
WIDE = {",": "\uff0c", ";": "\uff1b", ":": "\uff1a", "?": "\uff1f", "!": "\uff01"}
CHECKED = "--checked"


def punctuated(text: str) -> str:
    "Punctuation after a Chinese character, outside code and equations, in its Chinese form."
    kept = []

    def away(match: re.Match) -> str:
        kept.append(match[0])
        return f"\0{len(kept) - 1}\0"

    bare = NO_PROSE.sub(away, text)
    bare = re.sub(rf"\(([^()\n]*{HAN}[^()\n]*)\)|(?<={HAN})\(([^()\n]*)\)", lambda one: f"\uff08{one[1] or one[2]}\uff09", bare)
    bare = re.sub(rf"(?<={HAN})([,;:?!]) ?|(?<=\S)([,;:?!]) ?(?=[\u3400-\u9fff])", lambda sign: WIDE[sign[1] or sign[2]], bare)
    return re.sub("\0(\\d+)\0", lambda place: kept[int(place[1])], bare)


def committed(name: str) -> dict[str, tuple[str, str]]:
    "The Chinese of a page as it was at the last commit; empty outside a clone, or if it is new."
    asked = ["git", "show", f"HEAD:{place(name).as_posix()}"]
    found = subprocess.run(asked, capture_output=True, text=True, encoding="utf-8")
    return chinese_texts.renamed(name, parsed(found.stdout, place(name))) if found.returncode == 0 else {}


def untouched(name: str) -> list[str]:
    "Cells whose English has changed since they were translated, and whose Chinese has not."
    there, here, before = chinese_texts.english(name), chinese_texts.chinese(name), committed(name)
    return [cell for cell, (noted, text) in here.items()
            if cell in there and noted not in ("-", digits(there[cell])) and cell in before
            and punctuated(text) == punctuated(before[cell][1])]


def note(name: str, checked: bool = False) -> list[str]:
    """Update the recorded digits, the order of the cells and the punctuation; cells that the English no longer has are removed.

    A cell whose Chinese nobody has touched keeps its digits, unless somebody has `checked` it: such untouched cells are returned.
    """
    there, here, left = chinese_texts.english(name), chinese_texts.chinese(name), [] if checked else untouched(name)
    write_chinese(name, {cell: (here[cell][0] if cell in left else digits(there[cell]), punctuated(here[cell][1]))
                         for cell in there if cell in here})
    return left


def complaints() -> Iterator[str]:
    "What is behind, and what differs."
    if not TITLES.exists():  # a book without a Chinese edition
        return
    terms = chinese_texts.glossary()
    for name in wanted():
        if not place(name).exists():
            yield f"{place(name)} is missing: python tools/chinese.py begin {name}"
            continue
        yield from (f"{place(name)}, cell {cell} {why}: python tools/chinese.py stale {name}"
                    for cell, why in chinese_compared.behind(name))
        yield from chinese_compared.unlike(name, terms)
        if not is_text(name):
            yield from chinese_figures.complaints(name)
    for name in chinese_figures.words().keys() - {*wanted()}:
        yield f"{chinese_figures.WORDS}: {name} is no page of the edition"
    for path in CHINESE.rglob("*.md"):
        if called(path, CHINESE) not in wanted():
            yield f"{path} is of no page of the edition"
    yield from chinese_compared.title_complaints()
    yield from chinese_workbook.complaints()
    yield from chinese_terms.complaints()


def show_stale(chosen: list[str]) -> None:
    for name in chosen or wanted():
        there, here = chinese_texts.english(name), chinese_texts.chinese(name)
        for cell, why in chinese_compared.behind(name):
            print(f"\n=== {name}, cell {cell} {why}\n{there.get(cell, '')}\n--- {place(name)}\n{here.get(cell, ('', ''))[1]}")


def main(options: list[str]) -> int:
    os.chdir(ROOT)
    pages = [name for name in options[1:] if name != CHECKED]
    if unknown := [name for name in pages if not Path(chinese_texts.source(name)).is_file()]:
        refuse(f"No page of the book: {', '.join(unknown)}. There are {', '.join(wanted())}.")
    match options:
        case ["stale", *chosen]:
            show_stale(chosen)
        case ["note", *chosen] if {*chosen} - {CHECKED}:
            left = [f"{place(name)}, cell {cell}: its English has changed and its Chinese has not. Renew it, or, if it is right "
                    f"as it is: python tools/chinese.py note {CHECKED} {name}"
                    for name in chosen if name != CHECKED for cell in note(name, CHECKED in chosen)]
            left += [f"{place(name)}, cell {cell} has no Chinese yet: python tools/chinese.py begin {name} puts its English there"
                     for name in chosen if name != CHECKED
                     for cell in chinese_texts.english(name) if cell not in chinese_texts.chinese(name)]
            print(*left, sep="\n", end="\n" * bool(left))
            return 1 if left else 0
        case ["begin", name]:
            there, here = chinese_texts.english(name), chinese_texts.chinese(name)
            write_chinese(name, {cell: here.get(cell, ("-", text)) for cell, text in there.items()})
        case ["make"]:
            chinese_notebooks.make()
        case ["check"]:
            found = list(complaints())
            print("\n".join(found) or "The Chinese edition is in step.")
            return 1 if found else 0
        case _:
            refuse(__doc__)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
