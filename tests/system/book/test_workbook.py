"The workbook: every solution is green, every planted mistake is noticed, and a student finds the way from an empty directory."
import ast
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch
import yaml
from workbook import planted, without

from annotated_transformer import workbook
from annotated_transformer.workbook import exercises, failures, folder, judge, judging, read_own, written_as

ROOT = Path(__file__).parents[3]

MISTAKES = planted(ROOT)
LISTED = yaml.safe_load((ROOT / "nbs/exercises.yml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", exercises())
def test_the_solution_is_green(name):
    verdict = judge(exercises()[name], written_as(exercises()[name], exercises()[name].solution))
    assert verdict.green, verdict


# Solutions as others might write them: a check judges what a function does, not how it is written.
OTHERS = [
    ("scaled_dot_product_attention", """
def scaled_dot_product_attention(query, key, value, allowed=None):
    scores = torch.einsum("...td,...sd->...ts", query, key) * query.shape[-1] ** -0.5
    if allowed is not None:
        scores = torch.where(allowed, scores, torch.tensor(-torch.inf))
    weights = torch.exp(scores - scores.amax(-1, keepdim=True))
    weights = weights / weights.sum(-1, keepdim=True)
    return weights @ value, weights
"""),
    ("multi_head_attention", """
def multi_head_attention(x, memory, W_Q, W_K, W_V, W_O, allowed=None):
    heads = list(zip(W_Q, W_K, W_V))
    rows = W_O.split(W_V.size(-1))
    return sum(one_head(x, memory, *head, allowed=allowed) @ part for head, part in zip(heads, rows))
"""),
    ("causal_mask", """
def causal_mask(length, device=None):
    t = torch.arange(length, device=device)
    return t[:, None] >= t
"""),
    ("padding_mask", """
def padding_mask(ids):
    return (ids > PAD).unsqueeze(1).unsqueeze(1)
"""),
    ("FeedForward", """
class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.inner = nn.Linear(d_model, d_ff)
        self.outer = nn.Linear(d_ff, d_model)
        for linear in (self.inner, self.outer):
            nn.init.xavier_uniform_(linear.weight)
            nn.init.zeros_(linear.bias)

    def forward(self, x):
        return self.outer(self.inner(x).clamp(min=0))
"""),
    ("sinusoids", """
def sinusoids(n_positions, d_model):
    table = torch.zeros(n_positions, d_model, dtype=torch.float64)
    for column in range(d_model):
        angle = torch.arange(n_positions).double() / 10000 ** ((column - column % 2) / d_model)
        table[:, column] = angle.cos() if column % 2 else angle.sin()
    return table.float()
"""),
    ("learning_rate", """
def learning_rate(step, d_model, warmup_steps=4000, factor=1.0):
    if step < warmup_steps:
        return factor * d_model**-0.5 * step / warmup_steps**1.5
    return factor / (d_model * step) ** 0.5
"""),
    ("adam_step", """
def adam_step(parameter, gradient, mean, square, step, rate, beta1=0.9, beta2=0.98, eps=1e-9):
    mean[...] = beta1 * mean + (1 - beta1) * gradient
    square[...] = beta2 * square + (1 - beta2) * gradient * gradient
    parameter -= rate * (mean / (1 - beta1**step)) / ((square / (1 - beta2**step)) ** 0.5 + eps)
    return parameter
"""),
    ("label_smoothed_cross_entropy", """
def label_smoothed_cross_entropy(logits, target, smoothing):
    V = logits.size(-1)
    goal = torch.full_like(logits, smoothing / (V - 1)).scatter(-1, target[..., None], 1 - smoothing)
    loss = -(goal * F.log_softmax(logits, dim=-1)).sum(-1)
    return loss[target != PAD].mean()
"""),
    ("readable_train", """
def readable_train(model, data, warmup_steps=4000, smoothing=0.1):
    optimizer = torch.optim.Adam(model.parameters(), betas=(0.9, 0.98), eps=1e-9)
    losses, step = [], 0
    model.train()
    for source, target_input, target in data:
        step += 1
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(step, model.config.d_model, warmup_steps)
        loss = label_smoothed_cross_entropy(model(source, target_input), target, smoothing)
        loss.backward()
        optimizer.step()
        model.zero_grad()
        losses.append(loss.item())
    return losses
"""),
    ("readable_greedy_search", """
def readable_greedy_search(next_token, longest):
    tokens = []
    for _ in range(longest):
        best = next_token(tokens).topk(1).indices.item()
        if best == EOS:
            return tokens
        tokens = tokens + [best]
    return tokens
"""),
    ("beam_step", """
def beam_step(next_token, alive, beam_size):
    chances = torch.stack([p + next_token(tokens) for p, tokens in alive])
    number = min(2 * beam_size if beam_size > 1 else 1, int(chances.isfinite().sum()))
    best = chances.flatten().topk(number)
    ended, going = [], []
    for p, place in zip(best.values.tolist(), best.indices.tolist()):
        row, token = divmod(place, chances.size(1))
        (ended if token == EOS else going).append((p, alive[row][1] + [token]))
    return ended, going[:beam_size]
"""),
]


@pytest.mark.parametrize("name, source", OTHERS, ids=[name for name, _ in OTHERS])
def test_a_right_solution_may_be_written_in_another_way(name, source):
    verdict = judge(exercises()[name], written_as(exercises()[name], source))
    assert verdict.green, verdict


@pytest.mark.parametrize("name, mistake, source", MISTAKES, ids=[f"{name}: {mistake}" for name, mistake, _ in MISTAKES])
def test_a_planted_mistake_is_noticed(name, mistake, source, monkeypatch):
    monkeypatch.setattr(judging, "SECONDS", 5)  # for the mistake that never ends; no other needs half a second
    _, sentence = next(failures(exercises()[name], written_as(exercises()[name], source)), (None, None))
    assert sentence, "no test of the page notices it: the page lacks one"
    assert sentence.startswith("“") and "\n" not in sentence and len(sentence) < 500, sentence


def returning(exercise: workbook.Exercise, first: bool) -> str:
    "The solution, in which all that the reader writes returns its first argument, or nothing."
    tree = ast.parse(exercise.solution)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name in (exercise.methods or [exercise.name]):
            named = [argument.arg for argument in node.args.args if argument.arg != "self"]
            node.body = ast.parse(f"return {named[0]}" if first and named else "return None").body
    return ast.unparse(tree)


@pytest.mark.parametrize("name", exercises())
def test_a_body_that_does_nothing_passes_only_tests_that_notice_something_else(name):
    rows = json.loads((ROOT / "results/checks/workbook.json").read_text(encoding="utf-8"))["figures"]["mistakes"]
    useful = {test for row in rows if row["exercise"] == name for test in row["noticed by"]}
    useful |= {"masks_of_the_caller_stay_as_they_are"}  # no mistake is planted against it
    exercise = exercises()[name]
    for first in (False, True):
        red = {test for test, _ in failures(exercise, written_as(exercise, returning(exercise, first)))}
        assert {test["name"] for test in exercise.tests} - red <= useful and red


def test_the_table_of_mistakes_is_complete():
    rows = json.loads((ROOT / "results/checks/workbook.json").read_text(encoding="utf-8"))["figures"]["mistakes"]
    assert [(row["exercise"], row["mistake"]) for row in rows] == [(name, mistake) for name, mistake, _ in MISTAKES]
    assert len(rows) >= 40 and all(row["noticed by"] for row in rows)


@pytest.mark.parametrize("name, first", [(name, listed["first"]) for name, listed in LISTED.items() if "first" in listed])
def test_what_helps_a_beginner_most_is_tested_first(name, first):
    assert exercises()[name].tests[0]["name"] == first


def test_the_last_notebook_says_whether_the_readers_step_was_used(capsys):
    cells = json.loads((folder() / "all_together.ipynb").read_text(encoding="utf-8"))["cells"]
    sources = {mark: next(text for text in map("".join, (cell["source"] for cell in cells)) if mark in text)
               for mark in ("import readable_train", "class OwnAdam", "def reversals")}
    namespace = {"torch": torch, "__name__": "together"}
    exec(sources["import readable_train"], namespace)
    for change, said in ((("zero_grad()", "zero_grad(set_to_none=True)"), "adam_step made 2 of 2 updates"),
                         (("adam(", "torch.optim.Adam("), "your step was not used: make the optimizer of")):
        written = written_as(exercises()["readable_train"], exercises()["readable_train"].solution.replace(*change))
        namespace["readable_train"] = written  # with names of its own: the package's keep theirs
        exec(sources["class OwnAdam"], namespace)
        exec(sources["def reversals"].replace("range(200)", "range(2)").replace("reversals(50)", "reversals(1)"), namespace)
        assert said in capsys.readouterr().out


def test_a_drive_full_of_colabs_copies_is_used(tmp_path):
    workbook.write(tmp_path)
    solve(tmp_path, "sinusoids", f"import torch\nfrom torch import Tensor\n\n{exercises()['sinusoids'].solution}")
    for path in tmp_path.glob("*.ipynb"):
        path.rename(tmp_path / f"Copy of {path.name}")
    # In a process of its own, because it replaces the functions of the package.
    program = f"from annotated_transformer.workbook import use_own; use_own({str(tmp_path)!r})"
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
    assert done.stdout.splitlines()[0] == "yours: sinusoids", done.stderr


PICTURES = re.compile(r"\b(?:histograms?|pictures?|folded|top of this page|(?<!layer )below(?! \d))\b"
                      "|直方图|[上下]图|折叠|本页开头")


@pytest.mark.parametrize("path", sorted(folder().rglob("*.ipynb")), ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_an_exercise_speaks_of_no_picture_and_no_equation_that_its_notebook_lacks(path):
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    sources = [(cell["cell_type"], "".join(cell["source"])) for cell in cells]
    said = "\n".join(source for kind, source in sources if kind == "code" or source.startswith("## "))
    texts = "\n".join(source for kind, source in sources if kind == "markdown" and source.startswith("## "))
    assert not PICTURES.findall(texts)
    assert set(re.findall(r"\(([a-z]+\.\d)\)", said)) <= set(re.findall(r"\\tag\{(.*?)\}", texts))


@pytest.mark.parametrize("language", ["", "zh"])
def test_an_exercise_whose_tests_give_a_device_says_so_before_its_code(language):
    given = [one for one in exercises().values()
             if any(re.search(rf"\b{one.name}\(.*torch\.device", test["body"]) for test in one.tests)]
    assert "causal_mask" in [one.name for one in given]
    for exercise in given:
        cells = json.loads((folder() / language / f"{exercise.page}.ipynb").read_text(encoding="utf-8"))["cells"]
        sources = ["".join(cell["source"]) for cell in cells]
        stub = next(place for place, source in enumerate(sources) if source.startswith(f"def {exercise.name}("))
        assert "`device`" in sources[stub - 1] and "`meta`" in sources[stub - 1]


def test_what_the_workbook_leaves_out_of_a_text_must_be_there_once(refused):
    assert without("A dot below. So\nit is.", ["A dot.*?\\. "], "one") == "So\nit is."
    for pattern, times in (("dot above", 0), ("o", 3)):
        assert f"finds it {times} times" in refused(without, "A dot below. So", [pattern], "one")


@pytest.mark.parametrize("page", dict.fromkeys(exercise.page for exercise in exercises().values()))
def test_a_notebook_imports_what_one_types_first(page):
    assert {"math", "torch", "F", "nn", "Tensor"} <= read_own(folder() / f"{page}.ipynb")[0].keys()


def test_it_adds_less_than_a_mebibyte_to_the_wheel():
    assert sum(path.stat().st_size for path in folder().rglob("*.*")) < 2**20


def solve(directory: Path, name: str, source: str) -> None:
    "Write code where the stub stands."
    path = directory / f"{exercises()[name].page}.ipynb"
    notebook = json.loads(path.read_text(encoding="utf-8"))
    for cell in notebook["cells"]:
        text = "".join(cell["source"])
        if cell["cell_type"] == "code" and text.startswith((f"def {name}(", f"class {name}(")):
            cell["source"] = source
    path.write_text(json.dumps(notebook), encoding="utf-8")


def test_a_student_writes_solves_and_breaks(command, tmp_path, monkeypatch):
    directory = tmp_path / "mine"
    (tmp_path / "random.py").write_text("raise SystemExit(3)")  # a file of the student's own
    monkeypatch.chdir(tmp_path)
    status, out, _ = command("workbook", directory)
    assert status == 0 and "notebooks written" in out and "3.2_attention.ipynb" in out
    three = ("scaled_dot_product_attention", "causal_mask", "learning_rate")
    for name in three:
        solve(directory, name, exercises()[name].solution)
    status, out, _ = command("workbook", directory, "--check")
    assert status == 0 and f"3 of {len(exercises())} exercises are green" in out
    assert all(f"✓ green  {name}: " in out for name in three)
    solve(directory, "causal_mask", exercises()["causal_mask"].solution.replace("tril()", "triu()"))
    before = (directory / "3.2_attention.ipynb").read_bytes()
    status, out, _ = command("workbook", directory)
    assert "0 notebooks written" in out and (directory / "3.2_attention.ipynb").read_bytes() == before
    status, out, _ = command("workbook", directory, "--check")
    [line] = [line for line in out.splitlines() if " causal_mask:" in line]
    assert "✗ red" in line and "“masks say what may be seen” fails, last called with length=3, with result (3, 3): " in line


def test_a_function_that_waits_is_red_and_the_rest_is_judged(tmp_path, monkeypatch):
    workbook.write(tmp_path)
    solve(tmp_path, "causal_mask", "def causal_mask(length, device=None):\n    import time\n    time.sleep(100_000)")
    solve(tmp_path, "padding_mask", exercises()["padding_mask"].solution)
    verdicts = workbook.verdicts_on([exercises()["causal_mask"], exercises()["padding_mask"]], tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(judging, "BY_THE_CLOCK", 0.5)
        waits = next(verdicts)
    assert waits.green is False and "TimeoutError in `time.sleep(100_000)`: it did not finish" in waits.sentence
    assert waits.sentence.endswith("within 0.5 seconds") and next(verdicts).green


def test_a_mistake_in_the_command_ends_in_one_sentence(command, tmp_path):
    status, _, err = command("workbook", tmp_path / "nowhere", "--check")
    assert status == 2 and "holds no notebook of the workbook" in err and len(err.splitlines()) == 1
    (tmp_path / "file").touch()
    status, _, err = command("workbook", tmp_path / "file")
    assert status == 2 and "is a file" in err
