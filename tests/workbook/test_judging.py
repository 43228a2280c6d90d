"A check says in one sentence what a reader's function does wrong, and leaves the package as it was."
import contextlib
import io
import signal
from unittest.mock import patch

import torch

from annotated_transformer.workbook import check, exercises, judge, judging, written_as


def test_a_check_leaves_the_package_as_it_was():
    from annotated_transformer.model import attention, transformer

    before = {name: exercise.own for name, exercise in exercises().items()}
    wrong = written_as(exercises()["padding_mask"], exercises()["padding_mask"].solution.replace("!=", "=="))
    assert not judge(exercises()["padding_mask"], wrong).green
    assert {name: exercise.own for name, exercise in exercises().items()} == before
    assert transformer.padding_mask is attention.padding_mask is before["padding_mask"]


def test_what_others_have_left_open_comes_from_the_package():
    exercise = exercises()["multi_head_attention"]
    source = "def one_head(*_):\n    raise NotImplementedError\n\n\n" + exercise.solution
    numbers = torch.get_rng_state()
    assert judge(exercise, written_as(exercise, source)).green
    assert torch.equal(torch.get_rng_state(), numbers), "the reader's next random numbers are what they would have been"


def test_the_sentence_says_which_property_and_for_which_shapes():
    exercise = exercises()["scaled_dot_product_attention"]
    said = {}
    wrongs = {"axis": ("dim=-1", "dim=-2"), "scale": (" / math.sqrt(query.size(-1))", ""), "error": ("-2, -1", "0, 1"),
              "none": ("return weights", "weights")}
    if hasattr(signal, "setitimer"):  # Windows interrupts no function: this one would never end
        wrongs["endless"] = "    scores = ", "    while True:\n        pass\n    scores = "
    for name, (right, wrong) in wrongs.items():
        with patch.object(judging, "SECONDS", 2 if name == "endless" else 30):
            said[name] = judge(exercise, written_as(exercise, exercise.solution.replace(right, wrong, 1))).sentence
    called = "last called with query (1, 3), key (3, 3), value (3, 1), with result (1, 1) and (1, 3)"
    assert said["axis"].startswith(f"“a query ten times a key fetches its value” fails, {called}: ")
    assert "numbers differ, by up to" in said["scale"]
    assert "RuntimeError in `scores = query @ key.transpose(0, 1)" in said["error"]
    assert said["none"].endswith("the result is None: a `return` is missing")
    if "endless" in said:
        assert "TimeoutError in `" in said["endless"] and "within 2 seconds" in said["endless"]
    mean = exercises()["average_checkpoints"]
    wrong = judge(mean, written_as(mean, "def average_checkpoints(paths):\n    return load_weights(paths[0])")).sentence
    assert wrong.startswith("“the mean by hand” fails, last called with paths of length 3: ")
    penalty = exercises()["length_penalty"]
    wrong = judge(penalty, written_as(penalty, "def length_penalty(length, alpha):\n    return length**alpha")).sentence
    assert "fails, last called with length=7, alpha=1, with result=7: " in wrong
    wrong = judge(penalty, written_as(penalty, "import torch\ndef length_penalty(*_):\n    return torch.tensor(1.5)")).sentence
    assert "with result=1.5 (torch.float32): " in wrong
    maps = exercises()["AttentionMaps"]
    wrong = judge(maps, written_as(maps, maps.solution.replace("rows.sum(0)", "rows.sum()"))).sentence
    assert "numbers differ" in wrong and "encoder_decoder (" in wrong
    assert not any("\n" in sentence for sentence in said.values())


def test_check_looks_where_it_is_called():
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        exec("check('causal_mask')\ncheck('casual_mask')", {"check": check})
        exec("check('causal_mask')", {"check": check, "causal_mask": exercises()["causal_mask"].own})
        mine = {"check": check, "causal_mask": lambda length, device=None: torch.ones(length, length, device=device).tril() > 0}
        exec("check('causal_mask')\ncheck('3.2_attention')", mine)
        mine["causal_mask"].__name__ = "causal_mask"
        exec("check(causal_mask)", mine)
    one, other, imported, green, page, same = output.getvalue().splitlines()
    assert imported == one and same == green and page.startswith("'3.2_attention' is a page; its exercises are 'scaled_dot_product_attention', ")
    assert "run the cell in which you write it first" in one and "do you mean 'causal_mask'?" in other and green.startswith("✓ green")
