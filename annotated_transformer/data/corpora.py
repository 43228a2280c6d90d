"Every corpus by name, and corpora in a directory. nbs/paper/5.1_corpora.ipynb explains what the splits must not share."
import difflib
import gzip
import hashlib
import os
import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path

from .. import InputError
from ..files import directory_name, named, opened
from .downloads import multi30k, wmt14
from .huggingface import from_hub
from .number_words import numbers
from .parallel_text import Corpus, PairFiles, one_sentence_about, read_pairs, two_languages
from .pronouns import pronouns
from .tatoeba import everyday, tatoeba
from .treebanks import Treebank, craft, seems_to_hold_trees, tree_splits, treebank, with_parsed, wsj

__all__ = ["CORPORA", "about", "directory_of", "load", "from_directory", "sums"]

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
VARIANTS = {  # how corpora of the same function differ
    "de": "English to German.", "fr": "English to French.", "XX": "In the trees to be written, each word is XX.",
    "tags": "In the trees to be written, each word is its part of speech.", "words": "The trees to be written have the words.",
}


def about(name: str) -> str:
    "What a corpus of `CORPORA` holds, in one line."
    make = CORPORA[name]
    function, given = (make.func, (*make.args, *make.keywords.values())) if isinstance(make, partial) else (make, ())
    variants = [VARIANTS[value] for value in given if isinstance(value, str) and value in VARIANTS]
    return " ".join([function.__doc__ or "", *variants]).strip()


def require_files(first: str, files: list[str]) -> None:
    "InputError for a directory after the plus sign, or for a suffix that belongs before it."
    for file in map(named, files):
        if file.is_dir():
            raise InputError(f"{file} is a directory, and only files of trees can follow the plus sign: name each, as in "
                             f"{first}+{file / 'parsed.mrg'}")
        found = re.fullmatch("(.+)-(tags|words)", str(file))
        if found and not file.exists():
            raise InputError(f"{file} does not exist: if -{found[2]} says how a row writes a word, it comes before the plus "
                             f"sign, as in {first}-{found[2]}+{found[1]}")


def trees_of(
    name: str,
) -> Treebank | None:  # None if the name does not mean trees
    "A directory of trees, with -tags or -words for their leaves; or TREEBANK+FILE, with more training trees."
    if "+" in name and not Path(name).is_dir():
        first, *files = name.split("+")
        gold = load(first)
        if not isinstance(gold, Treebank):
            raise InputError(f"{gold.name} is not a treebank, so no files of trees can follow it: leave out the plus sign")
        require_files(first, files)
        return with_parsed(gold, files)
    directory, leaves = name, "XX"
    if not Path(name).is_dir() and (found := re.fullmatch("(.+)-([A-Za-z]+)", name)) and Path(found[1]).is_dir():
        directory, leaves = found.groups()
        if leaves not in ("tags", "words"):
            raise InputError(f"there is no corpus and no directory {name!r}: if {directory} has trees, after it comes -tags, "
                             "-words or nothing")
    if not Path(directory).is_dir():
        return None
    if leaves == "XX":  # the name did not mention trees
        found = tree_splits(Path(directory).rglob("*.*"))
        texts = languages_of(files_of(Path(directory)))  # a file of test trees among them does not make a treebank
        if not (found["train"] or found["validation"] or found["test"] and not texts):
            return None
    return treebank(directory, leaves)


def load(name_or_directory: str | Path) -> Corpus:
    """A corpus by its name (see `CORPORA`), from a directory of text files or of trees, or from the hub as hub:OWNER/NAME;
    DIRECTORY:fr-en gives the direction of translation, and TREEBANK+FILE adds training trees."""
    name = str(name_or_directory)
    if name.startswith("hub:"):
        return from_hub(name.removeprefix("hub:"))
    if name in CORPORA:
        return CORPORA[name]()
    name = str(named(name))
    if (directed := in_direction(name)) is not None:
        return directed
    if (trees := trees_of(name)) is not None:
        return trees
    if Path(name).is_dir():
        return from_directory(name)
    if Path(name).is_file():
        raise InputError(f"{name} is a file, and a corpus is a directory: with train.en and train.fr (or another language), or "
                         "with trees in train.mrg and validation.mrg")
    close = difflib.get_close_matches(name, CORPORA, n=1)
    raise InputError(
        f"there is no corpus and no directory {str(name_or_directory)!r}{f' (did you mean {close[0]}?)' if close else ''}: "
        f"choose one of {', '.join(CORPORA)}, or give a directory with train.en and train.fr (or another language)"
    )


LANGUAGE = r"[A-Za-z]+(?:[-_][A-Z]\w*)?"  # en, pt_BR, zh-Hans
NO_LANGUAGES = ("bak", "csv", "json", "jsonl", "log", "mrg", "old", "orig", "tmp", "tsv", "txt")
VALIDATION = ("val", "valid", "dev")  # what others call it


def in_direction(name: str) -> Corpus | None:
    "A directory with a direction after it, as in mine:fr-en; None if there is none, or if that is the directory's real name."
    found = re.fullmatch(f"(.+):({LANGUAGE})-({LANGUAGE})", name)
    if not found or Path(name).is_dir() or not Path(found[1]).is_dir():
        return None
    corpus = from_directory(*found.groups())
    return replace(corpus, name=f"{corpus.name}:{found[2]}-{found[3]}")


def directory_of(
    name: str,         # of a corpus, as `load` takes it
) -> Path | None:      # None if it is not in a directory of the user's, or is no longer there
    "Where the texts or trees of a corpus are."
    if name in CORPORA or name.startswith("hub:"):
        return None
    first = str(named(name)) if named(name).is_dir() else str(named(name)).partition("+")[0]
    endings = ("", f":{LANGUAGE}-{LANGUAGE}", "-(?:tags|words)")
    found = (match[1] for ending in endings if (match := re.fullmatch(f"(.+?){ending}", first)))
    return next(filter(Path.is_dir, map(Path, found)), None)


def sums(
    name: str,                  # of a corpus, as `load` takes it
    languages: Iterable[str],   # of its texts; none for trees
) -> dict[str, str]:            # SHA-256 by name
    "Checksums of the user's own files that a corpus trains and validates on; empty if it has none, or they are no longer there."
    if (directory := directory_of(name)) is None:
        return {}
    if texts := {f"{split}.{language}" for split in ("train", "validation") for language in languages}:
        names = {name: path for name, path in files_of(directory).items() if name in texts}
    else:
        trees = tree_splits(directory.rglob("*.*"))
        more = [] if named(name).is_dir() else [*map(Path, str(named(name)).split("+")[1:])]
        names = {path.relative_to(directory).as_posix(): path for split in ("train", "validation") for path in trees[split]}
        names |= {str(path): path for path in more}
    return {name: text_sum(path) for name, path in sorted(names.items())
            if path.is_file() and os.access(path, os.R_OK)}


def text_sum(path: Path) -> str:
    "SHA-256 of a text, the same whether it is gzipped or not."
    with one_sentence_about(path), opened(path) as plain, gzip.open(plain) if path.suffix == ".gz" else plain as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def require(directory: str | Path, paths: list[Path], source: str, target: str) -> None:
    "InputError names the first missing file."
    for path in paths:
        if not path.exists():
            for other in (path.with_name(f"{name}{path.suffix}{end}") for name in VALIDATION for end in ("", ".gz")):
                if path.stem == "validation" and other.exists():
                    raise InputError(f"{path} does not exist and {other} does: rename it")
            raise InputError(
                f"{path} does not exist: {directory} needs train.{source} and train.{target}, and in validation.{source} and "
                f"validation.{target} a few hundred pairs that are kept out of training"
            )


def language_of(name: str) -> str | None:
    "en for train.en or test.2016.en; None if the ending is not a language, and for train.de.bak."
    found = re.fullmatch(rf"(?:train|test.*)\.({LANGUAGE})", name)
    return found[1] if found and found[1] not in NO_LANGUAGES else None


def languages_of(names: Iterable[str]) -> list[str]:
    "The languages of these files, in order."
    return sorted(set(filter(None, map(language_of, names))))


def require_two(directory: Path, names: list[str], languages: list[str]) -> None:
    "InputError if the training or test files do not show which two languages are meant."
    unread = [name for name in names if not language_of(name)]
    kind = "test" if names and all(name.startswith("test") for name in names) else "training"
    said = f"{directory} has {kind} files in {', '.join(languages) or 'no language'}"
    said += f" (not read: {', '.join(unread)})" if unread else ""
    if "train.tsv" in unread:
        raise InputError(f"{said}: cut the columns into two files, as by cut -f1 train.tsv > train.en, cut -f2 train.tsv > "
                         "train.TARGET")
    txt = {name: language_of(name.removesuffix(".txt")) for name in unread if name.endswith(".txt")}
    if named_txt := next((name for name, language in txt.items() if language and language not in languages), None):
        raise InputError(f"{said}: rename {named_txt} to {named_txt.removesuffix('.txt')}, and the others likewise")
    if len(languages) < 2 and seems_to_hold_trees(directory):
        treebank(directory)  # says how its files must be named
    if len(languages) < 2:
        raise InputError(f"{said}: give it train.en and train.TARGET, line i of one the translation of line i of the other")
    first, second, *_ = sorted(languages, key=lambda language: language != "en")
    raise InputError(f"{said}: say from which into which, as in {directory}:{first}-{second}")


def files_of(directory: Path) -> dict[str, Path]:
    "The files of a directory by name, without .gz; a plain file wins over a gzipped one."
    return {path.name.removesuffix(".gz"): path for path in sorted(directory.iterdir(), reverse=True)}  # the plain one is last


def from_directory(
    directory: str | Path,
    source_language: str | None = None,  # the ending of the source files; if not given, en if there is one
    target_language: str | None = None,
) -> Corpus:
    "train.en, train.fr (or another language), validation.en, validation.fr, any test*.en, test*.fr, all plain or .gz."
    directory = named(directory)
    if not directory.is_dir():
        raise InputError(f"{directory} is not a directory: give one with train.en and train.fr (or another language)")
    files = files_of(directory)
    names, tests = ([name for name in files if name.startswith(split)] for split in ("train.", "test"))
    # A directory without training files can be used for scoring.
    to_fit = any(name.startswith("train") for name in files) or len(languages_of(tests)) < 2
    names = names if to_fit else tests
    languages = languages_of(names)
    source, target = two_languages(languages, source_language, target_language)
    if source is None or target is None:
        require_two(directory, sorted(names), languages)

    def paths(name: str) -> list[Path]:
        return [files.get(f"{name}.{side}", directory / f"{name}.{side}") for side in (source, target)]

    if to_fit:
        require(directory, paths("train") + paths("validation"), source, target)
    sets = sorted({name.removesuffix(f".{side}") for side in (source, target) for name in tests if name.endswith(f".{side}")})
    for path, partner in (pair for held in (*sets, "validation") for pair in (paths(held), paths(held)[::-1])):
        if partner.exists() and not path.exists():
            raise InputError(f"{path} does not exist and {partner} does: add it, or remove the other")
    train = PairFiles([tuple(paths("train"))]) if to_fit else []
    validation = read_pairs(*paths("validation")) if paths("validation")[0].exists() else []
    held = {test: read_pairs(*paths(test)) for test in sets}
    return Corpus(directory_name(directory), source, target, train, validation, held)
