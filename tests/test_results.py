"A file of results says all that it takes to get its figures again."
import json
import types

import torch

from annotated_transformer import results
from annotated_transformer.results import environment, load, machine_load, write


def test_a_record_says_all_that_it_takes_to_get_the_figures_again(tmp_path):
    path = tmp_path / "not yet there" / "speed.json"
    command = ["python", "-m", "speed", "--out", "a file.json"]
    written = write(path, {"seconds": {16: 1.5}}, command=command, config={"size": "groß"}, seed=[1, 2], note=2, nothing=None)
    text = path.read_text(encoding="utf-8")
    assert json.loads(text) == written and text.endswith("}\n") and "groß" in text
    assert list(written) == ["command", "figures", "config", "seed", "note", "versions", "hardware", "date"]
    assert written["command"] == "python -m speed --out 'a file.json'" and written["figures"] == {"seconds": {"16": 1.5}}
    assert written["versions"]["torch"] == torch.__version__ and written["hardware"]["threads"] == torch.get_num_threads()
    assert written["hardware"].keys() == {"processor", "cores", "threads"}


def test_how_busy_the_machine_was_stands_beside_figures_of_time(tmp_path):
    before = machine_load()
    assert load is machine_load and (before is None or before >= 0)
    written = write(tmp_path / "speed.json", {}, command="speed", load_before=0.25)
    assert written["hardware"]["load_before"] == 0.25


def test_an_accelerator_is_named_only_where_it_worked():
    assert "accelerator" not in environment()["hardware"] and "accelerator" not in environment(torch.device("cpu"))["hardware"]
    assert environment().keys() == {"versions", "hardware", "date"}


def test_a_processor_that_has_no_name_is_called_by_its_kind(monkeypatch):
    monkeypatch.setattr(results, "Path", lambda name: types.SimpleNamespace(exists=lambda: False))  # as on ARM, no model name
    monkeypatch.setattr(results.platform, "processor", lambda: "")
    monkeypatch.setattr(results.platform, "machine", lambda: "aarch64")
    assert environment()["hardware"]["processor"] == "aarch64"
