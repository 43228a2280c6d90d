"Details of translation that no page tells: each was changed by hand without a test that noticed. Names begin with the module's."
from contextlib import contextmanager
from dataclasses import asdict
from types import SimpleNamespace

import huggingface_hub
import numpy as np
import pytest
import torch
from sacrebleu.metrics import BLEU

from annotated_transformer import PAD, InputError, Transformer, TransformerConfig
from annotated_transformer.config import Search
from annotated_transformer.data.tokenizer import Tokenizer
from annotated_transformer.model_record import ModelRecord
from annotated_transformer.translation import translator as translation
from annotated_transformer.translation.bleu import (
    moses_language,
    multi30k_bleu,
    multi30k_tokens,
    ngram_bleu,
    paper_bleu,
    paper_tokens,
    sacre_bleu,
)
from annotated_transformer.translation.kv_cache import continuations
from annotated_transformer.translation.scores import score, score_several
from annotated_transformer.translation.search import Hypothesis
from annotated_transformer.translation.translator import Translator, in_batches, usual_device

LETTERS = Tokenizer.train(["a b c d e f", "fade", "cafe"] * 3, 14)


def translator(max_length=11, **options):
    torch.manual_seed(0)
    config = TransformerConfig(LETTERS.vocab_size, n_layers=1, d_model=8, d_ff=12, n_heads=2, dropout=0.1, max_length=max_length)
    return Translator(Transformer(config), LETTERS, **options)


@pytest.fixture
def searches(monkeypatch):
    "What each search was given, and a word for each of its sentences instead of the search."
    given = []

    def found(model, source, search, allowed=None, n_best=1):
        given.append(SimpleNamespace(model=model, source=source, search=search, allowed=allowed))
        return [[Hypothesis([5], -0.5, -1.0)] for _ in source]

    monkeypatch.setattr(translation, "beam_search", found)
    return given


def test_bleu_cuts_a_language_by_its_own_rules():
    french = ["l'homme d'or, qu'il a vu"]  # each apostrophe ends a token in French, and stands for itself in German
    for bleu, tokens in ((paper_bleu, paper_tokens), (multi30k_bleu, multi30k_tokens)):
        assert bleu(french, french, language="fr").reference_length == len(tokens(french[0], "fr").split()) == 9
        assert bleu(french, french).reference_length == bleu(french, french, language="de").reference_length == 12


@pytest.mark.parametrize("bleu", [sacre_bleu, paper_bleu, multi30k_bleu])
def test_bleu_refuses_one_string_and_sides_of_unequal_length(bleu):
    for sides in (("a dog", ["a dog"]), (["a dog"], "a dog")):
        with pytest.raises(InputError, match=r"^give a list of texts, not one: \['a dog'\]$"):
            bleu(*sides)
    for sides, said in (((["a", "b"], ["a"]), "^2 translations but 1 ref"), ((["a"], ["a", "b"]), "^1 translations but 2")):
        with pytest.raises(InputError, match=said):
            bleu(*sides)


@pytest.mark.parametrize("bleu", [sacre_bleu, paper_bleu, multi30k_bleu])
def test_bleu_takes_texts_from_whatever_gives_them_and_nothing_but_texts(bleu):
    lines, gold = ["a dog runs here now", "no"], ["a dog runs here now", "so"]
    found = bleu(lines, gold)
    assert bleu(iter(lines), iter(gold)) == bleu(np.array(lines), (one for one in gold)) == found
    for hypotheses, references in (([None, "a"], ["a", "a"]), (["a"], [[]]), (["a"], [None]), (["a"], [["a", 5]]), (["a"], [5])):
        with pytest.raises(InputError, match="^translation 1 or its reference is missing, or is not text"):
            bleu(hypotheses, references)
    with pytest.raises(InputError, match="^give a list of texts, not one"):
        ngram_bleu("abcd", "abcd")


def test_bleu_of_a_language_that_moses_does_not_know_says_so_in_its_signature(caplog):
    hypotheses = ["Das ist z. B. Herr Dr. Müller vom 3. Mai bzw. usw. Nr. 5."]
    gold = [hypotheses[0].replace("Herr", "Frau")]
    moses_language.cache_clear()
    for bleu in (paper_bleu, multi30k_bleu):
        of = {name: bleu(hypotheses, gold, name) for name in ("de", "german", "deu", "tgt", "ja")}
        assert of["german"] == of["de"] and "tok:moses-de-" in of["de"].signature
        assert of["tgt"] == of["deu"] and "tok:moses-other-" in of["deu"].signature and of["deu"].score > of["de"].score + 1
        assert "tok:moses-ja-" in of["ja"].signature
    assert [message.split(",")[0] for message in caplog.messages] == [
        *(f"Moses has no rules for the language '{name}'" for name in ("deu", "tgt")),
        "the language 'ja' has no blanks between words"], "each is warned of once"


CUTS = [("zh", "zh"), ("zh_CN", "zh"), ("ZH-TW", "zh"), ("zho", "zh"), ("cn", "zh"), ("ja", "char"), ("jpn", "char"),
        ("jp", "char"), ("th", "char"), ("de", "13a")]


@pytest.mark.parametrize("language, tokens", CUTS)
def test_bleu_cuts_a_language_without_blanks_otherwise(language, tokens):
    pairs = ["两只狗在雪地里玩耍。"], ["两只狗正在雪地里玩耍。"]
    expected = BLEU(tokenize=tokens).corpus_score(pairs[0], [pairs[1]])
    several = score_several([("two dogs", pairs[1][0]), ("two dogs", "狗。")], [*pairs[0], *pairs[0]], language)
    for found in (sacre_bleu(*pairs, language), score(*pairs, language).sacre_bleu, several.first_reference):
        assert found.score == expected.score and f"tok:{tokens}|" in found.signature
    assert (expected.score > 40) == (tokens != "13a")


@pytest.mark.parametrize("curly, plain", [("„“”«»", '"'), ("‚‘’‹›", "'")])
def test_bleu_of_the_paper_takes_every_quotation_mark_for_a_plain_one(curly, plain):
    for mark in curly:
        assert paper_tokens(f"ein {mark} Wort") == paper_tokens(f"ein {plain} Wort")


@pytest.mark.parametrize("there", [True, False])
def test_translator_works_on_a_gpu_unless_its_products_are_packed(monkeypatch, there):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: there)
    usual = {precision: usual_device(precision) for precision in ("float32", "auto", "float16", "int8")}
    gpu = "cuda" if there else "cpu"
    assert usual == {"float32": gpu, "auto": gpu, "float16": "cpu", "int8": "cpu"}


def test_translator_moves_its_bar_by_what_was_found(monkeypatch):
    moved = []

    @contextmanager
    def bar(total, **_):
        moved.append(-total)
        yield SimpleNamespace(update=moved.append)

    monkeypatch.setattr(translation, "progress_bar", bar)
    in_batches([[5, 1], [1], [6, 7, 8, 1], [9, 1], [3, 3, 1], [4, 1]], positions=8, best=lambda source, part: part)
    assert moved == [-5, 2, 3]  # the blank one is not searched


def test_translator_of_a_precision_that_is_none_is_refused():
    with pytest.raises(InputError, match="precision must be float32 or float16 or int8 or auto, not half"):
        translator(precision="half")


def test_translator_searches_as_the_call_says(searches):
    own, asked = Search(beam_size=3), Search(beam_size=2, alpha=1.5)
    model = translator(search=own)
    assert model("ab") == model("ab", asked) == model.translate("ab", search=asked)
    assert model.translate_ids(["ab"], asked) == [[5]]
    assert [given.search for given in searches] == [own, asked, asked, asked]
    searches.clear()
    model(["ab", "cd", "ef"], Search(beam_size=2), batch_tokens=2 * 2 * len(LETTERS.encode("ab")))
    assert [len(given.source) for given in searches] == [2, 1], "as many positions as were asked for, for each beam"


def test_translator_cuts_a_line_unless_it_is_told_not_to(searches):
    line, found = "Fade a cab. Deaf bees. Bad cafes.", []
    for options in ({}, {"split": True}, {"split": False}):
        translator(max_length=64)(line, **options)
        found.append(sum(len(given.source) for given in searches))
    assert len(translator().sentences(line)) == 3 and found == [3, 6, 7]


def test_translator_refuses_a_beam_wider_than_its_vocabulary():
    translator()("ab", Search(beam_size=14))
    with pytest.raises(InputError, match="at most 14"):
        translator()("ab", Search(beam_size=15))


def test_translator_searches_the_packed_copy_where_its_weights_are(searches):
    packed = translator(precision="int8")
    packed("ab")
    assert searches[0].model is packed.searched is not packed.model
    elsewhere = translator()
    elsewhere.model.to("meta")  # stands for a GPU
    elsewhere("ab")
    assert searches[1].model is elsewhere.model and searches[1].source.is_meta


def test_translator_numbers_sentences_from_one_and_hands_on_what_is_allowed(searches):
    with pytest.raises(InputError, match="^sentence 3 has"):
        translator().translate_ids(["a", "b", "abcdefabcdef"])
    translator().translate_ids(["a", "", "abcd"], batch_tokens=1, allowed=lambda part: f"for {part}")
    assert [given.allowed for given in searches] == ["for [2]", "for [0]"], "sentences by their numbers, the longest first"


def test_translator_keeps_what_is_known_of_its_model(tmp_path):
    record = ModelRecord(about="letters", search=asdict(Search(beam_size=2)), alignment_head=(1, 2), doubtful_below=-0.01)
    first = translator(search=Search(beam_size=2))
    first.record = record
    first.save_pretrained(tmp_path / "one")
    loaded = Translator.from_pretrained(tmp_path / "one", precision="int8")
    assert loaded.record == record and loaded.search == first.search and loaded.precision == "int8"
    assert loaded.name == str(tmp_path / "one") and first.name is None
    loaded.save_pretrained(tmp_path / "two")
    assert (tmp_path / "two" / "record.json").read_bytes() == (tmp_path / "one" / "record.json").read_bytes()
    assert loaded.attention("ab", "cd").aligned == (1, 2) and translator().attention("ab", "cd").aligned is None
    assert loaded.translations(["ab"])[0].doubtful, "a model with random weights is unsure of all, if its record says so"
    loaded.record = ModelRecord(languages=("en", "pt_BR"))
    assert loaded.attention("ab", "cd").languages == ("en", "pt-BR"), "as a page for a browser names them"


def test_translator_shows_maps_of_one_sentence_with_words(searches):
    long = "Fade a cab, a bad cab, a bed, a dead bee and a cafe. Deaf bees fade, and bad cafes, cabs and beds fade as bees do."
    for text, number in (("Fade a cab. Deaf bees. Bad cafes.", 3), (long, 2)):
        with pytest.raises(InputError, match=f"^the text is {number} sentences"):
            translator(max_length=200).attention(text)
    for text, said in ((" ", "holds no words"), ("abcdefabcdef", "has 14 tokens")):
        with pytest.raises(InputError, match=f"^the source {said}"):
            translator().attention(text)
    with pytest.raises(InputError, match="^the target is not a str, but of the type list: give one text"):
        translator().attention("Fade a cab.", ["Bees."])
    assert not searches, "what has no maps is not translated first"


@pytest.mark.parametrize("weights_there", [True, False])
def test_translator_of_others_is_read_from_where_its_weights_are(tmp_path, monkeypatch, weights_there):
    asked = []

    def read(place, device, precision):
        asked.append((place, device, precision))
        return translator()

    monkeypatch.setattr(translation, "model_directory", lambda name: tmp_path)
    monkeypatch.setattr(translation, "reader_of_others", lambda directory: read)
    monkeypatch.setattr(translation, "own_device", lambda device, local: f"{device}:{local}")
    if weights_there:
        (tmp_path / "model.safetensors").touch()
    found = Translator.from_pretrained("Helsinki-NLP/opus", device="cuda", precision="int8")
    assert asked == [(tmp_path if weights_there else "Helsinki-NLP/opus", "cuda:0", "int8")] and found.name == "Helsinki-NLP/opus"


def test_translator_is_fetched_once_where_a_fresh_copy_is_asked_for(monkeypatch, tmp_path):
    asked = []
    translator().save_pretrained(tmp_path)
    monkeypatch.setattr(huggingface_hub, "snapshot_download", lambda name, **options: asked.append(options) or str(tmp_path))
    Translator.from_pretrained("ann/model", force_download=True, revision="v2", device="cpu")
    assert [options.get("force_download") for options in asked] == [True, None]
    assert {options["revision"] for options in asked} == {"v2"}


def test_translator_of_a_run_takes_the_mean_that_is_asked_for(monkeypatch):
    asked, one = [], translator()
    monkeypatch.setattr(translation, "model_directory", lambda name: name)
    monkeypatch.setattr(translation, "reader_of_others", lambda directory: pytest.fail("a run is none of others"))
    monkeypatch.setattr(translation.loading, "load", lambda name, average, *own: asked.append((name, average)) or SimpleNamespace(
        model=one.model, tokenizer=LETTERS, search=Search(beam_size=3), record=ModelRecord()))
    assert Translator.from_pretrained("a-run", average=7, device="cpu").search == Search(beam_size=3)
    assert asked == [("a-run", 7)]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("allowed", [None, torch.arange(1, 200).expand(4, -1)])
def test_kv_cache_sums_the_probabilities_of_all_words_in_32_bits_or_more(dtype, allowed):
    torch.manual_seed(0)
    wide = torch.promote_types(dtype, torch.float32)
    logits, log_p = (8 * torch.randn(4, 2000)).to(dtype), torch.tensor([[-1.0, -2.0], [-0.5, -3.0]], dtype=wide)
    logits[:, PAD] = float("-inf")
    given = logits.clone()
    top, beam, token = continuations(logits, log_p, 5, allowed)
    exact = log_p.double()[..., None] + given.double().log_softmax(-1).view(2, 2, -1)
    assert top.dtype == wide
    expected = exact.flatten(1).gather(1, beam * 2000 + token)
    torch.testing.assert_close(top.double(), expected, rtol=0, atol=100 * torch.finfo(wide).eps)
    assert dtype.itemsize == 2 or not torch.equal(logits, given), "32 bits and more are not copied: their own memory is used"


def test_translator_finds_a_blank_translation_of_a_blank_line_certain():
    assert translator().log_probabilities(["", "fade"], [" ", "cafe"])[0] == 0.0


@pytest.mark.parametrize("allowed", [None, torch.arange(1, 200).expand(4, -1)])
def test_kv_cache_rounds_no_more_where_all_logits_are_large(allowed):
    torch.manual_seed(0)
    logits, log_p = 3 * torch.randn(4, 2000) + 10_000, torch.tensor([[-1.0, -2.0], [-0.5, -3.0]])
    logits[:, PAD] = float("-inf")
    exact = (log_p.double()[..., None] + logits.double().log_softmax(-1).view(2, 2, -1)).flatten(1)
    top, beam, token = continuations(logits, log_p, 5, allowed)
    torch.testing.assert_close(top.double(), exact.gather(1, beam * 2000 + token), rtol=0, atol=1e-5)
