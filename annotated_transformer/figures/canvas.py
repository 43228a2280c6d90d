"""The canvas on which the figures are drawn: boxes, words, arrows and lines at computed positions.

It differs from a Matplotlib figure in one respect: its size is set last, by `finish`, when everything has been drawn. So a
unit has the same length in every drawing, and a longer sentence makes a larger figure, not smaller letters. Matplotlib's
`font.size` scales the whole drawing: at 10 points, its default, sizes are as written here. The attention
maps count inches from the upper left corner, in reading order; Figures 1 and 2 count units of about two centimetres from
the lower left corner, because the paper draws the model from the bottom up. Axes passed in already have a size: the
drawing takes their upper left corner, and if it does not fit, all of it shrinks, letters too. Matplotlib is loaded only
when a canvas is made, because the command line imports this module and rarely draws.
"""
import logging
import re
import unicodedata
import warnings
from collections.abc import Iterable
from typing import NamedTuple

from .. import InputError

__all__ = ["Canvas"]

MARGIN, ROW, GAP = 0.15, 0.21, 0.08      # inches: around a figure, from a line of text to the next, between things
TEXT, SMALL = 10, 8.5                    # points
INK, GREY = "#333333", "#666666"


class Look(NamedTuple):
    "How a box is painted."

    section: str = ""        # of the paper, if its page builds what the box stands for
    light: str = "#e4e4e4"
    dark: str = "#777777"


PLAIN = Look()


def new_axes():
    "Axes that fill a new figure."
    import matplotlib.pyplot as plt

    from .pyplot_figure import Figure

    return plt.figure(FigureClass=Figure, layout="none").add_axes((0, 0, 1, 1))  # regardless of `figure.autolayout`


# Their names on Debian, macOS and Windows.
CHINESE = ("Noto Sans CJK SC", "Noto Sans CJK JP", "Noto Sans SC", "Source Han Sans SC", "WenQuanYi Zen Hei",
           "WenQuanYi Micro Hei", "PingFang SC", "Hiragino Sans GB", "Arial Unicode MS", "Microsoft YaHei", "SimHei",
           "Yu Gothic", "Malgun Gothic")


def script_of(letter: str) -> str:
    "The script in the letter's Unicode name: THAI, DEVANAGARI, CJK; for other signs the whole name: GRINNING FACE."
    name = unicodedata.name(letter, "UNNAMED")
    return name if unicodedata.category(letter).startswith("S") else name.split()[0]


def has_glyph(file: str, letter: str) -> bool:
    "Whether a font has this letter."
    from matplotlib.ft2font import FT2Font

    try:
        return FT2Font(file).get_char_index(ord(letter)) > 0
    except (OSError, RuntimeError):  # Matplotlib's list of fonts may be older than they are
        return False


FOUND: dict[tuple, str | None] = {}  # by configured fonts and script: a font that has it; "": the configured ones; None: none


def font_for(letter: str, own: tuple[str, ...]) -> str | None:
    "A font of this machine for the letter's script, if the configured ones lack it; if there is none, our warning instead."
    from matplotlib import font_manager

    there, script = font_manager.fontManager.ttflist, script_of(letter)
    if (asked := (own, script, len(there))) not in FOUND:
        usual = [font_manager.findfont(font_manager.FontProperties(family=[name])) for name in own]
        fonts = [font for font in there if "Last Resort" not in font.name]  # it has only boxes
        fonts.sort(key=lambda font: ("Sans" not in font.name, font.name))
        found = (font.name for font in fonts if has_glyph(font.fname, letter))
        FOUND[asked] = "" if any(has_glyph(file, letter) for file in usual) else next(found, None)
        if FOUND[asked] is None:
            said = "no font here has letters as %s (%s): pictures show boxes; install one, as of https://fonts.google.com/noto"
            logging.getLogger(__name__).warning(said, letter, script.title())
    if FOUND[asked] is None:  # Matplotlib would warn of each letter at each size; done each time: `catch_warnings` forgets it
        warnings.filterwarnings("ignore", rf"Glyph \d+ \(\\N\{{{re.escape(script)}\b.*missing from font", UserWarning)
    return FOUND[asked]


def families(string: str) -> dict[str, list[str]]:
    "Matplotlib's own fonts lack many scripts, such as Chinese and Thai: add fonts of this machine that have these letters."
    from matplotlib import font_manager, rcParams

    own, chinese = tuple(rcParams["font.family"]), []
    if max(string, default="") >= "\u2e80":
        there = {font.name for font in font_manager.fontManager.ttflist}
        chinese = [*filter(there.__contains__, CHINESE)]
    others = (font_for(one, own) for one in string if one >= "\u0530" and not one.isspace() and one.isprintable()
              and not (chinese and script_of(one) in ("CJK", "HIRAGANA", "KATAKANA", "HANGUL", "FULLWIDTH", "IDEOGRAPHIC")))
    found = [*dict.fromkeys([*chinese, *filter(None, others)])]
    return {"family": [*own, *found]} if found else {}


def checked_axes(axes):
    "Axes to draw into; InputError for anything else."
    from matplotlib.axes import Axes

    if not isinstance(axes, Axes) or axes.name != "rectilinear":
        raise InputError(f"ax: give one of matplotlib's two-dimensional Axes, not {type(axes).__name__}")
    if any(len(shared.get_siblings(axes)) > 1 for shared in (axes.get_shared_x_axes(), axes.get_shared_y_axes())):
        raise InputError("ax: these axes share a scale with others, whose plots the drawing would turn upside down: make them "
                         "without sharex and sharey")
    return axes


def fit(axes, width: float, height: float, before: list) -> None:
    "Put a drawing of this size in inches into the corner of its axes; if they are smaller, everything new shrinks."
    root = axes.figure.canvas.figure
    if root.get_layout_engine() is not None:
        root.draw_without_rendering()  # the axes get their position
    box = axes.get_window_extent()
    scale = min(1.0, box.width / axes.figure.dpi / width, box.height / axes.figure.dpi / height)
    for artist in axes.get_children():
        if any(artist is other for other in before):
            continue
        if hasattr(artist, "set_fontsize"):
            artist.set_fontsize(scale * artist.get_fontsize())
        elif hasattr(artist, "set_linewidth"):
            artist.set_linewidth([scale * width for width in artist.get_linewidth()] if hasattr(artist, "get_paths")
                                 else scale * artist.get_linewidth())
    across, down = (length / axes.figure.dpi / scale for length in box.size)
    (left, right), (bottom, top) = axes.get_xlim(), axes.get_ylim()
    axes.set(xlim=(left, left + (right - left) * across / width), ylim=(top + (bottom - top) * down / height, top))


class Canvas:
    "Text, boxes and arrows. A canvas gets its size last, from what was drawn."

    def __init__(
        self,
        unit: float = 1.0,     # inches
        upward: bool = False,  # y counts from the lower edge, not the upper
        axes=None,             # matplotlib's Axes to draw into; a new figure, pyplot's current one, if not given
    ):
        from matplotlib import rcParams
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        self.scale = rcParams["font.size"] / TEXT
        self.unit, self.upward, self.given = unit * self.scale, upward, axes is not None
        self.axes = new_axes() if axes is None else checked_axes(axes)
        self.before = [*self.axes.get_children()]
        self.axes.axis("off")
        self.figure, self.probe = self.axes.figure, Figure()
        FigureCanvasAgg(self.probe)  # measures texts without a window

    def finish(self, width: float, height: float):
        "The figure, cut to this size; or the given axes, which keep their own."
        self.axes.set(xlim=(0, width), ylim=(0, height) if self.upward else (height, 0), aspect="auto")
        if self.given:
            fit(self.axes, self.unit * width, self.unit * height, self.before)
            return self.axes
        self.figure.set_size_inches(self.unit * width, self.unit * height)
        return self.figure

    def text(self, x: float, y: float, string: str, size: float = TEXT, **style):
        "A text exactly as written, not as mathematics."
        return self.axes.text(x, y, string, fontsize=self.scale * size, **{"parse_math": False} | families(string) | style)

    def width(self, strings: Iterable[str], size: float = TEXT, **style) -> float:
        "The width of the widest string, as the renderer sets it."
        probes = [self.probe.text(0, 0, string, fontsize=self.scale * size, **{"parse_math": False} | families(string) | style)
                  for string in strings]
        widest = max(probe.get_window_extent().width for probe in probes) / self.probe.dpi / self.unit
        for probe in probes:
            probe.remove()
        return widest

    def note(self, x: float, y: float, text: str, size: float = 9, **style) -> None:
        "A text next to or inside boxes; anything between dollar signs is mathematics."
        self.text(x, y, text, size, **{"parse_math": True, "va": "center", "color": GREY, "zorder": 5} | style)

    def frame(self, x: float, y: float, width: float, height: float, rounding: float = 0.12, **style):
        "A rounded rectangle; x is its middle, y its lower edge."
        from matplotlib.patches import FancyBboxPatch

        shape = f"round,pad=0,rounding_size={rounding}"
        return self.axes.add_patch(FancyBboxPatch((x - width / 2, y), width, height, shape, **style))

    def box(
        self,
        x: float,           # of its middle
        y: float,           # of its lower edge
        label: str,
        detail: str = "",   # a second, smaller line
        look: Look = PLAIN,
        width: float = 3.3,
        **style,
    ) -> float:             # y of its upper edge
        "A labelled box; a dark tab on its right edge names the notebook, if there is one."
        from matplotlib.patches import Rectangle

        height, tab = (0.78 if detail else 0.52), (0.2 + 0.13 * len(look.section) if look.section else 0)
        body = self.frame(x, y, width, height, fc=look.light, ec="none", zorder=3)
        if look.section:
            cell = Rectangle((x + width / 2 - tab, y), tab, height, fc=look.dark, ec="none", zorder=3)
            self.axes.add_patch(cell).set_clip_path(body)
            number = {"ha": "center", "weight": "bold", "color": "white"}
            self.note(x + (width - tab) / 2, y + height / 2, look.section, 8.5, **number)
        self.frame(x, y, width, height, **{"fc": "none", "ec": look.dark, "lw": 1.2, "zorder": 4} | style)
        middle = x - tab / 2
        self.note(middle, y + (0.51 if detail else height / 2), label, 10.5, ha="center", color="black")
        self.note(middle, y + 0.21, detail, 8.5, ha="center", color=INK)
        return y + height

    def arrow(self, *points: tuple[float, float], bend: float = 0.15, **style) -> None:
        "An arrow from point to point at right angles, with rounded corners."
        from matplotlib.patches import FancyArrowPatch
        from matplotlib.path import Path

        corners, codes = [], []
        for (x0, y0), (x1, y1), (x2, y2) in zip(points, points[1:], points[2:]):
            before, after = bend / (abs(x1 - x0) + abs(y1 - y0)), bend / (abs(x2 - x1) + abs(y2 - y1))
            corners += [(x1 + before * (x0 - x1), y1 + before * (y0 - y1)), (x1, y1)]
            corners += [(x1 + after * (x2 - x1), y1 + after * (y2 - y1))]
            codes += [Path.LINETO, Path.CURVE3, Path.CURVE3]
        path = Path([points[0], *corners, points[-1]], [Path.MOVETO, *codes, Path.LINETO])
        style = {"arrowstyle": "-|>", "mutation_scale": 11, "lw": 1.2, "color": INK, "zorder": 2} | style
        self.axes.add_patch(FancyArrowPatch(path=path, shrinkA=0, shrinkB=0, **style))

    def tensor(self, x: float, y: float, name: str, shape: str) -> None:
        "What goes in or comes out, with its shape in a second line."
        for below, text in ((0, name), (0.28, shape)):
            self.note(x, y - below, text, 10, ha="center", va="baseline", color="black")

    def plus(self, x: float, y: float) -> None:
        "A sum."
        self.axes.plot(x, y, "o", ms=17, mfc="white", mec=INK, zorder=3)
        self.axes.plot(x, y, "+", ms=10, mec=INK, mew=1.3, zorder=4)
