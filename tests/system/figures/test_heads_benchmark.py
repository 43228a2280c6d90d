"The benchmark that chooses heads: its aligner, and the whole of it on a model that has learnt nothing."
import json
import sys
from collections import Counter
from types import SimpleNamespace

import pytest
import torch

from annotated_transformer import Transformer, TransformerConfig, Translator
from annotated_transformer.data.tokenizer import Tokenizer
from annotated_transformer.figures.head_scores import Aligned, read_aligned, read_marks
from benchmarks import heads, word_pairs

ALIGNED, OBJECTS, PRONOUNS = (heads.sentences(name) for name in ("aligned", "objects", "pronouns"))
PAIRS = [
    ("A dog runs.", "Ein Hund rennt."), ("A dog sleeps.", "Ein Hund schläft."), ("A man runs.", "Ein Mann rennt."),
    ("A man sleeps.", "Ein Mann schläft."), ("Now a dog runs.", "Jetzt rennt ein Hund."),
]


def test_the_lists_are_more_than_a_position():
    for lines in (PRONOUNS, OBJECTS):
        pairs = [pair for line in lines for pair in read_marks(line)[1]]
        assert 40 <= len(pairs) == len(lines) == len(set(lines)) <= 60  # one query and one right place in each
        from_the_end = [len(line.split()) - read_marks(line)[1][0][1] for line in lines]
        for numbers in ([key - query for query, key in pairs], [key for _, key in pairs], from_the_end):
            assert Counter(numbers).most_common(1)[0][1] <= 0.4 * len(lines) and len(set(numbers)) >= 5
    assert sum(noun < verb for line in OBJECTS for verb, noun in read_marks(line)[1]) >= 8


def test_every_link_joins_two_words():
    for line in ALIGNED:
        source, target, links = read_aligned(line)
        assert len(links) == len(set(links)) and {t for _, t in links} == set(range(len(target.split()))), line
        assert max(s for s, _ in links) == len(source.split()) - 1, line


@pytest.mark.parametrize("marked", [
    "{Tom} lost [his] key.", "I asked {Tom} where [he] lives.", "The little {girl} hugged [her] bear.",
    "{Mary} hurt [herself] badly.", "When [he] came home, {Tom} was tired.", "The {children} opened [their] presents.",
    "The {dog} wagged [its] tail.",
    "{Tom} said [he] needed help.",
])
def test_a_pronoun_that_can_only_mean_one_noun_is_found(marked):
    sentence, [(query, key)] = read_marks(marked)
    assert word_pairs.pronoun_and_noun(sentence) == word_pairs.Found(sentence, query, key)
    assert word_pairs.mark(word_pairs.Found(sentence, query, key)) == marked


@pytest.mark.parametrize("sentence", [
    "Tom hit him.", "Tom told John that he had to go.", "Tom is his brother.", "Mary told her to go.",
    "Tom and Mary lost their keys.", "Tom, his wife is here.", "Tom helps everyone that asks him.", "Mary lost his key.",
    "Tom told the doctor that he felt no pain.",
    "He said Tom was tired.", "Tom's brother lost his key.", "Tom lost his key and she found it.", "It is raining.",
])
def test_a_pronoun_that_could_mean_another_is_left_alone(sentence):
    assert word_pairs.pronoun_and_noun(sentence) is None


@pytest.mark.parametrize("marked", ["Tom [bought] a {car}.", "I don't [speak] {French} at all.", "She [wore] a red {dress}."])
def test_a_verb_s_object_is_found(marked):
    sentence, [(query, key)] = read_marks(marked)
    assert word_pairs.verb_and_object(sentence) == word_pairs.Found(sentence, query, key)


@pytest.mark.parametrize("sentence", [
    "Tom sleeps.", "I want the rain to stop.", "The play is good.", "He gave her a book.", "I like it.", "She loves to sing.",
])
def test_what_is_no_object_is_left_alone(sentence):
    assert word_pairs.verb_and_object(sentence) is None


class Everyday:
    "A corpus of a few sentences, most of them in training."

    train = [(f"{name} lost his {thing}.", "") for name in ("Tom", "John") for thing in ("key", "hat", "car")]
    split = {"train": train, "validation": [("Where did Tom lose his key?", "")], "test": [("Tom sold a car.", ""), train[0]]}.get


def test_pairs_are_taken_from_all_splits_and_not_too_many_of_one_place(monkeypatch):
    search = word_pairs.SEARCHES["pronoun's noun"]
    monkeypatch.setitem(word_pairs.SEARCHES, "pronoun's noun", search._replace(most=3))
    kept, everywhere = word_pairs.find(Everyday, "pronoun's noun")
    assert everywhere == {"train": 5, "test": 1, "validation": 1}  # what stands in two splits counts where it was not trained on
    assert sorted(split for split, _ in kept) == ["test", "train", "train", "validation"]
    assert Counter(pair.key for _, pair in kept) == {0: 3, 2: 1}
    assert kept == word_pairs.find(Everyday, "pronoun's noun")[0]


def test_verdicts_are_kept_when_the_lists_are_written_again(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(word_pairs, "load", lambda name: Everyday)
    monkeypatch.setattr(sys, "argv", ["word_pairs", "--out", str(tmp_path)])
    word_pairs.main()
    path = tmp_path / "pronouns-checked.txt"
    text = path.read_text(encoding="utf-8")
    assert "open  {Tom} lost [his] key.\n" in text
    path.write_text(text.replace("open  {Tom} lost [his] key.", "right  {Tom} lost [his] key."), encoding="utf-8")
    word_pairs.main()
    assert word_pairs.read_judged(path)["{Tom} lost [his] key."] == "right" and "open" in path.read_text(encoding="utf-8")


def test_the_committed_verdicts_are_complete_and_follow_the_rules():
    for name, search in word_pairs.SEARCHES.items():
        verdicts = word_pairs.read_judged(heads.HERE.parent / "results" / "heads" / search.file)
        assert len(verdicts) == 100 and set(verdicts.values()) == {"right", "wrong"}
        for marked in verdicts:
            sentence, [(query, key)] = read_marks(marked)
            assert search.rule(sentence) == word_pairs.Found(sentence, query, key), (name, marked)


def test_the_aligner_learns_who_goes_with_whom():
    found = heads.links(PAIRS, rounds=20)
    assert found[:4] == [[(0, 0), (1, 1), (2, 2)]] * 4
    assert found[4] == [(0, 0), (1, 2), (2, 3), (3, 1)]  # another word order: now, a, dog, runs


def test_precision_and_recall_by_hand():
    by_hand = [Aligned("a b c", "x y", [(0, 0), (1, 1), (2, 1)]), Aligned("d", "z", [(0, 0)])]
    found = heads.precision([[(0, 0), (2, 1), (1, 0)], []], by_hand)
    assert found == {"links": 3, "precision": 0.6667, "by_hand": 4, "recall": 0.5}


LISTS = ["pronoun's noun", "pronoun's noun, not trained on", "verb's object", "verb's object, not trained on",
         "pronoun's noun, by hand", "verb's object, by hand"]


@pytest.fixture
def model(tmp_path):
    texts = ["Tom sells The man has key lost.", *(read_marks(line)[0] for line in PRONOUNS + OBJECTS)]
    texts += [text for line in ALIGNED for text in read_aligned(line)[:2]]
    tokenizer = Tokenizer.train(texts + [text for pair in PAIRS for text in pair], 300)
    torch.manual_seed(1)
    model = Transformer(TransformerConfig(300, n_layers=2, d_model=12, d_ff=10, n_heads=3, dropout=0.0))
    Translator(model, tokenizer).save_pretrained(tmp_path / "model")
    return tmp_path / "model"


def test_every_head_is_measured_by_every_measure(model, tmp_path, monkeypatch):
    everyday = [("Tom lost his key.", ""), ("A man sells a dog.", ""), ("The man has his dog.", "")]
    corpus = SimpleNamespace(split={"train": PAIRS, "test": PAIRS[:3], "validation": everyday}.get)
    monkeypatch.setattr(heads, "load", lambda name: corpus)
    out = tmp_path / "heads.json"
    monkeypatch.setattr(sys, "argv", ["heads", "--model", str(model), "--out", str(out)])
    heads.main()
    record = json.loads(out.read_text(encoding="utf-8"))
    assert record["command"].startswith("python -m benchmarks.heads --model") and record["config"]["sentences"] == 3
    measures = record["figures"]["measures"]
    assert {kind: list(found) for kind, found in measures.items()} == {
        "encoder": ["previous token", "next token", "same token", "end sign", *LISTS],
        "decoder": ["previous token", "same token", "start sign"],
        "encoder_decoder": ["aligned word", "word just read", "aligned by hand"],
    }
    assert {kind: list(found) for kind, found in record["figures"]["untrained"].items()} == {
        kind: list(found) for kind, found in measures.items()
    }
    for found in (found for by_name in measures.values() for found in by_name.values()):
        assert [len(row) for row in found["scores"]] == [3, 3]
        assert found["best"]["score"] == max(max(row) for row in found["scores"])
    assert measures["encoder"]["verb's object, by hand"]["queries"] == len(OBJECTS)
    assert [measures["encoder"][name]["queries"] for name in LISTS[:2]] == [2, 2]
    assert record["config"]["by_rule"]["pronoun's noun"] == {"found": {"validation": 2}, "measured": {"validation": 2}}
    by_hand = [read_aligned(line) for line in ALIGNED]
    found = heads.links(PAIRS + PAIRS[:3] + [pair[:2] for pair in by_hand])[5:8]
    assert measures["encoder_decoder"]["aligned word"]["queries"] == sum(len({t for _, t in links}) for links in found) > 0
    linked = sum(len({t for _, t in pair.links}) for pair in by_hand)
    assert measures["encoder_decoder"]["aligned by hand"]["queries"] == linked


def test_a_model_that_is_not_there_is_one_sentence(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["heads", "--model", "nowhere"])
    with pytest.raises(SystemExit) as stop:
        heads.main()
    assert stop.value.code == 2 and "nowhere" in capsys.readouterr().err
