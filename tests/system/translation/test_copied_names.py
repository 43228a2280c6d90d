"The everyday translator learns to copy names (`benchmarks.copied_names`): the sources cut anew, and the count."
import copy

import pytest
import torch

from annotated_transformer import EOS, PAD, Translator
from annotated_transformer.data.batching import collate
from annotated_transformer.training.loop import WithLoss
from benchmarks import copied_names
from benchmarks.copied_names import CutAnew, copied
from benchmarks.distillation import Taught

TEXTS = ["Rebecca moved from Nottingham to Cologne.", "Yes.", "The unbelievable children overslept on Saturday."]


@pytest.fixture(scope="module")
def translator():
    return Translator.from_pretrained("everyday-en-de", device="cpu", precision="float32")


@pytest.fixture
def batch(translator):
    rows = [tuple(map(torch.tensor, (translator.tokenizer.encode(text),) * 2)) for text in TEXTS]
    return collate(rows, range(len(rows)))


def learner(translator, share, longest=512):
    model, teacher = copy.deepcopy(translator.model), copy.deepcopy(translator.model).requires_grad_(False)
    return CutAnew(WithLoss(model, 0.1), [teacher], translator.tokenizer, share, longest)


def test_the_learner_reads_the_same_words_in_other_pieces(translator, batch):
    torch.manual_seed(0)
    found = [learner(translator, 0.3).read(batch.source) for _ in range(5)]
    for ids in found:
        assert [translator.tokenizer.decode(row) for row in ids.tolist()] == TEXTS
        lengths = (ids != PAD).sum(1)
        assert (ids[torch.arange(len(TEXTS)), lengths - 1] == EOS).all() and lengths.max() == ids.size(1)
    assert len({tuple(ids[0].tolist()) for ids in found}) > 1, "each time the same"


def test_a_share_of_0_and_a_measure_read_the_usual_pieces(translator, batch):
    never, often = learner(translator, 0.0), learner(translator, 0.9).eval()
    assert torch.equal(never.read(batch.source), batch.source) and torch.equal(often.read(batch.source), batch.source)
    tokens = int((batch.target != PAD).sum())
    for one in (never, often):  # the one in training, the other not
        one.model.eval()        # no dropout
        usual = Taught(WithLoss(one.model, 0.1), one.teachers)
        torch.testing.assert_close(one(*batch, tokens), usual(*batch, tokens))
    assert never.training and not often.training


def test_the_teachers_read_the_usual_pieces(translator, batch, monkeypatch):
    seen, usual = [], Taught.logits
    noted = staticmethod(lambda model, source, before: seen.append(source) or usual(model, source, before))
    monkeypatch.setattr(Taught, "logits", noted)
    learner(translator, 1.0)(*batch, 10)
    taught, read = seen
    assert torch.equal(taught, batch.source) and read.size(1) > taught.size(1)


def test_a_cut_is_no_longer_than_the_model_reads(translator, batch):
    found = learner(translator, 1.0, longest=20).read(batch.source)
    assert found.shape == (3, 20) and (found[0, -1], found[2, -1]) == (EOS, EOS)


def test_the_share_is_that_of_the_new_weights(translator, tmp_path):
    new = copy.deepcopy(translator)
    with torch.no_grad():
        new.model.embedding.weight.add_(1.0)
    translator.save_pretrained(tmp_path / "old")
    for share in (0.0, 0.25, 1.0):
        found = copied_names.mixed(tmp_path / "old", new, share).model.state_dict()
        for name, weight in translator.model.state_dict().items():
            torch.testing.assert_close(found[name], weight + share * name.endswith("embedding.weight"))


def test_a_name_is_copied_when_it_stands_there_as_a_word():
    class Parrot:
        def translate(self, sentences):
            return [sentence.replace("Vorpal", "Vorpals").replace("sleeps", "schläft") for sentence in sentences]

    found = copied(Parrot(), [("Vorpal sleeps.", "Vorpal"), ("Where is Snark?", "Snark")])
    assert (found["copied"], found["of"]) == (1, 2)
    assert found["first_not_copied"] == [{"source": "Vorpal sleeps.", "translation": "Vorpals schläft."}]


@pytest.mark.parametrize("words", ["learn", "corpus some", "report", "corpus", "learn others"])
def test_what_is_asked_wrongly_is_one_sentence(words, tmp_path, capsys):
    with pytest.raises(SystemExit) as ended:
        copied_names.main([*words.split(), "--work", str(tmp_path / "new")])
    assert ended.value.code == 2 and "error: " in capsys.readouterr().err and not (tmp_path / "new").exists()
