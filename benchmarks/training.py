"""Our training step against the one that a user would otherwise write with `torch.nn.Transformer`.

    python -m benchmarks.training [--works tiny base] [--parts steps memory ...] [--rounds 9] [--out results/speed/training.json]

All contenders get the same ids in the same shapes and take turns. Arithmetic is counted by `training_flops` over the real lengths
(padding counts for nothing) and set against what this machine does in large matrix products, measured in the same rounds.
`torch.nn.Transformer` also applies dropout to attention weights and inside the feed-forward network, which the paper does not:
a second peer goes without, to show what that costs.

Six parts: the time of a step; the peak memory of a step of the base model; the time to import; how the time of a step grows
with the length of the sentences, the size of the batch and the vocabulary; where the time of a step goes; and the time of a step
with 16-bit matrix products, for which newer processors have instructions.
"""
import math
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from annotated_transformer import PAD
from annotated_transformer.config import TransformerConfig
from annotated_transformer.data.batching import Batch, collate
from annotated_transformer.model.position import sinusoids
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.tables.training_cost import forward_flops, training_flops
from annotated_transformer.training.devices import autocast, memory_kept
from annotated_transformer.training.loop import WithLoss, train_step
from annotated_transformer.training.optimizer import adam
from benchmarks.shared.command import Options, at_least, one_sentence
from benchmarks.shared.side_by_side import in_own_process, matrix_products, resident_peak, save, server, summary, take_turns
from benchmarks.shared.training_profile import KINDS, where_the_time_goes

SEED, SMOOTHING, RATE, PADDING = 0, 0.1, 1e-4, 0.05  # PADDING: share of the positions, about what real batches have
MATRICES = {"full": (2048, 4096), "small": (64, 128)}  # the machine's rate is the best of these: the harder yardstick
PARTS = ("steps", "memory", "imports", "growth", "profile", "precision")
IMPORTS = (
    "pass", "import torch", "import annotated_transformer", "from annotated_transformer import Transformer",
    "from annotated_transformer import Translator",
)


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


def growing(config: TransformerConfig, lengths: Sequence[int], tokens: Sequence[int], vocabularies: Sequence[int]) -> dict:
    "Works of which one size grows: the length among as many tokens, the tokens, the vocabulary."
    usual = tokens[len(tokens) // 2]
    return {
        "length": {n: Work(config, usual // n, n) for n in lengths},
        "tokens": {n: Work(config, n // 16, 16) for n in tokens},
        "vocabulary": {n: Work(replace(config, vocab_size=n), usual // 16, 16) for n in vocabularies},
    }


SMALL = TransformerConfig(50, n_layers=1, d_model=16, d_ff=24, n_heads=2, max_length=64)
WORKS = {  # by size: `small` is for trials of this benchmark
    "full": {
        "tiny": Work(TransformerConfig.tiny(10_000), rows=256, length=16),
        "base": Work(TransformerConfig.base(37_000), rows=32, length=32),
    },
    "small": {"tiny": Work(SMALL, rows=6, length=16), "base": Work(replace(SMALL, vocab_size=70), rows=4, length=32)},
}
LENGTHS, TOKENS = [2**k for k in range(4, 11)], [2**k for k in range(8, 14)]
GROWTH = {
    "full": {
        "tiny": growing(TransformerConfig.tiny(10_000), LENGTHS, TOKENS, [1_000, 4_000, 16_000, 64_000]),
        "base with 2 layers": {
            "length": {n: Work(replace(TransformerConfig.base(10_000), n_layers=2), 2048 // n, n) for n in LENGTHS[::2]},
        },
    },
    "small": {"tiny": growing(SMALL, [16, 32], [32, 64], [50, 100])},
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


def our_step(work: Work, precision: str = "float32") -> Callable[[], float]:
    "A training step as the training loop makes it."
    torch.manual_seed(SEED)
    model, batch, tokens = Transformer(work.config), work.batch(), int(work.lengths()[:, 1].sum())
    learner, optimizer = WithLoss(model, SMOOTHING, precision), adam(model.parameters())
    return lambda: float(train_step(learner, optimizer, [(SEED, batch)], tokens, RATE))


def peer_step(
    work: Work, change: Callable[[Peer], Peer] = lambda peer: peer, precision: str = "float32",
) -> Callable[[], float]:
    "The same with PyTorch's own parts."
    torch.manual_seed(SEED)
    model, batch = change(Peer(work.config)), work.batch()
    optimizer = torch.optim.Adam(model.parameters(), lr=RATE, betas=(0.9, 0.98), eps=1e-9)

    def step() -> float:
        optimizer.zero_grad()
        with autocast("cpu", precision):
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
    "peer, memory kept": peer_step,
}
IN_16_BITS = {
    "ours": our_step,
    "ours, bfloat16": lambda work: our_step(work, "bfloat16"),
    "peer": peer_step,
    "peer, bfloat16": lambda work: peer_step(work, precision="bfloat16"),
}
# Freed memory is kept, as our training loop does and the peer's user could.
KEEPING = ("ours", "ours, bfloat16", "peer, memory kept")
FOR_GOOD = ExitStack()                   # what stays until the end of a process
step_of_this_process: Callable[[], float] | None = None


def keep_memory(name: str) -> None:
    "For the rest of this process."
    if name in KEEPING:
        FOR_GOOD.enter_context(memory_kept())


def set_up(name: str, work: Work) -> None:
    global step_of_this_process
    step_of_this_process = None  # frees what the last one held before the next is made
    step_of_this_process = (CONTENDERS | IN_16_BITS)[name](work)


def take_step() -> float:
    return step_of_this_process()


@contextmanager
def processes(names: Sequence[str]) -> Iterator[dict[str, ProcessPoolExecutor]]:
    "A process for each contender, since how the C library treats freed memory is a matter of the whole process."
    context = server("benchmarks.training")
    with ExitStack() as stack:
        yield {
            name: stack.enter_context(ProcessPoolExecutor(1, context, initializer=keep_memory, initargs=(name,)))
            for name in names
        }


def steps_of(work: Work, pools: dict[str, ProcessPoolExecutor]) -> dict[str, Callable[[], float]]:
    "A step of each contender, taken in its process while this one waits."
    for name, pool in pools.items():
        pool.submit(set_up, name, work).result()
    return {name: lambda pool=pool: pool.submit(take_step).result() for name, pool in pools.items()}


def time_steps(work: Work, rounds: int, matrices: Sequence[int], desc: str = "") -> dict:
    "Seconds of a step of each contender, and the share of the machine's best rate at which it does the arithmetic that counts."
    products = {side: matrix_products(side) for side in matrices}
    with processes(list(CONTENDERS)) as pools:
        steps = steps_of(work, pools)
        seconds = take_turns(steps | products, rounds, warmup=2, desc=desc)
    found = summary({name: seconds[name] for name in steps})
    rates = {side: 2 * side**3 / statistics.median(seconds[side]) for side in products}
    flops, batch, tokens = work.flops(), work.batch(), work.lengths().sum(0).tolist()
    for name, part in found.items():
        part["fastest_times_ours"] = round(min(seconds[name]) / min(seconds["ours"]), 3)  # when nothing disturbed either of them
        part["flops_per_second"] = flops / part["median_seconds"]
        part["share_of_matrix_products"] = round(part["flops_per_second"] / max(rates.values()), 4)
        part["target_tokens_per_second"] = round(tokens[1] / part["median_seconds"], 1)
    return {
        "contenders": found, "flops": flops, "source_tokens": tokens[0], "target_tokens": tokens[1],
        "padding_share": round(1 - sum(tokens) / (batch.source.numel() + batch.target.numel()), 4),
        "matrix_products_flops_per_second": rates,
    }


def time_precisions(work: Work, rounds: int, desc: str = "") -> dict:
    "Seconds of a step with matrix products of 32 and of 16 bits, ours and the peer's."
    with processes(list(IN_16_BITS)) as pools:
        return summary(take_turns(steps_of(work, pools), rounds, warmup=2, desc=desc))


def peak_of_steps(name: str, size: str, steps: int = 3) -> dict:
    "The most bytes that this process held in a few steps of the base model; to be called in a process of its own."
    keep_memory(name)
    before = resident_peak()
    step = CONTENDERS[name](WORKS[size]["base"])
    losses = [step() for _ in range(steps)]
    peak = resident_peak()
    return {"peak_bytes": peak, "bytes_before_the_model": before, "bytes_of_the_steps": peak - before, "losses": losses}


def time_imports(rounds: int) -> dict:
    "Seconds that new Python processes take to import us, beside those that import PyTorch and those that import nothing."
    def fresh(code: str) -> Callable[[], object]:
        return partial(subprocess.run, [sys.executable, "-c", code], cwd=Path(__file__).resolve().parents[1], check=True)

    seconds = take_turns({code: fresh(code) for code in IMPORTS}, rounds, desc="imports")
    return {
        code: {"median_seconds": statistics.median(values), "seconds": [round(value, 4) for value in values]}
        for code, values in seconds.items()
    }


def time_growth(works: dict[int, Work], rounds: int, desc: str = "") -> list[dict]:
    "Seconds of a step of ours and of the peer at each size, and the share that attention, the part in n², has of its FLOPs."
    points = []
    with processes(["ours", "peer"]) as pools:
        for size, work in works.items():
            seconds = take_turns(steps_of(work, pools), rounds, desc=f"{desc} {size:,}")
            forward = forward_flops(work.config, *work.lengths().T)
            points.append({
                "size": size, "rows": work.rows, "length": work.length, "target_tokens": int(work.lengths()[:, 1].sum()),
                "flops": work.flops(), "attention_share_of_flops": round(float(forward.attention.sum() / forward.total.sum()), 4),
                "median_seconds": {name: statistics.median(values) for name, values in seconds.items()},
            })
    return points


def profile_of(name: str, work: Work) -> dict:
    return where_the_time_goes(CONTENDERS[name](work))


def profiles_of(work: Work) -> dict[str, dict]:
    "Ours and the peer's, each in a process that did nothing before."
    with processes(["ours", "peer"]) as pools:
        return {name: pool.submit(profile_of, name, work).result() for name, pool in pools.items()}


def measure(works: dict[str, Work], size: str, parts: Sequence[str], rounds: int) -> dict:
    "All parts that are wanted."
    figures: dict = {}
    if "steps" in parts:
        figures["steps"] = {name: time_steps(work, rounds, MATRICES[size], name) for name, work in works.items()}
    if "memory" in parts:
        figures["memory"] = {name: in_own_process("benchmarks.training", "peak_of_steps", name, size) for name in CONTENDERS}
    if "imports" in parts:
        figures["imports"] = time_imports(rounds)
    if "growth" in parts:
        figures["growth"] = {
            name: {what: time_growth(some, -(-rounds // 3), f"{name}, {what}") for what, some in series.items()}
            for name, series in GROWTH[size].items()
        }
    if "profile" in parts:
        figures["profile"] = {name: profiles_of(work) for name, work in works.items()}
    if "precision" in parts:
        figures["precision"] = {name: time_precisions(work, rounds, f"{name}, 16 bits") for name, work in works.items()}
    return figures


def report(figures: dict) -> Iterator[str]:
    "The figures as lines of text."
    for work, found in figures.get("steps", {}).items():
        rates = found["matrix_products_flops_per_second"].items()
        rates = ", ".join(f"{rate / 1e9:.0f} GFLOP/s at {side}" for side, rate in rates)
        yield f"\n{work}: {found['flops'] / 1e9:.1f} GFLOPs a step, {found['padding_share']:.1%} padding; matrix products {rates}"
        for name, part in found["contenders"].items():
            times = f"{part.get('times_ours', 1):.2f} times ours ({part['fastest_times_ours']:.2f} the fastest)"
            share = f"{part['share_of_matrix_products']:.1%} of matrix products"
            yield f"  {name:<30} {part['median_seconds']:9.4f} s  {times}  {share}"
    if "memory" in figures:
        yield "\npeak memory of the base model's steps"
    for name, part in figures.get("memory", {}).items():
        steps, whole = (part[what] / 2**20 for what in ("bytes_of_the_steps", "peak_bytes"))
        yield f"  {name:<30} {steps:7,.0f} MiB, the whole process {whole:,.0f} MiB"
    if "imports" in figures:
        yield "\nimports"
    for code, part in figures.get("imports", {}).items():
        yield f"  {code:<50} {part['median_seconds']:.3f} s"
    for work, series in figures.get("growth", {}).items():
        for what, points in series.items():
            yield f"\n{work}, {what} grows:    ours        peer     attention's share of the FLOPs"
            for point in points:
                ours, peer = point["median_seconds"].values()
                yield f"  {point['size']:>12,} {ours:12.4f} s {peer:10.4f} s {point['attention_share_of_flops']:10.1%}"
    for work, found in figures.get("precision", {}).items():
        yield f"\n{work}, matrix products of 32 and 16 bits"
        for name, part in found.items():
            yield f"  {name:<30} {part['median_seconds']:9.4f} s  {part.get('times_ours', 1):.2f} times ours"
    for work, found in figures.get("profile", {}).items():
        yield f"\nwhere the time of a step of {work} goes: " + ", ".join(found)
        for kind in KINDS:
            yield f"  {kind:<20}" + "".join(f"{part['shares'][kind]:8.1%}" for part in found.values())


@one_sentence()
def main(options: Sequence[str] | None = None) -> None:
    parser = Options("benchmarks.training", __doc__, "results/speed/training.json")
    parser.add_argument("--works", nargs="+", choices=WORKS["full"], default=list(WORKS["full"]), metavar="WORK")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS, metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--rounds", type=at_least(1), default=9, help="a third as many where something grows")
    parser.add_argument("--sizes", choices=WORKS, default="full", help="small: models of a few numbers, to try this benchmark")
    arguments = parser.parse_args(options)
    works = {name: WORKS[arguments.sizes][name] for name in arguments.works}
    figures = measure(works, arguments.sizes, arguments.parts, arguments.rounds)
    config = {
        "rounds": arguments.rounds, "sizes": arguments.sizes, "smoothing": SMOOTHING,
        "works": {name: asdict(work) for name, work in works.items()},
        "growth": {
            name: {what: asdict(next(iter(some.values())).config) for what, some in series.items()}
            for name, series in GROWTH[arguments.sizes].items()
        },
    }
    save(arguments.out, "benchmarks.training", figures, config, SEED, options)
    print("\n".join(report(figures)))


if __name__ == "__main__":
    main()
