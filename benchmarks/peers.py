"""Our weights in other programs: Hugging Face's `MarianMTModel`, and a model directory of CTranslate2.

Both know the paper's architecture, so nothing is computed anew. What differs is told to them: our attention has no biases
(Marian gets zeros), our sinusoids interleave sine and cosine (both take our table as it is), PAD stands first, starts every
target, and is never written.
"""
from pathlib import Path

import torch
from torch import Tensor, nn

from annotated_transformer import EOS, PAD, UNK, InputError
from annotated_transformer.transformer import Transformer, TransformerConfig


def token_names(config: TransformerConfig) -> list[str]:
    "A name for each token id: CTranslate2 translates from strings to strings."
    special = {PAD: "<pad>", EOS: "</s>", UNK: "<unk>"}
    return [special.get(token, f"t{token}") for token in range(config.vocab_size)]


def check(config: TransformerConfig) -> None:
    "InputError for heads that together are not as wide as the model: the others derive the width of a head from d_model."
    for name in ("d_k", "d_v"):
        width = getattr(config, name) * config.n_heads
        if width != config.d_model:
            raise InputError(
                f"a model with {config.n_heads} heads of {name}={getattr(config, name)} cannot be handed over: "
                f"their widths must add up to d_model={config.d_model}, not to {width}"
            )


def never_pad(config: TransformerConfig) -> Tensor:  # (V,)
    "To be added to the logits: minus infinity for PAD, nothing for any word."
    bias = torch.zeros(config.vocab_size)
    bias[PAD] = float("-inf")
    return bias


def to_marian(model: Transformer):  # transformers.MarianMTModel, in eval mode
    "The same model as a `MarianMTModel`, whose logits are ours but for PAD's."
    from transformers import MarianConfig, MarianMTModel

    c = model.config
    check(c)
    sizes = {
        f"{side}_{theirs}": ours for side in ("encoder", "decoder")
        for theirs, ours in (("layers", c.n_layers), ("ffn_dim", c.d_ff), ("attention_heads", c.n_heads))
    }
    marian = MarianMTModel(MarianConfig(
        vocab_size=c.vocab_size, d_model=c.d_model, max_position_embeddings=c.max_length, **sizes, dropout=c.dropout,
        activation_function="relu", scale_embedding=True, tie_word_embeddings=True, share_encoder_decoder_embeddings=True,
        pad_token_id=PAD, eos_token_id=EOS, decoder_start_token_id=PAD, forced_eos_token_id=None,
    ))
    marian.load_state_dict(marian_weights(model))
    return marian.eval()


def marian_weights(model: Transformer) -> dict[str, Tensor]:
    "Our weights under the names that Marian has for them."
    vectors = model.embedding.weight.detach()
    weights = {"final_logits_bias": never_pad(model.config)[None], "lm_head.weight": vectors, "model.shared.weight": vectors}

    def take(place: str, module: nn.Module) -> None:
        weights.update({f"{place}.{name}": weight.detach() for name, weight in module.named_parameters()})

    for side, stack in (("encoder", model.encoder), ("decoder", model.decoder)):
        weights[f"model.{side}.embed_tokens.weight"] = vectors
        weights[f"model.{side}.embed_positions.weight"] = model.positions.table.detach()
        for i, layer in enumerate(stack.layers):
            place = f"model.{side}.layers.{i}"
            attentions = {"self_attn": layer.self_attention}
            if side == "decoder":
                attentions["encoder_attn"] = layer.memory_attention
            for name, residual in attentions.items():
                ours = residual.sublayer
                matrices = [*ours.in_projection.detach().split(ours.widths), ours.out_projection.weight.detach()]
                for part, matrix in zip(("q_proj", "k_proj", "v_proj", "out_proj"), matrices):
                    weights[f"{place}.{name}.{part}.weight"] = matrix
                    weights[f"{place}.{name}.{part}.bias"] = matrix.new_zeros(len(matrix))
                take(f"{place}.{name}_layer_norm", residual.norm)
            take(f"{place}.fc1", layer.feed_forward.sublayer.inner)
            take(f"{place}.fc2", layer.feed_forward.sublayer.outer)
            take(f"{place}.final_layer_norm", layer.feed_forward.norm)
    return weights


def to_ctranslate2(
    model: Transformer,
    directory: str | Path,  # is made if it is not there
) -> None:
    "Write the same model as a directory that `ctranslate2.Translator` opens; its tokens are called as `token_names` says."
    from ctranslate2.specs import TransformerSpec

    c = model.config
    check(c)
    names = token_names(c)
    spec = TransformerSpec.from_config(c.n_layers, c.n_heads, pre_norm=False)
    spec.register_source_vocabulary(names)
    spec.register_target_vocabulary(names)
    spec.config.unk_token, spec.config.eos_token, spec.config.decoder_start_token = names[UNK], names[EOS], names[PAD]
    spec.config.layer_norm_epsilon = model.decoder.layers[0].feed_forward.norm.eps

    def take(theirs, ours: nn.Module) -> None:
        theirs.weight, theirs.bias = ours.weight, ours.bias

    def take_norm(theirs, ours: nn.LayerNorm) -> None:
        theirs.gamma, theirs.beta = ours.weight, ours.bias

    for theirs, stack in ((spec.encoder, model.encoder), (spec.decoder, model.decoder)):
        theirs.position_encodings.encodings = model.positions.table
        for their_layer, layer in zip(theirs.layer, stack.layers):
            own = layer.self_attention.sublayer
            their_layer.self_attention.linear[0].weight = own.in_projection  # W^Q, W^K and W^V stand below each other there too
            their_layer.self_attention.linear[1].weight = own.out_projection.weight
            take_norm(their_layer.self_attention.layer_norm, layer.self_attention.norm)
            if theirs is spec.decoder:
                cross = layer.memory_attention.sublayer
                query, key_and_value = cross.in_projection.detach().split([cross.widths[0], sum(cross.widths[1:])])
                matrices = (query, key_and_value, cross.out_projection.weight)
                for linear, matrix in zip(their_layer.attention.linear, matrices):
                    linear.weight = matrix
                take_norm(their_layer.attention.layer_norm, layer.memory_attention.norm)
            take(their_layer.ffn.linear_0, layer.feed_forward.sublayer.inner)
            take(their_layer.ffn.linear_1, layer.feed_forward.sublayer.outer)
            take_norm(their_layer.ffn.layer_norm, layer.feed_forward.norm)
    spec.encoder.embeddings[0].weight = spec.decoder.embeddings.weight = spec.decoder.projection.weight = model.embedding.weight
    spec.decoder.projection.bias = never_pad(c)

    Path(directory).mkdir(parents=True, exist_ok=True)
    spec.validate()
    spec.optimize()  # the three tables of the embedding become one
    spec.save(str(directory))
