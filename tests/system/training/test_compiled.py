"What torch.compile makes of the layers and of the loss, by PyTorch's compiler for CPUs: GPUs have one of their own."
import random
import shutil
from functools import partial

import pytest
import torch
from torch import nn

from annotated_transformer import PAD, Transformer, TransformerConfig
from annotated_transformer.model.regularization import label_smoothed_cross_entropy
from annotated_transformer.training import chunked_loss
from annotated_transformer.training.chunked_loss import fused_label_smoothed_cross_entropy, one_pass, smoothed_and_plain
from annotated_transformer.training.devices import compile_each


@pytest.fixture
def counted(monkeypatch):
    "How many graphs were compiled; they are run as they are."
    graphs, whole = [], torch.compile

    def keep(graph, _):
        graphs.append(graph)
        return graph.forward

    def compile_in_place(self, **options):
        self._compiled_call_impl = whole(self._call_impl, backend=keep, **options)

    torch.compiler.reset()
    monkeypatch.setattr(nn.Module, "compile", compile_in_place)
    yield graphs
    torch.compiler.reset()


def test_layers_share_few_graphs_whatever_the_shapes(counted):
    limit = torch._dynamo.config.recompile_limit
    chance, found = random.Random(0), {}
    torch.manual_seed(0)
    for n_layers in (2, 4):
        counted.clear()
        torch.compiler.reset()
        sizes = TransformerConfig(50, n_layers=n_layers, d_model=16, d_ff=24, n_heads=2, dropout=0.0, max_length=200)
        model = Transformer(sizes)
        compile_each([*model.encoder.layers, *model.decoder.layers])
        assert torch._dynamo.config.recompile_limit >= 64
        for update in range(50):
            rows, S, T = (chance.randint(2, 40) for _ in range(3))
            T = S if update in (0, 1, 7) else T
            source, target = torch.randint(3, 50, (rows, S)), torch.randint(3, 50, (rows, T))
            source[0, -1] = PAD if update % 2 else source[0, -1]
            model(source, target).sum().backward()
            if update == 9:
                early = len(counted)
        assert len(counted) == early <= 6, "a new shape is no reason to compile again"
        with torch.inference_mode():
            for _ in range(10):
                rows, S, T = (chance.randint(2, 40) for _ in range(3))
                model.eval()(torch.randint(3, 50, (rows, S)), torch.randint(3, 50, (rows, T)))
        found[n_layers] = len(counted)
    assert found[2] == found[4] <= 12, "layers of one kind share theirs"
    torch._dynamo.config.recompile_limit = limit


def test_the_rule_in_one_pass_is_the_readable_one():
    torch.manual_seed(0)
    logits, right = 3 * torch.randn(5, 11, dtype=torch.float64), torch.tensor([[3], [10], [1], [7], [PAD]])
    share = (right != PAD).double() / 4
    for smoothing in (0.0, 0.1):
        before = logits.clone()
        losses, gradient = one_pass(smoothing, logits, right, share, True)
        assert torch.equal(logits, before), "nothing is done in place"
        (loss, plain), expected = smoothed_and_plain(smoothing, logits.clone(), right, share, True)
        torch.testing.assert_close(losses, (loss, plain))
        torch.testing.assert_close(gradient, expected)
        asked = logits.clone().requires_grad_()
        readable = label_smoothed_cross_entropy(asked[None], right.T, smoothing)
        torch.testing.assert_close(losses[0], readable.detach())
        torch.testing.assert_close(gradient, torch.autograd.grad(readable, asked)[0], rtol=0, atol=1e-15)  # in 64 bits, too
        assert one_pass(smoothing, logits, right, share, False)[1] is None


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("gcc") is None, reason="torch.compile needs a compiler")
def test_the_compiled_loss_equals_the_other_but_for_rounding(monkeypatch):
    torch.manual_seed(0)
    monkeypatch.setattr(chunked_loss, "broken", [])
    hidden, target = torch.randn(37, 16, requires_grad=True), torch.randint(0, 300, (37,))
    weight = nn.Parameter(torch.randn(300, 16))
    found = {}
    for compiled in (False, True):
        loss = partial(fused_label_smoothed_cross_entropy, hidden, weight, target, 0.1, chunk=16, compiled=compiled)
        long = loss()
        with torch.autocast("cpu", torch.bfloat16):
            short = loss()
        assert long.dtype == short.dtype == torch.float32 and long != short
        found[compiled] = [*(torch.autograd.grad(x, (hidden, weight)) for x in (long, short)), (long.detach(), short.detach())]
    assert not chunked_loss.broken, chunked_loss.broken
    torch.testing.assert_close(found[True][0], found[False][0])
    torch.testing.assert_close(found[True][2], found[False][2])
    for ours, theirs in zip(found[True][1], found[False][1]):  # both round the gradient of the logits to 8 bits
        assert (ours - theirs).norm() < 2**-8 * theirs.norm()


def test_where_nothing_can_be_compiled_the_other_rule_takes_over(monkeypatch, caplog):
    calls = []

    def fails(*_):
        calls.append(1)
        raise torch._dynamo.exc.TorchDynamoException("no compiler\nand more")

    monkeypatch.setattr(chunked_loss, "broken", [])
    monkeypatch.setattr(chunked_loss, "compiled_one_pass", lambda: fails)
    torch.manual_seed(0)
    hidden, weight, target = torch.randn(7, 4), torch.randn(9, 4), torch.randint(1, 9, (7,))
    losses = [fused_label_smoothed_cross_entropy(hidden, weight, target, 0.1, None, 3, compiled) for compiled in (False, True)]
    assert torch.equal(*losses) and len(calls) == 1
    assert caplog.text.count("no compiler") == 1 and "and more" not in caplog.text


def test_where_pytorch_compiles_nothing_at_all_the_other_rule_takes_over(monkeypatch, caplog):
    def refuses(*_, **options):
        raise RuntimeError("torch.compile is not supported on Python 3.99+")

    monkeypatch.setattr(chunked_loss, "broken", [])
    monkeypatch.setattr(torch, "compile", refuses)
    chunked_loss.compiled_one_pass.cache_clear()
    torch.manual_seed(0)
    hidden, weight, target = torch.randn(7, 4), torch.randn(9, 4), torch.randint(1, 9, (7,))
    losses = [fused_label_smoothed_cross_entropy(hidden, weight, target, 0.1, None, 3, compiled) for compiled in (False, True)]
    assert torch.equal(*losses) and caplog.text.count("Python 3.99") == 1
    chunked_loss.compiled_one_pass.cache_clear()


def test_a_gpu_takes_as_many_tokens_as_fill_an_eighth_of_its_memory(monkeypatch):
    properties = {"total_memory": 80 * 10**9}
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device: type("Properties", (), properties))
    gpu = torch.device("cuda", 0)
    assert chunked_loss.usual_chunk(gpu, 37_000) == 10**10 // (8 * 37_000) > 25_000
    properties["total_memory"] = 10**6
    assert chunked_loss.usual_chunk(gpu, 37_000) == 256
    assert chunked_loss.usual_chunk(torch.device("cpu"), 37_000) == 256
