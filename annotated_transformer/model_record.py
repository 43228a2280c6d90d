"""What a model says of itself: record.json in its directory, and the directories of the models that ship.

Nothing here needs torch, so the command line can ask before it loads a model.
"""
import json
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from . import InputError
from .files import regular

__all__ = ["PRETRAINED", "RECORD", "ModelRecord", "read_record", "record_of", "shipped_models", "write_record"]

PRETRAINED = Path(__file__).parent / "pretrained"
RECORD, FORMER = "record.json", "search.json"  # FORMER held the search alone; it is read where there is no record
SEARCH = {"beam_size": int, "alpha": float, "extra_length": int}  # the settings that a record may hold


@dataclass(frozen=True)
class ModelRecord:
    "Facts about a model; what is not known is empty."

    about: str = ""                                     # what it does, in a phrase
    corpus: str | None = None                           # what it was trained on, as `corpora.load` takes it
    languages: tuple[str, ...] = ()                     # of the source and the target
    licence: str = ""                                   # for what its weights may be used, and whose data they come from
    search: dict[str, Any] = field(default_factory=dict)  # settings of `Search`; where one is missing, the paper's
    alignment_head: tuple[int, int] | None = None       # layer and head, from 1, that most often look at the word to translate
    pronoun_head: tuple[int, int] | None = None         # the same, of what a pronoun stands for, while the decoder writes it
    doubtful_below: float | None = None                 # mean log-probability per token, in nats; a lower one calls for a warning

    def to_dict(self) -> dict:
        "As record.json holds it."
        return {name: value for name, value in asdict(self).items() if value not in (None, "", (), {})}

    @classmethod
    def from_dict(cls, values: dict) -> "ModelRecord":
        "From what `to_dict` gave; ValueError for a value that cannot be, InputError for a field that this version does not have."
        known = {own.name for own in fields(cls)}
        for name in dict(values):
            if name not in known:
                raise InputError(f"this version of the package knows no field {name!r}; use the version that wrote it")
        languages, search = values.get("languages", ()), dict(values.get("search", {}))
        heads = {name: values.get(name) for name in ("alignment_head", "pronoun_head")}
        texts = [values.get("about", ""), values.get("licence", ""), values.get("corpus") or "", *languages]
        if isinstance(languages, str) or not all(isinstance(text, str) for text in texts):
            raise ValueError("a text is wanted")
        for head in heads.values():
            if head is not None and not (len(head) == 2 and all(type(n) is int and n >= 1 for n in head)):
                raise ValueError("a layer and a head are wanted")
        below = values.get("doubtful_below")
        if below is not None and not (type(below) in (int, float) and -100 <= below <= 0):
            raise ValueError("a mean log-probability is wanted")
        for name, value in search.items():
            kinds = (int, float) if SEARCH[name] is float else (int,)
            if type(value) not in kinds or not (name == "beam_size") <= value or name == "alpha" and value > 100:
                raise ValueError("no such search")
        read = {name: head and tuple(head) for name, head in heads.items()}
        return cls(**{**values, **read, "languages": tuple(languages), "search": search})


def read_record(
    directory: Path,  # of a model
) -> ModelRecord:
    "What record.json says, or an older search.json; an empty record where there is neither. InputError when it is damaged."
    path, former = directory / RECORD, directory / FORMER
    if not path.exists() and former.exists():
        path = former
    if not path.exists():
        return ModelRecord()
    try:
        values = json.loads(regular(path).read_text(encoding="utf-8"))
        return ModelRecord.from_dict({"search": values} if path == former else values)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
        raise InputError(f"{path}: the file is damaged; copy it again, or remove it to search as the paper does") from None


def write_record(
    directory: Path,
    record: ModelRecord,
) -> None:
    "Write record.json; the directory's SHA256SUMS is left to the caller."
    text = json.dumps(record.to_dict(), indent=1, ensure_ascii=False) + "\n"
    (directory / RECORD).write_text(text, encoding="utf-8")


def shipped_models() -> list[str]:
    "Names of the trained models in the package."
    return sorted(path.parent.name for path in PRETRAINED.glob("*/config.json"))


def record_of(
    path_or_name: str | Path,  # a directory, or the name of a model that ships
) -> ModelRecord:
    "The record of a model that lies on this machine; an empty one for a run, and for a name that is not found here."
    directory = Path(path_or_name)
    if not directory.is_dir() and str(path_or_name) in shipped_models():
        directory = PRETRAINED / str(path_or_name)
    return read_record(directory)
