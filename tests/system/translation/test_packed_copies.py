"Copies of a model with packed products: they follow its weights, and leave alone what they could not multiply by."
import os
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest
import torch
from torch import nn
from torch.nn.utils import prune

from annotated_transformer import EOS, PAD, InputError, Transformer, TransformerConfig
from annotated_transformer.config import Search
from annotated_transformer.model.embedding import SharedEmbedding
from annotated_transformer.threads import ONE_THREAD, without_warnings
from annotated_transformer.training.optimizer import adam
from annotated_transformer.translation import packed_weights
from annotated_transformer.translation.fast_search import beam_search
from annotated_transformer.translation.few_rows import in_halves
from annotated_transformer.translation.packed_weights import Packed, in_eight_bits, in_sixteen_bits


def model():
    torch.manual_seed(0)
    return Transformer(TransformerConfig(14, n_layers=1, d_model=8, d_ff=12, n_heads=2)).eval()


@pytest.mark.parametrize("gone", [False, True])
def test_a_weight_that_16_bits_cannot_hold_is_refused_and_stays_as_it_was(gone, monkeypatch):
    if gone:
        monkeypatch.setattr(packed_weights, "old_is_faster", lambda bits: False)
    one = model()
    matrix = one.encoder.layers[0].feed_forward.sublayer.outer.weight
    matrix.data[3, 5] = -65_504
    in_sixteen_bits(one)
    matrix.data[3, 5] = -70_000
    with pytest.raises(InputError, match="a weight is beyond 65,504"):
        in_sixteen_bits(one)
    assert matrix[3, 5] == -70_000  # PyTorch's operator cuts it off in the matrix that it is given


def test_a_copy_is_made_anew_where_the_embedding_alone_has_changed():
    one, packed = model(), Packed(in_eight_bits)
    for change in (lambda: one.embedding.weight.data.mul_(-3), lambda: fused_step(one)):
        before = packed.of(one)
        change()   # of which PyTorch keeps no count
        assert packed.of(one) is not before and packed.of(one) is packed.of(one)


def fused_step(model):
    model.requires_grad_(False)
    weight = model.embedding.weight.requires_grad_()
    weight.grad = torch.ones_like(weight).index_fill(0, torch.tensor(PAD), 0)
    optimizer = adam([weight])
    optimizer.param_groups[0]["lr"] = 0.05
    optimizer.step()


class Tripled(nn.Linear):
    def forward(self, x):
        return nn.functional.linear(x, self.weight * 3.0, self.bias)


def of_a_class_of_its_own(model):
    for layer in (*model.encoder.layers, *model.decoder.layers):
        layer.feed_forward.sublayer.inner = Tripled(8, 12)


def parametrized(model):
    for layer in (*model.encoder.layers, *model.decoder.layers):
        nn.utils.parametrizations.weight_norm(layer.feed_forward.sublayer.inner)
        nn.utils.parametrizations.weight_norm(layer.self_attention.sublayer, "in_projection")


def pruned(model):
    for layer in (*model.encoder.layers, *model.decoder.layers):
        inner = layer.feed_forward.sublayer.inner
        prune.l1_unstructured(inner, "weight", 0.5)
        nn.init.constant_(inner.bias, 2.0)


class Cooled(SharedEmbedding):
    def project(self, x):
        return super().project(x) * 0.3

    def project_into(self, space, x):
        return super().project_into(space, x).mul_(0.3)


def an_embedding_of_its_own(model):
    model.embedding = Cooled(14, 8)


@pytest.mark.parametrize("change", [of_a_class_of_its_own, parametrized, pruned, an_embedding_of_its_own])
@pytest.mark.parametrize("pack", [in_eight_bits, in_sixteen_bits, in_halves])
def test_a_copy_leaves_a_linear_of_another_kind_as_it_is(change, pack):
    given = model()
    change(given)
    given.decoder.layers[-1].feed_forward.norm.weight.data.normal_(std=3)  # else it mostly repeats its last token
    source, search = torch.tensor([[3, 4, EOS], [5, EOS, PAD]]), Search(beam_size=2, extra_length=4)
    expected, found = (beam_search(each, source, search) for each in (given, pack(given)))
    for one, other in zip(found, expected, strict=True):
        assert one[0].log_probability == pytest.approx(other[0].log_probability, rel=0.1)


class Tripling(nn.Module):
    def forward(self, weight):
        return weight * 3


def test_halves_follow_an_embedding_that_is_computed_anew():
    given, source, search = model(), torch.tensor([[3, 4, EOS], [5, EOS, PAD]]), Search(beam_size=2, extra_length=4)
    nn.utils.parametrize.register_parametrization(given.embedding, "weight", Tripling())
    halves = in_halves(given)
    given.embedding.parametrizations.weight.original.data.mul_(-0.5)
    expected, found = ([row[0].log_probability for row in beam_search(each, source, search)] for each in (given, halves))
    assert found == pytest.approx(expected)


@pytest.mark.filterwarnings("ignore:.*weight_norm. is deprecated")
@pytest.mark.parametrize("change", [partial(prune.random_unstructured, amount=0.3), nn.utils.weight_norm])
def test_a_search_begins_with_the_weights_that_are_there_now(change):
    given, other = model(), model()
    for one in (given, other):
        change(one.decoder.layers[0].memory_attention.sublayer, "in_projection")
    for weight in given.parameters():
        weight.data.mul_(1.5)
    other.load_state_dict(given.state_dict())
    source, search = torch.tensor([[3, 4, EOS], [5, EOS, PAD]]), Search(beam_size=2, extra_length=4)
    _, expected, found = (beam_search(each, source, search) for each in (given, given, other))
    assert found == expected  # of the first search; by the second, `forward` has computed the weight


@pytest.mark.skipif(not hasattr(torch, "quantize_per_channel"), reason="PyTorch has deleted it")
def test_threads_that_pack_at_once_leave_the_warnings_of_the_program(monkeypatch):
    monkeypatch.setattr(packed_weights, "has_amx", lambda: False)  # else another kernel is chosen, without a warning to hide
    before, inside, most, quantize = [*warnings.filters], [], [], torch.quantize_per_channel

    def watched(*given):
        inside.append(1)
        most.append(len(inside))
        time.sleep(0.01)
        inside.pop()
        return quantize(*given)

    monkeypatch.setattr(torch, "quantize_per_channel", watched)
    with ThreadPoolExecutor(3) as threads:
        assert all(threads.map(in_eight_bits, [model() for _ in range(3)]))
    assert max(most) == 1 and warnings.filters == before


@pytest.mark.skipif(not hasattr(os, "fork"), reason="not on Windows")
def test_a_process_that_is_forked_while_a_thread_holds_the_lock_has_one_of_its_own():
    held, done = threading.Event(), threading.Event()

    def hold():
        with without_warnings():
            held.set()
            done.wait(20)

    holder = threading.Thread(target=hold)
    holder.start()
    held.wait(20)
    if (child := os.fork()) == 0:
        os._exit(0 if ONE_THREAD.lock.acquire(timeout=5) else 1)
    done.set()
    holder.join()
    assert os.waitpid(child, 0)[1] == 0
