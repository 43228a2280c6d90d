"Tests of model.modes: no dropout within, and the former mode afterwards, also where threads come and go in any order."
import os
import signal
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from annotated_transformer.model.modes import WITHIN, evaluating
from annotated_transformer.model.regularization import Dropout


@pytest.mark.parametrize("training", [True, False])
def test_there_is_no_dropout_within_and_the_mode_is_put_back_also_after_an_error(training):
    model, x = torch.nn.Sequential(Dropout(0.5)).train(training), torch.ones(50)
    with pytest.raises(KeyboardInterrupt), evaluating(model):
        assert torch.equal(model(x), x) and not torch.is_grad_enabled()
        raise KeyboardInterrupt
    assert model.training is model[0].training is training and torch.is_grad_enabled()


def test_each_part_is_put_back_into_its_own_mode_also_after_an_error():
    model = torch.nn.Sequential(torch.nn.Sequential(Dropout(0.5)), Dropout(0.5), torch.nn.Sequential(Dropout(0.5)))
    for training in (True, False):
        model.train(training)
        model[0].train(not training)       # a frozen part of a model in training
        model[2].training = not training   # and of this part not what is in it
        before = [part.training for part in model.modules()]
        with pytest.raises(KeyboardInterrupt), evaluating(model):
            assert not any(part.training for part in model.modules())
            with evaluating(model):
                pass
            assert not any(part.training for part in model.modules())
            raise KeyboardInterrupt
        assert [part.training for part in model.modules()] == before


def test_a_part_with_a_train_of_its_own_is_told():
    class Noted(torch.nn.Module):
        def train(self, mode=True):
            modes.append(mode)
            return super().train(mode)

    model, modes = torch.nn.Sequential(Noted()), []
    with evaluating(model):
        pass
    assert modes == [False, True]


@pytest.mark.parametrize("first_out", [0, 1])
def test_of_several_threads_the_last_one_out_puts_the_mode_back(first_out):
    model = torch.nn.Sequential(Dropout(0.5))
    with ThreadPoolExecutor(1) as one, ThreadPoolExecutor(1) as other:
        threads, within = (one, other), (evaluating(model), evaluating(model))
        for thread, manager in zip(threads, within):
            thread.submit(manager.__enter__).result()
        for number in (first_out, 1 - first_out):
            assert not model.training
            threads[number].submit(within[number].__exit__, None, None, None).result()
    assert model.training and model[0].training


@pytest.mark.parametrize("at", [1, 2], ids=["entering", "leaving"])
def test_who_is_interrupted_while_the_parts_change_their_modes_leaves_nothing_behind(at):
    class Interrupted(torch.nn.Module):
        def train(self, mode=True):
            calls.append(mode)
            if len(calls) == at:
                raise KeyboardInterrupt
            return super().train(mode)

    model, calls = torch.nn.Sequential(Dropout(0.5), Interrupted(), Dropout(0.5)), []
    with pytest.raises(KeyboardInterrupt), evaluating(model):
        pass
    assert all(part.training for part in model.modules()) and model not in WITHIN and torch.is_grad_enabled()
    with evaluating(model):
        assert not any(part.training for part in model.modules())
    assert all(part.training for part in model.modules())


@pytest.mark.skipif(not hasattr(os, "fork"), reason="not on Windows")
def test_a_process_that_is_forked_while_a_thread_enters_waits_for_nobody():
    class Slow(torch.nn.Module):
        def train(self, mode=True):
            entered.set()
            forked.wait(100)
            return super().train(mode)

    entered, forked = threading.Event(), threading.Event()
    with ThreadPoolExecutor(1) as other:
        theirs = evaluating(torch.nn.Sequential(Slow()))
        other.submit(theirs.__enter__)
        entered.wait(20)
        if (child := os.fork()) == 0:
            try:
                signal.signal(signal.SIGALRM, signal.SIG_DFL)
                signal.alarm(60)  # ends it where it waits
                with evaluating(torch.nn.Sequential(Dropout(0.5))):
                    os._exit(0)
            finally:
                os._exit(1)
        status = os.waitpid(child, 0)[1]
        forked.set()
        other.submit(theirs.__exit__, None, None, None).result()
    assert status == 0
