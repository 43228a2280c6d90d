"What breaks files and directories: damage, writing that breaks off, full disks, two that want the same run."
import errno
import shutil
import tempfile
from pathlib import Path

import pytest
import torch
from filelock import SoftFileLock
from safetensors.torch import load_file

from annotated_transformer import InputError, files
from annotated_transformer.config import TransformerConfig
from annotated_transformer.data.tokenizer import Tokenizer
from annotated_transformer.files import SUMS, damage, read_sums
from annotated_transformer.model import pretrained, weights
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.model.weights import load_weights, model_directory
from annotated_transformer.results import write
from annotated_transformer.training import loading
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
        clear_leftovers(run, ())
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


def test_a_run_without_a_checkpoint_says_so(tmp_path):
    run = Run(tmp_path)
    assert run.metrics() == [] and run.checkpoints() == []
    for ask in (run.last, run.weights, run.reached):
        with pytest.raises(InputError) as refused:
            ask()
        assert str(refused.value) == f"{tmp_path}: the run has no checkpoint yet; train it first"


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
    with pytest.raises(InputError, match="another process is training this run") as caught:
        with only_one(tmp_path):
            pass
    assert str(caught.value).endswith(f". If process 9898 of node17 is dead, remove {tmp_path / 'lock'}")
    (tmp_path / "lock").unlink()
    with only_one(tmp_path):
        assert (tmp_path / "lock").exists()
    with only_one(tmp_path):  # it was given back
        pass


def new(letters: str, n_heads: int) -> tuple[Transformer, Tokenizer]:
    tokenizer = Tokenizer.train([" ".join(letters)] * 20, 12)
    return Transformer(TransformerConfig(tokenizer.vocab_size, n_layers=1, d_model=8, d_ff=4, n_heads=n_heads)), tokenizer


@pytest.fixture(params=["a mixture", "damage"])
def saved_meanwhile(request, tmp_path, monkeypatch):
    """A model, and another that takes its place while the first is loaded: between vocabulary and weights, or before the sums are
    compared."""
    before, after = new("abcdefgh", 1), new("ijklmnop", 2)
    assert before[1].vocab_size == after[1].vocab_size  # so nothing tells that they do not belong together
    save(tmp_path / "model", *before)
    saves = iter([lambda: save(tmp_path / "model", *after)])

    def meanwhile(act):
        def acted(*given, **options):
            next(saves, lambda: None)()
            return act(*given, **options)
        return acted

    if request.param == "a mixture":
        monkeypatch.setattr(pretrained, "load_weights", meanwhile(load_weights))
    else:
        monkeypatch.setattr(files, "sha256", meanwhile(files.sha256))
        monkeypatch.setattr(weights, "sha256", meanwhile(files.sha256))
    return tmp_path / "model", after


def test_a_model_is_loaded_of_one_save(saved_meanwhile):
    place, (model, tokenizer) = saved_meanwhile
    found = load(place)
    assert found.tokenizer.model == tokenizer.model and found.model.config == model.config
    assert torch.equal(found.model.embedding.weight, model.embedding.weight)


def test_weights_are_loaded_with_the_sizes_of_the_same_save(saved_meanwhile):
    place, (model, _) = saved_meanwhile
    found = Transformer.from_pretrained(place)
    assert found.config == model.config and torch.equal(found.embedding.weight, model.embedding.weight)


def test_weights_without_checksums_are_loaded_with_the_sizes_of_the_same_save(tmp_path, monkeypatch):
    before, after = (Transformer(TransformerConfig(12, n_layers=1, d_model=8, d_ff=4, n_heads=n)) for n in (1, 2))
    before.save_pretrained(tmp_path / "model")  # which writes no SHA256SUMS
    saves = iter([after.save_pretrained])

    def meanwhile(path):
        next(saves, lambda place: None)(tmp_path / "model")
        return load_weights(path)

    monkeypatch.setattr(pretrained, "load_weights", meanwhile)
    found = Transformer.from_pretrained(tmp_path / "model")
    assert found.config == after.config and torch.equal(found.embedding.weight, after.embedding.weight)


def test_a_model_saved_without_its_tokenizer_into_the_directory_of_a_whole_one_can_be_loaded(tmp_path):
    (before, tokenizer), (after, _) = new("abcdefgh", 1), new("abcdefgh", 2)
    save(tmp_path / "model", before, tokenizer)
    after.save_pretrained(tmp_path / "model")
    found = load(tmp_path / "model")
    assert torch.equal(found.model.embedding.weight, after.embedding.weight) and found.tokenizer.model == tokenizer.model
    assert read_sums(tmp_path / "model").keys() == {"config.json", "model.safetensors", "record.json", "tokenizer.model"}
    (tmp_path / "model" / "tokenizer.model").write_bytes(b"")
    with pytest.raises(InputError, match="tokenizer.model is damaged"):
        load(tmp_path / "model")


def test_a_model_is_saved_beside_files_of_any_name_that_have_checksums(tmp_path):
    (before, tokenizer), (after, _) = new("abcdefgh", 1), new("abcdefgh", 2)
    save(tmp_path / "model", before, tokenizer)
    (tmp_path / "model" / "Überblick.txt").write_text("trained in May", encoding="utf-8")
    files.write_sums(tmp_path / "model", [path.name for path in (tmp_path / "model").iterdir() if path.name != SUMS])
    after.save_pretrained(tmp_path / "model")
    assert torch.equal(load(tmp_path / "model").model.embedding.weight, after.embedding.weight)
    assert "Überblick.txt" in read_sums(tmp_path / "model")


def test_a_save_that_breaks_off_while_a_load_begins_is_completed_before_anything_is_read(tmp_path, monkeypatch):
    (before, tokenizer), after = new("abcdefgh", 1), new("ijklmnop", 2)
    save(tmp_path / "model", before, tokenizer)
    save(tmp_path / "new", *after)

    def found(*given, **options):
        directory = model_directory(*given, **options)
        (tmp_path / "new").rename(directory / files.UNFINISHED)
        (directory / files.UNFINISHED / SUMS).replace(directory / SUMS)
        return directory

    monkeypatch.setattr(loading, "model_directory", found)
    assert load(tmp_path / "model").tokenizer.model == after[1].model
