"""The page that translates, in a browser: the translations of its graphs in Python, heads, forcing, switches, hard input.

Skipped without playwright, Chromium, the extra `exchange`, or the page's runtime, which is downloaded once.
"""
import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch

from annotated_transformer import EOS, PAD, InputError, Translator
from annotated_transformer.exchange.browser_page import write_page
from annotated_transformer.figures.attention_maps import AttentionMaps, token_labels
from annotated_transformer.figures.token_labels import group_words
from annotated_transformer.model_record import record_of
from annotated_transformer.translation.lines import UNSURE
from benchmarks.explorer import NEXT_FRAME
from benchmarks.page import PageGraphs, served
from tests.browser.test_explorer_page import contrast

SCREENSHOTS = Path(__file__).resolve().parents[2] / "screenshots"
EXAMPLE = "A dog runs with a ball in its mouth."
ENTANGLED = "The man who bought the old car gave the red book to his sister."
KINDS = {"encoder_decoder": "encoder-decoder", "encoder": "encoder", "decoder": "decoder"}


@pytest.fixture(scope="session")
def written(tmp_path_factory):
    "The directory of the shipped model's page."
    for package in ("onnx", "onnxruntime"):
        pytest.importorskip(package, reason="the extra `exchange` is not installed")
    directory = tmp_path_factory.mktemp("page") / "page"
    try:
        write_page(Translator.from_pretrained("everyday-en-de", device="cpu"), directory)
    except InputError as missing:
        if "could not be fetched" not in str(missing):
            raise
        pytest.skip(str(missing))
    return directory


@pytest.fixture(scope="session")
def graphs(written):
    return PageGraphs(written)


@pytest.fixture(scope="session")
def address(written):
    with served(written) as address:
        yield address


@pytest.fixture
def translator(page, address):
    "The page, opened and ready, where every other host is out of reach."
    own = address.rpartition("/")[0]
    page.route(lambda asked: not asked.startswith((own, "data:")), lambda route: route.abort())
    page.on("dialog", lambda dialog: page.faults.append(f"dialog: {dialog.message}"))
    page.goto(address)
    done(page)
    yield page
    assert page.faults == []
    assert [asked for asked in page.asked if not asked.startswith((own, "data:"))] == []


def done(page) -> None:
    "The newest translation is complete."
    page.locator("#about").filter(has_text="log-probability").wait_for()


def type_in(page, sentence: str) -> None:
    page.locator("#sentence").fill(sentence)
    page.locator("#sentence").press("Enter")


def translation(page) -> str:
    done(page)
    return page.locator("#translation").text_content()


def said(page) -> str:
    return page.locator("#status").text_content()


def drawn(page, name: str, shape: tuple[int, int]) -> np.ndarray:
    "The weights in the heat map (`cell`) or the lines (`weight`) that are in sight, as a table; what is not drawn is 0."
    opacity = {"cell": "fill-opacity", "weight": "stroke-opacity"}[name]
    found = page.locator(f".{name}").evaluate_all(
        "(marks, name) => marks.filter(one => getComputedStyle(one).visibility == 'visible')"
        ".map(one => [one.dataset.query, one.dataset.key, one.getAttribute(name)].map(Number))", opacity)
    weights = np.zeros(shape)
    for query, key, weight in found:
        weights[int(query), int(key)] = weight
    return weights


def expected(graphs, sentence: str, off=()) -> dict[str, np.ndarray]:
    "By kind, the weights of all heads while the best translation is written, between whole words: (L, h, queries, keys)."
    ids, tokens = graphs.tokenizer.encode(sentence), graphs.translate(sentence, off=off)
    _, own, cross = graphs.decode(ids, off)([tokens])
    _, of_encoder = graphs.encoder.run(None, graphs.given(ids, off))
    source, target, read = (token_labels(graphs.tokenizer, ids) for ids in (ids, [*tokens, EOS], [PAD, *tokens]))
    maps = AttentionMaps(source, read, target, *(torch.from_numpy(weights[:, 0]) for weights in (of_encoder, own, cross)))
    return {kind: maps.words().of(kind)[0].numpy() for kind in KINDS}


def near(drawn: np.ndarray, weights: np.ndarray) -> bool:
    return drawn.shape == weights.shape and np.abs(drawn - np.where(weights < 0.005, 0, weights)).max() < 0.006


def test_typed_sentences_are_translated_as_in_python(translator, graphs):
    assert translation(translator) == graphs.tokenizer.decode(graphs.translate(EXAMPLE))
    lines = ["Why?", "I live in a small house near the river, and my brother too.", ENTANGLED, "Übung  macht\tden Meister!",
             "Tom's e-mail: 1/2 ﬁne ①", "Do you know what she said yesterday?"]
    for beams, lines_of_it in ((4, lines), (1, lines[1:3])):
        translator.locator("select[name=beams]").select_option(str(beams))
        for line in lines_of_it:
            type_in(translator, line)
            assert translation(translator) == graphs.tokenizer.decode(graphs.translate(line, beams)), (beams, line)
    labels = translator.locator("#source button").all_text_contents()
    ids = graphs.tokenizer.encode(lines[2])
    assert labels[-1] == "<eos>" and [label.removeprefix("·") for label in labels[:-1]] == [
        piece.removeprefix("▁") for piece in graphs.tokenizer.pieces(ids[:-1])]
    translator.locator("#sentence").press("End")
    translator.locator("#sentence").press_sequentially(" And")
    followed = sum(len(graphs.tokenizer.encode(sentence)) for sentence in (lines[2], "And"))
    assert translator.locator("#source button").count() == followed, "they follow"
    assert translator.locator("#translation").text_content() == ""


@pytest.mark.parametrize("own, offered", [(3, ["beam of 3", "beam of 4", "greedy"]), (1, ["greedy", "beam of 4"])])
def test_it_searches_as_the_model_does_if_nothing_is_chosen(page, written, tmp_path, own, offered):
    directory = tmp_path / "own"
    shutil.copytree(written, directory)
    path = directory / "translate" / "settings.json"
    settings = json.loads(path.read_text(encoding="utf-8"))
    settings["search"]["beam_size"] = own
    path.write_text(json.dumps(settings), encoding="utf-8")
    graphs = PageGraphs(directory)
    with served(directory) as address:
        page.goto(address)
        done(page)
        assert page.locator("select[name=beams] option").all_text_contents() == offered
        type_in(page, line := "I live in a small house near the river, and my brother too.")
        assert translation(page) == graphs.tokenizer.decode(graphs.translate(line, own))
        assert page.locator("select[name=beams]").input_value() == str(own)
    assert page.faults == []


def test_all_heads_of_all_kinds_are_drawn_from_the_right_weights(translator, graphs):
    weights = expected(graphs, EXAMPLE)
    n_layers, n_heads = weights["encoder"].shape[:2]
    thumbnails = translator.locator("#heads button")
    assert thumbnails.count() == n_layers * n_heads
    first, (layer, head) = translator.locator("#heads [aria-pressed=true]"), record_of("everyday-en-de").alignment_head
    assert first.get_attribute("aria-label") == f"layer {layer}, head {head}", "it starts where the figures start"
    for number, (kind, name) in enumerate(KINDS.items()):
        translator.locator("select[name=kind]").select_option(label=name)
        for layer, head in ((number, number + 1), (3, 7 - number)):
            thumbnails.nth(layer * n_heads + head).click()
            assert translator.locator("select[name=layer]").input_value() == str(layer)
            shape = weights[kind].shape[2:]
            for marks in ("cell", "weight"):
                assert near(drawn(translator, marks, shape), weights[kind][layer, head]), (kind, layer, head, marks)
        pixels = "one => [...one.getContext('2d').getImageData(0, 0, one.width, one.height).data]"
        shades = np.array(thumbnails.nth(5).locator("canvas").evaluate(pixels)).reshape(*shape, 4)[..., 3] / 255
        assert np.abs(shades - weights[kind][0, 5]).max() < 0.01, "a thumbnail's pixel is as dark as its weight"
    translator.locator("select[name=number]").select_option(label="3")
    assert translator.locator("#heads [aria-pressed=true]").get_attribute("aria-label") == "layer 4, head 3"


def test_hovering_shows_and_a_click_freezes(translator, graphs):
    layer, number = record_of("everyday-en-de").alignment_head
    cross = expected(graphs, EXAMPLE)["encoder_decoder"][layer - 1, number - 1]
    target, source = translator.locator("#target button"), translator.locator("#source button")

    def alone(query: int | None = None, key: int | None = None) -> bool:
        seen = np.zeros_like(cross)
        seen[query if query is not None else slice(None), key if key is not None else slice(None)] = 1
        return all(near(drawn(translator, marks, cross.shape), cross * seen) for marks in ("cell", "weight"))

    target.nth(2).hover()
    assert alone(query=2)
    numbers = translator.locator("#lines .number[data-key]").all_text_contents()
    assert [float(number or 0) for number in numbers] == pytest.approx(np.where(cross[2] < 0.005, 0, cross[2]), abs=0.006)
    source.nth(4).hover()
    assert alone(key=4)
    translator.locator("#lines .label[data-query='6']").hover()
    assert alone(query=6)
    translator.locator("h1").hover()
    assert alone()
    target.nth(5).focus()  # by keyboard
    assert alone(query=5)
    translator.keyboard.press("Enter")
    translator.locator("h1").hover()
    assert alone(query=5), "frozen"
    assert target.nth(5).get_attribute("aria-pressed") == "true" and "6 of " in translator.locator("#place").text_content()
    translator.keyboard.press("Escape")
    translator.locator("#sentence").focus()
    assert alone()


PIECES = "The unbelievable children overslept, didn't they?!"


def test_pieces_of_a_word_are_joined_and_can_be_looked_at_apart(translator, graphs):
    type_in(translator, PIECES)
    done(translator)
    ids, tokens = graphs.tokenizer.encode(PIECES), graphs.translate(PIECES)
    labels = [token_labels(graphs.tokenizer, ids), token_labels(graphs.tokenizer, [*tokens, EOS])]
    words = [group_words(side, signs_apart=True)[0] for side in labels]
    assert len(words[0]) < len(labels[0]) and translator.locator("#source button").all_text_contents() == labels[0]

    def shown(side: str) -> list[str]:
        return translator.locator(f"#lines .label[data-{side}] title").all_text_contents()

    layer, head = record_of("everyday-en-de").alignment_head
    for kind in KINDS:
        translator.locator("select[name=kind]").select_option(kind)
        weights = expected(graphs, PIECES)[kind][layer - 1, head - 1]
        assert near(drawn(translator, "cell", weights.shape), weights), kind
    translator.locator("select[name=kind]").select_option("encoder_decoder")
    assert (shown("key"), shown("query")) == (words[0], words[1])
    index = next(i for i, label in enumerate(labels[0]) if label.startswith("·"))
    translator.locator("#source button").nth(index).hover()
    lit = translator.locator("#source .pointed").all_text_contents()
    word = translator.locator("#lines .pointed title").text_content()
    assert len(lit) > 1 and "".join(one.removeprefix("·") for one in lit) == word
    translator.get_by_label("whole words").uncheck()
    assert (shown("key"), shown("query")) == (labels[0], labels[1])
    _, _, cross = graphs.decode(ids)([tokens])
    assert near(drawn(translator, "cell", (len(labels[1]), len(labels[0]))), cross[layer - 1, 0, head - 1])


def test_several_heads_lie_over_one_another(translator, graphs):
    weights, thumbnails = expected(graphs, EXAMPLE)["encoder_decoder"], translator.locator("#heads button")
    first = tuple(number - 1 for number in record_of("everyday-en-de").alignment_head)
    translator.get_by_label("several heads").check()
    for layer, head in ((0, 2), (1, 5)):
        thumbnails.nth(layer * weights.shape[1] + head).click()
    for marks, opacity in (("cell", "fillOpacity"), ("weight", "strokeOpacity")):
        for number, (layer, head) in enumerate((first, (0, 2), (1, 5)), 1):
            group = "#cells" if marks == "cell" else "#lines"
            found = translator.locator(f"{group} > g:not(.label)").nth(number - 1).locator(f".{marks}").evaluate_all(
                f"all => all.map(one => [one.dataset.query, one.dataset.key, getComputedStyle(one).{opacity}].map(Number))")
            seen = np.zeros_like(weights[layer, head])
            for query, key, weight in found:
                seen[int(query), int(key)] = weight
            assert near(seen, weights[layer, head])
    names = [f"layer {layer + 1}, head {head + 1}" for layer, head in (first, (0, 2), (1, 5))]
    assert translator.locator("#several span").all_text_contents() == names
    assert translator.locator("select[name=layer]").input_value() == "1" and translator.locator("#heads .one-of").count() == 3
    for scheme in ("light", "dark"):
        translator.emulate_media(color_scheme=scheme)
        translator.screenshot(path=SCREENSHOTS / f"several-{scheme}.png", full_page=True)
    thumbnails.nth(2).dblclick()
    assert translator.locator("#several").text_content() == "layer 1, head 3"
    assert near(drawn(translator, "cell", weights[0, 2].shape), weights[0, 2])
    thumbnails.nth(3).click()
    translator.get_by_label("several heads").uncheck()
    assert near(drawn(translator, "cell", weights[0, 3].shape), weights[0, 3])
    assert translator.locator("#heads .one-of").count() == 0


def test_a_token_can_be_forced_and_the_tables_say_what_else_was_possible(translator, graphs):
    tokens, target, choices = graphs.translate(EXAMPLE), *map(translator.locator, ("#target button", "#choices button"))
    target.nth(3).click()
    logits = graphs.decode(graphs.tokenizer.encode(EXAMPLE))([tokens[:3]])[0][0]
    p = np.exp(logits - logits.max()) / np.exp(logits - logits.max()).sum()
    likeliest = np.argsort(-p)[:8].tolist()
    assert [int(one.get_attribute("data-token")) for one in choices.all()] == likeliest
    assert choices.first.text_content().startswith(f"{100 * p[likeliest[0]]:.1f}%")
    assert translator.locator("#beams tbody tr").count() == 4 and translator.locator("#beams .written").count() == 1
    before = tokens
    for number, (index, rank) in enumerate(((3, 2), (5, 1)), 1):
        if target.nth(index).get_attribute("aria-pressed") == "false":
            target.nth(index).click()
        chosen = int(choices.nth(rank).get_attribute("data-token"))
        choices.nth(rank).click()
        forced = graphs.translate(EXAMPLE, forced=[*before[:index], chosen])
        assert translation(translator) == graphs.tokenizer.decode(forced) != graphs.tokenizer.decode(before)
        assert translator.locator("#target .forced").count() == number
        before = forced
    translator.get_by_role("button", name="Let the model choose again").click()
    assert translation(translator) == graphs.tokenizer.decode(tokens) and translator.locator("#target .forced").count() == 0


def test_the_step_at_which_the_model_was_least_sure_is_shown_first(translator, graphs):
    tokens, decode = graphs.translate(EXAMPLE), graphs.decode(graphs.tokenizer.encode(EXAMPLE))
    written = [*tokens, EOS]
    rows = [decode([written[:i]])[0][0].astype(float) for i in range(len(written))]
    least = int(np.argmin([row[token] - row.max() - np.log(np.exp(row - row.max()).sum()) for row, token in zip(rows, written)]))
    place, why, choices = map(translator.locator, ("#place", "#why", "#choices button"))

    def shown(index: int, reason: str) -> bool:
        likeliest = [int(one.get_attribute("data-token")) for one in choices.all()]
        said = place.text_content() + why.text_content()
        return said == f"{index + 1} of {len(written)}{reason}" and likeliest == np.argsort(-rows[index])[:8].tolist()

    assert 0 < least < len(tokens) and shown(least, ", the least sure")
    translator.locator("#target button").first.click()
    assert shown(0, "")
    translator.keyboard.press("Escape")
    assert shown(least, ", the least sure")


def active(page) -> str:
    "What has the focus: a token's side and number, or the id of anything else."
    return page.evaluate("(({dataset, id}) => dataset.side ? `${dataset.side} ${dataset.index}` : id)(document.activeElement)")


def test_the_focus_stays_where_a_token_was_forced_and_let_go(translator):
    choices, release = translator.locator("#choices button"), translator.get_by_role("button", name="Let the model choose again")
    translator.locator("#target button").nth(3).press("Enter")
    choices.nth(2).press("Enter")
    done(translator)
    assert active(translator) == "target 3"
    translator.locator("#target button").nth(5).press("Enter")
    choices.nth(1).press("Enter")
    done(translator)
    assert active(translator) == "target 5"
    described = translator.locator("#target button").evaluate_all("all => all.map(one => one.getAttribute('aria-description'))")
    assert [i for i, one in enumerate(described) if one == "forced"] == [3, 5] and set(described) == {"forced", None}
    release.press("Enter")
    done(translator)
    assert active(translator) == "target 3" and release.is_hidden()
    translator.locator("#target button").nth(3).press("Enter")
    choices.nth(2).press("Enter")
    translator.locator("#sentence").focus()  # who goes elsewhere meanwhile stays there
    done(translator)
    assert active(translator) == "sentence"
    translator.get_by_label("switch this head off").check()
    done(translator)
    translator.get_by_role("button", name="All on").press("Enter")
    done(translator)
    assert translator.evaluate("document.activeElement.name") == "off"


def test_escape_leaves_the_focus_among_what_could_stand_there(translator):
    choices = translator.locator("#choices button")
    translator.locator("#target button").first.press("Enter")
    before = choices.nth(2).element_handle()
    choices.nth(2).press("Escape")
    assert translator.locator("#target [aria-pressed=true]").count() == 0 and not before.evaluate("one => one.isConnected")
    assert choices.nth(2).evaluate("one => one === document.activeElement")


def test_what_was_written_is_marked_for_those_who_do_not_see_bold_letters(translator):
    for index in (0, 4):
        translator.locator("#target button").nth(index).click()
        for rows in ("#choices button", "#beams tbody tr"):
            current = translator.locator(rows).evaluate_all("all => all.map(one => one.getAttribute('aria-current'))")
            written = translator.locator(rows).evaluate_all("all => all.map(one => String(one.classList.contains('written')))")
            assert current == written and current.count("true") == 1


def test_each_token_is_in_its_language(translator):
    first = {"#sentence": "en", "#source button": "en", "#target button": "de", "#translation": "de", "#choices button": "de",
             "#beams td": "de", "#beams th": "en", "#status": "en", "#said": "en"}
    found = {place: translator.locator(place).first.evaluate("one => one.closest('[lang]').lang") for place in first}
    assert found == first


WATCH = """name => {
    const place = document.querySelector(name);
    window.heard = [];
    new MutationObserver(() => { if (place.textContent) heard.push(place.textContent); }).observe(
        place, {childList: true, characterData: true, subtree: true});
}"""


def test_a_finished_translation_is_announced_once_in_its_language(translator):
    spoken = translator.locator("#spoken")
    assert spoken.get_attribute("role") == "status" and spoken.get_attribute("lang") == "de"
    assert {spoken.bounding_box()[side] for side in ("width", "height")} == {1}, "heard, not seen"
    translator.evaluate(WATCH, "#spoken")
    expected = []
    for text in (EXAMPLE, EXAMPLE, " ".join(PARAGRAPH)):
        type_in(translator, text)
        expected.append(translation(translator))
        assert translator.evaluate("heard") == expected
    translator.locator("#target button").nth(3).click()
    translator.locator("#choices button").nth(1).click()
    assert translation(translator) == spoken.text_content() != expected[-1]
    translator.locator("#sentence").press_sequentially("x")
    assert spoken.text_content() == "", "an old one is not there to be read"


def test_while_one_types_it_is_said_once_what_to_press(translator):
    translator.evaluate(WATCH, "#status")
    translator.locator("#sentence").press_sequentially("dogs")
    assert translator.evaluate("heard") == ["Press Enter, or Translate."]


def test_what_a_token_looks_at_is_said_in_words(translator, graphs):
    weights, said = expected(graphs, EXAMPLE)["encoder_decoder"], translator.locator("#said")
    cross = weights[tuple(head(translator))]
    target, source = translator.locator("#target button"), translator.locator("#source button")
    queries, keys = (translator.locator(f"#lines .label[data-{side}] title").all_text_contents() for side in ("query", "key"))

    def listed(text: str) -> dict[str, float]:
        return {label: float(weight) for label, weight in re.findall(r"“([^”]*)” (\d\.\d\d)", text)}

    def largest(row: np.ndarray, labels: list[str], n: int) -> dict[str, float]:
        return {labels[i]: pytest.approx(row[i], abs=0.006) for i in np.argsort(-row)[:n] if row[i] > 0.006}

    assert said.get_attribute("aria-live") == "polite" and said.text_content() == ""
    target.nth(2).focus()
    assert said.text_content().startswith(f"“{queries[2]}” looks at “{keys[cross[2].argmax()]}” ")
    found = listed(said.text_content())
    assert len(found) <= 5 and found.items() >= largest(cross[2], keys, 3).items()
    source.nth(1).focus()
    assert said.text_content().startswith(f"“{keys[1]}” is looked at by “{queries[cross[:, 1].argmax()]}” ")
    several, first = translator.get_by_label("several heads"), translator.locator("#heads button").first
    several.hover()  # the page moves under the mouse, and what the keys point at stays
    several.press("Space")
    first.press("Enter")
    target.nth(2).focus()
    translator.evaluate(NEXT_FRAME)
    assert re.match(rf"“{queries[2]}” looks in layer \d, head \d at “.*; in layer 1, head 1 at “", said.text_content())
    translator.locator("#sentence").focus()
    assert said.text_content() == ""
    for place in ("#lines", "#cells", "#choices svg"):
        assert set(translator.locator(place).evaluate_all("all => all.map(one => one.getAttribute('aria-hidden'))")) == {"true"}
    assert translator.get_by_role("img").count() == 0, "what a drawing shows stands in words"


def test_the_heads_are_one_stop_of_the_tab_key_and_arrows_lead_among_them(translator):
    thumbnails, first = translator.locator("#heads button"), head(translator)
    assert translator.locator("#heads [tabindex='0']").get_attribute("aria-pressed") == "true"
    assert translator.locator("#heads [tabindex='-1']").count() == thumbnails.count() - 1
    translator.locator("#heads [tabindex='0']").focus()
    for key in ("ArrowLeft", "ArrowDown"):
        translator.keyboard.press(key)
    assert head(translator) == [first[0] + 1, first[1] - 1]
    assert translator.evaluate("document.activeElement.getAttribute('aria-pressed')") == "true"


@pytest.mark.parametrize("colours", ["light", "dark", "forced"])
def test_the_head_that_has_the_focus_is_seen_and_so_is_the_one_that_is_chosen(colours, translator):
    translator.emulate_media(**{"forced_colors": "active"} if colours == "forced" else {"color_scheme": colours})
    seen = """() => ["#heads [aria-pressed=true]", "body"].map(one => getComputedStyle(document.querySelector(one))).flatMap(
        ({outlineStyle, outlineWidth, outlineColor, boxShadow, backgroundColor}, i) => i ? backgroundColor
            : [`${outlineStyle} ${outlineWidth} ${boxShadow}`, outlineColor])"""
    frame, *chosen_and_ground = translator.evaluate(seen)
    chosen, ground = ([int(part) for part in re.findall(r"\d+", one)[:3]] for one in chosen_and_ground)
    assert contrast(chosen, ground) >= 3
    translator.locator("#heads [aria-pressed=true]").focus()
    translator.keyboard.press("ArrowLeft")
    assert translator.evaluate(seen)[0] != frame, "not by its colour alone"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_one_sees_where_to_type_and_what_one_may_choose(scheme, translator):
    translator.emulate_media(color_scheme=scheme)
    borders = "document.querySelectorAll('textarea, select')"
    found = translator.evaluate(f"[...{borders}].map(one => getComputedStyle(one).borderTopColor)")
    ground = translator.evaluate("getComputedStyle(document.body).backgroundColor")
    border, ground = ([int(part) for part in re.findall(r"\d+", one)] for one in (found[0], ground))
    assert len(found) == 5 + 1 and set(found) == {found[0]} and contrast(border, ground) >= 3


def test_the_token_that_is_pointed_at_is_framed_where_the_system_sets_the_colours(translator):
    translator.emulate_media(forced_colors="active")
    translator.locator("#target button").nth(2).hover()
    outlines = translator.locator("#target button").evaluate_all("all => all.map(one => getComputedStyle(one).outlineStyle)")
    assert [i for i, style in enumerate(outlines) if style == "solid"] == [2]


def test_heads_keep_the_colours_of_their_names_where_the_system_sets_the_colours(translator):
    translator.get_by_label("several heads").check()
    translator.locator("#heads button").first.click()
    translator.emulate_media(forced_colors="active")
    for names, colour in ((".swatch", "borderBottomColor"), (".one-of", "outlineColor")):
        found = translator.locator(names).evaluate_all("(all, name) => all.map(one => getComputedStyle(one)[name])", colour)
        assert len(set(found)) == 2, names


def test_on_paper_it_is_dark_on_white_and_nothing_is_cut_off(translator):
    translator.emulate_media(color_scheme="dark", media="print")
    narrow = """() => {
        document.body.style.width = "400px"; // as paper is, which nothing is drawn anew for
        const pictures = [...document.querySelectorAll("svg[viewBox]")];
        return pictures.map(one => [one.getBoundingClientRect().width, one.parentElement.clientWidth]);
    }"""
    drawn = translator.evaluate(narrow)
    assert len(drawn) == 2 and all(0 < wide <= room for wide, room in drawn)
    assert translator.evaluate("getComputedStyle(document.body).color") == "rgb(28, 36, 48)"


def test_parts_can_be_switched_off(translator, graphs):
    type_in(translator, ENTANGLED)
    found = {None: translation(translator)}
    names = {"scaling": "scaling by", "causal": "causal mask", "positions": "positions"}
    translator.locator("select[name=kind]").select_option(label="decoder")
    for name, label in names.items():
        done(translator)
        translator.get_by_label(label).uncheck()
        found[name] = translation(translator)
        tokens = graphs.translate(ENTANGLED, off=[name])
        assert found[name] == graphs.tokenizer.decode(tokens) and f"without {name}" in translator.locator("#about").text_content()
        future = np.triu(drawn(translator, "cell", (len(tokens) + 1,) * 2), 1).sum()
        assert (future > 0) == (name == "causal"), "only without the mask is there a look ahead"
        translator.get_by_label(label).check()
    assert translation(translator) == found[None] and len(set(found.values())) == 4


@pytest.mark.parametrize("text, sentence", [
    ("", "holds no words"),
    (" \t ", "holds no words"),
    ("word " * 400, "has 2,000 characters, and this page takes 1,000: shorten it"),
    ("Who is it, " * 40, "tokens, and this page takes 60: shorten it"),
    ("日本語 🐶🐶", "has never seen"),
    ("</script><script>window.hacked = 1</script><img src=x onerror='window.hacked = 1'>", ""),
    ("\ud800 \x00 \u202e ${window.hacked = 1} {{7*7}}", None),
])
def test_hard_input_gets_a_sentence_and_runs_nothing(translator, text, sentence):
    type_in(translator, text)
    if sentence is None or "never" in sentence or not sentence:
        done(translator)
        assert translator.locator("#target button").last.text_content()
    else:
        translator.locator("#status").filter(has_text=sentence).wait_for()
        assert translator.locator("#result").is_hidden()
    if sentence:
        assert sentence in said(translator)
    assert translator.evaluate("window.hacked") is None and translator.locator("main img, main script").count() == 0
    type_in(translator, EXAMPLE)
    assert translation(translator) == "Ein Hund rennt mit einem Ball im Maul.", "the page goes on"


def test_one_click_switches_a_head_off_and_one_turns_all_on(translator, graphs):
    box, line = translator.get_by_label("switch this head off"), translator.locator("#off")
    type_in(translator, ENTANGLED)
    before, off = translation(translator), []
    assert line.is_hidden() and not box.is_checked()
    for kind, layer, head in (("encoder_decoder", 4, 5), ("encoder", 3, 6)):
        translator.locator("select[name=kind]").select_option(kind)
        translator.locator("select[name=layer]").select_option(label=str(layer))
        translator.locator("select[name=number]").select_option(label=str(head))
        assert not box.is_checked()
        off.append((kind, layer, head))
        box.check()
        assert translation(translator) == graphs.tokenizer.decode(graphs.translate(ENTANGLED, off=off)) != before
        weights = expected(graphs, ENTANGLED, off)[kind][layer - 1, head - 1]
        assert box.is_checked() and near(drawn(translator, "cell", weights.shape), weights)
        assert translator.locator("#heads .off").count() == 1
    said_off = "Off: encoder, layer 3, head 6; encoder-decoder, layer 4, head 5."
    assert line.locator("span").text_content() == f"{said_off} The picture shows the weights that this head would have."
    translator.locator("#heads button").first.click()
    assert line.locator("span").text_content() == said_off and not box.is_checked()
    line.get_by_role("button", name="All on").click()
    assert translation(translator) == before and line.is_hidden() and translator.locator("#heads .off").count() == 0


PARAGRAPH = ["We arrived late last night.", "The hotel was closed.", "Nobody answered the phone.", "So we slept in the car."]


def test_sentences_of_a_long_line_are_translated_one_by_one_and_each_can_be_looked_at(translator, graphs):
    menu, target = translator.locator("select[name=which]"), translator.locator("#target button")
    assert menu.is_hidden()
    type_in(translator, " \n".join(PARAGRAPH))
    tokens = [graphs.translate(sentence) for sentence in PARAGRAPH]
    texts = [graphs.tokenizer.decode(row) for row in tokens]
    assert translation(translator) == " ".join(texts)
    assert f"{sum(map(len, tokens)) + 4} tokens" in translator.locator("#about").text_content()
    assert menu.is_visible() and menu.locator("option").all_text_contents() == [f"{n} of 4" for n in (1, 2, 3, 4)]
    for number in (0, 2):
        menu.select_option(str(number))
        assert target.count() == len(tokens[number]) + 1
        assert near(drawn(translator, "cell", (target.count(), len(graphs.tokenizer.encode(PARAGRAPH[number])))),
                    expected(graphs, PARAGRAPH[number])["encoder_decoder"][tuple(head(translator))])
    target.nth(1).click()
    choices = translator.locator("#choices button")
    chosen = int(choices.nth(1).get_attribute("data-token"))
    choices.nth(1).click()
    texts[2] = graphs.tokenizer.decode(graphs.translate(PARAGRAPH[2], forced=[tokens[2][0], chosen]))
    assert translation(translator) == " ".join(texts) and menu.input_value() == "2", "the others stay"
    menu.select_option("1")
    assert translator.locator("#target .forced").count() == 0
    menu.select_option("2")
    assert translator.locator("#target .forced").count() == 1
    translator.get_by_role("button", name="Let the model choose again").click()
    assert translation(translator) == " ".join(map(graphs.tokenizer.decode, tokens)) and menu.input_value() == "2"
    type_in(translator, " ".join(PARAGRAPH[:2]))
    assert translation(translator) == graphs.tokenizer.decode(graphs.translate(" ".join(PARAGRAPH[:2]))), "a short line is whole"
    assert menu.is_hidden()


def head(page) -> list[int]:
    "Layer and head that are shown, from 0."
    return [int(page.locator(f"select[name={name}]").input_value()) for name in ("layer", "number")]


def test_the_reader_is_warned_where_the_model_is_unsure(translator, graphs):
    odd, unknown = "Zebrafish embryos exhibit pluripotency.", " ⁇ stands for letters that the model has never seen."
    paragraph = " ".join(PARAGRAPH)
    for text, expected_words in ((EXAMPLE, ""), (odd, UNSURE), (f"{paragraph} {odd}", UNSURE), (paragraph, ""),
                                 (EXAMPLE.upper(), UNSURE), ("42", UNSURE), ("你好，世界。", UNSURE + unknown),
                                 ("", "The field holds no words: type a sentence.")):
        type_in(translator, text)
        if text:
            done(translator)
        translator.locator("#status").filter(has_text=expected_words).wait_for()
        assert said(translator) == expected_words, text


def test_it_is_whole_wide_and_narrow_light_and_dark(translator):
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    type_in(translator, " ".join(PARAGRAPH))
    done(translator)
    translator.locator("#target button").nth(3).click()
    grounds = {}
    for scheme in ("light", "dark"):
        translator.emulate_media(color_scheme=scheme)
        for width, height in ((1280, 900), (390, 844)):
            translator.set_viewport_size({"width": width, "height": height})
            translator.evaluate(NEXT_FRAME)
            translator.screenshot(path=SCREENSHOTS / f"page-{scheme}-{width}.png", full_page=True)
            assert translator.evaluate("document.documentElement.scrollWidth") <= width
        grounds[scheme] = translator.evaluate("getComputedStyle(document.body).backgroundColor")
    assert grounds == {"light": "rgb(255, 255, 255)", "dark": "rgb(18, 22, 28)"}


def test_the_policy_holds_off_other_hosts_and_other_scripts(page, address):
    page.goto(address)
    done(page)
    ask = "fetch('http://elsewhere.invalid/').then(() => 'answered', error => error.message)"
    assert "Failed to fetch" in page.evaluate(ask)
    page.evaluate("""() => {
        const script = document.createElement("script");
        script.textContent = "window.hacked = 1";
        document.body.append(script);
    }""")
    assert page.evaluate("window.hacked") is None
    assert [asked for asked in page.asked if "elsewhere" in asked] == [] and len(page.faults) >= 2


def test_a_bar_shows_what_has_arrived_and_a_file_that_breaks_off_is_named(page, address, written):
    from playwright.sync_api import expect

    held = []
    page.route("**/decoder.onnx", lambda route: held.append(route))
    page.goto(address)
    bar, files = page.locator("#loaded"), [*(written / "translate").iterdir()]
    whole = sum(path.stat().st_size for path in files if path.suffix in (".onnx", ".wasm", ".model"))
    missing, settings = ((written / "translate" / name).stat().st_size for name in ("decoder.onnx", "settings.json"))
    expect(bar).to_have_js_property("value", whole - missing + settings)
    assert bar.evaluate("bar => bar.max") == whole and bar.is_visible()
    for route in held:
        route.abort()
    page.locator("#status").filter(has_text="(decoder.onnx did not arrive: Failed to fetch)").wait_for()
    assert bar.is_hidden()


def test_a_missing_file_is_named(page, address):
    page.route("**/decoder.onnx", lambda route: route.fulfill(status=404))
    page.goto(address)
    page.locator("#status").filter(has_text="decoder.onnx is missing beside the page (404)").wait_for()


REFUSE = """const Memory = WebAssembly.Memory;
WebAssembly.Memory = class extends Memory {
  constructor(size) { if (size.maximum > 32768) throw new RangeError("no"); super(size); }
};"""


def test_a_phone_that_refuses_addresses_for_4_gigabytes_translates(page, address):
    page.add_init_script(REFUSE)
    page.goto(address)
    assert translation(page) == "Ein Hund rennt mit einem Ball im Maul." and page.faults == []


def test_a_browser_that_lacks_something_says_so(page, address):
    page.add_init_script("delete window.WebAssembly")  # as an iPhone in lockdown mode has none
    page.goto(address)
    page.locator("#status").filter(has_text="The model could not be loaded (WebAssembly is not defined)").wait_for()
    page.route("**/ort.js", lambda route: route.fulfill(body="?.", content_type="text/javascript"))  # syntax that it cannot read
    page.reload()
    assert "the browser is older than 2023" in said(page)


def test_what_a_wifi_sends_in_place_of_a_file_is_no_model(page, address):
    page.route("**/tokenizer.model", lambda route: route.fulfill(body="<html>Sign in</html>", content_type="text/html"))
    page.goto(address)
    page.locator("#status").filter(has_text="could not be loaded (tokenizer.model is no file of SentencePiece)").wait_for()


# Words in Latin letters that a reader sees or hears outside of sentences, translations and names.
LEFT = """() => {
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), found = [];
  const others = "#model, #sentence, .tokens, #translation, #spoken, #choices, tbody, svg, a, i";
  while (texts.nextNode()) {
    if (!texts.currentNode.parentElement.closest(others)) found.push(texts.currentNode.data);
  }
  for (const one of document.querySelectorAll("[aria-label], [title]")) found.push(one.ariaLabel ?? one.title);
  return found.flatMap(text => text.replace(/“[^”]*”/g, "").match(/[A-Za-z]{2,}/g) ?? []);
}"""


def test_whoever_prefers_chinese_reads_chinese(browser, address):
    from .conftest import watched

    page = watched(browser.new_context(locale="zh-CN", viewport={"width": 1280, "height": 900}).new_page())
    page.goto(address)
    finished = page.locator("#about").filter(has_text="对数概率")
    finished.wait_for()
    assert page.locator("#translation").text_content() == "Ein Hund rennt mit einem Ball im Maul."
    type_in(page, "I am tired. A dog runs with a ball in its mouth. Where is the station? You are right, but I don't think so.")
    page.locator("#part").filter(visible=True).wait_for()
    finished.wait_for()
    page.locator("#source button").first.hover()
    page.locator("#said").filter(has_text="看").wait_for()
    page.locator("[name=several]").check()
    page.locator("#heads button").nth(2).click()
    page.locator("#target button").nth(1).hover()
    page.locator("#said").filter(has_text="（第 1 层，头 3）").wait_for()
    page.locator("[name=off]").check()
    page.locator("#off").filter(has_text="已关掉：编码器-解码器，第 1 层，头 3。").wait_for()
    finished.wait_for()
    page.locator("#form [name=scaling]").uncheck()
    page.locator("#about").filter(has_text="关掉了：缩放").wait_for()
    assert {*page.evaluate(LEFT)} == {"Transformer", "Esc", "Ctrl", *"ONNX Runtime Web MIT Microsoft Corporation".split()}
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=SCREENSHOTS / "page-zh.png", full_page=True)
    assert page.evaluate("[document.documentElement.lang, document.title]") == ["zh", "看着它翻译：网页里的 Transformer"]
    page.locator("#sentence").fill(" ")
    page.locator("#status").filter(has_text="还没有文字：请输入一个句子。").wait_for()
    page.locator("#language").click()
    page.locator("#about").filter(has_text="log-probability").wait_for()
    assert page.url.endswith("?language=en") and page.locator("#language").text_content() == "中文"
    page.locator("#language").click()
    finished.wait_for()
    assert page.faults == []
    page.context.close()
