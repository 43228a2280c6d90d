"""A training step of ours against the one that a user would otherwise write with `torch.nn.Transformer`.

    python -m benchmarks.training [--works tiny base] [--rounds 7] [--out results/training.json]

All contenders get the same ids in the same shapes and take turns. Arithmetic is counted by `training_flops` over the real lengths
(padding counts for nothing) and set against what this machine does in large matrix products, measured in the same rounds.
"""
import argparse
import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from annotated_transformer import PAD
from annotated_transformer.batching import Batch, collate
from annotated_transformer.optimizer import adam
from annotated_transformer.position import sinusoids
from annotated_transformer.training import WithLoss, train_step
from annotated_transformer.training_cost import training_flops
from annotated_transformer.transformer import Transformer, TransformerConfig
from benchmarks.side_by_side import matrix_products, save, summary, take_turns

SEED, SMOOTHING, RATE, PADDING = 0, 0.1, 1e-4, 0.05  # PADDING: share of the positions, about what real batches have
MATRICES = (2048, 4096)  # the machine's rate is the best of these: the harder yardstick


@dataclass(frozen=True)
class Work:
    "A model, and the batch of one of its training steps."

    config: TransformerConfig
    rows: int
    length: int  # of the longest row, on either side

    def lengths(self) -> np.ndarray:  # (rows, 2)
        "Tokens of each source and target, drawn so that about a twentieth of the batch is padding; the first pair has none."
        short = np.random.default_rng(SEED).random((self.rows, 2)) * 2 * PADDING * self.length
        short[0] = 0
        return self.length - short.round().astype(np.int64)

    def batch(self) -> Batch:
        "Random ids of these lengths, padded as in training."
        random = np.random.default_rng(SEED)
        drawn = [[random.integers(3, self.config.vocab_size, n) for n in pair] for pair in self.lengths()]
        return collate(drawn, range(self.rows))

    def flops(self) -> int:
        "Forward and backward, of the real tokens alone."
        return int(training_flops(self.config, *self.lengths().T).sum())


WORKS = {  # by size: `small` is for trials of this benchmark
    "full": {
        "tiny": Work(TransformerConfig.tiny(10_000), rows=256, length=16),
        "base": Work(TransformerConfig.base(37_000), rows=32, length=32),
    },
    "small": {
        "tiny": Work(TransformerConfig(50, n_layers=1, d_model=16, d_ff=24, n_heads=2, max_length=64), rows=6, length=16),
        "base": Work(TransformerConfig(70, n_layers=2, d_model=16, d_ff=24, n_heads=2, max_length=64), rows=4, length=32),
    },
}


class Peer(nn.Module):
    "What a user would otherwise write: `torch.nn.Transformer` above one `nn.Embedding`, whose matrix gives the logits too."

    def __init__(self, config: TransformerConfig):
        super().__init__()
        c = config
        self.embedding = nn.Embedding(c.vocab_size, c.d_model, padding_idx=PAD)
        nn.init.normal_(self.embedding.weight, std=c.d_model**-0.5)
        nn.init.zeros_(self.embedding.weight[PAD])
        self.register_buffer("positions", sinusoids(c.max_length, c.d_model))
        self.dropout = nn.Dropout(c.dropout)
        self.transformer = nn.Transformer(
            c.d_model, c.n_heads, c.n_layers, c.n_layers, c.d_ff, c.dropout, batch_first=True, norm_first=False,
        )

    def embed(self, ids: Tensor) -> Tensor:
        width = self.embedding.weight.size(1)
        return self.dropout(self.embedding(ids) * math.sqrt(width) + self.positions[: ids.size(1)])

    def forward(self, source: Tensor, target_input: Tensor) -> Tensor:
        padding = source == PAD
        causal = nn.Transformer.generate_square_subsequent_mask(target_input.size(1))
        hidden = self.transformer(
            self.embed(source), self.embed(target_input), tgt_mask=causal, tgt_is_causal=True,
            src_key_padding_mask=padding, memory_key_padding_mask=padding,
        )
        return F.linear(hidden, self.embedding.weight)


def with_the_papers_dropout(peer: Peer) -> Peer:
    "Without the dropout that `torch.nn.Transformer` adds on the attention weights and inside the feed-forward network."
    for module in peer.modules():
        if isinstance(module, nn.MultiheadAttention):
            module.dropout = 0.0
        elif isinstance(module, (nn.TransformerEncoderLayer, nn.TransformerDecoderLayer)):
            module.dropout = nn.Identity()
    return peer


def our_step(work: Work) -> Callable[[], float]:
    "A training step as the training loop makes it."
    torch.manual_seed(SEED)
    model, batch, tokens = Transformer(work.config), work.batch(), int(work.lengths()[:, 1].sum())
    learner, optimizer = WithLoss(model, SMOOTHING), adam(model.parameters())
    return lambda: float(train_step(learner, optimizer, [(SEED, batch)], tokens, RATE))


def peer_step(work: Work, change: Callable[[Peer], Peer] = lambda peer: peer) -> Callable[[], float]:
    "The same with PyTorch's own parts."
    torch.manual_seed(SEED)
    model, batch = change(Peer(work.config)), work.batch()
    optimizer = torch.optim.Adam(model.parameters(), lr=RATE, betas=(0.9, 0.98), eps=1e-9)

    def step() -> float:
        optimizer.zero_grad()
        logits = model(batch.source, batch.target_input)
        loss = F.cross_entropy(logits.flatten(0, 1), batch.target.flatten(), ignore_index=PAD, label_smoothing=SMOOTHING)
        loss.backward()
        optimizer.step()
        return loss.item()

    return step


CONTENDERS = {
    "ours": our_step,
    "peer": peer_step,
    "peer with the paper's dropout": lambda work: peer_step(work, with_the_papers_dropout),
}


def time_steps(work: Work, rounds: int, matrices: Sequence[int], desc: str = "") -> dict:
    "Seconds of a step of each contender, and the share of the machine's best rate at which it does the arithmetic that counts."
    steps = {name: make(work) for name, make in CONTENDERS.items()}
    products = {side: matrix_products(side) for side in matrices}
    seconds = take_turns(steps | products, rounds, warmup=2, desc=desc)
    found = summary({name: seconds[name] for name in steps})
    rates = {side: 2 * side**3 / statistics.median(seconds[side]) for side in products}
    flops, batch, tokens = work.flops(), work.batch(), work.lengths().sum(0).tolist()
    for part in found.values():
        part["flops_per_second"] = flops / part["median_seconds"]
        part["share_of_matrix_products"] = round(part["flops_per_second"] / max(rates.values()), 4)
        part["target_tokens_per_second"] = round(tokens[1] / part["median_seconds"], 1)
    return {
        "contenders": found, "flops": flops, "source_tokens": tokens[0], "target_tokens": tokens[1],
        "padding_share": round(1 - sum(tokens) / (batch.source.numel() + batch.target.numel()), 4),
        "matrix_products_flops_per_second": rates,
    }


def main(options: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.training", description=__doc__.split("\n")[0])
    parser.add_argument("--works", nargs="+", choices=WORKS["full"], default=list(WORKS["full"]), metavar="WORK")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--sizes", choices=WORKS, default="full", help="small: models of a few numbers, to try this benchmark")
    parser.add_argument("--out", type=Path, default=Path("results/training.json"))
    arguments = parser.parse_args(options)
    works = {name: WORKS[arguments.sizes][name] for name in arguments.works}
    figures = {"steps": {name: time_steps(work, arguments.rounds, MATRICES, name) for name, work in works.items()}}
    for name, found in figures["steps"].items():
        for who, part in found["contenders"].items():
            print(f"{name:6} {who:30} {part['median_seconds']:8.4f} s  {part.get('times_ours', 1):6.2f} x ours  "
                  f"{part['share_of_matrix_products']:.1%} of matrix products")
    save(arguments.out, "benchmarks.training", figures, {"rounds": arguments.rounds}, SEED, options)


if __name__ == "__main__":
    main()
