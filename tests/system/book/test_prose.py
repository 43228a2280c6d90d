"""tools/prose.py reads the pages: each number that their prose states has a witness, and they use one word for one thing."""
import json
import re
from pathlib import Path

import pytest
from contents import Page, notebook_of, read_contents
from prose import glossary, names_too_early, numbers_without_witness, stated, words_not_ours

ROOT = Path(__file__).parents[3]
NOTEBOOKS, RESULTS = ROOT / "nbs", ROOT / "results"

PAGES = read_contents(NOTEBOOKS)
NAMES = ["index", *(page.notebook for page in PAGES)]

# Still to be mended. A page that has been mended must leave its list.
NUMBERS_TO_MEND = set()
WORDS_TO_MEND = set()
ORDER_TO_MEND = set()


def expect(said: list[str], name: str, to_mend: set[str], where: str) -> None:
    if name in to_mend:
        assert said, f"{name} is in order now: take it out of {where}"
    else:
        assert said == [], f"{name}: {'; '.join(said)} (`python tools/prose.py --help` says what a page needs)"


@pytest.mark.parametrize("name", NAMES)
def test_each_number_in_prose_has_a_witness(name):
    expect(numbers_without_witness(notebook_of(name), RESULTS), name, NUMBERS_TO_MEND, "NUMBERS_TO_MEND")


@pytest.mark.parametrize("name", NAMES)
def test_one_word_for_one_thing(name):
    expect(words_not_ours(notebook_of(name)), name, WORDS_TO_MEND, "WORDS_TO_MEND")


@pytest.mark.parametrize("name", NAMES)
def test_no_name_comes_before_its_explanation(name):
    said = names_too_early(name, notebook_of(name), glossary(notebook_of("reference")), PAGES)
    expect(said, name, ORDER_TO_MEND, "ORDER_TO_MEND")


def page(markdown: str, code: str = "", printed: str = "") -> dict:
    outputs = [{"output_type": "stream", "text": [printed]}]
    return {"cells": [{"cell_type": "markdown", "id": "prose", "source": markdown},
                      {"cell_type": "code", "id": "code", "metadata": {}, "source": code, "outputs": outputs}]}


@pytest.fixture
def results(tmp_path):
    (tmp_path / "speed.json").write_text(json.dumps({"figures": {"gain": 1.8349, "share": 0.0981, "tokens": 12345}}))
    return tmp_path


READS = 'json.loads(Path("../results/speed.json").read_text())'


@pytest.mark.parametrize("markdown, code, printed", [
    ("It printed 0.994, or 1,024 of them.", "", "0.99412 and 1024"),
    ("1.83 times, 9.8%, 12,345 tokens", READS, ""),
    ("With 250,000 pairs", "SAMPLE = 250_000", ""),
    ("> §5.2 took 3.5 days, or\nmore: 12.7\n\nNo number here", "", ""),
    ("`1,234` and $x = 0.577$, so 0.577; [so](a/3.75.ipynb)", "", ""),
    ("5.29 / 4.92 = 1.075 and 2 · (128 + 4) = 264", "", ""),
    ("In 2017, §3.2.1 to §3.2.3, equation (att.1), Table 2, version 2.13, test2016, 12 GPUs", "", ""),
    ("Multi30k has 29,000 pairs", "", ""),
])
def test_numbers_with_a_witness_pass(results, markdown, code, printed):
    assert numbers_without_witness(page(markdown, code, printed), results) == []


@pytest.mark.parametrize("markdown, code, printed, said", [
    ("It printed 0.995.", "", "0.99412", "0.995"),
    ("It printed 1,025.", "", "1024", "1,025"),
    ("1.84 times", READS, "", "1.84"),
    ("1.83 times", "", "", "1.83"),
    ("9.9%", READS, "", "9.9%"),
    ("9.8 of them", READS, "", "9.8"),
    ("5.29 / 4.92 = 1.095", "", "5.29 4.92", "1.095"),
    ("a test with 1,648 weights", "x = 1_808", "1,808", "1,648"),
])
def test_a_wrong_number_is_noticed(results, markdown, code, printed, said):
    assert numbers_without_witness(page(markdown, code, printed), results) == [f"cell prose: {said}"]


@pytest.mark.parametrize("name", ["paper/3.2_attention", "paper/5.3_optimizer", "paper/4_why_self_attention"])
def test_a_number_that_is_changed_in_a_real_page_is_noticed(name):
    notebook, planted = notebook_of(name), "Measured: 0.73519 of 918,273 cases."
    cell = next(cell for cell in notebook["cells"] if cell["cell_type"] == "markdown" and cell["id"] != "colab")
    cell["source"] = [*cell["source"], f"\n\n{planted}"]
    assert [line.rpartition(": ")[2] for line in numbers_without_witness(notebook, RESULTS)] == ["0.73519", "918,273"]


def test_what_states_a_number():
    assert list(stated("12 of 345, −0.5 and 7.5 %, a 3.x of 0180")) == [("345", False), ("0.5", False), ("7.5", True)]


@pytest.mark.parametrize("markdown, found", [
    ("The rooms before this one", ["rooms"]), ("leaves room for some, $K$ times the room", []), ("by\nlot", ["by lot"]),
    ("the embedded corpus, after the start sign", ["start sign", "embedded corpus"]), ("`by lot`, a lot", []),
])
def test_words_that_are_not_the_books_are_noticed(markdown, found):
    assert [re.search("“(.*)”", line)[1] for line in words_not_ours(page(markdown))] == found


def test_a_name_may_not_come_before_its_explanation():
    pages = [Page(name, name, "", "paper", "", None) for name in ("10_cost", "paper/3.2_attention", "paper/3.5_position")]
    explained = glossary(page("## Glossary\n\n| word | meaning | explained in |\n|---|---|---|\n"
                              "| key, query | what meets | [Attention](paper/3.2_attention.ipynb) |\n"
                              "| clock | turns | [Position](paper/3.5_position.ipynb) |"))
    assert explained == {"key": "paper/3.2_attention", "query": "paper/3.2_attention", "clock": "paper/3.5_position"}

    def early(name, text):
        return names_too_early(name, page(text), explained, pages)

    assert early("10_cost", "A Key opens\n\ntwo clocks") == ["cell prose: “Key” is explained in paper/3.2_attention",
                                                            "cell prose: “clocks” is explained in paper/3.5_position"]
    told = "A key, monkeys and `clock`\n\n> clock\n\n[the clock](3.5_position.ipynb) ticks"
    assert early("paper/3.2_attention", told) == []
    assert early("paper/3.5_position", "clock") == early("training/checkpoints", "clock") == []
