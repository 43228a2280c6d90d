"Everything that the package reads from the environment is read here; an invalid value is refused in one sentence."
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

OTHERS = {"tqdm": "TQDM_", "torch": "TORCH", "matplotlib": "MPL"}  # packages that fail at import: prefixes of their variables


FULL = "DefaultCPUAllocator: |out of memory|Could not allocate|bad_alloc"  # the packages' wordings


class Launched(NamedTuple):
    "What torchrun tells each process that it starts."

    rank: int = 0    # 0 is the leader
    size: int = 1
    local: int = 0   # number of this process on its machine


def whole_number(name: str, most: int, least: int = 0, default: int | None = None) -> int:
    "The value of a variable; InputError if it is not a whole number in this range, or is missing and has no default."
    text = os.environ.get(name)
    if text is None and default is not None:
        return default
    if text is None or not re.fullmatch("[0-9]{1,9}", text) or not least <= int(text) <= most:
        said = f"{name} is missing" if text is None else f"{name}={text[:40]!a}"
        what = f"torchrun gives a whole number from {least} to {most}"
        raise InputError(f"environment: {said}: {what}; unset RANK, WORLD_SIZE and LOCAL_RANK to work with one process")
    return int(text)


def launched() -> Launched:
    "Which of torchrun's processes this is; the only one if the variables are not set."
    size = whole_number("WORLD_SIZE", 10**6, 1, default=1)
    rank = whole_number("RANK", size - 1, default=0 if size == 1 else None)
    # With several processes, all that lack it would use the first GPU of their machine.
    found = Launched(rank, size, whole_number("LOCAL_RANK", 10**6, default=0 if size == 1 else None))
    if size > 1:
        whole_number("MASTER_PORT", 65_535)
        if not os.environ.get("MASTER_ADDR"):
            raise InputError("environment: MASTER_ADDR, where the processes meet, is missing: start them with torchrun")
    return found


def meeting_place() -> str:
    "Where the processes meet, in the form used in messages."
    return f"{os.environ.get('MASTER_ADDR')}:{os.environ.get('MASTER_PORT')}"


def data_directory() -> Path | None:
    "Where the user wants downloads to be kept: $ANNOTATED_TRANSFORMER_DATA."
    from .files import named  # imported here because this module is loaded with the package

    given = os.environ.get("ANNOTATED_TRANSFORMER_DATA")
    return named(given) if given else None


def dumb_terminal() -> bool:
    "Whether the terminal only appends lines, as a screen reader needs it to: TERM=dumb."
    return os.environ.get("TERM") == "dumb"


def keep_few_kernels() -> None:
    """Let oneDNN, and PyTorch's cache in front of it, keep the kernels of only 64 shapes, unless the user has set a limit.

    By default each keeps 1,024, and in training each batch brings a new shape: gigabytes, for kernels that are seldom used again.
    This has an effect only before the process computes its first product.
    """
    for store in ("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "LRU_CACHE_CAPACITY"):
        os.environ.setdefault(store, "64")


def allowed_memory(group: Path = Path("/sys/fs/cgroup"), own: Path = Path("/proc/self/cgroup")) -> int | None:
    """Bytes that this process may use: limited by the machine, and by its container, its Slurm job or its systemd service,
    whose groups are nested. None if the system does not tell."""
    lines, names = ["0::/", "1:memory:/"], {"": "memory.max", "memory": "memory.limit_in_bytes"}  # of cgroup versions 2 and 1
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
    "How many processes torchrun has started on this machine, including this one; they share its memory."
    said = os.environ.get("LOCAL_WORLD_SIZE", "")
    return max(1, int(said)) if re.fullmatch("[0-9]{1,6}", said) else 1


def threads_given() -> bool:
    "Whether the user has set the number of threads; torchrun sets it for each process that it starts."
    return any(os.environ.get(name) for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"))


def drawing_given() -> bool:
    "Whether the user has chosen Matplotlib's backend; a notebook's kernel chooses one too."
    return bool(os.environ.get("MPLBACKEND"))


def wait_briefly() -> None:
    """Let a thread that waits for others check a thousand times and then sleep, unless the user has set how to wait.

    By default it checks for milliseconds, and occupies a core that the others could use. This has an effect only before PyTorch
    loads.
    """
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ.setdefault("GOMP_SPINCOUNT", "1000")  # GNU's OpenMP
        os.environ.setdefault("KMP_BLOCKTIME", "0")      # Intel's and LLVM's, in milliseconds


def with_this_package() -> dict[str, str]:
    "Environment variables that let another Python find this package, even if it is not installed but a clone in sys.path."
    place, found = Path(__file__).parents[1], os.environ.get("PYTHONPATH", "")
    if place.name in ("site-packages", "dist-packages"):
        return {**os.environ}
    return os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, [found, str(place)]))}


def require_docstrings() -> None:
    "InputError under `python -OO`: the command builds its options and its help from docstrings."
    if sys.flags.optimize > 1:
        raise InputError("PYTHONOPTIMIZE=2 (python -OO) removes the texts that the command is built from: unset it, or use 1")


def blamed(error: BaseException) -> str | None:
    """One sentence if the machine lacks memory or a place for files, or if another package fails at import because of one of its
    own environment variables; None for everything else."""
    said = str(error)
    if isinstance(error, MemoryError) or isinstance(error, RuntimeError) and re.search(FULL, said):
        size = re.search(r"tried to allocate [\d.]+ \w+", said, re.IGNORECASE)  # after it PyTorch explains its own settings
        device = "GPU's memory" if re.match("CUDA|HIP|XPU", said) else "memory"
        return (f"the {device} does not suffice ({size[0] if size else reason_of(error)[:120]}): give the process more, or less "
                "to do; with --device-tokens training takes a batch in parts")
    if isinstance(error, RuntimeError) and "home directory" in said:
        return "this user has no home directory for downloads and settings: set the variable HOME to a directory"
    if isinstance(error, FileNotFoundError) and "usable temporary directory" in said:
        return "no directory for temporary files is writable: set the variable TMPDIR to one"
    if isinstance(error, OSError):  # a full disk or a missing library: no variable is to blame
        return None
    for frame in traceback.extract_tb(error.__traceback__):
        for package, beginning in OTHERS.items():
            places = (Path(where, package).as_posix() for where in ("site-packages", "dist-packages"))  # the second is Debian's
            inside = any(place in Path(frame.filename).as_posix() for place in places)
            own = [f"{name}={value}" for name, value in sorted(os.environ.items()) if name.startswith(beginning)]
            if inside and frame.name == "<module>" and own:
                return f"{package} cannot be loaded with {', '.join(own)} ({reason_of(error)}): unset or correct the variable"
    return None
