"Pages whose words, heads or sizes a reader changes: single cells run with others, and show what then holds or say what to do."
import dataclasses
import inspect
import itertools
import json
import math
import random
import re
from collections import Counter
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace

import matplotlib.pyplot as plt
import pytest
import torch
import torch.nn.functional as F
from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a

from annotated_transformer import PAD, AttentionMaps, Translator
from annotated_transformer.data.tokenizer import Tokenizer, split_word
from annotated_transformer.figures.architecture import operations
from annotated_transformer.figures.attention_plots import plot_heat_maps
from annotated_transformer.model.attention import causal_mask, padding_mask
from annotated_transformer.model.position import sinusoids
from annotated_transformer.translation.bleu import ngrams
from annotated_transformer.translation.search import readable_greedy_search

PAPER = Path(__file__).parents[3] / "nbs/paper"

pytestmark = [
    pytest.mark.usefixtures("closed_figures"),
    pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning"),  # PyTorch, drawn by Matplotlib
]


@pytest.fixture(autouse=True)
def at_the_pages(monkeypatch, at_the_root):
    "Where a notebook's cells run; a figure that is shown stays open."
    monkeypatch.chdir(PAPER)
    monkeypatch.setattr(plt, "show", lambda: None)


def run(page: str, cells: str, changes: dict[str, str], **given) -> dict:
    "The names after these cells of the page, by their ids, in which each of the changes is made once; `given` come from others."
    sources = {cell["id"]: "".join(cell["source"]) for cell in json.loads((PAPER / f"{page}.ipynb").read_text("utf-8"))["cells"]}
    text = "\n".join(sources[each] for each in cells.split())
    for old, new in changes.items():
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    names = {"plt": plt, "torch": torch, "math": math, "F": F} | given
    exec(text, names)
    return names


def spelled(ids: torch.Tensor) -> str:
    "As on the page of the model that reverses digits."
    return "".join("<eos>" if id == 1 else str(id - 3) for id in ids.tolist())


@pytest.fixture(scope="module")
def translator():
    return Translator.from_pretrained("everyday-en-de")


def test_a_kernel_over_one_word_is_refused_and_not_tried_for_ever():
    turns = iter(range(50))

    def counted(*of):
        next(turns)  # so that a loop without an end has one here
        return range(*of)

    for k in (1, 0, -1):
        with pytest.raises(AssertionError, match="k must be at least 2"):
            run("2_background", "02000001", {}, range=counted)["convolutional"](8, k)
    assert len(run("2_background", "02000001", {})["convolutional"](8, 5)) == 2 * (1 + 2 + 3 + 4 + 4 * 5)


@pytest.mark.parametrize("smoothing", [0, 0.02, 0.1, 0.3, 0.5])
def test_the_least_loss_is_in_the_picture_for_each_smoothing(smoothing):
    run("5.4_regularization", "579dca99", {"37_000, 0.1": f"8_000, {smoothing}"})
    axis = plt.gca()
    assert axis.get_title() == "V = 8,000"
    (best,), (least,) = axis.lines[-1].get_data()
    assert best == 1 - smoothing and least < axis.get_ylim()[1] - 0.5
    text, = axis.texts
    assert text.get_text() == f"least loss {least:.3f}" and 0 < text.get_position()[1] < max(0.1, least)


def test_the_head_that_looks_back_is_asked_where_it_should_look(capsys):
    run("3.5_position", "11b72862 d4dbf0cf", {"sinusoids(20, 512), 3": "sinusoids(20, 512), 5"}, sinusoids=sinusoids)
    weight, = re.findall(r"the weight on position 5: (\d\.\d\d);", capsys.readouterr().out)
    assert float(weight) > 0.8


@pytest.mark.parametrize("n_layers, n_heads", [(1, 1), (1, 2), (2, 8)])
def test_every_head_of_the_reverser_is_drawn_and_named(n_layers, n_heads):
    weights = torch.rand(n_layers, 1, n_heads, 5, 5)
    digits = torch.tensor([[6, 5, 10, 8, 1]])
    run("3_transformer", "3a000005", {}, maps=SimpleNamespace(encoder_decoder=weights), source=digits, target_input=digits,
        spelled=spelled)
    panels = [axis for axis in plt.gcf().axes if axis.get_title()]
    names = [axis.get_title() for axis in panels]
    assert names == [f"layer {layer}, head {head}" if n_layers > 1 else f"head {head}"
                     for layer in range(1, n_layers + 1) for head in range(1, n_heads + 1)]
    for axis, shown in zip(panels, weights.flatten(0, 2), strict=True):
        assert torch.equal(torch.tensor(axis.images[0].get_array().data), shown)


def test_what_was_measured_of_one_head_is_said_of_that_head_alone(capsys, translator):
    maps = SimpleNamespace(aligned=translator.record.alignment_head)
    for (layer, head), said in ((maps.aligned, True), ((1, 5), False)):
        run("3.2_attention", "32c00011", {}, json=json, Path=Path, maps=maps, LAYER=layer, HEAD=head)
        assert ("In 25 pairs" in capsys.readouterr().out) == said


@pytest.mark.parametrize("sentence", ["Stop!", "The teacher who lost " + "her red umbrella and " * 3 + "bought it."], ids=len)
def test_the_padding_mask_is_shown_on_the_shorter_sentence_and_labels_have_room(sentence, translator):
    run("3.2_attention", "8a25e5d4", {}, SENTENCE=sentence, translator=translator, maps=translator.attention(sentence),
        PAD=PAD, causal_mask=causal_mask, padding_mask=padding_mask)
    figure, axis = plt.gcf(), plt.gcf().axes[1]
    keys = [label.get_text() for label in axis.get_xticklabels()]
    assert figure.get_figheight() / len(keys) > 0.26 and figure.get_figwidth() / len(keys) > 0.55, "inches for a label"
    assert keys[0] == ("Stop" if sentence == "Stop!" else "Two") and keys[-1] == "padding"
    assert axis.images[0].get_array().mask[:, -1].all()


WORDS = "two three four red blue green walks runs jumps", "zwei drei vier rot blau grün läuft rennt springt"


def test_a_word_of_several_pieces_is_refused_and_one_pair_more_is_compared(capsys):
    cells, imports = "3c5a90b7 34000003 34000004 34000001 34000005", "777efafd"
    with pytest.raises(AssertionError, match="^elephant is cut into 3 pieces: choose a word of one$"):
        run("3.4_embedding", f"{imports} {cells}", {WORDS[0]: "red elephant", WORDS[1]: "rot Hund"})
    with pytest.raises(ValueError, match="argument"):
        run("3.4_embedding", f"{imports} {cells}", {WORDS[0]: "red dog house", WORDS[1]: "rot Hund"})
    capsys.readouterr()
    run("3.4_embedding", f"{imports} {cells}", {WORDS[0]: f"dog {WORDS[0]}", WORDS[1]: f"Hund {WORDS[1]}"})
    said = capsys.readouterr().out
    assert said.startswith("dog-Hund ") and "but red-blue 0.59" in said
    assert re.search(r"'s 10 words is the translation: \d+ of 20 words", said)


def test_a_unit_is_as_it_was_after_a_cell_that_was_stopped(monkeypatch):
    names = run("3.3_feed_forward", "33000002 33d00002", {})
    bias = names["translator"].model.encoder.layers[0].feed_forward.sublayer.inner.bias
    before = bias.detach().clone()

    def stopped(text):
        assert bias[70] > before[70] + 19, "the unit is on while the model translates"
        raise KeyboardInterrupt

    monkeypatch.setattr(names["translator"], "translate", stopped)
    with pytest.raises(KeyboardInterrupt):
        names["with_unit"](1, 70, "My mother is here.", 20)
    assert torch.equal(bias, before)


def test_the_cosines_are_said_of_the_words_that_are_compared(capsys):
    given = {"sinusoids": sinusoids, "embed": lambda ids, matrix: 512**0.5 * matrix[ids]}
    run("3.4_embedding", "777efafd 8bca4251", {"the dog saw the cat and the cat saw the dog": "my cat saw a cat"}, **given)
    assert len(re.findall(r"the cosine of cat and cat is 0\.\d\d, of cat and saw 0\.\d\d\n", capsys.readouterr().out)) == 2


@pytest.mark.parametrize("k", [-10, 11])
def test_a_place_beyond_the_picture_is_refused(k):
    with pytest.raises(AssertionError, match="choose a k from -9 to 10"):
        run("3.5_position", "11b72862 d4dbf0cf", {"sinusoids(20, 512), 3": f"sinusoids(20, 512), {k}"}, sinusoids=sinusoids)


def test_the_digits_of_the_picture_are_those_that_were_read():
    source, target_input = torch.tensor([[12, 3, 4, 5, 6, 7, 1]]), torch.tensor([[0, 7, 6, 5, 4, 3, 12]])
    given = {"source": source, "target_input": target_input, "maps": SimpleNamespace(encoder_decoder=torch.rand(1, 1, 2, 7, 7))}
    run("3_transformer", "3a000005", {}, spelled=spelled, **given)
    axis = plt.gcf().axes[0]
    assert [label.get_text() for label in axis.get_xticklabels()] == [*"901234", "<eos>"]
    assert [label.get_text() for label in axis.get_yticklabels()] == [*"432109", "<eos>"]


@pytest.mark.parametrize("updates", [30, 700])
def test_the_curves_are_as_long_as_the_trainings(updates):
    losses = [3.0] * updates
    for page, cell, given in (("3_transformer", "30000008", {}), ("ten_minutes", "3b60c8f9", {"smoothing": 0.1})):
        run(page, cell, {}, losses=losses, tokenizer=SimpleNamespace(vocab_size=400), **given)
        assert len(plt.gca().lines[0].get_xdata()) == updates


@pytest.mark.parametrize("smoothing, least", [(0.1, 0.924), (0, 0.0), (0.3, 2.408)])
def test_the_lowest_loss_is_that_of_the_smoothing_that_was_chosen(smoothing, least):
    run("ten_minutes", "3b60c8f9", {}, smoothing=smoothing, losses=[4.0, 3.0], tokenizer=SimpleNamespace(vocab_size=400))
    assert plt.gca().get_title() == f"How far the loss is above the lowest possible, {least:.2f}"
    assert plt.gca().lines[0].get_ydata() == pytest.approx([4 - least, 3 - least], abs=1e-3)


@pytest.mark.parametrize("n_heads, said", [(4, "the four"), (2, "2")])
def test_the_mean_is_said_of_as_many_heads_as_there_are(n_heads, said):
    maps = AttentionMaps(["a", "b"], ["c", "d"], ["d", "e"], encoder_decoder=torch.full((1, n_heads, 2, 2), 0.5))
    given = {"dataclasses": dataclasses, "plot_heat_maps": plot_heat_maps, "mean": maps.encoder_decoder.mean(1, keepdim=True)}
    model = SimpleNamespace(config=SimpleNamespace(n_heads=n_heads))
    figure = run("ten_minutes", "c20b98e9", {}, maps=maps, model=model, **given)["figure"]
    assert f"mean of {said} heads" in [text.get_text() for text in figure.axes[0].texts]


@pytest.mark.parametrize("train, test", [(1, 5), (7, 0)])
def test_each_pair_has_its_line_in_the_picture(train, test):
    one, *others = ([(f"{name} {i}", f"{name} {i}!") for i in range(n)] for name, n in (("train", train), ("test", test)))
    run("5.1_corpora", "51a00001", {}, train=one, test=others[0])
    axis = plt.gca()
    lowest = min(min(line.get_ydata()) for line in axis.lines if len(line.get_ydata()))
    assert lowest == 1 - train - test and axis.get_ylim()[0] < lowest
    assert plt.gcf().get_figheight() / (train + test) > 0.4, "inches for a row"


def test_a_pair_that_stands_twice_leaks_over_all_divisions_too(capsys):
    cells, old = "51a20001 51a30002", json.loads((PAPER / "5.1_corpora.ipynb").read_text("utf-8"))["cells"]
    lines = next("".join(cell["source"]) for cell in old if cell["id"] == "51a30002").partition("\n\n\n")[0]
    given = {"itertools": itertools, "random": random, "Fraction": Fraction, "re": re, "test": [], "train": []}
    run("5.1_corpora", cells, {lines: "pairs = 2 * [('Hi.', 'Hallo!')] + [('a', 'b'), ('c', 'd'), ('e', 'f')]"}, **given)
    assert "over all 5 divisions: 2/5" in capsys.readouterr().out  # it leaks where one of the two is the one left: in two of five
    with pytest.raises(AssertionError, match="at least that many"):
        run("5.1_corpora", cells, {lines: "pairs = [('a', 'b')]"}, **given)


def test_as_many_joins_are_shown_as_were_learnt_and_rows_counted_as_there_are(capsys):
    run("5.1_tokenizer", "51b1000b", {}, learnt=["eh", "ehn", "zehn"], split_word=split_word)
    assert capsys.readouterr().out.splitlines()[-1].split() == "3 + zehn ▁ d r e i zehn ▁ v i e r zehn ▁ d r e i".split()
    given = {"Tokenizer": Tokenizer, "Counter": Counter, "both_sides": ["ab cd ab", "cd abcd ef"]}
    run("5.1_tokenizer", "c5d2d183", {"einundzwanzigtausenddreihundertfünfundvierzig": "abef",
                                      "(80, 150, 300, 600, 900)": "(11, 900)"}, **given)
    rows = [line.split() for line in capsys.readouterr().out.splitlines()[1:3]]
    assert int(rows[0][0]) == 11 < int(rows[1][0]) < 900 and all(int(row[0]) - 3 == int(row[-1]) for row in rows)


@pytest.mark.parametrize("chance, found, probability", [("0.9", "ein Hund", "0.36"), ("0.4", "eine Katze", "0.20")])
def test_the_tree_of_beginnings_says_what_the_table_gives(chance, found, probability):
    run("6.1_decoding", "61a00001 2101d4a5", {'"Hund": 0.9': f'"Hund": {chance}'})
    axis = plt.gca()
    assert axis.get_title() == f"Beam 2 finds {found} ({probability}); greedy ends at eine Katze (0.20)"
    bold, = [text.get_text() for text in axis.texts if text.get_fontweight() == "bold"]
    assert bold == f"<eos>\n{probability}"


def test_the_search_takes_the_table_as_it_is_now_and_refuses_a_word_that_it_does_not_know():
    search = {"readable_greedy_search": readable_greedy_search}
    names = run("6.1_decoding", "61a00001 fe05fbbf", {}, **search)
    names["TABLE"] = {"": {"ein": 1.0}, "ein": {"Hund": 1.0}}
    assert names["text"](readable_greedy_search(names["look_up"], longest=5)) == "ein Hund"
    with pytest.raises(AssertionError, match="^not in WORDS: Maus$"):
        run("6.1_decoding", "61a00001 fe05fbbf", {'{"eine": 0.5': '{"Maus": 0.5'}, **search)


def test_runs_of_a_translation_of_any_length_are_drawn_and_counted():
    reference = "a small dog runs over the green grass ."
    run("6.1_bleu", "1b1ce0ca", {}, reference=reference, translation="a small dog runs across the grass . and it goes home")
    axis = plt.gca()
    assert axis.get_xlim()[1] == 12 == max(round(bar.get_x() + bar.get_width() + 0.06) for bar in axis.patches)
    given = {"Tokenizer13a": Tokenizer13a, "paper_tokens": str, "ngrams": ngrams, "references": [reference]}
    for translation, said in (("Ja .", "0 of 0 runs"), (" ".join(4 * [reference]), " of 33 runs")):
        run("6.1_bleu", "c1fcb512", {}, translations=[translation], **given)
        axis = plt.gca()
        assert axis.get_xlim()[1] >= max(box.get_x() + box.get_width() for box in axis.patches)
        assert sum(said in text.get_text() for text in axis.texts) == 2


def fails(rank, size, meeting):
    raise ValueError(f"process {rank} of {size} cannot go on")


def test_who_waits_for_processes_hears_that_one_has_failed(monkeypatch):
    monkeypatch.chdir(PAPER.parent / "training")
    names = run("../training/processes", "e1e8fcd9 52a20003", {}, inspect=inspect)
    with pytest.raises(AssertionError, match="a process has failed"):
        names["in_processes"](1, fails)


@pytest.mark.parametrize("turn", [lambda key: key.mT, lambda key: key.T, lambda key: key.swapaxes(0, 1),
                                  lambda key: key.permute(1, 0)])
def test_a_key_that_is_turned_is_no_step_of_its_own(turn):
    def attend(query, key, value, allowed=None):
        weights = (query @ turn(key)).softmax(-1)
        return weights @ value, weights

    steps, _ = operations(attend)
    assert [step.name for step in steps] == ["matmul", "softmax", "matmul"] and steps[0].origins == ("query", "key")


def test_a_pair_that_fits_into_no_batch_is_refused_by_the_readable_form():
    in_order = run("5.1_batching", "a6ec568a", {})["in_order"]
    assert in_order([2, 0, 1], [3, 4, 2], max_tokens=8) == [[2, 0], [1]]
    with pytest.raises(AssertionError, match="a pair of 4 tokens on its longer side fits into no batch"):
        in_order([0, 1], [3, 4], max_tokens=3)
