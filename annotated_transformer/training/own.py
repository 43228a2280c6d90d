"What users may provide for training: the class of the model, the optimizer, the learning rate, the loss, and what watches it."
import copy
import logging
import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from inspect import signature
from typing import Any

import torch
from torch import Tensor, nn
from typing_extensions import TypeVar  # installed with PyTorch; Python's own has no default before 3.13

from .. import EOS, PAD, UNK, InputError
from ..config import TrainingConfig
from ..data.batching import Batch
from ..model.class_names import name_of, only_known
from ..model.embedding import SharedEmbedding
from ..model.modes import evaluating
from ..model.pretrained import planned
from ..model.transformer import Transformer
from ..model.weights import to_be_saved
from .optimizer import adam, learning_rate
from .optimizer_state import MakeOptimizer, plain, tried

__all__ = ["Loss", "MakeOptimizer", "Model", "Own", "Rate", "Watch", "mean_loss", "require_transformer", "warn_of_future"]

Model = TypeVar("Model", bound=Transformer, default=Transformer)  # the class given, for type checkers
Rate = Callable[[int], float]  # for each update, counted from 1
Loss = Callable[[Model, Batch], Tensor]  # for each target token, including PAD, which is not counted
# Gets each line of metrics.jsonl, and the model if it can take two arguments; only True ends the training.
Watch = Callable[[dict[str, Any]], bool | None] | Callable[[dict[str, Any], Model], bool | None]
NOTED = (1, 100, 10_000)  # updates whose rates are recorded; if they differ when a run continues, it says so


def require_transformer(kind: type[Transformer]) -> None:
    "InputError for anything but a class of models."
    if not (isinstance(kind, type) and issubclass(kind, Transformer)):
        raise InputError(f"model={kind!r}: give a class that inherits from Transformer")


MANY = 99  # arguments: only a function that takes any number, like print, takes so many


def takes(given: object, arguments: int) -> bool:
    "Whether it can be called with this many arguments; if Python cannot inspect it, whether it can be called at all."
    try:
        signature(given).bind(*[None] * arguments)
    except TypeError:
        return False
    except ValueError:  # it has no signature
        pass
    return True


def checked_rate(given: object, step: int) -> float:
    "The given rate as a number; InputError if it is not a learning rate."
    try:
        number = float(given)
    except (TypeError, ValueError):
        number = math.nan
    if not 0 <= number < math.inf:
        raise InputError(f"rate gives {given!r} for update {step}: give a number of at least 0")
    return number


def mean_loss(
    losses: Tensor,  # as returned by `Loss`
    target: Tensor,  # (B, T)
    tokens: int,     # real tokens of the whole batch, of which this may be a part
) -> Tensor:
    "Mean per real token of a batch; for a part of it, its share of that mean: the shares of all parts and processes add up."
    if not isinstance(losses, Tensor) or losses.shape != target.shape:
        what = f"a tensor {tuple(losses.shape)}" if isinstance(losses, Tensor) else f"what is of the type {type(losses).__name__}"
        raise InputError(f"loss gives {what}: give a number for each target token, {tuple(target.shape)}, and not their mean")
    if torch.is_grad_enabled() and not losses.requires_grad:
        raise InputError("loss gives numbers that require no gradients, so nothing would be learnt: compute them from the "
                         "model's output, without detach(), item() or torch.no_grad()")
    return torch.where(target != PAD, losses, 0).sum(dtype=torch.float32) / tokens


def warn_of_future(model: Transformer) -> None:
    "Warn if a model with a user's own parts sees target tokens that it has yet to predict; other models are not checked."
    if only_known(model):
        return
    target = torch.full((1, min(32, model.config.max_length)), UNK, device=model.embedding.weight.device)
    other = target.clone()
    other[:, -1] = EOS
    with suppress(Exception), torch.random.fork_rng(devices=[]):  # an error here will be reported in training
        tried_on = copy.deepcopy(model)  # a part may keep what it computes, and that must not be an inference tensor either
        with evaluating(tried_on), torch.inference_mode(False), torch.no_grad():
            first, again, found = (tried_on(target, ids)[:, :-1] for ids in (target, target, other))
        if torch.equal(first, again) and not torch.allclose(first, found, 1e-4, 1e-4):
            said = ("%s sees target tokens before it predicts them: changing the last one changes earlier outputs. Its loss will "
                    "fall, and its search will fail; look at other tokens in attention alone (docs/your-own-parts.md)")
            logging.getLogger(__name__).warning(said, type(model).__name__)


def some_rates(rate: Rate) -> dict[str, Any]:
    "The rates to compare when the run continues, as far as there are any: a table may be shorter."
    found = {}
    for step in NOTED:
        with suppress(Exception):
            found[f"rate({step})"] = plain(float(rate(step)))
    return found


@dataclass(frozen=True)
class Own:
    "What the user gave instead of the paper's parts."

    model: type[Transformer] = Transformer
    optimizer: MakeOptimizer | None = None
    rate: Rate | None = None
    watch: Watch[Any] | None = None
    loss: Loss[Any] | None = None

    def names(self) -> dict[str, str]:
        "The names of the parts that are not the paper's, as recorded in a run's config.json."
        given = {"model": self.model, "optimizer": self.optimizer, "rate": self.rate, "loss": self.loss}
        return {name: name_of(what) for name, what in given.items() if what not in (None, Transformer)}

    def require_loss(self, config: TrainingConfig) -> None:
        "InputError for settings that have no effect on the user's loss, and for weights in the loss that nobody would train."
        for name in ("smoothing", "consistency") if self.loss is not None else ():
            if value := getattr(config, name):
                raise InputError(f"{name}={value} has no effect on a loss of your own: set it to 0 in the configuration")
        if isinstance(self.loss, nn.Module) and any(weight.requires_grad for weight in self.loss.parameters()):
            raise InputError("loss has weights that require gradients, and no optimizer gets them: put them into the model's "
                             "class, or call loss.requires_grad_(False)")

    def require_fit(self, config: TrainingConfig) -> dict[str, Any]:
        """InputError, before anything is written, for what the loop could not train as intended, or could not save.

        Returns the facts about optimizer and rate that are compared when the run continues."""
        require_transformer(self.model)
        for name, number, wanted in (("optimizer", (1,), "the parameters"), ("rate", (1,), "the number of an update"),
                                     ("watch", (1, 2), "a line, or a line and the model"), ("loss", (2,), "model and batch")):
            if (given := getattr(self, name)) is not None and not any(takes(given, n) for n in number):
                what = "takes other arguments" if callable(given) else f"is of the type {type(given).__name__}"
                raise InputError(f"{name} {what}: give a function that takes {wanted}")
        self.require_loss(config)
        made = planned(self.model, config.model)  # an invalid model must not bind the run to its configuration
        to_be_saved(made)                         # refuses what a checkpoint could not hold
        if not any(weight.requires_grad for weight in made.parameters()):
            raise InputError(f"no weight of {self.model.__name__} requires gradients, so nothing would be learnt")
        table = type(made.embedding)
        for kind, base, name in (
            (self.model, Transformer, "forward"), (self.model, Transformer, "decode"), (table, SharedEmbedding, "project"),
        ):
            if getattr(kind, name) is not getattr(base, name):
                raise InputError(f"{kind.__name__}.{name} would not be called: training and search put the parts together "
                                 "themselves; override a part (attention, feed_forward, residual), embed or encode")
        settings = tried(self.optimizer, made.parameters()) if self.optimizer else {}
        if self.rate is not None:
            checked_rate(self.rate(1), 1)
            settings |= some_rates(self.rate)
        return settings

    def optimizer_of(self, model: Transformer) -> torch.optim.Optimizer:
        "The optimizer of all parameters; unless another was given, the Adam of §5.3."
        fused = model.embedding.weight.device.type in ("cpu", "cuda")
        return (self.optimizer or partial(adam, fused=fused))(list(model.parameters()))

    def rate_of(self, config: TrainingConfig) -> Rate:
        "The learning rate; unless another was given, (3)."
        if self.rate is None:
            settings = {"d_model": config.model.d_model, "warmup_steps": config.warmup_steps, "factor": config.rate_factor}
            return partial(learning_rate, **settings)
        return lambda step: checked_rate(self.rate(step), step)

    def watch_of(self, model: Transformer) -> Callable[[dict], Any] | None:
        "`watch` as a function of the line alone. While it runs, the model is in eval mode; its own mode is always restored."
        if self.watch is None:
            return None
        beside = (model,) if takes(self.watch, 2) and not takes(self.watch, MANY) or not takes(self.watch, 1) else ()

        def show(line: dict) -> Any:
            with evaluating(model), torch.inference_mode(False):  # what it computes may have gradients
                return self.watch(line, *beside)

        return show
