"The record of benchmarks.decoding as a picture."
import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator

LOOKS = {  # contender: name, colour
    "ours": ("ours", "#1f6f8b"),
    "ours_float16": ("ours, 16 bits", "#4b97b0"),
    "ours_int8": ("ours, 8 bits", "#9fcbd8"),
    "hugging_face": ("Hugging Face Marian", "#b0623a"),
    "ctranslate2": ("CTranslate2", "#b9b9b9"),
    "ctranslate2_onednn": ("CTranslate2 with oneDNN", "#6f6f6f"),
    "ctranslate2_int8": ("CTranslate2, 8 bits", "#d8cfa0"),
    "onnx_runtime": ("ONNX Runtime", "#8a6fa8"),
}
GROWTH = {  # what grows: label of the axis, and of each work what to say of the rest
    "beams": ("beams", "{batch} sentences, {longest} tokens each"),
    "length": ("tokens of each output", "{batch} sentences, {beams} beams"),
}


def chart(record: dict) -> Figure:
    "The time of each work beside ours, and how the time grows with the beams and with the length of the output."
    works, growth = record["figures"]["works"], record["figures"].get("growth", {})
    growth = {what: found for what, found in growth.items() if found}  # a run that goes on later has not come to all of it
    figure = plt.figure(figsize=(10, 5.4), layout="constrained")
    grid = figure.add_gridspec(max(1, len(growth)), 2 if growth else 1, width_ratios=[1.8, 1] if growth else None)
    left = figure.add_subplot(grid[:, 0])
    draw_works(left, works)
    for row, (what, found) in enumerate(growth.items()):
        draw_growth(figure.add_subplot(grid[row, 1]), what, found)
    figure.legend(*left.get_legend_handles_labels(), loc="outside upper center", ncols=4, frameon=False)
    return figure


def draw_works(axes: Axes, works: dict) -> None:
    "For each work a bar of each contender: how many times as long as ours it took."
    looks = {contender: look for contender, look in LOOKS.items() if all(contender in found["by"] for found in works.values())}
    width = 0.84 / len(looks)
    for i, (contender, (name, colour)) in enumerate(looks.items()):
        heights = [found["by"][contender].get("times_ours", 1.0) for found in works.values()]
        places = [k + (i - (len(looks) - 1) / 2) * width for k in range(len(works))]
        drawn = axes.bar(places, heights, 0.92 * width, color=colour, label=name)
        axes.bar_label(drawn, [f"{height:.2f}" for height in heights], fontsize=7, padding=2, rotation=90)
    names = [f"{name.replace(', ', chr(10))}\n({found['by']['ours']['median_seconds']:.2g} s)" for name, found in works.items()]
    axes.set_xticks(range(len(works)), names, fontsize=9)
    axes.set_title("Time of decoding (below each work: the seconds ours took)", fontsize=10)
    axes.set_ylabel("times ours")
    axes.spines[["top", "right"]].set_visible(False)
    axes.margins(y=0.1)


def draw_growth(axes: Axes, what: str, found: dict) -> None:
    "Seconds of each contender against what grows."
    label, rest = GROWTH[what]
    sizes = [int(size) for size in found]
    for contender, (_, colour) in LOOKS.items():
        if any(contender not in works["by"] for works in found.values()):
            continue
        seconds = [works["by"][contender]["median_seconds"] for works in found.values()]
        axes.plot(sizes, seconds, marker="o", markersize=3, color=colour)
    axes.set(xscale="log", yscale="log", xlabel=label, ylabel="seconds")
    axes.set_title(rest.format(**next(iter(found.values()))["work"]), fontsize=9)
    axes.set_xticks(sizes, sizes)
    axes.xaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.grid(alpha=0.25)
    axes.margins(y=0.12)
