"What holds of all benchmarks: what they import, and who writes their figures."
import ast
import re
from pathlib import Path

import pytest

import annotated_transformer
from annotated_transformer import InputError
from benchmarks import environments, everyday, explorer, installation, out_of_depth, pretrained, seen, tree_search
from benchmarks.shared.side_by_side import choose, command_of, mean_and_deviation, save

FILES = sorted(Path(__file__).parents[3].glob("benchmarks/**/*.py"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_without_the_command_line_and_with_one_writer(path):
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    origins = [f"{node.module}.{alias.name}" for node in nodes if isinstance(node, ast.ImportFrom) for alias in node.names]
    origins += [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    assert not [name for name in origins if name.startswith("annotated_transformer.command_line.main")]
    assert not [name for name in origins if name.endswith((".environment", ".read_state", ".checkpoint_directories"))]


@pytest.mark.parametrize("path", [path for path in FILES if "def main(" in path.read_text("utf-8")], ids=lambda path: path.stem)
def test_what_the_user_can_mend_ends_each_with_one_sentence(path):
    [main] = [node for node in ast.parse(path.read_text(encoding="utf-8")).body if getattr(node, "name", "") == "main"]
    assert main.decorator_list and ast.unparse(main.decorator_list[0]) == "one_sentence()"


@pytest.mark.parametrize("benchmark", [everyday, explorer, out_of_depth, pretrained, tree_search], ids=lambda one: one.__name__)
def test_a_directory_is_no_file_of_figures_as_one_hears_at_once(benchmark, tmp_path, refused, monkeypatch):
    named = ["everyday-en-de"] * (benchmark is pretrained)
    monkeypatch.setattr("sys.argv", [benchmark.__name__, *named, "--out", str(tmp_path)])
    assert refused(benchmark.main).endswith(f"--out: {tmp_path} is a directory: name a file\n")


def test_what_a_measurement_of_installations_lacks_is_one_sentence(tmp_path, refused, monkeypatch):
    monkeypatch.setattr(environments.shutil, "which", lambda name: None)
    assert refused(environments.main, []).endswith("error: this needs uv: pip install uv\n")
    monkeypatch.setattr(installation, "measure", lambda *_: pytest.fail("something was measured"))
    assert f"{tmp_path} is no checkout: it has no settings.ini\n" in refused(installation.main, ["--before", str(tmp_path)])


def test_a_corpus_that_cannot_be_fetched_is_one_sentence(refused, monkeypatch):
    def without_a_network(name):
        raise InputError(f"{name} could not be fetched")

    monkeypatch.setattr("sys.argv", ["seen"])
    monkeypatch.setattr(seen.corpora, "load", without_a_network)
    assert refused(seen.main) == "tatoeba-en-de could not be fetched\n"


def test_one_setting_after_another_is_chosen_with_those_before():
    tried = []

    def score(a, b):
        tried.append((a, b))
        return {(1, 5): 0, (2, 5): 9, (3, 5): 9, (2, 6): 8, (2, 7): 10}[a, b]

    chosen, scores = choose(score, {"a": (1, 2, 3), "b": (6, 7)}, {"a": 1, "b": 5})
    assert chosen == {"a": 2, "b": 7}  # the first of two that are equal
    assert scores == {"a": {1: 0, 2: 9, 3: 9}, "b": {6: 8, 7: 10}} and len(tried) == 5


def test_one_seed_has_no_deviation():
    assert mean_and_deviation([3.0]) == {"mean": 3.0, "deviation": None}
    assert mean_and_deviation([1.0, 3.0]) == {"mean": 2.0, "deviation": 2**0.5}


def test_the_command_that_is_recorded_is_the_one_that_was_given(tmp_path, monkeypatch):
    assert command_of("benchmarks.x", ["--out", "y"]) == ["python", "-m", "benchmarks.x", "--out", "y"]
    monkeypatch.setattr("sys.argv", ["elsewhere/x.py", "--rounds", "2"])
    record = save(tmp_path / "x.json", "benchmarks.x", {"n": 1}, {"size": 2})
    assert record["command"] == "python -m benchmarks.x --rounds 2" and record["seed"] == 0


def test_fresh_environments_have_every_extra_of_today():
    assert set(environments.EXTRAS) == {"", "all", *annotated_transformer.EXTRAS.values()}


def test_no_result_names_a_path_of_the_machine_that_made_it():
    results = FILES[0].parents[1] / "results"
    found = {path.name: re.findall(r'"/\w+/[^"]*"', path.read_text(encoding="utf-8")) for path in results.rglob("*.json")}
    assert len(found) > 50 and {name: paths for name, paths in found.items() if paths} == {}
