"A finish that makes the better of a model's translations more probable (`benchmarks.expected_bleu`): its loss, its candidates."
import json
import shutil

import pytest
import torch

from annotated_transformer import EOS, PAD, Translator
from annotated_transformer.data.large_corpora import TokenizedPairs
from annotated_transformer.training.runs import Run
from annotated_transformer.translation.bleu import sacre_bleu
from benchmarks import expected_bleu
from benchmarks.expected_bleu import Candidates

KNOWN = {
    (5, 7, 9, 2): Candidates([[4, 2], [4, 8, 9, 2], [11, 2]], [0.2, 0.9, 0.5]),
    (6, 2): Candidates([[3, 3, 2], [10, 2]], [0.0, 0.3]),
}
PAIRS = [
    ("A dog is sleeping.", "Ein Hund schläft."), ("Where is the station?", "Wo ist der Bahnhof?"),
    ("Where is the station?", "Wo finde ich den Bahnhof?"), ("Two men play chess in a park.", "Zwei Männer spielen Schach."),
]


def log_probabilities(model, source, row):
    "Of each token of a row and of all others, without padding and without a batch."
    ids, before = torch.tensor([source]), torch.tensor([[PAD, *row[:-1]]])
    return model(ids, before)[0].log_softmax(-1)


def test_the_loss_is_the_mean_lack_by_the_candidates_probability_and_a_little_of_the_usual_one(learner, batch, rows):
    found, lacks, usual = expected_bleu.Risk(learner, KNOWN, 0.25)(*batch, 8), [], 0.0
    for source, target in rows:
        one, scores = KNOWN[tuple(source)], []
        for row in one.tokens:
            logs = log_probabilities(learner.model, source, row)
            scores.append(sum(logs[at, token] for at, token in enumerate(row)) / len(row))
        shares = (expected_bleu.SHARPNESS * torch.stack(scores)).softmax(0)
        lacks.append(sum(share * lack for share, lack in zip(shares, one.lack)))
        logs = log_probabilities(learner.model, source, target)
        for at, token in enumerate(target):
            others = (logs[at].sum() - logs[at, token]) / 11
            usual -= (0.9 * logs[at, token] + 0.1 * others) / 8
    torch.testing.assert_close(found, sum(lacks) / 2 + 0.25 * usual)


def test_updates_make_the_better_candidates_more_probable_and_padding_stays_zero(learner, batch):
    risk = expected_bleu.Risk(learner, KNOWN, 0.0)
    optimizer = torch.optim.Adam(risk.parameters(), lr=0.01)

    def best_shares():
        shares = []
        for source, one in KNOWN.items():
            logs = [log_probabilities(learner.model, source, row) for row in one.tokens]
            scores = [sum(log[at, token] for at, token in enumerate(row)) / len(row) for log, row in zip(logs, one.tokens)]
            shares.append(float(torch.stack(scores).detach().softmax(0)[one.lack.index(min(one.lack))]))
        return shares

    before = best_shares()
    for _ in range(10):
        optimizer.zero_grad()
        risk(*batch, 8).backward()
        assert not risk.model.embedding.weight.grad[PAD].any()
        optimizer.step()
    assert all(after > share + 0.1 for share, after in zip(before, best_shares()))


def test_candidates_that_are_equally_good_give_no_gradient(learner, batch):
    same = {source: Candidates(one.tokens, [0.4] * len(one.lack)) for source, one in KNOWN.items()}
    risk = expected_bleu.Risk(learner, same, 0.0)
    risk(*batch, 8).backward()
    assert max(float(weight.grad.abs().max()) for weight in risk.parameters()) < 1e-7


@pytest.fixture
def work(tmp_path):
    "A prepared run with a few pairs."
    (tmp_path / "prepared").mkdir()
    translator = Translator.from_pretrained("everyday-en-de", device="cpu", precision="float32")
    (tmp_path / "prepared" / "tokenizer.model").write_bytes(translator.tokenizer.model)
    for split in ("train", "validation"):
        TokenizedPairs.write(tmp_path / "prepared" / "data", split, PAIRS, translator.tokenizer, 512, total=len(PAIRS))
    return tmp_path


def test_the_candidates_are_the_beam_scored_against_all_translations_and_are_found_again_by_the_sentence(work):
    expected_bleu.main(["candidates", "--work", str(work), "--last", "9"])
    lines = [json.loads(line) for line in (work / "candidates-0.jsonl").read_text(encoding="utf-8").splitlines()]
    assert sorted(one["source"] for one in lines) == sorted({source for source, _ in PAIRS})
    [station] = [one for one in lines if one["source"] == "Where is the station?"]
    assert station["targets"] == ["Wo ist der Bahnhof?", "Wo finde ich den Bahnhof?"]
    pieces = Run(work / "prepared").tokenizer
    texts = [pieces.decode(row) for row in station["candidates"]]
    assert 1 < len(texts) == len(set(texts)) == len(station["bleu"]) <= expected_bleu.BEAM
    assert texts[0] == Translator.from_pretrained("everyday-en-de", precision="int8").translate(station["source"])
    for text, score in zip(texts, station["bleu"]):
        alone = sacre_bleu([text], [station["targets"]]) if text in station["targets"] else None
        assert score == 100 if alone else score < 100

    known = expected_bleu.prepared(work, work / "0.03")
    pairs = Run(work / "0.03").pairs("train")
    assert len(pairs) == sum(len(one["targets"]) for one in lines if len(set(one["bleu"])) > 1)
    for at in range(len(pairs)):
        source, _ = pairs[at]
        assert all(row[-1] == EOS and 0 <= lack <= 1 for one in [known[tuple(source.tolist())]] for row, lack in zip(*one))
    best = known[tuple(pieces.encode(station["source"]))].lack[station["bleu"].index(100)]
    assert best == 0  # of what the pairs have, nothing is lacking
    shutil.rmtree(work / "0.03")


def test_sentences_whose_candidates_are_equally_good_are_left_out(work):
    lines = [{"source": "One.", "bleu": [7.0, 7.0]}, {"source": "Two.", "bleu": [7.0, 8.0]}, {"source": "3.", "bleu": [100.0]}]
    (work / "candidates-0.jsonl").write_text("".join(json.dumps(one) + "\n" for one in lines), encoding="utf-8")
    assert [one["source"] for one in expected_bleu.kept(work)] == ["Two."]


def test_what_is_missing_is_said(work, refused):
    for options in (["learn", "0.03", "--work", str(work)], ["learn", "--work", str(work), "--start", "x"]):
        assert "learn takes a share of the usual loss, such as 0.03, and --start" in refused(expected_bleu.main, options)
