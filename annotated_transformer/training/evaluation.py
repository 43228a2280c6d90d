"How well a model predicts a split, token by token: its loss and perplexity, on one process or on many."
import math
from collections.abc import Iterable
from typing import NamedTuple

from .. import PAD, InputError
from ..config import Execution, TrainingConfig
from ..data.batching import Batch, batches, collate
from ..data.large_corpora import TokenizedPairs
from ..model.modes import evaluating
from ..model.transformer import Transformer
from .chunked_loss import fused_losses
from .devices import autocast
from .processes import Group

__all__ = ["Evaluation", "evaluate", "validate"]


class Evaluation(NamedTuple):
    "How well a model predicts the reference, token by token."

    loss: float        # smoothed cross-entropy per token, in nats
    perplexity: float  # exp of the unsmoothed cross-entropy per token: comparable to Table 3 only with the same vocabulary


def evaluate(
    model: Transformer,
    data: Iterable[Batch],       # with several processes, each has its own share
    smoothing: float,
    group: Group | None = None,  # the processes that measure together
) -> Evaluation:
    "Loss and perplexity over all batches, without dropout, each real target token counted once."
    weight = model.embedding.weight
    loss = plain = tokens = 0.0
    with evaluating(model):
        for batch in data:
            batch = Batch(*(ids.to(weight.device) for ids in batch))
            hidden = model.decode(batch.target_input, model.encode(batch.source), batch.source)  # (B, T, d_model)
            sums = fused_losses(hidden, weight, batch.target, smoothing, tokens=1)
            loss, plain, tokens = loss + float(sums[0]), plain + float(sums[1]), tokens + int((batch.target != PAD).sum())
    if group is not None:
        loss, plain, tokens = group.total(loss, plain, tokens)
    if not tokens:
        raise InputError("there is nothing to measure: the data holds no target token")
    return Evaluation(loss / tokens, math.exp(min(plain / tokens, 700.0)))  # e^700 is about the largest number there is


def validate(
    model: Transformer,
    pairs: TokenizedPairs,  # of the validation split
    config: TrainingConfig,
    execution: Execution,
    group: Group,
) -> Evaluation:
    "Loss and perplexity on the validation split; each process computes its share."
    own = batches(pairs.lengths, config.batch_tokens, epoch=None)[group.rank :: group.size]
    with autocast(group.device.type, execution.precision):
        return evaluate(model, (collate(pairs, rows) for rows in own), config.smoothing, group)
