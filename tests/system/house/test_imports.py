"Imports run one way, from wing to wing, and in no circle; nothing is too long; no pickle is loaded."
import ast
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
LONGEST_MODULE, LONGEST_FUNCTION = 400, 60  # lines
# The wings from the ground up: a module imports from its own wing and from those on lower floors. "" is the package's root.
FLOORS = [{""}, {"model", "data"}, {"figures", "training"}, {"translation"}, {"parsing", "tables", "exchange", "workbook"},
          {"command_line"}]
FLOOR = {wing: number for number, floor in enumerate(FLOORS) for wing in floor}


def modules(directory: str) -> dict[str, Path]:
    "The modules of a directory by the names that an import gives them; tools/ is no package, so there a bare name is enough."
    above = ROOT / directory if directory == "tools" else ROOT
    files = sorted((ROOT / directory).rglob("*.py"))
    return {".".join(path.relative_to(above).with_suffix("").parts): path for path in files if not path.stem.startswith("_")}


FILES = {directory: modules(directory) for directory in ("annotated_transformer", "tools", "benchmarks")}
PACKAGE = FILES["annotated_transformer"]


def imported(module: str, files: dict[str, Path]) -> set[str]:
    "The modules among these files that one of them imports, anywhere in it; a package's `__init__` is everyone's."
    found, package = set(), module.split(".")[:-1]
    for node in ast.walk(ast.parse(files[module].read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            origin = ".".join([*above, *filter(None, [node.module])])
            found |= {origin, *(f"{origin}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return found & files.keys()


def wing_of(module: str) -> str:
    "model for annotated_transformer.model.attention."
    return module.removeprefix("annotated_transformer.").rpartition(".")[0]


@pytest.mark.parametrize("module", PACKAGE)
def test_imports_run_one_way_from_wing_to_wing(module):
    here = wing_of(module)
    assert here in FLOOR, f"{module} stands in no wing that we have: {', '.join(FLOOR)}"
    others = sorted(imported(module, PACKAGE))
    wrong = [other for other in others if wing_of(other) != here and FLOOR[wing_of(other)] >= FLOOR[here]]
    assert not wrong, f"{module} imports {', '.join(wrong)}, which do not stand below it"


@pytest.mark.parametrize("directory", FILES)
def test_no_module_imports_itself_by_way_of_others(directory):
    files = FILES[directory]
    list(TopologicalSorter({module: imported(module, files) for module in files}).static_order())  # a CycleError names the circle


def lengths_of_functions(path: Path) -> list[tuple[int, str]]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    functions = [node for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
    return [(node.end_lineno - node.lineno + 1, f"{path.parent.name}/{path.name}: {node.name}") for node in functions]


def hold(measured: list[tuple[int, str]], limit: int):
    "Nothing is longer than the limit; when something is, pytest shows the longest of what was measured."
    print(f"{len(measured)} measured", *(f"{lines:4} {name}" for lines, name in sorted(measured, reverse=True)[:40]), sep="\n")
    too_long = [f"{name} ({lines} lines)" for lines, name in sorted(measured, reverse=True) if lines > limit]
    assert measured and not too_long, f"more than {limit} lines: {', '.join(too_long)}"


@pytest.mark.parametrize("directory", FILES)
def test_no_module_is_too_long_to_be_read_in_one_go(directory):
    lengths = [(len(path.read_text(encoding="utf-8").splitlines()), name) for name, path in FILES[directory].items()]
    hold(lengths, LONGEST_MODULE)


@pytest.mark.parametrize("directory", FILES)
def test_no_function_is_too_long_to_be_seen_at_once(directory):
    hold([length for path in FILES[directory].values() for length in lengths_of_functions(path)], LONGEST_FUNCTION)


def test_no_pickle_is_ever_loaded():
    # A pickle can run code when it is opened: weights travel as safetensors, everything else as JSON or plain arrays.
    for path in (ROOT / "annotated_transformer").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                names = {alias.name for alias in node.names} | {getattr(node, "module", None)}
                assert not names & {"pickle", "dill", "joblib", "cloudpickle"}, path
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                assert (node.value.id, node.attr) != ("torch", "load"), path
