"The contents of a cell in a reader's notebook, Python or not; and what is said when it is run."
import ast
import re

__all__ = ["difference", "names_defined", "parsed_cell", "text_of"]


def names_defined(source: str) -> list[str]:
    "The functions and classes of a cell, Python or not."
    return re.findall(r"(?m)^(?:def|class)\s+(\w+)", source)


def parsed_cell(source: str) -> tuple[list[ast.stmt], str | None]:
    "The statements of a cell, and what is wrong if it is not Python."
    source = re.sub(r"(?m)^(\s*)[%!].*$", r"\1pass", source)  # Jupyter's own commands
    try:
        return ast.parse(source).body, None
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:  # a null character in it, or endless brackets
        line, text = getattr(error, "lineno", 1), getattr(error, "text", "") or ""
        return [], f"line {line} of its cell is not Python ({getattr(error, 'msg', error)}): `{text.strip()}`"


def text_of(value: object) -> str:
    "Like `str`; empty if a reader's own class fails at it."
    try:
        return str(value)
    except Exception:
        return ""


def difference(message: str) -> str:
    "What torch.testing found, in short."
    if found := re.search(r"Mismatched elements: (\d+) / (\d+)", message):
        largest = re.search(r"Greatest absolute difference: (\S+)", message)
        return f"{found[1]} of {found[2]} numbers differ" + (f", by up to {float(largest[1]):.3g}" if largest else "")
    if found := re.search(r"'shape' do not match: torch.Size\((.*?)\) != torch.Size\((.*?)\)", message):
        return f"one shape is {found[1]}, the other {found[2]}"
    return " ".join(message.split("\n\n")[-1].split()).rstrip(".")
