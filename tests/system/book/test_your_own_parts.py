"docs/your-own-parts.md runs: each of its sections by itself, and prints what it says."
import re
from pathlib import Path
from unittest import mock

import pytest

from annotated_transformer.data.corpora import CORPORA

PAGE = (Path(__file__).parents[3] / "docs" / "your-own-parts.md").read_text(encoding="utf-8")
BEGINNING, *SECTIONS = (
    (text.partition("\n")[0], re.findall(r"^```python\n(.*?)^```$", text, re.M | re.S)) for text in PAGE.split("\n## ")
)


@pytest.mark.parametrize("name, blocks", SECTIONS, ids=[name for name, _ in SECTIONS])
def test_a_section_prints_what_it_says(name, blocks, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    known = {"__name__": "__main__"}
    with mock.patch.dict(CORPORA):  # a corpus that a section adds is taken away for the tests that come after
        for block in [*BEGINNING[1], *blocks]:
            exec(compile(block, name, "exec"), known)
    printed = capsys.readouterr().out.splitlines()
    assert printed == [line.removeprefix("# ") for block in blocks for line in block.splitlines() if line.startswith("# ")]


def test_the_guide_is_short_and_its_table_names_every_section():
    prose = re.sub(r"```.*?```", "", PAGE, flags=re.S)
    assert len(BEGINNING[1]) == 1 and len(prose.split()) <= 1_100
    linked = set(re.findall(r"\]\(#([\w-]+)\)", PAGE))
    assert linked == {re.sub("[^a-z -]", "", name.lower()).replace(" ", "-") for name, _ in SECTIONS}
