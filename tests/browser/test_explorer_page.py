"""The page that `explore(...).save("heads.html")` writes, opened from its file: pointer, keys, a phone, dark pages, hostile text.

Skipped without playwright or Chromium; `make test-browser` sees to both. Pictures are left in screenshots/.
"""
import io
import itertools
import re
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from annotated_transformer import Translator
from annotated_transformer.figures.attention_maps import AttentionMaps
from annotated_transformer.figures.explorer import explore

SCREENSHOTS = Path(__file__).resolve().parents[2] / "screenshots" / "explorer"
PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True, "device_scale_factor": 2}
SVG = "{http://www.w3.org/2000/svg}"


def planted_maps(source=("A", "dog", "has", "a", "ball"), target=("Ein", "Hund", "bellt")) -> AttentionMaps:
    "In head k of all (0, 1, ...), query i looks at key 2i + k with 0.9, and at the one after with 0.1, counted round and round."
    source, target = [*source, "<eos>"], [*target, "<eos>"]
    S, T, layers, heads = len(source), len(target), 2, 3
    weights = [torch.zeros(layers, heads, *size) for size in ((S, S), (T, T), (T, S))]
    for of_kind, layer, head in itertools.product(weights, range(layers), range(heads)):
        i = torch.arange(of_kind.size(2))
        for step, weight in ((0, 0.9), (1, 0.1)):
            of_kind[layer, head, i, (2 * i + layer * heads + head + step) % of_kind.size(3)] = weight
    return AttentionMaps(source, ["<start>", *target[:-1]], target, *weights)


def lit(section) -> list[tuple[int, int, float]]:
    "The lines that are seen: query, key, opacity."
    found = section.locator(".lines .weight:not(.far)").evaluate_all(
        "all => all.map(one => [one.dataset.query, one.dataset.key, getComputedStyle(one).strokeOpacity].map(Number))")
    return sorted(map(tuple, found))


def expected_lines(maps: AttentionMaps, kind: str, layer: int, head: int, query: int | None = None, key: int | None = None):
    weights = maps.of(kind)[0][layer - 1, head - 1]
    places = itertools.product(*map(range, weights.shape))
    return [(i, j, pytest.approx(weights[i, j].item(), abs=0.001)) for i, j in places
            if weights[i, j] > 0.005 and query in (None, i) and key in (None, j)]


def token(section, side: str, index: int, picture: str = "lines"):
    return section.locator(f'.{picture} .label[data-{side}="{index}"]')


def thumbnail(section, layer: int, head: int):
    return section.get_by_role("button", name=f"layer {layer}, head {head}")


def numbers(section, side: str) -> list[str]:
    "What stands beside the tokens of a side."
    return section.locator(f".lines .number[data-{side}]").all_text_contents()


def test_all_heads_stand_on_the_page_and_a_click_shows_one_in_full(open_explorer):
    maps = planted_maps()
    page = open_explorer(explore(maps, layer=2, head=3))
    section = page.locator("section")
    for number, kind in enumerate(maps.kinds):
        page.get_by_role("radio").nth(number).check()
        weights, queries, keys = maps.of(kind)
        pixels = """canvas => [canvas.height, canvas.width, ...canvas.getContext("2d")
                    .getImageData(0, 0, canvas.width, canvas.height).data.filter((_, i) => i % 4 === 3)]"""
        for layer, head in itertools.product((1, 2), (1, 2, 3)):
            button = thumbnail(section, layer, head)
            rows, columns, *opacities = button.locator("canvas").evaluate(f"canvas => Array.from(({pixels})(canvas))")
            assert (rows, columns) == (len(queries), len(keys))
            torch.testing.assert_close(torch.tensor(opacities).view(rows, columns) / 255, weights[layer - 1, head - 1],
                                       atol=0.003, rtol=0)
            button.click()
            page.mouse.move(0, 0)
            assert lit(section) == expected_lines(maps, kind, layer, head)
            assert section.locator(".heads [aria-pressed=true]").get_attribute("aria-label") == f"layer {layer}, head {head}"
            assert page.locator(".chosen").first.text_content() == f"layer {layer}, head {head}"
        for side, labels in (("query", queries), ("key", keys)):
            for picture in ("lines", "cells"):
                assert section.locator(f".{picture} .label[data-{side}] text").all_text_contents() == labels


def overlaid(section) -> dict[str, list]:
    "By colour, the lines that are seen: query, key, opacity."
    found = section.locator(".lines .weight:not(.far)").evaluate_all("""all => all.map(one => {
        const {stroke, strokeOpacity} = getComputedStyle(one);
        return [stroke, ...[one.dataset.query, one.dataset.key, strokeOpacity].map(Number)]; })""")
    return {stroke: sorted(tuple(rest) for of, *rest in found if of == stroke) for stroke, *_ in found}


def colour_of(section, layer: int, head: int) -> str:
    "Of a head's frame."
    return thumbnail(section, layer, head).evaluate("one => getComputedStyle(one).outlineColor")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_several_heads_lie_over_one_another_each_in_its_colour(scheme, open_explorer):
    maps = planted_maps()
    page = open_explorer(explore(maps, layer=1, head=1), color_scheme=scheme)
    section, chosen, box = page.locator("section"), page.locator(".chosen").first, page.get_by_label("several heads")

    def is_shown(*heads: tuple[int, int], **focus) -> None:
        expected = {colour_of(section, *head): expected_lines(maps, "encoder_decoder", *head, **focus) for head in heads}
        assert overlaid(section) == expected and len(expected) == len(heads)
        for layer, head in itertools.product((1, 2), (1, 2, 3)):
            assert thumbnail(section, layer, head).get_attribute("aria-pressed") == str((layer, head) in heads).lower()
        assert chosen.locator("span").all_text_contents() == [f"layer {layer}, head {head}" for layer, head in heads]

    box.check()
    thumbnail(section, 2, 3).click()
    thumbnail(section, 1, 2).click()
    page.mouse.move(0, 0)
    is_shown((1, 1), (2, 3), (1, 2))
    cells = section.locator(".cells .cell").evaluate_all("all => all.map(one => Number(one.getAttribute('width')).toFixed(2))")
    assert len(cells) == 3 * len(expected_lines(maps, "encoder_decoder", 1, 1)) and {*cells} == {"8.33"}
    ends = section.locator(".lines line").evaluate_all("all => all.map(one => one.getAttribute('y1'))")
    assert len(set(ends)) == 3 * 4, "no line hides another"
    token(section, "query", 1).click()
    is_shown((1, 1), (2, 3), (1, 2), query=1)
    assert page.locator(".said").text_content() == (
        "“Hund” looks in layer 1, head 1 at “has” 0.90, “a” 0.10; in layer 2, head 3 at “dog” 0.90, “has” 0.10; "
        "in layer 1, head 2 at “a” 0.90, “ball” 0.10. Frozen.")
    text = token(section, "query", 1).locator("text").text_content()
    assert text == "Hund" and numbers(section, "key") == [""] * 6
    strips = token(section, "key", 2).locator(".strip").evaluate_all("all => all.map(one => one.getAttribute('fill-opacity'))")
    assert strips == ["0.450", "0.050", "0.000"]
    drawn = ElementTree.fromstring(downloaded(page))
    colours = {one.attrib["stroke"] for one in drawn.iter(f"{SVG}line")}
    assert len(colours) == 3 and not any("style" in one.attrib for one in drawn.iter())
    save(page, f"several-{scheme}")
    thumbnail(section, 1, 1).click()  # away with it; the others keep their colours
    first = colour_of(section, 2, 3)
    is_shown((2, 3), (1, 2), query=1)
    thumbnail(section, 2, 2).click(modifiers=["Shift"])
    is_shown((2, 3), (1, 2), (2, 2), query=1)
    assert colour_of(section, 2, 3) == first
    token(section, "query", 1).click()
    thumbnail(section, 1, 2).dblclick()
    page.mouse.move(0, 0)
    assert lit(section) == expected_lines(maps, "encoder_decoder", 1, 2) and chosen.text_content() == "layer 1, head 2"
    thumbnail(section, 1, 2).click()
    assert chosen.text_content() == "layer 1, head 2", "one always stays"
    thumbnail(section, 1, 3).focus()
    page.keyboard.press("Enter")
    page.keyboard.press("ArrowLeft")  # only moves on
    assert chosen.locator("span").count() == 2
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Enter")
    assert chosen.locator("span").all_text_contents() == [f"layer 1, head {head}" for head in (2, 3, 1)]
    box.uncheck()
    assert chosen.text_content() == "layer 1, head 1"
    thumbnail(section, 2, 2).click()
    thumbnail(section, 2, 1).click(modifiers=["Control"])
    assert chosen.locator("span").all_text_contents() == ["layer 2, head 2", "layer 2, head 1"]
    thumbnail(section, 1, 1).click()
    assert chosen.text_content() == "layer 1, head 1"


def test_of_many_heads_the_newest_eight_are_shown(open_explorer):
    planted = planted_maps()
    page = open_explorer(explore(replace(planted, encoder=planted.encoder.repeat(1, 4, 1, 1)), "encoder", 1, 1))
    page.get_by_label("several heads").check()
    for head in range(2, 11):
        thumbnail(page.locator("section"), 2, head).click()
    names = page.locator(".chosen").first.locator("span")
    assert names.all_text_contents() == [f"layer 2, head {head}" for head in range(3, 11)]
    assert len(set(names.evaluate_all("all => all.map(one => getComputedStyle(one).borderBottomColor)"))) == 8
    page.get_by_role("radio").nth(1).check()  # a kind with three heads
    assert names.all_text_contents() == ["layer 2, head 3"]


def test_encoder_and_decoder_may_differ_in_layers_and_heads_and_one_may_be_missing(open_explorer):
    planted = planted_maps()
    maps = replace(planted, decoder=planted.decoder[:1, :2], encoder_decoder=planted.encoder_decoder.repeat(2, 2, 1, 1))
    page = open_explorer(explore(maps, "encoder", 2, 3))
    section, kinds = page.locator("section"), page.get_by_role("radio")
    for number, (layers, heads, layer, head) in enumerate([(2, 3, 2, 3), (1, 2, 1, 2), (4, 6, 1, 2)]):  # as near as there is
        kinds.nth(number).check()
        page.mouse.move(0, 0)
        kind = [*maps.kinds][number]
        assert page.locator(".chosen").first.text_content() == f"layer {layer}, head {head}"
        assert lit(section) == expected_lines(maps, kind, layer, head)
        assert section.locator(".heads button").count() == layers * heads
        assert [section.locator(f".{name} span").all_text_contents() for name in ("across", "down")] == [
            [str(i + 1) for i in range(count)] for count in (heads, layers)]
    thumbnail(section, 4, 6).click()
    page.mouse.move(0, 0)
    assert lit(section) == expected_lines(maps, "encoder_decoder", 4, 6)
    alone = AttentionMaps.from_tensors(target_input=planted.target, decoder=planted.decoder)
    page = open_explorer(explore(alone, layer=2, head=1))
    assert page.get_by_role("radio").count() == 1 and page.title() == "Attention: Ein Hund bellt"
    assert page.locator("h2").text_content() == "Ein Hund bellt"
    assert lit(page.locator("section")) == expected_lines(alone, "decoder", 2, 1)


def test_it_begins_at_the_head_that_aligns_best(open_explorer):
    page = open_explorer(explore(replace(planted_maps(), aligned=(2, 1))))
    assert page.get_by_role("radio", name="encoder-decoder attention").is_checked()
    assert page.locator(".chosen").first.text_content() == "layer 2, head 1"
    assert page.title() == "Attention: A dog has a ball"


def test_pointing_shows_weights_and_a_click_freezes_them(open_explorer):
    maps = planted_maps()
    page = open_explorer(explore(maps, layer=1, head=1))
    section, said = page.locator("section"), page.locator(".said")
    token(section, "query", 1).hover()
    assert lit(section) == expected_lines(maps, "encoder_decoder", 1, 1, query=1)
    assert numbers(section, "key") == ["", "", "0.90", "0.10", "", ""] and numbers(section, "query") == [""] * 4
    assert said.text_content() == "“Hund” looks at “has” 0.90, “a” 0.10."
    token(section, "key", 3, "cells").hover()  # a label of the heat map
    assert lit(section) == expected_lines(maps, "encoder_decoder", 1, 1, key=3)
    assert numbers(section, "query") == ["", "0.10", "", ""] and said.text_content() == "“a” is looked at by “Hund” 0.10."
    section.locator('.cells .cell[data-query="2"][data-key="4"]').hover()
    assert said.text_content() == "“bellt” looks at “ball” with the weight 0.900."
    token(section, "query", 1).click()
    page.mouse.move(0, 0)
    token(section, "key", 5).hover()
    assert said.text_content() == "“Hund” looks at “has” 0.90, “a” 0.10. Frozen."
    thumbnail(section, 2, 2).click()  # the token stays, the head changes
    assert lit(section) == expected_lines(maps, "encoder_decoder", 2, 2, query=1)
    token(section, "query", 1).click()
    page.mouse.move(0, 0)
    assert lit(section) == expected_lines(maps, "encoder_decoder", 2, 2)
    token(section, "key", 0).click()
    page.keyboard.press("Escape")
    page.mouse.move(0, 0)
    assert lit(section) == expected_lines(maps, "encoder_decoder", 2, 2)
    token(section, "key", 0).click()
    page.get_by_role("radio", name="decoder self-attention").check()  # other tokens: nothing is frozen
    assert lit(section) == expected_lines(maps, "decoder", 2, 2)


def test_all_weights_stand_in_a_table_that_follows_the_head(open_explorer):
    maps = planted_maps()
    page = open_explorer(explore(maps, layer=1, head=2))
    section, tables = page.locator("section"), page.locator("section table")

    def is_written(number: int, kind: str, layer: int, head: int) -> None:
        weights, queries, keys = maps.of(kind)
        table, title = tables.nth(number), maps.kinds[kind].title
        assert table.locator("caption").text_content() == f"{title}, layer {layer}, head {head}"
        assert table.locator("th[scope=col]").all_text_contents() == keys
        assert table.locator("th[scope=row]").all_text_contents() == queries
        rows = table.locator("tbody tr").evaluate_all(
            "all => all.map(row => [...row.querySelectorAll('td')].map(one => Number(one.textContent)))")
        torch.testing.assert_close(torch.tensor(rows, dtype=weights.dtype), weights[layer - 1, head - 1], atol=0.000501, rtol=0)

    assert tables.count() == 0, "written where it is asked for"
    summary = section.get_by_text("All weights as a table")
    summary.press("Enter")
    tables.wait_for()
    is_written(0, "encoder_decoder", 1, 2)
    thumbnail(section, 2, 3).click()
    is_written(0, "encoder_decoder", 2, 3)
    page.get_by_role("radio", name="decoder self-attention").check()
    is_written(0, "decoder", 2, 3)
    page.get_by_label("several heads").check()
    thumbnail(section, 1, 1).click()
    is_written(0, "decoder", 2, 3)
    is_written(1, "decoder", 1, 1)
    save(page, "table")
    summary.press("Enter")
    thumbnail(section, 1, 2).click()
    summary.press("Enter")
    tables.nth(2).wait_for()
    is_written(2, "decoder", 1, 2)
    assert tables.count() == 3 and page.evaluate("document.documentElement.scrollWidth") <= 1400


def test_the_page_has_one_first_heading_above_its_sentences(open_explorer):
    page = open_explorer(explore(planted_maps()), beside=planted_maps(("The", "cat")))
    assert page.get_by_role("main").get_by_role("heading", level=1).all_text_contents() == ["Attention"]
    assert page.get_by_role("heading", level=2).count() == 2


def test_two_sentences_stand_side_by_side_and_answer_apart(open_explorer):
    one, other = planted_maps(), planted_maps(("The", "cat"), ("Die", "Katze", "da", "schläft", "fest"))
    page = open_explorer(explore(one, "encoder_decoder", 1, 2), beside=other)
    left, right = page.locator("section").all()
    assert left.bounding_box()["y"] == right.bounding_box()["y"] and left.bounding_box()["x"] < right.bounding_box()["x"]
    token(left, "query", 2).click()
    token(right, "key", 1).click()
    assert lit(left) == expected_lines(one, "encoder_decoder", 1, 2, query=2)
    assert lit(right) == expected_lines(other, "encoder_decoder", 1, 2, key=1)
    thumbnail(right, 2, 3).click()
    assert lit(left) == expected_lines(one, "encoder_decoder", 2, 3, query=2)
    assert lit(right) == expected_lines(other, "encoder_decoder", 2, 3, key=1)


def test_the_picture_of_the_notebook(open_explorer):
    "nbs/figures/explorer_page.png is what this leaves in screenshots/."
    translator = Translator.from_pretrained("everyday-en-de")
    before, after = (translator.attention(text) for text in ("He read the book.", "He has read the book."))
    page = open_explorer(explore(before, layer=4, head=4), beside=after, viewport={"width": 1200, "height": 880})
    for number, (maps, word) in enumerate(((before, "las"), (after, "gelesen"))):
        section = page.locator("section").nth(number)
        token(section, "query", maps.words().target.index(word)).click()
        page.mouse.move(0, 0)
        said = section.locator(".said").text_content()
        assert said.startswith(f"“{word}” looks at “read” 0.9") and said.endswith("Frozen.")
    save(page, "notebook")


def test_a_keyboard_is_enough(open_explorer):
    maps = planted_maps()
    page = open_explorer(explore(maps, layer=1, head=1))
    section = page.locator("section")

    def press(*keys):
        for key in keys:
            page.keyboard.press(key)

    press("Tab", "ArrowLeft", "ArrowLeft")  # the kinds, the box, Save, then the thumbnails
    assert page.get_by_role("radio", name="encoder self-attention").is_checked()
    press("Tab", "Tab", "Tab", "ArrowRight", "ArrowDown", "ArrowDown", "ArrowRight")
    assert page.locator(".chosen").first.text_content() == "layer 2, head 3"
    assert page.evaluate("document.activeElement.title") == "layer 2, head 3"
    press("ArrowRight", "Home")
    assert page.locator(".chosen").first.text_content() == "layer 1, head 1"
    press("Tab")  # the tokens
    assert lit(section) == expected_lines(maps, "encoder", 1, 1, query=0)
    press("ArrowDown", "ArrowDown", "ArrowRight")
    assert lit(section) == expected_lines(maps, "encoder", 1, 1, key=2)
    press("Enter", "ArrowUp")
    assert lit(section) == expected_lines(maps, "encoder", 1, 1, key=2)  # frozen, while the focus moves on
    pressed = section.locator(".lines [aria-pressed=true]")
    assert pressed.get_attribute("aria-label") == "key has" and pressed.count() == 1
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == "key dog"
    press("Escape", "ArrowLeft", "End")
    assert lit(section) == expected_lines(maps, "encoder", 1, 1, query=5)
    press("Space", "Shift+Tab", "ArrowRight")
    assert lit(section) == expected_lines(maps, "encoder", 1, 2, query=5)


@pytest.mark.parametrize("forced_colors", ["none", "active"])
def test_the_head_that_has_the_focus_is_seen_among_those_that_are_chosen(forced_colors, open_explorer):
    page = open_explorer(explore(planted_maps(), layer=1, head=1), forced_colors=forced_colors)
    chosen = page.locator(".heads [aria-pressed=true]")
    frame = "one => ['outlineStyle', 'outlineWidth', 'boxShadow'].map(name => getComputedStyle(one)[name]).join()"
    before = chosen.evaluate(frame)
    chosen.focus()
    page.keyboard.press("ArrowRight")
    assert chosen.evaluate(frame) != before, "not by its colour alone"


def test_who_hears_the_page_is_told_once_what_a_token_looks_at(open_explorer):
    page = open_explorer(explore(planted_maps(), layer=1, head=1))
    said = page.locator(".said")
    assert "the arrow keys" in said.text_content() and "Enter freezes" in said.text_content(), "or nobody finds them"
    said.evaluate("""place => {
        window.heard = [];
        new MutationObserver(() => heard.push(place.textContent)).observe(
            place, {childList: true, characterData: true, subtree: true});
    }""")
    page.locator(".heads [tabindex='0']").focus()
    for key in ("ArrowRight", "ArrowDown"):
        page.keyboard.press(key)
    assert page.evaluate("heard") == [], "the name of the head is said, by the button"
    page.locator(".lines [tabindex='0']").focus()
    for key in ("ArrowDown", "Enter", "ArrowDown", "ArrowRight"):  # frozen, while the focus moves on
        page.keyboard.press(key)
    heard = page.evaluate("heard")
    assert len(heard) == 3 and heard[1] + " Frozen." == heard[2] == said.text_content()


def test_the_keyboard_scrolls_the_table_of_weights_where_it_is_wider_than_the_page(open_explorer):
    page = open_explorer(explore(planted_maps()), viewport={"width": 320, "height": 700})
    page.locator("summary").click()
    table = page.get_by_role("region", name="All weights as a table")
    assert table.evaluate("one => one.scrollWidth > one.clientWidth && one.tabIndex === 0")  # Safari has no stop there of its own
    page.keyboard.press("Tab")
    assert table.evaluate("one => one === document.activeElement")
    scrolled = "one => new Promise(done => one.addEventListener('scroll', () => done(one.scrollLeft > 0)))"
    page.evaluate(f"window.scrolled = ({scrolled})(document.activeElement); 0")
    page.keyboard.press("ArrowRight")
    assert page.evaluate("scrolled")


def test_each_token_is_in_its_language(open_explorer):
    page = open_explorer(explore(replace(planted_maps(), languages=("en", "de")), layer=1, head=1))
    page.locator("summary").click()
    found = "all => all.map(one => [one.textContent, one.closest('[lang]').getAttribute('lang')])"

    def spoken(places: str) -> list[str]:
        return [lang for _, lang in page.locator(places).evaluate_all(found)]

    assert page.locator("h2 bdi").evaluate_all(found) == [["A dog has a ball", "en"], ["Ein Hund bellt", "de"]]
    for kind, languages in (("encoder-decoder attention", ("de", "en")), ("encoder self-attention", ("en", "en")),
                            ("decoder self-attention", ("de", "de"))):
        page.get_by_role("radio", name=kind, exact=True).check()
        for places in (".lines .label[data-{}]", "th[scope={}]"):
            for side, scope, language in zip(("query", "key"), ("row", "col"), languages):
                assert set(spoken(places.format(scope if "th" in places else side))) == {language}, (kind, side)
    assert set(spoken(".said, caption, .chosen, thead td")) == {"en"}
    without = open_explorer(explore(planted_maps(), layer=1, head=1))
    assert without.locator("[lang]").count() == 1, "what nobody told is not guessed"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_works_on_a_phone(scheme, open_explorer):
    maps, other = planted_maps(), planted_maps(("The", "cat"))
    page = open_explorer(explore(maps, layer=1, head=1), beside=other, color_scheme=scheme, **PHONE)
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    first, second = page.locator("section").all()
    thumbnail(first, 2, 1).tap()
    token(first, "query", 2).tap()
    assert lit(first) == expected_lines(maps, "encoder_decoder", 2, 1, query=2)
    assert first.locator(".said").text_content().endswith("Frozen.")
    assert lit(second) == expected_lines(other, "encoder_decoder", 2, 1)
    tops = sorted(one.bounding_box()["y"] for one in first.locator(".lines .label[data-key]").all())
    assert min(below - above for above, below in itertools.pairwise(tops)) >= 24, "a finger needs 24 pixels"
    save(page, f"phone-{scheme}")
    token(first, "query", 2).tap()
    assert lit(first) == expected_lines(maps, "encoder_decoder", 2, 1)


def save(page, name: str) -> None:
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=SCREENSHOTS / f"{name}.png", full_page=True)


def luminance(colour) -> float:
    "As contrast is measured on the web."
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in (one / 255 for one in colour)]
    return float(np.dot([0.2126, 0.7152, 0.0722], linear))


def contrast(one, other) -> float:
    dark, light = sorted(map(luminance, (one, other)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colours_can_be_told_apart_by_everyone(scheme, open_explorer):
    page = open_explorer(explore(planted_maps(), layer=1, head=1), color_scheme=scheme)
    section = page.locator("section")
    token(section, "query", 1).click()
    page.mouse.move(0, 0)
    pointed, shaded, plain = (token(section, *which).locator(".box") for which in (("query", 1), ("key", 2), ("key", 5)))

    def pixels(box, x: float, wide: int) -> np.ndarray:  # (wide, 3)
        "A row of pixels through the middle of a box, from this part of its width on."
        at = box.bounding_box()
        clip = {"x": at["x"] + x * at["width"] - wide // 2, "y": at["y"] + at["height"] / 2, "width": wide, "height": 1}
        return np.array(Image.open(io.BytesIO(page.screenshot(clip=clip))).convert("RGB"), float)[0]

    def colour(box, x: float) -> np.ndarray:
        return pixels(box, x, 1)[0]

    found = page.evaluate("""() => [".said", ".pointed text", ".heading", ".lines .number"].map(name => {
        const style = getComputedStyle(document.querySelector(name)), text = name === ".said" ? style.color : style.fill;
        return text.match(/\\d+/g).slice(0, 3).map(Number); })""")
    ink, on_pointed, heading, number = found
    ground, amber, blue = colour(plain, 0.9), colour(pointed, 0.1), colour(shaded, 0.9)
    for text, behind in ((ink, ground), (on_pointed, amber), (heading, ground), (number, ground), (ink, blue)):
        assert contrast(text, behind) >= 4.5, (text, behind)
    cell = section.locator(".cells .cell:not(.far)").first
    assert contrast(colour(cell, 0.5), ground) >= 3
    session = page.context.new_cdp_session(page)
    for kind in ("none", "protanopia", "deuteranopia", "tritanopia", "achromatopsia"):
        session.send("Emulation.setEmulatedVisionDeficiency", {"type": kind})
        blue, ground = colour(shaded, 0.9), colour(plain, 0.9)
        frame = pixels(pointed, 0, 7)  # without any colour it remains
        mark = frame if kind == "achromatopsia" else colour(pointed, 0.1)[None]
        apart = [min(np.linalg.norm(one - blue), np.linalg.norm(one - ground)) for one in mark]
        assert max(apart) > 40 and np.linalg.norm(blue - ground) > 40, (kind, mark, blue, ground)
        save(page, f"{scheme}-{kind}")


def downloaded(page) -> str:
    with page.expect_download() as download:
        page.get_by_role("button", name="Save as SVG").click()
    assert download.value.suggested_filename == "heads.svg"
    return Path(download.value.path()).read_text(encoding="utf-8")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_what_is_seen_is_saved_as_svg(scheme, open_explorer, page):
    maps, other = planted_maps(), planted_maps(("The", "cat"))
    explorer = open_explorer(explore(maps, layer=2, head=1), beside=other, color_scheme=scheme)
    token(explorer.locator("section").first, "query", 1).click()
    text = downloaded(explorer)
    drawn = ElementTree.fromstring(text)
    assert not any(name.startswith(("class", "data", "on", "href")) for one in drawn.iter() for name in one.attrib)
    assert drawn.get("role") == "img" and drawn[0].tag == f"{SVG}title"
    named = "A dog has a ball → Ein Hund bellt; The cat → Ein Hund bellt"
    assert drawn[0].text == f"{named}: encoder-decoder attention, layer 2, head 1"
    texts = ["".join(one.itertext()) for one in drawn.iter(f"{SVG}text")]
    for line in ("A dog has a ball → Ein Hund bellt", "The cat → Ein Hund bellt", "encoder-decoder attention, layer 2, head 1"):
        assert line in texts
    assert texts.count("0.90") == texts.count("0.10") == 1 and texts.count("cat") == 2
    lines = [float(one.attrib["stroke-opacity"]) for one in drawn.iter(f"{SVG}line")]
    assert sorted(lines[:2]) == [0.1, 0.9] and len(lines) == 2 + len(expected_lines(other, "encoder_decoder", 2, 1))
    coloured = [one for one in drawn.iter() if one.tag.endswith(("rect", "text"))]
    (_, ground), *rest = [(one, [int(part) for part in re.findall(r"\d+", one.get("fill"))[:3]]) for one in coloured]
    plain = [fill for one, fill in rest if one.tag.endswith("text") and one.get("font-weight") != "700"]
    assert all(contrast(fill, ground) >= 4.5 for fill in plain)
    page.set_content(text)  # as any program that reads SVG: without the page's style
    seen = np.array(Image.open(io.BytesIO(page.locator("svg").first.screenshot())).convert("RGB"), float)
    assert (seen[2, 2].mean() < 60) == (scheme == "dark") and seen.std() > 10
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    (SCREENSHOTS / f"saved-{scheme}.svg").write_text(text, encoding="utf-8")
    page.screenshot(path=SCREENSHOTS / f"saved-{scheme}.png", full_page=True)


HOSTILE = ["</script><script>bad = 1</script>", "<img src=//elsewhere.invalid onerror=bad=1>", "-->", "🐶👩\u200d👧",
           "\u202eabc", "\x00\x07", "\ud800", "犬が走る", "שלום", "&amp;$maps", "x" * 2000]


def test_hostile_text_stays_text(open_explorer):
    maps = planted_maps(HOSTILE, HOSTILE[:4])
    page = open_explorer(explore(maps, layer=1, head=1))
    section = page.locator("section")
    assert page.evaluate("typeof bad") == "undefined" and page.locator("img").count() == 0
    names = [one.split(" ", 1)[1] for one in section.locator(".lines .label[data-key]").evaluate_all(
        "all => all.map(one => one.getAttribute('aria-label'))")]
    assert names == [*HOSTILE[:4], "\ufffdabc", r"\x00\x07", r"\ud800", *HOSTILE[7:], "<eos>"]
    for index in range(len(names)):
        token(section, "key", index).click()
    assert page.evaluate("document.documentElement.scrollWidth") <= 1400
    drawn = ElementTree.fromstring(downloaded(page))
    assert {one.tag.removeprefix(SVG) for one in drawn.iter()} <= {"svg", "g", "rect", "text", "line", "title"}
    save(page, "hostile")
    assert page.evaluate("typeof bad") == "undefined"


def test_a_long_sentence_keeps_to_its_place(open_explorer):
    words = [f"word{i}" for i in range(59)]
    page = open_explorer(explore(planted_maps(words, words), layer=1, head=1), viewport={"width": 800, "height": 900})
    assert page.evaluate("document.documentElement.scrollWidth") <= 800
    token(page.locator("section"), "query", 58).click()
    assert page.locator(".said").text_content() == "“word58” looks at “word56” 0.90, “word57” 0.10. Frozen."
    page.locator("summary").click()
    page.locator("table").wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= 800
    save(page, "long")


@pytest.mark.parametrize("device", [{"viewport": {"width": 1280, "height": 900}}, PHONE], ids=["wide", "phone"])
def test_no_label_leaves_its_picture(open_explorer, device):
    words = ["Straßenbahnhaltestelle", "MWMWMWMWMWMW", "hundegebung", "it"]
    page = open_explorer(explore(planted_maps(words, words), layer=1, head=1), **device)
    token(page.locator("section"), "query", 1).click()  # what is pointed at is bold, and so wider
    outside = page.evaluate("""() => [...document.querySelectorAll(".lines .label text, .cells .label text")].filter(text => {
        const [one, all] = [text, text.ownerSVGElement].map(each => each.getBoundingClientRect());
        return one.left < all.left || one.top < all.top || one.right > all.right || one.bottom > all.bottom;
    }).map(text => text.textContent)""")
    assert outside == []
    long, short = (token(page.locator("section"), "query", i, "cells").locator("text").text_content() for i in (0, 3))
    assert short == "it" and long.endswith("…") and words[0].startswith(long[:-1])


def test_a_browser_that_cannot_draw_says_why_and_one_that_can_does_not(browser, tmp_path):
    path, said = tmp_path / "heads.html", "If this does not change, the browser runs no JavaScript or is older than 2022."
    explore(planted_maps()).save(path)
    for able, context in ((True, {}), (False, {"java_script_enabled": False}), (False, {})):
        page = browser.new_context(**context).new_page()
        if not able:
            page.add_init_script("delete Array.prototype.at")  # as Safari 15.3 has none
        page.goto(path.as_uri())
        assert page.get_by_text(said).is_visible() != able
        page.context.close()
