"Tests of training.fitting."
import dataclasses
import logging
from unittest.mock import patch

import pytest
import torch

from annotated_transformer import InputError
from annotated_transformer.config import Execution, TrainingConfig, TransformerConfig
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.training import fitting as module
from annotated_transformer.training.fitting import fitting, may_run_out, warn_of_memory
from annotated_transformer.training.processes import Group

CPU = torch.device("cpu")


def memory_for(most: float, batch_tokens: int, tried: list[int]):
    "A rehearsal on a device that holds `most` tokens."

    def rehearse(parts: int) -> None:
        tried.append(parts)
        if batch_tokens / parts > most:
            raise torch.OutOfMemoryError("CUDA out of memory")

    return rehearse


def test_tokens_are_halved_until_they_fit_and_that_is_said(caplog):
    tried = []
    with caplog.at_level(logging.WARNING):
        found = fitting(Execution(), 25_000, Group(CPU), memory_for(4_000, 25_000, tried))
    assert tried == [1, 2, 4, 8] and found == Execution(device_tokens=3_125)
    assert len(caplog.records) == 3 and "going on with --device-tokens 3125" in caplog.text and "8 parts" in caplog.text
    tried.clear()
    assert fitting(Execution(), 25_000, Group(CPU), memory_for(25_000, 25_000, tried)) == Execution() and tried == [1]
    assert fitting(Execution(device_tokens=5_000), 25_000, Group(CPU), memory_for(2_500, 25_000, tried)).device_tokens == 2_500


def test_what_is_too_much_for_one_process_is_too_much_for_all():
    "Two processes: the other one runs out of memory at 12,500 tokens, this one never does."
    tried = []
    with patch.object(Group, "highest", lambda self, out: [float(out or 25_000 / tried[-1] > 7_000)]):
        found = fitting(Execution(), 25_000, Group(CPU, rank=1, size=2), memory_for(25_000, 25_000, tried))
    assert tried == [2, 4] and found.device_tokens == 6_250


def test_other_errors_are_not_taken_for_it_and_a_sentence_must_fit():
    with pytest.raises(ZeroDivisionError):
        fitting(Execution(), 25_000, Group(CPU), lambda parts: 1 / 0)
    with pytest.raises(InputError, match="not even 98 tokens at a time fit into the memory"):
        fitting(Execution(), 25_000, Group(CPU), memory_for(10, 25_000, []))


def test_a_cpu_is_not_asked():
    assert may_run_out(torch.device("cuda", 0)) and not may_run_out(CPU) and not may_run_out(torch.device("mps"))


def test_an_update_that_a_cpu_cannot_hold_is_told_before_it(caplog, monkeypatch):
    model = Transformer(TransformerConfig(50, n_layers=3, d_model=8, d_ff=20, n_heads=2))
    config = TrainingConfig(model.config, batch_tokens=1_000)
    fixed, each = 2**28 + 16 * sum(weight.numel() for weight in model.parameters()), 4 * 3 * (38 * 8 + 2 * 20)

    def told(there, config=config, n_parts=1, tokens=10**6, precision="float32", own_loss=False):
        caplog.clear()
        monkeypatch.setattr(module, "allowed_memory", lambda: there)
        warn_of_memory(config, Execution(precision=precision), model, n_parts, tokens, own_loss)
        return caplog.text

    for much, settings in {
        fixed + 1_000 * each: {}, fixed + 334 * each: {"n_parts": 3}, fixed + 45 * each: {"tokens": 90},
        fixed + 750 * each: {"precision": "bfloat16"}, fixed + 1_000 * (each + 12 * 50): {"own_loss": True},
        fixed + 2_000 * each: {"config": dataclasses.replace(config, consistency=1.0)},
    }.items():
        assert not told(much, **settings)
        assert "the system may end it without a word" in told(much - 1, **settings)
    assert not told(None)
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "2")
    assert not told(2 * (fixed + 1_000 * each)) and told(2 * (fixed + 1_000 * each) - 2)
    monkeypatch.delenv("LOCAL_WORLD_SIZE")
    assert "--device-tokens 64 takes a batch in parts" in told(fixed + 128 * each)
    assert "choose a smaller model" in told(fixed + 126 * each) and "choose a smaller model" in told(fixed // 2)
    frozen = next(weight for name, weight in model.named_parameters() if name.startswith("encoder") and weight.dim() == 2)
    frozen.requires_grad_(False)
    less = fixed + 1_000 * each - 12 * frozen.numel()
    assert not told(less) and told(less - 1)
    assert f"takes some {(fixed + 1_000 * each) / 2**30:.1f} GiB of memory" in told(fixed + 45 * each)
