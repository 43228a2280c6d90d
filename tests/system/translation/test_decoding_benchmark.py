"The benchmark of decoding, tried on tiny sizes: what is compared, counted and recorded."
import dataclasses
import importlib.util
import json
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from matplotlib.colors import to_hex

from annotated_transformer import InputError
from annotated_transformer.config import TransformerConfig
from annotated_transformer.model.transformer import Transformer, count_parameters
from benchmarks import decoding, decoding_profile, kernels
from benchmarks.decoding import Work, compare, decoding_flops, weight_bytes
from benchmarks.shared import decoding_elsewhere
from benchmarks.shared.decoding_chart import LOOKS, chart
from benchmarks.shared.side_by_side import server

missing = [package for package in decoding.PACKAGES if importlib.util.find_spec(package) is None]
needs_others = pytest.mark.skipif(bool(missing), reason=f"not installed: {', '.join(missing)}")


@needs_others
def test_all_write_the_same_and_the_record_says_what_was_done(tmp_path, capsys, monkeypatch):
    works = {
        "beams": Work(3, 2, longest=6, lengths=(4, 4)),
        "one": Work(1, 1, longest=6, lengths=(4, 4)),
        "ends": Work(4, 1, longest=60, lengths=(2, 6), ends=True),
    }
    monkeypatch.setattr(decoding, "WORKS", works)
    monkeypatch.setattr(decoding, "SIDE", 256)
    monkeypatch.setattr(decoding, "cpu_seconds", lambda root, words: len(words) + 0.001)
    monkeypatch.setattr(decoding, "GROWTH", {"beams": {1: works["one"], 2: works["beams"]}, "length": {6: works["beams"]}})
    monkeypatch.setattr(decoding_elsewhere, "get_context", lambda _: server("benchmarks.shared.decoding_elsewhere"))
    out = tmp_path / "results" / "decoding.json"
    decoding.main(["--size", "small", "--rounds", "2", "--out", str(out)])
    record = json.loads(out.read_text())
    assert record["figures"] == json.loads(capsys.readouterr().out)
    assert record["command"].startswith("python -m benchmarks.decoding --size small") and record["seed"] == 0
    assert set(record["config"]["packages"]) == {"transformers", "ctranslate2", "onnx", "onnxruntime"}
    assert record["hardware"]["threads"] == torch.get_num_threads()

    figures = record["figures"]
    assert list(figures["works"]) == ["beams", "one", "ends"]
    assert figures["start"] == {"import torch": 2, "import Translator": 2, "load the weights": 2, "translate, one sentence": 3,
                                "translate --precision float32": 5, "translate --precision int8": 5}
    assert figures["growth"]["beams"] == {"1": figures["works"]["one"], "2": figures["works"]["beams"]}, "each is done once"
    for name, found in figures["works"].items():
        work = works[name]
        assert found["outputs"]["sentences"] == work.batch
        others = ["hugging_face", "ctranslate2", "ctranslate2_onednn", "onnx_runtime"]
        equal = found["outputs"]["equal_to_ours"]
        assert {who: equal[who] for who in others} == dict.fromkeys(others, work.batch)
        assert set(equal) == {*others, *decoding.ROUNDED}
        assert set(found["by"]) == {"ours", *others, *decoding.ROUNDED}
        assert found["rounds"] == 2 and found["work"]["batch"] == work.batch
        if work.ends:
            assert work.batch <= found["tokens_written"] <= work.batch * work.longest
        else:
            assert found["tokens_written"] == work.batch * work.longest
            lengths = np.full(work.batch, work.lengths[0]), np.full(work.batch, work.longest)
            assert found["model_flops"] == decoding_flops(decoding.SIZES["small"], *lengths, work.beams)
        rate = found["machine"]["matrix_products_flops_per_second"]
        for part in found["by"].values():
            assert len(part["seconds"]) == 2
            assert part["output_tokens_per_second"] == pytest.approx(found["tokens_written"] / part["median_seconds"], abs=0.06)
            assert part["model_flops_per_second"] * part["median_seconds"] == pytest.approx(found["model_flops"])
            assert 0 <= part["share_of_matrix_products"] < 1 and rate > 0
            assert ("share_of_reading" in part) == (name == "one")

    figure = chart(record)
    assert [axes.get_xlabel() for axes in figure.axes] == ["", "", "", "beams", "tokens of each output"]
    for axes, work in zip(figure.axes[:3], figures["works"].values(), strict=True):
        assert [bar.get_width() for bar in axes.patches] == [work["by"][name].get("times_ours", 1) for name in LOOKS]
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == [name for name, _ in LOOKS.values()]
    for axes in figure.axes[3:]:  # each name is led to the end of its line
        ends = {line.get_color(): tuple(line.get_xydata()[-1]) for line in axes.lines}
        assert {to_hex(text.arrow_patch.get_edgecolor()): text.xy for text in axes.texts} == ends and len(ends) == len(LOOKS)
    record["figures"]["growth"] = {"beams": {}, "length": figures["growth"]["length"]}  # as far as it has come
    assert [axes.get_xlabel() for axes in chart(record).axes] == ["", "", "", "tokens of each output"]
    del record["figures"]["growth"]
    assert len(chart(record).axes) == 3


def test_the_arithmetic_is_counted_step_by_step():
    c, S, T, K = TransformerConfig(31, n_layers=2, d_model=10, d_ff=14, n_heads=3, d_k=4, d_v=5), 7, 4, 2
    q, v = c.n_heads * c.d_k, c.n_heads * c.d_v

    def feed_forward_and_self_attention(seen):  # one position that looks at so many
        return 2 * c.d_model * (2 * q + 2 * v) + 2 * seen * (q + v) + 4 * c.d_model * c.d_ff

    source = c.n_layers * S * (feed_forward_and_self_attention(S) + 2 * c.d_model * (q + v))  # and the memory's keys and values
    over_the_memory = 2 * c.d_model * (q + v) + 2 * S * (q + v)
    steps = sum(
        c.n_layers * (feed_forward_and_self_attention(t) + over_the_memory) + 2 * c.d_model * (c.vocab_size - 1)
        for t in range(1, T + 1)
    )
    assert decoding_flops(c, np.array([S]), np.array([T]), K) == source + K * steps
    assert decoding_flops(c, np.array([S, S]), np.array([T, T]), K) == 2 * (source + K * steps)


def test_every_weight_is_read_once_or_at_each_step():
    model = Transformer(TransformerConfig(31, n_layers=2, d_model=10, d_ff=14, n_heads=3, d_k=4, d_v=5))
    once, each_step = weight_bytes(model)
    assert once + each_step == 4 * count_parameters(model)
    keys_and_values = [layer.memory_attention.sublayer.in_projection[3 * 4 :] for layer in model.decoder.layers]
    assert once == 4 * (count_parameters(model.encoder) + sum(matrix.numel() for matrix in keys_and_values))


def test_outputs_that_differ_are_an_error_unless_it_is_rounding():
    outputs = {"ours": [[3], [4, 5]], "one": [[3], [4, 6]], "other": [[9], [4, 7]], "ours_int8": [[3], [4, 5]]}
    asked = []

    def exactly(i):
        asked.append(i)
        return [4, 7]

    found = compare(outputs, exactly)
    assert found == {"sentences": 2, "equal_to_ours": {"one": 1, "other": 0, "ours_int8": 2}, "differ_by_our_rounding": 1}
    assert asked == [1], "the first sentence is like that of one of the others"
    with pytest.raises(InputError, match="not the same search: sentence 1"):
        compare(outputs, lambda i: [4, 5])


def test_the_random_model_talks_and_ends_its_sentences_only_when_it_should():
    config = decoding.SIZES["small"]
    going, ending = Work(5, 2, longest=20, lengths=(6, 6)), Work(5, 1, longest=40, lengths=(3, 8), ends=True)
    for work in (going, ending):
        model = decoding.random_model(config, work.ends)
        sentences = decoding.sources(model, work)
        found = decoding.our_search(model, sentences, work)()
        assert len(sentences) == len(found) == 5
        if work.ends:
            assert max(map(len, found)) < 40 and len(set(map(len, found))) > 2
        else:
            assert {len(tokens) for tokens in found} == {20} and max(len(set(tokens)) for tokens in found) > 4
        alone = [decoding.in_float64(model, sentences, work, i) for i in range(5)]
        assert alone == found


def test_mistakes_end_it_before_anything_is_measured(tmp_path, refused, monkeypatch):
    monkeypatch.setattr(decoding, "measure_all", lambda *_: pytest.fail("something was measured"))
    out = ["--out", str(tmp_path / "decoding.json")]
    assert "--rounds: must be at least 1, not 0" in refused(decoding.main, [*out, "--rounds", "0"])
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    said = refused(decoding.main, out)
    assert 'pip install "annotated_transformer[exchange]"' in said and said.count("\n") == 1
    assert not (tmp_path / "decoding.json").exists()


def test_a_stopped_benchmark_goes_on_where_it_was(tmp_path, refused, monkeypatch):
    works, asked = {"one": Work(1, 1), "two": Work(2, 1)}, []
    monkeypatch.setattr(decoding, "WORKS", works)
    monkeypatch.setattr(decoding, "require_packages", lambda *_: None)
    monkeypatch.setattr(decoding, "versions", lambda _: {})
    monkeypatch.setattr(decoding, "translating_processes", lambda _: nullcontext())
    monkeypatch.setattr(decoding, "random_model", lambda *_: None)
    monkeypatch.setattr(decoding, "PACKED", {})
    monkeypatch.setattr(decoding, "to_marian", lambda _: (None, None))

    def measure(model, packed, marian, pools, work, rounds, clock):
        if asked.append((work, clock)) or len(asked) == 2:
            raise decoding.InputError("stopped")
        seconds = float(len(asked))
        return {"work": dataclasses.asdict(work), "by": {"ours": {"median_seconds": seconds, "seconds": [seconds]}}}

    monkeypatch.setattr(decoding, "measure", measure)
    out = tmp_path / "decoding.json"
    options = ["--works", "one", "two", "--clock", "processor", "--resume", "--out", str(out)]
    with pytest.raises(SystemExit):
        decoding.main(options)
    assert list(json.loads(out.read_text())["figures"]["works"]) == ["one"]
    decoding.main(options)
    assert asked == [(works[name], "processor") for name in ("one", "two", "two")]
    assert [found["by"]["ours"]["median_seconds"] for found in json.loads(out.read_text())["figures"]["works"].values()] == [1, 3]
    assert "was made with other settings" in refused(decoding.main, [*options, "--rounds", "7"])


def test_the_processors_clock_counts_what_others_do_for_us():
    with ThreadPoolExecutor(1) as pool:
        before = decoding.CLOCKS["processor"]()
        assert decoding.Elsewhere(pool).ask(lambda words: (words[::-1], 1000.0), ["a", "b"]) == ["b", "a"]
        assert 1000 <= decoding.CLOCKS["processor"]() - before < 2000


def test_a_profile_tells_the_parts_of_a_search_apart(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(decoding_profile, "PROFILED", ("beam 4, batch 16", "greedy, batch 1"))
    monkeypatch.setitem(decoding_profile.WORKS, "beam 4, batch 16", Work(3, 4, longest=4, lengths=(4, 4)))
    monkeypatch.setitem(decoding_profile.WORKS, "greedy, batch 1", Work(1, 1, longest=4, lengths=(4, 4)))
    monkeypatch.setattr(decoding_profile, "ROWS", (2,))
    monkeypatch.setattr(decoding_profile, "PRODUCTS", ((64, 96),))
    out, threads = tmp_path / "profile.json", torch.get_num_threads()
    decoding_profile.main(["--size", "small", "--rounds", "1", "--budget", "0.001", "--out", str(out)])
    figures = json.loads(out.read_text())["figures"]
    assert torch.get_num_threads() == threads and "greedy" in capsys.readouterr().out
    for found in figures["works"].values():
        for part in found.values():
            assert set(part["shares"]) == set(decoding_profile.KINDS) and min(part["shares"].values()) > 0
            assert sum(part["shares"].values()) == pytest.approx(1, abs=1e-3) and part["seconds"] > 0
    assert set(figures["microseconds"]) == {"2 × 64 × 96"} and "float32" in figures["microseconds"]["2 × 64 × 96"]


def test_the_share_of_the_vocabulary_says_what_a_short_list_could_gain(tmp_path, capsys, monkeypatch):
    two = SimpleNamespace(split=lambda name: [("half past six", ""), ("eight euros and sixty-one cents", "")])
    monkeypatch.setattr(kernels.corpora, "load", lambda name: two)
    out = tmp_path / "vocabulary.json"
    decoding_profile.main(["--shipped", "numbers-en-de", "--rounds", "1", "--out", str(out)])
    figures = json.loads(out.read_text())["figures"]
    assert set(figures) == {"float32", "float16", "int8"} and "greedy" in capsys.readouterr().out
    for part in (part for found in figures.values() for part in found.values()):
        words = part["shares"][decoding_profile.VOCABULARY] + part["shares"][decoding_profile.CHOICE]
        assert part["at_most"] == pytest.approx(1 / (1 - words), abs=0.006) and 0 < words < 1
