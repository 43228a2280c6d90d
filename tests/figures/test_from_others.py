"Maps from plain tensors and from what a model of Hugging Face's returns: numbers, labels and padding, and what is refused."
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from annotated_transformer import InputError
from annotated_transformer.figures.attention_maps import AttentionMaps, plot_figure

SOURCE, TARGET = ["The", "dog", "·s", "<eos>"], ["Die", "Hunde", "<eos>"]
L, h, S, T = 2, 3, 4, 3


def weights(*size: int, causal: bool = False) -> torch.Tensor:
    scores = torch.randn(*size)
    return (scores.masked_fill(~torch.ones(size[-2:], dtype=torch.bool).tril(), float("-inf")) if causal else scores).softmax(-1)


def refused(*given, by=AttentionMaps.from_tensors, **named) -> str:
    with pytest.raises(InputError) as error:
        by(*given, **named)
    assert "\n" not in str(error.value)
    return str(error.value)


def test_tensors_arrays_and_lists_of_layers_are_the_same_maps():
    encoder, decoder, cross = weights(L, h, S, S), weights(L, h, T, T, causal=True), weights(L, h, T, S)
    maps = AttentionMaps.from_tensors(SOURCE, TARGET, encoder, decoder, cross)
    assert (maps.source, maps.target, maps.target_input) == (SOURCE, TARGET, ["<start>", "Die", "Hunde"])
    assert [*maps.kinds] == ["encoder", "decoder", "encoder_decoder"] and maps.kinds["decoder"].keys == "target, read"
    for other in (AttentionMaps.from_tensors(SOURCE, TARGET, [*encoder], decoder.numpy(), cross.tolist()),
                  AttentionMaps.from_tensors(tuple(SOURCE), TARGET, tuple(encoder.numpy()), decoder.requires_grad_(), cross)):
        for kind, expected in (("encoder", encoder), ("decoder", decoder), ("encoder_decoder", cross)):
            found, queries, keys = other.of(kind)
            assert torch.equal(found, expected.detach()) and not found.requires_grad
            assert found.shape == (L, h, len(queries), len(keys))
    double, half = (AttentionMaps.from_tensors(SOURCE, encoder=encoder.to(kind)).encoder for kind in (torch.float64, torch.bfloat16))
    assert double.dtype is torch.float64 and torch.equal(half, encoder.bfloat16().float())


def test_a_kind_that_is_missing_is_not_there_and_the_others_are():
    encoder, decoder, cross = weights(L, h, S, S), weights(L + 1, h, T, T, causal=True), weights(L + 1, 2 * h, T, S)
    alone = AttentionMaps.from_tensors(SOURCE, encoder=encoder)
    assert [*alone.kinds] == ["encoder"] and alone.kinds["encoder"][1:] == ("text", "text") and alone.decoder.shape == (0, 0, 0, 0)
    assert repr(alone) == "<AttentionMaps: 2 layers of 3 heads, from The dog ·s <eos>>"
    assert refused("encoder_decoder", by=alone.of) == "these maps hold no encoder-decoder attention: choose one of encoder"
    decoding = AttentionMaps.from_tensors(target_input=TARGET, decoder=decoder)
    assert decoding.of("decoder")[1:] == (TARGET, TARGET) and decoding.target == ["Hunde", "<eos>", "…"]
    assert repr(decoding) == "<AttentionMaps: 3 layers of 3 heads, from Die Hunde <eos>>"
    both = AttentionMaps.from_tensors(SOURCE, TARGET, encoder, encoder_decoder=cross)
    assert repr(both) == ("<AttentionMaps: 2 layers of 3 heads (encoder) and 3 layers of 6 heads (encoder_decoder), "
                          "from The dog ·s <eos> to Die Hunde <eos>>")
    assert both.words().source == ["The", "dogs", "<eos>"] and [*both.words().kinds] == ["encoder", "encoder_decoder"]
    torch.testing.assert_close(both.words().encoder_decoder[..., 1], cross[..., 1:3].sum(-1))
    assert torch.equal(decoding.words().decoder, decoder)


@pytest.mark.parametrize("given, said", [
    ({}, "give weights of at least one kind: encoder, decoder, encoder_decoder"),
    ({"encoder": weights(h, S, S)}, "encoder: the weights have the shape (3, 4, 4): give (layers, heads, 4, 4), for 4 queries (source)"),
    ({"encoder_decoder": weights(L, h, S, T)},
     "encoder_decoder: the weights have the shape (2, 3, 4, 3): give (layers, heads, 3, 4), for 3 queries (target) and 4 keys (source)"),
    ({"decoder": weights(L, h, S, S)}, "decoder: the weights have the shape (2, 3, 4, 4): give (layers, heads, 3, 3)"),
    ({"encoder": [weights(h, S, S), weights(1, S, S)]}, "encoder: give one tensor (layers, heads, queries, keys), or a list"),
    ({"encoder": 3}, "encoder: give one tensor"),
    ({"encoder": weights(L, h, S, S).to_sparse()}, "encoder: the weights are sparse or complex: give real numbers"),
    ({"encoder": weights(L, h, S, S).to(torch.complex64)}, "encoder: the weights are sparse or complex: give real numbers"),
    ({"encoder": weights(0, h, S, S)}, "encoder: the weights hold nothing, their shape is (0, 3, 4, 4): leave them out"),
    ({"encoder": torch.full((L, h, S, S), -0.5)}, "encoder: the numbers go from -0.5 to -0.5, and weights lie between 0 and 1"),
    ({"encoder": torch.full((L, h, S, S), float("nan"))}, "encoder: the numbers go from nan"),
    ({"encoder": weights(L, h, S, S), "source": None}, "encoder: name its tokens, as the list `source`"),
    ({"decoder": weights(L, h, S, S), "target": None}, "decoder: name its tokens, as the list `target_input`"),
    ({"encoder": weights(L, h, S, S), "source": "dogs"}, "source: give a list of labels, a text for each token"),
    ({"encoder": weights(L, h, S, S), "source": [1, 2, 3, 4]}, "source: give a list of labels"),
    ({"encoder": weights(L, h, S, S), "source": 7}, "source: give a list of labels"),
])
def test_what_does_not_fit_is_refused_in_one_sentence(given, said):
    assert refused(**{"source": SOURCE, "target": TARGET} | given).startswith(said)


def test_without_its_end_a_sentence_keeps_the_other_weights_as_they_are():
    encoder, decoder, cross = weights(L, h, S, S), weights(L, h, T, T, causal=True), weights(L, h, T, S)
    maps = AttentionMaps.from_tensors(SOURCE, TARGET, encoder, decoder, cross).without_end()
    assert (maps.source, maps.target_input, maps.target) == (["The", "dog", "·s"], ["Die", "Hunde"], ["Die", "Hunde"])
    assert torch.equal(maps.encoder, encoder[..., :3, :3]) and torch.equal(maps.encoder_decoder, cross[..., :2, :3])
    assert torch.equal(maps.decoder, decoder[..., 1:, 1:])  # without `<start>`, which is the first that is read
    assert (maps.encoder.sum(-1) < 1).all()
    torch.testing.assert_close(maps.words().encoder[..., 1, 0], encoder[..., 1:3, 0].mean(-1))
    signs = ["[CLS]", "<s>", "dog", "[SEP]", "</s>", "<pad>", "<|endoftext|>", "[MASK]", "<unk>", "[UNK]", "."]
    kept = AttentionMaps.from_tensors(signs, encoder=weights(1, 1, 11, 11)).without_end()
    assert kept.source == ["dog", "[MASK]", "<unk>", "[UNK]", "."]
    one_kind = AttentionMaps.from_tensors(SOURCE, ["<eos>"], encoder, weights(L, h, 1, 1)).without_end()
    assert [*one_kind.kinds] == ["encoder"] and one_kind.target == []
    only_end = AttentionMaps.from_tensors(["<s>", "</s>"], encoder=weights(1, 1, 2, 2))
    assert "nothing is left to draw" in refused(by=only_end.without_end)


def outputs(**named):
    "As a model returns them: a tuple of layers (sentences, heads, queries, keys), None for what it does not have."
    names = ("attentions", "encoder_attentions", "decoder_attentions", "cross_attentions")
    return SimpleNamespace(**dict.fromkeys(names) | {name: tuple(layers) for name, layers in named.items()})


def test_the_sentence_asked_for_is_taken_and_padding_is_left_out():
    attentions = weights(L, 2, h, 6, 6)  # (layers, sentences, ...)
    tokens = {"input_ids": [list("abcdef"), list("uvwxyz")], "attention_mask": [[1] * 6, [1, 1, 1, 1, 0, 0]]}
    for number, length in ((0, 6), (1, 4)):
        maps = AttentionMaps.from_hugging_face(outputs(attentions=attentions), tokens, number=number)
        assert torch.equal(maps.encoder, attentions[:, number, :, :length, :length])
        assert maps.source == tokens["input_ids"][number][:length]
    by_name = AttentionMaps.from_hugging_face({"attentions": tuple(attentions)}, list("abcdef"))
    assert torch.equal(by_name.encoder, attentions[:, 0])


def test_a_model_that_never_looks_ahead_is_a_decoder():
    attentions = weights(L, 1, h, 5, 5, causal=True)
    attentions[..., :2, :] = 0.2  # rows of padding look anywhere, as they do where all of their scores are masked
    tokens = {"input_ids": torch.tensor([[0, 0, 4, 5, 6]]), "attention_mask": torch.tensor([[0, 0, 1, 1, 1]])}
    tokenizer = SimpleNamespace(convert_ids_to_tokens=lambda row: [f"Ġ{'abcdefg'[i]}" for i in row], unk_token=None,
                                get_vocab=lambda: {"Ġa": 0}, all_special_tokens=[])
    maps = AttentionMaps.from_hugging_face(outputs(attentions=attentions), tokens, tokenizer)
    assert [*maps.kinds] == ["decoder"] and maps.of("decoder")[1:] == (list("efg"), list("efg"))
    assert torch.equal(maps.decoder, attentions[:, 0, :, 2:, 2:])
    later = attentions.clone()
    later[1, 0, 2, 3] *= 0.9
    later[1, 0, 2, 3, 4] = 0.1  # one weight of one head
    assert [*AttentionMaps.from_hugging_face(outputs(attentions=later), tokens, tokenizer).kinds] == ["encoder"]


def test_of_two_stacks_each_label_stands_at_its_axis():
    three = {"encoder_attentions": weights(L, 2, h, S, S), "decoder_attentions": weights(3, 2, 2, 5, 5, causal=True),
             "cross_attentions": weights(3, 2, 2, 5, S)}
    source, read = [list("abcd"), list("efgh")], [list("vwxyz"), list("rstuv")]
    given = {"input_ids": source, "attention_mask": [[1, 1, 1, 1], [1, 1, 1, 0]]}
    for target in ({"decoder_input_ids": read}, {"labels": [[*"wxyz!"], ["s", "t", "u", -100, -100]]}):
        first = AttentionMaps.from_hugging_face(outputs(**three), given | target)
        assert torch.equal(first.encoder_decoder, three["cross_attentions"][:, 0])
        assert torch.equal(first.decoder, three["decoder_attentions"][:, 0])
        assert (first.source, first.target[:4]) == (source[0], list("wxyz")) and first.target_input[1:] == list("wxyz")
        assert (first.target_input[0], first.target[4]) == (("v", "…") if "decoder_input_ids" in target else ("<start>", "!"))
    second = AttentionMaps.from_hugging_face(outputs(**three), given | target, number=1)
    assert (second.source, second.target_input, second.target) == (list("efg"), ["<start>", "s", "t"], list("stu"))
    assert torch.equal(second.encoder_decoder, three["cross_attentions"][:, 1, :, :3, :3])
    assert torch.equal(second.decoder, three["decoder_attentions"][:, 1, :, :3, :3])
    by_hand = AttentionMaps.from_hugging_face(outputs(**three), source[0], target_tokens=read[0])
    assert torch.equal(by_hand.encoder, three["encoder_attentions"][:, 0]) and by_hand.target_input == read[0]
    tokenizer = SimpleNamespace(all_special_tokens=["x"], unk_token="?", pad_token="x", pad_token_id=None, get_vocab=lambda: {"x": 0})
    written = [*"xvwxx"]  # by `generate`, which begins and ends with padding
    short = AttentionMaps.from_hugging_face(outputs(**three), source[0], tokenizer, target_tokens=written)
    assert (short.target_input, short.target) == ([*"xvw"], [*"vw…"]) and short.decoder.shape[2:] == (3, 3)
    tokenizer = SimpleNamespace(convert_ids_to_tokens=lambda row: [*map("abcdefg".__getitem__, row)], all_special_tokens=["g"],
                                unk_token="?", pad_token="g", pad_token_id=6, eos_token_id=6, get_vocab=lambda: {"a": 0})
    given = {"input_ids": [0, 1, 2, 3], "decoder_input_ids": [0, 1, 6, 6, 6]}
    ended = AttentionMaps.from_hugging_face(outputs(**three), given, tokenizer)
    assert (ended.target_input, ended.target) == ([*"abg"], [*"bg…"])
    beside = outputs(attentions=three["decoder_attentions"], cross_attentions=three["cross_attentions"])
    maps = AttentionMaps.from_hugging_face(beside, source[0], target_tokens=read[0])
    assert [*maps.kinds] == ["decoder", "encoder_decoder"] and torch.equal(maps.decoder, three["decoder_attentions"][:, 0])
    assert refused(beside, given | target, by=AttentionMaps.from_hugging_face).startswith("this decoder looks at another model's")


STEPS = [(weights(1, h, 1, n),) for n in (1, 2)]  # what `generate` returns


@pytest.mark.parametrize("found, tokens, said", [
    (outputs(), list("abcd"), 'the outputs hold no attentions: load the model with attn_implementation="eager" and call it with output_'),
    (outputs(attentions=()), list("abcd"), "the outputs hold no attentions"),
    ((1, 2), list("abcd"), "the outputs are a tuple, which does not say what is what: call the model with return_dict=True"),
    (outputs(attentions=weights(L, 1, h, S, S)), list("abc"), "encoder: the weights have the shape (2, 3, 4, 4): give (layers, heads, 3, 3)"),
    (outputs(attentions=weights(L, 1, h, S, S)), [5, 6, 7, 8], "these are ids and not texts: give the tokenizer too"),
    (outputs(attentions=weights(L, 1, h, S, S)), {"attention_mask": [[1]]}, "name what the model has read"),
    (outputs(attentions=[weights(1, h, S, S), None]), list("abcd"), "attentions: not every layer has weights"),
    (outputs(attentions=[weights(1, h, S, S), weights(1, h + 1, S, S)]), list("abcd"), "encoder: give one tensor"),
    (outputs(attentions=torch.full((L, 1, h, S, S), 1.1 / S)), list("abcd"), "attentions: the weights of one query sum to 1.1 and not to 1"),
    (outputs(attentions=weights(L, 1, h, 1, S)), list("abcd"), "attentions: 1 queries look at 4 keys, as where keys are kept"),
    (outputs(attentions=weights(L, 1, 0, S, S)), list("abcd"), "encoder: the weights hold nothing, their shape is (2, 0, 4, 4)"),
    (outputs(attentions=STEPS), list("abcd"), "attentions of `generate` hold one step each"),
    (outputs(encoder_attentions=weights(L, 1, h, S, S), decoder_attentions=STEPS), list("abcd"), "decoder_attentions of `generate`"),
    (outputs(cross_attentions=weights(L, 1, h, T, S)), list("abcd"), "name what the decoder has read, as target_tokens=..."),
])
def test_outputs_that_hold_no_maps_are_refused_in_one_sentence(found, tokens, said):
    assert refused(found, tokens, by=AttentionMaps.from_hugging_face).startswith(said)


def test_a_sentence_that_is_not_in_the_batch_is_refused():
    found = outputs(attentions=weights(L, 2, h, S, S))
    for number, tokens in ((2, list("abcd")), (-1, list("abcd")), (1, [list("abcd")])):
        said = refused(found, tokens, number=number, by=AttentionMaps.from_hugging_face)
        assert f"there is no sentence {number}" in said


def test_an_array_of_another_package_is_read_too():
    array = np.full((1, 1, S, S), 0.25)
    assert torch.equal(AttentionMaps.from_hugging_face(outputs(attentions=[array]), SOURCE).encoder,
                       torch.full((1, 1, S, S), 0.25, dtype=torch.float64))


def test_labels_may_come_from_a_generator_and_maps_are_made_of_tensors():
    encoder = weights(1, 2, 2, 2)
    for by in (lambda labels: AttentionMaps.from_tensors(labels, encoder=encoder),
               lambda labels: AttentionMaps(labels, [], [], encoder)):
        assert by(letter for letter in "ab").source == by(("a", "b")).source == ["a", "b"]
        assert refused("ab", by=by) == "source: give a list of labels, a text for each token"
    said = refused(["a", "b"], [], [], encoder.numpy(), by=AttentionMaps)
    assert "encoder: give a tensor, or call AttentionMaps.from_tensors" in said
    maps = AttentionMaps(["a", "b"], [], [], encoder)
    assert refused(["encoder"], by=maps.of) == "there is no attention of the kind ['encoder']: choose one of encoder"
    assert refused(maps, "4", by=plot_figure) == "the paper has no Figure '4' of attention: choose 3, 4 or 5"
