"""What `AttentionMaps` is made from if the weights come from another model: tensors, or outputs of Hugging Face's transformers.

That package is not imported here: only the contents of its outputs matter. Weights stay as they are, number for number,
except that 16 bits become 32. A missing kind of attention has no layers: its tensor is (0, 0, queries, keys).
"""
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from .. import InputError
from .token_labels import START, pieces_labelled

__all__ = ["AXES", "LABELS", "checked_labels", "cropped", "from_outputs", "from_weights"]

AXES = {"encoder": ("source", "source"), "decoder": ("target_input", "target_input"), "encoder_decoder": ("target", "source")}
LABELS = ("source", "target_input", "target")
NOT_YET = "…"  # stands for what the last position writes, if that is unknown

Fields = dict[str, Any]  # of AttentionMaps, by name


def checked_labels(name: str, labels: Any) -> list[str]:
    "A list of texts; InputError for anything else."
    several = None if isinstance(labels, str) or not hasattr(labels, "__iter__") else list(labels)
    if several is None or not all(isinstance(label, str) for label in several):
        raise InputError(f"{name}: give a list of labels, a text for each token")
    return several


def as_tensor(kind: str, given: Any) -> Tensor:
    "Weights as one tensor without a gradient, in 32 or 64 bits; InputError if they differ in shape or are not plain."
    try:
        one = given if hasattr(given, "shape") else torch.stack([torch.as_tensor(layer) for layer in given])
        weights = torch.as_tensor(one).detach().cpu()
    except (TypeError, ValueError, RuntimeError):
        raise InputError(f"{kind}: give one tensor (layers, heads, queries, keys), or a list with one (heads, queries, keys) for "
                         "each layer, all of one shape") from None
    if weights.layout is not torch.strided or weights.is_complex():
        raise InputError(f"{kind}: the weights are sparse or complex: give real numbers, all of them")
    return weights if weights.dtype is torch.float64 else weights.float()


def checked_weights(kind: str, given: Any, labels: dict[str, list[str]]) -> Tensor:
    "Weights (L, h, queries, keys) that fit their labels; InputError otherwise."
    weights = as_tensor(kind, given)
    queries, keys = (len(labels[axis]) for axis in AXES[kind])
    if weights.dim() != 4 or weights.shape[2:] != (queries, keys):
        raise InputError(f"{kind}: the weights have the shape {tuple(weights.shape)}: give (layers, heads, {queries}, {keys}), "
                         f"for {queries} queries ({AXES[kind][0]}) and {keys} keys ({AXES[kind][1]})")
    if not weights.numel():
        raise InputError(f"{kind}: the weights hold nothing, their shape is {tuple(weights.shape)}: leave them out")
    if not ((weights >= 0) & (weights <= 1.001)).all():
        raise InputError(f"{kind}: the numbers go from {weights.min():.3g} to {weights.max():.3g}, and weights lie between 0 and "
                         "1: take them after the softmax")
    return weights


def from_weights(
    source: list[str] | None,
    target_input: list[str] | None,
    target: list[str] | None,
    given: dict[str, Any],           # by kind: weights (L, h, queries, keys), as a tensor, an array or a list of layers, or None
) -> Fields:
    "The fields of an AttentionMaps; InputError if labels are missing or weights do not fit them."
    given = {kind: weights for kind, weights in given.items() if weights is not None}
    if not given:
        raise InputError(f"give weights of at least one kind: {', '.join(AXES)}")
    if target_input is None and target is not None:
        target_input = [START, *checked_labels("target", target)[:-1]]
    if target is None and target_input is not None:
        target = [*checked_labels("target_input", target_input)[1:], NOT_YET]
    named = zip(LABELS, (source, target_input, target))
    labels = {name: checked_labels(name, found) for name, found in named if found is not None}
    for kind in given:
        for axis in AXES[kind]:
            if axis not in labels:
                raise InputError(f"{kind}: name its tokens, as the list `{axis}`")
    weights = {kind: checked_weights(kind, found, labels) for kind, found in given.items()}
    return {name: labels.get(name, []) for name in LABELS} | weights


def cropped(fields: Fields, kept: Callable[[str, int], bool]) -> Fields:
    "The same for only those tokens for which `kept(name of the labels, position)` is true; their weights stay as they are."
    places = {name: [i for i in range(len(fields[name])) if kept(name, i)] for name in LABELS}
    weights = {kind: fields[kind] for kind in AXES if fields.get(kind) is not None}
    weights = {kind: found[:, :, places[AXES[kind][0]]][..., places[AXES[kind][1]]] for kind, found in weights.items()}
    weights = {kind: found for kind, found in weights.items() if found.numel()}
    if not weights:
        raise InputError("these maps hold no tokens but `<eos>`, padding and their like: nothing is left to draw")
    return {name: [fields[name][i] for i in places[name]] for name in LABELS} | weights


# --- Hugging Face ---

NO_WEIGHTS = 'load the model with attn_implementation="eager" and call it with output_attentions=True'


def one_sentence(name: str, layers: Any, number: int) -> list[Tensor]:
    "For each layer, the weights (h, queries, keys) of one sentence of the batch; empty if the outputs have none of this name."
    if layers is None:
        return []
    if any(isinstance(layer, tuple | list) for layer in layers):
        raise InputError(f"{name} of `generate` hold one step each: call the model once, with all that it has written, "
                         "as `labels` where it has an encoder")
    if any(layer is None or layer.ndim != 4 for layer in layers):
        raise InputError(f"{name}: not every layer has weights (sentences, heads, queries, keys): {NO_WEIGHTS}")
    if len(layers) and not 0 <= number < len(layers[0]):
        raise InputError(f"there is no sentence {number} in the batch: they are counted from 0 to {len(layers[0]) - 1}")
    found = [torch.as_tensor(layer)[number].detach() for layer in layers]
    if (most := max((float(layer.sum(-1).max()) for layer in found if layer.numel()), default=0)) > 1.01:
        raise InputError(f"{name}: the weights of one query sum to {most:.3g} and not to 1: scores before the softmax, or "
                         "weights of a model in training, which drops some (call its eval() first)")
    return found


def row_of(name: str, ids: Any, number: int) -> list:
    "One sentence of a batch, or the only one, as a list of ids or of texts."
    rows = ids.tolist() if hasattr(ids, "tolist") else list(ids)
    if not rows or not isinstance(rows[0], list | tuple):
        return rows
    if number >= len(rows):
        raise InputError(f"{name}: there is no sentence {number} among {len(rows)}")
    return list(rows[number])


class Reader:
    "What the model has read, one sentence of a batch: pieces as labels, and which of them are not padding."

    def __init__(self, tokens: Any, target_tokens: Any, tokenizer: Any, number: int):
        self.tokenizer, self.number = tokenizer, number
        self.given = dict(tokens) if isinstance(tokens, Mapping) else {"input_ids": tokens}
        if target_tokens is not None:
            self.given |= {"decoder_input_ids": target_tokens}

    def row(self, name: str) -> list | None:
        "What the model was given under this name."
        found = self.given.get(name)
        return None if found is None else row_of(name, found, self.number)

    def labels(self, row: list) -> list[str]:
        "Ids or pieces as labels."
        if self.tokenizer is None:
            if not all(isinstance(piece, str) for piece in row):
                raise InputError("these are ids and not texts: give the tokenizer too, as tokenizer=...")
            return pieces_labelled(row)
        pieces = row if all(isinstance(piece, str) for piece in row) else self.tokenizer.convert_ids_to_tokens(row)
        special = {*self.tokenizer.all_special_tokens} - {self.tokenizer.unk_token}
        return pieces_labelled(pieces, self.tokenizer.get_vocab(), special)

    def read(self, ids: str, mask: str) -> tuple[list[str], list[bool]]:
        "Labels of what was read under a name, and which of them count."
        row = self.row(ids)
        if row is None:
            raise InputError(f"name what the model has read: the tokenizer's own output, or a list of tokens; `{ids}` is missing")
        return self.labels(row), [bool(seen) for seen in self.row(mask) or [1] * len(row)]

    def padding(self) -> set:
        "What stands for padding: ids, and the piece."
        return {-100, *(getattr(self.tokenizer, name, None) for name in ("pad_token_id", "pad_token"))}

    def target(self) -> tuple[list[str], list[str], list[bool]]:
        "Labels of what the decoder has read and of what it writes, and which of them count."
        written = self.row("labels")
        if (row := self.row("decoder_input_ids")) is not None:
            read, counts = self.read("decoder_input_ids", "decoder_attention_mask")
            written = [*read[1:], NOT_YET]
            if self.row("decoder_attention_mask") is None:  # output of `generate` ends in padding, and may begin with it
                last = max((place for place, piece in enumerate(row) if piece not in self.padding()), default=0)
                if getattr(self.tokenizer, "eos_token_id", None) == getattr(self.tokenizer, "pad_token_id", None) is not None:
                    last = min(last + 1, len(row) - 1)  # the first of the identical tokens was written
                counts = [place <= last for place in range(len(row))]
                written[last] = NOT_YET
            return read, written, counts
        if written is None:
            raise InputError("name what the decoder has read, as target_tokens=..., or give all that the model was called with, "
                             "`labels` or `decoder_input_ids` among it")
        counts = [piece not in self.padding() for piece in written]
        kept = iter(self.labels([piece for piece, real in zip(written, counts) if real]))
        labels = [next(kept) if real else "" for real in counts]
        return [START, *labels[:-1]], labels, counts


def of_one_stack(layers: list[Tensor], reader: Reader) -> Fields:
    "The fields of an AttentionMaps of an encoder, or of a decoder, which never looks ahead."
    labels, counts = reader.read("input_ids", "attention_mask")
    if (queries := layers[0].shape[-2]) != (keys := layers[0].shape[-1]):
        raise InputError(f"attentions: {queries} queries look at {keys} keys, as where keys are kept from earlier calls: call "
                         "the model once, with the whole text and without past_key_values")
    maps = from_weights(labels, None, None, {"encoder": layers})
    maps = cropped(maps, lambda name, place: counts[place])  # a padding row may look anywhere
    weights, labels = maps["encoder"], maps["source"]
    if len(labels) == 1 or weights.triu(1).any():
        return maps
    return from_weights(None, labels, None, {"decoder": weights})


def from_outputs(
    outputs: Any,               # of a model of transformers, called with output_attentions=True
    tokens: Any,                # what it has read: the tokenizer's output, ids, or pieces
    tokenizer: Any,             # None where there are no ids
    target_tokens: Any,         # what the decoder has read, if `tokens` does not say
    number: int,                # of the sentence in the batch
) -> Fields:
    "The fields of an AttentionMaps; padding is left out. InputError if weights or tokens are missing or do not fit."
    names = {"encoder": "encoder_attentions", "decoder": "decoder_attentions", "encoder_decoder": "cross_attentions"}
    value = outputs.get if isinstance(outputs, Mapping) else lambda name: getattr(outputs, name, None)
    given = {kind: layers for kind, name in names.items() if (layers := one_sentence(name, value(name), number))}
    alone, reader = one_sentence("attentions", value("attentions"), number), Reader(tokens, target_tokens, tokenizer, number)
    if isinstance(outputs, tuple) and not hasattr(outputs, "_fields"):
        raise InputError("the outputs are a tuple, which does not say what is what: call the model with return_dict=True")
    if not given and not alone:
        raise InputError(f"the outputs hold no attentions: {NO_WEIGHTS}")
    if alone and not given:
        return of_one_stack(alone, reader)
    if alone:  # a decoder that reads another model's encoder, whose tokens are not in the decoder's inputs
        if target_tokens is None:
            raise InputError("this decoder looks at another model's output: give what that one has read, as tokens=..., and "
                             "what the decoder has read, as target_tokens=...")
        given["decoder"] = alone
    labels, counts = {}, {}
    if given.keys() & {"encoder", "encoder_decoder"}:
        labels["source"], counts["source"] = reader.read("input_ids", "attention_mask")
    if given.keys() & {"decoder", "encoder_decoder"}:
        labels["target_input"], labels["target"], counts["target"] = reader.target()
        counts["target_input"] = counts["target"]
    return cropped(from_weights(*(labels.get(name) for name in LABELS), given), lambda name, place: counts[name][place])
