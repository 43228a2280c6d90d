"The benchmark of beams, tried on two captions: each search is counted once, greedy search under every α."
import json
from types import SimpleNamespace

from benchmarks import beams

PAIRS = [("Two dogs are playing in the snow.", "Zwei Hunde spielen im Schnee."), ("A man is sleeping.", "Ein Mann schläft.")]


def test_the_record_says_what_was_found(tmp_path, monkeypatch):
    monkeypatch.setattr(beams.corpora, "load", lambda name: SimpleNamespace(split={"validation": PAIRS}.get))
    asked, scored = [], beams.scored
    monkeypatch.setattr(beams, "scored", lambda *about: asked.append(about[-1]) or scored(*about))
    out = tmp_path / "beams.json"
    beams.main(["--beams", "1", "3", "--alphas", "0", "0.6", "--out", str(out)])
    record = json.loads(out.read_text())
    assert [(search.beam_size, search.alpha) for search in asked] == [(1, 0.0), (3, 0.0), (3, 0.6)]
    found = record["figures"]["by_alpha_and_beam"]
    assert record["figures"]["sentences"] == 2 and set(found) == {"0.0", "0.6"} and found["0.0"]["1"] == found["0.6"]["1"]
    assert all(set(row) == {"1", "3"} for row in found.values()) and "multi30k-en-de" in record["weights"]


def test_length_and_empty_lines_are_counted():
    translator = SimpleNamespace(translate=lambda sources, search, **options: ["Zwei Hunde", ""])
    one = beams.scored(translator, *map(list, zip(*PAIRS)), beams.Search())
    assert (one["words_of_the_reference"], one["empty"]) == (round(2 / 8, 3), 1)


def test_a_model_that_is_not_there_gets_one_sentence(refused):
    said = refused(beams.main, ["--model", "nobody"])
    assert "nobody" in said and said.count("\n") == 1
