"The benchmark of a training step, tried on small models: what is compared, what is counted, what is recorded."
import json
import math
from contextlib import nullcontext

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from annotated_transformer import PAD
from annotated_transformer.config import TransformerConfig
from annotated_transformer.model.regularization import Dropout, label_smoothed_cross_entropy
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.training.loop import WithLoss
from benchmarks import training
from benchmarks.shared import training_profile
from benchmarks.shared.side_by_side import in_own_process
from benchmarks.shared.training_profile import KINDS
from benchmarks.training import CONTENDERS, SMOOTHING, Peer, Work, peer_step, with_the_papers_dropout

CONFIG = TransformerConfig(19, n_layers=2, d_model=12, d_ff=20, n_heads=2, dropout=0.0, max_length=16)
WORK = Work(CONFIG, rows=5, length=16)


def spread_evenly(smoothing: float, classes: int) -> float:
    """What PyTorch must be told for our smoothing. It gives a share e / V to all V classes, the right one too; we give
    s / (V - 1) to the wrong ones alone. With e = s V / (V - 1) each wrong one gets the same, and so does the right one."""
    return smoothing * classes / (classes - 1)


def test_the_two_ways_to_smooth_labels_differ_by_a_factor_that_is_known():
    torch.manual_seed(0)
    for classes in (2, 7, 37_000):
        logits = torch.randn(6, classes, dtype=torch.float64)
        target = torch.randint(1, classes, (6,))
        target[4:] = PAD
        given = {"ignore_index": PAD, "label_smoothing": spread_evenly(0.1, classes)}
        torch.testing.assert_close(F.cross_entropy(logits, target, **given), label_smoothed_cross_entropy(logits, target, 0.1))

        right = 1 - 0.1 + 0.1 / classes  # what PyTorch leaves the right class when it is told 0.1 itself
        theirs = F.cross_entropy(logits, target, ignore_index=PAD, label_smoothing=0.1)
        torch.testing.assert_close(theirs, label_smoothed_cross_entropy(logits, target, 1 - right))


def test_the_peers_step_reports_the_loss_of_its_logits():
    peers = []
    step = peer_step(WORK, lambda peer: peers.append(peer) or peer)
    batch = WORK.batch()
    with torch.no_grad():
        logits = peers[0](batch.source, batch.target_input)
    ours = label_smoothed_cross_entropy(logits, batch.target, SMOOTHING / spread_evenly(1.0, CONFIG.vocab_size))
    first, *later = [step() for _ in range(30)]
    assert first == pytest.approx(float(ours), rel=1e-5)
    assert later[-1] < first, "it learns"


def in_their_names(layer: torch.nn.Module) -> dict[str, torch.Tensor]:
    "The weights of a layer of ours, and zeros for the biases that PyTorch's attention has beside."
    parts = {"self_attention": "self_attn", "memory_attention": "multihead_attn", "feed_forward": ""}
    weights, number = {}, 0
    for ours, theirs in parts.items():
        if (part := getattr(layer, ours, None)) is None:
            continue
        number += 1
        weights |= {f"norm{number}.{name}": value for name, value in part.norm.named_parameters()}
        if theirs:
            matrix, out = part.sublayer.in_projection, part.sublayer.out_projection.weight
            weights |= {f"{theirs}.in_proj_weight": matrix, f"{theirs}.in_proj_bias": torch.zeros(len(matrix))}
            weights |= {f"{theirs}.out_proj.weight": out, f"{theirs}.out_proj.bias": torch.zeros(len(out))}
        else:
            for linear, name in ((part.sublayer.inner, "linear1"), (part.sublayer.outer, "linear2")):
                weights |= {f"{name}.weight": linear.weight, f"{name}.bias": linear.bias}
    return weights


def copy_weights(model: Transformer, peer: Peer) -> None:
    "Ours into the peer, which then has no second final LayerNorm."
    peer.embedding.weight.copy_(model.embedding.weight)
    for stack, theirs in ((model.encoder, peer.transformer.encoder), (model.decoder, peer.transformer.decoder)):
        theirs.norm = None
        for layer, other in zip(stack.layers, theirs.layers):
            other.load_state_dict(in_their_names(layer))


def test_but_for_the_second_final_layer_norm_the_peer_computes_what_our_model_computes():
    torch.manual_seed(1)
    model, peer, batch = Transformer(CONFIG), Peer(CONFIG), WORK.batch()
    with torch.no_grad():
        copy_weights(model, peer)
    logits = peer(batch.source, batch.target_input)
    real = batch.target != PAD  # at padding nothing is defined: PyTorch's mask may leave rows that see nothing
    torch.testing.assert_close(logits[real], model(batch.source, batch.target_input)[real], rtol=1e-4, atol=1e-5)

    smoothing = spread_evenly(SMOOTHING, CONFIG.vocab_size)
    theirs = F.cross_entropy(logits.flatten(0, 1), batch.target.flatten(), ignore_index=PAD, label_smoothing=smoothing)
    ours = WithLoss(model, SMOOTHING)(*batch, int(real.sum()))
    torch.testing.assert_close(theirs, ours, rtol=1e-5, atol=1e-6)
    theirs.backward()
    ours.backward()
    pieces = slice(PAD + 1, None)  # the row of PAD is held at zero with us
    torch.testing.assert_close(peer.embedding.weight.grad[pieces], model.embedding.weight.grad[pieces], rtol=1e-3, atol=1e-5)


def test_with_the_papers_dropout_the_peer_drops_where_we_do():
    config = TransformerConfig(19, n_layers=2, d_model=12, d_ff=20, n_heads=2, dropout=0.25, max_length=16)

    def dropouts(model):
        modules = list(model.modules())
        rates = [module.p for module in modules if isinstance(module, (Dropout, nn.Dropout))]
        rates += [module.dropout for module in modules if isinstance(module, nn.MultiheadAttention)]
        return [rate for rate in rates if rate]

    ours = dropouts(Transformer(config))
    assert ours == dropouts(with_the_papers_dropout(Peer(config))) == [0.25] * (1 + 2 * 2 + 3 * 2)
    assert len(dropouts(Peer(config))) == len(ours) + (2 + 2) + (2 + 2 * 2)  # feed-forward networks; attentions


def test_the_batch_is_the_same_for_all_and_padding_is_about_a_twentieth():
    for rows, length in ((256, 16), (32, 32), (2, 1024)):
        work = Work(CONFIG, rows, length)
        batch, lengths = work.batch(), work.lengths()
        assert all(one.equal(other) for one, other in zip(batch, work.batch()))
        assert batch.source.shape == batch.target.shape == (rows, length)
        for ids, real in zip((batch.source, batch.target), lengths.T):
            np.testing.assert_array_equal((ids != PAD).sum(1), real)
        assert lengths.min() >= math.floor(0.9 * length)
    padding = 1 - Work(CONFIG, 256, 16).lengths().mean() / 16
    assert 0.04 < padding < 0.06


def test_arithmetic_is_counted_by_hand_over_the_real_tokens(monkeypatch):
    pairs = [(5, 4), (3, 5)]
    monkeypatch.setattr(Work, "lengths", lambda self: np.array(pairs))
    d, d_ff, layers, vocabulary = 12, 20, 2, 19
    products = 0
    for S, T in pairs:
        encoder = 4 * S * d * d + 2 * S * S * d + 2 * S * d * d_ff
        own = 4 * T * d * d + 2 * T * T * d
        memory = 2 * T * d * d + 2 * S * d * d + 2 * T * S * d
        products += layers * (encoder + own + memory + 2 * T * d * d_ff) + T * d * (vocabulary - 1)
    work = Work(CONFIG, rows=2, length=5)
    assert work.flops() == 3 * 2 * products  # a multiply-add is two; the backward pass makes two products for each
    found = training.time_steps(work, rounds=1, matrices=(8, 16))
    assert found["flops"] == work.flops() and (found["source_tokens"], found["target_tokens"]) == (8, 9)
    assert found["padding_share"] == pytest.approx(3 / 20)
    rate = max(found["matrix_products_flops_per_second"].values())
    for part in found["contenders"].values():
        assert part["flops_per_second"] == pytest.approx(work.flops() / part["median_seconds"])
        assert part["share_of_matrix_products"] == pytest.approx(part["flops_per_second"] / rate, abs=1e-4)


TOLD = {  # of some operations it is known what they are for
    "aten::mm": "matrix products", "aten::addmm": "matrix products", "aten::addmm_": "matrix products",
    "aten::bmm": "attention", "aten::_softmax": "attention",
    "aten::_scaled_dot_product_flash_attention_for_cpu": "attention",
    "aten::_scaled_dot_product_flash_attention_for_cpu_backward": "attention",
    "aten::random_": "dropout", "aten::bernoulli_": "dropout",
    "aten::native_layer_norm": "layer norm", "aten::native_layer_norm_backward": "layer norm",
    "aten::logsumexp": "loss", "aten::_log_softmax": "loss", "aten::_log_softmax_backward_data": "loss",
    "aten::_fused_adam_": "optimizer", "aten::lerp_": "optimizer",
    "aten::relu": "copies and additions", "aten::threshold_backward": "copies and additions",
}


def test_each_operation_of_a_step_is_told_apart_by_what_it_is_for():
    dropping = Work(TransformerConfig(50, n_layers=1, d_model=16, d_ff=24, n_heads=2, dropout=0.1, max_length=32), 6, 16)
    for contender in ("ours", "peer"):
        kinds: dict[str, set] = {}
        for kind, event in training_profile.profiled(CONTENDERS[contender](dropping), steps=1):
            kinds.setdefault(event.name, set()).add(kind)
        assert set.union(*kinds.values()) == set(KINDS)
        assert {name: {TOLD[name]} for name in kinds if name in TOLD} == {name: kinds[name] for name in kinds if name in TOLD}
        assert len(TOLD.keys() & kinds.keys()) > 8
    # The backward pass of a product belongs to what was multiplied: here a dropout, or the scaling of the embedding.
    assert kinds["autograd::engine::evaluate_function: MulBackward0"] == {"dropout", "other"}

    found = training_profile.where_the_time_goes(CONTENDERS["ours"](WORK), steps=1)
    assert list(found["shares"]) == KINDS and sum(found["shares"].values()) == pytest.approx(1, abs=1e-3)


@pytest.fixture
def shared_processes(monkeypatch):
    "A process for each contender, for all parts of the benchmark: to start 26 of them takes a minute and a half."
    with training.processes(list(CONTENDERS | training.IN_16_BITS)) as pools:
        monkeypatch.setattr(training, "processes", lambda names: nullcontext({name: pools[name] for name in names}))
        yield


def test_the_record_holds_every_part(shared_processes, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(training, "IMPORTS", ("pass",))
    calls = []

    def here(module, function, *arguments):
        calls.append((module, function, *arguments))
        return getattr(training, function)(*arguments)

    monkeypatch.setattr(training, "in_own_process", here)
    out = tmp_path / "results" / "training.json"
    training.main(["--sizes", "small", "--rounds", "2", "--out", str(out)])
    said = capsys.readouterr().out
    assert "where the time of a step of base goes" in said and "imports" in said

    record = json.loads(out.read_text())
    assert record["command"].startswith("python -m benchmarks.training --sizes small") and record["seed"] == training.SEED
    assert record["config"]["works"]["base"]["config"]["vocab_size"] == 70 and record["hardware"]["threads"] >= 1
    figures = record["figures"]
    assert list(figures) == list(training.PARTS)
    for name, found in figures["steps"].items():
        assert found["flops"] == training.WORKS["small"][name].flops()
        assert list(found["contenders"]) == list(CONTENDERS)
        for contender, part in found["contenders"].items():
            assert len(part["seconds"]) == 2 and ("times_ours" in part) == (contender != "ours")
        assert list(found["matrix_products_flops_per_second"]) == ["64", "128"]
    assert calls == [("benchmarks.training", "peak_of_steps", name, "small") for name in CONTENDERS]
    assert list(figures["imports"]) == ["pass"] and len(figures["imports"]["pass"]["seconds"]) == 2
    growth = figures["growth"]["tiny"]
    assert {what: [point["size"] for point in points] for what, points in growth.items()} == {
        "length": [16, 32], "tokens": [32, 64], "vocabulary": [50, 100],
    }
    assert growth["length"][0]["attention_share_of_flops"] < growth["length"][1]["attention_share_of_flops"] < 1
    assert [point["rows"] * point["length"] for point in growth["length"]] == [64, 64]
    for found in figures["precision"].values():
        assert list(found) == list(training.IN_16_BITS)
        assert [len(part["seconds"]) for part in found.values()] == [2] * 4
    assert list(figures["profile"]) == ["tiny", "base"] and list(figures["profile"]["tiny"]) == ["ours", "peer"]


def test_in_16_bits_both_compute_nearly_what_they_compute_in_32():
    steps = {name: make(WORK) for name, make in training.IN_16_BITS.items()}
    losses = {name: [step() for _ in range(3)] for name, step in steps.items()}
    for name in ("ours", "peer"):
        short, long = losses[f"{name}, bfloat16"], losses[name]
        assert short != long
        assert short == pytest.approx(long, rel=0.02)


def test_memory_is_measured_in_a_new_process():
    found = in_own_process("benchmarks.training", "peak_of_steps", "ours", "small")
    assert found["bytes_of_the_steps"] == found["peak_bytes"] - found["bytes_before_the_model"] > 0
    assert len(found["losses"]) == 3


def test_mistakes_end_it_before_anything_is_measured(tmp_path, refused, monkeypatch):
    monkeypatch.setattr(training, "measure", lambda *_: pytest.fail("something was measured"))
    (tmp_path / "file").touch()
    assert "--rounds: must be at least 1, not 0" in refused(training.main, ["--rounds", "0"])
    for given, words in (
        (["--out", str(tmp_path)], "is a directory"),
        (["--out", str(tmp_path / "file" / "more" / "training.json")], "cannot be made"),
    ):
        said = refused(training.main, given)
        assert words in said and said.count("\n") == 1, said
