"Pages that begin with SENTENCE: all their cells run with another one, of other words, of one word, and with a name."
import itertools
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from contents import read_notebook

ROOT = Path(__file__).parents[3]
LINE = re.compile(r"^SENTENCE = .*$", re.MULTILINE)


def sources(path: Path) -> list[str]:
    "The code of its cells, without what sets up Colab and without the tests, which have sentences of their own."
    cells = read_notebook(path)["cells"]
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code" and cell["id"] != "colab"
            and not re.search(r"^#\| *(test|eval)", "".join(cell["source"]))]


PAGES = [path for path in sorted((ROOT / "nbs").rglob("*.ipynb")) if any(map(LINE.search, sources(path)))]


def test_the_sentence_of_figures_3_to_5_is_the_first_code_in_sight():
    assert {path.stem for path in PAGES} >= {"index", "figures_3_to_5"}
    assert LINE.fullmatch(sources(ROOT / "nbs/paper/figures_3_to_5.ipynb")[0])


SENTENCES = ["The teacher who lost her red umbrella bought a new one.", "Why?"]
# In processes of their own: a shell of IPython's changes what the process is, for other tests, too. They are copies of one that
# has imported what all pages import, and made the sentences that two of them take: this takes longer than the rest of most.
PROGRAM = """
import json, os, sys
import altair, IPython.core.interactiveshell, torch, torch._dynamo, vl_convert
import matplotlib.pyplot as plt
from annotated_transformer.data import corpora

corpora.load("pronouns-en-de")
for number, (directory, cells) in enumerate(json.load(sys.stdin)):
    if not (child := os.fork()):
        said = os.open(f"{sys.argv[1]}/{number}", os.O_WRONLY | os.O_CREAT)
        os.dup2(said, 1)
        os.dup2(said, 2)
        os.chdir(directory)
        shell = IPython.core.interactiveshell.InteractiveShell.instance()
        for source in cells:
            shell.run_cell(source, store_history=False).raise_error()
            plt.close("all")
        sys.exit()
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


def with_sentence(path: Path, sentence: str) -> list[str]:
    "The cells of a page, of which one now has this sentence."
    cells = [cell for cell in sources(path) if not (cell.startswith("%") or re.match(r"#\| *default_exp", cell))]
    changed = [LINE.subn(f"SENTENCE = {sentence!r}", cell) for cell in cells]
    assert sum(times for _, times in changed) == 1
    return [cell for cell, _ in changed]


@pytest.fixture(scope="module")
def ended(tmp_path_factory):
    "How the cells of each page ended with each sentence: the status of their process, and what it said."
    keys, said = list(itertools.product(PAGES, SENTENCES)), tmp_path_factory.mktemp("said")
    work = json.dumps([(str(path.parent), with_sentence(path, sentence)) for path, sentence in keys])
    done = subprocess.run([sys.executable, "-c", PROGRAM, said], input=work, stdout=subprocess.PIPE, text=True, check=True,
                          env=os.environ | {"MPLBACKEND": "agg"})
    texts = [(said / str(number)).read_text() for number in range(len(keys))]
    return dict(zip(keys, zip(map(int, done.stdout.split()), texts, strict=True), strict=True))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("sentence", SENTENCES)
@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_every_later_cell_survives_another_sentence(path, sentence, ended):
    status, said = ended[path, sentence]
    assert status == 0, said[-3000:]
