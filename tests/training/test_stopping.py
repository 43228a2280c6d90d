"Tests of training.stopping."
import os
import signal
import threading

import pytest
import torch

from annotated_transformer.training.processes import Group
from annotated_transformer.training.runs import Run
from annotated_transformer.training.stopping import STOPPED, Stopped, noted_signals, stopped


def test_the_status_after_sigterm_is_a_temporary_failure():
    assert os.EX_TEMPFAIL == STOPPED


def test_signals_are_left_alone_outside_of_the_main_thread():
    seen = []

    def elsewhere():
        with noted_signals(alone=True) as received:
            seen.append(received)

    before = signal.getsignal(signal.SIGTERM)
    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert seen == [[]] and signal.getsignal(signal.SIGTERM) == before
    with noted_signals(alone=True):
        assert signal.getsignal(signal.SIGTERM) != before
    assert signal.getsignal(signal.SIGTERM) == before


@pytest.mark.parametrize("alone, first, second, dies", [
    (True, signal.SIGINT, signal.SIGINT, True),     # the second Ctrl-C is meant
    (True, signal.SIGTERM, signal.SIGINT, False),
    (True, signal.SIGINT, signal.SIGTERM, False),
    (False, signal.SIGINT, signal.SIGINT, False),   # several processes get each Ctrl-C several times
])
def test_the_second_ctrl_c_is_taken_at_its_word(alone, first, second, dies):
    with noted_signals(alone) as received:
        signal.raise_signal(first)
        if dies:
            with pytest.raises(KeyboardInterrupt):
                signal.raise_signal(second)
        else:
            signal.raise_signal(second)
    assert received == [first, *([] if dies else [second])]


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="POSIX")
@pytest.mark.parametrize("before, received", [(signal.SIG_IGN, []), (print, [signal.SIGTERM])], ids=["nohup", "another"])
def test_a_closed_terminal_counts_as_sigterm_where_nohup_does_not_ignore_it(before, received):
    own = signal.signal(signal.SIGHUP, before)
    try:
        with noted_signals(alone=True) as found:
            signal.raise_signal(signal.SIGHUP)
        assert found == received and signal.getsignal(signal.SIGHUP) == before
    finally:
        signal.signal(signal.SIGHUP, own)


def test_each_process_ends_as_it_should(tmp_path):
    run, device = Run(tmp_path), torch.device("cpu")
    for number, status, kind in ((signal.SIGTERM, STOPPED, Stopped), (signal.SIGINT, 130, KeyboardInterrupt)):
        other = stopped(run, 1_200, number, Group(device, 1, 2))
        assert isinstance(other, SystemExit) and other.code == status
        leader = stopped(run, 1_200, number, Group(device))
        assert isinstance(leader, kind) and (kind is KeyboardInterrupt or "saved at step 1,200" in str(leader))
