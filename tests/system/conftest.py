"What the tests of the command share."
import dataclasses
import io
import random
import sys

import pytest

from annotated_transformer.command_line import main as cli
from annotated_transformer.config import TransformerConfig
from annotated_transformer.data import corpora
from benchmarks import semi
from benchmarks.parser import write_trees
from benchmarks.shared.side_by_side import free_port

NOUNS, VERBS = "Ann Bob Eve dogs cats".split(), "see like hear".split()


@pytest.fixture
def command(capsys, monkeypatch):
    "Calls the command in this process: its status, standard output and standard error."

    def call(*arguments, stdin: bytes = b""):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), encoding="ascii"))
        capsys.readouterr()
        status = 0
        try:
            cli.main([str(argument) for argument in arguments])
        except SystemExit as end:
            status = end.code or 0
        return status, *capsys.readouterr()

    return call


@pytest.fixture
def complaint(command):
    "Calls the command with bad input: its one sentence, after a check that there is nothing else."

    def call(*arguments, stdin: bytes = b""):
        status, out, err = command(*arguments, stdin=stdin)
        assert status == 2 and out == ""
        assert err.startswith("annotated-transformer: ") and err.endswith("\n") and err.count("\n") == 1
        assert "Traceback" not in err
        return err.removeprefix("annotated-transformer: ").rstrip("\n")

    return call


@pytest.fixture
def closed_port():
    "An address on this machine where nobody answers."
    return f"http://127.0.0.1:{free_port()}/"


@pytest.fixture
def refused(capsys):
    "Calls a program with what cannot be: what it says on standard error, after a check that it ends with status 2."

    def call(program, *arguments) -> str:
        capsys.readouterr()
        with pytest.raises(SystemExit) as end:
            program(*arguments)
        assert end.value.code == 2
        return capsys.readouterr().err

    return call


def sentence(rng: random.Random) -> str:
    "`( (S (NP-SBJ (NNP Ann)) (VP (VBP see) (NP (NNS cats))) (. .)))`, some of them with one clause inside the other."
    clause = f"(NP (NNP {rng.choice(NOUNS)})) (VP (VBP {rng.choice(VERBS)}) (NP (NNS {rng.choice(NOUNS)})))"
    if rng.random() < 0.4:
        clause = f"(NP-SBJ (NNP {rng.choice(NOUNS)})) (VP (VBP hear) (SBAR (-NONE- 0) (S {clause})))"
    return f"( (S {clause} (. .)))\n"


@pytest.fixture(scope="session")
def treebank(tmp_path_factory):
    directory, rng = tmp_path_factory.mktemp("treebank"), random.Random(1)
    for name, size in {"wsj_0201": 60, "wsj_0301": 40, "train-parsed": 20, "wsj_2201": 9, "wsj_2301": 9}.items():
        (directory / f"{name}.mrg").write_text("".join(sentence(rng) for _ in range(size)))
    return directory


@pytest.fixture
def semi_recipe(treebank, tmp_path, monkeypatch):
    "The recipe of `benchmarks.semi` in small, two files of other trees, and another place to ship to."
    model = TransformerConfig(110, n_layers=1, d_model=16, d_ff=24, n_heads=2, dropout=0.1, max_length=200)
    mixed = dataclasses.replace(
        semi.MIXED, model=model, corpus=f"{treebank}-words", batch_tokens=600, steps=8, warmup_steps=4, validate_every=4,
        checkpoint_every=2, keep=3, log_every=1,
    )
    monkeypatch.setattr(semi, "MIXED", mixed)
    monkeypatch.setattr(semi, "FINISH", dataclasses.replace(mixed, steps=4, rate_factor=0.2, checkpoint_every=1))
    monkeypatch.setattr(semi, "CORPUS", f"{treebank}-words")
    monkeypatch.setattr(semi, "AVERAGES", (1, 2, 99))
    monkeypatch.setattr(semi, "PRETRAINED", tmp_path / "shipped")
    corpus = corpora.load(treebank)
    for name, trees in (("news", corpus.trees("train")[:30] + corpus.trees("test")), ("everyday", corpus.trees("train")[20:60])):
        write_trees(tmp_path / f"{name}.mrg", trees)
    files = [str(tmp_path / f"{name}.mrg") for name in ("news", "everyday")]
    return [*files, "--runs", str(tmp_path / "runs"), "--out", str(tmp_path / "results" / "parser.semi.json")]
