"docs/transformer.py, the model and a loop in one file: short, by itself, equal to the package, and able to learn."
import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from annotated_transformer import EOS, PAD, Transformer, Translator
from annotated_transformer.config import Search
from annotated_transformer.model_record import PRETRAINED

ROOT = Path(__file__).parents[3]
FILE = ROOT / "docs" / "transformer.py"


@pytest.fixture(scope="module")
def one_file():
    spec = importlib.util.spec_from_file_location("one_file", FILE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_it_is_one_sitting_and_linked():
    text = FILE.read_text(encoding="utf-8")
    assert text.count("\n") <= 350 and "annotated_transformer import" not in text and "#:" not in text
    assert "](docs/transformer.py)" in (ROOT / "README.md").read_text(encoding="utf-8")
    assert "](../docs/transformer.py)" in (ROOT / "nbs" / "index.ipynb").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["everyday-en-de", "multi30k-en-de", "numbers-en-de", "pronouns-en-de"])
def test_with_the_weights_that_ship_its_logits_are_the_packages(name, one_file):
    ours, theirs = one_file.load(PRETRAINED / name), Transformer.from_pretrained(name)
    torch.manual_seed(1)
    source, target_input = torch.randint(3, 500, (3, 9)), torch.randint(3, 500, (3, 6))
    source[1, 6], source[1, 7:], target_input[:, 0] = EOS, PAD, PAD
    with torch.no_grad():
        found, expected = ours(source, target_input), theirs(source, target_input)
        torch.testing.assert_close(found, expected, atol=1e-4, rtol=1e-4)
        source[1, 2] += 1
        assert (ours(source, target_input)[1] - found[1]).abs().max() > 1e-2, "the source decides"


def test_by_itself_it_translates_as_the_package_does_greedily():
    sentences = ["Where is the station?", "The dog slept because it was tired."]
    words = [sys.executable, "-I", str(FILE), str(PRETRAINED / "everyday-en-de")]
    done = subprocess.run(words, input="\n".join(sentences), capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == Translator.from_pretrained("everyday-en-de").translate(sentences, Search(beam_size=1))


def test_it_learns_to_reverse_digits(one_file, capsys):
    assert one_file.reverse_digits() > 0.9
    lines = [line.split(" -> ") for line in capsys.readouterr().out.splitlines() if " -> " in line]
    assert len(lines) == 3 and sum(written == digits[::-1] for digits, written in lines) >= 2
