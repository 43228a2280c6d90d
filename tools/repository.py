"What settings.ini says about the repository: where its files, the site of its notebooks, and Colab's copies of them are."
import copy
import functools
from configparser import ConfigParser, SectionProxy
from pathlib import Path
from typing import Any

import yaml


@functools.cache
def settings() -> SectionProxy:
    read = ConfigParser(delimiters=["="], interpolation=None)
    read.read(Path(__file__).resolve().parents[1] / "settings.ini", encoding="utf-8")
    return read["DEFAULT"]


def shown_at() -> str:
    "Where files are shown; what follows is a path."
    return "https://github.com/{user}/{repo}/blob/{branch}".format(**settings())


def site_address() -> str:
    "Where the site is published."
    return "https://{user}.github.io/{repo}/".format(**settings())


def in_colab() -> str:
    "Where Colab opens notebooks; what follows is a path."
    return "https://colab.research.google.com/github/{user}/{repo}/blob/{branch}".format(**settings())


parsed = functools.cache(yaml.safe_load)  # a list of pages is asked for hundreds of times


def from_yaml(text: str) -> Any:
    "What the text says."
    return copy.deepcopy(parsed(text))  # whoever gets it may change it
