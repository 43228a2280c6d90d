"The figures that README.md prints are those in results/."
import json
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_every_row_of_the_results_table_is_what_was_measured():
    row = r"^\| ([a-z0-9-]+) \| \[([a-z0-9]+)\]\((results/[\w.-]+)\) \| ([\d.]+) \| ([\d.]+) \| ([\d.]*) \| ([\d.]+)% \|$"
    rows = re.findall(row, (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert len(rows) == 4
    for corpus, split, path, sacre, lowercased, _, exact in rows:
        record = json.loads((ROOT / path).read_text(encoding="utf-8"))
        assert record["config"]["corpus"] == corpus and f"--split {split}" in record["command"]
        assert path == f"results/{corpus}.{split}.json"
        figures = record["figures"]
        measured = (figures["sacre_bleu"]["score"], figures["multi30k_bleu"]["score"], 100 * figures["exact"])
        assert (sacre, lowercased, exact) == tuple(f"{value:.{digits}f}" for value, digits in zip(measured, (2, 2, 1)))


def test_the_measures_in_the_text_are_those_of_their_files():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    kills = json.loads((ROOT / "results/kills.json").read_text(encoding="utf-8"))["figures"]
    assert [(figures["processes"], figures["kills"]) for figures in kills] == [(1, 50), (2, 50)]
    assert all(figures["runs_equal_to_the_uninterrupted_one"] == figures["runs"] for figures in kills)
    assert "50 random kills with one process and 50 with two" in text
    figures = json.loads((ROOT / "results/preparation.json").read_text(encoding="utf-8"))["figures"]
    assert figures["whole"]["prepare"]["pairs"] == 2_000_000 and figures["half"]["prepare"]["pairs"] == 1_000_000
    assert {round(figures[size]["prepare"]["peak_gibibytes"], 2) for size in ("half", "whole")} == {0.83} and "0.83 GiB" in text
    assert round(figures["whole"]["prepare"]["seconds_per_million_pairs"]["tokenise"]) == 29 and "29 seconds a million" in text


def test_the_parser_is_as_good_as_the_text_says():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    files = [ROOT / f"results/{name}.json" for name in ("parser", "pcfg", "treebank")]
    parser, grammar, treebank = (json.loads(file.read_text(encoding="utf-8"))["figures"] for file in files)
    one, = parser["by_seed"]
    assert parser["training_sentences"] == 3396 and one["scores"]["test"]["sentences"] == 245
    assert f"reaches F1 {parser['summary']['test']['f1']['mean']:.2f} on" in text
    assert f"a PCFG {grammar['test']['f1']:.2f};" in text
    assert f"right-branching has {treebank['right_branching']['scores']['test']['f1']:.2f} and" in text
    assert f"(1 seed, {one['minutes_of_updates']:.0f} minutes by the clock" in text
    files = [ROOT / f"results/parser.{name}.json" for name in ("curve", "self-training")]
    curve, after = (json.loads(file.read_text(encoding="utf-8"))["figures"] for file in files)
    less = {point["share"]: f"{point['summary']['test']['f1']['mean']:.2f}" for point in curve["points"]}
    assert f"half of the sentences it has {less[50]}, with a quarter {less[25]}" in text
    assert after["by_seed"][0]["gold"] == curve["points"][1]["sentences"]
    assert f"that it is sure of, {after['after']['test']['f1']['mean']:.2f}" in text


def test_the_table_of_speed_is_what_was_measured():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    training, decoding = (json.loads((ROOT / f"results/{name}.json").read_text())["figures"] for name in ("training", "decoding"))
    table = re.findall(r"^\| (.*) \| (.*) \| ([\d.; ]+) \|$", text.partition("## Speed")[2].partition("## What")[0], re.MULTILINE)
    assert [tuple(row[2].split("; ")) for row in table] == [
        *[(f"{training['steps'][work]['contenders']['peer']['times_ours']:.2f}",) for work in ("tiny", "base")],
        *[
            tuple(f"{decoding['works'][work]['by'][name]['times_ours']:.2f}" for name in names)
            for work in ("beam 4, batch 16", "beam 4, batch 64", "greedy, batch 1")
            for names in (["hugging_face"], ["ctranslate2", "ctranslate2_onednn"])
        ],
    ]
    memory, imports = ({name: part[key] for name, part in training[what].items()} for what, key in (
        ("memory", "bytes_of_the_steps"), ("imports", "median_seconds")))
    share = training["steps"]["base"]["contenders"]["ours"]["share_of_matrix_products"]
    assert f"{memory['ours'] / memory['peer']:.2f} times the memory" in text and f"at {100 * share:.0f}% of the rate" in text
    ratio = imports["from annotated_transformer import Transformer"] / imports["import torch"]
    assert f"takes {ratio:.2f} times as long as `import torch`" in text


def test_what_is_said_of_16_bits_is_what_was_measured():
    figures = json.loads((ROOT / "results/precision.json").read_text(encoding="utf-8"))["figures"]["precision"]
    seconds = {work: {name: part["median_seconds"] for name, part in found.items()} for work, found in figures.items()}
    ours, theirs = (
        {work: f"{found[f'{name}, bfloat16'] / found[beside]:.2f}" for work, found in seconds.items()}
        for name, beside in (("ours", "ours"), ("peer", "ours, bfloat16"))
    )
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"the step of base to {ours['base']} of its time, that of tiny to {ours['tiny']}" in text
    assert f"in bfloat16 too, takes {theirs['base']} and {theirs['tiny']} times as long" in text


def test_what_is_said_of_the_shipped_weights_is_what_was_measured():
    figures = json.loads((ROOT / "results/multi30k-en-de.json").read_text(encoding="utf-8"))["figures"]
    run = next(found for found in figures["by_seed"] if found["seed"] == figures["best_seed"])
    size, minutes = f"{run['parameters'] / 1e6:.2f}", f"{run['minutes_of_updates']:.0f}"
    updates = [f"{n:,}" for n in run["updates"]]
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"{size} million parameters, {' + '.join(updates)} updates, {minutes} minutes by the clock" in text
    assert f"The last {updates[-1]} updates ask" in text
    others = []
    for name, words in (("first", "Without them the same run has"), ("longer", "8,000 more updates of the paper's kind instead")):
        other, = json.loads((ROOT / f"results/multi30k-en-de-{name}.json").read_text(encoding="utf-8"))["figures"]["by_seed"]
        scores = ", ".join(f"{other['tests'][test]['multi30k_bleu']['score']:.2f}" for test in ("test2016", "test2017", "mscoco"))
        assert f"{words} {scores}" in text
        others.append(other)
    assert others[1]["updates"][0] - others[0]["updates"][0] == 8_000
    on_validation = [f"{found['validation_bleu']:.2f}" for found in (run, *others)]
    assert "the three have {}, {} and {}".format(*on_validation) in text
