"Models of Hugging Face's, small and random and made without a network: their attention as maps, number for number, and drawn."
import functools

import numpy as np
import pytest
import torch
from matplotlib.text import Text

from annotated_transformer import AttentionMaps, InputError, Translator, explore, plot_figure, plot_heads
from annotated_transformer.exchange.marian import save_marian
from annotated_transformer.figures.attention_plots import plot_heat_maps

transformers = pytest.importorskip("transformers", reason="the extra `exchange` is not installed")
tokenizers = pytest.importorskip("tokenizers", reason="the extra `exchange` is not installed")

TEXTS = [
    "The animal didn't cross the street because it was too tired.", "Small dogs play with the old ball.", "Größere Bälle rollen.",
]
SPECIAL = {"unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]", "pad_token": "[PAD]"}


pytestmark = pytest.mark.usefixtures("closed_figures")


@functools.cache
def word_pieces():
    "As BERT's: `##` continues a word, [CLS] stands before, [SEP] after."
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordPiece(unk_token="[UNK]"))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    trainer = tokenizers.trainers.WordPieceTrainer(vocab_size=75, special_tokens=[*SPECIAL.values()])
    tokenizer.train_from_iterator(TEXTS, trainer)
    ends = [(sign, tokenizer.token_to_id(sign)) for sign in ("[CLS]", "[SEP]")]
    tokenizer.post_processor = tokenizers.processors.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=ends)
    return transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, **SPECIAL)


@functools.cache
def bytes_as_letters():
    "As GPT-2's: `Ġ` begins a word, letters beyond ASCII are bytes."
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(vocab_size=300, special_tokens=["<|endoftext|>"],
                                             initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet())
    tokenizer.train_from_iterator(TEXTS, trainer)
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, eos_token="<|endoftext|>", pad_token="<|endoftext|>", padding_side="left")


def run(kind, config, inputs, **also):
    "What a random model of this kind returns."
    torch.manual_seed(3)
    model = kind._from_config(config, attn_implementation="eager").eval()
    for parameter in model.parameters():
        if parameter.dim() > 1:
            torch.nn.init.normal_(parameter, std=0.5)  # uneven weights
    with torch.inference_mode():
        return model(**inputs, **also, output_attentions=True)


def bert(inputs, **also):
    config = transformers.BertConfig(
        vocab_size=99, hidden_size=12, num_hidden_layers=2, num_attention_heads=3, intermediate_size=8)
    return run(transformers.BertModel, config, inputs, **also)


def gpt(inputs, **also):
    config = transformers.GPT2Config(
        vocab_size=300, n_embd=12, n_layer=3, n_head=2, n_positions=60, bos_token_id=0, eos_token_id=0)
    return run(transformers.GPT2LMHeadModel, config, inputs, **also)


def bart(inputs, **also):
    config = transformers.BartConfig(
        vocab_size=99, d_model=12, encoder_layers=2, decoder_layers=3, encoder_attention_heads=3, decoder_attention_heads=2,
        encoder_ffn_dim=8, decoder_ffn_dim=8, max_position_embeddings=60, pad_token_id=3, decoder_start_token_id=2)
    return run(transformers.BartForConditionalGeneration, config, inputs, **also)


def t5(inputs, **also):
    config = transformers.T5Config(
        vocab_size=99, d_model=12, d_kv=5, num_layers=2, num_decoder_layers=1, num_heads=3, d_ff=8, pad_token_id=3,
        decoder_start_token_id=3)
    return run(transformers.T5ForConditionalGeneration, config, inputs, **also)


def everything_is_drawn(maps: AttentionMaps) -> None:
    "Each kind by each function, and the explorer; a kind that is not there is refused, and without its name the first is drawn."
    for kind in ("encoder", "decoder", "encoder_decoder"):
        for draw in (plot_heads, plot_heat_maps, lambda maps, kind: plot_figure(maps, 4, kind), explore):
            if kind in maps.kinds:
                draw(maps, kind)
            else:
                with pytest.raises(InputError, match="these maps hold no .*attention: choose one of"):
                    draw(maps, kind)
    whole, first = maps.words(), next(iter(maps.kinds))
    texts = {text.get_text() for text in plot_heads(maps).findobj(Text)}
    assert {*whole.of(first)[1]} <= texts and any(text.startswith(maps.kinds[first].title) for text in texts)
    shown = explore(maps)._repr_mimebundle_()["application/vnd.vegalite.v5+json"]
    assert len(shown["datasets"]["heads"]) == sum(maps.of(kind)[0].shape[:2].numel() for kind in maps.kinds)
    assert "<main>" in explore(maps.words(), hide_end=True).html()


@pytest.mark.parametrize("number", [0, 1, 2])
def test_an_encoder(number):
    tokenizer = word_pieces()
    inputs = tokenizer(TEXTS, return_tensors="pt", padding=True)
    outputs = bert(inputs)
    maps = AttentionMaps.from_hugging_face(outputs, inputs, tokenizer, number=number)
    length = int(inputs.attention_mask[number].sum())
    assert [*maps.kinds] == ["encoder"] and maps.encoder.shape == (2, 3, length, length)
    for layer, weights in enumerate(outputs.attentions):
        assert torch.equal(maps.encoder[layer], weights[number, :, :length, :length])
    assert maps.source[0] == "[CLS]" and maps.source[-1] == "[SEP]" and any(label.startswith("·") for label in maps.source)
    words = TEXTS[number].replace(".", " .").replace("'", " ' ").split()
    assert maps.words().source == ["[CLS]", *words, "[SEP]"] and maps.words().without_end().source == words
    everything_is_drawn(maps)


@pytest.mark.parametrize("number", [0, 1, 2])
def test_a_decoder(number):
    tokenizer = bytes_as_letters()
    inputs = tokenizer(TEXTS, return_tensors="pt", padding=True)  # on the left
    outputs = gpt(inputs)
    maps = AttentionMaps.from_hugging_face(outputs, inputs, tokenizer, number=number)
    begin = int((1 - inputs.attention_mask[number]).sum())
    assert [*maps.kinds] == ["decoder"] and (begin > 0) == (number > 0)
    for layer, weights in enumerate(outputs.attentions):
        assert torch.equal(maps.decoder[layer], weights[number, :, begin:, begin:])
    assert not maps.decoder.triu(1).any()
    assert maps.words(signs_apart=False).of("decoder")[1] == TEXTS[number].split()  # umlauts and all
    assert explore(maps).source == TEXTS[number] and explore(maps).target == ""
    everything_is_drawn(maps)


@pytest.mark.parametrize("model", [bart, t5])
def test_an_encoder_and_a_decoder(model):
    tokenizer = word_pieces()
    inputs = tokenizer(TEXTS[:2], return_tensors="pt", padding=True)
    target = tokenizer(TEXTS[1:], return_tensors="pt", padding=True).input_ids
    labels = target.masked_fill(target == tokenizer.pad_token_id, -100)
    outputs = model({**inputs, "labels": labels})
    for number in (0, 1):
        maps = AttentionMaps.from_hugging_face(outputs, {**inputs, "labels": labels}, tokenizer, number=number)
        S, T = int(inputs.attention_mask[number].sum()), int((labels[number] >= 0).sum())
        assert S != T and [*maps.kinds] == ["encoder", "decoder", "encoder_decoder"]
        for kind, layers, queries, keys in (
            ("encoder", outputs.encoder_attentions, S, S), ("decoder", outputs.decoder_attentions, T, T),
            ("encoder_decoder", outputs.cross_attentions, T, S),
        ):
            found = maps.of(kind)[0]
            assert len(layers) == len(found) and found.shape[2:] == (queries, keys)
            for layer, weights in enumerate(layers):
                assert torch.equal(found[layer], weights[number, :, :queries, :keys])
        assert maps.target == AttentionMaps.from_hugging_face(bert({"input_ids": target[number : number + 1, :T]}),
                                                              target[number, :T], tokenizer).source
        assert maps.target_input == ["<start>", *maps.target[:-1]]
    everything_is_drawn(maps)
    read = torch.cat([torch.full((2, 1), 3), target[:, :-1]], 1)  # the start token is [PAD] here
    outputs = model({**inputs, "decoder_input_ids": read})
    maps = AttentionMaps.from_hugging_face(outputs, {**inputs, "decoder_input_ids": read}, tokenizer)
    assert maps.target_input[0] == "[PAD]" and maps.target == [*maps.target_input[1:], "…"]
    assert torch.equal(maps.encoder_decoder, torch.stack(outputs.cross_attentions)[:, 0, :, :, : len(maps.source)])


def test_a_model_that_gives_no_weights_is_told_how_to():
    tokenizer = word_pieces()
    inputs = tokenizer(TEXTS[0], return_tensors="pt")
    config = transformers.BertConfig(vocab_size=99, hidden_size=12, num_attention_heads=3, intermediate_size=8)
    fused = transformers.BertModel._from_config(config, attn_implementation="sdpa")(**inputs, output_attentions=True)
    with pytest.raises(InputError, match='the model with attn_implementation="eager" and call it with output_attentions=True'):
        AttentionMaps.from_hugging_face(fused, inputs, tokenizer)


@pytest.mark.parametrize("name", ["numbers-en-de"])
def test_our_own_model_gives_the_same_maps_from_there(name, tmp_path):
    translator = Translator.from_pretrained(name)
    source, target = "the third of May at half past six", "am dritten Mai um halb sieben"
    save_marian(translator, place := tmp_path / "marian")
    marian = transformers.MarianMTModel.from_pretrained(place, attn_implementation="eager").eval()
    tokenizer = transformers.MarianTokenizer.from_pretrained(place)
    inputs = tokenizer(source, text_target=target, return_tensors="pt")
    with torch.inference_mode():
        theirs = AttentionMaps.from_hugging_face(marian(**inputs, output_attentions=True), inputs, tokenizer)
    ours = translator.attention(source, target)
    for kind in ours.kinds:
        (weights, *labels), (others, *other_labels) = ours.of(kind), theirs.of(kind)
        assert [[label.replace("</s>", "<eos>") for label in side] for side in other_labels] == labels
        np.testing.assert_allclose(weights, others, atol=1e-5)
    assert theirs.words().without_end().source == source.split() and theirs.words().without_end().target == target.split()
