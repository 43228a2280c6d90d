"When a translator warns, and what becomes of a paragraph: the two benchmarks, their results, and the model that ships."
import dataclasses
import json
import random
import shutil
from collections import Counter
from pathlib import Path

import pytest

from annotated_transformer import InputError, Translator
from annotated_transformer.data.parallel_text import Corpus
from annotated_transformer.files import damage, read_sums
from annotated_transformer.model_record import PRETRAINED, read_record, record_of, shipped_models
from annotated_transformer.translation.bleu import sacre_bleu
from annotated_transformer.translation.lines import UNSURE
from annotated_transformer.translation.scores import score_split
from benchmarks import out_of_depth
from benchmarks.paragraphs import Known, compared, joined
from benchmarks.shared.shipping import keep

ROOT = Path(__file__).parents[3]
RESULTS = ROOT / "results" / "translation"
SEVERAL = ["I got up early.", "It was very cold.", "Nobody was in the street, and I went to work by car.", "Where were you?"]


def figures(name: str) -> dict:
    return json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))["figures"]


@pytest.fixture(scope="module")
def everyday() -> Translator:
    return Translator.from_pretrained("everyday-en-de", precision="auto")


def test_the_lines_are_two_hundred_in_halves():
    lines = json.loads(out_of_depth.LINES.read_text(encoding="utf-8"))["sentences"]
    assert len({line["text"] for line in lines}) == 200
    assert Counter((line["everyday"], line["half"]) for line in lines) == dict.fromkeys(
        [(everyday, half) for everyday in (True, False) for half in ("choose", "report")], 50)


def test_the_record_has_the_measured_threshold():
    found = {name: below for name in shipped_models() if (below := record_of(name).doubtful_below) is not None}
    narrow = {name: figures(f"out_of_depth.{name}")["doubtful_below"] for name in ("pronouns-en-de", "numbers-en-de")}
    assert found == {"everyday-en-de": figures("out_of_depth")["doubtful_below"], **narrow}


def test_the_goals_are_reached_where_the_threshold_was_not_chosen():
    reported = figures("out_of_depth")["reported_on"]
    assert reported["outside"]["flagged"] >= 0.9 * reported["outside"]["lines"]
    assert reported["everyday"]["flagged"] <= 0.05 * reported["everyday"]["lines"]


@pytest.mark.parametrize("name", ["pronouns-en-de", "numbers-en-de"])
def test_a_narrow_model_flags_all_foreign_lines_and_hardly_any_of_its_own(name):
    found, translator = figures(f"out_of_depth.{name}"), Translator.from_pretrained(name)
    for half in ("chosen_on", "reported_on"):
        inside, outside = found[half]["everyday"], found[half]["outside"]
        assert inside["flagged"] <= 0.05 * inside["lines"] and outside["flagged"] == outside["lines"]
    chosen = {side: [row["lowest"] for row in found["lines"] if row["half"] == "choose" and row["everyday"] == side]
              for side in (True, False)}
    assert found["doubtful_below"] == pytest.approx((min(chosen[True]) + max(chosen[False])) / 2, abs=0.001)
    rows = found["lines"][::25]
    for row, now in zip(rows, translator.translations([row["text"] for row in rows])):
        assert (now.text, now.doubtful) == (row["translation"], row["doubtful"])


def test_no_other_threshold_would_have_been_chosen():
    found = figures("out_of_depth")
    rows = [row for row in found["lines"] if row["half"] == "choose"]
    values = sorted({row["lowest"] for row in rows})
    enough = []
    for cut in (round((a + b) / 2, 3) for a, b in zip(values, values[1:])):
        flagged = Counter(row["everyday"] for row in rows if row["lowest"] < cut or out_of_depth.always(row))
        if flagged[True] <= 2 and flagged[False] >= 45:
            enough.append(cut)
    assert min(enough) == found["doubtful_below"] == out_of_depth.choose(rows)
    assert all(row["doubtful"] == (row["lowest"] < min(enough) or out_of_depth.always(row)) for row in found["lines"])

    with pytest.raises(InputError, match="no threshold flags so few"):
        out_of_depth.choose([{"everyday": everyday, "lowest": low, "unknown_letters": False, "capitals": False}
                             for everyday, low in ((True, -3), (True, -2), (False, -1))])


def test_the_model_that_ships_says_of_some_of_these_lines_what_is_on_record(everyday):
    rows = figures("out_of_depth")["lines"][::20]
    for row, found in zip(rows, everyday.translations([row["text"] for row in rows])):
        assert (found.text, found.doubtful) == (row["translation"], row["doubtful"])
        low, *unlike = out_of_depth.lowest(everyday, row["text"])
        assert low == pytest.approx(row["lowest"], abs=0.02) and unlike == [row["unknown_letters"], row["capitals"]]


def test_unknown_letters_are_told_and_everyday_paragraphs_are_not(everyday):
    found = everyday.translations(["你好，世界。", "Hello.", " ".join(SEVERAL), "TELL ME THE REASON WHY."])
    assert [one.warning for one in found] == [UNSURE, "", "", UNSURE]
    without = Translator(everyday.model, everyday.tokenizer, precision="auto")
    assert not any(one.doubtful for one in without.translations(["你好，世界。", "TELL ME THE REASON WHY."]))


@pytest.mark.parametrize("beam_size", [1, 4])
def test_a_paragraph_is_its_sentences_one_by_one(everyday, beam_size):
    search = dataclasses.replace(everyday.search, beam_size=beam_size)
    (found,), apart = everyday.translations([" ".join(SEVERAL)], search), everyday.translations(SEVERAL, search)
    assert found.text == " ".join(one.text for one in apart) and found.tokens == sum(one.tokens for one in apart)
    assert found.log_probability == pytest.approx(sum(one.log_probability for one in apart), abs=1e-3)
    (whole,) = everyday.translations([" ".join(SEVERAL)], search, split=False)
    assert whole.text != found.text and whole.tokens == len(everyday.translate_ids([" ".join(SEVERAL)], search)[0]) + 1


def test_the_threshold_goes_into_a_models_record_and_the_rest_of_it_stays(tmp_path, monkeypatch):
    model = tmp_path / "model"
    shutil.copytree(PRETRAINED / "numbers-en-de", model)
    lines = {"sentences": [{"text": text, "kind": "any", "everyday": everyday, "half": half} for half in ("choose", "report")
                           for text, everyday in (("forty-two", True), ("half past six", True), ("Lawmakers met.", False))]}
    (tmp_path / "lines.json").write_text(json.dumps(lines))
    monkeypatch.setattr(out_of_depth, "LINES", tmp_path / "lines.json")
    options = ["--model", str(model), "--out", str(tmp_path / "found.json")]
    out_of_depth.main(options)
    before = read_record(PRETRAINED / "numbers-en-de")
    assert read_record(model) == before
    out_of_depth.main([*options, "--write"])
    below = json.loads((tmp_path / "found.json").read_text())["figures"]["doubtful_below"]
    assert below < 0 and read_record(model) == dataclasses.replace(before, doubtful_below=below)
    assert damage(model, read_sums(model)) is None
    found = Translator.from_pretrained(model).translations(["forty-two", "Lawmakers met."])
    assert [one.doubtful for one in found] == [False, True]
    (tmp_path / "bare").mkdir()
    keep(tmp_path / "bare", doubtful_below=-0.5)
    assert [path.name for path in (tmp_path / "bare").iterdir()] == ["record.json"], "no sums where there were none"


def test_ways_to_translate_a_line_are_scored_against_the_same_references():
    translator = Translator.from_pretrained("numbers-en-de")
    singles = [("Forty-two.", "Zweiundvierzig."), ("Half past six.", "Halb sieben."), ("Ninety euros.", "Neunzig Euro."),
               ("Twelve.", "Zwölf."), ("Three dollars.", "Drei Dollar.")]
    pairs = joined(singles, 2, random.Random(0))
    assert len(pairs) == 2 and len({sentence for source, _ in pairs for sentence in source.split(". ")}) == 4
    found = compared(Known(translator), pairs)
    sources, references = map(list, zip(*pairs))
    assert found["whole"] == pytest.approx(sacre_bleu(translator.translate(sources, split=False), references).score, abs=0.006)
    apart = [" ".join(translator.translate(f"{part.strip('.')}.") for part in source.split(". ")) for source in sources]
    assert found["by_sentence"] == pytest.approx(sacre_bleu(apart, references).score, abs=0.006)


def test_scores_never_cut_a_line(everyday):
    line = " ".join(SEVERAL)
    corpus = Corpus("one line", "en", "de", [], [(line, "Ich stand früh auf.")], {})
    found, _ = score_split(everyday, corpus, "validation", everyday.search)
    assert found == [everyday.tokenizer.decode(everyday.translate_ids([line])[0])] != [everyday.translate(line)]


def test_where_no_threshold_flags_enough_the_best_is_chosen():
    low = {True: [-0.2] * 20, False: [-0.9] * 5 + [-0.1] * 15}
    nothing_else = {"unknown_letters": False, "capitals": False}
    rows = [{"everyday": side, "lowest": value, **nothing_else} for side in low for value in low[side]]
    assert -0.9 < out_of_depth.choose(rows) < -0.2
