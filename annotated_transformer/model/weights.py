"Weight files: reading, checking, putting into a model; and where a model is found: here, in the package, or on the hub."
import re
from collections.abc import Callable
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, NotRequired, TypedDict, TypeVar

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn

from .. import InputError, reason_of
from ..files import SUMS, finish, read_sums, regular, sha256
from ..json_files import read_json
from ..model_record import place_of, shipped_models

__all__ = ["load_into", "load_weights", "model_directory", "of_one_save", "reader_of_others", "require_real", "require_shapes",
           "to_be_saved"]

REAL = (torch.float32, torch.float16, torch.bfloat16, torch.float64)  # the types that a weight may have
WHOLE = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool)  # further types for buffers


def load_weights(
    path: str | Path,        # a `.safetensors` file
    hashed: bool = False,    # its checksum has just been compared: a large file takes seconds
) -> dict[str, Tensor]:
    """Read weights; InputError if the file is missing or damaged, which the SHA256SUMS next to it may show, or if its numbers
    are neither real nor whole. `load_into`, which knows the model, checks which of them must be real and finite."""
    path = Path(path)
    try:
        expected = None if hashed else read_sums(regular(path).parent).get(path.name)
        if expected is not None and sha256(path) != expected:
            raise SafetensorError("its checksum is wrong")
        weights = load_file(path)
    except FileNotFoundError:
        raise InputError(f"{path}: there is no such file of weights") from None
    except PermissionError:
        raise InputError(f"{path}: you may not read this file of weights; ask its owner, or chmod it") from None
    except (SafetensorError, OSError) as error:
        raise InputError(f"{path}: the file of weights is damaged ({error}); copy it again or use another checkpoint") from None
    require_real({name: weight for name, weight in weights.items() if weight.dtype not in REAL + WHOLE}, path)
    return weights


def to_be_saved(model: nn.Module) -> dict[str, Tensor]:
    """What a file holds of a model: each tensor contiguous, in its own memory.

    InputError for anything that could not be read back as it was: a parameter under two names or without real numbers, a
    buffer whose numbers are neither real nor whole, such as complex ones, and a tensor that holds others, as with `fully_shard`.
    """
    kind, names = type(model).__name__, {}
    for name, parameter in model.named_parameters(remove_duplicate=False):
        if (first := names.setdefault(parameter, name)) != name:
            raise InputError(f"{kind} has one parameter under two names, {first!r} and {name!r}, and a file holds it under one: "
                             "give each layer a module of its own, or let a property `layers` give one as often as it runs "
                             "(docs/your-own-parts.md)")
    found, places, parameters = {}, set(), set(names.values())
    for name, value in model.state_dict().items():
        written = type(value).__name__ if hasattr(value, "__tensor_flatten__") else getattr(value, "dtype", type(value).__name__)
        if written not in (REAL if name in parameters else REAL + WHOLE):
            raise InputError(f"{kind}: {name!r} is of {written}, and a file holds parameters of real numbers, buffers of real or "
                             "whole ones: write it in these, or register it with persistent=False")
        if any(step == 0 and size > 1 for step, size in zip(value.stride(), value.shape)):
            raise InputError(f"{kind}: {name!r} is an expanded tensor, into which no file can be read: call contiguous() on it")
        place = value.untyped_storage().data_ptr()  # two layers may share one mask
        found[name] = value.clone(memory_format=torch.contiguous_format) if place in places else value.contiguous()
        places.add(place)
    return found


def require_real(
    weights: dict[str, Tensor],
    path: Path | str,                # where they come from, or the model to be saved: for the message
) -> None:
    "InputError names the first with a value that is not a finite 32-bit number."
    for name, weight in weights.items():
        if weight.dtype not in REAL or not weight.float().isfinite().all():
            raise InputError(f"{path}: {name!r} holds something that is not a finite real number; take an earlier checkpoint or "
                             "another copy")


def require_shapes(
    weights: dict[str, Tensor],
    shapes: dict[str, torch.Size],   # that they must have, by name
    path: Path,                      # where they come from, for the message
    problem: str,
) -> None:
    "InputError names the first that is missing, one too many, or has another shape."
    for name in sorted(shapes.keys() | weights.keys()):
        if name not in shapes or name not in weights or weights[name].shape != shapes[name]:
            raise InputError(f"{path}: {problem} (first at {name!r}); take those of one run")


def load_into(
    model: nn.Module,
    weights: dict[str, Tensor],
    path: Path,                   # where they come from, for the message
) -> None:
    """Put weights into a model; InputError if they belong to another configuration.

    A parameter must be finite; a buffer may be infinite, as masks are, or hold whole numbers if the model's does.
    """
    own = model.state_dict()
    shapes = {name: value.shape for name, value in own.items()}
    fit = all(shapes.get(name) == value.shape for name, value in weights.items())
    if fit and len(shapes) > len(weights) and not type(model).__module__.startswith(("annotated_transformer.", "torch.")):
        kind, first = type(model).__name__, next(name for name in own if name not in weights)
        raise InputError(f"{path}: {kind} has weights that these lack, first {first!r}: give these to load_state_dict of a new "
                         f"{kind}, with strict=False, save it, and load or start from what was saved (docs/your-own-parts.md)")
    require_shapes(weights, shapes, path, "weights, configuration and vocabulary do not fit one another")
    if any(value.is_meta for value in own.values()):  # for a model on the meta device we only check whether the weights would fit
        return
    parameters = {name for name, _ in model.named_parameters()}
    asked = {name: w for name, w in weights.items() if name in parameters or w.dtype not in (*REAL, own[name].dtype)}
    require_real(asked, path)
    model.load_state_dict(weights)


Found = TypeVar("Found")
HUB = ("revision", "token", "cache_dir", "local_files_only", "force_download")  # options for the hub


class AnyConfig(TypedDict):
    "What a config.json may hold, among other things."
    model_type: NotRequired[str]   # of Hugging Face's library
    training: NotRequired[Any]     # of a run


def said_by(directory: Path) -> AnyConfig:
    "What a directory's config.json says; empty if it cannot be read."
    try:
        return read_json(directory / "config.json", AnyConfig, "")
    except InputError:
        return {}


def reader_of_others(
    directory: Path,
) -> Callable | None:  # takes the directory, a device and a precision, and gives a Translator; None for a directory of ours
    "The function that reads a directory of other software; if there is none, InputError says what the directory holds."
    said = said_by(directory).get("model_type")
    if said is None and (directory / "model.bin").exists() and any(directory.glob("*_vocabulary.*")):
        said = "CTranslate2"  # its config.json does not say so
    elif said is None and (directory / "source.spm").exists():
        said = "marian"
    if said == "marian":
        return resolve_name("annotated_transformer.exchange.marian:load_marian")  # a wing above this one
    if said is not None or not (directory / "config.json").exists():
        names = sorted(path.name for path in directory.iterdir())
        there = ", ".join(names[:8]) + ", ..." * (len(names) > 8) or "nothing"
        what = f"a model of {said!r}, which is not read here" if said else "no config.json"
        raise InputError(
            f"{directory} holds {there}: {what}; give a run or a model of this package, which has config.json and "
            "tokenizer.model, or a Marian model of Hugging Face's library, which has config.json and source.spm"
        )
    return None


def model_directory(
    path_or_name: str | Path,
    **options,               # for the hub: those of `HUB`
) -> Path:
    "A directory of the user's, the directory of shipped weights with this name, or a copy of the model on the hub."
    for option in sorted(options.keys() - set(HUB)):
        raise InputError(f"{option} is not an option here; those for the hub are {', '.join(HUB)}")
    if (directory := place_of(path_or_name)).is_dir():
        finished(directory)
        return directory
    return from_hub(str(path_or_name), **options)


def finished(directory: Path) -> None:
    "Complete an interrupted save of a model in this directory; InputError if that is impossible."
    try:
        finish(directory)
    except OSError as error:
        raise InputError(f"{directory}: {error.strerror}") from None


def of_one_save(
    directory: Path,                # of a model
    read: Callable[[], Found],      # its files
) -> Found:
    """What is read, all of it from one save. Another program may save a model there meanwhile, and a new vocabulary of the same
    size would go unnoticed next to the old weights. In that case everything is read again."""
    while True:
        before = ages(directory)
        finished(directory)  # so these files belong to a save that is all there, unless they have changed at the end
        try:
            found = read()
        except InputError:
            if ages(directory) == before:
                raise
            continue
        if ages(directory) == before:
            return found


def ages(directory: Path) -> list[tuple[int, ...]]:
    "What distinguishes a model from one that replaces it: `finish` moves these first, and not every model has checksums."
    return [age_of(directory / name) for name in (SUMS, "config.json")]


def age_of(path: Path) -> tuple[int, ...]:
    "What distinguishes a file from one that replaces it; empty if there is none."
    try:
        now = path.stat()
    except OSError:
        return ()
    return now.st_ino, now.st_mtime_ns, now.st_size


def from_hub(
    name: str,  # OWNER/NAME
    **options,
) -> Path:
    "Download a model from the Hugging Face hub, or find the copy that an earlier download left."
    owner, _, rest = name.partition("/")
    if not rest or "/" in rest or Path(owner).exists() or not re.fullmatch(r"[\w.-]+/[\w.-]+", name):
        shipped = ", ".join(shipped_models())
        raise InputError(f"{name}: there is no such directory of a run or of a model; models that ship by name: {shipped}")
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError

    wanted = ["*.json", "model.safetensors", "tokenizer.model", SUMS, "*.spm"]  # the last is for Marian's
    try:
        return Path(snapshot_download(name, allow_patterns=wanted, **options))
    except (HfHubHTTPError, HFValidationError, LocalEntryNotFoundError, OSError) as error:
        said = f"the Hugging Face hub gave nothing ({reason_of(error)})"
        raise InputError(f"{name}: there is no such directory here, and {said}") from None
