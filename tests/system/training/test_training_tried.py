"What was tried on a training step: no change alters what is computed, each does what it says, and the bounds are right."
import json

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from annotated_transformer.config import TransformerConfig
from annotated_transformer.data.batching import collate
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.training.loop import WithLoss
from benchmarks import training_tried
from benchmarks.shared.training_profile import Clocked, what_for
from benchmarks.training import SMOOTHING, Work
from benchmarks.training_tried import CHANGES, UNCHANGED, at_most

CONFIG = TransformerConfig(311, n_layers=2, d_model=12, d_ff=20, n_heads=2, d_k=5, d_v=5, dropout=0.0, max_length=16)
LENGTHS = [(7, 4), (3, 5), (6, 2)]
TOKENS = 4 + 5 + 2


class Named(TorchDispatchMode):
    "Notes each operation with the shapes that it takes and gives."

    def __init__(self):
        super().__init__()
        self.seen = []

    def __torch_dispatch__(self, operation, types, given=(), named=None):
        result = operation(*given, **(named or {}))
        self.seen.append((operation.name(), [tuple(x.shape) for x in (*given, result) if isinstance(x, torch.Tensor)]))
        return result


def run(name: str) -> tuple[torch.Tensor, dict[str, torch.Tensor], list]:
    "Loss, gradients and operations of a small step with a change."
    torch.manual_seed(4)
    learner = WithLoss(Transformer(CONFIG), SMOOTHING)
    batch = collate([[torch.randint(3, 311, (n,)).tolist() for n in pair] for pair in LENGTHS], range(3))
    batch = CHANGES[name](learner, batch)
    with Named() as named:
        loss = learner(*batch, TOKENS)
        loss.backward()
    return loss.detach(), {name: weight.grad for name, weight in learner.named_parameters()}, named.seen


@pytest.mark.parametrize("name", [name for name in CHANGES if name != UNCHANGED])
def test_no_change_alters_loss_or_gradients(name):
    torch.testing.assert_close(run(name)[:2], run(UNCHANGED)[:2], rtol=1e-5, atol=1e-7)


def test_each_change_does_what_it_says(monkeypatch):
    def shapes(name, part):
        return [shape for operation, all_shapes in run(name)[2] if part in operation for shape in all_shapes]

    real = sum(map(sum, LENGTHS)) - TOKENS, TOKENS
    assert {shape[0] for shape in shapes("rows without padding", "aten::native_layer_norm") if len(shape) == 2} == set(real)
    assert shapes(UNCHANGED, "attention_for_cpu") and not shapes("attention by plain products", "attention_for_cpu")
    assert shapes("attention by plain products", "_softmax")
    joined = {(3, 7, 2 * (5 + 5 + 5)), (3, 5, 2 * (5 + 5 + 5))}  # gradients of queries, keys and values, in self-attention
    assert joined <= set(shapes(UNCHANGED, "cat")) and not joined & set(shapes("heads copied less", "cat"))
    monkeypatch.setattr(training_tried, "fused_label_smoothed_cross_entropy", lambda *given, chunk: torch.tensor(float(chunk)))
    learner = WithLoss(Transformer(CONFIG), SMOOTHING)
    batch = CHANGES["loss of all tokens at once"](learner, Work(CONFIG, 2, 16).batch())
    assert learner(*batch, 4321) == 4321


def test_operations_are_told_apart():
    kinds = {}
    for name, shapes in run(UNCHANGED)[2]:
        kinds.setdefault(name, set()).add(what_for(name, shapes, CONFIG))
    assert kinds["aten::mm"] == {"products of the layers", "products of the loss"}
    assert kinds["aten::mm.out"] == {"products of the loss"} and kinds["aten::addmm"] == {"products of the layers"}
    assert kinds["aten::_scaled_dot_product_flash_attention_for_cpu_backward"] == {"attention"}
    assert kinds["aten::native_layer_norm"] == kinds["aten::native_layer_norm_backward"] == {"layer norm"}
    assert kinds["aten::exp_"] == {"rest of the loss"} and kinds["aten::relu_"] == {"other operations"}
    assert kinds["aten::embedding_dense_backward"] == {"embedding's gradient"} and kinds["aten::cat"] == {"copies of heads"}
    assert kinds["aten::add.Tensor"] == {"embedding's gradient", "other operations"}
    assert what_for("aten::random_.from", [(96,)], CONFIG) == "dropout" == what_for("aten::mul.Tensor", [(2, 4, 12)] * 2, CONFIG)
    hidden, weight = torch.ones(2000, 12), torch.ones(12, 311)
    with Clocked(CONFIG) as clocked:
        hidden.relu_() @ weight
    assert set(clocked.seconds) == {"products of the loss", "other operations"} and min(clocked.seconds.values()) >= 0


def test_bounds_by_hand(monkeypatch):
    work = Work(TransformerConfig(51, n_layers=1, d_model=10, d_ff=24, n_heads=2, max_length=64), rows=2, length=10)
    monkeypatch.setattr(Work, "lengths", lambda self: np.array([(10, 9), (8, 6)]))
    shares = {
        "products of the layers": 0.5, "dropout": 0.1, "layer norm": 0.05, "attention": 0.03, "products of the loss": 0.2,
        "copies of heads": 0.01,
    }
    flops = 3 * 2 * 15 * 10 * 50
    found = at_most(work, shares, seconds=2.0, rate=flops / 0.3)  # the loss's products would take 0.3 of 2 seconds
    assert list(found.values()) == pytest.approx([7 / 40 * 0.65, 0.03, 0.2 - 0.15, 0.01], abs=1e-4)
    assert list(found) == [name for name in CHANGES if name != UNCHANGED]
    assert at_most(work, shares, seconds=2.0, rate=flops)["loss of all tokens at once"] == 0


def test_the_record_says_what_each_change_could_save_and_saved(tmp_path, capsys):
    out = tmp_path / "tried.json"
    training_tried.main(["--size", "small", "--rounds", "2", "--out", str(out)])
    said, record = capsys.readouterr().out, json.loads(out.read_text())
    assert record["seed"] == training_tried.SEED and record["hardware"]["threads"] == 1 and record["config"]["rounds"] == 2
    figures = record["figures"]
    assert list(figures["changes"]) == list(CHANGES) and sum(figures["profile"]["shares"].values()) == pytest.approx(1)
    for name, part in figures["changes"].items():
        assert len(part["seconds"]) == 2 and ("saved" in part) == (name != UNCHANGED) and (name in said) == (name != UNCHANGED)


def test_mistakes_end_it_before_anything_is_measured(tmp_path, refused, monkeypatch):
    monkeypatch.setattr(training_tried, "measure", lambda *_: pytest.fail("something was measured"))
    for given, words in ((["--rounds", "0"], "at least 1"), (["--out", str(tmp_path)], "is a directory")):
        said = refused(training_tried.main, given)
        assert words in said and said.count("\n") == 1, said
