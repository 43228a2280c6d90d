"Several processes that share each batch do what one process does, and torchrun keeps them going."
import dataclasses
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest
import torch
from safetensors.torch import load_file

from annotated_transformer import InputError
from annotated_transformer.command_line.train_and_score import train_command
from annotated_transformer.config import Execution, TrainingConfig, TransformerConfig
from annotated_transformer.training import launch as launching
from annotated_transformer.training.checkpoints import FILES, checkpoint_directories
from annotated_transformer.training.launch import launch
from annotated_transformer.training.loop import train
from annotated_transformer.training.runs import Run
from benchmarks.shared.side_by_side import free_port, server

TRAIN = """
import os, torch
from annotated_transformer.config import TrainingConfig
from annotated_transformer.training.loop import train
os.environ.update(surroundings)
torch.set_num_threads(1)
{patch}
train(TrainingConfig.from_dict(config), run)
"""
SERVER = server("annotated_transformer.training.loop", "pytest")
MEAN_OF_MEANS = """
from annotated_transformer import PAD
from annotated_transformer.training import loop as training
right = training.batch_loss
def own_mean(model, batch, smoothing, tokens, *rest):
    # each process divides by its own tokens; the mean over processes follows
    return right(model, batch, smoothing, max(1, int((batch.target != PAD).sum())) * 2, *rest)
training.batch_loss = own_mean
"""


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    "Sentences of one to ten words, so that parts with as many sentences have unlike numbers of tokens."
    directory = tmp_path_factory.mktemp("corpus")
    for name, n in (("train", 150), ("validation", 12)):
        source = [f"{'a b c d e f g h i'[: 1 + 2 * (i * i % 9)]} {i % 10}" for i in range(n)]
        target = [f"{i % 10} {'q r s t u v w x y'[: 1 + 2 * (i * 7 % 9)]}" for i in range(n)]
        (directory / f"{name}.en").write_text("".join(f"{line}\n" for line in source))
        (directory / f"{name}.de").write_text("".join(f"{line}\n" for line in target))
    return directory


def config_for(corpus: Path, **changes) -> TrainingConfig:
    model = TransformerConfig(36, n_layers=2, d_model=16, d_ff=24, n_heads=2, d_k=5, d_v=7, dropout=0.0, max_length=24)
    config = TrainingConfig(  # at its peak the rate is 0.0008, as the paper's for the base model
        model, corpus=str(corpus), batch_tokens=350, steps=20, warmup_steps=10, rate_factor=0.01, validate_every=10,
        checkpoint_every=10, checkpoint_minutes=None, keep=2, log_every=5,
    )
    return dataclasses.replace(config, **changes)


def begin_together(config: TrainingConfig, run: Path, size: int, patch: str = "") -> list:
    "Processes of one thread each that train, in surroundings as torchrun would make them."
    meeting = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port()), "WORLD_SIZE": str(size)}
    children = []
    for rank in range(size):
        own = {**meeting, "RANK": str(rank), "LOCAL_RANK": str(rank)}
        names = {"config": config.to_dict(), "run": str(run), "surroundings": own}
        children.append(SERVER.Process(target=exec, args=(TRAIN.format(patch=patch), names)))
        children[-1].start()
    return children


def train_together(config: TrainingConfig, run: Path, size: int, patch: str = "") -> None:
    "Train by `size` such processes, to the end."
    children = begin_together(config, run, size, patch)
    for child in children:
        child.join(timeout=300)  # far more than it takes
    codes = [child.exitcode for child in children]
    for child in children:
        child.kill()  # one that hangs would keep pytest from ending, too
    assert codes == [0] * size


def weights(run: Path) -> torch.Tensor:
    "Of the last checkpoint, as one vector."
    values = load_file(checkpoint_directories(run)[-1] / FILES[0])
    return torch.cat([values[name].flatten() for name in sorted(values)]).double()


def difference(run: Path, other: Path) -> float:
    "Relative, over all weights together."
    return float((weights(run) - weights(other)).norm() / weights(other).norm())


@pytest.fixture(scope="module")
def alone(corpus, tmp_path_factory):
    "One process, each batch whole."
    run = tmp_path_factory.mktemp("runs") / "alone"
    train_together(config_for(corpus), run, 1)
    return run


def test_two_processes_or_two_parts_make_the_updates_of_one(corpus, alone, tmp_path):
    parts = config_for(corpus, execution=Execution(device_tokens=175))
    train_together(config_for(corpus), tmp_path / "two", 2)
    train_together(parts, tmp_path / "accumulated", 1)
    assert [start["parts"] for start in Run(tmp_path / "accumulated").starts] == [2]
    for run in (tmp_path / "two", tmp_path / "accumulated"):
        assert difference(run, alone) < 1e-6
        texts = [(directory / "metrics.jsonl").read_text() for directory in (run, alone)]
        told = [[json.loads(line) for line in text.splitlines()] for text in texts]
        for one, other in zip(*told, strict=True):
            assert one.keys() == other.keys() and (one["step"], one["epoch"]) == (other["step"], other["epoch"])
            for name in {"loss", "validation_loss", "validation_perplexity"} & one.keys():
                assert abs(one[name] - other[name]) < 1e-5 * other[name]
    # the last batch of an epoch is a small one: among these updates are such
    assert told[0][-1]["epoch"] >= 2


def test_the_processes_end_when_the_training_has_ended(corpus, tmp_path):
    # PyTorch's reducer, freed last, waited for a thread that waited for it, in one training of three of this size.
    config = config_for(corpus, steps=2, validate_every=2, checkpoint_every=2)
    for attempt in range(8):
        train_together(config, tmp_path / str(attempt), 2)


THREADS_LEFT = """
import os, sys
from annotated_transformer.training.loop import train
from annotated_transformer.training.runs import Run
train(Run(sys.argv[1]).config, sys.argv[1])
names = [open(f"/proc/self/task/{thread}/comm").read().strip() for thread in os.listdir("/proc/self/task")]
sys.exit(", ".join(name for name in names if "gloo" in name) or 0)
"""


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="only Linux names a process's threads")
def test_no_thread_of_the_group_outlives_the_training(corpus, tmp_path):
    # Such threads would still run while Python ends. In processes of their own: those of SERVER have imported more of PyTorch.
    Run(tmp_path / "run").open(config_for(corpus, steps=2, validate_every=2, checkpoint_every=2))
    (tmp_path / "train.py").write_text(THREADS_LEFT)
    torchrun = ["torch.distributed.run", "--standalone", "--nproc-per-node=2", tmp_path / "train.py", tmp_path / "run"]
    ended = subprocess.run([sys.executable, "-m", *torchrun], env={**os.environ, "OMP_NUM_THREADS": "1"}, capture_output=True)
    assert ended.returncode == 0, ended.stderr[-5000:]


def test_a_mean_of_means_would_be_noticed(corpus, alone, tmp_path):
    train_together(config_for(corpus), tmp_path / "wrong", 2, MEAN_OF_MEANS)
    assert difference(tmp_path / "wrong", alone) > 1e-4


def test_more_processes_than_sentences(corpus, tmp_path):
    # Batches of one or two sentences for three processes: a process without one takes part with a loss of zero.
    config = config_for(corpus, batch_tokens=21, steps=6)
    train_together(config, tmp_path / "one", 1)
    train_together(config, tmp_path / "three", 3)
    assert difference(tmp_path / "three", tmp_path / "one") < 1e-6


IMPATIENT = """
from annotated_transformer.command_line.main import main
from annotated_transformer.training import processes
processes.QUIET = 0.1
main()
"""


@pytest.mark.parametrize("rank", (0, 1))
@pytest.mark.skipif(os.name != "posix", reason="Windows has no SIGTERM that a program could hear")
def test_a_process_that_waits_for_the_others_says_so_and_hears_sigterm(rank, tmp_path):
    place = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port()), "WORLD_SIZE": "2", "RANK": str(rank), "LOCAL_RANK": "0"}
    command = [sys.executable, "-c", IMPATIENT, "train", "--preset", "demo", "--run-directory", tmp_path / "run"]
    child = subprocess.Popen(command, env={**os.environ, **place}, stderr=subprocess.PIPE, text=True)
    said = next(line for line in child.stderr if line.startswith("process "))
    assert said.startswith(f"process {rank} of 2, counted from 0, waits for the others at 127.0.0.1:{place['MASTER_PORT']}: ")
    child.terminate()
    assert child.wait(60) == 75, child.communicate()


@pytest.mark.parametrize("local, told", [("0", 1), ("1", 0)])
def test_a_wrong_option_is_told_by_the_first_process_of_each_machine(local, told, monkeypatch):
    surroundings = {"WORLD_SIZE": "4", "RANK": "2", "LOCAL_RANK": local, "MASTER_ADDR": "host", "MASTER_PORT": "29500"}
    for name, value in surroundings.items():
        monkeypatch.setenv(name, value)
    with pytest.raises((InputError, SystemExit)) as met:
        train_command(["--no-such-option"])
    assert isinstance(met.value, InputError) == told


@pytest.mark.parametrize("goes_on", (False, True))  # from trained weights, with two draws of dropout that must agree
def test_dropout_draws_the_same_whoever_works_a_part_off(goes_on, corpus, alone, tmp_path):
    changes = {"consistency": 5.0, "start_from": str(alone)} if goes_on else {}
    model = dataclasses.replace(config_for(corpus).model, dropout=0.3)
    config = config_for(corpus, model=model, execution=Execution(device_tokens=175), **changes)
    train_together(config, tmp_path / "one", 1)    # two parts, one after the other
    train_together(config, tmp_path / "two", 2)    # two parts at once
    assert difference(tmp_path / "two", tmp_path / "one") < 1e-6
    train_together(dataclasses.replace(config, execution=Execution()), tmp_path / "whole", 1)  # one part: other draws
    assert difference(tmp_path / "whole", tmp_path / "one") > 1e-4


DROPPED = """
from functools import partial
from annotated_transformer import Transformer
from annotated_transformer.model.layers import Residual
class Skipped(Residual):
    def forward(self, x, *others, **named):
        return x if self.training and torch.rand(()) < 0.5 else super().forward(x, *others, **named)
class Dropped(Transformer):
    def __init__(self, config):
        super().__init__(config)
        self.unused = torch.nn.Parameter(torch.ones(3))
    def residual(self, sublayer):
        return Skipped(sublayer, self.config.d_model, self.config.dropout)
train = partial(train, model=Dropped)
"""


@pytest.mark.parametrize("device_tokens", [175, 88])
def test_a_class_whose_updates_leave_out_parameters_is_trained_by_two_processes_as_by_one(device_tokens, corpus, tmp_path):
    config = config_for(corpus, execution=Execution(device_tokens=device_tokens), validate_every=100, steps=12)
    train_together(config, tmp_path / "one", 1, DROPPED)   # two parts, or four, one after the other
    train_together(config, tmp_path / "two", 2, DROPPED)   # one part in each process, or two
    assert difference(tmp_path / "two", tmp_path / "one") < 1e-6


SMOOTHED = """
from functools import partial
def smoothed(model, batch):
    logs = model(batch.source, batch.target_input).log_softmax(-1)
    right = logs.gather(-1, batch.target[..., None]).squeeze(-1)
    return -0.9 * right - 0.1 / (logs.size(-1) - 1) * (logs.sum(-1) - right)
train = partial(train, loss=smoothed)
"""


def test_a_loss_of_ones_own_adds_up_over_unequal_processes(corpus, alone, tmp_path):
    train_together(config_for(corpus, smoothing=0.0), tmp_path / "own", 2, SMOOTHED)
    assert difference(tmp_path / "own", alone) < 1e-4
    losses = [[line["loss"] for line in Run(run).metrics() if "loss" in line] for run in (tmp_path / "own", alone)]
    assert losses[0] == pytest.approx(losses[1], rel=1e-5)


WATCHED = """
from functools import partial
def watch(line):
    assert os.environ["RANK"] == "0", "the leader alone is asked"
    return line["step"] == 10 and "validation_loss" in line
train = partial(train, watch=watch)
"""


def test_who_watches_is_asked_by_the_leader_and_all_end_together_at_that_update(corpus, alone, tmp_path):
    train_together(config_for(corpus, checkpoint_every=4), tmp_path / "watched", 2, WATCHED)
    run = Run(tmp_path / "watched")
    assert run.last()["step"] == run.metrics()[-1]["step"] == 10 and not run.last()["regular"]
    train_together(config_for(corpus, checkpoint_every=4), tmp_path / "watched", 2)
    assert run.last()["step"] == 20 and difference(tmp_path / "watched", alone) < 1e-4


FIRST_WATCHES = """
from functools import partial
lines = []
if os.environ["RANK"] == "0":
    train = partial(train, watch=lines.append)
"""


def test_a_script_may_give_watch_to_the_leader_alone(corpus, alone, tmp_path):
    train_together(config_for(corpus), tmp_path / "watched", 2, FIRST_WATCHES)
    assert difference(tmp_path / "watched", alone) < 1e-6


OTHERWISE = """
if os.environ["RANK"] == "1":
    config["batch_tokens"] = 175
"""


def test_a_process_with_other_settings_ends_all_before_the_first_update(corpus, tmp_path):
    children = begin_together(config_for(corpus), tmp_path / "run", 2, OTHERWISE)
    for child in children:
        child.join(timeout=60)
    codes = [child.exitcode for child in children]
    for child in children:
        child.kill()
    assert codes == [2, 1] and not Run(tmp_path / "run").checkpoints()


ALONE = """
from annotated_transformer.training import loop
step, count = loop.train_step, []
def fails(*given):
    count.append(1)
    if os.environ["RANK"] == "1" and len(count) == 3:
        raise torch.cuda.OutOfMemoryError("in one process alone")
    return step(*given)
loop.train_step = fails
"""


def test_an_error_in_one_process_ends_the_others(corpus, tmp_path):
    children = begin_together(config_for(corpus), tmp_path / "run", 2, ALONE)
    for child in children:
        child.join(timeout=60)  # far more than it takes, and far less than a day
    codes = [child.exitcode for child in children]
    for child in children:
        child.kill()
    assert codes == [1, 1]


LITTLE_MEMORY = """
from annotated_transformer.training import loop
loop.may_run_out = lambda device: True
right = loop.WithLoss.forward
def forward(self, source, target_input, target, tokens):
    # process 1 has room for half of what its part needs at first
    if os.environ["RANK"] == "1" and source.numel() > 100:
        raise torch.cuda.OutOfMemoryError("CUDA out of memory")
    return right(self, source, target_input, target, tokens)
loop.WithLoss.forward = forward
"""


def test_what_does_not_fit_into_one_device_is_accumulated_by_all(corpus, tmp_path):
    model = dataclasses.replace(config_for(corpus).model, dropout=0.3)
    config = config_for(corpus, model=model, steps=6, checkpoint_every=6)
    train_together(config, tmp_path / "found", 2, LITTLE_MEMORY)
    start, = Run(tmp_path / "found").starts
    assert start["device_tokens"] == 88 and start["parts"] == 4
    assert Run(tmp_path / "found").config.execution == Execution(), "the next start asks again"
    given = dataclasses.replace(config, execution=Execution(device_tokens=88))
    train_together(given, tmp_path / "given", 2)
    assert same_bits(tmp_path / "found", tmp_path / "given"), "nothing of it is lost or done twice"


def torchrun(run: Path, *options: str) -> subprocess.Popen:
    words = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", *options]
    command = [*words, "-m", "annotated_transformer", "train", "--run-directory", str(run)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def wait_for(path: Path, child: subprocess.Popen) -> None:
    while not path.exists():
        assert child.poll() is None, child.stdout.read()
        time.sleep(0.01)


def workers_of(child: subprocess.Popen | psutil.Process) -> list[int]:
    return [worker.pid for worker in psutil.Process(child.pid).children()]  # ipykernel brings psutil; `ps` is not everywhere


@pytest.fixture(scope="module")
def long(corpus, tmp_path_factory):
    "A run of two processes that nobody disturbed. Behind its first checkpoints is room to be disturbed."
    model = dataclasses.replace(config_for(corpus).model, dropout=0.1)
    config = config_for(corpus, model=model, steps=200, checkpoint_every=10, validate_every=100)
    run = tmp_path_factory.mktemp("runs") / "undisturbed"
    train_together(config, run, 2)
    return config, run


def same_bits(run: Path, other: Path) -> bool:
    lasts = [checkpoint_directories(directory)[-1] for directory in (run, other)]
    assert lasts[0].name == lasts[1].name
    return all((lasts[0] / name).read_bytes() == (lasts[1] / name).read_bytes() for name in FILES[:2])


def test_sigterm_writes_a_checkpoint_and_torchrun_starts_a_killed_worker_again_and_nothing_is_lost(long, tmp_path):
    config, undisturbed = long
    run = Run(tmp_path / "run")
    run.open(config)
    child = torchrun(run.directory)
    wait_for(run.directory / "checkpoints" / "step-00000020", child)
    child.terminate()
    output, _ = child.communicate(timeout=60)
    assert child.returncode != 0 and output.count("is saved at step") == 1 and "Traceback" not in output.split("is saved")[0]
    reached = json.loads((checkpoint_directories(run.directory)[-1] / "state.json").read_text())
    assert f"saved at step {reached['step']:,};" in output

    with ThreadPoolExecutor() as pool:  # the same command goes on, for a while
        second = pool.submit(launch, run.config, run.directory, processes=2, restarts=1)
        while run.checkpoints()[-1].name < f"step-{reached['step'] + 15:08d}":
            assert not second.done(), second.result()
            time.sleep(0.01)
        [started] = [found for found in psutil.Process().children() if str(run.directory) in found.cmdline()]
        os.kill(workers_of(started)[-1], signal.SIGKILL)
        second.result(timeout=180)
    assert [start["processes"] for start in run.starts] == [2, 2, 2], "the run was not started again"
    assert same_bits(run.directory, undisturbed)


def test_a_mistake_is_told_once_and_launch_raises_it(corpus, tmp_path, monkeypatch):
    (tmp_path / "bad").mkdir()
    for path in corpus.iterdir():
        (tmp_path / "bad" / path.name).write_text(path.read_text() + ("one line more\n" if path.name == "train.de" else ""))
    kept = SimpleNamespace(TemporaryFile=lambda mode, **more: open(tmp_path / "said", mode, **more))
    monkeypatch.setattr(launching, "tempfile", kept)
    with pytest.raises(InputError, match="150 lines.* 151"):
        launch(config_for(tmp_path / "bad"), tmp_path / "run", processes=2)
    assert not (tmp_path / "run").exists()
    output = (tmp_path / "said").read_text()
    told = [line for line in output.splitlines() if line.startswith("annotated-transformer: ")]
    assert len(told) == 1 and "150 lines" in told[0] and "151" in told[0]
    assert "exitcode  : 2" in output


def test_launch_tells_what_a_process_said_before_it_died_and_not_the_report_of_torchrun_alone(corpus, tmp_path, monkeypatch):
    dies = tmp_path / "dies"
    dies.write_text("#!/bin/sh\necho 'terminate called: why it died'\nprintf '%4000s' report\nexit 1\n")
    dies.chmod(0o700)
    monkeypatch.setattr(launching, "sys", SimpleNamespace(executable=str(dies)))
    with pytest.raises(RuntimeError, match="status 1:\nterminate called: why it died"):
        launch(config_for(corpus), tmp_path / "run", processes=2)


def test_an_orphan_keeps_its_run_to_itself(long, tmp_path, command):
    config, _ = long
    Run(tmp_path / "run").open(config)
    child = torchrun(tmp_path / "run")
    wait_for(tmp_path / "run" / "checkpoints" / "step-00000020", child)
    orphans = workers_of(child)
    child.kill()                                     # torchrun itself: its workers live on
    for pid in orphans:
        os.kill(pid, signal.SIGSTOP)                 # or they may be at the end before the other has begun
    status, _, said = command("train", "--run", tmp_path / "run")
    for pid in orphans:
        os.kill(pid, signal.SIGKILL)
    assert status == 2 and "another process is training this run" in said
    assert said.count("\n") == 1


def test_sixteen_bits_and_plain_adam_can_be_switched_on(corpus, tmp_path):
    config = config_for(corpus, steps=6)
    expected = train(config, tmp_path / "long").state_dict()
    short = train(dataclasses.replace(config, execution=Execution(precision="bfloat16")), tmp_path / "short")
    start, = Run(tmp_path / "short").starts
    assert (start["precision"], start["compile"]) == ("bfloat16", False)
    for name, value in short.state_dict().items():
        assert value.dtype == expected[name].dtype
    apart = difference(tmp_path / "short", tmp_path / "long")
    assert 0 < apart < 0.05


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("gcc") is None, reason="torch.compile needs a compiler")
def test_a_compiled_model_trains_as_a_plain_one(corpus, tmp_path):
    config = config_for(corpus, steps=6)
    train(config, tmp_path / "plain")
    train(dataclasses.replace(config, execution=Execution(compile=True)), tmp_path / "compiled")
    start, = Run(tmp_path / "compiled").starts
    assert start["compile"] is True
    assert difference(tmp_path / "compiled", tmp_path / "plain") < 1e-5
