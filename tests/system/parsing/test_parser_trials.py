"The benchmark that tries what helped other parsers of little data: its brackets of parts of speech, and all of it in small."
import dataclasses
import json

from nltk.tree import Tree

from annotated_transformer.config import TransformerConfig
from annotated_transformer.data import corpora
from benchmarks import parser_trials

PLAIN = "(TOP (S (NP (PRP$ My) (NN dog)) (VP (VBZ sees) (NP (NP (NNP Ann)) (, ,) (NP (NNP Bob)))) (. .)))"
TAGGED = ("(TOP (S (NP (PRP$ (PRP$ My)) (NN (NN dog))) (VP (VBZ (VBZ sees)) (NP (NP (NNP (NNP Ann))) (, ,) (NP (NNP (NNP Bob)))))"
          " (. .)))")


def test_words_get_brackets_of_their_tags_and_lose_them_again():
    tree, tags = Tree.fromstring(PLAIN), {"PRP$", "NN", "VBZ", "NNP"}
    assert parser_trials.in_tags(tree) == Tree.fromstring(TAGGED)
    assert parser_trials.without_tags(Tree.fromstring(TAGGED), tags) == tree
    wide = Tree.fromstring("(TOP (S (NN (NP (XX My) (XX dog)) (XX sleeps)) (VP (VBZ (XX now)))))")  # what a model may write
    assert parser_trials.without_tags(wide, tags) == Tree.fromstring("(TOP (S (NP (XX My) (XX dog)) (XX sleeps) (VP (XX now))))")


def test_the_trials_are_trained_and_measured(treebank, tmp_path, monkeypatch):
    recipe = dataclasses.replace(
        parser_trials.RECIPE, corpus=f"{treebank}-words", batch_tokens=600, warmup_steps=60, validate_every=10,
        checkpoint_every=10,
        model=TransformerConfig(110, n_layers=1, d_model=32, d_ff=64, n_heads=4, dropout=0.1, max_length=100),
    )
    monkeypatch.setattr(parser_trials, "RECIPE", recipe)
    monkeypatch.setattr(parser_trials, "TRIED_AVERAGE", 2)
    out = tmp_path / "trials.json"
    words = ["plain", "agreement", "tags", "--steps", "20", "--runs", str(tmp_path / "runs"), "--out", str(out)]
    parser_trials.main(words)
    trials = json.loads(out.read_text())["figures"]["trials"]
    assert [trial["trial"] for trial in trials] == ["plain", "agreement", "tags"]
    gold = len(corpora.load(treebank).trees("validation"))
    for trial in trials:
        assert trial["updates"] == 20 and trial["seed"] == 2
        assert trial["scores"]["bound"]["sentences"] == gold and trial["scores"]["bound"]["malformed"] == 0
    assert len({trial["validation_perplexity"] for trial in trials}) == 3
    assert len({trial["scores"]["bound"]["gold"] for trial in trials}) == 1, "the same constituents are looked for in all"
    assert trials[2]["target_tokens"] != trials[0]["target_tokens"]
