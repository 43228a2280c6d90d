"Details that no page tells: each was changed by tools/mutants.py without a test that noticed. Names begin with the module's."
import dataclasses
import math
import shutil
import signal
import statistics
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn

from annotated_transformer import EOS, PAD, UNK, InputError, Transformer, TransformerConfig
from annotated_transformer.additive_attention import AdditiveMultiHeadAttention
from annotated_transformer.attention import causal_mask
from annotated_transformer.attention_maps import AttentionMaps, sentence_ids
from annotated_transformer.batching import Batch, batches, by_length, pad, shift_right
from annotated_transformer.bleu import ngram_bleu
from annotated_transformer.checkpoints import load_into, require_room
from annotated_transformer.decoding import Search, beam_search, greedy_search, length_penalty
from annotated_transformer.evalb import BracketScores, bracket_scores
from annotated_transformer.layer_types import layer_types, path_length
from annotated_transformer.pairs import read_pairs
from annotated_transformer.processes import noted_signals
from annotated_transformer.regularization import label_smoothed_cross_entropy
from annotated_transformer.runs import Run, TrainingConfig, prepare
from annotated_transformer.tokenizer import Tokenizer
from annotated_transformer.training import evaluate
from annotated_transformer.training_cost import RunCost
from annotated_transformer.tree_search import DEEPEST, LONGEST_CHAIN, Paths, TreeSearch
from annotated_transformer.trees import Tree
from annotated_transformer.variations import PRINTED, noise, table_3

SMALL = TransformerConfig(11, n_layers=1, d_model=8, d_ff=12, n_heads=2, dropout=0.0, max_length=64)


def never_ends(model):
    "The same model, whose row of EOS is far from every output."
    with torch.no_grad():
        last = model.decoder.layers[-1].feed_forward.norm
        last.weight.zero_()
        last.bias.copy_(-10 * model.embedding.weight[EOS])
    return model.eval()


def test_additive_attention_sees_later_keys_unless_it_is_told_not_to():
    torch.manual_seed(0)
    attention = AdditiveMultiHeadAttention(6, 2, 3, 3)
    query, key, value = torch.randn(1, 2, 4, 3), torch.randn(1, 2, 4, 3), torch.randn(1, 2, 4, 3)
    whole, first = attention.attend(query, key, value), attention.attend(query, key, value, causal=True)
    torch.testing.assert_close(whole, attention.attend(query, key, value, causal=False))
    torch.testing.assert_close(first, attention.attend(query, key, value, causal_mask(4), causal=False))
    x = torch.randn(1, 4, 6)
    assert (attention.weights(x) > 0).all() and (attention.weights(x, causal=True)[..., 0, 1:] == 0).all()


def test_attention_maps_cut_each_side_as_its_own():
    tokenizer = SimpleNamespace(encode=lambda text: [5, 6, EOS], encode_target=lambda text: [7, 8, 9, EOS])
    model = SimpleNamespace(config=SimpleNamespace(max_length=9))
    assert sentence_ids(model, tokenizer, "x", "source") == [5, 6, EOS]
    assert sentence_ids(model, tokenizer, "x", "target") == [7, 8, 9, EOS]


def test_attention_maps_say_what_they_are():
    weights = {"encoder": torch.rand(3, 2, 4, 4), "decoder": torch.rand(3, 2, 5, 5), "encoder_decoder": torch.rand(3, 2, 5, 4)}
    maps = AttentionMaps(source=list("abcd"), target_input=list("vwxyz"), target=list("wxyz."), **weights)
    assert repr(maps) == "<AttentionMaps: 3 layers of 2 heads, from a b c d to w x y z .>"


def test_batching_without_an_epoch_keeps_the_order_and_else_begins_with_epoch_0():
    lengths = np.array([[n % 7 + 2, n % 5 + 2] for n in range(40)])
    plain = batches(lengths, 30, epoch=None)
    assert np.concatenate(plain).tolist() == by_length(lengths, np.arange(40)).tolist()
    first, same = batches(lengths, 30, seed=3), batches(lengths, 30, seed=3, epoch=0)
    assert [rows.tolist() for rows in first] == [rows.tolist() for rows in same]


def test_bleu_of_the_shortest_sentences():
    assert ngram_bleu(["a b c d"], ["a b c d"]) == 100      # one run of four
    assert ngram_bleu([""], ["a"]) == 0 == ngram_bleu(["a b c"], ["a b c"])  # none


def test_checkpoints_of_another_model_are_refused_whatever_is_missing():
    model = nn.Linear(3, 2)
    whole = model.state_dict()
    for other in ({"weight": whole["weight"]}, whole | {"more": torch.zeros(1)}, whole | {"bias": torch.zeros(3)}):
        with pytest.raises(InputError, match="do not fit one another"):
            load_into(model, other, "here")


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


def test_decoding_begins_with_the_papers_search():
    assert Search() == Search(beam_size=4, alpha=0.6, extra_length=50)
    source = torch.tensor([[4, 5, EOS]])
    torch.manual_seed(0)
    model = never_ends(Transformer(SMALL))
    assert len(greedy_search(model, source)[0]) == 53 == len(beam_search(model, source)[0][0].tokens)


def test_decoding_that_never_ends_is_scored_by_its_whole_length():
    torch.manual_seed(1)
    model, source = never_ends(Transformer(SMALL)), torch.tensor([[4, 5, 6, EOS]])
    for hypothesis in beam_search(model, source, 3, 1.0, 2)[0]:
        assert len(hypothesis.tokens) == 6 and hypothesis.log_probability < 0
        assert math.isclose(hypothesis.score, hypothesis.log_probability / length_penalty(6, 1.0), rel_tol=1e-6)


def test_decoding_tells_how_many_tokens_are_left():
    class Recorded:
        left = []

        def ids(self, left):
            self.left.append(left.tolist())
            return torch.tensor([[4, 5, 6]]).expand(len(left) * (1 if len(self.left) == 1 else 2), -1)

        def follow(self, sentences, beams, tokens):
            pass

    torch.manual_seed(0)
    source = pad([[4, EOS], [4, 5, EOS]])
    beam_search(Transformer(SMALL).eval(), source, 2, 0.6, 1, Recorded())
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


def test_layer_types_have_the_paths_of_table_1():
    torch.manual_seed(0)
    steps = {name: path_length(name, 8, n_heads=2, kernel=3, neighbourhood=3) for name in layer_types(4, 2, 3, 3)}
    assert steps["self-attention"] == 1 and steps["recurrent"] == 8
    assert steps["self-attention, restricted"] == 7                        # a layer sees one place to each side
    assert steps["convolution"] == 4 == steps["convolution, separable"]    # a layer sees two places back
    assert steps["convolution, dilated"] == 2                              # 2, then 6


def test_pairs_name_the_line_that_cannot_be_read(tmp_path):
    source, target = tmp_path / "a.en", tmp_path / "a.de"
    target.write_text("eins\nzwei\ndrei\nvier\nfünf\n", encoding="utf-8")
    for text, complaint in ((b"one\ntwo\n\xff\n", "line 3,"), (b"one\ntwo\n", "has 2 lines but .* has 5:"),
                            (b"1\n2\n3\n4\n5\n6\n7\n", "has 7 lines but .* has 5:")):
        source.write_bytes(text)
        with pytest.raises(InputError, match=complaint):
            read_pairs(source, target)


@pytest.mark.parametrize("alone, first, second, dies", [
    (True, signal.SIGINT, signal.SIGINT, True),     # the second Ctrl-C is meant
    (True, signal.SIGTERM, signal.SIGINT, False),
    (True, signal.SIGINT, signal.SIGTERM, False),
    (False, signal.SIGINT, signal.SIGINT, False),   # several processes get each Ctrl-C several times
])
def test_processes_die_of_the_second_ctrl_c_alone(alone, first, second, dies):
    with noted_signals(alone) as received:
        signal.raise_signal(first)
        if dies:
            with pytest.raises(KeyboardInterrupt):
                signal.raise_signal(second)
        else:
            signal.raise_signal(second)
    assert received == [first, *([] if dies else [second])]


def test_runs_are_the_papers_unless_told_otherwise():
    config = TrainingConfig(TransformerConfig.base(100))
    settings = (config.batch_tokens, config.warmup_steps, config.rate_factor, config.smoothing, config.init_gain, config.keep)
    assert settings == (25_000, 4_000, 1.0, 0.1, 1.0, 5)
    assert config.consistency == 0 and config.clip_norm is None and config.start_from is None
    assert dataclasses.replace(config, seed=0).seed == 0
    for seed in (-1, 2**64):
        with pytest.raises(InputError, match="seed must be"):
            dataclasses.replace(config, seed=seed)


def test_runs_tell_what_is_in_their_log(tmp_path):
    (tmp_path / "metrics.jsonl").write_text('{"step": 1, "loss": 2.5}\n{"step": 2')
    assert Run(tmp_path).metrics() == [{"step": 1, "loss": 2.5}]


def test_runs_keep_the_sums_of_their_data(tmp_path):
    for part in ("train", "validation"):
        for side, lines in (("en", "one\ntwo\nthree\n"), ("de", "eins\nzwei\ndrei\n")):
            (tmp_path / f"{part}.{side}").write_text(lines)
    config = TrainingConfig(TransformerConfig.tiny(20), corpus=str(tmp_path))
    run = tmp_path / "run"
    run.mkdir()
    prepare(config, run)
    tokens = run / "data" / "train.tokens"
    content = bytearray(tokens.read_bytes())
    content[0] ^= 1
    tokens.write_bytes(content)
    with pytest.raises(InputError, match="train.tokens"):
        prepare(config, run)


@pytest.mark.parametrize("lines", [[], [""], ["  ", ""]])
def test_tokenizer_of_no_words_says_so(lines):
    with pytest.raises(InputError, match="it holds no words"):
        Tokenizer.train(lines, 100)


def test_training_measures_with_and_without_smoothing():
    torch.manual_seed(0)
    model = Transformer(SMALL).eval()
    pairs = [(pad([[4, 5, EOS], [6, EOS]]), pad([[7, 8, 9, EOS], [UNK, EOS]])), (pad([[4, EOS]]), pad([[9, 9, EOS]]))]
    data = [Batch(source, shift_right(target), target) for source, target in pairs]
    found = evaluate(model, data, 0.3)
    with torch.no_grad():
        logits = [model(batch.source, batch.target_input) for batch in data]
    losses = {e: [float(label_smoothed_cross_entropy(x, b.target, e)) for x, b in zip(logits, data)] for e in (0.3, 0)}
    tokens = [int((b.target != PAD).sum()) for b in data]
    mean = {e: sum(n * loss for n, loss in zip(tokens, values)) / sum(tokens) for e, values in losses.items()}
    assert math.isclose(found.loss, mean[0.3], rel_tol=1e-5)
    assert math.isclose(found.perplexity, math.exp(mean[0]), rel_tol=1e-5)


def test_training_cost_says_millions_for_each_token():
    told = str(RunCost(10, 3600.0, 3600.0, 1_000, 2.5e9))
    assert "2.50e+09 in all, 2.50 million per target token" in told and "time          1.00 hours of updates on 1 device," in told


def test_transformer_sizes_are_the_papers():
    base, big = TransformerConfig.base(37_000), TransformerConfig.big(37_000)
    assert [getattr(base, name) for name in ("n_layers", "d_model", "d_ff", "n_heads", "d_k", "d_v", "dropout")] == [
        6, 512, 2048, 8, 64, 64, 0.1]
    assert [getattr(big, name) for name in ("n_layers", "d_model", "d_ff", "n_heads", "d_k", "d_v", "dropout")] == [
        6, 1024, 4096, 16, 64, 64, 0.3]


def test_tree_search_knows_the_shortest_way_and_the_deepest_tree():
    paths = Paths()
    paths.add([[4], [5, 6, 7]])
    *_, ends, rest = paths.tables("cpu")
    assert rest.tolist() == [0, 1, 0, 2, 1, 0] and ends.tolist() == [True, False, True, False, False, True]


def test_tree_search_opens_as_many_brackets_as_it_says():
    tokenizer = Tokenizer.train(["the dog chased it in the garden"] * 9, 40, ["(S", ")S", "(NP", ")NP", "XX"])
    search = TreeSearch(tokenizer, "XX")
    opening = search.brackets["S"][0]
    so_far, stay = search.begin([["dog", "it"]]), torch.tensor([0])
    word, = tokenizer.encode("XX")[:-1]
    depth = chain = 0
    while depth < DEEPEST:  # as deep as may be, a word after each chain that is as long as may be
        may_open = opening in so_far.ids(torch.tensor([10**6]))[0].tolist()
        assert may_open == (chain < LONGEST_CHAIN)
        if not may_open:
            break
        so_far.follow(stay, torch.tensor([[0]]), torch.tensor([[opening]]))
        depth, chain = depth + 1, chain + 1
    assert chain == min(LONGEST_CHAIN, DEEPEST)
    so_far.follow(stay, torch.tensor([[0]]), torch.tensor([[word]]))
    while depth < DEEPEST and opening in so_far.ids(torch.tensor([10**6]))[0].tolist():
        so_far.follow(stay, torch.tensor([[0]]), torch.tensor([[opening]]))
        depth += 1
    assert depth == min(DEEPEST, 2 * LONGEST_CHAIN) == int(so_far.depth)


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


def test_variations_have_the_noise_of_two_single_runs():
    seeds = [{"perplexity": 10.0, "bleu": 20.0}, {"perplexity": 12.0, "bleu": 23.0}]
    found = noise({"base": {"seeds": seeds}}, seeds=2)
    assert math.isclose(found.bleu, 2 * statistics.stdev([20, 23]))  # 2 s √(1/2 + 1/2)
    assert math.isclose(found[0], 100 * 2 * statistics.stdev([10, 12]) / 11)
