"""Put a link under each notebook's title that opens it in Colab, and a cell before its code that sets it up there, or says
elsewhere what to do if the package or results/ is missing.

The build writes and renews both from settings.ini: nobody edits them in a notebook. The same holds for the file of versions
that the cell installs.
"""
import posixpath
import re
from collections.abc import Mapping

from contents import refuse
from repository import in_colab, settings

CELL = "colab"  # the id of the cell that sets up
LINK = re.compile(r"\n+\[Open in Colab\]\([^)]*\)(?=\n|$)")
SET_UP = """\
if "google.colab" in str(get_ipython()):  # elsewhere nothing is done
    !git clone -q --depth 1 -b {branch} https://github.com/{user}/{repo} /content/book
    %cd -q /content/book/{folder}
    %pip install -q -c /content/book/{pins} /content/book[all]
elif not ({there}):
    print("Open this page in its repository: git clone https://github.com/{user}/{repo}; "
          "cd {repo}; make lab")"""
READS = re.compile(r"((?:\.\./)+(?:results|figures))/")
INSTALLED = '__import__("importlib.util").util.find_spec("{repo}")'
RESULTS = ' and __import__("os").path.exists("{place}")'
PINS = "tools/colab.txt"
PINS_HEAD = "# Written by the build from constraints.txt: what Colab installs beside its own torch, numpy and matplotlib.\n"
DEVELOPERS = ("dev", "site", "browser")     # extras that Colab does without
BROUGHT = ("torch", "numpy", "matplotlib")  # Colab's own stay: its torch knows the GPU, and the others are loaded already


def with_colab(notebook: dict, name: str) -> dict:
    "The notebook with link and cell, each once and as settings.ini has them."
    first, *others = [cell for cell in notebook["cells"] if cell.get("id") != CELL]
    title, newline, text = LINK.sub("", "".join(first["source"])).partition("\n")
    if first["cell_type"] != "markdown" or not title.startswith("# "):
        refuse(f"nbs/{name}.ipynb must begin with a markdown cell whose first line is its title: `# ...`.")
    source = f"{title}\n\n[Open in Colab]({in_colab()}/nbs/{name}.ipynb){newline}{text}"
    folded = {"jupyter": {"source_hidden": True}}
    code = "\n".join("".join(cell["source"]) for cell in others if cell["cell_type"] == "code")
    there = INSTALLED.format(**settings()) + (RESULTS.format(place=reads[1]) if (reads := READS.search(code)) else "")
    setting = SET_UP.format(**settings(), pins=PINS, folder=posixpath.dirname(f"nbs/{name}"), there=there)
    set_up = {"cell_type": "code", "id": CELL, "metadata": folded, "execution_count": None, "outputs": [],
              "source": setting.splitlines(keepends=True)}
    return notebook | {"cells": [first | {"source": source.splitlines(keepends=True)}, set_up, *others]}


def pins(about: Mapping[str, str], constraints: str) -> str:
    "The lines of constraints.txt for what settings.ini asks of users, extras included, less what Colab brings."
    of_users = (name for name in about if name.endswith("requirements") and name.split("_")[0] not in DEVELOPERS)
    asked = " ".join(about[name] for name in of_users)
    names = {re.split("[<>=]", one)[0].replace("_", "-").lower() for one in asked.split()} - {*BROUGHT}
    known = {line.split("==")[0].replace("_", "-").lower(): line for line in constraints.splitlines() if "==" in line}
    if missing := sorted(names - {*known}):
        refuse(f"constraints.txt has no version of {' and '.join(missing)}; renew it as its first lines say.")
    return PINS_HEAD + "".join(f"{known[name]}\n" for name in sorted(names))
