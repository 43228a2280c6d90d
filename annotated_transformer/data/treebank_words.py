"The words of running text, separated as in the Penn Treebank: `didn't.` is three, `did`, `n't` and the full stop."
import re

from .. import extra

__all__ = ["joined_word", "split_words"]

STRAIGHT = str.maketrans("‘’“”„", "''\"\"\"")  # NLTK's rules know no other quotes
JOINED = re.compile(r"\w(n['’]t|['’](s|re|ve|ll|d|m)|[,;:?!])(\s|$)|\w[.?!][\"”'’]?$")


def split_words(
    text: str,  # one sentence
) -> list[str]:
    "Its words; quotes become `` and ''."
    return extra("nltk.tokenize").TreebankWordTokenizer().tokenize(text.translate(STRAIGHT).strip())


def joined_word(line: str) -> str:
    "The first word that still has its n't, 's, comma or full stop attached; empty if there is none."
    line = line.strip()
    found = JOINED.search(line)
    return line[: found.end()].split()[-1] if found else ""
