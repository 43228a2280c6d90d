"Every file of results is of the weights that ship; tools/stale.py finds those that are not."
import json
import shutil
from pathlib import Path

import pytest
from stale import measured, stale

ROOT = Path(__file__).parents[3]


def test_all_results_are_of_the_weights_that_ship():
    assert list(stale()) == []


@pytest.mark.parametrize("damage, said", [
    (lambda record: record["weights"].update({"everyday-en-de": "0" * 64}), "measured other weights of everyday-en-de"),
    (lambda record: record.pop("weights"), "does not say which weights of everyday-en-de"),
    (lambda record: record["weights"].update({"gone-en-de": "0" * 64}), "measured other weights of gone-en-de"),
])
def test_a_file_of_other_weights_is_found(tmp_path, damage, said):
    (tmp_path / "results").mkdir()
    for name in ("translation/everyday-sentences.json", "speed/int8.json"):
        shutil.copy(ROOT / "results" / name, tmp_path / "results")
    changed = tmp_path / "results" / "everyday-sentences.json"
    record = json.loads(changed.read_text(encoding="utf-8"))
    damage(record)
    changed.write_text(json.dumps(record), encoding="utf-8")
    assert list(stale(tmp_path)) == [(Path("results/everyday-sentences.json"), said, record["command"])]


def test_a_file_of_times_alone_is_of_any_weights_of_that_size(tmp_path):
    (tmp_path / "results/speed").mkdir(parents=True)
    for name in ("kernels-avx2.json", "threads.json", "int8.json"):
        record = json.loads((ROOT / "results/speed" / name).read_text(encoding="utf-8"))
        record["weights"] = {"everyday-en-de": "0" * 64}
        (tmp_path / "results/speed" / name).write_text(json.dumps(record), encoding="utf-8")
    assert [str(path) for path, *_ in stale(tmp_path)] == ["results/speed/int8.json"]


def test_a_corpus_of_the_same_name_is_no_model():
    assert measured({"command": "annotated-transformer score runs/mine --corpus everyday-en-de"}) == set()
    assert measured({"command": "annotated-transformer score everyday-en-de --split mscoco"}) == {"everyday-en-de"}
    assert measured({"command": "python -m benchmarks.onnx", "config": {"model": "runs/mine"}}) == set()
