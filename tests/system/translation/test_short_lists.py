"The benchmark of short lists: what model 1 learns, what a list has, and what a search with one writes."
import json
from collections import defaultdict

import numpy as np
import pytest
import torch

from annotated_transformer import EOS, PAD, UNK, Transformer, TransformerConfig
from annotated_transformer.config import Search
from annotated_transformer.model.modes import evaluating
from annotated_transformer.translation.fast_search import beam_search, greedy_search
from annotated_transformer.translation.packed_weights import in_eight_bits, whole_rows
from benchmarks import short_lists

V = 11


def by_hand(sources, targets, rounds):
    "Model 1 as its equations say it, pair by pair."
    p = defaultdict(lambda: 1.0)
    for _ in range(rounds):
        counts, sums = defaultdict(float), defaultdict(float)
        for there, here in zip(sources, targets):
            for target in here:
                total = sum(p[one, target] for one in set(there))
                for one in set(there):
                    counts[one, target] += p[one, target] / total
                    sums[one] += p[one, target] / total
        p = defaultdict(float, {pair: count / sums[pair[0]] for pair, count in counts.items()})
    return p


def test_model_1_learns_what_its_equations_say():
    rng = np.random.default_rng(1)
    sources, targets = ([rng.integers(3, V, size=rng.integers(1, 6)).tolist() for _ in range(30)] for _ in range(2))
    for rounds in (1, 4):
        source, target, p = short_lists.model_1(sources, targets, V, rounds)
        found = dict(zip(zip(source.tolist(), target.tolist()), p.tolist()))
        assert found == pytest.approx(by_hand(sources, targets, rounds)) and len(found) > 40


def test_a_list_has_the_likeliest_of_each_token_and_the_most_frequent():
    sources, targets = [[3, 4], [3], [5], [5], [5], [5]], [[7, 8], [7], [9], [9], [10], [6]]
    likely = short_lists.learn(sources, targets, V, near=1, often=1)
    assert likely.near[[3, 4, 5, 6], 0].tolist() == [7, 8, 9, PAD]
    assert likely.of(torch.tensor([[4, PAD]])).tolist() == [PAD, EOS, UNK, 7, 8]   # 7 is as frequent as 9, and first
    assert likely.of(torch.tensor([[3, PAD], [4, 5]])).tolist() == [PAD, EOS, UNK, 7, 8, 9]
    assert short_lists.learn(sources, targets, V, near=3, often=1).near[5].tolist() == [9, 6, 10]


@pytest.fixture
def model():
    torch.manual_seed(2)
    return Transformer(TransformerConfig(V, n_layers=2, d_model=16, d_ff=20, n_heads=2, dropout=0.0)).eval()


@pytest.mark.parametrize("precision", ["float32", "int8"])
def test_a_search_with_a_list_is_the_search_in_which_nothing_else_is_likely(model, precision, monkeypatch):
    source, listed = torch.tensor([[5, 6, 7, 1], [9, 1, 0, 0], [8, 3, 1, 0]]), torch.tensor([PAD, EOS, UNK, 4, 6, 9, 10])
    searched, search = in_eight_bits(model) if precision == "int8" else model, Search(3, extra_length=4)
    monkeypatch.setattr(short_lists, "FEW", 0 if precision == "int8" else 8)  # the kernel for a few rows is not as exact
    narrow = short_lists.narrowed(searched, listed, whole_rows(model.embedding.weight.detach()), precision)

    def written(model, ids):
        beams = ([one.tokens for one in row] for row in beam_search(model, source, search))
        rows = [greedy_search(model, source, search), *beams]
        return [[ids[tokens].tolist() for tokens in row] for row in rows]

    with evaluating(model), torch.inference_mode():
        free, found = written(searched, torch.arange(V)), written(narrow, listed)
        project = searched.embedding.project_into
        others = torch.ones(V, dtype=torch.bool).index_fill(0, listed, False)
        monkeypatch.setattr(searched.embedding, "project_into",
                            lambda space, x: project(space, x).masked_fill(others, float("-inf")))
        assert found == written(searched, torch.arange(V)) != free


def test_a_trial_writes_what_was_asked(tmp_path, capsys):
    out = tmp_path / "results" / "lists.json"
    common = ["--model", "numbers-en-de", "--corpus", "numbers-en-de", "--rounds", "1", "--out", str(out)]
    threads = torch.get_num_threads()
    short_lists.main([*common, "--pairs", "300", "--sentences", "9"])
    assert torch.is_grad_enabled() and torch.get_num_threads() == threads, "what runs in this process afterwards may train"
    record = json.loads(out.read_text())
    assert "--pairs 300" in record["command"] and record["figures"]["validation"]["sentences"] == 9
    for works in record["figures"]["by_precision"].values():
        assert set(works) == set(short_lists.WORKS)
        for found in works.values():
            assert found["times_as_fast"] == found["rounds"][0] > 0 and 3 < found["tokens_listed"] <= 250
    assert set(record["figures"]["by_precision"]) == {"float32", "float16", "int8"}
