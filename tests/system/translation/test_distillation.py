"A small translator that learns from larger ones (`benchmarks.distillation`): its loss."
import copy

import pytest
import torch

from annotated_transformer import PAD
from annotated_transformer.config import TransformerConfig
from annotated_transformer.data.batching import collate
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.training.loop import WithLoss
from benchmarks import distillation

ROWS = [[[5, 7, 9, 2], [4, 8, 2]], [[6, 2], [3, 3, 9, 10, 2]]]  # EOS is 2


@pytest.fixture
def learner():
    torch.manual_seed(0)
    config = TransformerConfig(12, n_layers=1, d_model=16, d_ff=24, n_heads=2, dropout=0.0, max_length=16)
    return WithLoss(Transformer(config), 0.1)


@pytest.fixture
def batch():
    return collate([tuple(map(torch.tensor, row)) for row in ROWS], [0, 1])


def gradients(loss, learner):
    learner.zero_grad()
    loss.backward()
    return {name: weight.grad.clone() for name, weight in learner.model.named_parameters()}


def test_without_a_share_of_the_teachers_it_is_the_usual_loss(learner, batch, monkeypatch):
    monkeypatch.setattr(distillation, "FROM_TEACHERS", 0.0)
    usual = learner(*batch, 8)
    expected = gradients(usual, learner)
    taught = distillation.Taught(learner, [copy.deepcopy(learner.model)])
    found = taught(*batch, 8)
    torch.testing.assert_close(found, usual)
    torch.testing.assert_close(gradients(found, taught), expected, atol=1e-6, rtol=1e-5)


def test_who_has_only_itself_to_learn_from_stays_as_it_is(learner, batch, monkeypatch):
    monkeypatch.setattr(distillation, "FROM_TEACHERS", 1.0)
    taught = distillation.Taught(learner, [copy.deepcopy(learner.model), copy.deepcopy(learner.model)])
    found = gradients(taught(*batch, 8), taught)
    assert max(float(gradient.abs().max()) for gradient in found.values()) < 1e-6


def test_it_is_the_mean_over_teachers_of_the_cross_entropy_and_the_padding_counts_for_nothing(learner, batch, monkeypatch):
    monkeypatch.setattr(distillation, "FROM_TEACHERS", 0.25)
    torch.manual_seed(1)
    teachers = [Transformer(learner.model.config), Transformer(learner.model.config)]
    taught = distillation.Taught(learner, teachers)
    found = taught(*batch, 8)
    by_hand = 0.75 * learner(*batch, 8)
    for source, target in ROWS:  # a sentence at a time, without padding
        ids, before = torch.tensor([source]), torch.tensor([[PAD, *target[:-1]]])
        logs = [(m.decode(before, m.encode(ids), ids) @ m.embedding.weight.T).log_softmax(-1) for m in (learner.model, *teachers)]
        by_hand = by_hand - 0.25 / 8 * sum((log.exp() * logs[0]).sum() for log in logs[1:]) / 2
    torch.testing.assert_close(found, by_hand)
    found = gradients(found, taught)
    assert not found["embedding.weight"][PAD].any() and found["embedding.weight"].any()
    assert all(weight.grad is None for teacher in teachers for weight in teacher.parameters())


@pytest.mark.parametrize("words", [["teach", "x"], ["translate"], ["learn", "3"], ["report", "plain"]])
def test_who_is_not_known_is_one_sentence(words, tmp_path, capsys):
    with pytest.raises(SystemExit) as ended:
        distillation.main([*words, "--work", str(tmp_path / "new")])
    assert ended.value.code == 2 and f"error: {words[0]} takes " in capsys.readouterr().err and not (tmp_path / "new").exists()
