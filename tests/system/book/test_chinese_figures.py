"The figures' words in Chinese: each figure has them, they are explained where it is English, and drawn where it is drawn anew."
import json

import chinese_figures
import chinese_notebooks
import chinese_site
import matplotlib
import pytest

PAGE, CELL = "paper/5.3_optimizer", "53a10002"


def with_words(monkeypatch, change) -> list[str]:
    "The complaints about the page once its words were changed."
    found = {cell: dict(known) for cell, known in chinese_figures.words()[PAGE].items()}
    change(found)
    monkeypatch.setattr(chinese_figures, "words", lambda: {PAGE: found})
    return list(chinese_figures.complaints(PAGE))


@pytest.mark.parametrize("change, said", [
    (lambda found: found.pop(CELL), "this figure is missing"),
    (lambda found: found.update(colab={}), "this cell draws no figure"),
    (lambda found: found[CELL].update({"a word that no code has": "词"}), "no code draws 'a word that no code has'"),
    (lambda found: found[CELL].update({"gradients {}": "梯度"}), "must have as many {}"),
    (lambda found: found[CELL].update({"weight": "权重 $w$"}), "needs plain letters"),
])
def test_a_figure_that_differs_from_its_words_is_named(monkeypatch, change, said):
    [found] = with_words(monkeypatch, change)
    assert said in found and (CELL in found or "colab" in found)


def test_what_is_told_of_a_figure_is_chinese_too_and_no_word_of_it(monkeypatch):
    source = "#| fig-alt: Steps: large, then small\nplt.plot(steps)"
    cell = {"id": CELL, "cell_type": "code", "source": source, "outputs": [{"data": {"image/png": ""}}]}
    monkeypatch.setattr(chinese_figures, "notebook_of", lambda name: {"cells": [cell]})
    told, other = chinese_figures.alt(source), "Steps: large, then smaller"
    for known, said in (({}, [f"the Chinese of {told!r} is missing"]), ({told: "步长：先大后小"}, []),
                        ({told: "步长", other: "步长"}, [f"no code draws {other!r}"])):
        monkeypatch.setattr(chinese_figures, "words", lambda known=known: {PAGE: {CELL: known}})
        assert [one.partition(f"{CELL}: ")[2] for one in chinese_figures.complaints(PAGE)] == said
    assert chinese_figures.explained({told: "步长", "step": "步"}, told) == "<small>图中文字：step → 步</small>"
    assert chinese_site.with_alt(cell, {told: "步长"}) == "#| fig-alt: 步长\nplt.plot(steps)"
    assert chinese_site.with_alt(cell, {}) == source


@pytest.mark.parametrize("text, ours", [
    ("weight", "权重"),
    ("always 0.5", "总是 0.5"),
    ("gradients always 0.001", "梯度：总是 0.001"),
    ("step", "步"),
    ("steps", "steps"),
    ("weight\nstep\nsteps", "权重\n步\nsteps"),
])
def test_words_are_translated_whole_and_what_changes_in_them_too(text, ours):
    known = {word: said for cell in chinese_figures.words()[PAGE].values() for word, said in cell.items()}
    assert chinese_figures.translated(text, known) == ours


@pytest.mark.parametrize("one, other, alike", [
    ("loss 0.123, 7 of 9 right", "loss 0.121, 7 of 9 right", True),      # another processor
    ("by tensor([-0.000,  0.500])", "by tensor([ 0.000,  0.500])", True),
    ("loss 0.123, 7 of 9 right", "loss 0.181, 7 of 9 right", False),
    ("loss 0.123, 7 of 9 right", "loss 0.123, 8 of 9 right", False),     # a page may say so
    ("loss 12.3, Ein Hund", "loss 12.3, Der Hund", False),
    ("0.5 0.5", "0.5", False),
])
def test_a_figure_counts_where_its_page_says_nearly_the_same(one, other, alike):
    assert chinese_figures.alike(one, other) is chinese_figures.alike(other, one) is alike


def cells_of(name: str) -> dict[str, dict]:
    return {cell["id"]: cell for cell in chinese_notebooks.made(name, chinese_notebooks.pages_in_chinese(), {})["cells"]}


def test_words_stand_below_a_figure_that_shows_english_ones(monkeypatch):
    monkeypatch.setattr(chinese_figures, "drawn", lambda name: {})
    ids = list(cells := cells_of(PAGE))
    said = "".join(cells[f"words-{CELL}"]["source"])
    assert "weight → 权重" in said and ids.index(f"words-{CELL}") == ids.index(CELL) + 1


def test_a_figure_that_is_drawn_in_chinese_is_taken_until_page_or_words_change(monkeypatch, tmp_path):
    monkeypatch.setattr(chinese_figures, "DRAWN", tmp_path)
    path = tmp_path / f"{PAGE}.json"
    path.parent.mkdir()
    path.write_text(json.dumps({"of": chinese_figures.of(PAGE), "pictures": {CELL: ["AAAA"]}}))
    found = cells_of(PAGE)
    assert [data["image/png"] for data in chinese_figures.pictures(found[CELL])] == ["AAAA"]
    assert f"words-{CELL}" not in found and "words-0a8f744f" in found
    with_words(monkeypatch, lambda words: words[CELL].update(step="步数"))
    assert chinese_figures.drawn(PAGE) == {}


def test_a_chart_is_in_chinese_with_its_data_and_keeps_its_fields():
    chart = {"data": {"values": [{"weight": "weight"}]}, "transform": [{"filter": "datum.weight == 'weight'"}],
             "encoding": {"x": {"field": "weight", "title": {"expr": '{"weight": "weight", "y": 1}[kind]'}}}}
    assert chinese_figures.chart_in_chinese(chart, {"weight": "权重"}) == {
        "data": {"values": [{"weight": "权重"}]}, "transform": [{"filter": "datum.weight == '权重'"}],
        "encoding": {"x": {"field": "weight", "title": {"expr": '{"weight": "权重", "y": 1}[kind]'}}}}


def test_matplotlib_writes_the_chinese(monkeypatch):
    if chinese_figures.font() is None:
        pytest.skip("there is no Chinese font here")
    from matplotlib import pyplot
    from matplotlib.text import Text

    monkeypatch.setattr(Text, "_get_wrapped_text", Text._get_wrapped_text)
    monkeypatch.setattr(chinese_figures, "unsaid", [])
    with matplotlib.rc_context():
        chinese_figures.speak({"learning rate": "学习率", "step {}": "第 {} 步", "batch {}": "每批 {}"})
        figure, axis = pyplot.subplots()
        axis.set(xlabel="learning rate", title="step 3")
        word, half = (axis.text(0, 0, said) for said in ("words that nobody knows", "batch 64, sentences end"))
        texts = axis.xaxis.label, axis.title, word, half
        assert [text._get_wrapped_text() for text in texts] == ["学习率", "第 3 步", "words that nobody knows",
                                                                "每批 64, sentences end"]
        assert axis.get_xlabel() == "learning rate"  # for the page's code
        assert chinese_figures.unsaid == ["words that nobody knows", "batch 64, sentences end"]
        wide = figure.axes[0].xaxis.label.get_window_extent().width
        assert wide > 2 * axis.xaxis.label.get_fontsize()  # three characters, and not three boxes of no width
        pyplot.close(figure)


@pytest.mark.parametrize("words, said", [
    ("those of the figure", "除以 √d_k"),
    ({"Divide by {}": "除以 {}"}, r"Divide by $\sqrt{d_k}$"),
])
def test_no_chinese_is_written_beside_a_formula(monkeypatch, words, said):
    from matplotlib.text import Text

    monkeypatch.setattr(Text, "_get_wrapped_text", Text._get_wrapped_text)
    monkeypatch.setattr(chinese_figures, "font", lambda: "DejaVu Sans")
    with matplotlib.rc_context():
        known = chinese_figures.words()["paper/3.2_attention"]["c1d904cb"]
        chinese_figures.speak(known if isinstance(words, str) else words)
        assert Text(text=r"Divide by $\sqrt{d_k}$")._get_wrapped_text() == said


def test_figures_that_need_no_training_are_there_to_be_drawn():
    drawable = {cell["id"] for name in chinese_figures.words() for cell in chinese_figures.notebook_of(name)["cells"]
                if chinese_figures.drawable(cell)}
    assert chinese_figures.SAME_ANYWHERE <= drawable


def test_the_picture_beside_a_live_chart_is_not_drawn():
    alone = {"data": {chinese_figures.PICTURE: "AAAA"}}
    beside = {"data": {chinese_figures.PICTURE: "AAAA", chinese_figures.CHART: {}}}
    assert [chinese_figures.drawable({"outputs": found}) for found in ([], [alone], [beside])] == [False, True, False]


def test_times_are_no_difference_between_two_runs():
    def cell(text):
        return {"outputs": [{"output_type": "stream", "name": "stdout", "text": text}]}

    assert chinese_figures.printed(cell("12 pairs, 3.1 s")) == chinese_figures.printed(cell("12 pairs, 2.9 s"))
    assert chinese_figures.printed(cell("12 pairs, 3.1 s")) != chinese_figures.printed(cell("13 pairs, 3.1 s"))
