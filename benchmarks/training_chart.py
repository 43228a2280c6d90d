"The record of benchmarks.training as a picture."
import matplotlib.pyplot as plt
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter, PercentFormatter

LOOKS = {  # contender: name, colour
    "ours": ("ours", "#1f6f8b"),
    "peer": ("torch.nn.Transformer", "#b0623a"),
    "peer with the paper's dropout": ("the same, dropout as in the paper", "#dcae91"),
}
KIND_COLOURS = ["#12343f", "#1f6f8b", "#6fb1bf", "#bfdfe0", "#e8c08a", "#c98b4e", "#8f8f8f", "#d4d4d4"]


def bars(axes, steps: dict, value, text) -> None:
    "For each work a bar of each contender, with its figure above it."
    width = 0.8 / len(LOOKS)
    for i, (contender, (name, colour)) in enumerate(LOOKS.items()):
        heights = [value(found["contenders"][contender]) for found in steps.values()]
        places = [k + (i - (len(LOOKS) - 1) / 2) * width for k in range(len(steps))]
        drawn = axes.bar(places, heights, 0.92 * width, color=colour, label=name)
        axes.bar_label(drawn, [text(height) for height in heights], fontsize=8, padding=1)
    axes.set_xticks(range(len(steps)), steps)
    axes.spines[["top", "right"]].set_visible(False)
    axes.margins(y=0.1)


def lines(axes, points: list[dict], style: str, note: str = "") -> None:
    "Milliseconds of a step at each size, ours and the peer's."
    sizes = [point["size"] for point in points]
    for contender in ("ours", "peer"):
        times = [1e3 * point["median_seconds"][contender] for point in points]
        axes.plot(sizes, times, style, marker="o", markersize=3, color=LOOKS[contender][1])
        if note:
            axes.annotate(note, (sizes[0], times[0]), xytext=(0, 4), textcoords="offset points", fontsize=7.5)


def chart(record: dict) -> Figure:
    "Time and rate of a step beside those of `torch.nn.Transformer`, how the time grows, and where it goes."
    figures = record["figures"]
    steps, growth, profile = figures["steps"], figures["growth"], figures["profile"]
    figure, axes = plt.subplot_mosaic("aaabbb;ccddee;ffffff", figsize=(9, 9), layout="constrained", height_ratios=[1, 1, 0.9])

    bars(axes["a"], steps, lambda part: part.get("times_ours", 1.0), "{:.2f}".format)
    axes["a"].set(title="Time of a training step", ylabel="times ours")
    bars(axes["b"], steps, lambda part: part["share_of_matrix_products"], "{:.0%}".format)
    axes["b"].set(title="Arithmetic done, against large matrix products", ylabel="share of their rate")
    axes["b"].yaxis.set_major_formatter(PercentFormatter(1))
    figure.legend(*axes["a"].get_legend_handles_labels(), loc="outside upper center", ncols=len(LOOKS), frameon=False)

    (work, series), *others = growth.items()
    for place, (what, points), label in zip("cde", series.items(), ("longest sentence, tokens", "batch, tokens", "vocabulary")):
        ax = axes[place]
        lines(ax, points, "-", work if others and what == "length" else "")
        for other, more in others:
            if what in more:
                lines(ax, more[what], "--", other)
        shares = [point["attention_share_of_flops"] for point in points]
        fixed = f"attention: {shares[0]:.0%} to {shares[-1]:.0%} of the FLOPs" if what == "length" else work
        ax.set(xscale="log", yscale="log", title=f"The {what} grows\n({fixed})".replace("The tokens grows", "The batch grows"))
        ax.set_xlabel(label)
        ticks = [point["size"] for point in points][:: 2 if len(points) > 4 else 1]
        ax.set_xticks(ticks, [f"{tick:,}" for tick in ticks])
        ax.xaxis.set_minor_formatter(NullFormatter())
        ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
        ax.yaxis.set_minor_formatter(NullFormatter())
        ax.title.set_fontsize(10)
        ax.grid(alpha=0.25)
    axes["c"].set_ylabel("milliseconds of a step")

    rows = [(work, contender, part) for work, found in profile.items() for contender, part in found.items()][::-1]
    kinds = list(rows[0][2]["shares"])
    left = [0.0] * len(rows)
    for kind, colour in zip(kinds, KIND_COLOURS):
        shares = [part["shares"][kind] for *_, part in rows]
        drawn = axes["f"].barh(range(len(rows)), shares, 0.75, left=left, color=colour, label=kind)
        dark = sum(int(colour[i : i + 2], 16) for i in (1, 3, 5)) < 380
        text = [f"{share:.0%}" if share > 0.025 else "" for share in shares]
        axes["f"].bar_label(drawn, text, label_type="center", fontsize=8, color="white" if dark else "black")
        left = [a + b for a, b in zip(left, shares)]
    axes["f"].set_yticks(range(len(rows)), [f"{work}, {LOOKS[contender][0]}" for work, contender, _ in rows])
    axes["f"].set(title="Where the time of a step goes", xlim=(0, 1))
    axes["f"].xaxis.set_major_formatter(PercentFormatter(1))
    axes["f"].spines[["top", "right", "left"]].set_visible(False)
    axes["f"].legend(loc="upper center", bbox_to_anchor=(0.45, -0.12), ncols=len(kinds), fontsize=8, frameon=False,
                     handlelength=1, columnspacing=1)
    return figure
