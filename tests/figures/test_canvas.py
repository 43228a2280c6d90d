"A canvas is as large as it was told; boxes, tabs and arrows stand where they should."
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

from annotated_transformer.figures.canvas import Canvas, Look


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
