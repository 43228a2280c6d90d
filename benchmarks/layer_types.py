"""Table 1 of the paper, measured: operations, sequential steps, paths, and the time of each layer against the length.

    python -m benchmarks.layer_types [--rounds 5] [--out results/speed/layer-types.json]

Times are of forward and backward through one layer, in float32. At each width and length all layers take turns.
"""
import math
import statistics
from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from annotated_transformer.tables.layer_costs import longest_chain, multiplications
from annotated_transformer.tables.layer_types import fitted_exponents, layer_types, path_length
from benchmarks.shared.command import Options, at_least, one_sentence
from benchmarks.shared.side_by_side import save, take_turns

SEED = 0
SIZES = {  # timed: batch, width, longest sequence
    "full": {
        "heads": 8, "kernel": 3, "neighbourhood": 65, "table_width": 512, "fitted_lengths": [64, 128, 256],
        "fitted_widths": [128, 256, 512], "chain_lengths": [16, 64], "path_lengths": [16, 64, 256],
        "timed": [(1, 64, 1024), (1, 128, 2048), (1, 256, 4096), (1, 512, 8192), (16, 256, 1024)],
    },
    "small": {
        "heads": 2, "kernel": 3, "neighbourhood": 9, "table_width": 16, "fitted_lengths": [8, 16],
        "fitted_widths": [4, 8], "chain_lengths": [4, 8], "path_lengths": [8, 16],
        "timed": [(1, 16, 64), (2, 32, 32)],
    },
}
SHORTEST = 16


def layers(size: dict, d: int) -> dict[str, nn.Module]:
    return layer_types(d, size["heads"], size["kernel"], size["neighbourhood"])


def table(size: dict) -> dict:
    "Counts of each layer: exact, and the same on every machine."
    d, found = size["table_width"], {}
    grid = [(n, width) for n in size["fitted_lengths"] for width in size["fitted_widths"]]
    for name, layer in layers(size, d).items():
        counts, whole = {}, {}
        for n, width in grid:
            count = multiplications(layers(size, width)[name], n, width)
            counts[n, width] = count.between_positions or count.by_weights  # what Table 1 counts
            whole[n, width] = sum(count)                                    # an attention's projections too
        run = layer.readable if name == "recurrent" else layer  # PyTorch's LSTM is one call and hides its loop
        found[name] = {
            "exponents": [round(exponent, 4) for exponent in fitted_exponents(counts)],  # of n and of d
            "exponents_of_all": [round(exponent, 4) for exponent in fitted_exponents(whole)],
            "multiplications": multiplications(layer, d, d),
            "longest_chain": [longest_chain(run(torch.randn(1, n, d))) for n in size["chain_lengths"]],
            "path_length": [path_length(name, n, 2, size["kernel"], size["neighbourhood"]) for n in size["path_lengths"]],
        }
    return found


def step(layer: nn.Module, x: Tensor) -> Callable[[], object]:
    "A training step's share of the work: forward, and backward to the input and all parameters."
    leaves = [x.requires_grad_(), *layer.parameters()]
    return lambda: torch.autograd.grad(layer(x).sum(), leaves)


def faster_from(lengths: list[int], times_as_fast: list[float]) -> float | None:
    "The length from which on a layer is faster, on straight lines between those timed, in logarithms; None if none is."
    behind = [i for i, times in enumerate(times_as_fast) if times <= 1]
    if not behind:
        return float(lengths[0])
    if (i := behind[-1]) == len(lengths) - 1:
        return None
    low, high = math.log(times_as_fast[i]), math.log(times_as_fast[i + 1])
    return round(lengths[i] * (lengths[i + 1] / lengths[i]) ** (low / (low - high)), 1)


def times(size: dict, rounds: int, limit: int) -> list[dict]:
    "Median seconds of each layer at each length, by batch and width, and how many times as fast as self-attention it is."
    found = []
    for batch, d, longest in size["timed"]:
        lengths = [n for i in range(20) if (n := SHORTEST * 2**i) <= min(longest, limit)]
        seconds: dict[str, list[float]] = {}
        ratios: dict[str, list[float]] = {}
        for n in lengths:
            contenders = {name: step(layer, torch.randn(batch, n, d)) for name, layer in layers(size, d).items()}
            turns = take_turns(contenders, rounds, desc=f"batch {batch}, d {d}, n {n}")
            for name, own in turns.items():
                seconds.setdefault(name, []).append(round(statistics.median(own), 6))
                ratio = statistics.median(full / other for full, other in zip(turns["self-attention"], own))
                ratios.setdefault(name, []).append(round(ratio, 3))
        faster = {name: faster_from(lengths, ratios[name]) for name in ("recurrent", "self-attention, restricted")}
        found.append({
            "batch": batch, "d": d, "lengths": lengths, "seconds": seconds, "times_as_fast": ratios, "faster_from": faster,
        })
    return found


@one_sentence()
def main(options: Sequence[str] | None = None) -> None:
    parser = Options("benchmarks.layer_types", __doc__, "results/speed/layer-types.json")
    parser.add_argument("--sizes", choices=SIZES, default="full", help="small: to try this benchmark")
    parser.add_argument("--rounds", type=at_least(1), default=5)
    parser.add_argument("--longest", type=at_least(SHORTEST), default=8192, help="time no sequence longer than this")
    arguments = parser.parse_args(options)
    size = SIZES[arguments.sizes]
    torch.manual_seed(SEED)
    figures = {"table": table(size), "times": times(size, arguments.rounds, arguments.longest)}
    config = {"size": size, "rounds": arguments.rounds, "longest": arguments.longest}
    save(arguments.out, "benchmarks.layer_types", figures, config, SEED, options)
    for setting in figures["times"]:
        faster = (f"{name} from n = {n}" for name, n in setting["faster_from"].items())
        print(f"batch {setting['batch']:2}, d {setting['d']:3}, faster than self-attention:", *faster, sep="  ")


if __name__ == "__main__":
    main()
