"Details that no page tells, as in test_details.py: of processes, runs and training."
import dataclasses
import inspect
import itertools
import json
import math
import os
import shutil
import threading
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
import torch.distributed as dist
from safetensors.torch import save_file
from torch import nn

from annotated_transformer import EOS, PAD, UNK, InputError, Transformer, TransformerConfig
from annotated_transformer.config import PRESETS, Execution, TrainingConfig
from annotated_transformer.data.batching import Batch, pad, shift_right
from annotated_transformer.data.large_corpora import epoch_batches
from annotated_transformer.data.tokenizer import Tokenizer
from annotated_transformer.model.pretrained import no_larger, planned
from annotated_transformer.model.regularization import label_smoothed_cross_entropy
from annotated_transformer.model.weights import load_weights
from annotated_transformer.training import loop as training
from annotated_transformer.training import processes, progress, runs
from annotated_transformer.training.averaging import average_checkpoints
from annotated_transformer.training.checkpoints import load_checkpoint, read_state, save_checkpoint
from annotated_transformer.training.evaluation import evaluate
from annotated_transformer.training.loop import batches_from, learner_for, own_parts, readable_train, train, train_step
from annotated_transformer.training.metrics import Metrics
from annotated_transformer.training.optimizer import adam, learning_rate
from annotated_transformer.training.own import Own
from annotated_transformer.training.runs import Run, prepare
from annotated_transformer.training.starting import begin, prepared
from annotated_transformer.training.stopping import Stopped, all_finite

SMALL = TransformerConfig(11, n_layers=1, d_model=8, d_ff=12, n_heads=2, dropout=0.0, max_length=64)
LETTERS = Tokenizer.train(["a b c d e f", "fade", "cafe"] * 3, 14)


def test_processes_meet_however_many_they_are(monkeypatch):
    store, found = dist.HashStore(), {}
    store.set_timeout(processes.timedelta(seconds=5))
    monkeypatch.setattr(dist, "rendezvous", lambda address: iter([(store, 0, 0)]))
    threads = [threading.Thread(target=lambda rank=rank: found.update({rank: processes.meet(rank, 3)})) for rank in (2, 0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found[0].set("word", "heard")
    assert [found[rank].get("word") for rank in (1, 2)] == [b"heard", b"heard"]


def test_processes_that_do_not_meet_say_so_in_a_sentence(monkeypatch):
    def fails(address):
        raise dist.DistNetworkError("address already in use\nframe #1")

    monkeypatch.setattr(dist, "rendezvous", fails)
    monkeypatch.setenv("MASTER_ADDR", "host")
    monkeypatch.setenv("MASTER_PORT", "29500")
    with pytest.raises(InputError, match=r"process 1 of 3, .* at host:29500 \(address already in use\): start all of them"):
        processes.met(1, 3)


def test_loop_tells_a_process_in_what_its_settings_differ_from_those_of_the_first(tmp_path):
    config = dataclasses.replace(PRESETS["demo"], model=dataclasses.replace(PRESETS["demo"].model, vocab_size=300))
    run, cpu = Run(tmp_path / "run"), torch.device("cpu")
    second = processes.Group(cpu, 1, 2)
    with pytest.raises(InputError, match="process 1 does not see the run that the first began"):
        prepared(config, run, second, Own())
    with ExitStack() as stack:
        begin(config, run, processes.Group(cpu), stack, Own())
    with_device = dataclasses.replace(config, execution=Execution(device="cuda:0"))
    assert len(prepared(with_device, run, second, Own())) == 3, "each has a device of its own"
    for other, said in (
        (dataclasses.replace(config, seed=2, log_every=7), "with seed=2, and the first with 1; log_every=7, and the first w"),
        (dataclasses.replace(config, execution=Execution(device_tokens=500)), "device_tokens': 500.*, and the first with .*None"),
    ):
        with pytest.raises(InputError, match=f"process 1 was started {said}" if said[0] == "w" else said):
            prepared(other, run, second, Own())
    with pytest.raises(InputError, match="loss.*: give all processes the same"):
        prepared(config, run, second, Own(loss=label_smoothed_cross_entropy))
    other = dataclasses.replace(config, seed=2)
    assert len(prepared(other, run, processes.Group(cpu, 0, 2), Own())) == 3, "its own are the first's"


def test_loop_lets_a_cuda_gpu_alone_fetch_a_batch_while_it_goes_on():
    class Ids:
        pinned = False

        def pin_memory(self):
            self.pinned = True
            return self

        def to(self, device, non_blocking=False):
            return device.type, self.pinned, non_blocking

    def sent(device):
        return {*training.on_its_way(Batch(Ids(), Ids(), Ids()), torch.device(device))}

    assert sent("cuda") == {("cuda", True, True)}
    assert sent("mps") == {("mps", False, False)}, "an Apple GPU would read memory that is another batch's by then"
    assert sent("cpu") == {("cpu", False, False)}


def test_processes_take_the_device_they_are_told(monkeypatch):
    chosen, there = [], SimpleNamespace(cuda=False, mps=False)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: there.cuda)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 3)
    monkeypatch.setattr(torch.cuda, "set_device", chosen.append)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: there.mps)

    def joined(device):
        with processes.join(device) as group:
            assert (group.rank, group.size) == (0, 1)
            return str(group.device)

    for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK"):
        monkeypatch.delenv(name, raising=False)
    assert joined(None) == joined("cpu") == "cpu" and not chosen
    with pytest.raises(InputError, match="finds no such GPU here"):
        joined("mps")
    there.cuda = there.mps = True
    assert [joined(device) for device in (None, "cuda", "cuda:2", "cpu", "mps")] == ["cuda:0", "cuda:0", "cuda:2", "cpu", "mps"]
    monkeypatch.setenv("LOCAL_RANK", "2")
    assert joined("cuda") == "cuda:2" and joined("cuda:1") == "cuda:1"
    assert chosen == [torch.device(f"cuda:{index}") for index in (0, 0, 2, 2, 1)]
    monkeypatch.setenv("LOCAL_RANK", "3")
    with pytest.raises(InputError, match="number 3, and PyTorch finds 3 of them"):
        joined("cuda")


def test_processes_of_several_machines_talk_as_their_devices_can(monkeypatch):
    asked, ended = [], []
    monkeypatch.setenv("RANK", "1")
    for name, value in {"WORLD_SIZE": "2", "LOCAL_RANK": "0", "MASTER_ADDR": "localhost", "MASTER_PORT": "29500"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    monkeypatch.setattr(torch.cuda, "set_device", lambda device: None)
    monkeypatch.setattr(processes, "meet", lambda rank, size: (rank, size))
    monkeypatch.setattr(dist, "init_process_group", lambda backend, **options: asked.append((backend, options)))
    monkeypatch.setattr(dist, "destroy_process_group", lambda: ended.append(True))
    monkeypatch.setattr(dist, "new_group", lambda **options: options)
    kernels = []
    monkeypatch.setattr(torch.backends.cuda, "enable_cudnn_sdp", kernels.append)
    for device, backend, line, chosen in (("cpu", "gloo", None, []), ("cuda", "nccl", "gloo", [False])):
        with processes.join(device) as group:
            assert (group.device.type, group.rank, group.size) == (device, 1, 2)
            taken, options = asked.pop()
            assert taken == backend and options["store"] == (1, 2) and (options["rank"], options["world_size"]) == (1, 2)
            talk = group.line or {"backend": None, "timeout": options["timeout"]}
            assert talk["backend"] == line and talk["timeout"] >= processes.timedelta(hours=12), "a leader may take long"
            assert (options["timeout"] == processes.timedelta(minutes=10)) == (backend == "nccl"), "gradients never do"
            assert kernels == chosen and not ended
        assert ended.pop()


def test_processes_ask_now_and_wait_later(monkeypatch):
    waited = []

    def all_reduce(numbers, how, line, async_op=False):
        class Work:
            def wait(self):
                waited.append(line)
                numbers.fill_(7)
                return True

        assert async_op and how == dist.ReduceOp.MAX
        return Work()

    monkeypatch.setattr(dist, "all_reduce", all_reduce)
    answer = processes.Group(torch.device("cpu"), 0, 2, "a line").highest_later(1, 0)
    assert not waited
    assert answer() == [7.0, 7.0] and waited == ["a line"]


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_processes_destroy_their_group_only_where_all_of_them_leave(device, monkeypatch):
    ended = []
    monkeypatch.setattr(processes, "ready", lambda device: None)
    monkeypatch.setattr(processes, "own_device", lambda device, *_: torch.device(device))
    monkeypatch.setattr(processes, "connected", lambda *_: None)
    monkeypatch.setattr(dist, "destroy_process_group", lambda: ended.append(True))
    monkeypatch.setattr(processes, "launched", lambda: (1, 2, 1))
    for error, destroyed in (
        (InputError("a mistake"), True), (SystemExit(2), True), (Stopped("saved"), True), (KeyboardInterrupt(), True),
        (torch.cuda.OutOfMemoryError("of this process alone"), False), (RuntimeError("likewise"), False), (ValueError(), False),
    ):
        with pytest.raises(type(error)), processes.join(device):
            raise error
        assert bool(ended) is destroyed, error
        ended.clear()


def test_config_refuses_what_cannot_be_executed():
    for wrong in ({"device_tokens": 0}, {"device": "tpu"}, {"device": "tpu:0"}, {"precision": "int8"}):
        with pytest.raises(InputError):
            Execution(**wrong)
    for right in ({"device_tokens": 1}, {"device": "cuda:1"}, {"device": "mps"}, {"precision": "auto"}):
        assert getattr(Execution(**right), next(iter(right))) == next(iter(right.values()))


@pytest.mark.parametrize("name", ["broadcast_buffers", "forward_sync_buffers"])
def test_processes_send_no_buffers_whatever_that_is_called(name, monkeypatch):
    class Parallel:
        def __init__(self, module, devices=None, *, gradient_as_bucket_view=False, **sending):
            self.devices, self.sending = devices, sending

    signature = processes.inspect.signature(Parallel)
    more = processes.inspect.Parameter(name, processes.inspect.Parameter.KEYWORD_ONLY)
    Parallel.__signature__ = signature.replace(parameters=[*list(signature.parameters.values())[:-1], more])
    monkeypatch.setattr(processes, "DistributedDataParallel", Parallel)
    for device, devices in (("cpu", None), ("cuda:1", [torch.device("cuda:1")])):
        for incomplete in ((), (True,)):  # to ask which parameters were used costs time
            found = processes.exchanging_gradients(nn.Linear(1, 1), processes.Group(torch.device(device), 0, 2), *incomplete)
            assert found.sending == {name: False, "find_unused_parameters": bool(incomplete)} and found.devices == devices


def test_config_is_the_papers_unless_told_otherwise():
    config = TrainingConfig(TransformerConfig.base(100))
    settings = (config.batch_tokens, config.warmup_steps, config.rate_factor, config.smoothing, config.init_gain, config.keep)
    assert settings == (25_000, 4_000, 1.0, 0.1, 1.0, 5)
    assert config.consistency == 0 and config.clip_norm is None and config.start_from is None
    assert dataclasses.replace(config, seed=0).seed == 0
    assert dataclasses.replace(config, seed=2**64 - 1).seed == 2**64 - 1
    for seed in (-1, 2**64):
        with pytest.raises(InputError, match="seed must be"):
            dataclasses.replace(config, seed=seed)


def test_runs_tell_what_is_in_their_log(tmp_path):
    (tmp_path / "metrics.jsonl").write_text('{"step": 1, "loss": 2.5}\n{"step": 2')
    assert Run(tmp_path).metrics() == [{"step": 1, "loss": 2.5}]


def test_runs_keep_the_sums_of_their_data(tmp_path):
    for part in ("train", "validation"):
        for side, lines in (("en", "one\ntwo\nthree\n"), ("de", "eins\nzwei\ndrei\n")):
            (tmp_path / f"{part}.{side}").write_text(lines)
    config = TrainingConfig(TransformerConfig.tiny(20), corpus=str(tmp_path))
    run = tmp_path / "run"
    run.mkdir()
    prepare(config, run)
    tokens = run / "data" / "train.tokens"
    content = bytearray(tokens.read_bytes())
    content[0] ^= 1
    tokens.write_bytes(content)
    with pytest.raises(InputError, match="train.tokens"):
        prepare(config, run)


@pytest.fixture
def words(tmp_path):
    "A corpus of three pairs in a directory, and the configuration of a run on it."
    (place := tmp_path / "words").mkdir()
    for part in ("train", "validation"):
        for side, lines in (("en", "one\ntwo\nthree\n"), ("de", "eins\nzwei\ndrei\n")):
            (place / f"{part}.{side}").write_text(lines)
    return place, TrainingConfig(TransformerConfig.tiny(20), corpus=str(place))


@pytest.mark.parametrize("end", ["", ":en-de"])
def test_runs_tell_of_texts_that_have_changed_since_they_read_them(words, tmp_path, caplog, monkeypatch, end):
    place, config = words
    config, run = dataclasses.replace(config, corpus=f"{place}{end}"), tmp_path / "run"
    (place / "train.log").write_text("begun\n")
    before = [*prepare(config, run)[1]]
    (place / "train.log").write_text("ended\n")
    (place / "train.de").touch()
    (place / "test.de").write_text("eins\n")  # no run reads it
    prepare(config, run)
    assert not caplog.records
    (place / "train.de").write_text("eins\nzwo\ndrei\n")
    (place / "validation.en").unlink()
    after = [*prepare(config, run)[1]]
    assert [[side.tolist() for side in pair] for pair in before] == [[side.tolist() for side in pair] for pair in after]
    message, = caplog.messages
    assert message.startswith(f"train.de, validation.en of {config.corpus} changed after {run} read it: the run goes on with")
    caplog.clear()
    with monkeypatch.context() as patched:
        patched.setattr(runs.corpora, "sums", lambda *_: open(tmp_path / "nowhere"))  # a disk that is not there
        prepare(config, run)
    assert not caplog.records
    Run(tmp_path / "other").take_data(Run(run))
    prepare(config, tmp_path / "other")
    assert len(caplog.messages) == 1
    shutil.rmtree(place)  # a run needs its texts no more
    prepare(config, run)
    assert len(caplog.messages) == 1


def test_runs_learn_a_vocabulary_anew_whose_texts_changed_before_they_were_tokenised(words, tmp_path, monkeypatch):
    place, config = words
    prepare(config, run := tmp_path / "run")
    learnt = (run / "tokenizer.model").read_bytes()
    for path in (run / "data").iterdir():  # as a kill leaves it
        path.unlink()
    prepare(config, run)
    assert (run / "tokenizer.model").read_bytes() == learnt
    for path in (run / "data").iterdir():
        path.unlink()
    (place / "train.de").write_text("vier\nfünf\nsechs\n", encoding="utf-8")
    monkeypatch.setattr(Tokenizer, "train", None)
    with pytest.raises(TypeError):  # a second kill, while it is learnt
        prepare(config, run)
    monkeypatch.undo()
    tokenizer = prepare(config, run)[0]
    assert UNK not in tokenizer.encode("fünf") and (run / "tokenizer.model").read_bytes() != learnt


def test_runs_on_texts_without_a_pair_and_among_texts_are_refused(words):
    place, config = words
    with ExitStack() as stack, pytest.raises(InputError, match=f"^{place} holds texts to train on, and a run needs a directory"):
        begin(config, Run(place), SimpleNamespace(), stack, Own())
    for side in ("en", "de"):
        (place / f"train.{side}").write_text("x\n\n" if side == "en" else "\ny\n")
    with pytest.raises(InputError, match="has no training pairs: give it train.en and train.fr"):
        prepare(config, place.parent / "run")


def test_config_takes_settings_up_to_their_bounds():
    config = TrainingConfig(TransformerConfig.base(100))
    for name in ("batch_tokens", "steps", "warmup_steps", "validate_every", "checkpoint_every", "keep", "log_every"):
        assert getattr(dataclasses.replace(config, **{name: 1}), name) == 1
        with pytest.raises(InputError, match=f"{name} must be at least 1"):
            dataclasses.replace(config, **{name: 0})
    for name in ("rate_factor", "init_gain", "clip_norm", "checkpoint_minutes"):
        assert getattr(dataclasses.replace(config, **{name: 0.5}), name) == 0.5
        for wrong in (0, -1.0, math.inf, math.nan):
            with pytest.raises(InputError, match=f"{name} must be a number that is more than 0"):
                dataclasses.replace(config, **{name: wrong})
    for wrong in (1.0, -0.1):
        with pytest.raises(InputError, match="dropout must be at least 0 and less than 1"):
            dataclasses.replace(config.model, dropout=wrong)
    assert dataclasses.replace(config, consistency=0.5, smoothing=0.0).consistency == 0.5
    for wrong in ({"consistency": math.inf}, {"consistency": -0.5}, {"smoothing": 1.0}, {"smoothing": -0.1}):
        with pytest.raises(InputError, match=next(iter(wrong))):
            dataclasses.replace(config, **wrong)


def test_config_reads_settings_of_the_right_kind_alone():
    written = TrainingConfig(TransformerConfig.base(100)).to_dict()
    assert TrainingConfig.from_dict(written | {"init_gain": 2}).init_gain == 2        # a whole number is a number
    for wrong in ({"init_gain": "2"}, {"steps": 2.5}, {"corpus": 3}, {"steps": "9"}, {"clip_norm": "1"}):
        with pytest.raises(InputError, match=f"{next(iter(wrong))} must be"):
            TrainingConfig.from_dict(written | wrong)


def test_runs_make_the_directories_above_them(tmp_path):
    config, run = TrainingConfig(TransformerConfig.tiny(20)), Run(tmp_path / "all" / "mine")
    run.open(config)
    assert run.exists() and run.config == config and run.starts == []
    other = Run(tmp_path / "others" / "one")
    other.keep_tokenizer(LETTERS)
    assert other.has_tokenizer() and other.tokenizer.model == LETTERS.model


def test_averaging_takes_the_files_one_by_one_and_no_text_in_place_of_a_list(tmp_path):
    path = tmp_path / "a.safetensors"
    for one in (path, str(path)):
        with pytest.raises(InputError, match=rf"^give a list of files: \['{path}'\]$"):
            average_checkpoints(one)
    save_file({"a": torch.tensor([1.0, 3.0])}, path)
    assert average_checkpoints(path for _ in range(2))["a"].tolist() == [1, 3]


def test_runs_are_averaged_over_what_they_keep_or_what_is_asked_for(tmp_path, monkeypatch):
    monkeypatch.setattr(runs, "average_checkpoints", lambda paths: [path.parent.name for path in paths])
    run = Run(tmp_path)
    run.open(dataclasses.replace(TrainingConfig(TransformerConfig.tiny(20)), keep=3))
    with pytest.raises(InputError, match="the run has no checkpoint yet"):
        run.weights()
    names = [f"step-{step:08d}" for step in (10, 20, 30, 40)]
    for name in names:
        (tmp_path / "checkpoints" / name).mkdir(parents=True)
    assert run.weights() == names[1:] and run.weights(1) == names[3:] and run.weights(9) == names
    run.require_checkpoints(4)
    with pytest.raises(InputError, match="has 4 checkpoints: a mean of the last 5 is impossible"):
        run.require_checkpoints(5)
    shutil.rmtree(tmp_path / "checkpoints" / names[0])
    shutil.rmtree(tmp_path / "checkpoints" / names[1])
    assert run.weights() == names[2:], "early in a run there are fewer than it keeps"


def test_runs_take_a_mean_while_they_go_on(tmp_path, monkeypatch):
    run = Run(tmp_path)
    run.open(dataclasses.replace(TrainingConfig(TransformerConfig.tiny(20)), keep=2))
    names = [f"step-{step:08d}" for step in (10, 20, 30)]
    for name in names[:2]:
        (tmp_path / "checkpoints" / name).mkdir(parents=True)
        (tmp_path / "checkpoints" / name / "model.safetensors").touch()

    def average(paths):
        if (tmp_path / "checkpoints" / names[0]).exists():  # the training saves, and keeps two
            (tmp_path / "checkpoints" / names[0]).rename(tmp_path / "checkpoints" / names[2])
            raise InputError("there is no such file")
        return [path.parent.name for path in paths]

    monkeypatch.setattr(runs, "average_checkpoints", average)
    assert run.weights() == names[1:]
    monkeypatch.setattr(runs, "average_checkpoints", lambda paths: load_weights(paths[0]))
    with pytest.raises(InputError, match="damaged"):
        run.weights()
    (tmp_path / "checkpoints" / names[1] / "model.safetensors").unlink()
    with pytest.raises(InputError, match="there is no such file of weights"):
        run.weights()


def test_runs_take_over_data_that_is_ready(tmp_path):
    other, own = Run(tmp_path / "other"), Run(tmp_path / "own")
    own.take_data(other)
    assert not own.directory.exists()
    (other.directory / "data").mkdir(parents=True)
    for name in ("data/train.json", "data/validation.json", "tokenizer.model", "SHA256SUMS"):
        assert not other.has_data() or "/" not in name
        (other.directory / name).write_text(name)
    Run(tmp_path / "another").take_data(other)
    assert Run(tmp_path / "another").has_data()
    (tmp_path / "own.tmp").mkdir()  # somebody else's
    own.take_data(other)
    assert own.has_data() and own.has_tokenizer() and (own.directory / "SHA256SUMS").read_text() == "SHA256SUMS"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["another", "other", "own", "own.tmp"]
    (other.directory / "tokenizer.model").write_text("another")
    own.take_data(other)  # it has begun
    assert (own.directory / "tokenizer.model").read_text() == "tokenizer.model"


@pytest.mark.parametrize("preset, file, place", [
    ("demo", "translation/numbers-en-de-demo.test", ["config"]),
    ("miniature", "translation/variations", ["config"]),
    ("parsing-small", "parsing/parser", ["config", "recipe"]),
])
def test_runs_that_are_published_are_those_of_the_presets(preset, file, place):
    ours = PRESETS[preset].to_dict()
    record = json.loads((Path(__file__).parents[3] / "results" / f"{file}.json").read_text(encoding="utf-8"))
    for name in place:
        record = record[name]
    record = record.get("training", record)
    for setting in ours.keys() - {"execution"}:
        assert record.get(setting, ours[setting]) == ours[setting], setting
    assert len(record.keys() & ours.keys()) > 12


def test_runs_tell_of_their_last_checkpoint_and_of_measures_up_to_it(tmp_path):
    lines = [{"step": 10, "validation_perplexity": 9.0}, {"step": 20, "validation_perplexity": 8.0}, {"step": 20, "loss": 2.0},
             {"step": 30, "validation_perplexity": 7.0}]
    (tmp_path / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    run = Run(tmp_path)
    for step, measured in ((10, 9.0), (20, 8.0), (25, 8.0)):
        (tmp_path / "checkpoints" / f"step-{step:08d}").mkdir(parents=True)
        state = {"step": step, "seconds": step / 4, "since_line": {"loss": 1.5, "tokens": 2, "seconds": 0.5}}
        (tmp_path / "checkpoints" / f"step-{step:08d}" / "state.json").write_text(json.dumps(state))
        assert run.last()["step"] == step
        assert run.reached() == {"step": step, "validation_perplexity": measured, "seconds": step / 4}


def test_pretrained_plans_no_model_that_the_machine_cannot_hold(monkeypatch):
    model = Transformer(SMALL)
    needed = sum(value.nbytes for value in (*model.parameters(), *model.buffers()))
    machine = {"SC_PAGE_SIZE": 1, "SC_PHYS_PAGES": needed}
    monkeypatch.setattr(os, "sysconf", machine.get)
    assert all(weight.is_meta for weight in planned(Transformer, SMALL).parameters())
    machine["SC_PHYS_PAGES"] -= 1
    with pytest.raises(InputError, match="this model takes 0.0 GiB and this process may take 0.0"):
        planned(Transformer, SMALL)
    machine["SC_PAGE_SIZE"] = 2
    planned(Transformer, SMALL)


@pytest.mark.parametrize("change, expected", [
    ({}, True), ({"vocab_size": 200}, False), ({"vocab_size": 10}, True), ({"d_ff": 200}, False), ({"n_layers": 3}, False),
    ({"n_heads": 80}, False), ({"max_length": 2**22 // 8 + 1}, False), ({"n_layers": 10**9}, False), ({"d_model": 10**12}, False),
    ({"n_layers": 200, "d_model": 2, "d_ff": 1, "n_heads": 1, "vocab_size": 1}, False),
])
def test_pretrained_plans_a_model_before_it_is_made_where_it_may_be_larger_than_the_weights(change, expected):
    weights = Transformer(SMALL).state_dict()
    config = dataclasses.replace(SMALL, d_k=4, d_v=4)
    for name, value in change.items():
        object.__setattr__(config, name, value)
    assert no_larger(config, weights) == expected


@pytest.mark.parametrize("lines", [[], [""], ["  ", ""]])
def test_tokenizer_of_no_words_says_so(lines):
    with pytest.raises(InputError, match="it holds no words"):
        Tokenizer.train(lines, 100)


def test_tokenizer_takes_all_cores_unless_it_is_told_how_many(monkeypatch):
    monkeypatch.setattr("annotated_transformer.data.tokenizer._FEW", 0)
    tokenizer, asked = Tokenizer.train(["a b c d"] * 9, 10), []
    tokenizer._processor = SimpleNamespace(encode=lambda texts, add_eos, num_threads: asked.append((add_eos, num_threads)))
    for threads in (None, 1, 3):
        tokenizer.encode_all(["a"], threads)
    assert asked == [(True, -1), (True, 1), (True, 3)]  # -1: SentencePiece's sign for all


def test_loop_goes_through_each_epoch_from_its_first_batch(tmp_path, small_corpus):
    _, pairs, _ = prepare(small_corpus, tmp_path / "run")
    config = dataclasses.replace(small_corpus, batch_tokens=9, seed=3)
    epochs = [[rows.tolist() for rows in epoch_batches(pairs, 9, 3, epoch)] for epoch in (4, 5, 6)]
    expected = [(4 + i, number, rows) for i, epoch in enumerate(epochs) for number, rows in enumerate(epoch, 1)]
    assert all(len(epoch) > 3 and sorted(sum(epoch, [])) == list(range(30)) for epoch in epochs)
    for done in (0, 2):
        found = itertools.islice(batches_from(pairs, config, 4, done), len(expected) - done)
        assert [(epoch, number, rows.tolist()) for epoch, number, rows in found] == expected[done:]


def test_loop_is_the_papers_unless_told_otherwise():
    defaults = {name: setting.default for name, setting in inspect.signature(readable_train).parameters.items()}
    assert (defaults["warmup_steps"], defaults["smoothing"]) == (4_000, 0.1)  # §5.3, §5.4
    learner = training.WithLoss(Transformer(SMALL), 0.1)
    assert learner.consistency == 0 and learner.precision == "float32"


def test_loop_exchanges_gradients_once_for_all_parts():
    class Learner(nn.Linear):
        def forward(self, x, tokens):
            seen.append(int(x[0, 0]))
            return (super().forward(x) / tokens).sum()

        @contextmanager
        def no_sync(self):
            seen.append("apart")
            yield

    parts = [(seed, (torch.full((1, 3), float(seed)),)) for seed in (1, 2, 3)]
    gradients, seen = {}, []
    for number, order in ((1, [1, 2, 3]), (2, ["apart", 1, "apart", 2, 3])):
        learner = Learner(3, 1, bias=False)
        seen.clear()
        optimizer = torch.optim.SGD(learner.parameters(), lr=0.0)
        train_step(learner, optimizer, parts, tokens=2, rate=0.0, processes=number)
        assert seen == order
        gradients[number] = learner.weight.grad
    assert gradients[1].tolist() == [[3, 3, 3]] and gradients[2].tolist() == [[6, 6, 6]]  # the mean of two processes is the sum


def test_checkpoints_give_each_weight_its_own_means_in_whatever_groups_it_stands(tmp_path):
    config = TransformerConfig(20, n_layers=1, d_model=8, d_ff=8, n_heads=2)
    models = [Transformer(config), Transformer(config)]

    def adam_by_stack(model):
        names = ("decoder", "encoder", "embedding")  # the model has them in another order
        return torch.optim.AdamW([{"params": getattr(model, name).parameters()} for name in names], lr=0.01)

    optimizers = [adam_by_stack(model) for model in models]
    models[0](torch.tensor([[5, 1]]), torch.tensor([[0, 7, 8]])).square().sum().backward()
    optimizers[0].step()
    load_checkpoint(save_checkpoint(tmp_path, models[0], optimizers[0], {"step": 1}, keep=1), models[1], optimizers[1])
    for one, other in zip(models[0].parameters(), models[1].parameters()):
        before, after = optimizers[0].state[one], optimizers[1].state[other]
        assert all(torch.equal(before[key], after[key]) for key in ("step", "exp_avg", "exp_avg_sq"))


def test_checkpoints_refuse_when_they_are_written_what_they_could_not_give_back(tmp_path):
    model = Transformer(TransformerConfig(20, n_layers=1, d_model=8, d_ff=8, n_heads=2))
    made = torch.optim.LBFGS(model.parameters())
    sum(weight.square().sum() for weight in model.parameters()).backward()
    made.step(lambda: 1.0)
    with pytest.raises(InputError, match="not what LBFGS keeps as '.*': take another optimizer, or make the updates yourself"):
        save_checkpoint(tmp_path, model, made, {"step": 1}, keep=1)
    assert not any(tmp_path.iterdir())


@pytest.fixture
def small_corpus(config):
    "One batch is an epoch, and nothing is due before the end but the lines."
    model = dataclasses.replace(config.model, dropout=0.0)
    return dataclasses.replace(config, model=model, batch_tokens=25_000, steps=9, checkpoint_every=100, validate_every=100)


def test_loop_refuses_numbers_of_another_kind_before_anything_is_written(tmp_path, small_corpus):
    torch.set_default_dtype(torch.float64)
    try:
        with pytest.raises(InputError, match="PyTorch's default is torch.float64: call torch.set_default_dtype"):
            train(small_corpus, tmp_path / "run")
    finally:
        torch.set_default_dtype(torch.float32)
    assert not (tmp_path / "run").exists()


def test_loop_counts_neither_validation_nor_saving_as_training(tmp_path, small_corpus, monkeypatch):
    away, ticks = [], itertools.count()  # a look at the clock takes a second, a validation or a checkpoint a million
    monkeypatch.setattr(time, "perf_counter", lambda: next(ticks) + 1_000_000 * len(away))
    for name in ("validate", "save_checkpoint"):
        own = getattr(training, name)
        monkeypatch.setattr(training, name, lambda *given, own=own, name=name: (own(*given), away.append(name))[0])
    config = dataclasses.replace(small_corpus, steps=5, validate_every=2, checkpoint_every=3, checkpoint_minutes=None)
    train(config, tmp_path / "run")
    assert away == ["validate", "save_checkpoint", "validate", "validate", "save_checkpoint"]  # after 2, 3, 4 and 5 updates
    lines = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    assert lines[-1]["step"] == 5 and all(0 < line["seconds"] < 1_000_000 for line in lines)


def test_loop_leaves_nothing_of_a_start_that_was_refused(tmp_path, small_corpus):
    def begun(name, batch_tokens):
        run, config = Run(tmp_path / name), dataclasses.replace(small_corpus, batch_tokens=batch_tokens)
        with ExitStack() as stack:
            begin(config, run, processes.Group(torch.device("cpu")), stack, Own())
        return run

    run = begun("free", 25_000)
    longest = max(int(run.pairs(split).lengths.max()) for split in ("train", "validation"))
    assert begun("just", longest).has_data()
    for name in ("record.json", "corpus.json", "metrics.jsonl"):
        (run.directory / f"{name}.1a2b3c4d.tmp").touch()  # what a kill left of a file that was being written
    assert begun("free", 25_000).has_data() and not list(run.directory.glob("*.tmp"))
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes").touch()
    for name in ("new", "mine"):
        with pytest.raises(InputError, match=f"a sentence of {longest} tokens does not fit into a batch of {longest - 1}"):
            begun(name, longest - 1)
    assert not (tmp_path / "new").exists() and (tmp_path / "mine" / "notes").exists()


def test_loop_stops_when_numbers_leave_their_range(tmp_path, small_corpus):
    for every in (1, 100):
        config = dataclasses.replace(small_corpus, rate_factor=1e30, checkpoint_every=every)
        with pytest.raises(InputError, match="Start another run with a lower --rate-factor"):
            train(config, tmp_path / f"run{every}")
        for directory in Run(tmp_path / f"run{every}").checkpoints():
            weights = load_weights(directory / "model.safetensors")
            assert all(weight.isfinite().all() for weight in weights.values())
    model = nn.Linear(2, 3)
    assert all_finite(model)
    for wrong in (math.inf, -math.inf, math.nan):
        model.bias.data[1] = wrong
        assert not all_finite(model)


def test_loop_exchanges_gradients_where_there_is_somebody_to_exchange_with(monkeypatch, small_corpus):
    monkeypatch.setattr(training, "exchanging_gradients", lambda learner, group, incomplete: (learner, group.size, incomplete))
    execution, device = Execution(precision="float32", compile=False), torch.device("cpu")
    assert isinstance(learner_for(Transformer(SMALL), small_corpus, execution, processes.Group(device)), training.WithLoss)
    learner, size, incomplete = learner_for(Transformer(SMALL), small_corpus, execution, processes.Group(device, 0, 2))
    assert isinstance(learner, training.WithLoss) and size == 2 and not incomplete
    for given in ((type("Mine", (Transformer,), {})(SMALL),), (Transformer(SMALL), lambda model, batch: 0.0)):
        assert learner_for(given[0], small_corpus, execution, processes.Group(device, 0, 2), *given[1:])[2]


def test_loop_compiles_for_sentences_of_all_lengths(monkeypatch, small_corpus):
    compiled = []
    monkeypatch.setattr(nn.Module, "compile", lambda self, **options: compiled.append((type(self).__name__, options)))
    model, group = Transformer(SMALL), processes.Group(torch.device("cpu"))
    for wanted in (False, True):
        learner_for(model, small_corpus, Execution(precision="float32", compile=wanted), group)
        layers = [(kind, {"dynamic": True}) for kind in ("EncoderLayer", "DecoderLayer") for _ in range(SMALL.n_layers)]
        assert compiled == layers * wanted  # each by itself


@pytest.mark.parametrize("device, wanted, compiled", [("cuda", None, True), ("cuda", False, False), ("cpu", None, False)])
def test_loop_has_the_loss_compiled_where_it_is_chosen(device, wanted, compiled, monkeypatch, small_corpus):
    asked = []
    loss = lambda hidden, *_, compiled: asked.append(compiled) or hidden.sum()  # noqa: E731
    monkeypatch.setattr(training, "fused_label_smoothed_cross_entropy", loss)
    execution, ids = Execution(device, precision="float32", compile=wanted), torch.ones(2, 3, dtype=torch.long)
    learner_for(Transformer(SMALL), small_corpus, execution, processes.Group(torch.device("cpu")))(ids, ids, ids, 6)
    assert asked == [compiled]


def test_loop_traces_as_many_updates_as_it_is_told(tmp_path, small_corpus):
    train(dataclasses.replace(small_corpus, steps=6), tmp_path / "run", profile=2)
    events = json.loads((tmp_path / "run" / "trace.json").read_text())["traceEvents"]
    names = [event.get("name", "") for event in events]
    assert sum(name.startswith("Optimizer.step#") for name in names) == 2 and "aten::mm" in names
    before = (tmp_path / "run" / "trace.json").read_bytes()
    train(dataclasses.replace(small_corpus, steps=6), tmp_path / "run", profile=2)  # it is at its end
    assert (tmp_path / "run" / "trace.json").read_bytes() == before


def test_loop_counts_neither_saving_nor_measuring_as_training_and_moves_its_bar(tmp_path, small_corpus, monkeypatch):
    clock, away, bars, bar = time.perf_counter, [], [], progress.progress_bar

    def takes_long(act):
        def acted(*given):
            away.append(1_000)
            return act(*given)

        return acted

    monkeypatch.setattr(time, "perf_counter", lambda: clock() + sum(away))
    monkeypatch.setattr(progress, "progress_bar", lambda **options: bars.append(bar(**options)) or bars[-1])
    for name in ("validate", "save_checkpoint"):
        monkeypatch.setattr(training, name, takes_long(getattr(training, name)))
    config = dataclasses.replace(small_corpus, steps=7, checkpoint_every=3, checkpoint_minutes=None, validate_every=2)
    train(config, tmp_path / "run")
    assert len(away) > 5 and [shown.n for shown in bars] == [7]
    assert read_state(Run(tmp_path / "run").checkpoints()[-1])["seconds"] < 1_000


def test_loop_asks_for_room_first_and_updates_as_was_chosen(tmp_path, small_corpus, monkeypatch):
    asked, within, update = [], [], training.train_step

    @contextmanager
    def chosen(execution):
        within.append(execution)
        yield
        within.clear()

    def step(*given):
        assert asked == [(tmp_path / "run", small_corpus.keep)] and [one.device for one in within] == ["cpu"]
        return update(*given)

    monkeypatch.setattr(training, "require_room", lambda run, model, keep: asked.append((run, keep)))
    monkeypatch.setattr(training, "as_chosen", chosen)
    monkeypatch.setattr(training, "train_step", step)
    train(dataclasses.replace(small_corpus, steps=2), tmp_path / "run")
    assert not within


def test_optimizer_learns_by_a_scheduler_of_pytorchs():
    weight = torch.nn.Parameter(torch.ones(3))
    optimizer = adam([weight])
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: learning_rate(step + 1, 16, 4))
    for step in (1, 2, 3):
        assert schedule.get_last_lr() == [learning_rate(step, 16, 4)]
        weight.grad = torch.ones(3)
        optimizer.step()
        schedule.step()
    torch.testing.assert_close(weight.detach(), torch.full((3,), 1 - sum(learning_rate(step, 16, 4) for step in (1, 2, 3))))


def test_loop_reads_each_pair_in_one_part():
    pairs = [([4 + i, EOS], [5 + i] * (i + 1) + [EOS]) for i in range(3)]
    rows, lengths = np.arange(3), np.array([[len(source), len(target)] for source, target in pairs])
    found = {}
    for rank in range(2):
        found.update(own_parts(pairs, rows, lengths, 4, processes.Group(torch.device("cpu"), rank, 2)))  # one part has no pair
    targets = [row[row != PAD].tolist() for part in found.values() for row in part.target]
    assert sum(len(part.target) for part in found.values()) == 4  # the filler is one row
    assert sorted(found) == [0, 1, 2, 3] and sorted(filter(None, targets)) == [list(target) for _, target in pairs]
    alone = dict(own_parts(pairs, rows, lengths, 4, processes.Group(torch.device("cpu"))))  # for nobody it computes nothing
    assert len(alone) == 3 and all(part.target.equal(found[number].target) for number, part in alone.items())


def test_loop_in_its_readable_form_trains_with_dropout_in_whatever_mode_the_model_comes():
    source, target, losses = pad([[4, 5, EOS]]), pad([[7, 8, EOS]]), []
    for mode in (True, False):
        torch.manual_seed(0)
        model = Transformer(dataclasses.replace(SMALL, dropout=0.5)).train(mode)
        losses.append(readable_train(model, [Batch(source, shift_right(target), target)] * 2))
        assert model.training
    assert losses[0] == losses[1]


def test_loop_that_measures_puts_the_mode_back_also_when_it_is_stopped_and_refuses_no_data():
    model = Transformer(SMALL)

    def stopped():
        yield Batch(*[pad([[4, EOS]])] * 3)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        evaluate(model, stopped(), 0.1)
    with pytest.raises(InputError, match="nothing to measure"):
        evaluate(model, [], 0.1)
    assert model.training


def test_loop_measures_with_and_without_smoothing():
    torch.manual_seed(0)
    model = Transformer(SMALL).eval()
    pairs = [(pad([[4, 5, EOS], [6, EOS]]), pad([[7, 8, 9, EOS], [UNK, EOS]])), (pad([[4, EOS]]), pad([[9, 9, EOS]]))]
    data = [Batch(source, shift_right(target), target) for source, target in pairs]
    found = evaluate(model, data, 0.3)
    with torch.no_grad():
        logits = [model(batch.source, batch.target_input) for batch in data]
    losses = {e: [float(label_smoothed_cross_entropy(x, b.target, e)) for x, b in zip(logits, data)] for e in (0.3, 0)}
    tokens = [int((b.target != PAD).sum()) for b in data]
    mean = {e: sum(n * loss for n, loss in zip(tokens, values)) / sum(tokens) for e, values in losses.items()}
    assert math.isclose(found.loss, mean[0.3], rel_tol=1e-5)
    assert math.isclose(found.perplexity, math.exp(mean[0]), rel_tol=1e-5)


def test_metrics_tell_of_a_damaged_line_unless_it_is_the_last(tmp_path, caplog):
    whole = '{"step": 1, "loss": 2.0}\n'
    for text, said in ((whole + "{\n" + whole, "1 damaged line is left out"), (whole + "{", "")):
        caplog.clear()
        (tmp_path / "metrics.jsonl").write_text(text)
        with Metrics(tmp_path, 1):
            assert said in caplog.text and bool(said) == bool(caplog.text)


def test_loop_leaves_no_directory_after_a_mistake_where_the_lock_stays_until_it_is_released(config, tmp_path, monkeypatch):
    from annotated_transformer.training import starting

    @contextmanager
    def as_on_windows(directory):
        lock = directory / "lock"
        lock.touch()
        try:
            yield
        finally:
            lock.unlink(missing_ok=True)

    def what_is_not_open(path, ignore_errors):
        for part in path.iterdir() if path.is_dir() else ():
            shutil.rmtree(part) if part.is_dir() else part.name == "lock" or part.unlink()

    monkeypatch.setattr(starting, "only_one", as_on_windows)
    monkeypatch.setattr(starting, "shutil", SimpleNamespace(rmtree=what_is_not_open))
    wrong = dataclasses.replace(config, batch_tokens=2)
    with pytest.raises(InputError, match="does not fit into a batch"):
        train(wrong, tmp_path / "new")
    assert not (tmp_path / "new").exists()
    (tmp_path / "old").mkdir()
    with pytest.raises(InputError, match="does not fit into a batch"):
        train(wrong, tmp_path / "old")
    assert (tmp_path / "old").exists(), "which is the user's"
