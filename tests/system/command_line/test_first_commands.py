"The first example of each command's help, and the README's commands, after the plain installation: no extra but those they name."
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from annotated_transformer import EXTRAS
from annotated_transformer.command_line.main import COMMANDS

README = Path(__file__).parents[3].joinpath("README.md").read_text(encoding="utf-8")
DEVELOPMENT = ["num2words", "babel", "ipywidgets", "IPython", "nbdev", "execnb", "fastcore", "nbformat", "yaml"]
TINY = ("--vocab-size 400 --n-layers 1 --d-model 8 --d-ff 16 --n-heads 2 --max-length 90 --batch-tokens 900 --steps 6 "
        "--validate-every 6 --checkpoint-every 1 --keep 5")
# What takes longer than a test may, is made short by these options; the words before them are the example's.
SHORT = {"train": TINY, "variations": f"{TINY} --corpus my_texts --seeds 1 --n-layers 2"}


def first_example(command) -> list[str]:
    "Its lines up to the first command of ours."
    lines = [line.strip() for line in command.__doc__.partition("Example:")[2].strip().splitlines()]
    return lines[:1 + next(number for number, line in enumerate(lines) if "annotated-transformer " in line)]


def installed(lines: list[str]) -> set[str]:
    "The extras that the lines install."
    return {extra for line in lines if line.startswith("pip ") for extra in re.findall(r"\[(\w+)\]", line)}


# Both begin where no package of an extra can be imported but of those that are named.
ANEW = """#!{python}
import sys
sys.path.insert(0, {root!r})
sys.modules.update(dict.fromkeys({missing!r}))
from annotated_transformer.command_line.main import main
main()
"""
# A process without any extra, that has loaded packages of the plain installation and nothing of ours. For each command it makes
# a copy of itself, which most commands need half as long for as to load PyTorch.
SERVER = """
import os, socket, sys, traceback
sys.path.insert(0, {root!r})
sys.modules.update(dict.fromkeys({missing!r}))
import matplotlib.pyplot, sacrebleu, sentencepiece, torch, torch._dynamo

server = socket.socket(socket.AF_UNIX)
server.bind("commands")
server.listen()
while True:
    line, _ = server.accept()
    said, streams, _, _ = socket.recv_fds(line, 65536, 3)
    if not (child := os.fork()):
        missing, *sys.argv = said.decode().split("\\n")
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
            os.close(stream)
        for name in {missing!r}:
            if name not in missing.split():
                del sys.modules[name]
        status = 1
        try:
            from annotated_transformer.command_line.main import main
            main()
            status = 0
        except SystemExit as end:
            status = end.code or 0
        except BaseException:
            traceback.print_exc()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
    for stream in streams:
        os.close(stream)
    line.sendall(bytes([os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) % 256]))
    line.close()
"""
COPIED = """#!{python} -IS
import socket, sys
line = socket.socket(socket.AF_UNIX)
line.connect("commands")
socket.send_fds(line, ["\\n".join([" ".join({missing!r}), *sys.argv]).encode()], [0, 1, 2])
sys.exit(line.recv(1)[0])
"""
ROOT = str(Path(__file__).parents[3])


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    "A directory with a small corpus, a run of it, and the command as the plain installation has it."
    place = tmp_path_factory.mktemp("place")
    (place / "bin").mkdir()
    (place / "my_texts").mkdir()
    for split, number in (("train", 20), ("validation", 3)):
        for side in ("en", "de"):
            (place / "my_texts" / f"{split}.{side}").write_text("".join(f"a b c d {i % 7} e\n" for i in range(number)))
    server = subprocess.Popen([sys.executable, "-c", SERVER.format(root=ROOT, missing=missing())], cwd=place)
    while not (place / "commands").exists():
        assert server.poll() is None, "the server has ended"
        time.sleep(0.02)
    done = in_shell(place, f"annotated-transformer train --corpus my_texts --run runs/mine --preset demo {TINY}")
    assert done.returncode == 0, done.stderr
    yield place
    server.kill()
    server.wait()


def missing(extras: set[str] = frozenset()) -> list[str]:
    "The packages of all other extras, and of the development."
    return [package for package, extra in EXTRAS.items() if extra not in extras] + DEVELOPMENT


def in_shell(place: Path, line: str, extras: set[str] = frozenset(), how: str = COPIED) -> subprocess.CompletedProcess:
    "Run a line where packages of no other extra can be imported: by copies of the server, or by processes that begin `ANEW`."
    program = place / "bin" / "annotated-transformer"
    program.write_text(how.format(python=sys.executable, root=ROOT, missing=missing(extras)))
    program.chmod(0o755)
    path = f"{program.parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(["bash", "-c", line], cwd=place, env={**os.environ, "PATH": path}, capture_output=True, text=True)


@pytest.mark.parametrize("name", sorted(COMMANDS.keys() - {"page"}))  # which fetches something: see tests/browser
def test_the_first_example_of_help_works_after_the_plain_installation(name, place):
    lines = first_example(COMMANDS[name])
    extras = installed(lines)
    needed = {module for module, extra in EXTRAS.items() if extra in extras}
    for module in needed:
        pytest.importorskip(module, reason="an extra is not installed")
    shutil.rmtree(place / "my-model", ignore_errors=True)  # another command's
    done = in_shell(place, f"{lines[-1]} {SHORT.get(name, '')}", extras)
    assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stderr
    assert done.stdout.strip()
    assert name in ("parse", "export") or not extras, "it needs no extra"


@pytest.mark.parametrize("package, extra, line", [
    ("nltk", "parsing", "echo 'Bob sees Eve .' | annotated-transformer parse"),
    ("transformers", "exchange", "annotated-transformer export runs/mine --to marian --out new"),
])
def test_what_is_not_installed_is_named_with_what_to_type(package, extra, line, place):
    done = in_shell(place, line)
    said = f'annotated-transformer: {package} is not installed: pip install "annotated_transformer[{extra}]"\n'
    assert (done.returncode, done.stdout, done.stderr) == (2, "", said) and not (place / "new").exists()


def test_the_commands_of_the_readme_work_after_what_it_installs(place):
    blocks = re.findall(r"^```(\w*)\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
    [lines] = [block.splitlines() for kind, block in blocks if not kind and "pip install" in block]
    ours = [line for line in lines if "annotated-transformer " in line]
    assert len(ours) == 2 and installed(lines) == set()
    for line in ours:
        done = in_shell(place, line, how=ANEW)
        assert done.returncode == 0 and done.stdout.strip(), done.stderr
    before = [paragraph.partition("annotated-transformer page")[0] for paragraph in README.split("\n\n")
              if "annotated-transformer page" in paragraph]
    assert before and all('".[exchange]"' in words for words in before), "it needs the extra"
    assert installed(first_example(COMMANDS["page"])) == {"exchange"}


def test_every_command_has_an_example():
    assert len(COMMANDS) == 12 and all(first_example(command) for command in COMMANDS.values())
