"The benchmark for GPUs, tried on the CPU: what it counts, what it records, and what ends it."
import dataclasses
import json
import os
import random
import subprocess
import sys

import numpy as np
import pytest
import torch

from annotated_transformer.config import PRESETS, TrainingConfig, TransformerConfig
from annotated_transformer.data.batching import collate
from annotated_transformer.data.corpora import load
from annotated_transformer.data.large_corpora import TokenizedPairs, epoch_batches
from annotated_transformer.data.tokenizer import Tokenizer
from annotated_transformer.model.regularization import label_smoothed_cross_entropy
from annotated_transformer.tables.training_cost import training_flops
from annotated_transformer.training.starting import new_model
from benchmarks import gpu
from benchmarks.shared.gpu_parts import lengthened, spread
from benchmarks.shared.side_by_side import free_port

SMALL = TrainingConfig(
    TransformerConfig(50, n_layers=1, d_model=16, d_ff=24, n_heads=2, dropout=0.0, max_length=40),
    batch_tokens=300, steps=9, warmup_steps=10, seed=3,
)


@pytest.fixture
def corpus(tmp_path, monkeypatch):
    "A hundred pairs of unequal lengths, and a preset for them."
    chance, directory = random.Random(0), tmp_path / "corpus"
    directory.mkdir()
    for name, n in (("train", 100), ("validation", 5)):
        for language, words in (("en", "one two three four"), ("de", "eins zwei drei")):
            lines = (" ".join(chance.choices(words.split(), k=chance.randint(1, 7))) for _ in range(n))
            (directory / f"{name}.{language}").write_text("\n".join(lines) + "\n")
    monkeypatch.setitem(PRESETS, "small", SMALL)
    return directory


def options(corpus, out, *more):
    settings = ["--vocab-size", "30", "--device", "cpu", "--warmup", "0", "--resume-steps", "0", "--attention-rows", "20"]
    return ["--sizes", "small", "--corpus", str(corpus), "--out", str(out), *settings, *more]


def test_it_counts_what_one_epoch_holds_and_keeps_what_it_does_not_measure(corpus, tmp_path, capsys, monkeypatch):
    pairs = load(corpus).train
    tokenizer = Tokenizer.train((sentence for pair in pairs for sentence in pair), 30)
    written = TokenizedPairs.write(tmp_path, "train", pairs, tokenizer, 40)
    epoch = list(epoch_batches(written, 300, seed=3, epoch=0))
    assert len(epoch) > 2
    out = tmp_path / "results" / "gpu.json"
    out.parent.mkdir()
    out.write_text(json.dumps({"figures": {"big": {"device": "a GPU"}}, "config": {"big": {"warmup": 3}}}))
    settings = ["float32", "bfloat16", "bfloat16 exchanged"]
    more = ["--steps", str(len(epoch)), "--device-tokens", "110", "--settings", *settings, "--peak", "0.5"]
    whole, wrapped = gpu.exchanging_gradients, []
    monkeypatch.setattr(gpu, "exchanging_gradients", lambda model, group: wrapped.append(group.size) or whole(model, group))
    timed = []
    monkeypatch.setattr(gpu, "spread", lambda seconds: timed.append(len(seconds)) or spread(seconds))
    gpu.main(options(corpus, out, *more, "--resume-steps", "4"))
    capsys.readouterr()

    record = json.loads(out.read_text())
    assert record["figures"]["big"] == {"device": "a GPU"} and record["config"]["big"] == {"warmup": 3}
    assert record["seed"] == 3 and record["command"].startswith("python -m benchmarks.gpu --sizes small")
    about = record["config"]["small"]
    assert (about["rows_of_the_model"], about["pieces_learnt"], about["pairs"]) == (50, 30, 100)
    figures = record["figures"]["small"]
    assert list(figures["by_setting"]) == settings and wrapped == [1]
    assert timed == [len(epoch)] * len(settings), "each update by itself: a slow one among them must not hide in a mean"
    assert not torch.distributed.is_initialized()
    config = dataclasses.replace(SMALL.model, vocab_size=50)
    source, target = np.array([[len(tokenizer.encode(text)) for text in pair] for pair in pairs]).T
    for found in figures["by_setting"].values():
        assert (found["updates"], found["parts_of_a_batch"], found["finite"]) == (len(epoch), 3, True)
        assert (found["source_tokens"], found["target_tokens"]) == (source.sum(), target.sum())
        assert found["model_flops"] == sum(training_flops(config, s, t) for s, t in zip(source.tolist(), target.tolist()))
        assert source.sum() + target.sum() <= found["padded_positions"] <= 2 * 300 * len(epoch)
        assert found["target_tokens_per_second"] == pytest.approx(target.sum() / found["seconds"], abs=0.06)
        assert found["seconds_per_update"] * len(epoch) == pytest.approx(found["seconds"])
        assert 0 < found["median_seconds"] <= found["percentile_90_seconds"] and found["processes"] == 1
        assert all(seconds > 2 * found["median_seconds"] for seconds in found["slow_updates"].values())
        assert found["losses"]["last"] < found["losses"]["first"]
    for kernels in figures["attention"].values():
        assert {name for name in kernels if name != "seconds_of_a_new_shape"} == {"encoder", "decoder", "memory"}
        assert all(kernels[name]["kernel"] in ("math", "flash_attention") for name in ("encoder", "decoder", "memory"))
    best = max(figures["by_setting"].values(), key=lambda found: found["target_tokens_per_second"])
    assert figures["target_tokens_per_second"] == best["target_tokens_per_second"]
    short = figures["by_setting"]["bfloat16"]
    assert short["share_of_the_given_peak"] == pytest.approx(short["model_flops_per_second"] / 0.5e12)
    assert figures["by_setting"]["float32"]["share_of_the_given_peak"] is None, "the data sheet's peak is of 16 bits"

    batch = collate(written, epoch[0])  # its loss with the first weights, by the readable form, whole and not in three parts
    with torch.no_grad():
        logits = new_model(SMALL, 50)(batch.source, batch.target_input)
    loss = label_smoothed_cross_entropy(logits, batch.target, 0.1).item()
    assert figures["by_setting"]["float32"]["losses"]["first"] == pytest.approx(loss, rel=1e-4)

    resumed = figures["resume"]
    assert (resumed["updates"], resumed["stopped_after"]) == (4, 2)
    same = {"equal": True, "weights_that_differ": 0, "largest_relative_difference": 0.0}
    assert resumed["stopped_and_resumed"] == resumed["uninterrupted_twice"] == same


def test_a_setting_that_does_not_fit_or_fails_is_recorded_and_the_others_go_on(corpus, tmp_path, capsys, monkeypatch):
    step, out = gpu.train_step, tmp_path / "gpu.json"

    def too_large(learner, *rest):
        if learner.precision == "float32":
            raise torch.cuda.OutOfMemoryError("no memory")
        return step(learner, *rest)

    monkeypatch.setattr(gpu, "train_step", too_large)
    gpu.main(options(corpus, out, "--steps", "2", "--settings", "float32", "bfloat16"))
    figures = json.loads(out.read_text())["figures"]["small"]
    assert figures["by_setting"]["float32"] == {"out_of_memory": True}
    assert figures["best_setting"] == "bfloat16" and figures["share_of_peak"] > 0 and "resume" not in figures

    def broken(*_):
        raise RuntimeError("no compiler\nand more")

    monkeypatch.setattr(gpu, "train_step", broken)
    with pytest.raises(SystemExit) as end:
        gpu.main(options(corpus, out, "--steps", "2", "--settings", "float32"))
    assert end.value.code == 1 and "small, float32" in capsys.readouterr().err
    figures = json.loads(out.read_text())["figures"]["small"]
    assert figures["by_setting"] == {"float32": {"failed": "RuntimeError: no compiler"}}
    assert figures["target_tokens_per_second"] is figures["share_of_peak"] is None


def test_a_loss_that_is_no_number_is_no_result(corpus, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(gpu, "train_step", lambda *_: torch.tensor(float("nan")))
    with pytest.raises(SystemExit) as end:
        gpu.main(options(corpus, tmp_path / "gpu.json", "--steps", "2", "--settings", "float32"))
    assert end.value.code == 1
    figures = json.loads((tmp_path / "gpu.json").read_text())["figures"]["small"]
    assert figures["by_setting"]["float32"]["losses"] == {"first": None, "last": None}
    assert figures["target_tokens_per_second"] is None, "speed without sense"


def test_weights_that_differ_are_told_by_how_much():
    one = {"a": torch.tensor([1.0, -4.0]), "b": torch.tensor([2.0]), "c": torch.tensor([0.5])}
    other = {"a": torch.tensor([1.0, -4.5]), "b": torch.tensor([2.0]), "c": torch.tensor([0.25])}
    assert gpu.difference(one, one) == {"equal": True, "weights_that_differ": 0, "largest_relative_difference": 0.0}
    assert gpu.difference(one, other) == {"equal": False, "weights_that_differ": 2, "largest_relative_difference": 0.5}


def test_mistakes_end_it_before_anything_is_measured(corpus, tmp_path, refused, monkeypatch):
    monkeypatch.setattr(gpu, "matrix_rates", lambda *_, **__: pytest.fail("something was measured"))
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    (tmp_path / "other.json").write_text('{"figures": 3}')
    out = ["--out", str(tmp_path / "gpu.json")]
    for given, words in (
        (out, "meant for a GPU"),
        ([*out, "--device", "cuda"], "no CUDA GPU"),
        (options(corpus, tmp_path / "other.json"), "no earlier result"),
        (options(corpus, tmp_path / "gpu.json", "--resume-steps", "1"), "2 or more"),
    ):
        said = refused(gpu.main, given)
        assert words in said and said.count("\n") == 1, said
    assert not (tmp_path / "gpu.json").exists()


def test_single_slow_updates_are_seen():
    found = spread([2.0, 1.0, 9.0, 1.0, 1.0, 2.0, 1.0, 1.0, 1.0, 1.0])
    assert (found["median_seconds"], found["percentile_90_seconds"]) == (1.0, 9.0)
    assert found["slow_updates"] == {3: 9.0} and found["seconds_in_slow_updates"] == 9.0


def test_joined_sentences_are_as_long_as_wmts(corpus, tmp_path):
    made = load(lengthened(str(corpus), 400, tmp_path / "long"))
    train = list(made.train)
    assert (len(train), len(list(made.validation))) == (400, 400)
    lengths = np.array([[len(text.split()) for text in pair] for pair in train])
    assert 20 < lengths[:, 0].mean() < 29 and lengths.max() < 400  # e^(3 + 0.62²/2) = 24 words
    assert np.corrcoef(lengths.T)[0, 1] > 0.9
    assert train == list(load(lengthened(str(corpus), 400, tmp_path / "again")).train)


def test_of_several_processes_the_leader_writes_and_all_count_the_whole_batch(corpus, tmp_path):
    program = """
import os, sys
from annotated_transformer.config import PRESETS, TrainingConfig
import json
PRESETS["small"] = TrainingConfig.from_dict(json.loads(sys.argv[1]))
from benchmarks import gpu
step = gpu.train_step
def told(*given):
    assert given[6:] == (2,), "Adam forgives a loss that is not scaled by the number of processes; this test does not"
    return step(*given)
gpu.train_step = told
gpu.main(sys.argv[2:])
"""
    out, port = tmp_path / "gpu.json", str(free_port())
    more = ["--steps", "4", "--settings", "float32", "--resume-steps", "4"]
    children = []
    for rank in range(2):
        around = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": "2"}
        words = [sys.executable, "-c", program, json.dumps(SMALL.to_dict()), *options(corpus, out, *more)]
        told = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "env": os.environ | around}
        children.append(subprocess.Popen(words, **told))
    said = [child.communicate(timeout=300) for child in children]
    assert [child.returncode for child in children] == [0, 0], said
    assert said[1][0] == "" and said[0][0].startswith("{")
    gpu.main(options(corpus, tmp_path / "alone.json", *more[:4]))
    together, alone = (json.loads(path.read_text())["figures"]["small"] for path in (out, tmp_path / "alone.json"))
    assert "resume" not in together
    together, alone = (found["by_setting"]["float32"] for found in (together, alone))
    assert (together["processes"], together["parts_of_a_batch"], alone["processes"]) == (2, 2, 1)
    for name in ("source_tokens", "target_tokens", "model_flops"):
        assert together[name] == alone[name]
    assert together["losses"]["last"] == pytest.approx(alone["losses"]["last"], rel=1e-5)
