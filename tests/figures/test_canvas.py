"A canvas is as large as it was told; boxes, tabs and arrows stand where they should."
import matplotlib.pyplot as plt
import pytest
from matplotlib.collections import LineCollection
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

from annotated_transformer import InputError
from annotated_transformer.figures.canvas import Canvas, Look

pytestmark = pytest.mark.usefixtures("closed_figures")


def test_a_canvas_is_as_large_as_it_was_told_and_measures_in_its_own_unit():
    inches, wide = Canvas(), ["mm", "mmmm"]
    half = Canvas(unit=0.5, upward=True)
    assert inches.width(["m"]) < inches.width(wide) == inches.width(wide[1:]) < 1
    assert abs(half.width(wide) - 2 * inches.width(wide)) < 1e-6 and not half.axes.texts  # the probes are gone
    assert inches.width(["mm"], 20) > 1.8 * inches.width(["mm"], 10)
    for canvas, size in ((inches, (3, 2)), (half, (1.5, 1))):
        figure = canvas.finish(3, 2)
        assert tuple(figure.get_size_inches()) == size and figure.axes[0].get_xlim() == (0, 3)
    assert inches.axes.get_ylim() == (2, 0) and half.axes.get_ylim() == (0, 2)


def test_a_box_has_a_tab_only_where_a_notebook_is_named():
    canvas = Canvas(upward=True)
    tops = canvas.box(2, 1, "one", look=Look("31")), canvas.box(2, 3, "two", "with sizes")
    assert [round(top, 6) for top in tops] == [1.52, 3.78]
    texts = {text.get_text(): text.get_position() for text in canvas.axes.texts}
    assert texts["31"][0] > 2 > texts["one"][0] and texts["two"] == (2, 3.51) and texts["with sizes"] == (2, 3.21)
    assert len(canvas.axes.findobj(FancyBboxPatch)) == 4  # each box a body and an edge
    canvas.arrow((0, 0), (0, 2), (3, 2), bend=0.5)
    arrow = canvas.axes.findobj(FancyArrowPatch)[-1]
    assert arrow._path_original.vertices[1:4].tolist() == [[0, 1.5], [0, 2], [0.5, 2]]


def drawn_into(axes, upward: bool = False):
    "A text, a line and a line of a collection, on a canvas of 4 by 2 inches."
    canvas = Canvas(axes=axes, upward=upward)
    text = canvas.text(1, 0.5, "mm", 10)
    line, = canvas.axes.plot([0, 4], [0, 2], linewidth=2)
    lines = canvas.axes.add_collection(LineCollection([[(0, 0), (1, 1)]], linewidths=[3]))
    assert canvas.finish(4, 2) is axes
    return text, line, lines


@pytest.mark.parametrize("size, scale", [((4, 2), 1), ((2, 2), 0.5), ((4, 0.5), 0.25), ((8, 3), 1)])
@pytest.mark.parametrize("upward", [False, True])
def test_a_drawing_takes_the_corner_of_its_axes_and_shrinks_as_a_whole(size, scale, upward):
    figure = plt.figure(figsize=size, dpi=100)
    axes = figure.add_axes((0, 0, 1, 1))
    older, = axes.plot([0, 1], [0, 1], linewidth=7)
    text, line, lines = drawn_into(axes, upward)
    assert abs(text.get_fontsize() - 10 * scale) < 1e-9 and older.get_linewidth() == 7
    assert abs(line.get_linewidth() - 2 * scale) < 1e-9 and abs(lines.get_linewidth()[0] - 3 * scale) < 1e-9
    x, y = axes.transData.transform((4, 2)) / 100  # of a point at a distance of 4 and 2 inches from the first corner
    top = y if upward else axes.transData.transform((0, 0))[1] / 100
    bottom = axes.transData.transform((0, 0))[1] / 100 if upward else y
    assert (round(x, 6), round(top, 6), round(top - bottom, 6)) == (4 * scale, size[1], 2 * scale)


def test_a_layout_that_is_set_last_has_its_say_before_the_drawing():
    figure, (left, right) = plt.subplots(1, 2, figsize=(6, 3), layout="constrained")
    left.set_ylabel("a\nlong\nlabel")
    text, *_ = drawn_into(right)
    figure.canvas.draw()
    assert abs(text.get_fontsize() - 10 * right.get_window_extent().width / figure.dpi / 4) < 0.1
    part = plt.figure(figsize=(6, 3)).subfigures(1, 2)[1]
    text, *_ = drawn_into(part.add_axes((0, 0, 1, 1)))
    assert abs(text.get_fontsize() - 7.5) < 1e-6


def test_what_is_no_axes_is_refused():
    with pytest.raises(InputError, match="ax: give one of matplotlib's two-dimensional Axes, not Figure"):
        Canvas(axes=plt.figure())


@pytest.mark.parametrize("shared", [{"sharey": True}, {"sharex": True}])
def test_axes_that_others_share_are_left_as_they_are(shared):
    _, (left, right) = plt.subplots(1, 2, **shared)
    left.plot([0, 1], [2, 5])
    before = left.get_xlim(), left.get_ylim()
    with pytest.raises(InputError, match="make them without sharex and sharey"):
        Canvas(axes=right)
    assert (left.get_xlim(), left.get_ylim()) == before
