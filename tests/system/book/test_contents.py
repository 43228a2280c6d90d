"tools/contents.py reads the one list of notebooks, and writes the tables made of it and the cells that lead on."
import json
from pathlib import Path

import contents
import pytest
import yaml
from contents import ENGLISH, list_of_pages, neighbours, read_contents, table, with_contents

ROOT = Path(__file__).parents[3]


def notebook(path: Path, *sources: str, ids: tuple[str, ...] = ()) -> None:
    cells = [dict(cell_type="code", id=f"cell-{n}", source=source) for n, source in enumerate(sources)]
    cells += [dict(cell_type="markdown", id=name, source=f"# {name}") for name in ids]
    path.write_text(json.dumps(dict(cells=cells)), encoding="utf-8")


def row(name: str, **others) -> dict:
    return dict(notebook=name, title=name.rpartition("/")[2].rpartition("_")[2].title(), shows="halves") | others


def write_list(directory: Path, paper: list[dict], workshop: list[dict] = ()) -> None:
    groups = [dict(part="paper", chapter="§1 Halves", notebooks=paper),
              dict(part="workshop", chapter="In use", about="To buy.", notebooks=list(workshop))]
    (directory / "contents.yml").write_text(yaml.safe_dump(groups), encoding="utf-8")


LIST = [row("paper/1_more"), row("paper/1.2_toy"), row("paper/end")], [row("use/shop"), row("shelf")]


@pytest.fixture
def book(tmp_path):
    "Five notebooks, of which two export nothing, an index and the list."
    (tmp_path / "paper" / ".ipynb_checkpoints").mkdir(parents=True)
    (tmp_path / "use").mkdir()
    for name, module in (("paper/1_more", "halves.more"), ("paper/1.2_toy", "halves.toy"), ("use/shop", "use.shop")):
        notebook(tmp_path / f"{name}.ipynb", "1 + 1", f"#| default_exp {module}")
    notebook(tmp_path / "paper/end.ipynb", "1 + 1")
    notebook(tmp_path / "paper/.ipynb_checkpoints/old.ipynb", "1 + 1")  # Jupyter's own copy is no page
    notebook(tmp_path / "shelf.ipynb", ids=("title", "pages"))
    notebook(tmp_path / "index.ipynb", ids=("title", "contents", "more"))
    write_list(tmp_path, *LIST)
    return tmp_path


def test_the_pages_stand_in_the_order_of_the_list(book):
    found = [(page.notebook, page.module, page.part) for page in read_contents(book)]
    assert found == [("paper/1_more", "halves.more", "paper"), ("paper/1.2_toy", "halves.toy", "paper"),
                     ("paper/end", None, "paper"), ("use/shop", "use.shop", "workshop"), ("shelf", None, "workshop")]


def test_the_tables_have_each_page(book, monkeypatch):
    monkeypatch.setattr(contents, "seconds", lambda: {"paper/1_more": 7, "use/shop": 60})
    rows = [line for line in table(read_contents(book), ENGLISH).split("\n") if "ipynb" in line]
    assert rows == ["| §1 Halves | [§1 More](paper/1_more.ipynb) | halves |",
                    "|  | [§1.2 Toy](paper/1.2_toy.ipynb) | halves |",
                    "|  | [End](paper/end.ipynb) | halves |",
                    "| In use | To buy. | [Shop](use/shop.ipynb) · [Shelf](shelf.ipynb) |"]
    rows = [line for line in list_of_pages(read_contents(book), ENGLISH).split("\n") if "ipynb" in line]
    assert rows == ["| [§1 More](paper/1_more.ipynb) | `halves.more` | 7 |",
                    "| [§1.2 Toy](paper/1.2_toy.ipynb) | `halves.toy` |  |",
                    "| [End](paper/end.ipynb) |  |  |",
                    "| [Shop](use/shop.ipynb) | `use.shop` | 60 | halves |",
                    "| [Shelf](shelf.ipynb) |  |  | halves |"]


def test_no_page_takes_more_than_a_minute_of_a_processor():
    measured = json.loads((ROOT / "results/checks/pages.json").read_text(encoding="utf-8"))["figures"]["seconds"]
    names = {str(path.relative_to(ROOT / "nbs").with_suffix("")) for path in contents.notebook_files(ROOT / "nbs")}
    assert measured.keys() == names and max(measured.values()) <= 60
    listed = (ROOT / "nbs/reference.ipynb").read_text(encoding="utf-8")
    assert all(f"| {took} |" in listed for took in measured.values())


def test_neighbours_are_those_of_the_same_part_and_links_lead_from_folder_to_folder(book):
    pages, contents = read_contents(book), "[Contents](../index.ipynb)"
    assert {name: neighbours(name, pages, ENGLISH) for name in ("index", *(page.notebook for page in pages))} == {
        "index": "Next: [§1 More](paper/1_more.ipynb)",
        "paper/1_more": f"Next: [§1.2 Toy](1.2_toy.ipynb) · {contents}",
        "paper/1.2_toy": f"Before: [§1 More](1_more.ipynb) · Next: [End](end.ipynb) · {contents}",
        "paper/end": f"Before: [§1.2 Toy](1.2_toy.ipynb) · {contents}",
        "use/shop": f"Next: [Shelf](../shelf.ipynb) · {contents}",
        "shelf": "Before: [Shop](use/shop.ipynb) · [Contents](index.ipynb)",
    }


def test_what_is_written_is_written_once_and_again_when_the_list_changes(book):
    def cells(found):
        return {cell["id"]: "".join(cell["source"]) for cell in found["cells"]}

    first = with_contents(json.loads((book / "index.ipynb").read_text()), "index", read_contents(book))
    assert list(cells(first)) == ["title", "contents", "more", "neighbours"] and len(first["cells"]) == 4
    assert first == with_contents(first, "index", read_contents(book)) and "1_more" in cells(first)["contents"]
    (book / "paper/1_more.ipynb").unlink()
    write_list(book, LIST[0][1:], LIST[1])
    moved = cells(with_contents(first, "index", read_contents(book)))
    assert moved["neighbours"] == "Next: [§1.2 Toy](paper/1.2_toy.ipynb)" and "1_more" not in moved["contents"]
    assert (moved["title"], moved["more"]) == ("# title", "# more")
    shelf = cells(with_contents(json.loads((book / "shelf.ipynb").read_text()), "shelf", read_contents(book)))
    assert list(shelf) == ["title", "pages", "neighbours"] and "`use.shop`" in shelf["pages"]


ROWS = LIST[0] + LIST[1]


@pytest.mark.parametrize("rows, complaint", [
    (ROWS[1:], "paper/1_more.ipynb has no row in"),
    ([*ROWS, row("paper/gone")], "paper/gone.ipynb, which does not exist"),
    ([*ROWS, ROWS[0]], "more than one row for paper/1_more"),
    ([row("paper/1_more", floor=0)], "a row has notebook, title, shows and at most a tag"),
    ([row("paper/1_more", tag="1a")], "a tag is a short word of small letters, and that of paper/1_more is 1a"),
    ([row("paper/1_more", tag="toy"), row("paper/1.2_toy", tag="toy")], "more than one page with the tag toy"),
    ([dict(notebook="paper/1_more", title="Toy")], "a row has notebook, title, shows and at most a tag"),
])
def test_a_list_that_does_not_agree_with_the_notebooks_is_refused(book, refused, rows, complaint):
    write_list(book, rows)
    message = refused(read_contents, book)
    assert complaint in message and message.count("\n") == 1


@pytest.mark.parametrize("text, complaint", [
    ("- part: paper\n  chapter: Table 1: layers\n", "line 2: mapping values are not allowed here; a text with a colon"),
    ("- part: cellar\n  chapter: Layers\n", "has a `part` (paper or workshop)"),
])
def test_a_list_that_cannot_be_read_is_refused(book, refused, text, complaint):
    (book / "contents.yml").write_text(text)
    assert complaint in refused(read_contents, book)


@pytest.mark.parametrize("page", read_contents(ROOT / "nbs"), ids=lambda page: page.notebook)
def test_each_page_is_told_in_one_sentence(page):
    "What a reader could say of it afterwards: the index or the reference shows it."
    assert page.shows.endswith(".") and page.shows.count(". ") == 0 and 6 <= len(page.shows.split()) <= 25
    assert page.shows[0].isupper() or page.shows[0] == "`"
