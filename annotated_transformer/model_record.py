"""What a model says about itself: record.json in its directory; and the directories of the models that ship.

Nothing here needs torch, so the command line can ask before it loads a model.
"""
import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any

from .config import Search
from .files import named, write_text_file
from .json_files import checked, read_json

__all__ = ["PRETRAINED", "RECORD", "ModelRecord", "place_of", "read_record", "record_of", "shipped_models",
           "write_record"]

PRETRAINED = Path(__file__).parent / "pretrained"
RECORD, FORMER = "record.json", "search.json"  # FORMER held only the search; it is read if there is no record
Head = tuple[Annotated[int, 1, 1_000], Annotated[int, 1, 1_024]]  # layer and head, from 1


@dataclass(frozen=True)
class ModelRecord:
    "Facts about a model, or about the one that a run trains; unknown fields are empty."

    about: str = ""                                     # what it does, in a phrase
    corpus: str | None = None                           # what it was trained on, as `corpora.load` takes it
    languages: tuple[str, ...] = ()                     # of the source and the target
    licence: str = ""                                   # what its weights may be used for, and whose data they come from
    search: dict[str, Any] = field(default_factory=dict)  # settings of `Search`; a missing one has the paper's value
    alignment_head: Head | None = None                  # the head that most often looks at the word to translate
    pronoun_head: Head | None = None                    # the same for what a pronoun stands for, while the decoder writes it
    tokenizer: str | None = None                        # its class, if that is one of the user's own
    # Mean log-probability per token, in nats; a lower value calls for a warning.
    doubtful_below: Annotated[float, -100, 0] | None = None

    def to_dict(self) -> dict[str, Any]:
        "The form in which record.json stores it."
        return {name: value for name, value in asdict(self).items() if value not in (None, "", (), {})}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "ModelRecord":
        "From the output of `to_dict`; InputError for an impossible value, and for a field that this version does not have."
        return checked(values, cls)

    def __post_init__(self):
        checked(self.search, Search)


def read_record(
    directory: Path,  # of a model
) -> ModelRecord:
    "The contents of record.json, or of an older search.json; an empty record if there is neither. InputError if it is damaged."
    path, former = directory / RECORD, directory / FORMER
    advice = "copy it again, or remove it to search as the paper does"
    if not path.exists() and former.exists():
        read_json(former, Search, advice)
        return ModelRecord(search=read_json(former, dict, advice))
    return read_json(path, ModelRecord, advice) if path.exists() else ModelRecord()


def write_record(directory: Path, record: ModelRecord) -> None:
    "Write record.json; the directory's SHA256SUMS is left to the caller."
    text = json.dumps(record.to_dict(), indent=1, ensure_ascii=False) + "\n"
    write_text_file(directory / RECORD, text)


def shipped_models() -> list[str]:
    "Names of the trained models in the package."
    return sorted(path.parent.name for path in PRETRAINED.glob("*/config.json"))


def place_of(
    path_or_name: str | Path,  # a directory, or the name of a model that ships
) -> Path:                     # where it would be if it were on this machine
    "The directory of a model."
    directory, name = named(path_or_name), str(path_or_name)
    return PRETRAINED / name if name in shipped_models() and not directory.is_dir() else directory


def record_of(
    path_or_name: str | Path,  # as for `place_of`
) -> ModelRecord:
    "The record of a model on this machine; an empty one for a name that is not found here."
    return read_record(place_of(path_or_name))
