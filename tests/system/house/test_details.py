"Details that no page tells: each was changed by tools/mutants.py without a test that noticed. Names begin with the module's."
import dataclasses
import gzip
import io
import json
import logging
import math
import shutil
import statistics
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from matplotlib.figure import Figure
from safetensors.torch import save_file
from torch import nn

from annotated_transformer import EOS, PAD, UNK, InputError, Transformer, TransformerConfig
from annotated_transformer.config import PRESETS, Search, TrainingConfig
from annotated_transformer.data import treebanks
from annotated_transformer.data.batching import batches, by_length, pad, shift_right
from annotated_transformer.data.corpora import from_directory
from annotated_transformer.data.parallel_text import both_sides, line_batches, read_pairs
from annotated_transformer.data.tokenizer import Tokenizer
from annotated_transformer.data.trees import DEEPEST, Tree, clean, draw_tree, print_tree
from annotated_transformer.figures import attention_maps
from annotated_transformer.figures.attention_maps import AttentionMaps, sentence_ids
from annotated_transformer.model.attention import MultiHeadAttention, causal_mask
from annotated_transformer.model.position import sinusoids
from annotated_transformer.model.regularization import label_smoothed_cross_entropy
from annotated_transformer.model.variants import AdditiveMultiHeadAttention
from annotated_transformer.model.weights import from_hub, load_into, load_weights, model_directory
from annotated_transformer.model_record import shipped_models
from annotated_transformer.parsing.evalb import BracketScores, bracket_scores
from annotated_transformer.parsing.parser import Parser
from annotated_transformer.parsing.tree_search import LONGEST_CHAIN, Paths, TreeSearch, TreesSoFar
from annotated_transformer.tables import variations
from annotated_transformer.tables.layer_types import Convolution, Recurrent, RestrictedSelfAttention, layer_types, path_length
from annotated_transformer.tables.training_cost import PAPER_RUNS, SENTENCE_LENGTHS, SUSTAINED_RATE, RunCost
from annotated_transformer.tables.variations import (
    PRINTED,
    longest,
    noise,
    plot_variations,
    run_variations,
    table_3,
    variations_table,
)
from annotated_transformer.training.checkpoints import (
    checkpoint_directories,
    forget_old,
    is_regular,
    newest_checkpoint,
    only_one,
    require_room,
    save_checkpoint,
)
from annotated_transformer.training.chunked_loss import fused_losses
from annotated_transformer.translation import translator as translation
from annotated_transformer.translation.bleu import multi30k_bleu, ngram_bleu, paper_bleu, sacre_bleu
from annotated_transformer.translation.fast_search import beam_search, greedy_search
from annotated_transformer.translation.kv_cache import StepwiseDecoder, continuations
from annotated_transformer.translation.scores import score
from annotated_transformer.translation.search import beam_step, length_penalty, readable_beam_search
from annotated_transformer.translation.translator import Translator

SMALL = TransformerConfig(11, n_layers=1, d_model=8, d_ff=12, n_heads=2, dropout=0.0, max_length=64)
LETTERS = Tokenizer.train(["a b c d e f", "fade", "cafe"] * 3, 14)


def never_ends(model):
    "The same model, whose row of EOS is far from every output."
    with torch.no_grad():
        last = model.decoder.layers[-1].feed_forward.norm
        last.weight.zero_()
        last.bias.copy_(-10 * model.embedding.weight[EOS])
    return model.eval()


def test_variants_sees_later_keys_unless_it_is_told_not_to():
    torch.manual_seed(0)
    attention = AdditiveMultiHeadAttention(6, 2, 3, 3)
    query, key, value = torch.randn(1, 2, 4, 3), torch.randn(1, 2, 4, 3), torch.randn(1, 2, 4, 3)
    whole, first = attention.attend(query, key, value), attention.attend(query, key, value, causal=True)
    torch.testing.assert_close(whole, attention.attend(query, key, value, causal=False))
    torch.testing.assert_close(first, attention.attend(query, key, value, causal_mask(4), causal=False))
    x = torch.randn(1, 4, 6)
    assert (attention.weights(x) > 0).all() and (attention.weights(x, causal=True)[..., 0, 1:] == 0).all()


def test_attention_weights_of_a_decoder_look_back_whatever_the_length():
    torch.manual_seed(0)
    attention = MultiHeadAttention(8, 2, 3, 5)
    for length in (1, 5, 11):
        weights = attention.weights(torch.randn(2, length, 8), causal=True)
        assert weights.shape == (2, 2, length, length) and not weights.triu(1).any()
        torch.testing.assert_close(weights.sum(-1), torch.ones(2, 2, length))


def test_attention_maps_cut_each_side_as_its_own():
    tokenizer = SimpleNamespace(encode=lambda text: [5, 6, EOS], encode_target=lambda text: [7, 8, 9, EOS])
    model = SimpleNamespace(config=SimpleNamespace(max_length=9))
    assert sentence_ids(model, tokenizer, "x", "source") == [5, 6, EOS]
    assert sentence_ids(model, tokenizer, "x", "target") == [7, 8, 9, EOS]


def test_attention_maps_say_what_they_are():
    weights = {"encoder": torch.rand(3, 2, 4, 4), "decoder": torch.rand(3, 2, 5, 5), "encoder_decoder": torch.rand(3, 2, 5, 4)}
    maps = AttentionMaps(source=list("abcd"), target_input=list("vwxyz"), target=list("wxyz."), **weights)
    assert repr(maps) == "<AttentionMaps: 3 layers of 2 heads, from a b c d to w x y z .>"


def test_attention_maps_show_their_chart_and_their_words(monkeypatch):
    chart = SimpleNamespace(_repr_mimebundle_=lambda include, exclude: {"text/html": "<p>", "text/plain": "a widget"})
    monkeypatch.setattr(attention_maps, "explore", lambda maps: chart)
    one = torch.ones(1, 1, 1, 1)
    maps = AttentionMaps(["a"], ["b"], ["c"], one, one, one)
    assert maps._repr_mimebundle_() == {"text/html": "<p>", "text/plain": repr(maps)}


def test_batching_without_an_epoch_keeps_the_order_and_else_begins_with_epoch_0():
    lengths = np.array([[n % 7 + 2, n % 5 + 2] for n in range(40)])
    plain = batches(lengths, 30, epoch=None)
    assert np.concatenate(plain).tolist() == by_length(lengths, np.arange(40)).tolist()
    first, same = batches(lengths, 30, seed=3), batches(lengths, 30, seed=3, epoch=0)
    assert [rows.tolist() for rows in first] == [rows.tolist() for rows in same]


def test_bleu_of_the_shortest_sentences():
    assert ngram_bleu(["a b c d"], ["a b c d"]) == 100      # one run of four
    assert ngram_bleu([""], ["a"]) == 0 == ngram_bleu(["a b c"], ["a b c"])  # none


def test_bleu_of_tokens_is_not_warned_about(caplog):
    "SacreBLEU warns of a hundred lines that end in a token of their own; here the tokens are meant."
    lines = ["today it rains ."] * 100
    with caplog.at_level(logging.WARNING):
        for bleu in (paper_bleu, multi30k_bleu):
            assert bleu(lines, lines).score == pytest.approx(100)
        assert not caplog.records
        sacre_bleu(lines, lines)
        assert "tokenized period" in caplog.text


def test_checkpoints_that_are_damaged_are_moved_aside_every_time(tmp_path, caplog):
    model = nn.Linear(2, 3)
    optimizer = torch.optim.Adam(model.parameters())
    model(torch.ones(1, 2)).sum().backward()
    optimizer.step()
    for step in (1, 2, 2, 2):  # damaged, made again, damaged again
        save_checkpoint(tmp_path, model, optimizer, {"step": step}, keep=5)
        newest = tmp_path / "checkpoints" / f"step-{step:08d}"
        assert newest_checkpoint(tmp_path) == newest
        if step == 2:
            (newest / "state.json").write_text("{}")
            caplog.clear()
            assert newest_checkpoint(tmp_path).name == "step-00000001"
            assert "going on from step-00000001" in caplog.text and "checksum is wrong" in caplog.text
            assert not newest.exists() and (tmp_path / "checkpoints" / "damaged-step-00000002" / "state.json").read_text() == "{}"


def test_checkpoints_of_another_model_are_refused_whatever_is_missing(tmp_path):
    model = nn.Linear(3, 2)
    whole = model.state_dict()
    for other in ({"weight": whole["weight"]}, whole | {"more": torch.zeros(1)}, whole | {"bias": torch.zeros(3)}):
        with pytest.raises(InputError, match="do not fit one another"):
            load_into(model, other, "here")
    for wrong in (torch.zeros(2, dtype=torch.int64), torch.tensor([0.0, math.nan]), torch.tensor([-math.inf, 0.0])):
        save_file(whole | {"bias": wrong}, tmp_path / "model.safetensors")
        with pytest.raises(InputError, match="'bias' holds something that is not a finite real number"):
            load_into(model, load_weights(tmp_path / "model.safetensors"), "here")


def test_checkpoints_that_ship_are_found_by_name_and_own_ones_by_their_directory(tmp_path):
    for name in shipped_models():
        assert (model_directory(name) / "model.safetensors").exists()
    assert shipped_models() and model_directory(tmp_path) == tmp_path == model_directory(str(tmp_path))


def test_checkpoints_that_are_there_need_no_more_room(tmp_path, monkeypatch):
    model = nn.Linear(512, 512, bias=False)
    one = 3 * 4 * 512 * 512  # the weights and Adam's two means
    there = tmp_path / "checkpoints" / "step-00000001"
    there.mkdir(parents=True)
    (there / "state.json").write_bytes(b"x" * one)
    usage = shutil.disk_usage(tmp_path)
    for free, fits in ((2 * one, True), (2 * one - 1, False)):  # two kept, one being written, one of them is there
        monkeypatch.setattr(shutil, "disk_usage", lambda path, free=free: usage._replace(free=free))
        if fits:
            require_room(tmp_path, model, keep=2)
        else:
            with pytest.raises(InputError, match="need 6 MiB more"):
                require_room(tmp_path, model, keep=2)


def test_checkpoints_of_a_run_that_trains_are_refused_at_once(tmp_path, monkeypatch):
    with only_one(tmp_path):
        monkeypatch.setattr(time, "sleep", lambda seconds: pytest.fail("it waits"))
        with pytest.raises(InputError, match="another process is training this run"):
            with only_one(tmp_path):
                pass


def test_checkpoints_of_the_hub_are_asked_for_by_owner_and_name_alone(tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr("huggingface_hub.snapshot_download", lambda name, **options: asked.append(name) or str(tmp_path))
    monkeypatch.chdir(tmp_path)
    Path("runs").mkdir()
    for name in ("model", "owner/", "a/b/c", "runs/gone", "an owner/model", "owner/mod?l"):
        with pytest.raises(InputError, match="there is no such directory of a run or of a model"):
            from_hub(name)
    assert from_hub("owner/mo-del_1.5") == tmp_path and asked == ["owner/mo-del_1.5"]


def test_checkpoints_of_the_hub_come_in_the_revision_and_with_the_token_that_are_named(monkeypatch):
    asked, wanted = [], {"revision": "a1", "token": "mine"}

    def snapshot_download(name, allow_patterns, **options):
        asked.append((name, options))
        return str(model_directory(name.removeprefix("owner/")))

    monkeypatch.setattr("huggingface_hub.snapshot_download", snapshot_download)
    for kind, name in ((Translator, "owner/numbers-en-de"), (Parser, "owner/parser-en")):
        assert isinstance(kind.from_pretrained(name, device="cpu", precision="float32", **wanted), kind)
        assert asked and all(one == (name, wanted) for one in asked)
        asked.clear()
        with pytest.raises(InputError, match="precison is not an option here; those for the hub are revision, token"):
            kind.from_pretrained(name, precison="int8")
    with pytest.raises(TypeError, match="positional"):
        Translator.from_pretrained("numbers-en-de", None, "int8")  # a precision? a device?


def test_chunked_loss_keeps_long_numbers_long():
    torch.manual_seed(0)
    target = torch.tensor([[5, 6, PAD], [7, EOS, 8]])
    for chunk in (None, 2):
        hidden, weight = (torch.randn(*size, requires_grad=True) for size in ((2, 3, 8), (11, 8)))
        with torch.no_grad():
            weight[PAD] = 0
        gradients = []
        for loss in (fused_losses(hidden, weight, target, 0.1, chunk=chunk)[0],
                     label_smoothed_cross_entropy(hidden @ weight.T, target, 0.1)):
            gradients.append(torch.autograd.grad(loss, (hidden, weight)))
        (ours, our_weight), (theirs, their_weight) = gradients
        torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-7)
        torch.testing.assert_close(our_weight[1:], their_weight[1:], rtol=1e-5, atol=1e-7)


def test_corpora_take_the_plain_file_where_there_is_a_gzipped_one_too(tmp_path):
    for name in ("train", "validation"):
        for language in ("en", "de"):
            (tmp_path / f"{name}.{language}").write_text(f"plain {language}\n")
            with gzip.open(tmp_path / f"{name}.{language}.gz", "wt") as file:
                file.write(f"gzipped {language}\n")
    assert list(from_directory(tmp_path).train) == [("plain en", "plain de")] == from_directory(tmp_path).validation
    (tmp_path / "train.en").unlink()
    assert list(from_directory(tmp_path).train) == [("gzipped en", "plain de")]


def test_fast_search_begins_with_the_papers_search():
    assert Search() == Search(beam_size=4, alpha=0.6, extra_length=50)
    source = torch.tensor([[4, 5, EOS]])
    torch.manual_seed(0)
    model = never_ends(Transformer(SMALL))
    assert len(greedy_search(model, source)[0]) == 53 == len(beam_search(model, source)[0][0].tokens)


def test_search_grows_nothing_by_what_cannot_be():
    never = float("-inf")
    ended, going = beam_step(lambda tokens: torch.tensor([never, -1.0, never, -2.0]), [(0.0, [])], 4)
    assert ended == [(-1.0, [EOS])] and going == [(-2.0, [3])]
    for first, second in ((EOS, 3), (3, EOS)):  # a beam of one looks at the likeliest alone
        scores = torch.full((4,), -9.0)
        scores[first], scores[second] = -1.0, -2.0
        ended, going = beam_step(lambda tokens, scores=scores: scores, [(0.0, [])], 1)
        assert (ended, going) == (([(-1.0, [EOS])], []) if first == EOS else ([], [(-1.0, [3])]))


def test_search_gives_no_more_than_the_best_that_ended():
    likely = torch.tensor([0.0, 0.3, 0.1, 0.4, 0.2]).log()  # <pad>, <eos>, and three words
    (best, second), every = (readable_beam_search(lambda tokens: likely, size, 0.0, longest=3) for size in (2, 50))
    assert ([], [3]) == (best.tokens, second.tokens) and [best, second] == every[:2] and len(every) == 1 + 3 + 9


@pytest.mark.parametrize("search", [beam_search, greedy_search])
def test_fast_search_of_one_sentence_without_brackets_is_refused_as_by_the_model(search):
    with pytest.raises(InputError, match=r"shape \(3,\): give \(sentences, tokens\)"):
        search(Transformer(SMALL), torch.tensor([5, 6, EOS]))


def test_fast_search_that_never_ends_is_scored_by_its_whole_length():
    torch.manual_seed(1)
    model, source = never_ends(Transformer(SMALL)), torch.tensor([[4, 5, 6, EOS]])
    for hypothesis in beam_search(model, source, Search(beam_size=3, alpha=1.0, extra_length=2))[0]:
        assert len(hypothesis.tokens) == 6 and hypothesis.log_probability < 0 and not hypothesis.ended
        assert math.isclose(hypothesis.score, hypothesis.log_probability / length_penalty(6, 1.0), rel_tol=1e-6)


def test_fast_search_takes_a_model_in_any_number_format():
    torch.manual_seed(0)
    model, source, found, greedy = Transformer(SMALL), pad([[4, 5, 6, EOS], [7, 8, EOS], [9, EOS]]), [], []
    for kind in (torch.float32, torch.float64, torch.bfloat16):
        hypotheses = beam_search(model.to(kind), source, Search(3, 0.6, extra_length=5))
        found.append([best.score for best, *_ in hypotheses])
        greedy.append(greedy_search(model, source, Search(extra_length=5)))
    assert greedy[1] == greedy[0] and found[1] == pytest.approx(found[0], rel=1e-5)
    assert found[2] == pytest.approx(found[0], rel=0.03)


def test_fast_search_tells_how_many_tokens_are_left():
    class Recorded:
        left = []

        def ids(self, left):
            self.left.append(left.tolist())
            return torch.tensor([[4, 5, 6]]).expand(len(left) * (1 if len(self.left) == 1 else 2), -1)

        def weigh(self, logits):
            pass

        def follow(self, sentences, beams, tokens):
            pass

    torch.manual_seed(0)
    source = pad([[4, EOS], [4, 5, EOS]])
    beam_search(Transformer(SMALL).eval(), source, Search(beam_size=2, alpha=0.6, extra_length=1), allowed=Recorded())
    assert Recorded.left == [[3, 4], [2, 3], [1, 2], [1]]  # as many as the source and one more, the last step has one


def test_evalb_counts_whole_sentences_and_takes_two_lists():
    assert BracketScores(sentences=4, complete=1, matched=3, gold=4, predicted=5).complete_match == 25
    none = BracketScores(0, 0, 0, 0, 0)
    assert none.complete_match == none.precision == none.recall == none.f1 == 0
    tree = Tree.fromstring("(TOP (S (NN a)))")
    for pair in ((tree, [tree]), ([tree], tree)):
        with pytest.raises(TypeError, match="not one tree"):
            bracket_scores(*pair)
    assert bracket_scores([tree], [tree]).to_dict() == {
        "f1": 100, "precision": 100, "recall": 100, "complete_match": 100,
        "sentences": 1, "complete": 1, "matched": 1, "gold": 1, "predicted": 1,
    }


def test_fast_attention_has_the_papers_matrices_and_keeps_its_kind_of_numbers():
    attention = MultiHeadAttention(8, 2, 3, 5)
    assert {name: tuple(weight.shape) for name, weight in attention.named_parameters()} == {
        "in_projection": (2 * (3 + 3 + 5), 8), "out_projection.weight": (8, 2 * 5)}
    for kind in (torch.float64, torch.float32):
        given = [torch.randn(2, 2, 4, width, dtype=kind) for width in (3, 3, 5)]
        found = attention.attend(*given, causal=True)
        assert found.dtype == kind
        expected = torch.nn.functional.scaled_dot_product_attention(*given, is_causal=True)
        torch.testing.assert_close(found, expected, rtol=0, atol=0)


def test_kv_cache_keeps_two_beams_apart():
    torch.manual_seed(0)
    model = Transformer(SMALL).eval()
    source = torch.tensor([[4, 5, 6, EOS], [7, 8, 9, EOS]])
    with torch.no_grad():
        memory, decoder = model.encode(source), StepwiseDecoder(model, source, n_beams=2, max_steps=4)
        assert decoder.visible is None  # nothing to hide
        assert StepwiseDecoder(model, pad([[4, EOS], [5, 6, EOS]]), 2, 4).visible is not None
        decoder.step(torch.full((2, 1), PAD))
        decoder.select(torch.arange(2), torch.zeros(2, 2, dtype=torch.long))
        written = torch.tensor([[[PAD, 4, 6, 9], [PAD, 5, 7, 8]], [[PAD, 6, 8, 10], [PAD, 7, 9, 4]]])
        for step in range(1, 4):
            found = decoder.step(written[:, :, step])
            for beam in range(2):
                expected = model.decode(written[:, beam, : step + 1], memory, source)[:, -1]
                torch.testing.assert_close(found[:, beam], expected, atol=1e-5, rtol=1e-5)
            decoder.select(torch.arange(2), torch.tensor([[0, 1], [0, 1]]))


def test_kv_cache_goes_on_only_by_what_is_allowed():
    torch.manual_seed(0)
    logits, log_p = torch.randn(4, 7), torch.tensor([[-1.0, -2.0], [-0.5, -0.7]])
    logits[:, PAD] = float("-inf")
    allowed = torch.tensor([[2, 5, PAD], [3, PAD, PAD], [6, 4, 2], [5, PAD, PAD]])
    every = log_p[..., None] + logits.view(2, 2, 7).log_softmax(-1)
    top, beams, tokens = continuations(logits.clone(), log_p, 8, allowed)
    for row, count in ((0, 3), (1, 4)):
        assert (top[row, count:] == float("-inf")).all()
        found = {(int(b), int(t)): float(p) for p, b, t in zip(top[row][:count], beams[row], tokens[row])}
        wanted = {(b, t) for b in range(2) for t in allowed[2 * row + b].tolist() if t != PAD}
        assert set(found) == wanted and top[row][:count].tolist() == sorted(found.values(), reverse=True)
        assert all(math.isclose(p, every[row, b, t], rel_tol=1e-5) for (b, t), p in found.items())


def test_kv_cache_of_one_layer_reads_a_source_longer_than_its_heads_are_wide():
    torch.manual_seed(0)
    model = Transformer(SMALL).eval()
    source, target = torch.randint(4, 11, (2, 30)), torch.randint(4, 11, (2, 5))  # keys and values: 16 numbers each
    source[1, 25:] = PAD
    read = shift_right(target)
    with torch.no_grad():
        decoder = StepwiseDecoder(model, source, n_beams=1, max_steps=5)
        found = torch.cat([decoder.step(read[:, i : i + 1]) for i in range(5)], 1)
        torch.testing.assert_close(found, model.decode(read, model.encode(source), source), atol=1e-5, rtol=1e-5)


def test_layer_types_take_the_smallest_sizes():
    torch.manual_seed(0)
    alone, x = RestrictedSelfAttention(6, 2, neighbourhood=1), torch.randn(2, 3, 6)
    torch.testing.assert_close(alone(x), torch.cat([alone(x[:, i : i + 1]) for i in range(3)], 1))  # each looks at itself
    narrow = Convolution(6, 1)
    torch.testing.assert_close(narrow(x), torch.cat([narrow(x[:, i : i + 1]) for i in range(3)], 1))
    layer = Recurrent(6)
    torch.testing.assert_close(layer.readable(x[:, :1]), layer(x[:, :1]))


def test_layer_types_have_the_paths_of_table_1():
    torch.manual_seed(0)
    steps = {name: path_length(name, 8, n_heads=2, kernel=3, neighbourhood=3) for name in layer_types(4, 2, 3, 3)}
    assert steps["self-attention"] == 1 and steps["recurrent"] == 8
    assert steps["self-attention, restricted"] == 7                        # a layer sees one place to each side
    assert steps["convolution"] == 4 == steps["convolution, separable"]    # a layer sees two places back
    assert steps["convolution, dilated"] == 2                              # 2, then 6


def test_parallel_text_name_the_line_that_cannot_be_read(tmp_path):
    source, target = tmp_path / "a.en", tmp_path / "a.de"
    target.write_text("eins\nzwei\ndrei\nvier\nfünf\n", encoding="utf-8")
    for text, complaint in ((b"one\ntwo\n\xff\n", "line 3,"), (b"one\ntwo\n", "has 2 lines but .* has 5:"),
                            (b"1\n2\n3\n4\n5\n6\n7\n", "has 7 lines but .* has 5:")):
        source.write_bytes(text)
        with pytest.raises(InputError, match=complaint):
            read_pairs(source, target)
    source.write_bytes(b"a\n" * 40 + b"\xff\n" + b"b\n" * 9)
    for size in (4, 7, 1_000):  # bytes at a time
        with pytest.raises(InputError, match="line 41, is not UTF-8"):
            list(line_batches(source, size))


def test_parallel_text_for_training_have_two_sides():
    assert both_sides("a", "b") and not both_sides("a", " ") and not both_sides("", "b") and not both_sides("", "\t")


def test_parser_is_bound_to_the_words_unless_it_is_told_to_be_free():
    tokenizer = Tokenizer.train(["the dog chased it in the garden"] * 9, 40, ["(S", ")S", "(NP", ")NP", "XX"])
    torch.manual_seed(0)
    config = TransformerConfig(40, n_layers=1, d_model=8, d_ff=12, n_heads=2, dropout=0.0, max_length=64)
    parser = Parser(Translator(Transformer(config), tokenizer))
    search = Search(beam_size=2, extra_length=9)
    (bound,), (free,) = (parser.parse([["the", "dog"]], search, **options) for options in ({}, {"free": True}))
    assert not bound.repairs and free.repairs
    assert parser.parse([["the", "dog"]], search, free=False) == [bound]


def test_position_is_as_exact_far_out_as_at_the_beginning():
    table = sinusoids(2**18, 12)  # as many as a model may have
    for pos in (70_001, 2**18 - 1):
        for column in range(12):
            angle = pos / 10000 ** ((column - column % 2) / 12)
            assert abs(table[pos, column].item() - (math.cos(angle) if column % 2 else math.sin(angle))) < 1e-6


def test_training_cost_says_millions_for_each_token():
    told = str(RunCost(10, 3600.0, 3600.0, 1_000, 2.5e9))
    assert "2.50e+09 in all, 2.50 million per target token" in told and "time          1.00 hours of updates on 1 device," in told


def test_training_cost_takes_the_papers_devices_and_updates():
    assert SUSTAINED_RATE == {"K80": 2.8e12, "K40": 3.7e12, "M40": 6.0e12, "P100": 9.5e12}  # footnote 5
    assert SENTENCE_LENGTHS[0, 0] == SENTENCE_LENGTHS[0, 1]  # a batch has as many source tokens as target tokens (§5.1)
    for name, (model, updates) in PAPER_RUNS.items():
        preset = PRESETS[name.replace(" en-de", "").replace(" ", "-")]
        assert (dataclasses.replace(model, dropout=preset.model.dropout), updates) == (preset.model, preset.steps)


def test_config_has_the_papers_sizes():
    base, big = TransformerConfig.base(37_000), TransformerConfig.big(37_000)
    assert [getattr(base, name) for name in ("n_layers", "d_model", "d_ff", "n_heads", "d_k", "d_v", "dropout")] == [
        6, 512, 2048, 8, 64, 64, 0.1]
    assert [getattr(big, name) for name in ("n_layers", "d_model", "d_ff", "n_heads", "d_k", "d_v", "dropout")] == [
        6, 1024, 4096, 16, 64, 64, 0.3]
    tiny = TransformerConfig.tiny(10_000)  # Wu et al. 2021
    assert (tiny.n_layers, tiny.d_model, tiny.d_ff, tiny.n_heads, tiny.dropout) == (4, 128, 256, 4, 0.3)


def test_config_takes_sizes_as_large_as_it_says():
    sizes = ("n_layers", 1, 1_000), ("n_heads", 1, 1_024), ("vocab_size", 2, 2**24), ("d_ff", 1, 2**24), ("max_length", 1, 2**18)
    for name, least, most in sizes:
        assert getattr(dataclasses.replace(SMALL, **{name: most}), name) == most
        for wrong in (most + 1, least - 1):
            with pytest.raises(InputError, match=f"{name} must be at least {least} and can be at most"):
                dataclasses.replace(SMALL, **{name: wrong})


def translator(**options):
    torch.manual_seed(0)
    config = TransformerConfig(LETTERS.vocab_size, n_layers=1, d_model=8, d_ff=12, n_heads=2, dropout=0.0, max_length=11)
    return Translator(Transformer(config), LETTERS, **options)


def test_translator_never_drops_out_and_leaves_the_model_in_its_mode():
    config = TransformerConfig(LETTERS.vocab_size, n_layers=1, d_model=8, d_ff=12, n_heads=2, dropout=0.5, max_length=11)
    torch.manual_seed(0)
    model = Transformer(config)
    still = Translator(model.eval(), LETTERS)
    texts, expected = still.translate(["fade", "cafe"]), still.attention("fade", "cafe")
    for precision in ("float32", "float16", "int8"):
        new = Translator(model.train(), LETTERS, precision=precision)
        found, maps = new.translate(["fade", "cafe"]), new.attention("fade", "cafe")
        assert model.training and all(module.training for module in model.modules())
        assert torch.equal(maps.encoder_decoder, expected.encoder_decoder)
        assert found == new.translate(["fade", "cafe"]) and (precision != "float32" or found == texts)


def test_translator_takes_sentences_from_one_token_to_all_that_the_model_takes():
    full, found = "abcdef", translator()
    while len(LETTERS.encode(full)) < 11:
        full += "a"
    assert len(LETTERS.encode(full)) == 11 and len(found.translate([full], Search(extra_length=0))) == 1
    with pytest.raises(InputError, match="sentence 1 has 12 tokens and the model takes 11"):
        found.translate(full + "a")
    given = []
    translation.in_batches([[5, EOS], [EOS], [6, 7, EOS]], 8, lambda source, part: given.extend(part) or [[]] * len(part))
    assert given == [2, 0]  # all but the blank one, the longest first


def test_translator_names_the_sentence_that_nothing_fits():
    class Rule:
        def __init__(self, part):
            self.part, self.beams = part, 1

        def ids(self, left):
            return torch.tensor([[PAD if number == 2 else EOS] for number in self.part for _ in range(self.beams)])

        def weigh(self, logits):
            pass

        def follow(self, sentences, beams, tokens):
            self.part, self.beams = [self.part[i] for i in sentences], beams.size(1)

    for beam_size in (1, 2):
        with pytest.raises(InputError, match="^sentence 3: nothing that is allowed fits"):
            translator().translate_ids(["abc", "ab", "a", "abcd"], Search(beam_size=beam_size), allowed=Rule)
        assert translator().translate_ids(["abc", "ab"], Search(beam_size=beam_size), allowed=Rule) == [[], []]


def test_translator_says_what_it_is(tmp_path, monkeypatch):
    translator().save_pretrained(tmp_path)
    monkeypatch.setattr(translation, "own_device", lambda device, local: torch.device(device))  # meta stands for a GPU
    told = repr(Translator.from_pretrained(tmp_path, device="meta"))
    assert told.startswith(f"<Translator {tmp_path}: ") and "1 + 1 layers, d_model 8, 2 heads, 14 tokens, on meta>" in told
    assert repr(translator(precision="int8")).endswith(", on cpu, int8>") and repr(translator()).startswith("<Translator (new): ")
    monkeypatch.setattr(translation, "usual_device", lambda precision: "meta")
    assert Translator.from_pretrained(tmp_path).model.embedding.weight.is_meta


def test_translator_is_put_on_the_hub_for_all_unless_it_is_to_be_private(monkeypatch):
    monkeypatch.setattr(translation, "push_model", lambda save, *told: told)
    assert translator().push_to_hub("me/it") == ("me/it", False, "Push model and tokenizer")
    assert translator().push_to_hub("me/it", private=True, commit_message="Better") == ("me/it", True, "Better")


def test_translator_counts_what_is_exactly_right():
    assert score(["ein Hund", "eine Katze", "a"], ["ein Hund", "ein Kater", "b"], "de").exact == pytest.approx(1 / 3)


def test_tree_search_knows_the_shortest_way_and_the_deepest_tree():
    paths = Paths()
    paths.add([[4], [5, 6, 7]])
    *_, ends, rest = paths.tables("cpu")
    assert rest.tolist() == [0, 1, 0, 2, 1, 0] and ends.tolist() == [True, False, True, False, False, True]


def test_tree_search_writes_a_word_by_its_own_pieces():
    search = TreeSearch(LETTERS, "words")
    for word in ("cafe", "fade", "a"):
        assert search.pieces(word) == LETTERS.encode(word)[:-1]
    assert search.pieces("") == [UNK]  # what the tokenizer drops, such as a blank of its own, is still a word


def test_tree_search_leaves_tokens_for_what_must_come():
    tokens = {"(": 4, ")": 5, "short": 6, "begins": 7, "ends": 8, "goes on": 9}
    paths = Paths()
    root = paths.add([[7, 8], [7, 9, 8]])
    so_far = TreesSoFar([(4, 5)], 10, [[root, root]], paths.tables("cpu"))
    so_far.follow(torch.tensor([0]), torch.tensor([[0]]), torch.tensor([[tokens["begins"]]]))
    for left, allowed in ((4, {8}), (5, {8, 9})):  # "ends", two tokens of the second word, and EOS
        assert set(so_far.ids(torch.tensor([left]))[0].tolist()) - {PAD} == allowed


def test_tree_search_opens_as_many_brackets_as_it_says():
    tokenizer = Tokenizer.train(["the dog chased it in the garden"] * 9, 40, ["(S", ")S", "(NP", ")NP", "XX"])
    search = TreeSearch(tokenizer, "XX")
    opening, (word,) = search.brackets["S"][0], tokenizer.encode("XX")[:-1]
    so_far, stay = search.begin([["dog"] * (DEEPEST // LONGEST_CHAIN + 2)]), torch.tensor([0])
    depth = chain = 0
    while True:  # as deep as may be, a word after each chain that is as long as may be
        may_open = opening in so_far.ids(torch.tensor([10**6]))[0].tolist()
        assert may_open == (chain < LONGEST_CHAIN and depth < DEEPEST)
        if depth == DEEPEST and chain == 0:
            break
        so_far.follow(stay, torch.tensor([[0]]), torch.tensor([[opening if may_open else word]]))
        depth, chain = (depth + 1, chain + 1) if may_open else (depth, 0)
    assert depth == DEEPEST == int(so_far.depth) and int(so_far.word) < int(so_far.n)


def test_treebanks_are_split_by_the_numbers_of_their_files():
    def split(*numbers):
        found = treebanks.tree_splits(Path(f"wsj_{number:04d}.mrg") for number in numbers)
        return {name: [int(path.name[4:8]) for path in paths] for name, paths in found.items()}

    whole = split(1, 199, 200, 2199, 2200, 2299, 2300, 2399, 2400)  # sections 02-21, 22 and 23
    assert whole == {"train": [200, 2199], "validation": [2200, 2299], "test": [2300, 2399]}
    sample = split(0, 1, 159, 160, 179, 180, 199)
    assert sample == {"train": [1, 159], "validation": [160, 179], "test": [180, 199]}
    assert split(200) == {"train": [200], "validation": [], "test": []} == split(200, 0)
    names = ["train-a.mrg", "b.mrg", "validation.mrg.gz", "test.txt", "wsj_0300.mrg.gz", "test.mrg"]
    named = treebanks.tree_splits(map(Path, names))
    assert {name: [path.name for path in paths] for name, paths in named.items()} == {
        "train": ["train-a.mrg", "wsj_0300.mrg.gz"], "validation": ["validation.mrg.gz"], "test": ["test.mrg"]}


def test_treebanks_find_the_articles_of_craft(tmp_path, monkeypatch):
    monkeypatch.setattr(treebanks, "cache_directory", lambda: tmp_path)
    with pytest.raises(InputError, match="craft-ids-train.txt does not exist: git clone"):
        treebanks.craft()
    for directory in ("articles/ids", "structural-annotation/treebank/penn"):
        (tmp_path / "CRAFT" / directory).mkdir(parents=True)
    for number, name in enumerate(("train", "dev", "test"), 11):
        (tmp_path / f"CRAFT/articles/ids/craft-ids-{name}.txt").write_text(f"{number}\n")
        text = f"( (S (NP (NN a{number})) (VP (VB b))) )"
        (tmp_path / f"CRAFT/structural-annotation/treebank/penn/{number}.tree").write_text(text)
    for leaves, row in (("XX", "(S (NP XX )NP (VP XX )VP )S"), ("tags", "(S (NP NN )NP (VP VB )VP )S")):
        corpus = treebanks.craft(leaves)
        assert corpus.name == ("craft" if leaves == "XX" else "craft-tags")
        assert list(corpus.train) == [("a11 b", row)] and list(corpus.test) == [("a13 b", row)]
        assert [source for source, _ in corpus.validation] == ["a12 b"]
        assert ("XX" in corpus.whole_words) == (leaves == "XX") and {"(S", ")TITLE"} < set(corpus.whole_words)


def test_treebanks_look_for_the_wall_street_journal_in_the_cache(tmp_path, monkeypatch):
    monkeypatch.setattr(treebanks, "cache_directory", lambda: tmp_path)
    with pytest.raises(InputError, match="wsj does not exist: the Penn Treebank"):
        treebanks.wsj()
    (tmp_path / "wsj").mkdir()
    monkeypatch.setattr(treebanks, "treebank", lambda directory, leaves: (directory, leaves))
    assert treebanks.wsj("tags") == (tmp_path / "wsj", "tags")


def test_trees_have_one_outermost_bracket_whatever_the_treebank_calls_it():
    for written, cleaned in (("(S (NP (NN a)))", "(TOP (S (NP (NN a))))"), ("( (S (NN a)))", "(TOP (S (NN a)))"),
                             ("(ROOT (NN a))", "(TOP (NN a))"), ("(NN a)", "(TOP (NN a))"), ("(S1 a)", "(TOP (S1 a))")):
        assert print_tree(clean(Tree.fromstring(written))) == cleaned


def test_trees_have_words_of_dollars_drawn_as_they_are_and_not_as_formulas():
    figure = Figure()
    draw_tree(figure.subplots(), Tree.fromstring(r"(S (NN $\frac{$) ($ $) ($x^$ a$b$c))"))
    figure.savefig(io.BytesIO())  # here matplotlib would find the formula wrong


def test_trees_are_drawn_above_the_middle_of_what_they_hold():
    tree = Tree.fromstring("(S (NP (DT a) (JJ b) (NN c)) (VP (VB d)))")
    for options, tags in (({}, True), ({"tags": True}, True), ({"tags": False}, False)):
        axis = Figure().subplots()
        draw_tree(axis, tree, **options)
        places = {text.get_text(): text.get_position() for text in axis.texts}
        tags_at = {"DT": (0, 0), "JJ": (1, 0), "NN": (2, 0), "VB": (3, 0)} if tags else {}
        words_at = {word: (x, -0.55 if tags else -0.3) for x, word in enumerate("abcd")}
        assert places == {"S": (2, 2), "NP": (1, 1), "VP": (3, 1), **tags_at, **words_at}
        lines = {tuple(zip(*line.get_data())) for line in axis.lines}
        assert ((2, 2), (2, 1.5), (1, 1.5), (1, 1)) in lines and len(lines) == 6
        (left, right), (low, high) = axis.get_xlim(), axis.get_ylim()
        assert -1 < left < 0 and 3 < right < 4 and -1.55 < low < -0.55 and 2 < high < 3 and not axis.axison


def printed(what):
    return [value for value in (getattr(row, what) for row in PRINTED.values()) if value is not None]


def test_variations_print_what_the_paper_prints():
    "The sums of Table 3's columns, added up from the paper by hand: a slip of one digit shows."
    assert len(PRINTED) == 20
    assert math.isclose(sum(printed("perplexity")), 101.87, abs_tol=1e-9)
    assert math.isclose(sum(printed("bleu")), 507.7, abs_tol=1e-9)
    assert sum(printed("millions")) == 901


def test_variations_of_a_small_base_have_a_big_of_twice_its_width():
    small = TrainingConfig(TransformerConfig(50, n_layers=2, d_model=12, d_ff=20, n_heads=3))
    big = table_3(small)["big"].model
    assert (big.d_model, big.d_ff, big.n_heads, big.n_layers) == (24, 40, 6, 2)


def test_variations_of_any_base_keep_the_proportions_of_table_3():
    size = {"n_layers": 12, "d_model": 96, "d_ff": 100, "n_heads": 8, "d_k": 40, "d_v": 24, "dropout": 0.15}
    rows = table_3(TrainingConfig(TransformerConfig(50, **size), smoothing=0.2))
    base = rows["base"].model
    for name, changes in {
        "A1": {"n_heads": 1, "d_k": 320, "d_v": 320}, "A2": {"n_heads": 4, "d_k": 80, "d_v": 80},
        "A3": {"n_heads": 16, "d_k": 20, "d_v": 20}, "A4": {"n_heads": 32, "d_k": 10, "d_v": 10},
        "B1": {"d_k": 10}, "B2": {"d_k": 20}, "C1": {"n_layers": 4}, "C2": {"n_layers": 8}, "C3": {"n_layers": 16},
        "C4": {"d_model": 48, "d_k": 20, "d_v": 12}, "C5": {"d_model": 192, "d_k": 80, "d_v": 48},
        "C6": {"d_ff": 50}, "C7": {"d_ff": 200}, "D1": {"dropout": 0.0}, "D2": {"dropout": 0.3}, "E": {"positions": "learned"},
        "additive": {"compatibility": "additive"}, "pre-norm": {"norm": "pre"},
    }.items():
        assert rows[name] == dataclasses.replace(rows["base"], model=dataclasses.replace(base, **changes)), name
    assert [rows[name].smoothing for name in ("base", "D3", "D4")] == [0.2, 0.0, 0.4]


def test_variations_stand_in_a_table_with_both_differences():
    nothing = {"change": "y", "parameters": 2_000, "seeds": []}
    table = {"base": measured_row(10.0, 20.0), "A1": measured_row(11.0, 19.9), "C1": nothing, "pre-norm": measured_row(9.0, 21.0)}
    assert variations_table(table).splitlines()[2:] == [
        "| base | x | 1 | 1 | 10.00 |  | 4.92 | 20.0 |  | 25.8 |",
        "| A1 | x | 1 | 1 | 11.00 | +10.0% | +7.5% | 19.9 | -0.1 | -0.9 |",
        "| C1 | y | 2,000 | 0 | not run |  | +24.2% |  |  | -2.1 |",
        "| pre-norm | x | 1 | 1 | 9.00 | -10.0% |  | 21.0 | +1.0 |  |",
    ]
    table["base"]["seeds"][0]["seed"] = 2  # in a table of two starts, say
    row = variations_table(table).splitlines()[3]
    assert row == "| A1 | x | 1 | 1 | 11.00 | other seeds | +7.5% | 19.9 | other seeds | -0.9 |"
    table["base"]["seeds"] = []
    assert variations_table(table).splitlines()[3] == "| A1 | x | 1 | 1 | 11.00 |  | +7.5% | 19.9 |  | -0.9 |"


def test_variations_have_the_noise_of_what_rows_and_seeds_do_not_explain():
    base = [{"seed": 1, "perplexity": 10.0, "bleu": 20.0}, {"seed": 2, "perplexity": 12.0, "bleu": 23.0}]
    row = [{"seed": 1, "perplexity": 11.0, "bleu": 20.0}, {"seed": 2, "perplexity": 11.0, "bleu": 21.0}]
    found = noise({"base": {"seeds": base}, "A1": {"seeds": row}}, seeds=2)
    assert math.isclose(found.bleu, 12.706 * statistics.stdev([0, -2]) / 2**0.5)  # t times the standard error of two pairs' mean
    assert math.isclose(found[0], 12.706 * 100 * math.log(1.2) / 2)
    many = [{"seed": seed, "perplexity": 10.0 + seed % 3, "bleu": seed % 5} for seed in range(40)]
    other = [*many[1:], many[0] | {"bleu": 3}]
    assert noise({"base": {"seeds": many}, "A1": {"seeds": many[::-1]}, "A2": {"seeds": other}}).bleu > 0
    assert noise({"base": {"seeds": many}}) is None  # one row: nothing is left


def measured_row(perplexity, bleu):
    return {"change": "x", "parameters": 1, "seeds": [{"seed": 1, "perplexity": perplexity, "bleu": bleu}]}


def test_variations_are_drawn_row_by_row_with_all_of_table_3_in_sight():
    table = {"base": measured_row(10.0, 20.0), "A1": measured_row(11.0, 19.9), "A2": measured_row(9.9, 17.0), "C1": {
        "change": "x", "parameters": 1, "seeds": []}}
    figure = plot_variations(table)
    left, right = figure.axes
    low, high = left.get_ylim()
    assert (low, high) == right.get_ylim() and 2.6 < low < 3.6 and -1 < high < 0  # downwards, less than a row to either side
    assert left.get_yticks().tolist() == [0, 1, 2.6] and [label.get_text() for label in left.get_yticklabels()] == [
        "x   A1", "x   A2", "x   C1"]
    assert [bar.get_width() for bar in left.patches] == pytest.approx([10, -1])
    assert [text.get_text() for text in left.texts] == ["not run"] and 0 <= left.texts[0].get_position()[0] < 0.1
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["Table 3", "here"]
    assert figure.axes[0].get_xlabel().startswith("perplexity, % more") and right.get_xlabel().startswith("BLEU, points more")
    nothing = {name: {"seeds": []} for name in PRINTED}
    for what, most in ((0, 100 * (6.11 / 4.92 - 1)), (1, 25.8 - 23.7)):  # row C1 is the farthest from the base
        assert longest(nothing, what) == pytest.approx(1.1 * most)


def test_variations_draw_in_grey_what_of_table_3_is_within_the_noise():
    table = {"base": measured_row(10.0, 20.0), "A1": measured_row(11.0, 19.9), "C1": measured_row(12.0, 18.0)}
    for row, off in (("base", 0), ("A1", 1), ("C1", -1)):  # left: 0, and about 1.4% and 0.2 points, with two degrees of freedom
        first, = table[row]["seeds"]
        second = {"seed": 2, "perplexity": first["perplexity"] * (1 + 0.0275 * off), "bleu": first["bleu"] + 0.4 * off}
        table[row]["seeds"].append(second)
    grey = noise(table, 2)
    assert 7.5 < grey.perplexity < 15 and 0.9 < grey.bleu < 2.1
    for axis, colours in zip(plot_variations(table).axes, (["0.6", "C1"], ["0.6", "C1"])):  # A1 is +7.5%, -0.9; C1 +24.2%, -2.1
        circles = [line for line in axis.lines if line.get_marker() == "o" and len(line.get_xdata())]
        assert [line.get_markeredgecolor() for line in circles] == colours


def test_variations_that_are_far_better_are_cut_on_their_side():
    table = {"base": measured_row(10.0, 20.0), "A1": measured_row(10.1, 20.0), "A2": measured_row(9.9, 20.0),
             "D1": measured_row(1.0, 20.0)}
    left, right = plot_variations(table).axes
    limit, (text,) = longest(table, 0), left.texts
    assert [bar.get_width() for bar in left.patches] == pytest.approx([1, -1, -limit]) and limit < 90
    assert text.get_text() == " -90% " and text.get_position() == (-limit, 2.6) and text.get_ha() == "right"
    assert not right.texts


def test_variations_run_two_seeds_of_each_row(tmp_path, monkeypatch):
    base = TrainingConfig(TransformerConfig(50, n_layers=2, d_model=12, d_ff=20, n_heads=3), seed=5)
    monkeypatch.setattr(variations, "train", lambda config, run: run.mkdir(parents=True))
    monkeypatch.setattr(variations, "measure", lambda run: {})
    monkeypatch.setattr(variations, "collect", lambda *given: {})
    run_variations(base, tmp_path, ["base", "A1"])
    assert {run.name for run in tmp_path.iterdir()} == {"base-seed5", "base-seed6", "A1-seed5", "A1-seed6"}


def test_variations_say_how_long_a_run_took(monkeypatch):
    reached = {"step": 6, "validation_perplexity": 5.0, "seconds": 100.0}
    config = SimpleNamespace(corpus="x", seed=3)
    corpus = SimpleNamespace(validation=[("a b c d", "w x y z")], target_language="de")
    monkeypatch.setattr(variations, "Run", lambda run: SimpleNamespace(config=config, reached=lambda: reached))
    monkeypatch.setattr(variations.corpora, "load", lambda name: corpus)
    def loaded(run, average):
        assert average == 1
        return SimpleNamespace(translate=lambda sources, split: ["w x y z"] * len(sources))
    monkeypatch.setattr(variations.Translator, "from_pretrained", loaded)
    assert variations.measure("run") == {"seed": 3, "steps": 6, "perplexity": 5.0, "bleu": pytest.approx(100), "minutes": 1.7}


def test_fast_search_greedy_goes_to_the_very_limit():
    torch.manual_seed(0)
    model = Transformer(SMALL)
    with torch.no_grad():
        model.embedding.weight[EOS] = 0  # its logit is 0, and another one always larger
    source = torch.tensor([[3, 4, 5, EOS], [6, EOS, PAD, PAD]])
    found = greedy_search(model, source, Search(extra_length=3))
    assert [len(tokens) for tokens in found] == [7, 5]


def test_bleu_has_no_reward_for_length_and_takes_pairs_alone():
    assert ngram_bleu(["a b c d e"], ["a b c d"]) == pytest.approx(100 * (4 / 5 * 3 / 4 * 2 / 3 * 1 / 2) ** 0.25)
    with pytest.raises(ValueError):
        ngram_bleu(["a b c d"], ["a b c d", "e f g h"])


def test_batching_shuffles_by_seed_0_unless_told_and_refuses_nothing_to_read():
    lengths = np.random.default_rng(3).integers(1, 9, (60, 2))
    usual, zero, one = (batches(lengths, 20, **given) for given in ({}, {"seed": 0}, {"seed": 1}))
    assert all(map(np.array_equal, usual, zero)) and not all(map(np.array_equal, usual, one))
    with pytest.raises(InputError, match="without a token"):
        batches(np.array([[3, 2], [0, 4]]), 20)


def test_checkpoints_of_before_there_was_a_word_for_it_were_written_on_schedule(tmp_path):
    for step, said in ((1, {}), (2, {"regular": False}), (3, {})):
        directory = tmp_path / "checkpoints" / f"step-{step:08}"
        directory.mkdir(parents=True)
        (directory / "state.json").write_text(json.dumps({"step": step, "epoch": 1} | said))
    assert [is_regular(directory) for directory in checkpoint_directories(tmp_path)] == [True, False, True]
    forget_old(tmp_path, keep=2)
    assert [directory.name for directory in checkpoint_directories(tmp_path)] == ["step-00000001", "step-00000003"]
