"`python -m benchmarks.busy`: what it starts, beside what, and what its file says; no command is really run."
import json

import pytest

from benchmarks import busy


def test_each_number_of_threads_is_told_and_the_ratio_is_that_to_the_better(tmp_path, monkeypatch):
    started, out = [], tmp_path / "threads.json"

    def turns(contenders, rounds, warmup, desc):
        for run in contenders.values():
            run()
        return {"one": [4.0, 2.0, 3.0], "two": [2.0, 8.0, 3.0], "chosen": [3.0, 2.0, 6.0], "two, waiting long": [9.0] * 3}

    monkeypatch.setattr(busy, "busy_cores", lambda: 1.5)
    monkeypatch.setattr(busy, "take_turns", turns)
    monkeypatch.setattr(busy, "run", lambda make, said, lines: started.append((make(), said, lines.count("\n"))))
    busy.main(["--works", "translate", "train", "--beside", "0", "--sentences", "7", "--steps", "5", "--out", str(out)])
    figures = json.loads(out.read_text())["figures"]
    assert figures["busy_cores_before"] == 1.5
    assert figures["beside 0"]["translate"]["chosen_to_the_better"] == 1.5  # of 1.5, 1 and 2
    assert [said.get("OMP_NUM_THREADS") for _, said, _ in started] == ["1", "2", None, "2"] * 2
    assert started[0][::2] == (["translate"], 6) and "GOMP_SPINCOUNT" in started[3][1]
    runs = [words[words.index("--run-directory") + 1] for words, *_ in started[4:]]
    assert len(set(runs)) == 4, "a training that goes on is none"


def test_what_counts_beside_ends():
    with busy.counting(2) as none:
        assert none is None
    started = []
    with pytest.raises(ZeroDivisionError), pytest.MonkeyPatch.context() as patch:
        real = busy.subprocess.Popen
        patch.setattr(busy.subprocess, "Popen", lambda *words: started.append(real(*words)) or started[-1])
        with busy.counting(1):
            raise ZeroDivisionError
    assert started[0].returncode is not None


def test_only_what_is_said_reaches_a_command_and_a_slow_one_is_stopped(monkeypatch, capsys):
    seen = {}

    def ran(command, env, timeout, **_):
        seen.update(env)
        raise busy.subprocess.TimeoutExpired(command, timeout)

    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    monkeypatch.setenv("KMP_BLOCKTIME", "7")
    monkeypatch.setattr(busy.subprocess, "run", ran)
    busy.run(lambda: ["translate"], {"GOMP_SPINCOUNT": "5"}, "", 3)
    assert seen["GOMP_SPINCOUNT"] == "5" and not {"OMP_NUM_THREADS", "KMP_BLOCKTIME"} & seen.keys()
    assert "stopped after 3 seconds" in capsys.readouterr().err
