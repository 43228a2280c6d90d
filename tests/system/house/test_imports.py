"Imports run one way, from wing to wing; nothing is too long; no pickle is loaded."
import ast
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PACKAGE = ROOT / "annotated_transformer"
LONGEST_MODULE, LONGEST_FUNCTION = 400, 60  # lines
# The wings from the ground up: a module imports from its own wing and from those on lower floors. "" is the package's root.
FLOORS = [{""}, {"model", "data"}, {"figures", "training"}, {"translation"}, {"parsing", "tables", "exchange"}, {"command_line"}]
FLOOR = {wing: number for number, floor in enumerate(FLOORS) for wing in floor}


def dotted(path: Path) -> str:
    "model.attention for annotated_transformer/model/attention.py."
    return ".".join(path.relative_to(PACKAGE).with_suffix("").parts)


FILES = {dotted(path): path for path in sorted(PACKAGE.rglob("*.py")) if not path.stem.startswith("_")}


def imported(module: str) -> set[str]:
    "The modules of ours that a module imports, anywhere in it; the package's `__init__` is everyone's."
    found, package = set(), ["annotated_transformer", *module.split(".")[:-1]]
    for node in ast.walk(ast.parse(FILES[module].read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            origin = ".".join([*above, *filter(None, [node.module])])
            found |= {origin, *(f"{origin}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return {name.removeprefix("annotated_transformer.") for name in found} & FILES.keys()


def wing_of(module: str) -> str:
    return module.rpartition(".")[0]


@pytest.mark.parametrize("module", FILES)
def test_imports_run_one_way_from_wing_to_wing(module):
    here = wing_of(module)
    assert here in FLOOR, f"{module} stands in no wing that we have: {', '.join(FLOOR)}"
    wrong = [other for other in sorted(imported(module)) if wing_of(other) != here and FLOOR[wing_of(other)] >= FLOOR[here]]
    assert not wrong, f"{module} imports {', '.join(wrong)}, which do not stand below it"


def test_no_module_imports_itself_by_way_of_others():
    list(TopologicalSorter({module: imported(module) for module in FILES}).static_order())  # a CycleError names the circle


def lengths_of_functions(path: Path) -> list[tuple[int, str]]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    functions = [node for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
    return [(node.end_lineno - node.lineno + 1, f"{path.parent.name}/{path.name}: {node.name}") for node in functions]


def hold(measured: list[tuple[int, str]], limit: int):
    "Nothing is longer than the limit; when something is, pytest shows the longest of what was measured."
    print(f"{len(measured)} measured", *(f"{lines:4} {name}" for lines, name in sorted(measured, reverse=True)[:40]), sep="\n")
    too_long = [f"{name} ({lines} lines)" for lines, name in sorted(measured, reverse=True) if lines > limit]
    assert measured and not too_long, f"more than {limit} lines: {', '.join(too_long)}"


def test_no_module_is_too_long_to_be_read_in_one_go():
    hold([(len(path.read_text(encoding="utf-8").splitlines()), name) for name, path in FILES.items()], LONGEST_MODULE)


@pytest.mark.parametrize("directory", ["annotated_transformer", "tools"])
def test_no_function_is_too_long_to_be_seen_at_once(directory):
    paths = [path for path in sorted((ROOT / directory).rglob("*.py")) if path.stem not in ("__init__", "_modidx")]
    hold([length for path in paths for length in lengths_of_functions(path)], LONGEST_FUNCTION)


def test_no_pickle_is_ever_loaded():
    # A pickle can run code when it is opened: weights travel as safetensors, everything else as JSON or plain arrays.
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                names = {alias.name for alias in node.names} | {getattr(node, "module", None)}
                assert not names & {"pickle", "dill", "joblib", "cloudpickle"}, path
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                assert (node.value.id, node.attr) != ("torch", "load"), path
