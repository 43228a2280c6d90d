"Files that were damaged, forged or given away, and settings that no machine can hold: one sentence, and nothing lost."
import json
import math
import os
import shutil
import signal
import stat
import subprocess
import sys
from dataclasses import replace

import pytest
import torch
from matplotlib import pyplot
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from annotated_transformer import AttentionMaps, InputError, Transformer, TransformerConfig, Translator, explore, save_drawing
from annotated_transformer.command_line.train_and_score import score_command
from annotated_transformer.config import PRESETS, Search, TrainingConfig
from annotated_transformer.data import corpora
from annotated_transformer.data.tokenizer import Tokenizer
from annotated_transformer.files import read_sums, write_file
from annotated_transformer.model.weights import load_weights
from annotated_transformer.parsing.parser import Parser
from annotated_transformer.training.checkpoints import checkpoint_directories
from annotated_transformer.training.loop import train
from annotated_transformer.training.runs import Run

TRAIN = "train --preset demo --vocab-size 48 --n-layers 1 --d-model 8 --d-ff 16 --n-heads 2 --batch-tokens 120 --steps 20".split()


def edit(path, **changes):
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def test_a_model_is_never_saved_over_a_run(trained, run):
    translator = Translator.from_pretrained(run)
    for save in (translator.save_pretrained, translator.model.save_pretrained):
        with pytest.raises(InputError, match="run is a run, and a model's config.json would replace its own"):
            save(run)
    assert Run(run).config == trained[0] and not (run / "model.safetensors").exists()
    translator.save_pretrained(run / "model")
    translator.save_pretrained(run / "model")  # over a model there is nothing to lose
    assert Translator.from_pretrained(run / "model").translate("one two") == translator.translate("one two")


def test_the_home_directory_has_its_name_where_no_shell_reads_it(corpus, tmp_path, monkeypatch, command):
    for variable in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(variable, str(tmp_path / "home"))
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    shutil.copytree(corpus, tmp_path / "home" / "digits")
    status, out, _ = command(*TRAIN[:-1], "1", "--corpus=~/digits", "--run=~/mine")
    assert status == 0 and str(tmp_path / "home" / "mine") in out
    translator = Translator.from_pretrained("~/mine")
    translator.save_pretrained("~/saved")
    assert Transformer.from_pretrained("~/saved").config == translator.model.config and Run("~/mine").exists()
    assert corpora.load("~/digits").train and corpora.from_directory("~/digits").name == "digits"
    assert sorted(path.name for path in (tmp_path / "home").iterdir()) == ["digits", "mine", "saved"]
    assert not any((tmp_path / "work").iterdir())


@pytest.mark.skipif(os.name != "posix", reason="modes of files are POSIX's")
def test_what_is_written_may_be_read_by_those_whom_the_umask_lets(run, model):
    before = os.umask(0o022)
    try:
        train_again = [path for path in run.rglob("*.safetensors")] + [model / "model.safetensors"]
        assert len(train_again) > 3 and {stat.S_IMODE(path.stat().st_mode) for path in train_again} == {0o644}
        os.umask(0o077)
        write_file(run / "secret", lambda path: save_file({"x": torch.ones(2)}, path))
        assert stat.S_IMODE((run / "secret").stat().st_mode) == 0o600
    finally:
        os.umask(before)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything")
def test_a_refused_permission_is_not_called_damage(model):
    (model / "model.safetensors").chmod(0)
    with pytest.raises(InputError, match="you may not read"):
        load_weights(model / "model.safetensors")


@pytest.mark.parametrize("line", [b"garbage}", b"{}", b'{"step": "ten"}', b"\xff\xfe}", b"[" * 100_000])
def test_a_damaged_log_holds_up_no_run(trained, run, line, caplog):
    config, whole = trained
    lines = (run / "metrics.jsonl").read_bytes().splitlines()
    (run / "metrics.jsonl").write_bytes(b"\n".join([lines[0], line, *lines[1:]]) + b"\n")
    assert Run(run).metrics() == Run(whole).metrics() and Run(run).reached()["step"] == 20
    train(replace(config, steps=22), run)
    assert "1 damaged line is left out" in caplog.text
    assert (run / "metrics.jsonl").read_bytes().splitlines()[: len(lines)] == lines


def test_the_command_says_a_warning_of_the_library_in_one_line(run, corpus, command):
    with open(run / "metrics.jsonl", "ab") as log:
        log.write(b"garbage}\n{}\n")
    words = "--validate-every 20 --checkpoint-every 10 --keep 2 --warmup-steps 20 --log-every 8 --dropout 0.1 --max-length 24"
    status, _, err = command(*TRAIN, *words.split(), "--corpus", corpus, "--run", run)
    assert (status, err) == (0, f"{run / 'metrics.jsonl'}: 1 damaged line is left out\n")


def test_a_resumed_run_writes_the_same_next_line(trained, tmp_path):
    config, whole = trained
    train(replace(config, steps=10), tmp_path / "half")  # stops two updates after a line
    train(config, tmp_path / "half")
    again, once = ([line["loss"] for line in Run(run).metrics() if "loss" in line] for run in (tmp_path / "half", whole))
    assert again == once and len(once) == 2  # after updates 8 and 16


@pytest.mark.parametrize("name", ["tokenizer.model", "data/train.tokens"])
def test_a_run_does_not_go_on_with_other_data(trained, run, name):
    config, _ = trained
    content = bytearray((run / name).read_bytes())
    content[len(content) // 2] ^= 1
    (run / name).write_bytes(content)
    with pytest.raises(InputError, match="checksum is wrong"):
        train(replace(config, steps=22), run)


@pytest.mark.parametrize("options", [
    ["--seed", "18446744073709551616"], ["--max-length", "999999999999"], ["--d-model", "1000000"], ["--device", "meta"],
    ["--n-layers", "1000000000"], ["--rate-factor", "inf"], ["--init-gain", "inf"],
])
def test_a_refused_option_does_not_block_its_correction(tmp_path, corpus, options, complaint):
    complaint(*TRAIN, "--corpus", corpus, "--run", tmp_path / "r", *options)
    assert not (tmp_path / "r").exists()


@pytest.mark.parametrize("changes", [
    {name: value} for name in ("d_model", "d_ff", "vocab_size", "max_length", "n_layers") for value in (10**12, 10**20)
] + [{"n_layers": 100}, {"max_length": 2**24, "d_model": 2**24, "d_k": 4, "d_v": 4}, {"d_model": "x"}, {"d_model": None}])
def test_a_configuration_is_compared_with_the_weights_before_it_takes_memory(model, changes):
    edit(model / "config.json", **changes)
    with pytest.raises(InputError):
        Transformer.from_pretrained(model)


@pytest.mark.parametrize("text", ["[" * 100_000, '{"vocab_size": ' + "1" * 5_000 + "}", "\xff", "null", "[]"])
def test_a_configuration_that_is_none(model, run, text):
    (model / "config.json").write_text(text, encoding="latin-1")
    (run / "config.json").write_text('{"training": ' + text + "}", encoding="latin-1")
    for read in (lambda: Transformer.from_pretrained(model), lambda: Run(run).config):
        with pytest.raises(InputError, match="damaged"):
            read()


@pytest.mark.parametrize("changes", [{"keep": "x"}, {"keep": 0}, {"steps": None}, {"seed": 1.5}, {"rate_factor": "fast"}])
def test_a_run_s_configuration_with_a_setting_that_cannot_be(run, changes):
    record = json.loads((run / "config.json").read_text())
    record["training"] |= changes
    (run / "config.json").write_text(json.dumps(record))
    with pytest.raises(InputError, match=next(iter(changes))):
        Translator.from_pretrained(run)


@pytest.mark.parametrize("value", [math.nan, math.inf, True, 7])
def test_weights_that_are_no_finite_real_numbers_are_refused(model, value):
    weights = load_file(model / "model.safetensors")
    weights["embedding.weight"] = torch.full_like(weights["embedding.weight"], value, dtype=torch.tensor(value).dtype)
    save_file(weights, model / "model.safetensors")
    with pytest.raises(InputError, match="finite real number"):
        Transformer.from_pretrained(model)


def test_sums_name_files_of_their_own_directory_alone(model, tmp_path):
    (tmp_path / "outside").write_text("private")
    (model / "SHA256SUMS").write_text(f"{'0' * 64}  ../outside\n{'0' * 64}  /etc/passwd\n")
    assert read_sums(model) == {}
    Transformer.from_pretrained(model)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no such pipes here")
@pytest.mark.parametrize("place, read", [
    ("texts/train.en", lambda place: list(corpora.load(place / "texts").train)),
    ("model/config.json", lambda place: Translator.from_pretrained(place / "model")),
    ("model/tokenizer.model", lambda place: Translator.from_pretrained(place / "model")),
    ("model/model.safetensors", lambda place: Translator.from_pretrained(place / "model")),
    ("model/SHA256SUMS", lambda place: load_weights(place / "model" / "model.safetensors")),
    ("run/config.json", lambda place: Run(place / "run").config),
    ("model/record.json", lambda place: Translator.from_pretrained(place / "model")),
])
def test_a_pipe_to_which_nobody_writes_is_not_waited_for(place, read, model, corpus, tmp_path, in_a_minute):
    shutil.copytree(corpus, tmp_path / "texts")
    (tmp_path / place).unlink(missing_ok=True)
    os.mkfifo(tmp_path / place)
    with pytest.raises((InputError, OSError), match="a pipe or a device"):
        read(tmp_path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no such pipes here")
def test_a_picture_does_not_take_the_place_of_a_pipe(model, tmp_path, complaint):
    os.mkfifo(tmp_path / "heads.svg")
    assert "a pipe or a device" in complaint("attend", "one two", "--model", model, "--out", tmp_path / "heads.svg")
    assert stat.S_ISFIFO((tmp_path / "heads.svg").stat().st_mode)


@pytest.mark.parametrize("changes", [
    {"decoder_layers": 10**9}, {"encoder_layers": 20_000}, {"d_model": "x"}, {"max_position_embeddings": 10**12},
    {"vocab_size": 10**12}, {"pytorch_model.bin": "garbage"},
])
def test_a_marian_directory_that_is_damaged(model, tmp_path, changes, complaint):
    pytest.importorskip("transformers", reason="the extra `exchange` is not installed")
    from annotated_transformer.exchange.marian import save_marian

    save_marian(Translator.from_pretrained(model), tmp_path / "marian")
    pickled = "pytorch_model.bin" in changes
    if pickled:  # pickles may run programs when they are loaded: none is
        (tmp_path / "marian" / "model.safetensors").rename(tmp_path / "marian" / "pytorch_model.bin")
    else:
        edit(tmp_path / "marian" / "config.json", **changes)
    kind = "its weights are pytorch_model.bin, a pickle" if pickled else "this is not a Marian model, or it is damaged"
    assert f"{tmp_path / 'marian'}: {kind}" in complaint("translate", tmp_path / "marian")


def test_strays_among_the_checkpoints(run):
    before = checkpoint_directories(run)
    (run / "checkpoints" / "step-abcdefgh").mkdir()
    (run / "checkpoints" / "step-99999999").write_text("a file")
    assert checkpoint_directories(run) == before
    Translator.from_pretrained(run)


def test_a_full_disk_is_told_with_the_name_of_the_file(tmp_path):
    def full(path):
        raise OSError(28, "No space left on device")

    def full_while_it_is_copied(path):
        raise OSError(28, "No space left on device", "/the/source", None, path)

    for write in (full, full_while_it_is_copied):
        with pytest.raises(OSError, match="No space left on device: '[^']*sums.txt'$"):
            write_file(tmp_path / "sums.txt", write)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("error", [
    OSError(28, "No space left on device"), SafetensorError("I/O error: No space left on device"),
])
def test_a_full_disk_leaves_no_half_of_a_model(run, monkeypatch, complaint, error):
    def full(*_):
        raise error

    before = {path.name for path in run.iterdir()}
    monkeypatch.setattr("annotated_transformer.training.loading.write_sums", full)  # the last thing that is written
    said = complaint("average", run)
    assert str(run / "average-2") in said and "No space left on device" in said
    assert {path.name for path in run.iterdir()} == before


def test_settings_keep_their_types_when_they_are_written_and_read():
    for config in PRESETS.values():
        assert TrainingConfig.from_dict(json.loads(json.dumps(config.to_dict()))) == config


def test_a_tree_that_cannot_fit_and_a_model_that_is_no_parser():
    torch.manual_seed(0)
    for whole_words, limit, problem in (("(S", ")S"), 5, "sentence 1: .*--extra-length"), ((), 50, "no brackets"):
        tokenizer = Tokenizer.train(["( the cat", "a dog )", "- L R B X"] * 5, 40, whole_words)
        model = Transformer(TransformerConfig(tokenizer.vocab_size, n_layers=1, d_model=8, d_ff=8, n_heads=2, max_length=400))
        with pytest.raises(InputError, match=problem):
            Parser(Translator(model, tokenizer)).parse([["▁"] * 10], Search(beam_size=2, extra_length=limit))


def test_scores_are_not_begun_where_they_cannot_be_told(run, tmp_path, complaint):
    (run / "metrics.jsonl").unlink()  # a log that is gone stops nothing
    assert Run(run).reached()["step"] == 20
    (Run(run).checkpoints()[-1] / "state.json").write_text("{")
    said = complaint("score", run, "--split", "validation", "--out", tmp_path / "s.json")
    assert "state.json" in said and not list(tmp_path.glob("s.*"))


def test_scores_are_written_also_where_nobody_reads_them(run, tmp_path, monkeypatch):
    def gone(*texts, **options):
        raise BrokenPipeError

    monkeypatch.setattr("builtins.print", gone)
    with pytest.raises(BrokenPipeError):
        score_command(str(run), split="validation", out=tmp_path / "s.json")
    assert sorted(path.name for path in tmp_path.glob("s.*")) == ["s.json", "s.txt"]


SLOWLY = """
import signal, sys, time
from pathlib import Path
from annotated_transformer.command_line.terminal import may_be_interrupted
from annotated_transformer.files import write_directory

signal.signal(signal.SIGINT, signal.SIG_DFL)  # as the command begins
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # which `nohup make test` would have it ignore
may_be_interrupted()
write_directory(Path(sys.argv[1]), lambda beside: print("writes", flush=True) or time.sleep(60))
"""


@pytest.mark.skipif(os.name != "posix", reason="Windows ends a process without a signal")
@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_a_signal_leaves_nothing_half_written(name, tmp_path):
    child = subprocess.Popen([sys.executable, "-c", SLOWLY, str(tmp_path / "model")], stdout=subprocess.PIPE)
    assert child.stdout.readline() == b"writes\n" and list(tmp_path.iterdir())
    child.send_signal(number := getattr(signal, name))
    child.communicate()
    assert child.returncode == 128 + number and not list(tmp_path.iterdir())


@pytest.mark.parametrize("form", ["svg", "pdf", "png"])
def test_a_full_disk_is_no_fault_of_the_picture(form, tmp_path):
    resource = pytest.importorskip("resource")  # POSIX
    figure = pyplot.figure()
    figure.text(0.5, 0.5, "letters, which a PDF brings along")
    (path := tmp_path / "picture").write_bytes(b"the old one")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (500, before[1]))  # bytes of a file
    try:
        with pytest.raises(OSError):
            save_drawing(figure, path, form)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert path.read_bytes() == b"the old one" and list(tmp_path.iterdir()) == [path]


def test_a_full_disk_leaves_the_page_of_heads_that_was_there(tmp_path):
    resource = pytest.importorskip("resource")  # POSIX
    explorer = explore(AttentionMaps.from_tensors(source=["a", "b", "<eos>"], encoder=torch.ones(1, 2, 3, 3) / 3))
    (path := tmp_path / "heads.html").write_bytes(b"the old one")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (500, before[1]))  # bytes of a file
    try:
        with pytest.raises(InputError, match="heads.html could not be written"):
            explorer.save(path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert path.read_bytes() == b"the old one" and list(tmp_path.iterdir()) == [path]
