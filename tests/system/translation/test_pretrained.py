"The weights that ship: whole, by name, the same as those that were measured, and in the wheel."
import dataclasses
import functools
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import types
import zipfile
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from annotated_transformer import InputError, Transformer, Translator
from annotated_transformer.config import Execution, TrainingConfig, TransformerConfig
from annotated_transformer.data import corpora
from annotated_transformer.data.trees import print_tree
from annotated_transformer.files import damage, read_sums, sha256
from annotated_transformer.model_record import PRETRAINED, shipped_models
from annotated_transformer.parsing.parser import Parser
from annotated_transformer.tables.training_cost import run_cost
from annotated_transformer.training.runs import Run
from benchmarks import everyday, pretrained, semi
from benchmarks.pretrained import RECIPES, parts
from benchmarks.shared.cards import ABOUT
from benchmarks.shared.earlier import earlier, write_start

ROOT = Path(__file__).parents[3]
NAMES, PARSER, PRONOUNS = ["everyday-en-de", "multi30k-en-de", "numbers-en-de"], "parser-en", "pronouns-en-de"
MEBIBYTES = {"everyday-en-de": 24, PARSER: 8, PRONOUNS: 3}  # the others: 12
FILES = {"model.safetensors", "config.json", "tokenizer.model", "record.json", "README.md"}


def record(name: str) -> dict:
    file = {PARSER: "parsing/parser.semi", PRONOUNS: "heads/pronouns"}.get(name, f"translation/{name}")
    return json.loads((ROOT / f"results/{file}.json").read_text(encoding="utf-8"))


def shipped_run(name: str) -> dict:
    figures = record(name)["figures"]
    return next(found for found in figures["by_seed"] if found["seed"] == figures["best_seed"])


def test_what_ships_is_whole_and_small():
    assert shipped_models() == [*NAMES, PARSER, PRONOUNS]
    for name in shipped_models():
        directory = PRETRAINED / name
        assert {path.name for path in directory.iterdir()} == FILES | {"SHA256SUMS"}
        assert set(read_sums(directory)) == FILES and damage(directory, FILES) is None
        assert sum(path.stat().st_size for path in directory.iterdir()) <= MEBIBYTES.get(name, 12) * 2**20
        assert sha256(directory / "model.safetensors") == record(name)["figures"]["weights_sha256"]


def test_each_card_says_of_the_data_what_its_maker_writes_today():
    for name, about in ABOUT.items():
        card = (PRETRAINED / name / "README.md").read_text(encoding="utf-8")
        assert f"- **Data:** {about['data']}\n" in card and card.endswith(f" else, too.{about.get('habits', '')}\n"), name


def test_a_card_is_right_about_the_trades_that_become_women_and_men():
    trades = re.findall(r"\*(the \w+)\*", ABOUT["everyday-en-de"]["habits"])
    translator = Translator.from_pretrained("everyday-en-de", device="cpu")
    said = [translator(f"{trade.capitalize()} is late.").split()[:2] for trade in trades]
    assert said == [["Die", "Krankenschwester"], ["Die", "Sekretärin"], ["Der", "Arzt"], ["Der", "Ingenieur"]]


def test_a_recipe_goes_on_from_the_end_of_each_part(tmp_path):
    (first, begun), (second, finished) = parts("multi30k-en-de", 3, tmp_path).items()
    assert begun.start_from is None and finished.start_from == str(first) and first != second
    assert begun.seed == finished.seed == 3 and begun.consistency == 0 < finished.consistency
    assert (begun.steps, finished.steps) == tuple(config.steps for config in RECIPES["multi30k-en-de"])
    [(alone, longer)] = parts("multi30k-en-de", 3, tmp_path, number=1, steps=[99]).items()
    assert alone == first and longer.steps == 99
    assert [config.steps for config in parts("multi30k-en-de", 3, tmp_path, steps=[99]).values()] == [begun.steps, 99]
    assert [config.steps for config in parts("multi30k-en-de", 3, tmp_path, steps=[98, 99]).values()] == [98, 99]
    with pytest.raises(InputError, match="--steps names 3 parts"):
        parts("multi30k-en-de", 3, tmp_path, steps=[1, 2, 3])


def test_the_shipped_weights_are_what_the_recipe_says():
    record_, run = record("multi30k-en-de"), shipped_run("multi30k-en-de")
    recipe = list(parts("multi30k-en-de", run["seed"], Path("runs/pretrained")).values())
    trained = map(TrainingConfig.from_dict, record_["config"]["recipe"])
    trained_as = functools.partial(dataclasses.replace, execution=Execution())  # number formats may be another machine's
    assert [trained_as(part) for part in trained] == [trained_as(part) for part in recipe]
    assert run["updates"] == [part.steps for part in recipe]


@pytest.mark.parametrize("name", NAMES)
def test_the_shipped_model_translates_as_the_run_that_was_measured(name):
    sources, translations = zip(*shipped_run(name)["examples"])
    translator = Translator.from_pretrained(name)
    assert translator.translate(list(sources), split=False) == list(translations) and len(set(translations)) == len(sources)
    assert translator.search.alpha == shipped_run(name)["alpha"]
    weights = Transformer.from_pretrained(name).state_dict()
    assert all(weights[key].equal(value) for key, value in translator.model.state_dict().items())


def test_the_shipped_parser_writes_trees_over_the_words_without_a_network(monkeypatch):
    monkeypatch.setattr(socket, "socket", lambda *_: pytest.fail("it opens a connection"))
    run, parser = shipped_run(PARSER), Parser.from_pretrained(PARSER)
    sentences = [line.split() for line in semi.EXAMPLES]
    parses = parser.parse(sentences)
    assert [print_tree(parse.tree) for parse in parses] == run["examples"] and parser.leaves == "words"
    odd = ["( ) -LRB- (S )S XX TOP".split(), ["naïve", "日本語", "⁇"], ["very"] * 120, ["."], "1989 : $ 3,000,000 , so".split()]
    parses += parser.parse(odd, dataclasses.replace(parser.search, beam_size=2))
    for parse, words in zip(parses, [*sentences, *odd], strict=True):
        assert parse.tree.leaves() == words and not parse.repairs


def test_the_shipped_parser_needed_no_repairs_where_it_was_measured():
    for split, how, sentences in (("validation", "constrained", 273), ("test", "constrained", 245), ("test", "papers_beam", 245)):
        scores = shipped_run(PARSER)["scores"][split][how]
        assert scores["malformed"] == 0 and scores["sentences"] == sentences


@pytest.mark.parametrize("name, right, nearly", [
    ("everyday", 45, 49), ("everyday-2", 45, 49), ("phrasebook", 30, 34), ("tatoeba", 30, 44),
])
def test_everyday_sentences_come_out_as_they_were_judged(name, right, nearly):
    figures = json.loads((ROOT / f"results/translation/{name}-sentences.json").read_text(encoding="utf-8"))["figures"]
    rows, verdicts = figures["sentences"], [row["verdict"] for row in figures["sentences"]]
    sources, accepted = everyday.sentences(name)
    assert [row["source"] for row in rows] == sources
    assert all(row["verdict"] == "right" for row in rows if (row["source"], row["translation"]) in accepted)
    assert {verdict: verdicts.count(verdict) for verdict in everyday.VERDICTS} == figures["counts"]
    assert figures["counts"]["open"] == 0
    second = [row["second"] for row in rows if "second" in row]
    assert len(second) == (0 if name == "tatoeba" else len(rows))
    counted = {verdict: second.count(verdict) for verdict in everyday.VERDICTS[:3]}
    assert figures.get("counts_of_second_judge") == (counted if second else None)
    assert figures["counts"]["right"] >= right and figures["counts"]["right"] + figures["counts"]["nearly"] >= nearly
    translations = Translator.from_pretrained("everyday-en-de").translate([row["source"] for row in rows])
    assert translations == [row["translation"] for row in rows]


def test_sentences_measured_again_into_another_file_keep_their_verdicts_but_for_new_translations(tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)
    before = json.loads(Path("results/translation/everyday-2-sentences.json").read_text(encoding="utf-8"))["figures"]["sentences"]
    found = [row["translation"] for row in before]
    found[5] = "Etwas anderes."
    translator = types.SimpleNamespace(translate=lambda sources: found)
    monkeypatch.setattr(everyday, "Translator", types.SimpleNamespace(from_pretrained=lambda name: translator))
    monkeypatch.setattr(everyday, "seen_in_training", lambda sources: None)
    out = tmp_path / "again.json"
    everyday.main(["everyday-2", "--out", str(out)])
    rows = json.loads(out.read_text(encoding="utf-8"))["figures"]["sentences"]
    verdicts = [row["verdict"] for row in before]
    assert [row["verdict"] for row in rows] == [*verdicts[:5], "open", *verdicts[6:]] and len({*verdicts}) == 3
    seconds = [row["second"] for row in before]
    assert [row.get("second") for row in rows] == [*seconds[:5], None, *seconds[6:]] and seconds != verdicts
    rows[5]["verdict"] = "nearly"  # judged in the new file, which the next run reads beside the old one
    out.write_text(json.dumps({"figures": {"sentences": rows}}), encoding="utf-8")
    everyday.main(["everyday-2", "--out", str(out)])
    assert json.loads(out.read_text(encoding="utf-8"))["figures"]["sentences"][5]["verdict"] == "nearly"


def test_numbers_come_out_as_they_were_scored():
    pairs = list(corpora.load("numbers-en-de").test)[::40]
    lines = (ROOT / "results/translation/numbers-en-de.test.txt").read_text(encoding="utf-8").splitlines()[::40]
    assert Translator.from_pretrained("numbers-en-de").translate([source for source, _ in pairs]) == lines


def test_the_three_sentences_of_the_demo_come_out_right():
    "Unseen sentences that the demo's own training translated rightly when it was measured, and that the shipped weights do."
    demo = re.search(r"printf '%s\\n' ((?:.|\n)*?) \|", (ROOT / "Makefile").read_text(encoding="utf-8"))[1]
    sentences, test = re.findall("'([^']+)'", demo), dict(corpora.load("numbers-en-de").test)
    assert len(sentences) == 3 and set(sentences) <= set(test)
    gold = [test[sentence] for sentence in sentences]
    lines = (ROOT / "results/translation/numbers-en-de-demo.test.txt").read_text(encoding="utf-8").splitlines()
    measured = dict(zip(test, lines, strict=True))
    assert [measured[sentence] for sentence in sentences] == gold
    assert Translator.from_pretrained("numbers-en-de").translate(sentences) == gold


@pytest.mark.parametrize("name", sorted(FILES))
def test_a_damaged_file_is_refused_by_name(name, tmp_path):
    for path in (PRETRAINED / "numbers-en-de").iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    content = bytearray((tmp_path / name).read_bytes())
    content[len(content) // 2] ^= 1
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=f"{name}.* is damaged"):
        Translator.from_pretrained(tmp_path)


def test_the_card_says_what_was_measured():
    for name in NAMES:
        card, run = (PRETRAINED / name / "README.md").read_text(encoding="utf-8"), shipped_run(name)
        assert f"{run['parameters']:,} parameters" in card and record(name)["command"] in card
        assert ("Reproduced by" in card) == ("--made" not in record(name)["command"])  # which trains nothing
        for test, figures in run["tests"].items():
            assert f"{test}: {figures['multi30k_bleu']['score']:.2f} BLEU" in card
    card, run = (PRETRAINED / PARSER / "README.md").read_text(encoding="utf-8"), shipped_run(PARSER)
    for words in (f"{run['parameters']:,} parameters", record(PARSER)["command"], "non-commercial use only",
                  f"245 sentences: {run['scores']['test']['constrained']['f1']:.2f}"):
        assert words in card


def test_an_editor_finds_the_package_of_an_editable_installation(tmp_path):
    "A type checker runs no finder: it reads directories in a .pth."
    place = tmp_path / "source"
    (place / "annotated_transformer" / "model").mkdir(parents=True)
    for name in ("setup.py", "settings.ini", "pyproject.toml", "README.md", "LICENSE", "annotated_transformer/__init__.py"):
        shutil.copy(ROOT / name, place / name)
    (place / "annotated_transformer" / "model" / "__init__.py").touch()
    build = f"from setuptools import build_meta; build_meta.build_editable({str(tmp_path)!r})"
    subprocess.run([sys.executable, "-c", build], cwd=place, check=True, stdout=subprocess.DEVNULL)
    [wheel] = map(zipfile.ZipFile, tmp_path.glob("*.whl"))
    [path] = [name for name in wheel.namelist() if name.endswith(".pth")]
    assert Path(wheel.read(path).decode().strip()) == place


def test_the_wheel_holds_them_and_an_installation_of_it_translates_and_parses(tmp_path):
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    build = [*pip, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(tmp_path), "."]
    place = tmp_path / "source"  # setuptools leaves its build directory where it builds
    shutil.copytree(ROOT / "annotated_transformer", place / "annotated_transformer", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("setup.py", "settings.ini", "pyproject.toml", "README.md", "LICENSE", "MANIFEST.in"):
        shutil.copy(ROOT / name, place)
    (place / "build" / "lib" / "annotated_transformer").mkdir(parents=True)  # of an earlier version
    (place / "build" / "lib" / "annotated_transformer" / "gone.py").touch()
    subprocess.run(build, cwd=place, check=True)
    [wheel] = tmp_path.glob("*.whl")
    held = set(zipfile.ZipFile(wheel).namelist())
    assert "annotated_transformer/py.typed" in held  # else type checkers pass over its types
    assert {f"annotated_transformer/pretrained/{name}/{file}" for name in [*NAMES, PARSER] for file in FILES} <= held
    [metadata] = [name for name in held if name.endswith(".dist-info/METADATA")]
    relative_link = re.compile(rb"\]\((?!https?:)")  # it would lead nowhere from a package index
    assert relative_link.search((ROOT / "README.md").read_bytes())
    assert not relative_link.search(zipfile.ZipFile(wheel).read(metadata))
    assert b"\nLicense-Expression: Apache-2.0 AND LicenseRef-Trained-Weights\n" in zipfile.ZipFile(wheel).read(metadata)
    assert "annotated_transformer/gone.py" not in held
    subprocess.run([*pip, "install", "--no-deps", "--target", str(tmp_path / "installed"), str(wheel)], check=True)
    source, expected = shipped_run("everyday-en-de")["examples"][0]  # the model of whoever names none
    done = subprocess.run(
        [sys.executable, "-m", "annotated_transformer", "translate"], input=f"{source}\n", cwd=tmp_path / "installed",
        env={**os.environ, "PYTHONPATH": str(tmp_path / "installed")}, check=True, stdout=subprocess.PIPE, text=True,
    )
    assert done.stdout == f"{expected}\n"
    done = subprocess.run(
        [sys.executable, "-m", "annotated_transformer", "parse"], input=f"{semi.EXAMPLES[0]}\n", cwd=tmp_path / "installed",
        env={**os.environ, "PYTHONPATH": str(tmp_path / "installed")}, check=True, stdout=subprocess.PIPE, text=True,
    )
    assert done.stdout == f"{shipped_run(PARSER)['examples'][0]}\n"


@pytest.fixture
def small_recipe(tmp_path, monkeypatch):
    "In place of the recipe for everyday sentences one of two parts that trains in a second, and another place to ship to."
    directory = tmp_path / "corpus"
    directory.mkdir()
    for name, n in (("train", 60), ("validation", 6), ("test", 4)):
        (directory / f"{name}.en").write_text("".join(f"the dog sees {i % 7} cats and the key\n" for i in range(n)))
        (directory / f"{name}.de").write_text("".join(f"der Hund sieht {i % 7} Katzen und den Schluessel\n" for i in range(n)))
    model = TransformerConfig(60, n_layers=1, d_model=16, d_ff=24, n_heads=2, dropout=0.1, max_length=64)
    first = dataclasses.replace(
        pretrained.EVERYDAY, model=model, corpus=str(directory), batch_tokens=300, steps=40, warmup_steps=10, validate_every=4,
        checkpoint_every=4, keep=5, log_every=1,
    )
    finish = dataclasses.replace(first, consistency=1.0, steps=6, checkpoint_every=2)
    monkeypatch.setitem(RECIPES, "everyday-en-de", (first, finish))
    monkeypatch.setattr(pretrained, "ALPHAS", (0.6, 1.0))
    monkeypatch.setattr(pretrained, "PRETRAINED", tmp_path / "shipped")
    return ["everyday-en-de", "--runs", str(tmp_path / "runs"), "--out", str(tmp_path / "results" / "everyday-en-de.json")]


@pytest.mark.parametrize("name, alpha", [("multi30k-en-de", 0.6), ("everyday-en-de", 1.0)])
def test_the_papers_length_penalty_is_kept_but_by_the_everyday_translator(name, alpha, monkeypatch):
    class Better:
        "Right with other penalties, wrong with the paper's."

        def translate(self, sources, search, split):
            return [source if search.alpha == 1.0 else f"{source} {source}" for source in sources]

    monkeypatch.setattr(pretrained, "multi30k_bleu", pretrained.sacre_bleu)
    pairs = [("ein Hund sieht den Ball", "ein Hund sieht den Ball")]
    found = pretrained.choose_on_validation(name, lambda _: Better(), [1, 5], pairs)
    assert found["bleu_by_alpha"]["1.0"] == 100 > found["bleu_by_alpha"]["0.6"]
    assert found["alpha"] == alpha and found["average"] == 1
    assert round(found["validation_bleu"], 3) == found["bleu_by_alpha"][str(alpha)]


def test_a_run_that_was_cut_short_is_measured_and_shipped_as_it_stands(small_recipe, tmp_path, capsys):
    run, out, shipped = tmp_path / "runs/everyday-en-de-seed1", Path(small_recipe[-1]), tmp_path / "shipped/everyday-en-de"
    pretrained.main([*small_recipe, "--parts", "1", "--steps", "10"])
    straight = json.loads(out.read_text())
    settings = json.loads((run / "config.json").read_text())
    settings["training"] |= {"steps": 40, "corpus": "elsewhere"}  # as if 40 updates had been planned, for a directory of pairs
    (run / "config.json").write_text(json.dumps(settings))
    pretrained.main([*small_recipe, "--parts", "1", "--as-it-stands", "--ship"])
    record = json.loads(out.read_text())
    given = f"everyday-en-de --seeds 1 --parts 1 --steps 10 --ship --out {out}"
    assert record["command"] == f"python -m benchmarks.pretrained {given}"
    assert record["config"] == straight["config"] and record["config"]["recipe"][0]["steps"] == 10
    one, before = record["figures"]["by_seed"][0], straight["figures"]["by_seed"][0]
    assert one == before and one["updates"] == [10] and one["tests"]["test"]["sentences"] == 4
    assert set(one["bleu_by_average"]) == {"1", "5"} and set(one["bleu_by_alpha"]) == {"0.6", "1.0"}

    stored = load_file(shipped / "model.safetensors")
    assert {weight.dtype for weight in stored.values()} == {torch.float16} and damage(shipped, FILES) is None
    assert sha256(shipped / "model.safetensors") == record["figures"]["weights_sha256"]
    translator = Translator.from_pretrained(shipped)
    weights = Transformer.from_pretrained(shipped).state_dict()
    for name, weight in translator.model.state_dict().items():
        assert weight.dtype == torch.float32 and weight.equal(stored[name].float()) and weight.equal(weights[name])
    sources, translations = zip(*one["examples"])
    assert translator.translate(list(sources), split=False) == list(translations) and translator.search.alpha == one["alpha"]
    card = (shipped / "README.md").read_text(encoding="utf-8")
    assert "10 updates" in card and "stored in 16 bits" in card and record["command"] in card and "Tatoeba" in card

    scored = json.loads((out.parent / "everyday-en-de.test.json").read_text())
    assert scored["figures"] == one["tests"]["test"] and scored["training"]["step"] == 10
    scored_as = f"annotated-transformer score everyday-en-de --corpus {tmp_path / 'corpus'} --split test --out "
    assert scored["command"].startswith(scored_as)
    lines = (out.parent / "everyday-en-de.test.txt").read_text().splitlines()
    tested = (tmp_path / "corpus/test.en").read_text().splitlines()
    assert len(lines) == 4 and translator.translate(tested) == lines
    course = (out.parent / "everyday-en-de.metrics.jsonl").read_text().splitlines()
    assert len(course) == len(Run(run).metrics()) and json.loads(course[-1])["part"] == 1


def test_the_parts_after_one_that_is_taken_as_it_stands_are_trained(small_recipe, tmp_path, capsys):
    pretrained.main([*small_recipe, "--parts", "1", "--steps", "10"])
    pretrained.main([*small_recipe, "--as-it-stands", "1"])
    record = json.loads(Path(small_recipe[-1]).read_text())
    assert record["figures"]["by_seed"][0]["updates"] == [10, 6]
    given = f"everyday-en-de --seeds 1 --parts 2 --steps 10 6 --out {small_recipe[-1]}"
    assert record["command"] == f"python -m benchmarks.pretrained {given}"
    assert not (tmp_path / "shipped").exists()


def test_the_last_part_goes_on_from_kept_weights_and_records_what_they_have_had(small_recipe, tmp_path, refused):
    pretrained.main([*small_recipe, "--parts", "1", "--steps", "10"])
    kept, out = tmp_path / "kept", Path(small_recipe[-1])
    first = tmp_path / "runs/everyday-en-de-seed1"
    write_start([first], 2, kept)
    assert [one["cost"]["updates"] for one in earlier(kept)] == [10]
    pretrained.main([*small_recipe, "--start", str(kept), "--steps", "6", "--ship"])
    record = json.loads(out.read_text())
    one = record["figures"]["by_seed"][0]
    assert one["updates"] == [10, 6] and [part["steps"] for part in record["config"]["recipe"]] == [10, 6]
    assert one["cost"]["target_tokens"] > run_cost(first).target_tokens == earlier(kept)[0]["cost"]["target_tokens"]
    card = (tmp_path / "shipped/everyday-en-de/README.md").read_text(encoding="utf-8")
    assert "10 updates" in card and "then 6 updates" in card
    write_start([tmp_path / "runs/everyday-en-de-seed1-last"], 2, tmp_path / "again")
    assert [one["cost"]["updates"] for one in earlier(tmp_path / "again")] == [10, 6]
    words = [*small_recipe, "--start", str(kept), "--seeds", "1", "2"]
    assert "--start names 1 weights, and there are 2 seeds" in refused(pretrained.main, words)


def test_weights_made_elsewhere_are_scored_and_shipped_as_they_are(small_recipe, tmp_path, monkeypatch, refused):
    pretrained.main([*small_recipe, "--steps", "10", "6"])
    out, kept, shipped = Path(small_recipe[-1]), tmp_path / "kept", tmp_path / "shipped/everyday-en-de"
    trained, course = json.loads(out.read_text()), out.with_name("everyday-en-de.metrics.jsonl").read_text()
    before = trained["figures"]["by_seed"][0]
    write_start([tmp_path / "runs/everyday-en-de-seed1", tmp_path / "runs/everyday-en-de-seed1-part2"], before["average"], kept)
    monkeypatch.setattr(pretrained, "train", lambda *_: pytest.fail("it was trained"))
    pretrained.main([*small_recipe, "--made", str(kept), "--ship"])
    record = json.loads(out.read_text())
    now = record["figures"]["by_seed"][0]
    assert now | {"bleu_by_average": None} == before | {"bleu_by_average": None}
    assert now["bleu_by_average"] == {str(now["average"]): before["bleu_by_average"][str(now["average"])]}
    assert record["figures"]["best_seed"] == record["seed"] == now["seed"]
    assert record["config"] == trained["config"] and f"--made {kept} --ship" in record["command"]
    assert out.with_name("everyday-en-de.metrics.jsonl").read_text() == course
    assert (shipped / "model.safetensors").read_bytes() == (kept / "model.safetensors").read_bytes()
    (kept / "earlier.json").unlink()
    assert "earlier.json is missing" in refused(pretrained.main, [*small_recipe, "--made", str(kept)])


def test_the_card_names_each_device_with_its_own_minutes():
    parts = [{"cost": {"seconds": 600}, "hardware": {"processor": "One", "cores": 2}}] * 2
    parts.append({"cost": {"seconds": 420}, "hardware": {"processor": "Two", "cores": 16, "accelerator": "A GPU"}})
    assert pretrained.where(parts[:2]) == "20 minutes by the clock on one or two cores that it shared, of One"
    assert pretrained.where(parts).endswith("of One,\n  and 7 minutes by the clock on one A GPU")


def test_what_cannot_be_taken_as_it_stands_is_said_in_one_sentence(small_recipe, monkeypatch, refused):
    pretrained.main([*small_recipe, "--parts", "1", "--steps", "4"])
    first, _ = RECIPES["everyday-en-de"]
    monkeypatch.setitem(RECIPES, "everyday-en-de", (dataclasses.replace(first, warmup_steps=11), first))
    for given, words in ((["--as-it-stands"], "warmup_steps is 10 there and 11 in the recipe"),
                         (["--as-it-stands", "--seeds", "2"], "everyday-en-de-seed2")):
        said = refused(pretrained.main, [*small_recipe, *given])
        sentences = [line for line in re.split("[\r\n]", said) if line and not line.endswith("seed/s]")]  # a bar may turn twice
        assert len(sentences) == 1 and words in sentences[0], said
    assert "one seed" in refused(pretrained.main, [*small_recipe, "--as-it-stands", "--seeds", "1", "2"])


def test_a_trial_is_never_put_into_the_package(tmp_path, monkeypatch, refused):
    monkeypatch.setattr(pretrained, "train", lambda *_: pytest.fail("it was trained"))
    words = ["multi30k-en-de-wide", "--runs", str(tmp_path), "--ship"]
    for more in ([], ["--as-it-stands"]):
        assert "is a trial, and does not ship" in refused(pretrained.main, [*words, *more])
    assert list(tmp_path.iterdir()) == []
