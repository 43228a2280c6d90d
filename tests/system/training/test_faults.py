"What goes wrong in a long training: kills, signals, damaged files, full disks, numbers that are none."
import json
import math
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from filelock import FileLock

from annotated_transformer import InputError
from annotated_transformer.command_line import main as cli
from annotated_transformer.training import checkpoints, fitting, starting
from annotated_transformer.training import loop as training
from annotated_transformer.training.checkpoints import FILES, checkpoint_directories
from annotated_transformer.training.evaluation import Evaluation
from annotated_transformer.training.processes import Group
from annotated_transformer.training.runs import Run
from annotated_transformer.training.stopping import STOPPED, require_finite
from benchmarks import kills

TRAIN = """train --preset demo --vocab-size 36 --n-layers 1 --d-model 16 --d-ff 16 --n-heads 2 --dropout 0.1 --max-length 24
    --batch-tokens 120 --steps 60 --validate-every 30 --checkpoint-every 10 --keep 4 --warmup-steps 20 --log-every 5""".split()


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    directory = tmp_path_factory.mktemp("corpus")
    for name, n in (("train", 60), ("validation", 6)):
        source = "".join(f"{'a b c d e'[: 1 + 2 * (i % 5)]} {i % 7}\n" for i in range(n))
        target = "".join(f"{i % 7} {'v w x y z'[: 1 + 2 * (i * 3 % 5)]}\n" for i in range(n))
        (directory / f"{name}.en").write_text(source)
        (directory / f"{name}.de").write_text(target)
    return directory


@pytest.fixture(scope="module")
def undisturbed(corpus, tmp_path_factory):
    run = tmp_path_factory.mktemp("runs") / "undisturbed"
    cli.main([*TRAIN, "--corpus", str(corpus), "--run", str(run)])
    return run


def bits(run: Path) -> list:
    "Names and numbers of all checkpoints, and what the metrics say."
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    told = [(line["step"], line.get("loss"), line.get("validation_loss")) for line in lines]
    return [(path.name, [(path / name).read_bytes() for name in FILES[:2]]) for path in checkpoint_directories(run)] + [told]


def status(arguments) -> int:
    with pytest.raises(SystemExit) as end:
        cli.main([str(argument) for argument in arguments])
    return end.value.code


@pytest.mark.parametrize("processes", [1, 2])
def test_twenty_kills_at_random_instants_change_no_bit(processes, tmp_path):
    out = tmp_path / "kills.json"
    kills.main(["--kills", "20", "--processes", str(processes), "--seed", str(os.getpid()), "--out", str(out)])
    figures, = json.loads(out.read_text())["figures"]
    assert figures["kills"] >= 20 and figures["processes"] == processes
    assert figures["runs_equal_to_the_uninterrupted_one"] == figures["runs"] >= 1
    assert len(figures["killed_while"]) >= 2, "all kills fell into one kind of instant"


@pytest.mark.parametrize("sent, expected, said", [
    (signal.SIGTERM, STOPPED, "is saved at step"), (signal.SIGINT, 130, "the same command continues"),
    pytest.param(getattr(signal, "SIGHUP", None), STOPPED, "is saved at step", id="a closed terminal",
                 marks=pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="POSIX")),
])
def test_a_signal_writes_a_checkpoint_and_ends_with_a_status_of_its_own(sent, expected, said, corpus, tmp_path):
    run = tmp_path / "run"
    command = [*TRAIN, "--corpus", str(corpus), "--run", str(run), "--checkpoint-every", "40", "--steps", "100000"]
    words = [sys.executable, "-m", "annotated_transformer", *command]
    before = signal.signal(sent, signal.SIG_DFL)  # `nohup make test` ignores one, and so would what it starts
    child = subprocess.Popen(words, stderr=subprocess.PIPE, env={**os.environ, "OMP_NUM_THREADS": "1"}, text=True)
    signal.signal(sent, before)
    while not (run / "metrics.jsonl").exists() or (run / "metrics.jsonl").read_text().count("\n") < 6:
        assert child.poll() is None, child.stderr.read()
        time.sleep(0.005)
    child.send_signal(sent)
    _, err = child.communicate(timeout=30)
    assert child.returncode == expected and said in err and "Traceback" not in err
    last = checkpoint_directories(run)[-1]
    state = json.loads((last / "state.json").read_text())
    logged = [json.loads(line)["step"] for line in (run / "metrics.jsonl").read_text().splitlines()]
    assert logged[-1] <= state["step"] < logged[-1] + 5, "up to the very update"
    assert state["regular"] is (state["step"] % 40 == 0)


def sigterm_in_update(number, monkeypatch):
    "From now on; the updates made are counted in the list."
    real, updates = training.train_step, []

    def with_signal(*given):
        updates.append(1)
        if len(updates) == number:
            os.kill(os.getpid(), signal.SIGTERM)
        return real(*given)

    monkeypatch.setattr(training, "train_step", with_signal)
    return updates


def test_a_run_stopped_out_of_turn_ends_as_one_that_never_was(corpus, undisturbed, tmp_path, monkeypatch):
    # The signal comes at update 23, where no checkpoint is due; in the end there are the same checkpoints, bit for bit.
    run = tmp_path / "run"
    command = [*TRAIN, "--corpus", str(corpus), "--run", str(run)]
    updates = sigterm_in_update(23, monkeypatch)
    assert status(command) == STOPPED
    assert checkpoint_directories(run)[-1].name == "step-00000023"
    cli.main(command)
    assert len(updates) == 60
    *checkpoints, told = bits(run)
    *expected, expected_told = bits(undisturbed)
    assert checkpoints == expected
    for one, other in zip(told, expected_told, strict=True):  # a line that spans the stop holds the updates after it alone
        assert one == other or one[0] == other[0] == 25


def test_a_signal_in_the_last_update_is_not_lost(corpus, undisturbed, tmp_path, monkeypatch, capsys):
    # Where several trainings follow one another, as for Table 3, the next one must not begin.
    run = tmp_path / "run"
    command = [*TRAIN, "--corpus", str(corpus), "--run", str(run)]
    updates = sigterm_in_update(60, monkeypatch)
    assert status(command) == STOPPED and f"{run} is saved at step 60; the same" in capsys.readouterr().err
    assert bits(run) == bits(undisturbed), "the run itself is whole"
    cli.main(command)
    assert len(updates) == 60


def test_a_kill_after_the_last_checkpoint_leaves_none_too_many(corpus, undisturbed, tmp_path, monkeypatch):
    # The last checkpoint stands, and the oldest has not been removed yet. The next start has no update to make.
    run = tmp_path / "run"
    command = [*TRAIN, "--corpus", str(corpus), "--run", str(run)]
    real = checkpoints.remove_directory

    def killed_at_the_end(directory):
        if directory.name == "step-00000020":
            raise KeyboardInterrupt
        real(directory)

    monkeypatch.setattr(checkpoints, "remove_directory", killed_at_the_end)
    assert status(command) == 130
    assert [path.name[-2:] for path in checkpoint_directories(run)] == ["20", "30", "40", "50", "60"]
    monkeypatch.undo()
    cli.main(command)
    assert bits(run) == bits(undisturbed)


@pytest.mark.parametrize("name, fault", [  # test_damage.py has each fault of each file
    (FILES[0], "a flipped bit"), (FILES[1], "half a file"), (FILES[2], "no file"), ("SHA256SUMS", "half a file"),
])
def test_a_damaged_checkpoint_is_named_and_the_one_before_it_used(name, fault, corpus, undisturbed, tmp_path, capsys):
    run = Path(shutil.copytree(undisturbed, tmp_path / "run"))
    last = checkpoint_directories(run)[-1]
    data = bytearray((last / name).read_bytes())
    if fault == "no file":
        (last / name).unlink()
    else:
        data[len(data) // 2] ^= 4
        (last / name).write_bytes(data if fault == "a flipped bit" else data[: len(data) // 2])
    cli.main([*TRAIN, "--corpus", str(corpus), "--run", str(run)])
    err = capsys.readouterr().err
    assert str(last) in err and "step-00000050" in err and err.count("\n") == 1
    assert (run / "checkpoints" / f"damaged-{last.name}").is_dir()
    assert bits(run) == bits(undisturbed)


def test_no_good_checkpoint_is_for_the_owner_to_decide(corpus, undisturbed, tmp_path, complaint):
    run = Path(shutil.copytree(undisturbed, tmp_path / "run"))
    before = {}
    for directory in checkpoint_directories(run):
        path = directory / "model.safetensors"
        path.write_bytes(path.read_bytes()[:-1])
        before |= {path: path.read_bytes() for path in directory.iterdir()}
    assert "begin anew" in complaint(*TRAIN, "--corpus", corpus, "--run", run)
    assert all(path.read_bytes() == data for path, data in before.items())


def test_a_full_disk_ends_in_one_sentence_and_the_run_goes_on_when_there_is_room(corpus, undisturbed, tmp_path):
    # A limit on the size of a file stands in for the full disk: the weights fit, Adam's means, twice as large, do not.
    run = tmp_path / "run"
    command = [*TRAIN, "--corpus", str(corpus), "--run", str(run)]
    cli.main([*command, "--steps", "20"])
    sizes = [(checkpoint_directories(run)[-1] / name).stat().st_size for name in FILES[:2]]
    limit = f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, ({sum(sizes) // 2},) * 2); "
    program = limit + f"from annotated_transformer.command_line.main import main; main({command!r})"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 2, done.stderr
    assert "step-00000030 could not be written" in done.stderr and "make room" in done.stderr
    assert "goes on from step-00000020" in done.stderr and done.stderr.count("\n") == 1
    assert [path.name for path in (run / "checkpoints").iterdir() if path.name > "step-00000020"] == []
    cli.main(command)
    *checkpoints, told = bits(run)
    *expected, expected_told = bits(undisturbed)
    assert checkpoints == expected
    assert [line for line in told if line[:2] != (20, None)] == expected_told  # `--steps 20` measured at its end


def test_a_checkpoint_that_may_not_be_written_asks_for_no_room(corpus, tmp_path, complaint, monkeypatch):
    def refuses(*given):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(checkpoints, "write_directory", refuses)
    said = "(Permission denied): put that right and give the same command again; the run goes on from its beginning"
    assert said in complaint(*TRAIN, "--corpus", corpus, "--run", tmp_path / "run")


def test_a_loss_that_is_no_number_is_written_nowhere(corpus, tmp_path, complaint):
    run = tmp_path / "run"
    command = [*TRAIN, "--corpus", str(corpus), "--run", str(run), "--rate-factor", "1e30", "--log-every", "1"]
    message = complaint(*command)
    assert "infinite or NaN" in message and "--rate-factor" in message
    written = (run / "metrics.jsonl").read_text()
    assert "NaN" not in written and "Infinity" not in written
    assert all(abs(json.loads(line).get("loss", 0)) < float("inf") for line in written.splitlines())
    assert not list((run / "checkpoints").glob("step-*")) if (run / "checkpoints").exists() else True


def spoil_a_weight(monkeypatch, update: int, number: float) -> None:
    "The loss of this update is still good; its gradient was not."
    real, updates = training.train_step, []

    def spoils(learner, *given):
        updates.append(1)
        loss = real(learner, *given)
        if len(updates) == update:
            next(learner.parameters()).data[3, 5] = number
        return loss

    monkeypatch.setattr(training, "train_step", spoils)


def test_a_weight_that_is_no_number_is_never_saved(corpus, tmp_path, complaint, monkeypatch):
    spoil_a_weight(monkeypatch, 20, float("nan"))
    run = tmp_path / "run"
    assert "step-00000010 is the last checkpoint" in complaint(*TRAIN, "--corpus", corpus, "--run", run)
    assert [path.name for path in checkpoint_directories(run)] == ["step-00000010"]


def test_a_weight_that_is_no_number_is_never_measured(corpus, tmp_path, complaint, monkeypatch):
    spoil_a_weight(monkeypatch, 15, float("inf"))
    run = tmp_path / "run"
    assert "by update 15" in complaint(*TRAIN, "--corpus", corpus, "--run", run, "--validate-every", "15")
    assert '"step": 10' in (run / "metrics.jsonl").read_text() and "validation" not in (run / "metrics.jsonl").read_text()


@pytest.mark.parametrize("steps", ["20", "1"])  # also of the last update, which no loss follows
def test_a_validation_that_is_no_number_is_written_nowhere_and_ends_the_run(steps, corpus, tmp_path, complaint):
    run = tmp_path / "run"  # after its first update the weights are finite, and products of them are not
    command = [*TRAIN, "--steps", steps, "--rate-factor", "1e10", "--log-every", "1", "--validate-every", "1"]
    assert "by update 1 the loss" in complaint(*command, "--checkpoint-every", "1", "--corpus", corpus, "--run", run)
    line, = map(json.loads, (run / "metrics.jsonl").read_text().splitlines())
    assert line["loss"] < 10 and "validation_loss" not in line and not checkpoint_directories(run)


@pytest.mark.parametrize("loss", [math.nan, math.inf])
def test_only_the_leader_complains_of_a_validation_that_is_no_number(loss, tmp_path):
    measured, cpu = Evaluation(loss, 1.0), torch.device("cpu")
    with pytest.raises(InputError, match="by update 3 the loss"):
        require_finite(measured, Run(tmp_path), 3, Group(cpu))
    assert require_finite(measured, Run(tmp_path), 3, Group(cpu, rank=1)) is measured  # the leader ends it


@pytest.mark.parametrize("kept", [[], ["notes.txt"]])
def test_a_mistake_leaves_nothing_in_a_directory_that_was_there(corpus, tmp_path, complaint, kept):
    run = tmp_path / "run"
    run.mkdir()
    for name in kept:
        (run / name).write_text("mine")
    assert "--vocab-size" in complaint(*TRAIN, "--corpus", corpus, "--run", run, "--vocab-size", "20")
    assert [path.name for path in run.iterdir()] == kept
    cli.main([*TRAIN, "--corpus", str(corpus), "--run", str(run), "--steps", "1"])
    assert Run(run).checkpoints()


def test_a_mistake_leaves_what_others_wrote_in_the_meantime(corpus, tmp_path, complaint, monkeypatch):
    prepare = starting.prepare

    def beside_others(config, directory):
        (directory / "notes.txt").write_text("mine")
        return prepare(config, directory)

    monkeypatch.setattr(starting, "prepare", beside_others)
    run = tmp_path / "run"
    run.mkdir()
    assert "--vocab-size" in complaint(*TRAIN, "--corpus", corpus, "--run", run, "--vocab-size", "20")
    assert [path.name for path in run.iterdir()] == ["notes.txt"]


def test_a_mistake_in_a_run_that_had_begun_leaves_all(corpus, undisturbed, tmp_path, complaint):
    shutil.copytree(undisturbed, run := tmp_path / "run")
    before = {path.relative_to(run) for path in run.rglob("*")}
    complaint(*TRAIN, "--corpus", corpus, "--run", run, "--vocab-size", "20")
    assert before <= {path.relative_to(run) for path in run.rglob("*")}


def test_a_model_is_no_run_and_says_so(undisturbed, tmp_path, complaint):
    model = tmp_path / "model"
    cli.main(["average", str(undisturbed), str(model)])
    before = sorted(path.name for path in model.iterdir())
    for command, said in ((["train", "--run", model, "--steps", "5"], "a model, not a run"),
                          (["average", model], "not a run, so")):
        assert f"{model} is {said}" in complaint(*command)
    assert sorted(path.name for path in model.iterdir()) == before


def test_an_unfinished_checkpoint_is_ignored(corpus, undisturbed, tmp_path):
    shutil.copytree(undisturbed, run := tmp_path / "run")
    unfinished = run / "checkpoints" / "step-00000099.1a2b3c4d.tmp"
    unfinished.mkdir()
    (unfinished / "model.safetensors").write_bytes(b"half")
    cli.main([*TRAIN, "--corpus", str(corpus), "--run", str(run)])
    assert bits(run) == bits(undisturbed) and not unfinished.exists()


def test_a_run_with_another_configuration_is_refused(corpus, undisturbed, tmp_path, complaint):
    shutil.copytree(undisturbed, run := tmp_path / "run")
    before = (run / "config.json").read_text()
    said = complaint(*TRAIN, "--corpus", corpus, "--run", run, "--smoothing", "0.2")
    assert "smoothing=0.1" in said and "0.2" in said
    assert (run / "config.json").read_text() == before


def test_a_second_training_of_the_same_run_is_refused(corpus, tmp_path, complaint):
    run = tmp_path / "run"
    cli.main([*TRAIN, "--corpus", str(corpus), "--run", str(run), "--steps", "10"])
    with FileLock(run / "lock"):
        assert "another process is training this run" in complaint(*TRAIN, "--corpus", corpus, "--run", run)


def test_a_training_says_before_its_first_update_that_its_memory_may_not_suffice(corpus, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(fitting, "allowed_memory", lambda: 16 * 2**10)
    cli.main([*TRAIN, "--steps", "1", "--corpus", str(corpus), "--run", str(tmp_path / "run")])
    assert "an update takes some 0.3 GiB of memory, and this process may take 0.0" in capsys.readouterr().err
