"""What a base training step does besides its matrix products, and what four changes to it gained.

    python -m benchmarks.training_tried [--rounds 9] [--size full] [--out results/speed/training-tried.json]

Everything runs on one thread and is measured in processor time, so the machine may have other work. Each change is made to its
own model; the steps take turns. No change alters what is computed.
"""
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from types import MethodType

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from annotated_transformer import PAD
from annotated_transformer.data.batching import Batch
from annotated_transformer.model.attention import MultiHeadAttention, padding_mask
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.tables.training_cost import forward_flops
from annotated_transformer.training.chunked_loss import fused_label_smoothed_cross_entropy
from annotated_transformer.training.devices import memory_kept
from annotated_transformer.training.loop import WithLoss, train_step
from annotated_transformer.training.optimizer import adam
from benchmarks.shared.command import Options, at_least, one_sentence
from benchmarks.shared.side_by_side import matrix_products, one_thread, save, take_turns
from benchmarks.shared.training_profile import processor_time
from benchmarks.training import MATRICES, RATE, SEED, SMOOTHING, WORKS, Work

WARMUP, UNCHANGED, LARGE = 4, "as it is", "large product"


def attentions(learner: WithLoss) -> list[MultiHeadAttention]:
    return [module for module in learner.modules() if isinstance(module, MultiHeadAttention)]


def without_padding(learner: WithLoss, batch: Batch) -> Batch:
    "Only attention itself sees padding; all else sees the rows of real tokens."
    model, mask, embed = learner.model, padding_mask(batch.source), learner.model.embed
    source, target = ((ids.flatten() != PAD).nonzero()[:, 0] for ids in (batch.source, batch.target))

    def padded(rows: Tensor, places: Tensor) -> Tensor:  # (N, d) -> (B, T, d)
        shape = batch.source.shape if places is source else batch.target.shape
        return rows.new_zeros(shape.numel(), rows.size(1)).index_copy_(0, places, rows).unflatten(0, shape)

    def forward(self, x, memory=None, allowed=None, causal=False, cache=None):
        own = target if causal or memory is not None else source
        if memory is None:
            parts = padded(F.linear(x, self.in_projection), own).split(self.widths, dim=-1)
        else:
            query, both = self.in_projection.split([self.widths[0], sum(self.widths[1:])])
            parts = padded(F.linear(x, query), own), *padded(F.linear(memory, both), source).split(self.widths[1:], dim=-1)
        heads = self.attend(*map(self.cut, parts), allowed, causal).transpose(1, 2).flatten(2)
        return self.out_projection(heads.flatten(0, 1).index_select(0, own))

    for attention in attentions(learner):
        attention.forward = MethodType(forward, attention)
    model.encode = lambda ids: model.encoder(embed(ids).flatten(0, 1).index_select(0, source), mask)
    model.decode = lambda ids, memory, _: model.decoder(embed(ids).flatten(0, 1).index_select(0, target), memory, mask)
    return batch._replace(target=batch.target.flatten()[target])


class Projected(torch.autograd.Function):
    "Queries, keys and values of one x by one product forward, and by three backward, so that no gradients are joined."

    @staticmethod
    def forward(ctx, x: Tensor, matrix: Tensor, widths: list[int]) -> tuple[Tensor, ...]:
        ctx.save_for_backward(x, matrix)
        ctx.widths = widths
        return F.linear(x, matrix).split(widths, dim=-1)

    @staticmethod
    def backward(ctx, *gradients: Tensor):
        x, matrix = ctx.saved_tensors
        grad_x, grad_matrix = x.new_zeros(x.shape), torch.empty_like(matrix)
        for gradient, weight, space in zip(gradients, matrix.split(ctx.widths), grad_matrix.split(ctx.widths)):
            grad_x.flatten(0, 1).addmm_(gradient.flatten(0, 1), weight)
            torch.mm(gradient.flatten(0, 1).T, x.flatten(0, 1), out=space)
        return grad_x, grad_matrix, None


def heads_uncopied(learner: WithLoss, batch: Batch) -> Batch:
    "The gradients of heads are not copied together in self-attention; over the encoder's output, those of matrices once."
    def project(self, x, memory=None, cache=None):
        if memory is None:
            return tuple(map(self.cut, Projected.apply(x, self.in_projection, self.widths)))
        query, both = self.in_projection.split([self.widths[0], sum(self.widths[1:])])
        return self.cut(F.linear(x, query)), *self.keys_and_values(F.linear(memory, both))

    for attention in attentions(learner):
        attention.project = MethodType(project, attention)
    return batch


def plain_attention(learner: WithLoss, batch: Batch) -> Batch:
    "PyTorch's attention as two products and a softmax, not as one kernel."
    def attend(query, key, value, allowed=None, causal=False):
        with sdpa_kernel(SDPBackend.MATH):
            return F.scaled_dot_product_attention(query, key, value, allowed, is_causal=causal)

    for attention in attentions(learner):
        attention.attend = attend
    return batch


def loss_at_once(learner: WithLoss, batch: Batch) -> Batch:
    "The logits of all tokens together, not of 256 at a time."
    def forward(self, source, target_input, target, tokens):
        hidden = self.model.decode(target_input, self.model.encode(source), source)
        return fused_label_smoothed_cross_entropy(hidden, self.model.embedding.weight, target, SMOOTHING, tokens, chunk=tokens)

    learner.forward = MethodType(forward, learner)
    return batch


CHANGES = {
    UNCHANGED: lambda learner, batch: batch,
    "rows without padding": without_padding,
    "attention by plain products": plain_attention,
    "loss of all tokens at once": loss_at_once,
    "heads copied less": heads_uncopied,
}


def step_of(work: Work, change: Callable[[WithLoss, Batch], Batch]) -> Callable[[], float]:
    "A training step as the training loop makes it, with one change."
    torch.manual_seed(SEED)
    learner, tokens = WithLoss(Transformer(work.config), SMOOTHING), int(work.lengths()[:, 1].sum())
    optimizer, batch = adam(learner.parameters()), change(learner, work.batch())
    return lambda: float(train_step(learner, optimizer, [(SEED, batch)], tokens, RATE))


def at_most(work: Work, shares: dict[str, float], seconds: float, rate: float) -> dict[str, float]:
    "The share of a step's time that each change could save if what it is about cost nothing, its products at the best rate."
    padding = 1 - work.lengths().sum() / (2 * work.rows * work.length)
    of_rows = shares["products of the layers"] + shares["dropout"] + shares["layer norm"]
    loss = 3 * forward_flops(work.config, *work.lengths().T).output.sum() / rate / seconds
    found = padding * of_rows, shares["attention"], max(0.0, shares["products of the loss"] - loss), shares["copies of heads"]
    return {name: round(float(share), 4) for name, share in zip((name for name in CHANGES if name != UNCHANGED), found)}


def measure(work: Work, rounds: int, side: int) -> dict:
    "Where the processor's time goes; then all changes in turn."
    with memory_kept():
        found = processor_time(step_of(work, CHANGES[UNCHANGED]), work.config, WARMUP)
        runs = {name: step_of(work, change) for name, change in CHANGES.items()} | {LARGE: matrix_products(side)}
        seconds = take_turns(runs, rounds, WARMUP, clock=time.process_time)
    rate, step = 2 * side**3 / statistics.median(seconds.pop(LARGE)), statistics.median(seconds[UNCHANGED])
    most = at_most(work, found["shares"], found["seconds_per_step"], rate)
    changes = {name: {"seconds": [round(value, 4) for value in values]} for name, values in seconds.items()}
    for name, share in most.items():
        ratio = statistics.median(b / a for a, b in zip(seconds[UNCHANGED], seconds[name]))
        changes[name] |= {"could_save_at_most": share, "saved": round(1 - ratio, 4)}
    share = round(work.flops() / step / rate, 4)
    return {"profile": found, "large_products_flops_per_second": rate, "share_of_matrix_products": share, "changes": changes}


@one_sentence()
@one_thread()
def main(options: Sequence[str] | None = None) -> None:
    parser = Options("benchmarks.training_tried", __doc__, "results/speed/training-tried.json")
    parser.add_argument("--rounds", type=at_least(1), default=9)
    parser.add_argument("--size", choices=WORKS, default="full", help="small: a model of a few numbers, to try this benchmark")
    arguments = parser.parse_args(options)
    work, side = WORKS[arguments.size]["base"], MATRICES[arguments.size][0]
    figures = measure(work, arguments.rounds, side)
    config = {"rounds": arguments.rounds, "warmup": WARMUP, "clock": "processor", "side": side, "work": asdict(work)}
    save(arguments.out, "benchmarks.training_tried", figures, config, SEED, options)
    for kind, share in figures["profile"]["shares"].items():
        print(f"{kind:<30} {share:6.1%}")
    for name, part in figures["changes"].items():
        if name != UNCHANGED:
            print(f"{name:<30} at most {part['could_save_at_most']:5.1%}, saved {part['saved']:5.1%}")


if __name__ == "__main__":
    main()
