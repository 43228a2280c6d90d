"Files of weights: read, checked, put into a model; and where a model is found: here, in the package, or on the hub."
import re
from pathlib import Path

from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn

from .. import InputError
from ..files import SUMS, read_sums, regular, sha256
from ..model_record import PRETRAINED, shipped_models

__all__ = ["load_into", "load_weights", "model_directory"]


def load_weights(
    path: str | Path,        # a `.safetensors` file
    hashed: bool = False,    # its sum has just been compared: a large file takes seconds
) -> dict[str, Tensor]:
    "Read weights; InputError when the file is missing or damaged, also by the SHA256SUMS that stands beside it."
    path = Path(path)
    try:
        expected = None if hashed else read_sums(regular(path).parent).get(path.name)
        if expected is not None and sha256(path) != expected:
            raise SafetensorError("its checksum is wrong")
        return load_file(path)
    except FileNotFoundError:
        raise InputError(f"{path}: there is no such file of weights") from None
    except PermissionError:
        raise InputError(f"{path}: you may not read this file of weights; ask its owner, or chmod it") from None
    except (SafetensorError, OSError) as error:
        raise InputError(f"{path}: the file of weights is damaged ({error}); copy it again or use another checkpoint") from None


def load_into(
    model: nn.Module,
    weights: dict[str, Tensor],
    path: Path,                   # where they come from, for the message
) -> None:
    "Put weights into a model; InputError when they belong to another configuration."
    own = model.state_dict()
    for name in own.keys() | weights.keys():
        if name not in own or name not in weights or own[name].shape != weights[name].shape:
            problem = f"weights, configuration and vocabulary do not fit one another (first at {name!r})"
            raise InputError(f"{path}: {problem}; take those of one run")
        if not weights[name].is_floating_point() or not weights[name].isfinite().all():
            raise InputError(f"{path}: {name!r} holds what is no finite real number; take an earlier checkpoint or another copy")
    if not any(value.is_meta for value in own.values()):  # a model on no device is only asked whether the weights would fit
        model.load_state_dict(weights)


def model_directory(
    path_or_name: str | Path,
    **options,               # for the hub: revision, token, cache_dir, ...
) -> Path:
    "A directory of the user's, that of the weights that ship under this name, or a copy of what the hub has."
    name = str(path_or_name)
    if Path(path_or_name).is_dir():
        return Path(path_or_name)
    return PRETRAINED / name if name in shipped_models() else from_hub(name, **options)


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

    wanted = ["*.json", "model.safetensors", "tokenizer.model", SUMS]
    try:
        return Path(snapshot_download(name, allow_patterns=wanted, **options))
    except (HfHubHTTPError, HFValidationError, LocalEntryNotFoundError, OSError) as error:
        reason = str(error).strip().splitlines()[0]
        raise InputError(f"{name}: there is no such directory here, and the Hugging Face hub gave nothing ({reason})") from None
