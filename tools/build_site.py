"""Make the site with all notebooks and the reference, in _site/. Nothing on its pages comes from another host.

python tools/build_site.py

Sphinx reads what is prepared under build/site: the notebooks as they are committed, in the order of
nbs/contents.yml, and one page for each module. MathJax is downloaded from npm once and stays there; it is not in the repository.
Next to them are the page that translates, whose runtime is also downloaded once, and a page with the explorer.
"""
import ast
import functools
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Mapping
from html import unescape
from importlib import metadata
from pathlib import Path

import chinese_site
import site_head
import vl_convert
from chinese_figures import CHART, PICTURE, alt
from colab import CELL as COLAB
from colab import LINK as OPEN_IN_COLAB
from contents import (
    GUIDES,
    INDEX,
    NEIGHBOURS,
    NOTEBOOKS,
    Page,
    called,
    captions,
    guides,
    notebook_files,
    read_contents,
    read_notebook,
    refuse,
)
from links import Links, dead_links
from PIL import Image
from repository import shown_at, site_address
from usage import words_given

from annotated_transformer import InputError, Translator
from annotated_transformer.command_line.translate_and_parse import SHIPPED
from annotated_transformer.exchange.browser_page import PAGE, write_page
from annotated_transformer.figures.explorer import explore
from annotated_transformer.figures.explorer_chart import VEGA_LITE

ROOT = Path(__file__).resolve().parents[1]
PREPARED, SITE = Path("build/site"), Path("_site")
PACKAGE = "annotated_transformer"
MATHJAX = ("mathjax@3.2.2", "es5/tex-svg.js", "d4295dc33744836935c1399feece5159577b34c5c8ffb9f1c6324cd82e03a882")
IN_ENGLISH = {words: words for words in chinese_site.ON_FOLDED_CELLS}
EXPLORER, EXPLORED = "explorer.html", "A dog runs with a ball in its mouth."  # the explorer's own page, and what it shows
LICENCES = "licences.txt"  # of what others wrote: in docs/ that of scripts, on the site those of these packages, too
OTHERS = ("sphinx", "snowballstemmer", "furo", "myst-nb", "pygments")
PICTURE_OF_RESULTS = re.compile(r"(!\[[^\]]*\]\()\.\./(results/[\w/.-]+)\)")


def with_links_of_the_site(markdown: str, name: str) -> str:
    "A page's links: a module's file becomes its page in the reference; other files are shown where the repository is published."
    up = "../" * name.count("/")

    def moved(match: re.Match) -> str:
        path = match[1]
        module = re.fullmatch(rf"{PACKAGE}/((?:\w+/)*[a-z]\w*)\.py", path)
        if module:
            return f"]({up}api/{module[1].replace('/', '.')}.rst)"
        if re.fullmatch(rf"{GUIDES}/[\w-]+\.md(#.*)?", path):
            return f"]({up}{path})"
        return f"]({shown_at()}/{path})"

    live = rf"(?:(?:\.\./)+{PACKAGE}/exchange/page/|{re.escape(site_address())})({PAGE}|{EXPLORER})"  # are no pages of Sphinx's
    markdown = re.sub(rf"\[([^]]*)\]\({live}\)", rf'<a href="{up}\2">\1</a>', markdown)
    return re.sub(rf"\]\({re.escape(up)}\.\./([^)\s]+)\)", moved, markdown)


def guide(name: str) -> str:
    "A guide, docs/speed, as a page of the site."
    text = Path(f"{name}.md").read_text(encoding="utf-8")
    text = text.replace(f"](../{NOTEBOOKS}/", "](../")  # the notebooks stand beside docs/, as on the site
    text = PICTURE_OF_RESULTS.sub(r"\1/\2)", text)  # from where Sphinx reads: it is part of the page
    return re.sub(r"\]\(\.\./((?:results|benchmarks|annotated_transformer)/|docs/\w+\.py)", rf"]({shown_at()}/\1", text)


def live_page_first(source: str) -> str:
    "The index's title cell, with the link to the page that translates above all others."
    title, *paragraphs = source.split("\n\n")
    return "\n\n".join([title, *sorted(paragraphs, key=lambda paragraph: PAGE not in paragraph)])


def installation() -> dict:
    "The README's section, as a cell of the index."
    section = re.search(r"^## Installation\n.*?(?=^## )", Path("README.md").read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    more = f"[The first hour]({GUIDES}/first-hour.md) · [what is installed]({GUIDES}/installation.md)"
    text = section[0].rstrip().replace("](nbs/", "](")  # the index stands in nbs/
    return {"cell_type": "markdown", "id": "installation", "metadata": {}, "source": f"{text}\n\n{more}\n"}


def live_chart(specification: dict, place: str, told: str) -> str:
    "HTML that draws a Vega-Lite chart with the site's scripts; those who hear the page get its description."
    text = json.dumps({"description": told} | specification if told else specification).replace("<", r"\u003c")
    return f'<div class="live-chart" id="{place}"></div>\n<script type="application/json" data-chart="{place}">{text}</script>'


def only_imports(source: str) -> bool:
    "Whether a code cell does nothing but import."
    try:
        statements = ast.parse(source).body
    except SyntaxError:  # a command for the shell
        return False
    return bool(statements) and all(isinstance(statement, (ast.Import, ast.ImportFrom)) for statement in statements)


def folded_or_plain(cell: dict, source: str, words: Mapping[str, str]) -> dict:
    """A code cell without directives, whose first line says what it tests, if it tests something.

    Folded is what JupyterLab folds (`jupyter.source_hidden`), and cells that only import. An answer's output is folded with it
    (`jupyter.outputs_hidden`).
    """
    test = re.search(r"^#\| *test (\w+)", source, re.MULTILINE)
    said = f"{words['Test: ']}{test[1].replace('_', ' ')}" if test else ""
    plain = re.sub(r"^#\|.*\n?", "", source, flags=re.MULTILINE)
    folded = cell["metadata"].get("jupyter", {}).get("source_hidden") or only_imports(plain)
    if not folded:
        return cell | {"source": f"# {said}\n{plain}" if said else plain}
    answer = cell["metadata"].get("jupyter", {}).get("outputs_hidden")
    prompt = dict.fromkeys(("code_prompt_show", "code_prompt_hide"), said or words["Answer" if answer else "Code"])
    tag = "hide-cell" if answer else "hide-input"
    return cell | {"metadata": cell["metadata"] | {"tags": [tag], "mystnb": prompt}, "source": plain}


def heard(cell: dict, told: str) -> dict:
    "A cell whose figures say this to those who do not see them; MyST-NB would give them a file's name."
    if not told or not any(PICTURE in output.get("data", {}) for output in cell.get("outputs", [])):
        return cell
    shown = cell["metadata"].get("mystnb", {})
    return cell | {"metadata": cell["metadata"] | {"mystnb": shown | {"image": {"alt": told}}}}


def prepare_notebook(notebook: dict, name: str, words: Mapping[str, str] = IN_ENGLISH) -> dict:
    """With links to pages and live charts, without cells that only set up or that the theme shows in its own way.

    `words`: what stands on folded cells, in the language of the page.
    """
    cells = []
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        if cell["id"] in (COLAB, NEIGHBOURS):
            continue
        if cell["cell_type"] == "markdown":
            published = f" · [View on GitHub]({shown_at()}/nbs/{name}.ipynb)"
            cell["source"] = with_links_of_the_site(OPEN_IN_COLAB.sub(rf"\g<0>{published}", source), name)
            if name == INDEX and not cells:
                cell["source"] = live_page_first(cell["source"])
        elif re.fullmatch(r"(?:#\|.*\s*)+", source):
            continue
        else:
            cell = heard(folded_or_plain(cell, source, words), alt(source))
        for number, output in enumerate(cell.get("outputs", [])):
            data = output.get("data", {})
            if CHART in data:
                output["data"] = {"text/html": live_chart(data[CHART], f"chart-{cell['id']}-{number}", alt(source))}
            elif "text/markdown" in data:
                data["text/markdown"] = with_links_of_the_site("".join(data["text/markdown"]), name)
        cells.append(cell)
    return notebook | {"cells": cells}


def reference(listed: list[Page]) -> dict[str, str]:
    "The pages of the reference: the package, and each module with its notebook, if it has one."
    def titled(title: str, text: str) -> str:
        return f"{title}\n{'=' * len(title)}\n\n{text}\n"

    explained = {page.module: f":doc:`../{page.notebook}`" for page in listed if page.module}
    files = (path.relative_to(ROOT / PACKAGE).with_suffix("").parts for path in (ROOT / PACKAGE).rglob("[a-z]*.py"))
    modules = [*explained, *sorted({".".join(parts) for parts in files} - explained.keys())]  # plain ones have no notebook
    pages, rows = {}, []
    for module in modules:
        where = f"Explained, tested and drawn in {explained[module]}.\n\n" if module in explained else ""
        pages[f"api/{module}.rst"] = titled(module, f"{where}.. automodule:: {PACKAGE}.{module}\n   :members:\n")
        rows.append(f"   * - :doc:`{module} <{module}>`\n     - {explained.get(module, '')}".rstrip(" "))
    about = (
        f"What ``import {PACKAGE}`` brings, module by module. The notebooks say why; here stands what to call. "
        f"``from {PACKAGE} import Transformer, TransformerConfig, Translator`` are the three names to begin with.\n\n"
        "Sizes: ``B`` sentences, ``S`` source length, ``T`` target length, ``V`` vocabulary, ``K`` beams, ``L`` layers, "
        "``h`` heads. A boolean mask says what is *allowed*: True may be seen.\n\n"
    )
    table = ".. list-table::\n   :header-rows: 1\n\n   * - module\n     - notebook\n" + "\n".join(rows)
    tree = ".. toctree::\n   :hidden:\n\n" + "\n".join(f"   {module}" for module in modules)
    return pages | {"api/index.rst": titled("Python reference", f"{about}{table}\n\n{tree}\n")}


def write(path: Path, text: str) -> None:
    "Write only what has changed, so that Sphinx reads only that again."
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8", newline="\n")


def write_all(source: Path, pages: dict[str, str]) -> None:
    "These files, and none of notebooks that are gone."
    for name, text in pages.items():
        write(source / name, text)
    for path in source.rglob("*.*"):
        if path.suffix in (".ipynb", ".rst", ".md") and path.relative_to(source).as_posix() not in pages:
            path.unlink()


def fetch_mathjax(static: Path) -> None:
    "One file that typesets without a network and without fonts of its own; its checksum is fixed."
    package, member, sha256 = MATHJAX
    path = static / "mathjax.js"
    if not path.exists():
        npm = shutil.which("npm")
        if npm is None:
            refuse("The site needs MathJax, which comes by npm, and there is no npm: install Node.js, then `make site` again.")
        packed = subprocess.run([npm, "pack", "--silent", package], cwd=static, stdout=subprocess.PIPE, text=True)
        if packed.returncode:
            refuse(f"npm could not fetch {package}: its message stands above.")
        archive = static / packed.stdout.split()[-1]
        with tarfile.open(archive) as content:
            script = content.extractfile(f"package/{member}").read()
        archive.unlink()
        if hashlib.sha256(script).hexdigest() != sha256:
            refuse(f"{member} of {package} is not the file that it was: nothing was built.")
        path.write_bytes(script)


def licences() -> str:
    "The notices that go with what others wrote on the site: scripts, then what installed packages put beside them."
    notices = [(GUIDES / LICENCES).read_text(encoding="utf-8")]
    for name in OTHERS:
        files = [path for path in metadata.files(name) if re.match("LICEN[CS]E|COPYING", path.name)]
        notices += [f"{name} {metadata.version(name)}\n\n{path.read_text(encoding='utf-8').strip()}\n" for path in files]
    notices.append(Path("LICENSE").read_text(encoding="utf-8"))  # MathJax's, too
    return f"\n{'=' * 80}\n\n".join(notices)


def write_translating_page() -> None:
    "The page that translates, next to the others; rewritten only if something that it is made of has changed."
    sources = [*sorted(Path(PACKAGE, "exchange", "page").iterdir()), Path(PACKAGE, "exchange", "browser_page.py"),
               Path(PACKAGE, "exchange", "onnx.py"), Path(PACKAGE, "pretrained", SHIPPED, "SHA256SUMS")]
    made_of = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()
    page, note = PREPARED / "page", PREPARED / "page.sha256"
    if not (page.exists() and note.exists() and note.read_text() == made_of):
        shutil.rmtree(page, ignore_errors=True)
        try:
            write_page(Translator.from_pretrained(SHIPPED, device="cpu"), page)
        except InputError as error:
            refuse(str(error))
        note.write_text(made_of)
    shutil.copytree(page, SITE, dirs_exist_ok=True)
    write(SITE / PAGE, site_head.with_tags(Path(SITE, PAGE).read_text(encoding="utf-8"), PAGE))


def write_explorer_page() -> None:
    "The page that the explorer saves, which keys and screen readers can use: the chart of its notebook answers only a pointer."
    path = SITE / EXPLORER
    explore(Translator.from_pretrained(SHIPPED, device="cpu").attention(EXPLORED)).save(path)
    said = "Every attention head of a small Transformer that translates this sentence. Point at a word to see where a head looks."
    write(path, site_head.with_tags(path.read_text(encoding="utf-8"), EXPLORER, f"Attention: {EXPLORED}", said))


def prepare() -> None:
    "Write what Sphinx reads."
    source, static = PREPARED / "source", PREPARED / "static"
    static.mkdir(parents=True, exist_ok=True)
    fetch_mathjax(static)
    scripts = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed", vl_version=VEGA_LITE)
    scripts = f"// Vega and what it uses: see {LICENCES}\n(() => {{\n{scripts}\n}})()"
    write(static / "vega.js", scripts)  # its names are its own: some are those of Sphinx's scripts
    write(static / LICENCES, licences())
    for name in ("style.css", "charts.js", "search.js", "language.js", "figures.js"):
        write(static / name, Path("docs", name).read_text(encoding="utf-8"))
    (static / site_head.CARD).write_bytes(site_head.card())
    notebooks = {called(path): read_notebook(path) for path in notebook_files()}
    listed = read_contents()
    pages = reference(listed)
    for name, notebook in notebooks.items():
        notebook = prepare_notebook(notebook, name)
        if name == INDEX:
            place = next(i for i, cell in enumerate(notebook["cells"]) if cell["id"] == chinese_site.WHAT)
            notebook["cells"].insert(place, installation())
            groups = [*captions(listed, ("Guides", guides()), "Workshop: "), ("Reference", ["api/index"])]
            notebook["cells"].append(chinese_site.navigation(groups))
        pages[f"{name}.ipynb"] = json.dumps(notebook, ensure_ascii=False, indent=1)
    pages |= {f"{name}.md": guide(name) for name in guides()}
    write_all(source, pages)
    shown = [path for name in guides() for _, path in PICTURE_OF_RESULTS.findall(Path(f"{name}.md").read_text("utf-8"))]
    for picture in [*NOTEBOOKS.rglob("*.png"), *map(Path, shown)]:
        place = source / (picture.relative_to(NOTEBOOKS) if picture.is_relative_to(NOTEBOOKS) else picture)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(picture, place)


def published() -> dict[str, str]:
    "Of files of the repository the page of the site that shows them; of '' where the others are shown."
    modules = [called(path, Path(PACKAGE)) for path in Path(PACKAGE).rglob("[a-z]*.py")]
    return {
        "": shown_at(),
        **{path.as_posix(): f"{called(path)}.html" for path in notebook_files()},
        **{f"{name}.md": f"{name}.html" for name in guides()},
        **{f"{PACKAGE}/{module}.py": f"api/{module.replace('/', '.')}.html" for module in modules},
        f"{PACKAGE}/exchange/page/{PAGE}": PAGE, f"{site_address()}{PAGE}": PAGE, f"{site_address()}{EXPLORER}": EXPLORER,
    }


def without_dead_ways_back() -> None:
    "Beside a definition in the listed sources stands a link to its place in the reference, also where it has none: that goes."
    def alive(folder: Path, match: re.Match) -> str:
        page, _, place = match[1].partition("#")
        return match[0] if unescape(place) in Links.of(folder.joinpath(page).resolve()).places else ""

    for path in SITE.joinpath("_modules").rglob("*.html"):
        text = path.read_text(encoding="utf-8")
        kept = re.sub(r'<a class="viewcode-back" href="([^"]*)">.*?</a>', functools.partial(alive, path.parent), text)
        if kept != text:
            path.write_text(kept, encoding="utf-8", newline="\n")


def with_sizes(text: str, page: Path) -> str:
    "Give a page's pictures their sizes: nothing moves when one loads, and a link to a place below it leads there."
    def sized(picture: re.Match) -> str:
        width, height = Image.open(page.parent / picture[1]).size
        return f'{picture[0]} width="{width}" height="{height}"'

    return re.sub(r'<img [^>]*src="([^":]+\.png)"(?! width)', sized, text)


def for_those_who_listen_or_wait() -> None:
    """Pictures get their sizes; MyST-NB and the theme no longer announce folds and menus by other words than those shown, nor in
    English on a Chinese page."""
    for path in SITE.rglob("*.html"):
        text = path.read_text(encoding="utf-8")
        said = with_sizes(text, path).replace(' aria-label="Toggle hidden content"', "").replace(
            'class="caption" role="heading">', 'class="caption" role="heading" aria-level="2">')
        if path.relative_to(SITE).parts[0] == chinese_site.FOLDER:
            for english, chinese in chinese_site.IN_THE_THEME.items():
                said = re.sub(rf'(?<=[>"]){english}(?=[<"])', chinese, said)
        if said != text:
            path.write_text(said, encoding="utf-8", newline="\n")


def sphinx(site: Path, which: str = "", *options: str) -> int:
    "Run Sphinx and return its status."
    command = [sys.executable, "-m", "sphinx", "--quiet", "--fail-on-warning", "--keep-going", "-c", "docs", *options,
               "-d", str(PREPARED / f"doctrees{which}"), str(PREPARED / f"source{which}"), str(site)]
    return subprocess.run(command).returncode


def main() -> int:
    os.chdir(ROOT)
    prepare()
    write_all(PREPARED / "source-zh", chinese_site.prepare(prepare_notebook, published()))
    status = sphinx(SITE) or sphinx(SITE / chinese_site.FOLDER, "-zh", "-D", f"language={chinese_site.LANGUAGE}")
    for beside in (SITE.parent, SITE):
        shutil.rmtree(beside / "jupyter_execute", ignore_errors=True)  # MyST-NB's copies of the notebooks, which nothing reads
    if status:
        return status
    write_translating_page()
    write_explorer_page()
    write(SITE / "404.html", site_head.not_found())
    without_dead_ways_back()
    for_those_who_listen_or_wait()
    if dead := dead_links(SITE):
        print(*dead, sep="\n", file=sys.stderr)
        return 1
    print(f"{SITE}/index.html is the first page.")
    return 0


if __name__ == "__main__":
    words_given(__doc__, ())
    sys.exit(main())
