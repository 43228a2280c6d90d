"Every file is hashed once: a model that is loaded, a run that is continued; and of several processes, by the leader alone."
import dataclasses
import sys
from collections import Counter
from pathlib import Path

import pytest
import torch

from annotated_transformer import Transformer, TransformerConfig, Translator, files
from annotated_transformer.config import TrainingConfig
from annotated_transformer.training.checkpoints import FILES
from annotated_transformer.training.loading import load
from annotated_transformer.training.loop import train
from annotated_transformer.training.optimizer import adam
from annotated_transformer.training.processes import Group
from annotated_transformer.training.runs import Run
from annotated_transformer.training.starting import resume


@pytest.fixture
def hashed(monkeypatch):
    "How often each file has been hashed, by its path."
    count, sha256 = Counter(), files.sha256

    def counted(path):
        count[str(path)] += 1
        return sha256(path)

    for module in list(sys.modules.values()):  # all of ours that know it by its name
        if getattr(module, "__name__", "").startswith("annotated_transformer") and getattr(module, "sha256", None) is sha256:
            monkeypatch.setattr(module, "sha256", counted)
    return count


@pytest.fixture
def config(tmp_path):
    for name in ("train.en", "train.de", "validation.en", "validation.de"):
        (tmp_path / name).write_text("bad cab\na b c d e f\nfade\n" * 3)
    model = TransformerConfig(14, n_layers=1, d_model=8, d_ff=12, n_heads=2, max_length=20)
    return TrainingConfig(model, str(tmp_path), batch_tokens=60, steps=2, warmup_steps=2, checkpoint_every=2, keep=2)


def test_a_model_that_is_loaded(config, tmp_path, hashed):
    train(config, tmp_path / "run")
    Translator.from_pretrained(tmp_path / "run").save_pretrained(tmp_path / "model")
    for place, names in (
        ("model", {"config.json", "model.safetensors", "record.json", "tokenizer.model"}),
        ("run", {"tokenizer.model", "model.safetensors"}),
    ):
        hashed.clear()
        load(tmp_path / place)
        assert {Path(path).name for path in hashed} == names and set(hashed.values()) == {1}, hashed


def test_a_run_that_is_continued(config, tmp_path, hashed):
    run = Run(tmp_path / "run")
    train(config, run.directory)
    there = {str(path) for path in run.directory.rglob("*") if path.is_file()}
    hashed.clear()
    train(dataclasses.replace(config, steps=4), run.directory)
    old = {path: times for path, times in hashed.items() if path in there}
    begun = str(run.checkpoints()[0])
    assert {Path(path).name for path in old if path.startswith(begun)} == set(FILES)
    assert str(run.directory / "tokenizer.model") in old and set(old.values()) == {1}, old


def test_of_several_processes_only_the_leader_hashes(config, tmp_path, hashed):
    run = Run(tmp_path / "run")
    weights = train(config, run.directory).state_dict()
    hashed.clear()
    model = Transformer(dataclasses.replace(config.model, vocab_size=run.tokenizer.vocab_size))
    state = resume(config, run, Group(torch.device("cpu"), rank=1), model, adam(model.parameters()))
    assert state["step"] == 2 and not hashed
    assert all(torch.equal(value, weights[name]) for name, value in model.state_dict().items())
