"""Measure the pages of the book: how much a reader reads, and of what kind.

python tools/pages.py           a table of all pages, and the totals of both parts
python tools/pages.py --run     the same, each page run first: its seconds are shown, and go into results/checks/pages.json and,
                                by the next build, into the list of pages of nbs/reference.ipynb
python tools/pages.py paper/3   only the pages whose names begin like this

words      of Markdown, tables included. Not counted: links to Colab, "Before ... Next", the table of contents, displayed
           equations, blocks of code. An inline formula counts as one word. Folded answers (<details>) have a column of their own.
exported,  lines of code cells in sight, blank ones and `#|` directives not counted: exported into the package; of tests and
tests,     fixtures; all others, which demonstrate something. A cell with `jupyter.source_hidden` is not in sight, nor is the
shown      cell for Colab or one with `#| default_exp` alone.
share      how many of the lines in sight are shown, that is, neither exported nor tests
+tests     how many of them are shown or tests: all that is not exported
picture    in which of the cells that a reader sees the first picture is, from 1
"""
import argparse
import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path

from colab import CELL as COLAB
from contents import INDEX, NEIGHBOURS, NOTEBOOKS, PAGES, PARTS, SECONDS, TABLE, names_beginning, read_contents, read_notebook

ROOT = Path(__file__).resolve().parents[1]
PICTURES = {"image/png", "image/svg+xml", "application/vnd.vegalite.v5+json"}
MOST = {"words": 1600, "exported": 120, "picture": 5}  # of a page; words in the paper's part alone
MOST_WORDS = {"paper": 22_000, "workshop": 20_000}     # of a part


def source_of(cell: dict) -> str:
    return "".join(cell["source"])


def written_here(cell: dict) -> bool:
    "Whether the cell is the page's own, and not the build's."
    return cell.get("id") not in (COLAB, NEIGHBOURS, PAGES, TABLE)


def kind_of(cell: dict) -> str:
    "What a code cell is for: exported, tests or shown."
    directives = set(re.findall(r"^#\|\s*(\w+)", source_of(cell), re.MULTILINE))
    if {"export", "exporti", "exports"} & directives:
        return "exported"
    return "tests" if {"test", "fixture"} & directives else "shown"


def lines_of(cell: dict) -> int:
    return sum(bool(line.strip()) and not line.startswith("#|") for line in source_of(cell).split("\n"))


def in_sight(cell: dict) -> bool:
    "Whether a reader sees the code of a cell."
    return written_here(cell) and not cell["metadata"].get("jupyter", {}).get("source_hidden") and lines_of(cell) > 0


def answers_of(markdown: str) -> str:
    return "\n".join(re.findall(r"<details.*?</details>", markdown, re.DOTALL))


def prose_of(markdown: str) -> str:
    "What of a Markdown cell is read as running text, with X for each inline formula; folded answers apart."
    text = re.sub(r"^\[Open in Colab\]\(.*\)$", "", markdown, flags=re.MULTILINE)
    text = re.sub(r"<details.*?</details>|```.*?```|\$\$.*?\$\$", " ", text, flags=re.DOTALL)
    text = re.sub(r"(?<!\\)\$[^$\n]+(?:\n[^$\n]+)?\$", "X", text)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    return re.sub(r"<[^>]+>", " ", text)


def words_in(text: str) -> int:
    return len(re.findall(r"\S*\w\S*", text))


def has_picture(cell: dict) -> bool:
    if cell["cell_type"] == "markdown":
        return bool(re.search(r"!\[[^\]]*\]\(|<img ", source_of(cell)))
    return any(PICTURES & output.get("data", {}).keys() for output in cell.get("outputs", []))


@dataclass
class Measures:
    "What the table shows of a page; with `+`, of several."

    words: int = 0
    answers: int = 0        # words of folded answers
    exported: int = 0       # lines in sight
    tests: int = 0          # lines in sight
    test_cells: int = 0     # in sight
    shown: int = 0          # lines in sight that demonstrate
    picture: int | None = None
    seconds: float | None = None

    def __add__(self, other: "Measures") -> "Measures":
        names = ("words", "answers", "exported", "tests", "test_cells", "shown")
        return Measures(**{name: getattr(self, name) + getattr(other, name) for name in names})

    @property
    def share(self) -> float:
        "Of the lines in sight, those that are shown: neither exported nor tests."
        return self.shown / (self.shown + self.exported + self.tests or 1)

    @property
    def share_with_tests(self) -> float:
        "Of the lines in sight, those that are shown or tests."
        return (self.shown + self.tests) / (self.shown + self.exported + self.tests or 1)


def measure(notebook: dict) -> Measures:
    "Count what a reader of a notebook sees."
    found, seen = Measures(), 0
    for cell in filter(written_here, notebook["cells"]):
        source = source_of(cell)
        if cell["cell_type"] == "markdown":
            found.words += words_in(prose_of(source))
            found.answers += words_in(prose_of(re.sub(r"</?details>", "", answers_of(source))))
        elif in_sight(cell):
            kind = kind_of(cell)
            setattr(found, kind, getattr(found, kind) + lines_of(cell))
            found.test_cells += bool(re.search(r"^#\|\s*test ", source, re.MULTILINE))
        seen += cell["cell_type"] == "markdown" or in_sight(cell) or bool(cell.get("outputs"))
        if found.picture is None and has_picture(cell):
            found.picture = seen
    return found


def beyond(found: Measures, part: str = "paper") -> list[str]:
    "What a page has too much of, or lacks, in words."
    limited = [("words", "words")] * (part == "paper") + [("exported", "exported lines in sight")]
    said = [f"{getattr(found, name)} {what}, above {MOST[name]}" for name, what in limited if getattr(found, name) > MOST[name]]
    if found.picture is None or found.picture > MOST["picture"]:
        said.append(f"no picture within {MOST['picture']} cells")
    return said


def execute(notebook, folder: Path, timeout: int | None = None) -> None:
    "Run a notebook's cells, in place, each at most so many seconds."
    from nbclient import NotebookClient
    from traitlets.config import Config

    encrypted = Config({"KernelManager": {"transport_encryption": "auto"}})  # ipykernel warns of plain text otherwise
    NotebookClient(notebook, timeout=timeout, config=encrypted, resources={"metadata": {"path": str(folder)}}).execute()


def seconds_to_run(path: Path) -> float:
    """Run a notebook from top to bottom, as it stands; its file is not changed. Counted is the processor's time in the kernel and
    in what it starts, which is the same on a busy machine; on a quiet one the clock shows about as much."""
    import resource  # here: Windows has none, and other tools take from this one what it does not need there

    import nbformat

    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    execute(nbformat.read(path, as_version=4), path.parent)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)  # the kernel has ended, and is counted
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def row(name: str, found: Measures, picture: str) -> str:
    seconds = "" if found.seconds is None else f"{found.seconds:.0f}"
    return (f"{name:34} {found.words:6,} {found.answers:8,} {found.exported:9,} {found.tests:6,} {found.test_cells:6} "
            f"{found.shown:6,} {found.share:6.0%} {found.share_with_tests:6.0%} {picture:>8} {seconds:>8}")


def keep(seconds: dict[str, int]) -> None:
    "Write them down, as other measurements are."
    sys.path.insert(0, "")
    from annotated_transformer import results

    results.write(SECONDS, {"seconds": seconds}, command="python tools/pages.py --run")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="how the names of the wanted pages begin; all without it")
    parser.add_argument("--run", action="store_true", help="run each page first, and show its seconds")
    arguments = parser.parse_args()
    names = names_beginning(arguments.names)
    print(f"{'page':34} {'words':>6} {'answers':>8} {'exported':>9} {'tests':>6} {'cells':>6} {'shown':>6} {'share':>6} "
          f"{'+tests':>6} {'picture':>8} {'seconds':>8}")
    places = {INDEX: "paper"} | {page.notebook: page.part for page in read_contents()}
    totals, seconds = dict.fromkeys(PARTS, Measures()), {}
    for name in names:
        part, path = places[name], NOTEBOOKS / f"{name}.ipynb"
        found = measure(read_notebook(path))
        if arguments.run:
            found.seconds = seconds_to_run(path)
            seconds[name] = round(found.seconds)
        totals[part] += found
        said = [] if name == "reference" else beyond(found, part)  # which is tables alone
        marks = "  " + "; ".join(said) if said else ""
        print(row(name, found, str(found.picture or "none")) + marks, flush=True)
    if seconds.keys() == places.keys():
        keep(seconds)
    elif seconds:
        print("Not kept in results/checks/pages.json, whose seconds are of one machine: `tools/pages.py --run` runs all pages.")
    for part, total in totals.items():
        print(row(PARTS[part], total, ""))
    print(f"Goals: at most {MOST_WORDS['paper']:,} words in the paper's part, where half of the lines in sight demonstrate, and "
          f"{MOST_WORDS['workshop']:,} in the workshop.")
    return 0


if __name__ == "__main__":
    os.chdir(ROOT)
    sys.exit(main())
