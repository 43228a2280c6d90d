"tools/build_site.py prepares the notebooks for the site; tests/browser looks at the site itself."
import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import build_site  # noqa: E402


def index(*rows: str) -> dict:
    table = ["| section | room | module | what lives there |", "|---|---|---|---|", *rows]
    return {"cells": [{"cell_type": "markdown", "id": "table", "source": "\n".join(table)}]}


@pytest.fixture
def book(tmp_path, monkeypatch):
    "A place for notebooks; they need only be there."
    monkeypatch.setattr(build_site, "NOTEBOOKS", tmp_path)
    for name in ("index", "53_adam", "30_model", "31_layers", "90_shell"):
        (tmp_path / f"{name}.ipynb").touch()
    return tmp_path


ROWS = ["| §3.1 | [31 Layers](31_layers.ipynb) | `layers` | layers |", "| §3 | [30 Model](30_model.ipynb) | `model` | all |",
        "| §5.3 | [53 Adam](53_adam.ipynb) | `adam` | updates |", "| | [90 Shell](90_shell.ipynb) | `cli` | the command |"]


def test_the_navigation_is_the_index(book):
    assert build_site.rooms(index(*ROWS)) == [
        ("§3 The model", ["31_layers", "30_model"]), ("§5 Training", ["53_adam"]), ("In use", ["90_shell"]),
    ]


def test_a_notebook_that_the_index_forgot_is_named(book, capsys):
    with pytest.raises(SystemExit):
        build_site.rooms(index(*ROWS[:3]))
    assert "90_shell.ipynb has no row in the table" in capsys.readouterr().err


def test_links_stay_in_the_site_where_they_can(monkeypatch):
    monkeypatch.chdir(ROOT)
    text = "[a](../annotated_transformer/layers.py) [b](../results/x.json) [c](32_attention.ipynb#Try) [d](https://e.org/../f)"
    assert build_site.with_links_of_the_site(text) == (
        f"[a](api/layers.rst) [b]({build_site.repository()}/results/x.json) [c](32_attention.ipynb#Try) [d](https://e.org/../f)"
    )
    assert build_site.anchor("And back, whatever the model wrote") == "And-back,-whatever-the-model-wrote"


def test_a_chart_lives_and_a_cell_that_only_sets_up_is_left_out():
    chart = {"$schema": "vega-lite", "description": "</script><b>"}
    output = {"output_type": "execute_result", "data": {build_site.CHART: chart, "image/png": "", "text/plain": "x"}}
    sources = {"export": "#| default_exp toy\n", "colab": "if 1: pass", "chart": "explore(maps)"}
    cells = [{"cell_type": "code", "id": name, "source": source, "outputs": []} for name, source in sources.items()]
    cells[2]["outputs"] = [output]
    [cell] = build_site.prepare_notebook({"cells": cells})["cells"]
    [html] = cell["outputs"][0]["data"].values()
    assert html.count("</script>") == 1 and html.endswith("</script>")
    assert json.loads(html.partition("data-chart=\"chart-chart-0\">")[2].removesuffix("</script>")) == chart
