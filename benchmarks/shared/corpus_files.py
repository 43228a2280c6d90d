"A corpus as a directory of text files, one line per sentence."
from collections.abc import Sequence
from pathlib import Path


def write_corpus(
    splits: dict[str, Sequence[Sequence]],  # pairs by the name of their split; what a row has beside its pair is left out
    directory: Path,
) -> None:
    "A file for each split and side: train.en, train.de, ..."
    directory.mkdir(parents=True, exist_ok=True)
    for split, rows in splits.items():
        for side, language in enumerate(("en", "de")):
            text = "".join(f"{row[side]}\n" for row in rows)
            (directory / f"{split}.{language}").write_text(text, encoding="utf-8")
