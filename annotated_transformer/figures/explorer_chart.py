"""The explorer's chart, which JupyterLab draws by itself: data and marks in one specification in the language Vega-Lite.

Data: one record for each head, which the chart divides into its cells; a record for each weight would take many times as much.
Weights are whole thousandths, since the eye cannot tell finer ones apart.
Positions: all are computed beforehand, in pixels (`Layout`). The width of a label is needed before its font is known: 0.62 of
the letters' height for each letter is enough for the common sans-serif fonts, and a label that is still wider is cut off.
Pointer: `pointed` holds the query and the key under it. The focus is the query's row if there is one, otherwise the key's
column, otherwise everything: lines are drawn for the cells in focus, and in the heat map the others fade.
"""
import functools
import json
import re
import unicodedata
from collections.abc import Iterator

import altair as alt

from .token_labels import group_words, is_special, shown, written_out

__all__ = ["specification", "sentence", "both_texts"]


def head_records(
    maps,                 # AttentionMaps
) -> list[dict]:
    "One record for each head: what it is, and its weights in thousandths, a list for each query."
    return [
        {"kind": kind, "layer": layer, "head": head, "place": head - 1, "rows": (1000 * weights).round().int().tolist()}
        for kind in maps.kinds
        for layer, of_layer in enumerate(maps.of(kind)[0], 1)
        for head, weights in enumerate(of_layer, 1)
    ]


def text_width(text: str) -> float:
    "Enough width for a text, in heights of its letters: East Asian letters are as wide as they are high."
    return sum(1 if unicodedata.east_asian_width(letter) in "WF" else 0.62 for letter in text)


class Layout:
    "Where things are, in pixels from the upper left: two columns of tokens with lines between them, then the heat map."

    NUMBERS, BETWEEN, GAP = 46, 170, 34  # widths: a column of numbers, the lines, what separates the two halves

    def __init__(
        self,
        most: int,      # labels of the longest axis: a choice must not move anything, so all kinds get the same space
        widest: float,  # of all labels, in heights of the letters
    ):
        self.step = max(12, min(22, 660 // most))  # height of a row, width and height of a cell
        self.font = min(13, self.step - 2)
        self.label = 10 + round(self.font * min(widest, 15))
        self.query = self.NUMBERS                  # left edges of the columns
        self.key = self.query + self.label + self.BETWEEN
        self.row = self.key + self.label + self.NUMBERS + self.GAP
        self.cells = self.row + self.label
        self.top = self.label + 20                 # above the first row: the columns' labels and headings
        self.width, self.height = self.cells + most * self.step, self.top + most * self.step

    def boxes(
        self,
        kind: str,
        queries: list[str],  # labels
        keys: list[str],
    ) -> Iterator[dict]:
        "Each label with its box. Queries are in the left column and in rows, keys in the right column and in columns."
        columns = [("query", self.query, queries), ("key", self.key, keys), ("row", self.row, queries)]
        standing = [  # place, index, label, x, y, width, height
            *((place, i, label, x, self.top + i * self.step, self.label, self.step)
              for place, x, labels in columns for i, label in enumerate(labels)),
            *(("column", i, label, self.cells + i * self.step, self.top - self.label, self.step, self.label)
              for i, label in enumerate(keys)),
        ]
        for place, i, label, x, y, width, height in standing:
            query, key = (i, -1) if place in ("query", "row") else (-1, i)
            yield {"kind": kind, "place": place, "label": shown(label), "query": query, "key": key,
                   "x": x, "x2": x + width, "y": y, "y2": y + height}


INK, FAINT, BLUE, PALE_BLUE, NAVY, AMBER = "#222222", "#6b6b6b", "#1f5fa8", "#6aa5e3", "#0a2142", "#f5c242"
COLOURS = ["#0b62b8", "#c2410c", "#0b7a52", "#9b2f8f", "#7a6000", "#00707f", "#b3003b", "#4d5763"]  # of several heads at once

# What the pointer is on, in Vega's language. `query` and `key` are -1 if there is none.
ROW, COLUMN = "(query >= 0 && datum.query == query)", "(query < 0 && key >= 0 && datum.key == key)"
FOCUS = f"{ROW} || {COLUMN} || query < 0 && key < 0"


def across(field: str) -> alt.X:
    "A column of the data as pixels from the left."
    return alt.X(field, type="quantitative", scale=None, axis=None)


def down(field: str) -> alt.Y:
    "A column of the data as pixels from the top."
    return alt.Y(field, type="quantitative", scale=None, axis=None)


def chosen_heads() -> alt.Chart:
    "The chosen head, all heads of its layer, or those that `Explorer.only` has left; if there are several, each has its colour."
    return (
        alt.Chart(alt.NamedData("heads"))
        .transform_filter("datum.kind == kind && (left || datum.layer == layer && (together || datum.head == head))")
        .transform_calculate(place="shown > 1 ? datum.place : 0")
        .transform_calculate(colour=f"shown > 1 ? {json.dumps(COLOURS)}[datum.place % {len(COLOURS)}] : '{BLUE}'")
    )


def chosen_cells(at: Layout) -> alt.Chart:
    "The cells of the chosen heads: weight, labels and position of each. Lines of several heads lie side by side."
    beside = f"{at.step / 2} + (datum.place - (shown - 1) / 2) * min(3, {at.step - 8} / shown)"
    return (
        chosen_heads()
        .transform_calculate(query="sequence(length(datum.rows))")
        .transform_flatten(["rows", "query"], ["row", "query"])
        .transform_calculate(key="sequence(length(datum.row))")
        .transform_flatten(["row", "key"], ["thousandths", "key"])
        .transform_calculate(
            weight="datum.thousandths / 1000",
            query_label="axes[kind].queries[datum.query]",
            key_label="axes[kind].keys[datum.key]",
            x=f"{at.cells + at.step / 2} + {at.step} * datum.key",
            query_y=f"{at.top + at.step / 2} + {at.step} * datum.query",
            key_y=f"{at.top + at.step / 2} + {at.step} * datum.key",
            query_line=f"{at.top} + {at.step} * datum.query + {beside}",
            key_line=f"{at.top} + {at.step} * datum.key + {beside}",
        )
    )


def draw_weights(at: Layout) -> list[alt.Chart]:
    "The heat map, the lines, and for the token under the pointer its weights next to the other tokens, in colour and in numbers."
    cells, weight = chosen_cells(at), alt.Tooltip("weight:Q", title="weight", format=".3f")
    tooltip = [alt.Tooltip("query_label:N", title="query"), alt.Tooltip("key_label:N", title="key"), weight]
    heat_map = cells.transform_filter("shown == 1").mark_square(size=(at.step - 1) ** 2, opacity=1).encode(
        across("x"), down("query_y"),
        fill=alt.Fill("weight:Q", title="weight").scale(domain=[0, 1], range=["#f0f3f8", BLUE, NAVY])
            .legend(orient="none", direction="horizontal", legendX=at.cells, legendY=at.height + 10, gradientLength=110),
        fillOpacity=alt.condition(FOCUS, alt.value(1), alt.value(0.25)),
        tooltip=tooltip,  # a mark with a tooltip also answers to the pointer
    )
    visible, as_opaque = cells.transform_filter("datum.thousandths >= 5"), alt.StrokeOpacity("weight:Q", scale=None)
    colour, width = alt.Stroke("colour:N", scale=None), 2.5 if at.step > 14 else 2
    lines = visible.transform_filter(FOCUS).mark_rule(strokeWidth=width).encode(
        alt.X(value=at.query + at.label), down("query_line"), alt.X2(value=at.key), alt.Y2("key_line"), colour, as_opaque)
    drawn = [heat_map, draw_strips(at, visible, tooltip), lines]
    for pointed, y, left, number, align in (
        (ROW, "key_y", at.key, at.key + at.label + 4, "left"), (COLUMN, "query_y", at.query, at.query - 4, "right"),
    ):
        others = visible.transform_filter(pointed)
        part = {name: f"{left} + {at.label} * (datum.place + {more}) / shown" for name, more in (("from", 0), ("to", 1))}
        behind = others.transform_calculate(**part, colour=f"shown > 1 ? datum.colour : '{PALE_BLUE}'",
                                            weight="shown > 1 ? datum.weight / 2 : datum.weight")
        drawn.append(behind.mark_rule(strokeWidth=at.step - 1).encode(across("from"), down(y), alt.X2("to"), colour, as_opaque))
        drawn.append(others.transform_filter("shown == 1").mark_text(
            align=align, baseline="middle", fontSize=at.font - 1, fill=INK,
        ).encode(alt.X(value=number), down(y), text=alt.Text("weight:Q", format=".2f")))
    return [*drawn, name_heads(at)]


def draw_strips(at: Layout, visible: alt.Chart, tooltip: list) -> alt.Chart:
    "The heat map of several heads: each has a strip of every cell."
    within = {name: f"{at.cells} + {at.step} * datum.key + {at.step - 1} * (datum.place + {more}) / shown"
              for name, more in (("from", 0), ("to", 1))}
    ends = {"top": f"datum.query_y - {at.step / 2 - 0.5}", "bottom": f"datum.query_y + {at.step / 2 - 0.5}"}
    shade = f"{FOCUS} ? datum.weight : 0.25 * datum.weight"
    return visible.transform_filter("shown > 1").transform_calculate(**within, **ends, shade=shade).mark_rect(opacity=1).encode(
        across("from"), down("top"), alt.X2("to"), alt.Y2("bottom"), fill=alt.Fill("colour:N", scale=None),
        fillOpacity=alt.FillOpacity("shade:Q", scale=None), tooltip=[alt.Tooltip("layer:Q"), alt.Tooltip("head:Q"), *tooltip])


def name_heads(at: Layout) -> alt.Chart:
    "Below the lines, the name of each of several heads in its colour."
    return (
        chosen_heads().transform_filter("shown > 1")
        .transform_calculate(name="'layer ' + datum.layer + ', head ' + datum.head", x=f"{at.query} + 105 * (datum.place % 4)",
                             y=f"{at.height + 12} + 16 * floor(datum.place / 4)")
        .mark_text(align="left", baseline="top", fontSize=at.font, fontWeight="bold")
        .encode(across("x"), down("y"), text="name:N", fill=alt.Fill("colour:N", scale=None))
    )


def draw_labels(
    at: Layout,
    kinds: dict,                             # of an AttentionMaps
) -> tuple[alt.Chart, list[alt.Chart]]:      # boxes, which belong behind the weights, and texts
    "The tokens of both halves. Their boxes respond to the pointer, and the box of the token under it is coloured."
    pointed = alt.selection_point("pointed", fields=["query", "key"], on="mouseover", clear="mouseout", toggle=False)
    labels = alt.Chart(alt.NamedData("labels")).transform_filter("datum.kind == kind")
    same = "datum.query >= 0 && datum.query == query || datum.key >= 0 && datum.key == key"
    boxes = labels.mark_rect(fill=AMBER).encode(
        across("x"), down("y"), alt.X2("x2"), alt.Y2("y2"), fillOpacity=alt.condition(same, alt.value(0.5), alt.value(0)),
    ).add_params(pointed)

    def tokens(place, x, y, **how):
        return labels.transform_filter(alt.datum.place == place).mark_text(
            baseline="middle", fontSize=at.font, limit=at.label - 6, fill=INK, dy=at.step / 2, **how).encode(x, y, text="label:N")

    def heading(side, x, y, align):
        text = alt.expr(f"{json.dumps({name: kind[side] for name, kind in kinds.items()})}[kind]")
        return alt.Chart(alt.InlineData([{}])).mark_text(
            text=text, align=align, baseline="bottom", fontSize=at.font, fill=FAINT).encode(alt.X(value=x), alt.Y(value=y))

    return boxes, [
        tokens("query", across("x2"), down("y"), align="right", dx=-5),
        tokens("key", across("x"), down("y"), align="left", dx=5),
        tokens("row", across("x2"), down("y"), align="right", dx=-5),
        tokens("column", across("x"), down("y2"), align="left", dx=5, angle=270),
        heading(1, at.query + at.label - 5, at.top - 5, "right"),
        heading(2, at.key + 5, at.top - 5, "left"),
        heading(1, at.cells - 5, at.top - 5, "right"),
        heading(2, at.cells, at.top - at.label - 4, "left"),
    ]


@functools.lru_cache(maxsize=8)
def drawing(
    most: int,     # these two as for `Layout`
    widest: float,
    kinds: tuple,  # of an AttentionMaps: pairs of name and `Kind`
    sizes: tuple,  # of each: layers and heads
) -> str:
    "The part that no weight, label text or choice changes, as JSON: much work for Altair, done once per sentence."
    n_layers, n_heads = (max(numbers) for numbers in zip(*sizes))
    at, names, buttons = Layout(most, widest), {name: kind.title for name, kind in kinds}, alt.binding_radio
    choices = [
        alt.param("kind", value="", bind=buttons(name="attention ", options=list(names), labels=list(names.values()))),
        alt.param("layer", value=0, bind=buttons(name="layer ", options=list(range(1, n_layers + 1)))),
        alt.param("head", value=0, bind=buttons(name="head ", options=list(range(1, n_heads + 1)))),
        alt.param("together", value=False, bind=alt.binding_checkbox(name="all heads of the layer ")),
    ]
    size = f"{json.dumps(dict(zip(names, sizes)))}[kind]"
    derived = [
        alt.param("axes", value={}),
        alt.param("left", value=0),  # how many heads `Explorer.only` has left; then nothing else is chosen
        alt.param("shown", expr=f"left || (together ? {size}[1] : 1)"),
        alt.param("query", expr="pointed.query ? pointed.query[0] : -1"),
        alt.param("key", expr="pointed.key ? pointed.key[0] : -1"),
    ]
    one = f"', layer ' + layer + ' of ' + {size}[0] + (shown > 1 ? '' : ', head ' + head + ' of ' + {size}[1])"
    title = f"{json.dumps(names)}[kind] + (left > 1 ? '' : {one})"
    subtitle = "Queries stand on the left and in rows, keys on the right and in columns: a query looks at keys."
    boxes, texts = draw_labels(at, dict(kinds))
    return (
        alt.layer(boxes, *draw_weights(at), *texts)
        .add_params(*choices, *derived)
        .resolve_scale(fill="independent")  # weights have a scale, the colours of several heads have none
        .properties(width=at.width, height=at.height, padding=10, background="white")
        .properties(title=alt.Title(alt.expr(title), subtitle=subtitle, anchor="start", fontSize=15, subtitleColor=FAINT))
        .configure(aria=False, view=alt.ViewConfig(stroke=None))
        .to_json(indent=None, validate=False)  # validating takes a third of the time and always says the same: a test does it
    )


def specification(
    maps,       # AttentionMaps
    kind: str,  # what is chosen at first
    layer: int,
    head: int,
) -> dict:
    "The whole picture as a specification in Vega-Lite 5, weights included."
    axes = {name: {side: [*map(written_out, labels)] for side, labels in zip(("queries", "keys"), maps.of(name)[1:])}
            for name in maps.kinds}
    sizes = tuple(tuple(maps.of(name)[0].shape[:2]) for name in maps.kinds)  # encoder and decoder may differ
    every = [labels for of_kind in axes.values() for labels in of_kind.values()]
    most, widest = max(map(len, every)), max(text_width(label) for labels in every for label in labels)
    at, found = Layout(most, widest), json.loads(drawing(most, widest, tuple(maps.kinds.items()), sizes))
    first = {"kind": kind, "layer": layer, "head": head, "axes": axes}
    for one in found["params"]:
        one.update({"value": first[one["name"]]} if one["name"] in first else {})
    boxed = [box for name, of_kind in axes.items() for box in at.boxes(name, **of_kind)]
    return found | {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "description": f"Attention weights of {both_texts(maps)[0]}",
        "datasets": found["datasets"] | {"heads": head_records(maps), "labels": boxed},
        "usermeta": {"embedOptions": {"actions": {"export": True, "source": False, "compiled": False, "editor": False}}},
    }


def sentence(
    labels: list[str],  # of the pieces; a dot begins one that continues a word
) -> str:
    "The labels as running text, without `<eos>` and similar tokens: no space within a word or before `,` `.` `?` and the like."
    words, _ = group_words([written_out(label) for label in labels if not is_special(label)])
    return re.sub(r" ([.,:;!?…]+)(?= |$)", r"\1", " ".join(words))


def both_texts(
    maps,                # AttentionMaps
) -> tuple[str, str]:
    "What was read and what was written, as running text; for an encoder or a decoder alone, what it has read, and nothing."
    if maps.source:
        return sentence(maps.source), sentence(maps.target)
    return sentence(maps.target_input), ""


VEGA_LITE = "5.20"  # the version that vl-convert draws pictures with, and the site's
