"""The rows of Table 3: what each changes, what the paper prints for it, how all are trained, their table and picture (§6.2).

How much of a difference may be noise: see `tables.noise`, and the page §6.2 Variations."""
import json
import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, NamedTuple, TypedDict

import torch
from matplotlib.figure import Figure

from .. import InputError
from ..config import TrainingConfig, TransformerConfig, changed
from ..data import corpora
from ..files import named, write_text_file
from ..json_files import read_json
from ..model.transformer import Transformer, count_parameters
from ..progress_bar import progress_bar
from ..training.loop import train
from ..training.runs import Run
from ..translation.bleu import paper_bleu
from ..translation.translator import Translator
from .noise import Difference, mean, noise, noise_of, pairs

__all__ = ["PRINTED", "collect", "joined", "longest", "plot_variations", "run_variations", "table_3", "variations_table"]


class Printed(NamedTuple):
    "What Table 3 prints for a row."

    perplexity: float              # per piece, on newstest2013
    bleu: float                    # on newstest2013
    millions: int | None = None    # parameters


PRINTED = {  # perplexity, BLEU, millions of parameters
    "base": Printed(4.92, 25.8, 65),
    "A1": Printed(5.29, 24.9), "A2": Printed(5.00, 25.5), "A3": Printed(4.91, 25.8), "A4": Printed(5.01, 25.4),
    "B1": Printed(5.16, 25.1, 58), "B2": Printed(5.01, 25.4, 60),
    "C1": Printed(6.11, 23.7, 36), "C2": Printed(5.19, 25.3, 50), "C3": Printed(4.88, 25.5, 80),
    "C4": Printed(5.75, 24.5, 28), "C5": Printed(4.66, 26.0, 168),
    "C6": Printed(5.12, 25.4, 53), "C7": Printed(4.75, 26.2, 90),
    "D1": Printed(5.77, 24.6), "D2": Printed(4.95, 25.5), "D3": Printed(4.67, 25.3), "D4": Printed(5.47, 25.7),
    "E": Printed(4.92, 25.7),
    "big": Printed(4.33, 26.4, 213),
}


def printed_difference(
    name: str,
) -> Difference | None:  # None for rows that are ours
    "The difference as Table 3 prints it."
    if name not in PRINTED:
        return None
    row, base = PRINTED[name], PRINTED["base"]
    return Difference(100 * (row.perplexity / base.perplexity - 1), row.bleu - base.bleu)


def difference(
    table: dict,
    name: str,
) -> Difference | None:  # None if the row and the base have no seed in common
    "The difference as measured: the mean over the seeds that both have; a seed gives both the same order of batches."
    found = pairs(table, name)
    return Difference(*map(statistics.mean, zip(*found))) if found else None


def table_3(
    base: TrainingConfig,
    big: TrainingConfig | None = None,  # the last of the paper's rows; the base at twice its width if not given
) -> dict[str, TrainingConfig]:         # rows by name: the paper's in their order, then two of ours
    "Every row of Table 3 for this base (§6.2), except those that would only repeat the base, as with less than one layer."
    m = base.model
    width = m.n_heads * m.d_k

    def model(**changes) -> TrainingConfig:
        return replace(base, model=replace(m, **changes))

    def times(factor: float, size: int) -> int:
        return max(1, round(factor * size))

    def heads(factor: float) -> TrainingConfig:
        n = times(factor, m.n_heads)
        return model(n_heads=n, d_k=times(1 / n, width), d_v=times(1 / n, width))

    def widths(factor: float) -> TrainingConfig:
        return model(d_model=times(factor, m.d_model), d_k=times(factor, m.d_k), d_v=times(factor, m.d_v))

    rows = {
        "base": base,
        "A1": heads(1 / 8), "A2": heads(1 / 2), "A3": heads(2), "A4": heads(4),
        "B1": model(d_k=times(1 / 4, m.d_k)), "B2": model(d_k=times(1 / 2, m.d_k)),
        "C1": model(n_layers=times(2 / 6, m.n_layers)), "C2": model(n_layers=times(4 / 6, m.n_layers)),
        "C3": model(n_layers=times(8 / 6, m.n_layers)),
        "C4": widths(1 / 2), "C5": widths(2),
        "C6": model(d_ff=times(1 / 2, m.d_ff)), "C7": model(d_ff=2 * m.d_ff),
        "D1": model(dropout=0.0), "D2": model(dropout=2 * m.dropout) if m.dropout < 0.5 else base,
        "D3": replace(base, smoothing=0.0), "D4": replace(base, smoothing=2 * base.smoothing) if base.smoothing < 0.5 else base,
        "E": model(positions="learned"),
        "big": big or model(d_model=2 * m.d_model, d_ff=2 * m.d_ff, n_heads=2 * m.n_heads),
        "additive": model(compatibility="additive"),
        "pre-norm": model(norm="pre"),
    }
    return {name: row for name, row in rows.items() if name == "base" or row != base}


SYMBOLS = {
    "n_layers": "N", "d_model": "d_model", "d_ff": "d_ff", "n_heads": "h", "d_k": "d_k", "d_v": "d_v", "dropout": "P_drop",
    "smoothing": "ε_ls", "positions": "positions", "compatibility": "attention", "norm": "norm", "steps": "updates",
}


def sizes(
    config: TrainingConfig,
) -> dict[str, object]:  # by the paper's symbols
    "Everything that the rows vary."
    return {symbol: getattr(config.model, name, getattr(config, name, None)) for name, symbol in SYMBOLS.items()}


def change(row: TrainingConfig, base: TrainingConfig) -> str:
    "How a row differs from the base, as in `h = 1, d_k = 512, d_v = 512`."
    before = sizes(base)
    return ", ".join(
        f"{symbol} = {value:,}" if isinstance(value, int) else f"{symbol} = {value}"
        for symbol, value in sizes(row).items() if value != before[symbol]
    )


def parameters(config: TransformerConfig) -> int:
    "The number of parameters of a model of these sizes, counted on the module itself."
    with torch.device("meta"):  # shapes without numbers
        return count_parameters(Transformer(config))


def longest(
    table: dict,
    what: int,   # 0 perplexity, 1 BLEU
) -> float:
    "Where a bar is cut off, so that one row does not flatten the others: three times the median, with all of Table 3 visible."
    rows = [name for name in table if name != "base"]
    ours = [abs(found[what]) for name in rows if (found := difference(table, name))]
    printed = [abs(found[what]) for name in rows if (found := printed_difference(name))]
    widest = noise(table)
    return max(3 * statistics.median(ours or [0]), 1.1 * max(printed, default=1), widest[what] if widest else 0)


def plot_variations(table: dict) -> Figure:
    "Plot how much each row differs from its base, here and in the paper."
    names, places = [name for name in table if name != "base"], {}
    for before, name in zip([None, *names], names):  # a gap between two groups
        places[name] = places[before] + (1 if before[0] == name[0] else 1.6) if before else 0
    lowest = places[names[-1]]
    figure = Figure(figsize=(11, 0.33 * lowest + 1.6), layout="constrained")
    axes = figure.subplots(1, 2, sharey=True)
    greys = {name: noise_of(table, name) for name in names}
    for what, ax in enumerate(axes):
        limit = longest(table, what)
        ax.axvline(0, color="0.6", lw=1)
        for name, place in places.items():
            printed, ours, grey = printed_difference(name), difference(table, name), greys[name]
            if grey:
                ax.barh(place, 2 * grey[what], left=-grey[what], height=1, color="0.9", zorder=0)
            if printed:
                within = grey is not None and abs(printed[what]) <= grey[what]
                ax.plot(printed[what], place, "o", mfc="white", mec="0.6" if within else "C1", ms=7, mew=1.5)
            if ours:
                ax.barh(place, max(-limit, min(limit, ours[what])), height=0.55, color="C0")
                if abs(ours[what]) > limit:  # cut off, and labelled
                    side = 1 if ours[what] > 0 else -1
                    text = f" {ours[what]:+.1f} " if what else f" {ours[what]:+.0f}% "
                    ax.text(side * limit, place, text, va="center", fontsize=8, ha="left" if side > 0 else "right")
            elif not what:
                left = ax.get_yaxis_transform()  # x as a fraction of the panel
                ax.text(0.01, place, "not run", transform=left, va="center", fontsize=8, color="0.4")
        ax.spines[["top", "right", "left"]].set_visible(False)
        ax.tick_params(axis="y", length=0)
    axes[0].set_yticks(list(places.values()), [f"{table[name]['change']}   {name}" for name in places])
    axes[0].set_ylim(lowest + 0.7, -0.7)
    axes[0].set_xlabel("perplexity, % more than the base (left is better)")
    axes[1].set_xlabel("BLEU, points more than the base (right is better)")
    axes[1].plot([], [], "o", mfc="white", mec="C1", mew=1.5, label="Table 3")
    axes[1].barh([0], [0], color="C0", label="here")
    if any(greys.values()):
        axes[1].plot([], [], "o", mfc="white", mec="0.6", mew=1.5, label="Table 3, too small to tell from noise here")
        axes[1].barh([0], [0], color="0.9", label="may be noise, with so many seeds")
    figure.legend(loc="outside upper center", ncols=4, frameon=False)
    return figure


def measure(run: Path) -> dict:
    "Perplexity and BLEU of a run's last weights on the validation split (§6.2)."
    config, last = Run(run).config, Run(run).reached()
    corpus = corpora.load(config.corpus)
    sources, references = zip(*corpus.validation)
    translator = Translator.from_pretrained(run, average=1)  # as in §6.1, but without averaging (§6.2)
    found = translator.translate(list(sources), split=False)
    return {
        "seed": config.seed, "steps": last["step"], "perplexity": last["validation_perplexity"],
        "bleu": paper_bleu(found, list(references), corpus.target_language).score, "minutes": round(last["seconds"] / 60, 1),
    }


class Measured(TypedDict):
    "What measured.json holds."
    seed: int
    steps: int
    perplexity: float
    bleu: Annotated[float, 0, 100]
    minutes: float


def measured(
    run: Path,
    config: TrainingConfig,
) -> dict | None:  # what was measured for exactly this training, if anything
    "The results that an earlier start has left."
    try:
        values = read_json(run / "measured.json", Measured, "")
    except InputError:  # missing or damaged: it is measured again
        return None
    return values if not changed(Run(run).config, config) and values["steps"] == config.steps else None


def run_variations(
    base: TrainingConfig,
    directory: str | Path,                     # of the runs: ROW-seedS
    names: Sequence[str] = (),                 # rows to run; all if none are named
    seeds: Sequence[int] = (),                 # for each of them; if none are named, two
    big: TrainingConfig | None = None,
    report: Callable[[dict], None] = lambda table: None,  # called after each run with everything measured
) -> dict:                                     # the same, at the end: see `collect`
    "Train and measure the rows that are not measured yet."
    rows, directory = table_3(base, big), named(directory)
    if unknown := [name for name in names if name not in rows]:
        raise InputError(f"this base has no row {unknown[0]}; choose from {' '.join(rows)}")
    work = [(name, seed) for seed in seeds or (base.seed, base.seed + 1) for name in names or rows]
    with progress_bar(total=len(work), unit="run", desc="Table 3", dynamic_ncols=True) as bar:
        for name, seed in work:
            config, run = replace(rows[name], seed=seed), directory / f"{name}-seed{seed}"
            if not measured(run, config):
                Run(run).require_no_more(config.steps)
                if ready := next((other for other in map(Run, directory.glob("*-seed*")) if other.has_data()), None):
                    Run(run).take_data(ready)  # all rows share corpus and vocabulary, so they are prepared once
                train(config, run)
                write_text_file(run / "measured.json", json.dumps(measure(run)) + "\n")  # for `measured`
                report(collect(base, directory, big))
            bar.update()
    return collect(base, directory, big)


def collect(
    base: TrainingConfig,
    directory: str | Path,
    big: TrainingConfig | None = None,
) -> dict:  # by row: what it changes, its parameters, and what was measured with each seed
    "Everything measured so far. A row that was not run is included, with no seeds."
    rows, directory = table_3(base, big), named(directory)
    found = {}
    for name, row in rows.items():
        seeds = [end for run in directory.glob(f"{name}-seed*") if (end := run.name.removeprefix(f"{name}-seed")).isdecimal()]
        runs = {seed: directory / f"{name}-seed{seed}" for seed in sorted(map(int, seeds))}
        values = [measured(run, replace(row, seed=seed)) for seed, run in runs.items()]
        vocabulary = next((Run(run).tokenizer.vocab_size for run in runs.values()), row.model.vocab_size)
        found[name] = {
            "change": change(row, base), "parameters": parameters(replace(row.model, vocab_size=vocabulary)),
            "seeds": [value for value in values if value],
        }
    return found


def joined(
    tables: Iterable[dict],
) -> dict:  # as from `collect`
    "Merge tables of the same rows; each row has the seeds of all. InputError if rows differ or a seed occurs twice."
    first, *others = tables
    found = {name: {**row, "seeds": [*row["seeds"]]} for name, row in first.items()}
    for table in others:
        for name in dict.fromkeys((*found, *table)):
            known, row = found.get(name), table.get(name)
            if not (known and row) or (row["change"], row["parameters"]) != (known["change"], known["parameters"]):
                raise InputError(f"the tables have not the same rows: {name} differs")
            known["seeds"] += row["seeds"]
            if len({value["seed"] for value in known["seeds"]}) < len(known["seeds"]):
                raise InputError(f"row {name} has a seed twice")
    return found


def signed(found: Difference | None, otherwise: str = "") -> tuple[str, str]:
    "A difference as the table says it."
    return (f"{found.perplexity:+.1f}%", f"{found.bleu:+.1f}") if found else (otherwise, otherwise)


def variations_table(
    table: dict,
) -> str:  # Markdown
    "Each row with its figures, its difference from the base, and the difference in Table 3."
    lines = [
        "| row | change | parameters | seeds | perplexity | to the base | Table 3 | BLEU | to the base | Table 3 |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for name, row in table.items():
        values, to_base, of_paper = ("not run", ""), ("", ""), signed(printed_difference(name))
        if name == "base":
            of_paper = PRINTED["base"][:2]
        if row["seeds"]:
            values = f"{mean(row, 'perplexity'):.2f}", f"{mean(row, 'bleu'):.1f}"
            if name != "base" and table["base"]["seeds"]:
                to_base = signed(difference(table, name), "other seeds")
        perplexity, bleu = zip(values, to_base, of_paper)
        cells = name, row["change"], f"{row['parameters']:,}", len(row["seeds"]), *perplexity, *bleu
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines)
