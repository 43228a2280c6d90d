"The benchmark of heads: its aligner, planted heads, and the whole of it on a model that has learnt nothing."
import json
import sys
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
import torch.nn.functional as F

from annotated_transformer import Transformer, TransformerConfig, Translator
from annotated_transformer.data.tokenizer import Tokenizer
from annotated_transformer.figures.attention_maps import AttentionMaps, token_labels
from annotated_transformer.figures.head_scores import NONE, RESTS, Aligned, catalogue, read_aligned, read_marks
from annotated_transformer.figures.token_labels import find
from benchmarks import heads, repeated_words, word_pairs
from benchmarks.shared.sentence_lists import sentences, spread

ALIGNED, OBJECTS, PRONOUNS = (sentences(name)[0] for name in ("aligned", "objects", "pronouns"))
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


def test_the_lists_go_into_a_new_directory_or_one_sentence_says_why_not(tmp_path, monkeypatch, refused):
    monkeypatch.setattr(word_pairs, "load", lambda name: Everyday)
    monkeypatch.setattr(sys, "argv", ["word_pairs", "--out", str(tmp_path / "new" / "lists")])
    word_pairs.main()
    assert (tmp_path / "new" / "lists" / "pronouns-checked.txt").exists()
    (tmp_path / "file").touch()
    monkeypatch.setattr(sys, "argv", ["word_pairs", "--out", str(tmp_path / "file")])
    assert "file cannot be made" in refused(word_pairs.main)


def test_the_committed_verdicts_are_complete_and_follow_the_rules():
    for name, search in word_pairs.SEARCHES.items():
        verdicts = word_pairs.read_judged(heads.JUDGED / search.file)
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


ENCODER = [
    "previous token", "previous token, from words", "next token", "next token, from words", "same token", "rarest token",
    "one of the two rarest tokens", "pronoun's noun", "noun's pronoun", "pronoun's noun, not trained on",
    "noun's pronoun, not trained on", "verb's object", "object's verb", "verb's object, not trained on",
    "object's verb, not trained on", "pronoun's noun, by hand", "noun's pronoun, by hand", "verb's object, by hand",
    "object's verb, by hand",
]
QUESTIONS = {
    "encoder": ENCODER, "decoder": ["previous token", "same token"],
    "encoder_decoder": ["aligned word", "word just read", "aligned by hand"],
}


@pytest.fixture
def model(tmp_path):
    torch.manual_seed(1)
    model = Transformer(TransformerConfig(300, n_layers=2, d_model=12, d_ff=10, n_heads=3, dropout=0.0))
    Translator(model, Tokenizer.train(texts(), 300)).save_pretrained(tmp_path / "model")
    return tmp_path / "model"


def texts():
    "All that the tests translate or ask about."
    lines = ["Tom sells The man has key lost.", *(read_marks(line)[0] for line in PRONOUNS + OBJECTS)]
    lines += [text for line in ALIGNED for text in read_aligned(line)[:2]]
    return lines + [text for pair in PAIRS for text in pair]


EVERYDAY = [
    ("Tom lost his key.", "Ein Hund rennt."), ("A man sells a dog.", "Ein Mann schläft."), ("The man has his dog.", "Ein Hund."),
]


def test_every_head_is_asked_every_question_and_switched_off(model, tmp_path, monkeypatch):
    corpus = SimpleNamespace(split={"train": PAIRS, "test": PAIRS[:3], "validation": EVERYDAY}.get)
    monkeypatch.setattr(heads, "load", lambda name: corpus)
    monkeypatch.setattr(heads, "UNTRAINED", 1)
    out = tmp_path / "heads.json"
    monkeypatch.setattr(sys, "argv", ["heads", "--model", str(model), "--out", str(out)])
    heads.main()
    record = json.loads(out.read_text(encoding="utf-8"))
    assert record["command"].startswith("python -m benchmarks.heads --model") and record["config"]["sentences"] == 3
    figures = record["figures"]
    measures, lost = figures["measures"], figures["without"]
    for part in ("measures", "untrained"):
        assert {kind: list(found) for kind, found in figures[part].items()} == QUESTIONS
    for found in (found for by_name in measures.values() for found in by_name.values()):
        assert [len(row) for row in found["scores"]] == [3, 3]
        assert found["best"]["score"] == max(max(row) for row in found["scores"])
    assert measures["encoder"]["verb's object, by hand"]["queries"] == len(OBJECTS)
    for name in ENCODER[7:11]:
        assert measures["encoder"][name]["queries"] == 2
    assert record["config"]["by_rule"]["pronoun's noun"] == {"found": {"validation": 2}, "measured": {"validation": 2}}
    by_hand = [read_aligned(line) for line in ALIGNED]
    found = heads.links(PAIRS + PAIRS[:3] + [pair[:2] for pair in by_hand])[5:8]
    assert measures["encoder_decoder"]["aligned word"]["queries"] == sum(len({t for _, t in links}) for links in found) > 0
    linked = sum(len({t for _, t in pair.links}) for pair in by_hand)
    assert measures["encoder_decoder"]["aligned by hand"]["queries"] == linked
    names = {kind: [[one.name for one in row] for row in rows] for kind, rows in catalogue(figures).items()}
    assert figures["catalogue"] == names and set(names) == set(figures["resting"]) == set(figures["resting_untrained"])
    tokenizer = Tokenizer.load(model / "tokenizer.model")
    assert lost["pairs"] == 3 and lost["tokens"] == sum(len(tokenizer.encode(target)) for _, target in EVERYDAY)
    assert {kind: len(found["order"]) for kind, found in lost["in_order"].items()} == dict.fromkeys(QUESTIONS, 6)
    for kind, rows in names.items():
        named = sum(name not in (RESTS, NONE) for row in rows for name in row)
        assert (lost["named_and_others"][kind]["named"], lost["named_and_others"][kind]["others"]) == (named, 6 - named)
    assert lost["translations"]["sentences"] == 3 and len(lost["translations"]["choices"]) == 7


def model_of(seed, tokenizer, directory, d_model=16):
    "An untrained model in a directory of its own."
    torch.manual_seed(seed)
    config = TransformerConfig(tokenizer.vocab_size, n_layers=1, d_model=d_model, d_ff=8, n_heads=2, d_k=8, d_v=8, max_length=64)
    Translator(Transformer(config), tokenizer).save_pretrained(directory)
    return str(directory)


def test_models_of_several_seeds_are_asked_the_same(tmp_path, monkeypatch, refused):
    lines = texts()
    for split, some in {"train": lines, "validation": lines[:3], "test": lines[3:6]}.items():
        for language in ("en", "de"):
            (tmp_path / f"{split}.{language}").write_text("\n".join(some) + "\n", encoding="utf-8")
    tokenizer = Tokenizer.train(lines, 300)
    weights = [model_of(seed, tokenizer, tmp_path / f"model-{seed}") for seed in (5, 7)]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(heads, "UNTRAINED", 1)

    def run(*weights):
        options = ["--seeds", "5", "7", "--weights", *weights, "--corpus", str(tmp_path), "--out", "out.json"]
        monkeypatch.setattr(sys, "argv", ["heads", *options])
        heads.main()

    run(*weights)
    record = json.loads(Path("out.json").read_text(encoding="utf-8"))
    assert record["seed"] == [5, 7] and record["config"]["sizes"]["n_heads"] == 2
    one, other = (record["figures"][f"seed {seed}"] for seed in (5, 7))
    assert one["measures"].keys() == other["measures"].keys() and one["untrained"] == other["untrained"]
    assert one["measures"] != other["measures"] and one["without"]["loss"] != other["without"]["loss"]
    queries = [{name: found["queries"] for name, found in some["measures"]["encoder"].items()} for some in (one, other)]
    assert queries[0] == queries[1]
    for bad, said in ((weights[:1], "names 1 models, and there are 2 seeds"),
                      ([weights[0], model_of(7, tokenizer, tmp_path / "wide", 32)], "are not those of")):
        with monkeypatch.context() as patch:
            patch.setattr(heads, "sample", lambda *_: pytest.fail("something was measured"))
            assert said in refused(run, *bad)


class Planted:
    "A translator whose heads do what they are told, and rest on the end with most of their weight."

    def __init__(self, tokenizer, verb_of):
        self.tokenizer, self.verb_of = tokenizer, verb_of

    def attention(self, source, target):
        labels, written = (token_labels(self.tokenizer, self.tokenizer.encode(text)) for text in (source, target))
        n, m = len(labels), len(written)
        verb = find(labels, self.verb_of[source])[0] if source in self.verb_of else 0
        looks = [[max(i - 1, 0) for i in range(n)], [min(i + 1, n - 1) for i in range(n)], [*range(n)], [verb] * n]
        encoder, decoder = self.rows(looks, n - 1, n), self.rows([[max(i - 1, 0) for i in range(m)]] * 4, 0, m).tril()
        maps = encoder.view(2, 2, n, n), decoder.view(2, 2, m, m), torch.full((2, 2, m, n), 1 / n)
        return AttentionMaps(labels, ["<start>", *written[:-1]], written, *maps)

    @staticmethod
    def rows(looks, sign, n):
        rest = F.one_hot(torch.tensor(sign), n)
        return torch.stack([0.3 * F.one_hot(torch.tensor(places), n) + 0.6 * rest + 0.1 / n for places in looks])


def test_planted_heads_are_named(model):
    tokenizer = Tokenizer.load(model / "tokenizer.model")
    verbs = ["A man [sells] the {dog}.", "The {dog} a man that runs [sells].", "Now a man [sells] {dog}."]  # at any distance
    lists = {"verb's object": verbs * 30}
    pairs = [Aligned(*pair, [(0, 0), (1, 1), (2, 2)]) for pair in PAIRS[:4] * 40]
    asked = heads.Sample(pairs, Counter(), lists, [])
    planted = Planted(tokenizer, {read_marks(line)[0]: "sells" for line in verbs})
    nothing = Planted(tokenizer, {})
    nothing.rows = lambda looks, sign, n: torch.full((4, len(looks[0]), n), 1 / n)
    figures = {}
    figures["measures"], figures["resting"] = asked.measure(planted, "planted")
    figures["untrained"] = asked.measure(nothing, "nothing")[0]
    named = {kind: [one.name for row in rows for one in row] for kind, rows in catalogue(figures).items()}
    assert named["encoder"] == ["previous token", "next token", "itself", "object's verb"]
    assert named["decoder"] == ["previous token"] * 4
    assert all(one.resting > 0.5 for row in catalogue(figures)["encoder"] for one in row)


def test_the_rival_is_the_best_of_several_models_that_have_learnt_nothing(model):
    scores, seen = iter([0.1, 0.3, 0.2, 0.5, 0.4]), set()

    def measure(translator, desc):
        score = next(scores)
        seen.add(translator.model.embedding.weight[1, 0].item())
        return {"encoder": {"this": {"held_out": score}, "that": {"held_out": 1 - score}, "one sentence": {"held_out": None}}}, {
            "encoder": [[score, 1.0]]}

    found = heads.of_nothing(Translator.from_pretrained(model), SimpleNamespace(measure=measure))
    assert {name: one["held_out"] for name, one in found["untrained"]["encoder"].items()} == {
        "this": 0.5, "that": 0.9, "one sentence": None}
    assert found["resting_untrained"] == {"encoder": [[0.3, 1.0]]} and len(seen) == heads.UNTRAINED == 5


def test_a_model_that_is_not_there_is_one_sentence(monkeypatch, refused):
    monkeypatch.setattr(sys, "argv", ["heads", "--model", "nowhere"])
    assert "nowhere" in refused(heads.main)


def test_a_part_of_a_list_is_of_the_whole_list():
    assert spread(range(10), 3) == [0, 3, 6] and spread(range(5), 4) == [0, 1, 2, 3] and spread(range(8), 6) == [0, 1, 2, 4, 5, 6]
    assert spread(iter("abcd"), 4) == list("abcd") and spread("ab", 5) == ["a", "b"]


def test_a_lead_that_one_verb_brings_is_not_clear_when_verbs_are_drawn_anew():
    given = [1.0] * 30 + [0.0] * 70, [1] * 100
    one_verb = repeated_words.drawn_anew(*given, ["read"] * 30 + [f"verb {n}" for n in range(70)], 2_000)
    spread_out = repeated_words.drawn_anew(*given, map(str, range(100)), 2_000)
    assert one_verb["groups"] == 71 and spread_out["groups"] == 100
    assert one_verb["interval"][0] == 0.0 and 0.15 < spread_out["interval"][0] < 0.3 < spread_out["interval"][1] < 0.45
    assert repeated_words.drawn_anew([1.0, -1.0, 2.0], [1, 1, 4], "aab", 500)["interval"] == [0.0, 0.5]


def test_a_lead_is_that_of_the_other_halfs_best_head_over_the_best_rule(model):
    lines = ["A {dog} [reads].", "A {man} [reading].", "Now a {dog} [reads].", "A {woman} [sang].", "A {man} [singing]."]
    found = repeated_words.measure(Translator.from_pretrained(model), lines, 100)
    whole = heads.defaultdict(heads.Tally)
    repeated_words.add_marked(whole, {"there": False, "back": True}, Translator.from_pretrained(model).attention, lines)
    for question, name in (("verb's object", "there"), ("object's verb", "back")):
        one = whole["encoder", name].figures()
        assert found[question]["queries"] == 5
        assert found[question]["lead"] == pytest.approx(one["held_out"] - one["position"]["score"], abs=2e-4)
        assert found[question]["by_verb"]["groups"] == 2 and found[question]["by_object"]["groups"] == 3
