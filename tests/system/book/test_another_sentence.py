"Pages that begin with SENTENCE: all their cells run with another one, of other words, of one word, and with a name."
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
LINE = re.compile(r"^SENTENCE = .*$", re.MULTILINE)


def sources(path: Path) -> list[str]:
    "The code of its cells, without what sets up Colab and without the tests, which have sentences of their own."
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code" and cell["id"] != "colab"
            and not re.search(r"^#\| *(test|eval)", "".join(cell["source"]))]


PAGES = [path for path in sorted((ROOT / "nbs").rglob("*.ipynb")) if any(map(LINE.search, sources(path)))]


def test_the_sentence_of_figures_3_to_5_is_the_first_code_in_sight():
    assert {path.stem for path in PAGES} >= {"index", "figures_3_to_5"}
    assert LINE.fullmatch(sources(ROOT / "nbs/paper/figures_3_to_5.ipynb")[0])


PROGRAM = """
import json, sys
import matplotlib.pyplot as plt
from IPython.core.interactiveshell import InteractiveShell

shell = InteractiveShell.instance()
for source in json.load(sys.stdin):
    shell.run_cell(source, store_history=False).raise_error()
    plt.close("all")
"""


@pytest.mark.parametrize("sentence", ["The teacher who lost her red umbrella bought a new one.", "Why?"])
@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_every_later_cell_survives_another_sentence(path, sentence):
    cells = [cell for cell in sources(path) if not (cell.startswith("%") or re.match(r"#\| *default_exp", cell))]
    changed = [LINE.subn(f"SENTENCE = {sentence!r}", cell) for cell in cells]
    assert sum(times for _, times in changed) == 1
    # In a process of its own: a shell of IPython's changes what the process is, for other tests, too.
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], input=json.dumps([cell for cell, _ in changed]), capture_output=True, text=True,
        cwd=path.parent, env=os.environ | {"MPLBACKEND": "agg"},
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
