"The benchmark of layer types, tried on tiny sizes, and the counts that it left in results/."
import json
import math
from pathlib import Path

import numpy as np
import pytest

from annotated_transformer.tables.layer_costs import multiplications
from annotated_transformer.tables.layer_types import layer_types
from benchmarks import layer_types as benchmark

NAMES = set(layer_types(2, 1, 3, 3))


def test_every_layer_is_counted_and_timed_at_every_length(tmp_path):
    out = tmp_path / "layer-types.json"
    benchmark.main(["--sizes", "small", "--rounds", "1", "--longest", "32", "--out", str(out)])
    record = json.loads(out.read_text())
    assert record["command"] == f"python -m benchmarks.layer_types --sizes small --rounds 1 --longest 32 --out {out}"
    table, times = record["figures"]["table"], record["figures"]["times"]
    assert set(table) == NAMES
    assert table["self-attention"]["exponents"] == [2, 1] and table["recurrent"]["exponents"] == [1, 2]
    assert table["recurrent"]["path_length"] == [8, 16] and table["self-attention"]["path_length"] == [1, 1]
    short, long = table["recurrent"]["longest_chain"]
    assert long > short
    assert [setting["lengths"] for setting in times] == [[16, 32], [16, 32]]
    for setting in times:
        assert set(setting["seconds"]) == NAMES and {len(own) for own in setting["seconds"].values()} == {2}
        assert setting["times_as_fast"]["self-attention"] == [1, 1]


def test_the_crossing_lies_where_the_ratio_passes_one():
    assert benchmark.faster_from([16, 32, 64], [0.25, 0.5, 2.0]) == pytest.approx(32 * 2**0.5, abs=0.1)
    assert benchmark.faster_from([16, 32, 64], [2.0, 0.5, 1.5]) > 32, "noise at short lengths does not count"
    assert benchmark.faster_from([16, 32], [0.5, 0.9]) is None
    assert benchmark.faster_from([16, 32], [1.5, 2.0]) == 16


@pytest.mark.parametrize("option", [("--rounds", "0"), ("--longest", "8")])
def test_impossible_options_are_refused(option, refused):
    assert "must be at least" in refused(benchmark.main, [*option])


def test_the_recorded_counts_are_those_of_the_formulas():
    record = json.loads((Path(__file__).parents[3] / "results/speed/layer-types.json").read_text(encoding="utf-8"))
    table, size = record["figures"]["table"], record["config"]["size"]
    assert size == json.loads(json.dumps(benchmark.SIZES["full"]))
    d, k, side = size["table_width"], size["kernel"], size["neighbourhood"] // 2
    in_blocks = -(-d // (side + 1)) * (side + 1)
    assert {name: tuple(row["multiplications"]) for name, row in table.items()} == {
        "self-attention": (2 * d**3, 4 * d**3),
        "self-attention, restricted": (2 * in_blocks * (3 * side + 1) * d, 4 * d**3),
        "recurrent": (0, 8 * d**3),
        "convolution": (0, k * d**3),
        "convolution, dilated": (0, k * d**3),
        "convolution, separable": (0, k * d**2 + d**3),
    }
    by_width = {width: benchmark.layers(size, width) for width in size["fitted_widths"]}
    for name, row in table.items():
        # Fitted anew, by least squares on logarithms, over the record's own lengths and widths. What is recurrent has the same
        # exponents at all lengths, and is counted step by step, which takes seconds: its lengths are shorter.
        shorter = 16 if name == "recurrent" else 1
        grid = [(n // shorter, width) for n in size["fitted_lengths"] for width in size["fitted_widths"]]
        rows = [[1, math.log(n), math.log(width)] for n, width in grid]
        whole = [math.log(sum(multiplications(by_width[width][name], n, width))) for n, width in grid]
        assert row["exponents_of_all"] == [round(x, 4) for x in np.linalg.lstsq(np.array(rows), np.array(whole))[0][1:].tolist()]
        assert (row["exponents_of_all"] == row["exponents"]) != name.startswith("self-attention")  # those have projections
        short, long = row["longest_chain"]
        assert (short < long) == (name == "recurrent")
    assert table["recurrent"]["path_length"] == size["path_lengths"]
