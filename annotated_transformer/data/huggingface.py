"""Data sets of the Hugging Face hub as corpora, through Hugging Face's library `datasets` (extra `hub`).

A row holds a pair in one of two forms: a column `translation` with both sentences by language, as in WMT's sets, or a column
for each language. A set may have several configurations, such as one for each language pair. A data set's code is never
run: `datasets` 4 no longer can, and older versions are refused.
"""
import os
import re
import sys
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .. import InputError, extra, reason_of
from .parallel_text import Corpus, both_sides, two_languages

__all__ = ["from_hub"]

CODE = re.compile(r"[a-z]{2,3}([_-]\w+)?")  # en, de, pt_BR
NO_LANGUAGES = ("id", "idx", "ref", "src", "tgt", "uid", "url")  # common columns besides the two languages


def languages(
    row: dict[str, Any],
    named: Collection[str | None] = (),   # columns that count as languages whatever their names
) -> list[str]:
    "The languages of a row, in alphabetical order."
    texts = row.get("translation") or row
    if not isinstance(texts, dict):
        return []
    return sorted(name for name, value in texts.items() if isinstance(value, str) and (name in named or CODE.fullmatch(name)))


@dataclass(frozen=True)
class Rows:
    "The pairs of a split, which stays on the disk: each pass reads it again, a thousand rows at a time."

    table: Any  # datasets.Dataset
    name: str   # of the data set and of the split, for the message
    split: str
    source: str
    target: str
    whole: bool = True  # includes pairs with a blank side

    def __iter__(self) -> Iterator[tuple[str, str]]:
        number = 0  # of the row
        for part in self.table.iter(batch_size=1000):
            rows = part["translation"] if "translation" in part else [dict(zip(part, row)) for row in zip(*part.values())]
            for row in rows:
                number += 1
                texts = [row.get(side, self) if isinstance(row, dict) else self for side in (self.source, self.target)]
                if not all(text is None or isinstance(text, str) for text in texts):
                    sides = f"text in {self.source} and {self.target}"
                    raise InputError(f"hub:{self.name}, row {number} of {self.split}, has no {sides}: fix or leave out the row")
                source, target = (" ".join((text or "").split()) for text in texts)  # one line each
                if self.whole or both_sides(source, target):
                    yield source, target


def open_tables(name: str) -> dict[str, Any]:
    "The splits by name; InputError in one sentence for whatever goes wrong."
    datasets = extra("datasets")
    if int(datasets.__version__.split(".")[0]) < 4:
        problem = f"datasets {datasets.__version__} can run code of a data set"
        raise InputError(f'{problem}: pip install "annotated_transformer[hub]"')
    if not sys.stderr.isatty():
        datasets.disable_progress_bars()
    owner, _, rest = name.partition("/")
    set_name, _, configuration = rest.partition("/")
    saved = os.path.expanduser(name)
    try:
        if Path(saved, "dataset_dict.json").exists():
            return dict(datasets.load_from_disk(saved))
        if not re.fullmatch(r"\w[\w.-]*(/\w[\w.-]*){1,2}", name):
            forms = "hub:OWNER/NAME, hub:OWNER/NAME/CONFIGURATION, or hub: and a directory of DatasetDict.save_to_disk"
            raise InputError(f"hub:{name}: write {forms}")
        return dict(datasets.load_dataset(f"{owner}/{set_name}", configuration or None))
    except InputError:
        raise
    except Exception as error:  # the library has dozens of exceptions, besides those of the network and the disk
        reason = ": ".join(dict.fromkeys([type(error).__name__, reason_of(error)]))
        raise InputError(f"hub:{name}: the data set cannot be loaded ({reason})") from None


def from_hub(
    name: str | Path,                    # OWNER/NAME, OWNER/NAME/CONFIGURATION, or a directory that `save_to_disk` wrote
    source_language: str | None = None,  # if not given, en if there is one
    target_language: str | None = None,
) -> Corpus:
    "A data set of the Hugging Face hub: its splits train, validation and any that begin with test."
    tables = open_tables(name := str(name))
    validation = next((split for split in ("validation", "valid", "val", "dev") if split in tables), None)
    if "train" not in tables or validation is None or not len(tables["train"]):
        raise InputError(f"hub:{name} has the splits {', '.join(tables)}: a corpus needs train and validation; in Python "
                         "train_test_split splits one, and DatasetDict(train=..., validation=...).save_to_disk keeps them")
    asked, first = {source_language, target_language}, tables["train"][0]
    found = languages(first, asked)
    if len(found) > 2 and "translation" not in first:
        found = [language for language in found if language in asked or language not in NO_LANGUAGES]
    source, target = two_languages(found, source_language, target_language)
    if source not in found or target not in found:
        raise InputError(
            f"hub:{name} has text in {', '.join(found) or 'no language'}: it needs en and one other, or call "
            "data.huggingface.from_hub in Python, with the source and the target language"
        )

    def rows(split: str, whole: bool = True) -> Rows:
        return Rows(tables[split], name, split, source, target, whole)

    tests = {split: list(rows(split)) for split in tables if split.startswith("test")}
    return Corpus(Path(name).name, source, target, rows("train", whole=False), list(rows(validation)), tests)
