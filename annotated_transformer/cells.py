"What stands in a cell of a reader's notebook, Python or not."
import ast
import re

__all__ = ["names_defined", "parsed_cell"]


def names_defined(source: str) -> list[str]:
    "The functions and classes of a cell, Python or not."
    return re.findall(r"(?m)^(?:def|class)\s+(\w+)", source)


def parsed_cell(source: str) -> tuple[list[ast.stmt], str | None]:
    "The statements of a cell, and what is wrong with it where it is not Python."
    source = re.sub(r"(?m)^(\s*)[%!].*$", r"\1pass", source)  # Jupyter's own commands
    try:
        return ast.parse(source).body, None
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:  # a zero in it, or brackets without end
        line, text = getattr(error, "lineno", 1), getattr(error, "text", "") or ""
        return [], f"line {line} of its cell is not Python ({getattr(error, 'msg', error)}): `{text.strip()}`"
