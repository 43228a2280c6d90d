"The weights that ship: whole, by name, the same as those that were measured, and in the wheel."
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from annotated_transformer import InputError, Transformer, Translator, corpora
from annotated_transformer.checkpoints import PRETRAINED, damage, read_sums, sha256, shipped_models
from benchmarks.pretrained import RECIPES, parts

ROOT = Path(__file__).parents[2]
NAMES = ["multi30k-en-de", "numbers-en-de"]
FILES = {"model.safetensors", "config.json", "tokenizer.model", "search.json", "README.md"}


def record(name: str) -> dict:
    return json.loads((ROOT / f"results/{name}.json").read_text(encoding="utf-8"))


def shipped_run(name: str) -> dict:
    figures = record(name)["figures"]
    return next(found for found in figures["by_seed"] if found["seed"] == figures["best_seed"])


def test_what_ships_is_whole_and_small():
    assert shipped_models() == NAMES
    for name in NAMES:
        directory = PRETRAINED / name
        assert {path.name for path in directory.iterdir()} == FILES | {"SHA256SUMS"}
        assert set(read_sums(directory)) == FILES and damage(directory, FILES) is None
        assert sum(path.stat().st_size for path in directory.iterdir()) <= 12 * 2**20
        assert sha256(directory / "model.safetensors") == record(name)["figures"]["weights_sha256"]


def test_a_recipe_goes_on_from_the_end_of_each_part(tmp_path):
    (first, begun), (second, finished) = parts("multi30k-en-de", 3, tmp_path).items()
    assert begun.start_from is None and finished.start_from == str(first) and first != second
    assert begun.seed == finished.seed == 3 and begun.consistency == 0 < finished.consistency
    assert (begun.steps, finished.steps) == tuple(config.steps for config in RECIPES["multi30k-en-de"])
    [(alone, longer)] = parts("multi30k-en-de", 3, tmp_path, number=1, steps=99).items()
    assert alone == first and longer.steps == 99
    assert [config.steps for config in parts("multi30k-en-de", 3, tmp_path, steps=99).values()] == [begun.steps, 99]


def test_the_shipped_weights_are_what_the_recipe_says():
    record_, run = record("multi30k-en-de"), shipped_run("multi30k-en-de")
    recipe = [config.to_dict() for config in parts("multi30k-en-de", run["seed"], Path("runs/pretrained")).values()]
    assert record_["config"]["recipe"] == recipe and run["updates"] == [part["steps"] for part in recipe]


@pytest.mark.parametrize("name", NAMES)
def test_the_shipped_model_translates_as_the_run_that_was_measured(name):
    sources, translations = zip(*shipped_run(name)["examples"])
    translator = Translator.from_pretrained(name)
    assert translator.translate(list(sources)) == list(translations) and len(set(translations)) == len(sources)
    assert translator.alpha == shipped_run(name)["alpha"]
    weights = Transformer.from_pretrained(name).state_dict()
    assert all(weights[key].equal(value) for key, value in translator.model.state_dict().items())


def test_numbers_come_out_as_they_were_scored():
    pairs = list(corpora.load("numbers-en-de").test)[::40]
    lines = (ROOT / "results/numbers-en-de.test.txt").read_text(encoding="utf-8").splitlines()[::40]
    assert Translator.from_pretrained("numbers-en-de").translate([source for source, _ in pairs]) == lines


@pytest.mark.parametrize("name", sorted(FILES))
def test_a_damaged_file_is_refused_by_name(name, tmp_path):
    for path in (PRETRAINED / "numbers-en-de").iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    content = bytearray((tmp_path / name).read_bytes())
    content[len(content) // 2] ^= 1
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=f"{name} is damaged"):
        Translator.from_pretrained(tmp_path)


def test_the_card_says_what_was_measured():
    for name in NAMES:
        card, run = (PRETRAINED / name / "README.md").read_text(encoding="utf-8"), shipped_run(name)
        assert f"{run['parameters']:,} parameters" in card and record(name)["command"] in card
        for test, figures in run["tests"].items():
            assert f"{test}: {figures['multi30k_bleu']['score']:.2f} BLEU" in card


def test_the_wheel_holds_them_and_an_installation_of_it_translates(tmp_path):
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    build = [*pip, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(tmp_path), "."]
    place = tmp_path / "source"  # setuptools leaves its build directory where it builds
    shutil.copytree(ROOT / "annotated_transformer", place / "annotated_transformer", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("setup.py", "settings.ini", "pyproject.toml", "README.md", "LICENSE", "MANIFEST.in"):
        shutil.copy(ROOT / name, place)
    subprocess.run(build, cwd=place, check=True)
    [wheel] = tmp_path.glob("*.whl")
    held = set(zipfile.ZipFile(wheel).namelist())
    assert {f"annotated_transformer/pretrained/{name}/{file}" for name in NAMES for file in FILES} <= held
    [metadata] = [name for name in held if name.endswith(".dist-info/METADATA")]
    relative_link = re.compile(rb"\]\((?!https?:)")  # it would lead nowhere from a package index
    assert relative_link.search((ROOT / "README.md").read_bytes())
    assert not relative_link.search(zipfile.ZipFile(wheel).read(metadata))
    subprocess.run([*pip, "install", "--no-deps", "--target", str(tmp_path / "installed"), str(wheel)], check=True)
    source, expected = shipped_run("multi30k-en-de")["examples"][0]
    done = subprocess.run(
        [sys.executable, "-m", "annotated_transformer", "translate"], input=f"{source}\n", cwd=tmp_path / "installed",
        env={**os.environ, "PYTHONPATH": str(tmp_path / "installed")}, check=True, stdout=subprocess.PIPE, text=True,
    )
    assert done.stdout == f"{expected}\n"
