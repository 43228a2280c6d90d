"""Attention drawn in the form of the paper's Figures 3 to 5, and as heat maps, laid out so that no labels overlap.

A drawing is a new figure, pyplot's current one, or goes into the axes given as `ax`. `hide_end` leaves out the tokens that
stand for no word, `<eos>` or `[CLS]`, as queries and as keys, as Voita et al. (2019) and Clark et al. (2019) do. Their weight is
not redistributed: a weight stays what the model gave, and a row then sums to less than one. The picture says how much is left
out. Only `plot_figure` does so by default: it chooses heads, and many rest on `<eos>`. The other functions draw all of a row,
which sums to one.
"""
import math
import reprlib
from collections.abc import Iterable, Sequence
from operator import index
from typing import Any, NoReturn

import torch
from torch import Tensor

from .. import InputError
from . import drawn
from .canvas import GAP, MARGIN, ROW, SMALL, Canvas
from .colours import DARK_EDGE, EDGE, Head, head_colours, on_dark, quiet
from .token_labels import bare, find, group_words, is_sign, is_special, shown, written_out

__all__ = ["plot_heads", "plot_heat_maps", "plot_figure"]


def require_maps(given: object) -> None:
    "InputError for anything but AttentionMaps, most often a sentence or a translator."
    if not hasattr(given, "kinds"):
        raise InputError(f"attention maps are drawn, such as `translator.attention(sentence)`, not {reprlib.repr(given)}")


def asked_for(
    maps: drawn.Maps,
    kind: str | None,    # if not given, "encoder" if present, else the first kind present
    whole_words: bool,
    hide_end: bool,
) -> tuple[drawn.Maps, str, list[str]]:  # the maps as drawn, the kind, and the keys that are left out
    "What a call asks to see."
    require_maps(maps)
    kind = kind or ("encoder" if "encoder" in maps.kinds else next(iter(maps.kinds)))
    ends = dict.fromkeys(map(shown, filter(is_special, maps.of(kind)[2])))  # `of` refuses a missing kind
    maps = maps.words() if whole_words else maps
    return (maps.without_end(), kind, [*ends]) if hide_end else (maps, kind, [])


def refuse_heads(given: object) -> NoReturn:
    "InputError for anything that does not name heads."
    wanted = "layer must be a whole number, and heads a list of whole numbers or of pairs of layer and head"
    raise InputError(f"{wanted}, not {reprlib.repr(given)}")


def listed(heads: Iterable[int | Head] | None) -> list:
    "Heads as a list, also from an array or a generator; empty if none are given. InputError for what may be a single pair."
    if isinstance(heads, tuple) and len(heads) == 2 and all(isinstance(head, int) for head in heads):
        raise InputError(f"{heads} may be a pair or two heads: write [{heads}] for layer and head, {[*heads]} for two heads")
    try:
        return [] if heads is None else list(heads)
    except TypeError:
        refuse_heads(heads)


def as_pair(layer: int, head: int | Head) -> Head:
    "A head of this layer, or a pair of layer and head, as Python numbers."
    try:
        if isinstance(head, Sequence) or getattr(head, "ndim", 0):  # a tensor or an array of two is a pair
            layer, head = head
        return index(layer), index(head)
    except (TypeError, ValueError):
        refuse_heads((layer, head))


def choose_heads(
    n_layers: int,
    n_heads: int,
    layer: int | None = None,                    # the second to last if not given
    heads: Iterable[int | Head] | None = None,   # heads of that layer, or pairs of layer and head; all of the layer if not given
) -> list[Head]:
    "The selected heads; InputError for a layer or a head that the model does not have."
    layer = max(1, n_layers - 1) if layer is None else layer
    chosen = [as_pair(layer, head) for head in listed(heads) or range(1, n_heads + 1)]
    for layer, head in chosen:
        if not 1 <= layer <= n_layers:
            raise InputError(f"there is no layer {layer}: the model has layers 1 to {n_layers}")
        if not 1 <= head <= n_heads:
            raise InputError(f"there is no head {head}: a layer of the model has heads 1 to {n_heads}")
    return chosen


def write_title(canvas: Canvas, place: str, heads: list[Head], n_layers: int) -> float:
    "Write the title of the drawing and return its width."
    layers = {layer for layer, _ in heads}
    title = f"{place}, layer {heads[0][0]} of {n_layers}" if len(layers) == 1 else place
    canvas.text(MARGIN, MARGIN, title, weight="bold", va="top")
    return canvas.width([title], weight="bold")


def head_names(heads: list[Head]) -> dict[Head, str]:
    "The name of each head: its number, and its layer if not all share one."
    one_layer = len({layer for layer, _ in heads}) == 1
    return {(layer, head): f"head {head}" if one_layer else f"layer {layer}, head {head}" for layer, head in heads}


def opacity(weight: float) -> float:
    "The cube root, so that a weight of 0.05 can be seen."
    return min(1.0, max(0.0, weight)) ** (1 / 3)


LINES, SQUARE = 1.5, 0.17   # inches: room for the lines, side of a square
CELL = 0.18                 # side of a cell of a heat map
FAINTEST = 0.03             # weights below are not drawn
WIDEST, NARROWEST = 2.6, 0.9  # points: of a line


def draw_panel(
    canvas: Canvas,
    left: float,
    top: float,
    heads: list[tuple[Tensor, tuple, str]],   # for each: weights (queries, keys), colour, name
    rows: Sequence[int],                      # the queries whose lines are drawn
    queries: list[str],
    keys: list[str],
    sides: tuple[str, str],                   # headings of the left and right side
    squares: bool,                            # one for each key and head, as dark as the lines
    faintest: float,                          # weights below this are not drawn as lines
) -> float:                                   # where the panel ends
    "Queries on the left, keys on the right, lines between."
    from matplotlib.collections import LineCollection, PatchCollection
    from matplotlib.patches import Rectangle

    queries, keys = [*map(shown, queries)], [*map(shown, keys)]
    start = left + max(canvas.width(queries), canvas.width([sides[0]], SMALL))
    end = start + 2 * GAP + LINES
    after = end + SQUARE * len(heads) * squares + GAP
    for x, align, side, labels in ((start, "right", sides[0], queries), (after, "left", sides[1], keys)):
        canvas.text(x, top - GAP, side, SMALL, ha=align, va="bottom", color=quiet())
        for i, label in enumerate(labels):
            dim = align == "right" and i not in rows
            canvas.text(x, top + (i + 0.5) * ROW, label, ha=align, va="center_baseline", **({"color": quiet()} if dim else {}))

    beside = [((n + 0.5) / len(heads) - 0.5) * SQUARE for n in range(len(heads))]  # the lines of several heads end side by side
    lines = [
        (float(weight[i, j]), (start + GAP, top + (i + 0.5) * ROW), (end, top + (j + 0.5) * ROW + shift), colour)
        for (weight, colour, _), shift in zip(heads, beside) for i in rows for j in range(len(keys)) if weight[i, j] >= faintest
    ]
    lines.sort(key=lambda line: line[0])  # the strongest on top
    canvas.axes.add_collection(LineCollection(
        [(here, there) for _, here, there, _ in lines],
        colors=[(*colour, opacity(weight)) for weight, *_, colour in lines],
        linewidths=[canvas.scale * max(NARROWEST, WIDEST * weight**0.5) for weight, *_ in lines], capstyle="round",
    ))
    if squares:
        patches, shades = [], []
        for n, (weight, colour, name) in enumerate(heads):
            canvas.text(end + (n + 0.5) * SQUARE, top - GAP, name, SMALL, ha="center", va="bottom", rotation=90, color=colour)
            for j, weight_there in enumerate(weight[list(rows)].mean(0).tolist()):
                patches.append(Rectangle((end + n * SQUARE, top + j * ROW + (ROW - SQUARE) / 2), SQUARE, SQUARE))
                shades.append((*colour, opacity(weight_there)))
        canvas.axes.add_collection(PatchCollection(patches, facecolors=shades, edgecolors=DARK_EDGE if on_dark() else EDGE,
                                                linewidths=canvas.scale * 0.5))
    return after + max(canvas.width(keys), canvas.width([sides[1]], SMALL))


def hidden_share(weights: Tensor, heads: Sequence[Head], rows: Sequence[int]) -> float:
    "The share of the weight of these rows, in these heads, that lies on tokens not drawn."
    return 1 - float(weights[[layer - 1 for layer, _ in heads], [head - 1 for _, head in heads]][:, list(rows)].sum(-1).mean())


def legend_lines(
    weights: Tensor,                          # (L, h, queries, keys)
    every: Sequence[Head],                    # the heads drawn
    parts: Sequence[tuple[str, Sequence[Head], Sequence[int]]],  # for each part of the picture: its name, heads and rows
    hidden: Sequence[str],                    # tokens that are left out
    faintest: float,
) -> list[str]:
    "What the lines mean, and what is not drawn."
    said = "left looks at right; a wider, " + ("brighter line: more weight" if on_dark() else "darker line: more weight")
    if faintest != FAINTEST or max(float(weights[layer - 1, head - 1].max()) for layer, head in every) < faintest:
        said += f"; none below {faintest:g}"
    if not hidden:
        return [said]
    (_, heads, rows), *more = parts
    lost = f"left out: {', '.join(hidden)}, with {hidden_share(weights, heads, rows):.0%} of the weight"
    return [said, lost + "".join(f"; {name}, {hidden_share(weights, heads, rows):.0%}" for name, heads, rows in more)]


def plot_heads(
    maps: drawn.Maps,                            # AttentionMaps
    kind: str | None = None,                     # encoder if there, else the first that is
    layer: int | None = None,                    # from 1; the second to last if not given
    heads: Iterable[int | Head] | None = None,   # from 1, of that layer, or pairs (layer, head); all of the layer if not given
    words: str | Sequence[str] = (),             # the rows of these alone, all heads in one panel (Figure 3)
    in_full: Iterable[int | Head] = (),          # with `words`: these heads are drawn in full before (Figure 4)
    whole_words: bool = True,                    # the pieces of a word as one
    hide_end: bool = False,                      # without `<eos>` and other tokens that stand for no word
    ax: "drawn.Axes | None" = None,              # matplotlib's Axes to draw into; a new figure if not given
    faintest: float = FAINTEST,                  # weights below have no line; in a long sentence 0.15 leaves few
) -> "drawn.Figure | Any":                       # matplotlib's Figure; the Axes if they are given
    """Lines from each word to those it looks at, stronger for a larger weight. Without `words`, a panel for each head (Figure 5);
    more than four panels take several rows.

    In a model with up to twenty heads per layer, the number of a head decides its colour, in every picture, unless two of the
    heads drawn have the same number: then the first head has the first colour, the second the second, and so on.
    """
    maps, kind, hidden = asked_for(maps, kind, whole_words, hide_end)
    weights, queries, keys = maps.of(kind)
    chosen = choose_heads(*weights.shape[:2], layer, heads)
    words = [words] if isinstance(words, str) else list(words)
    rows = sorted({i for word in words for i in find(queries, word)})
    in_full = listed(in_full)
    full = chosen if not words else choose_heads(*weights.shape[:2], layer, in_full) if in_full else []

    every = list(dict.fromkeys([*full, *chosen]))
    names = head_names(every)
    colours = head_colours(every)
    styles = {pair: (weights[pair[0] - 1, pair[1] - 1], colours[pair], names[pair]) for pair in every}

    canvas, x = Canvas(axes=ax), MARGIN
    sides = maps.kinds[kind][1:]
    title_width = write_title(canvas, maps.kinds[kind].title, every, len(weights))
    subtitle = MARGIN + 1.5 * ROW
    top = subtitle + ROW + max(ROW, canvas.width(names.values(), SMALL) + GAP if words else 0)
    columns = len(full) if words or len(full) <= 4 else math.ceil(math.sqrt(len(full)))
    down = top - subtitle + ROW * max(len(queries), len(keys)) + 2 * GAP
    ends, parts = [x], [("", full, range(len(queries)))] if full else []
    for n, pair in enumerate(full):
        x, y = (x if n % columns else MARGIN), n // columns * down
        _, colour, name = styles[pair]
        canvas.text(x, subtitle + y, name, va="top", color=colour)
        x = draw_panel(canvas, x, top + y, [styles[pair]], range(len(queries)), queries, keys, sides, False, faintest)
        ends.append(x := x + 3 * GAP)
    if words:
        only = "only " + ", ".join(f"“{written_out(word)}”" for word in words)
        canvas.text(x, subtitle, only, va="top")
        end = draw_panel(canvas, x, top, [styles[pair] for pair in chosen], rows, queries, keys, sides, True, faintest)
        ends.append(max(end, x + canvas.width([only])) + 3 * GAP)
        parts.append((only, chosen, rows))
    bottom = subtitle + down * max(1, math.ceil(len(full) / max(1, columns)))
    legend = legend_lines(weights, every, parts, hidden, faintest)
    legend[0] += "; a square: the mean of its lines" * (len(rows) > 1)
    canvas.text(MARGIN, bottom, "\n".join(legend), SMALL, va="top", color=quiet())
    x = max(max(ends) - 3 * GAP, MARGIN + canvas.width(legend, SMALL), MARGIN + title_width)
    return canvas.finish(x + MARGIN, bottom + ROW * 0.8 * len(legend) + MARGIN)


def plot_heat_maps(
    maps: drawn.Maps,                            # AttentionMaps
    kind: str | None = None,                     # encoder if there, else the first that is
    layer: int | None = None,                    # from 1; the second to last if not given
    heads: Iterable[int | Head] | None = None,   # from 1, of that layer, or pairs (layer, head); all of the layer if not given
    hide_end: bool = False,                      # without `<eos>` and other tokens that stand for no word
    ax: "drawn.Axes | None" = None,              # matplotlib's Axes to draw into; a new figure if not given
) -> "drawn.Figure | Any":                       # matplotlib's Figure; the Axes if they are given
    "Each head as a table of its weights: a row for each query, a column for each key; pieces of words stay separate."
    maps, kind, hidden = asked_for(maps, kind, False, hide_end)
    weights, queries, keys = maps.of(kind)
    chosen = choose_heads(*weights.shape[:2], layer, heads)
    queries, keys = [*map(shown, queries)], [*map(shown, keys)]
    names, columns = head_names(chosen), math.ceil(math.sqrt(len(chosen)))

    canvas = Canvas(axes=ax)
    title_width = write_title(canvas, maps.kinds[kind].title, chosen, len(weights))
    sides = f"rows ({maps.kinds[kind].queries}) look at columns ({maps.kinds[kind].keys})"
    canvas.text(MARGIN, MARGIN + 1.2 * ROW, sides, SMALL, va="top", color="0.5")
    wide, high = CELL * len(keys), CELL * len(queries)
    left, top = MARGIN + canvas.width(queries, SMALL) + GAP, MARGIN + 3.6 * ROW
    across, down = max(wide, canvas.width(names.values())) + 2 * GAP, high + ROW + 2 * GAP
    shades = {"vmin": 0, "vmax": 1, "cmap": "Blues"}
    for n, (layer, head) in enumerate(chosen):
        x, y = left + n % columns * across, top + n // columns * down
        canvas.text(x, y - GAP / 2, names[layer, head], va="bottom")
        canvas.axes.imshow(weights[layer - 1, head - 1].tolist(), extent=(x, x + wide, y + high, y), **shades)
        canvas.axes.plot([x, x, x + wide, x + wide, x], [y, y + high, y + high, y, y], color="0.5", linewidth=0.6)
        if n % columns == 0:
            for i, label in enumerate(queries):
                canvas.text(x - GAP / 2, y + (i + 0.5) * CELL, label, SMALL, ha="right", va="center_baseline")
        if n + columns >= len(chosen):  # nothing is below it
            for j, label in enumerate(keys):
                canvas.text(x + (j + 0.5) * CELL, y + high + GAP / 2, label, SMALL, ha="center", va="top", rotation=90)
    x, legend = left + columns * across, top + 5 * CELL
    canvas.axes.imshow([[share / 50] for share in range(50, -1, -1)], extent=(x, x + 0.12, legend, top), **shades)
    canvas.text(x, top - GAP / 2, "weight", SMALL, va="bottom")
    canvas.text(x + 0.16, top, "1", SMALL, va="top")
    canvas.text(x + 0.16, legend, "0", SMALL, va="bottom")
    right = max(x + canvas.width(["weight"], SMALL), MARGIN + title_width, MARGIN + canvas.width([sides], SMALL))
    below = top + (math.ceil(len(chosen) / columns) - 1) * down + high + GAP / 2 + canvas.width(keys, SMALL)
    bottom = max(below, legend)  # for a short sentence the weight bar is the taller one
    if hidden:
        said = f"left out: {', '.join(hidden)}, with {hidden_share(weights, chosen, range(len(queries))):.0%} of the weight"
        canvas.text(MARGIN, bottom := bottom + GAP, said, SMALL, va="top", color=quiet())
        right, bottom = max(right, MARGIN + canvas.width([said], SMALL)), bottom + 0.8 * ROW
    return canvas.finish(right + MARGIN, bottom + MARGIN)


PRONOUNS = {*"he him his himself she her hers herself it its itself they them their theirs themselves".split(),
            *"er ihn ihm sie ihr es ihnen".split(), *"il ils elle elles lui eux".split()}  # German, French


def sharpness(
    maps: drawn.Maps,
    kind: str,
    word: str,
    words_alone: bool,     # only weights on other words count, not those on the word itself or on punctuation
) -> Tensor:               # (L, h)
    "For each head, the strongest weight on a piece of the word, averaged over its pieces."
    weights, queries, keys = maps.of(kind)
    rows, columns = find(queries, word), range(len(keys))
    if words_alone:
        own = rows if kind != "encoder_decoder" else ()
        others = [j for j in columns if j not in own and not is_sign(keys[j]) and not is_special(keys[j])]
        columns = others or columns  # a sentence of one word looks at that
    return weights[:, :, rows][..., list(columns)].amax(-1).mean(-1)


def difference(weights: Tensor) -> Tensor:  # (n, queries, keys) to (n, n)
    "For each pair of heads, the share of the weight that would have to move, averaged over the rows."
    flat = weights.flatten(1)
    return torch.cdist(flat, flat, p=1.0) / (2 * weights.size(1))


def plot_figure(
    maps: drawn.Maps,                            # AttentionMaps
    number: int,                                 # 3, 4 or 5
    kind: str | None = None,                     # encoder if there, else the first that is
    layer: int | None = None,                    # if not given, all; with `hide_end=False` or bare numbers, the second to last
    heads: Iterable[int | Head] | None = None,   # chosen from the layer, or layers, by rule if not given
    word: str | None = None,                     # for Figures 3 and 4; a pronoun, or the longest word, if not given
    whole_words: bool = True,                    # the pieces of a word as one
    hide_end: bool = True,                       # without `<eos>` and other tokens that stand for no word
    ax: "drawn.Axes | None" = None,              # matplotlib's Axes to draw into; a new figure if not given
    faintest: float = FAINTEST,                  # weights below have no line; in a long sentence 0.15 leaves few
) -> "drawn.Figure | Any":                       # matplotlib's Figure; the Axes if they are given
    """The paper's Figure 3, 4 or 5, of this sentence.

    If no word is named, it is the first pronoun, or the longest word if there is no pronoun. If no heads are named, they are
    chosen from the layer, or from all layers. Figure 3 shows as many heads as a layer has, Figure 4 two: those whose strongest
    weight on a piece of the word is largest, averaged over its pieces. Only weights on other words count, not those on
    punctuation or on the word itself. Figure 5 shows the two heads that differ most. The measure is half the sum of the absolute
    differences of two rows, which is the share of the weight that would have to move, averaged over the rows.

    With `hide_end=False` every token counts and is drawn, and the layer is the second to last unless another is named.
    """
    shown_maps, kind, _ = asked_for(maps, kind, whole_words, hide_end)
    weights, queries, _ = shown_maps.of(kind)
    n_layers, n_heads = weights.shape[:2]
    if number not in (3, 4, 5):
        raise InputError(f"the paper has no Figure {number!r} of attention: choose 3, 4 or 5")
    heads = listed(heads)
    every = hide_end and layer is None and not heads
    named = choose_heads(n_layers, n_heads, layer, heads)
    first = 0 if every else named[0][0] - 1                       # of the layers to choose from
    among = weights[first:] if every else weights[first : first + 1]

    def pair(place: int) -> Head:
        return first + place // n_heads + 1, place % n_heads + 1

    how = {"whole_words": whole_words, "hide_end": hide_end, "ax": ax, "faintest": faintest}
    if number == 5:
        apart = difference(among.flatten(0, 1))
        heads = heads or [*map(pair, sorted(set(divmod(int(apart.argmax()), len(apart)))))]
        return plot_heads(maps, kind, layer, heads, **how)
    candidates = [bare(label) for label in group_words(queries)[0] if not is_special(label) and bare(label)] or queries
    word = word or next((word for word in candidates if word.lower() in PRONOUNS), max(candidates, key=len))
    largest = sharpness(shown_maps, kind, word, hide_end)[first : first + len(among)].flatten().argsort(descending=True)
    if number == 3:
        heads = sorted(map(pair, largest[:n_heads].tolist())) if every else heads
        return plot_heads(maps, kind, layer, heads, word, **how)
    heads = heads or [*map(pair, largest[:2].tolist())]
    return plot_heads(maps, kind, layer, heads, word, heads[:1], **how)
