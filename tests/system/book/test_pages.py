"""tools/pages.py measures the pages; here stands what a page may hold, and which pages hold more."""
import re
from collections import Counter
from pathlib import Path

import pages
import prose
import pytest
from chinese_figures import alt
from contents import notebook_of, read_contents, read_notebook
from pages import MOST, MOST_WORDS, Measures, beyond, measure, prose_of, words_in

ROOT = Path(__file__).parents[3]
NOTEBOOKS = ROOT / "nbs"

PARTS = {page.notebook: page.part for page in read_contents(NOTEBOOKS) if page.notebook != "reference"}  # of tables alone

# Still too long, or without a picture near the top. A page that has been mended must leave this list.
TO_MEND = set()


def cell(source: str, kind: str = "code", hidden: bool = False, image: bool = False, id: str = "own") -> dict:
    outputs = {"outputs": [{"data": {"image/png": ""}}] if image else []} if kind == "code" else {}
    return dict(cell_type=kind, id=id, metadata={"jupyter": {"source_hidden": True}} if hidden else {}, source=source, **outputs)


@pytest.mark.parametrize("name", PARTS)
def test_a_page_keeps_its_measure(name):
    said = beyond(measure(notebook_of(name)), PARTS[name])
    if name in TO_MEND:
        assert said, f"{name} keeps its measure now: take it out of TO_MEND"
    else:
        assert not said


@pytest.mark.parametrize("tool", [pages, prose])
def test_a_page_that_is_not_there_is_no_empty_table(tool, monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr("sys.argv", ["tool", "paper/6.1_bleu", "paper/9"])
    tool.main()  # one of two begins so
    capsys.readouterr()
    monkeypatch.setattr("sys.argv", ["tool", "nonsense"])
    with pytest.raises(SystemExit) as ended:
        tool.main()
    said = capsys.readouterr()
    assert ended.value.code == 2 and not said.out and said.err.startswith("no page's name begins with nonsense: write ")


SHORTER = f"shorten a page; the wings may have {MOST_WORDS} words, and `python tools/pages.py` shows where they are"


def test_no_output_links_to_a_notebook():
    # The site turns links of prose into those of its pages, and not those of outputs.
    for path in NOTEBOOKS.rglob("*.ipynb"):
        for found in read_notebook(path)["cells"]:
            shown = ["".join(output.get("data", {}).get("text/markdown", "")) for output in found.get("outputs", [])]
            assert not re.search(r"\]\([^)]*\.ipynb", "".join(shown)), (path.name, found["id"])


def test_markup_stands_only_where_each_viewer_reads_it():
    # A formula stands as it is typed in an output on the site and in lists of contents, a mark of a fold everywhere.
    for path in [*NOTEBOOKS.rglob("*.ipynb"), *(NOTEBOOKS / "zh").rglob("*.md")]:
        cells = read_notebook(path)["cells"] if path.suffix == ".ipynb" else []
        prose = ["".join(found["source"]) for found in cells if found["cell_type"] == "markdown"]
        prose = "\n".join(prose) if cells else path.read_text(encoding="utf-8")
        shown = [output.get("data", {}).get("text/markdown", "") for found in cells for output in found.get("outputs", [])]
        shown = "\n".join("".join(lines) for lines in shown)
        for line in [*re.findall(r"^#+ .*", prose, re.MULTILINE), *shown.splitlines()]:
            assert "$" not in line, (path, line)
        for line in re.findall(r"<summary>.*", f"{prose}\n{shown}"):
            assert not re.search(r"[`$*]|\]\(", line), (path, line)


def test_each_picture_is_told_to_those_who_hear_the_page():
    told = Counter()
    for path in NOTEBOOKS.rglob("*.ipynb"):
        for found in read_notebook(path)["cells"]:
            if found["cell_type"] == "markdown":
                for text in re.findall(r"!\[(.*?)\]\(", "".join(found["source"])):
                    assert len(text) >= 20 and not text.endswith("."), f"{path}, {found['id']}: say what one sees, not {text!r}"
            if any(kind.startswith("image/") for output in found.get("outputs", []) for kind in output.get("data", {})):
                text = alt("".join(found["source"]))
                assert len(text) >= 20 and not text.endswith("."), (
                    f"{path}, cell {found['id']} draws: say in `#| fig-alt:` what one sees, in 20 letters or more, not {text!r}")
                told[text] += 1
    assert told and [text for text, times in told.items() if times > 1] == []


def together(names: list[str]) -> Measures:
    return sum((measure(notebook_of(name)) for name in names), Measures())


def test_half_of_what_one_sees_of_the_papers_part_demonstrates_and_it_is_not_too_long():
    found = together(["index", *(name for name, part in PARTS.items() if part == "paper")])
    assert found.share >= 0.5 and found.words <= MOST_WORDS["paper"], f"{found}: {SHORTER}"


def test_the_workshop_is_not_too_long():
    found = together(["reference", *(name for name, part in PARTS.items() if part == "workshop")])
    assert found.words <= MOST_WORDS["workshop"], f"{found}: {SHORTER}"


def test_what_is_still_to_be_mended_exists():
    assert set(PARTS) >= TO_MEND


def test_a_page_is_measured_as_a_reader_sees_it():
    page = {"cells": [
        cell("# A toy\n\n[Open in Colab](https://e.org)\n\nIt *halves* [numbers](a.ipynb): $a + b$.", "markdown"),
        cell("$$x^2 \\tag{1}$$", "markdown"),
        cell("!pip", id="colab"),
        cell("import math\nimport os", hidden=True),
        cell("#| default_exp toy"),
        cell("#| export\ndef half(x):\n\n    return x / 2"),
        cell("half(4)", image=True),
        cell("#| test halves\nassert half(2) == 1"),
        cell("#| fixture two\ntwo = 2"),
        cell("#| test hidden\nassert half(2) == 1", hidden=True),
        cell("Why?\n\n<details><summary>Answer</summary>\n\nIt is so.\n\n</details>", "markdown"),
        cell("Before: something else", "markdown", id="neighbours"),
    ]}
    found = measure(page)
    assert (found.words, found.answers) == (2 + 4 + 1, 1 + 3)  # "A toy", the sentence with its formula, "Why?"
    assert (found.exported, found.tests, found.test_cells, found.shown) == (2, 2, 1, 1)
    assert found.picture == 4 and found.share == 1 / 5 and found.share_with_tests == 3 / 5 and not beyond(found)


@pytest.mark.parametrize("extra, said", [
    (cell("word " * MOST["words"], "markdown"), f"{MOST['words'] + 2} words, above"),
    (cell("#| export\n" + "x = 1\n" * (MOST["exported"] + 1)), "121 exported lines in sight, above 120"),
    (cell("word " * MOST["words"] + "x = 1", "markdown", hidden=True), "words, above"),
])
def test_too_much_is_noticed(extra, said):
    title, picture = cell("# A toy", "markdown"), cell("half(4)", image=True)
    assert any(said in line for line in beyond(measure({"cells": [title, picture, extra]})))
    assert beyond(measure({"cells": [title, picture, cell("word " * MOST["words"], "markdown")]}), "workshop") == []
    late = {"cells": [title, *[cell("1 + 1")] * 4, picture]}
    assert beyond(measure(late)) == beyond(measure(late), "workshop") == ["no picture within 5 cells"]


def test_prose_is_what_is_read():
    assert words_in(prose_of("a `b_c` 1,024 - [two words](x.md) **d** | $e\n+ f$ |\n|---|")) == 7


@pytest.mark.parametrize("name", ["index", *PARTS])
def test_what_is_only_checked_stands_last_and_folded(name):
    cells = notebook_of(name)["cells"]
    prose = {i: "".join(one["source"]) for i, one in enumerate(cells) if one["cell_type"] == "markdown"}
    sections = [i for i, text in prose.items() if re.search("^## ", text, re.MULTILINE)]
    checked = [i for i in sections if re.search("^## Checked$", prose[i], re.MULTILINE)]
    assert checked in ([], sections[-1:])
    below = [one for i in checked for one in cells[i:] if one["cell_type"] == "code"]
    assert [one["id"] for one in below if not one["metadata"].get("jupyter", {}).get("source_hidden")] == []


@pytest.mark.parametrize("name", sorted({"index", *PARTS}))
def test_an_answer_to_try_is_folded_with_what_it_prints(name):
    cells, trying = notebook_of(name)["cells"], False
    for one in cells:
        if one["cell_type"] == "markdown" and (heading := re.findall("^## .*", "".join(one["source"]), re.MULTILINE)):
            trying = heading[-1] == "## Try"
        elif trying and one.get("outputs"):
            assert one["metadata"]["jupyter"] == {"outputs_hidden": True, "source_hidden": True}, one["id"]
