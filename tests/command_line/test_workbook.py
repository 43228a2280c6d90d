"A workbook is checked in a process of its own: code that never ends, or that ends Python, leaves the others' verdicts."
import json

import pytest

from annotated_transformer import InputError
from annotated_transformer.command_line.workbook import judged_apart
from annotated_transformer.workbook import exercises, in_directory, read_own, write


@pytest.fixture()
def notebook(tmp_path):
    "Replaces what stands in a notebook of a workbook, whose only notebooks are two."
    write(tmp_path)
    for path in tmp_path.iterdir():
        if path.stem not in ("3.5_position", "3.3_feed_forward"):
            path.unlink()

    def place(name, *sources):
        cells = [{"cell_type": "code", "source": source} for source in sources]
        (tmp_path / f"{name}.ipynb").write_text(json.dumps({"cells": cells}))
        return tmp_path

    return place


def test_what_never_ends_and_what_ends_python_is_red_and_the_rest_is_judged(notebook):
    directory = notebook("3.3_feed_forward", "import time\nclass Forever:\n    while True:\n        time.sleep(1)")
    [position] = [one for one in exercises().values() if one.page == "3.5_position"]
    notebook("3.5_position", f"import torch\nfrom torch import Tensor\n\n{position.solution}")
    said = {one.name: verdict for one, verdict in judged_apart(in_directory(directory), directory, seconds=10)}
    assert said.pop(position.name).green is True
    assert said and all(verdict.green is False and "10 seconds" in verdict.sentence for verdict in said.values())
    notebook("3.3_feed_forward", "import os\nclass Away:\n    os._exit(0)")
    said = {one.name: verdict for one, verdict in judged_apart(in_directory(directory), directory)}
    assert said.pop(position.name).green is True and all("has ended Python" in verdict.sentence for verdict in said.values())


def test_an_exit_in_a_cell_is_a_mistake_of_that_cell(notebook):
    directory = notebook("3.5_position", "import sys\nclass PositionalEncoding:\n    sys.exit(3)", "def sinusoids(a, b:", "x = '\0'")
    _, broken = read_own(directory / "3.5_position.ipynb")
    assert broken["PositionalEncoding"] == "SystemExit where it is defined: 3" and "is not Python" in broken["sinusoids"]


@pytest.mark.parametrize("text", [
    '{"cells": "x"}', '{"cells": null}', '{"cells": ["x"]}', '{"cells": [{"cell_type": "code"}]}', "[" * 100_000, "{}",
    *(f'{{"cells": [{{"cell_type": "code", "source": {source}}}]}}' for source in ("5", "null", "[1, 2]", '"\\ud800"')),
], ids=lambda text: text[:50])
def test_a_file_that_is_no_notebook_is_one_sentence(tmp_path, text):
    (tmp_path / "3.5_position.ipynb").write_text(text)
    with pytest.raises(InputError, match="3.5_position.ipynb: .*rename it, and write it anew"):
        read_own(tmp_path / "3.5_position.ipynb")
