"Drawings as files: the same bits each time, and an SVG that is dark if the reader's browser is."
from io import BytesIO
from pathlib import Path

from .. import InputError
from ..files import write_file
from . import drawn
from .colours import COLOURS, DARK_EDGE, DARK_QUIET, EDGE, ON_DARK, QUIET

__all__ = ["save_drawing"]


def save_drawing(
    figure: "drawn.Figure",   # of plot_heads, plot_heat_maps or plot_figure
    path: str | Path,
    form: str | None = None,  # svg, pdf or png; the ending of `path` if not given
) -> None:
    "Save a whole picture, the same bits each time; an SVG with a white background is dark if the reader's browser is."
    if not hasattr(figure, "savefig"):
        raise InputError(f"save_drawing takes a figure, not {type(figure).__name__}: for axes, give their .figure")
    form = form or Path(path).suffix[1:].lower()
    if form not in (forms := ("svg", "pdf", "png")):
        raise InputError(f"{path}: a picture is saved as {', '.join(forms)}: end the name with one of these, or give one as form")
    from matplotlib import rc_context
    from matplotlib.colors import to_hex

    undated = {"pdf": {"CreationDate": None}, "svg": {"Date": None}}
    with rc_context({"svg.hashsalt": "annotated_transformer", "pdf.fonttype": 42}):  # TrueType, as conferences require
        figure.savefig(whole := BytesIO(), format=form, dpi=200, metadata=undated.get(form))
    data = whole.getvalue()
    if form == "svg" and to_hex(figure.get_facecolor()) == "#ffffff":  # any other stays, and letters must be visible on it
        pairs = {"#ffffff": "#15181d", "#000000": "#ececec", QUIET: DARK_QUIET, EDGE: DARK_EDGE, **dict(zip(COLOURS, ON_DARK))}
        rules = [f'[style*="{what}: {light}"] {{{what}: {dark} !important}}'
                 for light, dark in pairs.items() for what in ("fill", "stroke")]
        style = "@media (prefers-color-scheme: dark) {svg {fill: #ececec}\n" + "\n".join(rules) + "}"
        data = data.replace(b"</style>", f"{style}</style>".encode(), 1)
    write_file(Path(path), lambda beside: beside.write_bytes(data))  # matplotlib's PDF writer would not report a full disk
