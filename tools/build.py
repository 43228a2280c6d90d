"""Keep notebooks, package and tests in step.

python tools/build.py         write what the notebooks share, clean them, export the package, write the tests from their cells
python tools/build.py check   the same in a copy, then one sentence for each file that would change; nothing is written
"""
import ast
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from configparser import ConfigParser
from pathlib import Path
from tempfile import TemporaryDirectory

from colab import with_colab
from contents import read_contents, with_contents
from export_tests import export_tests
from nbdev.clean import nbdev_clean
from nbdev.doclinks import nbdev_export
from nbdev.process import NBProcessor
from workbook import write_workbook

ROOT = Path(__file__).resolve().parents[1]
BY_HAND = ["annotated_transformer/__init__.py", "annotated_transformer/__main__.py"]
SOURCES = ["settings.ini", "pyproject.toml", "nbs", "tools", *BY_HAND]
PRODUCTS = ["nbs/*.ipynb", "annotated_transformer/*.py", "annotated_transformer/workbook/*", "tests/test_*.py"]


def prepare_notebooks(notebooks: Path = Path("nbs")) -> None:
    "Write those notebooks that lack a cell of the build's, or have an old one: for Colab, of neighbours, the table of the index."
    pages = read_contents(notebooks)
    settings = ConfigParser(delimiters=["="], interpolation=None)
    settings.read("settings.ini", encoding="utf-8")
    for path in sorted(notebooks.glob("*.ipynb")):
        found = json.loads(path.read_text(encoding="utf-8"))
        wanted = with_contents(with_colab(found, path.name, settings["DEFAULT"]), path.stem, pages)
        # The state of widgets is of no use without their kernel, and a page that shows it asks another host for code.
        wanted = wanted | {"metadata": {name: value for name, value in wanted["metadata"].items() if name != "widgets"}}
        if wanted != found:
            path.write_text(json.dumps(wanted, sort_keys=True, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def build() -> None:
    "Bring what is made from the notebooks up to date."
    prepare_notebooks()
    nbdev_clean.__wrapped__()  # the undecorated functions: nbdev's own read this script's command line as theirs
    nbdev_export.__wrapped__()
    export_tests()
    write_workbook()


def differences() -> Iterator[str]:
    "Build in a copy that holds the sources alone, and compare all that it makes with the working tree."
    with TemporaryDirectory() as directory:
        copy = Path(directory) / "copy"
        (copy / "tests").mkdir(parents=True)
        (copy / "annotated_transformer").mkdir()
        for name in SOURCES:
            (shutil.copytree if Path(name).is_dir() else shutil.copy)(name, copy / name)
        if status := subprocess.run([sys.executable, "tools/build.py"], cwd=copy).returncode:
            sys.exit(status)  # the build has already said why
        made, found = ({str(path.relative_to(root)): path.read_bytes() for product in PRODUCTS for path in root.glob(product)}
                       for root in (copy, Path()))
    for path in sorted(made.keys() | found.keys()):
        if path not in found:
            yield f"{path} is missing: run `make build`."
        elif path not in made:
            yield f"{path} comes from no notebook: remove it, or write its notebook."
        elif made[path] != found[path]:
            yield f"{path} is {'not clean' if path.startswith('nbs') else 'out of step with its notebook'}: run `make build`."


def shows_something(cell) -> bool:
    "Whether running a cell must leave an output: it prints, or it ends in a bare value."
    statements = cell.parsed_() or [ast.Pass()]
    values = [statement.value for statement in statements if isinstance(statement, ast.Expr)]
    prints = any(isinstance(value, ast.Call) and ast.unparse(value.func) in ("print", "plt.show") for value in values)
    bare = isinstance(statements[-1], ast.Expr) and not isinstance(statements[-1].value, ast.Call)
    return prints or bare and not cell.source.rstrip().endswith(";")


def unfinished(notebook: Path) -> Iterator[str]:
    "Cells that end in an error, and cells that were never run: cleaning drops the execution counts, so outputs must tell."
    for cell in NBProcessor(notebook).nb.cells:
        outputs = cell.get("outputs", [])
        if any(output["output_type"] == "error" for output in outputs):
            yield f"{notebook}, cell {cell.id} shows an error: mend it and run the notebook."
        elif not outputs and not {"slow", "eval:"} & cell.directives_.keys() and shows_something(cell):
            yield f"{notebook}, cell {cell.id} was never run: run the notebook."


def check() -> int:
    "Print what is out of step; 1 when anything is."
    complaints = [*differences(), *(line for path in sorted(Path("nbs").glob("*.ipynb")) for line in unfinished(path))]
    print("\n".join(complaints) or "Notebooks, package and tests are in step.")
    return 1 if complaints else 0


if __name__ == "__main__":
    os.chdir(ROOT)
    sys.exit(check() if sys.argv[1:] == ["check"] else build())
