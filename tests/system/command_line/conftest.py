"A corpus of numbers, a run on it and a model, for the tests that damage them."
import shutil
import signal
from dataclasses import replace

import pytest

from annotated_transformer import TransformerConfig, Translator
from annotated_transformer.config import PRESETS
from annotated_transformer.training.loop import train

SMALL = TransformerConfig(48, n_layers=1, d_model=8, d_ff=16, n_heads=2, max_length=24)
DIGITS = {"en": "zero one two three four five six seven eight nine", "de": "null eins zwei drei vier fünf sechs sieben acht neun"}


@pytest.fixture(scope="session")
def corpus(tmp_path_factory):
    "Numbers digit by digit, such as `four two`, `vier zwei`: forty to train on, five each to validate and to test."
    directory = tmp_path_factory.mktemp("corpora") / "digits"  # the corpus is called like its directory
    directory.mkdir()
    for name, numbers in {"train": range(10, 50), "validation": range(50, 55), "test": range(55, 60)}.items():
        for language, words in DIGITS.items():
            lines = [" ".join(words.split()[int(digit)] for digit in str(number)) + "\n" for number in numbers]
            (directory / f"{name}.{language}").write_text("".join(lines), encoding="utf-8")
    return directory


@pytest.fixture(scope="session")
def trained(tmp_path_factory, corpus):
    "Configuration and directory of a run of twenty updates, logged every eight: a checkpoint stands between two lines."
    config = replace(
        PRESETS["demo"], model=replace(SMALL, dropout=0.1), corpus=str(corpus), batch_tokens=120, steps=20,
        warmup_steps=20, validate_every=20, checkpoint_every=10, keep=2, log_every=8,
    )
    directory = tmp_path_factory.mktemp("runs") / "digits"
    train(config, directory)
    return config, directory


@pytest.fixture()
def run(trained, tmp_path):
    "A copy that a test may damage."
    return shutil.copytree(trained[1], tmp_path / "run")


@pytest.fixture()
def model(run, tmp_path):
    "Its weights as a model directory that a test may damage, without sums."
    Translator.from_pretrained(run).save_pretrained(tmp_path / "model")
    (tmp_path / "model" / "SHA256SUMS").unlink()
    return tmp_path / "model"


@pytest.fixture
def in_a_minute():
    "A test that waits longer fails."
    before = signal.signal(signal.SIGALRM, lambda *_: pytest.fail("it waits"))
    signal.alarm(60)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)
