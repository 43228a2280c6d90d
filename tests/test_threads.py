"How many threads compute: by the work, by what is free, by what the user says; on a machine that is made up."
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from annotated_transformer import threads
from annotated_transformer.threads import LEAST_WORK, Reading, Threads, allowed_cores, chosen_threads, reading, set_threads


class Machine:
    "Cores of which others take some; the time goes on as the test says."

    def __init__(self, cores: int, busy: float):
        self.cores, self.busy, self.now, self.free, self.used = cores, busy, 0.0, 0.0, []

    def go_on(self, seconds: float) -> None:
        self.now += seconds
        self.free += seconds * (self.cores - self.busy)

    def chooser(self) -> Threads:
        found = Threads(self.cores, None, lambda: Reading(self.now, self.free), self.used.append, lambda: self.now)
        self.go_on(1)
        return found

    def train(self, chooser: Threads, updates: int, seconds: float) -> None:
        for _ in range(updates):
            self.go_on(seconds)
            chooser.updated()


@pytest.mark.parametrize("cores, busy, number", [
    (2, 0, 2), (2, 0.2, 2), (2, 0.3, 1), (2, 1, 1), (2, 2, 1), (8, 2.9, 5), (8, 0.25, 8), (1, 0.9, 1),
])
def test_other_programs_take_their_cores(cores, busy, number):
    machine = Machine(cores, busy)
    assert machine.chooser().choose() == number == machine.used[-1]


@pytest.mark.parametrize("work, number", [(0, 1), (1, 1), (2, 2), (3.5, 3), (99, 4)])
def test_little_work_takes_few_threads(work, number):
    assert Machine(4, 0).chooser().choose(work * LEAST_WORK) == number


def test_slow_updates_beside_other_work_take_fewer_threads_and_more_when_there_is_room(caplog):
    machine = Machine(2, 0)
    chooser = machine.chooser()
    assert chooser.choose() == 2
    machine.train(chooser, 40, 0.1)
    machine.busy = 2
    machine.train(chooser, 40, 1.4)
    assert machine.used == [2, 2, 1] and [record.message for record in caplog.records] == [
        "updates take 14.0 times as long as at best; 0.0 of 2 cores are free, threads: 1 instead of 2"
    ]
    machine.train(chooser, 100, 0.2)
    machine.busy = 0
    machine.train(chooser, 40, 0.2)
    assert chooser.number == 1, "two looks are not enough"
    machine.train(chooser, 20, 0.2)
    assert machine.used == [2, 2, 1, 2] and caplog.records[-1].message.startswith("other programs have made room; 2.0 of 2 cores")


def test_slow_updates_without_other_work_are_said_once(caplog):
    machine = Machine(4, 0)
    chooser = machine.chooser()
    machine.train(chooser, 20, 0.1)
    machine.train(chooser, 100, 0.14)
    assert machine.used == [4] and [record.message for record in caplog.records] == [
        "updates take 1.4 times as long as at best; 4.0 of 4 cores are free, threads: 4"
    ]


def test_a_few_slow_updates_and_a_pause_are_none(caplog):
    machine = Machine(2, 0)
    chooser = machine.chooser()
    for _ in range(5):
        machine.train(chooser, 12, 0.1)
        machine.train(chooser, 8, 9)
        machine.go_on(500)  # a validation
        chooser.go_on()
    assert machine.used == [2] and not caplog.records


def test_where_the_system_does_not_tell(caplog):
    now = [0.0]
    chooser = Threads(4, None, lambda: None, lambda number: None, lambda: now[0])
    assert chooser.choose() == 4
    for seconds in [0.1] * 20 + [0.3] * 20:
        now[0] += seconds
        chooser.updated()
    assert chooser.number == 4 and "OMP_NUM_THREADS=1 may help" in caplog.text


def test_the_quota_of_a_container(tmp_path, monkeypatch):
    monkeypatch.setattr(threads, "cores", lambda: set(range(6)))
    assert allowed_cores(tmp_path) == 6
    for said, number in {"max 100000": 6, "250000 100000": 2, "50000 100000": 1, "900000 100000": 6}.items():
        (tmp_path / "cpu.max").write_text(said + "\n")
        assert allowed_cores(tmp_path) == number
    (tmp_path / "cpu.max").unlink()
    (tmp_path / "cpu").mkdir()
    for said, number in {"-1": 6, "300000": 3}.items():
        (tmp_path / "cpu" / "cpu.cfs_quota_us").write_text(said)
        (tmp_path / "cpu" / "cpu.cfs_period_us").write_text("100000")
        assert allowed_cores(tmp_path) == number


@pytest.mark.skipif(not hasattr(os, "sysconf"), reason="ticks are Unix's")
def test_a_reading_takes_the_cores_of_this_process(tmp_path, monkeypatch):
    monkeypatch.setattr(threads, "cores", lambda: {0, 2})
    monkeypatch.setattr(threads.time, "process_time", lambda: 1000.0)
    stat, second = tmp_path / "stat", os.sysconf("SC_CLK_TCK")
    rows = {"cpu": (9, 9, 9, 9, 9), "cpu0": (7, 5, 7, 11, 2), "cpu1": (0, 0, 0, 400, 0), "cpu2": (7, 0, 7, 20, 1)}
    stat.write_text("".join(f"{name} {' '.join(str(second * n) for n in row)} 0 0 0\n" for name, row in rows.items()) + "intr 5\n")
    assert reading(stat).free == 1000 + 11 + 2 + 20 + 1
    assert reading(tmp_path / "missing") is None


def test_the_user_decides(monkeypatch):
    set_to, asked = [], []

    class Asked(Threads):
        def __init__(self, *given):
            asked.append(given)

        def choose(self, *work):
            asked.append(work)

    monkeypatch.setattr(threads, "set_threads", set_to.append)
    monkeypatch.setattr(threads, "Threads", Asked)
    monkeypatch.setattr(threads, "allowed_cores", lambda: 3)
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    threads.choose_threads(7.0)
    with chosen_threads(3) as chooser:
        assert chooser is None
    monkeypatch.delenv("OMP_NUM_THREADS")
    monkeypatch.delenv("MKL_NUM_THREADS", raising=False)
    with chosen_threads(2) as chooser:  # as torch.set_num_threads has it
        assert chooser is None
    assert not set_to and not asked
    threads.choose_threads(7.0)
    assert asked == [(3, threads.BEGAN), (7.0,)]
    with chosen_threads(3) as chooser:  # before the first update, too
        assert type(chooser) is Asked and asked[2:] == [(3,), ()] and not set_to
    assert set_to == [3]


def test_threads_are_as_before_when_a_training_ends(monkeypatch):
    monkeypatch.setattr(threads, "threads_given", lambda: False)
    monkeypatch.setattr(threads, "allowed_cores", lambda: 1)
    before = torch.get_num_threads()
    with chosen_threads(before) as chooser:
        assert chooser.number == 1 == torch.get_num_threads()
    assert torch.get_num_threads() == before


def test_no_torch_is_loaded_for_a_look():
    code = "import sys, annotated_transformer.threads as t; t.reading(); t.allowed_cores(); print('torch' in sys.modules)"
    ended = subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parents[1], capture_output=True, text=True, check=True)
    assert ended.stdout == "False\n"


def test_the_number_is_set_without_pytorchs_call_where_that_can_be(monkeypatch):
    "PyTorch's attention is several times as slow after the call, also with the number that was there (2.13, two cores)."
    before, called = torch.get_num_threads(), []
    monkeypatch.setattr(torch, "set_num_threads", called.append)
    if threads.openmp():
        for number in (before, before + 1, 1):
            set_threads(number)
            assert torch.get_num_threads() == number and not called
        set_threads(before)
    monkeypatch.setattr(threads, "openmp", lambda: None)
    set_threads(before)
    set_threads(before + 1)
    assert called == [before + 1]


FORKED = """
import os, signal, threading, torch
from annotated_transformer import threads
threads.openmp = lambda: None  # as where PyTorch takes the system's
def compute():
    return torch.ones(2_000_000).exp().sum().item()  # enough for two threads
if LOADS:
    compute(), threads.one_thread_after_fork()
if not (child := os.fork()):
    signal.alarm(60)
    found = []
    worker = threading.Thread(target=lambda: found.append(compute()))  # a thread of Python asks for a number of its own
    worker.start(), worker.join()
    print(torch.get_num_threads(), found[0] > 0, compute() > 0, flush=True)
    os._exit(0)
print(os.waitpid(child, 0)[1], torch.get_num_threads(), compute() > 0)
"""


@pytest.mark.skipif(not hasattr(os, "register_at_fork") or not threads.openmp(), reason="elsewhere threads are not GNU's")
@pytest.mark.parametrize("loads, number", ((True, 1), (False, 2)))
def test_a_forked_process_computes_though_the_threads_of_its_parent_are_gone(loads, number):
    environment = {name: value for name, value in os.environ.items() if name != "MKL_NUM_THREADS"} | {"OMP_NUM_THREADS": "2"}
    done = subprocess.run([sys.executable, "-c", FORKED.replace("LOADS", str(loads))], env=environment,
                          cwd=Path(__file__).parents[1], capture_output=True, text=True)
    assert done.stdout.splitlines() == [f"{number} True True", "0 2 True"], done.stderr


@pytest.mark.skipif(not hasattr(os, "register_at_fork") or not threads.openmp(), reason="elsewhere threads are not GNU's")
def test_a_model_that_was_not_loaded_is_no_exception():
    code = ("import os, torch; from annotated_transformer.model.modes import evaluating\n"
            "with evaluating(torch.nn.Linear(2, 2)): pass\n"
            "if not (child := os.fork()): print(torch.get_num_threads(), flush=True), os._exit(0)\n"
            "os.waitpid(child, 0)")
    done = subprocess.run([sys.executable, "-c", code], env=os.environ | {"OMP_NUM_THREADS": "2"}, cwd=Path(__file__).parents[1],
                          capture_output=True, text=True)
    assert done.stdout == "1\n", done.stderr
