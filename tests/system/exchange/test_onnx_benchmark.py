"The benchmark of the model as ONNX, tried on a small one: what is compared and recorded, and mistakes."
import importlib.util
import json

import pytest

from annotated_transformer import Translator
from annotated_transformer.data.parallel_text import Corpus
from benchmarks import onnx as benchmark

PAIRS = [("forty-two", "zweiundvierzig"), ("ninety-nine thousand and one", "neunundneunzigtausendeins"), ("seven", "sieben")]


@pytest.mark.skipif(not all(map(importlib.util.find_spec, benchmark.PACKAGES)), reason="the extra `exchange` is not installed")
def test_each_precision_is_compared_with_ours(tmp_path, capsys, monkeypatch):
    shipped = Translator.from_pretrained("numbers-en-de", device="cpu")
    monkeypatch.setattr(benchmark.corpora, "load", lambda name: Corpus(name, "en", "de", [], [], {"a": PAIRS, "b": PAIRS[1:]}))
    monkeypatch.setattr(benchmark, "SPLITS", {"some": "a", "others": "b"})
    monkeypatch.setattr(benchmark.Translator, "from_pretrained", lambda name, device: shipped)
    out = tmp_path / "onnx.json"
    benchmark.main(["--model", "numbers-en-de", "--sentences", "2", "--out", str(out)])
    record = json.loads(out.read_text())
    figures = record["figures"]
    assert figures == json.loads(capsys.readouterr().out) and record["config"]["model"] == "numbers-en-de"
    assert figures["sentences"] == {"some": 2, "others": 2} and list(figures["precisions"]) == ["float32", "float16", "int8"]
    exact = figures["precisions"]["float32"]
    assert exact["equal_to_ours"] == {text: {"1": 2, "4": 2} for text in ("some", "others")}
    assert exact["bleu"] == figures["bleu_of_ours"]
    sizes = [found["bytes"]["decoder.onnx"] for found in figures["precisions"].values()]
    assert sizes[0] > sizes[1] > sizes[2] > 0 and exact["operations"]["encoder.onnx"] > 50


def test_mistakes_end_it_before_anything_is_measured(tmp_path, refused, monkeypatch):
    monkeypatch.setattr(benchmark, "measure", lambda *_: pytest.fail("something was measured"))
    out = ["--out", str(tmp_path / "onnx.json")]
    assert "--sentences: must be at least 1, not 0" in refused(benchmark.main, [*out, "--sentences", "0"])
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    said = refused(benchmark.main, out)
    assert 'pip install "annotated_transformer[exchange]"' in said and said.count("\n") == 1
    assert list(tmp_path.iterdir()) == []
