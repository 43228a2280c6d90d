"A variant touches its own page and one line, its name with its class: rotary positions, as of the page Since 2017."
import copy
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor

import annotated_transformer
from annotated_transformer import EOS, PAD, InputError, config
from annotated_transformer.config import Search, TransformerConfig
from annotated_transformer.exchange.ctranslate2 import to_ctranslate2
from annotated_transformer.figures.architecture import draw_transformer
from annotated_transformer.model.attention import MultiHeadAttention
from annotated_transformer.model.fast_attention import attend
from annotated_transformer.model.position import PositionalEncoding
from annotated_transformer.model.regularization import label_smoothed_cross_entropy
from annotated_transformer.model.since_2017 import RotaryAttention, turned
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.training.optimizer import adam
from annotated_transformer.translation.fast_search import beam_search, check_decoding, greedy_search
from annotated_transformer.translation.kv_cache import PreallocatedCache
from annotated_transformer.translation.packed_weights import in_eight_bits
from annotated_transformer.translation.search import next_token_without_cache, readable_beam_search, readable_greedy_search

NAME = "rotary here"  # so that the package may have a "rotary" of its own


@pytest.fixture
def model(monkeypatch) -> Transformer:
    "Trained a little, so that no two of its words are equally likely."
    with pytest.raises(InputError, match=f"compatibility must be 'dot-product' or .*, not '{NAME}'"):
        TransformerConfig(11, compatibility=NAME)
    monkeypatch.setitem(config.PARTS["compatibility"], NAME, f"{RotaryAttention.__module__}:RotaryAttention")  # the one line
    torch.manual_seed(0)
    model = Transformer(TransformerConfig(11, 2, 12, 20, 3, dropout=0.0, compatibility=NAME, max_length=12))
    optimizer, losses = adam(model.parameters()), []
    optimizer.param_groups[0]["lr"] = 0.02
    source, target = torch.tensor([[5, 6, 7, EOS], [8, 4, EOS, PAD]]), torch.tensor([[7, 6, 5, EOS], [4, 8, EOS, PAD]])
    for _ in range(20):
        loss = label_smoothed_cross_entropy(model(source, torch.cat([torch.zeros(2, 1).long(), target[:, :-1]], 1)), target, 0.0)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.5 * losses[0]
    return model.eval()


SOURCE = torch.tensor([[5, 6, 7, 3, EOS], [8, 4, EOS, PAD, PAD]])


def test_a_variant_is_registered_in_one_place():
    package = Path(annotated_transformer.__file__).parent
    later = package / "model" / "since_2017.py"  # a model of its own, built from pre-norm layers
    sources = {path: path.read_text(encoding="utf-8") for path in package.rglob("*.py") if path.stem != "_modidx"}
    for places in config.PARTS.values():
        for name, place in [*places.items()][1:]:  # past the paper's part, which others build on
            module, part = place.split(":")
            own = package.parent / f"{module.replace('.', '/')}.py"
            known = [path for path, text in sources.items() if part in text and path not in (own, later)]
            assert known == [package / "config.py"], name


def test_decoding_with_a_cache_gives_what_the_whole_model_gives(model):
    found = beam_search(model, SOURCE, Search(beam_size=3, extra_length=4)), greedy_search(model, SOURCE, Search(extra_length=4))
    for row, ids in enumerate(SOURCE):
        next_token, longest = next_token_without_cache(model, ids), int((ids != PAD).sum()) + 4
        expected = readable_beam_search(next_token, 3, 0.6, longest)[0]
        assert found[0][row][0].tokens == expected.tokens and abs(found[0][row][0].score - expected.score) < 1e-4
        assert found[1][row] == readable_greedy_search(next_token, longest)


class TurnedTooLate(MultiHeadAttention):
    "As most would write it first: in decoding the axes are no positions."

    def attend(self, query: Tensor, key: Tensor, value: Tensor, allowed: Tensor | None = None, causal: bool = False) -> Tensor:
        query, key = (turned(heads, torch.arange(heads.size(2))) for heads in (query, key))
        return attend(query, key, value, allowed, causal)


def shared(n_kv_heads: int) -> Callable[..., RotaryAttention]:
    "Of four heads of queries, whose keys and values are fewer."
    return lambda d_model, n_heads, d_k, d_v: RotaryAttention(d_model, 4, d_k, d_v, n_kv_heads)


def with_attention(kind: Callable[..., MultiHeadAttention]) -> Transformer:
    class Variant(Transformer):
        def attention(self):
            return kind(12, 2, 4, 5)

    torch.manual_seed(0)
    return Variant(TransformerConfig(11, 2, 12, 20, 2, d_k=4, d_v=5, max_length=12))


@pytest.mark.parametrize("kind", [MultiHeadAttention, RotaryAttention, shared(1), shared(2)])
def test_a_part_that_decodes_as_it_trains_is_let_through(kind):
    model = with_attention(kind)
    for dtype in (torch.float32, torch.float64):
        with torch.autocast("cpu", torch.bfloat16):  # whose 16 bits are no mistake of the model
            check_decoding(model.to(dtype))
    assert model.training, "the mode is as it was"
    found = beam_search(model.float(), SOURCE, Search(beam_size=3, extra_length=4))
    expected = readable_beam_search(next_token_without_cache(model.eval(), SOURCE[0]), 3, 0.6, 9)
    assert found[0][0].tokens == expected[0].tokens and found[0][0].score == pytest.approx(expected[0].score, abs=1e-4)


def test_a_cache_copies_keys_and_values_only_where_some_heads_share_them():
    for n_kv_heads, copied in ((1, False), (2, True), (4, False)):
        attention = shared(n_kv_heads)(12, 2, 4, 5)
        assert PreallocatedCache(attention, torch.zeros(2, 3, sum(attention.widths[1:])), grows=True).copied == copied


def test_attention_over_the_memory_may_be_another():
    class Variant(Transformer):
        def attention(self):
            return RotaryAttention(12, 2, 4, 5)

        def memory_attention(self):
            return MultiHeadAttention(12, 2, 4, 5)

    torch.manual_seed(0)
    model, plain = Variant(TransformerConfig(11, 2, 12, 20, 2, d_k=4, d_v=5, max_length=12)), with_attention(RotaryAttention)
    kinds = [[type(part.sublayer) for part in (layer.self_attention, layer.memory_attention)] for layer in model.decoder.layers]
    assert kinds == [[RotaryAttention, MultiHeadAttention]] * 2 and isinstance(
        plain.decoder.layers[0].memory_attention.sublayer, RotaryAttention), "a class that says nothing of it has one kind"
    check_decoding(model)


def test_a_part_that_knows_its_position_in_training_alone_is_refused():
    with pytest.raises(InputError, match="gives token 2 a different probability in decoding.*project_self"):
        check_decoding(with_attention(TurnedTooLate))


def test_its_maps_its_picture_its_files_and_its_eight_bits(model, tmp_path):
    target_input = torch.tensor([[PAD, 3, 4]])
    maps = model.attention_maps(SOURCE[:1], target_input)
    first, x = model.encoder.layers[0].self_attention.sublayer, model.embed(SOURCE[:1])
    query, key, _ = first.project(x)
    torch.testing.assert_close(maps.encoder[0], (query @ key.mT / 4**0.5).softmax(-1))
    draw_transformer(copy.deepcopy(model))
    model.save_pretrained(tmp_path)
    torch.testing.assert_close(Transformer.from_pretrained(tmp_path)(SOURCE[:1], target_input), model(SOURCE[:1], target_input))
    rounded, exact = (beam_search(one, SOURCE, Search(beam_size=3))[0][0] for one in (in_eight_bits(model), model))
    assert rounded.tokens == exact.tokens


class OneHeadOfKeys(RotaryAttention):
    "Multi-query attention."

    def __init__(self, *sizes: int):
        super().__init__(*sizes, n_kv_heads=1)


@pytest.mark.parametrize("fewer_keys", [False, True])
def test_it_goes_to_onnx_step_by_step(fewer_keys, request, monkeypatch, tmp_path):
    pytest.importorskip("onnxruntime", reason="the extra `exchange` is not installed")
    from annotated_transformer.exchange.onnx import to_onnx
    from annotated_transformer.exchange.onnx_translator import OnnxTranslator

    if fewer_keys:
        monkeypatch.setitem(config.PARTS["compatibility"], NAME, f"{__name__}:OneHeadOfKeys")
        torch.manual_seed(0)
        model = Transformer(TransformerConfig(11, 2, 12, 20, 3, compatibility=NAME, max_length=12)).eval()
    else:
        model = request.getfixturevalue("model")
    to_onnx(model, tmp_path / "onnx")
    search = Search(beam_size=3, extra_length=4)
    found = OnnxTranslator(tmp_path / "onnx").search([[5, 6, 7, 3, EOS], [8, 4, EOS]], search)
    for ours, theirs in zip(beam_search(model, SOURCE, search), found):
        assert ours[0].tokens == theirs[0].tokens and abs(ours[0].score - theirs[0].score) < 1e-4


def test_software_that_does_not_know_it_refuses_it(model):
    pytest.importorskip("transformers", reason="the extra `exchange` is not installed")
    from annotated_transformer import InputError
    from annotated_transformer.exchange.marian import to_marian

    with pytest.raises(InputError, match=f"compatibility='{NAME}'"):
        to_marian(model)


class NoPositions(PositionalEncoding):
    "Adds nothing."

    def forward(self, x: Tensor, start: int = 0) -> Tensor:
        return x


def test_positions_of_ones_own_are_named_in_figure_1_and_go_into_no_table_of_others(monkeypatch, tmp_path):
    monkeypatch.setitem(config.PARTS["positions"], NAME, f"{__name__}:NoPositions")
    model = Transformer(TransformerConfig(11, 1, 12, 20, 3, positions=NAME, max_length=12))
    drawn = {text.get_text() for axes in draw_transformer(model).axes for text in axes.texts}
    assert any(NAME in text for text in drawn) and not any("sinusoids" in text for text in drawn)
    pytest.importorskip("ctranslate2")
    with pytest.raises(InputError, match=f"CTranslate2 has no form for a model with positions='{NAME}'"):
        to_ctranslate2(model, tmp_path / "there")
    assert not (tmp_path / "there").exists()
