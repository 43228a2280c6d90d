"Imports run one way, so that each notebook can be read, and each module used, without those above it; nothing is too long."
import ast
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "annotated_transformer"
sys.path.insert(0, str(ROOT / "tools"))
from contents import read_contents  # noqa: E402

FLOOR = {page.module: page.floor for page in read_contents(ROOT / "nbs") if page.module}
MODULES = sorted(path.stem for path in PACKAGE.glob("*.py") if not path.stem.startswith("_"))
LONGEST_MODULE, LONGEST_FUNCTION = 400, 60  # lines


def imported(module: str) -> set[str]:
    "The modules of ours that a module imports, anywhere in it; the package's root is everyone's."
    found = set()
    for node in ast.walk(ast.parse((PACKAGE / f"{module}.py").read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            origin = f"annotated_transformer.{node.module or ''}".rstrip(".") if node.level else node.module
            found.update(f"{origin}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
    ours = [name.split(".")[1] for name in found if name.startswith("annotated_transformer.")]
    return {name for name in ours if (PACKAGE / f"{name}.py").exists()}


@pytest.mark.parametrize("module", MODULES)
def test_a_module_imports_only_from_floors_below_its_own(module):
    assert module in FLOOR, f"annotated_transformer/{module}.py comes from no notebook that nbs/contents.yml lists"
    too_high = [f"{other} ({FLOOR[other]})" for other in sorted(imported(module)) if FLOOR[other] >= FLOOR[module]]
    assert not too_high, (f"{module} (floor {FLOOR[module]} in nbs/contents.yml) imports {', '.join(too_high)}: "
                          "only lower floors may be imported")


def test_no_module_imports_itself_by_way_of_others():
    list(TopologicalSorter({module: imported(module) for module in MODULES}).static_order())  # a CycleError names the circle


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
    hold([(len((PACKAGE / f"{name}.py").read_text(encoding="utf-8").splitlines()), name) for name in MODULES], LONGEST_MODULE)


@pytest.mark.parametrize("directory", ["annotated_transformer", "tools"])
def test_no_function_is_too_long_to_be_seen_at_once(directory):
    paths = [path for path in sorted((ROOT / directory).glob("*.py")) if path.stem not in ("__init__", "_modidx")]
    hold([length for path in paths for length in lengths_of_functions(path)], LONGEST_FUNCTION)


def test_no_pickle_is_ever_loaded():
    # A pickle can run code when it is opened: weights travel as safetensors, everything else as JSON or plain arrays.
    for path in PACKAGE.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                names = {alias.name for alias in node.names} | {getattr(node, "module", None)}
                assert not names & {"pickle", "dill", "joblib", "cloudpickle"}, path
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                assert (node.value.id, node.attr) != ("torch", "load"), path
