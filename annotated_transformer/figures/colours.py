"""The colours of heads, on a light background and on a dark one.

There are twenty: ten, and the same ten mixed with black, or with white on a dark background. All are easy to see as thin lines,
even pale ones with a small weight; more than twenty heads share them.
"""
__all__ = ["COLOURS", "DARK_EDGE", "DARK_QUIET", "EDGE", "ON_DARK", "QUIET", "Head", "head_colours", "on_dark", "quiet"]

Head = tuple[int, int]  # layer and head, both counted from 1


def mixed(colours: list[str], ground: int) -> list[str]:
    "Each colour mixed with a grey of this brightness, 0 to 255."
    parts = [[int(colour[i : i + 2], 16) for i in (1, 3, 5)] for colour in colours]
    return ["#" + "".join(f"{round(0.55 * part + 0.45 * ground):02x}" for part in three) for three in parts]


COLOURS = "#1f5fa8 #c65d00 #2b7a3d #c0262d #7b4fa3 #7a4a2b #c03a8c #555555 #7d7a00 #0b7d8c".split()
ON_DARK = "#6cb0ff #ff9d4d #5fce7a #ff8080 #c29bff #d9a07a #ff86c8 #b5b5b5 #cfcb4a #48cbe0".split()
COLOURS, ON_DARK = COLOURS + mixed(COLOURS, 0), ON_DARK + mixed(ON_DARK, 255)
QUIET, EDGE = "#6b6b6b", "#bfbfbf"  # labels that matter less; edges of squares
DARK_QUIET, DARK_EDGE = "#a3a3a3", "#4d535c"


def on_dark() -> bool:
    "Whether matplotlib's style, for example `dark_background`, writes light on dark."
    from matplotlib import rcParams
    from matplotlib.colors import to_rgb

    return sum(to_rgb(rcParams["text.color"])) > 1.5


def quiet() -> str:
    "The colour of labels that matter less."
    return DARK_QUIET if on_dark() else QUIET


def head_colours(heads: list[Head]) -> dict[Head, tuple]:
    "Each head's colour: by its number, or by the order of the heads if two would have the same."
    from matplotlib.colors import to_rgb

    palette, places = [*map(to_rgb, ON_DARK if on_dark() else COLOURS)], [head - 1 for _, head in heads]
    if len({place % len(palette) for place in places}) < len(heads):
        places = [*range(len(heads))]
    return {pair: palette[place % len(palette)] for pair, place in zip(heads, places)}
