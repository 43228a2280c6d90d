"""Heads switched off, and heads that are told where to look: what a model does without what a head found.

A head that is off gives zeros, so its rows of W^O add nothing (§3.2.2). Nothing is retrained, and the weights of the model
stay as they are.
"""
import reprlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from operator import index

import torch
from torch import Tensor, nn

from .. import InputError
from ..model.attention import Attend, MultiHeadAttention, attend_of, exchanged
from ..model.transformer import Transformer

__all__ = ["KINDS", "Change", "attention_of", "changed_heads", "every_head", "without_heads"]

KINDS = ("encoder", "decoder", "encoder_decoder")  # the three kinds of attention, as the maps name them (§3.2.3)
Change = Tensor | None  # weights, broadcastable to (B, T, S), that replace a head's own; None: the head is off


def layers_of(model: Transformer, kind: str) -> nn.ModuleList:
    "The layers that have attention of this kind; InputError if there are none."
    if not isinstance(model, nn.Module):
        raise InputError(f"heads belong to a model, such as `translator.model`, not to {reprlib.repr(model)}")
    if kind not in KINDS:
        raise InputError(f"there is no attention of the kind {kind!r}: choose one of {', '.join(KINDS)}")
    return (model.encoder if kind == "encoder" else model.decoder).layers


def attention_of(model: Transformer, kind: str, layer: int) -> MultiHeadAttention:
    "The attention of this kind in a layer, counted from 1; InputError if there is none."
    layers = layers_of(model, kind)
    if not 1 <= layer <= len(layers):
        raise InputError(f"there is no layer {layer}: the model has {len(layers)}, counted from 1")
    found = layers[layer - 1]
    return (found.memory_attention if kind == "encoder_decoder" else found.self_attention).sublayer


def every_head(model: Transformer, kind: str) -> list[tuple[int, int]]:
    "Layer and head, both from 1, of every head of a kind."
    layers = range(1, len(layers_of(model, kind)) + 1)
    return [(layer, head) for layer in layers for head in range(1, attention_of(model, kind, layer).n_heads + 1)]


def changed(attend: Attend, changes: Mapping[int, Change]) -> Attend:
    "The same attention with some of its heads, counted from 1, changed."
    def attend_changed(query: Tensor, key: Tensor, value: Tensor, allowed: Tensor | None = None, causal: bool = False) -> Tensor:
        out = list(attend(query, key, value, allowed, causal).unbind(1))  # of each head (B, T, d_v)
        for head, weights in changes.items():
            own = out[head - 1]
            out[head - 1] = torch.zeros_like(own) if weights is None else told(weights, query, value) @ value[:, head - 1]
        return torch.stack(out, 1)

    return attend_changed


def told(weights: Tensor, query: Tensor, value: Tensor) -> Tensor:
    "The weights that a head should have, (B, T, S); InputError if they belong to another batch."
    wanted = (len(query), query.size(2), value.size(2))
    try:
        return weights.to(value).expand(wanted)
    except RuntimeError:
        raise InputError(f"weights for a head have (B, T, S) = {wanted} here, or what broadcasts to it; these have "
                         f"{tuple(weights.shape)}") from None


@contextmanager
def changed_heads(
    model: Transformer,
    changes: Mapping[str, Mapping[tuple[int, int], Change]],  # by kind; then by layer and head, both from 1
) -> Iterator[None]:
    """Within, each of these heads is off (None) or averages its values with the given weights instead of its own.

    Weights (B, T, S), or what broadcasts to that, fit only batches of this shape; the rows should sum to one. Everything
    that runs this model in this thread is affected: losses, searches, `attention_maps` (which still show the weights that
    a changed head would have had). Meanwhile a `Translator` in 8 or 16 bits searches with the model itself.
    Call `backward` within too: activation checkpointing computes layers again there.
    """
    wanted: dict[MultiHeadAttention, dict[int, Change]] = {}
    for kind, of_kind in changes.items():
        for (layer, head), change in of_kind.items():
            attention = attention_of(model, kind, layer)
            if not 1 <= head <= attention.n_heads:
                raise InputError(f"there is no head {head}: each layer has {attention.n_heads}, counted from 1")
            wanted.setdefault(attention, {})[head] = change
    with exchanged(model, lambda one: changed(attend_of(one), wanted[one]) if one in wanted else attend_of(one)):
        yield


@contextmanager
def without_heads(
    model: Transformer,
    heads: Mapping[str, Iterable[Sequence[int]]],  # by kind: pairs of layer and head, both from 1
) -> Iterator[None]:
    "Within, these heads are off: `without_heads(model, {\"encoder\": [(1, 7), (2, 5)]})`."
    try:
        off = {kind: {(index(layer), index(head)): None for layer, head in of_kind} for kind, of_kind in heads.items()}
    except (AttributeError, TypeError, ValueError):
        wanted = "give heads by kind, each as a pair of layer and head, as {\"encoder\": [(1, 7)]}"
        raise InputError(f"{wanted}, not {reprlib.repr(heads)}") from None
    with changed_heads(model, off):
        yield
