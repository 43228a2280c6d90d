"The record of benchmarks.training as a picture."
import matplotlib.pyplot as plt
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator, PercentFormatter

LOOKS = {  # contender: name, colour
    "ours": ("ours", "#1f6f8b"),
    "peer": ("torch.nn.Transformer", "#b0623a"),
    "peer with the paper's dropout": ("the same, dropout as in the paper", "#dcae91"),
    "peer, memory kept": ("the same, freed memory kept", "#8f8f8f"),
}
KIND_COLOURS = [  # of a bar's parts and of the figures in them
    ("#12343f", "white"), ("#1f6f8b", "white"), ("#6fb1bf", "black"), ("#bfdfe0", "black"),
    ("#e8c08a", "black"), ("#c98b4e", "black"), ("#8f8f8f", "white"), ("#d4d4d4", "black"),
]


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


def lines(axes, points: list[dict], style: str, note: str) -> None:
    "Milliseconds of a step at each size, ours and the peer's; the note names the model."
    sizes = [point["size"] for point in points]
    for contender in ("ours", "peer"):
        times = [1e3 * point["median_seconds"][contender] for point in points]
        axes.plot(sizes, times, style, marker="o", markersize=3, color=LOOKS[contender][1])
    axes.annotate(note, (sizes[0], times[0]), xytext=(0, 6), textcoords="offset points", fontsize=8)


def chart(record: dict) -> Figure:
    "Time and rate of a step beside those of `torch.nn.Transformer`, how the time grows, and where it goes."
    figures = record["figures"]
    figure = plt.figure(figsize=(9, 9), layout="constrained")
    figure.get_layout_engine().set(w_pad=0.1)
    top, middle, bottom = figure.subfigures(3, 1, height_ratios=[1.05, 1, 0.95])
    draw_steps(top, figures["steps"])
    draw_growth(middle, figures["growth"])
    draw_profile(bottom, figures["profile"])
    return figure


def draw_steps(figure, steps: dict) -> None:
    "The time of a step, and the rate at which it does its arithmetic."
    left, right = figure.subplots(1, 2)
    bars(left, steps, lambda part: part.get("times_ours", 1.0), "{:.2f}".format)
    left.set(title="Time of a training step", ylabel="times ours")
    bars(right, steps, lambda part: part["share_of_matrix_products"], "{:.0%}".format)
    right.set(title="Arithmetic in a second", ylabel="share of matrix products' rate")
    right.yaxis.set_major_formatter(PercentFormatter(1))
    figure.legend(*left.get_legend_handles_labels(), loc="outside upper center", ncols=len(LOOKS), frameon=False)


def draw_growth(figure, growth: dict) -> None:
    "The time of a step against the length, the batch and the vocabulary; series of further models join where they have one."
    every = figure.subplots(1, 3)
    [first, series] = next(iter(growth.items()))
    shares = [point["attention_share_of_flops"] for point in series["length"]]
    titles = {
        "length": f"Longer sentences, as many tokens\n({first}: attention is {shares[0]:.0%} to {shares[-1]:.0%} of the FLOPs)",
        "tokens": f"Larger batches\n({first})", "vocabulary": f"Larger vocabularies\n({first})",
    }
    labels = {"length": "longest sentence, tokens", "tokens": "target positions of the batch", "vocabulary": "pieces"}
    for axes, (what, title) in zip(every, titles.items()):
        for (work, found), style in zip(growth.items(), ("-", "--", ":")):
            if what in found:
                lines(axes, found[what], style, work if what == "length" else "")
        axes.set(xscale="log", yscale="log", xlabel=labels[what])
        axes.set_title(title, fontsize=9)
        sizes = [point["size"] for point in series[what]]
        ticks = sizes[:: 2 if len(sizes) > 4 else 1]
        axes.set_xticks(ticks, [f"{tick:,}" if tick < 10_000 else f"{tick / 1000:.0f}k" for tick in ticks])
        axes.xaxis.set_minor_locator(NullLocator())
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
        axes.yaxis.set_minor_formatter(NullFormatter())
        axes.grid(alpha=0.25)
        axes.margins(y=0.12)
    every[0].set_ylabel("milliseconds of a step")


def draw_profile(figure, profile: dict) -> None:
    "For each work and contender one bar, cut up by what the time of a step goes to."
    axes = figure.subplots()
    rows = [(work, contender, part) for work, found in profile.items() for contender, part in found.items()][::-1]
    kinds = list(rows[0][2]["shares"])
    left = [0.0] * len(rows)
    for kind, (colour, ink) in zip(kinds, KIND_COLOURS):
        shares = [part["shares"][kind] for *_, part in rows]
        drawn = axes.barh(range(len(rows)), shares, 0.75, left=left, color=colour, label=kind)
        text = [f"{share:.0%}" if share > 0.03 else "" for share in shares]
        axes.bar_label(drawn, text, label_type="center", fontsize=8, color=ink)
        left = [a + b for a, b in zip(left, shares)]
    axes.set_yticks(range(len(rows)), [f"{work}, {LOOKS[contender][0]}" for work, contender, _ in rows])
    axes.set(title="Where the time of a step goes", xlim=(0, 1))
    axes.xaxis.set_major_formatter(PercentFormatter(1))
    axes.spines[["top", "right", "left"]].set_visible(False)
    figure.legend(loc="outside lower center", ncols=len(kinds), fontsize=8, frameon=False, handlelength=1, columnspacing=1)
