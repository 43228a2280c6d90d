"Optimizers of one's own: what a checkpoint holds of their state, and what is refused."
import dataclasses
from collections import deque
from functools import partial

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from torch import nn

from annotated_transformer import InputError
from annotated_transformer.training.loop import train
from annotated_transformer.training.optimizer_state import plain, put_back, to_be_held, tried
from annotated_transformer.training.runs import Run


class Lion(torch.optim.Optimizer):
    "Chen et al. 2023, with a number of Python's that counts, another that grows, and what it prints at the first update."

    def __init__(self, weights, lr=1e-4, betas=(0.9, 0.99), reads=False):
        super().__init__(weights, {"lr": lr, "betas": betas, "reads": reads})

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            (one, two), reads = group["betas"], group["reads"]
            for weight in group["params"]:
                if weight.grad is None:
                    continue
                state = self.state[weight]
                if not state:
                    state.update(momentum=torch.zeros_like(weight), updates=0, size=0.0)
                state["updates"] += 1
                state["size"] += 0.1 * state["updates"]
                mixed = state["momentum"] * one + weight.grad * (1 - one)
                weight -= group["lr"] * (mixed.sign() + (float(weight.norm()) if reads else 0.0) + 1e-3 * state["size"])
                state["momentum"].mul_(two).add_(weight.grad, alpha=1 - two)


class InGroup(torch.optim.SGD):
    def step(self, closure=None):
        self.param_groups[0]["seen"] = self.param_groups[0].get("seen", 0) + 1
        return super().step(closure)


class InItself(torch.optim.SGD):
    seen = 0

    def step(self, closure=None):
        self.seen += 1
        return super().step(closure)


class Underscored(torch.optim.SGD):
    _n = 0

    def step(self, closure=None):
        self._n += 1
        return super().step(closure)


class SlowWeights(torch.optim.SGD):
    def __init__(self, weights):
        super().__init__(weights)
        self.own = self.param_groups[0]["params"]
        self.slow = [weight.detach().clone() for weight in self.own]


class Within(torch.optim.SGD):
    def __init__(self, weights):
        super().__init__(weights)
        self.counts = {"all": [0, np.zeros(1)], "self": self}

    def step(self, closure=None):
        self.counts["all"][1] += 1
        return super().step(closure)


class Wrapper(torch.optim.SGD):
    def __init__(self, weights):
        super().__init__(weights)
        self.inner = torch.optim.SGD(self.param_groups[0]["params"], momentum=0.9)

    def step(self, closure=None):
        self.inner.step(closure)


class Late(torch.optim.SGD):
    "Keeps nothing at the first update that a checkpoint cannot hold."

    def step(self, closure=None):
        for weight in self.param_groups[0]["params"]:
            state = self.state[weight]
            state["n"] = state.get("n", 0) + 1
            if state["n"] > 2:
                state["history"] = [weight.clone()]


class Lists(torch.optim.SGD):
    def step(self, closure=None):
        for weight in self.param_groups[0]["params"]:
            self.state[weight]["history"] = [weight.clone()]


class Whole(torch.optim.SGD):
    def step(self, closure=None):
        for weight in self.param_groups[0]["params"]:
            self.state[weight]["count"] = torch.ones_like(weight, dtype=torch.int64)


class NotOfWeights(torch.optim.SGD):
    def step(self, closure=None):
        self.state["all"]["count"] = 1


class AndMore(torch.optim.AdamW):
    "Adam's means, and a number beside them."

    def step(self, closure=None):
        super().step(closure)
        for weight in self.param_groups[0]["params"]:
            self.state[weight]["updates"] = self.state[weight].get("updates", 0) + 1


class Remembers(torch.optim.SGD):
    def __init__(self, weights):
        super().__init__(weights)
        self.recent = {"numbers": deque()}

    def step(self, closure=None):
        self.recent["numbers"].append(0.5)


class Slots:
    __slots__ = ("value",)


class HoldsItself(torch.optim.SGD):
    def __init__(self, weights):
        super().__init__(weights)
        self.own, self.slots = [], Slots()
        self.own.append(self.own)


class HoldsWeights(torch.optim.SGD):
    def __init__(self, weights):
        super().__init__(weights)
        self.all = self.param_groups[0]["params"]


def matrices(weights, kind, **options):
    "Muon takes nothing else."
    return kind([weight for weight in weights if weight.dim() == 2 and weight.numel() > 90], **options)


MAKERS = {
    "SGD": partial(torch.optim.SGD, lr=0.1), "momentum": partial(torch.optim.SGD, momentum=0.9),
    "foreach": partial(torch.optim.Adagrad, foreach=True), "fused Adagrad": partial(torch.optim.Adagrad, fused=True),
    "tensor": lambda weights: torch.optim.Adam(weights, lr=torch.tensor(0.1)), "holds its weights": HoldsWeights,
    "Adam and more": AndMore,
    "fused": partial(torch.optim.SGD, momentum=0.9, fused=True), "amsgrad": partial(torch.optim.Adam, amsgrad=True),
    "fused amsgrad": partial(torch.optim.Adam, amsgrad=True, fused=True), "Lion": Lion, "reads": partial(Lion, reads=True),
    **{name: getattr(torch.optim, name) for name in ("NAdam", "RAdam", "RMSprop", "Adagrad", "Adamax", "ASGD", "Rprop", "Adafactor",
                                                             "Adadelta")
       if hasattr(torch.optim, name)},
    **({"Muon": partial(matrices, kind=torch.optim.Muon)} if hasattr(torch.optim, "Muon") else {}),
}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS.keys())
def test_an_optimizer_of_any_kind_is_resumed_bit_for_bit(make, config, tmp_path, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    own = {"optimizer": make, "rate": lambda step: 0.003}
    train(config, tmp_path / "whole", **own)
    train(dataclasses.replace(config, steps=4), tmp_path / "parts", **own)
    train(config, tmp_path / "parts", **own)
    for name in ("model.safetensors", "training_state.safetensors"):
        one, other = (load_file(Run(tmp_path / run).checkpoints()[-1] / name) for run in ("whole", "parts"))
        assert one.keys() == other.keys() and all(torch.equal(value, other[key]) for key, value in one.items())


@pytest.mark.parametrize("make, reason", [
    (InGroup, "InGroup keeps numbers outside its state"),
    (InItself, r"InItself keeps numbers outside its state, in its groups or attributes, .*: keep them in `state\[parameter\]`"),
    (Underscored, "Underscored keeps numbers outside its state"),
    (SlowWeights, r"SlowWeights keeps tensors outside its state, in its groups or attributes, .*: keep them in `state"),
    (Within, "Within keeps numbers outside its state"),
    (Remembers, "Remembers keeps numbers outside its state"),
    (Wrapper, "Wrapper keeps tensors outside its state"),
    (Late, "not what Late keeps as 'history'"),
    (Lists, "not what Lists keeps as 'history': take another optimizer, or make the updates yourself, with train_step"),
    (Whole, "not what Whole keeps as 'count'"),
    (NotOfWeights, "not what NotOfWeights keeps as 'all'"),
    (torch.optim.SparseAdam, "SparseAdam makes no update as the loop wants it .SparseAdam does not support dense gradients"),
])
def test_what_a_checkpoint_would_not_hold_is_refused_before_anything_is_written(make, reason, config, tmp_path):
    with pytest.raises(InputError, match=reason):
        train(config, tmp_path / "run", optimizer=make)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("key, value", [("a:b", lambda _: 1.0), ("seen", lambda _: True), ("mean", lambda weight: weight.double())])
def test_a_state_that_a_file_would_give_back_as_another_is_refused(key, value):
    class Keeps(torch.optim.SGD):
        def step(self, closure=None):
            for weight in self.param_groups[0]["params"]:
                self.state[weight][key] = value(weight)

    with pytest.raises(InputError, match=f"not what Keeps keeps as '{key}'"):
        tried(Keeps, [nn.Parameter(torch.zeros(2))])


def test_what_an_optimizer_holds_and_never_changes_is_no_reason_to_refuse_it():
    def scheduled(weights):
        optimizer = torch.optim.SGD(weights)
        torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1.0)
        return optimizer

    assert all(tried(make, [nn.Parameter(torch.zeros(2))])["optimizer.momentum"] == 0 for make in (HoldsItself, scheduled))


def test_groups_may_differ_in_all_but_their_rate():
    def grouped(weights, **first):
        return torch.optim.SGD([{"params": weights[:1], **first}, {"params": weights[1:]}])

    weights = [nn.Parameter(torch.zeros(n)) for n in (2, 3)]
    found = tried(partial(grouped, momentum=0.9, name="first"), weights)
    assert (found["optimizer.momentum"], found["optimizer.name"], found["optimizer.dampening"]) == ([0.9, 0], ["first", None], 0)
    with pytest.raises(InputError, match="its groups have their own rates, .0.001, 0.25., and one rate is set for all"):
        tried(partial(grouped, lr=0.25), weights)


def test_an_optimizer_is_tried_on_weights_of_the_true_shapes_that_take_no_memory():
    seen = []

    def make(weights):
        seen.extend(weights)
        return Lion(seen)

    frozen = nn.Parameter(torch.zeros(3), requires_grad=False)
    assert tried(make, [nn.Parameter(torch.zeros(2, 30)), frozen]) == {"optimizer.betas": [0.9, 0.99], "optimizer.reads": False}
    assert [(tuple(weight.shape), weight.device.type, weight.requires_grad) for weight in seen] == [
        ((2, 30), "meta", True), ((3,), "meta", False),
    ]


def test_settings_are_noted_as_json_holds_them():
    values = [1, 0.5, True, None, "a", (1, 2.0), float("nan"), -float("inf"), torch.tensor(0.5), torch.ones(2), nn.Linear]
    assert plain(values) == [1, 0.5, True, None, "a", [1, 2.0], "nan", "-inf", 0.5, "torch:Tensor", "torch.nn.modules.linear:Linear"]


def test_a_state_of_another_model_is_refused_and_keeps_the_order_in_memory_of_its_weight():
    model = nn.Linear(3, 2)
    model.weight = nn.Parameter(model.weight.detach().T.contiguous().T)
    optimizer = torch.optim.SGD(model.parameters(), momentum=0.9)
    model(torch.ones(1, 3)).sum().backward()
    optimizer.step()
    held, again = to_be_held(optimizer, model), torch.optim.SGD(model.parameters(), momentum=0.9)
    assert held["weight.momentum_buffer"].is_contiguous(), "or no file holds it"
    put_back(again, model, held, "file")
    found = again.state[model.weight]["momentum_buffer"]
    assert found.stride() == model.weight.stride() and torch.equal(found, held["weight.momentum_buffer"])
    with pytest.raises(InputError, match="file: the optimizer's state does not fit the model .first at 'other.momentum_buffer'."):
        put_back(again, model, held | {"other.momentum_buffer": torch.ones(1)}, "file")
    with pytest.raises(InputError, match="file: Adam's means do not fit the model"):
        put_back(torch.optim.Adam(model.parameters()), model, {}, "file")


def test_a_name_that_begins_as_another_does_gets_its_own_state():
    model = nn.ParameterDict({"gain": torch.ones(2), "gain_bias": torch.ones(2)})
    optimizer, again = (torch.optim.SGD(model.parameters(), momentum=0.9) for _ in range(2))
    (2 * model["gain"] + 3 * model["gain_bias"]).sum().backward()
    optimizer.step()
    put_back(again, model, to_be_held(optimizer, model), "file")
    assert [again.state[one]["momentum_buffer"].tolist() for one in model.parameters()] == [[2, 2], [3, 3]]
