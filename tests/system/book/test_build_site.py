"tools/build_site.py prepares the notebooks for the site; tests/browser looks at the site itself."
import json
import re
from pathlib import Path

import build_site
import contents
import pytest
import site_head
from chinese_notebooks import anchor
from contents import NEIGHBOURS, Page, captions, notebook_of, read_contents, read_notebook
from links import dead_links
from PIL import Image

ROOT = Path(__file__).parents[3]


def test_the_navigation_is_the_list_of_notebooks():
    def page(name, *place):
        return Page(name, name, "", *place, None)

    pages = [page("paper/3.1_layers", "paper", "§3 The model"), page("paper/3_model", "paper", "§3 The model"),
             page("paper/5.3_adam", "paper", "§5 Training"), page("training/disk", "workshop", "Training")]
    *paper, (heading, guides), workshop = groups = captions(pages, ("Guides", contents.guides()), "Workshop: ")
    assert paper == [("§3 The model", ["paper/3.1_layers", "paper/3_model"]), ("§5 Training", ["paper/5.3_adam"])]
    assert heading == "Guides" and guides[:2] == ["docs/first-hour", "docs/installation"]
    assert set(guides) == {f"docs/{path.stem}" for path in ROOT.glob("docs/*.md")}
    assert workshop == ("Workshop: Training", ["training/disk"])
    cell = build_site.chinese_site.navigation(groups)["source"]
    assert cell.endswith(":caption: Workshop: Training\n\ntraining/disk\n```")


def test_the_reference_has_a_page_for_each_module_and_its_notebook():
    pages = build_site.reference(read_contents(ROOT / "nbs"))
    assert "../paper/3.2_attention" in pages["api/model.attention.rst"]
    assert ".. automodule:: annotated_transformer.model.attention\n" in pages["api/model.attention.rst"]
    package = ROOT / "annotated_transformer"
    modules = {".".join(path.relative_to(package).with_suffix("").parts) for path in package.rglob("[a-z]*.py")}
    assert pages.keys() == {f"api/{module}.rst" for module in modules} | {"api/index.rst"}


def test_links_stay_in_the_site_where_they_can():
    text = "[a](../annotated_transformer/model/layers.py) [b](../results/x.json) [c](paper/3.2_attention.ipynb) [d](https://e.org/../f)"
    repository = build_site.shown_at()
    assert build_site.with_links_of_the_site(text, "index") == (
        f"[a](api/model.layers.rst) [b]({repository}/results/x.json) [c](paper/3.2_attention.ipynb) [d](https://e.org/../f)"
    )
    text = "[a](../../annotated_transformer/results.py) [b](../../results/x.json) [c](../paper/3.2_attention.ipynb#Try)"
    assert build_site.with_links_of_the_site(text, "data/corpora") == (
        f"[a](../api/results.rst) [b]({repository}/results/x.json) [c](../paper/3.2_attention.ipynb#Try)"
    )
    page = "see [the page](../../annotated_transformer/exchange/page/translate.html)."
    assert build_site.with_links_of_the_site(page, "exchange/onnx") == 'see <a href="../translate.html">the page</a>.'
    page = f"see [the page]({build_site.site_address()}explorer.html)."
    assert build_site.with_links_of_the_site(page, "figures/explorer") == 'see <a href="../explorer.html">the page</a>.'
    assert anchor("And back, whatever the model wrote") == "And-back,-whatever-the-model-wrote"


def code_cell(source, name="own", hidden=False):
    metadata = {"jupyter": {"source_hidden": True}} if hidden else {}
    return {"cell_type": "code", "id": name, "metadata": metadata, "source": source, "outputs": []}


@pytest.mark.parametrize("source, hidden, shown, prompt", [
    ("#| export\ndef half(x):\n    return x / 2", False, "def half(x):\n    return x / 2", None),
    ("#| test it_halves\n#| slow\nassert half(2) == 1", False, "# Test: it halves\nassert half(2) == 1", None),
    ("#| test it_halves\nassert half(2) == 1", True, "assert half(2) == 1", "Test: it halves"),
    ("#| export\nimport math\nfrom json import loads", False, "import math\nfrom json import loads", "Code"),
    ("import math\nmath.pi", False, "import math\nmath.pi", None),
    ("draw()", True, "draw()", "Code"),
    ("!ls", False, "!ls", None),
])
def test_directives_go_and_what_jupyterlab_folds_is_folded(source, hidden, shown, prompt):
    [cell] = build_site.prepare_notebook({"cells": [code_cell(source, hidden=hidden)]}, "00_toy")["cells"]
    assert cell["source"] == shown and ("hide-input" in cell["metadata"].get("tags", [])) == bool(prompt)
    assert cell["metadata"].get("mystnb", {}).get("code_prompt_show") == prompt


def test_an_answer_is_folded_with_what_it_prints():
    answer = code_cell("print(6 * 7)", hidden=True)
    answer["metadata"]["jupyter"]["outputs_hidden"] = True
    [cell] = build_site.prepare_notebook({"cells": [answer]}, "00_toy")["cells"]
    assert cell["metadata"]["tags"] == ["hide-cell"] and cell["metadata"]["mystnb"]["code_prompt_show"] == "Answer"


@pytest.mark.parametrize("source, prompt", [("draw()", "代码"), ("#| test it_halves\nassert half(2) == 1", "测试：it halves")])
def test_on_chinese_pages_folded_cells_are_named_in_chinese(source, prompt):
    words = build_site.chinese_site.ON_FOLDED_CELLS
    [cell] = build_site.prepare_notebook({"cells": [code_cell(source, hidden=True)]}, "00_toy", words)["cells"]
    assert cell["metadata"]["mystnb"]["code_prompt_show"] == prompt


def test_beside_the_link_to_colab_stands_one_to_github():
    title = {"cell_type": "markdown", "id": "title", "source": "# A toy\n\n[Open in Colab](https://c.org/x)\n\nIt halves."}
    [cell] = build_site.prepare_notebook({"cells": [title]}, "00_toy")["cells"]
    links = f"[Open in Colab](https://c.org/x) · [View on GitHub]({build_site.shown_at()}/nbs/00_toy.ipynb)"
    assert cell["source"] == f"# A toy\n\n{links}\n\nIt halves."


@pytest.mark.parametrize("hidden", [False, True])
def test_a_figure_says_what_it_shows_to_those_who_hear_the_page(hidden):
    drawing = code_cell("#| fig-alt: Two bars, the second twice as high\ndraw()", hidden=hidden)
    drawing["outputs"] = [{"output_type": "display_data", "data": {"image/png": ""}}]
    cells = [drawing, drawing | {"id": "no figure", "outputs": []}, drawing | {"id": "no words", "source": "draw()"}]
    told, *others = build_site.prepare_notebook({"cells": cells}, "00_toy")["cells"]
    assert told["metadata"]["mystnb"]["image"] == {"alt": "Two bars, the second twice as high"} and told["source"] == "draw()"
    assert ("code_prompt_show" in told["metadata"]["mystnb"]) == hidden
    assert all("image" not in cell["metadata"].get("mystnb", {}) for cell in others)


@pytest.mark.parametrize("own, said", [({}, "A curve that falls"), ({"description": "its own"}, "its own")])
def test_a_live_chart_says_what_it_shows(own, said):
    cell = code_cell("#| fig-alt: A curve that falls\nchart")
    cell["outputs"] = [{"output_type": "execute_result", "data": {build_site.CHART: own, "image/png": ""}}]
    [cell] = build_site.prepare_notebook({"cells": [cell]}, "00_toy")["cells"]
    assert f'{{"description": "{said}"}}</script>' in cell["outputs"][0]["data"]["text/html"]


def test_folds_are_named_by_what_stands_on_them_and_the_theme_speaks_chinese_on_chinese_pages(tmp_path, monkeypatch):
    monkeypatch.setattr(build_site, "SITE", tmp_path)
    page = '<a>Skip to content</a><summary aria-label="Toggle hidden content">{}</summary><p class="caption" role="heading">'
    (tmp_path / "zh").mkdir()
    for name, fold in (("x.html", "Code"), ("zh/x.html", "代码")):
        (tmp_path / name).write_text(page.format(fold), encoding="utf-8")
    build_site.for_those_who_listen_or_wait()
    rest = '<summary>{}</summary><p class="caption" role="heading" aria-level="2">'
    assert (tmp_path / "x.html").read_text() == f"<a>Skip to content</a>{rest.format('Code')}"
    assert (tmp_path / "zh/x.html").read_text(encoding="utf-8") == f"<a>跳到正文</a>{rest.format('代码')}"


def test_all_charts_of_the_book_are_of_one_version():
    schemas = {output["data"][build_site.CHART]["$schema"] for path in (ROOT / "nbs").rglob("*.ipynb")
               for cell in read_notebook(path)["cells"] for output in cell.get("outputs", [])
               if build_site.CHART in output.get("data", {})}
    assert schemas == {f"https://vega.github.io/schema/vega-lite/v{build_site.VEGA_LITE.split('.')[0]}.json"}


def test_a_chart_lives_and_a_cell_that_only_sets_up_is_left_out():
    chart = {"$schema": "vega-lite", "description": "</script><b>"}
    output = {"output_type": "execute_result", "data": {build_site.CHART: chart, "image/png": "", "text/plain": "x"}}
    sources = {"export": "#| default_exp toy\n", "colab": "if 1: pass", NEIGHBOURS: "Next", "chart": "explore(maps)"}
    cells = [code_cell(source, name) for name, source in sources.items()]
    cells[-1]["outputs"] = [output]
    [cell] = build_site.prepare_notebook({"cells": cells}, "00_toy")["cells"]
    [html] = cell["outputs"][0]["data"].values()
    assert html.count("</script>") == 1 and html.endswith("</script>")
    assert json.loads(html.partition("data-chart=\"chart-chart-0\">")[2].removesuffix("</script>")) == chart


def test_the_index_says_first_where_to_try_it_and_how_to_install():
    prepared = build_site.prepare_notebook(notebook_of("index"), "index")["cells"]
    assert build_site.chinese_site.WHAT in [cell["id"] for cell in prepared]
    title = prepared[0]["source"]
    assert re.search(r"\]\(([^)]*)\)|href=\"([^\"]*)\"", title)[2] == build_site.PAGE, "the first link of all"
    cell = build_site.installation()["source"]
    assert "pip install .\n" in cell and "git clone" in cell and "](docs/installation.md)" in cell
    assert "](exchange/browser_page.ipynb)" in cell and "](nbs/" not in cell
    cell = build_site.chinese_site.installation()["source"]
    assert "](docs/installation.md)" in cell
    assert "](exchange/browser_page.ipynb)" in cell and "](nbs/" not in cell


def test_the_guides_links_stay_in_the_site_where_they_can():
    text, repository = build_site.guide("docs/first-hour"), build_site.shown_at()
    assert "](../training/checkpoints.ipynb)" in text and "](trained-weights.md)" in text and "../nbs" not in text
    assert f"]({repository}/results/translation/everyday-en-de.json)" in build_site.guide("docs/trained-weights")
    assert build_site.with_links_of_the_site("[a](../../docs/speed.md) [b](../../docs/transformer.py)", "data/x") == (
        f"[a](../docs/speed.md) [b]({repository}/docs/transformer.py)")


def test_links_of_a_chinese_page_lead_out_of_its_folder_only_to_what_has_no_chinese():
    published = {"": "https://a.org", "package/a.py": "api/a.html", "https://b.org/t.html": "t.html"}
    text = ("[a](../model/b.ipynb#c) [`a` *b*](../../package/a.py) [c](../../results/b) ![d](../../e/f.png) "
            "[g](https://b.org/t.html?language=zh) [h](https://c.org) [i](#j)")
    assert build_site.chinese_site.with_english_pages(text, "paper/a", published) == (
        '[a](../model/b.ipynb#c) '
        '<a href="../../api/a.html"><code class="docutils literal notranslate">a</code> <em>b</em></a> '
        '<a href="https://a.org/results/b">c</a> <img src="../../_images/f.png" alt="d"> '
        '<a href="../../t.html?language=zh">g</a> [h](https://c.org) [i](#j)')


def test_a_picture_of_a_guide_is_part_of_its_page(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "speed.md").write_text("![bars](../results/speed/a-b.png) [file](../results/speed/a.json)\n")
    file = f"[file]({build_site.shown_at()}/results/speed/a.json)"
    assert build_site.guide("docs/speed") == f"![bars](/results/speed/a-b.png) {file}\n"


def test_a_link_that_leads_nowhere_is_named(tmp_path):
    (tmp_path / "folder").mkdir()
    good = ["#here", "folder/page.html#there", "folder/", "https://elsewhere.org/x#y"]
    links = [f'<a href="{link}"></a>' for link in (*good, "gone.html", "folder/page.html#gone")]
    (tmp_path / "index.html").write_text(f'<h1 id="here"></h1>{"".join(links)}')
    page = '<p id="there"></p><a href="../index.html#h%65re"></a><a href="../a.txt"></a>'
    (tmp_path / "folder" / "page.html").write_text(page)
    (tmp_path / "folder" / "index.html").write_text("")
    assert dead_links(tmp_path) == ["folder/page.html: ../a.txt leads nowhere", "index.html: gone.html leads nowhere",
                                    "index.html: folder/page.html#gone leads nowhere"]


def test_listed_sources_lose_the_ways_back_that_lead_nowhere(tmp_path, monkeypatch):
    monkeypatch.setattr(build_site, "SITE", tmp_path)
    way = '<a class="viewcode-back" href="../api/x.html#{}">[docs]</a>'
    for folder in ("_modules", "api"):
        (tmp_path / folder).mkdir()
    (tmp_path / "api" / "x.html").write_text('<dt id="one"></dt>')
    (tmp_path / "_modules" / "x.html").write_text(f"{way.format('one')} def one {way.format('other')} def other")
    build_site.without_dead_ways_back()
    assert (tmp_path / "_modules" / "x.html").read_text() == f"{way.format('one')} def one  def other"


def test_the_site_carries_the_notices_of_what_others_wrote():
    pytest.importorskip("furo")
    said = build_site.licences()
    for words in (build_site.MATHJAX[0].replace("mathjax@", "MathJax "), "University of Washington Interactive Data Lab",
                  "Mike Bostock", "by the Sphinx team", "Pradyun Gedam", "Dr Martin Porter", "Apache License\n",
                  "Permission is hereby granted",
                  "Redistributions in binary form must reproduce", "Permission to use, copy, modify", "NLTK Project"):
        assert words in said, words
    for readme in ("README.md", "README.zh.md"):  # the foot of each page leads there
        assert f"({build_site.site_address()}_static/{build_site.LICENCES})" in (ROOT / readme).read_text(encoding="utf-8")


def test_a_shared_link_to_a_page_shows_its_title_what_it_is_about_and_a_picture():
    address, page = build_site.site_address(), "paper/3.2_attention"
    said = {language: site_head.of_a_page(page, language, "§3.2 <em>A</em> &amp; B", ["first"]) for language in ("en", "zh_CN")}
    [shows] = [listed.shows for listed in read_contents() if listed.notebook == page]
    for tag in ('name="description"', 'property="og:description"'):
        assert f'<meta {tag} content="{shows}">' in said["en"] and re.search(f'<meta {tag} content="注意力', said["zh_CN"])
    for language, folder in (("en", ""), ("zh_CN", "zh/")):
        assert f'<link rel="canonical" href="{address}{folder}{page}.html">' in said[language]
        assert f'<meta property="og:url" content="{address}{folder}{page}.html">' in said[language]
        assert f'<link rel="alternate" hreflang="en" href="{address}{page}.html">' in said[language]
        assert f'<link rel="alternate" hreflang="zh" href="{address}zh/{page}.html">' in said[language]
        assert '<meta property="og:title" content="§3.2 A &amp; B">' in said[language]
    assert f'content="{address}_static/card.png"' in said["en"]


def test_a_page_that_no_list_names_is_summed_up_by_the_beginning_of_its_text():
    said = site_head.of_a_page("api/x", "en", "x", ["Explained, tested and drawn in 3.", f'A "{"word " * 60}"', "last"])
    assert re.search(r'name="description" content="A &quot;word (word ){10,}word …">', said) and "hreflang" not in said
    assert "description" not in site_head.of_a_page("api/x", "en", "x", [])


def test_the_index_is_named_by_what_the_book_is_about_and_has_the_address_of_the_site():
    for language, folder in (("en", ""), ("zh_CN", "zh/")):
        assert "Attention Is All You Need" in site_head.title_of_the_index(language)
        said = site_head.of_a_page("index", language, "t", [])
        assert f'rel="canonical" href="{build_site.site_address()}{folder}">' in said and "Attention Is All You Need" in said


def test_a_page_beside_sphinxs_keeps_its_title_and_summary_or_gets_others():
    text = '<head>\n<meta name="description" content="a &amp; b">\n<title>T</title>\n</head>'
    said = site_head.with_tags(text, "x.html")
    assert said.count('name="description" content="a &amp; b"') == 1 and '<meta property="og:title" content="T">' in said
    said = site_head.with_tags(text, "x.html", "U <", "c")
    assert "<title>U &lt;</title>" in said and said.count("a &amp; b") == 0 and said.count('content="c"') == 2


def test_the_picture_that_is_shared_is_as_wide_as_chats_show_it(tmp_path):
    (tmp_path / site_head.CARD).write_bytes(site_head.card())
    width, height = Image.open(tmp_path / site_head.CARD).size
    assert width == 1200 and 1.9 < width / height < 2.1


def test_what_the_style_says_of_narrow_screens_does_not_hold_on_paper():
    # A sheet of A4 is 45 em wide: columns as wide as on a phone, where they scroll, were cut off.
    narrow = re.findall(r"@media.*max-width.*?{", (ROOT / "docs" / "style.css").read_text(encoding="utf-8"))
    assert narrow and {line.startswith("@media screen and (") for line in narrow} == {True}


def test_pictures_keep_their_place_before_they_arrive(tmp_path):
    Image.new("1", (30, 20)).save(tmp_path / "a.png")
    page, text = tmp_path / "api" / "x.html", '<img alt="b" src="../a.png" /><img src="https://e.org/c.png">'
    page.parent.mkdir()
    sized = build_site.with_sizes(text, page)
    assert sized == '<img alt="b" src="../a.png" width="30" height="20" /><img src="https://e.org/c.png">'
    assert build_site.with_sizes(sized, page) == sized


def test_who_comes_to_a_page_that_is_not_there_finds_the_way_from_any_address():
    links = re.findall(r'<a href="([^"]*)"', site_head.not_found())
    assert links and all(link.startswith(build_site.site_address()) for link in links)


def test_the_page_that_translates_leads_to_the_book():
    page = ROOT / "annotated_transformer" / "exchange" / "page" / build_site.PAGE
    assert f'<a href="{build_site.site_address()}" rel="noreferrer">' in page.read_text(encoding="utf-8")
