"A user's program finds the types that the package promises: mypy reads `tests/typed_use.py`, strictly."
import ast
import inspect
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import get_args, get_type_hints

import pytest

import annotated_transformer
from annotated_transformer.config import TrainingConfig
from annotated_transformer.exchange.marian import from_marian
from annotated_transformer.figures.explorer import Explorer
from annotated_transformer.model_record import ModelRecord
from annotated_transformer.training.loop import train
from annotated_transformer.training.runs import Run

ROOT = Path(__file__).parents[3]


PLANTED = [  # in a user's program, and how much mypy says of it
    ("", 0), ("\nn: int = Translator.from_pretrained('x')('A girl reads.')\n", 1),
    ("\nfrom annotated_transformer import Transfomer\n", 1),
    ("\ndef wrong(maps: AttentionMaps) -> None:\n    plot_figure(maps, 3).savefg('x.png')\n    explore(maps).sav('x.html')\n", 2),
    # Of the call mypy says two things.
    ("\ndef wrong(translator: Translator) -> None:\n    translator('A', bach_tokens=4)\n    plot_heads('A girl reads.')\n", 3),
]


def test_the_public_surface_is_typed(tmp_path):
    pytest.importorskip("mypy", reason="the extra `dev` is not installed")
    programs = [tmp_path / f"typed_use_{number}.py" for number in range(len(PLANTED))]
    for program, (planted, _) in zip(programs, PLANTED):
        program.write_text((ROOT / "tests/typed_use.py").read_text(encoding="utf-8") + planted, encoding="utf-8")
    options = ["--config-file", ROOT / "pyproject.toml", "--cache-dir", tmp_path / "cache"]
    said = subprocess.run([sys.executable, "-m", "mypy", *options, *programs], cwd=ROOT, capture_output=True, text=True).stdout
    assert [len(re.findall(f"{program.name}:.* error: ", said)) for program in programs] == [n for _, n in PLANTED], said
    assert f"Found {sum(n for _, n in PLANTED)} errors in 4 files (checked {len(PLANTED)} source files)" in said


def test_every_public_name_of_the_package_is_used():
    text = (ROOT / "tests/typed_use.py").read_text(encoding="utf-8")
    names = set(annotated_transformer.__all__) - {"PAD", "UNK"}  # numbers, as EOS is
    assert all(name in text for name in names) and (ROOT / "annotated_transformer/py.typed").exists()


def test_type_checkers_read_the_public_names_as_they_are_at_run_time():
    tree = ast.parse((ROOT / "annotated_transformer/__init__.py").read_text(encoding="utf-8"))
    [written] = [node.value for node in tree.body if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"]
    known = {name.asname for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for name in node.names if name.asname}
    loaded = set(annotated_transformer._HOME)
    assert ast.literal_eval(written) == annotated_transformer.__all__  # of `*names` mypy sees nothing
    assert set(annotated_transformer.__all__) == loaded | {"EOS", "PAD", "UNK", "InputError"} and known == loaded


def test_the_types_of_the_public_names_can_be_looked_up():
    "As `show_doc` of nbdev does, and what checks types while a program runs."
    for name in annotated_transformer.__all__:
        if callable(public := getattr(annotated_transformer, name)):
            get_type_hints(public)
    assert get_type_hints(annotated_transformer.save_drawing)["figure"].__name__ == "Figure"


def bare(kind: object) -> bool:
    "Whether a type does not say what is in it: pyright, strict, complains wherever a program uses it."
    if isinstance(kind, list | tuple):
        return any(map(bare, kind))
    return kind in (dict, list, tuple, set, Callable) or bare(get_args(kind))


def test_the_types_that_users_meet_say_what_is_in_them():
    public = [value for name in annotated_transformer.__all__ if callable(value := getattr(annotated_transformer, name))]
    found = {}
    for thing in (*public, Explorer, ModelRecord, Run, TrainingConfig, train, from_marian):
        for name, one in vars(thing).items() if isinstance(thing, type) else [("", thing)]:
            one = getattr(one, "fget", None) or getattr(one, "func", None) or getattr(one, "__func__", one)
            if name[:1] != "_" and inspect.isfunction(one):
                found[f"{thing.__name__} {name}".strip()] = get_type_hints(one)
    assert "Run metrics" in found and "Explorer specification" in found and "AttentionMaps table" in found
    assert [name for name, hints in found.items() if bare([*hints.values()])] == []


def test_an_editor_offers_the_public_names_before_they_are_loaded():
    program = "import annotated_transformer as package; print(*dir(package))"
    offered = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    assert set(annotated_transformer.__all__) <= set(offered) and not {"Any", "TYPE_CHECKING"} & set(offered)
