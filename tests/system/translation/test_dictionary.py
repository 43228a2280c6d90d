"A dictionary beside the everyday translator's pairs (`benchmarks.dictionary`): what is read, what is kept."
import dataclasses
import json
import sys
import types

import pytest

from annotated_transformer.config import PRESETS
from annotated_transformer.training.loading import load
from annotated_transformer.training.loop import train
from annotated_transformer.training.runs import Run
from benchmarks import dictionary

LINES = """# A comment :: of the file
Aal {m} (auf der Speisekarte) [cook.] | Aal blau; blauer Aal :: eel (on a menu) | eel au bleu <eel blue>
etw. anzapfen {vt}; sich etw. zunutze machen :: to tap sth.; to tap into sth.
Betrifft das mich?; Bin ich davon betroffen? :: Does this involve me?
Er ist / wirkt müde. :: He is tired.
Es gilt das Datum des Poststempels. :: The date of the postmark will count ,
Wo ist der Bahnhof? :: Where is the station?
kein Eintrag
""".splitlines()


def test_meanings_are_paired_and_notes_and_short_forms_are_gone():
    assert list(dictionary.entries(LINES)) == [
        (["eel"], ["Aal"]),
        (["eel au bleu"], ["Aal blau", "blauer Aal"]),
        (["to tap something", "to tap into something"], ["etwas anzapfen", "sich etwas zunutze machen"]),
        (["Does this involve me?"], ["Betrifft das mich?", "Bin ich davon betroffen?"]),
        (["The date of the postmark will count,"], ["Es gilt das Datum des Poststempels."]),
        (["Where is the station?"], ["Wo ist der Bahnhof?"]),
    ]


@pytest.fixture
def frequencies(monkeypatch):
    "A list of words in place of the package's."
    known = {"eel": 3.1, "to": 7.0, "tap": 4.8, "something": 5.9, "into": 6.1, "au": 4.0, "bleu": 3.0}
    module = types.SimpleNamespace(zipf_frequency=lambda word, language: known.get(word, 0.0))
    monkeypatch.setitem(sys.modules, "wordfreq", module)


@pytest.fixture
def nothing_held(monkeypatch):
    monkeypatch.setattr(dictionary, "held", lambda: (set(), set()))


def test_sentences_are_whole_and_phrases_have_common_words(frequencies, nothing_held):
    whole, phrases = dictionary.from_dictionary(LINES)
    assert whole == [
        ("Does this involve me?", "Betrifft das mich?"), ("Does this involve me?", "Bin ich davon betroffen?"),
        ("Where is the station?", "Wo ist der Bahnhof?"),
    ]
    taps = "to tap something", "to tap into something"
    assert phrases == [("eel", "Aal"), *((tap, said) for tap in taps for said in ("etwas anzapfen", "sich etwas zunutze machen"))]


def test_a_phrase_has_at_most_three_translations(frequencies, nothing_held):
    _, phrases = dictionary.from_dictionary([f"{word} :: eel" for word in ("Aal", "Aale", "Flussaal", "Blankaal")])
    assert phrases == [("eel", "Aal"), ("eel", "Aale"), ("eel", "Flussaal")]


@pytest.mark.parametrize("side", ["english", "german"])
def test_nothing_that_is_measured_is_learnt(frequencies, monkeypatch, side):
    held = {"english": ({"where is the station"}, set()), "german": (set(), {"wo ist der bahnhof"})}
    monkeypatch.setattr(dictionary, "held", lambda: held[side])
    whole, _ = dictionary.from_dictionary(LINES)
    assert [source for source, _ in whole] == ["Does this involve me?"] * 2


def test_what_is_measured_is_known_in_both_languages(monkeypatch):
    def load(name):
        pairs = {split: [(f"{name} {split}, here!", f"{name} {split}, hier!")] for split in ("validation", "one", "other")}
        return types.SimpleNamespace(validation=pairs.pop("validation"), tests=pairs)

    monkeypatch.setattr(dictionary.corpora, "load", load)
    english, german = dictionary.held()
    key = dictionary.everyday_extra.key
    for name in ("tatoeba-en-de", "everyday-en-de"):
        for split in ("validation", "one", "other"):
            assert key(f"{name} {split}, here") in english and key(f"{name} {split}, hier") in german
    assert key("My neighbour has three children and a garden.") in english  # of everyday-2


@pytest.fixture(scope="module")
def work(tmp_path_factory):
    "Two runs of four updates, which keep two checkpoints."
    directory = tmp_path_factory.mktemp("work")
    for seed in (3, 4):
        Run(directory / str(seed)).take_data(Run(directory / "3"))
        config = dataclasses.replace(PRESETS["demo"], seed=seed, steps=4, checkpoint_every=2, keep=2, log_every=2)
        train(config, directory / str(seed))
    return directory


def test_a_training_is_reported_beside_its_control(work, tmp_path, monkeypatch):
    def measured(translator, pairs, asked):
        assert translator.search.alpha == 1.0  # what the shipped weights are searched with
        return {"validation_bleu": {"all": float(translator.model.embedding.weight.detach().abs().sum())}}

    monkeypatch.setattr(dictionary, "AVERAGE", 2)
    monkeypatch.setattr(dictionary, "measured", measured)
    monkeypatch.setattr(dictionary.corpora, "load", lambda name: types.SimpleNamespace(validation=[]))
    (tmp_path / "control").mkdir()
    (tmp_path / "control" / "3").symlink_to(work / "4")
    out = tmp_path / "out.json"
    dictionary.main(["report", "3", "--work", str(work), "--control", str(tmp_path / "control"), "--out", str(out)])
    figures = json.loads(out.read_text(encoding="utf-8"))["figures"]
    for name, run in (("dictionary", "3"), ("control", "4")):
        mean = load(work / run, 2).model.embedding.weight.detach().abs().sum()
        assert figures[name]["validation_bleu"]["all"] == pytest.approx(float(mean), rel=1e-5)
        assert figures[name]["updates"] == 4 and figures[name]["pairs"] > 7_000
    assert figures["before"]["all"] not in [figures[name]["validation_bleu"]["all"] for name in ("dictionary", "control")]


@pytest.mark.parametrize("options, said", [
    (["learn", "--start", "x"], "learn takes a seed, and --start"), (["report", "3"], "report takes a seed, and --control"),
    (["pairs", "--ding", "nowhere/de-en"], "de-en is no file"),
])
def test_what_is_missing_is_said(tmp_path, refused, options, said):
    assert said in refused(dictionary.main, [*options, "--work", str(tmp_path)])
