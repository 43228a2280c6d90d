"What breaks files and directories: damage, writing that breaks off, full disks, two that want the same run."
import errno
import re
import shutil
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


def test_each_kind_of_damage_is_named(tmp_path):
    torch.manual_seed(0)
    model = Transformer(TransformerConfig(20, n_layers=1, d_model=4, d_ff=4, n_heads=1))
    saved = save_checkpoint(tmp_path, model, adam(model.parameters()), {"step": 7}, keep=3)
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
    with pytest.raises(InputError, match=f"{re.escape(str(weights))}.*checksum"):
        load_weights(weights)


def test_the_newest_whole_one_is_used_and_damaged_ones_are_moved_aside(tmp_path):
    torch.manual_seed(0)
    model = Transformer(TransformerConfig(20, n_layers=1, d_model=4, d_ff=4, n_heads=1))
    place = tmp_path / "checkpoints"
    assert newest_checkpoint(tmp_path) is None
    saved = [save_checkpoint(tmp_path, model, adam(model.parameters()), {"step": step}, keep=3) for step in (1, 2, 3)]
    (place / "step-00000009.1a2b3c4d.tmp").mkdir()         # what a kill left behind
    assert newest_checkpoint(tmp_path) == saved[2]
    clear_leftovers(tmp_path, ())
    assert sorted(place.iterdir()) == saved
    for path in (saved[2] / "state.json", saved[1] / "training_state.safetensors"):
        path.write_bytes(path.read_bytes()[:-3])
    assert newest_checkpoint(tmp_path) == saved[0]
    assert checkpoint_directories(tmp_path) == [saved[0]]
    assert (place / "damaged-step-00000003" / "model.safetensors").exists()
    (saved[0] / "model.safetensors").unlink()
    with pytest.raises(InputError, match=f"{re.escape(str(saved[0] / 'model.safetensors'))}.*begin anew"):
        newest_checkpoint(tmp_path)
    assert checkpoint_directories(tmp_path) == [saved[0]], "the last one is left where it is"


def test_a_disk_too_small_is_known_at_the_start(tmp_path):
    model = torch.nn.Linear(10, 10)  # 110 weights, 1,320 bytes for each checkpoint
    require_room(tmp_path, model, keep=20)
    with pytest.raises(InputError, match=f"{re.escape(str(tmp_path))}.*--keep"):
        require_room(tmp_path, model, keep=2 * shutil.disk_usage(tmp_path).free // 1320)


def test_a_run_without_a_checkpoint_says_so(tmp_path):
    run = Run(tmp_path)
    assert run.metrics() == [] and run.checkpoints() == []
    for ask in (run.last, run.weights, run.reached):
        with pytest.raises(InputError) as refused:
            ask()
        assert str(refused.value) == f"{tmp_path}: the run has no checkpoint yet; train it first"


@pytest.mark.parametrize("summed", (True, False))  # with and without sums beside the files
@pytest.mark.parametrize("name", ("model.safetensors", "config.json", "tokenizer.model"))
@pytest.mark.parametrize("harm", (Path.unlink, lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])))
def test_damaged_and_missing_files_are_named(summed, name, harm, tmp_path):
    save(tmp_path, *new("abcdefgh", 1))
    if not summed:
        (tmp_path / SUMS).unlink()
    harm(tmp_path / name)
    with pytest.raises(InputError, match=f"^.*{name}.*$"):  # one line
        load(tmp_path)


def test_a_model_that_is_nowhere_is_named():
    with pytest.raises(InputError, match="no/such/place"):
        load("no/such/place")


def test_a_record_is_written_whole_or_not_at_all(tmp_path):
    path = tmp_path / "figures.json"
    write(path, {"found": 1}, command="first")
    before = path.read_bytes()
    with pytest.raises(TypeError):
        write(path, {"found": 2, "unwritable": {1, 2}}, command="second")  # JSON has no sets
    assert path.read_bytes() == before and list(tmp_path.iterdir()) == [path]
    with pytest.raises(InputError, match=f"^{re.escape(str(path))}.*$"):  # one line
        write(path / "below a file.json", {}, command="third")


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
