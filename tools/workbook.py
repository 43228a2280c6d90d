"""Write the workbook: from each page with `#| exercise` cells a notebook in which the reader writes that code, and the checks.

`#| exercise` in an exported cell marks its function or class as one that the reader writes; for a class, all methods but
`__init__`. With names after it, as in `#| exercise causal_mask` or `#| exercise SharedEmbedding.forward`, only these.
Claim, equation, signature, tests and solution come from the page; titles and hints are in nbs/exercises.yml, next to the
mistakes that a check must find.

python tools/workbook.py             write annotated_transformer/workbook/pages/ (`make build` does it too)
python tools/workbook.py mistakes    make each planted mistake, and write to results/checks/workbook.json which tests notice it
"""
import ast
import itertools
import json
import os
import posixpath
import re
import sys
from collections.abc import Sequence
from hashlib import sha1
from pathlib import Path
from typing import NamedTuple

import chinese_workbook
import yaml
from chinese_notebooks import pages_in_chinese
from colab import PINS
from contents import Page, read_contents, refuse
from export_tests import names_in, names_of, names_offered, with_sorted_imports
from metadata import METADATA
from nbdev.process import NBProcessor
from repository import in_colab, settings, shown_at
from usage import words_given

NOTEBOOKS, TARGET, EXERCISES = Path("nbs"), Path("annotated_transformer/workbook/pages"), "exercises.yml"
OWN, SECTION = "workbook", "## Your functions in one model"  # the page and its section that make the last notebook
SET_UP = """\
if "google.colab" in str(get_ipython()):  # elsewhere the package is installed already
    %pip install -q -c https://raw.githubusercontent.com/{user}/{repo}/{branch}/{pins} \\
        "{repo}[parsing] @ git+https://github.com/{user}/{repo}@{branch}\""""
USUAL = {"import math", "import torch", "import torch.nn.functional as F", "from torch import Tensor, nn",
         "from annotated_transformer.workbook import check"}  # not only what our solution imports
LINK = re.compile(r"\]\((?!https?:|#)((?:[^()\s]|\([^()\s]*\))+)\)")
TOGETHER, FOLDED = "all_together", {"jupyter": {"source_hidden": True}}


class Words(NamedTuple):
    "What the workbook says of itself, in one language."

    folder: str           # beside the English notebooks
    introduction: str
    hint: str
    tested: str
    solution: str
    after: str
    together: str


ENGLISH = Words("", """\
# {label}: write it yourself

[Open in Colab]({colab})

These are the exercises of the page [{title}]({page}). Replace `raise NotImplementedError` with
your code, run the cell, then run `check`, which runs the page's own tests on it. Begin with any exercise you like, because
`check` takes everything else from the package. Where there is an `__init__`, leave it and its names as they are: tests use
them. The hints and the solution are folded below each exercise, and the first hint gives away the least.

From [{repo}]({home}), © {owners}, Apache 2.0.""", "Hint", "What is tested", "Solution", "Next: ", """\
# All together: your Transformer

Here your own functions become one model. It learns to reverse digits, then to translate times of day, using your training
step and your search. What you have not written yet, or what is still red, comes from the package.""")
CHINESE = Words("zh", chinese_workbook.in_one_line("""\
# {label}：自己写一遍

[在 Colab 中打开]({colab})

这些是[{title}]({page})一页的练习。把 `raise NotImplementedError` 换成你的代码，运行这个单元格，再运行
`check`：它用这一页自己的测试来检查你的代码，回答是英文的，green 表示通过，red 表示还不对。
先做哪个练习都行，因为 `check` 需要的其他部分都取自软件包。凡是有 `__init__` 的地方，
它和里面的名字都保持原样：测试要用到。每个练习下面折叠着提示和答案，第一条提示说得最少。

出自 [{repo}]({home})，© {owners}，Apache 2.0 许可证。
"""), "提示", "测试什么", "答案", "下一页：", chinese_workbook.in_one_line("""\
# 合在一起：你的 Transformer

在这里，你自己写的函数合成一个模型。它先学会把数字倒过来写，再学会翻译时刻，
用的是你的训练步和你的搜索。还没写的，或者还是 red 的，取自软件包。"""))


def cells_of(name: str) -> list:
    "The cells of a page, directives apart."
    return NBProcessor(NOTEBOOKS / f"{name}.ipynb").nb.cells


def exported(cell) -> bool:
    return cell.cell_type == "code" and bool({"export", "exporti", "exports"} & cell.directives_.keys())


def defined(cell) -> dict[str, ast.AST]:
    "Functions and classes that a cell defines."
    return {node.name: node for node in cell.parsed_() or [] if isinstance(node, (ast.FunctionDef, ast.ClassDef))}


def to_write(cell, where: str) -> dict[str, list[str]]:
    "What an `#| exercise` cell leaves to the reader: the names, of a class with its methods."
    found, asked = defined(cell), cell.directives_["exercise"] or []
    names = list(dict.fromkeys(name.split(".")[0] for name in asked)) or list(found)
    if not set(names) <= found.keys() or not asked and len(names) != 1:
        refuse(f"{where}: `#| exercise` must name what the reader writes: one or more of {', '.join(found)}.")
    methods = {}
    for name in names:
        inside = [node.name for node in found[name].body if isinstance(node, ast.FunctionDef)]
        chosen = [full.split(".")[1] for full in asked if full.startswith(f"{name}.")]
        methods[name] = chosen or [method for method in inside if method != "__init__"]
        if not set(methods[name]) <= set(inside):
            refuse(f"{where}: {name} has no method {', '.join(sorted(set(methods[name]) - set(inside)))}.")
    return methods


def stub(source: str, node: ast.AST, methods: list[str]) -> tuple[str, str]:
    "The definition with what the reader writes left out, and whole."
    lines = source.split("\n")
    start = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
    left_out = [n for n in node.body if isinstance(n, ast.FunctionDef) and n.name in methods] if methods else [node]
    bare = lines[:]
    for function in reversed(left_out):
        said = ast.get_docstring(function) is not None
        first = function.body[0].end_lineno + 1 if said else function.body[0].lineno
        bare[first - 1 : function.end_lineno] = [" " * (function.col_offset + 4) + "raise NotImplementedError"]
    end = node.end_lineno
    return "\n".join(bare[start - 1 : end + len(bare) - len(lines)]), "\n".join(lines[start - 1 : end])


def reached(start: set[str], sources: dict[str, str]) -> set[str]:
    "The names that a piece of code uses, and those that these use in turn."
    found, new = set(), set(start)
    while new:
        found |= new
        new = {used for name in new & sources.keys() for used in names_in(sources[name])} - found
    return found


def tests_of(name: str, module: str, cells: list, without: Sequence[str], first: str) -> list[dict[str, str]]:
    """The page's tests that call `name`, each as plain code: what it imports, and what it does (its fixtures first).
    Where none does, those that reach it through the page's other functions. The test `first` comes first."""
    code = [cell for cell in cells if cell.cell_type == "code"]
    plain = [cell for cell in code if not {"test", "fixture"} & cell.directives_.keys()]
    offered = names_offered(plain, module)
    fixtures = {cell.directives_["fixture"][0]: cell.source for cell in code if "fixture" in cell.directives_}
    inside = {found: ast.unparse(node) for cell in code if exported(cell) for found, node in defined(cell).items()}
    found = []
    for cell in code:
        if "test" not in cell.directives_ or "slow" in cell.directives_ or cell.directives_["test"][0] in without:
            continue
        needed = [each for each in fixtures if each in reached(names_in(cell.source), fixtures)]
        body = "\n\n\n".join([*(fixtures[each] for each in needed), cell.source])
        if name in reached(names_in(body), inside):
            indented = "\n".join("    " + line for line in body.split("\n"))
            wanted = (names_of(f"def test():\n{indented}")[1] | names_in(body)) & offered.keys()
            imports = with_sorted_imports("\n".join(sorted({offered[each] for each in wanted})) + "\n", "test.py")
            direct = name in names_in(body)
            found.append({"name": cell.directives_["test"][0], "imports": imports, "body": body, "direct": direct})
    direct = [test for test in found if test.pop("direct")]
    return sorted(direct or found, key=lambda test: test["name"] != first)


def abroad(text: str, page: str, words: Words) -> str:
    "A page's text for readers who have the workbook alone: its links lead to the repository, its title is not repeated."
    paragraphs = [re.sub(r"\A#+ .*\n?", "", paragraph) for paragraph in text.split("\n\n")]
    paragraphs = [re.sub(r"^Module:.*|模块：\[.*", "", p, flags=re.MULTILINE) for p in paragraphs
                  if not p.startswith("[Open in Colab]")]
    text = re.sub(r":\Z", ".", "\n\n".join(filter(str.strip, paragraphs)).strip())  # no code follows here
    return with_links(re.sub("：\\Z", "。", text), page, words)


def with_links(text: str, page: str, words: Words) -> str:
    "Links to other pages as links to the repository, or to the site's Chinese pages."
    def moved(link: re.Match) -> str:
        there = chinese_workbook.led(link[1], page) if words == CHINESE else None
        path = posixpath.normpath(posixpath.join("nbs", posixpath.dirname(page), link[1]))
        return f"]({there or f'{shown_at()}/{path}'})"

    return LINK.sub(moved, text)


def has_claim(text: str) -> bool:
    return "$$" in text or text.startswith("> ") or "\n> " in text


def texts(cells: list) -> dict[int, str]:
    "For each exercise cell the text of its section down to it; the first of a section always has a claim or an equation."
    events = []
    for number, cell in enumerate(cells):
        if cell.cell_type == "markdown":
            events += filter(None, re.split(r"^(?=#+ )", cell.source, flags=re.MULTILINE))
        elif "exercise" in cell.directives_:
            events.append(number)
    found = {}
    for place, number in enumerate(events):
        if isinstance(number, int):
            start = max((n for n in range(place) if isinstance(events[n], int) or events[n].startswith("#")), default=0)
            first = isinstance(events[start], str)  # the first exercise of its section
            before = events[start + (not first) : place]
            after = itertools.takewhile(lambda event: isinstance(event, str) and not event.startswith("#"), events[place + 1 :])
            if first and not any(map(has_claim, before)):
                before = list(filter(has_claim, after))[:1] or before
            found[number] = "\n\n".join(before)
    return found


def section(cells: list, heading: str, where: str) -> str:
    "The text of a section, from its heading to the first code."
    for number, cell in enumerate(cells):
        _, found, text = f"\n{cell.source}".partition(f"\n## {heading}\n") if cell.cell_type == "markdown" else ("", "", "")
        if found:
            more = itertools.takewhile(lambda each: each.cell_type == "markdown", cells[number + 1 :])
            return re.split(r"^#+ ", "\n\n".join([text, *(each.source for each in more)]), flags=re.MULTILINE)[0]
    refuse(f"{where} has no section {heading!r}, which {EXERCISES} asks for.")


def without(text: str, patterns: Sequence[str], name: str) -> str:
    "The text without what these regular expressions find: it speaks of what the page has and the workbook has not."
    for pattern in patterns:
        text, times = re.subn(pattern, "", text, flags=re.DOTALL)
        if times != 1:
            refuse(f"{EXERCISES}, {name}: `without` must find {pattern!r} once in the page's text, and finds it {times} times.")
    return text


def read_exercises(pages: list[Page], words: Words) -> list[dict]:
    "All exercises in reading order, with all that the workbook and its checks need to know of them."
    listed = yaml.safe_load((NOTEBOOKS / EXERCISES).read_text(encoding="utf-8"))
    listed = chinese_workbook.exercises_in_chinese(listed) if words == CHINESE else listed
    found = []
    for page in pages:
        if '"#| exercise' not in (NOTEBOOKS / f"{page.notebook}.ipynb").read_text(encoding="utf-8"):
            continue
        cells = cells_of(page.notebook)
        cells = chinese_workbook.cells_in_chinese(page.notebook, cells) if words == CHINESE else cells
        offered = names_offered([cell for cell in cells if cell.cell_type == "code"], page.module)
        for number, text in texts(cells).items():
            cell = cells[number]
            for name, methods in to_write(cell, f"nbs/{page.notebook}.ipynb, cell {cell.id}").items():
                if name not in listed:
                    refuse(f"{NOTEBOOKS / EXERCISES} has no entry for {name}, an exercise of {page.notebook}: write one.")
                bare, whole = stub(cell.source, defined(cell)[name], methods)
                if heading := listed[name].get("section"):
                    heading = chinese_workbook.heading_in_chinese(page.notebook, heading) if words == CHINESE else heading
                    text = section(cells, heading, f"nbs/{page.notebook}.ipynb")
                text = without(text, listed[name].get("without", ()), name)
                needed = names_in(whole) & offered.keys() - {name}
                found.append({
                    "name": name, "page": page.name, "module": page.module, "methods": methods, **listed[name],
                    "text": text, "stub": bare, "solution": whole, "imports": sorted(offered[each] for each in needed),
                    "tests": tests_of(name, page.module, cells, listed[name].get("not asked", ()), listed[name].get("first", "")),
                })
                text = ""
    for name in listed.keys() - {exercise["name"] for exercise in found}:
        refuse(f"{NOTEBOOKS / EXERCISES} has an entry for {name}, which no `#| exercise` cell defines: take it out.")
    return found


def cell(kind: str, source: str, name: str, **metadata) -> dict:
    "A cell of a notebook; its id depends on `name` alone, so that each build writes the same."
    found = {"cell_type": kind, "id": sha1(name.encode()).hexdigest()[:8], "metadata": metadata,
             "source": source.strip("\n").splitlines(keepends=True)}
    return found | ({"execution_count": None, "outputs": []} if kind == "code" else {})


def set_up() -> dict:
    "What Colab has to run first."
    return cell("code", SET_UP.format(**settings(), pins=PINS), "colab", **FOLDED)


def folded(summary: str, text: str) -> str:
    return f"<details><summary>{summary}</summary>\n\n{text}\n\n</details>"


def code_block(source: str) -> str:
    return f"```python\n{source}\n```"


def notebook_of(page: Page, exercises: list[dict], after: str, words: Words) -> dict:
    "The workbook notebook of a page."
    ours, about = words == CHINESE, settings()
    introduction = words.introduction.format(
        label=page.label, title=page.title, repo=about["repo"], home="https://github.com/{user}/{repo}".format(**about),
        owners=about["copyright"].partition(", ")[2],
        page=ours and chinese_workbook.led(f"{page.notebook}.ipynb", "") or f"{shown_at()}/nbs/{page.notebook}.ipynb",
        colab=f"{in_colab()}/{(TARGET / words.folder / page.name).as_posix()}.ipynb")
    name = page.name
    imports = "\n".join(sorted({line for exercise in exercises for line in exercise["imports"]} | USUAL))
    cells = [cell("markdown", introduction, f"{name} title"), set_up(),
             cell("code", with_sorted_imports(imports + "\n", "workbook.py"), f"{name} imports")]
    for exercise in exercises:
        here, text = f"{name} {exercise['name']}", abroad(exercise["text"], page.notebook, words)
        heading = "\n\n".join(filter(None, [f"## {exercise['title']}", text, exercise.get("note")]))
        tests = "\n\n\n".join(f"# {test['name'].replace('_', ' ')}\n{test['body']}" for test in exercise["tests"])
        hints = [folded(f"{words.hint} {n}", hint.strip()) for n, hint in enumerate(exercise["hints"], 1)]
        below = [*hints, folded(words.tested, code_block(tests)), folded(words.solution, code_block(exercise["solution"]))]
        cells += [cell("markdown", heading, f"{here} text"), cell("code", exercise["stub"], f"{here} stub"),
                  cell("code", f'check("{exercise["name"]}")', f"{here} check"),
                  cell("markdown", "\n\n".join(below), f"{here} hints")]
    return whole([*cells, cell("markdown", f"{words.after}{after}", f"{name} next")])


def whole(cells: list[dict]) -> dict:
    "A notebook."
    return {"cells": cells, "metadata": METADATA, "nbformat": 4, "nbformat_minor": 5}


def last_notebook(cells: list, words: Words) -> dict:
    "The notebook that puts the reader's own functions together: one section of the workbook's page."
    start = next(n for n, each in enumerate(cells) if each.cell_type == "markdown" and each.source.startswith(SECTION))
    cells = chinese_workbook.cells_in_chinese(OWN, cells) if words == CHINESE else cells
    found = [cell("markdown", words.together, "together title"), set_up(),
             cell("code", START, "together start")]
    for number, each in enumerate(cells[start + 1 :]):
        if each.cell_type == "markdown" and each.source.startswith("## "):
            break
        if not exported(each):
            source = with_links(each.source, OWN, words) if each.cell_type == "markdown" else each.source
            found.append(cell(each.cell_type, source, f"together {number}"))
    return whole(found)


START = '''\
import torch

from annotated_transformer.workbook import use_own

DIRECTORY = "."  # where your notebooks are; on Colab a folder of your Drive'''


def write_workbook() -> None:
    "Write all workbook notebooks, and what their checks need."
    if not (NOTEBOOKS / EXERCISES).exists():
        return
    files = {}
    for words in (ENGLISH, CHINESE) if chinese_workbook.EXERCISES.exists() else (ENGLISH,):
        pages = pages_in_chinese() if words == CHINESE else read_contents()
        exercises = read_exercises(pages, words)
        names = list(dict.fromkeys(exercise["page"] for exercise in exercises))
        called = {page.name: page.label for page in pages}
        called[TOGETHER] = words.together.partition("\n")[0].removeprefix("# ")
        for name, after in zip(names, [*names[1:], TOGETHER]):
            [page] = [page for page in pages if page.name == name]
            own = [exercise for exercise in exercises if exercise["page"] == name]
            link = f"[{called[after]}]({after}.ipynb)"
            files[TARGET / words.folder / f"{name}.ipynb"] = notebook_of(page, own, link, words)
        files[TARGET / words.folder / f"{TOGETHER}.ipynb"] = last_notebook(cells_of(OWN), words)
    kept = ("name", "page", "module", "methods", "solution", "tests")
    files[TARGET / "exercises.json"] = [{key: exercise[key] for key in kept} for exercise in exercises]
    for old in [path for path in TARGET.rglob("*") if path.is_file()]:
        if old not in files:
            old.unlink()
    for path, content in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps(content, indent=1, ensure_ascii=False, sort_keys=path.suffix == ".ipynb") + "\n"
        path.write_text(text, encoding="utf-8", newline="\n")


def planted(root: Path = Path()) -> list[tuple[str, str, str]]:
    "Every planted mistake: the exercise, what is wrong, the wrong code."
    rows, found = json.loads((root / TARGET / "exercises.json").read_text(encoding="utf-8")), []
    solutions = {row["name"]: row["solution"] for row in rows}
    for name, listed in yaml.safe_load((root / NOTEBOOKS / EXERCISES).read_text(encoding="utf-8")).items():
        for mistake, (right, wrong) in listed["mistakes"].items():
            if solutions[name].count(right) != 1:
                refuse(f"{NOTEBOOKS / EXERCISES}, {name}, {mistake}: the solution must hold {right!r} once.")
            found.append((name, mistake, solutions[name].replace(right, wrong)))
    return found


def measure_mistakes() -> None:
    "Make each planted mistake and write down which tests notice it."
    sys.path.insert(0, "")
    from annotated_transformer import results
    from annotated_transformer.progress_bar import progress_bar
    from annotated_transformer.workbook import exercises, failures, written_as

    known, rows = exercises(), []
    for name, mistake, source in progress_bar(iterable=planted(), desc="mistakes"):
        noticed = [test for test, _ in failures(known[name], written_as(known[name], source))]
        rows.append({"exercise": name, "mistake": mistake, "noticed by": noticed, "tests": len(known[name].tests)})
        if not noticed:
            print(f"{name}, {mistake}: no test of the page notices it")
    results.write("results/checks/workbook.json", {"mistakes": rows}, command="python tools/workbook.py mistakes")


if __name__ == "__main__":
    os.chdir(Path(__file__).resolve().parents[1])
    measure_mistakes() if words_given(__doc__, ("mistakes",)) else write_workbook()
