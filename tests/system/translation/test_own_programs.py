"What programs of one's own ask of a translator: the n best, how likely a given text is, heads switched off, several processes."
import copy
import os
import pickle
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from annotated_transformer import EOS, PAD, InputError, Translator
from annotated_transformer.config import Search, TransformerConfig
from annotated_transformer.data.tokenizer import Tokenizer
from annotated_transformer.model.attention import MultiHeadAttention, exchanged
from annotated_transformer.model.feed_forward import FeedForward
from annotated_transformer.model.position import PositionalEncoding
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.parsing.parser import Parser
from annotated_transformer.training.optimizer import adam
from annotated_transformer.translation.fast_search import beam_search, check_decoding, greedy_search
from annotated_transformer.translation.search import next_token_without_cache, readable_beam_search

TEXTS = ["bad cab", "a b c d e f", "fade", "deaf bee", "cafe de facade"]
TARGETS = ["fade", "cab", "bad bee de facade a", "e", "f f"]
PACKED = ["float16", "int8"]


def untrained(precision: str = "float32") -> Translator:
    torch.manual_seed(2)
    tokenizer = Tokenizer.train(TEXTS * 3, 20)
    model = Transformer(TransformerConfig(tokenizer.vocab_size, n_layers=1, d_model=12, d_ff=16, n_heads=3, max_length=30))
    return Translator(model.eval(), tokenizer, Search(beam_size=2, extra_length=4), precision)


@pytest.mark.parametrize("n, search", [(1, None), (5, None), (3, Search(5, 2.0, 4))])
def test_the_n_best_are_those_of_the_readable_search(n, search):
    translator, how = untrained(), search or Search(beam_size=max(n, 2), extra_length=4)
    torch.manual_seed(0)
    translator.model.embedding.weight.data[EOS] = torch.randn(12)  # likely, so that it matters when a search stops
    found = translator.n_best(["", *TEXTS], n, search)
    assert [one.text for one in found[0]] == [""]
    for text, ours in zip(TEXTS, found[1:], strict=True):
        source = translator.tokenizer.encode(text)
        next_token, longest = next_token_without_cache(translator.model, torch.tensor(source)), len(source) + how.extra_length
        expected = readable_beam_search(next_token, how.beam_size, how.alpha, longest)[:n]
        assert [one.text for one in ours] == [translator.tokenizer.decode(one.tokens) for one in expected]
        assert [one.tokens for one in ours] == [len(one.tokens) + 1 for one in expected]
        assert [one.score for one in ours] == pytest.approx([one.score for one in expected], abs=1e-4)
        assert [one.log_probability for one in ours] == pytest.approx([one.log_probability for one in expected], abs=1e-4)
        assert len(ours) == n


def test_the_best_of_n_is_the_translation_with_so_many_beams():
    translator = untrained()
    expected = translator.translations(TEXTS, Search(beam_size=6, extra_length=4), split=False)
    assert [one[0] for one in translator.n_best(TEXTS, 6)] == expected
    with pytest.raises(InputError, match="n must be a whole number of at least 1, not 0"):
        translator.n_best(TEXTS, 0)
    with pytest.raises(InputError, match=r"give a list of texts, not one: \['fade'\]"):
        translator.n_best("fade")
    with pytest.raises(InputError, match="give a text or a list of texts, not None"):
        translator.n_best(None)
    for wrong, said in (("be \ud83d", "holds half a character"), (b"bee", "is not a str, but of the type bytes")):
        with pytest.raises(InputError, match=f"^sentence 2 {said}"):
            translator.n_best(["fade", wrong])
        with pytest.raises(InputError, match=f"^target 2 {said}"):
            translator.log_probabilities(TEXTS[:2], ["fade", wrong])
    with pytest.raises(InputError, match="the beam size must be at most 20"):
        translator.n_best(TEXTS, 21)


OWN_MEMORY = """import os
from pathlib import Path
from annotated_transformer import Translator

def mine():
    lines = Path("/proc/self/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("Private_Dirty:"))

translator = Translator.from_pretrained("everyday-en-de")
translator("A first sentence.")
weights = sum(weight.numel() * weight.element_size() for weight in translator.model.parameters())
if os.fork() == 0:
    print(translator("Where is the station?"), 1024 * mine() / weights, sep="\\n")
else:
    os.wait()  # what a process shares with one that has ended is its own
"""


@pytest.mark.skipif(not Path("/proc/self/smaps_rollup").exists(), reason="Linux counts each process's own memory")
def test_workers_that_are_forked_from_a_server_share_its_weights():
    done = subprocess.run([sys.executable, "-c", OWN_MEMORY], capture_output=True, text=True)
    found, share = done.stdout.splitlines()
    assert done.returncode == 0 and found == "Wo ist der Bahnhof?" and float(share) < 0.5


@pytest.mark.parametrize("batch_tokens", [1, 4_096])
def test_the_log_probability_of_a_given_target_is_that_of_one_pass(batch_tokens):
    translator = untrained()
    found = translator.log_probabilities([*TEXTS, "", ""], [*TARGETS, "fade", ""], batch_tokens)
    each = translator.token_log_probabilities([*TEXTS, "", ""], [*TARGETS, "fade", ""], batch_tokens)
    for source, target, ours in zip([*TEXTS, ""], [*TARGETS, "fade"], found):
        source, target = (torch.tensor([translator.tokenizer.encode(side)]) for side in (source, target))
        with torch.no_grad():
            logits = translator.model(source, torch.cat([torch.tensor([[PAD]]), target[:, :-1]], 1))[0]
        logits[:, PAD] = float("-inf")
        expected = logits.log_softmax(1)[range(target.size(1)), target[0]]
        assert target[0, -1] == EOS and ours == pytest.approx(float(expected.sum()), abs=1e-4)
        assert each.pop(0) == pytest.approx(expected.tolist(), abs=1e-4)
    assert found[-1] == 0.0 and len(found) == 7 and each == [[]]


def test_rescored_the_n_best_have_the_log_probabilities_of_the_search():
    translator = Translator.from_pretrained("multi30k-en-de")
    source = "A man is riding a bike."
    found = translator.n_best([source], 4)[0]
    again = translator.log_probabilities([source] * 4, [one.text for one in found])
    assert len({one.text for one in found}) == 4 and again == pytest.approx([one.log_probability for one in found], abs=1e-3)


def test_rescored_a_text_that_was_written_in_other_pieces_has_less():
    "The search wrote Cheer lead er mann schaft, and the tokenizer cuts Cheer lead erm ann schaft."
    translator = Translator.from_pretrained("everyday-en-de")
    one, = translator.translations(source := ["A cheerleading team doing a routine on chairs."])
    again, = translator.token_log_probabilities(source, [one.text])
    assert "Cheerleadermannschaft" in one.text and len(again) == len(translator.tokenizer.encode(one.text))
    assert sum(again) == pytest.approx(*translator.log_probabilities(source, [one.text]), abs=1e-4)
    assert sum(again) < one.log_probability - 3


def test_texts_may_come_in_whatever_several_come_in():
    translator = untrained()
    rows, expected = np.array(TEXTS), translator.n_best(TEXTS, 2)
    for texts in (tuple(TEXTS), rows, iter(TEXTS)):
        assert translator.n_best(texts, 2) == expected
    expected = translator.log_probabilities(TEXTS, TARGETS)
    assert translator.log_probabilities(rows, tuple(TARGETS)) == expected
    assert translator.log_probabilities(iter(TEXTS), iter(TARGETS)) == expected
    assert translator.n_best(TEXTS, np.int64(2)) == translator.n_best(TEXTS, 2)
    for n in (0, 2.5, True, "2", [2]):
        with pytest.raises(InputError, match=f"n must be a whole number of at least 1, not {re.escape(repr(n))}$"):
            translator.n_best(TEXTS, n)


def test_pairs_that_cannot_be_scored_are_refused():
    translator = untrained()
    long = ["a b c d e f " * 9]
    for sources, targets, said in ((TEXTS, TEXTS[:2], "there are 5 sources and 2 targets"), ("fade", "cafe", "give a list of"),
                                   ("fade", "bad", "give a list of"), (["fade"], "e", "give a list of"), (5, 5, "not 5"),
                                   (["fade"], long, "target 1 has"), (long, ["fade"], "source 1 has")):
        for call in (translator.log_probabilities, translator.token_log_probabilities):
            with pytest.raises(InputError, match=said):
                call(sources, targets)


@pytest.mark.parametrize("given", [4, 0, {"beam_size": 2}, "beam"])
def test_what_is_no_search_is_refused_by_whatever_searches(given):
    translator, source = untrained(), torch.tensor([[5, 6, EOS]])
    for call in (lambda: translator("fade", given), lambda: translator.translate(["fade"], search=given),
                 lambda: translator.translations(["fade"], given), lambda: translator.n_best(["fade"], 2, given),
                 lambda: Translator(translator.model, translator.tokenizer, given),
                 lambda: beam_search(translator.model, source, given), lambda: greedy_search(translator.model, source, given)):
        with pytest.raises(InputError, match=r"^search must be a Search, such as Search\(beam_size=4\), not "):
            call()


def off(attention):
    return lambda query, key, value, *_: 0 * query @ key.mT @ value


def likelihoods(translator: Translator) -> list[float]:
    return [one.log_probability for one in translator.translations(TEXTS)]


@pytest.mark.parametrize("precision", PACKED)
def test_a_packed_search_follows_the_model(precision):
    translator = untrained(precision)
    before, model, searched = likelihoods(translator), translator.model, translator.searched
    assert translator.searched is searched, "packed once"

    def likely_anew() -> list[float]:
        return likelihoods(Translator(copy.deepcopy(model), translator.tokenizer, translator.search, precision))

    with exchanged(model, off):
        by_the_model = likelihoods(Translator(model, translator.tokenizer, translator.search))
        assert likelihoods(translator) == by_the_model != before
    assert likelihoods(translator) == before and translator.searched is translator.searched
    calls = []
    with model.decoder.layers[0].register_forward_hook(lambda *_: calls.append(1)):
        assert likelihoods(translator) == before and calls
    calls.clear()
    assert likelihoods(translator) == before and not calls
    step = adam(model.parameters())  # fused: PyTorch counts no change of a weight
    for weight in model.parameters():
        weight.grad = torch.ones_like(weight)
    step.param_groups[0]["lr"] = 0.02
    step.step()
    assert likelihoods(translator) == likely_anew() != before
    with torch.no_grad():
        model.decoder.layers[0].memory_attention.sublayer.out_projection.weight.zero_()
    zeroed = likelihoods(translator)
    assert zeroed == likely_anew() != before
    model.decoder.layers[0].feed_forward = copy.deepcopy(model.decoder.layers[0].feed_forward)
    torch.nn.init.normal_(model.decoder.layers[0].feed_forward.sublayer.inner.weight)
    assert likelihoods(translator) == likely_anew() != zeroed


def test_a_part_that_keeps_what_it_sees_is_not_copied_with_the_model():
    class Counting:
        def __init__(self, attention):
            self.attend, self.seen = attention.attend, 0

        def __call__(self, *given):
            self.seen += 1
            return self.attend(*given)

    translator, counting = untrained("int8"), []
    with exchanged(translator.model, lambda attention: counting.append(Counting(attention)) or counting[-1]):
        translator.translate(TEXTS)
    assert all(one.seen for one in counting)


def test_a_translator_that_was_made_without_gradients_searches_in_few_bits():
    with torch.inference_mode():
        translator = untrained("int8")
    assert likelihoods(translator) == likelihoods(untrained("int8"))


@pytest.mark.parametrize("precision", ["float32", *PACKED])
def test_a_translator_goes_to_another_process_with_its_precision(precision):
    translator = untrained(precision)
    for other in (pickle.loads(pickle.dumps(translator)), copy.deepcopy(translator)):
        assert other.precision == precision and likelihoods(other) == likelihoods(translator)


def test_the_example_of_several_processes_in_the_documentation_runs(tmp_path):
    page = (Path(__file__).parents[3] / "docs" / "speed.md").read_text(encoding="utf-8")
    program, = re.findall(r"```python\n(.*?)```", page, re.S)
    (tmp_path / "lines.en").write_text("A dog runs.\nTwo dogs are playing in the snow.\n" * 2)
    (tmp_path / "many.py").write_text(program.replace("Executor(2", "Executor(1"))
    done = subprocess.run([sys.executable, "many.py"], cwd=tmp_path, capture_output=True, text=True, timeout=300,
                          env={**os.environ, "OMP_NUM_THREADS": "1"})
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == ["Ein Hund rennt.", "Zwei Hunde spielen im Schnee."] * 2


@pytest.mark.parametrize("wide", [torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("precision", PACKED)
def test_a_packed_search_is_the_same_under_autocast(precision, wide):
    with torch.autocast("cpu", dtype=wide):
        found = untrained(precision).translations(TEXTS)
        assert torch.is_autocast_enabled("cpu")
    assert found == untrained(precision).translations(TEXTS)


class AlwaysTheFirst(PositionalEncoding):
    def forward(self, x, start=0):
        return super().forward(x)


class LooksBack(FeedForward):
    def forward(self, x):
        return super().forward(x + torch.nn.functional.pad(x, (0, 0, 1, -1)))


class WithoutStart(Transformer):
    def __init__(self, config):
        super().__init__(config)
        self.positions = AlwaysTheFirst(config.d_model, config.max_length)


class WithNeighbours(Transformer):
    def feed_forward(self):
        return LooksBack(self.config.d_model, self.config.d_ff)


class Fussy(Transformer):
    def embed(self, ids, start=0):
        if (ids == EOS).any():
            raise KeyError(EOS)
        return super().embed(ids, start)


class Sharper(MultiHeadAttention):
    def attend_with_weights(self, query, key, value, allowed=None):
        return super().attend_with_weights(3 * query, key, value, allowed)


class SharperUnseen(MultiHeadAttention):
    def attend(self, query, key, value, allowed=None, causal=False):
        return super().attend(3 * query, key, value, allowed, causal)


class Good(Transformer):
    pass


def loaded(model: Transformer, tokenizer: Tokenizer, directory: Path) -> Translator:
    Translator(model, tokenizer).save_pretrained(directory)
    return Translator.from_pretrained(directory, model=type(model))


@pytest.mark.parametrize("kind", [WithoutStart, WithNeighbours])
def test_who_loads_a_class_of_ones_own_learns_once_that_it_decodes_otherwise_than_it_trains(kind, tmp_path, caplog):
    plain = untrained()
    model = kind(plain.model.config)
    with pytest.raises(InputError, match=f"^{kind.__name__} gives token 2 a different probability.*`start`.*other tokens"):
        check_decoding(model)
    loaded(model, plain.tokenizer, tmp_path / "model")
    caplog.clear()
    translator = Translator.from_pretrained(tmp_path / "model", model=kind, precision="int8")
    assert [record.name for record in caplog.records] == ["annotated_transformer.translation.fast_search"]
    assert caplog.messages[0].startswith(f"{kind.__name__} gives token 2 a different")
    assert "until then a search or a figure is not" in caplog.text
    translator.translate(TEXTS)
    copy.deepcopy(translator).translate(TEXTS)
    assert len(caplog.messages) == 1


def test_the_maps_of_a_sentence_of_padding_alone_are_zero():
    model = untrained().model
    source, target = torch.tensor([[5, 6, EOS], [PAD, PAD, PAD]]), torch.tensor([[PAD, 7], [PAD, 7]])
    maps = model.attention_maps(source, target)
    for there, padded in ((True, maps.encoder[:, 1]), (True, maps.encoder_decoder[:, 1]), (False, maps.decoder[:, 1])):
        assert torch.isfinite(padded).all() and (padded.count_nonzero() == 0) == there


@pytest.mark.parametrize("kind", [Sharper, SharperUnseen])
def test_attention_that_is_drawn_otherwise_than_it_is_trained_is_refused(kind):
    model = untrained().model
    check_decoding(model)
    attention, c = model.decoder.layers[-1].memory_attention, model.config
    other = kind(c.d_model, c.n_heads, c.d_k, c.d_v)
    other.load_state_dict(attention.sublayer.state_dict())
    attention.sublayer = other
    with pytest.raises(InputError, match="Transformer attends differently when its weights are drawn.*or neither"):
        check_decoding(model)


def test_a_part_exchanged_in_the_model_itself_is_looked_at_and_nothing_else_is(caplog, monkeypatch):
    monkeypatch.setattr("annotated_transformer.translation.fast_search.StepwiseDecoder", None)  # to be looked at is to fail
    model, tokenizer = untrained().model, untrained().tokenizer
    Translator.from_pretrained("numbers-en-de")
    assert not caplog.messages
    model.positions = AlwaysTheFirst(12, 30)
    Translator(model, tokenizer)
    assert caplog.messages == [
        "Transformer: whether it decodes as it trains could not be checked (TypeError: 'NoneType' object is not callable)"]


def test_a_good_class_warns_of_nothing_and_a_check_that_fails_ends_nothing(tmp_path, caplog):
    plain = untrained()
    loaded(Good(plain.model.config), plain.tokenizer, tmp_path / "good")
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loaded(Good(plain.model.config), plain.tokenizer, tmp_path / "good")
    parser = Translator.from_pretrained("parser-en")
    loaded(Good(parser.model.config), parser.tokenizer, tmp_path / "parser")
    assert not caplog.messages
    Parser.from_pretrained(tmp_path / "parser", model=Good)
    assert not caplog.messages
    Translator(Fussy(plain.model.config), plain.tokenizer)
    assert caplog.messages == ["Fussy: whether it decodes as it trains could not be checked (KeyError: 1)"]
