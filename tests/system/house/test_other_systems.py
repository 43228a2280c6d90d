"Windows and macOS, as far as another system can tell: names of POSIX are gone, and everything imports and works all the same."
import ast
import errno
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import patch

import pytest

from annotated_transformer import InputError, extra
from annotated_transformer.command_line import terminal
from annotated_transformer.command_line.main import main
from annotated_transformer.training import checkpoints

ROOT = Path(__file__).parents[3]
PACKAGE = ROOT / "annotated_transformer"

# What Python's documentation says is not on Windows, of what a program like ours might take.
GONE = {
    "os": """fork forkpty register_at_fork getuid geteuid getgid getegid setuid setsid getpgid killpg uname sysconf confstr
pathconf mkfifo mknod chown lchown fchown chroot nice wait wait3 wait4 waitid pread pwrite preadv pwritev sendfile posix_fadvise
posix_fallocate sched_getaffinity sched_setaffinity sched_yield statvfs fdatasync sync O_NOFOLLOW O_DIRECTORY O_CLOEXEC O_NONBLOCK
O_SYNC WNOHANG getloadavg getpriority openpty""",
    "signal": """SIGHUP SIGKILL SIGPROF SIGALRM SIGUSR1 SIGUSR2 SIGPIPE SIGCHLD SIGTSTP setitimer getitimer alarm pause sigwait
pthread_sigmask pthread_kill siginterrupt ITIMER_PROF ITIMER_REAL""",
}
MODULES = "fcntl resource pwd grp termios tty pty syslog"

ELSEWHERE = f"""
import builtins, importlib, pkgutil, os, signal, sys, types
class Lacking(types.ModuleType):  # what our modules see of `os` and `signal`; other packages' modules are their own business
    def __init__(self, module, gone):
        super().__init__(module.__name__)
        self.module, self.gone = module, gone
    def __getattr__(self, name):
        if name in self.gone:
            raise AttributeError(name)
        return getattr(self.module, name)
class Windows(Lacking):
    name = "nt"
    def open(self, path, *args):
        if os.path.isdir(path):
            raise PermissionError(13, "Permission denied", str(path))  # so it is there
        return os.open(path, *args)
descriptors = {{  # of Windows alone
    "_winapi": types.SimpleNamespace(GENERIC_READ=0, OPEN_EXISTING=3, NULL=0, CreateFile=lambda path, *_: os.open(path, 0)),
    "msvcrt": types.SimpleNamespace(open_osfhandle=lambda handle, flags: handle),
}}
lacking = descriptors | {{"os": Windows(os, {GONE["os"].split()}), "signal": Lacking(signal, {GONE["signal"].split()})}}
def imported(name, globals=None, locals=None, fromlist=(), level=0, usual=builtins.__import__):
    if level == 0 and (globals or {{}}).get("__name__", "").startswith("annotated_transformer"):
        if name in {MODULES.split()}:
            raise ModuleNotFoundError(name)
        if name in lacking:
            return lacking[name]
    return usual(name, globals, locals, fromlist, level)
builtins.__import__ = imported
import annotated_transformer
from annotated_transformer import files
assert files.os.name == "nt" and not hasattr(files.os, "sysconf")
for found in pkgutil.walk_packages(annotated_transformer.__path__, "annotated_transformer."):
    if not found.name.endswith("__main__"):
        try:
            importlib.import_module(found.name)
        except annotated_transformer.InputError:  # an extra that is not installed
            pass
"""

WORK = """
from pathlib import Path
from annotated_transformer import Translator
from annotated_transformer.command_line.main import main
from annotated_transformer.files import SUMS, UNFINISHED
place = Path(sys.argv[1])
corpus = place / "corpus"
corpus.mkdir()
for name in ("train.en", "train.de", "validation.en", "validation.de"):
    lines = (f"The dog slept {'very ' * (i % 5)}well .\\n" for i in range(40))
    (corpus / name).write_text("".join(lines), encoding="utf-8")
train = ["train", "--corpus", str(corpus), "--preset", "demo", "--run", str(place / "run"), "--n-layers", "1", "--d-model",
         "16", "--d-ff", "24", "--n-heads", "2", "--vocab-size", "40", "--checkpoint-every", "2", "--validate-every", "2"]
main([*train, "--steps", "2"])
main([*train[:1], "--run", str(place / "run"), "--steps", "4"])
main(["average", str(place / "run"), str(place / "mean")])
translator = Translator.from_pretrained(place / "mean")
translator.save_pretrained(place / "mean")
(place / "mean" / UNFINISHED).mkdir()
assert Translator.from_pretrained(place / "mean")(["The dog slept."]) == translator(["The dog slept."])
main(["attend", "The dog slept.", "--target", "The dog", "--model", str(place / "mean"), "--out", str(place / "heads.html")])
main(["workbook", str(place / "workbook")])
for path in (place / "run").rglob("*"):
    assert path.suffix not in (".json", ".jsonl") or b"\\r" not in path.read_bytes(), path
"""


def elsewhere(*arguments, program: str = ELSEWHERE):
    environment = os.environ | {"PYTHONPATH": str(ROOT), "PYTHONWARNDEFAULTENCODING": "1", "TQDM_DISABLE": "1"}
    return subprocess.run([sys.executable, "-X", "warn_default_encoding", "-c", program, *map(str, arguments)], env=environment,
                          capture_output=True, text=True, encoding="utf-8")


def test_all_modules_import_and_the_commands_work_without_what_windows_lacks(tmp_path):
    found = elsewhere(tmp_path, program=ELSEWHERE + WORK)
    assert found.returncode == 0, found.stderr[-3000:]
    own = [line for line in found.stderr.splitlines() if "EncodingWarning" in line and str(PACKAGE) in line]
    assert not own, "text in the locale's encoding is another text on Windows"


def text_files(tree: ast.AST):
    "Each call that opens a text file to be written: its line, and the names of what it is given."
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = getattr(node.func, "attr", getattr(node.func, "id", None))
            modes = [value.value for value in node.args if isinstance(value, ast.Constant) and isinstance(value.value, str)]
            writes = name == "open" and any(re.fullmatch("[wax]t?", mode) for mode in modes)
            if name == "write_text" or writes:
                yield node.lineno, {keyword.arg for keyword in node.keywords}


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_text_is_written_in_utf_8_with_the_same_line_ends_everywhere(path):
    for line, given in text_files(ast.parse(path.read_text(encoding="utf-8"))):
        source = path.read_text(encoding="utf-8").splitlines()[line - 1]
        assert {"encoding", "newline"} <= given or "devnull" in source, f"line {line}: {source}"


def test_git_changes_no_line_end_of_what_has_a_sum():
    assert "* -text" in (ROOT / ".gitattributes").read_text(encoding="utf-8").splitlines()


def test_a_path_is_no_regular_expression_since_those_of_windows_have_backslashes():
    tests = [path for part in ("tests/*.py", "tests/[!bs]*/*.py") for path in ROOT.glob(part)]
    found = [f"{path}: {line}" for path in tests for line in path.read_text(encoding="utf-8").splitlines()
             if re.search(r"""match=r?f["'][^"']*\{(path|place|run|directory|tmp_path)\}""", line)]
    assert len(tests) > 80 and not found, "re.escape"


NOTEBOOKS = sorted(path for path in (ROOT / "nbs").rglob("*.ipynb") if ".ipynb_checkpoints" not in path.parts)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: str(path.relative_to(ROOT / "nbs")))
def test_a_page_reads_files_of_the_repository_in_utf_8(path):
    cells = json.loads(path.read_bytes())["cells"]
    lines = [line for cell in cells if cell["cell_type"] == "code" for line in "".join(cell["source"]).splitlines()]
    found = [line for line in lines if "read_text()" in line and ("../" in line or "json.loads" in line)]
    assert not found, "read_bytes() for JSON, else encoding"


BUILDS = r"""
import builtins, io, os, pathlib, sys
plain, opened = pathlib.PurePath.__str__, io.open
def ending_lines(file, mode="r", buffering=-1, encoding=None, errors=None, newline=None, *more):
    newline = "\r\n" if newline is None and "b" not in mode and {*mode} & {*"wax"} else newline
    return opened(file, mode, buffering, encoding, errors, newline, *more)
def with_backslashes(path):  # as our own tools see it: others' modules would open what is called so
    own = os.path.dirname(sys._getframe(1).f_code.co_filename).endswith("tools")
    return plain(path).replace("/", "\\") if own else plain(path)
io.open = builtins.open = ending_lines
pathlib.PurePath.__fspath__ = pathlib.PurePath.as_posix = plain
pathlib.PurePosixPath.__str__ = with_backslashes
"""


def test_the_build_makes_the_same_files_where_paths_have_backslashes_and_lines_another_end(tmp_path):
    here, there = tmp_path / "here", tmp_path / "there"
    shutil.copytree(ROOT / "tools", here / "tools")
    for name in ("settings.ini", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, here)
    for name in ("nbs/wing", "tests", "annotated_transformer"):
        (here / name).mkdir(parents=True)
    shutil.copy(PACKAGE / "__init__.py", here / "annotated_transformer")
    code = ("#| default_exp wing.toy", "#| export\ndef half(x):\n    return x / 2", "#| test halves\nassert half(2) == 1")
    cells = [dict(cell_type="code", id=f"cell-{n}", metadata={}, execution_count=None, outputs=[], source=source)
             for n, source in enumerate(code)]
    titles = [dict(cell_type="markdown", id=name, metadata={}, source="# Toys") for name in ("title", "contents")]
    rows = [dict(notebook="wing/toy", title="Toy", shows="halves")]
    for name, found in (("wing/toy", [*titles[:1], *cells]), ("index", titles)):
        text = json.dumps(dict(cells=found, metadata={}, nbformat=4, nbformat_minor=5))
        (here / "nbs" / f"{name}.ipynb").write_text(text, encoding="utf-8")
    contents = json.dumps([dict(part="paper", chapter="Toys", notebooks=rows)])  # JSON is YAML
    (here / "nbs" / "contents.yml").write_text(contents, encoding="utf-8")
    shutil.copytree(here, there)
    (tmp_path / "sitecustomize.py").write_text(BUILDS, encoding="utf-8")
    for root, more in ((here, {}), (there, {"PYTHONPATH": str(tmp_path)})):
        subprocess.run([sys.executable, "tools/build.py"], cwd=root, env=os.environ | more, check=True)
    made = ("annotated_transformer/wing/toy.py", "tests/wing/test_toy.py", "nbs/wing/toy.ipynb", "nbs/index.ipynb")
    assert {name: (there / name).read_bytes() for name in made} == {name: (here / name).read_bytes() for name in made}


def test_tools_that_others_import_load_without_the_modules_of_posix():
    program = f"import sys; sys.modules.update(dict.fromkeys({MODULES.split()})); import prose"
    subprocess.run([sys.executable, "-c", program], cwd=ROOT, env=os.environ | {"PYTHONPATH": "tools"}, check=True)


TYPED = [ROOT / "README.md", ROOT / "README.zh.md", *sorted(ROOT.glob("docs/*.md")), *sorted(ROOT.glob("nbs/zh/**/*.md")),
         *NOTEBOOKS, *sorted((ROOT / "benchmarks").rglob("*.py")), *sorted(PACKAGE.rglob("*.py"))]


def as_cmd_parts(line: str) -> list[str]:
    "The words that a program gets from the Command Prompt: it knows double quotation marks alone."
    return [word.replace('"', "") for word in re.findall(r'(?:[^\s"]|"[^"]*")+', line)]


def test_an_extra_is_named_so_that_each_shell_hands_it_on_to_pip():
    assert as_cmd_parts("pip install '.[all]'") == ["pip", "install", "'.[all]'"]  # which pip refuses
    named = 0
    for path in TYPED:
        text = path.read_text(encoding="utf-8").replace("\\", "")  # those of JSON, and of regular expressions
        for line in re.findall(r"pip install ([^`\n]*\[[^`\n]*)", text):
            if "/content/" not in line:  # Colab's
                wanted = next(word for word in as_cmd_parts(line) if "[" in word)
                assert re.match(r"(\.|annotated_transformer)\[[{\w]", wanted), f"{path.relative_to(ROOT)}: pip install {line}"
                named += 1
    assert named > 20
    with pytest.raises(InputError, match=r'is not installed: pip install "annotated_transformer\[exchange\]"$'):
        with patch.dict(sys.modules, onnx=None):
            extra("onnx")


WINDOWS = """
import sys
from importlib.machinery import ModuleSpec
import matplotlib.cbook
matplotlib.cbook._get_running_interactive_framework = lambda: None  # Linux without a display is told from all others
class Backend:  # the first of those that Matplotlib tries by itself
    def find_spec(self, name, *_):
        return ModuleSpec(name, self) if name == "matplotlib.backends.backend_macosx" else None
    def create_module(self, spec):
        return None
    def exec_module(self, module):
        from matplotlib.backend_bases import FigureManagerBase
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        class Window(FigureManagerBase):
            def __init__(self, *_):
                sys.exit("a window opens")
        module.FigureManager = Window
        module.FigureCanvas = type("FigureCanvas", (FigureCanvasAgg,), {"manager_class": Window})
sys.meta_path.insert(0, Backend())
from annotated_transformer.command_line.main import main
"""


def test_a_picture_that_is_only_saved_opens_no_window(tmp_path):
    draws = "import matplotlib.pyplot as plt; plt.figure()"
    attends = f"main(['attend', 'A girl reads.', '--out', {str(tmp_path / 'heads.svg')!r}])"
    environment = {name: value for name, value in os.environ.items() if name != "MPLBACKEND"} | {"PYTHONPATH": str(ROOT)}
    opens, saves = (subprocess.run([sys.executable, "-c", WINDOWS + program], env=environment, capture_output=True, text=True)
                    for program in (draws, attends))
    assert opens.stderr.strip() == "a window opens"
    assert saves.returncode == 0 and (tmp_path / "heads.svg").stat().st_size > 1_000, saves.stderr[-1_000:]


class WithoutReader(io.TextIOWrapper):
    "A pipe that nobody reads any more, as Windows has it."

    def flush(self):
        raise OSError(errno.EINVAL, "Invalid argument")


@pytest.mark.parametrize("name, status, said", [
    ("nt", 1, ""), ("posix", 2, "annotated-transformer: Invalid argument: 'standard output'\n"),
])
def test_a_reader_who_has_seen_enough_is_no_mistake_on_windows_either(name, status, said, monkeypatch, tmp_path, capfd):
    monkeypatch.setattr(terminal, "os", SimpleNamespace(**vars(os) | {"name": name}))
    monkeypatch.setattr(sys, "stdout", WithoutReader(open(tmp_path / "pipe", "wb"), encoding="utf-8"))
    monkeypatch.setattr(sys, "stderr", sys.__stderr__)
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert (ended.value.code, capfd.readouterr().err) == (status, said)


@pytest.mark.parametrize("name", ["nt", "posix"])
def test_another_invalid_argument_is_told_on_windows_too(name, monkeypatch, capfd):
    def fails(arguments):
        raise OSError(errno.EINVAL, "The paging file is too small")  # as where PyTorch's libraries do not load

    monkeypatch.setattr(terminal, "os", SimpleNamespace(**vars(os) | {"name": name}))
    monkeypatch.setattr("annotated_transformer.command_line.main.run_command", fails)
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert (ended.value.code, capfd.readouterr().err) == (2, "annotated-transformer: The paging file is too small\n")


def test_the_page_of_checkpoints_does_without_the_sha256sum_of_linux(monkeypatch, capsys):
    cells = json.loads((ROOT / "nbs/training/checkpoints.ipynb").read_bytes())["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    saves, = (source for source in code if "sha256sum" in source)
    imports = next(source for source in code if source.startswith("#| default_exp"))
    monkeypatch.setenv("PATH", "")
    exec(f"{imports}\n{saves}", vars(checkpoints).copy())
    assert "SHA256SUMS" in capsys.readouterr().out


def test_who_has_windows_or_a_mac_is_told_in_the_readme_and_where_the_lines_are_those_of_another_shell():
    readme, first_hour, installation = ((ROOT / name).read_text(encoding="utf-8")
                                        for name in ("README.md", "docs/first-hour.md", "docs/installation.md"))
    assert "On Windows: [without make](docs/installation.md#without-make)" in readme.split("```\nmake lab")[0]
    assert "On Windows" in first_hour.split("$ python")[0] and "env/Scripts/activate" in first_hour.split("$ python")[0]
    # The wheels of PyTorch in constraints.txt and those of onnxruntime that `exchange` takes are for no older macOS.
    assert "macOS 14 or newer on Apple's processors" in installation
    assert "Set-ExecutionPolicy" in installation  # without it PowerShell refuses .venv\Scripts\activate on a new Windows


def test_no_test_waits_for_a_function_that_never_ends_where_none_can_be_interrupted(monkeypatch):
    spec = spec_from_file_location("judging_tests", ROOT / "tests/workbook/test_judging.py")
    spec.loader.exec_module(tests := module_from_spec(spec))
    judged = []
    monkeypatch.setattr(tests, "written_as", lambda exercise, source: source)
    monkeypatch.setattr(tests, "judge", lambda exercise, source: judged.append(source) or SimpleNamespace(sentence=""))
    monkeypatch.delattr(signal, "setitimer")
    with suppress(AssertionError):
        tests.test_the_sentence_says_which_property_and_for_which_shapes()
    assert judged and not any("while True" in source for source in judged)
