"""A check of one exercise: the page's tests, run with the reader's function, up to the first that fails.

When a test fails, three things are known: which property it tests (its name says so), what the reader's function was last given
and returned, and where it stopped. Together they make one sentence.
"""
import ast
import contextlib
import difflib
import functools
import importlib
import inspect
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import NamedTuple

from .. import InputError
from .cells import difference, text_of
from .exercise import Exercise, exercises, functions_of, in_place

__all__ = ["Verdict", "check", "failure", "failures", "judge", "lacking"]

SECONDS = 30       # of computing time, for one test
BY_THE_CLOCK = 90  # seconds of elapsed time, for a function that waits


class Call:
    "The last call of the reader's function: arguments by name, and the result."

    given: dict = {}
    result: object = ...

    def watch(self, function: Callable) -> Callable:
        "The same function, with its calls recorded."
        signature = inspect.signature(function)

        @functools.wraps(function)
        def watched(*args, **kwargs):
            self.result = ...
            with contextlib.suppress(TypeError):
                self.given = dict(signature.bind(*args, **kwargs).arguments)
            self.result = function(*args, **kwargs)
            return self.result

        return watched

    def watch_all(self, exercise: Exercise, written: object) -> object:
        "The function watched, or a class with its methods watched."
        if not inspect.isclass(written):
            return self.watch(written) if isinstance(written, FunctionType) else written
        methods = {name: getattr(written, name, None) for name in exercise.methods}
        watched = {name: self.watch(method) for name, method in methods.items() if isinstance(method, FunctionType)}
        return type(written.__name__, (written,), watched | {"__doc__": written.__doc__, "__module__": written.__module__})

    def __str__(self) -> str:
        own = vars(self.given["self"]) if "self" in self.given else {}  # for a method: the tensors in its object
        given = {name: value for name, value in own.items() if hasattr(value, "shape")} | self.given
        shown = [f"{name}{size}" for name, value in given.items() if (size := sizes(value))]
        returned = sizes(self.result)
        return ", ".join(shown) + (f", with result{returned}" if shown and returned else "")


def sizes(value: object) -> str:
    "How large a value is or what it is, to follow its name; empty for a value with neither a size nor a short form."
    if hasattr(value, "shape"):
        return f" {tuple(value.shape)}" if value.shape else f"={value.item():.6g} ({value.dtype})"
    if isinstance(value, (bool, int, float, str)):
        return f"={value:.6g}" if isinstance(value, float) else f"={value!r:.60}"
    if type(value) is tuple and value and all(hasattr(part, "shape") for part in value):
        return " and".join(map(sizes, value))
    return f" of length {len(value)}" if type(value) in (list, tuple) else ""


@contextlib.contextmanager
def limited() -> Iterator[None]:
    "TimeoutError after the allowed computing or elapsed time, if the system can interrupt a running function."
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number, _):
        within = f"{BY_THE_CLOCK} seconds" if number == signal.SIGALRM else f"{SECONDS} seconds of computing"
        raise TimeoutError(f"it did not finish within {within}")

    limits = (signal.SIGPROF, signal.ITIMER_PROF, SECONDS), (signal.SIGALRM, signal.ITIMER_REAL, BY_THE_CLOCK)
    with contextlib.ExitStack() as after:  # the caller may have a timer too
        for number, timer, most in limits:
            after.callback(signal.signal, number, signal.signal(number, stop))
            after.callback(signal.setitimer, timer, *signal.setitimer(timer, most))
        yield


def statement_at(source: str, line: int) -> str:
    "The statement of a test that contains this line, on one line; for an assertion, what it asserts."
    statements = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.stmt)]
    holding = [node for node in statements if node.lineno <= line <= node.end_lineno]
    node = min(holding, key=lambda node: (node.end_lineno - node.lineno, -node.lineno))
    return ast.unparse(node.test if isinstance(node, ast.Assert) else node).split("\n")[0]


def failure(exercise: Exercise, written: object, test: dict[str, str]) -> str | None:
    "Run one test of the page with the reader's function; if it fails, one sentence: which property, for which shapes, where."
    import torch  # here, so that the command's help need not wait for it

    call, label, source = Call(), f"<test {test['name']}>", f"{test['imports']}\n{test['body']}"
    exec(test["imports"], {})  # all modules must be loaded before one of their functions is replaced
    try:
        with in_place(exercise, call.watch_all(exercise, written)), limited(), torch.random.fork_rng(devices=[]):
            exec(compile(source, label, "exec"), {"__name__": "test"})
    except (Exception, SystemExit) as error:
        files = {function.__code__.co_filename for function in functions_of(written)}
        frames = traceback.extract_tb(error.__traceback__)
        inside = [frame for frame in frames if frame.filename in files]
        [*_, stopped] = [frame.lineno for frame in frames if frame.filename == label]
        if isinstance(error, NotImplementedError):
            return "not written yet"
        message, called = text_of(error), text_of(call)
        given = f", last called with {called}" if called else ""
        place = f"`{statement_at(source, stopped)}`"
        if call.result is None:
            what = "the result is None: a `return` is missing"
        elif inside and not isinstance(error, AssertionError):
            what = f"{type(error).__name__} in `{inside[-1].line}`: {message.splitlines()[0] if message else 'no message'}"
        elif isinstance(error, AssertionError):
            reason = difference(message) if message else ""
            what = f"{place} does not hold" + (f" ({reason})" if reason else "")
            what = f"{reason} in {place}" if "numbers differ" in what or "one shape is" in what else what
        else:
            what = f"{type(error).__name__} in {place}: {' '.join(message.split())}"
        return f"“{test['name'].replace('_', ' ')}” fails{given}: {what}"


def failures(exercise: Exercise, written: object) -> Iterator[tuple[str, str]]:
    "The page's failing tests, each with its sentence."
    for test in exercise.tests:
        if sentence := failure(exercise, written, test):
            yield test["name"], sentence


class Verdict(NamedTuple):
    "What a check says about one exercise."
    name: str
    green: bool | None   # None: unknown until a package is installed
    sentence: str

    def __str__(self) -> str:
        mark = {True: "✓ green", False: "✗ red  ", None: "○ open "}[self.green]
        return f"{mark}  {self.name}: {self.sentence}"


def lacking(exercise: Exercise) -> Verdict | None:
    "What to install first, if the exercise needs a missing package: importing it, or making a tree, shows that."
    try:
        getattr(importlib.import_module(f"annotated_transformer.{exercise.module}"), "Tree", lambda *_: None)("", [])
    except InputError as error:
        return Verdict(exercise.name, None, str(error))


def judge(exercise: Exercise, written: object) -> Verdict:
    "Run all tests of the page that need the function, up to the first that fails."
    _, sentence = next(failures(exercise, written), (None, None))
    return Verdict(exercise.name, sentence is None, sentence or "{0} of {0} tests pass".format(len(exercise.tests)))


def check(name: str | Callable) -> None:
    "Say in one sentence whether what the notebook defines as `name` passes the book's tests."
    namespace = sys._getframe(1).f_globals  # of the notebook that calls this
    name = getattr(name, "__name__", str(name))  # if the function itself is given
    if of_page := [each.name for each in exercises().values() if each.page == name.removesuffix(".ipynb")]:
        print(f"{name!r} is a page; its exercises are {', '.join(map(repr, of_page))}.")
    elif name not in exercises():
        near = difflib.get_close_matches(name, exercises(), 1)
        print(f"There is no exercise {name!r}" + (f"; do you mean {near[0]!r}?" if near else "."))
    elif verdict := lacking(exercises()[name]):
        print(verdict)
    elif name not in namespace or namespace[name] is exercises()[name].own:
        print(Verdict(name, False, "run the cell in which you write it first"))
    else:
        print(judge(exercises()[name], namespace[name]))
