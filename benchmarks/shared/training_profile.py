"Where the time of a training step goes: what PyTorch's profiler records, told apart by what each operation is for."
import os
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from torch import Tensor
from torch.nn.modules import module as nn_module
from torch.profiler import profile, record_function
from torch.utils._python_dispatch import TorchDispatchMode

from annotated_transformer.config import TransformerConfig


@contextmanager
def dropout_named() -> Iterator[None]:
    "Name what happens inside any module for dropout, so that the profile can tell its products and copies from all others."
    ranges: list = []

    def enter(module, _):
        if "Dropout" in type(module).__name__:
            ranges.append(record_function("dropout"))
            ranges[-1].__enter__()

    def leave(module, *_):
        if "Dropout" in type(module).__name__:
            ranges.pop().__exit__(None, None, None)

    hooks = nn_module.register_module_forward_pre_hook(enter), nn_module.register_module_forward_hook(leave)
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


PLAIN = {  # what an operation is, told by its own name; only attention multiplies batches of matrices
    "matrix products": r"^aten::(mm|addmm)_?$",
    "attention": r"^aten::(bmm|baddbmm|_softmax)",
}
INSIDE = {  # or by the name of what it is a part of
    "attention": r"scaled_dot_product",
    "dropout": r"(?i)dropout",
    "layer norm": r"layer_norm",
    "loss": r"_ProjectAndLose|cross_entropy|log_softmax|nll_loss",
    "optimizer": r"^Optimizer\.",
}
COPIES = r"^aten::(copy|clone|cat|add|sub|mul|div|sum|fill|zero|_?index|masked|where|threshold|relu|clamp_min|nonzero)"
KINDS = [*dict.fromkeys([*PLAIN, *INSIDE]), "copies and additions", "other"]


def kind_of(event, forward: dict[int, object]) -> str:
    "What a profiled operation is for. What the backward pass does belongs to the operation of the forward pass it answers."
    for kind, pattern in PLAIN.items():
        if re.search(pattern, event.name):
            return kind
    parent = event
    while parent is not None:
        for kind, pattern in INSIDE.items():
            if re.search(pattern, parent.name):
                return kind
        if parent.name.startswith("autograd::engine::evaluate_function"):
            answered = forward.get(parent.sequence_nr)
            kind = kind_of(answered, {}) if answered is not None else "other"
            if kind in INSIDE:
                return kind
        parent = parent.cpu_parent
    return "copies and additions" if re.search(COPIES, event.name) else "other"


def profiled(step: Callable[[], float], steps: int = 3) -> list[tuple[str, object]]:
    "All operations of a few steps, each with what it is for."
    os.environ.setdefault("KINETO_LOG_LEVEL", "99")  # keeps the profiler from reporting its own start and stop
    for _ in range(2):
        step()
    with dropout_named(), profile() as found:
        for _ in range(steps):
            with record_function("step"):
                step()
    events = sorted(found.events(), key=lambda event: event.time_range.start)
    # Of those with one number, the last is the one that the backward pass answers: those before it have no gradient.
    forward = {
        event.sequence_nr: event for event in events
        if event.sequence_nr >= 0 and not re.search(r"^autograd::|Backward", event.name)
    }
    return [(kind_of(event, forward), event) for event in events]


def where_the_time_goes(step: Callable[[], float], steps: int = 3) -> dict:
    "Shares of the time of a few steps, by kind of work."
    spent = dict.fromkeys(KINDS, 0.0)
    for kind, event in profiled(step, steps):
        spent[kind] += event.self_cpu_time_total  # without that of the operations it is made of
    total = sum(spent.values())
    shares = {kind: round(time / total, 4) for kind, time in spent.items()}
    return {"profiled_seconds_per_step": total / 1e6 / steps, "shares": shares}


BY_NAME = {  # parts of operations' names; the first kind that fits
    "products": ("mm",), "attention": ("scaled_dot_product",), "layer norm": ("layer_norm",), "Adam": ("adam",),
    "copies of heads": ("cat", "slice_backward"), "embedding's gradient": ("embedding_dense_backward",),
    "dropout": ("random_", "aten::ge"),
}


def what_for(name: str, shapes: Sequence[tuple[int, ...]], config: TransformerConfig) -> str:
    "What an operation of a step is for, by its name and the shapes that it takes and gives."
    kind = next((kind for kind, parts in BY_NAME.items() if any(part in name for part in parts)), None)
    in_loss = any(config.vocab_size in shape for shape in shapes)
    if kind == "products":
        return "products of the loss" if in_loss else "products of the layers"
    if kind is None and in_loss:
        return "embedding's gradient" if name == "aten::add.Tensor" else "rest of the loss"
    if kind is None and name == "aten::mul.Tensor" and any(len(shape) == 3 for shape in shapes):
        return "dropout"  # and, of few others, the factor of the embedding
    return kind or "other operations"


class Clocked(TorchDispatchMode):
    "Adds up the processor time of all operations by what they are for."

    def __init__(self, config: TransformerConfig):
        super().__init__()
        self.config, self.seconds = config, Counter()

    def __torch_dispatch__(self, operation, types, given=(), named=None):
        start = time.thread_time()
        result = operation(*given, **(named or {}))
        spent = time.thread_time() - start
        shapes = [tuple(x.shape) for x in (*given, result) if isinstance(x, Tensor)]
        self.seconds[what_for(operation.name(), shapes, self.config)] += spent
        return result


def processor_time(step: Callable[[], float], config: TransformerConfig, warmup: int, steps: int = 3) -> dict:
    "The processor time of a step of ours, and the shares of it by kind of work: what other programs do does not change it."
    for _ in range(warmup):
        step()
    start = time.process_time()
    with Clocked(config) as clocked:
        for _ in range(steps):
            step()
    whole = time.process_time() - start
    shares = {kind: round(seconds / whole, 4) for kind, seconds in clocked.seconds.most_common()}
    return {"seconds_per_step": whole / steps, "shares": shares | {"between operations": round(1 - sum(shares.values()), 4)}}
