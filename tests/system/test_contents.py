"tools/contents.py reads the one list of notebooks, and writes the tables made of it and the cells that lead on."
import json
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools"))
from contents import list_of_pages, neighbours, read_contents, table, with_contents  # noqa: E402


def notebook(path: Path, *sources: str, ids: tuple[str, ...] = ()) -> None:
    cells = [dict(cell_type="code", id=f"cell-{n}", source=source) for n, source in enumerate(sources)]
    cells += [dict(cell_type="markdown", id=name, source=f"# {name}") for name in ids]
    path.write_text(json.dumps(dict(cells=cells)), encoding="utf-8")


def row(name: str, **others) -> dict:
    return dict(notebook=name, title=name[3:].title(), shows="halves") | others


def write_list(directory: Path, paper: list[dict], workshop: list[dict] = ()) -> None:
    groups = [dict(part="paper", chapter="§1 Halves", notebooks=paper),
              dict(part="workshop", chapter="In use", notebooks=list(workshop))]
    (directory / "contents.yml").write_text(yaml.safe_dump(groups), encoding="utf-8")


@pytest.fixture
def book(tmp_path):
    "Five notebooks, of which two export nothing, an index and the list."
    for name in ("00_toy", "01_more", "10_shop"):
        notebook(tmp_path / f"{name}.ipynb", "1 + 1", f"#| default_exp {name[3:]}")
    notebook(tmp_path / "02_end.ipynb", "1 + 1")
    notebook(tmp_path / "11_shelf.ipynb", ids=("title", "pages"))
    notebook(tmp_path / "index.ipynb", ids=("title", "contents", "more"))
    paper = [row("01_more", floor=1), row("00_toy", floor=0), row("02_end")]
    write_list(tmp_path, paper, [row("10_shop", floor=2), row("11_shelf")])
    return tmp_path


def test_the_pages_stand_in_the_order_of_the_list(book):
    found = [(page.notebook, page.module, page.floor, page.part) for page in read_contents(book)]
    assert found == [("01_more", "more", 1, "paper"), ("00_toy", "toy", 0, "paper"), ("02_end", None, None, "paper"),
                     ("10_shop", "shop", 2, "workshop"), ("11_shelf", None, None, "workshop")]


def test_the_tables_have_each_page(book):
    rows = [line for line in table(read_contents(book)).split("\n") if "ipynb" in line]
    assert rows == ["| §1 Halves | [01 More](01_more.ipynb) | halves |",
                    "|  | [00 Toy](00_toy.ipynb) | halves |",
                    "|  | [02 End](02_end.ipynb) | halves |",
                    "| In use | [10 Shop](10_shop.ipynb) · [11 Shelf](11_shelf.ipynb) |"]
    rows = list_of_pages(read_contents(book)).split("\n")[2:]
    assert rows == ["| [01 More](01_more.ipynb) | `more` |  |",
                    "| [00 Toy](00_toy.ipynb) | `toy` |  |",
                    "| [10 Shop](10_shop.ipynb) | `shop` | halves |",
                    "| [11 Shelf](11_shelf.ipynb) |  | halves |"]


def test_neighbours_are_those_of_the_same_part(book):
    pages, contents = read_contents(book), "[Contents](index.ipynb)"
    assert {name: neighbours(name, pages) for name in ("index", "01_more", "00_toy", "02_end", "10_shop", "11_shelf")} == {
        "index": "Next: [01 More](01_more.ipynb)",
        "01_more": f"Next: [00 Toy](00_toy.ipynb) · {contents}",
        "00_toy": f"Before: [01 More](01_more.ipynb) · Next: [02 End](02_end.ipynb) · {contents}",
        "02_end": f"Before: [00 Toy](00_toy.ipynb) · {contents}",
        "10_shop": f"Next: [11 Shelf](11_shelf.ipynb) · {contents}",
        "11_shelf": f"Before: [10 Shop](10_shop.ipynb) · {contents}",
    }


def test_what_is_written_is_written_once_and_again_when_the_list_changes(book):
    def cells(found):
        return {cell["id"]: "".join(cell["source"]) for cell in found["cells"]}

    first = with_contents(json.loads((book / "index.ipynb").read_text()), "index", read_contents(book))
    assert list(cells(first)) == ["title", "contents", "more", "neighbours"] and len(first["cells"]) == 4
    assert first == with_contents(first, "index", read_contents(book)) and "01_more" in cells(first)["contents"]
    (book / "01_more.ipynb").unlink()
    write_list(book, [row("00_toy", floor=0), row("02_end")], [row("10_shop", floor=2), row("11_shelf")])
    moved = cells(with_contents(first, "index", read_contents(book)))
    assert moved["neighbours"] == "Next: [00 Toy](00_toy.ipynb)" and "01_more" not in moved["contents"]
    assert (moved["title"], moved["more"]) == ("# title", "# more")
    shelf = cells(with_contents(json.loads((book / "11_shelf.ipynb").read_text()), "11_shelf", read_contents(book)))
    assert list(shelf) == ["title", "pages", "neighbours"] and "`shop`" in shelf["pages"]


LIST = [row("00_toy", floor=0), row("01_more", floor=1), row("02_end"), row("10_shop", floor=2), row("11_shelf")]


@pytest.mark.parametrize("rows, complaint", [
    (LIST[1:], "00_toy.ipynb has no row in"),
    ([*LIST, row("03_gone")], "03_gone.ipynb, which does not exist"),
    ([row("00_toy"), *LIST[1:]], "00_toy.ipynb exports the module toy: give its row in"),
    ([row("00_toy", floor="low"), *LIST[1:]], "00_toy.ipynb exports the module toy: give its row in"),
    ([*LIST, row("02_end", floor=0)], "02_end.ipynb exports no module: take `floor` out"),
    ([*LIST, LIST[0]], "more than one row for 00_toy"),
    ([row("00_toy", flor=0)], "a row has notebook, title, shows, for a module `floor`, and nothing else"),
    ([dict(notebook="00_toy", title="Toy")], "a row has notebook, title, shows, for a module `floor`, and nothing else"),
])
def test_a_list_that_does_not_agree_with_the_notebooks_is_refused(book, capsys, rows, complaint):
    write_list(book, rows)
    with pytest.raises(SystemExit) as exit:
        read_contents(book)
    message = capsys.readouterr().err
    assert exit.value.code == 2 and complaint in message and message.count("\n") == 1


@pytest.mark.parametrize("text, complaint", [
    ("- part: paper\n  chapter: Table 1: layers\n", "line 2: mapping values are not allowed here; a text with a colon"),
    ("- part: cellar\n  chapter: Layers\n", "has a `part` (paper or workshop)"),
])
def test_a_list_that_cannot_be_read_is_refused(book, capsys, text, complaint):
    (book / "contents.yml").write_text(text)
    with pytest.raises(SystemExit):
        read_contents(book)
    assert complaint in capsys.readouterr().err


@pytest.mark.parametrize("page", read_contents(ROOT / "nbs"), ids=lambda page: page.notebook)
def test_each_page_is_told_in_one_sentence(page):
    "What a reader could say of it afterwards: the index or the reference shows it."
    assert page.shows.endswith(".") and page.shows.count(". ") == 0 and 6 <= len(page.shows.split()) <= 25
    assert page.shows[0].isupper() or page.shows[0] == "`"
