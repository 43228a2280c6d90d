"The shipped weights write what they always wrote: 200 captions, as the code translated them before its model was made of parts."
from pathlib import Path

import pytest

from annotated_transformer import InputError, Translator
from annotated_transformer.config import Search
from annotated_transformer.data import corpora

ROOT = Path(__file__).parents[3]


def test_two_hundred_captions_come_out_unchanged():
    pairs = [line.split("\t") for line in Path(__file__).with_name("captions.tsv").read_text(encoding="utf-8").splitlines()]
    sources, translations = map(list, zip(*pairs))
    assert len(set(sources)) == 200
    assert Translator.from_pretrained("multi30k-en-de").translate(sources, Search(alpha=1.0), split=False) == translations


def test_captions_of_the_test_set_come_out_as_they_were_scored():
    try:
        sources, _ = zip(*corpora.load("multi30k-en-de").split("test2016"))
    except InputError as error:
        pytest.skip(str(error))
    scored = (ROOT / "results/translation/multi30k-en-de.test2016.txt").read_text(encoding="utf-8").splitlines()
    assert Translator.from_pretrained("multi30k-en-de").translate(list(sources[:200]), split=False) == scored[:200]


def test_in_eight_bits_nearly_all_come_out_unchanged():
    pairs = [line.split("\t") for line in Path(__file__).with_name("captions.tsv").read_text(encoding="utf-8").splitlines()]
    sources, translations = map(list, zip(*pairs[:40]))
    found = Translator.from_pretrained("multi30k-en-de", precision="int8").translate(sources, Search(alpha=1.0), split=False)
    assert sum(a == b for a, b in zip(found, translations)) >= 36
