"What an optimizer keeps in addition to the weights: whether a checkpoint can hold it, how it is written and restored."
import logging
import math
import sys
from collections import deque
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from .. import InputError
from ..model.class_names import name_of
from ..model.weights import require_real, require_shapes

__all__ = ["MakeOptimizer", "plain", "put_back", "require_held", "to_be_held", "tried"]

MakeOptimizer = Callable[[list[nn.Parameter]], torch.optim.Optimizer]
NUMBERS = {"int": int, "float": float}  # types of Python numbers, as written in the names of a file's tensors: `step:int`
OTHERWISE = "take another optimizer, or make the updates yourself, with train_step"
WITHIN = (dict, list, tuple, set, frozenset, deque)
OUTSIDE = ("{} keeps {} outside its state, in its groups or attributes, and a checkpoint would not hold them: keep them in "
           "`state[parameter]`")
UPDATES = 3  # number of trial updates: some optimizers keep nothing until the second
# What an update does not depend on, except perhaps in its rounding: the loop sets the rate.
FREE = {"params", "lr", "initial_lr", "foreach", "fused", "capturable", "differentiable"}


def is_adam(optimizer: torch.optim.Optimizer) -> bool:
    "Whether we know what the optimizer keeps."
    return type(optimizer) in (torch.optim.Adam, torch.optim.AdamW)


def plain(value: Any) -> Any:
    "A setting in a form for JSON: numbers and texts as they are (NaN and infinity as texts), other things by name."
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    if isinstance(value, Tensor) and value.numel() == 1:
        return plain(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return repr(value)
    return value if value is None or type(value) in (bool, int, float, str) else name_of(value)


def settings_of(optimizer: torch.optim.Optimizer) -> dict[str, Any]:
    "The settings that its updates depend on, by name; a list if its groups differ."
    found = {}
    for key in sorted({key for group in optimizer.param_groups for key in group} - FREE):
        values = [plain(group.get(key)) for group in optimizer.param_groups]
        found[f"optimizer.{key}"] = values if any(value != values[0] for value in values) else values[0]
    return found


def picture(value: Any, known: set[int], numbers: int = 0) -> Any:
    "A comparable form of a value and of everything in it; InputError for unknown tensors that hold more numbers than `numbers`."
    if id(value) in known:
        return None
    if isinstance(value, Tensor):
        if value.numel() > numbers:
            raise InputError("tensors")
        return plain(value)
    if hasattr(value, "tolist"):  # NumPy's
        return repr(value.tolist())
    if type(value).__module__.partition(".")[0] not in sys.stdlib_module_names and hasattr(value, "__dict__"):
        value = vars(value)
    if not isinstance(value, WITHIN):
        return plain(value)
    known.add(id(value))  # it may contain itself
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    return [(plain(key) if isinstance(key, (str, int, float)) else id(key), picture(one, known, numbers)) for key, one in pairs]


@cache
def pytorchs() -> set[str]:
    "The attributes that PyTorch's own optimizers and schedulers set."
    plainest = torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=1.0)
    return {*vars(plainest), "_need_device_dtype_check_for_fused", "_step_supports_amp_scaling", "_opt_called"}


def beside(optimizer: torch.optim.Optimizer) -> list:
    "What it keeps in groups and attributes, which a checkpoint does not save. InputError for tensors."
    known = {id(optimizer)} | {id(weight) for group in optimizer.param_groups for weight in group["params"]}
    groups = [{key: value for key, value in group.items() if key != "params"} for group in optimizer.param_groups]
    attributes = {name: value for name, value in vars(optimizer).items() if name not in pytorchs()}
    try:
        return [picture(groups, set(known), 1), picture(attributes, known)]
    except InputError as error:
        raise InputError(OUTSIDE.format(type(optimizer).__name__, error)) from None


def require_held(optimizer: torch.optim.Optimizer) -> None:
    "InputError for anything that a checkpoint would not hold, or would not restore as it was."
    kind = type(optimizer).__name__
    if not isinstance(optimizer, torch.optim.Optimizer):
        raise InputError(f"optimizer gives what is of the type {kind}: give a torch.optim.Optimizer, as AdamW is")
    for weight, state in optimizer.state.items():
        for key, value in state.items() if isinstance(weight, Tensor) else [(weight, state)]:
            if isinstance(weight, Tensor) and isinstance(key, str) and ":" not in key:
                if type(value) in NUMBERS.values():
                    continue
                if isinstance(value, Tensor) and (value.dtype == weight.dtype or key == "step"):
                    continue
            held = "tensors in the weights' format, and numbers"
            raise InputError(f"a checkpoint holds {held}, and not what {kind} keeps as {key!r}: {OTHERWISE}")


def warn_of_left(optimizer: torch.optim.Optimizer, weights: list[nn.Parameter]) -> None:
    "A warning with the number of weights that it was not given, although they require gradients."
    had = {id(weight) for group in optimizer.param_groups for weight in group["params"]}
    if left := sum(weight.requires_grad and id(weight) not in had for weight in weights):
        said = "%s was not given %d of the %d weights that require gradients: they are not trained"
        every = sum(weight.requires_grad for weight in weights)
        logging.getLogger(__name__).warning(said, type(optimizer).__name__, left, every)


def after_an_update(make: MakeOptimizer, weights: list[nn.Parameter]) -> dict[str, Any]:
    "Like `tried`, on these weights, which change."
    optimizer = make(list(weights))  # a list, since some optimizers iterate over them once for each group
    require_held(optimizer)
    settings, before, kind = settings_of(optimizer), beside(optimizer), type(optimizer).__name__
    if len(rates := {plain(group.get("lr")) for group in optimizer.param_groups}) > 1:
        rates = sorted(rates, key=str)
        raise InputError(f"optimizer: its groups have their own rates, {rates}, and one rate is set for all")
    if is_adam(optimizer):
        warn_of_left(optimizer, weights)
        return settings
    for weight in weights:
        weight.grad = torch.ones_like(weight) if weight.requires_grad else None
    try:
        for _ in range(UPDATES):
            optimizer.step()
    except Exception as error:
        raise RuntimeError(f"{kind} makes no update as the loop wants it ({error})") from error
    require_held(optimizer)
    if beside(optimizer) != before:
        raise InputError(OUTSIDE.format(kind, "numbers"))
    warn_of_left(optimizer, weights)
    return settings


def tried(make: MakeOptimizer, weights: Iterable[nn.Parameter]) -> dict[str, Any]:
    "The settings of an optimizer; InputError if it cannot be resumed, found by a few updates of other weights of these shapes."
    shapes = [(weight.shape, weight.requires_grad) for weight in weights]

    def on(device: str) -> list[nn.Parameter]:
        return [nn.Parameter(torch.zeros(shape, device=device), learns) for shape, learns in shapes]

    try:
        return after_an_update(make, on("meta"))  # no number is computed, no memory taken
    except InputError:
        raise
    except Exception:  # some read a number, and some do not know this device
        pass
    try:
        return after_an_update(make, on("cpu"))
    except RuntimeError as error:
        raise InputError(f"{error}: {OTHERWISE}") from error


def named(optimizer: torch.optim.Optimizer, model: nn.Module) -> list[tuple[str, nn.Parameter]]:
    "The optimizer's weights in its own order."
    names = {parameter: name for name, parameter in model.named_parameters()}
    return [(names[parameter], parameter) for group in optimizer.param_groups for parameter in group["params"]]


def to_be_held(optimizer: torch.optim.Optimizer, model: nn.Module) -> dict[str, Tensor]:
    "The part of its state that a file holds: tensors, by the names of the weights."
    require_held(optimizer)
    found = {}
    for name, parameter in model.named_parameters():
        for key, value in optimizer.state.get(parameter, {}).items():
            if isinstance(value, Tensor):
                found[f"{name}.{key}"] = value.contiguous()
            else:
                kind = torch.int64 if isinstance(value, int) else torch.float64
                found[f"{name}.{key}:{type(value).__name__}"] = torch.tensor(value, dtype=kind)
    return found


def require_adams(optimizer: torch.optim.Optimizer, model: nn.Module, held: dict[str, Tensor], path: Path) -> None:
    "InputError if these are not Adam's means. Fused Adam trusts its state: it would write past the end of one that is too short."
    order = named(optimizer, model)
    # A frozen weight has no means.
    moved = [name for name, _ in order if f"{name}.step" in held] or [name for name, _ in model.named_parameters()]
    keys = ("exp_avg", "exp_avg_sq") + ("max_exp_avg_sq",) * any(group["amsgrad"] for group in optimizer.param_groups)
    sizes = {f"{name}.{key}": value.shape for name, value in order for key in keys if name in moved}
    sizes |= {f"{name}.step": torch.Size() for name in moved}
    require_real(held, path)
    require_shapes(held, sizes, path, "Adam's means do not fit the model")
    for name, value in held.items():
        if value.dtype != torch.float32:
            raise InputError(f"{path}: {name!r} is of {value.dtype} and not float32; take an earlier checkpoint")


def as_it_was(value: Tensor, weight: Tensor, kind: str) -> Tensor | int | float:
    "A Python number; or a tensor with the same memory layout as its weight: fused Adam reads both from first to last."
    if kind:
        return NUMBERS[kind](value.item())
    if value.shape != weight.shape:
        return value.clone()
    return torch.empty_like(weight, dtype=value.dtype, device="cpu").copy_(value)


def put_back(optimizer: torch.optim.Optimizer, model: nn.Module, held: dict[str, Tensor], path: Path) -> None:
    "Restore what `to_be_held` returned, on the device of the weights. InputError if it does not fit."
    if is_adam(optimizer):
        require_adams(optimizer, model, held, path)
    states, left = {}, dict(held)
    for i, (name, weight) in enumerate(named(optimizer, model)):
        for full in [full for full in left if full.startswith(f"{name}.")]:
            key, _, kind = full.removeprefix(f"{name}.").partition(":")
            states.setdefault(i, {})[key] = as_it_was(left.pop(full), weight, kind)
    if left:
        raise InputError(f"{path}: the optimizer's state does not fit the model (first at {min(left)!r}); take those of one run")
    optimizer.load_state_dict({"state": states, "param_groups": optimizer.state_dict()["param_groups"]})
