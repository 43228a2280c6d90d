"Files that fit their checksums and hold what no training wrote: one sentence, before memory, time or work is lost."
import json
import os
import shutil
from dataclasses import replace

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from annotated_transformer import InputError, Transformer, Translator
from annotated_transformer.config import Search, TransformerConfig
from annotated_transformer.data import corpora
from annotated_transformer.data.huggingface import from_hub
from annotated_transformer.data.tokenizer import Tokenizer
from annotated_transformer.files import write_sums
from annotated_transformer.tables.variations import collect, measured
from annotated_transformer.training.loading import load, save
from annotated_transformer.training.loop import train
from annotated_transformer.training.runs import Run

DEEP, NAMES = "[" * 100_000, ("model.safetensors", "training_state.safetensors", "state.json")


def forge(path, **changes):
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def newest(run):
    return Run(run).checkpoints()[-1]


def resumed(trained, run):
    return train(replace(trained[0], steps=22), run)


# Adam's state: fused Adam writes through a tensor of the wrong size, into memory that is not its own

FORGED = {
    "too short": lambda state, name: state | {name: torch.zeros(1)},
    "too long": lambda state, name: state | {name: torch.zeros(100, 8)},
    "transposed": lambda state, name: state | {name: state[name].T.contiguous()},
    "whole numbers": lambda state, name: state | {name: state[name].int()},
    "64 bits": lambda state, name: state | {name: state[name].double()},
    "infinite": lambda state, name: state | {name: torch.full_like(state[name], float("inf"))},
    "a name missing": lambda state, name: {other: value for other, value in state.items() if other != name},
    "none at all": lambda state, name: {},
    "a name too many": lambda state, name: state | {"more.exp_avg": torch.zeros(1)},
}


@pytest.mark.parametrize("kind", FORGED)
@pytest.mark.parametrize("name", ["embedding.weight.exp_avg", "embedding.weight.exp_avg_sq", "embedding.weight.step"])
def test_a_state_of_adam_that_does_not_fit_the_model_is_refused_before_it_is_used(kind, name, trained, run):
    path = newest(run) / NAMES[1]
    state = load_file(path)
    if kind == "transposed" and state[name].dim() < 2:
        pytest.skip("one number")
    save_file(FORGED[kind](state, name), path)
    write_sums(newest(run), NAMES)
    before = {path: path.read_bytes() for path in run.glob("checkpoints/*/*")}
    with pytest.raises(InputError, match="training_state.safetensors: "):
        resumed(trained, run)
    assert {path: path.read_bytes() for path in run.glob("checkpoints/*/*")} == before


# JSON

@pytest.mark.parametrize("changes", [
    *({name: value} for name, values in {
        "step": ("20", None, [20], 20.5, -5, 10**300, True), "epoch": (-1, "1"), "batch": (None, 1.5), "seconds": (-1, "x"),
        "source_tokens": ("x", 2**63), "since_line": (None, {}, [], {"loss": "x", "tokens": 1, "seconds": 1.0}), "regular": (1,),
    }.items() for value in values), "{}", "[]", "7", DEEP, '{"step": NaN}', '{"step": 20}',
], ids=lambda value: str(value)[:40])
def test_a_state_of_a_run_that_cannot_be(trained, run, changes, complaint):
    path = newest(run) / NAMES[2]
    path.write_text(changes) if isinstance(changes, str) else forge(path, **changes)
    write_sums(newest(run), NAMES)
    with pytest.raises(InputError, match="state.json: "):
        resumed(trained, run)
    if not isinstance(changes, dict) or changes.keys() & {"step", "seconds", "source_tokens"}:
        assert "state.json" in complaint("cost", run)


def test_a_count_that_a_state_lacks_is_named(trained, run):
    for name in ("batch", "source_tokens", "seconds", "device_seconds"):
        path = newest(run) / NAMES[2]
        state = json.loads(path.read_text())
        path.write_text(json.dumps({key: value for key, value in state.items() if key != name}))
        write_sums(newest(run), NAMES)
        with pytest.raises(InputError, match=f"state.json: {name} is missing"):
            resumed(trained, run)
        path.write_text(json.dumps(state))


def test_a_checkpoint_of_before_there_were_irregular_ones_is_a_regular_one(trained, run):
    older = Run(run).checkpoints()
    for directory in older:
        state = json.loads((directory / NAMES[2]).read_text())
        del state["regular"]
        (directory / NAMES[2]).write_text(json.dumps(state))
        write_sums(directory, NAMES)
    train(replace(trained[0], steps=20), run)
    assert Run(run).checkpoints() == older


@pytest.mark.parametrize("changes", [
    {name: value} for name, values in {
        "d_model": (16.0, 16.5, True, "8", None), "n_heads": (2.0,), "n_layers": (1.0, 1.5, True), "vocab_size": (48.0,),
        "max_length": (64.5, 2**24), "d_ff": (16.0,), "d_k": (4.0,), "dropout": ("0.1", True), "norm": (3,),
    }.items() for value in values
], ids=str)
def test_a_size_of_the_wrong_type_is_no_size(model, run, changes):
    forge(model / "config.json", **changes)
    [name] = changes
    with pytest.raises(InputError, match=f"config.json: .*{name} must be"):
        Transformer.from_pretrained(model)
    training = json.loads((run / "config.json").read_text())["training"]
    forge(run / "config.json", training=training | {"model": training["model"] | changes})
    with pytest.raises(InputError, match=f"config.json: {name} must be"):
        assert Run(run).config


def test_a_sentence_is_no_longer_for_a_long_value(model, run):
    long = "x" * 100_000
    forge(model / "config.json", norm=long)
    training = json.loads((run / "config.json").read_text())["training"]
    for name in ("device", "precision"):
        forge(run / "config.json", training=training | {"execution": {name: long}})
        with pytest.raises(InputError) as refused:
            assert Run(run).config
        assert name in str(refused.value) and len(str(refused.value)) < 1_000
    with pytest.raises(InputError, match=r"norm must be 'post' or 'pre', not 'x{,40}\.\.\.x{,40}'"):
        Transformer.from_pretrained(model)


def test_no_small_file_asks_for_a_large_table_of_positions(tmp_path):
    "The weights have no table of sinusoids, so its length fits whatever they hold; made, it would take gigabytes."
    config = TransformerConfig(90, n_layers=1, d_model=128, d_ff=1, n_heads=1, d_k=1, d_v=1, max_length=2**16)
    Transformer(config).save_pretrained(tmp_path / "model")
    assert Transformer.from_pretrained(tmp_path / "model").config == config
    forge(tmp_path / "model" / "config.json", max_length=2**18)
    with pytest.raises(InputError, match="asks for 262,144 positions, far too many for weights that hold .*: correct its"):
        Transformer.from_pretrained(tmp_path / "model")


def test_a_number_of_layers_and_one_of_widths_have_bounds_of_their_own(model):
    for name, most in (("n_layers", "1,000"), ("d_model", "2^24")):
        with pytest.raises(InputError, match=rf"{name} must be at least 1 and can be at most {most.replace('^', '.')}, not 0"):
            replace(load(model).model.config, **{name: 0})


@pytest.mark.parametrize("starts", ["x", None, {}, [1], ["x"]])
def test_starts_that_are_no_list_of_starts(trained, run, starts):
    forge(run / "config.json", starts=starts)
    with pytest.raises(InputError, match="config.json: the file is damaged .starts"):
        resumed(trained, run)


def test_a_configuration_too_deep_to_be_read(run, complaint):
    (run / "config.json").write_text(DEEP)
    assert not Run(run).exists()
    assert "config.json" in complaint("translate", run, stdin=b"one\n")
    assert "config.json" in complaint("train", "--run", run)


@pytest.mark.parametrize("changes", [
    {"rows": "x"}, {"rows": 1.5}, {"rows": None}, {"rows": -1}, {"dtype": "float64"}, {"dtype": 3}, DEEP,
], ids=lambda value: str(value)[:20])
def test_a_description_of_pairs_that_cannot_be(trained, run, changes, complaint):
    path = run / "data" / "train.json"
    path.write_text(changes) if isinstance(changes, str) else forge(path, **changes)
    (run / "data" / "SHA256SUMS").unlink()
    with pytest.raises(InputError, match="train.json: "):
        resumed(trained, run)
    assert "train.json" in complaint("cost", run)


@pytest.mark.parametrize("text", [
    "{", "[]", "{}", "0", DEEP, '{"seed": 1, "steps": 20, "perplexity": "x", "bleu": 1, "minutes": 1}',
], ids=lambda text: text[:20])
def test_a_measure_that_is_damaged_is_made_again(trained, run, text):
    (run / "measured.json").write_text(text)
    assert measured(run, trained[0]) is None


def test_what_a_kill_left_beside_the_runs_of_a_table_is_passed_over(trained, run, tmp_path):
    for name in ("base-seed1.bak", "A1-seed1.tmp", "base-seed", "base-seedx"):
        (tmp_path / name).mkdir()
    run.rename(tmp_path / "base-seed1")
    (tmp_path / "base-seed1" / "measured.json").write_text(
        '{"seed": 1, "steps": 20, "perplexity": 2.5, "bleu": 1, "minutes": 0.1}')
    table = collect(trained[0], tmp_path)
    assert [len(table[name]["seeds"]) for name in ("base", "A1")] == [1, 0]


@pytest.mark.parametrize("text", [
    DEEP, '{"figures": {"paper_bleu": {"score": ' + "9" * 400 + '}, "sacre_bleu": {"score": 1}}}', "[]",
], ids=lambda text: text[:20])
def test_scores_that_cannot_be(run, text, tmp_path, complaint):
    (tmp_path / "s.json").write_text(text)
    assert "s.json: " in complaint("cost", run, "--scored", tmp_path / "s.json")


def test_options_that_the_cost_of_a_run_does_not_have_are_not_passed_over(run, complaint):
    for words in (["--devices", "3"], ["--watts", "100"], ["--size", "big"], ["--efficiency", "0.5"]):
        assert f"{words[0]} goes without a run: leave it out" in complaint("cost", run, *words)
    for words in (["--rate", "9"], ["--scored", "s.json"]):
        assert f"{words[0]} goes with a run: leave it out" in complaint("cost", "--tokens-per-second", "9", *words)
    for words in (["1e-300"], ["1e308"], ["9", "--watts", "1e308"], ["9", "--devices", 10**400], ["9", "--efficiency", "1e-320"]):
        assert "must be a number above 0" in complaint("cost", "--tokens-per-second", *words)


def test_a_batch_has_a_size_that_fits_into_64_bits(corpus, tmp_path, complaint):
    words = ["train", "--corpus", corpus, "--run", tmp_path / "r", "--batch-tokens", 2**63]
    assert "batch_tokens must be at least 1 and can be at most" in complaint(*words)
    assert not (tmp_path / "r").exists()


# Weights and tokens

@pytest.mark.parametrize("value", [
    torch.zeros(48, 8, dtype=torch.bool), torch.zeros(48, 8, dtype=torch.int64), torch.zeros(48, 8).to(torch.float8_e4m3fn),
    torch.full((48, 8), 1e300, dtype=torch.float64),
], ids=lambda value: str(value.dtype))
def test_what_is_no_weight_is_none_in_a_mean_of_checkpoints_either(run, model, value, complaint, tmp_path):
    for path in (model / NAMES[0], newest(run) / NAMES[0]):
        save_file(load_file(path) | {"embedding.weight": value}, path)
    write_sums(newest(run), NAMES)
    no_weight = "'embedding.weight' holds something that is not a finite real number"
    assert no_weight in complaint("translate", model, stdin=b"one\n")
    said = complaint("translate", run, stdin=b"one\n")
    assert no_weight in said or "other names, shapes or types than" in said
    complaint("average", run, tmp_path / "mean")
    for directory in Run(run).checkpoints():  # all alike
        shutil.copy(model / NAMES[0], directory)
        write_sums(directory, NAMES)
    for words in (("translate", run), ("average", run, tmp_path / "mean")):
        assert no_weight in complaint(*words, stdin=b"one\n")
    assert not (tmp_path / "mean").exists()


@pytest.mark.parametrize("fault, said", [("token", "has the token 60000"), ("empty", "without a token"), ("cut", "cut while")])
def test_tokens_that_no_vocabulary_has(trained, run, fault, said):
    tokens, offsets = (np.fromfile(run / "data" / f"train.{part}", kind) for part, kind in (("tokens", "u2"), ("offsets", "i8")))
    if fault == "token":
        tokens[-2] = 60_000
    elif fault == "empty":
        offsets[1] = 0
    for part, values in (("tokens", tokens), ("offsets", offsets)):
        values.tofile(run / "data" / f"train.{part}")
    (run / "data" / "SHA256SUMS").unlink()
    with pytest.raises(InputError, match=said):
        if fault == "cut":
            pairs = Run(run).pairs("train")
            os.truncate(run / "data" / "train.tokens", 4)
            pairs[len(pairs) - 1]
        resumed(trained, run)


# Pipes, sums, directories

@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes here")
@pytest.mark.parametrize("place", [
    "model/config.json", "model/model.safetensors", "model/tokenizer.model", "run/tokenizer.model", "run/data/train.json",
    "run/data/train.tokens", "run/metrics.jsonl",
])
def test_no_pipe_is_waited_for_where_sums_are_compared(place, trained, run, model, tmp_path, in_a_minute):
    if place.startswith("model"):
        write_sums(model, ["config.json", "model.safetensors", "tokenizer.model"])
    (tmp_path / place).unlink()
    os.mkfifo(tmp_path / place)
    with pytest.raises((InputError, OSError), match="a pipe or a device|missing or not whole"):
        Translator.from_pretrained(model) if place.startswith("model") else resumed(trained, run)


@pytest.mark.parametrize("fault", ["not ASCII", "cut", "a directory", "empty"])
def test_sums_that_cannot_be_read_are_not_taken_for_none(model, fault):
    write_sums(model, ["config.json", "model.safetensors"])
    path = model / "SHA256SUMS"
    sums = path.read_bytes()
    path.unlink()
    if fault == "a directory":
        path.mkdir()
    else:
        path.write_bytes({"not ASCII": b"\xff" + sums, "cut": sums[10:], "empty": b""}[fault])
    with pytest.raises(InputError, match="SHA256SUMS (is damaged|cannot be read)"):
        load(model)


def test_sums_as_sha256sum_writes_them_for_binary_files(model):
    write_sums(model, ["config.json", "model.safetensors"])
    path = model / "SHA256SUMS"
    path.write_text(path.read_text().replace("  ", " *"))
    load(model)
    forge(model / "config.json", dropout=0.2)
    with pytest.raises(InputError, match="config.json is damaged"):
        load(model)


@pytest.mark.parametrize("fault", ["dangling link", "a file", "a loop"])
def test_checkpoints_on_a_disk_that_is_not_there_are_not_begun_anew(trained, run, fault):
    (run / "checkpoints").rename(run / "away")
    if fault == "a file":
        (run / "checkpoints").write_text("x")
    else:
        (run / "checkpoints").symlink_to("nowhere" if fault == "dangling link" else "checkpoints")
    before = {path.name: path.read_bytes() for path in run.glob("*.json*")}
    with pytest.raises(InputError, match="checkpoints is not a directory, or leads to none"):
        resumed(trained, run)
    assert {path.name: path.read_bytes() for path in run.glob("*.json*")} == before


@pytest.mark.parametrize("name", ["metrics.jsonl", "lock", "SHA256SUMS", "corpus.json", "data/train.tokens"])
def test_a_link_in_a_run_of_others_leads_to_no_file_that_is_written(trained, run, tmp_path, name):
    path, precious = run / name, tmp_path / "precious"
    precious.write_text("alias ll='ls -l'\n")
    path.unlink(missing_ok=True)
    path.symlink_to(precious)
    with pytest.raises(InputError, match=f"{name} is a link, and a training would write the file that it leads to"):
        resumed(trained, run)
    assert precious.read_text() == "alias ll='ls -l'\n" and path.is_symlink()


def test_a_run_whose_checkpoints_and_tokens_lie_on_another_disk_goes_on(trained, run, tmp_path):
    for name in ("checkpoints", "data"):
        (run / name).rename(tmp_path / name)
        (run / name).symlink_to(tmp_path / name)
    resumed(trained, run)
    assert Run(run).last()["step"] == 22


def test_a_run_that_lost_its_configuration_is_not_given_another(run, complaint):
    (run / "config.json").unlink()
    names = sorted(run.rglob("*"))
    assert "has checkpoints and no config.json" in complaint("train", "--corpus", "numbers-en-de", "--run", run)
    assert sorted(run.rglob("*")) == names


def test_curves_that_vanish_end_no_training(run, caplog):
    pytest.importorskip("tensorboard")
    import shutil

    from annotated_transformer.training.metrics import Metrics

    with Metrics(run, 20) as metrics:
        metrics.board.flush()  # its thread has written what the run begins with
        shutil.rmtree(run / "tensorboard")
        for step in (21, 22):
            metrics.record({"step": step, "epoch": 1, "seconds": 1.0}, loss=1.0)
    assert caplog.text.count("no more curves") == 1 and Run(run).metrics()[-1]["step"] == 22


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")  # TensorBoard's own
def test_curves_that_vanish_after_the_last_line_end_no_training(run):
    pytest.importorskip("tensorboard")
    from annotated_transformer.training.metrics import Metrics

    with Metrics(run, 20) as metrics:
        metrics.record({"step": 21, "epoch": 1, "seconds": 1.0}, loss=1.0)
        metrics.board.flush()
        shutil.rmtree(run / "tensorboard")
        metrics.board.add_scalar("loss", 1.0, 22)  # as if the last line's point had waited for TensorBoard's thread until now
    assert Run(run).metrics()[-1]["step"] == 21


def test_curves_that_vanish_leave_no_thread(run):
    pytest.importorskip("tensorboard")
    import threading

    from annotated_transformer.training.metrics import Metrics

    before = threading.enumerate()
    with Metrics(run, 20) as metrics:
        metrics.board.flush()
        shutil.rmtree(run / "tensorboard")
        metrics.record({"step": 21, "epoch": 1, "seconds": 1.0}, loss=1.0)
    assert threading.enumerate() == before


# Saving

def test_a_model_is_saved_over_an_older_one_whole_or_not_at_all(model, monkeypatch):
    one = load(model)
    save(model, one.model, one.tokenizer)
    before = {path.name: path.read_bytes() for path in model.iterdir()}
    other = Transformer(replace(one.model.config, d_ff=9))

    def full(self, path):
        path.write_bytes(self.model[:100])
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch, pytest.raises(OSError, match="No space left"):
        patch.setattr(Tokenizer, "save", full)
        save(model, other, one.tokenizer)
    assert {path.name: path.read_bytes() for path in model.iterdir()} == before
    (model / "README.md").write_text("mine")
    (model / "notes").write_text("mine too")
    save(model, other, one.tokenizer)
    assert load(model).model.config.d_ff == 9
    assert (model / "README.md").read_text() == "mine" and (model / "notes").read_text() == "mine too"
    assert not [path for path in model.iterdir() if path.name.endswith(".tmp")]


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_weights_that_could_not_be_loaded_again_take_no_good_ones_place(model, value):
    translator = Translator.from_pretrained(model)
    before = {path.name: path.read_bytes() for path in model.iterdir()}
    with torch.no_grad():
        translator.model.embedding.weight[5] = value
    for kept in (translator.save_pretrained, translator.model.save_pretrained):
        with pytest.raises(InputError, match="^Transformer: 'embedding.weight' holds something that is not a finite real number"):
            kept(model)
    assert {path.name: path.read_bytes() for path in model.iterdir()} == before


def test_a_name_that_is_empty_is_not_the_working_directory(model, tmp_path, monkeypatch, complaint):
    one = Translator.from_pretrained(model)
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    for kept in (one.save_pretrained, one.model.save_pretrained):
        with pytest.raises(InputError, match="is empty"):
            kept("")
    for words in (["corpora", ""], ["translate", ""], ["score", ""], ["average", ""]):
        assert "empty" in complaint(*words)
    assert not list((tmp_path / "empty").iterdir())
    with pytest.raises(InputError, match="nosuch is not a directory"):
        corpora.from_directory("nosuch")


def test_a_place_that_cannot_hold_the_scores_is_tried_before_the_work(run, tmp_path, complaint, monkeypatch):
    monkeypatch.setattr(Translator, "translate", lambda *_, **__: pytest.fail("translated"))
    (tmp_path / "s.txt").mkdir()
    assert "s.txt" in complaint("score", run, "--out", tmp_path / "s.json")
    if os.path.isdir("/proc"):
        assert "/proc/x.json" in complaint("score", run, "--out", "/proc/x.json")


# In Python as on the command line

def test_searches_texts_and_means_are_checked_in_python_too(run, model):
    translator = Translator.from_pretrained(model)
    with pytest.raises(InputError, match="beam size must be at most 48"):
        translator.translate("one", Search(beam_size=10**6))
    for alpha in (1e308, float("inf"), float("nan"), -1.0):
        with pytest.raises(InputError, match="alpha must be"):
            Search(alpha=alpha)
    for text in ("\ud800", ["one", "\ud800"]):
        with pytest.raises(InputError, match="lone surrogate"):
            translator.translate(text)
    for text in ("\ud800", None):
        with pytest.raises(InputError, match="a text must be a str"):
            translator.tokenizer.encode(text)
    for average in (0, -1):
        with pytest.raises(InputError, match="average must be at least 1"):
            Translator.from_pretrained(run, average=average)
    with pytest.raises(InputError, match="is not a run, so it has no checkpoints to average"):
        Translator.from_pretrained(model, average=2)
    for device in ("meta", "nonsense", *([] if torch.cuda.is_available() else ["cuda"])):
        with pytest.raises(InputError, match=f"^device {device}: .*; choose (cuda, )?cpu"):
            Translator.from_pretrained(model, device=device)


@pytest.mark.parametrize("row, split", [
    ({"en": "one", "de": 3}, "test"), ({"en": ["one"], "de": "eins"}, "validation"), ({"fr": "un"}, "test"),
    ({"translation": None}, "test"), ({"translation": {"en": 1, "de": "eins"}}, "validation"), ({"translation": "one"}, "test"),
], ids=str)
def test_a_row_of_the_hub_that_holds_no_pair_is_named(row, split, tmp_path):
    datasets = pytest.importorskip("datasets")
    good = {"translation": {"en": "one", "de": "eins"}} if "translation" in row else {"en": "one", "de": "eins"}
    splits = {name: datasets.Dataset.from_list([row if name == split else good]) for name in ("train", "validation", "test")}
    datasets.DatasetDict(splits).save_to_disk(tmp_path / "set")
    with pytest.raises(InputError, match=f"row 1 of {split}, has no text in en and de"):
        from_hub(str(tmp_path / "set"))


# What a stranger's files say on a terminal

def test_what_a_model_says_of_itself_gives_no_orders_to_the_terminal(model):
    from annotated_transformer.command_line.translate_and_parse import greeting

    forge(model / "record.json", about="\x1b[2Jyour password, please\r")
    assert greeting(str(model)).startswith(f"{model}, \\x1b[2Jyour password, please\\r. ")


def test_texts_and_names_of_others_give_no_orders_to_the_terminal(corpus, model, tmp_path, command, monkeypatch):
    texts = shutil.copytree(corpus, tmp_path / "digits")
    path = texts / "train.en"
    path.write_text(path.read_text().replace("one", "\x1b[31mone", 1))
    status, out, _ = command("corpora", texts)
    assert status == 0 and "\x1b" not in out and "en: \\x1b[31mone" in out
    forge(model / "record.json", languages=["\x1bx", "de"])
    monkeypatch.setattr(Tokenizer, "decode", lambda self, ids: "eins\nzwei\x1b[31m")
    status, out, err = command("score", model, "--corpus", corpus, "--out", tmp_path / "scores.json")
    assert status == 0 and "\x1b" not in out + err and "translates \\x1bx to de" in err
    assert (tmp_path / "scores.txt").read_text() == 5 * "eins\\x0azwei\\x1b[31m\n"
