"""The figures' few words in Chinese: explained below each figure, or drawn again if there is a Chinese font.

python tools/chinese_figures.py draw [NAME ...]    run the pages, keep their figures with Chinese words in build/chinese_figures/

nbs/zh/figures.yml has the words. Code and outputs exist once, in the English notebooks, so a Chinese page shows the English
figure and explains its words below it. `draw` runs a page again, with its code unchanged, and Matplotlib writes the Chinese
instead of the words; `make zh` and `make site` then use these figures, as long as page and words are those that were drawn.
A figure counts only if its cell, and those above it, print what they print in the English notebook; for SAME_ANYWHERE, only its
cell. Times may differ, and decimal numbers a little: the same training gives different last digits on another processor.
"""
import ast
import json
import math
import os
import re
import sys
from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from pathlib import Path

from contents import NOTEBOOKS, notebook_of

ROOT = Path(__file__).resolve().parents[1]
WORDS, DRAWN = Path("nbs/zh/figures.yml"), Path("build/chinese_figures")
PACKAGE, BENCHMARKS = Path("annotated_transformer"), Path("benchmarks")
CODE = [PACKAGE / "figures", PACKAGE / "tables", BENCHMARKS, BENCHMARKS / "shared"]  # draws, too, or names what is drawn
PAGE = PACKAGE / "exchange" / "page" / "translate.html"  # of which a notebook shows a picture
FONTS = ["Noto Sans CJK SC", "Noto Sans SC", "Source Han Sans SC", "Source Han Sans CN", "PingFang SC", "Hiragino Sans GB",
         "Microsoft YaHei", "SimHei", "WenQuanYi Micro Hei", "WenQuanYi Zen Hei", "Arial Unicode MS"]
PICTURE, CHART = "image/png", "application/vnd.vegalite.v5+json"
TIMES = re.compile(r"\d[\d,.]*(?= ?(?:s|ms|seconds|minutes|times)\b)")
ALT = re.compile(r"^#\| *fig-alt: *(.+)$", re.MULTILINE)
DECIMAL = re.compile(r"[- ]?\d+\.\d+")  # a sign may come and go, too
NEAR, NOTHING = 0.1, 0.02                 # of a number, and beside 0
SAME_ANYWHERE = {"0a8f744f", "53a10002", "579dca99", "12d37c39", "52a00006", "fda9a46d"}  # drawn without what a page has trained


@cache
def words() -> dict[str, dict[str, dict[str, str]]]:
    "Of each page, of each cell that draws: the Chinese by the words."
    from repository import from_yaml  # the kernel that draws does without

    return {name: cells for name, cells in from_yaml(WORDS.read_text(encoding="utf-8")).items()
            if " " not in name}  # others are what several pages share


def pictures(cell: dict) -> list[dict]:
    "The outputs of a cell that are pictures."
    return [output["data"] for output in cell.get("outputs", []) if PICTURE in output.get("data", {})]


def drawable(cell: dict) -> bool:
    "Whether Matplotlib drew a cell's pictures: the picture beside a live chart stays English."
    return bool(pictures(cell)) and not any(CHART in data for data in pictures(cell))


def strings(source: str) -> Iterator[str]:
    "The texts in a piece of code; of an f-string its parts."
    try:
        tree = ast.parse(re.sub(r"^[%!].*$", "", source, flags=re.MULTILINE))
    except SyntaxError:  # a line for the shell within a block
        return
    yield from (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str))


def alt(source: str) -> str:
    "What a code cell says of its figure to those who hear the page: its line `#| fig-alt:`."
    found = ALT.search(source)
    return found[1].strip() if found else ""


@cache
def strings_of_the_package() -> frozenset[str]:
    files = [path.read_text(encoding="utf-8") for folder in CODE for path in folder.glob("*.py")]
    return frozenset([PAGE.read_text(encoding="utf-8"), *(text for source in files for text in strings(source))])


def complaints(name: str) -> Iterator[str]:
    "Figures without words, words without their figure, and words that the code no longer draws."
    notebook, known = notebook_of(name), words().get(name, {})
    drawing = {cell["id"] for cell in notebook["cells"] if pictures(cell)}
    for cell in sorted(drawing ^ known.keys()):
        missing = "this figure is missing: give its words and their Chinese, or {} if it has none"
        yield f"{WORDS}, {name}, {cell}: {missing if cell in drawing else 'this cell draws no figure'}"
    code = {cell["id"]: "".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"}
    there = strings_of_the_package() | {text for source in code.values() for text in strings(source)}
    for cell in sorted(drawing & known.keys()):
        told, there_and_told = alt(code[cell]), there | {alt(code[cell])}
        if told and told not in known[cell]:
            yield f"{WORDS}, {name}, {cell}: the Chinese of {told!r} is missing"
        for word, ours in known[cell].items():
            if not all(any(part in text for text in there_and_told) for part in parts(word)):
                yield f"{WORDS}, {name}, {cell}: no code draws {word!r}"
            if word.count("{}") != ours.count("{}"):
                yield f"{WORDS}, {name}, {cell}: {ours!r} must have as many {{}} as {word!r}"
            if "$" in ours:
                yield f"{WORDS}, {name}, {cell}: {ours!r} needs plain letters, as Matplotlib has no Chinese font beside a formula"


def parts(word: str) -> list[str]:
    "What a word says in letters, without what changes: that may come from another piece of code."
    return [part for part in (one.strip(" :,;()“”") for one in re.split(r"\{\}|[,:;]", word)) if re.search(r"[^\W\d]{2}", part)]


def explained(known: dict[str, str], alt: str = "") -> str:
    "What stands below a figure with English words, of which its `alt` is none; nothing where there are none."
    def shown(text: str) -> str:
        text = re.sub(r"(?<=[^\x00-\xff])\s*\n\s*(?=[^\x00-\xff])", "", text.strip())
        text = re.sub(r"\s*\n\s*", " ", text.replace("{}", "…"))
        by_turns = enumerate(re.split(r"(\$[^$]+\$)", text))  # words, formula, words ...
        return "".join(part if at % 2 else re.sub(r"([\\*_<|`])", r"\\\1", part) for at, part in by_turns)

    unlike = [(word, ours) for word, ours in known.items()
              if word not in (ours, alt) and re.search(r"[^\W_]", re.sub(r"\$.*?\$", "", word))]
    told = "；".join(f"{shown(word)} → {shown(ours)}" for word, ours in unlike)
    return f"<small>图中文字：{told}</small>" if told else ""


def pattern(word: str) -> re.Pattern:
    return re.compile("(.+?)".join(map(re.escape, word.split("{}"))), re.DOTALL)


def translated(text: str, known: dict[str, str]) -> str:
    "The Chinese of a text that is drawn, or the text itself. What changes within may itself be a word."
    if text in known:
        return known[text]
    for word, ours in sorted(known.items(), key=lambda pair: -len(pair[0].replace("{}", ""))):
        if "{}" in word and (found := pattern(word).fullmatch(text)):
            return ours.format(*(translated(part, known) for part in found.groups()))
    return "\n".join(translated(line, known) for line in text.split("\n")) if "\n" in text else text


def chart_in_chinese(chart, known: dict[str, str]):
    "A Vega-Lite chart with its words translated, also in its data; the names of its fields stay."
    if isinstance(chart, dict):
        return {key: value if key in ("field", "groupby", "as", "param") else chart_in_chinese(value, known)
                for key, value in chart.items()}
    if isinstance(chart, list):
        return [chart_in_chinese(value, known) for value in chart]
    if not isinstance(chart, str):
        return chart
    for word, ours in known.items():  # within an expression, between quotes; what a colon follows is a name there
        chart = re.sub(rf"""(['"]){re.escape(word)}\1(?!:)""", lambda found, ours=ours: f"{found[1]}{ours}{found[1]}", chart)
    return translated(chart, known)


def of(name: str) -> str:
    "Digits that change with a page's code, its outputs, or its words."
    cells = [[cell["source"], cell.get("outputs")] for cell in notebook_of(name)["cells"] if cell["cell_type"] == "code"]
    return sha256(json.dumps([cells, words().get(name)], ensure_ascii=False).encode()).hexdigest()


def drawn(name: str) -> dict[str, list[str]]:
    "Of each cell its figures with Chinese words, where they have been drawn and are in step."
    path = DRAWN / f"{name}.json"
    found = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return found["pictures"] if found and found["of"] == of(name) else {}


def font() -> str | None:
    "A Chinese font of this machine."
    from matplotlib import font_manager

    manager = font_manager.fontManager
    for path in {*font_manager.findSystemFonts()} - {found.fname for found in manager.ttflist}:
        manager.addfont(path)  # Matplotlib's list is older than the font
    there = {found.name for found in manager.ttflist}
    return next((name for name in FONTS if name in there), None)


unsaid: list[str] = []  # what looks like words and has no Chinese, or only some


def speak(known: dict[str, str]) -> None:
    """From here on Matplotlib writes the Chinese of these words. Beside a formula it would draw boxes: such a text stays English.

    It is changed as late as Matplotlib allows, where lines are laid out: a page may look for a text by its English.
    """
    import matplotlib
    from matplotlib.text import Text

    family = [*matplotlib.rcParams["font.sans-serif"][:1], font()]
    matplotlib.rcParams.update({"font.family": family})
    written = Text._get_wrapped_text

    def in_chinese(self):
        text = written(self)
        ours = translated(text, known)
        if ours != text and any("$" in line and re.search(r"[\u3000-\u9fff]", line) for line in ours.split("\n")):
            ours = text
        if re.search(r"[a-z]{3} .*[a-z]{2}" if ours == text else r"[a-z]{3} [a-z]{2}", ours):
            unsaid.append(text)
        return ours

    Text._get_wrapped_text = in_chinese


def printed(cell: dict) -> str:
    "What a cell says in letters, times apart."
    said = [output.get("text", "") if output["output_type"] == "stream" else output.get("data", {}).get("text/markdown", "")
            for output in cell.get("outputs", []) if output.get("name") != "stderr"]
    return TIMES.sub("#", "".join("".join(text) for text in said)).strip()


def alike(one: str, other: str) -> bool:
    "Whether both say the same in the same words, numbers with a point nearly."
    pairs = zip(DECIMAL.findall(one), DECIMAL.findall(other))
    return DECIMAL.sub("#", one) == DECIMAL.sub("#", other) and all(
        math.isclose(float(this), float(that), rel_tol=NEAR, abs_tol=NOTHING) for this, that in pairs
    )


def draw(name: str) -> str:
    "Run a page, keep its figures, and say how it went."
    import nbformat
    from pages import execute

    notebook, english = nbformat.read(NOTEBOOKS / f"{name}.ipynb", as_version=4), notebook_of(name)["cells"]
    known = {word: ours for cell in words()[name].values() for word, ours in cell.items()}
    start = (f"import sys; sys.path.insert(0, {str(ROOT / 'tools')!r}); import chinese_figures; sys.path.pop(0)\n"
             f"chinese_figures.speak({known!r})")
    notebook.cells.insert(0, nbformat.v4.new_code_cell(start))
    notebook.cells.append(nbformat.v4.new_code_cell("print(*dict.fromkeys(chinese_figures.unsaid), sep='; ')"))
    for cell in notebook.cells:
        cell.source = re.sub(r"^\w+\.savefig\(.*\n", "", cell.source, flags=re.MULTILINE)  # files beside the pages stay English
    execute(notebook, (NOTEBOOKS / name).parent, timeout=1200)
    kept, left = {}, []
    for ours, theirs in zip(notebook.cells[1:], english):
        same = ours.cell_type != "code" or alike(printed(ours), printed(theirs))
        if not same:
            left.append(theirs["id"])
        counts = not left or same and theirs["id"] in SAME_ANYWHERE
        if counts and drawable(theirs) and len(pictures(ours)) == len(pictures(theirs)):
            kept[theirs["id"]] = [found[PICTURE] for found in pictures(ours)]
    path = DRAWN / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"of": of(name), "pictures": kept}), encoding="utf-8", newline="\n")
    wanted = sum(map(drawable, english))
    said = [f"{name}: {len(kept)} of {wanted} figures", *(f"cell {cell} prints something else here" for cell in left[:1])]
    in_english = "".join(output.text for output in notebook.cells[-1].outputs).strip()
    return "; ".join([*said, f"in English: {in_english}"] if in_english else said)


def main(options: list[str]) -> int:
    os.chdir(ROOT)
    if not options or options[0] != "draw":
        print(__doc__, file=sys.stderr)
        return 2
    if font() is None:
        print("No Chinese font here (one is fonts-noto-cjk): the figures stay English, explained below each.", file=sys.stderr)
        return 2
    for name in options[1:] or words():
        print(draw(name), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
