"The benchmark that chooses heads: its aligner, and the whole of it on a model that has learnt nothing."
import json
import sys
from types import SimpleNamespace

import pytest
import torch

from annotated_transformer import Transformer, TransformerConfig, Translator
from annotated_transformer.heads import ALIGNED, OBJECTS, PRONOUNS, Aligned, read_aligned, read_marks
from annotated_transformer.tokenizer import Tokenizer
from benchmarks import heads

PAIRS = [
    ("A dog runs.", "Ein Hund rennt."), ("A dog sleeps.", "Ein Hund schläft."), ("A man runs.", "Ein Mann rennt."),
    ("A man sleeps.", "Ein Mann schläft."), ("Now a dog runs.", "Jetzt rennt ein Hund."),
]


def test_the_aligner_learns_who_goes_with_whom():
    found = heads.links(PAIRS, rounds=20)
    assert found[:4] == [[(0, 0), (1, 1), (2, 2)]] * 4
    assert found[4] == [(0, 0), (1, 2), (2, 3), (3, 1)]  # another word order: now, a, dog, runs


def test_precision_and_recall_by_hand():
    by_hand = [Aligned("a b c", "x y", [(0, 0), (1, 1), (2, 1)]), Aligned("d", "z", [(0, 0)])]
    found = heads.precision([[(0, 0), (2, 1), (1, 0)], []], by_hand)
    assert found == {"links": 3, "precision": 0.6667, "by_hand": 4, "recall": 0.5}


@pytest.fixture
def model(tmp_path):
    texts = [read_marks(line)[0] for line in PRONOUNS + OBJECTS] + [text for line in ALIGNED for text in read_aligned(line)[:2]]
    tokenizer = Tokenizer.train(texts + [text for pair in PAIRS for text in pair], 300)
    torch.manual_seed(1)
    model = Transformer(TransformerConfig(300, n_layers=2, d_model=12, d_ff=10, n_heads=3, dropout=0.0))
    Translator(model, tokenizer).save_pretrained(tmp_path / "model")
    return tmp_path / "model"


def test_every_head_is_measured_by_every_measure(model, tmp_path, monkeypatch):
    corpus = SimpleNamespace(train=PAIRS, split={"test2016": PAIRS[:3]}.get)
    monkeypatch.setattr(heads, "load", lambda name: corpus)
    out = tmp_path / "heads.json"
    monkeypatch.setattr(sys, "argv", ["heads", "--model", str(model), "--out", str(out)])
    heads.main()
    record = json.loads(out.read_text(encoding="utf-8"))
    assert record["command"].startswith("python -m benchmarks.heads --model") and record["config"]["sentences"] == 3
    measures = record["figures"]["measures"]
    assert {kind: list(found) for kind, found in measures.items()} == {
        "encoder": ["previous token", "next token", "same token", "end sign", "verb's object", "pronoun's noun"],
        "decoder": ["previous token", "same token", "start sign"],
        "encoder_decoder": ["aligned word", "word just read", "aligned by hand"],
    }
    assert {kind: list(found) for kind, found in record["figures"]["untrained"].items()} == {
        kind: list(found) for kind, found in measures.items()
    }
    for found in (found for by_name in measures.values() for found in by_name.values()):
        assert [len(row) for row in found["scores"]] == [3, 3]
        assert found["best"]["score"] == max(max(row) for row in found["scores"])
    assert measures["encoder"]["verb's object"]["queries"] == len(OBJECTS)
    by_hand = [read_aligned(line) for line in ALIGNED]
    found = heads.links(PAIRS + PAIRS[:3] + [pair[:2] for pair in by_hand])[5:8]
    assert measures["encoder_decoder"]["aligned word"]["queries"] == sum(len({t for _, t in links}) for links in found) > 0
    linked = sum(len({t for _, t in pair.links}) for pair in by_hand)
    assert measures["encoder_decoder"]["aligned by hand"]["queries"] == linked


def test_a_model_that_is_not_there_is_one_sentence(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["heads", "--model", "nowhere"])
    with pytest.raises(SystemExit) as stop:
        heads.main()
    assert stop.value.code == 2 and "nowhere" in capsys.readouterr().err
