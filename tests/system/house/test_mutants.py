"tools/mutants.py changes a module and runs its tests: those by hand are found by the module's name."
import ast
from pathlib import Path

from mutants import CORE, DETAILS, mutants, read_alike

ROOT = Path(__file__).parents[3]


def test_every_detail_is_tested_with_its_module():
    files = [*ROOT.glob("tests/system/*/test_details*.py")]
    names = [node.name for path in files for node in ast.parse(path.read_text(encoding="utf-8")).body
             if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")]
    found = [place.rpartition("::")[2] for places in DETAILS.values() for place in places]
    assert len(files) >= 2 and sorted(found) == sorted(names)
    assert DETAILS.keys() <= set(CORE)


def test_a_mutant_differs_from_its_module_in_one_place_and_can_be_read():
    source = (ROOT / "annotated_transformer/data/batching.py").read_text(encoding="utf-8")
    drawn = mutants("data.batching")
    for mutant in drawn:
        assert ast.dump(ast.parse(mutant.source)) != ast.dump(ast.parse(source)), mutant
        changed = [pair for pair in zip(source.splitlines(), mutant.source.splitlines(), strict=True) if len(set(pair)) == 2]
        assert len(changed) == 1, mutant
    assert len(drawn) > 20


def test_every_mutant_that_is_known_to_be_alike_can_still_be_drawn():
    modules = {name.partition(": ")[0] for name in read_alike()}
    assert read_alike() - {mutant.name for module in modules for mutant in mutants(module)} == set()
