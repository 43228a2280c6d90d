"What pages say of formulas: where they hold, where a sum begins, what follows; each counted without the package's own."
import json
import math
import re
from pathlib import Path

import pytest
import torch
from torch import Tensor

from annotated_transformer.config import TransformerConfig
from annotated_transformer.model.transformer import Transformer

NOTEBOOKS = Path(__file__).parents[3] / "nbs"


def prose(page: str) -> str:
    "A page's Markdown on one line."
    cells = json.loads((NOTEBOOKS / f"{page}.ipynb").read_text(encoding="utf-8"))["cells"]
    return re.sub(r"\s+", " ", " ".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"))


def untrained(seed: int, vocab_size: int, n_layers: int, d_model: int) -> tuple[Tensor, Tensor]:
    "The logits of a new model, and the tokens that came in; none is <pad>."
    torch.manual_seed(seed)
    config = TransformerConfig(vocab_size, n_layers=n_layers, d_model=d_model, d_ff=2 * d_model, n_heads=4, dropout=0.0)
    source, target_input = torch.randint(3, vocab_size, (12, 5)), torch.randint(3, vocab_size, (12, 7))
    with torch.no_grad():
        return Transformer(config).eval()(source, target_input), target_input


def test_a_sum_over_the_vocabulary_begins_with_pad_which_is_token_0():
    "There are V tokens, 0 to V - 1: (emb.1) and (reg.2) had 1 to V."
    texts = [path.read_text(encoding="utf-8") for kind in ("ipynb", "md") for path in NOTEBOOKS.rglob(f"*.{kind}")]
    bounds = [bound for text in texts for bound in re.findall(r"\\+sum_\{v=(\d)\}\^\{([^}]*)\}", text)]
    assert len(bounds) >= 4 and set(bounds) == {("0", "V-1")}


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_an_untrained_model_of_one_layer_expects_the_token_that_came_in_and_one_of_six_does_not(seed):
    "Transformer, Try 2; so (count.2) of Counting and saving is too low for one layer."
    for n_layers, low, high in ((1, 2.5, 12), (6, -1.2, 1.2)):
        for vocab_size, d_model in ((13, 64), (13, 128)):
            logits, came_in = untrained(seed, vocab_size, n_layers, d_model)
            assert low < logits.gather(-1, came_in[..., None]).mean() < high, (n_layers, d_model)
    for n_layers, low, high in ((1, 0.4, 5), (6, -0.25, 0.25)):
        logits, _ = untrained(seed, 600, n_layers, 256)
        loss = logits.logsumexp(-1).mean() - logits[..., 3:].mean()  # of a target drawn at random
        assert low < loss - (math.log(600) + 0.5) < high, n_layers
    assert "after six, as in the base model, none of it can be seen" in prose("paper/3_transformer")
    assert "unless the model has only one layer and so [expects the token" in prose("model/pretrained")


def test_at_any_width_the_rate_is_the_same_share_of_a_new_weight():
    "Optimizer, Try 2: every matrix starts about d_model^-0.5 from zero, and (3) has this factor."
    of_widths = []
    for d_model in (64, 192):
        torch.manual_seed(0)
        model = Transformer(TransformerConfig(900, n_layers=1, d_model=d_model, d_ff=4 * d_model, n_heads=4))
        of_widths.append([p.square().mean().sqrt().item() * d_model**0.5 for p in model.parameters() if p.dim() == 2])
        assert all(0.6 < size < 1.05 for size in of_widths[-1])
    torch.testing.assert_close(*map(torch.tensor, of_widths), rtol=0.03, atol=0)
    assert "the rate is the same share of a new weight at any width" in prose("paper/5.3_optimizer")


def test_some_matrix_fits_any_table_of_no_more_than_five_rows_above_its_columns():
    "Position, Try 1: the last five rows have no row five places further on."
    torch.manual_seed(0)
    for rows, fits in ((17, True), (16 + 5, True), (16 + 6, False)):
        table = torch.randn(rows, 16, dtype=torch.float64)
        matrix = torch.linalg.lstsq(table[:-5], table[5:], driver="gelsd").solution
        assert ((table[:-5] @ matrix - table[5:]).abs().max() < 1e-9) == fits, rows
    assert "at least six more rows than columns" in prose("paper/3.5_position")


def test_centred_dilated_kernels_miss_the_last_position_at_the_lengths_named():
    "Layers of Table 1, Try: by sets of positions, without a layer."
    missed = []
    for n in range(3, 15):
        reached = {0}
        for layer in range(1, n + 1):
            reached = {at + step for at in reached for step in (-(3 ** (layer - 1)), 0, 3 ** (layer - 1)) if 0 <= at + step < n}
            if n - 1 in reached:
                break
        else:
            missed.append(n)
    assert missed == [3, 6, 7, 8, 9, 12]
    said = prose("tables/layer_types")
    assert "there is none for $n$ = 3, 6 to 9 and 12" in said and "by $-3^{l-1}$, $0$ or $3^{l-1}$ places" in said


def of_random_keys(d_k: int, root: bool) -> tuple[Tensor, Tensor]:
    "Of 600 random queries over 16 keys: the slope (att.1), and the length of the output's gradient."
    torch.manual_seed(1)
    query, key = (torch.randn(600, *size, d_k, dtype=torch.float64) for size in ((), (16,)))
    query.requires_grad_()
    exp = ((query[:, None] * key).sum(-1) / (d_k**0.5 if root else 1.0)).exp()
    weights = exp / exp.sum(1, keepdim=True)
    gradient, = torch.autograd.grad((weights * torch.randn(600, 16)).sum(), query)
    return (weights * (1 - weights)).sum(1).detach(), gradient.norm(dim=1)


def test_without_the_root_many_queries_have_no_slope_and_the_mean_gradient_is_larger():
    for d_k, low, high in ((64, 0.2, 0.3), (1024, 0.65, 0.75)):
        (slope, gradient), (own_slope, own_gradient) = of_random_keys(d_k, root=False), of_random_keys(d_k, root=True)
        assert low < (slope < 0.01).double().mean() < high and own_slope.min() > 0.01
        assert slope.mean() < own_slope.mean() and slope.mean() > own_slope.mean() / d_k**0.5  # by score, and by q·k
        assert gradient.mean() > 3 * own_gradient.mean()
    shares = []
    for d_k in (64, 1024):  # "these queries": the 500 that the page draws for its figure, written anew
        torch.manual_seed(0)
        query, key = torch.randn(500, 1, d_k), torch.randn(500, 16, d_k)
        weights = (query @ key.mT).softmax(-1)
        shares.append(((weights * (1 - weights)).sum(-1) < 0.01).double().mean().item())
    assert shares == [pytest.approx(share, abs=0.03) for share in (1 / 4, 3 / 4)]
    assert "about a quarter of these queries have a slope below 0.01, at 1024 about three in four" in prose("paper/3.2_attention")


def test_in_the_lookup_of_variants_the_first_gradient_is_larger_without_the_root():
    "Variants, Try 1: the lookup at its first step, written anew."
    sizes, still = {True: [], False: []}, []
    for root in sizes:
        for seed in (0, 1, 2):
            torch.manual_seed(seed)
            asked, stored, projections = torch.randn(32, 64), torch.randn(32, 64), torch.randn(2, 64, 256) / 8
            projections.requires_grad_()
            shown, value = torch.rand(8, 32).argsort(1)[:, :16], torch.randn(8, 16, 16)
            scores = asked[shown] @ projections[0] @ (stored[shown] @ projections[1]).mT / (16 if root else 1)
            weights = scores.softmax(-1)
            gradient, = torch.autograd.grad(((weights @ value - value) ** 2).mean(), projections)
            sizes[root].append(gradient.norm().item())
            still += [] if root else [(1 - weights.square().sum(-1) < 0.01).double().mean().item()]
    assert 9 < sum(sizes[False]) / sum(sizes[True]) < 11 and 0.4 < sum(still) / 3 < 0.6
    assert "first gradient is about ten times the scaled one's. But half of its queries" in prose("model/variants")
