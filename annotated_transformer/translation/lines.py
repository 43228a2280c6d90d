"""Lines in, translations out, for any search: a line is cut into sentences, and each translation says how sure the model is.

Nothing here needs torch, so that `exchange.onnx_translator` translates lines in the same way.
"""
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from .. import UNK
from ..data.sentences import SEVERAL_WORDS, split_sentences
from ..data.tokenizer import Tokenizer, require_fit, require_several, require_text

__all__ = ["UNSURE", "WHOLE", "Translation", "cut_lines", "in_capitals", "numbers_differ", "sentences_of", "translate_lines"]

UNSURE = "The model is unsure of this translation: do not rely on it."
FULL_WIDTH = re.compile("([。！？」』）]) ")  # after which Chinese and Japanese have no space
NUMBER = re.compile("[0-9]+")
THOUSANDS = re.compile("([0-9])[,.'’](?=[0-9]{3}(?![0-9]))")  # 1,000 and 1.000
GROUPS = re.compile("([0-9])(?:-(?=[0-9])|[ \u00a0\u202f](?=[0-9]{3}(?![0-9])))")  # 223-1374 and 1 000, which may be two numbers
AFTERNOON = {str(12 + hour): str(hour) for hour in range(1, 13)}  # 2 p.m. is 14 Uhr
WHOLE = 15  # tokens: two sentences this short stay together, since training had such pairs (benchmarks.paragraphs)


class Found(Protocol):
    "What a search finds for a sentence: a `Hypothesis`."

    @property
    def tokens(self) -> list[int]:
        "Without PAD and EOS."

    @property
    def log_probability(self) -> float:
        "The log-probability of the tokens and the EOS, in nats."

    @property
    def score(self) -> float:
        "The log-probability over the length penalty: (dec.2)."

    @property
    def ended(self) -> bool:
        "Whether it ended with EOS; otherwise the search ran out of tokens."


@dataclass(frozen=True)
class Translation:
    "What a line became, and how likely the model finds it."

    text: str
    log_probability: float = 0.0  # in nats, the sum over its sentences
    tokens: int = 0               # that this counts, including the EOS of each sentence; 0 for a blank line
    doubtful: bool = False        # whether a sentence is less likely than the record allows, or `judged` finds it doubtful
    score: float | None = None    # (dec.2), by which a search ranks; None for a blank line and for several sentences

    @property
    def log_probability_per_token(self) -> float:
        "The mean per token, in nats; 0 for a blank line."
        return self.log_probability / max(1, self.tokens)

    @property
    def warning(self) -> str:
        "One sentence for the reader if the model is unsure, otherwise empty."
        return UNSURE if self.doubtful else ""


def sentences_of(line: str, tokenizer: Tokenizer) -> list[str]:
    "What is translated one by one: the sentences of a line; two short ones stay together. InputError if it is not a str."
    require_text(line, "the text")
    found = split_sentences(line)
    return [line] if len(found) == 2 and len(tokenizer.encode(line)) <= WHOLE else found


def in_capitals(sentence: str) -> bool:
    "Whether several words have no lower-case letter: a model that has seen few such words copies or invents, and is sure of it."
    return bool(SEVERAL_WORDS.search(sentence)) and sentence.upper() == sentence != sentence.lower()


def numbers_in(text: str) -> list[set[str]]:
    "Numbers in digits, without leading zeros (5,00 has 5 and an empty one): as they are, and with groups joined."
    text = THOUSANDS.sub(r"\1", text)
    return [{number.lstrip("0") for number in NUMBER.findall(each)} for each in (text, GROUPS.sub(r"\1", text))]


def numbers_differ(sentence: str, text: str) -> bool:
    """Whether the translation has a number in digits that the sentence, which has some, lacks: 42 became 422. A number may be
    written in groups or not (86,400 and 86400), a year by its last digits (the 1990s are the 90er), an afternoon hour with 12
    more, and zeros may follow (5 p.m. is 17.00 Uhr)."""
    there = set().union(*numbers_in(sentence))
    usual = {*(hour for hour, earlier in AFTERNOON.items() if earlier in there), *(year[2:] for year in there if len(year) == 4)}
    return bool(there) and all(numbers - there - usual - {""} for numbers in numbers_in(text))


def judged(text: str, sentence: str, source: list[int], found: Found, below: float | None) -> Translation:
    """The translation of one sentence. Without a threshold nothing is doubtful. With one, unknown letters, a sentence in
    capitals, and a translation with different numbers or without an end are always doubtful."""
    one = Translation(text, found.log_probability, len(found.tokens) + found.ended)
    unlike = UNK in source or in_capitals(sentence) or numbers_differ(sentence, text) or not found.ended
    doubtful = below is not None and (not one.log_probability_per_token >= below or unlike)  # NaN counts as doubtful too
    return Translation(text, one.log_probability, one.tokens, doubtful, found.score)


def joined(parts: Sequence[Translation]) -> Translation:
    "The sentences joined into one line: log-probabilities add up, and a doubtful sentence makes the line doubtful."
    if len(parts) == 1:
        return parts[0]
    text = FULL_WIDTH.sub(r"\1", " ".join(filter(None, (part.text for part in parts))))
    log_probability, tokens = sum(part.log_probability for part in parts), sum(part.tokens for part in parts)
    return Translation(text, log_probability, tokens, any(part.doubtful for part in parts))


def cut_lines(
    lines: Iterable[str],
    tokenizer: Tokenizer,
    longest: int,                # maximum number of tokens that the model takes
    split: bool = True,          # into sentences
    what: str = "sentence",      # what a line is called when it is refused; its number follows
) -> tuple[list[list[str]], list[list[int]]]:  # the sentences of each line; the ids of all of them, EOS last
    "What is given to the search. InputError names a line that has a sentence too long for the model, or is not text."
    require_several(lines)
    parts = []
    for number, line in enumerate(lines, 1):
        require_text(line, f"{what} {number}")
        parts.append(sentences_of(line, tokenizer) if split else [line])
    ids = tokenizer.encode_all([sentence for part in parts for sentence in part])
    numbers = [number for number, part in enumerate(parts, 1) for _ in part]
    for number, row in zip(numbers, ids):
        require_fit(row, longest, f"{what} {number}")
    return parts, ids


def translate_lines(
    lines: Iterable[str],
    tokenizer: Tokenizer,
    longest: int,                # as for `cut_lines`
    search: Callable[[list[list[int]]], Sequence[Found | None]],  # ids of sentences -> the best of each, None for a blank one
    doubtful_below: float | None = None,  # mean log-probability per token; None: nothing is doubtful
    split: bool = True,
) -> list[Translation]:          # one for each line
    "Cut, search, join. InputError as for `cut_lines`."
    parts, ids = cut_lines(lines, tokenizer, longest, split)
    sentences = [sentence for part in parts for sentence in part]
    translated = [
        Translation("") if found is None else judged(tokenizer.decode(found.tokens), sentence, row, found, doubtful_below)
        for sentence, row, found in zip(sentences, ids, search(ids))
    ]
    each = iter(translated)
    return [joined([next(each) for _ in part]) for part in parts]
