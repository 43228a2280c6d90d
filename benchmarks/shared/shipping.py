"How a trained model gets into the package: rounded, with its card, and with the record of what it is."
import dataclasses
from pathlib import Path

import torch

from annotated_transformer import Translator
from annotated_transformer.files import read_sums, remove_directory, write_directory, write_sums
from annotated_transformer.model_record import read_record, write_record


def round_weights(model: torch.nn.Module) -> None:
    "To the 16 bits in which they will be stored, so that what is measured is what ships."
    with torch.no_grad():
        for weight in model.parameters():
            weight.copy_(weight.half())


def put_into(
    directory: Path,
    translator: Translator,
    text: str,      # of the card, README.md
    corpus: str,    # that it was trained on
    search: dict,   # settings that were chosen for it; none: the paper's
) -> None:
    """Write a model, its card and its record; `directory` holds the old model, or all of the new one.

    The record keeps what training does not change. Which head aligns best and where doubt begins must be measured again:
    `benchmarks.heads --ship`, `benchmarks.out_of_depth --write`.
    """
    record = dataclasses.replace(read_record(directory), corpus=corpus, search=search, alignment_head=None, doubtful_below=None)

    def write(beside: Path) -> None:
        translator.save_pretrained(beside)
        write_record(beside, record)
        (beside / "README.md").write_text(text, encoding="utf-8")
        write_sums(beside, (*read_sums(beside), "README.md"))
        if directory.exists():
            remove_directory(directory)

    write_directory(directory, write)


def keep(
    directory: Path,  # of a model
    **measured,       # fields of its record
) -> None:
    "Put what was measured of a model into its record."
    write_record(directory, dataclasses.replace(read_record(directory), **measured))
    if sums := read_sums(directory):
        write_sums(directory, sums)
