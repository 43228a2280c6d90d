"""The site's Chinese pages, in _site/zh/: made by `make site` after the English ones, which differ only in their prose.

Sphinx reads the notebooks and guides that tools/chinese.py makes. Pages without Chinese (the reference) are linked in English.
Each page links to the same place in the other language: docs/language.js.
"""
import json
import posixpath
import re
from collections.abc import Iterator

import chinese_figures
import chinese_notebooks
import chinese_texts
from contents import INDEX, captions
from repository import site_address

LANGUAGE, FOLDER = "zh_CN", "zh"
WHAT = "b07e21d9"  # the cell of the index before which the installation stands, in both languages
GUIDES = "指南"
MORE = "[第一个小时](docs/first-hour.md) · [安装了什么](docs/installation.md)"
ON_FOLDED_CELLS = {"Code": "代码", "Answer": "代码和结果", "Test: ": "测试："}
OF_THE_THEME = {  # which Sphinx's own Chinese has not
    "Back to top": "回到顶部", "Made with ": "生成工具：", "Next": "下一页", "On this page": "本页目录", "Previous": "上一页",
}
IN_THE_THEME = {  # which stand in its templates, where no translation reaches
    "Skip to content": "跳到正文", "Toggle Light / Dark / Auto color theme": "切换浅色、深色或自动",
    "Toggle site navigation sidebar": "打开或关闭网站目录", "Toggle table of contents sidebar": "打开或关闭本页目录",
    "Licences": "许可",
}
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(((?:[^()\s]|\([^()\s]*\))+)\)")


def switch(page: str, language: str) -> str:
    "What stands at the head of a page: the way to the same page in the other language, if there is one."
    if page not in (*chinese_texts.names(), *chinese_texts.translated_guides()):
        return ""
    there, name, code = ("..", "English", "en") if language == LANGUAGE else (FOLDER, "中文", "zh")
    address = posixpath.relpath(f"{there}/{page}.html", posixpath.dirname(page) or ".")
    return f'<p class="language"><a href="{address}" hreflang="{code}" lang="{code}">{name}</a></p>\n'


def address(target: str, name: str, published: dict[str, str]) -> str | None:
    """Where a link of a Chinese notebook leads on the site; None where Sphinx can follow it, or where it is no path.

    `published`: of files of the repository, the page of the English site.
    """
    path, _, place = target.partition("#")
    here = posixpath.join(FOLDER, posixpath.dirname(name))
    whole, mark, told = path.partition("?")
    if whole in published and "://" in whole:  # a page of the site by its whole address
        return f"{posixpath.relpath(published[whole], here)}{mark}{told}"
    if "://" in path or not path:
        return None
    there = posixpath.normpath(posixpath.join(here, path))
    if there.startswith(f"{FOLDER}/"):
        return None
    if there not in published:
        return f"{published['']}/{there}"
    way = posixpath.relpath(published[there], here)
    if not place:
        return way
    from docutils.nodes import make_id  # comes with Sphinx, which only `make site` installs

    return f"{way}#{make_id(place.replace('-', ' '))}"


def with_english_pages(markdown: str, name: str, published: dict[str, str]) -> str:
    "Links to what stands in English alone, and pictures, as HTML: for Sphinx they are outside of these pages."
    def moved(match: re.Match) -> str:
        picture, text, target = match.groups()
        if picture:
            folder = posixpath.relpath(".", posixpath.join(FOLDER, posixpath.dirname(name)))
            return match[0] if "://" in target else f'<img src="{folder}/_images/{posixpath.basename(target)}" alt="{text}">'
        there = address(target, name, published)
        return match[0] if there is None else f'<a href="{there}">{html(text)}</a>'

    return chinese_texts.outside_code(lambda prose: LINK.sub(moved, prose), markdown)


def html(text: str) -> str:
    "The text of a link, in which only code and emphasis are marked."
    text = re.sub(r"`([^`]+)`", r'<code class="docutils literal notranslate">\1</code>', text)
    return re.sub(r"\*([^*]+)\*", r"<em>\1</em>", text)


def navigation(groups: list[tuple[str, list[str]]]) -> dict:
    "A cell for the end of the index, which the reader does not see: the pages in their order, under these headings."
    trees = ["\n".join(["```{toctree}", ":hidden:", f":caption: {heading}", "", *names, "```"]) for heading, names in groups]
    return {"cell_type": "markdown", "id": "navigation", "metadata": {}, "source": "\n\n".join(trees)}


def installation() -> dict:
    "The section of README.zh.md, as a cell of the index."
    [text] = [here for cell, (_, here) in chinese_texts.chinese(chinese_texts.README).items()
              if chinese_texts.english(chinese_texts.README).get(cell, "").startswith("## Installation\n")]
    text = re.sub(rf"\]\({re.escape(site_address())}{FOLDER}/([\w./]+)\.html\)", r"](\1.ipynb)", text)
    text = re.sub(r"\]\((nbs|docs|results)/", r"](../\1/", text)  # the index stands in a folder
    return {"cell_type": "markdown", "id": "installation", "metadata": {}, "source": f"{text}\n\n{MORE}"}


def with_charts(name: str, cells: list[dict]) -> Iterator[dict]:
    "The cells with live charts in Chinese, which takes no drawing, and so without what explains their words."
    words, chart, there = chinese_figures.words().get(name, {}), chinese_figures.CHART, set()
    for cell in cells:
        if cell["id"].removeprefix(chinese_notebooks.BELOW) in there:
            continue
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            if chart in data:
                data[chart] = chinese_figures.chart_in_chinese(data[chart], words.get(cell["id"], {}))
                there.add(cell["id"])
        yield cell


def with_alt(cell: dict, known: dict[str, str]) -> str:
    "A code cell's source, in which the text for those who hear the figure is Chinese."
    source = "".join(cell["source"])
    told = chinese_figures.alt(source)
    return source.replace(told, known[told]) if told in known else source


def prepare(prepare_notebook, published: dict[str, str]) -> dict[str, str]:
    "The files that Sphinx reads. `prepare_notebook` is what the English pages go through, too."
    files = {}
    for name, notebook in chinese_notebooks.all_made():
        notebook["cells"] = [*with_charts(name, notebook["cells"])]
        if name == INDEX:
            place = next(number for number, cell in enumerate(notebook["cells"]) if cell["id"] == WHAT)
            notebook["cells"].insert(place, installation())
        for cell in notebook["cells"]:
            if cell["cell_type"] == "markdown":
                cell["source"] = with_english_pages("".join(cell["source"]), name, published)
            else:
                cell["source"] = with_alt(cell, chinese_figures.words().get(name, {}).get(cell["id"], {}))
            for output in cell.get("outputs", []):
                if "text/markdown" in output.get("data", {}):
                    text = "".join(output["data"]["text/markdown"])
                    output["data"]["text/markdown"] = with_english_pages(text, name, published)
        notebook = prepare_notebook(notebook, name, ON_FOLDED_CELLS)
        if name == INDEX:
            translated = [page for page in chinese_notebooks.pages_in_chinese() if chinese_texts.has_chinese(page)]
            notebook["cells"].append(navigation(captions(translated, (GUIDES, chinese_texts.translated_guides()))))
        files[f"{name}.ipynb"] = json.dumps(notebook, ensure_ascii=False, indent=1)
    return files | {f"{name}.md": with_english_pages(text, name, published) for name, text in chinese_notebooks.guides_made()}
