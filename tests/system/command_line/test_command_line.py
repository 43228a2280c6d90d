"The command as its user meets it: what it does with good input, and the one sentence it has for bad input."
import csv
import dataclasses
import importlib.metadata
import io
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from safetensors.torch import load_file

from annotated_transformer import Translator
from annotated_transformer.command_line import main as cli
from annotated_transformer.command_line.options import Train, read_options
from annotated_transformer.command_line.train_and_score import other_languages
from annotated_transformer.config import PRESETS, Search, TrainingConfig, TransformerConfig
from annotated_transformer.data import corpora
from annotated_transformer.data.parallel_text import Corpus
from annotated_transformer.figures import attention_maps
from annotated_transformer.files import read_sums, write_sums
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.model_record import record_of
from annotated_transformer.parsing.parser import PARSING, TREES
from annotated_transformer.progress_bar import progress_bar
from annotated_transformer.training import loop as training
from annotated_transformer.training.checkpoints import checkpoint_directories
from annotated_transformer.training.runs import Run
from annotated_transformer.translation.lines import UNSURE
from annotated_transformer.translation.packed_weights import fits_sixteen_bits

PACKAGE = "annotated_transformer"

STEPS = 120
TRAIN = f"""train --preset demo --vocab-size 48 --n-layers 1 --d-model 8 --d-ff 16 --n-heads 2 --dropout 0.1 --max-length 24
    --batch-tokens 120 --steps {STEPS} --validate-every 60 --checkpoint-every 10 --keep 3 --warmup-steps 20""".split()


@pytest.fixture(scope="session")
def run(tmp_path_factory, corpus):
    "One small training for all tests; they read it and leave it alone."
    directory = tmp_path_factory.mktemp("runs") / "digits"
    cli.main([*TRAIN, "--corpus", str(corpus), "--run", str(directory)])
    return directory


def process(*arguments, **more: str) -> subprocess.Popen:
    "The command in a process of its own, with as many threads as this one, so that sums come out alike."
    environment = {**os.environ, "OMP_NUM_THREADS": str(torch.get_num_threads()), **more}
    words = [sys.executable, "-m", "annotated_transformer", *map(str, arguments)]
    pipe = subprocess.PIPE
    return subprocess.Popen(words, env=environment, stdin=pipe, stdout=pipe, stderr=pipe)


# Training


def test_the_whole_configuration_is_saved_in_the_run(run, corpus):
    saved = json.loads((run / "config.json").read_text())
    assert saved["training"].keys() == {field.name for field in dataclasses.fields(TrainingConfig)}
    assert saved["training"]["model"].keys() == {field.name for field in dataclasses.fields(TransformerConfig)}
    model = TransformerConfig(48, n_layers=1, d_model=8, d_ff=16, n_heads=2, d_k=4, d_v=4, dropout=0.1, max_length=24)
    expected = dataclasses.replace(
        PRESETS["demo"], model=model, corpus=str(corpus), batch_tokens=120, steps=STEPS, validate_every=60,
        checkpoint_every=10, keep=3, warmup_steps=20,
    )
    assert Run(run).config == expected
    assert saved.keys() == {"training", "versions", "hardware", "date", "starts"}
    start, = saved["starts"]
    assert start["processes"] == start["parts"] == 1 and start["precision"] == "float32"
    assert [directory.name for directory in checkpoint_directories(run)] == [f"step-{step:08d}" for step in (100, 110, 120)]


def test_a_finished_run_is_left_as_it_is(run, corpus, command):
    before = {path: path.stat().st_mtime_ns for path in run.glob("checkpoints/*/*")}
    status, out, _ = command(*TRAIN, "--corpus", corpus, "--run", run)
    assert status == 0 and str(run) in out
    assert {path: path.stat().st_mtime_ns for path in run.glob("checkpoints/*/*")} == before


def test_a_run_goes_on_only_as_it_began(run, corpus, complaint):
    before = (run / "config.json").read_bytes()
    message = complaint(*TRAIN, "--corpus", corpus, "--run", run, "--seed", "2")
    assert "seed=1, not 2" in message and str(run / "config.json") in message
    assert (run / "config.json").read_bytes() == before


def test_a_run_with_more_updates_than_are_wanted_is_left_as_it_is(run, corpus, complaint):
    before = (run / "config.json").read_bytes()
    made = max(int(path.name.removeprefix("step-")) for path in run.glob("checkpoints/step-*"))
    message = complaint(*TRAIN, "--corpus", corpus, "--run", run, "--steps", str(made - 1))
    assert message == f"{run} has made {made} updates, and you ask for {made - 1}: take another --run"
    assert (run / "config.json").read_bytes() == before


def test_sigterm_before_the_first_update_says_that_the_same_command_goes_on(corpus, tmp_path, monkeypatch, command):
    before = signal.getsignal(signal.SIGTERM)

    def prepare(*_):
        signal.raise_signal(signal.SIGTERM)

    with monkeypatch.context() as patch:
        patch.setattr("annotated_transformer.training.starting.prepare", prepare)
        status, _, err = command(*TRAIN, "--corpus", corpus, "--run", tmp_path / "run")
    assert status == 75 and err == f"{tmp_path / 'run'} is stopped; the same command goes on from there\n"
    assert signal.getsignal(signal.SIGTERM) == before
    with monkeypatch.context() as patch:  # a download takes every fault for one of the network
        patch.setattr("datasets.load_dataset", prepare)
        assert command("train", "--corpus", "hub:a/b", "--run", tmp_path / "hub")[0] == 75
    assert command(*TRAIN, "--corpus", corpus, "--run", tmp_path / "run", "--steps", "1")[0] == 0


def unequal(directory):
    (directory / "train.de").write_text("eins\n")
    return f"{directory / 'train.en'} has 40 lines but {directory / 'train.de'} has 1"


def missing_file(directory):
    (directory / "validation.de").unlink()
    return f"{directory / 'validation.de'} does not exist"


def missing_directory(directory):
    shutil.rmtree(directory)
    return f"there is no corpus and no directory '{directory}'"


def empty(directory):
    (directory / "test.en").write_text("")
    return f"{directory / 'test.en'} is empty"


def not_utf_8(directory):
    (directory / "train.de").write_bytes("fünf\n".encode("latin-1") * 40)
    return f"{directory / 'train.de'}, line 1, is not UTF-8"


@pytest.mark.parametrize("fault", [unequal, missing_file, missing_directory, empty, not_utf_8])
def test_a_corpus_with_a_fault(fault, corpus, tmp_path, complaint):
    directory = shutil.copytree(corpus, tmp_path / "digits")
    expected = fault(directory)
    assert expected in complaint(*TRAIN, "--corpus", directory, "--run", tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("options, expected", [
    ("--preset huge", "--preset huge: there is no such preset; choose one of demo, tiny, miniature, base, big"),
    ("--preset", "--preset: a value is missing"),
    ("--preset tinny", "did you mean tiny?"),
    ("--corpus multi30k-en-ed", "did you mean multi30k-en-de?"),
    ("--stpes 5", "there is no option --stpes; did you mean --steps?"),
    ("--corpus=", "--corpus: the value is empty"),
    ("--start-from=", "--start-from: the value is empty"),
    ("--device=", "--device: the value is empty"),
    ("--n-layers many", "--n-layers"),
    ("--steps 0", "steps must be at least 1, not 0"),
    ("--start-from nowhere", "nowhere: there is no such directory of a run or of a model"),
    ("--start-from numbers-en-de", "n_layers is 2 there and 1 here; they must agree"),
    ("--n-heads 3", "d_model=8 is not divisible by n_heads=3"),
    ("--vocab-size 2", "no vocabulary of 2 pieces can be learnt from this text: the special tokens alone take 3; choose"),
    ("--vocab-size 9", "no vocabulary of 9 pieces can be learnt from this text: its single characters and the special"),
    ("--batch-tokens 2", "does not fit into a batch of 2"),
    ("--max-length 1", "max-length"),
])
def test_an_option_that_cannot_be(options, expected, corpus, tmp_path, complaint):
    given = ["--corpus", corpus, "--run", tmp_path / "run"]
    assert expected in complaint(*TRAIN, *given, *options.split())
    assert not (tmp_path / "run").exists()


def test_a_vocabulary_that_does_not_fit_is_as_large_as_the_text_allows(corpus, tmp_path, command):
    asked = [*TRAIN, "--corpus", corpus, "--run", tmp_path / "run", "--vocab-size", "4000", "--steps", "2"]
    status, out, err = command(*asked)
    size = Run(tmp_path / "run").tokenizer.vocab_size
    assert status == 0 and f"the text gives no more than {size} pieces: the vocabulary has that many, not 4000\n" in err
    assert 48 < size < 400 and Translator.from_pretrained(tmp_path / "run").model.config.vocab_size == size
    status, out, err = command(*asked[:-1], "3")  # it goes on, and says nothing more
    assert status == 0 and "vocabulary" not in err


def test_a_direction_goes_with_the_directory_in_training_and_in_score(corpus, tmp_path, command, monkeypatch):
    shutil.copytree(corpus, tmp_path / "digits")
    monkeypatch.chdir(tmp_path)
    asked = [*TRAIN, "--corpus", "digits:de-en", "--steps", "2"]
    status, out, err = command(*asked)
    run = re.search("Trained: (.*)", out)[1]
    assert status == 0 and Path(run) == Path("runs", "digits-de-en-demo")
    assert Run(run).config.corpus == "digits:de-en"
    assert command(*asked[:-1], "3")[0] == 0  # it goes on
    for words in ([], ["--corpus", str(tmp_path / "digits:de-en")]):
        assert command("score", run, *words, "--average", "1")[1].startswith("digits:de-en test: ")
    assert "de: " in command("corpora", "digits:de-en")[1].splitlines()[1]


def test_letters_that_a_vocabulary_taken_along_lacks_are_named_once(run, corpus, tmp_path, command):
    other = shutil.copytree(corpus, tmp_path / "other")
    asked = [*TRAIN, "--start-from", run, "--vocab-size", Run(run).tokenizer.vocab_size, "--steps", "2"]
    assert "never write" not in command(*asked, "--corpus", corpus, "--run", tmp_path / "same")[2]
    lines = (other / "train.de").read_text(encoding="utf-8").splitlines()
    (other / "train.de").write_text("".join(f"{line}{' çê' * (i % 4 == 0)}\n" for i, line in enumerate(lines)), encoding="utf-8")
    asked += ["--corpus", other, "--run", tmp_path / "run"]
    err = command(*asked)[2]
    assert f"25% of the training targets have letters that the vocabulary of {run} lacks (ç ê): the model will never" in err
    assert "never write" not in command(*asked, "--steps", "3")[2]
    (other / "train.en").write_text("".join(f"{line}{' 我' * (i % 2)}\n" for i, line in enumerate(
        (other / "train.en").read_text(encoding="utf-8").splitlines())), encoding="utf-8")
    err = command(*asked[:-1], tmp_path / "read")[2]
    assert f"50% of the training sources have letters that the vocabulary of {run} lacks (我): the model will read" in err


def test_letters_that_will_be_written_in_another_form_are_named_once(corpus, tmp_path, command):
    other = shutil.copytree(corpus, tmp_path / "other")
    lines = (other / "train.de").read_text(encoding="utf-8").splitlines()
    asked = [*TRAIN, "--vocab-size", "120", "--steps", "2", "--corpus", other, "--run"]
    assert "another form" not in command(*asked, tmp_path / "same")[2]
    (other / "train.de").write_text("".join(f"{line}{'，m²' * (i % 2)}\n" for i, line in enumerate(lines)), encoding="utf-8")
    err = command(*asked, tmp_path / "run")[2]
    assert "50% of the training targets have letters that the model will write in another form (， as ,, ² as 2), and" in err
    assert "another form" not in command(*asked, tmp_path / "run", "--steps", "3")[2]
    (other / "train.de").write_text("".join(f"{line} cafe\u0301\n" for line in lines), encoding="utf-8")
    assert "write in another form, and" in command(*asked, tmp_path / "apart")[2]


def test_pairs_too_long_for_the_model_are_counted_once(corpus, tmp_path, command):
    other = shutil.copytree(corpus, tmp_path / "other")
    for name, count in (("train", 2), ("validation", 1)):
        for side in ("de", "en"):
            text = (other / f"{name}.{side}").read_text(encoding="utf-8")
            (other / f"{name}.{side}").write_text(text + count * ("two " * 30 + "\n"), encoding="utf-8")
    pairs = [(other / f"{name}.de").read_text(encoding="utf-8").count("\n") for name in ("train", "validation")]
    asked = [*TRAIN, "--corpus", other, "--run", tmp_path / "run"]
    status, _, err = command(*asked, "--steps", "2")
    said = f"2 of {pairs[0]:,} training pairs and 1 of {pairs[1]:,} validation pairs; --max-length takes longer ones"
    assert status == 0 and err.startswith(f"left out, with more than 24 tokens on a side: {said}") and err.count("\n") == 1
    assert command(*asked, "--steps", "3")[2] == ""


def test_settings_that_differ_are_named_one_by_one(run, complaint):
    message = complaint("train", "--run", run, "--dropout", "0.2", "--d-ff", "20", "--warmup-steps", "9", "--steps", "7")
    said = "d_ff=16, not 20; dropout=0.1, not 0.2; warmup_steps=20, not 9"
    parts = message.removeprefix(f"{run / 'config.json'}: the run was started with ").partition(": ")
    assert sorted(parts[0].split("; ")) == said.split("; ") and "take another --run, or" in parts[2]


def test_a_trained_start_decides_the_sizes_and_has_no_place_in_table_3(complaint):
    config = read_options(Train, "--preset tiny --start-from numbers-en-de --dropout 0.25 --steps 7".split()).config
    there = Translator.from_pretrained("numbers-en-de").model.config
    assert config.model == dataclasses.replace(there, dropout=0.25) and config.model.n_layers != PRESETS["tiny"].model.n_layers
    assert (config.corpus, config.steps) == ("multi30k-en-de", 7)
    message = complaint("train", "--start-from", "numbers-en-de", "--vocab-size", "700")
    assert "vocab_size is 600 there and 700 here" in message and "--vocab-size" in message
    assert complaint("variations", "--start-from", "numbers-en-de").startswith("there is no option --start-from")


def test_no_network_and_no_cached_file(tmp_path, monkeypatch, closed_port, complaint):
    monkeypatch.setenv("ANNOTATED_TRANSFORMER_DATA", str(tmp_path / "cache"))
    monkeypatch.setitem(corpora.CORPORA, "multi30k-en-de", partial(corpora.multi30k, "de", base_url=closed_port))
    message = complaint("train", "--corpus", "multi30k-en-de", "--run", tmp_path / "run")
    assert str(tmp_path / "cache" / "multi30k" / "train.en.gz") in message and "network" in message
    assert not (tmp_path / "run").exists() and not list(tmp_path.rglob("*.gz"))


def test_a_full_disk_and_an_interruption(tmp_path, monkeypatch, command, complaint):
    def full(config, run, *_):
        raise OSError(28, "No space left on device", str(run / "metrics.jsonl"))

    def interrupted(config, run, *_):
        raise KeyboardInterrupt

    monkeypatch.setattr(training, "train", full)
    assert complaint("train", "--run", tmp_path) == f"No space left on device: '{tmp_path / 'metrics.jsonl'}'"
    monkeypatch.setattr(training, "train", interrupted)
    status, out, err = command("train", "--run", tmp_path)
    assert status == 130 and out == "" and "the same command continues" in err


# Translating


@pytest.mark.parametrize("stdin, lines", [
    (b"", []),
    (b"\n", [""]),
    (b"one two\n", ["one two"]),
    (b"one two", ["one two"]),
    (b"\none two\n\n   \nthree\n\n", ["", "one two", "", "   ", "three", ""]),
    (b"one two\r\n\r\nthree\r\n", ["one two", "", "three"]),
    ("one\u2028two\nthree\u0085four\vfive\fsix\n".encode(), ["one\u2028two", "three\u0085four\vfive\fsix"]),
    ("fünf\n\ttwo\n\u3000\n".encode(), ["fünf", "\ttwo", "\u3000"]),
])
def test_one_line_out_for_each_line_in(stdin, lines, run, command):
    status, out, err = command("translate", run, "--beam-size", "2", "--extra-length", "8", stdin=stdin)
    assert (status, err) == (0, "")
    found = out.split("\n")
    assert found.pop() == "" and len(found) == len(lines)
    assert found == Translator.from_pretrained(run).translate(lines, Search(beam_size=2, extra_length=8))
    assert all(bool(translation) <= bool(line.strip()) for translation, line in zip(found, lines))
    assert any(found) == any(line.strip() for line in lines)


def test_no_piece_of_the_vocabulary_holds_a_line_end(run):
    tokenizer = Translator.from_pretrained(run).tokenizer
    assert "\n" not in tokenizer.decode(tokenizer.encode("one\ntwo\r\nthree"))
    assert not any("\n" in tokenizer.decode([token]) for token in range(tokenizer.vocab_size))


def test_at_a_terminal_each_line_is_answered_at_once(run, command, monkeypatch):
    asked = []

    class Typed(io.BytesIO):
        def __next__(self):
            asked.append(sys.stdout.getvalue().count("\n"))
            return super().__next__()

    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=Typed(b"one two\n\nthree\n"), isatty=lambda: True))
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    cli.main(["translate", str(run), "--extra-length", "8"])
    assert asked == [0, 1, 2, 3]


@pytest.mark.parametrize("stdin, expected", [
    ("one\nfünf\n".encode("latin-1"), "standard input, line 2, is not UTF-8"),
    (b"one\n\n" + b"two " * 30, "line 3 has "),
])
def test_input_that_cannot_be_translated(stdin, expected, run, complaint):
    assert expected in complaint("translate", run, stdin=stdin)


def test_a_reader_that_leaves_is_no_mistake(run):
    child = process("translate", run, "--beam-size", "1", "--extra-length", "4")
    child.stdout.close()  # as `| head` does, once it has seen enough
    child.stdin.write(b"one two\n" * 5)
    child.stdin.close()
    assert child.stderr.read() == b"" and child.wait() == 1
    child.stderr.close()


# A run or a model with a fault


def no_such(run):
    shutil.rmtree(run)
    return f"{run}: there is no such directory"


def no_checkpoint(run):
    shutil.rmtree(run / "checkpoints")
    return f"{run}: the run has no checkpoint yet"


def no_configuration(run):
    (run / "config.json").unlink()
    return f"{run} holds SHA256SUMS, checkpoints, corpus.json, data, lock, metrics.jsonl, "


def damaged_configuration(run):
    (run / "config.json").write_bytes(b'{"training": {"model"\xff')
    return f"{run / 'config.json'}: the file is damaged"


def damaged_vocabulary(run):
    (run / "tokenizer.model").write_bytes(b"")
    return f"{run / 'tokenizer.model'} is damaged (its checksum is wrong)"


def other_vocabulary(run):
    other = corpora.load(Run(run).config.corpus)
    tokenizer = Translator.from_pretrained(run).tokenizer
    type(tokenizer).train((text for pair in other.train for text in pair), tokenizer.vocab_size - 5).save(run / "tokenizer.model")
    return f"{run / 'tokenizer.model'} is damaged (its checksum is wrong)"


def damaged_weights(run):
    path = checkpoint_directories(run)[-1] / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-9])
    return f"{path}: the file of weights is damaged"


@pytest.mark.parametrize("fault", [
    no_such, no_checkpoint, no_configuration, damaged_configuration, damaged_vocabulary, other_vocabulary, damaged_weights,
])
def test_a_run_with_a_fault(fault, run, tmp_path, complaint):
    copy, out = shutil.copytree(run, tmp_path / "run"), tmp_path / "results" / "figures.json"
    expected = fault(copy)
    assert expected in complaint("translate", copy, stdin=b"one\n")
    assert expected in complaint("score", copy, "--out", out)
    assert not out.parent.exists()


def test_no_command_takes_a_model_of_a_class_of_ones_own_for_the_papers(run, corpus, tmp_path, complaint):
    mine, model = shutil.copytree(run, tmp_path / "mine"), tmp_path / "model"
    Translator.from_pretrained(run).save_pretrained(model)
    for place, note in ((mine, {"own": {"model": "mine:Rotary"}}), (model, {"model": "mine:Rotary"})):
        (place / "config.json").write_text(json.dumps(json.loads((place / "config.json").read_text()) | note))
        write_sums(place, sorted(read_sums(place)))
        new = tmp_path / "new"
        for words in (
            ["translate", place], ["score", place, "--corpus", corpus], ["train", "--run", new, "--start-from", place],
            ["attend", "one", "--model", place, "--out", f"{new}.svg"],
        ):
            said = complaint(*words, stdin=b"one\n")
            assert f"{place} holds a model of the class mine:Rotary" in said and "model=Rotary" in said
    assert "holds a model of the class mine:Rotary" in complaint("average", mine, tmp_path / "new")
    assert "trains a model of the class mine:Rotary" in complaint("cost", mine)
    assert "train(..., model)='mine:Rotary', not \"the paper's\"" in complaint("train", "--run", mine)
    assert not (tmp_path / "new").exists()


# Scoring


def test_score_writes_all_that_a_result_needs(run, corpus, tmp_path, command):
    out = tmp_path / "results" / "digits.json"
    status, printed, err = command("score", run, "--beam-size", "2", "--out", out)
    assert (status, err) == (0, "")
    assert printed.startswith("digits test: 5 sentences, beam 2, alpha 0.6\n")
    assert "sacreBLEU" in printed and "exactly right" in printed
    record = json.loads(out.read_text(encoding="utf-8"))
    assert record.keys() == {"command", "figures", "search", "config", "training", "versions", "hardware", "date"}
    options = f"--split test --out {out} --beam-size 2 --alpha 0.6 --extra-length 50"
    assert record["command"] == f"annotated-transformer score {run} {options}"
    assert record["figures"]["sentences"] == 5 and 0 <= record["figures"]["sacre_bleu"]["score"] <= 100
    assert record["search"] == {"beam_size": 2, "alpha": 0.6, "extra_length": 50, "average": None}
    assert record["config"] == Run(run).config.to_dict()
    assert record["training"]["step"] == STEPS and record["training"]["validation_perplexity"] > 1
    assert record["versions"].keys() >= {"annotated_transformer", "torch", "python"}
    assert record["hardware"]["cores"] and record["date"]
    sources = [source for source, _ in corpora.load(corpus).test]
    translations = out.with_suffix(".txt").read_text(encoding="utf-8").split("\n")
    assert translations == [*Translator.from_pretrained(run).translate(sources, Search(beam_size=2)), ""]
    assert sorted(path.name for path in out.parent.iterdir()) == ["digits.json", "digits.txt"]
    assert command(*shlex.split(record["command"])[1:])[:2] == (0, printed)  # the command in the record does it again


def test_a_corpus_without_a_test_set_is_scored_on_its_validation_split(run, corpus, tmp_path, command):
    shutil.copytree(corpus, tmp_path / "mine")
    search = ("--beam-size", "1", "--extra-length", "4")
    with_tests = command("score", run, "--corpus", tmp_path / "mine", *search)[1]
    for file in (tmp_path / "mine").glob("test.*"):
        file.rename(file.with_stem("test-news"))
    assert command("score", run, "--corpus", tmp_path / "mine", *search)[1].startswith("mine test-news: 5")
    for file in (tmp_path / "mine").glob("test-news.*"):
        file.unlink()
    asked = command("score", run, "--corpus", tmp_path / "mine", "--split", "validation", *search)[1]
    without = command("score", run, "--corpus", tmp_path / "mine", *search)[1]
    assert with_tests.startswith("mine test: 5") and without.startswith("mine validation: 5") and without == asked


def test_test_sets_alone_are_scored_and_other_languages_are_told(run, corpus, tmp_path, command):
    search = ("--beam-size", "1", "--extra-length", "4")
    (mine := tmp_path / "digits").mkdir()
    for side in ("en", "de"):
        shutil.copy(corpus / f"test.{side}", mine)
    assert command("score", run, "--corpus", mine, *search) == command("score", run, *search)
    status, _, err = command("score", run, "--corpus", f"{mine}:de-en", *search)
    assert (status, err.splitlines()[0]) == (0, f"{run} translates en to de, and digits:de-en is de to en")
    (mine / "test.fr").write_text("un\n" * 5)
    said = command("score", run, "--corpus", f"{mine}:en-fr", *search)[2]
    assert said.startswith(f"{run} translates en to de, and digits:en-fr is en to fr\n")
    for name in ("test.en", "test.de"):
        (mine / name).rename(mine / name.replace(".en", ".eng").replace(".de", ".de_AT"))
    assert "translates" not in command("score", run, "--corpus", f"{mine}:eng-de_AT", *search)[2]
    assert other_languages(("es", "de"), Corpus("", "spa", "DE-at", [], [], {})) == ""
    assert other_languages(("es", "de"), Corpus("", "es", "da", [], [], {}))
    assert other_languages(("es", "deu"), Corpus("", "es", "ger", [], [], {})) == ""
    assert not other_languages((), Corpus("", "es", "da", [], [], {}))


def test_a_parser_does_not_translate(complaint):
    said = complaint("translate", "parser-en", stdin=b"A dog .\n")
    assert said.endswith("parser-en writes trees, not sentences: `parse` makes them readable")


def test_a_word_that_is_given_as_an_option_and_help_as_a_command(command, complaint):
    assert complaint("translate", "--model", "m").endswith("there is no option --model: MODEL is given without an option; see "
                                                           "annotated-transformer translate --help")
    assert "there is no option --out: OUT is given without an option" in complaint("average", "m", "--out=x")
    assert command("help", "score") == command("score", "--help") and command("help") == command()


def test_a_run_is_scored_before_its_first_validation(run, tmp_path, command):
    copy = shutil.copytree(run, tmp_path / "run")
    (copy / "metrics.jsonl").write_text("")
    status, _, err = command("score", copy, "--beam-size", "1", "--extra-length", "4", "--out", tmp_path / "figures.json")
    assert (status, err) == (0, "")
    assert json.loads((tmp_path / "figures.json").read_text())["training"]["step"] == STEPS


def test_a_run_is_scored_on_the_corpus_that_it_was_trained_on_or_on_none(corpus, tmp_path, monkeypatch, command, complaint):
    here, there, nowhere = (tmp_path / name for name in ("here", "there", "nowhere"))
    shutil.copytree(corpus, here / "mine")
    shutil.copytree(corpus, there / "mine")
    nowhere.mkdir()
    search = ("--beam-size", "1", "--extra-length", "4")
    monkeypatch.chdir(here)
    assert command(*TRAIN, "--steps", "2", "--corpus", "mine", "--run", "run")[0] == 0
    before = command("score", "run", *search)
    assert before[1].startswith("mine test: 5 sentences")
    monkeypatch.chdir(there)
    (there / "mine" / "test.en").rename(there / "mine" / "train.en")
    (there / "mine" / "test.de").rename(there / "mine" / "train.de")
    assert command("score", "../here/run", *search)[1].startswith("mine validation: 5")  # what is validated on has stayed
    (there / "mine" / "validation.de").write_text("null\n" * 5)
    message = complaint("score", "../here/run", *search)
    assert message.startswith("../here/run was trained on 'mine', and what has this name here has other validation pairs: give")
    assert command("score", "../here/run", "--corpus", "../here/mine", *search) == before
    monkeypatch.chdir(nowhere)
    message = complaint("score", "../here/run", *search)
    assert message.startswith("../here/run was trained on 'mine': if that is elsewhere now, give it with --corpus (there is no")


def test_a_directory_may_be_named_with_a_slash_when_a_run_goes_on(corpus, tmp_path, monkeypatch, command, complaint):
    monkeypatch.chdir(corpus.parent)
    for name, steps in ((corpus.name, 2), (f"{corpus.name}/", 3), (f"./{corpus.name}", 4)):
        assert command(*TRAIN, "--steps", steps, "--corpus", name, "--run", tmp_path / "run")[::2] == (0, "")
    assert Run(tmp_path / "run").last()["step"] == 4
    assert "corpus=" in complaint(*TRAIN, "--corpus", "numbers-en-de", "--run", tmp_path / "run")


def test_what_stands_beside_a_result_takes_no_place_of_the_users(run, tmp_path, monkeypatch, command, complaint):
    (tmp_path / "notes.txt").write_text("mine")
    out = ("--split", "validation", "--beam-size", "1", "--extra-length", "4", "--out")
    with monkeypatch.context() as patch:
        patch.setattr(Translator, "translate", lambda *_: pytest.fail("it translated first"))
        message = complaint("score", run, *out, tmp_path / "notes.json")
    assert message.startswith(f"--out {tmp_path / 'notes.json'} also writes {tmp_path / 'notes.txt'}, which already exists")
    assert (tmp_path / "notes.txt").read_text() == "mine" and len(list(tmp_path.iterdir())) == 1
    first, again = (command("score", run, *out, tmp_path / "scores.json") for _ in range(2))
    assert first == again and first[0] == 0


@pytest.mark.parametrize("options, expected", [
    ("--split dev", "no split 'dev': choose one of train, validation, test"),
    ("--corpus digist", "there is no corpus and no directory 'digist'"),
    ("--beam-size 0", "--beam-size must be at least 1, not 0"),
    ("--precision int4", "--precision"),
    ("--beam-size 1000000", "beam size must be at most 48, the tokens of the model"),
    ("--out figures.txt", "figures.txt: give the name of a file that ends in .json"),
])
def test_a_score_that_cannot_be(options, expected, run, tmp_path, monkeypatch, complaint):
    monkeypatch.chdir(tmp_path)
    assert expected in complaint("score", run, "--out", "new/figures.json", *options.split())
    assert list(tmp_path.iterdir()) == []


def test_results_that_cannot_be_written_are_known_before_the_work(run, tmp_path, monkeypatch, complaint):
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(Translator, "translate", lambda *_: pytest.fail("it translated first"))
    assert str(tmp_path / "file") in complaint("score", run, "--out", tmp_path / "file" / "figures.json")


def test_a_run_is_scored_in_eight_bits_and_its_record_says_so(run, tmp_path, command):
    options = ("--split", "validation", "--beam-size", "1", "--extra-length", "4", "--precision", "int8")
    status, out, err = command("score", run, *options, "--out", tmp_path / "light.json")
    record = json.loads((tmp_path / "light.json").read_text())
    assert (status, err) == (0, "") and record["search"]["precision"] == "int8" and "--precision int8" in record["command"]


def test_weights_that_were_stored_in_16_bits_are_searched_in_16_and_the_record_says_so(run, tmp_path, command):
    options = ("--split", "validation", "--beam-size", "1", "--extra-length", "4")
    directory = tmp_path / "stored"
    translator = Translator.from_pretrained(run)
    translator.model.load_state_dict({name: weight.half() for name, weight in translator.model.state_dict().items()})
    translator.save_pretrained(directory)
    corpus, found = Run(run).config.corpus, {}
    for model in (run, directory):
        assert command("score", model, "--corpus", corpus, *options, "--out", tmp_path / "scores.json")[0] == 0
        found[model] = json.loads((tmp_path / "scores.json").read_text())
    expected = ["float16"] if fits_sixteen_bits(translator.model) else []
    assert [found[directory]["search"][key] for key in found[directory]["search"] if key == "precision"] == expected
    assert "precision" not in found[run]["search"] and ("--precision float16" in found[directory]["command"]) == bool(expected)
    exact = command("score", directory, "--corpus", corpus, *options, "--precision", "float32")[1]
    assert command("score", directory, "--corpus", corpus, *options)[1] == exact


# Attention


@pytest.mark.parametrize("name, begins", [
    ("heads.svg", b"<?xml"), ("heads.PDF", b"%PDF"), ("new/heads.png", b"\x89PNG"), ("heads.html", b"<!DOCTYPE html>"),
])
def test_attention_is_drawn_in_the_form_of_the_file(name, begins, run, tmp_path, command):
    out = tmp_path / name
    status, printed, err = command("attend", "four two", "--model", run, "--out", out)
    assert (status, err) == (0, "")
    source, translation, path = printed.split("\n")[:-1]
    assert (source, path) == ("four two", str(out))
    assert translation.split() == Translator.from_pretrained(run).translate(["four two"])[0].split()
    assert out.read_bytes().startswith(begins)
    assert [path.name for path in out.parent.iterdir()] == [out.name]  # nothing else is left there


def test_each_option_of_attend_reaches_the_picture(run, tmp_path, monkeypatch, command):
    maps = Translator.from_pretrained(run).attention("one two", "drei eins null")
    assert maps.target != maps.words().target  # so that whole words have something to merge
    drawn = []
    for name in ("plot_figure", "plot_heat_maps"):
        real = getattr(attention_maps, name)
        noting = lambda *given, name=name, real=real: drawn.append((name, *given)) or real(*given)  # noqa: E731
        monkeypatch.setattr(attention_maps, name, noting)
    given = ["attend", "one two", "--model", run, "--out", tmp_path / "heads.svg", "--target", "drei eins null"]
    for options in ("--figure 3 --word two --heads 2 --no-whole-words", "--figure 5 --kind encoder-decoder --layer 1 --heads 2 1",
                    "--figure heat --kind decoder --heads 1", "--figure 4 --no-hide-end"):
        assert command(*given, *options.split())[0] == 0
    said = "The picture is of the encoder, which does not see the target: --kind encoder-decoder does.\n"
    assert command(*given)[2] == said and command(*given, "--kind", "encoder")[2] == command(*given[:-2])[2] == ""
    one, two, three, four, *_ = drawn
    assert (one[0], *one[2:]) == ("plot_figure", 3, "encoder", None, [2], "two", False, True)
    assert (two[0], *two[2:]) == ("plot_figure", 5, "encoder_decoder", 1, [2, 1], None, True, True)
    assert (three[0], *three[2:]) == ("plot_heat_maps", "decoder", None, [1], True)
    assert (four[0], *four[2:]) == ("plot_figure", 4, "encoder", None, None, None, True, False)
    assert (one[1].source, one[1].target) == (maps.source, maps.target) and torch.equal(one[1].decoder, maps.decoder)
    assert two[1].target == ["drei", "eins", "null", "<eos>"]


def test_attend_warns_of_a_translation_as_translate_does(tmp_path, command):
    unsure, out = "The model is unsure of this translation: do not rely on it.\n", tmp_path / "heads.html"
    for given, expected in ((["你好 🐕 dog."], unsure), (["A dog runs."], ""), (["你好 🐕 dog.", "--target", "Ein Hund."], ""),
                            (["A dog runs.", "--beside", "你好 🐕 dog."], f"second sentence: {unsure}")):
        status, printed, err = command("attend", *given, "--out", out)
        assert (status, err) == (0, expected) and printed.endswith(f"{out}\n")


def first_on_the_page(path: Path) -> tuple:
    "What the page begins with, and of which sentences."
    data = json.loads(re.search(r'id="maps">(.*?)</script>', path.read_text(encoding="utf-8"))[1])
    return (*data["first"].values(), *(one["source"] for one in data["sentences"]))


def test_a_page_begins_where_it_is_told_or_at_the_head_that_aligns_best(run, tmp_path, command):
    out, given = tmp_path / "heads.html", ["attend", "one two", "--model", run, "--out", tmp_path / "heads.html"]
    maps = Translator.from_pretrained(run).attention("one two").words()
    for options, expected in (
        ([], (*attention_maps.explore(maps.without_end()).first, "one two")),
        (["--kind", "encoder"], ("encoder", 1, 1, "one two")),
        (["--heads", "2", "--beside", "four"], ("encoder_decoder", 1, 2, "one two", "four")),
        (["--layer", "1", "--no-hide-end", "--beside", "four"], ("encoder_decoder", 1, 1, "one two", "four")),
    ):
        status, printed, err = command(*given, *options)
        assert (status, err) == (0, "") and first_on_the_page(out) == expected
        assert printed.splitlines()[::2] == [*expected[3:], str(out)]  # after each sentence its translation
        assert (r"\u003ceos>" in out.read_text(encoding="utf-8")) == ("--no-hide-end" in options)
    assert command("attend", "A dog runs.", "--out", out)[0] == 0
    assert first_on_the_page(out) == ("encoder_decoder", *record_of("everyday-en-de").alignment_head, "A dog runs.")


def test_a_table_has_the_weights_that_are_asked_for(run, tmp_path, command):
    out, maps = tmp_path / "heads.csv", Translator.from_pretrained(run).attention("one two")
    weights, queries, keys = maps.words().of("encoder_decoder")
    L, h, T, S = weights.shape
    for options, of in (("", range(1, h + 1)), ("--layer 1 --heads 2", [2]), ("--heads 2 1", [1, 2])):
        given = ["attend", "one two", "--model", run, "--out", out, "--kind", "encoder-decoder", *options.split()]
        status, printed, err = command(*given)
        assert (status, err, printed.splitlines()[-1]) == (0, "", str(out))
        with open(out, encoding="utf-8", newline="") as file:
            rows = [*csv.DictReader(file)]
        expected = weights[:, [n - 1 for n in of]].flatten().tolist()
        assert [float(row["weight"]) for row in rows] == pytest.approx(expected, abs=1e-6)
        assert [(row["query_token"], row["key_token"]) for row in rows] == L * len(of) * [(q, k) for q in queries for k in keys]
        assert {(row["kind"], row["layer"], int(row["head"])) for row in rows} == {("encoder_decoder", "1", n) for n in of}
        assert [(int(row["query"]), int(row["key"])) for row in rows[-2:]] == [(T, S - 1), (T, S)]
    command("attend", "one two", "--model", run, "--out", out, "--no-whole-words")
    S, T = len(maps.source), len(maps.target)
    assert len(out.read_text(encoding="utf-8").splitlines()) == 1 + L * h * (S * S + T * T + T * S)


@pytest.mark.parametrize("options, expected", [
    ("--out heads.jpg", "--out heads.jpg: give the name of a file that ends in .svg, .pdf, .png, .csv or .html"),
    ("--out heads", "--out heads: give the name of a file"),
    ("--word three", "there is no word 'three' to look from: choose one of one two"),
    ("--word <eos>", "there is no word '<eos>' to look from: choose one of one two"),
    ("--word three --no-hide-end", "there is no word 'three' to look from: choose one of one two <eos>"),
    ("--kind encoder-decoder --target eins --word one", "there is no word 'one' to look from: choose one of eins"),
    ("--word two --figure 5", "--word chooses the rows of Figures 3 and 4"),
    ("--out new/heads.html --word two", "--word applies to pictures: let --out new/heads.html end in .svg or .pdf or .png"),
    ("--out new/heads.html --figure 4", "--figure applies to pictures"),
    ("--out new/heads.csv --word two", "--word applies to pictures: let --out new/heads.csv end in .svg or .pdf or .png"),
    ("--out new/heads.html --heads 1 2", "--heads: a page begins with one head and shows all: give one, not 2"),
    ("--beside one", "--beside shows a second sentence on a page: let --out new/heads.svg end in .html"),
    ("--layer 2", "there is no layer 2: the model has layers 1 to 1"),
    ("--layer 0", "there is no layer 0"),
    ("--heads 1 3", "there is no head 3: a layer of the model has heads 1 to 2"),
    ("--figure 6", "--figure"),
    ("--kind cross", "--kind: 'cross' is none of encoder, decoder, encoder-decoder"),
    ("--model nowhere", "nowhere"),
])
def test_attention_that_cannot_be_drawn(options, expected, run, tmp_path, monkeypatch, complaint):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Translator, "attention", lambda *_: pytest.fail("it went to work first"))
    assert expected in complaint("attend", "one two", "--model", run, "--out", "new/heads.svg", *options.split())
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("options, expected", [
    (["", "--out", "new/heads.svg"], "the value is empty"),
    ([" ", "--out", "new/heads.svg"], "the source holds no words"),
    (["one two", "--target", " ", "--out", "new/heads.svg"], "the target holds no words"),
    (["two " * 30, "--out", "new/heads.svg"], "the model takes 24: split it, or shorten it"),
    (["one two", "--beside", " ", "--out", "new/heads.html"], "the second sentence holds no words"),
    (["one two"], "--out is missing"),
    (["one \udcff", "--out", "new/heads.svg"], "this is not text in your locale"),
    (["one two", "--out", "a\0.svg"], "has a zero byte"),
])
def test_a_sentence_that_cannot_be_drawn(options, expected, run, tmp_path, monkeypatch, complaint):
    monkeypatch.chdir(tmp_path)
    assert expected in complaint("attend", *options, "--model", run)
    assert list(tmp_path.iterdir()) == []


def test_a_picture_is_there_whole_or_not_at_all(run, tmp_path, monkeypatch, complaint):
    def full(self, file, **_):
        file.write(b"half")
        raise OSError(28, "No space left on device")

    out = tmp_path / "heads.svg"
    out.write_text("the old one")
    monkeypatch.setattr("matplotlib.figure.Figure.savefig", full)
    assert "No space left on device" in complaint("attend", "one two", "--model", run, "--out", out)
    assert out.read_text() == "the old one" and list(tmp_path.iterdir()) == [out]


# Averaging, corpora, help


def test_the_mean_of_checkpoints_is_a_model_of_its_own(run, corpus, tmp_path, command, complaint):
    model = tmp_path / "model"
    status, out, _ = command("average", run, model, "--last", "2")
    assert status == 0 and "the mean of the last 2 checkpoints" in out
    first, second = (load_file(directory / "model.safetensors") for directory in checkpoint_directories(run)[-2:])
    for name, weight in load_file(model / "model.safetensors").items():
        torch.testing.assert_close(weight, (first[name] + second[name]) / 2)
    by_model = command("translate", model, stdin=b"one two\nfour\n")
    assert by_model == command("translate", run, "--average", "2", stdin=b"one two\nfour\n") and by_model[0] == 0
    assert command("score", model, "--corpus", corpus, "--beam-size", "1")[0] == 0
    assert "names no corpus" in complaint("score", model)
    assert "already exists" in complaint("average", run, model)
    assert [path.name for path in tmp_path.iterdir()] == ["model"]
    assert command("average", run, tmp_path / "last", "--last", "1")[1] == f"{tmp_path / 'last'}: the last checkpoint of {run}\n"
    for options in ([], ["--last", "1"]):
        assert f"{model} is not a run, so it has no checkpoints to average: name the" in complaint("average", model, *options)


@pytest.mark.parametrize("options, expected", [
    ("--last 4", "has 3 checkpoints"),
    ("--last 0", "must be at least 1"),
])
def test_a_mean_that_cannot_be(options, expected, run, tmp_path, complaint):
    assert expected in complaint("average", run, tmp_path / "model", *options.split())
    assert list(tmp_path.iterdir()) == []
    for name in ("score", "translate"):
        assert expected in complaint(name, run, *options.replace("last", "average").split(), stdin=b"one\n")


@pytest.mark.parametrize("software, package", [
    ("marian", "transformers"), ("ctranslate2", "ctranslate2"), ("onnx", "onnxruntime"),
])
def test_a_model_is_exported_whole_or_not_at_all(software, package, run, tmp_path, monkeypatch, command, complaint):
    pytest.importorskip(package, reason="the extra `exchange` is not installed")
    out = tmp_path / software
    assert command("export", run, "--to", software, "--out", out) == (0, f"{out}: {run} for {software}\n", "")
    assert "already exists" in complaint("export", run, "--to", software, "--out", out)
    lines = ["one two", "four nine", "seven"]
    expected = Translator.from_pretrained(run).translate(lines, Search(beam_size=1, extra_length=9))
    if software == "marian":  # is read back, too
        stdin = "".join(f"{line}\n" for line in lines).encode()
        found = command("translate", out, "--beam-size", "1", "--extra-length", "9", stdin=stdin)
        assert found == (0, "".join(f"{line}\n" for line in expected), "")
        picture = tmp_path / "marian" / "heads.svg"
        assert command("attend", "one two", "--model", out, "--out", picture)[0] == 0 and picture.exists()
    elif software == "onnx":
        from annotated_transformer.exchange.onnx_translator import OnnxTranslator

        assert OnnxTranslator(out, threads=1).translate(lines, Search(beam_size=1, extra_length=9)) == expected
    else:
        import ctranslate2
        from sentencepiece import SentencePieceProcessor

        pieces, other = SentencePieceProcessor(str(out / "tokenizer.model")), ctranslate2.Translator(str(out))
        for line, translation in zip(lines, expected):
            source = pieces.encode(line, out_type=str)
            best, = other.translate_batch([source], beam_size=1, max_decoding_length=len(source) + 10, min_decoding_length=0)
            assert pieces.decode(best.hypotheses[0]) == translation
    monkeypatch.setattr(Path, "rename", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left on device", "new")))
    assert "No space left on device" in complaint("export", run, "--to", software, "--out", tmp_path / "new")
    assert list(tmp_path.iterdir()) == [out]


def test_a_model_that_cannot_be_exported(run, tmp_path, complaint):
    assert "there is no such directory" in complaint("export", "nothing", "--to", "marian", "--out", tmp_path / "new")
    assert "marian" in complaint("export", run, "--to", "keras", "--out", tmp_path / "new")
    wide = Translator.from_pretrained(run)
    config = dataclasses.replace(wide.model.config, d_k=5)
    Translator(Transformer(config), wide.tokenizer).save_pretrained(tmp_path / "wide")
    for software in ("marian", "ctranslate2"):
        pytest.importorskip({"marian": "transformers"}.get(software, software), reason="the extra `exchange` is not installed")
        assert "heads of d_k=5" in complaint("export", tmp_path / "wide", "--to", software, "--out", tmp_path / "new")
    assert [path.name for path in tmp_path.iterdir()] == ["wide"]


def test_corpora_are_listed_and_shown(corpus, command, complaint):
    status, out, _ = command("corpora")
    assert status == 0 and [line.split()[0] for line in out.splitlines()] == list(corpora.CORPORA)
    assert all(len(line.split()) > 4 and "<" not in line for line in out.splitlines())
    assert len({line.partition(" ")[2].strip() for line in out.splitlines()}) == len(corpora.CORPORA)  # no two are alike
    status, out, _ = command("corpora", corpus, "--examples", "1")
    assert out == (
        "train: 40 pairs\n  en: one zero\n  de: eins null\n"
        "validation: 5 pairs\n  en: five zero\n  de: fünf null\n"
        "test: 5 pairs\n  en: five five\n  de: fünf fünf\n"
    )
    assert "there is no corpus" in complaint("corpora", "nothing")


@pytest.mark.parametrize("name, options", [
    ("train", "--preset --run --corpus --batch-tokens --steps --warmup-steps --seed --n-layers --d-model --d-k --dropout"),
    ("translate", "MODEL --beam-size --alpha --extra-length --average --precision"),
    ("parse", "MODEL --beam-size --alpha --extra-length --average --precision"),
    ("score", "MODEL --corpus --split --out --beam-size"),
    ("attend", "SENTENCE --out --model --target --beside --figure --kind --layer --heads --word --no-whole-words --no-hide-end "
               "AttentionMaps.from_tensors AttentionMaps.from_hugging_face runs/mine"),
    ("average", "RUN --last"),
    ("export", "MODEL --to --out"),
    ("corpora", "--examples"),
    ("cost", "[RUN] --rate --scored --tokens-per-second --devices"),
    ("variations", "--preset --run --corpus --rows --seeds --steps --n-layers"),
    ("workbook", "DIRECTORY --check"),
])
def test_help_answers(name, options, command):
    status, out, err = command(name, "--help-all")
    assert (status, err) == (0, "") and out.startswith(f"usage: annotated-transformer {name}")
    assert all(option in out for option in options.split())
    _, short, _ = command(name, "--help")
    assert len(short.splitlines()) <= 45 and "example" in short and "None}" not in out + short
    assert all(len(line) <= 80 or line.startswith("  annotated-transformer") for line in (out + short).splitlines())
    assert name in command("--help")[1] and command() == command("--help")


def test_version_is_that_of_the_installed_package(command):
    assert command("--version") == (0, f"annotated-transformer {importlib.metadata.version('annotated_transformer')}\n", "")
    assert "--version" in command("--help")[1]


@pytest.mark.parametrize("terminal, encoding", [(True, "utf-8"), (False, "utf-8"), (False, "latin-1")])
@pytest.mark.parametrize("arguments, expected", [
    ("trian", "there is no command 'trian'; did you mean train?"),
    ("fly", "there is no command 'fly'; choose one of translate, train, score"),
    ("score", "MODEL is missing; see annotated-transformer score --help"),
    ("translate run --beam-siez 3", "there is no option --beam-siez; did you mean --beam-size?; see"),
    ("score run --beam-size high", "--beam-size: 'high' is not a whole number; see annotated-transformer score --help"),
    ("translate run more", "'more' is one word too many; see annotated-transformer translate --help"),
    (f"translate run {__file__}", f"'{__file__}' is one word too many: the text comes from standard input, as in "
                                  f"annotated-transformer translate MODEL < {__file__}"),
    (f"translate {__file__}", f"{__file__} is a file and no model: the text comes from standard input, as in "
                              f"annotated-transformer translate < {__file__}"),
    (f"parse {__file__}", f"{__file__} is a file and no model"),
])
def test_words_that_are_no_command(terminal, encoding, arguments, expected, complaint, monkeypatch):
    class Output(io.StringIO):  # colours and boxes depend on where standard output goes
        def isatty(self):
            return terminal

    Output.encoding = encoding
    monkeypatch.setattr(sys, "stdout", Output())
    monkeypatch.setenv("TERM", "xterm")
    message = complaint(*arguments.split())
    assert message.startswith(expected)
    assert not set("\x1b─│╭╰") & set(message) and "---" not in message and "  " not in message


def test_the_help_of_a_search_says_its_defaults(capsys):
    cli.main(["translate", "--help-all"])
    text = " ".join(capsys.readouterr().out.split())
    for said in (
        f"{Search.beam_size} to translate and {PARSING.beam_size} to parse.",
        f"or else {Search.alpha}, to parse {PARSING.alpha}, or {TREES.alpha:g} where the model copies the words",
        f"{Search.extra_length} to translate and {PARSING.extra_length} to parse.",
    ):
        assert said in text


@pytest.mark.parametrize("kind, bar", [("xterm", True), ("dumb", False)])
def test_a_terminal_that_is_dumb_gets_no_bar_that_is_drawn_over_and_over(kind, bar, monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setenv("TERM", kind)
    for _ in progress_bar(iterable=range(3), mininterval=0):
        pass
    assert ("\r" in sys.stderr.getvalue()) == bar


def test_a_translator_that_serves_keeps_no_thread_of_its_bars(run):
    translator = Translator.from_pretrained(run)
    translator("one")
    before = threading.active_count()
    for _ in range(3):
        translator("one two")
    assert threading.active_count() == before


# The first calls


def test_a_sentence_gives_a_sentence_and_a_list_a_list(run):
    translator = Translator.from_pretrained(run)
    alone = translator.translate("one two", Search(beam_size=2))
    assert isinstance(alone, str) and [alone] == translator.translate(["one two"], Search(beam_size=2))
    assert translator("one two", Search(beam_size=2)) == alone and translator(["one two", ""], Search(beam_size=2)) == [alone, ""]
    assert str(run) in repr(translator) and "48 tokens" in repr(translator) and "1 + 1 layers" in repr(translator)
    assert repr(Translator(translator.model, translator.tokenizer)).startswith("<Translator (new): ")


def test_maps_show_themselves_as_the_chart(run):
    maps = Translator.from_pretrained(run).attention("one two", "drei eins")
    shown = maps._repr_mimebundle_()
    assert shown["application/vnd.vegalite.v5+json"]["datasets"] and shown["text/plain"] == repr(maps)
    assert repr(maps).startswith("<AttentionMaps: 1 layer of 2 heads, from ") and "tensor" not in repr(maps)


def test_the_model_that_ships_keeps_punctuation_apart_and_knows_its_corpus(command, monkeypatch):
    maps = Translator.from_pretrained("everyday-en-de").attention("Yes, a girl reads.", "Ja, ein Mädchen liest.")
    assert maps.words().source == ["Yes", ",", "a", "girl", "reads", ".", "<eos>"]
    assert maps.words(signs_apart=False).source == ["Yes,", "a", "girl", "reads.", "<eos>"]
    assert (maps.words().encoder.sum(-1) - 1).abs().max() < 1e-4
    small = Corpus("numbers-en-de", "en", "de", [], [("forty-two", "zweiundvierzig")] * 2, {})
    monkeypatch.setitem(corpora.CORPORA, "numbers-en-de", lambda: small)
    status, out, err = command("score", "numbers-en-de")
    assert (status, err) == (0, "") and out.startswith("numbers-en-de validation: 2 sentences")


def test_what_the_model_is_unsure_of_is_told_by_line(command, monkeypatch):
    monkeypatch.setattr("annotated_transformer.command_line.terminal.AT_ONCE", 2)
    odd = "Zebrafish embryos exhibit pluripotency."
    given = f"A girl reads.\n{odd}\n\nWe got up early. The weather was nice. So we went to the lake. {odd}\n你好，世界。\n"
    status, out, err = command("translate", stdin=given.encode())
    assert status == 0 and out.count("\n") == 5 and out.split("\n")[2] == ""
    assert err == "".join(f"line {number}: {UNSURE}\n" for number in (2, 4, 5))
    assert command("translate", "multi30k-en-de", stdin=given.encode())[::2] == (0, ""), "a model without a threshold never warns"
    monkeypatch.setattr("annotated_transformer.command_line.terminal.at_terminal", lambda: True)
    monkeypatch.setattr("annotated_transformer.command_line.translate_and_parse.at_terminal", lambda: True)
    status, out, err = command("translate", stdin=f"A girl reads.\n{odd}\n".encode())
    assert (status, out.count("\n")) == (0, 2) and err.split("\n")[1:] == [UNSURE, ""]


def test_a_line_of_several_sentences_is_cut_unless_told_otherwise(command):
    sentences = ["We arrived late last night.", "The hotel was closed.", "Nobody answered the phone.", "So we slept in the car."]
    line = " ".join(sentences)
    apart, whole = ([*map(str.strip, command("translate", *words, stdin=given)[1].splitlines())] for words, given in (
        ((), "\n".join([*sentences, line, ""]).encode()), (("--no-split",), f"{line}\n".encode())))
    assert apart[4] == " ".join(apart[:4]) and len(apart) == 5
    assert len(whole) == 1 and whole != apart[4:]


def test_heads_are_drawn_of_one_sentence(command, tmp_path):
    line = "I got up early. It was very cold. Nobody was in the street."
    status, out, err = command("attend", line, "--out", str(tmp_path / "heads.svg"))
    assert (status, out) == (2, "") and "the text is 3 sentences" in err and err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []
    assert command("attend", line, "--target", "Es war kalt.", "--out", str(tmp_path / "heads.svg"))[0] == 0


def test_a_second_sentence_that_is_several_is_blamed_itself(command, tmp_path):
    line, page = "I got up early. It was very cold. Nobody was in the street.", str(tmp_path / "heads.html")
    for more in ([], ["--target", "Ein Mädchen liest."]):  # the target is of the first, and helps the second in nothing
        status, out, err = command("attend", "A girl reads.", *more, "--beside", line, "--out", page)
        assert (status, out) == (2, "") and "--beside: the text is 3 sentences" in err and "target" not in err
    assert list(tmp_path.iterdir()) == []
    assert command("attend", "A girl reads.", "--beside", "It was very cold.", "--out", page)[0] == 0


def test_a_person_is_told_which_model_answers_and_how_to_end(run, command, monkeypatch):
    for module in ("terminal", "translate_and_parse"):
        monkeypatch.setattr(f"annotated_transformer.command_line.{module}.at_terminal", lambda: True)
    for name, said in ((str(run), "trained on "), ("numbers-en-de", "for numbers, prices, dates and times")):
        status, out, err = command("translate", name)
        assert (status, out) == (0, "") and err.startswith(f"{name}, ") and said in err and err.endswith("Ctrl-D ends.\n")
        assert err.count("\n") == 1


# What is loaded, and when


def loaded_by(words: list[str]) -> set[str]:
    "The modules that a fresh process has loaded when the command is through."
    program = f"""
import sys
from annotated_transformer.command_line.main import main
try:
    main({words!r})
except SystemExit as end:
    assert not end.code
print("LOADED", *sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", program], input=b"one two\n", capture_output=True, check=True)
    return set(done.stdout.decode().rpartition("LOADED")[2].split())


@pytest.mark.parametrize("words", [["--version"], ["--help"], [], ["translate", "--help"], ["train", "--help"]])
def test_help_and_version_answer_before_torch_is_loaded(words):
    loaded = loaded_by(words)
    assert not loaded & {"torch", "numpy", "sentencepiece", "huggingface_hub", "matplotlib"}


def test_translating_loads_nothing_that_it_does_not_use(run):
    loaded = loaded_by(["translate", str(run), "--extra-length", "4"])
    assert "torch" in loaded and "torch._dynamo" not in loaded  # its compiler, which takes over a second to load
    unused = "nltk tensorboard vl_convert altair matplotlib sacrebleu sacremoses pooch transformers ctranslate2"
    assert not loaded & set(unused.split())


# Streams, signals, surroundings


@pytest.mark.parametrize("redirection, expected", [
    ("<&-", "standard input is closed"), (">&-", "standard output is closed"),
])
def test_a_closed_stream(redirection, expected, run):
    command = f"{shlex.quote(sys.executable)} -m annotated_transformer translate {shlex.quote(str(run))} {redirection}"
    done = subprocess.run(["sh", "-c", command], stdin=subprocess.DEVNULL, capture_output=True)
    assert done.returncode == 2 and done.stderr.decode().startswith(f"annotated-transformer: {expected}")
    assert done.stderr.count(b"\n") == 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no such device here")
@pytest.mark.parametrize("words", ["corpora", "corpora {corpus} --examples 40", "translate {run}"])
def test_a_full_disk_behind_standard_output_is_told_with_its_name(words, corpus, run):
    command = f"{shlex.quote(sys.executable)} -m annotated_transformer {words.format(corpus=corpus, run=run)} > /dev/full"
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    done = subprocess.run(["sh", "-c", command], input=b"one\n", capture_output=True, env=environment)
    said = b"annotated-transformer: No space left on device: 'standard output'\n"
    assert (done.returncode, done.stderr) == (2, said)


def test_a_command_to_go_on_with_can_be_pasted(corpus, tmp_path, monkeypatch, command):
    place = tmp_path / "a name"
    quoted = shlex.quote(str(place))
    _, out, _ = command(*TRAIN, "--steps", "1", "--corpus", corpus, "--run", place)
    assert out.endswith(f"\nNext: annotated-transformer score {quoted}\n")
    assert f": annotated-transformer workbook {quoted} --check\n" in command("workbook", place)[1]
    pytest.importorskip("onnx", reason="the extra `exchange` is not installed")
    monkeypatch.setattr("annotated_transformer.exchange.browser_page.write_page", lambda *_: None)
    place = tmp_path / "a page"
    _, out, _ = command("page", place, "numbers-en-de")
    assert f"Next: python -m http.server --directory {shlex.quote(str(place))}, and" in out


def test_output_is_utf_8_whatever_the_locale_says(corpus):
    child = process("corpora", corpus, "--examples", "9", PYTHONIOENCODING="ascii")
    out, err = child.communicate()
    assert (child.returncode, err) == (0, b"") and "fünf" in out.decode("utf-8")


def test_a_name_that_the_locale_cannot_hold(corpus, tmp_path):
    locale = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    child = process(*TRAIN, "--corpus", corpus, "--run", tmp_path / "ü_run", **locale)
    out, err = child.communicate()
    assert (child.returncode, out) == (2, b"") and err.startswith(b"annotated-transformer: ") and err.count(b"\n") == 1
    assert b"not text in your locale" in err and not any(path.name.endswith("_run") for path in tmp_path.iterdir())


@pytest.mark.parametrize("module", [f"{PACKAGE}.command_line.main", "torch", f"{PACKAGE}.translation.translator"])
def test_ctrl_c_ends_a_filter_without_a_word_also_while_modules_are_loaded(module):
    program = f"""
import os, signal, sys

class Interrupt:
    def find_spec(self, name, *_):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)

signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever started the tests in the background had it ignored
from annotated_transformer.__main__ import main
sys.meta_path.insert(0, Interrupt())
sys.argv = ["annotated-transformer", "translate", "numbers-en-de"]
main()
"""
    done = subprocess.run([sys.executable, "-c", program], stdin=subprocess.DEVNULL, capture_output=True)
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGINT, b"", b"")


def test_a_backend_that_matplotlib_does_not_have(run, tmp_path):
    child = process("attend", "one", "--model", run, "--out", tmp_path / "heads.svg", MPLBACKEND="nosuch")
    out, err = child.communicate()
    assert (child.returncode, out) == (2, b"")
    assert err.startswith(b"annotated-transformer: matplotlib cannot be loaded with MPLBACKEND=nosuch ")
    assert err.count(b"\n") == 1


@pytest.mark.parametrize("words, expected", [
    (["translate", "a\n/b"], r"a\n/b: there is no such directory"),
    (["translate", "numbers-en-de", "--average", "3"], "average: numbers-en-de is not a run, so it has no checkpoints"),
    (["corpora", "numbers-en-de", "--examples", "-1"], "--examples must be at least 0, not -1"),
    (["score", "numbers-en-de", "--corpus", ""], "--corpus: the value is empty"),
    (["cost", "run", "--rate", "-1"], "--rate must be a number above 0, not -1"),
    (["cost", "run", "--rate", "nan"], "--rate must be a number above 0, not nan"),
])
def test_a_value_that_cannot_be(words, expected, complaint):
    assert complaint(*words).startswith(expected)


def test_work_that_lasts_writes_a_line_now_and_then_where_nobody_watches(monkeypatch, capsys):
    from annotated_transformer import progress_bar

    monkeypatch.setattr(progress_bar, "EVERY", 0.02)
    monkeypatch.setitem(sys.modules, "ipykernel", sys)  # imported, as by a debugger; and yet no notebook
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: None))
    with progress_bar.progress_bar(total=40, desc="a run", unit="step", disable=False) as bar:
        for _ in range(40):
            time.sleep(0.005)
            bar.update()
            bar.write("said too")
    out, err = capsys.readouterr()
    lines = err.splitlines()
    assert out == "" and 2 < len(lines) and "\r" not in err and "said too" in lines
    assert all(re.match(r"a run: +\d+% \d+/40 \[00:", line) or line == "said too" for line in lines)
    with progress_bar.progress_bar(total=4, shown=False) as bar:
        bar.update()
    assert capsys.readouterr() == ("", "")
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: SimpleNamespace(kernel=1)))
    with progress_bar.progress_bar(total=4, ascii=True):
        pass
    assert "\r" in capsys.readouterr().err  # a notebook gets the bar itself
