"""Which commands work in a fresh environment: the wheel without extras, with each extra and with all.

    python -m benchmarks.environments --pythons python3.11 python3.12 [--torch DIRECTORY] [--out FILE.json]

The first Python gets every extra in turn, the others none and all. uv makes each environment, which gets the wheel and its
requirements, does all the work below in an empty directory, and is removed. For a command we record "works", or the one sentence
that says what it lacks (status 2); anything else is recorded as a failure, and ends the benchmark with status 1. PyTorch is
large: with `--torch`, it is taken from a directory, where `uv pip install --target` has installed it before, instead of being
fetched for each environment; a `{}` in the directory's name stands for the Python version (3.12). For the Pythons of
`--resolve` uv only checks whether there is a wheel of everything required; `--pythons` alone makes no environment.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.shared.command import Options, one_sentence
from benchmarks.shared.side_by_side import save

ROOT = Path(__file__).parents[1]
EXTRAS = ("", "parsing", "charts", "tensorboard", "exchange", "hub", "all")  # the first: the wheel alone
SMALL = "--n-layers 1 --d-model 32 --d-ff 64 --n-heads 4 --batch-tokens 400 --steps 4 --warmup-steps 4 --validate-every 4"
TREES = "(S (NP (NNP Bob)) (VP (VBZ sees) (NP (DT the) (NN cat))) (. .))\n"
# In this order, since some need what an earlier one left. `translate` and `parse` read the sentence from standard input.
WORK = {
    "--version": "--version",
    "translate": "translate",
    "attend, a picture": "attend Bob --out heads.svg",
    "attend, a page": "attend Bob --out heads.html",
    "corpora, own files": "corpora texts",
    "corpora, numbers-en-de": "corpora numbers-en-de",
    "train, own files": f"train --corpus texts --preset demo --vocab-size 48 --run own {SMALL}",
    "score": "score own --split validation --out scores/own.json",
    "average": "average own mean",
    "train, a treebank": f"train --corpus trees --preset parsing-small --vocab-size 90 --run parser {SMALL} --max-length 400",
    "parse": "parse parser --beam-size 1",
    "export, marian": "export everyday-en-de --to marian --out marian",
    "export, ctranslate2": "export everyday-en-de --to ctranslate2 --out ctranslate2",
    "export, onnx": "export everyday-en-de --to onnx --out onnx",
    "cost": "cost --tokens-per-second 50000",
    "workbook": "workbook book",
}


def build(directory: Path) -> Path:
    "The wheel of this checkout."
    source = directory / "source"  # setuptools leaves its build directory where it builds
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\0")
    for name in filter(None, tracked):
        if (ROOT / name).is_file() and not name.startswith(("nbs/", "results/", "tests/")):
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, source / name)
    subprocess.run(["uv", "build", "--quiet", "--wheel", "--out-dir", directory, source], check=True)
    [wheel] = directory.glob("*.whl")
    return wheel


def fresh(environment: Path, python: str, wheel: Path, extra: str, torch: str) -> None:
    "An environment with the wheel and an extra."
    run = {"check": True, "stdout": subprocess.DEVNULL}
    subprocess.run(["uv", "venv", "--quiet", "--clear", "--python", python, environment], **run)
    install = ["uv", "pip", "install", "--quiet", "--python", environment / "bin" / "python", f"{wheel}[{extra}]"]
    if torch:
        never = environment / "never.txt"
        never.write_text("torch ; python_version < '3'\n")
        install += ["--override", never]
    subprocess.run(install, **run)
    if torch:
        version = python_version(environment)
        [packages] = environment.glob("lib/python*/site-packages")
        (packages / "torch.pth").write_text(f"{Path(torch.replace('{}', version)).resolve()}\n")


def python_version(environment: Path) -> str:
    "As 3.12."
    words = [environment / "bin" / "python", "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout.strip()


def answers(environment: Path, place: Path) -> dict[str, str]:
    "What each command says."
    for name, lines in (("train", 60), ("validation", 5), ("test", 5)):
        (place / "texts").mkdir(parents=True, exist_ok=True)
        for side, words in (("en", "one two three four"), ("de", "eins zwei drei vier")):
            text = "".join(" ".join(words.split()[(n // 4**k) % 4] for k in range(3)) + "\n" for n in range(lines))
            (place / "texts" / f"{name}.{side}").write_text(text, encoding="utf-8")
    (place / "trees").mkdir()
    for name, lines in (("wsj_0201", 60), ("wsj_2201", 5), ("wsj_2301", 5)):
        (place / "trees" / f"{name}.mrg").write_text(TREES * lines)
    surroundings = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "VIRTUAL_ENV")}
    said = {}
    done = subprocess.run(
        [environment / "bin" / "python", "-c", PROGRAM, json.dumps(WORK)], cwd=place, env=surroundings, stdin=subprocess.DEVNULL,
        check=True, stdout=subprocess.PIPE, text=True,
    )
    for name, (status, text) in json.loads(done.stdout).items():
        lines = text.strip().splitlines()
        if status == 0:
            said[name] = "works"
        elif status == 2 and len(lines) == 1:
            said[name] = lines[0].removeprefix("annotated-transformer: ")
        else:
            said[name] = f"FAILS with status {status}: {(lines or [''])[-1]}"
    script = subprocess.run(
        [environment / "bin" / "annotated-transformer", "translate"], cwd=place, env=surroundings, input="A girl reads.\n",
        capture_output=True, text=True,
    )
    right = script.stdout == "Ein Mädchen liest.\n"
    return said | {"the installed script": "works" if right else f"FAILS: {script.stderr.strip()}"}


# PyTorch takes long to load, so one process loads it and each command runs in a copy of that process.
PROGRAM = """
import json, os, sys
import torch

said = {}
for name, words in json.loads(sys.argv[1]).items():
    with open("0.txt", "w") as file:
        file.write("Bob sees the cat .\\n")
    child = os.fork()
    if not child:
        for handle, mode in enumerate("rww"):
            with open(f"{handle}.txt", mode) as file:
                os.dup2(file.fileno(), handle)
        sys.argv[1:] = words.split()
        from annotated_transformer.__main__ import main
        main()
        sys.exit()
    _, status = os.waitpid(child, 0)
    said[name] = os.waitstatus_to_exitcode(status), open("2.txt").read()
print(json.dumps(said))
"""


def versions(environment: Path) -> dict[str, str]:
    "Of Python and PyTorch."
    words = [environment / "bin" / "python", "-c", "import platform, torch; print(platform.python_version(), torch.__version__)"]
    found = subprocess.run(words, check=True, capture_output=True, text=True).stdout.split()
    return dict(zip(("python", "torch"), found))


def resolves(version: str, wheel: Path) -> str:
    "Whether uv finds a wheel of everything that all extras require, for a Python that need not be here."
    command = ["uv", "pip", "compile", "--quiet", "--no-header", "--only-binary", ":all:", "--python-version", version, "-"]
    wanted = f"annotated_transformer[all] @ {wheel.resolve().as_uri()}\n"
    done = subprocess.run(command, cwd=wheel.parent, input=wanted, capture_output=True, text=True)
    lines = [line for line in done.stdout.splitlines() if "==" in line]
    if done.returncode:
        return f"FAILS: {done.stderr.strip()}"
    return f"{len(lines)} distributions, each as a wheel"


@one_sentence()
def main(options: Sequence[str] | None = None) -> None:
    parser = Options("benchmarks.environments", __doc__, "results/installation/environments.json")
    parser.add_argument("--pythons", nargs="*", default=["python3.11"], help="interpreters, by name or path")
    parser.add_argument("--resolve", nargs="*", default=[], help="versions of Python that are not here, as 3.14")
    parser.add_argument("--torch", default="", help="a directory with PyTorch; {} stands for 3.12")
    arguments = parser.parse_args(options)
    if not shutil.which("uv"):
        parser.error("this needs uv: pip install uv")
    figures: dict[str, dict] = {"environments": {}}
    with tempfile.TemporaryDirectory() as scratch:
        wheel = build(Path(scratch))
        figures["resolved"] = {version: resolves(version, wheel) for version in arguments.resolve}
        for python in arguments.pythons:
            for extra in EXTRAS if python == arguments.pythons[0] else ("", "all"):
                environment, place = Path(scratch, "environment"), Path(scratch, "place")
                fresh(environment, python, wheel, extra, arguments.torch)
                found = versions(environment)
                says = answers(environment, place)
                figures["environments"].setdefault(python_version(environment), found)[extra or "none"] = says
                print(found, extra or "none", json.dumps(says, indent=1), flush=True)
                shutil.rmtree(environment)
                shutil.rmtree(place)
    save(arguments.out, "benchmarks.environments", figures, {"extras": list(EXTRAS)}, options=options)
    if "FAILS" in json.dumps(figures):
        sys.exit(1)


if __name__ == "__main__":
    main()
