"The finish with a cut of the words: nothing cut is the plain loss, and the divergence is PyTorch's own."
import torch
import torch.nn.functional as F

from annotated_transformer import PAD
from annotated_transformer.config import TransformerConfig
from annotated_transformer.data.batching import Batch
from annotated_transformer.model.regularization import label_smoothed_cross_entropy
from annotated_transformer.model.transformer import Transformer
from benchmarks import finishes


def toy():
    torch.manual_seed(3)
    model = Transformer(TransformerConfig(vocab_size=40, n_layers=1, d_model=12, d_ff=16, n_heads=2, dropout=0.0))
    source, target = torch.randint(3, 40, (4, 7)), torch.randint(3, 40, (4, 5))
    source[0, 4:], target[1, 3:] = PAD, PAD
    return model, Batch(source, F.pad(target, (1, -1)), target)


def test_where_nothing_is_cut_the_loss_is_the_plain_one(monkeypatch):
    model, batch = toy()
    logits = model.embedding.project(model.decode(batch.target_input, model.encode(batch.source), batch.source))
    plain = label_smoothed_cross_entropy(logits, batch.target, 0.1)
    torch.manual_seed(5)
    assert finishes.cut_loss(model, batch, 0.1) > plain
    monkeypatch.setattr(finishes, "CUT", 0.0)
    torch.testing.assert_close(finishes.cut_loss(model, batch, 0.1), plain)
    assert not model.embedding._forward_hooks


def test_the_divergence_is_that_of_the_cut_prediction_from_the_whole_one():
    logits, target = torch.randn(2, 3, 4, 9), torch.randint(3, 9, (3, 4))
    target[2, 1:] = PAD
    whole, cut = logits[:, target != PAD].log_softmax(-1)
    torch.testing.assert_close(finishes.divergence(logits, target), F.kl_div(cut, whole, log_target=True, reduction="batchmean"))


def test_only_the_second_half_is_cut(monkeypatch):
    monkeypatch.setattr(finishes, "CUT", 1.0)
    vectors = torch.ones(4, 3, 5)
    found = finishes.cut_second_half(None, (), vectors)
    assert found[:2].all() and not found[2:].any()
