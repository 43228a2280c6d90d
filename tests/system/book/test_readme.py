"What README.md and docs/ print is what results/ holds, their commands are commands, and their links lead somewhere."
import argparse
import ast
import functools
import importlib
import json
import re
import shlex
import statistics
from collections import Counter
from contextlib import redirect_stdout, suppress
from html import unescape
from io import StringIO
from pathlib import Path

import matplotlib.pyplot as plt
import pytest
import yaml

from annotated_transformer import Translator
from annotated_transformer.command_line import main as cli
from annotated_transformer.command_line.options import read_options
from annotated_transformer.model_record import record_of
from annotated_transformer.workbook import exercises
from benchmarks.shared.side_by_side import mean_and_deviation

ROOT = Path(__file__).parents[3]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(ROOT.glob("docs/*.md"))]
LINK = re.compile(r"\]\(([^)\s]+)\)")


def page(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def blocks(text: str, kind: str = "") -> str:
    "All that stands between fences of this kind."
    fences = re.findall(r"^```(\w*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return "\n".join(body for found, body in fences if found == kind)


def test_every_row_of_the_results_table_is_what_was_measured():
    row = r"^\| ([a-z0-9-]+) \| \[([a-z0-9]+)\]\((results/[\w./-]+)\) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+)% \|$"
    text = page("README.md")
    rows = re.findall(row, text, re.MULTILINE)
    assert len(rows) == 5 == text.count("](results/")
    for corpus, split, path, sacre, lowercased, exact in rows:
        record = json.loads((ROOT / path).read_text(encoding="utf-8"))
        assert record["config"]["corpus"] == corpus and f"--split {split}" in record["command"]
        assert path == f"results/translation/{corpus}.{split}.json"
        figures = record["figures"]
        measured = (figures["sacre_bleu"]["score"], figures["multi30k_bleu"]["score"], 100 * figures["exact"])
        assert (sacre, lowercased, exact) == tuple(f"{value:.{digits}f}" for value, digits in zip(measured, (2, 2, 1)))


def test_the_measures_in_the_text_are_those_of_their_files():
    text = page("docs/never-losing-work.md")
    kills = json.loads((ROOT / "results/checks/kills.json").read_text(encoding="utf-8"))["figures"]
    assert [(figures["processes"], figures["kills"]) for figures in kills] == [(1, 50), (2, 50)]
    assert all(figures["runs_equal_to_the_uninterrupted_one"] == figures["runs"] for figures in kills)
    assert "50 random kills with one process and 50 with two" in text


def test_the_parser_is_as_good_as_the_text_says():
    text = page("docs/parsing.md")
    files = [ROOT / f"results/parsing/{name}.json" for name in ("pcfg", "treebank", "parser", "parser-seed2", "parser-seed3")]
    grammar, treebank, *gold = (json.loads(file.read_text(encoding="utf-8"))["figures"] for file in files)
    assert {parser["training_sentences"] for parser in gold} == {3396}
    gold = [run for parser in gold for run in parser["by_seed"]]
    assert [run["seed"] for run in gold] == [1, 2, 3] and {run["updates"] for run in gold} == {8000}
    tests = {search: [run[search]["test"] for run in gold] for search in ("scores", "bound")}
    f1 = {search: mean_and_deviation([test["f1"] for test in some]) for search, some in tests.items()}
    free, bound = (f"{f1[search]['mean']:.2f} ± {f1[search]['deviation']:.2f}" for search in tests)
    assert {test["sentences"] for test in tests["scores"]} == {245} and f"reaches F1 {free} on" in text
    assert f"a [PCFG](../nbs/paper/6.3_parsing.ipynb) {grammar['test']['f1']:.2f};" in text
    assert f"writes only trees has {bound} with these models" in text
    repaired = [100 * test["malformed"] / test["sentences"] for test in tests["scores"]]
    assert f"{min(repaired):.0f} to {max(repaired):.0f}% of its outputs need a repair" in text
    times = json.loads(page("results/parsing/parser.times.json"))["figures"]["in_batches"]["seconds_per_sentence"]
    assert f"{times['4'] * 1e3:.0f} ms a sentence instead of {times['21'] * 1e3:.0f}," in text
    assert round(times["21"] / times["4"]) == 6
    craft = json.loads((ROOT / "results/parsing/parser.craft.json").read_text(encoding="utf-8"))["figures"]
    craft_f1 = craft["scores"]["constrained"]["test"]["f1"]
    assert f"has F1 {craft_f1:.2f} on a third of CRAFT's test sentences after {craft['updates']:,} updates" in text
    assert craft["average"] == 8 and "With the mean of its last eight checkpoints" in text
    assert f"{craft['minutes_of_updates']:.0f} minutes of one core" in text
    half, end = (point["f1"] for point in craft["curve"][-2:])
    alone, mean = (craft["f1_by_average"][n] for n in "18")
    assert f"one checkpoint has {half:.2f} half-way and {end:.2f} at the end, the mean {mean:.2f}" in text
    assert round(end - alone, 2) == 0
    said = f"{treebank['right_branching']['scores']['test']['f1']:.2f}"
    assert f"[right-branching](../nbs/paper/6.3_parsing.ipynb) has {said} and" in text
    minutes = [run["minutes_of_updates"] for run in gold]
    assert f"(three seeds, {min(minutes):.0f} to {max(minutes):.0f} minutes each on" in text
    files = [ROOT / f"results/parsing/parser.{name}.json" for name in ("curve", "self-training")]
    curve, after = (json.loads(file.read_text(encoding="utf-8"))["figures"] for file in files)
    less = {point["share"]: f"{point['summary']['test']['f1']['mean']:.2f}" for point in curve["points"]}
    assert f"half of the sentences it has {less[50]}, with a quarter {less[25]}" in text
    assert after["by_seed"][0]["gold"] == curve["points"][1]["sentences"]
    assert f"that it is sure of, {after['after']['test']['f1']['mean']:.2f}" in text
    semi, berkeley = (json.loads(page(f"results/parsing/{name}.json"))["figures"] for name in ("parser.semi", "berkeley"))
    one, = semi["by_seed"]
    assert f"{semi['trees']['others']:,} sentences that the Berkeley parser" in text
    assert f"Its F1 is {one['scores']['test']['constrained']['f1']:.2f} ({one['parameters'] / 1e6:.2f} million" in text
    assert f"{one['scores']['test']['free']['f1']:.2f} with the free search" in text
    others = [json.loads(page(f"results/parsing/parser.semi-seed{seed}.json"))["figures"]["by_seed"][0] for seed in (2, 3)]
    assert [run["seed"] for run in (one, *others)] == [1, 2, 3] and len({str(run["updates"]) for run in (one, *others)}) == 1
    tests = [run["scores"]["test"] for run in (one, *others)]
    seeds = [mean_and_deviation([test[how]["f1"] for test in tests]) for how in ("constrained", "free")]
    bound, free = (f"{f1['mean']:.2f} ± {f1['deviation']:.2f}" for f1 in seeds)
    assert f"have {bound}, and {free} with the free search" in text
    votes = json.loads((ROOT / "results/parsing/parser.votes.json").read_text())["figures"]["test"]
    assert [alone["f1"] for alone in votes["each"]] == [test["constrained"]["f1"] for test in tests]
    assert f"Together they have {votes['together']['f1']:.2f} on the test split" in text
    assert f"the same trees, has {berkeley['test']['f1']:.2f} " in text


def quotient(by: dict, name: str, beside: str) -> str:
    "The median of the rounds' quotients of two contenders that took turns."
    seconds = by[name]["seconds"], by[beside]["seconds"]
    return f"{statistics.median(one / other for one, other in zip(*seconds, strict=True)):.2f}"


def works_of(name: str) -> dict:
    return json.loads(page(f"results/speed/{name}.json"))["figures"]["works"]


def least_gains(measured: str) -> list[str]:
    "What lists of likely words gain at least, by precision: four works each, which the row names."
    found = json.loads(page("results/speed/short-lists.json"))["figures"]
    gains = {how: [work["times_as_fast"] for work in works.values()] for how, works in found["by_precision"].items()}
    names = {"float32": "float32", "float16": "16 bits", "int8": "8 bits"}
    assert measured == "; ".join(f"{names[how]} {', '.join(f'{one:.2f}' for one in each)}" for how, each in gains.items())
    text, validation = page("benchmarks/README.md"), found["validation"]
    _, one, some, many = (work["tokens_listed"] for work in found["by_precision"]["float32"].values())
    assert f"{one:,} of 8,000 tokens for a sentence, {some:,} for 16, {many:,} for 64." in text
    assert (f"{validation['changed']} of {validation['sentences']:,} translations change, and BLEU is {validation['with']:.2f} "
            f"instead of {validation['without']:.2f}.") in text
    return [f"{min(each):.3f}" for each in gains.values()]


def test_the_goals_are_what_was_measured():
    text = page("benchmarks/README.md").split("## Goals")[1].split("## Training")[0]
    rows = [line.split(" | ") for line in text.splitlines() if line.startswith("| ")][1:]
    works = ("beam 4, batch 16", "beam 4, batch 64", "greedy, batch 1")
    pairs = {"CTranslate2 / ours, both in 8 bits": ("ctranslate2_int8", "ours_int8"),
             "our float32 / our 8 bits": ("ours", "ours_int8"), "ONNX Runtime / our float32": ("onnx_runtime", "ours")}
    seen = []
    for goal, measured, processor, met in rows:
        goal = goal[2:] if goal != "| the same" else seen[-1][0]
        path = re.search(r"results/speed/([\w-]+)", processor)[1]
        seen.append((goal, path))
        name, _, least = goal.partition(": ")
        if name in pairs:
            by = [works_of(path)[work]["by"] for work in works]
            values = [quotient(one, *pairs[name]) for one in by]
            rounds = [theirs / ours for theirs, ours in zip(*(by[0][who]["seconds"] for who in pairs[name]))]
            spread = f" (rounds {min(rounds):.2f} to {max(rounds):.2f})" if "CTranslate2" in name else ""
            assert measured == ", ".join([values[0] + spread, *values[1:]]), (name, path)
        elif name == "base step":
            base = json.loads(page(f"results/speed/{path}.json"))["figures"]["steps"]["base"]["contenders"]
            rate = "rate" in least
            value = base["ours"]["share_of_matrix_products"] if rate else base["peer"]["times_ours"]
            assert measured == (f"{value:.0%}" if rate else f"{value:.2f}")
            values = [f"{value:.2f}"]
            least = "0.75" if least.startswith("75% ") else least.split(" ")[0]
        else:
            values = least_gains(measured)
            least = ", ".join(["1.15"] * len(values))
        compared = zip(values, least.split(", "), strict=True)
        verdicts = ["yes" if float(value) >= float(wanted) else "no" for value, wanted in compared]
        assert met == f"{', '.join(verdicts)} |", (name, path)
    files = ["decoding", "decoding-amx", "decoding-avx2"]
    assert [path for _, path in seen] == ["training", "training", "training-amd", *files, *files, *files, "short-lists"]
    others = ", ".join(
        ", ".join(quotient(works_of(path)[work]["by"], "ctranslate2", "ours") for work in works) + f" ({unit})"
        for path, unit in zip(files, ("AVX-512", "AMX", "AVX2")))
    assert f"**CTranslate2 / our float32** had no goal: {others}." in text
    end = "greedy, batch 64, sentences end"
    both = [quotient(works_of(path)[end]["by"], "ctranslate2_int8", "ours_int8") for path in files[:2]]
    assert "CTranslate2 in 8 bits takes {} (AVX-512) and {} times our time (AMX)".format(*both) in text


def test_the_kernels_are_what_was_measured():
    text = page("benchmarks/README.md").split("### Kernels")[1].split("## Models")[0]
    names = {
        "int8: oneDNN, or inputs in bfloat16 where multiplications are few":
            "int8, oneDNN, or inputs in bfloat16 where multiplications are few",
        "int8: old operator": "int8, old operator", "int8: oneDNN": "int8, oneDNN", "int8: `_int_mm`": "int8, _int_mm",
        "int8: old operator by oneDNN": "int8, old operator by oneDNN",
        "float16 weights: old operator": "float16 weights, old operator",
        "bfloat16: oneDNN packed": "bfloat16, oneDNN packed", "float16: oneDNN packed": "float16, oneDNN packed",
        "float32: few rows by halves": "float32, few rows by halves", "float32: column by column": "float32, column by column",
        "float32: oneDNN packed": "float32, oneDNN packed",
    }
    files = {"AMX": "kernels", "VNNI": "kernels-avx512", "AVX2": "kernels-avx2"}
    kernel, compared, changed = "", 0, []
    for row in [line[2:-2].split(" | ") for line in text.splitlines() if line.startswith("| ")][1:]:
        kernel = kernel if row[0] == "the same" else row[0]
        if kernel not in names:
            assert row[2].startswith("dropped: ")
            continue
        searches = json.loads(page(f"results/speed/{files[row[1]]}.json"))["figures"]["searches"].values()
        figures = [f"{one[names[kernel]]['of_float32']:.3f}" for one in searches]
        said = [float(number) for number in row[2].split(": ")[1].split(", ")]
        assert len(said) == 4 and all(abs(float(a) - b) <= 0.0051 for a, b in zip(figures, said)), row
        changed += [one[names[kernel]]["changed"] for one in searches] if "**kept**" in row[2] and "int8" in kernel else []
        compared += 1
    assert compared == 20 and f"at most {max(changed)} sentences of a search change" in text


def test_the_table_of_speed_is_what_was_measured():
    text = page("docs/speed.md").split("## How many threads")[0]
    training, decoding = (json.loads(page(f"results/speed/{name}.json"))["figures"] for name in ("training", "decoding"))
    steps = re.findall(r"^\| (?:tiny|base) .*\| ([\d.]+) \|$", text, re.MULTILINE)
    assert steps == [f"{training['steps'][work]['contenders']['peer']['times_ours']:.2f}" for work in ("tiny", "base")]
    table = text.split("| decoding, base model ")[1].split("\n\n")[0].split("\n")[2:]
    rows = [[cell.strip() for cell in line.split("|")[2:-1]] for line in table]

    works = {**decoding["works"], "four": decoding["growth"]["beams"]["4"]}
    order = ["beam 4, batch 16", "beam 4, batch 64", "greedy, batch 1", "greedy, batch 64, sentences end", "four"]
    float32 = [(name, "ours") for name in ("hugging_face", "ctranslate2", "onnx_runtime")]
    packed = [*((name, "ours_float16") for name in ("ours", "ctranslate2", "onnx_runtime")),
              *((name, "ours_int8") for name in ("ours", "ctranslate2_int8"))]
    assert rows == [
        [*(quotient(works[work]["by"], *pair) for pair in float32),
         *("" if work == "four" else quotient(works[work]["by"], *pair) for pair in packed)] for work in order
    ]
    rounds = [len(works[work]["by"]["ours"]["seconds"]) for work in works]
    assert sorted(rounds) == [2, 2, 4, 4, 4] and "four rounds (two with 64 or four sentences and a beam)" in text
    tiny = training["steps"]["tiny"]["contenders"]
    single = [peer / ours for peer, ours in zip(tiny["peer"]["seconds"], tiny["ours"]["seconds"])]
    again, = (part["median_seconds"] for part in training["growth"]["tiny"]["tokens"] if part["size"] == 4_096)
    assert f"between {min(single):.1f} and {max(single):.1f} in single rounds" in text
    assert f"and {again['peer'] / again['ours']:.2f} in three other rounds" in text
    amx, avx2 = works_of("decoding-amx"), works_of("decoding-avx2")
    elsewhere = [[quotient(found["greedy, batch 1"]["by"], name, "ours") for found in (amx, avx2)]
                 for name in ("hugging_face", "ctranslate2", "onnx_runtime")]
    assert "Hugging Face takes {} and {} times as long as our float32, ".format(*elsewhere[0]) in text
    assert "CTranslate2 only {} and {}, ONNX Runtime {} and {}.".format(*elsewhere[1], *elsewhere[2]) in text
    start = {name: f"{seconds:.2f} s" for name, seconds in decoding["start"].items()}
    assert f"`translate` needs {start['translate, one sentence']} " in text
    assert f"`import torch` alone {start['import torch']}." in text
    assert f"{start['translate --precision float32']} with `--precision float32`" in text
    assert f"{start['translate --precision int8']} with `--precision int8`" in text
    memory, imports = ({name: part[key] for name, part in training[what].items()} for what, key in (
        ("memory", "bytes_of_the_steps"), ("imports", "median_seconds")))
    assert f"{memory['ours'] / memory['peer']:.2f} times the memory" in text
    ratio = imports["from annotated_transformer import Transformer"] / imports["import torch"]
    assert f"takes {ratio:.2f} times as long as `import torch`" in text


def test_the_sections_of_speed_are_what_was_measured():
    text = page("docs/speed.md")
    training, preparation = (json.loads(page(f"results/speed/{name}.json"))["figures"] for name in ("training", "preparation"))
    names = {"ours": "ours", "PyTorch's": "peer", "PyTorch's, with the paper's dropout": "peer with the paper's dropout",
             "PyTorch's, freed memory kept": "peer, memory kept"}
    for row, contender in names.items():
        parts = [training["steps"][work]["contenders"][contender] for work in ("tiny", "base")]
        said = [f"{part['median_seconds']:.2f} s, {part['share_of_matrix_products']:.0%}" for part in parts]
        assert f"| {row} | {said[0]} | {said[1]} |" in text
    shares = {what: f"{share:.0%}" for what, share in training["profile"]["base"]["ours"]["shares"].items()}
    assert f"products, {shares['matrix products']} of the step (copies and sums {shares['copies and additions']}, " in text
    assert f"attention and dropout {shares['attention']} each)" in text and shares["dropout"] == shares["attention"]
    for size, pairs in (("half", 1), ("whole", 2)):
        stages = preparation[size]
        peaks = " | ".join(f"{stages[stage]['peak_gibibytes']:.2f} GiB" for stage in ("prepare", "epoch"))
        assert stages["prepare"]["pairs"] == pairs * 10**6 and f"memory, 1 and 2 million pairs | {peaks} |" in text
    each = stages["prepare"]["seconds_per_million_pairs"]  # of the larger corpus
    once, epoch = stages["prepare"]["seconds"]["learn_the_pieces"], stages["epoch"]["seconds_per_million_pairs"]["epoch"]
    seconds = f"{each['count'] + each['tokenise']:.1f} s, and {once:.1f} s once for the vocabulary | {epoch:.1f} s"
    assert f"| seconds for a million pairs | {seconds} |" in text
    for size in ("4.5 million pairs", "36 million pairs"):
        hours = preparation["extrapolated"][size]
        minutes = f"{60 * hours['preparation_hours']:.0f} minutes | {60 * hours['reading_an_epoch_hours']:.1f} minutes"
        assert f"| by proportion, {size} | {minutes} |" in text


def test_the_threads_of_speed_are_what_was_measured():
    text = page("docs/speed.md").split("## How many threads")[1]
    found = json.loads(page("results/speed/threads.json"))["figures"]
    names = {"train": "`train`, 40 small updates", "score": "`score`, numbers", "translate": "`translate`, 200 lines",
             "one line": "`translate`, one line"}
    for work, said in names.items():
        seconds = [found[f"beside {n}"][work][number] for n in (0, 2) for number in ("one", "two", "chosen")]
        assert f"| {said} | {' | '.join(f'{one:.1f}' for one in seconds)} |" in text, (work, seconds)
    alone, beside = (max(one["chosen_to_the_better"] for one in found[f"beside {n}"].values()) for n in (0, 2))
    assert f"at most {alone} times the better of one and two alone, and {beside} beside the others" in text
    words = {0: "{:.2f} to {:.2f} times the better of one and two in the table", 2: "{:.1f} to {:.1f} times beside the others."}
    for number, said in words.items():
        seconds = [one["seconds"] for one in found[f"beside {number}"].values()]
        rounds = [zip(each["one"], each["two"], each["two, waiting long"]) for each in seconds]
        long = [statistics.median(waiting / min(one, two) for one, two, waiting in each) for each in rounds]
        assert said.format(min(long), max(long)) in text


def test_what_is_installed_is_what_was_measured():
    text, found = page("docs/installation.md"), json.loads(page("results/installation/installation.json"))["figures"]["now"]
    seconds = {name: f"{value:.2f}" for name, value in found["cpu_seconds"].items()}
    for row in (
        f"distributions besides torch | {found['distributions']}", f"their megabytes | {found['megabytes']}",
        f"`--version`, CPU seconds | {seconds['--version']}", f"`train --help`, CPU seconds | {seconds['train --help']}",
        f"first translation, CPU seconds | {seconds['translate, one sentence']}",
        f"`import torch` alone, CPU seconds | {seconds['import torch']}",
    ):
        assert f"| {row} |" in text
    shown = []
    for asked in ("--help", "--help-all"):
        with redirect_stdout(StringIO()) as listed, suppress(SystemExit):
            cli.main(["train", asked])
        shown.append(len(re.findall("^  --", listed.getvalue(), re.MULTILINE)))
    assert "shows {} of {} options, `--help-all` all".format(*shown) in text


def test_what_is_said_of_16_bits_is_what_was_measured():
    figures = json.loads((ROOT / "results/speed/precision.json").read_text(encoding="utf-8"))["figures"]["precision"]
    ours, theirs = (
        {work: quotient(found, f"{name}, bfloat16", beside) for work, found in figures.items()}
        for name, beside in (("ours", "ours"), ("peer", "ours, bfloat16"))
    )
    text = page("docs/speed.md")
    assert f"the base step to {ours['base']} of its time, the tiny step to {ours['tiny']}" in text
    assert f"in bfloat16 too, takes {theirs['base']} and {theirs['tiny']} times as long" in text


def test_what_is_said_of_the_shipped_weights_is_what_was_measured():
    figures = json.loads((ROOT / "results/translation/multi30k-en-de.json").read_text(encoding="utf-8"))["figures"]
    run = next(found for found in figures["by_seed"] if found["seed"] == figures["best_seed"])
    size, minutes = f"{run['parameters'] / 1e6:.2f}", f"{run['minutes_of_updates']:.0f}"
    updates = [f"{n:,}" for n in run["updates"]]
    text = page("docs/trained-weights.md")
    assert f"{size} million parameters, {' + '.join(updates)} updates, {minutes} minutes on" in text
    assert f"The last {updates[-1]} updates ask" in text
    for kind, words in (
        ("", "Three seeds have {} on test2016, {} on test2017 and {} on mscoco"),
        ("-first", "before those updates {}, {} and {}"),
    ):
        seeds = []
        for seed in ("", "-seed2", "-seed3"):
            seeds += json.loads(page(f"results/translation/multi30k-en-de{kind}{seed}.json"))["figures"]["by_seed"]
        assert [found["seed"] for found in seeds] == [1, 2, 3]
        assert [found["updates"] for found in seeds] == [[n, 2_500][: 1 if kind else 2] for n in (14_000, 12_000, 12_000)]
        spread = []
        for test in ("test2016", "test2017", "mscoco"):
            bleu = mean_and_deviation([found["tests"][test]["multi30k_bleu"]["score"] for found in seeds])
            spread.append(f"{bleu['mean']:.2f} ± {bleu['deviation']:.2f}")
        assert words.format(*spread) in text


def test_what_is_said_of_the_everyday_weights_is_of_those_that_ship():
    text, figures = page("docs/trained-weights.md"), {}
    for name in ("everyday-sentences", "everyday-2-sentences", "phrasebook-sentences", "paragraphs", "expected_bleu"):
        figures[name] = json.loads(page(f"results/translation/{name}.json"))["figures"]
    for name, words in (
        ("everyday-sentences", "{} are right ({} of the {} that training did not have)"),
        ("everyday-2-sentences", " {} ({} of {}), of [forty"), ("phrasebook-sentences", " {} ({} of {}). After"),
    ):
        new = figures[name]["counts_not_in_training"]
        assert words.format(figures[name]["counts"]["right"], new["right"], sum(new.values())) in text
    bleu = {name: figures["expected_bleu"][name]["validation_bleu"]["all"] for name in ("before", "0.3", "0.03")}
    said = f"rises from {bleu['before']:.2f} to {bleu['0.3']:.2f} with 0.3 of the usual loss, to {bleu['0.03']:.2f} with 0.03"
    assert said in page("benchmarks/README.md")
    together = figures["paragraphs"]["together_in_training_by_length"].values()
    gains = [one["whole"] - one["by_sentence"] for one in together]
    said = f"the whole is better at every length, by {min(gains):.0f} to {max(gains):.0f} BLEU"
    assert said in page("benchmarks/README.md") and all(one["p_by_sentence"] < 0.05 for one in together)
    one = figures["paragraphs"]["together_held_out"]
    said = f"The {one['lines']} held-out ones are too few ({one['whole']:.2f} whole, {one['by_sentence']:.2f} by sentence, "
    assert f"{said}p = {one['p_by_sentence']:.2f};" in page("benchmarks/README.md") and one["p_by_sentence"] > 0.2
    alike = [one for by in figures["paragraphs"].values() for one in (by if "whole" not in by else {"": by}).values()
             if one["as_translate_does"] == one["whole"]]
    assert alike and all(one["p_as_translate_does"] == 1 for one in alike), "no difference is no evidence of one"


def test_what_is_said_of_two_judges_is_what_they_wrote():
    lists = ("everyday", "everyday-2", "phrasebook")
    rows = [json.loads(page(f"results/translation/{name}-sentences.json"))["figures"]["sentences"] for name in lists]
    seconds = [sum(row["second"] == "right" for row in found) for found in rows]
    pairs = [(row["verdict"], row["second"]) for found in rows for row in found]
    same = sum(first == second for first, second in pairs)
    by_first, by_second = (Counter(judge) for judge in zip(*pairs))
    by_chance = sum(by_first[verdict] * by_second[verdict] for verdict in by_first) / len(pairs) ** 2
    kappa = (same / len(pairs) - by_chance) / (1 - by_chance)
    assert sum((first == "right") != (second == "right") for first, second in pairs) == 3
    text = page("docs/trained-weights.md")
    assert "finds {}, {} and {} right. Of the {} verdicts {}".format(*seconds, len(pairs), same) in text
    assert f"(Cohen's kappa: {kappa:.2f}); on three translations" in text
    counts = json.loads(page("results/translation/tatoeba-sentences.json"))["figures"]["counts"]
    exact = json.loads(page("results/translation/everyday-en-de.tatoeba.json"))["figures"]["exact"]
    right, n, z = counts["right"], sum(counts.values()), 1.96
    middle, half = right + z * z / 2, z * (right * (n - right) / n + z * z / 4) ** 0.5  # Wilson's interval
    shares = (right / n, (middle - half) / (n + z * z), (middle + half) / (n + z * z))
    of_all = [100 * (exact + (1 - exact) * share) for share in shares]
    assert f"letter for letter: {right} are right. If each" in text and n == 60
    said = "the reference ({:.1f}%) is right, {:.0f}% of the split are right (95%: {:.0f} to {:.0f}%)"
    assert said.format(100 * exact, *of_all) in text


def save_small_bert(directory: str) -> None:
    "A random model with its tokenizer, where Hugging Face's classes look before they ask a network."
    names = ("transformers", "tokenizers")
    transformers, tokenizers = (pytest.importorskip(name, reason="an extra is not installed") for name in names)
    words = {word: i for i, word in enumerate("[UNK] [CLS] [SEP] [PAD] Dogs chase cats .".split())}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel(words, "[UNK]"))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = tokenizers.processors.BertProcessing(("[SEP]", 2), ("[CLS]", 1))
    special = {"unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]", "pad_token": "[PAD]"}
    transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, **special).save_pretrained(directory)
    sizes = {"hidden_size": 12, "num_hidden_layers": 2, "num_attention_heads": 3, "intermediate_size": 8}
    config = transformers.BertConfig(vocab_size=len(words), **sizes)
    transformers.BertModel(config).save_pretrained(directory)


def test_the_lines_of_python_print_what_stands_below_them(capsys, tmp_path, monkeypatch):
    lines = blocks(page("README.md"), "python")
    name, = set(re.findall(r'Auto\w+\.from_pretrained\("(.*?)"', lines))
    monkeypatch.chdir(tmp_path)
    save_small_bert(name)
    known = {}
    capsys.readouterr()
    plt.close("all")  # what other tests have left open
    exec(lines, known)
    assert known["maps"].words().source[:3] == ["The", "animal", "didn't"] and plt.gcf().axes[0].texts
    texts = {text.get_text() for text in plt.gcf().axes[0].texts}
    assert {"Dogs", "chase", "cats", "."} <= texts and "[CLS]" not in texts
    assert any(text.startswith("encoder self-attention") for text in texts)  # of one layer or of both: the weights are random
    assert any("left out: [CLS], [SEP], with " in text for text in texts)
    files = ("it.png", "tom.png", "bert.png", "heads.html")
    assert len(plt.get_fignums()) == 3 and all((tmp_path / name).stat().st_size > 10_000 for name in files)
    plt.close("all")
    printed = capsys.readouterr().out.splitlines()
    assert [f"# {line}" for line in printed] == [line for line in lines.splitlines() if line.startswith("# ")]
    sentence, = re.findall(r'translator\("(.*)"\)', lines)
    judged = json.loads(page("results/translation/everyday-sentences.json"))["figures"]["sentences"]
    [found] = [row for row in judged if row["source"] == sentence]
    assert [found["translation"]] == printed and found["verdict"] == "right" and not found["in_training"]


def test_the_moving_picture_is_drawn_from_the_model_that_ships():
    picture, (layer, head) = page("docs/pictures/translation.svg"), record_of("pronouns-en-de").pronoun_head
    assert f"head {head} of layer {layer} of the decoder" in picture and len(picture) < 1_000_000
    [title] = re.findall("<title>(.*)</title>", picture)
    translator, words, strong = Translator.from_pretrained("pronouns-en-de"), [], 0
    for word in ("tired", "wide"):
        maps = translator.attention(f"The animal didn't cross the street because it was too {word}.").words(signs_apart=False)
        words += maps.source[:-1] + maps.target[:-1]
        strong += int((maps.encoder_decoder[layer - 1, head - 1, :-1, :-1] >= 0.03).sum())
    assert unescape(title) == " ".join(words) and picture.count("<path") == strong and picture.count('class="line pronoun') == 2
    assert "prefers-color-scheme: dark" in picture and "prefers-reduced-motion" in picture


def test_the_readme_is_short_and_the_two_commands_stand_in_it():
    text = page("README.md")
    assert len(text.split()) <= 900
    commands, targets = re.findall(r"^make ([\w-]+)", blocks(text), re.MULTILINE), page("Makefile")
    assert commands == ["lab", "test"] and page(".ci/run").rstrip().endswith("make test")
    for path in PAGES:
        for target in re.findall(r"`make ([\w-]+)", path.read_text(encoding="utf-8")) + commands:
            assert re.search(rf"^{target}:", targets, re.MULTILINE), (path.name, target)


def test_who_cites_by_the_file_or_the_readme_cites_this_software_and_names_the_paper():
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert "preferred-citation" not in cited  # GitHub would give it in place of the software
    [author], [paper] = cited["authors"], cited["references"]
    entry = re.sub(r"[\\{}]", "", blocks(page("README.md"), "bibtex"))
    assert author["name"] in entry and cited["repository-code"] in entry and cited["license"] == "Apache-2.0"
    assert paper["title"] == "Attention Is All You Need" and f"({paper['url']})" in page("README.md")


def test_every_link_leads_somewhere():
    for path in [*PAGES, ROOT / "benchmarks/README.md"]:
        for link in LINK.findall(path.read_text(encoding="utf-8")):
            if not link.startswith("http"):
                file, _, place = link.partition("#")
                there = path.parent / file if file else path
                assert there.exists(), (path.name, link)
                if place and there.suffix == ".md":
                    headings = re.findall(r"^#+ (.*)$", there.read_text(encoding="utf-8"), re.MULTILINE)
                    places = {re.sub(r"[^\w -]", "", line.lower()).replace(" ", "-") for line in headings}
                    assert place in places, (path.name, link)


def options(program: str, *command: str) -> str:
    "What a command lists in its help; of a benchmark, its text."
    if program.startswith("benchmarks."):
        return page(f"{program.replace('.', '/')}.py")
    with redirect_stdout(StringIO()) as listed, suppress(SystemExit):
        cli.main([*command, "--help-all"])
    return listed.getvalue()


def commands(path: Path) -> list[list[str]]:
    "The commands of ours in the blocks of a page, each as a list of words."
    found = []
    lines = blocks(path.read_text(encoding="utf-8")).replace("\\\n", " ").splitlines()
    typed = [line[2:] for line in lines if line.startswith("$ ")] or lines  # beside a prompt, the others are answers
    for line in typed:
        for part in re.split(r"[|;] ", line):
            words = shlex.split(part.partition(" < ")[0], comments=True)
            benchmarks = [word for word in words if word.startswith("benchmarks.")]
            for name in ("annotated-transformer", "annotated_transformer", *benchmarks):
                if name in words and (words[0] == name or words[words.index(name) - 1] == "-m"):
                    found.append(words[words.index(name):])
    return found


def test_every_command_takes_the_options_that_it_is_given(monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    pages = [path for path in PAGES if path.name not in ("CONTRIBUTING.md", "your-own-parts.md")]
    asked = {path.name: commands(path) for path in pages}
    assert sum(map(len, asked.values())) >= 40 and all(asked[path.name] for path in pages)
    for name, found in asked.items():
        for program, *words in found:
            if words[:1] == ["--version"]:
                continue
            assert program.startswith("benchmarks.") or words[0] in cli.COMMANDS, (name, words)
            listed = options(program, *words[:1])
            given = [word for word in words if word.startswith("--")]
            assert not [word for word in given if not re.search(rf"{word}\b", listed)], (name, program, words)


class Understood(Exception):
    "The words of a command were read, and the work would begin."


def understand(monkeypatch, words: list[str]) -> None:
    "Let the command's own reader read the words; AssertionError where it refuses them."
    parse_args = argparse.ArgumentParser.parse_args

    def parse_and_stop(*given):
        parse_args(*given)
        raise Understood

    def stopped(command):
        @functools.wraps(command)
        def stop(*_, **__):
            raise Understood

        return stop

    program, *options = words
    with monkeypatch.context() as patch, pytest.raises(Understood):
        if program.startswith("benchmarks."):
            patch.setattr(argparse.ArgumentParser, "parse_args", parse_and_stop)
            importlib.import_module(program).main(options)
        elif options[0] in cli.WITH_PRESETS:
            read_options(cli.COMMANDS[options[0]], options[1:])
            raise Understood
        else:
            patch.setitem(cli.COMMANDS, options[0], stopped(cli.COMMANDS[options[0]]))
            cli.run_command(options)


@pytest.mark.parametrize("path", [path for path in PAGES if path.name != "CONTRIBUTING.md"], ids=lambda path: path.name)
def test_every_command_is_read_by_its_own_parser(path, monkeypatch):
    for words in commands(path):
        if words[1:] != ["--version"]:
            understand(monkeypatch, words)


@pytest.mark.parametrize("words", ["translate --beam 3", "attend --figure 6 one --out a.svg", "cost --devices few"])
def test_a_command_with_a_mistake_is_not_read(words, monkeypatch):
    with pytest.raises(cli.InputError):
        understand(monkeypatch, ["annotated-transformer", *words.split()])


def test_the_confidence_that_the_page_names_keeps_some_parses_and_not_all(command):
    pytest.importorskip("nltk", reason="an extra is not installed")
    words, = (words for _, *words in commands(ROOT / "docs/parsing.md") if "--least-confidence" in words)
    sentences = b"Ann wants to sleep .\nThe dog saw a cat in the garden .\nThe company said it will sell the house .\n"
    status, out, _ = command(*words, stdin=sentences)
    assert status == 0 and [bool(line) for line in out.split("\n")] == [True, False, True, False]  # at most about 0.94


@pytest.mark.parametrize("name, needed, least", [
    ("README.md", "vl_convert", 2), ("docs/first-hour.md", "vl_convert", 4), ("docs/many-gpus.md", "torch", 1),
    ("docs/other-software.md", "transformers ctranslate2 onnx", 4),
])
def test_commands_that_take_seconds_do_what_the_page_says(name, needed, least, tmp_path, monkeypatch, command):
    "In the order of the page, in an empty directory. Those that need a training, or its files, are only read (above)."
    for package in needed.split():
        pytest.importorskip(package, reason="an extra is not installed")
    monkeypatch.chdir(tmp_path)
    these = ("translate", "attend", "export", "cost", "--version")
    every = [words for _, *words in commands(ROOT / name) if words[0] in these]
    quick = [words for words in every if not any("runs/" in word for word in words)]
    assert len(quick) >= least
    for words in quick:
        status, out, err = command(*words, stdin=b"Two dogs are playing in the snow.\n")
        assert (status, err) == (0, ""), words
        assert out.strip()
        for word in [following for option, following in zip(words, words[1:]) if option == "--out"]:
            assert Path(word).exists()
        if words[0] == "attend" and f"$ annotated-transformer {shlex.join(words)}".replace("'", '"') in page(name):
            assert out in page(name)


def test_the_python_of_other_software_writes_what_its_commands_write(tmp_path, monkeypatch):
    for package in ("transformers", "ctranslate2", "onnx"):
        pytest.importorskip(package, reason="an extra is not installed")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Translator, "push_to_hub", lambda self, name: (tmp_path / "pushed").write_text(name))
    exec(blocks(page("docs/other-software.md"), "python"), {})
    exported = [words[words.index("--out") + 1] for _, *words in commands(ROOT / "docs/other-software.md") if "--out" in words]
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([*exported, "pushed"]) and len(exported) == 3


def test_python_on_the_pages_names_what_there_is():
    for path in PAGES:
        for node in ast.walk(ast.parse(blocks(path.read_text(encoding="utf-8"), "python").partition("#|")[0])):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("annotated_transformer"):
                module = __import__(node.module, fromlist=["*"])
                assert all(hasattr(module, alias.name) for alias in node.names), (path.name, node.module)


def test_the_schedule_of_a_course_names_exercises_of_the_pages_read_so_far():
    found, read = [], set()
    for line in re.findall(r"^\| [123] \|.*$", page("docs/teaching.md"), re.MULTILINE):
        _, _, pages, names, _, _ = line.split("|")
        read |= {Path(link).stem for link in LINK.findall(pages)}
        found += re.findall(r"`(\w+)`", names)
        assert all(name == "all_together" or exercises()[name].page in read for name in found)
    assert len(found) == len({*found}) == 18 and f"has {len(exercises())} exercises" in page("docs/teaching.md")
    assert len(page("docs/teaching.md").splitlines()) <= 90


def test_the_one_class_fills_its_minutes_and_its_questions_are_answered_where_it_says():
    text = page("docs/teaching.md").split("## One class of 90 minutes")[1].split("\n## ")[0]
    assert sum(int(minutes) for minutes in re.findall(r"^\d\. \*\*(\d+)", text, re.MULTILINE)) == 90
    homework = [one.name for one in exercises().values() if one.page == "3.2_attention"]
    assert len(homework) == 5 and "Homework: the five exercises of §3.2" in text
    asked = {(section, int(number)) for section, number in re.findall(r"\(§([\d.]+), Try (\d)\)", text)}
    about = {("3.2", 3): "W^Q = W^K", ("3.5", 3): "appended", ("3.1", 3): "*batch* normalisation", ("3", 4): "GPT"}
    assert asked == about.keys()
    for (section, number), words in about.items():
        [path] = (ROOT / "nbs/paper").glob(f"{section}_*.ipynb")
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        questions = "\n".join("".join(cell["source"]) for cell in cells).split("\n## Try")[-1]
        [question] = re.findall(rf"^(?:\*\*)?{number}\.(?:\*\*)? (.*?)<details>", questions, re.MULTILINE | re.DOTALL)
        assert words in question, (section, number)


def test_the_names_of_the_table_are_where_it_says():
    table = page("docs/first-hour.md").split("## The same in Python")[1]
    not_ours, found = {"list", "replace", "Path", "one", "translator", "corpora"}, {}
    for line in table.splitlines()[4:]:
        _, _, python, where, *_ = line.split("|")
        modules = {"", *re.findall(r"`([a-z_]+(?:\.[a-z_0-9]+)?)`", where)} - {"dataclasses", "replace"}  # "": the package
        homes = [importlib.import_module(f"annotated_transformer.{module}".rstrip(".")) for module in modules]
        called = re.findall(r"(?<![.\w])([A-Za-z_]\w+)(?=[(\[.])", re.sub('".*?"', "", python))
        for name in {*called} - not_ours - {name for name, there in found.items() if there}:
            found[name] = any(hasattr(home, name) for home in homes)
    assert len(found) >= 12 and all(found.values()), found
    assert importlib.import_module("annotated_transformer.data.corpora").load


def test_what_is_said_of_fresh_environments_is_what_was_measured():
    record, text = json.loads(page("results/installation/environments.json")), page("docs/installation.md")
    runs = {(python, extra): tasks for python, by in record["figures"]["environments"].items()
            for extra, tasks in by.items() if isinstance(tasks, dict)}
    assert {len(tasks) for tasks in runs.values()} == {17} and "| 17 tasks from a wheel in" in text
    assert f" environment, {record['date']}: on 3.11" in text
    for (_, extra), tasks in runs.items():
        missing = [said for said in tasks.values() if said != "works"]
        assert all(" is not installed: pip install " in said for said in missing) and (extra != "all" or not missing)
    then, now = set(record["config"]["extras"]), set(importlib.import_module("annotated_transformer").EXTRAS.values())
    assert then - now - {"", "all"} == {"numbers"} and now - then == {"hub"}
    assert "`numbers` is gone" in text and "`hub` came later" in text


def test_the_card_of_training_draws_one_training_from_nothing():
    lines = (ROOT / "results/translation/multi30k-en-de.metrics.jsonl").read_text(encoding="utf-8").splitlines()
    losses = [row for row in map(json.loads, lines) if "loss" in row and row["part"] == 1]
    said = re.findall("<!-- (.+?) -->", (ROOT / "docs/pictures/train.svg").read_text(encoding="utf-8"))
    first, last = (f"{losses[i]['loss']:.1f}" for i in (0, -1))
    assert said == [first, last, f"loss in {losses[-1]['step']:,} updates"] and float(first) > 3 * float(last)
