"Parsing from files of trees to printed trees, by the command; and the free treebank sample, where it is in the cache."
import json
import random
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from nltk.tokenize.treebank import TreebankWordDetokenizer
from nltk.tree import Tree

from annotated_transformer import InputError, Transformer, TransformerConfig, Translator
from annotated_transformer.config import PRESETS
from annotated_transformer.data import corpora, treebanks
from annotated_transformer.data.downloads import cache_directory
from annotated_transformer.data.large_corpora import TokenizedPairs
from annotated_transformer.data.tokenizer import Tokenizer
from annotated_transformer.data.treebank_words import joined_word, split_words
from annotated_transformer.data.treebanks import read_trees
from annotated_transformer.data.trees import LABELS, LEAVES, bracket_free, linearize, print_tree, repair
from annotated_transformer.parsing.evalb import bracket_scores
from annotated_transformer.parsing.parser import Parser
from annotated_transformer.parsing.tree_search import TreeSearch
from benchmarks.shared.baselines import damaged

TRAIN = """train --preset parsing-small --vocab-size 104 --n-layers 1 --d-model 32 --d-ff 64 --n-heads 4 --dropout 0 --steps 60
    --batch-tokens 900 --warmup-steps 40 --validate-every 60 --checkpoint-every 60 --keep 1 --init-gain 1""".split()


@pytest.fixture(scope="session")
def run(tmp_path_factory, treebank):
    from annotated_transformer.command_line import main as cli

    directory = tmp_path_factory.mktemp("runs") / "parser"
    cli.main([*TRAIN, "--corpus", str(treebank), "--run", str(directory)])
    return directory


def test_all_trees_for_training_are_read_and_their_brackets_are_whole_pieces(run):
    tokenizer, pairs = Tokenizer.load(run / "tokenizer.model"), TokenizedPairs.open(run / "data", "train")
    assert len(pairs) == 120 and pairs.left_out == 0
    for source, target in (pairs[i] for i in range(len(pairs))):
        words, row = tokenizer.decode(source).split(), tokenizer.decode(target).split()
        assert len(target) == len(row) + 1 and row.count("XX") == len(words) and row[0] == "(S"


def test_the_command_scores_and_keeps_the_trees(run, treebank, tmp_path, command):
    out = tmp_path / "figures.json"
    status, printed, err = command("score", run, "--beam-size", "2", "--out", out)
    assert status == 0 and err == ""
    assert printed.startswith(f"{treebank.name} test: 9 sentences, beam 2, alpha 0.3\nF1 ") and "malformed outputs: " in printed
    record = json.loads(out.read_text())
    assert record["search"] == {"beam_size": 2, "alpha": 0.3, "extra_length": 300, "average": None}
    gold = corpora.load(treebank).trees("test")
    trees = [next(read_trees([line], "output")) for line in out.with_suffix(".txt").read_text().splitlines()]
    assert [tree.leaves() for tree in trees] == [tree.leaves() for tree in gold]
    assert record["figures"]["f1"] == bracket_scores(gold, trees).f1
    assert record["config"]["corpus"] == str(treebank)


def test_the_command_prints_a_tree_for_each_line(run, command):
    stdin = b"Ann see (cats) .\n\ndogs hear Bob like Eve .\n"
    status, out, err = command("parse", run, "--beam-size", "1", "--extra-length", "20", stdin=stdin)
    assert status == 0
    first, blank, third = out.removesuffix("\n").split("\n")
    assert Tree.fromstring(first).leaves() == ["Ann", "see", "-LRB-cats-RRB-", "."] and blank == ""
    assert Tree.fromstring(third).leaves() == "dogs hear Bob like Eve .".split()
    assert err == "" or err.endswith(" of 2 outputs were not trees and had to be repaired\n")


def test_running_text_is_warned_of_once_and_split_if_told(run, command):
    stdin = "Ann sees cats .\nBob doesn’t.\n\nEve’s dogs “bark,” too.\n".encode()
    search = ("--beam-size", "1", "--extra-length", "20")
    status, out, err = command("parse", run, *search, stdin=stdin)
    assert status == 0 and [*Tree.fromstring(out.splitlines()[1]).leaves()] == ["Bob", "doesn’t."]
    assert err.count("--split-words") == 1 and err.startswith("'doesn’t.' is more than one word in a treebank")
    status, out, err = command("parse", run, *search, "--split-words", stdin=stdin)
    leaves = [Tree.fromstring(line).leaves() if line else [] for line in out.splitlines()]
    assert [" ".join(words) for words in leaves] == [
        "Ann sees cats .", "Bob does n't .", "", "Eve 's dogs `` bark , '' too ."] and "--split-words" not in err


def test_the_preset_for_whom_has_no_treebank(tmp_path, monkeypatch, complaint):
    monkeypatch.setenv("ANNOTATED_TRANSFORMER_DATA", str(tmp_path / "cache"))
    message = complaint("train", "--preset", "parsing", "--run", tmp_path / "run")
    assert message.startswith(f"{tmp_path / 'cache' / 'wsj'} does not exist") and "LDC99T42" in message
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("name, text, expected", [
    ("wsj_0301", "( (S (NN a))\n( (S (NN b)))\n",
     "wsj_0301.mrg, line 2: a bracket without a label inside the tree that begins on line 1"),
    ("wsj_0301", "( (S (NN a))))\n", "wsj_0301.mrg, line 1: a closing bracket too many"),
    ("wsj_0301", "( (S (NN a)))\n( )\n", "wsj_0301.mrg, line 2: the bracket () is empty"),
    ("wsj_0301", "", "wsj_0301.mrg is empty"),
    ("wsj_2201", "( (S (-NONE- *)))\n", "wsj_2201.mrg, line 1: the tree that begins here has no words"),
])
def test_a_fault_in_a_treebank_is_one_sentence(name, text, expected, treebank, tmp_path, complaint):
    shutil.copytree(treebank, tmp_path / "mine")
    (tmp_path / "mine" / f"{name}.mrg").write_text(text)
    message = complaint(*TRAIN, "--corpus", tmp_path / "mine", "--run", tmp_path / "run")
    assert message.startswith(str(tmp_path / "mine" / expected)) and not (tmp_path / "run").exists()


@pytest.mark.parametrize("text, expected", [
    ("(TOP (S (XX a)))\n(TOP (S (XX b))\n(TOP (S (XX c)))\n",
     "line 3: (TOP opens inside the tree that begins on line 2: is a closing bracket missing before it?"),
    ("(TOP (S (XX a)))\n\n(TOP (S ))\n", "line 3: the bracket (S) is empty"),
    ("\n\n", "is empty but for blank lines: it must hold trees in brackets; a lower --least-confidence lets more"),
])
def test_a_fault_in_parsed_trees_is_one_sentence(text, expected, treebank, tmp_path, complaint):
    (tmp_path / "parsed.mrg").write_text(text)
    message = complaint(*TRAIN, "--corpus", f"{treebank}+{tmp_path}/parsed.mrg", "--run", tmp_path / "run")
    assert message.startswith(f"{tmp_path}/parsed.mrg") and expected in message and not (tmp_path / "run").exists()


def test_the_parses_that_the_model_is_sure_of_become_training_trees(run, treebank, tmp_path, command, complaint):
    lines = [" ".join(tree.leaves()) for tree in corpora.load(treebank).trees("train")[:12]]
    stdin = "".join(f"{line}\n" for line in lines).encode()
    search = ("--beam-size", "1", "--extra-length", "20")
    _, every, _ = command("parse", run, *search, stdin=stdin)
    status, some, _ = command("parse", run, *search, "--least-confidence", "0.01", stdin=stdin)
    assert status == 0 and len(some.splitlines()) == 12
    assert all(line in ("", whole) for line, whole in zip(some.splitlines(), every.splitlines(), strict=True))
    _, none, _ = command("parse", run, *search, "--least-confidence", "1", stdin=stdin)
    assert none == "\n" * 12
    (tmp_path / "parsed.mrg").write_text(some + every)
    mixed = corpora.load(f"{treebank}+{tmp_path}/parsed.mrg")
    more = [tree.leaves() for tree in mixed.trees("train")[120:]]
    assert more[-12:] == [line.split() for line in lines] and len(more) == 12 + sum(map(bool, some.splitlines()))
    assert "--least-confidence must be at least 0" in complaint("parse", run, "--least-confidence", "2", stdin=stdin)


def test_a_tree_too_long_for_the_model_is_named_with_file_and_line(run, treebank, tmp_path, complaint):
    shutil.copytree(treebank, tmp_path / "mine")
    file = tmp_path / "mine" / "wsj_2301.mrg"
    long = "".join("( (S " + "(NN cats) " * n + "))\n" for n in (1100, 1200))
    file.write_text("( (S (NN a)))\n\n( (S\n  (NN b)))\n" + long)
    message = complaint("score", run, "--corpus", tmp_path / "mine")
    assert message == (f"{file}, line 5 has 1,101 tokens and the model takes 1,024: a score needs every sentence, so train a "
                       "parser with --max-length 1201 or more")


def test_a_split_that_fits_is_scored_without_a_search_for_places(run, treebank, command, monkeypatch):
    monkeypatch.setattr(treebanks.TreeFiles, "place", None)  # each would read the file again
    assert command("score", run, "--corpus", treebank, "--beam-size", "1")[0] == 0


def test_a_sentence_too_long_and_a_model_that_is_no_parser(run, complaint):
    message = complaint("parse", run, stdin=b"Ann\n" + b"cats " * 1100 + b"\n")
    assert message == "standard input, line 2 has 1,101 tokens and the model takes 1,024: split it, or shorten it"
    assert "was not trained on trees" in complaint("parse", "numbers-en-de", stdin=b"Ann\n")


def test_a_missing_sample_is_explained(tmp_path, monkeypatch, complaint):
    monkeypatch.setenv("ANNOTATED_TRANSFORMER_DATA", str(tmp_path))
    monkeypatch.setattr(treebanks, "TREEBANK_URL", "http://127.0.0.1:9/")
    message = complaint("train", "--preset", "parsing-small", "--run", tmp_path / "run")
    assert "could not be fetched from http://127.0.0.1:9/treebank.zip" in message
    assert "set ANNOTATED_TRANSFORMER_DATA to a directory that holds treebank.zip" in message


@pytest.fixture(scope="session")
def sample():
    if not (path := cache_directory() / "treebank.zip").exists():
        pytest.skip(f"{path} is not there: set ANNOTATED_TRANSFORMER_DATA to a directory with treebank.zip")
    return corpora.load("treebank")


def test_every_tree_of_the_sample_comes_back_exactly(sample):
    sizes, labels = [], set()
    for split in ("train", "validation", "test"):
        trees = sample.trees(split)
        sizes.append(len(trees))
        for tree, (words, row) in zip(trees, sample.split(split), strict=True):
            for leaves in LEAVES:
                back, repairs = repair(linearize(tree, leaves), tree.leaves(), leaves)
                assert not repairs and linearize(back, leaves) == linearize(tree, leaves)
                assert back == tree or leaves != "tags"
            assert (words.split(), row.split()) == (tree.leaves(), linearize(tree))
            labels |= {token[1:] for token in row.split() if token[0] == "("}
    assert sizes == [3396, 273, 245] and labels == set(LABELS)


def test_the_sentences_of_a_treebank_come_back_from_text_and_are_known_to_be_split(sample):
    sentences = [source.split() for split in ("train", "validation") for source, _ in sample.split(split)]
    brackets = {"-LRB-": "(", "-RRB-": ")", "-LCB-": "{", "-RCB-": "}"}
    texts = [TreebankWordDetokenizer().detokenize([brackets.get(word, word) for word in words]) for words in sentences]
    back = sum([*map(bracket_free, split_words(text))] == words for text, words in zip(texts, sentences))
    assert back > 0.95 * len(sentences)
    assert sum(bool(joined_word(" ".join(words))) for words in sentences) < 0.001 * len(sentences)
    assert sum(bool(joined_word(text)) for text in texts) > 0.95 * len(texts)


def test_no_damage_to_a_row_of_the_sample_loses_a_word(sample):
    rng, found = random.Random(3), []
    gold = sample.trees("validation")
    for tree in gold:
        parsed, _ = repair(damaged(linearize(tree), rng, rng.random()), tree.leaves())
        assert parsed.leaves() == tree.leaves()
        again, = read_trees([print_tree(parsed)], "output")
        found.append(again)
    assert 0 < bracket_scores(gold, found).f1 < 100 == bracket_scores(gold, gold).f1


def test_what_the_room_tells_of_the_sample_is_what_was_measured():
    record = json.loads((Path(__file__).parents[3] / "results/parsing/treebank.json").read_text())
    figures = record["figures"]
    assert figures["round_trips"] == {"trees": 3914, "exact": 3914} and record["config"] == {"corpus": "treebank"}
    assert all(row["equal"] == row["sentences"] == 3914 and row["words_lost_or_moved"] == 0 for row in figures["damage"])
    assert all(abs(row["f1"] - row["evalb_f1"]) < 0.006 for row in figures["damage"])


def test_the_small_preset_fits_the_sample(sample):
    config = PRESETS["parsing-small"]
    assert max(len(row.split()) for _, row in sample.train) == 573
    corpus = corpora.load(config.corpus)
    assert corpus.name == "treebank-words" and len(corpus.validation) == 273
    texts = [text for pair in corpus.train for text in pair]
    tokenizer = Tokenizer.train(texts, config.model.vocab_size, corpus.whole_words)
    assert 573 < max(map(len, tokenizer.encode_all(texts))) <= config.model.max_length


@pytest.fixture(scope="session")
def untrained(sample):
    "A parser with the vocabulary of the sample, and weights at random."
    config = PRESETS["parsing-small"]
    corpus = corpora.load(config.corpus)
    texts = [text for pair in corpus.train for text in pair]
    tokenizer = Tokenizer.train(texts, config.model.vocab_size, corpus.whole_words)
    torch.manual_seed(0)
    sizes = dict(n_layers=1, d_model=16, d_ff=16, n_heads=2, dropout=0, max_length=config.model.max_length)
    return Parser(Translator(Transformer(TransformerConfig(tokenizer.vocab_size, **sizes)), tokenizer))


def sentences_of(kind: str, sample) -> list[list[str]]:
    rng, words = random.Random(5), sorted({word for tree in sample.trees("train") for word in tree.leaves()})
    strange = ["".join(rng.choices("qxzßж犬🐶()_-/\\$%▁", k=rng.randint(1, 8))) for _ in range(100)]
    return {
        "development": [tree.leaves() for tree in sample.trees("validation")],
        "words at random": [rng.choices(words, k=rng.randint(1, 24)) for _ in range(60)],
        "words never seen": [rng.choices(strange, k=rng.randint(1, 12)) for _ in range(40)],
        "120 words": [rng.choices(words, k=120) for _ in range(2)],
    }[kind]


@pytest.mark.parametrize("kind, extra_length", [
    ("development", 20), ("words at random", 20), ("words never seen", 120), ("120 words", 40)])
def test_a_search_among_trees_never_needs_a_repair(kind, extra_length, sample, untrained):
    sentences = sentences_of(kind, sample)
    parses = untrained.parse(sentences, replace(untrained.search, beam_size=2, extra_length=extra_length))
    assert [parse.tree.leaves() for parse in parses] == sentences
    assert not any(parse.repairs for parse in parses)


GERMAN = {  # trees whose labels and tags are no one's but their own, in two files for training
    "train-1": "(TOP (CS (S (MPN (NE Anna) (NE Graf)) (VVFIN lacht)) (KON und) (S (PPER er) (VVFIN singt))) ($. .))",
    "train-2": "(TOP (S (NP (ART der) (NN Hund)) (VVFIN sieht) (CNP (NE Ben) (KON und) (NE Eva))) ($. .))",
    "validation": "(TOP (S (MPN (NE Eva) (NE Graf)) (VVFIN singt)) ($. .))",
}


@pytest.fixture
def german(tmp_path):
    (directory := tmp_path / "german").mkdir()
    for name, text in GERMAN.items():
        (directory / f"{name}.mrg").write_text(f"{text}\n" * 40)
    (tmp_path / "parsed.mrg").write_text("(ROOT (S (CVP-OC (VVFIN lacht) (KON und) (VVFIN singt))))\n")
    return directory


@pytest.mark.parametrize("leaves", LEAVES)
def test_a_treebank_of_other_labels_is_written_with_its_own(leaves, german, tmp_path, command):
    kind = {"XX": "", "tags": "-tags", "words": "-words"}[leaves]
    command(*TRAIN, "--steps", "1", "--corpus", f"{german}{kind}+{tmp_path}/parsed.mrg", "--run", tmp_path / "run")
    parser = Parser.from_pretrained(tmp_path / "run")
    assert parser.leaves == leaves and parser.search.alpha == (2 if leaves == "words" else 0.3)
    assert {"CS", "MPN", "CNP", "CVP", "S", "WHADJP"} <= set(TreeSearch(parser.translator.tokenizer, leaves).brackets)
    for tree in corpora.load(german).trees("train"):
        row = linearize(tree, leaves)
        ids = parser.translator.tokenizer.encode(" ".join(row))
        rule = TreeSearch(parser.translator.tokenizer, leaves).begin([tree.leaves()])
        for step, token in enumerate(ids):
            assert token in rule.ids(torch.tensor([len(ids) - step]))[0], (row, step)
            rule.follow(torch.tensor([0]), torch.tensor([[0]]), torch.tensor([[token]]))


def test_labels_and_tags_stand_in_one_order_in_every_process_and_a_split_that_is_not_there_is_named(german):
    corpus = corpora.load(f"{german}-tags")
    signs = [sign for sign in corpus.whole_words if sign[0] != ")"]
    assert signs[len(LABELS):] == ["(CNP", "(CS", "(MPN", *sorted("ART KON NE NN PPER VVFIN $.".split())]
    with pytest.raises(InputError, match="german-tags has no split 'dev': choose one of train, validation$"):
        corpus.trees("dev")


def test_a_parser_of_tags_is_known_as_one_whatever_the_tags(german, tmp_path, command):
    (tmp_path / "english").mkdir()
    for name in ("train", "validation"):  # the Penn Treebank's tags, and none is NNP
        (tmp_path / "english" / f"{name}.mrg").write_text("(TOP (S (NP (DT the) (NN dog)) (VP (VBZ sleeps)) (. .)))\n" * 20)
    for corpus, tags in ((german, "ART KON NE NN PPER VVFIN $."), (tmp_path / "english", "DT NN VBZ .")):
        command(*TRAIN, "--steps", "1", "--corpus", f"{corpus}-tags", "--run", tmp_path / f"run-{corpus.name}")
        parser = Parser.from_pretrained(tmp_path / f"run-{corpus.name}")
        assert parser.leaves == "tags"
        parse, = parser.parse([["so", "what", "?"]], replace(parser.search, beam_size=2, extra_length=20))
        assert not parse.repairs and {tag for _, tag in parse.tree.pos()} <= {*tags.split()}


def test_a_vocabulary_that_is_taken_along_must_fit_the_rows(german, run, treebank, tmp_path, command, complaint):
    def start(corpus):
        return *TRAIN[:3], *TRAIN[5:], "--steps", "1", "--corpus", corpus, "--run", tmp_path / "next", "--start-from"  # no size

    said = complaint(*start(f"{german}-tags"), run)
    assert said.startswith(f"--start-from {run}: it writes XX for a word and german-tags has its part of speech; choose")
    (tmp_path / "pairs").mkdir()
    for name in ("train.en", "train.de", "validation.en", "validation.de"):
        (tmp_path / "pairs" / name).write_text("Ann sleeps\n" * 20)
    command(*TRAIN, "--steps", "1", "--corpus", tmp_path / "pairs", "--run", tmp_path / "translator")
    said = complaint(*start(treebank), tmp_path / "translator")
    assert said.startswith(f"--start-from {tmp_path}/translator: it was not trained on trees; start from a parser")
    assert not (tmp_path / "next").exists()
    status, _, err = command(*start(german), run)
    assert status == 0 and "lacks labels or tags of these trees (CNP CS MPN): the model will never write them" in err
    shutil.rmtree(tmp_path / "next")
    status, _, err = command(*start(treebank), run)
    assert status == 0 and "lacks" not in err


def test_the_outermost_bracket_counts_under_no_name_that_treebanks_have_for_it():
    parsed, = read_trees(["(TOP (S (XX Eva) (XX singt)))"], "parsed")
    for name, f1 in (("", 100), ("TOP", 100), ("ROOT", 100), ("S1", 100), ("VROOT", 100), ("SENT", 200 / 3)):
        gold = Tree.fromstring(f"({name} (S (NE Eva) (VVFIN singt)))")
        assert bracket_scores([gold], [parsed]).f1 == pytest.approx(f1), name


def test_what_the_berkeley_parser_could_not_parse_is_left_out_and_counted(treebank, tmp_path, command):
    (tmp_path / "parsed.mrg").write_text("(())\n( (S (NP (NN dogs)) (VP (VBP sing))) )\n\n (()) \n( (S (NP (NN cats))) )\n")
    run = ("--corpus", f"{treebank}+{tmp_path}/parsed.mrg", "--run", tmp_path / "run")
    status, _, err = command(*TRAIN, "--steps", "1", *run)
    assert status == 0 and err.count("parsed.mrg: sentences without a tree, (()), are left out: 2\n") == 1
    train = corpora.load(run[1]).files["train"]
    assert [tree.leaves() for tree in train.trees()][120:] == [["dogs", "sing"], ["cats"]]
    assert train.place(122) == f"{tmp_path}/parsed.mrg, line 5"


def test_words_without_tags_are_warned_of(treebank, german, tmp_path, command):
    (tmp_path / "untagged").mkdir()
    for name in ("train", "validation"):
        (tmp_path / "untagged" / f"{name}.mrg").write_text("(S (NP Ann) (VP sleeps) (. .))\n" * 20)
    for corpus, said in ((treebank, ""), (german, ""), (tmp_path / "untagged", "have a phrase label (NP VP) as their tag")):
        status, _, err = command(*TRAIN, "--steps", "1", "--corpus", corpus, "--run", tmp_path / f"run-{corpus.name}")
        assert status == 0 and said in err and ("phrase label" in err) == bool(said)
