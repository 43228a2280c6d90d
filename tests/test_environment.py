"The environment is read in one place, and refused in one sentence where it cannot be."
import ast
import os
import re
import runpy
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
import torch

from annotated_transformer import InputError
from annotated_transformer.command_line import main
from annotated_transformer.data.downloads import cache_directory
from annotated_transformer.environment import (
    Launched,
    allowed_memory,
    blamed,
    data_directory,
    keep_few_kernels,
    launched,
    processes_here,
    threads_given,
    wait_briefly,
    with_this_package,
)

PACKAGE = Path(__file__).parents[1] / "annotated_transformer"
TORCHRUN = {"RANK": "2", "WORLD_SIZE": "3", "LOCAL_RANK": "1", "MASTER_PORT": "65535", "MASTER_ADDR": "localhost"}  # the last


@pytest.fixture(autouse=True)
def nothing_said(monkeypatch):
    for name in TORCHRUN:
        monkeypatch.delenv(name, raising=False)


def test_nothing_else_reads_the_environment():
    for path in sorted(PACKAGE.rglob("*.py")):
        read = {node.attr for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.Attribute)}
        assert path.name == "environment.py" or not read & {"environ", "getenv"}, path


def test_another_python_finds_the_package_that_runs_behind_what_it_finds_first(monkeypatch, tmp_path):
    asks = [sys.executable, "-S", "-c", "import annotated_transformer; print(annotated_transformer.__file__)"]  # -S: none installed
    for given in (None, str(tmp_path)):
        monkeypatch.setenv("PYTHONPATH", given) if given else monkeypatch.delenv("PYTHONPATH", raising=False)
        assert subprocess.run(asks, cwd=tmp_path, capture_output=True).returncode
        done = subprocess.run(asks, cwd=tmp_path, env=with_this_package(), capture_output=True, text=True)
        assert done.stdout.strip() == str(PACKAGE / "__init__.py"), done.stderr
        entries = with_this_package()["PYTHONPATH"].split(os.pathsep)
        assert entries == [*filter(None, [given]), str(PACKAGE.parent)], "an empty entry would be the working directory"
    (tmp_path / "annotated_transformer").mkdir()
    (tmp_path / "annotated_transformer" / "__init__.py").touch()
    done = subprocess.run(asks, env=with_this_package(), capture_output=True, text=True, cwd=PACKAGE.parents[1])
    assert done.stdout.strip() == str(tmp_path / "annotated_transformer" / "__init__.py"), "what the user put first stays first"


def test_what_torchrun_says(monkeypatch):
    assert launched() == Launched(0, 1, 0)
    for name, value in TORCHRUN.items():
        monkeypatch.setenv(name, value)
    assert launched() == Launched(2, 3, 1)


@pytest.mark.parametrize("name, value", [
    ("RANK", "abc"), ("RANK", ""), ("RANK", "3"), ("RANK", None), ("WORLD_SIZE", "0"), ("WORLD_SIZE", "-1"), ("WORLD_SIZE", ""),
    ("LOCAL_RANK", "x"), ("LOCAL_RANK", "-1"), ("LOCAL_RANK", None), ("MASTER_PORT", "abc"), ("MASTER_PORT", "65536"), ("MASTER_ADDR", None),
])
def test_what_torchrun_would_never_say_is_refused(monkeypatch, name, value):
    for key, good in (TORCHRUN | {name: value}).items():
        monkeypatch.delenv(key, raising=False) if good is None else monkeypatch.setenv(key, good)
    with pytest.raises(InputError, match=f"environment: {name}"):
        launched()


@pytest.mark.parametrize("store", ["ONEDNN_PRIMITIVE_CACHE_CAPACITY", "LRU_CACHE_CAPACITY"])
def test_few_kernels_are_kept_unless_the_user_says_how_many(monkeypatch, store):
    for said, kept in {None: "64", "7": "7"}.items():
        monkeypatch.setenv(store, said or "")
        monkeypatch.delenv(store) if said is None else None
        keep_few_kernels()
        assert os.environ[store] == kept


def test_threads_wait_briefly_unless_the_user_says_how(monkeypatch):
    names = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME")
    for name in names:
        monkeypatch.setenv(name, "")  # so that it is as before when the test ends
        monkeypatch.delenv(name)
    monkeypatch.setenv("OMP_WAIT_POLICY", "ACTIVE")
    wait_briefly()
    assert [os.environ.get(name) for name in names] == ["ACTIVE", None, None]
    monkeypatch.delenv("OMP_WAIT_POLICY")
    wait_briefly()
    assert [os.environ.get(name) for name in names] == [None, "1000", "0"]
    monkeypatch.setenv("KMP_BLOCKTIME", "5")
    wait_briefly()
    assert [os.environ.get(name) for name in names] == [None, "1000", "5"]


@pytest.mark.parametrize("said, kept", (({}, "1000"), ({"GOMP_SPINCOUNT": "7"}, "7"), ({"OMP_WAIT_POLICY": "active"}, "None")))
def test_python_waits_as_the_command_does(said, kept):
    program = "import annotated_transformer, os, sys; print(os.environ.get('GOMP_SPINCOUNT'), 'torch' in sys.modules)"
    environment = {name: value for name, value in os.environ.items() if name not in ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT")}
    found = subprocess.run([sys.executable, "-c", program], env=environment | said, capture_output=True, text=True, check=True)
    assert found.stdout.split() == [kept, "False"]


def test_who_says_how_many_threads(monkeypatch):
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
        monkeypatch.delenv("MKL_NUM_THREADS", raising=False)
        assert not threads_given()
        monkeypatch.setenv(name, "2")
        assert threads_given()


def test_a_rank_without_others_is_refused(monkeypatch):
    monkeypatch.setenv("RANK", "1")
    with pytest.raises(InputError, match="environment: RANK='1'"):
        launched()


def test_where_downloads_go(monkeypatch):
    monkeypatch.setenv("ANNOTATED_TRANSFORMER_DATA", "here")
    assert data_directory() == Path("here")
    monkeypatch.setenv("ANNOTATED_TRANSFORMER_DATA", "~/there")  # as a .env file gives it
    assert data_directory() == Path.home() / "there"
    monkeypatch.setenv("ANNOTATED_TRANSFORMER_DATA", "")
    assert data_directory() is None


@pytest.mark.parametrize("variable, words, said", [
    ("PYTHONOPTIMIZE=2", ["--help"], "PYTHONOPTIMIZE=2"),
    ("TQDM_MININTERVAL=abc", ["corpora", "numbers-en-de"], "tqdm cannot be loaded with TQDM_MININTERVAL=abc"),
    ("TORCH_LOGS=+junk", ["translate"], "TORCH_LOGS=+junk (Invalid log settings"),
    ("MPLBACKEND=junk", ["attend", "one", "--out", "x.svg"], "matplotlib cannot be loaded with MPLBACKEND=junk"),
])
def test_a_variable_that_a_package_cannot_take_is_named(variable, words, said, tmp_path):
    own = os.environ | {"PYTHONPATH": str(PACKAGE.parent)} | dict([variable.split("=")])
    command = [sys.executable, "-m", "annotated_transformer", *words]
    ended = subprocess.run(command, env=own, cwd=tmp_path, capture_output=True, text=True, input="one\n")
    assert (ended.returncode, ended.stdout) == (2, "") and "Traceback" not in ended.stderr, ended.stderr
    assert said in ended.stderr and ended.stderr.count("\n") == 1


@pytest.mark.parametrize("option, refused", [("-O", False), ("-OO", True)])
def test_docstrings_alone_are_required_of_an_optimized_python(option, refused):
    program = "from annotated_transformer.environment import require_docstrings; require_docstrings()"
    done = subprocess.run([sys.executable, option, "-c", program], env=with_this_package(), capture_output=True, text=True)
    assert bool(done.returncode) == refused == ("InputError: PYTHONOPTIMIZE=2" in done.stderr), done.stderr


@pytest.mark.parametrize("error, said", [
    (MemoryError(), "the memory does not suffice (MemoryError)"),
    (RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes."), "to allocate 9 bytes"),
    (RuntimeError("CUDA out of memory. Tried to allocate 20.00 GiB. GPU 0 has 9 GiB. See documentation (https://pytorch.org/docs)"),
     "the GPU's memory does not suffice (Tried to allocate 20.00 GiB): "),
    (RuntimeError("HIP out of memory. Tried to allocate 2.00 MiB."), "the GPU's memory does not suffice (Tried to allocate 2.00 MiB)"),
    (RuntimeError(f"std::bad_alloc {'x' * 200}"), f"the memory does not suffice (std::bad_alloc {'x' * 105})"),
    (RuntimeError("could not determine the home directory for '~/.cache', set an absolute HOME"), "set the variable HOME to"),
    (RuntimeError("mat1 and mat2 shapes cannot be multiplied"), None),  # a fault of ours: with its traceback
])
def test_what_the_machine_lacks_is_one_sentence(error, said, monkeypatch, capsys):
    def fails(arguments):
        raise error

    monkeypatch.setattr(main, "run_command", fails)
    with pytest.raises(SystemExit if said else RuntimeError) as ended:
        main.main(["translate"])
    err = capsys.readouterr().err
    assert ended.value.code == 2 and said in err and err.count("\n") == 1 if said else not err


def test_a_variable_is_not_blamed_for_what_fails_after_the_import(monkeypatch):
    monkeypatch.setenv("TORCH_HOME", "anywhere")
    with pytest.raises(RuntimeError) as failed:
        torch.nn.Linear(2, 3)(torch.ones(1, 5))
    assert any("torch" in str(place.path) for place in failed.traceback) and blamed(failed.value) is None


@pytest.mark.parametrize("where", ["site-packages", "dist-packages"])
def test_a_package_that_fails_at_its_import_is_named_with_its_own_variables(where, monkeypatch, tmp_path):
    path = tmp_path / where / "matplotlib" / "colors.py"
    path.parent.mkdir(parents=True)
    path.write_text("int('three')")
    for name in [name for name in os.environ if name.startswith("MPL")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("TORCH_HOME", "anywhere")
    with pytest.raises(ValueError) as failed:
        runpy.run_path(str(path))
    assert blamed(failed.value) is None
    monkeypatch.setenv("MPLBACKEND", "three")
    assert blamed(failed.value).startswith("matplotlib cannot be loaded with MPLBACKEND=three (")


def test_a_user_without_a_home_keeps_downloads_elsewhere(monkeypatch):
    def fails(name):
        raise RuntimeError("could not determine the home directory")

    monkeypatch.delenv("ANNOTATED_TRANSFORMER_DATA", raising=False)
    monkeypatch.setattr("pooch.os_cache", fails)
    with pytest.raises(InputError, match="set ANNOTATED_TRANSFORMER_DATA to"):
        cache_directory()


def test_the_memory_of_a_container(tmp_path, monkeypatch):
    machine = {"SC_PAGE_SIZE": 4, "SC_PHYS_PAGES": 1000}
    monkeypatch.setattr(os, "sysconf", machine.get, raising=False)
    own = tmp_path / "own"
    assert allowed_memory(tmp_path, own) == 4000
    for place in ("memory.max", "memory/memory.limit_in_bytes"):  # of both versions
        (tmp_path / place).parent.mkdir(exist_ok=True)
        for said, number in {"max": 4000, "3000": 3000, "9223372036854771712": 4000}.items():
            (tmp_path / place).write_text(said + "\n")
            assert allowed_memory(tmp_path, own) == number
    for said, place in (("0::/jobs/job_7/step\n", "jobs/job_7/memory.max"),
                        ("3:cpu:/\n4:hugetlb,memory:/job_8\n", "memory/job_8/memory.limit_in_bytes")):
        own.write_text(said)
        (tmp_path / place).parent.mkdir(parents=True)
        (tmp_path / place).write_text("2000\n")
        assert allowed_memory(tmp_path, own) == 2000
    own.write_text("0::/../elsewhere:x\n3:cpu:/job_8\n")  # another container's, a colon in a name, and no group of memory
    assert allowed_memory(tmp_path, own) == 4000
    own.unlink()
    monkeypatch.delattr(os, "sysconf")
    assert allowed_memory(tmp_path, own) == 9223372036854771712 and allowed_memory(tmp_path / "none", own) is None


@pytest.mark.parametrize("said, number", [("4", 4), ("1", 1), ("0", 1), ("", 1), ("x", 1), (None, 1)])
def test_the_processes_that_share_a_machine(said, number, monkeypatch):
    monkeypatch.delenv("LOCAL_WORLD_SIZE", raising=False) if said is None else monkeypatch.setenv("LOCAL_WORLD_SIZE", said)
    assert processes_here() == number


def test_a_full_disk_is_not_blamed_on_a_variable(monkeypatch):
    monkeypatch.setenv("TORCH_HOME", "/somewhere")
    place = "/lib/site-packages/torch/__init__.py"
    named = r"torch cannot be loaded with .*\bTORCH_HOME=/somewhere\b"  # beside what other tests of this process may have set
    for raised, blame in {"OSError(28, 'No space left on device')": None, "ValueError('odd')": named}.items():
        with pytest.raises((OSError, ValueError)) as error:
            exec(compile(f"raise {raised}", place, "exec"), {})
        said = blamed(error.value)
        assert said is None if blame is None else re.match(blame, said)


def test_without_a_place_for_temporary_files_the_command_says_what_to_do(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(tempfile, "_candidate_tempdir_list", lambda: [str(tmp_path / "none")])
    monkeypatch.setattr(main, "run_command", lambda words: tempfile.gettempdir())
    with pytest.raises(SystemExit) as end:
        main.main(["translate"])
    said = capsys.readouterr().err
    assert end.value.code == 2 and said == ("annotated-transformer: no directory for temporary files is writable: "
                                            "set the variable TMPDIR to one\n")
