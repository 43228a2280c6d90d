"""Every notebook as people use it: opened in JupyterLab, all cells run, its figures looked at; none may ask another host.

    make test-browser                                # all notebooks, the explorer, the site
    make test-browser NB="nbs/paper/3.3_feed_forward.ipynb nbs/paper/3.4_embedding.ipynb"

A picture of each notebook is left in screenshots/. Skipped without playwright or Chromium.
"""
import json
import os
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest

from benchmarks.explorer import NEXT_FRAME

ROOT = Path(__file__).resolve().parents[2]
SCREENSHOTS = ROOT / "screenshots" / "notebooks"
NOTEBOOKS = [ROOT / name for name in os.environ.get("NB", "").split()] or sorted((ROOT / "nbs").rglob("*.ipynb"))
MOST_SECONDS = int(os.environ.get("NB_SECONDS", 600))  # for all cells of a notebook; a busy machine may need more

# How many colours a figure has: one that shows nothing has one, and one that cannot be read has none.
COLOURS = """async figure => {
    if (figure.tagName == "IMG") try { await figure.decode() } catch { return 0 }
    const [width, height] = figure.tagName == "IMG" ? [figure.naturalWidth, figure.naturalHeight] : [figure.width, figure.height];
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [width, height];
    const context = canvas.getContext("2d");
    context.drawImage(figure, 0, 0);
    const found = new Set(new Uint32Array(context.getImageData(0, 0, width, height).data.buffer));
    return found.size;
}"""


# The first cell with code that has no number or does not rest, if none ended in an error, after which none is run. The notebook
# is asked and not the page, because JupyterLab shows no number beside a folded cell.
NOT_RUN = """() => {
    const cells = [...jupyterapp.shell.currentWidget.content.model.cells].filter(one => one.type == "code");
    const failed = one => one.outputs.toJSON().some(output => output.output_type == "error");
    const ran = one => one.executionCount && one.executionState != "running" || !one.sharedModel.getSource().trim();
    return cells.some(failed) ? undefined : cells.find(one => !ran(one))?.id;
}"""
# How many cells have their outputs folded.
CLOSED = "() => jupyterapp.shell.currentWidget.content.widgets.filter(cell => cell.outputHidden).length"
QUESTION = ".jp-Dialog-content"  # JupyterLab asks or says something in front of everything else, and waits for a click
FINISHED = f"() => document.querySelector('{QUESTION}') || ({NOT_RUN})() === undefined"

SHUT_DOWN = """async () => {
    const headers = {"X-XSRFToken": document.cookie.match(/_xsrf=([^;]*)/)?.[1]};
    for (const session of await (await fetch("/api/sessions")).json())
        await fetch(`/api/sessions/${session.id}`, {method: "DELETE", headers});
}"""


def figures(notebook: dict) -> list[str]:
    "For each figure in the outputs, the cell that shows it."
    pictures = {"image/png", "image/svg+xml", "application/vnd.vegalite.v5+json"}
    outputs = [(cell["id"], output) for cell in notebook["cells"] for output in cell.get("outputs", [])]
    return [cell for cell, output in outputs if pictures & output.get("data", {}).keys()]


def place_of(path: Path) -> Path:
    "Where a notebook stands in the copy of the repository."
    return Path("nbs", path.relative_to(ROOT / "nbs") if path.is_absolute() else path)


def name_of(path: Path) -> str:
    "A notebook's name among all: its folder and its file."
    return "-".join(place_of(path).with_suffix("").parts[1:])


def await_unasked(page, locator) -> None:
    "Wait until it stands on the page. A question of JupyterLab, which nobody will answer, ends the test with its words."
    question = page.locator(QUESTION)
    locator.or_(question).first.wait_for()
    assert question.all_inner_texts() == []


def run_all(page, lab, path: Path) -> dict:
    "Open the notebook of the copy, run all its cells as a reader would, save, and read what was saved."
    from playwright.sync_api import TimeoutError  # where it is missing, no test comes so far

    workspace = name_of(path).replace(".", "-")  # JupyterLab finds no page where a workspace has a dot
    page.goto(f"{lab.address}/lab/workspaces/{workspace}/tree/{place_of(path).as_posix()}")
    await_unasked(page, page.locator(".jp-Notebook .jp-CodeCell"))
    await_unasked(page, page.locator("#jp-main-statusbar").get_by_text("| Idle"))  # without a kernel, JupyterLab asks for one
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_role("menuitem", name="Run All Cells", exact=True).click()
    try:
        page.wait_for_function(FINISHED, timeout=1000 * MOST_SECONDS, polling=500)
    except TimeoutError:
        pytest.fail(f"after {MOST_SECONDS} seconds cell {page.evaluate(NOT_RUN)} had not ended (NB_SECONDS=... for more)")
    assert page.locator(QUESTION).all_inner_texts() == []
    page.evaluate("() => jupyterapp.shell.currentWidget.context.save()")  # back when the file is whole
    return json.loads((lab.directory / place_of(path)).read_text(encoding="utf-8"))


def kept(directory: Path) -> set[str]:
    "All that stands in the copy, but for what Jupyter and Python keep there for themselves."
    found = (path.relative_to(directory) for path in directory.rglob("*"))
    return {str(path) for path in found if not any(part.startswith((".", "__")) for part in path.parts)}


def complaints(page, lab, path: Path) -> Iterator[str]:
    "Run the copy of a notebook, and say what a reader should not see."
    asked_before, kept_before = len(lab.asked()), kept(lab.directory)
    committed = figures(json.loads((lab.directory / place_of(path)).read_text(encoding="utf-8")))
    saved = run_all(page, lab, path)
    for cell in saved["cells"]:
        for output in cell.get("outputs", []):
            if output["output_type"] == "error":
                yield f"cell {cell['id']} ends in {output['ename']}: {output['evalue']}"
    if figures(saved) != committed:
        yield f"figures now come from the cells {figures(saved)}; committed are those of {committed}"

    folded = sum(bool(cell["metadata"].get("jupyter", {}).get("outputs_hidden")) for cell in saved["cells"])
    if (closed := page.evaluate(CLOSED)) != folded:
        yield f"{closed} answers are closed before the reader opens them, and {folded} should be"
    page.evaluate("() => jupyterapp.commands.execute('notebook:show-all-cell-outputs')")
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    drawn = page.locator(".jp-OutputArea-output img, .jp-OutputArea-output canvas")
    if figures(saved):
        drawn.nth(len(figures(saved)) - 1).wait_for()
    for i in range(drawn.count()):
        if drawn.nth(i).evaluate(COLOURS) < 2:
            yield f"figure {i + 1} is blank"
            continue
        drawn.nth(i).scroll_into_view_if_needed()
        page.evaluate(NEXT_FRAME)
        drawn.nth(i).screenshot(path=SCREENSHOTS / f"{name_of(path)}-{i + 1}.png")

    own = (lab.address, lab.address.replace("http", "ws"), "data:", "blob:")
    yield from (f"the page asked for {address}" for address in page.asked if not address.startswith(own))
    yield from (f"the server or the kernel asked {host}" for host in lab.asked()[asked_before:])
    yield from (f"it left {name} in the clone" for name in sorted(kept(lab.directory) - kept_before))
    page.evaluate(SHUT_DOWN)  # its kernel, or all of them would stay in memory to the end


@pytest.mark.parametrize("path", NOTEBOOKS, ids=name_of)
def test_a_notebook_runs_in_jupyterlab_shows_its_figures_and_asks_no_other_host(page, lab, path):
    assert list(complaints(page, lab, path)) == []


@pytest.mark.parametrize("source, complaint", [
    ("1 / 0", "cell 0 ends in ZeroDivisionError: division by zero"),
    ("import matplotlib.pyplot as plt\n_ = plt.subplots()[1].axis('off')", "figure 1 is blank"),
    ("import socket\ntry:\n    socket.create_connection(('192.0.2.1', 80), 1)\nexcept OSError:\n    pass", "asked 192.0.2.1"),
    ("import os\nos.makedirs('figures/drawn')", "it left nbs/figures/drawn in the clone"),
    ("from IPython.display import HTML\nHTML('<img src=http://elsewhere.invalid/a.png>')", "the page asked for http://elsewhere.invalid/a.png"),
])
def test_what_a_reader_should_not_see_is_noticed(page, lab, source, complaint):
    kernel = {"name": "python3", "display_name": "python3", "language": "python"}
    notebook = nbformat.v4.new_notebook(metadata={"kernelspec": kernel}, cells=[nbformat.v4.new_code_cell(source, id="0")])
    nbformat.write(notebook, lab.directory / "nbs" / "bad.ipynb")
    assert any(complaint in line for line in complaints(page, lab, Path("bad.ipynb")))
