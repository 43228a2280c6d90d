"What the tests of the book share: the tools name files from the root of the clone."
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def at_the_root(monkeypatch):
    monkeypatch.chdir(Path(__file__).parents[3])
