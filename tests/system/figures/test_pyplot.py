"What the drawing functions leave behind is pyplot's current figure; `ax` takes a drawing; a notebook shows a figure once."
import io
import os
import subprocess
import sys

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from matplotlib.text import Text
from PIL import Image

from annotated_transformer import Transformer, TransformerConfig
from annotated_transformer.figures.architecture import draw_attention, draw_transformer
from annotated_transformer.figures.attention_maps import AttentionMaps
from annotated_transformer.figures.attention_plots import plot_figure, plot_heads, plot_heat_maps
from annotated_transformer.figures.head_scores import Named, plot_catalogue
from annotated_transformer.model.attention import MultiHeadAttention, scaled_dot_product_attention

SOURCE, TARGET = ["Dogs", "bite", "her", "cat", "<eos>"], ["Hunde", "bellen", "<eos>"]
L, h, S, T = 3, 2, 5, 3


pytestmark = pytest.mark.usefixtures("closed_figures")


def maps() -> AttentionMaps:
    torch.manual_seed(0)
    sizes = ((S, S), (T, T), (T, S))
    return AttentionMaps.from_tensors(SOURCE, TARGET, *((3 * torch.randn(L, h, *size)).softmax(-1) for size in sizes))


NAMED = {"encoder": [[("next token", "next token", 0.7, 0.2), ("rests", None, None, 0.6)]],
         "decoder": [[("none of these", None, None, 0.1), ("itself", "same token", 0.9, 0.3)]]}
DRAWN = {  # every function that draws by matplotlib; those of attention also into axes
    "heads": lambda **where: plot_heads(maps(), **where),
    "heads at a word": lambda **where: plot_heads(maps(), "encoder_decoder", words="Hunde", in_full=[1], hide_end=True, **where),
    "heat maps": lambda **where: plot_heat_maps(maps(), "encoder_decoder", **where),
    "heat map of a word": lambda **where: plot_heat_maps(AttentionMaps.from_tensors(
        ["Hello", ".", "<eos>"], encoder=torch.eye(3).expand(1, 1, 3, 3)), hide_end=True, **where),
    "Figure 3": lambda **where: plot_figure(maps(), 3, **where),
    "Figure 4": lambda **where: plot_figure(maps(), 4, **where),
    "Figure 5": lambda **where: plot_figure(maps(), 5, "decoder", **where),
    "catalogue": lambda: plot_catalogue(
        {kind: [[Named(*one) for one in row] for row in rows] for kind, rows in NAMED.items()}),
    "Figure 1": lambda: draw_transformer(Transformer(TransformerConfig(11, n_layers=1, d_model=12, d_ff=10, n_heads=2))),
    "Figure 2": lambda: draw_attention(scaled_dot_product_attention, MultiHeadAttention(24, n_heads=2, d_k=4, d_v=6)),
}
INTO_AXES = [name for name in DRAWN if name not in ("catalogue", "Figure 1", "Figure 2")]


def pixels(file) -> np.ndarray:
    return np.asarray(Image.open(file).convert("L"))


@pytest.mark.parametrize("name", DRAWN)
def test_savefig_after_a_drawing_writes_that_drawing(name, tmp_path):
    figure = DRAWN[name]()
    assert plt.gcf() is figure and len(plt.get_fignums()) == 1
    plt.savefig(tmp_path / "current.png", dpi=80)
    figure.savefig(tmp_path / "returned.png", dpi=80)
    current, returned = (pixels(tmp_path / f"{one}.png") for one in ("current", "returned"))
    assert current.shape == returned.shape and current.min() < 100 and current.max() == 255
    assert np.array_equal(current, returned) or figure.get_layout_engine()  # which may shift things by a pixel
    assert (current < 200).mean() > 0.005  # not only a stroke
    DRAWN[name]()
    assert len(plt.get_fignums()) == 2 and plt.gcf() is not figure


@pytest.mark.parametrize("name", INTO_AXES)
@pytest.mark.parametrize("size", [(14, 5), (5, 2)])
def test_a_drawing_goes_into_the_axes_that_are_given_and_nowhere_else(name, size):
    figure, (left, right) = plt.subplots(1, 2, figsize=size, dpi=100)
    right.set_title("mine")
    assert DRAWN[name](ax=right) is right and plt.get_fignums() == [figure.number] and not left.texts
    box, own = right.get_window_extent(), [text for text in right.findobj(Text) if text.get_text() not in ("", "mine")]
    extents = np.array([text.get_window_extent().extents for text in own])
    assert (extents[:, :2] >= [box.x0 - 0.5, box.y0 - 0.5]).all() and (extents[:, 2:] <= [box.x1 + 0.5, box.y1 + 0.5]).all()
    x0, y0, x1, y1 = extents.T
    overlap = (x0[:, None] < x1 - 1) & (x0 < x1[:, None] - 1) & (y0[:, None] < y1 - 1) & (y0 < y1[:, None] - 1)  # of pixels
    pairs = [(own[i].get_text(), own[j].get_text()) for i, j in np.argwhere(overlap) if i < j]
    assert not pairs and right.get_title() == "mine"
    written = io.BytesIO()
    plt.savefig(written, dpi=100)
    picture = pixels(written)
    rows, columns = (slice(int(picture.shape[0] - box.y1), int(picture.shape[0] - box.y0)), slice(int(box.x0), int(box.x1)))
    assert (picture[rows, columns] < 200).mean() > 0.005
    alone = [text.get_text() for text in DRAWN[name]().findobj(Text) if text.get_text()]
    assert sorted(text.get_text() for text in own) == sorted(alone)


CELLS = {  # of a notebook: the pictures that each shows
    "plot_heads(maps)": 1,
    "plot_heads(maps);": 1,
    "figure = plot_heat_maps(maps)": 1,
    "figure = plot_heat_maps(maps)\nfigure": 1,
    "import matplotlib.pyplot as plt\nplot_heads(maps)\nplt.savefig('current.png')": 1,
    "for number in (3, 4, 5):\n    display(plot_figure(maps, number))": 3,
    "figure, (left, right) = plt.subplots(1, 2)\nplot_heads(maps, ax=left)\nplot_heat_maps(maps, ax=right)": 1,
    "plot_catalogue({kind: [[Named(*one) for one in row] for row in rows] for kind, rows in named.items()})": 1,
    "plt.get_fignums()": 0,
}


def test_a_notebook_shows_each_figure_once(tmp_path):
    nbformat, client = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    first = ("import torch\nfrom annotated_transformer.figures.attention_maps import *\n"
             f"from annotated_transformer.figures.head_scores import Named, plot_catalogue\nnamed = {NAMED}\n"
             "maps = AttentionMaps.from_tensors(list('abc'), encoder=torch.eye(3).expand(2, 2, 3, 3))")
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in (first, *CELLS)])
    client.NotebookClient(notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}).execute()
    shown = {cell.source: sum("image/png" in output.get("data", {}) for output in cell.outputs) for cell in notebook.cells[1:]}
    assert shown == CELLS and notebook.cells[-1].outputs[0]["data"]["text/plain"] == "[]"
    assert pixels(tmp_path / "current.png").min() < 100


def test_another_backend_draws_the_same(tmp_path):
    program = ("import sys, torch, matplotlib.pyplot as plt\nfrom annotated_transformer.figures.attention_maps import *\n"
               "maps = AttentionMaps.from_tensors(list('abc'), encoder=torch.eye(3).expand(2, 2, 3, 3))\n"
               "figure = plot_heads(maps); plt.savefig('heads.png'); print(plt.get_backend(), *figure.get_size_inches())")
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, env=os.environ | {"MPLBACKEND": "svg"},
                          capture_output=True, text=True, check=True)
    name, *size = done.stdout.split()
    assert name == "svg" != plt.get_backend() and pixels(tmp_path / "heads.png").min() < 100
    here = plot_heads(AttentionMaps.from_tensors(list("abc"), encoder=torch.eye(3).expand(2, 2, 3, 3)))
    assert [float(number) for number in size] == here.get_size_inches().tolist()


@pytest.mark.parametrize("trains", [True, False])
def test_figure_1_leaves_each_part_of_the_model_in_its_mode(trains):
    model = Transformer(TransformerConfig(11, n_layers=1, d_model=12, d_ff=10, n_heads=2)).train(trains)
    model.encoder.train(not trains)  # as where one stack is frozen
    before = [part.training for part in model.modules()]
    draw_transformer(model)
    assert [part.training for part in model.modules()] == before


def test_what_a_part_keeps_while_figure_1_is_drawn_may_be_trained_with():
    model, kept = Transformer(TransformerConfig(11, n_layers=1, d_model=12, d_ff=10, n_heads=2)), []
    model.encoder.register_forward_hook(lambda part, given, out: kept.append(out))  # as a cache would
    draw_transformer(model)
    assert kept and not any(out.is_inference() or out.requires_grad for out in kept)
