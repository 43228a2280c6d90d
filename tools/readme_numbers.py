"""Write the current results/ into README.md: the rows of its table, and the translation below its lines of Python.

python tools/readme_numbers.py

tests/system/book/test_readme.py compares both with results/, and so shows when this is due.
"""
import json
import re
from pathlib import Path

from readme_pictures import SENTENCE
from usage import words_given

ROOT = Path(__file__).parents[1]
ROW = re.compile(r"^(\| [\w-]+ \| \[\w+\]\((results/[\w./-]+)\) \|) [\d.]+ \| [\d.]+ \| [\d.]+% \|$", re.MULTILINE)


def figures(path: str) -> dict:
    return json.loads((ROOT / path).read_text(encoding="utf-8"))["figures"]


def row(match: re.Match) -> str:
    "A row of the table with the figures of its file."
    found = figures(match[2])
    scores = (found["sacre_bleu"]["score"], found["multi30k_bleu"]["score"])
    return f"{match[1]} {scores[0]:.2f} | {scores[1]:.2f} | {100 * found['exact']:.1f}% |"


def main() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    sentences = figures("results/translation/everyday-sentences.json")["sentences"]
    translations = {pair["source"]: pair["translation"] for pair in sentences}
    text = ROW.sub(row, text)
    shown = re.escape(f'print(translator("{SENTENCE}"))\n')
    text = re.sub(rf"({shown}# ).*", lambda match: match[1] + translations[SENTENCE], text)
    (ROOT / "README.md").write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    words_given(__doc__, ())
    main()
