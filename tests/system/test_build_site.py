"tools/build_site.py prepares the notebooks for the site; tests/browser looks at the site itself."
import json
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import build_site  # noqa: E402
from contents import NEIGHBOURS, Page, read_contents  # noqa: E402


def test_the_navigation_is_the_list_of_notebooks():
    def page(name, *place):
        return Page(name, name, "", *place, None, None)

    pages = [page("31_layers", "paper", "§3 The model"), page("30_model", "paper", "§3 The model"),
             page("53_adam", "paper", "§5 Training"), page("52a_disk", "workshop", "Training")]
    assert build_site.captions(pages) == [
        ("§3 The model", ["31_layers", "30_model"]), ("§5 Training", ["53_adam"]), ("Workshop: Training", ["52a_disk"]),
    ]
    cell = build_site.navigation(pages)["source"]
    assert ":caption: Workshop: Training\n\n52a_disk\n```" in cell and cell.endswith(":caption: Reference\n\napi/index\n```")


def test_the_reference_has_a_page_for_each_module_and_its_notebook():
    pages = build_site.reference(read_contents(ROOT / "nbs"))
    assert "../32_attention" in pages["api/attention.rst"]
    assert ".. automodule:: annotated_transformer.attention\n" in pages["api/attention.rst"]
    modules = {path.stem for path in (ROOT / "annotated_transformer").glob("[a-z]*.py")}
    assert pages.keys() == {f"api/{module}.rst" for module in modules} | {"api/index.rst"}


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
    sources = {"export": "#| default_exp toy\n", "colab": "if 1: pass", NEIGHBOURS: "Next", "chart": "explore(maps)"}
    cells = [{"cell_type": "code", "id": name, "source": source, "outputs": []} for name, source in sources.items()]
    cells[-1]["outputs"] = [output]
    [cell] = build_site.prepare_notebook({"cells": cells})["cells"]
    [html] = cell["outputs"][0]["data"].values()
    assert html.count("</script>") == 1 and html.endswith("</script>")
    assert json.loads(html.partition("data-chart=\"chart-chart-0\">")[2].removesuffix("</script>")) == chart
