"Equations are numbered by the tag of their page, and each reference leads to one (tools/equations.py)."
import json
from pathlib import Path

import pytest
import yaml
from equations import complaints


def write(notebooks: Path, name: str, text: str, code: str = "") -> None:
    cells = [dict(cell_type="markdown", id="a", source=text), dict(cell_type="code", id="b", source=code)]
    (notebooks / f"{name}.ipynb").write_text(json.dumps(dict(cells=cells)), encoding="utf-8")


@pytest.fixture
def notebooks(tmp_path):
    "Three pages, of which two have equations, and a text outside."
    for folder in ("nbs/paper", "nbs/use", "docs"):
        (tmp_path / folder).mkdir(parents=True)
    rows = [("paper/1_halves", {"tag": "half"}), ("use/shop", {}), ("use/sum", {"tag": "sum"})]
    pages = [dict(notebook=name, title="A", shows="b") | more for name, more in rows]
    (tmp_path / "nbs/contents.yml").write_text(yaml.safe_dump([dict(part="paper", chapter="c", notebooks=pages)]))
    write(tmp_path / "nbs", "index", "")
    write(tmp_path / "nbs", "paper/1_halves", r"$$a \tag{half.1}$$, the paper's $$b \tag{1}$$, $$c \tag{half.2}$$")
    write(tmp_path / "nbs", "use/shop", "By (half.2), and by (1) of the paper.", "line(x.1)")
    write(tmp_path / "nbs", "use/sum", r"$$d \tag{sum.1}$$", "'by (half.1)'")
    (tmp_path / "docs/a.md").write_text("See (sum.1), and f(x.1).")
    return tmp_path / "nbs"


def test_a_book_in_order_has_no_complaints(notebooks):
    assert list(complaints(notebooks)) == []


@pytest.mark.parametrize("name, text, code, said", [
    ("paper/1_halves", r"$$\tag{half.1}$$ $$\tag{half.3}$$ $$\tag{1}$$", "", "its equation (half.3) must be (half.2)"),
    ("paper/1_halves", r"$$\tag{half.1}$$ $$\tag{sum.2}$$", "", "its equation (sum.2) must be (half.2)"),
    ("paper/1_halves", r"$$\tag{1}$$", "", "has the tag half and no equation"),
    ("use/shop", r"$$\tag{shop.1}$$", "", "numbers an equation (shop.1): give it a `tag`"),
    ("use/shop", r"$$\tag{1}$$", "", "numbered twice: (1), (1)"),
    ("use/shop", "By (half.3).", "", "names equation (half.3), which no page has"),
    ("use/shop", "", "'by (half.3)'", "names equation (half.3), which no page has"),
    ("use/shop", "By (third.1).", "", "names equation (third.1), and no page has that tag"),
])
def test_a_wrong_number_is_told(notebooks, name, text, code, said):
    write(notebooks, name, text, code)
    assert any(said in sentence for sentence in complaints(notebooks)), list(complaints(notebooks))


def test_a_wrong_number_outside_of_the_notebooks_is_told(notebooks):
    (notebooks.parent / "docs/a.md").write_text("See (sum.2).")
    sentence, = complaints(notebooks)
    assert sentence.endswith("docs/a.md names equation (sum.2), which no page has.")


def test_the_books_equations_are_in_order():
    assert list(complaints()) == []
