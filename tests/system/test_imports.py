"Imports run one way, so that each room can be read, and each module used, without those above it."
import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "annotated_transformer"

# A module imports from the lines above its own alone; those of one line know nothing of each other.
FLOORS = [
    {"attention", "feed_forward", "embedding", "position", "optimizer", "regularization",
     "checkpoints", "processes", "tokenizer", "bleu", "drawing", "trees", "pairs"},
    {"layers", "layer_types", "batching", "averaging", "explorer", "evalb", "downloads", "number_words", "results",
     "additive_attention", "learned_positions"},
    {"everyday", "treebanks", "pre_norm"},
    {"transformer", "corpora"},
    {"fast_decoding", "marian_parts"},
    {"decoding"},
    {"attention_maps", "runs"},
    {"models", "launch", "training_cost", "progress"},
    {"translation", "training", "options"},
    {"heads", "parse_maps"},
    {"parsing", "variations", "exchange"},
    {"filters"},
    {"cli"},
]
FLOOR = {module: floor for floor, modules in enumerate(FLOORS) for module in modules}
MODULES = sorted(path.stem for path in PACKAGE.glob("*.py") if not path.stem.startswith("_"))


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
    assert module in FLOOR, f"{module} has no floor: give it one in FLOORS"
    too_high = {other for other in imported(module) if FLOOR[other] >= FLOOR[module]}
    assert not too_high, f"{module} imports {', '.join(sorted(too_high))}, which it must not know"


def test_no_pickle_is_ever_loaded():
    # A pickle can run code when it is opened: weights travel as safetensors, everything else as JSON or plain arrays.
    for path in PACKAGE.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                names = {alias.name for alias in node.names} | {getattr(node, "module", None)}
                assert not names & {"pickle", "dill", "joblib", "cloudpickle"}, path
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                assert (node.value.id, node.attr) != ("torch", "load"), path
