"The benchmark of readable and fast forms, tried on tiny sizes."
import json

import pytest
import torch

from benchmarks import forms
from benchmarks.shared.side_by_side import in_own_process

OF_TORCH = {"torch, all logits", "torch, in chunks"}
if not hasattr(torch.nn.functional, "linear_cross_entropy"):
    OF_TORCH = set()


def test_both_forms_of_every_part_are_timed_and_recorded(tmp_path, monkeypatch):
    # A process for each form takes seconds to start; the last test below has them.
    monkeypatch.setattr(forms, "in_own_process", lambda module, name, *arguments: getattr(forms, name)(*arguments))
    out = tmp_path / "forms.json"
    forms.main(["--sizes", "small", "--rounds", "2", "--out", str(out)])
    record = json.loads(out.read_text())
    parts = {*forms.PARTS, "loss, freed memory kept"}
    assert set(record["figures"]) == parts
    for name, part in record["figures"].items():
        turns = {form: len(seconds) for form, seconds in part["seconds"].items()}
        others = OF_TORCH if "loss" in name else {"kernel in 32 bits", "kernel in 16 bits"} if "16 bits" in name else set()
        assert set(turns) == {"readable", "fast"} | others and set(turns.values()) == {1 if "search" in name else 2}
        assert set(part.get("others", {})) == others
    assert set(record["figures"]["loss"]["peak_bytes"]) == {"readable", "fast"} | OF_TORCH
    assert record["command"] == f"python -m benchmarks.forms --sizes small --rounds 2 --out {out}"


def test_forms_that_differ_are_not_timed(monkeypatch, tmp_path):
    right, wrong = lambda: torch.zeros(2), lambda: torch.tensor([0.0, 0.1])
    for different in ("fast", "another's"):
        made = {"readable": right, "fast": right, "another's": right} | {different: wrong}
        monkeypatch.setitem(forms.PARTS, "loss", lambda size, made=made: made)
        with pytest.raises(AssertionError, match="not close"):
            forms.main(["--sizes", "small", "--rounds", "1", "--out", str(tmp_path / "forms.json")])
        assert not (tmp_path / "forms.json").exists()


def test_one_part_can_be_measured_alone(tmp_path):
    out = tmp_path / "forms.json"
    forms.main(["--sizes", "small", "--rounds", "1", "--parts", "attention", "--out", str(out)])
    assert set(json.loads(out.read_text())["figures"]) == {"attention"}


def test_the_readable_loss_holds_all_logits_and_the_fused_one_does_not():
    size = forms.SIZES["full"]
    logits = 4 * size["tokens"] * size["vocabulary"]
    readable, fast = (in_own_process("benchmarks.forms", "peak_of_loss", form, "full") for form in ("readable", "fast"))
    assert readable > 2 * logits and readable - fast > logits
