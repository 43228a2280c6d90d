"""Join what a cell printed in several pieces into one output, as JupyterLab shows it: a kernel sends one piece per flush.

python tools/streams.py NOTEBOOK ...     in these notebooks (`make run` does it after running them, and so does the build)
"""
from pathlib import Path

from contents import read_notebook, write_notebook
from usage import words_given


def joined(outputs: list[dict]) -> list[dict]:
    "The same outputs, in which no two pieces of one stream follow each other."
    found: list[dict] = []
    for output in outputs:
        before = found[-1] if found else {}
        if output["output_type"] == "stream" == before.get("output_type") and output["name"] == before["name"]:
            text = "".join(before["text"]) + "".join(output["text"])
            found[-1] = before | {"text": text.splitlines(keepends=True)}
        else:
            found.append(output)
    return found


def with_whole_streams(notebook: dict) -> dict:
    "The notebook with the streams of each cell joined."
    cells = [cell | {"outputs": joined(cell["outputs"])} if cell.get("outputs") else cell for cell in notebook["cells"]]
    return notebook | {"cells": cells}


if __name__ == "__main__":
    for path in map(Path, words_given(__doc__, None)):
        write_notebook(path, with_whole_streams(read_notebook(path)))
