"A small translator that learns from larger ones (`benchmarks.distillation`): its loss, sources cut anew, what is kept."
import copy

import pytest
import torch

from annotated_transformer import EOS, PAD
from annotated_transformer.data.batching import collate
from annotated_transformer.data.large_corpora import TokenizedPairs
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.training.loop import WithLoss
from annotated_transformer.training.runs import Run
from benchmarks import distillation

TEXTS = ["Rebecca moved from Nottingham to Cologne.", "Yes.", "The unbelievable children overslept on Saturday."]


def gradients(loss, learner):
    learner.zero_grad()
    loss.backward()
    return {name: weight.grad.clone() for name, weight in learner.model.named_parameters()}


def test_without_a_share_of_the_teachers_it_is_the_usual_loss(learner, batch, monkeypatch):
    monkeypatch.setattr(distillation, "FROM_TEACHERS", 0.0)
    usual = learner(*batch, 8)
    expected = gradients(usual, learner)
    taught = distillation.Taught(learner, [copy.deepcopy(learner.model)])
    found = taught(*batch, 8)
    torch.testing.assert_close(found, usual)
    torch.testing.assert_close(gradients(found, taught), expected, atol=1e-6, rtol=1e-5)


def test_who_has_only_itself_to_learn_from_stays_as_it_is(learner, batch, monkeypatch):
    monkeypatch.setattr(distillation, "FROM_TEACHERS", 1.0)
    taught = distillation.Taught(learner, [copy.deepcopy(learner.model), copy.deepcopy(learner.model)])
    found = gradients(taught(*batch, 8), taught)
    assert max(float(gradient.abs().max()) for gradient in found.values()) < 1e-6


def test_it_is_the_mean_over_teachers_of_the_cross_entropy_and_the_padding_counts_for_nothing(learner, batch, monkeypatch, rows):
    monkeypatch.setattr(distillation, "FROM_TEACHERS", 0.25)
    torch.manual_seed(1)
    teachers = [Transformer(learner.model.config), Transformer(learner.model.config)]
    taught = distillation.Taught(learner, teachers)
    found = taught(*batch, 8)
    by_hand = 0.75 * learner(*batch, 8)
    for source, target in rows:  # a sentence at a time, without padding
        ids, before = torch.tensor([source]), torch.tensor([[PAD, *target[:-1]]])
        logs = [(m.decode(before, m.encode(ids), ids) @ m.embedding.weight.T).log_softmax(-1) for m in (learner.model, *teachers)]
        by_hand = by_hand - 0.25 / 8 * sum((log.exp() * logs[0]).sum() for log in logs[1:]) / 2
    torch.testing.assert_close(found, by_hand)
    found = gradients(found, taught)
    assert not found["embedding.weight"][PAD].any() and found["embedding.weight"].any()
    assert all(weight.grad is None for teacher in teachers for weight in teacher.parameters())


@pytest.fixture
def texts(translator):
    rows = [tuple(map(torch.tensor, (translator.tokenizer.encode(text),) * 2)) for text in TEXTS]
    return collate(rows, range(len(rows)))


def cutting(translator, share, longest=512, rows=1.0):
    model, teacher = copy.deepcopy(translator.model), copy.deepcopy(translator.model).requires_grad_(False)
    return distillation.CutAnew(WithLoss(model, 0.1), [teacher], translator.tokenizer, share, longest, rows)


def test_the_learner_reads_the_same_words_in_other_pieces(translator, texts):
    torch.manual_seed(0)
    found = [cutting(translator, 0.3).read(texts.source) for _ in range(5)]
    for ids in found:
        assert [translator.tokenizer.decode(row) for row in ids.tolist()] == TEXTS
        lengths = (ids != PAD).sum(1)
        assert (ids[torch.arange(len(TEXTS)), lengths - 1] == EOS).all() and lengths.max() == ids.size(1)
    assert len({tuple(ids[0].tolist()) for ids in found}) > 1, "each time the same"


def test_a_share_of_0_and_a_measure_read_the_usual_pieces(translator, texts):
    never, often = cutting(translator, 0.0), cutting(translator, 0.9).eval()
    assert torch.equal(never.read(texts.source), texts.source) and torch.equal(often.read(texts.source), texts.source)
    tokens = int((texts.target != PAD).sum())
    for one in (never, often):  # the one in training, the other not
        one.model.eval()        # no dropout
        usual = distillation.Taught(WithLoss(one.model, 0.1), one.teachers)
        torch.testing.assert_close(one(*texts, tokens), usual(*texts, tokens))
    assert never.training and not often.training


def test_the_teachers_read_the_usual_pieces(translator, texts, monkeypatch):
    seen, usual = [], distillation.Taught.logits
    noted = staticmethod(lambda model, source, before: seen.append(source) or usual(model, source, before))
    monkeypatch.setattr(distillation.Taught, "logits", noted)
    cutting(translator, 1.0)(*texts, 10)
    taught, read = seen
    assert torch.equal(taught, texts.source) and read.size(1) > taught.size(1)


def test_a_cut_is_no_longer_than_the_model_reads(translator, texts):
    found = cutting(translator, 1.0, longest=20).read(texts.source)
    assert found.shape == (3, 20) and (found[0, -1], found[2, -1]) == (EOS, EOS)


def test_so_many_of_the_rows_are_cut_anew(translator):
    ids = torch.tensor([translator.tokenizer.encode(TEXTS[0])] * 400)
    torch.manual_seed(0)
    read = cutting(translator, 0.9, rows=0.25).read(ids)
    anew = sum(row[row != PAD].tolist() != ids[0].tolist() for row in read)
    assert 70 <= anew <= 130


def test_a_translation_without_the_names_of_its_pair_is_left_out(translator, tmp_path):
    pairs = [("Vorpal saw Anna.", "Vorpal sah Anna."), ("Good morning.", "Guten Morgen.")]
    Run(tmp_path / "prepared").keep_tokenizer(translator.tokenizer)
    TokenizedPairs.write(tmp_path / "prepared" / "data", "train", pairs, translator.tokenizer, 512, total=2)
    found = ["Vorpal saw Anna.\tVorpal hat Anna gesehen.", "Vorpal saw Anna.\tVorpals sah Anna.", "Good morning.\tMorgen!"]
    (tmp_path / "translated-1.tsv").write_text("\n".join(found), encoding="utf-8")
    (tmp_path / "translated-2.tsv").write_text("Good morning.\t" + "Guten " * 9, encoding="utf-8")
    mixed = Run(distillation.mixed(tmp_path, "taught")).pairs("train")
    texts = distillation.decoded(translator.tokenizer, mixed)
    assert texts == [*pairs, ("Vorpal saw Anna.", "Vorpal hat Anna gesehen."), ("Good morning.", "Morgen!")]


@pytest.mark.parametrize("words", [["teach", "x"], ["translate"], ["learn", "3"], ["report", "plain"]])
def test_who_is_not_known_is_one_sentence(words, tmp_path, refused):
    assert f"error: {words[0]} takes " in refused(distillation.main, [*words, "--work", str(tmp_path / "new")])
    assert not (tmp_path / "new").exists()


def test_only_a_teacher_that_is_taught_reads_cut_sources(tmp_path, refused):
    words = ["teach", "1", "--cut", "--work", str(tmp_path / "new")]
    assert "error: --cut needs --from-shipped" in refused(distillation.main, words)
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("anew", [True, False])
def test_what_trains_from_then_on_learns_from_these_too(translator, anew, monkeypatch):
    monkeypatch.setattr(distillation.loop, "learner_for", lambda model, *others: WithLoss(model, 0.1))
    teacher = copy.copy(translator)
    teacher.model = copy.deepcopy(translator.model).train()
    distillation.teach_by([teacher], anew)
    made = distillation.loop.learner_for(copy.deepcopy(translator.model), None, None, None)
    assert type(made) is (distillation.CutAnew if anew else distillation.Taught)
    [known] = made.teachers
    assert not known.training and not any(weight.requires_grad for weight in known.parameters())
    assert all(weight.requires_grad for weight in made.parameters())
    if anew:
        assert (made.share, made.rows, made.longest) == (distillation.CUT, distillation.ROWS, 512)
