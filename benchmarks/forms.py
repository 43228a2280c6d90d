"""The fast form of each part next to the readable one: the same numbers, in how much less time?

    python -m benchmarks.forms [--parts loss ...] [--rounds 9] [--out results/speed/forms.json]

The forms of a part take turns on the same inputs, in float32 unless stated otherwise; we check that they agree before anything
is timed. The searches run a random model that writes to the full length. The loss is compared with PyTorch's own forms, if
PyTorch has them (2.13), and its peak memory is measured too, each form in its own process.
"""
import statistics
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor

from annotated_transformer import PAD
from annotated_transformer.config import Search, TransformerConfig
from annotated_transformer.model.attention import MultiHeadAttention, causal_mask, scaled_dot_product_attention
from annotated_transformer.model.fast_attention import attend_in_16_bits
from annotated_transformer.model.regularization import label_smoothed_cross_entropy
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.training.chunked_loss import fused_label_smoothed_cross_entropy
from annotated_transformer.training.devices import memory_kept
from annotated_transformer.translation.fast_search import beam_search, greedy_search
from annotated_transformer.translation.search import next_token_without_cache, readable_beam_search, readable_greedy_search
from benchmarks.decoding import random_model
from benchmarks.shared.command import Options, at_least, one_sentence
from benchmarks.shared.side_by_side import in_own_process, resident_peak, save, take_turns

SEED, SMOOTHING, ALPHA = 0, 0.1, 0.6
SIZES = {
    "full": {"tokens": 1024, "vocabulary": 37_000, "d_model": 512, "heads": 8, "rows": 16, "length": 128, "longest": 30},
    "small": {"tokens": 64, "vocabulary": 500, "d_model": 64, "heads": 4, "rows": 8, "length": 12, "longest": 6},
}
Forms = dict[str, Callable]  # "readable" and "fast" first, then what others have; all must return the same


def with_gradients(function: Callable[..., Tensor], *inputs: Tensor) -> Callable[[], list[Tensor]]:
    "A training step's share of the work: forward, and backward to the inputs."
    leaves = [tensor.clone().requires_grad_() for tensor in inputs]

    def run() -> list[Tensor]:
        out = function(*leaves)
        return [out.detach(), *torch.autograd.grad(out.sum(), leaves)]

    return run


def loss(size: dict) -> Forms:
    hidden, weight = torch.randn(size["tokens"], size["d_model"]), torch.randn(size["vocabulary"], size["d_model"]) * 0.02
    weight[PAD] = 0
    target = torch.randint(3, size["vocabulary"], (size["tokens"],))

    def readable(hidden: Tensor, weight: Tensor) -> Tensor:
        logits = F.pad(F.linear(hidden, weight[PAD + 1 :]), (1, 0))  # as `Embedding.project`: no gradient for the row of PAD
        return label_smoothed_cross_entropy(logits, target, SMOOTHING)

    def fast(hidden: Tensor, weight: Tensor) -> Tensor:
        return fused_label_smoothed_cross_entropy(hidden, weight, target, SMOOTHING)

    forms = {"readable": readable, "fast": fast} | (losses_of_torch(target) if hasattr(F, "linear_cross_entropy") else {})
    return {name: with_gradients(form, hidden, weight) for name, form in forms.items()}


def losses_of_torch(target: Tensor) -> dict[str, Callable[[Tensor, Tensor], Tensor]]:
    "PyTorch's projection and loss in one: with its own smoothing, and in chunks, which know no smoothing, with ours on top."
    from torch.nn import LinearCrossEntropyOptions

    def frozen(weight: Tensor) -> Tensor:
        "The matrix, whose row of PAD gets no gradient."
        view = weight.view_as(weight)
        view.register_hook(lambda gradient: gradient.index_fill_(0, torch.tensor(PAD), 0))
        return view

    def whole(hidden: Tensor, weight: Tensor) -> Tensor:
        smoothing = SMOOTHING * len(weight) / (len(weight) - 1)
        return F.linear_cross_entropy(hidden, frozen(weight), target, ignore_index=PAD, label_smoothing=smoothing)

    def in_chunks(hidden: Tensor, weight: Tensor) -> Tensor:
        weight, options = frozen(weight), LinearCrossEntropyOptions(batch_chunk_size=256)  # as ours; the default would be 8
        plain = F.linear_cross_entropy(hidden, weight, target, ignore_index=PAD, options=options)
        off = SMOOTHING / (len(weight) - 1)
        right = (hidden * F.embedding(target, weight)).sum(1)
        # With z the logits and y the right token, smoothing adds (ε + off) z_y - off Σ z, which is linear in z.
        return plain + ((SMOOTHING + off) * right - off * (hidden @ weight.sum(0))).mean()

    return {"torch, all logits": whole, "torch, in chunks": in_chunks}


def attention(size: dict, times: int = 1) -> Forms:
    "As many tokens, in sentences that many times as long."
    module = MultiHeadAttention(size["d_model"], size["heads"], *[size["d_model"] // size["heads"]] * 2)
    length = times * size["length"]
    x, allowed = torch.randn(size["rows"] // times, length, size["d_model"]), causal_mask(length)

    def readable(x: Tensor) -> Tensor:
        return module.join(scaled_dot_product_attention(*module.project(x), allowed)[0])

    return {"readable": with_gradients(readable, x), "fast": with_gradients(lambda x: module(x, x, causal=True), x)}


def attention_in_16_bits(size: dict) -> Forms:
    "What a training in 16 bits does on a CPU: as many tokens in short sentences, queries, keys and values in bfloat16."
    heads, length = size["heads"], max(2, size["length"] // 8)
    shape = (size["rows"] * size["length"] // length, heads, length, size["d_model"] // heads)
    inputs = [torch.randn(shape).bfloat16() for _ in range(3)]
    allowed = causal_mask(length)

    def kernel(kind: torch.dtype) -> Callable[..., Tensor]:
        return lambda *inputs: F.scaled_dot_product_attention(*(part.to(kind) for part in inputs), is_causal=True).float()

    forms = {
        "readable": lambda *inputs: scaled_dot_product_attention(*(part.float() for part in inputs), allowed)[0],
        "fast": lambda *inputs: attend_in_16_bits(*inputs, None, True).float(),
        "kernel in 32 bits": kernel(torch.float32), "kernel in 16 bits": kernel(torch.bfloat16),
    }
    return {name: with_gradients(form, *inputs) for name, form in forms.items()}


def talkative(size: dict) -> tuple[Transformer, Tensor]:
    "A model that does not end its sentences, and a source of half the length of what it may write."
    config = TransformerConfig(size["vocabulary"], d_model=size["d_model"], n_heads=size["heads"], d_ff=4 * size["d_model"])
    return random_model(config, ends=False), torch.randint(3, size["vocabulary"], (1, size["longest"] // 2))


def greedy(size: dict) -> Forms:
    model, source = talkative(size)
    extra = size["longest"] - source.size(1)
    return {
        "readable": lambda: readable_greedy_search(next_token_without_cache(model, source[0]), size["longest"]),
        "fast": lambda: greedy_search(model, source, Search(extra_length=extra))[0],
    }


def beams(size: dict) -> Forms:
    model, source = talkative(size)
    extra = size["longest"] - source.size(1)
    return {
        "readable": lambda: readable_beam_search(next_token_without_cache(model, source[0]), 4, ALPHA, size["longest"])[0].tokens,
        "fast": lambda: beam_search(model, source, Search(beam_size=4, alpha=ALPHA, extra_length=extra))[0][0].tokens,
    }


PARTS = {
    "loss": loss, "attention": attention, "attention, long sentences": partial(attention, times=8),
    "attention in 16 bits": attention_in_16_bits,
    "greedy search": greedy, "beam search": beams,
}


def peak_of_loss(form: str, name: str) -> int:
    "Bytes above those of the inputs that one form takes, forward and backward; to be called in a process of its own."
    run, status = loss(SIZES[name])[form], Path("/proc/self/status")
    before = resident_peak()
    if status.exists():  # start from what is held now: making the inputs took more
        before = next(int(line.split()[1]) for line in status.read_text().splitlines() if line.startswith("VmRSS")) * 1024
    run()
    return resident_peak() - before


def measure(parts: Sequence[str], size: dict, rounds: int) -> dict:
    "Seconds of all forms of each part, and how many times as fast as the readable one the others are."
    found = {}
    for name in parts:
        torch.manual_seed(SEED)
        forms = PARTS[name](size)
        expected = forms["readable"]()
        for form in list(forms)[1:]:
            rtol, atol = (0.05, 0.05) if "16 bits" in name else (1e-3, 1e-4)  # bfloat16 has 8 significant bits
            torch.testing.assert_close(forms[form](), expected, rtol=rtol, atol=atol)
        found[name] = timed(forms, 1 + rounds // 4 if "search" in name else rounds, name)  # the readable searches are slow
        if name == "loss":
            with memory_kept():
                found["loss, freed memory kept"] = timed(forms, rounds, name)
    return found


def timed(forms: Forms, rounds: int, name: str) -> dict:
    "Seconds of each, and the median of the rounds' ratios."
    seconds = take_turns(forms, rounds, desc=name)
    speeds = {
        form: round(statistics.median(a / b for a, b in zip(seconds["readable"], seconds[form])), 3) for form in list(forms)[1:]
    }
    figures = {"times_as_fast": speeds.pop("fast"), "seconds": {form: [round(s, 5) for s in seconds[form]] for form in forms}}
    return figures | ({"others": speeds} if speeds else {})


@one_sentence()
def main(options: Sequence[str] | None = None) -> None:
    parser = Options("benchmarks.forms", __doc__, "results/speed/forms.json")
    parser.add_argument("--sizes", choices=SIZES, default="full", help="small: to try this benchmark")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS), metavar="PART", help=f"of {', '.join(PARTS)}")
    parser.add_argument("--rounds", type=at_least(1), default=9, help="a quarter as many for the searches")
    arguments = parser.parse_args(options)
    figures = measure(arguments.parts, SIZES[arguments.sizes], arguments.rounds)
    if "loss" in figures:
        figures["loss"]["peak_bytes"] = {
            form: in_own_process("benchmarks.forms", "peak_of_loss", form, arguments.sizes) for form in figures["loss"]["seconds"]
        }
    config = {"size": SIZES[arguments.sizes], "rounds": arguments.rounds, "smoothing": SMOOTHING, "alpha": ALPHA}
    save(arguments.out, "benchmarks.forms", figures, config, SEED, options)
    for name, part in figures.items():
        more = [*part.get("others", {}).items(), *part.get("peak_bytes", {}).items()]
        print(f"{name:<26} {part['times_as_fast']:5.2f} times as fast", *more)


if __name__ == "__main__":
    main()
