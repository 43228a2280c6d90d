"""Write docs/transformer.py, the paper's model and a loop in one file, from the readable forms on the book's pages.

tools/one_file_template.txt is the outline. A line `#: PAGE NAME` in it is replaced by the definition of NAME, a function,
a class or CLASS.METHOD, from the page PAGE.
"""
import ast
import functools
import re
import textwrap
from pathlib import Path

from contents import notebook_of

TEMPLATE, OUT = Path("tools/one_file_template.txt"), Path("docs/transformer.py")
MOST_LINES = 350


@functools.cache
def definitions(page: str) -> dict[str, str]:
    "By name, all that the cells of a page define at their top level, and the methods of their classes; the first counts."
    found: dict[str, str] = {}
    for cell in notebook_of(page)["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] != "code":
            continue
        try:
            statements = ast.parse(source).body
        except SyntaxError:  # a command for the shell
            continue
        for one in statements:
            if isinstance(one, (ast.FunctionDef, ast.ClassDef)):
                found.setdefault(one.name, text_of(source, one))
            if isinstance(one, ast.ClassDef):
                for method in one.body:
                    if isinstance(method, ast.FunctionDef):
                        found.setdefault(f"{one.name}.{method.name}", textwrap.dedent(text_of(source, method)))
    return found


def text_of(source: str, node: ast.FunctionDef | ast.ClassDef) -> str:
    "The lines of a definition, its decorators and comments included."
    first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
    return "\n".join(source.splitlines()[first - 1 : node.end_lineno])


def written() -> str:
    "The file's text."
    def pulled(match: re.Match) -> str:
        indent, page, name = match.groups()
        if name not in definitions(page):
            raise SystemExit(f"{TEMPLATE}: nbs/{page}.ipynb defines no {name}: name what it defines")
        return textwrap.indent(definitions(page)[name], indent)

    text = re.sub(r"^( *)#: (\S+) (\S+)$", pulled, TEMPLATE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    if (lines := text.count("\n")) > MOST_LINES:
        raise SystemExit(f"{OUT} would have {lines} lines, and {MOST_LINES} at most are one sitting: shorten {TEMPLATE}")
    return text


def write_one_file() -> None:
    "Write it, where it has changed. A book without these pages has no such file."
    pages = re.findall(r"#: (\S+) ", TEMPLATE.read_text(encoding="utf-8"))
    if not any(Path("nbs", f"{page}.ipynb").exists() for page in pages):
        return
    if not OUT.exists() or OUT.read_text(encoding="utf-8") != written():
        OUT.parent.mkdir(exist_ok=True)
        OUT.write_text(written(), encoding="utf-8", newline="\n")
