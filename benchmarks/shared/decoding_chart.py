"The record of benchmarks.decoding as a picture."
import math
from collections.abc import Iterator

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator

LOOKS = {  # contender: name, colour
    "ours": ("ours", "#1f6f8b"),
    "ours_float16": ("ours, 16 bits", "#4b97b0"),
    "ours_int8": ("ours, 8 bits", "#9fcbd8"),
    "hugging_face": ("Hugging Face Marian", "#b0623a"),
    "ctranslate2": ("CTranslate2", "#a0a0a0"),
    "ctranslate2_onednn": ("CTranslate2 with oneDNN", "#5a5a5a"),
    "ctranslate2_int8": ("CTranslate2, 8 bits", "#cdbf73"),
    "onnx_runtime": ("ONNX Runtime", "#4a1e66"),
}
GROWTH = {  # what grows: label of the axis, and of each work what to say of the rest
    "beams": ("beams", "{batch} sentences, {longest} tokens each"),
    "length": ("tokens of each output", "{batch} sentences, {beams} beams"),
}


def chart(record: dict) -> Figure:
    "The time of each work beside ours, and how the time grows with the beams and with the length of the output."
    works, growth = record["figures"]["works"], record["figures"].get("growth", {})
    growth = {what: found for what, found in growth.items() if found}  # a run that goes on later has not come to all of it
    figure = plt.figure(figsize=(10, 6.8 if growth else 3.6), layout="constrained")
    above, *below = figure.subfigures(1 + bool(growth), 1, height_ratios=[1.1, 1][: 1 + bool(growth)], squeeze=False)[:, 0]
    above.suptitle("Time, where ours takes 1 (red: from the lowest round to the highest)", fontsize=11)
    for axes, (name, found) in zip(above.subplots(1, len(works), sharex=True, sharey=True, squeeze=False)[0], works.items()):
        draw_work(axes, name, found["by"])
    if below:
        for axes, (what, found) in zip(below[0].subplots(1, len(growth), squeeze=False)[0], growth.items()):
            draw_growth(axes, what, found)
    return figure


def draw_work(axes: Axes, name: str, by: dict) -> None:
    "A bar of each contender: how many times as long as ours it took."
    looks = {contender: look for contender, look in LOOKS.items() if contender in by}
    for place, (contender, (_, colour)) in enumerate(looks.items()):
        width = by[contender].get("times_ours", 1.0)
        rounds = [theirs / ours for theirs, ours in zip(by[contender]["seconds"], by["ours"]["seconds"])]
        axes.barh(place, width, 0.8, color=colour)
        axes.hlines(place, min(rounds), max(rounds), color="tab:red", lw=1.5)
        axes.annotate(f"{width:.2f}", (max(width, *rounds), place), (3, 0), textcoords="offset points", va="center", fontsize=9)
    axes.set_yticks(range(len(looks)), [look[0] for look in looks.values()])
    axes.set_ylim(len(looks) - 0.4, -0.6)  # ours on top
    axes.axvline(1, color="0.6", lw=0.8, zorder=0)
    axes.set_title(f"{name.replace(', ', chr(10), 1)}\nours: {by['ours']['median_seconds']:.2g} s", fontsize=10)
    axes.spines[["top", "right"]].set_visible(False)
    axes.margins(x=0.2)


def draw_growth(axes: Axes, what: str, found: dict) -> None:
    "Seconds of each contender against what grows, named at the end of its line."
    label, rest = GROWTH[what]
    sizes, ends = [int(size) for size in found], []
    for name, colour, seconds in lines_of(found):
        axes.plot(sizes, seconds, marker="o", markersize=3, color=colour)
        ends.append((seconds[-1], name, colour))
    axes.set(xscale="log", yscale="log", xlabel=label, ylabel="seconds")
    axes.set_title(rest.format(**next(iter(found.values()))["work"]), fontsize=10)
    axes.set_xticks(sizes, sizes)
    axes.xaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.grid(alpha=0.25)
    axes.margins(y=0.12)
    axes.spines[["top", "right"]].set_visible(False)
    low, high = map(math.log, axes.get_ylim())
    row = low
    for second, name, colour in sorted(ends):  # from the lowest line up, at least a row above the one before
        row = max(math.log(second), row + (high - low) / 16)
        lead = {"arrowstyle": "-", "color": colour, "shrinkA": 1, "shrinkB": 0, "relpos": (0, 0.5)}
        axes.annotate(name, (sizes[-1], second), (1.05, (row - low) / (high - low)), textcoords="axes fraction", va="center",
                      fontsize=9, arrowprops=lead)


def lines_of(found: dict) -> Iterator[tuple[str, str, list[float]]]:
    "Of each contender that was in all of it: name, colour, seconds."
    for contender, (name, colour) in LOOKS.items():
        if all(contender in works["by"] for works in found.values()):
            yield name, colour, [works["by"][contender]["median_seconds"] for works in found.values()]
