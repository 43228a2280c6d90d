"A workbook is checked in a process of its own: code that never ends, or that ends Python, leaves the others' verdicts."
import json
import os
import subprocess
import sys
import time

import pytest

from annotated_transformer import InputError
from annotated_transformer.command_line import main
from annotated_transformer.command_line.workbook import judged_apart
from annotated_transformer.workbook import exercises, in_directory, read_own, write


@pytest.fixture()
def notebook(tmp_path):
    "Replaces what stands in a notebook of a workbook, whose only notebooks are two."
    write(tmp_path)
    for path in tmp_path.iterdir():
        if path.stem not in ("3.5_position", "3.3_feed_forward"):
            path.unlink()

    def place(name, *sources):
        cells = [{"cell_type": "code", "source": source} for source in sources]
        (tmp_path / f"{name}.ipynb").write_text(json.dumps({"cells": cells}))
        return tmp_path

    return place


def test_what_never_ends_and_what_ends_python_is_red_and_the_rest_is_judged(notebook):
    directory = notebook("3.3_feed_forward", "import time\nclass Forever:\n    while True:\n        time.sleep(1)")
    [position] = [one for one in exercises().values() if one.page == "3.5_position"]
    loud = "right = sinusoids\ndef sinusoids(n_positions, d_model):\n    os.system('echo hello')\n    return right(n_positions, d_model)"
    notebook("3.5_position", "def sinusoids(n=1 / 0):\n    pass",  # which the next cell mends
             f"import os\nimport torch\nfrom torch import Tensor\n\n{position.solution}\n{loud}")
    said = {one.name: verdict for one, verdict in judged_apart(in_directory(directory), directory, seconds=10)}
    assert said.pop(position.name).green is True
    assert said and all(verdict.green is False and "10 seconds" in verdict.sentence for verdict in said.values())
    notebook("3.3_feed_forward", "import os\nclass Away:\n    os._exit(0)")
    said = {one.name: verdict for one, verdict in judged_apart(in_directory(directory), directory)}
    assert said.pop(position.name).green is True and all("has ended Python" in verdict.sentence for verdict in said.values())


@pytest.mark.skipif(os.name != "posix", reason="sessions are POSIX's")
def test_an_interruption_at_the_terminal_is_no_exercises_mistake(notebook, monkeypatch):
    alone = "import json, os; print(json.dumps({'mistake': f'alone: {os.getsid(0) == os.getpid()}'}))"
    monkeypatch.setattr("annotated_transformer.command_line.workbook.PROGRAM", alone)
    directory = notebook("3.5_position", "")
    with pytest.raises(InputError, match="alone: True"):
        list(judged_apart(in_directory(directory), directory))


def test_readers_code_ends_with_the_command_that_runs_it_and_finds_an_empty_input():
    lines = ["from annotated_transformer.command_line.workbook import end_with_parent", "end_with_parent()",
             "import os, time", "print(os.read(0, 1), flush=True)", "time.sleep(60)"]
    with subprocess.Popen([sys.executable, "-c", "\n".join(lines)], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout.readline().strip() == b"b''" and child.poll() is None
        child.stdin.close()
        assert child.wait(timeout=30) == 1


@pytest.mark.skipif(os.name != "posix", reason="groups of processes are POSIX's")
def test_what_readers_code_has_started_ends_with_it(notebook, tmp_path):
    os.mkfifo(fifo := tmp_path / "fifo")
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    started = f"import time; file = open({str(fifo)!r}, 'w'); print(flush=True); time.sleep(60)"
    directory = notebook("3.3_feed_forward", "import os, subprocess, sys\nclass Away:\n    subprocess.Popen([sys.executable, '-c', "
                         f"{started!r}], stdout=subprocess.PIPE).stdout.readline()\n    os._exit(0)")
    there = [one for one in in_directory(directory) if one.page == "3.3_feed_forward"]
    assert all("has ended Python" in verdict.sentence for _, verdict in judged_apart(there, directory))
    for _ in range(100):
        try:
            assert os.read(reader, 1) == b"", "nobody is left who may write"
            break
        except BlockingIOError:
            time.sleep(0.1)
    else:
        raise AssertionError("what the code has started goes on")
    os.close(reader)


FAILING = {  # what readers' code does, and what then stands in the sentence
    "half a character": ("raise ValueError('half \\ud800 and \\x1b[31m order')", r"half \ud800 and \x1b[31m order"),
    "many lines": ("raise ValueError('a\\n' * 50)", "ValueError in `raise"),
    "five million letters": ("raise ValueError('a' * 5_000_000)", "aaa…"),
    "no words": ("class Mute(ValueError):\n        def __str__(self):\n            raise self\n    raise Mute", "no message"),
    "a long result": ("return 'a' * 10**7", "sinusoids"),
    "a result without a form": ("return 10**5000", "sinusoids"),
}


@pytest.mark.parametrize("code, part", FAILING.values(), ids=FAILING)
def test_a_sentence_is_one_plain_line_whatever_readers_code_says(notebook, code, part):
    directory = notebook("3.5_position", f"def sinusoids(n_positions, d_model):\n    {code}")
    [(exercise, verdict)] = [found for found in judged_apart(in_directory(directory), directory) if found[0].page == "3.5_position"]
    assert exercise.name == verdict.name == "sinusoids" and verdict.green is False
    assert part in str(verdict) and str(verdict).isprintable() and len(verdict.sentence) <= 1_001


@pytest.mark.skipif(os.name != "posix", reason="descriptors are POSIX's")
@pytest.mark.parametrize("written", [b"hello\n", b"[1]\n", b'{"a": 1}\n', b'{"name": "another", "green": true, "sentence": "mine"}\n'])
def test_what_readers_code_writes_among_the_answers_is_no_verdict(notebook, written):
    everywhere = f"import os\nfor n in range(3, 30):\n    try:\n        os.write(n, {written!r})\n    except OSError:\n        pass"
    code = "def sinusoids(n_positions, d_model):\n    " + everywhere.replace("\n", "\n    ")
    directory = notebook("3.5_position", code)
    said = {exercise.name: verdict for exercise, verdict in judged_apart(in_directory(directory), directory)}
    assert "has written among the answers" in said.pop("sinusoids").sentence
    assert said and all(verdict.name == name and verdict.sentence == "not written yet" for name, verdict in said.items())


def test_an_exit_in_a_cell_is_a_mistake_of_that_cell(notebook):
    directory = notebook("3.5_position", "import sys\nclass PositionalEncoding:\n    sys.exit(3)", "def sinusoids(a, b:", "x = '\0'")
    _, broken = read_own(directory / "3.5_position.ipynb")
    assert broken["PositionalEncoding"] == "SystemExit where it is defined: 3" and "is not Python" in broken["sinusoids"]


@pytest.mark.parametrize("text", [
    '{"cells": "x"}', '{"cells": null}', '{"cells": ["x"]}', '{"cells": [{"cell_type": "code"}]}', "[" * 100_000, "{}",
    *(f'{{"cells": [{{"cell_type": "code", "source": {source}}}]}}' for source in ("5", "null", "[1, 2]", '"\\ud800"')),
], ids=lambda text: text[:50])
def test_a_file_that_is_no_notebook_is_one_sentence(tmp_path, text):
    (tmp_path / "3.5_position.ipynb").write_text(text)
    with pytest.raises(InputError, match="3.5_position.ipynb: .*rename it, and write it again"):
        read_own(tmp_path / "3.5_position.ipynb")


@pytest.fixture()
def students(tmp_path):
    "Ann has solved an exercise of two, Bob's notebook is damaged, and Eve has handed in nothing."
    write(tmp_path / "book")
    for name in ("ann", "bob", "eve"):
        (tmp_path / name).mkdir()
    [sinusoids] = [one for one in exercises().values() if one.page == "3.5_position"]
    cells = [{"cell_type": "code", "source": f"import torch\nfrom torch import Tensor\n\n{sinusoids.solution}"}]
    (tmp_path / "ann/3.5_position.ipynb").write_text(json.dumps({"cells": cells}))
    (tmp_path / "book/3.3_feed_forward.ipynb").rename(tmp_path / "ann/3.3_feed_forward.ipynb")
    (tmp_path / "bob/3.5_position.ipynb").write_text("{")
    return [tmp_path / name for name in ("ann", "bob", "eve")]


def test_several_directories_are_checked_and_written_down_whole_or_not_at_all(students, tmp_path, capsys):
    out = tmp_path / "marks" / "checks.json"
    with pytest.raises(InputError, match="2 of 3 directories could not be checked: .*3.5_position.ipynb: .*not JSON"):
        main.run_command(["workbook", *map(str, students), "--check", "--json", str(out)])
    said = capsys.readouterr().out
    assert said.startswith(f"{students[0]}\n3.5_position\n  ✓ green  sinusoids: ") or f"{students[0]}\n3.3_feed_forward\n" in said
    assert "1 of 2 exercises are green" in said and f"{students[2]}\n{students[2]} holds no notebook" in said
    ann, bob, eve = json.loads(out.read_text(encoding="utf-8"))
    assert [row["directory"] for row in (ann, bob, eve)] == [str(student) for student in students]
    verdicts = {row["name"]: (row["page"], row["green"], row["sentence"]) for row in ann["exercises"]}
    assert verdicts.pop("sinusoids")[:2] == ("3.5_position", True)
    assert verdicts == {"FeedForward": ("3.3_feed_forward", False, "not written yet")}
    assert ann["mistake"] is None and "not JSON" in bob["mistake"] and "holds no notebook" in eve["mistake"]
    assert bob["exercises"] == eve["exercises"] == [] and [*out.parent.iterdir()] == [out]
    before = out.read_bytes()
    with pytest.raises(InputError, match="^.*eve holds no notebook"):
        main.run_command(["workbook", str(students[2]), "--check", "--json", str(out)])
    assert out.read_bytes() == before


@pytest.mark.parametrize("name", [
    "Copy of 3.5_position.ipynb", "Copy_of_3.5_position.ipynb", "3.5_position (1).ipynb", "lovelace_42_3.5_position.ipynb",
])
def test_a_notebook_that_colab_or_a_browser_has_given_another_name_is_checked(name, students, tmp_path, capsys):
    ann = students[0]
    (ann / "3.5_position.ipynb").rename(ann / name)
    (ann / "._3.5_position.ipynb").write_text("what macOS keeps beside a file")
    main.run_command(["workbook", str(ann), "--check", "--json", str(tmp_path / "checks.json")])
    assert f"3.5_position ({name})\n  ✓ green  sinusoids: " in capsys.readouterr().out
    [row] = json.loads((tmp_path / "checks.json").read_text(encoding="utf-8"))
    assert {(one["page"], one["green"]) for one in row["exercises"]} == {("3.5_position", True), ("3.3_feed_forward", False)}


def test_of_two_copies_the_one_with_the_page_s_own_name_is_checked_and_without_it_neither(students, capsys):
    ann = students[0]
    solved = (ann / "3.5_position.ipynb").read_text(encoding="utf-8")
    for name in ("3.5_position (1).ipynb", "3.5_position-old.ipynb"):
        (ann / name).write_text(solved.replace("sin()", "cos()"), encoding="utf-8")
    main.run_command(["workbook", str(ann), "--check"])
    assert "3.5_position\n  ✓ green" in capsys.readouterr().out
    (ann / "3.5_position.ipynb").unlink()
    both = r"ann holds 3\.5_position \(1\)\.ipynb and 3\.5_position-old\.ipynb: call the one to check 3\.5_position\.ipynb$"
    with pytest.raises(InputError, match=both):
        main.run_command(["workbook", str(ann), "--check"])


@pytest.mark.parametrize("words, said", [
    ([], "DIRECTORY is missing"), (["a", "b"], "'b' is one word too many: only --check takes several"),
    (["a", "b", "--for", "nbgrader"], "only --check takes several"), (["a", "--json", "c.json"], "add --check"),
    (["a", "--check", "--json", "."], "directory"),
])
def test_words_that_do_not_fit_are_one_sentence(words, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises((InputError, OSError), match=said):
        main.run_command(["workbook", *words])
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("stars", ["*", "**", "*[bn]"])
def test_a_star_that_the_shell_has_left_means_all_directories_of_that_form(stars, tmp_path):
    for name in ("bob", "ann", ".git"):
        (tmp_path / name).mkdir()
    (tmp_path / "notes.txt").touch()
    with pytest.raises(InputError, match="2 of 2 directories could not be checked"):
        main.run_command(["workbook", str(tmp_path / stars), "--check", "--json", str(tmp_path / "checks.json")])
    rows = json.loads((tmp_path / "checks.json").read_text(encoding="utf-8"))
    assert [row["directory"] for row in rows] == [str(tmp_path / name) for name in ("ann", "bob")]
    with pytest.raises(InputError, match="nobody.* holds no notebook"):
        main.run_command(["workbook", str(tmp_path / "nobody*"), "--check"])
