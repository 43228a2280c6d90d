"What breaks files and directories: damage, writing that breaks off, full disks, two that want the same run."
import errno
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
import torch
from filelock import SoftFileLock
from safetensors.torch import load_file

from annotated_transformer import InputError
from annotated_transformer.config import TransformerConfig
from annotated_transformer.data.tokenizer import Tokenizer
from annotated_transformer.files import SUMS, damage, write_file
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.model.weights import load_weights
from annotated_transformer.results import write
from annotated_transformer.training.checkpoints import (
    FILES,
    checkpoint_directories,
    clear_leftovers,
    newest_checkpoint,
    only_one,
    require_room,
    save_checkpoint,
)
from annotated_transformer.training.loading import load, save
from annotated_transformer.training.metrics import Metrics
from annotated_transformer.training.optimizer import adam
from annotated_transformer.training.runs import Run


def test_each_kind_of_damage_is_named():
    torch.manual_seed(0)
    model = Transformer(TransformerConfig(20, n_layers=1, d_model=4, d_ff=4, n_heads=1))
    with tempfile.TemporaryDirectory() as directory:
        saved = save_checkpoint(Path(directory), model, adam(model.parameters()), {"step": 7}, keep=3)
        assert damage(saved, FILES) is None
        for path in sorted(saved.iterdir()):
            whole = path.read_bytes()
            flipped = bytearray(whole)
            flipped[len(whole) // 2] ^= 1                              # one bit, in the middle of the file
            for content in (bytes(flipped), whole[:-9], b"", None):
                path.unlink() if content is None else path.write_bytes(content)
                assert str(saved) in damage(saved, FILES), path
                if path.name != SUMS:
                    assert str(path) in damage(saved, FILES)
                path.write_bytes(whole)
            assert damage(saved, FILES) is None
        weights = saved / "model.safetensors"                         # a flipped bit in a weight is no error of the format
        data = bytearray(weights.read_bytes())
        data[-2] ^= 1
        weights.write_bytes(data)
        assert load_file(weights).keys() == model.state_dict().keys()
        try:
            load_weights(weights)
        except InputError as error:
            assert str(weights) in str(error) and "checksum" in str(error)
        else:
            raise AssertionError("a flipped bit went unnoticed")


def test_the_newest_whole_one_is_used_and_damaged_ones_are_moved_aside():
    torch.manual_seed(0)
    model = Transformer(TransformerConfig(20, n_layers=1, d_model=4, d_ff=4, n_heads=1))
    with tempfile.TemporaryDirectory() as directory:
        run = Path(directory)
        assert newest_checkpoint(run) is None
        saved = [save_checkpoint(run, model, adam(model.parameters()), {"step": step}, keep=3) for step in (1, 2, 3)]
        Path(run, "checkpoints", "step-00000009.1a2b3c4d.tmp").mkdir()         # what a kill left behind
        assert newest_checkpoint(run) == saved[2]
        clear_leftovers(run)
        assert sorted(path for path in Path(run, "checkpoints").iterdir()) == saved
        for path in (saved[2] / "state.json", saved[1] / "training_state.safetensors"):
            path.write_bytes(path.read_bytes()[:-3])
        assert newest_checkpoint(run) == saved[0]
        assert checkpoint_directories(run) == [saved[0]]
        assert Path(run, "checkpoints", "damaged-step-00000003", "model.safetensors").exists()
        (saved[0] / "model.safetensors").unlink()
        try:
            newest_checkpoint(run)
        except InputError as error:
            assert str(saved[0] / "model.safetensors") in str(error) and "begin anew" in str(error)
        else:
            raise AssertionError("a damaged checkpoint was used")
        assert checkpoint_directories(run) == [saved[0]], "the last one is left where it is"


def test_a_write_that_fails_leaves_what_was_there():
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "file")
        write_file(path, lambda beside: beside.write_text("old"))

        def breaks_off(beside):
            beside.write_text("ne")
            raise OSError(28, "No space left on device")

        try:
            write_file(path, breaks_off)
        except OSError:
            pass
        assert path.read_text() == "old" and [p.name for p in Path(directory).iterdir()] == ["file"]


def test_a_full_disk_leaves_the_last_good_checkpoint():
    # The largest size of a file is limited, so that writing the second checkpoint fails in the middle, as on a full disk.
    program = """
import resource, sys, torch
from pathlib import Path
from annotated_transformer import InputError
from annotated_transformer.training.checkpoints import save_checkpoint
from annotated_transformer.training.optimizer import adam
torch.manual_seed(0)
model = torch.nn.Linear(100, 100)
model(torch.ones(1, 100)).sum().backward()
optimizer = adam(model.parameters())
optimizer.step()
save_checkpoint(Path(sys.argv[1]), model, optimizer, {"step": 1}, keep=3)
resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))
try:
    save_checkpoint(Path(sys.argv[1]), model, optimizer, {"step": 2}, keep=3)
except InputError as error:
    print(error)
"""
    with tempfile.TemporaryDirectory() as directory:
        done = subprocess.run([sys.executable, "-c", program, directory], capture_output=True, text=True)
        second = Path(directory, "checkpoints", "step-00000002")
        assert done.returncode == 0 and done.stdout.startswith(f"{second} could not be written ("), done
        assert "make room" in done.stdout and "goes on from step-00000001" in done.stdout and done.stdout.count("\n") == 1
        assert [path.name for path in second.parent.iterdir()] == ["step-00000001"]
        assert damage(newest_checkpoint(Path(directory)), FILES) is None


def test_two_trainings_cannot_share_a_run():
    with tempfile.TemporaryDirectory() as directory:
        program = f"""
from pathlib import Path
from annotated_transformer.training.checkpoints import only_one
with only_one(Path({directory!r})):
    pass
"""
        with only_one(Path(directory)):
            other = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
        assert other.returncode == 1 and "another process trains this run" in other.stderr
        assert subprocess.run([sys.executable, "-c", program], capture_output=True).returncode == 0


def test_a_disk_too_small_is_known_at_the_start():
    model = torch.nn.Linear(10, 10)  # 110 weights, 1,320 bytes for each checkpoint
    with tempfile.TemporaryDirectory() as directory:
        free = shutil.disk_usage(directory).free
        require_room(Path(directory), model, keep=20)
        try:
            require_room(Path(directory), model, keep=2 * free // 1320)
        except InputError as error:
            assert directory in str(error) and "--keep" in str(error)
        else:
            raise AssertionError("more checkpoints than the disk holds")


def test_a_run_tells_its_last_whole_line_and_its_last_measure_up_to_the_checkpoint():
    with tempfile.TemporaryDirectory() as directory:
        run = Run(directory)
        assert run.metrics() == [] and run.checkpoints() == []
        for ask in (run.last, run.weights, run.reached):
            try:
                ask()
            except InputError as error:
                assert str(error) == f"{directory}: the run has no checkpoint yet; train it first"
            else:
                raise AssertionError("a checkpoint out of nowhere")
        with Metrics(run.directory, 0) as metrics:
            for step, value in ((10, 9.0), (20, 5.0), (30, 4.0)):
                metrics.record({"step": step, "epoch": 0, "seconds": step / 8}, validation_perplexity=value)
        with open(run.directory / "metrics.jsonl", "a") as file:
            file.write('{"step": 40, "los')
        assert [line["step"] for line in run.metrics()] == [10, 20, 30]
        for step in (10, 25):
            (run.directory / "checkpoints" / f"step-{step:08d}").mkdir(parents=True)
            (run.checkpoints()[-1] / "state.json").write_text(json.dumps({"step": step, "batch": 3}))
        assert run.last() == {"step": 25, "batch": 3}
        assert run.reached() == {"step": 25, "batch": 3, "epoch": 0, "seconds": 2.5, "validation_perplexity": 5.0}
        with open(run.directory / "metrics.jsonl", "w") as file:
            file.write('{"step": 10, }\n{"step": 20}\n')
        assert run.metrics() == [{"step": 20}]  # a damaged line of the log holds up nothing


def test_damaged_and_missing_files_are_named():
    torch.manual_seed(0)
    texts = ["bad cab", "a b c d e f", "fade", "deaf bee", "cafe de facade"]
    tokenizer = Tokenizer.train(texts * 3, 20)
    model = Transformer(TransformerConfig(tokenizer.vocab_size, n_layers=1, d_model=12, d_ff=16, n_heads=3, max_length=30))
    try:
        load("no/such/place")
    except InputError as error:
        assert "no/such/place" in str(error), error
    else:
        raise AssertionError("not refused")
    for summed in (True, False):  # with and without sums beside the files
        for name in ("model.safetensors", "config.json", "tokenizer.model"):
            for harm in (Path.unlink, lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])):
                with tempfile.TemporaryDirectory() as directory:
                    save(directory, model, tokenizer)
                    if not summed:
                        Path(directory, "SHA256SUMS").unlink()
                    harm(Path(directory, name))
                    try:
                        load(directory)
                    except InputError as error:
                        assert name in str(error) and "\n" not in str(error), error
                    else:
                        raise AssertionError(name)


def test_a_record_is_written_whole_or_not_at_all():
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "figures.json")
        write(path, {"found": 1}, command="first")
        before = path.read_bytes()
        try:
            write(path, {"found": 2, "unwritable": {1, 2}}, command="second")  # JSON has no sets
        except TypeError:
            pass
        else:
            raise AssertionError("a set was written as JSON")
        assert path.read_bytes() == before and [file.name for file in Path(directory).iterdir()] == ["figures.json"]
        try:
            write(path / "below a file.json", {}, command="third")
        except InputError as error:
            assert str(path) in str(error) and "\n" not in str(error)
        else:
            raise AssertionError("a file was taken for a directory")


@pytest.mark.parametrize("error", (
    OSError(errno.ENOLCK, "No locks available"), OSError(errno.EOPNOTSUPP, "not supported"), NotImplementedError("flock"),
))
def test_a_file_system_without_locks_is_named(error, tmp_path, monkeypatch):
    def without(self):
        raise error

    monkeypatch.setattr("filelock.FileLock._acquire", without)
    with pytest.raises(InputError, match="its file system has no locks .*: take a --run on another one"):
        with only_one(tmp_path):
            pass


def test_a_lock_that_is_only_a_file_is_named_with_its_holder(tmp_path, monkeypatch):
    monkeypatch.setattr("annotated_transformer.training.checkpoints.FileLock", SoftFileLock)
    (tmp_path / "lock").write_text("9898\nnode17\n")
    with pytest.raises(InputError, match="another process trains this run just now") as caught:
        with only_one(tmp_path):
            pass
    assert str(caught.value).endswith(f". If process 9898 of node17 is dead, remove {tmp_path / 'lock'}")
    (tmp_path / "lock").unlink()
    with only_one(tmp_path):
        assert (tmp_path / "lock").exists()
    with only_one(tmp_path):  # it was given back
        pass
