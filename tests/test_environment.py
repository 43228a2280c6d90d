"The environment is read in one place, and refused in one sentence where it cannot be."
import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

from annotated_transformer import InputError
from annotated_transformer.environment import Launched, data_directory, keep_few_kernels, launched

PACKAGE = Path(__file__).parents[1] / "annotated_transformer"
TORCHRUN = {"RANK": "1", "WORLD_SIZE": "3", "LOCAL_RANK": "0", "MASTER_PORT": "29500", "MASTER_ADDR": "localhost"}


@pytest.fixture(autouse=True)
def nothing_said(monkeypatch):
    for name in TORCHRUN:
        monkeypatch.delenv(name, raising=False)


def test_nothing_else_reads_the_environment():
    for path in sorted(PACKAGE.rglob("*.py")):
        read = {node.attr for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.Attribute)}
        assert path.name == "environment.py" or not read & {"environ", "getenv"}, path


def test_what_torchrun_says(monkeypatch):
    assert launched() == Launched(0, 1, 0)
    for name, value in TORCHRUN.items():
        monkeypatch.setenv(name, value)
    assert launched() == Launched(1, 3, 0)


@pytest.mark.parametrize("name, value", [
    ("RANK", "abc"), ("RANK", ""), ("RANK", "3"), ("RANK", None), ("WORLD_SIZE", "0"), ("WORLD_SIZE", "-1"), ("WORLD_SIZE", "abc"),
    ("LOCAL_RANK", "x"), ("LOCAL_RANK", "-1"), ("MASTER_PORT", "abc"), ("MASTER_PORT", "99999"), ("MASTER_ADDR", None),
])
def test_what_torchrun_would_never_say_is_refused(monkeypatch, name, value):
    for key, good in (TORCHRUN | {name: value}).items():
        monkeypatch.delenv(key, raising=False) if good is None else monkeypatch.setenv(key, good)
    with pytest.raises(InputError, match=f"environment: {name}"):
        launched()


def test_few_kernels_are_kept_unless_the_user_says_how_many(monkeypatch):
    monkeypatch.delenv("ONEDNN_PRIMITIVE_CACHE_CAPACITY", raising=False)
    keep_few_kernels()
    assert os.environ["ONEDNN_PRIMITIVE_CACHE_CAPACITY"] == "64"
    monkeypatch.setenv("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "7")
    keep_few_kernels()
    assert os.environ["ONEDNN_PRIMITIVE_CACHE_CAPACITY"] == "7"


def test_a_rank_without_others_is_refused(monkeypatch):
    monkeypatch.setenv("RANK", "1")
    with pytest.raises(InputError, match="environment: RANK='1'"):
        launched()


def test_where_downloads_go(monkeypatch):
    monkeypatch.setenv("ANNOTATED_TRANSFORMER_DATA", "here")
    assert data_directory() == Path("here")
    monkeypatch.setenv("ANNOTATED_TRANSFORMER_DATA", "")
    assert data_directory() is None


@pytest.mark.parametrize("variable, words, said", [
    ("PYTHONOPTIMIZE=2", ["--help"], "PYTHONOPTIMIZE=2"),
    ("TQDM_MININTERVAL=abc", ["corpora", "numbers-en-de"], "tqdm cannot be loaded with TQDM_MININTERVAL=abc"),
    ("TORCH_LOGS=+junk", ["translate"], "TORCH_LOGS=+junk (Invalid log settings"),
    ("MPLBACKEND=junk", ["attend", "one", "--out", "x.svg"], "matplotlib cannot be loaded with MPLBACKEND=junk"),
])
def test_a_variable_that_a_package_cannot_take_is_named(variable, words, said, tmp_path):
    own = os.environ | {"PYTHONPATH": str(PACKAGE.parent)} | dict([variable.split("=")])
    command = [sys.executable, "-m", "annotated_transformer", *words]
    ended = subprocess.run(command, env=own, cwd=tmp_path, capture_output=True, text=True, input="one\n")
    assert (ended.returncode, ended.stdout) == (2, "") and "Traceback" not in ended.stderr, ended.stderr
    assert said in ended.stderr and ended.stderr.count("\n") == 1
