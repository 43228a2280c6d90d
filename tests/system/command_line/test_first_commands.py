"The first example of each command's help, and the README's commands, after the plain installation: no extra but those they name."
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from annotated_transformer import EXTRAS
from annotated_transformer.command_line.main import COMMANDS

README = Path(__file__).parents[3].joinpath("README.md").read_text(encoding="utf-8")
DEVELOPMENT = ["num2words", "babel", "ipywidgets", "IPython", "nbdev", "execnb", "nbformat", "yaml"]
TINY = ("--vocab-size 400 --n-layers 1 --d-model 8 --d-ff 16 --n-heads 2 --max-length 90 --batch-tokens 900 --steps 6 "
        "--validate-every 6 --checkpoint-every 1 --keep 5")
# What takes longer than a test may, is made short by these options; the words before them are the example's.
SHORT = {"train": TINY, "variations": f"{TINY} --corpus my_texts --seeds 1"}


def first_example(command) -> list[str]:
    "Its lines up to the first command of ours."
    lines = [line.strip() for line in command.__doc__.partition("Example:")[2].strip().splitlines()]
    return lines[:1 + next(number for number, line in enumerate(lines) if "annotated-transformer " in line)]


def installed(lines: list[str]) -> set[str]:
    "The extras that the lines install."
    return {extra for line in lines if line.startswith("pip ") for extra in re.findall(r"\[(\w+)\]", line)}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    "A directory with a small corpus, a run of it, and the command as the plain installation has it."
    place = tmp_path_factory.mktemp("place")
    (place / "bin").mkdir()
    (place / "my_texts").mkdir()
    for split, number in (("train", 20), ("validation", 3)):
        for side in ("en", "de"):
            (place / "my_texts" / f"{split}.{side}").write_text("".join(f"a b c d {i % 7} e\n" for i in range(number)))
    done = in_shell(place, f"annotated-transformer train --corpus my_texts --run runs/mine --preset demo {TINY}")
    assert done.returncode == 0, done.stderr
    return place


def in_shell(place: Path, line: str, extras: set[str] = frozenset()) -> subprocess.CompletedProcess:
    "Run a line where packages of no other extra can be imported."
    missing = [package for package, extra in EXTRAS.items() if extra not in extras] + DEVELOPMENT
    program = place / "bin" / "annotated-transformer"
    program.write_text(f"#!{sys.executable}\nimport sys\nsys.path.insert(0, {str(Path(__file__).parents[3])!r})\n"
                       f"sys.modules.update(dict.fromkeys({missing!r}))\n"
                       "from annotated_transformer.command_line.main import main\nmain()\n")
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


def test_an_example_that_names_no_extra_fails_without_it(place):
    done = in_shell(place, "echo 'Bob sees Eve .' | annotated-transformer parse")
    assert done.returncode == 2 and "pip install 'annotated_transformer[parsing]'" in done.stderr


def test_the_commands_of_the_readme_work_after_what_it_installs(place):
    blocks = re.findall(r"^```(\w*)\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
    [lines] = [block.splitlines() for kind, block in blocks if not kind and "pip install" in block]
    ours = [line for line in lines if "annotated-transformer " in line]
    assert len(ours) == 2 and installed(lines) == set()
    for line in ours:
        done = in_shell(place, line)
        assert done.returncode == 0 and done.stdout.strip(), done.stderr
    before = [paragraph.partition("annotated-transformer page")[0] for paragraph in README.split("\n\n")
              if "annotated-transformer page" in paragraph]
    assert before and all("annotated_transformer[exchange]" in words for words in before), "it needs the extra"
    assert installed(first_example(COMMANDS["page"])) == {"exchange"}


def test_every_command_has_an_example():
    assert len(COMMANDS) == 12 and all(first_example(command) for command in COMMANDS.values())
