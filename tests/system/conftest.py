"What the tests of the command share."
import io
import random
import sys

import pytest

from annotated_transformer import cli

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
