"""How many threads a CPU computes with: it depends on the work and on what other programs leave free. OMP_NUM_THREADS fixes it.

Threads wait for one another after each product. If another program occupies the core of one of them, all wait: two threads next
to a busy program are slower than a single one. With a different number of threads, numbers are added in a different order, so
sums differ in their last bits.
"""
import ctypes
import logging
import math
import os
import statistics
import threading
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from .environment import threads_given

__all__ = ["ONE_THREAD", "Reading", "Threads", "allowed_cores", "choose_threads", "chosen_threads", "one_thread_after_fork",
           "reading", "without_warnings"]

LEAST_WORK = 2**24  # multiply-adds per step and thread: with fewer, threads wait longer than they work
ENOUGH = 0.75       # of a core: if this much of it is free, a thread uses it
SLOW = 1.3          # times the best: more than the usual variation between updates


class Reading(NamedTuple):
    "A snapshot of the machine."

    seconds: float  # by the clock
    free: float     # seconds so far, of all cores together, that this process had or could have had


def cores() -> set[int]:
    "Numbers of the cores on which this process may run."
    return os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set(range(os.cpu_count() or 1))


def allowed_cores(group: Path = Path("/sys/fs/cgroup")) -> int:
    "How many cores this process may keep busy, according to its affinity and its container's quota."
    files = [group / name for name in ("cpu.max", "cpu/cpu.cfs_quota_us", "cpu/cpu.cfs_period_us")]
    quota = [word for file in files if file.is_file() for word in file.read_text(encoding="utf-8").split()]
    if len(quota) != 2 or not all(word.isdigit() for word in quota):  # "max 100000", or -1: no quota
        return len(cores())
    return max(1, min(len(cores()), int(quota[0]) // int(quota[1])))


def reading(stat: Path = Path("/proc/stat")) -> Reading | None:
    """The machine now; None if the system does not tell.

    Low-priority work counts as busy too: unless told otherwise, Linux heeds priorities only within a session.
    """
    if not stat.is_file() or not hasattr(os, "sysconf"):
        return None
    own, free = cores(), 0
    for line in stat.read_text(encoding="utf-8").splitlines():
        name, *ticks = line.split()
        if name.startswith("cpu") and name[3:].isdigit() and int(name[3:]) in own:
            free += int(ticks[3]) + int(ticks[4])  # idle, and waiting for a disk
    return Reading(time.perf_counter(), free / os.sysconf("SC_CLK_TCK") + time.process_time())


BEGAN = reading()  # before PyTorch is loaded, which takes a second


def openmp() -> ctypes.CDLL | None:
    "The library that starts the threads of PyTorch and of MKL, where it comes with PyTorch (Linux)."
    import torch  # imported here: a command that computes nothing should not load it

    return next((ctypes.CDLL(str(file)) for file in Path(torch.__file__).parent.glob("lib/libgomp*")), None)


def set_threads(number: int) -> None:
    """Set the number for everything that this Python thread computes from here on.

    After `torch.set_num_threads`, even with the current number, PyTorch's attention takes several times as long; we think that
    MKL then starts its own threads within each of PyTorch's. So we call it only if we cannot set the number in OpenMP itself.
    """
    import torch

    if torch.get_num_threads() != number and (library := openmp()):
        library.omp_set_num_threads(number)
    if torch.get_num_threads() != number:
        torch.set_num_threads(number)


class OneThread:
    """`with ONE_THREAD.lock` surrounds code that changes a setting of the whole process and restores it.

    A process that is forked meanwhile gets a new lock: the thread that would release the old one does not exist there.
    """

    def __init__(self):
        self.renew()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self.renew)

    def renew(self) -> None:
        "A lock that nobody holds."
        self.lock = threading.RLock()


ONE_THREAD = OneThread()


@contextmanager
def without_warnings(message: str = "", category: type[Warning] = Warning) -> Iterator[None]:
    """Within, no warnings of this kind, one thread at a time; the code inside must not wait for another thread.

    Before Python 3.14 all threads share the filters: of two that leave `catch_warnings`, one would restore the other's filter,
    and the warnings would stay silent for good.
    """
    with ONE_THREAD.lock, warnings.catch_warnings():
        warnings.filterwarnings("ignore", message, category)
        yield


@lru_cache(maxsize=1)
def one_thread_after_fork() -> None:
    """From here on, a process that is forked from this one computes with one thread.

    A fork copies no threads, and GNU's OpenMP would wait forever for those of the parent, which a model has started. We do not
    check whether it is GNU's: PyTorch ships its own or uses the system's.
    """
    import torch

    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=lambda: torch.set_num_threads(1))


class Threads:
    "Chooses the number of threads, and chooses again when the machine becomes busy or free."

    def __init__(
        self, most: int, began: Reading | None = None, read: Callable[[], Reading | None] = reading,
        use: Callable[[int], None] = set_threads, clock: Callable[[], float] = time.perf_counter,
    ):
        self.most, self.read, self.use, self.clock = most, read, use, clock
        self.looked = began or read()
        self.take(most)

    def take(self, number: int) -> None:
        "Use this number; forget what was measured with another."
        self.number, self.best, self.room, self.told = number, math.inf, 0, False
        self.recent: deque[float] = deque(maxlen=20)
        self.use(number)
        self.go_on()

    def go_on(self) -> None:
        "Restart the clock: validation and saving are not updates."
        self.since = self.clock()

    def free(self) -> float:
        "How many cores this process had or could have had since the last reading."
        now, last = self.read(), self.looked
        if now is None or last is None:
            return self.most
        if now.seconds - last.seconds < 0.1:  # the system counts in hundredths of a second
            time.sleep(0.1)
            now = self.read() or now
        self.looked = now
        return min(self.most, (now.free - last.free) / (now.seconds - last.seconds))

    def choose(self, work: float = math.inf) -> int:
        "The number for steps of this many multiply-adds."
        by_work = self.most if math.isinf(work) else int(work / LEAST_WORK)
        self.take(max(1, min(by_work, math.floor(self.free() + 1 - ENOUGH))))
        return self.number

    def updated(self) -> None:
        "After each training update: fewer threads if other work has made updates slow, more if there is room."
        now = self.clock()
        self.recent.append(now - self.since)
        self.since = now
        if len(self.recent) < 20:
            return
        usual, free, before = statistics.median(self.recent), self.free(), self.number
        self.recent.clear()
        self.best = min(self.best, usual)
        slow, there = usual / self.best, max(1, math.floor(free + 1 - ENOUGH))
        self.room = self.room + 1 if there > before else 0
        if slow > SLOW and there < before or self.room == 3:  # a single reading may fall into a pause of the other programs
            self.take(there)
        elif slow <= SLOW or self.told:
            return
        self.told = self.number == before
        what = f"updates take {slow:.1f} times as long as at best" if slow > SLOW else "other programs have made room"
        change = f"threads: {before}" if self.told else f"threads: {self.number} instead of {before}"
        known = f"{free:.1f} of {self.most} cores are free, " if self.looked else "OMP_NUM_THREADS=1 may help beside other work; "
        logging.getLogger(__name__).warning(f"{what}; {known}{change}")


def choose_threads(work: float = math.inf) -> None:
    "Choose once, for a command; does nothing if the user has set the number."
    if not threads_given():
        Threads(allowed_cores(), BEGAN).choose(work)


@contextmanager
def chosen_threads(now: int) -> Iterator[Threads | None]:
    "Choose for a training run, and again during it; None if the user has set the number, including by `torch.set_num_threads`."
    if threads_given() or now < allowed_cores():
        yield None
        return
    threads = Threads(allowed_cores())
    threads.choose()
    try:
        yield threads
    finally:
        set_threads(now)
