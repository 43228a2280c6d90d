"""The site that `make site` builds, in a browser: every page on wide and narrow screens, search, mathematics, charts, links.

Skipped without _site/, playwright or Chromium; `make test-browser` sees to all three.
"""
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import quote, urlsplit

import pytest
from build_site import guides, only_imports
from contents import TABLE
from links import Links, dead_links
from pages import measure

from benchmarks.explorer import NEXT_FRAME
from benchmarks.page import served

ROOT = Path(__file__).resolve().parents[2]

SITE, PACKAGE = ROOT / "_site", ROOT / "annotated_transformer"
SCREENSHOTS = ROOT / "screenshots" / "site"
PAGES = sorted(str(path.relative_to(SITE)) for path in SITE.rglob("*.html") if path.relative_to(SITE).parts[0] != "_modules")
NOTEBOOKS = {str(path.relative_to(ROOT / "nbs").with_suffix(".html")) for path in (ROOT / "nbs").rglob("*.ipynb")}

pytestmark = pytest.mark.skipif(not PAGES, reason="there is no _site/: run `make site`")

# Formulas in a line of text that end beside the page: a table scrolls, a line does not.
CUT_FORMULAS = """[...document.querySelectorAll('article mjx-container:not([display]) svg')].filter(
    one => !one.closest('.table-wrapper') && one.getBoundingClientRect().right > innerWidth
).map(one => one.closest('p, li').textContent)"""
BROKEN_IMAGES = "[...document.images].filter(one => one.complete && !one.naturalWidth).map(one => one.src)"


def parsed(page: str) -> Links:
    return Links.of(SITE / page)


@pytest.fixture(scope="module")
def address():
    "The site, served on this machine."
    with served(SITE) as page:
        yield page.rpartition("/")[0]


def test_every_notebook_and_module_has_a_page_and_its_place_in_the_navigation():
    modules = {f"api/{'.'.join(path.relative_to(PACKAGE).with_suffix('').parts)}.html" for path in PACKAGE.rglob("[a-z]*.py")}
    assert NOTEBOOKS | modules | {f"{name}.html" for name in guides()} <= set(PAGES)
    cells = json.loads((ROOT / "nbs" / "index.ipynb").read_text(encoding="utf-8"))["cells"]
    [table] = ["".join(cell["source"]) for cell in cells if cell["id"] == TABLE]
    contents = [line for line in table.splitlines() if line.startswith("| ")]
    in_order = re.findall(r"\]\(([\w./]+)\.ipynb\)", "\n".join(contents))
    tree = (SITE / "index.html").read_text(encoding="utf-8").partition("sidebar-tree")[2].partition("</aside>")[0]
    found = re.findall(r'class="reference internal" href="([\w./]+)\.html"', tree)
    shown = [name for name in found if not name.startswith(("api/", "docs/"))]
    assert shown == in_order and {f"{name}.html" for name in shown} == NOTEBOOKS - {"index.html"}


@pytest.mark.parametrize("name", PAGES)
def test_nothing_is_asked_of_another_host(name):
    assert [address for address in parsed(name).resources if urlsplit(address).netloc] == []


def test_each_page_has_a_title_of_its_own_and_each_text_a_summary():
    texts = {name: (SITE / name).read_text(encoding="utf-8") for name in PAGES}
    titles = [(name.startswith("zh/"), re.search(r"<title>(.*?)</title>", text)[1]) for name, text in texts.items()]
    assert sorted({title for title in titles if titles.count(title) > 1}) == []
    chinese = {f"zh/{name}" for name in NOTEBOOKS if (SITE / "zh" / name).exists()}
    written = NOTEBOOKS | chinese | {name for name in PAGES if name.startswith("docs/")}
    summed_up = re.compile('<meta name="description" content="[^"]{10,}">')
    assert [name for name in sorted(written | {"translate.html", "explorer.html"}) if not summed_up.search(texts[name])] == []
    assert not (SITE / "jupyter_execute").exists()


def test_links_lead_somewhere_also_those_of_the_listed_sources():
    assert dead_links(SITE) == []


class Seen(HTMLParser):
    "What a page shows before it is unfolded: `text` outside of code, and `code`, cell by cell; `folded` is the rest's text."

    def __init__(self, text: str):
        super().__init__()
        self.open, self.text, self.code, self.folded = [], "", [], ""
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        if tag in ("details", "pre", "script", "style", "div"):
            self.open.append((tag, dict(attributes).get("class") or ""))
            if "cell_input" in self.open[-1][1]:
                self.code.append("")

    def handle_endtag(self, tag):
        if self.open and tag == self.open[-1][0]:
            self.open.pop()

    def handle_data(self, data):
        tags = {tag for tag, _ in self.open}
        if tags & {"script", "style"}:
            return
        if "details" in tags:
            self.folded += data
        elif any("cell_input" in classes for _, classes in self.open):
            self.code[-1] += data
        elif "pre" not in tags:
            self.text += data


@pytest.mark.parametrize("name", sorted(NOTEBOOKS & set(PAGES)))
def test_nothing_raw_is_seen(name):
    seen = Seen((SITE / name).read_text(encoding="utf-8"))
    assert not re.search(r"^\s*\|.*\|\s*$|\|\s*:?-{3}", seen.text, re.MULTILINE), "a table that is not drawn"
    assert not re.search(r"\$\\\(|\\\)\$", seen.text), "a formula between two dollars that is not set apart"
    assert not re.search(r"^#\|", "\n".join([seen.text, seen.folded, *seen.code]), re.MULTILINE), "a directive"
    assert [code for code in seen.code if only_imports(code)] == []
    notebook = json.loads((ROOT / "nbs" / name).with_suffix(".ipynb").read_text(encoding="utf-8"))
    assert sum(code.lstrip().startswith("# Test: ") for code in seen.code) == measure(notebook).test_cells
    assert "View on GitHub" in seen.text and "Open in Colab" in seen.text


def test_the_reference_shows_options_as_parameters_and_nothing_raw():
    "No link as Markdown has it, and no list made of a shape such as `(S) tokens`."
    reference = [name for name in PAGES if name.startswith("api/")]
    raw = re.compile(r"\b(Args|More):|\(\w+\.ipynb\)|<ol ")
    assert [name for name in reference if raw.search((SITE / name).read_text(encoding="utf-8"))] == []


def test_a_class_of_the_reference_has_what_it_inherits_from_ours_and_nothing_of_other_libraries():
    places = parsed("api/model.transformer.html").places | parsed("api/figures.attention_maps.html").places
    names = {place.removeprefix("annotated_transformer.") for place in places if place}
    model, maps = "model.transformer.Transformer", "figures.attention_maps.AttentionMaps"
    assert {f"{model}.encode", f"{model}.from_pretrained", f"{maps}.of"} <= names and f"{model}.load_state_dict" not in names


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_whole_on_wide_and_narrow_screens(page, address, name):
    page.goto(f"{address}/{name}", wait_until="networkidle")
    if page.locator(".math").count():
        page.wait_for_function("[...document.querySelectorAll('.math')].every(one => one.querySelector('mjx-container svg'))")
        assert page.locator("[data-mml-node=merror]").all_text_contents() == []
        assert page.locator(".math [data-c='5C']").count() == 0, "a backslash in a formula"
    for chart in page.locator(".live-chart").all():
        chart.locator("canvas").wait_for()
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    for width, height in ((1280, 900), (390, 844)):
        page.set_viewport_size({"width": width, "height": height})
        page.evaluate(NEXT_FRAME)
        page.screenshot(path=SCREENSHOTS / f"{name.replace('/', '-').removesuffix('.html')}-{width}.png")
        assert page.evaluate("document.documentElement.scrollWidth") <= width, "the page as a whole must not scroll sideways"
        assert page.evaluate(CUT_FORMULAS) == []
        tallest = page.evaluate("Math.max(0, ...[...document.querySelectorAll('article tr')].map(row => row.offsetHeight))")
        assert name not in NOTEBOOKS or tallest < height, "a row of a table, higher than the screen"
    assert page.evaluate(BROKEN_IMAGES) == []
    assert [asked for asked in page.asked if not asked.startswith((address, "data:", "blob:"))] == []
    assert page.faults == []


def test_a_search_finds_beam_search(page, address):
    page.goto(f"{address}/search.html?q=beam+search")
    found = page.locator("#search-results li a")
    found.first.wait_for()
    page.wait_for_load_state("networkidle")
    paths = {urlsplit(a.get_attribute("href")).path for a in found.all()}
    assert {"paper/6.1_decoding.html", "api/translation.search.html"} <= paths
    assert all(asked.startswith(address) for asked in page.asked) and page.faults == []


def test_a_search_finds_how_to_install(page, address):
    page.goto(f"{address}/search.html?q=install")
    page.locator("#search-results li a").first.wait_for()
    page.wait_for_load_state("networkidle")
    paths = [urlsplit(a.get_attribute("href")).path for a in page.locator("#search-results li a").all()]
    assert {"index.html", "docs/installation.html"} <= set(paths[:5])


def test_the_first_link_of_the_index_leads_to_the_page_that_translates(page, address):
    own = f"{address}/"
    page.route(lambda asked: not asked.startswith((own, "data:")), lambda route: route.abort())
    page.goto(f"{address}/index.html")
    page.locator("article a:not(.headerlink, [hreflang])").first.click()  # not the switch of language
    page.wait_for_url("**/translate.html")
    page.locator("#translation").filter(has_text=re.compile(r"\w+ \w+")).wait_for()
    assert [asked for asked in page.asked if not asked.startswith((own, "data:"))] == [] and page.faults == []


def test_the_explorers_chart_has_a_page_for_keys_and_screen_readers(page, address):
    page.goto(f"{address}/figures/explorer.html")
    page.locator("article").get_by_role("link", name="this page").first.press("Enter")
    page.wait_for_url(f"{address}/explorer.html")
    page.locator(".lines [tabindex='0']").focus()
    assert page.locator(".said").text_content().startswith("“Ein” looks at “A” ") and page.faults == []
    assert page.get_by_role("heading", level=2).text_content().startswith("A dog runs with a ball in its mouth. → ")


@pytest.mark.parametrize("page_of, asked, said", [
    ("search.html", "beam search", "Search finished, found "), ("search.html", "qqqq", "did not match any documents"),
    ("zh/search.html", "注意力", "搜索完成"),
])
def test_who_hears_a_search_is_told_what_was_found(page, address, page_of, asked, said):
    page.add_init_script("""new MutationObserver(changes => {
        const heard = changes.map(({target}) => target).filter(one => one.closest?.("[role=status]") && one.textContent);
        (window.heard ??= []).push(...heard.map(one => one.textContent));
    }).observe(document, {childList: true, subtree: true})""")
    page.goto(f"{address}/{page_of}?q={quote(asked)}")
    page.wait_for_function("said => window.heard?.at(-1)?.includes(said)", arg=said, timeout=30_000)
    assert page.get_by_role("heading", level=1).count() == 1


@pytest.mark.parametrize("name", ["paper/3.2_attention", "zh/paper/3.2_attention"])
def test_the_tab_key_leads_to_nothing_beside_a_narrow_page(page, address, name):
    page.set_viewport_size({"width": 360, "height": 800})
    page.goto(f"{address}/{name}.html", wait_until="networkidle")
    inside = """() => {
        const {left, right} = document.activeElement.getBoundingClientRect();
        return left > -2 && right <= innerWidth;
    }"""
    page.keyboard.press("Tab")  # or the focus is no keyboard's
    for drawer in (".sidebar-drawer", ".toc-drawer"):
        for index in (1, 3, 5):
            link = page.locator(f"{drawer} a").nth(index)
            link.focus()
            assert link.evaluate("one => one === document.activeElement")
            page.wait_for_function(inside, timeout=10_000)  # it slides
    page.locator("article a").first.focus()
    drawers = "[...document.querySelectorAll('.sidebar-drawer, .toc-drawer')].map(one => one.getBoundingClientRect())"
    page.wait_for_function(f"{drawers}.every(({{left, right}}) => right <= 0 || left >= innerWidth)")  # they go again


def test_who_wants_no_motion_gets_none(page, address):
    page.emulate_media(reduced_motion="reduce")
    page.goto(f"{address}/paper/3.2_attention.html", wait_until="networkidle")
    moving = """[...document.querySelectorAll('*')].map(one => getComputedStyle(one)).filter(
        ({scrollBehavior, transitionProperty, transitionDuration}) => scrollBehavior === 'smooth'
            || /left|right|transform/.test(transitionProperty) && parseFloat(transitionDuration) > 0).length"""
    assert page.evaluate(moving) == 0


@pytest.mark.parametrize("width", [1280, 390])
def test_figures_are_dark_in_the_dark_and_never_scroll_sideways(page, address, width):
    page.set_viewport_size({"width": width, "height": 844})
    for name in ("index", "paper/figures_3_to_5", "figures/explorer"):
        page.goto(f"{address}/{name}.html", wait_until="networkidle")
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            drawn = "[...document.querySelectorAll('article img, .live-chart')]"
            filters = page.evaluate(f"{drawn}.map(one => getComputedStyle(one).filter)")
            assert filters and {"invert" in one for one in filters} == {scheme == "dark"}
        wide = "one => one.getBoundingClientRect().right > innerWidth"
        assert page.evaluate(f"[...document.querySelectorAll('article img')].filter({wide}).length") == 0


@pytest.mark.parametrize("name", sorted(NOTEBOOKS & set(PAGES)) + [name for name in PAGES if name.startswith("zh/")])
def test_who_hears_a_page_is_told_what_figures_show_and_folds_hold(name):
    text = (SITE / name).read_text(encoding="utf-8")
    assert not re.search(r'alt="[^"]*[0-9a-f]{64}', text) and "Toggle hidden content" not in text
    charts = [json.loads(found) for found in re.findall(r'data-chart="[^"]*">(.*?)</script>', text)]
    assert all(chart.get("description") for chart in charts)


def test_who_has_no_mouse_opens_a_figure_and_stays_on_the_page_while_code_scrolls(page, address):
    page.goto(f"{address}/docs/first-hour.html", wait_until="networkidle")
    page.set_viewport_size({"width": 640, "height": 800})
    page.evaluate("[...document.querySelectorAll('article pre')].find(one => one.scrollWidth > one.clientWidth).focus()")
    page.keyboard.press("ArrowRight")
    page.wait_for_timeout(300)
    assert page.url.endswith("/docs/first-hour.html")
    page.goto(f"{address}/paper/3.2_attention.html", wait_until="networkidle")
    page.locator("article a:has(> img)").first.focus()
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(r"/_images/[^/]+\.png$"))


WIDE = "article :is(pre, .table-wrapper, .math-wrapper)"


def test_the_keyboard_reaches_all_that_scrolls_also_once_it_is_unfolded(page, address):
    page.set_viewport_size({"width": 320, "height": 800})
    page.goto(f"{address}/paper/3.2_attention.html", wait_until="networkidle")
    page.wait_for_function("[...document.querySelectorAll('.math')].every(one => one.querySelector('mjx-container svg'))")
    page.evaluate("for (const one of document.querySelectorAll('article details')) one.open = true")
    page.evaluate(NEXT_FRAME)
    wide = f"[...document.querySelectorAll('{WIDE}')].filter(one => one.scrollWidth > one.clientWidth)"
    assert page.evaluate(f"{wide}.length") > 5
    assert page.evaluate(f"new Set({wide}.map(one => one.localName)).size") == 2, "code and formulas"
    assert page.evaluate(f"{wide}.filter(one => one.tabIndex < 0).length") == 0
    page.set_viewport_size({"width": 2000, "height": 800})
    page.wait_for_function("document.querySelectorAll('article pre[tabindex]').length === 0")


def test_on_paper_code_is_whole_and_figures_are_as_they_were_drawn(page, address):
    page.set_viewport_size({"width": 720, "height": 1000})
    page.goto(f"{address}/paper/3.2_attention.html", wait_until="networkidle")
    page.evaluate("document.body.dataset.theme = 'dark'")
    page.emulate_media(media="print")
    page.evaluate(NEXT_FRAME)
    cut = "[...document.querySelectorAll('article pre, .live-chart')].filter(one => one.scrollWidth > one.clientWidth).length"
    assert page.evaluate(cut) == 0 and page.locator(".skip-to-content").is_hidden()
    drawn = page.evaluate("[...document.querySelectorAll('article img, .live-chart')].map(one => getComputedStyle(one).filter)")
    assert len(drawn) > 3 and set(drawn) == {"none"}


ENGLISH = NOTEBOOKS | {f"{name}.html" for name in guides()}


@pytest.mark.parametrize("name", sorted(ENGLISH & set(PAGES)))
def test_on_paper_no_table_or_formula_is_cut_and_answers_are_unfolded(page, address, name):
    page.set_viewport_size({"width": 718, "height": 1000})  # A4 between the margins that browsers leave
    page.goto(f"{address}/{name}", wait_until="networkidle")
    page.emulate_media(media="print")
    page.evaluate(NEXT_FRAME)
    beyond = "one => one.getBoundingClientRect().right > document.querySelector('article').getBoundingClientRect().right + 1"
    wide = "article :is(table, img, canvas, mjx-container)"
    assert page.evaluate(f"[...document.querySelectorAll('{wide}')].filter({beyond}).map(one => one.textContent)") == []
    hidden = "one => !one.lastElementChild.checkVisibility({contentVisibilityAuto: true})"
    folded = "article :is(details:not(.hide, .live-chart *), .tag_hide-cell details)"
    assert page.evaluate(f"[...document.querySelectorAll('{folded}')].filter({hidden}).map(one => one.textContent)") == []


TRANSLATED = sorted(ENGLISH & {name.removeprefix("zh/") for name in PAGES if name.startswith("zh/")})


class Headings(HTMLParser):
    "The levels of the headings of a page's article, and where its switch leads: address and language."

    def __init__(self, text: str):
        super().__init__()
        self.found, self.inside, self.switch = [], False, None
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.inside = self.inside or tag == "article"
        if self.inside and tag in ("h1", "h2", "h3", "h4"):
            self.found.append(tag)
        if tag == "a" and attributes.get("hreflang"):
            self.switch = attributes["href"], attributes["hreflang"]


@pytest.mark.parametrize("name", TRANSLATED)
def test_a_page_leads_to_the_same_page_in_the_other_language_which_has_the_same_headings(name):
    english, ours = (Headings((SITE / page).read_text(encoding="utf-8")) for page in (name, f"zh/{name}"))
    assert english.found == ours.found and english.found
    for page, there, code, found in ((name, f"zh/{name}", "zh", english), (f"zh/{name}", name, "en", ours)):
        assert ((SITE / page).parent / found.switch[0]).resolve() == SITE / there and found.switch[1] == code


def test_every_page_of_the_edition_is_on_the_site():
    assert len(TRANSLATED) == len(list((ROOT / "nbs/zh").rglob("*.md"))) > 60


def test_what_stands_around_a_chinese_page_is_chinese():
    text = (SITE / "zh/paper/3.2_attention.html").read_text(encoding="utf-8")
    for hidden in ("Skip to content", "Toggle "):
        assert hidden not in text
    words = {"下一页": "Next", "上一页": "Previous", "本页目录": "On this page", "回到顶部": "Back to top", "代码": "Code"}
    for ours, english in words.items():
        assert re.search(rf">\s*{ours}\s*<", text) and not re.search(rf">\s*{english}\s*<", text), english


def test_the_switch_leads_to_the_place_where_the_reader_is(page, address):
    heading = "document.querySelectorAll('article h1, article h2, article h3, article h4')"
    in_view = f"[...{heading}].filter(one => one.getBoundingClientRect().top < innerHeight / 3).length - 1"
    page.goto(f"{address}/paper/3.2_attention.html", wait_until="networkidle")
    page.evaluate(f"{heading}[4].scrollIntoView({{behavior: 'instant'}})")
    assert page.evaluate(in_view) == 4
    page.locator(".language a").evaluate("one => one.click()")
    page.wait_for_url("**/zh/paper/3.2_attention.html#heading-4")
    page.wait_for_function(f"{in_view} === 4")  # it scrolls there
    assert "多头注意力" in page.evaluate(f"{heading}[4].textContent")


def test_a_search_of_the_chinese_pages_finds_attention(page, address):
    page.goto(f"{address}/zh/search.html?q=%E6%B3%A8%E6%84%8F%E5%8A%9B")
    found = page.locator("#search-results li a")
    found.first.wait_for()
    page.wait_for_load_state("networkidle")
    paths = {urlsplit(a.get_attribute("href")).path for a in found.all()}
    assert {"paper/3.2_attention.html", "paper/figures_3_to_5.html"} <= paths and page.faults == []


@pytest.mark.parametrize("asked, first", [
    ("attention", "paper/3.2_attention.html"), ("BLEU", "paper/6.1_bleu.html"), ("softmax", "paper/3.4_embedding.html"),
    ("positional encoding", "paper/3.5_position.html"), ("label smoothing", "paper/5.4_regularization.html#label-smoothing"),
    ("greedy_search", "api/translation.fast_search.html#annotated_transformer.translation.fast_search.greedy_search"),
    ("Translator", "api/translation.translator.html#annotated_transformer.translation.translator.Translator"),
    ("位置编码", "zh/paper/3.5_position.html"), ("多头注意力", "zh/paper/3.2_attention.html"),
    ("BLEU 分数", "zh/paper/6.1_bleu.html"), ("kv cache", "translation/kv_cache.html"),
])
def test_a_search_finds_first_the_page_that_explains_and_of_a_name_its_reference(page, address, asked, first):
    page.goto(f"{address}/{'zh/' if first.startswith('zh/') else ''}search.html?q={quote(asked)}")
    page.locator("#search-results li a").first.wait_for()
    found = urlsplit(page.locator("#search-results li a").first.evaluate("one => one.href"))
    assert found.path + (found.fragment and f"#{found.fragment}") == f"/{first}" and page.faults == []


def test_a_search_shows_no_latex(page, address):
    page.goto(f"{address}/search.html?q=softmax+equation")
    page.locator("#search-results li p.context").first.wait_for()
    page.wait_for_load_state("networkidle")
    excerpts = page.locator("#search-results li p.context").all_text_contents()
    assert [text for text in excerpts if re.search(r"\\[a-z(\[]", text)] == []
    assert page.faults == []


def test_the_explorer_lives_on_its_page(page, address):
    page.goto(f"{address}/figures/explorer.html", wait_until="networkidle")
    chart = page.locator(".live-chart").first
    before = chart.locator("canvas").screenshot()
    chart.get_by_role("radiogroup", name="head", exact=True).get_by_label("2", exact=True).check()
    page.evaluate(NEXT_FRAME)
    assert chart.locator("canvas").screenshot() != before
