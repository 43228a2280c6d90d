"Lines, squares and heat maps stand where the weights are, labels do not overlap, and rules choose words and heads."
import re
import warnings
from inspect import signature
from itertools import combinations
from xml.dom import minidom

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from matplotlib import font_manager, style
from matplotlib.collections import LineCollection, PatchCollection
from matplotlib.colors import to_hex, to_rgb
from matplotlib.text import Text
from PIL import Image

from annotated_transformer import InputError
from annotated_transformer.figures import canvas, explorer
from annotated_transformer.figures.attention_maps import AttentionMaps, explore
from annotated_transformer.figures.attention_plots import plot_figure, plot_heads, plot_heat_maps
from annotated_transformer.figures.colours import COLOURS, ON_DARK
from annotated_transformer.figures.saving import save_drawing

pytestmark = pytest.mark.usefixtures("closed_figures")


def test_rules_choose_the_head_that_a_hand_would():
    source = ["Dogs", "bite", "her", "cat", "<eos>"]
    S = len(source)
    even, same, last = torch.full((S, S), 1 / S), torch.eye(S), torch.eye(S)[[S - 1] * S]
    encoder = torch.stack([torch.stack([even, 0.5 * even + 0.5 * same, last]), torch.stack([even, even, even])])
    maps = AttentionMaps(source, ["<start>", "Hunde"], ["Hunde", "<eos>"], encoder, torch.rand(2, 3, 2, 2), torch.rand(2, 3, 2, S))


    def written(figure):
        return [text.get_text() for text in figure.findobj(Text)]


    all_drawn = {"hide_end": False}
    texts = written(plot_figure(maps, 4, **all_drawn))            # of two layers the first is the last but one
    assert "encoder self-attention, layer 1 of 2" in texts and "only “her”" in texts
    assert texts.count("head 3") == 2 and texts.count("head 2") == 1 and "head 1" not in texts  # the sharpest is drawn in full too
    # from `even` to `last` 4/5 of the weight moves, to what lies between it and `same` 2/5
    texts = written(plot_figure(maps, 5, **all_drawn))
    assert {text for text in texts if text.startswith("head")} == {"head 1", "head 3"}
    assert "only “bite”" in written(plot_figure(maps, 3, word="bite"))
    assert "only “Hunde”" in written(plot_figure(maps, 3, "encoder_decoder"))
    french = AttentionMaps.from_tensors(["Le", "chien", "dort", "car", "il", "rêve"], encoder=torch.eye(6).expand(2, 3, 6, 6))
    assert "only “il”" in written(plot_figure(french, 3))
    first = AttentionMaps.from_tensors(["It", "barks"], encoder=torch.eye(2).expand(2, 3, 2, 2))
    assert "only “It”" in written(plot_figure(first, 3))
    for options, named in [((6,), "no Figure 6"), ((3, "encoder", 3), "no layer 3: the model has layers 1 to 2"),
                           ((3, "encoder", 1, [4]), "no head 4"), ((4, "encoder", 1, None, "dog"), "no word 'dog'")]:
        with pytest.raises(InputError, match=named):
            plot_figure(maps, *options)


def test_lines_and_squares_stand_where_the_weights_are():
    torch.manual_seed(0)
    S, T, L, h = 5, 3, 2, 4
    weights = torch.randn(L, h, T, S).softmax(-1)
    weights[1, 2] = torch.tensor([[0.7, 0.3, 0.0, 0.0, 0.0], [0.0, 0.025, 0.035, 0.94, 0.0], [0.0, 0.0, 0.2, 0.0, 0.8]])
    maps = AttentionMaps(list("abcd") + ["<eos>"], ["<start>", "x", "y"], ["x", "y", "<eos>"],
                         torch.rand(L, h, S, S), torch.rand(L, h, T, T), weights)


    def drawn(figure):
        "What the picture says: (query, key, cubed opacity) of each line and (key, cubed opacity) of each square, by columns."
        tokens = maps.source + maps.target
        labels = [(text.get_text(), *text.get_position()) for text in figure.findobj(Text) if text.get_text() in tokens]

        def at(x, y):  # the label at that height, on the nearer side
            return min((abs(label_y - y) + 0.1 * abs(label_x - x), label) for label, label_x, label_y in labels)[1]

        lines, = figure.findobj(LineCollection)
        both = zip(lines.get_segments(), lines.get_colors())
        ends = [(at(*start), at(*end), round(float(colour[3]) ** 3, 3)) for (start, end), colour in both]
        squares = []
        for patches in figure.findobj(PatchCollection):
            for path, colour in zip(patches.get_paths(), patches.get_facecolors()):
                x, y = path.vertices[:4].mean(0)
                squares.append((at(x + 1, y), round(float(colour[3]) ** 3, 3)))
        return sorted(ends), squares


    ends, squares = drawn(plot_heads(maps, "encoder_decoder", layer=2, heads=[3]))
    lit = [("x", "a", 0.7), ("x", "b", 0.3), ("y", "c", 0.035), ("y", "d", 0.94), ("<eos>", "c", 0.2), ("<eos>", "<eos>", 0.8)]
    assert ends == sorted(lit)
    assert squares == []
    ends, squares = drawn(plot_heads(maps, "encoder_decoder", heads=[(2, 3), (1, 1)], words="x"))
    other = [(key, round(float(weight), 3)) for key, weight in zip(maps.source, weights[0, 0, 0])]
    assert ends == sorted([("x", "a", 0.7), ("x", "b", 0.3), *(("x", *pair) for pair in other if pair[1] >= 0.03)])
    assert squares == [*zip(maps.source, (0.7, 0.3, 0.0, 0.0, 0.0)), *other]


def test_no_label_meets_another_or_leaves_the_figure():
    torch.manual_seed(0)  # one token looks like mathematics, and is none
    some = ["it", "Donaudampfschifffahrts", "·gesellschaft", "$\\x$", "Äg", "M", "·ly", ",", "a", "governments"]
    L, h = 3, 5
    for S in (5, 20, 60):
        T = S + 3 if S == 20 else S - 1
        source, target = ([*(some * 8)[start : start + n - 1], "<eos>"] for start, n in ((0, S), (10, T)))
        later = ~torch.ones(T, T, dtype=torch.bool).tril()
        maps = AttentionMaps(
            source, ["<start>", *target[:-1]], target, (3 * torch.randn(L, h, S, S)).softmax(-1),
            torch.randn(L, h, T, T).masked_fill(later, float("-inf")).softmax(-1), (3 * torch.randn(L, h, T, S)).softmax(-1),
        )
        figures = [
            plot_heads(maps, layer=1, words=["it", "$\\x$"], whole_words=False),
            plot_heads(maps, "decoder", heads=[2, 5], words="it", in_full=[2], whole_words=False),
            plot_heads(maps, "encoder_decoder", heads=[(1, 5), (3, 2)]),
            plot_heads(maps, "encoder_decoder", heads=[(1, 5), (3, 2)], words="it"),
            plot_heat_maps(maps, "encoder_decoder"),
            plot_heat_maps(maps.words(), "encoder", heads=[(1, 2), (2, 2), (3, 1)]),
            plot_heat_maps(maps, "decoder", heads=[1]),
        ]
        for figure in figures:
            texts = [text for text in figure.findobj(Text) if text.get_text() and text.get_visible()]
            assert len(texts) > 2 * len(maps.words().source)
            x0, y0, x1, y1 = torch.tensor([text.get_window_extent().extents.tolist() for text in texts]).T
            overlap = (x0[:, None] < x1) & (x0 < x1[:, None]) & (y0[:, None] < y1) & (y0 < y1[:, None])
            pairs = [(texts[i].get_text(), texts[j].get_text()) for i, j in overlap.nonzero().tolist() if i < j]
            assert not pairs, (S, pairs[:3])
            assert (x0 >= 0).all() and (y0 >= 0).all() and (x1 <= figure.bbox.width).all() and (y1 <= figure.bbox.height).all()
        plt.close("all")


def test_whole_words_are_drawn_unless_pieces_are_asked_for():
    tokens = ["mou", "·th", "·.", "its", "<eos>"]
    weights = torch.rand(2, 3, 5, 5).softmax(-1)
    maps = AttentionMaps(tokens, tokens, tokens, weights, weights, weights)
    for draw, *given in [(plot_heads,), (plot_figure, 3), (plot_figure, 4), (plot_figure, 5)]:
        figures = draw(maps, *given), draw(maps, *given, whole_words=False)
        labels = [[text.get_text() for text in figure.findobj(Text)] for figure in figures]
        assert "·th" not in labels[0] and "·th" in labels[1]
        assert set(maps.words().without_end().source) <= set(labels[0])


def test_a_saved_picture_is_light_and_dark_and_the_same_each_time(tmp_path):
    weights = torch.rand(2, 2, 3, 3).softmax(-1)
    tokens = ["dogs", "bark", "<eos>"]
    maps = AttentionMaps(tokens, tokens, tokens, weights, weights, weights)
    for form in ("svg", "pdf", "png"):
        files = [tmp_path / f"{name}.{form}" for name in "ab"]
        for path in files:
            save_drawing(plot_heads(maps), path)
        assert files[0].read_bytes() == files[1].read_bytes()
    text = (tmp_path / "a.svg").read_text()
    drawn = set(re.findall(r"(?:fill|stroke): (#\w{6})[;\"]", text.partition("</style>")[2]))
    changed = dict(re.findall(r"stroke: (#\w{6})\"\] {stroke: (#\w{6}) !important}", text))
    assert len(drawn) > 3 and drawn <= changed.keys(), drawn - changed.keys()
    assert Image.open(tmp_path / "a.png").convert("RGB").getpixel((0, 0)) == (255, 255, 255)
    with style.context("dark_background"):
        save_drawing(plot_heads(maps, words="dogs"), tmp_path / "dark.png")
    assert Image.open(tmp_path / "dark.png").convert("RGB").getpixel((0, 0)) == (0, 0, 0)
    light, dark = (np.asarray(Image.open(tmp_path / name).convert("L")) for name in ("a.png", "dark.png"))
    assert light.min() < 40 and dark.max() > 215


def test_a_picture_on_a_dark_ground_stays_so_in_a_dark_browser(tmp_path):
    maps = AttentionMaps.from_tensors(["dogs", "bark"], encoder=torch.rand(2, 2, 2, 2).softmax(-1))
    with style.context("dark_background"):
        dark = plot_heads(maps)
    save_drawing(dark, tmp_path / "dark.svg")
    save_drawing(plot_heads(maps), tmp_path / "light.svg")
    rules = ["prefers-color-scheme" in (tmp_path / name).read_text(encoding="utf-8") for name in ("dark.svg", "light.svg")]
    assert rules == [False, True]
    assert "left looks at right; a wider, brighter line: more weight" in written(dark)


def contrast(one: str, other: str) -> float:
    "By WCAG 2: the ratio of two luminances."
    def luminance(colour):
        parts = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in to_rgb(colour)]
        return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), parts)) + 0.05

    return max(luminance(one), luminance(other)) / min(luminance(one), luminance(other))


def test_twenty_heads_have_colours_that_differ_and_can_be_seen():
    for palette, ground in ((COLOURS, "white"), (ON_DARK, "black"), (ON_DARK, "#15181d")):
        assert len({*palette}) == 20 and min(contrast(colour, ground) for colour in palette) >= 4
    maps = AttentionMaps.from_tensors(["a", "b"], encoder=torch.full((1, 20, 2, 2), 0.5))
    assert [to_hex(text.get_color()) for text in plot_heads(maps).findobj(Text) if "head " in text.get_text()] == COLOURS


@pytest.mark.parametrize("h, columns, rows", [(1, 1, 1), (4, 4, 1), (5, 3, 2), (8, 3, 3), (12, 4, 3), (16, 4, 4)])
def test_more_than_four_panels_stand_in_rows_and_none_on_another(h, columns, rows):
    maps = AttentionMaps.from_tensors(["we", "saw", "them"], encoder=torch.rand(2, h, 3, 3).softmax(-1))
    figure = plot_heads(maps)
    figure.draw_without_rendering()
    texts = {text.get_text(): text.get_window_extent() for text in figure.findobj(Text) if text.get_text().startswith("head ")}
    assert len({round(box.x0) for box in texts.values()}) == columns and len({round(box.y0) for box in texts.values()}) == rows
    boxes = [text.get_window_extent() for text in figure.findobj(Text) if text.get_text()]
    assert len(boxes) == h * (1 + 2 + 6) + 2 and not any(one.overlaps(other) for one, other in combinations(boxes, 2))
    assert all(0 <= box.x0 and box.x1 <= figure.bbox.width and 0 <= box.y0 and box.y1 <= figure.bbox.height for box in boxes)


def test_weights_below_the_faintest_have_no_line_and_the_picture_says_so():
    row = torch.tensor([0.02, 0.1, 0.3, 0.58])
    maps = AttentionMaps.from_tensors(list("abcd"), encoder=row.expand(2, 2, 4, 4))

    def counted(figure):
        return sum(len(one.get_segments()) for one in figure.findobj(LineCollection)), [t for t in written(figure) if "a wider" in t]

    said = "left looks at right; a wider, darker line: more weight"
    assert counted(plot_heads(maps)) == (2 * 4 * 3, [said])
    assert counted(plot_heads(maps, faintest=0.2)) == (2 * 4 * 2, [f"{said}; none below 0.2"])
    assert counted(plot_figure(maps, 5, heads=[1, 2], faintest=0)) == (2 * 4 * 4, [f"{said}; none below 0"])
    even = AttentionMaps.from_tensors([*map(str, range(40))], encoder=torch.full((1, 1, 40, 40), 1 / 40))
    assert counted(plot_heads(even)) == (0, [f"{said}; none below 0.03"])


def test_a_picture_says_which_side_looks_at_which():
    maps = AttentionMaps(["a", "b"], ["<start>"], ["c"], torch.rand(1, 1, 2, 2), torch.rand(1, 1, 1, 1), torch.rand(1, 1, 1, 2))
    assert "rows (source) look at columns (source)" in written(plot_heat_maps(maps, "encoder"))
    assert "rows (target, written) look at columns (source)" in written(plot_heat_maps(maps, "encoder_decoder"))
    assert "left looks at right; a wider, darker line: more weight" in written(plot_heads(maps, "encoder"))
    one, two = (written(plot_heads(maps, "encoder", words=words)) for words in (["a"], ["a", "b"]))
    assert "left looks at right; a wider, darker line: more weight" in one
    assert "left looks at right; a wider, darker line: more weight; a square: the mean of its lines" in two


def test_chinese_letters_are_written_in_a_font_of_this_machine_that_has_them(monkeypatch):
    there = next(font.name for font in font_manager.fontManager.ttflist if font.name != "DejaVu Sans")
    monkeypatch.setattr(canvas, "CHINESE", ("a font that is nowhere", there))
    maps = AttentionMaps.from_tensors(["a", "é", "我"], encoder=torch.eye(3).expand(1, 1, 3, 3))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that font may not have them
        found = {text.get_text(): text.get_fontfamily() for text in plot_heads(maps).texts + plot_heads(maps).axes[0].texts}
    own = plt.rcParams["font.family"]
    assert (found["a"], found["é"], found["我"]) == (own, own, [*own, there])


@pytest.mark.parametrize("found", [True, False])
def test_letters_of_other_scripts_take_a_font_that_has_them_and_one_warning_says_where_none_has(found, monkeypatch, caplog):
    there = "DejaVu Sans Mono"
    files = {font.fname for font in font_manager.fontManager.ttflist if font.name == there and found or "Last Resort" in font.name}
    monkeypatch.setattr(canvas, "FOUND", {})
    monkeypatch.setattr(canvas, "has_glyph", lambda file, letter: letter < "\u0e00" or file in files)
    own = plt.rcParams["font.family"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for text in ("ที่", "แมว", "กา"):
            assert canvas.families(text) == ({"family": [*own, there]} if found else {})
            if not found:
                plot_heads(AttentionMaps.from_tensors([text, "·ט"], encoder=torch.eye(2).expand(1, 1, 2, 2)))
    assert canvas.families("שלום سلام café") == {}
    said = "no font here has letters as ท (Thai): pictures show boxes; install one, as of https://fonts.google.com/noto"
    assert [record.getMessage() for record in caplog.records] == [said] * (not found)


def test_what_cannot_be_saved_or_drawn_into_is_refused(tmp_path):
    maps = AttentionMaps.from_tensors(["a", "b"], encoder=torch.eye(2).expand(2, 2, 2, 2))
    ax = plt.figure().add_subplot()
    with pytest.raises(InputError, match="^save_drawing takes a figure, not Axes: for axes, give their .figure$"):
        save_drawing(plot_heads(maps, ax=ax), tmp_path / "a.png")
    save_drawing(ax.figure, tmp_path / "a.png")
    for name in ("a", "a.jpg"):
        with pytest.raises(InputError, match=f"{name}: a picture is saved as svg, pdf, png: end the name with one of these, or give one as form$"):
            save_drawing(plot_heads(maps), tmp_path / name)
    save_drawing(plot_heads(maps), tmp_path / "b", "pdf")
    assert b"/FontType 3" not in (tmp_path / "b").read_bytes() and not (tmp_path / "a.jpg").exists()
    with pytest.raises(InputError, match="two-dimensional Axes, not Axes3D"):
        plot_heads(maps, ax=plt.figure().add_subplot(projection="3d"))
    with plt.rc_context({"figure.constrained_layout.use": True}), warnings.catch_warnings():
        warnings.simplefilter("error")
        plot_heads(maps).draw_without_rendering()


@pytest.mark.parametrize("draw", [lambda maps, **how: plot_figure(maps, 4, **how), plot_heads, plot_heat_maps])
def test_matplotlibs_font_size_makes_the_whole_picture_larger(draw):
    maps = AttentionMaps.from_tensors(["we", "saw", "them"], encoder=torch.rand(2, 4, 3, 3).softmax(-1))
    plain = draw(maps)
    with plt.rc_context({"font.size": 15}):
        large, (_, small) = draw(maps), plt.subplots(figsize=(2, 2))
        draw(maps, ax=small)
    assert np.allclose(large.get_size_inches(), 1.5 * plain.get_size_inches(), rtol=0.05)
    for what, length in ((Text, Text.get_fontsize), (LineCollection, lambda lines: np.sum(lines.get_linewidth()))):
        both = [[length(one) for one in figure.findobj(what) if what is LineCollection or one.get_text()] for figure in (plain, large)]
        assert np.allclose(1.5 * np.array(both[0]), both[1])
    assert max(text.get_fontsize() for text in small.texts) < 10  # what does not fit still becomes smaller


def written(figure) -> list[str]:
    return [text.get_text() for text in figure.findobj(Text)]


def looking(source: list[str], where: dict[tuple[int, int], dict[str, float]], L: int = 3, h: int = 2) -> AttentionMaps:
    "From `her`, the heads named look at the tokens named, and else at the end sign; all others look evenly."
    S = len(source)
    encoder = torch.full((L, h, S, S), 1 / S)
    for (layer, head), weights in where.items():
        encoder[layer - 1, head - 1, source.index("her")] = torch.tensor([weights.get(token, 0.0) for token in source])
    return AttentionMaps.from_tensors(source, encoder=encoder)


def test_without_the_end_heads_are_chosen_by_their_weight_on_other_words_over_all_layers():
    source = ["Dogs", "bite", "her", "cat", ".", "<eos>"]
    maps = looking(source, {
        (1, 1): {"her": 0.9, "bite": 0.1}, (1, 2): {"cat": 0.6, "<eos>": 0.4}, (2, 1): {"<eos>": 1.0}, (2, 2): {".": 0.95, "cat": 0.05},
        (3, 1): {"Dogs": 0.5, "cat": 0.3, "<eos>": 0.2}, (3, 2): {"cat": 0.4, "<eos>": 0.6},
    })
    texts = written(plot_figure(maps, 4, hide_end=False))
    assert "encoder self-attention, layer 2 of 3" in texts and "<eos>" in texts  # 2.1 looks at the end, with 1.0
    texts = written(plot_figure(maps, 4))
    legend = "left looks at right; a wider, darker line: more weight\nleft out: <eos>, with 21% of the weight; only “her”, 30%"
    assert legend in texts  # in full, five rows: 0.4 and four times 1/6; of `her`, two heads: 0.4 and 0.2
    assert texts.count("layer 1, head 2") == 2 and texts.count("layer 3, head 1") == 1 and "only “her”" in texts
    assert "<eos>" not in texts and "." in texts and "layer 2, head 2" not in texts
    texts = written(plot_figure(maps, 4, layer=3))
    assert texts.count("head 1") == 2 and texts.count("head 2") == 1 and "encoder self-attention, layer 3 of 3" in texts
    texts = written(plot_figure(maps, 3))  # as many as a layer has
    assert {text for text in texts if "head " in text} == {"layer 1, head 2", "layer 3, head 1"}
    assert any(text.endswith("left out: <eos>, with 30% of the weight") for text in texts)
    assert {text for text in written(plot_figure(maps, 3, heads=[(2, 1)])) if "head " in text} == {"head 1"}
    alone = AttentionMaps.from_tensors(["her", "<eos>"], encoder=torch.full((1, 2, 2, 2), 0.5))
    assert "only “her”" in written(plot_figure(alone, 4))
    encoder = torch.full((2, 2, 3, 3), 0.25)
    encoder[1, 0, :, 0] = encoder[0, 1, :, 1] = 0.75
    far_apart = AttentionMaps.from_tensors(["a", "b", "<eos>"], encoder=encoder)
    texts = written(plot_figure(far_apart, 5))
    assert {text for text in texts if "head " in text} == {"layer 1, head 2", "layer 2, head 1"}


def test_a_head_has_its_colour_in_each_picture_that_can_tell_heads_by_their_number():
    def colours(heads, L=2, h=8, **how):
        texts = plot_heads(AttentionMaps.from_tensors(list("abc"), encoder=torch.ones(L, h, 3, 3) / 3), heads=heads, **how).findobj(Text)
        return {text.get_text().rpartition("layer ")[2]: to_hex(text.get_color()) for text in texts if "head " in text.get_text()}

    alone = {head: colours([(1, head)])[f"head {head}"] for head in range(1, 9)}
    assert len({*alone.values()}) == 8
    assert colours([(2, 5), (1, 7)]) == {"2, head 5": alone[5], "1, head 7": alone[7]}
    assert colours([(1, 7), (2, 3)], words="a", in_full=[(2, 3)]) == {"2, head 3": alone[3], "1, head 7": alone[7]}
    assert [*colours([(2, 5), (1, 5), (1, 7)]).values()] == [alone[1], alone[2], alone[3]]  # two of one number: in their order
    assert colours([(2, 12), (1, 5)], h=12) == {"2, head 12": colours([(1, 12)], h=12)["head 12"], "1, head 5": alone[5]}
    assert [*colours([(2, 22), (1, 2)], h=22).values()] == [alone[1], alone[2]]             # there are twenty colours
    assert len({*colours([(1, 1), (1, 21)], h=21).values()}) == 2


def test_a_picture_of_control_characters_can_be_read(tmp_path):
    maps = AttentionMaps.from_tensors(["a\nb", "\x01", "\x1b[31m"], encoder=torch.rand(2, 4, 3, 3).softmax(-1))
    for draw, *given in [(plot_figure, 3), (plot_figure, 4), (plot_heads,), (plot_heat_maps,)]:
        save_drawing(draw(maps, *given), tmp_path / "drawn.svg")
        said = (tmp_path / "drawn.svg").read_text(encoding="utf-8")
        minidom.parseString(said)
        assert r"\x1b[31m" in said
    explore(maps).save(tmp_path / "drawn.svg")
    minidom.parse(str(tmp_path / "drawn.svg"))


@pytest.mark.parametrize("heads", [[np.int64(2), 1], np.array([2, 1]), torch.tensor([2, 1]), [(2, 2), (2, 1)], np.array([[2, 2], [2, 1]])],
                         ids=str)
@pytest.mark.parametrize("number", [3, 4, 5])
def test_heads_that_were_computed_are_those_that_are_drawn(number, heads):
    maps = AttentionMaps.from_tensors(list("abc"), encoder=torch.rand(3, 4, 3, 3).softmax(-1))
    expected = written(plot_figure(maps, number, heads=[2, 1]))  # of the last layer but one
    assert "encoder self-attention, layer 2 of 3" in expected and "head 3" not in expected
    assert written(plot_figure(maps, number, heads=heads)) == written(plot_figure(maps, number, heads=(h for h in heads))) == expected
    assert written(plot_figure(maps, number, layer=np.int64(2), heads=heads)) == expected
    assert written(plot_figure(maps, number, heads=np.array([], int))) == written(plot_figure(maps, number))
    assert written(plot_heads(maps, heads=heads, words="a", in_full=heads)) == written(plot_heads(maps, None, 2, [2, 1], "a", [2, 1]))


@pytest.mark.parametrize("kind", [torch.float32, torch.bfloat16])
def test_weights_that_carry_gradients_or_have_16_bits_make_the_same_heat_map(kind):
    weights = torch.tensor([[[[0.25, 0.75], [1.0, 0.0]]]], dtype=kind)
    images = [plot_heat_maps(AttentionMaps(["a", "b"], [], [], encoder=one)).axes[0].images[0].get_array()
              for one in (weights.float(), weights.requires_grad_())]
    assert images[0].tolist() == images[1].tolist() == [[0.25, 0.75], [1.0, 0.0]]


@pytest.mark.parametrize("wrong", [{"heads": 1}, {"heads": [1.0]}, {"heads": "12"}, {"heads": [None]}, {"heads": [(1, 2, 3)]},
                                   {"heads": torch.ones(2)}, {"layer": "1"}, {"layer": 1.5}], ids=str)
def test_what_names_no_head_is_refused(wrong):
    maps = AttentionMaps.from_tensors(list("abc"), encoder=torch.rand(2, 4, 3, 3).softmax(-1))
    for draw, *given in [(plot_figure, 3), (plot_figure, 4), (plot_figure, 5), (plot_heads,), (plot_heat_maps,)]:
        with pytest.raises(InputError, match="^layer must be a whole number, and heads a list of whole numbers or of pairs"):
            draw(maps, *given, **wrong)


def test_a_tuple_of_two_numbers_may_be_one_pair_and_is_refused():
    maps = AttentionMaps.from_tensors(list("abc"), encoder=torch.rand(2, 4, 3, 3).softmax(-1))
    for draw, *given in [(plot_figure, 3), (plot_figure, 5), (plot_heads,), (plot_heat_maps,)]:
        with pytest.raises(InputError, match=r"write \[\(2, 1\)\] for layer and head, \[2, 1\] for two heads$"):
            draw(maps, *given, heads=(2, 1))
        assert written(draw(maps, *given, heads=((1, 2), (1, 1)))) == written(draw(maps, *given, layer=1, heads=[2, 1]))


def test_what_is_no_maps_is_refused():
    for given in ("Tom lost his key.", None, torch.rand(2, 2)):
        for draw, *number in [(plot_figure, 4), (plot_heads,), (plot_heat_maps,), (explore,)]:
            for options in ({}, {"hide_end": True}):
                with pytest.raises(InputError, match=r"^attention maps are drawn, such as `translator.attention\(sentence\)`, not "):
                    draw(given, *number, **options)


def test_hidden_tokens_are_neither_rows_nor_columns_and_no_weight_is_changed():
    torch.manual_seed(0)
    source, target = ["[CLS]", "a", "b", "[SEP]"], ["x", "y", "z", "<eos>"]
    maps = AttentionMaps.from_tensors(source, target, torch.rand(2, 2, 4, 4), torch.rand(2, 2, 4, 4), torch.rand(2, 2, 4, 4))
    for draw in (plot_heads, plot_heat_maps):
        texts = written(draw(maps, "encoder_decoder", hide_end=True))
        assert {"a", "b", "x", "y", "z"} <= set(texts) and not {"[CLS]", "[SEP]", "<eos>"} & set(texts)
        assert {"[CLS]", "[SEP]", "<eos>"} <= set(written(draw(maps, "encoder_decoder")))
        assert not {"[CLS]", "[SEP]"} & set(written(draw(maps, hide_end=True)))  # no kind is named: the encoder's
        share = 1 - maps.encoder_decoder[0][:, :3, 1:3].sum(-1).mean()
        assert any(text.endswith(f"left out: [CLS], [SEP], with {share:.0%} of the weight") for text in texts)
    image, *_ = plot_heat_maps(maps, "encoder_decoder", heads=[(2, 1)], hide_end=True).axes[0].images
    assert np.array_equal(image.get_array(), maps.encoder_decoder[1, 0, :3, 1:3].numpy())
    lines, = plot_heads(maps, "encoder_decoder", heads=[(2, 1)], hide_end=True).findobj(LineCollection)
    drawn = sorted(round(float(colour[3]) ** 3, 4) for colour in lines.get_colors())
    assert drawn == sorted(round(float(weight), 4) for weight in maps.encoder_decoder[1, 0, :3, 1:3].flatten())


def test_a_heat_map_has_its_cells_at_their_labels_and_the_shades_of_the_bar():
    weights = torch.tensor([[[[0.5, 0.3, 0.2], [0.1, 0.2, 0.4]]]])
    maps = AttentionMaps.from_tensors(["mou", "·th", "cat"], ["x", "y"], encoder_decoder=weights)
    axes = plot_heat_maps(maps, "encoder_decoder").axes[0]
    places = {text.get_text(): text.get_position() for text in axes.texts}
    cells, bar = axes.images
    for image in (cells, bar):
        assert image.origin == "upper" and image.get_clim() == (0, 1)
    left, right, bottom, top = cells.get_extent()
    assert [places[label][0] for label in maps.source] == pytest.approx([left + (i + 0.5) * (right - left) / 3 for i in range(3)])
    assert [places[label][1] for label in "xy"] == pytest.approx([top + (i + 0.5) * (bottom - top) / 2 for i in range(2)])
    assert bar.get_extent()[2:] == [places["0"][1], places["1"][1]] and bar.get_array()[[-1, 0], 0].tolist() == [0, 1]


def test_the_kind_that_is_there_is_drawn_and_another_refused():
    decoder = torch.eye(3).expand(2, 2, 3, 3)
    maps = AttentionMaps.from_tensors(target_input=["Dogs", "bite", "cats"], decoder=decoder)
    for draw, *given in [(plot_heads,), (plot_heat_maps,), (plot_figure, 3), (plot_figure, 4), (plot_figure, 5)]:
        texts = written(draw(maps, *given))
        assert "decoder self-attention, layer 1 of 2" in texts and texts.count("Dogs") >= 2
        with pytest.raises(InputError, match="these maps hold no encoder self-attention: choose one of decoder"):
            draw(maps, *given, kind="encoder")


def test_what_the_drawing_functions_have_in_common_stands_in_one_order():
    orders = [[*signature(draw).parameters] for draw in (plot_heads, plot_heat_maps, plot_figure, explore, explorer.explore)]
    for one, other in combinations(orders, 2):
        assert [name for name in one if name in other] == [name for name in other if name in one]
