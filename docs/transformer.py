"""The Transformer of "Attention Is All You Need" in one file: to read from top to bottom, to copy, to change.

Made by tools/one_file.py from the readable forms on the book's pages: edit those. It needs only PyTorch.

    python transformer.py             train a small model to reverse digits: under a minute on two cores
    python transformer.py DIRECTORY   translate standard input with trained weights, such as pretrained/everyday-en-de in the
                                      package (this also needs safetensors and sentencepiece)

B sentences, S source tokens, T target tokens, V tokens of the vocabulary, h heads. Masks say what is allowed: True may be seen.
"""
import json
import math
import sys
from collections.abc import Callable
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn import Dropout

PAD, EOS = 0, 1  # token ids; the decoder's first input is PAD, whose embedding is zero
InputError = ValueError


# --- §3.2 Attention


def scaled_dot_product_attention(
    query: Tensor,                  # (..., T, d_k)
    key: Tensor,                    # (..., S, d_k)
    value: Tensor,                  # (..., S, d_v)
    allowed: Tensor | None = None,  # bool, broadcastable to (..., T, S); False hides a key
) -> tuple[Tensor, Tensor]:         # output (..., T, d_v) and weights (..., T, S)
    "Average the values, each weighted by how well its key matches the query: equation (1) of §3.2.1."
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    if allowed is not None:
        scores = scores.masked_fill(~allowed, float("-inf"))
    weights = scores.softmax(dim=-1)
    return weights @ value, weights


class MultiHeadAttention(nn.Module):
    "Attention with `n_heads` parallel heads, each with its own projection of queries, keys and values (§3.2.2)."

    def __init__(self, d_model: int, n_heads: int, d_k: int, d_v: int):
        super().__init__()
        self.n_heads, self.d_k, self.d_v = n_heads, d_k, d_v
        self.widths = [n_heads * d_k, n_heads * d_k, n_heads * d_v]                 # all queries, keys and values of a position
        self.in_projection = nn.Parameter(torch.empty(sum(self.widths), d_model))   # W^Q, W^K and W^V of all heads
        self.out_projection = nn.Linear(n_heads * d_v, d_model, bias=False)         # W^O
        for matrix in (*self.in_projection.split(self.widths), self.out_projection.weight):
            nn.init.xavier_uniform_(matrix)

    def forward(
        self,
        x: Tensor,                      # (B, T, d_model), where the queries come from
        memory: Tensor,                 # (B, S, d_model), where keys and values come from
        allowed: Tensor | None = None,  # bool, broadcastable to (B, h, T, S); False hides a key
    ) -> Tensor:                        # (B, T, d_model)
        W_Q, W_K, W_V = self.in_projection.split(self.widths)
        query, key, value = self.cut(x @ W_Q.T), self.cut(memory @ W_K.T), self.cut(memory @ W_V.T)  # (B, h, ..., d_k or d_v)
        heads, self.weights = scaled_dot_product_attention(query, key, value, allowed)
        return self.join(heads)

    def cut(self, x: Tensor) -> Tensor:
        "Into heads: (B, T, h·d) becomes (B, h, T, d)."
        return x.view(*x.shape[:2], self.n_heads, x.size(-1) // self.n_heads).transpose(1, 2)

    def join(self, heads: Tensor) -> Tensor:
        "Concat(head_1, ..., head_h) W^O: (B, h, T, d_v) becomes (B, T, d_model)."
        return self.out_projection(heads.transpose(1, 2).flatten(2))


def causal_mask(
    length: int,                            # T
    device: torch.device | None = None,
) -> Tensor:                                # bool (T, T); row t allows the columns 0..t
    "Each position may see itself and what comes before it, nothing after (§3.2.3)."
    return torch.ones(length, length, dtype=torch.bool, device=device).tril()


def padding_mask(
    ids: Tensor,   # (B, S) token ids
) -> Tensor:       # bool (B, 1, 1, S); True for real tokens
    "No query looks at padding."
    return (ids != PAD)[:, None, None, :]


# --- §3.3 Feed-forward, §3.4 Embedding, §3.5 Position


class FeedForward(nn.Module):
    "Two linear maps with a ReLU in between, applied to each position separately: equation (2) of §3.3."

    def __init__(self, d_model: int, d_ff: int):
        super().__init__()
        self.inner = nn.Linear(d_model, d_ff)  # W_1, b_1
        self.outer = nn.Linear(d_ff, d_model)  # W_2, b_2
        for linear in (self.inner, self.outer):
            nn.init.xavier_uniform_(linear.weight)
            nn.init.zeros_(linear.bias)

    def forward(
        self,
        x: Tensor,  # (..., d_model)
    ) -> Tensor:    # (..., d_model)
        rows = x.reshape(-1, x.size(-1))  # all positions of all sentences
        inner = self.inner(rows).relu_()  # (rows, d_ff), in place; hooks: forward, copy it (`clone`); full backward, take `outer`
        return self.outer(inner).view(x.shape)


class SharedEmbedding(nn.Module):
    "One matrix that turns tokens into vectors on both sides and vectors into logits at the end (§3.4)."

    def __init__(self, vocab_size: int, d_model: int):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(vocab_size, d_model))
        nn.init.normal_(self.weight, std=d_model**-0.5)
        nn.init.zeros_(self.weight[PAD])

    def forward(
        self,
        ids: Tensor,  # (B, S) int64
    ) -> Tensor:      # (B, S, d_model)
        "Look the tokens up and scale by √d_model; PAD gives the zero vector."
        return F.embedding(ids, self.weight, padding_idx=PAD) * math.sqrt(self.weight.size(1))

    def project(
        self,
        x: Tensor,  # (..., d_model)
    ) -> Tensor:    # logits (..., V)
        "Logits by the same matrix. The row of PAD is left out of the product, so no gradient can move it from zero."
        return F.pad(F.linear(x, self.weight[PAD + 1 :]), (1, 0))


def sinusoids(
    n_positions: int,
    d_model: int,
) -> Tensor:  # (n_positions, d_model) float32
    "Row `pos`: sin(pos / 10000^(2i/d_model)) in column 2i, the cosine of the same angle in column 2i+1 (§3.5)."
    position = torch.arange(n_positions, dtype=torch.float64)[:, None]
    divisor = 10000 ** (torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
    angle = position / divisor  # the divisor is 1 / ω_i of (pos.1)
    # An odd d_model has one more sine than cosines.
    return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1)[:, :d_model].float()


# --- §3.1 Layers


class Residual(nn.Module):
    "A sub-layer with its residual connection: LayerNorm(x + Dropout(sublayer(x))), normalised after the sum (§3.1, §5.4)."

    def __init__(self, sublayer: nn.Module, d_model: int, dropout: float):
        super().__init__()
        self.sublayer = sublayer
        self.dropout = Dropout(dropout)
        self.norm: nn.Module = nn.LayerNorm(d_model)  # or another in its place

    def forward(
        self,
        x: Tensor,      # (B, T, d_model)
        *args,          # what else the sub-layer takes
        **kwargs,
    ) -> Tensor:        # (B, T, d_model)
        return self.norm(x + self.dropout(self.sublayer(x, *args, **kwargs)))


class EncoderLayer(nn.Module):
    "Self-attention, then feed-forward: the left block of Figure 1."

    def __init__(self, attention: nn.Module, feed_forward: nn.Module, residual: Callable[[nn.Module], nn.Module]):
        super().__init__()
        self.self_attention = residual(attention)
        self.feed_forward = residual(feed_forward)

    def forward(self, x: Tensor, allowed: Tensor) -> Tensor:  # (B, S, d_model), and bool (B, 1, 1, S)
        x = self.self_attention(x, x, allowed)
        return self.feed_forward(x)


class DecoderLayer(nn.Module):
    "Causal self-attention, attention over the encoder's output, then feed-forward: the right block of Figure 1."

    def __init__(self, self_attention: nn.Module, memory_attention: nn.Module, feed_forward: nn.Module, residual: Callable):
        super().__init__()
        self.self_attention = residual(self_attention)
        self.memory_attention = residual(memory_attention)
        self.feed_forward = residual(feed_forward)

    def forward(self, x: Tensor, memory: Tensor, allowed: Tensor) -> Tensor:  # (B, T, d_model), (B, S, d_model), (B, 1, 1, S)
        x = self.self_attention(x, x, causal_mask(x.size(1), x.device))
        x = self.memory_attention(x, memory, allowed)
        return self.feed_forward(x)


class Stack(nn.Module):
    "Layers of the same form, one after the other, each with its own weights."

    def __init__(self, layers):
        super().__init__()
        self.layers = nn.ModuleList(layers)

    def forward(self, x: Tensor, *others: Tensor) -> Tensor:
        for layer in self.layers:
            x = layer(x, *others)
        return x


# --- §3 The model


class Transformer(nn.Module):
    "The model of Figure 1. The default sizes are those of the paper's base model."

    def __init__(self, vocab_size: int, n_layers=6, d_model=512, d_ff=2048, n_heads=8, d_k=None, d_v=None, dropout=0.1,
                 max_length=512):
        super().__init__()
        d_k, d_v = d_k or d_model // n_heads, d_v or d_model // n_heads

        def attention():
            return MultiHeadAttention(d_model, n_heads, d_k, d_v)

        def residual(sublayer):
            return Residual(sublayer, d_model, dropout)

        self.embedding = SharedEmbedding(vocab_size, d_model)
        self.register_buffer("table", sinusoids(max_length, d_model), persistent=False)
        self.dropout = Dropout(dropout)
        layers = range(n_layers)
        self.encoder = Stack(EncoderLayer(attention(), FeedForward(d_model, d_ff), residual) for _ in layers)
        self.decoder = Stack(DecoderLayer(attention(), attention(), FeedForward(d_model, d_ff), residual) for _ in layers)

    def embed(self, ids: Tensor) -> Tensor:  # (B, T) to (B, T, d_model)
        return self.dropout(self.embedding(ids) + self.table[:ids.size(1)])

    def encode(self, source: Tensor) -> Tensor:  # (B, S) ids, PAD at the end of short rows, to memory (B, S, d_model)
        return self.encoder(self.embed(source), padding_mask(source))

    def decode(self, target_input: Tensor, memory: Tensor, source: Tensor) -> Tensor:  # hidden (B, T, d_model)
        return self.decoder(self.embed(target_input), memory, padding_mask(source))

    def forward(self, source: Tensor, target_input: Tensor) -> Tensor:  # (B, S), (B, T), the target shifted right, to (B, T, V)
        return self.embedding.project(self.decode(target_input, self.encode(source), source))


def load(directory: str | Path) -> Transformer:
    "The model in a directory with config.json and model.safetensors, as the package writes them, in eval mode."
    from safetensors.torch import load_file

    config = json.loads(Path(directory, "config.json").read_text())
    paper = {"positions": "sinusoidal", "compatibility": "dot-product", "norm": "post"}
    assert all(config.pop(part, kind) == kind for part, kind in paper.items()), "this file has only the paper's parts"
    model = Transformer(**config)
    model.load_state_dict({name: weight.float() for name, weight in load_file(Path(directory, "model.safetensors")).items()})
    return model.eval()


# --- §5 Training


def label_smoothed_cross_entropy(
    logits: Tensor,     # (..., V)
    target: Tensor,     # (...) ids; PAD is not counted
    smoothing: float,   # ε_ls: 0.1 in the paper
) -> Tensor:            # mean loss per real token, in nats
    "Cross-entropy against 1-ε on the right token and ε/(V-1) on every other one (§5.4)."
    if not 0 <= smoothing < 1:
        raise InputError(f"smoothing must be at least 0 and less than 1, not {smoothing}")
    log_probabilities = logits.to(torch.promote_types(logits.dtype, torch.float32)).log_softmax(-1)  # 16 bits round sums
    right = log_probabilities.gather(-1, target[..., None]).squeeze(-1)
    others = log_probabilities.sum(-1) - right
    loss = -(1 - smoothing) * right - smoothing / (logits.size(-1) - 1) * others
    real = target != PAD
    return (loss * real).sum() / real.sum()


def learning_rate(
    step: int,                  # counted from 1: a scheduler of PyTorch's, which counts from 0, gives step + 1
    d_model: int,
    warmup_steps: int = 4000,
    factor: float = 1.0,        # 1 is the paper; anything else is a departure
) -> float:
    "Rises linearly for `warmup_steps`, then falls with the inverse square root of the step: equation (3) of §5.3."
    return factor * d_model**-0.5 * min(step**-0.5, step * warmup_steps**-1.5)


def train(model: Transformer, batches, d_model: int, warmup_steps: int = 4000, factor: float = 1.0, smoothing: float = 0.1):
    "One update for each batch of source, target input and target: §5.3's Adam and rate, §5.4's loss. Prints the loss."
    optimizer = torch.optim.Adam(model.parameters(), betas=(0.9, 0.98), eps=1e-9)
    for step, (source, target_input, target) in enumerate(batches, 1):
        loss = label_smoothed_cross_entropy(model(source, target_input), target, smoothing)
        optimizer.zero_grad()
        loss.backward()
        optimizer.param_groups[0]["lr"] = learning_rate(step, d_model, warmup_steps, factor)
        optimizer.step()
        if step == 1 or step % 50 == 0:
            print(f"step {step:>3}  loss {loss:.3f}")


# --- §6.1 Decoding, greedy


@torch.no_grad()
def write(model, source, length):
    memory = model.encode(source)
    written = torch.full((len(source), 1), PAD)
    for _ in range(length):
        hidden = model.decode(written, memory, source)
        next_token = model.embedding.project(hidden[:, -1]).argmax(-1, keepdim=True)
        written = torch.cat([written, next_token], dim=1)
    return written[:, 1:]


def pairs(n, length=4):
    "n sources, their reversals shifted right, and the reversals; the digits 0-9 are the ids 3-12."
    digits, eos = torch.randint(3, 13, (n, length)), torch.full((n, 1), EOS)
    target = torch.cat([digits.flip(1), eos], dim=1)
    return torch.cat([digits, eos], dim=1), torch.cat([torch.full((n, 1), PAD), target[:, :-1]], dim=1), target


def reverse_digits() -> float:
    "Train a small model to write four digits backwards, and say how many of 1,000 it gets exactly right."
    torch.manual_seed(0)
    model = Transformer(13, n_layers=1, d_model=64, d_ff=128, n_heads=4, dropout=0.0)
    train(model, (pairs(64) for _ in range(200)), d_model=64, warmup_steps=100, factor=0.7, smoothing=0.0)
    source, _, target = pairs(1000)
    output = write(model.eval(), source, 5)
    for digits, written in zip(source[:3, :4].tolist(), output[:3, :4].tolist()):
        print("".join(str(one - 3) for one in digits), "->", "".join(str(one - 3) for one in written))
    return (output == target).all(1).float().mean().item()


def translate(directory: str) -> None:
    "Translate standard input line by line, always taking the most probable token."
    from sentencepiece import SentencePieceProcessor

    model, tokenizer = load(directory), SentencePieceProcessor(str(Path(directory, "tokenizer.model")))
    for line in sys.stdin:
        source = torch.tensor([tokenizer.encode(line.strip(), add_eos=True)])
        tokens = write(model, source, source.size(1) + 50)[0].tolist()
        print(tokenizer.decode(tokens[:tokens.index(EOS)] if EOS in tokens else tokens))


if __name__ == "__main__":
    if len(sys.argv) > 1:
        translate(sys.argv[1])
    else:
        print(f"exactly right: {reverse_digits():.1%} of 1,000")
