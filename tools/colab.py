"""Put under each notebook's title a link that opens it in Colab, and before its code a cell that sets it up there.

Both are written by the build from settings.ini, and renewed by it: nobody edits them in a notebook.
"""
import posixpath
import re

import repository
from contents import refuse

CELL = "colab"  # the id of the cell that sets up
LINK = re.compile(r"\n+\[Open in Colab\]\([^)]*\)(?=\n|$)")
SET_UP = """\
if "google.colab" in str(get_ipython()):  # elsewhere nothing is done; notebooks read results/
    !git clone -q --depth 1 -b {branch} https://github.com/{user}/{repo} /content/book
    %cd -q /content/book/{folder}
    %pip install -q /content/book[all]"""


def with_colab(notebook: dict, name: str, about) -> dict:
    "The notebook with link and cell, each once and as settings.ini has them. `about` gives user, repo and branch."
    first, *others = [cell for cell in notebook["cells"] if cell.get("id") != CELL]
    title, newline, text = LINK.sub("", "".join(first["source"])).partition("\n")
    if first["cell_type"] != "markdown" or not title.startswith("# "):
        refuse(f"nbs/{name}.ipynb must begin with a markdown cell whose first line is its title: `# ...`.")
    source = f"{title}\n\n[Open in Colab]({repository.colab(about)}/nbs/{name}.ipynb){newline}{text}"
    folded = {"jupyter": {"source_hidden": True}}
    set_up = {"cell_type": "code", "id": CELL, "metadata": folded, "execution_count": None, "outputs": [],
              "source": SET_UP.format(**about, folder=posixpath.dirname(f"nbs/{name}")).splitlines(keepends=True)}
    return notebook | {"cells": [first | {"source": source.splitlines(keepends=True)}, set_up, *others]}
