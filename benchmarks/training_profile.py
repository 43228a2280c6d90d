"Where the time of a training step goes: what PyTorch's profiler records, told apart by what each operation is for."
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from torch.nn.modules import module as nn_module
from torch.profiler import profile, record_function


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
    os.environ.setdefault("KINETO_LOG_LEVEL", "99")  # the profiler is not to write of its own start and stop
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
