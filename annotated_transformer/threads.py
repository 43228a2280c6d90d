"""How many threads a CPU computes with: by the work, and by what other programs leave free. OMP_NUM_THREADS holds the number.

Threads wait for one another after each product. Where another program has the core of one of them, all wait: two threads beside
a busy program are slower than one alone. Another number of threads adds up in another order, so sums differ in their last bits.
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

LEAST_WORK = 2**24  # multiply-adds of a step, for each thread: with fewer, threads wait longer than they work
ENOUGH = 0.75       # of a core: so much of it free, and a thread takes it
SLOW = 1.3          # times the best: more than updates differ by themselves


class Reading(NamedTuple):
    "A look at the machine."

    seconds: float  # of the clock
    free: float     # seconds so far, of all cores together, that this process had or could have had


def cores() -> set[int]:
    "Numbers of the cores on which this process may run."
    return os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set(range(os.cpu_count() or 1))


def allowed_cores(group: Path = Path("/sys/fs/cgroup")) -> int:
    "How many cores this process may keep busy: by its affinity, and by the quota of its container."
    files = [group / name for name in ("cpu.max", "cpu/cpu.cfs_quota_us", "cpu/cpu.cfs_period_us")]
    quota = [word for file in files if file.is_file() for word in file.read_text(encoding="utf-8").split()]
    if len(quota) != 2 or not all(word.isdigit() for word in quota):  # "max 100000", or -1: no quota
        return len(cores())
    return max(1, min(len(cores()), int(quota[0]) // int(quota[1])))


def reading(stat: Path = Path("/proc/stat")) -> Reading | None:
    """The machine now; None where the system does not tell.

    What runs at a low priority counts as busy too: Linux heeds priorities within a session only, unless it is told otherwise.
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
    import torch  # here: a command that computes nothing shall not load it

    return next((ctypes.CDLL(str(file)) for file in Path(torch.__file__).parent.glob("lib/libgomp*")), None)


def set_threads(number: int) -> None:
    """For all that this thread of Python computes from here on.

    After `torch.set_num_threads`, also with the number that is there, PyTorch's attention takes several times as long; we think
    that MKL then starts threads of its own within each of PyTorch's. So it is called only where OpenMP itself cannot be told.
    """
    import torch

    if torch.get_num_threads() != number and (library := openmp()):
        library.omp_set_num_threads(number)
    if torch.get_num_threads() != number:
        torch.set_num_threads(number)


class OneThread:
    """`with ONE_THREAD.lock` stands around what changes a setting of the whole process and puts it back.

    A process that is forked meanwhile gets a new lock: the thread that would open the old one is not there.
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
    """None of this kind meanwhile, one thread at a time; nothing in it may wait for another thread.

    Before Python 3.14 the filters are those of all threads: of two that leave `catch_warnings`, one would bring the other's
    silence back, for good.
    """
    with ONE_THREAD.lock, warnings.catch_warnings():
        warnings.filterwarnings("ignore", message, category)
        yield


@lru_cache(maxsize=1)
def one_thread_after_fork() -> None:
    """From here on, a process that is forked from this one computes by one thread.

    A fork copies no threads, and GNU's OpenMP would wait for ever for those of the parent, which a model has started. Whether
    it is GNU's is not asked: PyTorch brings it along, or takes the system's.
    """
    import torch

    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=lambda: torch.set_num_threads(1))


class Threads:
    "Chooses the number, and again when the machine becomes busy or free."

    def __init__(
        self, most: int, began: Reading | None = None, read: Callable[[], Reading | None] = reading,
        use: Callable[[int], None] = set_threads, clock: Callable[[], float] = time.perf_counter,
    ):
        self.most, self.read, self.use, self.clock = most, read, use, clock
        self.looked = began or read()
        self.take(most)

    def take(self, number: int) -> None:
        "What was measured with another number is forgotten."
        self.number, self.best, self.room, self.told = number, math.inf, 0, False
        self.recent: deque[float] = deque(maxlen=20)
        self.use(number)
        self.go_on()

    def go_on(self) -> None:
        "Start the clock again: validation and saving are no updates."
        self.since = self.clock()

    def free(self) -> float:
        "How many cores this process had or could have had since the last look."
        now, last = self.read(), self.looked
        if now is None or last is None:
            return self.most
        if now.seconds - last.seconds < 0.1:  # the system counts in hundredths of a second
            time.sleep(0.1)
            now = self.read() or now
        self.looked = now
        return min(self.most, (now.free - last.free) / (now.seconds - last.seconds))

    def choose(self, work: float = math.inf) -> int:
        "The number for steps of so many multiply-adds."
        by_work = self.most if math.isinf(work) else int(work / LEAST_WORK)
        self.take(max(1, min(by_work, math.floor(self.free() + 1 - ENOUGH))))
        return self.number

    def updated(self) -> None:
        "After each update of a training: fewer threads where updates became slow beside other work, more where there is room."
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
        if slow > SLOW and there < before or self.room == 3:  # a single look may fall into a pause of the others
            self.take(there)
        elif slow <= SLOW or self.told:
            return
        self.told = self.number == before
        what = f"updates take {slow:.1f} times as long as at best" if slow > SLOW else "other programs have made room"
        change = f"threads: {before}" if self.told else f"threads: {self.number} in place of {before}"
        known = f"{free:.1f} of {self.most} cores are free, " if self.looked else "OMP_NUM_THREADS=1 may help beside other work; "
        logging.getLogger(__name__).warning(f"{what}; {known}{change}")


def choose_threads(work: float = math.inf) -> None:
    "Once, for a command; nothing where the user has said how many."
    if not threads_given():
        Threads(allowed_cores(), BEGAN).choose(work)


@contextmanager
def chosen_threads(now: int) -> Iterator[Threads | None]:
    "For a training, and again during it; None where the user has said how many, also by `torch.set_num_threads`."
    if threads_given() or now < allowed_cores():
        yield None
        return
    threads = Threads(allowed_cores())
    threads.choose()
    try:
        yield threads
    finally:
        set_threads(now)
