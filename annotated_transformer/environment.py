"What the package takes from the environment: all of it is read here, and refused in one sentence where it cannot be."
import os
import re
import sys
import traceback
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from . import InputError, reason_of

__all__ = [
    "Launched", "allowed_memory", "blamed", "data_directory", "drawing_given", "dumb_terminal", "keep_few_kernels", "launched",
    "meeting_place", "processes_here", "require_docstrings", "threads_given", "wait_briefly", "with_this_package",
]

OTHERS = {"tqdm": "TQDM_", "torch": "TORCH", "matplotlib": "MPL"}  # packages that fail at import, and how their variables begin


FULL = "DefaultCPUAllocator: |out of memory|Could not allocate|bad_alloc"  # so packages say it


class Launched(NamedTuple):
    "What torchrun says to each process that it starts."

    rank: int = 0    # 0 leads
    size: int = 1
    local: int = 0   # number of this process on its machine


def whole_number(name: str, most: int, least: int = 0, default: int | None = None) -> int:
    "The value of a variable; InputError where it is no such number, or missing without a default."
    text = os.environ.get(name)
    if text is None and default is not None:
        return default
    if text is None or not re.fullmatch("[0-9]{1,9}", text) or not least <= int(text) <= most:
        said = f"{name} is missing" if text is None else f"{name}={text[:40]!a}"
        what = f"torchrun gives a whole number from {least} to {most}"
        raise InputError(f"environment: {said}: {what}; unset RANK, WORLD_SIZE and LOCAL_RANK to work with one process")
    return int(text)


def launched() -> Launched:
    "Which of torchrun's processes this is; the only one, where nothing is said."
    size = whole_number("WORLD_SIZE", 10**6, 1, default=1)
    rank = whole_number("RANK", size - 1, default=0 if size == 1 else None)
    # Of several, all that lack it would take the first GPU of their machine.
    found = Launched(rank, size, whole_number("LOCAL_RANK", 10**6, default=0 if size == 1 else None))
    if size > 1:
        whole_number("MASTER_PORT", 65_535)
        if not os.environ.get("MASTER_ADDR"):
            raise InputError("environment: MASTER_ADDR, where the processes meet, is missing: start them by torchrun")
    return found


def meeting_place() -> str:
    "Where the processes meet, as messages name it."
    return f"{os.environ.get('MASTER_ADDR')}:{os.environ.get('MASTER_PORT')}"


def data_directory() -> Path | None:
    "Where the user wants downloads to be kept: $ANNOTATED_TRANSFORMER_DATA."
    from .files import named  # here, for this module is loaded with the package

    given = os.environ.get("ANNOTATED_TRANSFORMER_DATA")
    return named(given) if given else None


def dumb_terminal() -> bool:
    "Whether the terminal only appends lines, as for those who listen to it: TERM=dumb."
    return os.environ.get("TERM") == "dumb"


def keep_few_kernels() -> None:
    """Let oneDNN keep the kernels of the last 64 shapes, and PyTorch's own store before it as few, unless the user says how many.

    By itself each keeps 1,024, and a training meets a new shape with each batch: gigabytes, for kernels that seldom serve again.
    Heeded before the first product of a process only.
    """
    for store in ("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "LRU_CACHE_CAPACITY"):
        os.environ.setdefault(store, "64")


def allowed_memory(group: Path = Path("/sys/fs/cgroup"), own: Path = Path("/proc/self/cgroup")) -> int | None:
    """Bytes that this process may take: by the machine, and by the limits of its container, its Slurm job or its systemd service,
    whose group lies in others. None where the system does not tell."""
    lines, names = ["0::/", "1:memory:/"], {"": "memory.max", "memory": "memory.limit_in_bytes"}  # of both versions
    if own.is_file():
        lines += own.read_text(encoding="utf-8").splitlines()
    files = [group / kind / place / names[kind]
             for _, kinds, path in (line.split(":", 2) for line in lines) for kind in kinds.split(",") if kind in names
             for place in PurePosixPath(path.lstrip("/"), "a process").parents]
    found = [int(said) for file in files if file.is_file() and (said := file.read_text(encoding="utf-8").strip()).isdigit()]
    if hasattr(os, "sysconf"):
        found.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    return min(found, default=None)


def processes_here() -> int:
    "How many processes torchrun has started on this machine, this one among them; they share its memory."
    said = os.environ.get("LOCAL_WORLD_SIZE", "")
    return max(1, int(said)) if re.fullmatch("[0-9]{1,6}", said) else 1


def threads_given() -> bool:
    "Whether the user has said how many threads shall compute; torchrun says it for each process that it starts."
    return any(os.environ.get(name) for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"))


def drawing_given() -> bool:
    "Whether the user has said how Matplotlib shall draw; the kernel of a notebook says it, too."
    return bool(os.environ.get("MPLBACKEND"))


def wait_briefly() -> None:
    """Let a thread that waits for others look a thousand times, then sleep, unless the user has said how to wait.

    By itself it looks for milliseconds, and holds the core on which the others could finish. Heeded before PyTorch loads only.
    """
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ.setdefault("GOMP_SPINCOUNT", "1000")  # GNU's OpenMP
        os.environ.setdefault("KMP_BLOCKTIME", "0")      # Intel's and LLVM's, in milliseconds


def with_this_package() -> dict[str, str]:
    "Variables by which another Python finds the package that runs, also where it is not installed, but a clone in sys.path."
    place, found = Path(__file__).parents[1], os.environ.get("PYTHONPATH", "")
    if place.name in ("site-packages", "dist-packages"):
        return {**os.environ}
    return os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, [found, str(place)]))}


def require_docstrings() -> None:
    "InputError under `python -OO`: the command makes its options and its help of docstrings."
    if sys.flags.optimize > 1:
        raise InputError("PYTHONOPTIMIZE=2 (python -OO) takes away the texts of which the command is made: unset it, or take 1")


def blamed(error: BaseException) -> str | None:
    """One sentence for what the machine lacks, memory or a place for files, and for what a package of others raises at its import
    because of a variable of its own; None for all else."""
    said = str(error)
    if isinstance(error, MemoryError) or isinstance(error, RuntimeError) and re.search(FULL, said):
        size = re.search(r"tried to allocate [\d.]+ \w+", said, re.IGNORECASE)  # behind it PyTorch explains settings of its own
        device = "GPU's memory" if re.match("CUDA|HIP|XPU", said) else "memory"
        return (f"the {device} does not suffice ({size[0] if size else reason_of(error)[:120]}): give the process more, or less "
                "to do; with --device-tokens a training takes a batch in parts")
    if isinstance(error, RuntimeError) and "home directory" in said:
        return "this user has no home directory, which keeps downloads and settings: let the variable HOME name a directory"
    if isinstance(error, FileNotFoundError) and "usable temporary directory" in said:
        return "no directory for temporary files can be written: let the variable TMPDIR name one"
    if isinstance(error, OSError):  # a full disk, a library that is not there: no variable is to blame
        return None
    for frame in traceback.extract_tb(error.__traceback__):
        for package, beginning in OTHERS.items():
            places = (Path(where, package).as_posix() for where in ("site-packages", "dist-packages"))  # Debian's is the second
            inside = any(place in Path(frame.filename).as_posix() for place in places)
            own = [f"{name}={value}" for name, value in sorted(os.environ.items()) if name.startswith(beginning)]
            if inside and frame.name == "<module>" and own:
                return f"{package} cannot be loaded with {', '.join(own)} ({reason_of(error)}): unset or correct the variable"
    return None
