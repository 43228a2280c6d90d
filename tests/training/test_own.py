"What a training has of its user's own: taken, noted, and not taken for the paper's afterwards."
import dataclasses
import json
import math
import re
from functools import partial

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import nn
from torch.nn import functional as F

from annotated_transformer import PAD, InputError, Transformer, Translator, load
from annotated_transformer.config import Execution
from annotated_transformer.model.embedding import SharedEmbedding
from annotated_transformer.model.feed_forward import FeedForward
from annotated_transformer.training import starting
from annotated_transformer.training.launch import launch
from annotated_transformer.training.loop import train
from annotated_transformer.training.own import Own, mean_loss
from annotated_transformer.training.runs import Run
from annotated_transformer.training.starting import new_model


class GeluFeedForward(FeedForward):
    def forward(self, x):
        return self.outer(nn.functional.gelu(self.inner(x)))


class Gelu(Transformer):
    def feed_forward(self):
        return GeluFeedForward(self.config.d_model, self.config.d_ff)


class Other(Gelu):
    pass


class OwnForward(Transformer):
    def forward(self, source, target_input):
        return 2 * super().forward(source, target_input)


class OwnDecode(Transformer):
    def decode(self, target_input, memory, source):
        return -super().decode(target_input, memory, source)


class OwnProjection(Transformer):
    def __init__(self, config):
        super().__init__(config)

        class Biased(SharedEmbedding):
            def project(self, x):
                return super().project(x) + 1

        self.embedding = Biased(config.vocab_size, config.d_model)


class Frozen(Gelu):
    "Its embedding is not trained, and a weight of it is in no loss."

    def __init__(self, config):
        super().__init__(config)
        self.embedding.weight.requires_grad_(False)
        self.unused = nn.Parameter(torch.ones(3))


class Buffers(Gelu):
    "A mask of -inf that its layers share, a count, Booleans, and a weight whose numbers do not stand in memory in their order."

    def __init__(self, config):
        super().__init__(config)
        mask, inner = torch.full((4, 4), -math.inf).triu(1), self.encoder.layers[0].feed_forward.sublayer.inner
        for name, value in {"mask": mask, "rows": mask[:2], "seen": torch.tensor(7), "flags": torch.tensor([True, False])}.items():
            self.register_buffer(name, value)
        self.decoder.register_buffer("mask", mask)
        inner.weight = nn.Parameter(inner.weight.detach().T.contiguous().T)


class Tied(Transformer):
    def __init__(self, config):
        super().__init__(config)
        self.decoder.layers.append(self.decoder.layers[0])


class Complex(Transformer):
    def __init__(self, config):
        super().__init__(config)
        self.register_buffer("turns", torch.ones(3, dtype=torch.complex64))


class Expanded(Transformer):
    def __init__(self, config):
        super().__init__(config)
        self.register_buffer("wide", torch.ones(3).expand(2, 3))


class WholeParameter(Transformer):
    def __init__(self, config):
        super().__init__(config)
        self.bits = nn.Parameter(torch.ones(3, dtype=torch.int8), requires_grad=False)


class Remembers(Transformer):
    def get_extra_state(self):
        return {"seen": 3}


def decays(parameters):
    "Matrices decay, and stand behind vectors: not in the order of the model."
    matrices, vectors = [], []
    for parameter in parameters:
        (matrices if parameter.dim() > 1 else vectors).append(parameter)
    groups = [{"params": vectors, "weight_decay": 0.0}, {"params": matrices, "weight_decay": 0.5}]
    return torch.optim.AdamW(groups, betas=(0.9, 0.98))


def by_size(parameters):
    return torch.optim.Adam([{"params": [parameter], "lr": 0.1 * parameter.dim()} for parameter in parameters])


def constant(step):
    return 0.01


def equal(one: Transformer, other: Transformer) -> bool:
    return all(torch.equal(weight, other.state_dict()[name]) for name, weight in one.state_dict().items())


@pytest.mark.parametrize("model", [Gelu, Frozen, Buffers])
def test_a_training_with_all_of_ones_own_is_resumed_bit_for_bit(model, config, tmp_path, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    own = {"model": model, "optimizer": decays, "rate": constant}
    whole = train(config, tmp_path / "whole", **own)
    train(dataclasses.replace(config, steps=4), tmp_path / "parts", **own)
    resumed = train(config, tmp_path / "parts", **own)
    assert type(whole) is type(resumed) is model and equal(whole, resumed)
    rates = {line["learning_rate"] for line in Run(tmp_path / "parts").metrics() if "learning_rate" in line}
    assert rates == {0.01} and not equal(whole, train(config, tmp_path / "adam", model=model, rate=constant))


def test_a_run_notes_what_is_its_own_and_goes_on_with_nothing_else(config, tmp_path):
    own = {"model": Gelu, "optimizer": decays, "rate": constant}
    train(config, tmp_path / "run", **own)
    assert Run(tmp_path / "run").own == {name: f"{__name__}:{what.__name__}" for name, what in own.items()}
    before = (tmp_path / "run" / "config.json").read_bytes()
    for change in ({"model": Other}, {"model": Transformer}, {"optimizer": torch.optim.AdamW}, {"rate": None}):
        name, = change
        with pytest.raises(InputError, match=rf"train\(..., {name}\)='.*{own[name].__name__}', not "):
            train(config, tmp_path / "run", **own | change)
    with pytest.raises(InputError, match="not \"the paper's\""):
        launch(config, tmp_path / "run", 2)
    assert (tmp_path / "run" / "config.json").read_bytes() == before
    train(config, tmp_path / "plain")
    assert "own" not in json.loads((tmp_path / "plain" / "config.json").read_text())
    with pytest.raises(InputError, match=r"model\)=\"the paper's\", not '.*:Gelu'"):
        train(config, tmp_path / "plain", model=Gelu)


def test_a_run_of_ones_own_class_is_opened_with_it_alone_and_so_is_what_is_saved_of_it(config, tmp_path):
    run, saved = tmp_path / "run", tmp_path / "saved"
    trained = train(config, run, model=Gelu)
    assert equal(load(run, 1, model=Gelu).model, trained) and not trained.training
    translator = Translator.from_pretrained(run, average=2, model=Gelu)
    translator.save_pretrained(saved)
    assert json.loads((saved / "config.json").read_text())["model"] == f"{__name__}:Gelu"
    for found in (Gelu.from_pretrained(saved), load(saved, model=Gelu).model, Translator.from_pretrained(saved, model=Gelu).model):
        assert type(found) is Gelu and equal(found, translator.model)
    for place in (run, saved):
        for opened in (load, Translator.from_pretrained, partial(load, model=Other)):
            with pytest.raises(InputError, match=f"{place.name} holds a model of the class {__name__}:Gelu, not of"):
                opened(place)
    with pytest.raises(InputError, match="not of annotated_transformer.model.transformer:Transformer"):
        Transformer.from_pretrained(saved)
    with pytest.raises(InputError, match=re.escape(f"{run} is a run: load({str(run)!r}).model gives the mean of its last")):
        Gelu.from_pretrained(run)
    with pytest.raises(InputError, match="give a class that inherits from Transformer"):
        load(saved, model=lambda config: Gelu(config))


def test_masks_counts_and_weights_in_any_order_are_saved_and_read_again(config, tmp_path):
    model = Buffers(config.model)
    model.seen += 2**60  # float32 has no such number
    model.save_pretrained(tmp_path / "saved")
    found = Buffers.from_pretrained(tmp_path / "saved")
    assert equal(model, found) and found.seen == 2**60 + 7 and found.flags.tolist() == [True, False]
    trained = train(config, tmp_path / "run", model=Buffers)
    for average in (1, 2):
        buffers = load(tmp_path / "run", average, model=Buffers).model.named_buffers()
        assert all(torch.equal(value, trained.get_buffer(name)) for name, value in buffers)
    with torch.no_grad():
        model.encoder.layers[0].feed_forward.sublayer.inner.bias[0] = math.inf  # of a parameter it is a fault
    broken = pytest.raises(InputError, match="inner.bias' holds something that is not a finite real number")
    with broken:
        model.save_pretrained(tmp_path / "saved")
    assert equal(Buffers.from_pretrained(tmp_path / "saved"), found), "the good one is still there"
    values = load_file(tmp_path / "saved" / "model.safetensors")
    values["encoder.layers.0.feed_forward.sublayer.inner.bias"][0] = math.inf
    save_file(values, tmp_path / "saved" / "model.safetensors")
    with broken:
        Buffers.from_pretrained(tmp_path / "saved")
    for kind in (Tied, Complex):
        with pytest.raises(InputError, match=f"^{kind.__name__}"):
            kind(config.model).save_pretrained(tmp_path / "other")
    assert not (tmp_path / "other").exists()


def test_a_run_of_ones_own_class_starts_from_weights_of_that_class_or_of_the_paper_s(config, tmp_path):
    train(config, tmp_path / "plain")
    own = dataclasses.replace(config, start_from=str(tmp_path / "plain"), steps=2)
    assert type(train(own, tmp_path / "own", model=Gelu)) is Gelu
    again = dataclasses.replace(config, start_from=str(tmp_path / "own"), steps=2)
    assert type(train(again, tmp_path / "again", model=Gelu)) is Gelu
    with pytest.raises(InputError, match="holds a model of the class"):
        train(again, tmp_path / "wrong")
    assert not (tmp_path / "wrong").exists()


def test_files_of_the_papers_class_say_nothing_of_a_class(config, tmp_path):
    model = Transformer(config.model)
    model.save_pretrained(tmp_path / "saved")
    assert json.loads((tmp_path / "saved" / "config.json").read_text()) == dataclasses.asdict(config.model)
    assert equal(Gelu.from_pretrained(tmp_path / "saved"), model), "nobody said of which class they were"


@pytest.mark.parametrize("own, reason", [
    ({"model": lambda config: Transformer(config)}, "give a class that inherits from Transformer"),
    ({"model": nn.Linear}, "give a class that inherits from Transformer"),
    ({"model": OwnForward}, "OwnForward.forward would not be called"),
    ({"model": OwnDecode}, "OwnDecode.decode would not be called"),
    ({"model": OwnProjection}, "Biased.project would not be called"),
    ({"model": Tied}, r"Tied has one parameter under two names, 'decoder.layers.0\.\S+' and 'decoder.layers.1\.\S+', and a file"),
    ({"model": Complex}, "Complex: 'turns' is of torch.complex64, and a file holds parameters of real numbers, buffers of real or"),
    ({"model": Expanded}, "Expanded: 'wide' is an expanded tensor"),
    ({"model": WholeParameter}, "WholeParameter: 'bits' is of torch.int8, and"),
    ({"model": Remembers}, "Remembers: '_extra_state' is of dict, and"),
    ({"optimizer": torch.optim.LBFGS}, "LBFGS makes no update as the loop wants it .*: take another optimizer, or make the updates"),
    ({"optimizer": lambda weights: None}, "optimizer gives what is of the type NoneType: give a torch.optim.Optimizer"),
    ({"optimizer": lambda weights: torch.optim.AdamW([{"params": weights, "lr": 0.1}, {"params": [], "lr": 0.2}])}, r"\[0.1, 0.2\]"),
    ({"optimizer": by_size}, r"their own rates"),
    ({"optimizer": torch.optim.Adam([nn.Parameter(torch.zeros(1))])}, "optimizer is of the type Adam: give a function that takes the parameters"),
    ({"rate": 0.1}, "rate is of the type float: give a function that takes the number of an update"),
    ({"loss": lambda model: 0.0}, "loss takes other arguments: give a function that takes model and batch"),
    ({"loss": lambda model, batch: 0.0}, "smoothing=0.1 has no effect on a loss of your own: set it to 0"),
    ({"watch": True}, "watch is of the type bool: give a function that takes a line"),
    ({"watch": lambda: None}, "watch takes other arguments: give a function that takes a line, or a line and the model"),
    ({"rate": lambda step, total: 0.1}, "rate takes other arguments: give a function that takes the number of an update"),
    ({"optimizer": lambda: None}, "optimizer takes other arguments: give a function that takes the parameters"),
    ({"rate": lambda step: "x"}, "rate gives 'x' for update 1: give a number of at least 0"),
    ({"rate": lambda step: None}, "rate gives None"),
    ({"rate": lambda step: -0.01}, "rate gives -0.01"),
    ({"rate": lambda step: math.inf}, "rate gives inf"),
])
def test_what_would_go_wrong_later_is_refused_before_anything_is_written(own, reason, config, tmp_path):
    with pytest.raises(InputError, match=reason):
        train(config, tmp_path / "run", **own)
    assert not (tmp_path / "run").exists()


def test_a_function_whose_arguments_python_does_not_know_is_called(config):
    Own(rate=torch.tensor(0.1).mul).require_fit(config)
    Own(rate=torch.tensor(0.0).mul).require_fit(config)  # a rate may begin at 0
    with pytest.raises(InputError, match="rate gives tensor"):
        Own(rate=torch.tensor(-0.1).mul).require_fit(config)


@pytest.mark.parametrize("wrong", [-0.003, math.nan, "x"])
def test_the_rate_of_each_update_is_checked(wrong, config, tmp_path):
    with pytest.raises(InputError, match=f"rate gives {wrong!r} for update 4: give a number of at least 0"):
        train(config, tmp_path / "run", rate=lambda step: 0.003 if step < 4 else wrong)
    assert Run(tmp_path / "run").last()["step"] == 2


def always(number):
    return lambda step: number


def decaying(weights, decay):
    return torch.optim.AdamW([{"params": list(weights), "weight_decay": decay}], lr=decay)


@pytest.mark.parametrize("first, then, other", [
    ({"optimizer": partial(decaying, decay=0.01)}, {"optimizer": partial(decaying, decay=5.0)}, r"optimizer.weight_decay=0.01, not 5.0"),
])
def test_a_run_goes_on_only_with_the_optimizer_s_settings_that_it_began_with(first, then, other, config, tmp_path):
    short = dataclasses.replace(config, steps=2, validate_every=100)
    train(short, tmp_path / "run", **first)
    before = (tmp_path / "run" / "config.json").read_bytes()
    assert b"NaN" not in before
    with pytest.raises(InputError, match=other):
        train(config, tmp_path / "run", **then)
    assert (tmp_path / "run" / "config.json").read_bytes() == before


@pytest.mark.parametrize("first, then, said", [
    (always(0.001), always(0.5), ["the rate of update 1 was 0.001 and is 0.5 now"]),
    (lambda step: 0.1 / step, lambda step: 0.1 / step**2, ["the rate of update 100 was 0.001 and is 1e-05 now"]),
    (lambda step: 0.1 if step < 1_000 else math.nan, lambda step: 0.1, ["the rate of update 10000 was nan and is 0.1 now"]),
    (always(0.001), always(0.001), []),
])
def test_a_run_says_where_its_rates_are_others_and_goes_on(first, then, said, config, tmp_path, caplog):
    "A schedule that depends on how many updates are wanted is another one when a run is trained for longer."
    train(dataclasses.replace(config, steps=2, validate_every=100), tmp_path / "run", rate=first)
    assert "NaN" not in (tmp_path / "run" / "config.json").read_text()
    train(config, tmp_path / "run", rate=then)
    found = [record.getMessage() for record in caplog.records if "the rate of" in record.getMessage()]
    assert len(found) == len(said) and all(text in one for text, one in zip(said, found))
    assert Run(tmp_path / "run").last()["step"] == config.steps


def test_what_cannot_be_compared_or_was_not_noted_keeps_no_run_from_going_on(config, tmp_path):
    class Adagrad(torch.optim.Adagrad):
        def __init__(self, weights, rule):
            super().__init__(weights)
            self.param_groups[0]["rule"] = rule

    short, path = dataclasses.replace(config, steps=2), tmp_path / "run" / "config.json"
    train(short, tmp_path / "run", rate=[0, 0.1, 0.1, 0.1].__getitem__, optimizer=lambda weights: Adagrad(weights, always(1)))
    noted = json.loads(path.read_text())["own_settings"]
    assert noted["rate(1)"] == 0.1 and "rate(100)" not in noted and noted["optimizer.lr_decay"] == 0 and "optimizer.lr" not in noted
    path.write_text(json.dumps({name: value for name, value in json.loads(path.read_text()).items() if name != "own_settings"}))
    train(config, tmp_path / "run", rate=([0.1] * 7).__getitem__, optimizer=lambda weights: Adagrad(weights, always(2)))
    assert json.loads(path.read_text())["own_settings"] == noted


def test_a_rate_that_fails_binds_no_run_and_an_optimizer_may_leave_weights_as_they_are(config, tmp_path):
    with pytest.raises(ZeroDivisionError):
        train(config, tmp_path / "run", rate=lambda step: 1 / (step - 1))
    assert not (tmp_path / "run").exists()
    vectors = train(config, tmp_path / "run", optimizer=lambda weights: torch.optim.Adam([w for w in weights if w.dim() == 1]))
    start = new_model(config, vectors.config.vocab_size)
    changed = {not torch.equal(now, before) for now, before in zip(vectors.parameters(), start.parameters()) if now.dim() > 1}
    assert changed == {False} and not equal(vectors, start)


def smoothed(model, batch):
    "Label smoothing as §5.4 has it, but PAD has a share as any other token: `label_smoothed_cross_entropy` for each token."
    logs = model(batch.source, batch.target_input).log_softmax(-1)
    right = logs.gather(-1, batch.target[..., None]).squeeze(-1)
    return -0.9 * right - 0.1 / (logs.size(-1) - 1) * (logs.sum(-1) - right)


class Distilled(nn.Module):
    "Half of each token's target is what a teacher expects."

    def __init__(self, teacher):
        super().__init__()
        self.teacher = teacher.eval().requires_grad_(False)

    def forward(self, model, batch):
        logs = model(batch.source, batch.target_input).log_softmax(-1)
        expected = self.teacher(batch.source, batch.target_input).softmax(-1)
        hard = F.nll_loss(logs.transpose(1, 2), batch.target, reduction="none")
        return 0.5 * hard - 0.5 * (expected * logs).sum(-1)


@pytest.mark.parametrize("device_tokens", [None, 20])
def test_a_loss_of_ones_own_that_is_the_usual_one_trains_as_that_does(device_tokens, config, tmp_path):
    config = dataclasses.replace(config, execution=Execution(device_tokens=device_tokens))
    rate = {"rate": lambda step: 0.003}
    usual = train(config, tmp_path / "usual", **rate)
    own = train(dataclasses.replace(config, smoothing=0.0), tmp_path / "own", loss=smoothed, **rate)
    for one, other in zip(usual.parameters(), own.parameters()):
        torch.testing.assert_close(other, one, rtol=1e-3, atol=1e-5)
    lines = [[line["loss"] for line in Run(tmp_path / name).metrics() if "loss" in line] for name in ("usual", "own")]
    assert lines[0] == pytest.approx(lines[1], rel=1e-5)
    measured = Run(tmp_path / "own").reached()
    assert measured["validation_loss"] == pytest.approx(math.log(measured["validation_perplexity"]))
    assert Run(tmp_path / "own").own["loss"] == f"{__name__}:smoothed"


def test_a_student_learns_from_a_teacher_and_goes_on_only_so(config, tmp_path, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    config, plain = dataclasses.replace(config, smoothing=0.0, steps=4), dataclasses.replace(config, smoothing=0.0, steps=4)
    loss = Distilled(train(plain, tmp_path / "teacher"))
    whole = train(config, tmp_path / "whole", loss=loss)
    train(dataclasses.replace(config, steps=2), tmp_path / "parts", loss=loss)
    assert equal(train(config, tmp_path / "parts", loss=loss), whole) and not equal(whole, loss.teacher)
    assert equal(load(tmp_path / "whole", average=1).model, whole)
    with pytest.raises(InputError, match=r"train\(..., loss\)='.*:Distilled', not \"the paper's\""):
        train(config, tmp_path / "parts")


@pytest.mark.parametrize("loss, reason", [
    (lambda model, batch: smoothed(model, batch).mean(), r"loss gives a tensor \(\): give a number for each target token, \(\d+, \d+\)"),
    (lambda model, batch: 0.0, "loss gives what is of the type float"),
    (lambda model, batch: model(batch.source, batch.target_input), r"loss gives a tensor \(\d+, \d+, \d+\)"),
    (lambda model, batch: smoothed(model, batch).detach(), "loss gives numbers that require no gradients"),
    (lambda model, batch: model.no_such_thing, "loss fails on the first two pairs .AttributeError: .*no_such_thing"),
])
def test_a_loss_that_is_none_for_each_token_is_refused_and_binds_no_run(loss, reason, config, tmp_path):
    config = dataclasses.replace(config, smoothing=0.0)
    with pytest.raises(InputError, match=reason):
        train(config, tmp_path / "run", loss=loss)
    assert not (tmp_path / "run").exists()
    train(config, tmp_path / "run", loss=smoothed)
    with pytest.raises(InputError, match="the run was started with"):
        train(config, tmp_path / "run", loss=loss)
    assert Run(tmp_path / "run").last()["step"] == config.steps


def test_a_loss_counts_no_padding_whatever_stands_there_and_no_other_shape():
    target, losses = torch.tensor([[3, 4, PAD], [5, PAD, PAD]]), torch.tensor([[1, 2, math.nan], [4, math.inf, 8]])
    with torch.no_grad():
        assert mean_loss(losses, target, 7) == 1
        assert mean_loss(torch.full((1, 3), 60_000, dtype=torch.float16), torch.tensor([[3, 4, 5]]), 3) == 60_000
    for wrong in (losses.T, losses.flatten()):
        with pytest.raises(InputError, match=r"give a number for each target token, \(2, 3\)"):
            mean_loss(wrong.requires_grad_(), target, 7)


def test_what_is_tried_of_a_loss_changes_no_number_of_the_training(config, tmp_path, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    config = dataclasses.replace(config, smoothing=0.0, steps=2)
    once = train(config, tmp_path / "once", loss=smoothed)
    monkeypatch.setattr(starting, "try_loss", lambda *_: None)
    assert equal(train(config, tmp_path / "again", loss=smoothed), once)


def test_a_loss_whose_weights_nobody_would_train_and_settings_without_effect_are_refused(config):
    loss, plain = Distilled(Transformer(config.model)), dataclasses.replace(config, smoothing=0.0)
    Own(loss=loss).require_fit(plain)
    with pytest.raises(InputError, match="consistency=5.0 has no effect"):
        Own(loss=loss).require_fit(dataclasses.replace(plain, consistency=5.0))
    loss.teacher.requires_grad_(True)
    with pytest.raises(InputError, match="loss has weights that require gradients, and no optimizer gets them"):
        Own(loss=loss).require_fit(plain)


def test_who_watches_gets_each_line_and_ends_the_training_with_a_checkpoint(config, tmp_path, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    seen = []

    def watch(line):
        seen.append(line)
        return line["step"] == 3

    run = Run(tmp_path / "run")
    ended = train(config, run.directory, watch=watch)
    assert seen == run.metrics() and [line["step"] for line in seen] == [1, 2, 2, 3]
    assert [path.name for path in run.checkpoints()] == ["step-00000002", "step-00000003"]
    assert equal(load(run.directory, average=1).model, ended)
    resumed = train(config, run.directory, watch=lambda line: None)
    assert equal(resumed, train(config, tmp_path / "whole")) and run.own == {}
    assert [path.name for path in run.checkpoints()] == ["step-00000004", "step-00000006"]


def test_who_watches_finds_the_checkpoint_of_the_line_and_leaves_the_mode_of_the_model(config, tmp_path, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    run, seen, kept = Run(tmp_path / "run"), [], []

    def watch(line, model):
        if "validation_loss" in line:
            found = load(run.directory, average=1).model
            seen.append((run.last()["step"] == line["step"], equal(found, model), model.training))
            ids = torch.tensor([[5, 1]])
            assert torch.equal(found(ids, ids), model(ids, ids)) and model(ids, ids).requires_grad
            Translator(model, run.tokenizer).save_pretrained(tmp_path / "best")
            model.train(line["step"] % 4 == 0)
            model.decoder.eval()

    def one(line):
        kept[0].eval()

    class Seen(Transformer):
        def __init__(self, config):
            super().__init__(config)
            kept[:] = [self]

    whole = train(config, tmp_path / "whole")
    assert equal(train(config, run.directory, watch=watch), whole) and seen == [(True, True, False)] * 3
    assert equal(Translator.from_pretrained(tmp_path / "best").model, whole)
    assert equal(train(config, tmp_path / "caught", model=Seen, watch=one), whole)
    strip = [{key: value for key, value in line.items() if key not in ("seconds", "target_tokens_per_second")} for line in run.metrics()]
    assert [(line["step"], "loss" in line) for line in strip] == [(1, True), *((s, what) for s in range(2, 7) for what in (True, False) if what or s % 2 == 0)]


def test_a_model_goes_to_no_function_that_takes_a_line_and_may_take_more(config, tmp_path):
    seen = []

    def watch(line, best=seen, *others):
        best.append(others)

    train(config, tmp_path / "run", watch=watch)
    assert set(seen) == {()}


def test_a_model_goes_to_who_watches_wherever_two_arguments_can_be_taken(config):
    model, seen, line = Transformer(config.model), [], {"step": 1}

    def with_default(line, model=None):
        seen.append(model)

    def named(line, *, model=None):
        seen.append(model)

    for watch in (with_default, named, partial(with_default, model="mine"), seen.append):
        Own(watch=watch).watch_of(model)(line)
    assert seen[0] is model and seen[1:] == [None, "mine", line]
    Own(watch=print).watch_of(model)(line)


def test_an_error_of_who_watches_comes_after_the_checkpoint(config, tmp_path):
    def watch(line):
        raise InputError("no such metric")

    with pytest.raises(InputError, match="no such metric"):
        train(dataclasses.replace(config, log_every=2), tmp_path / "run", watch=watch)
    assert Run(tmp_path / "run").last()["step"] == 2


@pytest.mark.parametrize("answer", [np.array([1, 2]), np.float64(1), torch.tensor(1.0), 5, "text", {"loss": 1}, [True], False], ids=repr)
def test_what_is_not_true_itself_ends_no_training(answer, config, tmp_path):
    train(config, tmp_path / "run", watch=lambda line: answer)
    assert Run(tmp_path / "run").last()["step"] == config.steps


@pytest.mark.parametrize("answer", [True, np.True_, torch.tensor(True)], ids=repr)
def test_true_ends_a_training_also_as_numpy_and_pytorch_write_it(answer, config, tmp_path):
    train(config, tmp_path / "run", watch=lambda line: answer)
    assert Run(tmp_path / "run").last()["step"] == 1


@pytest.mark.parametrize("last", [1, 2])  # at an infinite rate the first update spoils the weights, and so the second loss
def test_no_weight_out_of_range_is_saved_when_who_watches_ends_the_training(last, config, tmp_path):
    config = dataclasses.replace(config, validate_every=100, checkpoint_every=100)
    with pytest.raises(InputError, match="infinite or NaN"):
        train(config, tmp_path / "run", rate=lambda step: 1e39, watch=lambda line: line["step"] == last)
    assert not (tmp_path / "run" / "checkpoints").exists()
