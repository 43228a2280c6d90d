"""The explorer in JupyterLab: its chart, and what `live` shows. Neither may ask a network. (test_explorer_page.py: its page.)

Skipped without playwright or Chromium; `make test-browser` sees to both.
"""
from pathlib import Path

import nbformat
import torch
import vl_convert

from annotated_transformer.figures.attention_maps import AttentionMaps
from annotated_transformer.figures.explorer import explore
from annotated_transformer.figures.explorer_chart import VEGA_LITE
from benchmarks.explorer import NEXT_FRAME

SCREENSHOTS = Path(__file__).resolve().parents[2] / "screenshots"
DRAWN = "canvas => canvas.toDataURL()"
SHADE = (106, 165, 227)  # behind the tokens that the one which is pointed at looks at


def planted_maps() -> AttentionMaps:
    "Query i looks at key 2i + head, counted round and round, and at nothing else."
    S, T, h = 6, 4, 3
    weights = [torch.zeros(1, h, *size) for size in ((S, S), (T, T), (T, S))]
    for of_kind in weights:
        for head in range(h):
            i = torch.arange(of_kind.size(2))
            of_kind[0, head, i, (2 * i + head) % of_kind.size(3)] = 1
    target = ["Ein", "Hund", "bellt", "<eos>"]
    return AttentionMaps(["A", "dog", "has", "a", "ball", "<eos>"], ["<start>", *target[:-1]], target, *weights)


class Picture:
    "The drawing on a page: where its tokens are, and what colour a place has."

    def __init__(self, page, specification: dict):
        self.page, self.canvas, self.labels = page, page.locator(".vega-embed canvas"), specification["datasets"]["labels"]
        self.canvas.wait_for()
        page.wait_for_load_state("networkidle")  # JupyterLab moves things while it loads
        self.canvas.scroll_into_view_if_needed()
        self.origin = vl_convert.vegalite_to_scenegraph(specification, vl_version=VEGA_LITE)["origin"]

    def choose(self, name: str, label: str) -> None:
        self.page.locator(".vega-bind", has_text=name).get_by_label(label, exact=True).check()
        self.page.evaluate(NEXT_FRAME)

    def box(self, kind: str, place: str, index: int) -> dict:
        return [one for one in self.labels if (one["kind"], one["place"]) == (kind, place)][index]

    def point_at(self, box: dict) -> None:
        corner = self.canvas.bounding_box()
        x, y = corner["x"] + self.origin[0] + box["x"] + 12, corner["y"] + self.origin[1] + box["y"] + 12
        self.page.mouse.move(x, y)
        self.page.evaluate(NEXT_FRAME)

    def colour(self, box: dict) -> tuple[int, ...]:
        "Of a corner of a label's box, where no letter stands."
        place = [self.origin[0] + box["x"] + 3, self.origin[1] + box["y"] + 3]
        read = "(canvas, [x, y]) => [...canvas.getContext('2d').getImageData(x, y, 1, 1).data]"
        return tuple(self.canvas.evaluate(read, place)[:3])

    def shaded(self, kind: str, place: str, count: int) -> list[int]:
        "Which labels are shaded because they are looked at, or look."
        return [i for i in range(count) if self.colour(self.box(kind, place, i)) == SHADE]


def walk_through(picture: Picture) -> None:
    "Choose heads and kinds, point at tokens, and see what is looked at."
    written = "encoder_decoder"
    assert picture.shaded(written, "key", 6) == []
    for head in (1, 2, 3):
        picture.choose("head", str(head))
        for query in range(4):
            picture.point_at(picture.box(written, "query", query))
            assert picture.shaded(written, "key", 6) == [(2 * query + head - 1) % 6]
            for place in ("query", "row"):
                red, _, blue = picture.colour(picture.box(written, place, query))
                assert red - blue > 60, "the token that is pointed at is amber, in both halves"
        picture.point_at(picture.box(written, "key", 2))
        assert picture.shaded(written, "query", 4) == [i for i in range(4) if (2 * i + head - 1) % 6 == 2]
    picture.choose("attention", "encoder self-attention")
    picture.point_at(picture.box("encoder", "column", 4))  # a label of the heat map
    assert picture.shaded("encoder", "query", 6) == [i for i in range(6) if (2 * i + 2) % 6 == 4]
    picture.page.mouse.move(0, 0)
    picture.page.evaluate(NEXT_FRAME)
    assert picture.shaded("encoder", "query", 6) == []


def test_jupyterlab_draws_it_without_a_network(page, lab):
    explorer = explore(planted_maps())
    kernel = {"name": "python3", "display_name": "python3", "language": "python"}
    notebook = nbformat.v4.new_notebook(metadata={"kernelspec": kernel})  # without one JupyterLab asks for it, over everything
    cell = nbformat.v4.new_code_cell("explorer")
    cell.outputs = [nbformat.v4.new_output("execute_result", explorer._repr_mimebundle_(), execution_count=1)]
    notebook.cells = [cell]
    nbformat.write(notebook, lab.directory / "heads.ipynb")
    page.goto(f"{lab.address}/lab/workspaces/heads/tree/heads.ipynb")
    walk_through(Picture(page, explorer.specification))
    own = (lab.address, lab.address.replace("http", "ws"), "data:", "blob:")
    assert [address for address in page.asked if not address.startswith(own)] == []
    assert lab.asked() == []


def test_in_jupyterlab_one_types_a_sentence_and_chooses_a_head_without_a_network(page, lab):
    kernel = {"name": "python3", "display_name": "python3", "language": "python"}
    source = "from annotated_transformer import Translator\nfrom annotated_transformer.figures import explorer\n"
    source += "explorer.live(Translator.from_pretrained('everyday-en-de'))"
    cells = [nbformat.v4.new_code_cell(source)]
    nbformat.write(nbformat.v4.new_notebook(metadata={"kernelspec": kernel}, cells=cells), lab.directory / "live.ipynb")
    page.goto(f"{lab.address}/lab/workspaces/live/tree/live.ipynb")
    page.locator(".jp-Notebook .jp-CodeCell").first.wait_for()
    page.locator("#jp-main-statusbar").get_by_text("| Idle").wait_for()
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_role("menuitem", name="Run All Cells", exact=True).click()
    field, picture = page.get_by_label("sentence"), page.locator(".vega-embed canvas")
    picture.wait_for()
    assert page.locator(".vega-bind").count() == 0  # the menus have their place

    def answered(expected: str) -> None:
        holds = "text => [...document.querySelectorAll('textarea')].some(one => one.value.includes(text))"
        page.wait_for_function(holds, arg=expected)

    def type_in(text: str) -> None:
        field.fill(text)
        field.press("Enter")

    answered("Ein Hund rennt")
    type_in("I am reading a book.")
    answered("Ich lese ein Buch.")
    before = picture.evaluate(DRAWN)
    page.get_by_role("combobox", name="attention", exact=True).wait_for()  # who hears the menus is told what they choose
    page.get_by_role("listbox", name="heads", exact=True).select_option("layer 1, head 2")
    another = f"before => [...document.querySelectorAll('.vega-embed canvas')].some(one => ({DRAWN})(one) != before)"
    page.wait_for_function(another, arg=before)
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=SCREENSHOTS / "live.png")
    type_in("")
    answered("holds no words")
    picture.wait_for(state="detached")
    type_in("<img src=//elsewhere.invalid onerror=alert(1)> 🐶 $x$")
    picture.wait_for()
    assert page.locator("img[src*=elsewhere]").count() == 0
    own = (lab.address, lab.address.replace("http", "ws"), "data:", "blob:")
    assert [address for address in page.asked if not address.startswith(own)] == []
    assert lab.asked() == []
