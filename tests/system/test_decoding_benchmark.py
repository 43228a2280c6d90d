"The benchmark of decoding, tried on tiny sizes: our weights in other programs, what is compared, counted and recorded."
import importlib.util
import json

import numpy as np
import pytest
import torch

from annotated_transformer import EOS, PAD, InputError
from annotated_transformer.transformer import Transformer, TransformerConfig, count_parameters
from benchmarks import decoding
from benchmarks.decoding import Work, compare, decoding_flops, weight_bytes
from benchmarks.decoding_chart import chart
from benchmarks.peers import to_ctranslate2, to_marian, token_names

missing = [package for package in decoding.PACKAGES if importlib.util.find_spec(package) is None]
needs_others = pytest.mark.skipif(bool(missing), reason=f"not installed: {', '.join(missing)}")


def random_weights(positions: str) -> Transformer:
    "No weight is zero or one as it is at first: a norm or bias that is left behind shows."
    torch.manual_seed(1)
    model = Transformer(TransformerConfig(50, n_layers=3, d_model=12, d_ff=20, n_heads=3, max_length=15, positions=positions))
    for parameter in model.parameters():
        if parameter.dim() == 1:
            torch.nn.init.normal_(parameter)
    return model.eval()


SOURCE = torch.tensor([[3, 4, 5, 6, 7, EOS], [8, 9, EOS, PAD, PAD, PAD], [10, 11, 12, 2, EOS, PAD]])
TARGET = torch.tensor([[13, 14, 15, 16], [17, 18, 19, 20], [21, 2, 22, 23]])


@needs_others
@pytest.mark.parametrize("positions", ["sinusoidal", "learned"])
def test_marian_computes_our_logits(positions):
    model = random_weights(positions)
    target_input = torch.cat([torch.full((3, 1), PAD), TARGET], 1)
    with torch.inference_mode():
        ours = model(SOURCE, target_input)
        marian = to_marian(model)
        theirs = marian(input_ids=SOURCE, attention_mask=(SOURCE != PAD).long(), decoder_input_ids=target_input).logits
    torch.testing.assert_close(theirs[..., PAD + 1 :], ours[..., PAD + 1 :], atol=1e-5, rtol=1e-5)
    assert (theirs[..., PAD] == float("-inf")).all()
    assert len({marian.lm_head.weight.data_ptr(), marian.model.shared.weight.data_ptr()}) == 1, "one matrix, as in ours"


@needs_others
@pytest.mark.parametrize("positions", ["sinusoidal", "learned"])
def test_ctranslate2_gives_each_token_our_probability(positions, tmp_path):
    import ctranslate2

    model, names = random_weights(positions), token_names(TransformerConfig(50))
    to_ctranslate2(model, tmp_path / "new" / "model")
    translator = ctranslate2.Translator(str(tmp_path / "new" / "model"), compute_type="float32", intra_threads=1)
    texts = [[[names[token] for token in row if token != PAD] for row in rows.tolist()] for rows in (SOURCE, TARGET)]
    theirs = torch.tensor([found.log_probs for found in translator.score_batch(*texts)])  # of the target and its EOS
    with torch.no_grad():
        logits = model(SOURCE, torch.cat([torch.full((3, 1), PAD), TARGET], 1))
    logits[..., PAD] = float("-inf")
    expected = torch.cat([TARGET, torch.full((3, 1), EOS)], 1)
    ours = logits.log_softmax(-1).gather(-1, expected[..., None]).squeeze(-1)
    torch.testing.assert_close(theirs, ours, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("hand_over", [to_marian, lambda model: to_ctranslate2(model, "never written")])
@pytest.mark.parametrize("widths", [{"d_k": 3}, {"d_v": 5}])
@needs_others
def test_heads_that_do_not_add_up_are_refused(hand_over, widths):
    model = Transformer(TransformerConfig(9, n_layers=1, d_model=8, d_ff=16, n_heads=2, **widths))
    with pytest.raises(InputError, match=f"2 heads of {next(iter(widths))}=.*add up to d_model=8"):
        hand_over(model)


@needs_others
def test_all_write_the_same_and_the_record_says_what_was_done(tmp_path, capsys, monkeypatch):
    works = {
        "beams": Work(3, 2, longest=6, lengths=(4, 4)),
        "one": Work(1, 1, longest=6, lengths=(4, 4)),
        "ends": Work(4, 1, longest=60, lengths=(2, 6), ends=True),
    }
    monkeypatch.setattr(decoding, "WORKS", works)
    monkeypatch.setattr(decoding, "GROWTH", {"beams": {1: works["one"], 2: works["beams"]}, "length": {6: works["beams"]}})
    out = tmp_path / "results" / "decoding.json"
    decoding.main(["--size", "small", "--rounds", "2", "--out", str(out)])
    record = json.loads(out.read_text())
    assert record["figures"] == json.loads(capsys.readouterr().out)
    assert record["command"].startswith("python -m benchmarks.decoding --size small") and record["seed"] == 0
    assert set(record["config"]["packages"]) == {"transformers", "ctranslate2"}
    assert record["hardware"]["threads"] == torch.get_num_threads()

    figures = record["figures"]
    assert list(figures["works"]) == ["beams", "one", "ends"]
    assert figures["growth"]["beams"] == {"1": figures["works"]["one"], "2": figures["works"]["beams"]}, "each is done once"
    for name, found in figures["works"].items():
        work = works[name]
        assert found["outputs"]["sentences"] == work.batch
        others = ["hugging_face", "ctranslate2", "ctranslate2_onednn"]
        assert found["outputs"]["equal_to_ours"] == dict.fromkeys(others, work.batch)
        assert list(found["by"]) == ["ours", *others]
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
    assert [axes.get_xlabel() for axes in figure.axes[1:]] == ["beams", "tokens of each output"]
    assert len(figure.axes[0].patches) == 3 * 4
    del record["figures"]["growth"]
    assert len(chart(record).axes) == 1


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
    outputs = {"ours": [[3], [4, 5]], "one": [[3], [4, 6]], "other": [[9], [4, 7]]}
    asked = []

    def exactly(i):
        asked.append(i)
        return [4, 7]

    found = compare(outputs, exactly)
    assert found == {"sentences": 2, "equal_to_ours": {"one": 1, "other": 0}, "differ_by_our_rounding": 1}
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


def test_mistakes_end_it_before_anything_is_measured(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(decoding, "measure_all", lambda *_: pytest.fail("something was measured"))
    out = ["--out", str(tmp_path / "decoding.json")]
    with pytest.raises(SystemExit) as end:
        decoding.main([*out, "--rounds", "0"])
    assert end.value.code == 2 and capsys.readouterr().err == "--rounds must be at least 1, not 0.\n"
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(SystemExit) as end:
        decoding.main(out)
    said = capsys.readouterr().err
    assert end.value.code == 2 and "pip install 'annotated_transformer[exchange]'" in said and said.count("\n") == 1
    assert not (tmp_path / "decoding.json").exists()
