"""tools/export_tests.py turns cells into tests that hold what the cells held; tools/colab.py puts in what Colab needs;
tools/build.py tells when anything is out of step."""
import asyncio
import json
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from build import unfinished
from colab import pins, with_colab
from export_tests import convert, export_tests
from IPython.core.inputtransformer2 import TransformerManager
from lab import Contents
from metadata import METADATA, with_metadata
from repository import settings
from streams import joined

ROOT = Path(__file__).parents[3]


def notebook(path: Path, *sources: str, module: str = "toy") -> Path:
    "A notebook that exports the module and has these code cells below its title."
    cells = [dict(cell_type="markdown", id="title", metadata={}, source="# A toy\n\nIt halves.")]
    cells += [dict(cell_type="code", id=f"cell-{n}", metadata={}, execution_count=None, outputs=[], source=source)
             for n, source in enumerate([f"#| default_exp {module}", *sources])]
    path.write_text(json.dumps(dict(cells=cells, metadata={}, nbformat=4, nbformat_minor=5)), encoding="utf-8")
    return path


EXPORTED = "#| export\nimport math\nfrom collections import Counter\n\ndef half(x):\n    return x / 2\n\n_SECRET = 7"


def test_only_the_imports_that_a_test_uses_are_written(tmp_path):
    test = ("#| test halves\nlengths = [len(word) for word in ('a', 'bcd')]\n"
            "assert half(lengths[1]) == 1.5 and math.pi and np.ones(_SECRET).any()")
    module, text = convert(notebook(tmp_path / "00_toy.ipynb", EXPORTED, "import numpy as np\nimport json", test))
    assert module == "toy"
    imports = [line for line in text.splitlines() if "import" in line]
    assert imports == ["import math", "import numpy as np", "from annotated_transformer.toy import _SECRET, half"]


def test_indenting_changes_no_string(tmp_path):
    cell = ('#| test strings\ntext = """first\n  second\n\nthird\u2028still third"""\nvalue = 3\n'
            'formatted = f"""\n{value:>4}\n  end"""\nif True:\n    nested = \'\'\'\n\tx\'\'\'\n'
            'found = [text, formatted, nested]')
    _, text = convert(notebook(tmp_path / "00_toy.ipynb", EXPORTED, cell))
    plain, function = {}, {}
    exec(cell, plain)
    exec(f"{text}    return found", function)
    assert function["test_strings"]() == plain["found"]


def test_tests_keep_their_order_and_slow_ones_their_mark(tmp_path):
    cells = ["#| test second_to_none\nassert half(2) == 1", "#| test a_long_one\n#| slow\nassert half(4) == 2"]
    _, text = convert(notebook(tmp_path / "00_toy.ipynb", EXPORTED, *cells))
    assert "import pytest" in text
    assert text.index("def test_second_to_none():") < text.index("@pytest.mark.slow\ndef test_a_long_one():")


@pytest.mark.parametrize("cells, complaint", [
    (["lost = 1", "#| test finds\nassert lost"], "test finds: `lost` is neither imported by the notebook nor defined"),
    (["#| test twice\nassert half(2)", "#| test twice\nassert half(4)"], "test twice: the name is taken"),
    (["#| test\nassert half(2)"], "the name must be one Python identifier"),
    (["#| test shell\n!ls"], "test shell: the cell is not plain Python"),
    (["#| fixture pair\nlost = 1", "#| test finds\nassert half(2)"], "fixture pair: the cell does not define `pair`"),
    (["#| fixture one\none = 1", "#| test finds\none = half(one)"], "test finds: the cell assigns `one`, a fixture"),
    (["#| test finds\nassert half(one)", "#| fixture one\none = 1"], "test finds: `one` is neither imported"),
    (["#| fixture one\none = 1", "#| fixture one\none = 2", "#| test finds\nassert one"], "fixture one: the name is taken"),
    (["#| fixture one\none = lost", "#| test finds\nassert one"], "fixture one: `lost` is neither imported"),
])
def test_a_cell_that_cannot_become_a_test_is_refused(tmp_path, refused, cells, complaint):
    message = refused(convert, notebook(tmp_path / "00_toy.ipynb", EXPORTED, *cells))
    assert complaint in message and "00_toy.ipynb" in message


FIXTURES = [
    "import tempfile\nfrom contextlib import contextmanager\nfrom pathlib import Path",
    "#| fixture kept\ndirectory = tempfile.TemporaryDirectory()\nkept = Path(directory.name, 'kept')\nkept.write_text('begun')",
    "#| fixture made\n@contextmanager\ndef made():\n    with tempfile.TemporaryDirectory() as new:\n"
    "        yield Path(new, kept.read_text())",
    "#| test first\nassert kept.read_text() == 'begun'\nkept.write_text('changed')",
    "#| test second\nassert kept.read_text() == 'changed'",
    "#| test third\nwith made() as one, made() as other:\n    one.write_text('here')\n"
    "    assert one.name == 'changed' and not other.exists()",
    "#| test fourth\nassert Path('.').exists()",
]


def test_a_fixture_is_made_once_and_handed_to_those_that_use_it(tmp_path):
    _, text = convert(notebook(tmp_path / "00_toy.ipynb", *FIXTURES))
    for head in ("kept()", "made(kept)"):
        assert f'@pytest.fixture(scope="module")\ndef {head}:\n' in text
    for head in ("test_first(kept)", "test_second(kept)", "test_third(made)", "test_fourth()"):
        assert f"\ndef {head}:\n" in text
    (tmp_path / "test_toy.py").write_text(text)
    (tmp_path / "temporary").mkdir()
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_toy.py"], cwd=tmp_path,
                          env=os.environ | {"TMPDIR": str(tmp_path / "temporary")}, stdout=subprocess.PIPE, text=True)
    assert "4 passed" in done.stdout, done.stdout
    assert not list((tmp_path / "temporary").iterdir())


def test_a_fixture_cell_runs_in_the_notebook_as_it_stands():
    found = {}
    for cell in FIXTURES:
        exec(cell, found)
    assert found["kept"].read_text() == "changed"
    found["directory"].cleanup()


def test_a_test_file_goes_with_its_notebook_but_a_hand_written_one_stays(tmp_path):
    path = notebook(tmp_path / "00_toy.ipynb", EXPORTED, "#| test halves\nassert half(2) == 1")
    (tmp_path / "test_by_hand.py").write_text("assert True\n")
    export_tests(tmp_path, tmp_path)
    assert (tmp_path / "test_toy.py").exists()
    path.unlink()
    export_tests(tmp_path, tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["test_by_hand.py"]


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    "A small project in step: the tools, the package's hand-written files, and one notebook that has been run."
    root = tmp_path_factory.mktemp("project")
    for name in ("settings.ini", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, root)
    shutil.copytree(ROOT / "tools", root / "tools")
    for name in ("nbs", "tests", "annotated_transformer"):
        (root / name).mkdir()
    for name in ("__init__.py", "__main__.py"):
        shutil.copy(ROOT / "annotated_transformer" / name, root / "annotated_transformer")
    notebook(root / "nbs" / "00_toy.ipynb", EXPORTED, "#| test halves\nassert half(2) == 1")
    cells = [dict(cell_type="markdown", id=name, metadata={}, source="# Toys") for name in ("title", "contents")]
    (root / "nbs" / "index.ipynb").write_text(json.dumps(dict(cells=cells, metadata={}, nbformat=4, nbformat_minor=5)))
    rows = [dict(notebook="00_toy", title="Toy", shows="halves")]
    (root / "nbs" / "contents.yml").write_text(json.dumps([dict(part="paper", chapter="Toys", notebooks=rows)]))  # JSON is YAML
    subprocess.run([sys.executable, "tools/build.py"], cwd=root, check=True)
    return root


@pytest.fixture
def project(built, tmp_path):
    "A copy of it that a test may spoil."
    return Path(shutil.copytree(built, tmp_path / "project"))


def complaints(project: Path) -> list[str]:
    done = subprocess.run([sys.executable, "tools/build.py", "check"], cwd=project, stdout=subprocess.PIPE, text=True)
    lines = done.stdout.splitlines()
    if done.returncode == 0:
        assert lines == ["Notebooks, package and tests are in step."]
        return []
    return lines


def test_what_was_just_built_is_in_step(project):
    assert (project / "annotated_transformer" / "toy.py").exists() and (project / "tests" / "test_toy.py").exists()
    assert complaints(project) == []


def test_a_module_without_a_notebook_and_edited_products_are_named_and_left_as_they_are(project):
    names = ("annotated_transformer/orphan.py", "annotated_transformer/toy.py", "tests/test_toy.py")
    orphan, *edited = (project / name for name in names)
    orphan.write_text("# AUTOGENERATED! DO NOT EDIT! File to edit: ../nbs/gone.ipynb.\n")
    for path in edited:
        path.write_text(path.read_text() + "# by hand\n")
    ways = ("comes from no notebook", "is out of step", "is out of step")
    for line, name, way in zip(complaints(project), names, ways, strict=True):
        assert line.startswith(f"{name} {way}")
    assert all(path.read_text().endswith("# by hand\n") for path in edited)


@pytest.mark.parametrize("change, said", [
    (dict(execution_count=3), "nbs/00_toy.ipynb is not clean"),
    (dict(source="#| test halves\nassert half(4) == 2"), "tests/test_toy.py is out of step"),
    (dict(outputs=[dict(output_type="stream", name="stdout", text=[text]) for text in "ab"]), "nbs/00_toy.ipynb is not clean"),
    *((dict(source=source, outputs=[]), "cell cell-2 was never run")
      for source in ("half(2), half(4)\n", "for n in (2, 4):\n    print(half(n))\n", "plot_halves(2)")),
    (dict(outputs=[dict(output_type="error", ename="E", evalue="", traceback=[])]), "cell cell-2 shows an error"),
])
def test_what_a_reader_should_not_find_in_a_notebook_is_named(project, change, said):
    path = project / "nbs" / "00_toy.ipynb"
    content = json.loads(path.read_text())
    next(cell for cell in content["cells"] if cell["id"] == "cell-2").update(change)
    path.write_text(json.dumps(content, sort_keys=True, indent=1) + "\n")
    assert any(said in line for line in [*unfinished(path)] or complaints(project))  # the latter builds, which takes longer


@pytest.fixture
def of_someone(monkeypatch):
    "Settings that are not ours."
    for name, value in dict(user="someone", repo="halves", branch="trunk").items():
        monkeypatch.setitem(settings(), name, value)


def test_colab_gets_a_link_below_the_title_and_a_cell_before_all_code(project):
    cells = json.loads((project / "nbs" / "00_toy.ipynb").read_text())["cells"]
    assert [cell["id"] for cell in cells] == ["title", "colab", "cell-0", "cell-1", "cell-2", "neighbours"]
    address = "https://colab.research.google.com/github/annotated-transformer/annotated_transformer/blob/main/nbs/00_toy.ipynb"
    assert "".join(cells[0]["source"]) == f"# A toy\n\n[Open in Colab]({address})\n\nIt halves."
    assert "colab" not in (project / "annotated_transformer" / "toy.py").read_text()
    assert "colab" not in (project / "tests" / "test_toy.py").read_text()


@pytest.mark.parametrize("text", ["# A toy", "# A toy\n\nIt halves.\n", "# A toy\nIt halves."])
def test_link_and_cell_are_put_in_once_and_follow_the_settings(tmp_path, text, of_someone, monkeypatch):
    content = json.loads(notebook(tmp_path / "00_toy.ipynb", EXPORTED).read_text())
    content["cells"][0]["source"] = text
    before = json.dumps(content)
    first = with_colab(content, "00_toy")
    monkeypatch.setitem(settings(), "branch", "other")
    moved = with_colab(first, "00_toy")
    assert json.dumps(content) == before
    assert moved == with_colab(moved, "00_toy") == with_colab(content, "00_toy") != first
    title, set_up, *others = moved["cells"]
    source = "".join(title["source"])
    address = "https://colab.research.google.com/github/someone/halves/blob/other/nbs/00_toy.ipynb"
    assert source.count("Colab") == source.count(f"\n\n[Open in Colab]({address})") == 1
    assert "It halves." in source or text == "# A toy"
    assert "-b other https://github.com/someone/halves /content/book" in "".join(set_up["source"])
    assert others == content["cells"][1:]


@pytest.mark.parametrize("shell, acts", [("<google.colab._shell.Shell object>", True), ("<ZMQInteractiveShell object>", False)])
def test_the_cell_fetches_installs_and_moves_in_colab_alone(shell, acts, of_someone):
    content = dict(cells=[dict(cell_type="markdown", id="title", source="# A toy")])
    source = "".join(with_colab(content, "00_toy")["cells"][1]["source"])
    done = []

    class Shell:
        def __str__(self):
            return shell

        def system(self, command):
            done.append(command)

        def run_line_magic(self, name, line):
            done.append(f"%{name} {line}")

    exec(TransformerManager().transform_cell(source), {"get_ipython": Shell})
    fetch = "git clone -q --depth 1 -b trunk https://github.com/someone/halves /content/book"
    install = "%pip install -q -c /content/book/tools/colab.txt /content/book[all]"
    assert done == ([fetch, "%cd -q /content/book/nbs", install] if acts else [])


PLACES = [("../", "", True), ("../", "results", True), ("../", "figures", True), ("", "", True), ("", "", False)]


@pytest.mark.parametrize("up, there, installed", PLACES)
def test_a_notebook_that_lies_alone_says_what_to_do(tmp_path, monkeypatch, capsys, of_someone, up, there, installed):
    cells = [dict(cell_type="markdown", id="title", source="# A toy"),
             dict(cell_type="code", id="a", source=f'read("{up}{there or "results"}/a.json")')]
    source = "".join(with_colab(dict(cells=cells), "00_toy")["cells"][1]["source"])
    (tmp_path / "nbs").mkdir()
    (tmp_path / there).mkdir(exist_ok=True)
    (tmp_path / "halves.py").touch() if installed else None
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path / "nbs")
    exec(TransformerManager().transform_cell(source), {"get_ipython": str})
    said = "Open this page in its repository: git clone https://github.com/someone/halves; cd halves; make lab"
    assert (said in capsys.readouterr().out) == (not installed or bool(up) and not there)


ASKED = dict(repo="halves", requirements="torch>=2 Some_Thing>=1 numpy>=1", charts_requirements="other", dev_requirements="ruff")


def test_colab_installs_the_versions_that_are_known_to_work_and_leaves_its_own_torch():
    known = "# exact\nnumpy==2.1\nother==3\nruff==1\nsome-thing==1.5 ; python_version < '4'\ntorch==2.9\nunasked==1\n"
    assert pins(ASKED, known).splitlines()[1:] == ["other==3", "some-thing==1.5 ; python_version < '4'"]
    text = (ROOT / "tools" / "colab.txt").read_text(encoding="utf-8")
    found = dict(line.split("==") for line in text.splitlines()[1:])
    assert {"sacrebleu", "sentencepiece", "nltk", "onnxruntime"} <= found.keys()
    assert not {"torch", "numpy", "matplotlib", "jupyterlab"} & found.keys()


def test_a_requirement_without_a_known_version_stops_the_build(refused):
    assert "constraints.txt has no version of other;" in refused(pins, ASKED, "some-thing==1\n")


def test_a_notebook_without_a_title_is_refused(refused):
    toy = dict(cells=[dict(cell_type="code", id="cell-0", source="1")])
    assert "nbs/00_toy.ipynb must begin with a markdown cell" in refused(with_colab, toy, "00_toy")


def test_a_notebook_without_a_row_stops_the_build_before_anything_is_written(project):
    notebook(project / "nbs" / "01_more.ipynb", module="more")
    before = {path: path.read_bytes() for path in (project / "nbs").iterdir()}
    done = subprocess.run([sys.executable, "tools/build.py"], cwd=project, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 2 and "nbs/01_more.ipynb has no row in nbs/contents.yml" in done.stderr
    assert before == {path: path.read_bytes() for path in (project / "nbs").iterdir()}
    assert not (project / "annotated_transformer" / "more.py").exists()


def test_a_cell_that_is_no_python_is_named_before_anything_is_written(project):
    path = project / "nbs" / "00_toy.ipynb"
    content = json.loads(path.read_text())
    content["cells"].append(dict(cell_type="code", id="cell-9", source="#| export\ndef broken(:", metadata={}, outputs=[],
                                 execution_count=None))
    path.write_text(json.dumps(content, sort_keys=True, indent=1) + "\n")
    before = {path: path.read_bytes() for path in project.rglob("*.*") if path.is_file()}
    done = subprocess.run([sys.executable, "tools/build.py"], cwd=project, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 2 and "nbs/00_toy.ipynb, cell cell-9, line 2: " in done.stderr
    after = {path: path.read_bytes() for path in project.rglob("*.*") if path.is_file() and "__pycache__" not in path.parts}
    assert all(before[path] == text for path, text in after.items())


@pytest.mark.parametrize("stop", ["raise KeyboardInterrupt", "os.kill(os.getpid(), signal.SIGTERM)"])
def test_a_build_that_is_stopped_leaves_the_package_that_there_was_and_no_half_notebook(project, stop):
    with open(project / "tools" / "metadata.py", "a") as file:
        file.write("\n\nimport os, signal\ndef with_metadata(notebook):\n"
                   f"    open('nbs/00_toy.ipynb', 'w').write('half')\n    {stop}\n")
    paths = [project / "annotated_transformer" / "toy.py", project / "nbs" / "00_toy.ipynb"]
    before = [path.read_bytes() for path in paths]
    assert subprocess.run([sys.executable, "tools/build.py"], cwd=project, stderr=subprocess.DEVNULL).returncode != 0
    assert [path.read_bytes() for path in paths] == before


def test_a_notebook_with_the_marks_of_a_merge_is_named(project):
    path = project / "nbs" / "00_toy.ipynb"
    path.write_text("<<<<<<< ours\n" + path.read_text())
    done = subprocess.run([sys.executable, "tools/build.py", "check"], cwd=project, capture_output=True, text=True)
    assert done.returncode == 2 and done.stderr.startswith("nbs/00_toy.ipynb is no notebook") and done.stderr.count("\n") == 1


@pytest.mark.parametrize("cell, said", [
    (dict(cell_type="markdown", source=["`<<<<<<< HEAD`"]), "a merge left its marks"),  # of nbdev_merge, without an id
    (dict(cell_type="code", id="cell-9", source=["x = 1\n", "<<<<<<< local\n"]), "a merge left its marks"),  # of nbdime
    (dict(cell_type="markdown", source='<span style="color:red">**>>>>>>> remote**</span>'), "a merge left its marks"),
    (dict(cell_type="code", id="cell-9", source="#|export other\nx = 1"), "a cell is exported to other"),
    (dict(cell_type="code", id="cell-9", source="#| hide\n\n# | export other\nx = 1"), "a cell is exported to other"),
])
def test_what_nbdev_would_export_twice_or_elsewhere_is_not_built(project, cell, said):
    path, module = project / "nbs" / "00_toy.ipynb", project / "annotated_transformer" / "toy.py"
    content, before = json.loads(path.read_text()), module.read_bytes()
    content["cells"] += [cell | dict(metadata={}), dict(cell_type="code", id="cell-8", source=EXPORTED, metadata={}, outputs=[])]
    path.write_text(text := json.dumps(content))
    done = subprocess.run([sys.executable, "tools/build.py"], cwd=project, capture_output=True, text=True)
    assert done.returncode == 2 and done.stderr.startswith(f"nbs/00_toy.ipynb: {said}")
    assert done.stderr.count("\n") == 1 and path.read_text() == text and module.read_bytes() == before


def test_the_version_of_the_settings_stands_everywhere():
    version = settings()["version"]
    places = {"CITATION.cff": f"\nversion: {version}\n", "annotated_transformer/__init__.py": f'\n__version__ = "{version}"\n',
              "CHANGELOG.md": f"\n## {version}"}
    assert [name for name, words in places.items() if words not in (ROOT / name).read_text(encoding="utf-8")] == []


def test_nbdev_does_not_make_the_readme_from_the_index(project):
    readme = project / "README.md"
    readme.write_text("By hand.")
    os.utime(readme, (0, 0))
    program = "from nbdev.quarto import nbdev_readme; nbdev_readme.__wrapped__(chk_time=True)"  # as nbdev_prepare does
    subprocess.run([sys.executable, "-c", program], cwd=project, check=True)
    assert readme.read_text() == "By hand."


@pytest.mark.parametrize("word, status", [("--help", 0), ("-h", 0), ("chek", 2), ("--check", 2)])
def test_a_tool_that_is_asked_or_not_understood_writes_nothing(project, word, status):
    before = {path: path.stat().st_mtime_ns for path in project.rglob("*.*")}
    done = subprocess.run([sys.executable, "tools/build.py", word], cwd=project, capture_output=True, text=True)
    assert done.returncode == status and ("Keep notebooks" in done.stdout) == (status == 0)
    assert done.stderr == (f"not understood: {word}; --help says what may follow\n" if status else "")
    assert all(path.stat().st_mtime_ns == time for path, time in before.items() if "__pycache__" not in path.parts)


def test_the_pieces_of_a_stream_are_joined_and_nothing_else_is():
    def stream(name, *lines):
        return dict(output_type="stream", name=name, text=[*lines])

    picture = dict(output_type="display_data", data={"image/png": "..."}, metadata={})
    split = [stream("stdout", "one\n", "tw"), stream("stdout", "o\n"), stream("stderr", "oh\n"), stream("stdout", "three\n"),
             picture, stream("stdout", "four"), stream("stdout", "\n")]
    assert joined(split) == [stream("stdout", "one\n", "two\n"), stream("stderr", "oh\n"), stream("stdout", "three\n"), picture,
                             stream("stdout", "four\n")]
    assert joined(joined(split)) == joined(split) and joined([]) == []


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
def test_make_never_takes_an_environment_of_another_python_than_the_one_that_is_named(tmp_path):
    shutil.copy(ROOT / "Makefile", tmp_path)
    empty = "settings.ini", "setup.py", "constraints.txt", ".venv/bin/pip", ".venv/installed"  # the last is newer than the others
    files = dict.fromkeys(empty, "") | {"tools/build.py": "print('built')", "other": "#!/bin/sh\necho Python 9.9"}
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "other").chmod(0o755)
    (tmp_path / ".venv/bin/python").symlink_to(sys.executable)
    of_make = "PYTHON", "MAKELEVEL", "MAKEFLAGS", "MFLAGS"  # of the one that runs the tests, which would be heard here
    environment = {name: value for name, value in os.environ.items() if name not in of_make}

    def make(*words):
        return subprocess.run(["make", "build", *words], cwd=tmp_path, capture_output=True, text=True, env=environment)

    for words in ((), (f"PYTHON={sys.executable}",)):
        assert make(*words).stdout.endswith("built\n")
    refused = make("PYTHON=./other")
    assert refused.returncode and "built" not in refused.stdout
    assert f".venv has Python {platform.python_version()} and not ./other: remove it (rm -r .venv)" in refused.stdout


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
def test_make_run_leaves_one_stream_of_what_came_in_pieces(project):
    name, source = "nbs/00_toy.ipynb", "for n in range(3):\n    print(n, flush=True)\n    __import__('time').sleep(0.2)"
    path = notebook(project / name, source)
    lines = subprocess.run(["make", "-n", "run", f"NB={name}"], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout
    commands = [line for line in lines.splitlines() if name in line or "build.py clean" in line]
    assert len(commands) == 2
    for command in commands:
        command = command.replace(".venv/bin/", f"{Path(sys.executable).parent}/")
        subprocess.run(command, shell=True, cwd=project, check=True, stderr=subprocess.DEVNULL)
    [output] = json.loads(path.read_text())["cells"][2]["outputs"]
    assert output == dict(output_type="stream", name="stdout", text=["0\n", "1\n", "2\n"])


def test_a_notebook_says_of_its_kernel_what_jupyterlab_writes_and_nothing_else():
    "So none is unsaved as soon as it is opened; `make lab` gives JupyterLab the version of the Python that runs."
    # Asked elsewhere: where ipykernel is loaded, a bar takes itself to be in a notebook, in other tests, too.
    asked = "import json; from ipykernel.ipkernel import IPythonKernel; from jupyter_client.kernelspec import get_kernel_spec; " \
            "print(json.dumps([get_kernel_spec('python3').to_dict(), IPythonKernel.language_info]))"
    done = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)
    kernel, told = json.loads(done.stdout)
    expected = {"kernelspec": {"display_name": kernel["display_name"], "language": kernel["language"], "name": "python3"},
                "language_info": {**told, "version": METADATA["language_info"]["version"]}}
    assert METADATA == expected
    for path in [*(ROOT / "nbs").rglob("*.ipynb"), *(ROOT / "annotated_transformer/workbook/pages").rglob("*.ipynb")]:
        if ".ipynb_checkpoints" not in path.parts:
            found = json.loads(path.read_text(encoding="utf-8"))
            assert found["metadata"] == METADATA, path
            assert len({cell["id"] for cell in found["cells"]}) == len(found["cells"]), f"{path}: two cells of one id"


def test_jupyterlab_reads_the_notebooks_with_the_version_that_runs(tmp_path):
    path = notebook(tmp_path / "00_toy.ipynb", EXPORTED)
    read = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps(with_metadata(read)), encoding="utf-8")
    contents = Contents(root_dir=str(tmp_path))
    model = asyncio.run(contents.get("00_toy.ipynb"))
    assert model["content"]["metadata"]["language_info"]["version"] == platform.python_version()
    assert "version" not in str(asyncio.run(contents.get("00_toy.ipynb", content=False))["content"])
    assert "--config tools/lab.py" in (ROOT / "Makefile").read_text(encoding="utf-8")
