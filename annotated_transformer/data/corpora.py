"Every corpus by its name, and those of a directory. What sets must not share is told on nbs/paper/5.1_corpora.ipynb."
import difflib
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

from .. import InputError
from ..files import named
from .downloads import multi30k, wmt14
from .huggingface import from_hub
from .number_words import numbers
from .parallel_text import Corpus, PairFiles, read_pairs, two_languages
from .pronouns import pronouns
from .tatoeba import everyday, tatoeba
from .treebanks import Treebank, craft, holds_trees, treebank, with_parsed, wsj

__all__ = ["CORPORA", "about", "load", "from_directory"]

CORPORA: dict[str, Callable[[], Corpus]] = {
    "numbers-en-de": numbers,
    "pronouns-en-de": pronouns,
    "tatoeba-en-de": tatoeba,
    "everyday-en-de": everyday,
    "multi30k-en-de": partial(multi30k, "de"),
    "multi30k-en-fr": partial(multi30k, "fr"),
    "wmt14-en-de": partial(wmt14, "de"),
    "wmt14-en-fr": partial(wmt14, "fr"),
    "treebank": partial(treebank, leaves="XX"),
    "treebank-tags": partial(treebank, leaves="tags"),
    "treebank-words": partial(treebank, leaves="words"),
    "wsj": partial(wsj, leaves="XX"),
    "wsj-tags": partial(wsj, leaves="tags"),
    "wsj-words": partial(wsj, leaves="words"),
    "craft": partial(craft, leaves="XX"),
    "craft-tags": partial(craft, leaves="tags"),
    "craft-words": partial(craft, leaves="words"),
}
VARIANTS = {  # what tells corpora of one function apart
    "de": "English to German.", "fr": "English to French.", "XX": "In the trees to be written, each word is XX.",
    "tags": "In the trees to be written, each word is its part of speech.", "words": "The trees to be written have the words.",
}


def about(name: str) -> str:
    "What a corpus of `CORPORA` holds, in one line."
    make = CORPORA[name]
    if not isinstance(make, partial):
        return make.__doc__
    variant, = (*make.args, *make.keywords.values())
    return f"{make.func.__doc__} {VARIANTS[variant]}"


def trees_of(
    name: str,
) -> Treebank | None:  # None where the name says no trees
    "A directory of trees, with -tags or -words for their leaves; or TREEBANK+FILE, with more training trees."
    if "+" in name and not Path(name).is_dir():
        first, *files = name.split("+")
        gold = load(first)
        if not isinstance(gold, Treebank):
            raise InputError(f"{gold.name} is no treebank, so no files of trees can stand behind it: leave out the plus sign")
        return with_parsed(gold, files)
    directory, leaves = name, "XX"
    if not Path(name).is_dir() and (found := re.fullmatch("(.+)-(tags|words)", name)):
        directory, leaves = found.groups()
    return treebank(directory, leaves) if Path(directory).is_dir() and holds_trees(directory) else None


def load(name_or_directory: str | Path) -> Corpus:
    """A corpus by its name (see `CORPORA`), from a directory of text files or of trees, or from the hub as hub:OWNER/NAME;
    TREEBANK+FILE has more training trees."""
    name = str(name_or_directory)
    if name.startswith("hub:"):
        return from_hub(name.removeprefix("hub:"))
    if name in CORPORA:
        return CORPORA[name]()
    name = str(named(name))
    if (trees := trees_of(name)) is not None:
        return trees
    if Path(name).is_dir():
        return from_directory(name)
    close = difflib.get_close_matches(name, CORPORA, n=1)
    raise InputError(
        f"there is no corpus and no directory {name!r}{f' (did you mean {close[0]}?)' if close else ''}: "
        f"choose one of {', '.join(CORPORA)}, or give a directory with train.en, train.de and so on"
    )


def require(directory: str | Path, paths: list[Path], source: str, target: str) -> None:
    "InputError names the first file that is not there."
    for path in paths:
        if not path.exists():
            raise InputError(
                f"{path} does not exist: {directory} needs train.{source} and train.{target}, and in validation.{source} and "
                f"validation.{target} some hundred pairs that are kept out of training"
            )


def from_directory(
    directory: str | Path,
    source_language: str | None = None,  # the ending of the source files; without it, en where there is one
    target_language: str | None = None,
) -> Corpus:
    "train.en, train.de, validation.en, validation.de and any test*.en, test*.de of a directory, plain or .gz."
    directory = named(directory)
    if not directory.is_dir():
        raise InputError(f"{directory} is no directory: give one with train.en, train.de, validation.en and validation.de")
    # A plain file wins over a gzipped one of the same name: in this order it comes later.
    files = {path.name.removesuffix(".gz"): path for path in sorted(directory.iterdir(), reverse=True)}
    found = sorted(name.removeprefix("train.") for name in files if name.startswith("train."))
    source, target = two_languages(found, source_language, target_language)
    if source is None or target is None:
        raise InputError(
            f"{directory} has training files in {', '.join(found) or 'no language'}: give it train.en and train.TARGET "
            "and no third language, or call corpora.from_directory in Python, with the source and the target language"
        )

    def paths(name: str) -> list[Path]:
        return [files.get(f"{name}.{side}", directory / f"{name}.{side}") for side in (source, target)]

    require(directory, paths("train") + paths("validation"), source, target)
    tests = sorted(n.removesuffix(f".{source}") for n in files if n.startswith("test") and n.endswith(f".{source}"))
    train, validation = PairFiles([tuple(paths("train"))]), read_pairs(*paths("validation"))
    name = directory.resolve().name
    return Corpus(name, source, target, train, validation, {test: read_pairs(*paths(test)) for test in tests})
