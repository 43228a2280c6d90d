"""Result files: figures, and everything that is needed to reproduce them.

One function writes all of them, so none can lack a field. benchmarks/README.md says what the fields are for.
"""
import json
import os
import platform
import shlex
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

import torch

import annotated_transformer

from . import InputError
from .files import read_sums, write_text_file
from .model_record import PRETRAINED, shipped_models

__all__ = ["environment", "machine_load", "weights_of", "write"]


def machine_load() -> float | None:
    "How many processes wanted the machine in the last minute; call it before the work. None if the system does not count them."
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else None


load = machine_load  # its former name, which sounds as if it loaded what `write` has written


def environment(device: torch.device | None = None) -> dict:
    "Versions, hardware and date; `device` is where the work was done, when not on the CPU."
    linux = Path("/proc/cpuinfo")
    lines = linux.read_text(encoding="utf-8").splitlines() if linux.exists() else []
    names = [line.partition(": ")[2] for line in lines if "model name" in line]
    versions = {"annotated_transformer": annotated_transformer.__version__, "torch": torch.__version__,
                "python": platform.python_version()}
    hardware = {"processor": names[0] if names else platform.processor() or platform.machine(), "cores": os.cpu_count()}
    if device is not None and device.type == "cuda":
        hardware["accelerator"] = torch.cuda.get_device_name(device)
    return {"versions": versions, "hardware": hardware, "date": time.strftime("%Y-%m-%d")}


def weights_of(names: Iterable[str]) -> dict[str, str]:
    "For those of these models that ship: the SHA-256 of their weights, which shows when a result file is out of date."
    return {name: read_sums(PRETRAINED / name)["model.safetensors"] for name in sorted({*names} & {*shipped_models()})}


def write(
    path: str | Path,
    figures: dict | list,                # what was found
    *,
    command: str | Sequence[str],        # that reproduces it: as typed, or its words
    config: dict | None = None,          # all settings, defaults included
    seed: int | list[int] | None = None,
    device: torch.device | None = None,  # where the work was done, when not on the CPU
    load_before: float | None = None,    # what `machine_load` returned before the work: for measurements of time
    models: Iterable[str] = (),          # what was measured; for those that ship, the checksums of their weights are recorded
    **more,                              # further facts, by name
) -> dict:  # the contents of the file
    """Write figures as JSON with everything needed to reproduce them; `path` holds the old file or the new one, never a part.

    InputError if it cannot be written.
    """
    path = Path(path)
    about = environment(device)
    about["hardware"]["threads"] = torch.get_num_threads()
    if load_before is not None:
        about["hardware"]["load_before"] = load_before
    optional = {"config": config, "seed": seed, "weights": weights_of(map(str, models)) or None, **more}
    record = {
        "command": command if isinstance(command, str) else shlex.join(map(str, command)),
        "figures": figures,
        **{name: value for name, value in optional.items() if value is not None},
        **about,
    }
    text = json.dumps(record, indent=1, ensure_ascii=False) + "\n"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text_file(path, text)
    except OSError as error:
        raise InputError(f"{path} could not be written ({error.strerror})") from None
    return json.loads(text)
