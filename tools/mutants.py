"""Do the tests bite? Change one thing in the package, run the tests of that module, and see whether they turn red.

python tools/mutants.py                          300 mutants of the core, drawn with seed 1; prints those that no test notices
python tools/mutants.py --modules translation.bleu   of these modules alone
python tools/mutants.py --sample 50 --seed 2     fewer, others
python tools/mutants.py --again FILE             those that the results file FILE says no test noticed: after mending

A mutant is a module with one changed operator, comparison, constant or truth value. It is noticed when tests/WING/test_NAME.py,
the tests made from its notebook, or those of tests/system/*/test_details*.py whose names begin with NAME fail, or take ten
times as long. Each runs in its own process on a copy of the package, so
nothing here is touched. Third-party packages are imported once, before the fork. With --out the figures go to a results file.
"""
import argparse
import ast
import contextlib
import importlib
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from export_tests import test_file

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = "annotated_transformer"
CORE = """config files model.attention model.embedding model.fast_attention model.feed_forward model.layers
model.position model.pretrained model.regularization model.transformer model.variants
data.batching data.corpora data.large_corpora data.parallel_text data.tokenizer data.treebanks data.tree_repair data.trees
training.averaging training.checkpoints training.chunked_loss training.devices training.loading training.loop training.metrics
training.optimizer training.processes training.r_drop training.runs training.shares training.stopping
translation.bleu translation.fast_search translation.kv_cache translation.scores translation.search translation.translator
parsing.evalb parsing.parser parsing.tree_search
figures.attention_maps figures.head_scores tables.layer_types tables.noise tables.training_cost tables.variations""".split()
FOREIGN = ("pytest", "huggingface_hub", "sacrebleu", "sacremoses", "sentencepiece", "torch._dynamo", "torch.utils.tensorboard")
ALIKE = ROOT / "tools" / "mutants_alike.txt"  # mutants that no test can tell apart, each with the reason

COMPARISONS = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}
OPERATORS = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult, ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult, ast.And: ast.Or, ast.Or: ast.And, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.MatMult: ast.Add,
}


@dataclass(frozen=True)
class Mutant:
    "One change: its module, the number of the line, the line with both forms in [[ ]], the source of the changed module."
    module: str
    line: int
    text: str
    source: str

    def __str__(self) -> str:
        return f"{self.module}:{self.line}: {self.text}"

    @property
    def name(self) -> str:
        "What stays when lines are added above."
        return f"{self.module}: {self.text}"


def changes(node: ast.AST) -> Iterator[tuple[str, object]]:
    "What can be changed in one node: the name of its field, and the new value."
    match node:
        case ast.Compare():
            for i, kind in enumerate(node.ops):
                yield "ops", [*node.ops[:i], COMPARISONS[type(kind)](), *node.ops[i + 1 :]]
        case ast.BinOp() | ast.BoolOp() | ast.AugAssign() if type(node.op) in OPERATORS:
            yield "op", OPERATORS[type(node.op)]()
        case ast.UnaryOp(op=ast.Not()):
            yield "op", ast.UAdd()  # `not x` becomes `+x`: replaced by bool(x) when written
        case ast.Constant(value=bool()):
            yield "value", not node.value
        case ast.Constant(value=int() | float()):
            yield "value", node.value + 1


def hidden(tree: ast.Module) -> set[int]:
    "Nodes that are left alone: annotations and decorators, which no update or search reads, and messages of errors."
    roots: list[ast.AST] = []
    for node in ast.walk(tree):
        roots += [x for x in (getattr(node, "annotation", None), getattr(node, "returns", None)) if x is not None]
        roots += getattr(node, "decorator_list", [])
        roots += [node.exc] if isinstance(node, ast.Raise) and node.exc is not None else []
        roots += [node] if isinstance(node, ast.JoinedStr) else []
    return {id(node) for root in roots for node in ast.walk(root)}


def source_file(root: Path, module: str) -> Path:
    "Where a module stands: model.attention in annotated_transformer/model/attention.py."
    return root / PACKAGE / f"{module.replace('.', '/')}.py"


def mutants(module: str) -> list[Mutant]:
    "All mutants of a module, in the order of its source."
    text = source_file(ROOT, module).read_text(encoding="utf-8")
    tree = ast.parse(text)
    left_alone, lines, found = hidden(tree), text.splitlines(), []
    for node in ast.walk(tree):
        if id(node) in left_alone:
            continue
        for field, new in changes(node):
            old = getattr(node, field)
            setattr(node, field, new)
            after = ast.unparse(node)
            if isinstance(node, ast.UnaryOp):
                after = after.replace("+", "bool(", 1) + ")"
            setattr(node, field, old)
            first, last = node.lineno - 1, node.end_lineno - 1
            head = lines[first].encode()[: node.col_offset].decode()
            tail = lines[last].encode()[node.end_col_offset :].decode()
            put = after if isinstance(node, ast.stmt) else f"({after})"
            whole = "\n".join(lines[first : last + 1])
            start = whole[len(head) : len(whole) - len(tail)]
            source = "\n".join([*lines[:first], f"{head}{put}{tail}", *lines[last + 1 :]]) + "\n"
            shown = f"{head.lstrip()}[[{' '.join(start.split())} -> {after}]]{tail}"
            found.append(Mutant(module, node.lineno, shown, source))
    return sorted(found, key=lambda mutant: mutant.line)


def tests_pass(mutant: Mutant, seconds: float) -> bool:
    "Whether the module's tests stay green with this change; a process of its own runs them, for at most so long."
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place:
        child = os.fork()
        if child == 0:
            os.setsid()
            os._exit(run_tests(mutant, Path(place)))
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            done, status = os.waitpid(child, os.WNOHANG)
            if done:
                return os.waitstatus_to_exitcode(status) == 0
            time.sleep(0.02)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)
        os.waitpid(child, 0)
        return False


def time_limit(module: str) -> float:
    "Ten times what the module's tests take without any change, and ten seconds; they must be green."
    source = source_file(ROOT, module).read_text(encoding="utf-8")
    begin = time.monotonic()
    if not tests_pass(Mutant(module, 0, "", source), 600):
        raise SystemExit(f"the tests of {module} are red without any change")
    return 10 + 10 * (time.monotonic() - begin)


def import_foreign() -> None:
    "Import what the package and its tests take from elsewhere, so that no child pays for it; each reads the package anew."
    sys.path.insert(0, str(ROOT))
    for name in [*(f"{PACKAGE}.{module}" for module in CORE), *FOREIGN]:
        importlib.import_module(name)
    sys.path.remove(str(ROOT))
    for name in [name for name in sys.modules if name.partition(".")[0] == PACKAGE]:
        del sys.modules[name]


def run_tests(mutant: Mutant, place: Path) -> int:
    "In the child: a copy of the package with the change, before all else on the path, and pytest on the module's tests."
    import pytest

    package, heavy = place / PACKAGE, ("pretrained", "workbook")
    shutil.copytree(ROOT / PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__", *heavy))
    for name in heavy:
        (package / name).symlink_to(ROOT / PACKAGE / name)
    source_file(place, mutant.module).write_text(mutant.source, encoding="utf-8", newline="\n")
    for name in ("results", "benchmarks", "nbs"):  # what tests read beside the package
        (place / name).symlink_to(ROOT / name)
    with open(os.devnull, "w") as nothing:
        os.dup2(nothing.fileno(), 1)
        os.dup2(nothing.fileno(), 2)
    os.environ |= {"PYTHONPATH": str(place), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    os.chdir(place)
    sys.path.insert(0, str(place))
    tests = [str(ROOT / "tests" / test_file(mutant.module)), *DETAILS.get(mutant.module, ())]
    options = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--rootdir", str(place), "-c", os.devnull]
    return int(pytest.main([*tests, *options]))


def details() -> dict[str, list[str]]:
    "The tests by hand of each module, by the module that their names begin with."
    found = {}
    for path in sorted((ROOT / "tests" / "system").rglob("test_details*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                own = [name for name in CORE if node.name.startswith(f"test_{name.rpartition('.')[2]}_")]
                if not own:
                    raise ValueError(f"{path}: {node.name} begins with the name of no module that is changed here")
                module = max(own, key=lambda name: len(name.rpartition(".")[2]))
                found.setdefault(module, []).append(f"{path}::{node.name}")
    return found


DETAILS = details()


def read_alike() -> set[str]:
    "The mutants that are known to do the same as the original: the lines of a text file; reasons begin with #."
    lines = ALIKE.read_text(encoding="utf-8").splitlines()
    return {line for line in lines if line and not line.startswith("#")}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--modules", nargs="+", default=CORE, choices=CORE, metavar="MODULE")
    parser.add_argument("--sample", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--again", type=Path, metavar="FILE")
    parser.add_argument("--workers", type=int, default=1, help="mutants at a time")
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != ROOT]
    import_foreign()
    import torch

    torch.set_num_threads(1)
    drawn = [mutant for module in args.modules for mutant in mutants(module)]
    total = len(drawn)
    if args.again:
        names = set(json.loads(args.again.read_text(encoding="utf-8"))["figures"]["not_noticed"])
        drawn = [mutant for mutant in drawn if mutant.name in names]
    elif args.sample < total:
        drawn = random.Random(args.seed).sample(drawn, args.sample)
    drawn.sort(key=lambda mutant: (mutant.module, mutant.line))
    alike, survivors, by_module = read_alike(), [], Counter()
    with ThreadPoolExecutor(args.workers) as pool:
        modules = sorted({mutant.module for mutant in drawn})
        limits = dict(zip(modules, pool.map(time_limit, modules)))
        green = pool.map(lambda mutant: tests_pass(mutant, limits[mutant.module]), drawn)
        for number, (mutant, survived) in enumerate(zip(drawn, green), 1):
            by_module[mutant.module, not survived] += 1
            if survived:
                survivors.append(mutant)
                known = " (cannot be told apart)" * (mutant.name in alike)
                print(f"{number}/{len(drawn)}  not noticed{known}: {mutant}", flush=True)
    same = [mutant for mutant in survivors if mutant.name in alike]
    told = len(drawn) - len(same)
    noticed = len(drawn) - len(survivors)
    print(f"{noticed} of {told} mutants noticed; {len(same)} more cannot be told apart by a test; {total} in all")
    if args.out:
        sys.path.insert(0, str(ROOT))
        from annotated_transformer import results

        table = {m: {"mutants": by_module[m, True] + by_module[m, False], "noticed": by_module[m, True]} for m in args.modules}
        figures = {
            "mutants": len(drawn), "noticed": noticed, "alike": len(same), "in_all": total,
            "by_module": table, "not_noticed": [mutant.name for mutant in survivors if mutant not in same],
        }
        results.write(args.out, figures, command=["python", "tools/mutants.py", *sys.argv[1:]], seed=args.seed)


if __name__ == "__main__":
    main()
