"Models in the form that others publish, random and of odd sizes, carried over or refused; unusual ones of ours in CTranslate2."
import errno
import json
import random
import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest
import torch
from sentencepiece import SentencePieceProcessor, SentencePieceTrainer
from torch import nn

from annotated_transformer import EOS, PAD, UNK, InputError, Translator, load
from annotated_transformer.config import Search, TransformerConfig
from annotated_transformer.data.batching import pad, shift_right
from annotated_transformer.data.tokenizer import Tokenizer
from annotated_transformer.exchange.ctranslate2 import to_ctranslate2, token_names
from annotated_transformer.exchange.marian import (
    from_marian,
    load_marian,
    marian_order,
    save_marian,
    to_marian,
    without_bars,
)
from annotated_transformer.exchange.marian_parts import MarianPieces, MarianTransformer
from annotated_transformer.exchange.onnx import to_onnx
from annotated_transformer.exchange.onnx_translator import OnnxTranslator
from annotated_transformer.figures.attention_plots import plot_heads
from annotated_transformer.figures.explorer import explore, live
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.model_record import ModelRecord
from annotated_transformer.translation.fast_search import greedy_search

transformers = pytest.importorskip("transformers", reason="the extra `exchange` is not installed")
ctranslate2 = pytest.importorskip("ctranslate2", reason="the extra `exchange` is not installed")
onnx = pytest.importorskip("onnx", reason="the extra `exchange` is not installed")

ENGLISH = ["a dog runs in the snow", "two dogs run and a girl reads", "the girl and the dog are in the house", ">>deu<< a dog"]
GERMAN = ["ein Hund läuft im Schnee", "zwei Hunde laufen und ein Mädchen liest", "das Mädchen und der Hund sind im Haus"]


def random_marian(seed: int = 0, biases: bool = True, **settings):
    "A MarianMTModel without a weight that is zero or one, but for PAD's embedding."
    V = settings.get("vocab_size", 47)
    published = {  # as OPUS-MT's
        "vocab_size": V, "d_model": 24, "activation_function": "swish", "scale_embedding": True, "max_position_embeddings": 33,
        "pad_token_id": V - 1, "decoder_start_token_id": V - 1, "eos_token_id": 0, "forced_eos_token_id": None, "init_std": 0.2,
    }
    for side in ("encoder", "decoder"):
        published |= {f"{side}_layers": 2, f"{side}_ffn_dim": 40, f"{side}_attention_heads": 4}
    torch.manual_seed(seed)
    marian = transformers.MarianMTModel(transformers.MarianConfig(**published | settings)).eval()
    with torch.no_grad():
        for name, weight in marian.named_parameters():
            if "norm" in name or "fc" in name and name.endswith("bias") or biases and name.endswith("bias"):
                weight.normal_(std=0.5)
        marian.model.decoder.layers[-1].final_layer_norm.weight.normal_(std=3)
        if biases:
            marian.final_logits_bias.normal_()
    return marian


def logits(marian, source: torch.Tensor, target_input: torch.Tensor, order: torch.Tensor) -> torch.Tensor:
    "What Marian gives each token, in our order; PAD's left out."
    with torch.inference_mode():
        mask = (source != PAD).long()
        found = marian(input_ids=order[source], attention_mask=mask, decoder_input_ids=order[target_input]).logits
    return found[..., order][..., PAD + 1 :]


SOURCE = torch.tensor([[3, 40, 5, 6, 7, EOS], [8, 9, EOS, PAD, PAD, PAD], [10, 11, 12, UNK, EOS, PAD]])
TARGET_INPUT = shift_right(torch.tensor([[13, 14, 15, 16], [17, 18, 46, EOS], [21, 2, EOS, PAD]]))


@pytest.mark.parametrize("settings", [
    {},
    {"activation_function": "relu"},
    {"activation_function": "silu"},  # the other name of swish
    {"biases": False},
    {"biases": False, "activation_function": "relu"},
    {"pad_token_id": 0, "decoder_start_token_id": 0, "eos_token_id": 2},
    {"pad_token_id": 5, "decoder_start_token_id": 5, "eos_token_id": 46},
    {"d_model": 15, "encoder_attention_heads": 3, "decoder_attention_heads": 3, "max_position_embeddings": 9},
    {"encoder_layers": 1, "decoder_layers": 1, "encoder_ffn_dim": 7, "decoder_ffn_dim": 7},
], ids=str)
def test_a_random_marian_gives_the_same_logits_here(settings):
    marian = random_marian(**settings)
    model, _ = from_marian(marian)
    order = marian_order(marian)
    with torch.inference_mode():
        ours = model(SOURCE, TARGET_INPUT)[..., PAD + 1 :]
    assert ours.std() > 0.5
    torch.testing.assert_close(ours, logits(marian, SOURCE, TARGET_INPUT, order), atol=1e-5, rtol=1e-5)
    plain = settings.get("biases") is False and settings.get("activation_function") == "relu"
    assert type(model) is (Transformer if plain else MarianTransformer)


def test_weights_that_went_and_came_back_are_the_same_bits():
    torch.manual_seed(2)
    model = Transformer(TransformerConfig(50, n_layers=2, d_model=15, d_ff=20, n_heads=3, max_length=21, dropout=0.25)).eval()
    for parameter in model.parameters():
        if parameter.dim() == 1:
            nn.init.normal_(parameter)
    marian, _ = to_marian(model)
    with torch.no_grad():  # of what the keys are given, nothing can be seen
        marian.model.encoder.layers[0].self_attn.k_proj.bias.normal_()
    back, _ = from_marian(marian)
    assert back.config == model.config and type(back) is Transformer
    assert all(weight.equal(back.state_dict()[name]) for name, weight in model.state_dict().items())


def test_weights_of_16_bits_as_published_ones_are_are_taken_as_32(tmp_path):
    random_marian().half().save_pretrained(tmp_path)
    as_saved = transformers.MarianMTModel.from_pretrained(tmp_path, dtype="auto")
    assert as_saved.dtype == torch.float16
    model, _ = from_marian(as_saved)
    as_32 = transformers.MarianMTModel.from_pretrained(tmp_path, dtype=torch.float32)
    expected = logits(as_32, SOURCE, TARGET_INPUT, marian_order(as_32))
    with torch.inference_mode():
        torch.testing.assert_close(model(SOURCE, TARGET_INPUT)[..., PAD + 1 :], expected, atol=1e-5, rtol=1e-5)


REFUSED = {
    "attention_heads=4 and its decoder attention_heads=3": {"decoder_attention_heads": 3},
    "layers=2 and its decoder layers=1": {"decoder_layers": 1},
    "ffn_dim=40 and its decoder ffn_dim=41": {"decoder_ffn_dim": 41},
    "do not share one matrix": {"share_encoder_decoder_embeddings": False, "decoder_vocab_size": 60},
    "one matrix of embeddings": {"tie_word_embeddings": False},
    "not multiplied by √d_model": {"scale_embedding": False},
    "its activation is gelu": {"activation_function": "gelu"},
    "does not start with a PAD of zeros": {"decoder_start_token_id": 3},
    "its configuration says normalize_before": {"normalize_before": True},
    "its configuration says normalize_embedding": {"normalize_embedding": True},
    "its configuration says add_final_layer_norm": {"add_final_layer_norm": True},
}


@pytest.mark.parametrize("reason", REFUSED)
def test_a_marian_without_a_form_here_is_refused_with_the_reason(reason):
    with pytest.raises(InputError, match=reason) as refused:
        from_marian(random_marian(**REFUSED[reason]))
    assert str(refused.value).count("\n") == 0


def test_other_positions_and_a_pad_that_is_not_zero_are_refused():
    marian = random_marian()
    with torch.no_grad():
        marian.model.decoder.embed_positions.weight[7, 3] += 0.01
    with pytest.raises(InputError, match="not the sinusoids"):
        from_marian(marian)
    marian = random_marian()
    with torch.no_grad():
        marian.model.shared.weight[-1, 3] = 0.01
    with pytest.raises(InputError, match="PAD of zeros"):
        from_marian(marian)


@pytest.fixture(scope="module")
def opus(tmp_path_factory):
    "A directory like those of OPUS-MT: two SentencePiece models, the vocabulary of both, biases, swish."
    directory = tmp_path_factory.mktemp("opus")
    vocabulary = {"</s>": 0, "<unk>": 1}
    for name, lines in (("source", ENGLISH[:3]), ("target", GERMAN)):
        SentencePieceTrainer.train(
            sentence_iterator=iter(20 * lines), model_prefix=str(directory / name), model_type="unigram", vocab_size=45,
            hard_vocab_limit=False, minloglevel=2,
        )
        (directory / f"{name}.model").rename(directory / f"{name}.spm")
        sp = SentencePieceProcessor(str(directory / f"{name}.spm"))
        for piece in map(sp.id_to_piece, range(3, sp.get_piece_size())):
            vocabulary.setdefault(piece, len(vocabulary))
    vocabulary |= {">>deu<<": len(vocabulary), "<pad>": len(vocabulary) + 1}
    (directory / "vocab.json").write_text(json.dumps(vocabulary))
    random_marian(3, vocab_size=len(vocabulary)).save_pretrained(directory)
    return directory


def test_a_saved_marian_translates_here_as_it_does_there(opus):
    translator = load_marian(opus, device="cpu")
    tokenizer = transformers.MarianTokenizer.from_pretrained(opus)
    marian = transformers.MarianMTModel.from_pretrained(opus)
    assert isinstance(translator.model, MarianTransformer) and isinstance(translator.tokenizer, MarianPieces)
    order = marian_order(marian, tokenizer)
    written = set()
    for sentence in [*ENGLISH, "a ☃ runs"]:
        ids, theirs = translator.tokenizer.encode(sentence), tokenizer(sentence, return_tensors="pt")
        assert order[torch.tensor(ids)].tolist() == theirs.input_ids[0].tolist()
        for beams in (1, 3):
            # Published models forbid PAD only after it has taken its share of the probability; ours gives it none.
            marian.final_logits_bias[0, -1] = float("-inf")
            options = {"length_penalty": 0.0} if beams > 1 else {}
            found = marian.generate(**theirs, num_beams=beams, max_length=min(33, len(ids) + 8), **options)
            text = tokenizer.decode(found[0], skip_special_tokens=True)
            assert translator.translate([sentence], Search(beam_size=beams, alpha=0.0, extra_length=7)) == [text]
            written.add(text)
    assert len(written) > 3
    assert translator.translate(["", ENGLISH[0]], Search(1)) == ["", translator.translate([ENGLISH[0]], Search(1))[0]]
    assert UNK in translator.tokenizer.encode("a ☃ runs")
    assert translator.tokenizer.pieces(translator.tokenizer.encode(">>deu<< a"))[0] == ">>deu<<"


def test_threads_may_load_at_once_and_the_library_reports_as_before(opus):
    expected, said = load_marian(opus, device="cpu").model.state_dict(), transformers.logging.get_verbosity()
    with ThreadPoolExecutor(3) as threads:
        loaded = list(threads.map(lambda _: load_marian(opus, device="cpu"), range(9)))
    assert transformers.logging.get_verbosity() == said != transformers.logging.CRITICAL
    for translator in loaded:
        torch.testing.assert_close(translator.model.state_dict(), expected, rtol=0, atol=0)


def test_an_export_waits_for_a_thread_that_loads_a_model_of_16_bits():
    model = Transformer(TransformerConfig(19, n_layers=1, d_model=12, d_ff=20, n_heads=3, max_length=9))
    expected, begun, exported = to_marian(model)[0].state_dict(), threading.Event(), threading.Event()

    def load() -> None:  # the library makes the numbers of a published model everybody's default while it loads
        with without_bars(transformers):
            torch.set_default_dtype(torch.float16)
            begun.set()
            exported.wait(1)
            torch.set_default_dtype(torch.float32)

    with ThreadPoolExecutor(1) as threads:
        loading = threads.submit(load)
        begun.wait()
        found = to_marian(model)[0].state_dict()
        exported.set()
        loading.result()
    torch.testing.assert_close(found, expected, rtol=0, atol=0)


def test_the_heads_of_a_marian_are_recorded_and_drawn(opus, tmp_path):
    translator = load_marian(opus, device="cpu")
    marian = transformers.MarianMTModel.from_pretrained(opus, attn_implementation="eager")
    tokenizer = transformers.MarianTokenizer.from_pretrained(opus)
    maps = translator.attention(ENGLISH[0], GERMAN[0])
    with torch.inference_mode():
        target = tokenizer(text_target=GERMAN[0], return_tensors="pt").input_ids
        shifted = torch.cat([torch.full((1, 1), marian.config.pad_token_id), target[:, :-1]], 1)
        source = tokenizer(ENGLISH[0], return_tensors="pt")
        found = marian(**source, decoder_input_ids=shifted, output_attentions=True)
    torch.testing.assert_close(maps.encoder, torch.cat(found.encoder_attentions), atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(maps.decoder, torch.cat(found.decoder_attentions), atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(maps.encoder_decoder, torch.cat(found.cross_attentions), atol=1e-5, rtol=1e-4)
    assert len(maps.target) == target.size(1) and maps.target[-1] == "<eos>" and "Hund" in maps.words().target
    plot_heads(maps, "encoder_decoder", layer=2).savefig(tmp_path / "heads.png")
    assert (tmp_path / "heads.png").stat().st_size > 10_000


def test_a_model_from_marian_is_neither_trained_on_nor_saved_nor_handed_on(opus, tmp_path):
    translator = load_marian(opus, device="cpu")
    for forbidden in (
        translator.model.train,
        lambda: translator.save_pretrained(tmp_path / "saved"),
        lambda: translator.push_to_hub("someone/something"),
        lambda: translator.model.push_to_hub("someone/something"),
        lambda: to_marian(translator.model),
        lambda: to_ctranslate2(translator, tmp_path / "ct2"),
        lambda: to_onnx(translator, tmp_path / "onnx"),
    ):
        with pytest.raises(InputError, match="came from (Marian|other software)"):
            forbidden()
    assert list(tmp_path.iterdir()) == [] and not translator.model.training


def test_a_class_of_ones_own_is_refused_as_such(tmp_path):
    class Own(Transformer):
        pass

    model = Own(TransformerConfig(9, n_layers=1, d_model=8, d_ff=16, n_heads=2))
    for software, export in (("Marian", to_marian), ("CTranslate2", lambda model: to_ctranslate2(model, tmp_path / "ct2"))):
        with pytest.raises(InputError, match=f"^Own is a class of your own, which has no form in {software}"):
            export(model)
    assert not any(tmp_path.iterdir())


def test_a_plain_model_with_two_languages_of_pieces_is_not_saved_in_our_form(opus, tmp_path):
    tokenizer = transformers.MarianTokenizer.from_pretrained(opus)
    marian = random_marian(biases=False, activation_function="relu", vocab_size=len(tokenizer.get_vocab()))
    translator = Translator(*from_marian(marian, tokenizer))
    assert type(translator.model) is Transformer and isinstance(translator.tokenizer, MarianPieces)
    ways = translator.save_pretrained, partial(save_marian, translator), partial(to_ctranslate2, translator)
    for number, save in enumerate(ways):
        with pytest.raises(InputError, match="came from Marian"):
            save(tmp_path / str(number))
        assert not (tmp_path / str(number) / "model.bin").exists()


def test_what_is_no_marian_is_one_sentence(opus, tmp_path):
    (tmp_path / "config.json").write_text("{}")
    for directory in (tmp_path, tmp_path / "nothing"):
        with pytest.raises(InputError, match=str(directory)) as refused:
            load_marian(directory)
        assert str(refused.value).count("\n") == 0
    tokenizer = transformers.MarianTokenizer.from_pretrained(opus)
    with pytest.raises(InputError, match=f"the model has 47 tokens and the tokenizer {len(tokenizer.get_vocab())}"):
        from_marian(random_marian(), tokenizer)


@pytest.mark.parametrize("name, text", [
    ("config.json", {"eos_token_id": 10**9}), ("config.json", {"pad_token_id": -7}),
    ("vocab.json", {"a": 10**9}), ("vocab.json", {"a": "x"}),
], ids=str)
def test_ids_that_no_marian_has_are_one_sentence(opus, tmp_path, name, text):
    shutil.copytree(opus, tmp_path / "forged")
    path = tmp_path / "forged" / name
    path.write_text(json.dumps(json.loads(path.read_text()) | text))
    with pytest.raises(InputError, match="forged|do not belong together|cannot be carried over") as refused:
        Translator.from_pretrained(tmp_path / "forged", device="cpu")
    assert "\n" not in str(refused.value)


def test_a_translator_opens_a_published_marian_by_itself_and_writes_what_it_writes(opus):
    words = " ".join(ENGLISH).split()
    draw = random.Random(4)
    sentences = [" ".join(draw.choices(words, k=draw.randint(1, 6))) for _ in range(100)]
    tokenizer = transformers.MarianTokenizer.from_pretrained(opus)
    marian = transformers.MarianMTModel.from_pretrained(opus)
    marian.final_logits_bias[0, -1] = float("-inf")  # of PAD, as above
    translator = Translator.from_pretrained(opus, device="cpu")
    assert translator.name == str(opus) and isinstance(translator.tokenizer, MarianPieces)
    found = translator.translate(sentences, Search(beam_size=1, extra_length=7), split=False)
    for sentence, text in zip(sentences, found):
        theirs = tokenizer(sentence, return_tensors="pt")
        longest = min(33, theirs.input_ids.size(1) + 8)
        assert text == tokenizer.decode(marian.generate(**theirs, num_beams=1, max_length=longest)[0], skip_special_tokens=True)
    assert len(set(found)) > 10
    short = Translator.from_pretrained(opus, device="cpu", precision="int8")
    assert len(short.translate(sentences[:5], Search(1, extra_length=7), split=False)) == 5
    with pytest.raises(InputError, match="average"):
        Translator.from_pretrained(opus, average=2)


def test_a_published_marian_comes_by_its_name(opus, tmp_path, monkeypatch):
    def snapshot_download(name, allow_patterns, **_):  # as the hub: it gives what is asked for, and what it has
        shutil.rmtree(tmp_path / name, ignore_errors=True)
        given = [path.name for path in opus.iterdir() if any(path.match(pattern) for pattern in allow_patterns)]
        (tmp_path / name).mkdir(parents=True)
        for file in set(given) - lacking:
            shutil.copy(opus / file, tmp_path / name)
        return str(tmp_path / name)

    monkeypatch.setattr("huggingface_hub.snapshot_download", snapshot_download)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)  # nothing else is asked of a hub
    name, lacking = "Helsinki-NLP/opus-mt-en-de", set()
    there, here = (Translator.from_pretrained(place, device="cpu") for place in (opus, name))
    assert here(ENGLISH, Search(1)) == there(ENGLISH, Search(1)) and here.name == name
    lacking, asked = {"model.safetensors"}, []  # only a pickle is there: Hugging Face's library asks the hub to convert it
    monkeypatch.setattr(transformers.MarianTokenizer, "from_pretrained", lambda name, **options: asked.append((name, options)))
    with pytest.raises(InputError, match=f"{name}: this is not a Marian model"):
        Translator.from_pretrained(name, device="cpu", revision="a1", token="mine")
    assert asked == [(name, {"revision": "a1", "token": "mine"})]


def test_the_commands_and_the_explorer_take_a_published_marian(opus, tmp_path, command):
    translator, sentence = Translator.from_pretrained(opus, device="cpu"), ENGLISH[1]
    maps = translator.attention(sentence, GERMAN[1])
    for out in ("heads.svg", "heads.html"):
        _, said, _ = command("attend", sentence, "--model", opus, "--target", GERMAN[1], "--out", tmp_path / out)
        assert said.splitlines()[-1] == str(tmp_path / out) and GERMAN[1].split()[0] in said
    page = (tmp_path / "heads.html").read_text()
    assert "läuft" not in page and "laufen" in page
    chart = explore(maps, layer=2, head=3)
    with pytest.raises(InputError, match="there is no head 99: a layer of the model has heads 1 to"):
        chart.only((1, 99))
    chart.only((1, 2))
    chart.only((2, 3), (1, 4))
    weights = maps.words().encoder_decoder
    expected = [(1000 * weights[layer - 1, head - 1]).round().int().tolist() for layer, head in ((2, 3), (1, 4))]
    assert [one["rows"] for one in chart.specification["datasets"]["heads"]] == expected
    field, menus, _, answer, picture = live(translator, sentence, layer=2, head=3).children
    menus.children[1].value = [(2, 3), (1, 4)]
    assert answer.value == translator(sentence) and len(picture.outputs) == 1
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    for split, n in (("train", 1), ("validation", 2), ("test", 3)):
        for language, lines in (("en", ENGLISH), ("de", GERMAN)):
            (corpus / f"{split}.{language}").write_text("".join(f"{line}\n" for line in lines[:n]), encoding="utf-8")
    _, said, _ = command("score", opus, "--corpus", corpus, "--beam-size", 1, "--out", tmp_path / "scores.json")
    assert "test: 3 sentences, beam 1" in said and "BLEU" in said
    written = (tmp_path / "scores.txt").read_text(encoding="utf-8").splitlines()
    assert written == translator(ENGLISH[:3], Search(1, alpha=translator.search.alpha))


def test_a_directory_that_is_no_model_is_told_what_it_holds(tmp_path):
    (tmp_path / "notes.txt").write_text("x")
    with pytest.raises(InputError, match="holds notes.txt: no config.json; give a run or a model .* or a Marian model"):
        Translator.from_pretrained(tmp_path)
    (tmp_path / "config.json").write_text('{"model_type": "t5"}')
    with pytest.raises(InputError, match="holds config.json, notes.txt: a model of 't5', which is not read here"):
        Translator.from_pretrained(tmp_path)
    (tmp_path / "source.spm").write_text("x")
    with pytest.raises(InputError, match="a model of 't5', which is not read here"):
        Translator.from_pretrained(tmp_path)


def test_our_files_of_ctranslate2_are_told_for_what_they_are(translator, tmp_path):
    to_ctranslate2(translator, tmp_path / "ct2")
    said = "holds README.md, config.json, model.bin, .*: a model of 'CTranslate2', which is not read"
    refused = pytest.raises(InputError, match=said)
    for read in (Translator.from_pretrained, load):
        with refused:
            read(tmp_path / "ct2")
    (tmp_path / "ct2" / "tokenizer.model").rename(tmp_path / "ct2" / "source.spm")  # as whoever converts OPUS-MT has it
    with refused:
        Translator.from_pretrained(tmp_path / "ct2")


def test_no_training_begins_with_a_marian_model(opus, complaint, tmp_path):
    said = complaint("train", "--start-from", opus, "--corpus", "numbers-en-de", "--run", tmp_path / "run")
    assert said.startswith(f"{opus} is a Marian model, which translates but is not trained further")
    assert not list(tmp_path.iterdir())


@pytest.fixture(scope="module")
def translator():
    "Random, with a tokenizer of its own."
    tokenizer = Tokenizer.train([*ENGLISH, *GERMAN], 60)
    torch.manual_seed(0)
    model = Transformer(TransformerConfig(60, n_layers=2, d_model=15, d_ff=20, n_heads=3, max_length=33))
    nn.init.normal_(model.decoder.layers[-1].feed_forward.norm.weight, std=3)
    return Translator(model, tokenizer, Search(beam_size=5, alpha=1.25))


def test_our_files_of_marian_come_back_as_they_went_and_pass_ctranslate2s_own_converter(translator, tmp_path):
    save_marian(translator, tmp_path / "marian")
    settings = json.loads((tmp_path / "marian" / "generation_config.json").read_text())
    assert (settings["num_beams"], settings["length_penalty"], settings["max_length"]) == (5, 1.25, 33)
    back = load_marian(tmp_path / "marian", device="cpu")
    assert back.search == translator.search and back.record.languages == ()
    greedy = Translator(translator.model, translator.tokenizer, Search(beam_size=1, alpha=1.25))
    save_marian(greedy, tmp_path / "greedy")
    assert load_marian(tmp_path / "greedy", device="cpu").search.beam_size == 1
    path = tmp_path / "greedy" / "generation_config.json"
    odd = {"num_beams": 2, "length_penalty": -1.0}
    for said, search in (({"num_beams": 6}, Search(6, 1.0)), ({}, Search()), (odd, Search()), ({"num_beams": 0}, Search())):
        path.write_text(json.dumps(said))
        assert load_marian(tmp_path / "greedy", device="cpu").search == search
    assert back.tokenizer.model == translator.tokenizer.model
    assert back.translate(ENGLISH) == translator.translate(ENGLISH)

    ctranslate2.converters.TransformersConverter(str(tmp_path / "marian")).convert(str(tmp_path / "converted"))
    converted = ctranslate2.Translator(str(tmp_path / "converted"), compute_type="float32", intra_threads=1)
    ids = translator.tokenizer.encode_all(ENGLISH)
    texts = [translator.tokenizer.pieces(row) for row in ids]
    found = converted.translate_batch(texts, beam_size=1, max_decoding_length=9, min_decoding_length=0)
    ours = [translator.tokenizer.pieces(row[:9]) for row in greedy_search(translator.model, pad(ids), Search(extra_length=20))]
    assert [best.hypotheses[0] for best in found] == ours and len(set(map(tuple, ours))) > 2


def test_a_published_model_as_a_pickle_is_told_what_to_do_and_ours_are_asked_for_no_other(translator, tmp_path):
    save_marian(translator, tmp_path / "opus")
    with pytest.raises(InputError, match="opus is a model of 'marian' of other software: Translator.from_pretrained reads"):
        Transformer.from_pretrained(tmp_path / "opus")
    (tmp_path / "opus" / "model.safetensors").rename(tmp_path / "opus" / "pytorch_model.bin")
    with pytest.raises(InputError, match="opus: its weights are pytorch_model.bin, a pickle, .* if you trust it"):
        Translator.from_pretrained(tmp_path / "opus")


def test_other_softwares_files_name_the_languages_where_they_have_a_place_for_them(translator, tmp_path):
    to_onnx(translator, tmp_path / "unknown")
    assert not [*onnx.load(tmp_path / "unknown" / "encoder.onnx").metadata_props]
    translator.record = ModelRecord(languages=("en", "de"), licence="CC BY 4.0")
    save_marian(translator, tmp_path / "marian")
    to_ctranslate2(translator, tmp_path / "ctranslate2")
    for name in ("marian", "ctranslate2"):
        said = (tmp_path / name / "README.md").read_text()
        assert "The languages: en to de." in said and "The licence of the weights: CC BY 4.0." in said
    theirs = transformers.MarianTokenizer.from_pretrained(tmp_path / "marian")
    assert (theirs.source_lang, theirs.target_lang, theirs.model_max_length) == ("en", "de", 33)
    assert load_marian(tmp_path / "marian", device="cpu").record.languages == ("en", "de")
    assert load_marian(tmp_path / "marian", device="cpu").translate(ENGLISH) == translator.translate(ENGLISH)
    for precision in ("float32", "float16", "int8"):
        to_onnx(translator, tmp_path / precision, precision=precision)
        for name in ("encoder.onnx", "decoder.onnx"):
            noted = {one.key: one.value for one in onnx.load(tmp_path / precision / name).metadata_props}
            facts = {"source_language": "en", "target_language": "de", "model_license": "CC BY 4.0"}
            assert noted == noted | facts
    assert OnnxTranslator(tmp_path / "float32").translate(ENGLISH) == translator.translate(ENGLISH)


@pytest.mark.parametrize("write, inside", [
    (to_ctranslate2, "ctranslate2.specs.TransformerSpec.save"), (save_marian, "transformers.MarianTokenizer.save_pretrained"),
])
def test_other_softwares_files_are_all_written_to_a_new_directory_or_none(write, inside, translator, tmp_path, monkeypatch):
    translator.save_pretrained(tmp_path / "mine")
    before = {path: path.read_bytes() for path in (tmp_path / "mine").iterdir()}
    with pytest.raises(InputError, match="mine already exists"):
        write(translator, tmp_path / "mine")
    assert {path: path.read_bytes() for path in (tmp_path / "mine").iterdir()} == before

    def full(self, directory):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(inside, full)
    with pytest.raises(OSError, match="No space"):
        write(translator, tmp_path / "other")
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


@pytest.mark.parametrize("fields", [{}, {"positions": "learned"}, {"norm": "pre"}], ids=str)
def test_ctranslate2_gives_each_token_our_probability(fields, tmp_path):
    torch.manual_seed(1)
    model = Transformer(TransformerConfig(50, n_layers=3, d_model=12, d_ff=20, n_heads=3, max_length=15, **fields)).eval()
    for parameter in model.parameters():  # no weight is zero or one as it is at first: a norm or bias left behind shows
        if parameter.dim() == 1:
            nn.init.normal_(parameter)
    names = token_names(50)
    to_ctranslate2(model, tmp_path / "ct2")
    other = ctranslate2.Translator(str(tmp_path / "ct2"), compute_type="float32", intra_threads=1)
    target = torch.tensor([[13, 14, 15, 16], [17, 18, 46, 20], [21, 2, 22, 23]])
    texts = [[[names[token] for token in row if token not in (PAD, EOS)] for row in rows.tolist()] for rows in (SOURCE, target)]
    theirs = torch.tensor([found.log_probs for found in other.score_batch(*texts)])  # of the target and its EOS
    with torch.no_grad():
        ours = model(SOURCE, torch.cat([torch.full((3, 1), PAD), target], 1))
    ours[..., PAD] = float("-inf")
    expected = torch.cat([target, torch.full((3, 1), EOS)], 1)
    ours = ours.log_softmax(-1).gather(-1, expected[..., None]).squeeze(-1)
    torch.testing.assert_close(theirs, ours, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("reason, fields", {
    "3 heads of d_k=3 .* not to 9": {"d_k": 3}, "heads of d_v=5": {"d_v": 5}, "with compatibility": {"compatibility": "additive"},
}.items())
def test_what_ctranslate2_has_no_form_for_is_refused_before_anything_is_written(reason, fields, tmp_path):
    model = Transformer(TransformerConfig(50, n_layers=1, d_model=12, d_ff=20, n_heads=3, **fields))
    with pytest.raises(InputError, match=reason):
        to_ctranslate2(model, tmp_path / "new")
    assert not (tmp_path / "new").exists()
