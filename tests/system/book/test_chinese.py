"The Chinese edition: in step with its English, the same code, and every kind of difference noticed."
import json
import os
import posixpath
import re
import subprocess
import sys
from pathlib import Path

import chinese
import chinese_compared
import chinese_figures
import chinese_notebooks
import chinese_site
import chinese_terms
import chinese_texts
import nbformat
import pytest
from contents import ENGLISH, list_of_pages, neighbours, notebook_of, read_contents

ROOT = Path(__file__).parents[3]

PAGE = "paper/3.3_feed_forward"


def changed(monkeypatch, cell: str, english: tuple[str, str] = ("", ""), ours: tuple[str, str] = ("", "")) -> list[str]:
    "The complaints about the page when a text of one cell was another; both must have had what is replaced."
    there, here = chinese_texts.english(PAGE), chinese_texts.chinese(PAGE)
    assert english[0] in there[cell] and ours[0] in here[cell][1]
    if ours[0]:
        here[cell] = (here[cell][0], here[cell][1].replace(*ours))
    if english[0]:
        there[cell] = there[cell].replace(*english)
    monkeypatch.setattr(chinese_texts, "english", lambda name: there)
    monkeypatch.setattr(chinese_texts, "chinese", lambda name: here)
    return [*chinese_compared.behind(PAGE), *chinese_compared.unlike(PAGE, chinese_texts.glossary())]


def test_a_cell_whose_english_has_changed_is_behind(monkeypatch):
    found = changed(monkeypatch, "8f3b20d6", english=("two to six", "few"))
    assert found == [("8f3b20d6", "has changed since it was translated")]


def test_a_cell_without_chinese_is_behind(monkeypatch):
    here = chinese_texts.chinese(PAGE)
    del here["8f3b20d6"]
    monkeypatch.setattr(chinese_texts, "chinese", lambda name: here)
    assert list(chinese_compared.behind(PAGE)) == [("8f3b20d6", "has no Chinese yet")]


def test_a_page_without_chinese_is_named(monkeypatch):
    monkeypatch.setattr(chinese, "wanted", lambda: [PAGE, "model/nothing"])
    assert [line for line in chinese.complaints() if "nothing" in line] == [
        "nbs/zh/model/nothing.md is missing: python tools/chinese.py begin model/nothing"]


def test_a_cell_to_which_no_program_has_given_an_id_is_behind(monkeypatch):
    notebook = dict(cells=[dict(cell_type="markdown", metadata={}, source=["Three ", "halves."])])
    monkeypatch.setattr(chinese_texts, "notebook_of", lambda name: notebook)
    assert (None, "has no Chinese yet") in chinese_compared.behind(PAGE)


@pytest.fixture
def clone(tmp_path, monkeypatch):
    "A page of two cells and its Chinese, committed; then the English of both has changed."
    monkeypatch.chdir(tmp_path)
    there = {"a1": "One.", "b2": "Two."}
    monkeypatch.setattr(chinese_texts, "english", lambda name: there)
    Path("nbs/zh").mkdir(parents=True)
    digits = chinese_texts.digits
    chinese_texts.write_chinese("page", {"a1": (digits("One."), "一。"), "b2": (digits("Two."), "二。")})
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    for words in (["init", "-q"], ["add", "."], ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "a"]):
        subprocess.run(["git", *words], check=True)
    there.update(a1="One and a half.", b2="Two and a half.")


def test_note_leaves_and_names_a_cell_whose_chinese_is_the_old_one(clone):
    path = Path("nbs/zh/page.md")
    path.write_text(path.read_text().replace("一。", "一点五。").replace("二。", "二。\n"))
    assert chinese.note("page") == ["b2"]
    assert list(chinese_compared.behind("page")) == [("b2", "has changed since it was translated")]
    assert chinese.note("page") == ["b2"]
    assert chinese.note("page", checked=True) == [] and list(chinese_compared.behind("page")) == []


def test_note_says_what_to_do_and_fails(clone, capsys, monkeypatch):
    monkeypatch.setattr(chinese, "ROOT", Path.cwd())
    Path("nbs").mkdir(exist_ok=True)
    Path("nbs/page.ipynb").touch()
    assert chinese.main(["note", "page"]) == 1
    said = capsys.readouterr().out
    assert said.count("its English has changed and its Chinese has not") == 2 and "note --checked page" in said
    assert chinese.main(["note", "--checked", "page"]) == 0 and capsys.readouterr().out == ""


def test_a_page_that_is_not_there_is_told():
    asked = subprocess.run([sys.executable, "tools/chinese.py", "stale", "nosuch"], capture_output=True, text=True)
    assert asked.returncode == 2 and asked.stderr.startswith("No page of the book: nosuch. There are index, "), asked


@pytest.mark.parametrize("cell, ours, kind", [
    ("8f3b20d6", ("2022", "2002"), "number '2022'"),
    ("62feb586", ("$d_{ff} = 2048$", "$d_{ff} = 2084$"), "equation"),
    ("6d2a91be", ("`nn.Linear`", "nn.Linear"), "code span '`nn.Linear`'"),
    ("5e0b7c92", ("pretrained.ipynb#How-it-starts", "layers.ipynb#How-it-starts"), "link '../model/pretrained.ipynb"),
    ("2f31d008", ("## ", "### "), "heading"),
    ("d4dcde3a", ("<summary>答案</summary>", "答案"), "HTML tag"),
    ("13740823", ("> §3.3", "§3.3"), "what the paper says must stand in a quotation"),
    ("29171abb", ("位置", "地方"), ""),
])
def test_what_the_chinese_lost_is_named(monkeypatch, cell, ours, kind):
    found = changed(monkeypatch, cell, ours=ours)
    assert (kind == "" and not found) or any(kind in line and cell in line for line in found), found


def test_a_term_in_other_words_is_named(monkeypatch):
    found = changed(monkeypatch, "62feb586", ours=("编码器", "编码机"))
    assert any("encoder is 编码器" in line for line in found)


@pytest.mark.parametrize("ours, word", [
    ("损失是 1.4 奈特。", "纳特"), ("目标句向右\n错开一位再输入", "右移一位"), ("没有求和，它们", "相加"),
    ("句法分析器大多右分叉", "右分支"),
    ("损失是 1.4 纳特，先求和，再相除；假设三个位置的值是 1。", ""),
])
def test_a_way_of_writing_that_the_glossary_rules_out_is_named(ours, word):
    found = list(chinese_terms.variants(ours, chinese_texts.glossary_file()[1]))
    assert [one for _, one in found] == [word] * bool(word), found


def test_it_is_named_wherever_chinese_stands(monkeypatch, tmp_path):
    places = {str(path) for path in chinese_terms.files()}
    assert places >= {"README.zh.md", "nbs/zh/index.md", "nbs/zh/figures.yml", "nbs/zh/exercises.yml", "nbs/zh/contents.yml",
                      "tools/workbook.py", f"nbs/zh/{PAGE}.md"}
    (page := tmp_path / "page.md").write_text("两种语言，英语到德语", encoding="utf-8")
    monkeypatch.setattr(chinese_terms, "files", lambda: [page])
    monkeypatch.setattr(chinese, "wanted", lambda: [])
    assert any(str(page) in line and "英译德" in line for line in chinese.complaints())


def test_a_term_in_other_words_under_a_figure_is_named(monkeypatch):
    words = chinese_figures.words()
    changed = {**words, PAGE: {**words[PAGE], "13278f91": {"the hidden state": "隐藏状态"}}}
    monkeypatch.setattr(chinese_figures, "words", lambda: changed)
    assert any(PAGE in line and "hidden state is 隐状态" in line for line in chinese_terms.complaints())


def test_the_chinese_readme_leads_to_the_chinese_pages(monkeypatch):
    pages, site = chinese_texts.chinese(chinese_texts.README), "https://annotated-transformer.github.io/annotated_transformer/zh/"
    links = chinese_texts.TARGET.findall("".join(text for _, text in pages.values()))
    assert {f"{site}index.html", f"{site}paper/3.2_attention.html", "#安装", "#引用", "README.md"} <= {*links}
    assert f"{site.removesuffix('zh/')}translate.html?language=zh" in links
    assert f"{site}exchange/onnx.html" in links and not [link for link in links if link.startswith("nbs/")]
    noted, text = pages["the-book"]
    pages["the-book"] = (noted, text.replace(f"{site}paper/ten_minutes.html", "nbs/paper/ten_minutes.ipynb"))
    monkeypatch.setattr(chinese_texts, "chinese", lambda name: pages)
    found = list(chinese_compared.unlike(chinese_texts.README, {}))
    assert any("lacks the link" in line and "zh/paper/ten_minutes.html" in line for line in found), found


def unlike(monkeypatch, english: str, ours: str) -> list[str]:
    "The complaints about a page of one cell."
    monkeypatch.setattr(chinese_texts, "english", lambda name: {"a1": english})
    monkeypatch.setattr(chinese_texts, "chinese", lambda name: {"a1": (chinese_texts.digits(english), ours)})
    return list(chinese_compared.unlike(PAGE, chinese_texts.glossary()))


def test_the_comments_in_a_block_of_code_may_be_chinese_and_nothing_else_of_it(monkeypatch):
    code = "Run:\n\n```\n# once\nmake lab    # opens the book\n```"
    ours = code.replace("Run:", "运行：").replace("once", "一次").replace("opens the book", "打开本书")
    assert unlike(monkeypatch, code, ours) == []
    assert any("block of code" in line for line in unlike(monkeypatch, code, ours.replace("make lab", "make test")))


@pytest.mark.parametrize("english, ours", [
    ("It read 4.5 million pairs.", "读过 450 万个句对。"),
    ("It read 4.5\nmillion pairs.", "读过 450 万个句对。"),
    ("It read 4.5 million pairs.", "读过 4.5 百万个句对。"),
    ("It read 3 million pairs.", "读过 300 万个句对。"),
    ("It has 65 and 213 million.", "有 6,500 万和 2.13 亿个。"),
    ("It has 1.2 billion.", "有 12 亿个。"),
    ("In November 2026.", "2026 年 11 月。"),
])
def test_an_amount_may_stand_in_chinese_units(monkeypatch, english, ours):
    assert unlike(monkeypatch, english, ours) == []


@pytest.mark.parametrize("english, ours, number", [
    ("It read 4.5 million pairs.", "读过 45 万个句对。", "4.5"),
    ("It read 4.5 million pairs.", "读过 450 个句对。", "4.5"),
    ("It has 1.2 billion.", "有 12 万个。", "1.2"),
    ("It has 36 million and 36 heads.", "有 3600 万个。", "36"),
])
def test_another_amount_is_named(monkeypatch, english, ours, number):
    assert any(f"lacks the number '{number}'" in line for line in unlike(monkeypatch, english, ours))


@pytest.mark.parametrize("ours", [
    "**偏离论文。**论文没有说。", "它是**“词”**的意思。", "**`f`**是函数", "一颗*星", "- 第一（*first*）\n- **第二：**然后",
])
def test_stars_that_a_reader_would_see_are_named(monkeypatch, ours):
    found = [line for line in unlike(monkeypatch, "Text", ours) if PAGE in line and "cell a1 shows its stars" in line]
    assert len(found) == 1 and re.search(r"\*\*?[^*\s]+", ours.split("\n- ")[-1])[0] in found[0], found


@pytest.mark.parametrize("ours", [
    "**偏离论文**。论文没有说。", "（*这是编的。*）每个", "它是“**词**”的意思。", "太*宽*（wide）：", "**手算。**\n然后",
    "**偏离论文。** 论文", "$a * b$ 与 `**x**词` 和 2 * 3", "* 一\n* 二",
])
def test_stars_that_set_words_apart_are_not(monkeypatch, ours):
    assert not [line for line in unlike(monkeypatch, "Text", ours) if "stars" in line]


def test_a_page_under_another_name_is_named(monkeypatch):
    text = "[Heads](../figures/head_scores.ipynb) [Layers](3.1_layers.ipynb#a) [decoding](../translation/kv_cache.ipynb)"
    right = "[头的分工](../figures/head_scores.ipynb) [层](3.1_layers.ipynb#a) [解码](../translation/kv_cache.ipynb)"
    assert unlike(monkeypatch, text, right) == []
    found = unlike(monkeypatch, text, right.replace("[头的分工]", "[头]").replace("[层]", "[各层]"))
    assert [line.partition(": ")[2].partition(",")[0] for line in found] == [
        "../figures/head_scores.ipynb is called 头的分工", "3.1_layers.ipynb#a is called 层"]


def test_the_reference_lists_every_page_in_chinese():
    pages = chinese_notebooks.pages_in_chinese()
    rows = [line for line in list_of_pages(pages, chinese_notebooks.WORDS).split("\n") if "ipynb" in line]
    assert len(rows) == len(pages)
    assert all(re.search("[\u4e00-\u9fff]", row) for row, page in zip(rows, pages) if page.part == "workshop")
    assert "| [§3.2 注意力](paper/3.2_attention.ipynb) | `model.attention` |" in rows[2]
    assert any(row.startswith("| [头的分工](figures/head_scores.ipynb) |") for row in rows)


def test_neighbours_are_those_of_the_english_page():
    english, ours = read_contents(), chinese_notebooks.pages_in_chinese()
    for name in chinese_texts.names():
        there, here = neighbours(name, english, ENGLISH), neighbours(name, ours, chinese_notebooks.WORDS)
        assert chinese_texts.TARGET.findall(here) == chinese_texts.TARGET.findall(there)
        assert [w in here for w in ("上一页", "下一页", "目录")] == [w in there for w in ("Before", "Next", "Contents")]


def test_what_the_contents_call_pages_and_chapters_is_in_step(monkeypatch):
    found = chinese_texts.titles()
    found["pages"]["figures/nothing"] = found["pages"].pop("figures/head_scores")
    found["pages"]["paper/2_background"]["of"] = found["chapters"]["Model"]["of"] = "00000000"
    del found["chapters"]["Data"]
    monkeypatch.setattr(chinese_texts, "titles", lambda: found)
    assert [line.partition(": ")[2].partition(";")[0] for line in chinese_compared.title_complaints()] == [
        "figures/nothing is no page of the book", "paper/2_background is missing or behind",
        "figures/head_scores is missing or behind", "the chapter Model is behind", "the chapter Data has no Chinese"]


def without_pictures(cell: dict) -> dict:
    "Where figures were drawn anew, theirs have Chinese words."
    for data in chinese_figures.pictures(cell):
        del data[chinese_figures.PICTURE]
    return cell


def test_code_and_outputs_are_the_english_ones():
    for name, notebook in chinese_notebooks.all_made():
        there = notebook_of(name)["cells"]
        here = [cell for cell in notebook["cells"] if not cell["id"].startswith(chinese_notebooks.BELOW)]
        assert [cell["id"] for cell in here] == [cell["id"] for cell in there]
        for ours, theirs in zip(here, there):
            assert ours["cell_type"] == theirs["cell_type"]
            if ours["cell_type"] == "code":
                assert without_pictures(ours) == without_pictures(theirs)
            else:
                said = re.sub(r"\W", "", "".join(ours["source"]))
                assert not chinese_texts.place(name).exists() or re.search("[\u4e00-\u9fff]", said), (name, ours["id"])


def test_the_notebooks_are_valid_and_none_leads_to_an_english_one_in_colab():
    pages = chinese_notebooks.pages_in_chinese()
    for name in chinese_texts.names():
        notebook = chinese_notebooks.made(name, pages, {})
        nbformat.validate(notebook)
        ids = [cell["id"] for cell in notebook["cells"]]
        assert len(ids) == len({*ids}), name
        assert "colab.research" not in json.dumps([cell for cell in notebook["cells"] if cell["cell_type"] == "markdown"])


@pytest.fixture(scope="module")
def prose():
    "The texts of each page and guide, by the file that `make zh` writes."
    pages = {chinese_notebooks.file(name): ["".join(cell["source"]) for cell in made["cells"] if cell["cell_type"] == "markdown"]
             for name, made in chinese_notebooks.all_made()}
    return pages | {chinese_notebooks.file(name): [text] for name, text in chinese_notebooks.guides_made()}


def test_every_link_of_a_chinese_page_leads_to_a_file_which_is_chinese_where_that_exists(prose):
    for file, texts in prose.items():
        for target in chinese_texts.TARGET.findall("\n".join(texts)):
            there = posixpath.normpath(posixpath.join(posixpath.dirname(file), target.partition("#")[0]))
            if not target.startswith("#") and "://" not in target and there not in prose:
                assert (ROOT / there).exists() and f"zh/{there.removeprefix('nbs/')}" not in prose, (file, target)


def test_every_anchor_of_a_chinese_page_is_a_heading_of_the_page_it_leads_to(prose):
    headings = {file: {anchor for text in texts for anchor in chinese_notebooks.anchors(text)} for file, texts in prose.items()}
    checked = 0
    for file, texts in prose.items():
        for target in chinese_texts.TARGET.findall("\n".join(texts)):
            way, _, anchor = target.partition("#")
            there = posixpath.normpath(posixpath.join(posixpath.dirname(file), way)) if way else file
            if anchor and there in headings:
                assert anchor in headings[there], (file, target)
                checked += 1
    assert checked > 10


def test_links_lead_to_the_chinese_where_there_is_one():
    translated = {"paper/3.2_attention": {"Equation-(1)": "公式-(1)"}}
    text = "[a](3.2_attention.ipynb#Equation-(1)) [b](../model/variants.ipynb#Try) [c](https://x.org/y) [d](../../README.md)"
    assert chinese_notebooks.with_links(text, PAGE, translated) == (
        "[a](3.2_attention.ipynb#Equation-(1)) [b](../../nbs/model/variants.ipynb#Try) [c](https://x.org/y) [d](../../README.md)"
    ).replace("Equation-(1)", "公式-(1)")


def test_links_between_guides_and_pages_lead_to_the_chinese():
    translated = {"docs/speed": {"getting-a-corpus-ready": "准备语料"}, "paper/3.2_attention": {"Equation-(1)": "公式-(1)"}}
    there = "[a](speed.md#getting-a-corpus-ready) [b](../nbs/paper/3.2_attention.ipynb#Equation-(1)) [c](../results/a) [d](#x)"
    assert chinese_notebooks.with_links(there, "docs/parsing", translated) == (
        "[a](speed.md#准备语料) [b](../paper/3.2_attention.ipynb#公式-(1)) [c](../../results/a) [d](#x)")
    there = "[a](../../docs/speed.md#getting-a-corpus-ready) [b](../../docs/parsing.md)"
    assert chinese_notebooks.with_links(there, PAGE, translated) == "[a](../docs/speed.md#准备语料) [b](../../docs/parsing.md)"
    code = "```python\nmodels[0](texts)\n```"
    assert chinese_notebooks.with_links(code, "docs/speed", translated) == code
    assert chinese_site.with_english_pages(code, "docs/speed", {"": "https://a.org"}) == code


def test_the_readme_leads_to_a_heading_of_a_chinese_guide():
    ours = chinese_notebooks.anchors_in_chinese("docs/speed")["getting-a-corpus-ready"]
    assert chinese_notebooks.led_from_readme("docs/speed.md#getting-a-corpus-ready").endswith(f"/zh/docs/speed.html#{ours}")
    assert chinese_notebooks.led_from_readme("docs/transformer.py#L3") == "docs/transformer.py#L3"


def test_a_guide_is_translated_section_by_section(refused):
    text = "# Title\n\nfirst\n\n## Getting (it) ready\n\n### Deeper\n\n```\n# a\n```\n\n## At last\n\nend\n"
    assert chinese_texts.sections(text) == {
        "title": "# Title\n\nfirst", "getting-it-ready": "## Getting (it) ready\n\n### Deeper\n\n```\n# a\n```",
        "at-last": "## At last\n\nend"}
    assert [*chinese_texts.sections("# A\n\n```\n## no heading\n```\n\n## B\n")] == ["title", "b"]
    assert "Two sections have one heading: b." in refused(chinese_texts.sections, "# A\n## B\nb\n## B\nc\n## D\n")


def test_a_section_under_another_heading_keeps_its_chinese(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("docs").mkdir()
    Path("docs/a.md").write_text("# A\n\n## Now\n\nend\n", encoding="utf-8")
    cells = {"title": ("00000000", "# \u7532"), "once": ("11111111", "## \u66fe\u7ecf\n\n\u5b8c")}
    chinese_texts.write_chinese("docs/a", cells)
    assert [why for cell, why in chinese_compared.behind("docs/a") if cell == "now"] == ["has changed since it was translated"]
    monkeypatch.setattr(chinese, "committed", lambda name: chinese_texts.renamed(name, cells))
    assert chinese.note("docs/a") == ["title", "now"], "nobody has looked at its Chinese"
    assert chinese_texts.chinese("docs/a")["now"] == cells["once"]
    assert chinese.note("docs/a", checked=True) == [] == [*chinese_compared.behind("docs/a")]


@pytest.mark.parametrize("text, wanted", [
    ("注意力,它很好.", "注意力，它很好."),
    ("单元(unit):在", "单元（unit）：在"),
    ("是 0,然后", "是 0，然后"),
    ("`f(a, b)` 与 $g(x, y)$ 和 [图](a(b).md)", "`f(a, b)` 与 $g(x, y)$ 和 [图](a(b).md)"),
    ("1,024 个 (2) 号", "1,024 个 (2) 号"),
])
def test_signs_are_chinese_outside_of_code(text, wanted):
    assert chinese.punctuated(text) == wanted == chinese.punctuated(wanted)


def test_lines_of_a_paragraph_join_where_both_sides_are_chinese():
    text = "一行，\n二行\n> 三行\n\n四行 a\nb 五行\n- 六行"
    assert chinese_texts.in_one_line(text) == "一行，二行三行\n\n四行 a\nb 五行\n- 六行"


def test_lines_of_a_block_of_code_are_not_joined():
    text = "好，\n二\n```\n# 一，\n二 = 3\n```\n三，\n四"
    assert chinese_texts.in_one_line(text) == text.replace("好，\n", "好，").replace("三，\n", "三，")


def test_a_line_that_ends_in_a_chinese_sign_is_joined_to_its_paragraph_alone():
    assert chinese_texts.in_one_line("模块：\n[`f`](f.py)，\n*hast*。\n   `PAD`") == "模块：[`f`](f.py)，*hast*。`PAD`"
    kept = "如：\n$$x$$\n好：\n- 一。\n- 二。\n1. 三。\n|表。|\n\n> 引。\n>\n> 引：\n</details>\n码：\n```\n图：\n![a](b)\n## 节"
    assert chinese_texts.in_one_line(kept) == kept


@pytest.mark.parametrize("mark", ["<!-- f610ef6f -->", "<!-- f610ef6f 0 -->"])
def test_a_line_that_is_nearly_the_mark_of_a_cell_is_named(mark, refused):
    text = "<!-- 0ab27f61 5c1d9e02 -->\n一\n\n{}\n二\n"
    assert [*chinese_texts.parsed(text.format("<!-- f610ef6f - -->"), Path("page.md"))] == ["0ab27f61", "f610ef6f"]
    assert f"page.md: {mark} is no mark of a cell" in refused(chinese_texts.parsed, text.format(mark), Path("page.md"))
