"The head that finds what it means: what ships is what was measured, and a short training makes such a head again."
import dataclasses
import json
from pathlib import Path

import pytest
import torch

from annotated_transformer import Translator
from annotated_transformer.config import Execution
from annotated_transformer.data.pronouns import PRONOUNS, sentences
from annotated_transformer.model_record import record_of
from annotated_transformer.training.loop import train
from annotated_transformer.training.runs import Run
from benchmarks import pronouns
from benchmarks.shared.corpus_files import write_corpus

FIGURES = json.loads((Path(__file__).parents[3] / "results/heads/pronouns.json").read_text(encoding="utf-8"))["figures"]
SEEDS = [name for name in FIGURES if name.startswith("seed")]


def figures_of(layer: int, head: int, heads: list[dict]) -> dict:
    "Of one head."
    [found] = [one for one in heads if (one["layer"], one["head"]) == (layer, head)]
    return found


def test_five_seeds_show_and_none_of_the_baselines_does():
    assert len(SEEDS) == 5
    by_place = max(FIGURES["by_place"].values())
    for name in SEEDS:
        best = FIGURES[name]["best"]["decoder"]
        assert min(best["meant"], best["first_noun_meant"], best["last_noun_meant"]) > 0.9 > 2 * by_place
        assert best["meant"] > 5 * FIGURES["untrained"]["best"]["decoder"]["meant"]
    losses = {name: FIGURES[name]["validation_loss"] for name in SEEDS}
    assert min(losses, key=losses.get) == f"seed {FIGURES['shipped']['seed']}"
    assert record_of("pronouns-en-de").pronoun_head == (FIGURES["shipped"]["layer"], FIGURES["shipped"]["head"])


def test_the_shipped_model_does_what_its_file_says():
    translator, shipped = Translator.from_pretrained("pronouns-en-de"), FIGURES["shipped"]
    chosen = [sentence for sentence in sentences()["test"] if sentence[2].tells()]
    found = pronouns.measure(translator.model, translator.tokenizer, chosen[::4])
    told = FIGURES[f"seed {shipped['seed']}"]
    head, said = (figures_of(shipped["layer"], shipped["head"], figures["decoder"]) for figures in (found, told))
    assert found["pronouns_right"] == pytest.approx(told["pronouns_right"], abs=0.03)
    assert head["meant"] == pytest.approx(said["meant"], abs=0.03)
    forced = figures_of(shipped["layer"], shipped["head"], found["ablation"])
    assert forced["of_the_other_noun_when_forced"] > 0.97
    assert [one["right"] for one in pronouns.examples(translator)] == [True] * 4


def test_the_famous_sentence_and_the_ball_are_drawn_to_the_right_noun():
    translator, (layer, head) = Translator.from_pretrained("pronouns-en-de"), record_of("pronouns-en-de").pronoun_head
    pairs = {"The animal didn't cross the street because it was too tired.": "animal",
             "The animal didn't cross the street because it was too wide.": "street",
             "The ball didn't fit into the bag because it was too big.": "ball",
             "The ball didn't fit into the bag because it was too small.": "bag"}
    for sentence, noun in pairs.items():
        maps = translator.attention(sentence).words()
        row = maps.encoder_decoder[layer - 1, head - 1, 1]
        assert maps.target[1] in PRONOUNS and maps.source[row.argmax()] == noun and row.max() > 0.9


def test_a_planted_head_is_found_and_an_even_one_is_not():
    chosen = [sentence for sentence in sentences()["test"] if sentence[2].tells()][:40]
    translator = Translator.from_pretrained("pronouns-en-de")
    words = pronouns.Words(translator.tokenizer, chosen)
    planted = words.columns_of([meaning.place for _, _, meaning in chosen])                    # (B, S)
    wrong = words.columns_of([meaning.others[0][1] for _, _, meaning in chosen])
    even = torch.full_like(planted, 1 / planted.size(1))
    first, second, third = pronouns.by_head(words, words.by_word(torch.stack([even, planted, wrong])[None]))
    assert second["meant"] == 1 and second["other_noun"] == 0 and second["weight_on_meant"] == pytest.approx(1)
    assert third["meant"] == 0 and third["other_noun"] == 1 and first["meant"] < 0.3


def test_a_minute_of_training_makes_a_head_that_looks_at_the_noun(tmp_path):
    # Without dropout it is found after 600 updates, with it after 1,100. Where a processor rounds otherwise, it may take longer.
    splits = {name: [found for found in split if len(found[2].others) == 1] for name, split in sentences().items()}
    write_corpus(splits, tmp_path / "corpus")
    config = pronouns.recipe(str(tmp_path / "corpus"), heads=1, seed=1)
    config = dataclasses.replace(config, model=dataclasses.replace(config.model, dropout=0.0), batch_tokens=800, warmup_steps=250,
                                 execution=Execution(precision="float32"))
    chosen = [sentence for sentence in splits["validation"] if sentence[2].tells()]
    words, found = None, {}
    for steps in (600, 1_000, 1_500, 2_000):
        model = train(dataclasses.replace(config, checkpoint_every=steps, steps=steps), tmp_path / "run")
        words = words or pronouns.Words(Run(tmp_path / "run").tokenizer, chosen)
        found[steps] = max(head["meant"] for head in pronouns.by_head(words, pronouns.looks(model, words)["decoder"]))
        if found[steps] > max(pronouns.by_place(chosen).values()) + 0.1:
            return
    pytest.fail(f"no head looks at the noun that is meant: {found}")
