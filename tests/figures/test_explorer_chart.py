"The chart holds the weights and labels of the maps, answers to the pointer, and its texts do not overlap."
import functools
import itertools
import re

import altair as alt
import pytest
import torch
import vl_convert
from jsonschema import ValidationError
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import TextPath

from annotated_transformer.figures.attention_maps import AttentionMaps
from annotated_transformer.figures.explorer_chart import COLOURS, VEGA_LITE, specification


def test_the_chart_is_what_altairs_schema_allows():
    maps = AttentionMaps(["a", "<eos>"], ["<start>"], ["<eos>"], *(torch.ones(2, 3, *size) for size in ((2, 2), (1, 1), (1, 2))))
    drawn = specification(maps, "encoder", 2, 3)
    del drawn["$schema"]  # it says version 5; Altair's schema is that of 6
    alt.LayerChart.from_dict(drawn)
    with pytest.raises(ValidationError, match="much"):
        alt.LayerChart.from_dict(drawn | {"layer": [{"mark": {"type": "rule", "opacity": "much"}}]})


def test_weights_and_labels_are_those_of_the_maps():
    torch.manual_seed(0)
    S, T, L, h = 5, 3, 2, 4
    scores = [torch.randn(L, h, *size).softmax(-1) for size in ((S, S), (T, T), (T, S))]
    maps = AttentionMaps(["a", "dog", "a", "·s", "<eos>"], ["<start>", "ein", "ein"], ["ein", "ein", "<eos>"], *scores)
    drawn = specification(maps, "encoder_decoder", 1, 1)
    records = {(one["kind"], one["layer"], one["head"]): one["rows"] for one in drawn["datasets"]["heads"]}
    assert len(records) == len(drawn["datasets"]["heads"]) == 3 * L * h
    for kind, weights in (("encoder", maps.encoder), ("decoder", maps.decoder), ("encoder_decoder", maps.encoder_decoder)):
        for layer, head in itertools.product(range(L), range(h)):
            found = torch.tensor(records[kind, layer + 1, head + 1]) / 1000
            torch.testing.assert_close(found, weights[layer, head], atol=0.000501, rtol=0)
    expected = {
        "encoder": (maps.source, maps.source), "decoder": (maps.target_input, maps.target_input),
        "encoder_decoder": (maps.target, maps.source),
    }
    for kind, (queries, keys) in expected.items():
        for place, axis in (("query", "query"), ("row", "query"), ("key", "key"), ("column", "key")):
            labels = queries if axis == "query" else keys
            found = [one for one in drawn["datasets"]["labels"] if (one["kind"], one["place"]) == (kind, place)]
            assert [one["label"] for one in found] == labels  # repeated words keep their places
            assert [one[axis] for one in found] == list(range(len(labels)))
            places = [one["x" if place == "column" else "y"] for one in found]
            assert places == sorted(set(places))


def test_lines_and_cells_join_the_labels_of_the_strong_weights():
    def planted(queries: int, keys: int, head: int) -> torch.Tensor:  # (queries, keys)
        "Query i looks at key 2i + head, counted round and round, with the weight 0.8."
        weights = torch.full((queries, keys), 0.2 / (keys - 1))
        weights[torch.arange(queries), (2 * torch.arange(queries) + head) % keys] = 0.8
        return weights

    S, T, h = 6, 4, 3
    sizes = {"encoder": (S, S), "decoder": (T, T), "encoder_decoder": (T, S)}
    weights = [torch.stack([planted(*size, head) for head in range(h)])[None] for size in sizes.values()]
    maps = AttentionMaps([*"abcde", "<eos>"], ["<start>", *"xyz"], [*"xyz", "<eos>"], *weights)
    for (kind, (n_queries, n_keys)), head in itertools.product(sizes.items(), range(h)):
        drawn = specification(maps, kind, 1, head + 1)
        scene = vl_convert.vegalite_to_scenegraph(drawn, vl_version=VEGA_LITE)["scenegraph"]["items"][0]["items"]
        marks = {"symbol": [], "rule": [], "text": []}
        for mark in scene:
            marks.get(mark["marktype"], []).extend(mark["items"])
        level, above = {}, {}  # labels by the point where they begin or end, or by x where they stand upright
        for text in marks["text"]:
            if text.get("angle") == 270:
                above[text["x"] + text["dy"]] = text["text"]
            elif "dy" in text:
                level[text["x"], text["y"] + text["dy"]] = text["text"]
        strong = [rule for rule in marks["rule"] if rule["strokeOpacity"] == 0.8]
        joined = {(level[rule["x"], rule["y"]], level[rule["x2"], rule["y2"]]) for rule in strong}
        left = max(x for x, _ in level)  # where the labels of the heat map's rows end
        darkest = min((cell["fill"] for cell in marks["symbol"]), key=lambda fill: sum(map(int, re.findall(r"\d+", fill))))
        dark = {(level[left, cell["y"]], above[cell["x"]]) for cell in marks["symbol"] if cell["fill"] == darkest}
        _, queries, keys = maps.of(kind)
        assert joined == dark == {(queries[i], keys[(2 * i + head) % n_keys]) for i in range(n_queries)}, (kind, head)
        assert len(marks["symbol"]) == n_queries * n_keys


def test_a_pointed_token_shows_its_own_weights_in_numbers():
    torch.manual_seed(0)
    S, T, h = 7, 4, 2
    scores = [torch.randn(1, h, *size).softmax(-1) for size in ((S, S), (T, T), (T, S))]
    maps = AttentionMaps([*"abcdef", "<eos>"], ["<start>", *"xyz"], [*"xyz", "<eos>"], *scores)
    for name, number, expected in (("query", 2, maps.encoder_decoder[0, 1, 2]), ("key", 5, maps.encoder_decoder[0, 1, :, 5])):
        drawn = specification(maps, "encoder_decoder", 1, 2)
        next(choice for choice in drawn["params"] if choice["name"] == name)["expr"] = str(number)
        scene = vl_convert.vegalite_to_scenegraph(drawn, vl_version=VEGA_LITE)["scenegraph"]["items"][0]["items"]
        texts = [item for mark in scene if mark["marktype"] == "text" for item in mark["items"]]
        beside = {item["y"]: float(item["text"]) for item in texts if re.fullmatch(r"\d\.\d\d", item["text"])}
        torch.testing.assert_close(torch.tensor([beside[y] for y in sorted(beside)]), expected, atol=0.0056, rtol=0)
        lines = [item for mark in scene if mark["marktype"] == "rule" for item in mark["items"] if "y2" in item]
        assert len({line["y" if name == "query" else "y2"] for line in lines}) == 1 < len(lines)  # rules without y2: the shades
        full = [item for mark in scene if mark["marktype"] == "symbol" for item in mark["items"] if item["fillOpacity"] == 1]
        assert len(full) == len(expected) and len({cell["y" if name == "query" else "x"] for cell in full}) == 1


def test_all_heads_of_a_layer_lie_over_one_another_each_in_its_colour():
    torch.manual_seed(0)
    S, T, L, h = 5, 3, 2, 4
    scores = [torch.randn(L, h, *size).softmax(-1) for size in ((S, S), (T, T), (T, S))]
    maps = AttentionMaps([*"abcd", "<eos>"], ["<start>", *"xy"], [*"xy", "<eos>"], *scores)
    drawn = specification(maps, "encoder_decoder", 2, 3)
    next(choice for choice in drawn["params"] if choice["name"] == "together")["value"] = True
    scene = vl_convert.vegalite_to_scenegraph(drawn, vl_version=VEGA_LITE)["scenegraph"]["items"][0]["items"]
    found = {name: [item for mark in scene if mark["marktype"] == name for item in mark["items"]] for name in ("rule", "rect", "text")}
    rects = [item for item in found["rect"] if item["fill"] in COLOURS]
    for head, colour in enumerate(COLOURS[:h]):
        weights = maps.encoder_decoder[1, head].flatten()
        expected = (1000 * weights).round()[(1000 * weights).round() >= 5] / 1000
        for marks, paint, opacity in ((found["rule"], "stroke", "strokeOpacity"), (rects, "fill", "fillOpacity")):
            seen = torch.tensor([one[opacity] for one in marks if one[paint] == colour])
            torch.testing.assert_close(seen, expected, msg=f"{paint}, head {head + 1}")
    assert len(rects) == len(found["rule"]) == len({(one["x"], one["y"]) for one in rects}), "no strip hides another"
    assert len({(one["y"], one["y2"]) for one in found["rule"]}) == len(rects), "no line hides another"
    texts = [(one["text"], one.get("fill")) for one in found["text"]]
    assert [one for one in texts if one[0].startswith("layer 2")] == [(f"layer 2, head {i + 1}", COLOURS[i]) for i in range(h)]
    assert "layer 2 of 2<" in vl_convert.vegalite_to_svg(drawn, vl_version=VEGA_LITE)


def test_no_text_overlaps_another():
    @functools.cache
    def width_of(text: str) -> float:
        return TextPath((0, 0), text, size=1, prop=FontProperties(family="DejaVu Sans")).get_extents().x1

    def box(item) -> tuple[float, float, float, float]:
        "Left, top, right and bottom of a text, in pixels."
        width = item["fontSize"] * width_of(item["text"])
        assert width <= item.get("limit", width), f"{item['text']!r} is cut off"
        start, dy = item.get("dx", 0) - (width if item["align"] == "right" else 0), item.get("dy", 0)
        up = {"middle": 0.5, "bottom": 1}[item["baseline"]] * item["fontSize"]
        if item.get("angle") == 270:
            return item["x"] + dy - up, item["y"] - start - width, item["x"] + dy - up + item["fontSize"], item["y"] - start
        return item["x"] + start, item["y"] + dy - up, item["x"] + start + width, item["y"] + dy - up + item["fontSize"]

    torch.manual_seed(0)
    words = "a dog runs with the · ball ·s through Straßenbahnhaltestelle and MWMW".split()
    for tokens in (5, 20, 60):
        S, T = tokens, tokens - 2
        scores = [torch.randn(1, 1, *size).softmax(-1) for size in ((S, S), (T, T), (T, S))]
        source, target = ([*(6 * words)[first : first + n - 1], "<eos>"] for n, first in ((S, 0), (T, 3)))
        maps = AttentionMaps(source, ["<start>", *target[:-1]], target, *scores)
        for kind, pointed in zip(["encoder", "decoder"] + 3 * ["encoder_decoder"], [{}, {}, {}, {"query": "2"}, {"key": "1"}]):
            drawn = specification(maps, kind, 1, 1)
            for choice in drawn["params"]:
                choice.update({"expr": pointed[choice["name"]]} if choice["name"] in pointed else {})
            scene = vl_convert.vegalite_to_scenegraph(drawn, vl_version=VEGA_LITE)["scenegraph"]["items"][0]["items"]
            texts = [(item["text"], box(item)) for mark in scene if mark["marktype"] == "text" for item in mark["items"]]
            _, queries, keys = maps.of(kind)
            assert len(texts) >= 2 * len(queries + keys) + 4
            for (one, (left, top, right, bottom)), (other, (x, y, x2, y2)) in itertools.combinations(texts, 2):
                apart = right <= x or x2 <= left or bottom <= y or y2 <= top
                assert apart, f"{one!r} and {other!r} overlap: {tokens} tokens, {kind}, {pointed}"
            for text, (left, top, right, bottom) in texts:
                assert 0 <= left and 0 <= top and right <= drawn["width"] and bottom <= drawn["height"], text


def test_the_chart_says_of_each_kind_how_many_layers_and_heads_it_has():
    S, T = 4, 3
    weights = [torch.full((*size, Q, K), 1 / K) for size, Q, K in (((2, 3), S, S), ((5, 1), T, T), ((5, 1), T, S))]
    maps = AttentionMaps.from_tensors(list("abcd"), list("xyz"), *weights)
    params = specification(maps, "encoder", 1, 1)["params"]
    choices = {one["name"]: one["bind"]["options"] for one in params if "options" in one.get("bind", {})}
    assert choices == {"kind": [*maps.kinds], "layer": [1, 2, 3, 4, 5], "head": [1, 2, 3]}
    for kind, layer, head, title in (("encoder", 2, 3, "encoder self-attention, layer 2 of 2, head 3 of 3"),
                                     ("decoder", 4, 1, "decoder self-attention, layer 4 of 5, head 1 of 1")):
        drawn = vl_convert.vegalite_to_svg(specification(maps, kind, layer, head), vl_version=VEGA_LITE)
        assert f">{title}<" in drawn
    alone = AttentionMaps.from_tensors(target_input=list("xyz"), decoder=weights[1])
    drawn = specification(alone, "decoder", 1, 1)
    assert drawn["description"] == "Attention weights of x y z" and {one["kind"] for one in drawn["datasets"]["heads"]} == {"decoder"}
    assert {one["label"] for one in drawn["datasets"]["labels"]} == {"x", "y", "z"}
