"""Export to CTranslate2, which decodes in C++: one object with a place for each weight, written as a directory.

It keeps the given position table and supports normalisation before the sub-layers, so nothing is reordered.
"""
from pathlib import Path

import torch
from torch import Tensor, nn

from .. import EOS, PAD, UNK, extra
from ..files import new_directory, write_directory
from ..model.transformer import Transformer
from ..translation.translator import Translator
from .forms import require_form, write_card

__all__ = ["to_ctranslate2", "token_names"]


def token_names(vocab_size: int) -> list[str]:
    "CTranslate2's names for the tokens of a model without a tokenizer: the special ones by name, the others by number."
    special = {PAD: "<pad>", EOS: "</s>", UNK: "<unk>"}
    return [special.get(token, str(token)) for token in range(vocab_size)]


def to_ctranslate2(
    what: Translator | Transformer,  # for a model alone, `token_names` names the tokens
    directory: str | Path,           # to be made
) -> None:
    "Write the same model as a directory that `ctranslate2.Translator` opens, all or nothing; it appends EOS to each source."
    extra("ctranslate2")
    from ctranslate2.specs import TransformerSpec

    model, tokenizer = (what.model, what.tokenizer) if isinstance(what, Translator) else (what, None)
    require_form(model, "CTranslate2", positions=("sinusoidal", "learned"))  # it takes a table
    c, directory = model.config, new_directory(directory)
    names = token_names(c.vocab_size) if tokenizer is None else tokenizer.pieces(range(c.vocab_size))
    spec = TransformerSpec.from_config(c.n_layers, c.n_heads, pre_norm=c.norm == "pre")
    spec.register_source_vocabulary(names)
    spec.register_target_vocabulary(names)
    spec.config.unk_token, spec.config.eos_token, spec.config.decoder_start_token = names[UNK], names[EOS], names[PAD]
    spec.config.add_source_eos, spec.config.layer_norm_epsilon = True, model.decoder.layers[0].feed_forward.norm.eps

    def numbers(weight: Tensor) -> Tensor:
        return weight.detach().float().cpu()

    def take(theirs, ours: nn.Linear) -> None:
        theirs.weight, theirs.bias = numbers(ours.weight), numbers(ours.bias)

    def take_norm(theirs, ours: nn.LayerNorm) -> None:
        theirs.gamma, theirs.beta = numbers(ours.weight), numbers(ours.bias)

    for theirs, stack in ((spec.encoder, model.encoder), (spec.decoder, model.decoder)):
        theirs.position_encodings.encodings = numbers(model.positions.table)
        if c.norm == "pre":
            take_norm(theirs.layer_norm, stack.norm)
        for their_layer, layer in zip(theirs.layer, stack.layers):
            own = layer.self_attention.sublayer
            their_layer.self_attention.linear[0].weight = numbers(own.in_projection)  # W^Q, W^K, W^V stacked there too
            their_layer.self_attention.linear[1].weight = numbers(own.out_projection.weight)
            take_norm(their_layer.self_attention.layer_norm, layer.self_attention.norm)
            if theirs is spec.decoder:
                cross = layer.memory_attention.sublayer
                query, key_and_value = numbers(cross.in_projection).split([cross.widths[0], sum(cross.widths[1:])])
                matrices = (query, key_and_value, numbers(cross.out_projection.weight))
                for linear, matrix in zip(their_layer.attention.linear, matrices):
                    linear.weight = matrix
                take_norm(their_layer.attention.layer_norm, layer.memory_attention.norm)
            take(their_layer.ffn.linear_0, layer.feed_forward.sublayer.inner)
            take(their_layer.ffn.linear_1, layer.feed_forward.sublayer.outer)
            take_norm(their_layer.ffn.layer_norm, layer.feed_forward.norm)
    vectors = numbers(model.embedding.weight)
    spec.encoder.embeddings[0].weight = spec.decoder.embeddings.weight = spec.decoder.projection.weight = vectors
    spec.decoder.projection.bias = torch.zeros(c.vocab_size)
    spec.decoder.projection.bias[PAD] = float("-inf")  # never written

    def write(beside: Path) -> None:
        if tokenizer is not None:
            tokenizer.save(beside / "tokenizer.model")
            write_card(beside, what.record)
        spec.save(str(beside))

    spec.validate()
    spec.optimize()  # the three tables of the embedding become one
    write_directory(directory, write)
