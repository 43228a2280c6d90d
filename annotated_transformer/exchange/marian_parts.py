"""The parts of published Marian models that the paper's model lacks: biases, swish, and a tokenizer of two models.

`exchange.marian` builds such a model from them. Marian's attention has biases on Q, K, V and on its output; two vectors do
what these four do:

- The bias of the keys adds the same number to every score of a query, (q + b_q)·b_k, and softmax ignores it.
- The weights of a query sum to one, so the bias of the values leaves every head as it entered it, and W^O multiplies it.
  It moves into the bias of the output: b = b_o + W^O b_v.
"""
from collections.abc import Iterable
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from .. import EOS, PAD, InputError
from ..config import TransformerConfig
from ..model.attention import MultiHeadAttention
from ..model.embedding import SharedEmbedding
from ..model.fast_attention import KeyValueCache
from ..model.feed_forward import FeedForward
from ..model.transformer import Transformer

__all__ = ["BiasedAttention", "BiasedEmbedding", "MarianPieces", "MarianTransformer", "SwishFeedForward"]


class BiasedAttention(MultiHeadAttention):
    "Attention with the biases that other software has, using two vectors instead of four."

    def __init__(self, d_model: int, n_heads: int, d_k: int, d_v: int):
        super().__init__(d_model, n_heads, d_k, d_v)
        self.query_bias = nn.Parameter(torch.zeros(n_heads * d_k))
        self.out_projection = nn.Linear(n_heads * d_v, d_model)

    def project(
        self,
        x: Tensor,                            # (B, T, d_model)
        memory: Tensor | None = None,         # (B, S, d_model)
        cache: KeyValueCache | None = None,
    ) -> tuple[Tensor, Tensor, Tensor]:       # queries (B, h, T, d_k), keys (B, h, S, d_k) and values (B, h, S, d_v)
        "As in the base class, plus the bias of the queries."
        query, key, value = super().project(x, memory, cache)
        return query + self.query_bias.view(self.n_heads, 1, self.d_k), key, value


class SwishFeedForward(FeedForward):
    "The feed-forward network with x·σ(x) instead of ReLU."

    def forward(
        self,
        x: Tensor,  # (..., d_model)
    ) -> Tensor:    # (..., d_model)
        return self.outer(F.silu(self.inner(x)))


class BiasedEmbedding(SharedEmbedding):
    "The shared matrix with a bias on the logits."

    def __init__(self, vocab_size: int, d_model: int):
        super().__init__(vocab_size, d_model)
        self.bias = nn.Parameter(torch.zeros(vocab_size))

    def project(
        self,
        x: Tensor,  # (..., d_model)
    ) -> Tensor:    # logits (..., V)
        "Logits from the same matrix, plus their bias."
        return F.pad(F.linear(x, self.weight[PAD + 1 :], self.bias[PAD + 1 :]), (1, 0))

    def project_into(
        self,
        space: Tensor,  # (N, V), overwritten
        x: Tensor,      # (N, d_model)
    ) -> Tensor:        # logits, in that space
        "The same for decoding, into existing memory."
        return super().project_into(space, x).add_(self.bias)


class MarianTransformer(Transformer):
    """The model of Figure 1 with what published Marian models add to it: biases and swish.

    It can translate and be inspected. It is neither trained further nor saved here: Marian's own files and tools do both.
    """

    def __init__(self, config: TransformerConfig, swish: bool):
        self.swish = swish
        super().__init__(config)
        self.embedding = BiasedEmbedding(config.vocab_size, config.d_model)

    def attention(self) -> BiasedAttention:
        "A new attention, with biases."
        c = self.config
        return BiasedAttention(c.d_model, c.n_heads, c.d_k, c.d_v)

    def feed_forward(self) -> FeedForward:
        "A new feed-forward network, with swish if the model has it."
        return (SwishFeedForward if self.swish else FeedForward)(self.config.d_model, self.config.d_ff)

    def train(self, mode: bool = True) -> "MarianTransformer":
        "Refuse to be trained."
        if mode:
            raise InputError("a model that came from Marian is not trained here: our loss knows no biases; train the Marian")
        return super().train(mode)

    def save_pretrained(self, *_, **__) -> None:
        "Refuse to be saved in our form."
        raise InputError("a model that came from Marian is kept in Marian's form: call save_pretrained of the model it came from")

    push_to_hub = save_pretrained


class MarianPieces:
    "The tokenizer of a Marian model, to be used as our `Tokenizer` is."

    def __init__(
        self,
        tokenizer,      # transformers.MarianTokenizer
        order: Tensor,  # (V,) its id for each of ours
    ):
        self.tokenizer, self.theirs = tokenizer, order.tolist()
        self.ours = {their: our for our, their in enumerate(self.theirs)}

    @property
    def vocab_size(self) -> int:
        "V: pieces of both languages, including special tokens."
        return len(self.theirs)

    def encode(self, text: str) -> list[int]:
        "Token ids of a source, EOS last."
        return [self.ours[token] for token in self.tokenizer(text).input_ids]

    def encode_all(self, texts: list[str], threads: int | None = None) -> list[list[int]]:
        "Token ids of each source, EOS last."
        return [self.encode(text) for text in texts]

    def encode_target(self, text: str) -> list[int]:
        "Token ids of a target, EOS last: cut by the other language's pieces."
        return [self.ours[token] for token in self.tokenizer(text_target=text).input_ids]

    def decode(self, ids: Iterable[int]) -> str:
        "The text up to the first EOS, padding left out."
        ids = list(ids)
        ids = ids[: ids.index(EOS)] if EOS in ids else ids
        return self.tokenizer.decode([self.theirs[token] for token in ids], skip_special_tokens=True)

    def pieces(self, ids: Iterable[int]) -> list[str]:
        "The written form of each token; '▁' begins a word."
        return self.tokenizer.convert_ids_to_tokens([self.theirs[int(token)] for token in ids])

    def save(self, path: str | Path) -> None:
        "Refuse to be saved in our form."
        raise InputError("a tokenizer that came from Marian is two models and a list: it is kept in Marian's own files")
