"What a translator loses when heads are switched off: one at a time, in order of harm, and in its translations."
import random
from typing import NamedTuple

import torch
import torch.nn.functional as F
from sacrebleu.metrics import BLEU
from torch import Tensor

from annotated_transformer import PAD, Translator
from annotated_transformer.data.batching import pad, shift_right
from annotated_transformer.figures.head_changes import KINDS, every_head, without_heads
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.progress_bar import progress_bar
from benchmarks.shared.chance import by_chance

Pairs = list[tuple[str, str]]
Heads = list[tuple[int, int]]  # layer and head, from 1
DRAWS = 2_000                  # of heads, names or lines, for an interval or a probability
TOGETHER = 100                 # pairs in a batch


class Batch(NamedTuple):
    "Some pairs, padded."

    numbers: list[int]  # which pairs of the sample
    source: Tensor      # (B, S)
    target: Tensor      # (B, T)


def batches_of(translator: Translator, pairs: Pairs) -> list[Batch]:
    "The pairs in batches of similar length."
    sides = [translator.tokenizer.encode_all([pair[side] for pair in pairs]) for side in (0, 1)]
    order = sorted(range(len(pairs)), key=lambda i: (len(sides[1][i]), len(sides[0][i])))
    parts = [order[i : i + TOGETHER] for i in range(0, len(order), TOGETHER)]
    return [Batch(part, *(pad([side[i] for i in part]) for side in sides)) for part in parts]


class Losses:
    "Nats of each pair of a sample under a model, with heads off or not."

    def __init__(self, model: Transformer, batches: list[Batch]):
        self.model, self.batches = model, batches
        self.n = sum(len(batch.numbers) for batch in batches)
        self.tokens = torch.zeros(self.n)
        for batch in batches:
            self.tokens[batch.numbers] = (batch.target != PAD).sum(1).float()
        with torch.inference_mode():
            self.memories = [model.encode(batch.source) for batch in batches]  # the same while only the decoder's heads change
        self.all_on = self.without({})

    @torch.inference_mode()
    def without(self, heads: dict[str, Heads]) -> Tensor:  # (n)
        "Nats of each pair, all its target tokens together."
        found = torch.zeros(self.n)
        with without_heads(self.model, heads):
            for batch, memory in zip(self.batches, self.memories):
                if heads.get("encoder"):
                    memory = self.model.encode(batch.source)
                hidden = self.model.decode(shift_right(batch.target), memory, batch.source)
                logits = self.model.embedding.project(hidden).transpose(1, 2)  # (B, V, T)
                found[batch.numbers] = F.cross_entropy(logits, batch.target, ignore_index=PAD, reduction="none").sum(1)
        return found

    def mean(self, nats: Tensor) -> float:
        "Nats per token."
        return float(nats.sum() / self.tokens.sum())


def alone(halves: list[Losses], desc: str) -> tuple[dict, dict[tuple, float]]:
    "The loss, the harm of each head alone, by kind as rows of layers; and by head the loss on the first half of the pairs."
    heads = [(kind, *place) for kind in KINDS for place in every_head(halves[0].model, kind)]
    rows: dict[str, dict[int, list]] = {kind: {} for kind in KINDS}
    on_first = {}
    for kind, layer, head in progress_bar(iterable=heads, desc=f"{desc}: one head off", unit="head"):
        nats = [half.without({kind: [(layer, head)]}) for half in halves]
        on_first[kind, layer, head] = halves[0].mean(nats[0])
        rows[kind].setdefault(layer, []).append(harm(halves, nats))
    figures = {kind: {
        name: [[round(one[i], 5) for one in row] for row in of_kind.values()] for i, name in enumerate(("harm", "error"))
    } for kind, of_kind in rows.items()}
    loss = sum(float(half.all_on.sum()) for half in halves) / sum(float(half.tokens.sum()) for half in halves)
    return {"loss": round(loss, 5), "alone": figures}, on_first


def harm(halves: list[Losses], nats: list[Tensor]) -> tuple[float, float]:
    "By how much the loss per token is higher than with all heads, and the standard error of that over the pairs."
    tokens, more = torch.cat([half.tokens for half in halves]), torch.cat([n - half.all_on for half, n in zip(halves, nats)])
    mean = more.sum() / tokens.sum()
    error = (more - mean * tokens).std() * len(more) ** 0.5 / tokens.sum()
    return float(mean), float(error)


def in_order(chosen_on: dict[tuple, float], scored_on: Losses, desc: str) -> dict[str, dict]:
    """Of each kind: the heads in order of harm, the least first, and the loss with the first 0, 1, 2, ... of them off.

    The order is that of the losses of each head alone on one half of the pairs, those given are of the other half. Beside it
    stands a random order.
    """
    figures = {}
    for kind in KINDS:
        heads = every_head(scored_on.model, kind)
        orders = {
            "least harmful first": sorted(heads, key=lambda head: chosen_on[kind, *head]),
            "random": random.Random(0).sample(heads, len(heads)),
        }
        figures[kind] = {"order": orders["least harmful first"]}
        for name, order in orders.items():
            steps = progress_bar(iterable=range(len(order) + 1), desc=f"{desc}: {kind} off, {name}", unit="head", leave=False)
            figures[kind][name] = [round(scored_on.mean(scored_on.without({kind: order[:n]})), 5) for n in steps]
    return figures


def rank(harm: Tensor, named: Tensor, group: Tensor) -> tuple[float | None, float | None]:
    """In how many pairs of a head with a name and one without, both of one group, the first harms more when it is off;
    and how often at least so many when the names are dealt out at random within the groups. None where there is no pair."""
    generator = torch.Generator().manual_seed(0)
    wins, same = (harm[:, None] > harm).float() + 0.5 * (harm[:, None] == harm), group[:, None] == group

    def above(marks: Tensor) -> float:
        return float(wins[same & marks[:, None] & ~marks].mean())

    if not (same & named[:, None] & ~named).any():
        return None, None
    seen, at_least = above(named), 0
    for _ in range(DRAWS):
        dealt = torch.empty_like(named)
        for one in group.unique():
            places = (group == one).nonzero()[:, 0]
            dealt[places] = named[places[torch.randperm(len(places), generator=generator)]]
        at_least += above(dealt) >= seen
    return round(seen, 4), round((at_least + 1) / (DRAWS + 1), 4)


def separations(harm: dict[str, list[list[float]]], named: dict[str, list[list[bool]]]) -> dict[str, dict]:
    "Whether heads with a name harm more than the rest when they are off: by kind, and among heads of the same kind and layer."
    generator, figures = torch.Generator().manual_seed(0), {}
    values, marks = ({kind: torch.tensor(of[kind]) for kind in harm} for of in (harm, named))
    for kind in harm:
        some = values[kind][marks[kind]], values[kind][~marks[kind]]
        figures[kind] = {"named": len(some[0]), "others": len(some[1])}
        if all(map(len, some)):
            draws = [one[torch.randint(len(one), (DRAWS, len(one)), generator=generator)].mean(1) for one in some]
            means = [float(one.mean()) for one in some]
            ends = (draws[0] - draws[1]).quantile(torch.tensor([0.025, 0.975]))
            above, chance = rank(values[kind].flatten(), marks[kind].flatten(), torch.zeros(values[kind].numel()))
            figures[kind] |= {
                "means": [round(mean, 5) for mean in means], "difference": round(means[0] - means[1], 5),
                "interval": [round(float(end), 5) for end in ends], "above": above, "by_chance": chance,
            }
    flat, named_flat = (torch.cat([of[kind].flatten() for kind in harm]) for of in (values, marks))
    kinds = torch.cat([torch.full((values[kind].numel(),), number) for number, kind in enumerate(harm)])
    layers = torch.cat([torch.arange(len(values[kind])).repeat_interleave(values[kind].size(1)) for kind in harm])
    for name, group in (("same kind", kinds), ("same kind and layer", 1_000 * kinds + layers)):
        above, chance = rank(flat, named_flat, group)
        figures[name] = {"above": above, "by_chance": chance}
    return figures


def translated(translator: Translator, pairs: Pairs, orders: dict[str, dict], desc: str) -> dict:
    "BLEU with all heads; of each kind without the head that matters most, and without the less harmful half."
    sources, references = [source for source, _ in pairs], [target for _, target in pairs]
    choices: dict[str, dict[str, Heads]] = {"all heads": {}}
    for kind in KINDS:
        order = orders[kind]["order"]
        choices[f"{kind}, without the most important"] = {kind: order[-1:]}
        choices[f"{kind}, without the less harmful half"] = {kind: order[: len(order) // 2]}
    systems = []
    for name, heads in progress_bar(iterable=choices.items(), desc=f"{desc}: translations", unit="choice"):
        with without_heads(translator.model, heads):
            systems.append((name, translator.translate(sources)))
    metric, whole = BLEU(), systems[0][1]
    figures = {
        name: {
            "off": [place for kind in choices[name].values() for place in kind],
            "bleu": round(metric.corpus_score(found, [references]).score, 2),
            "by_chance": round(by_chance(whole, found, references, DRAWS), 4) if choices[name] else None,
            "changed": round(sum(one != other for one, other in zip(found, whole)) / len(found), 4),
        } for name, found in systems
    }
    return {"choices": figures, "shuffles": DRAWS, "signature": metric.get_signature().format()}
