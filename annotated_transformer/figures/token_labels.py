"""How the figures write tokens, and which tokens make a word.

Tokens are pieces of words. SentencePiece marks each piece that begins a word with `▁`. Most pieces do, so the figures mark the
others: a piece that continues a word has a dot before it, as in `play ·ing`. A piece that would be misread under this rule (a
lone `▁`, or a word that itself begins with a dot) keeps its `▁`. Punctuation continues a word too, but is drawn without the dot.

Other tokenizers have other marks, and `pieces_labelled` turns them into the same labels: `Ġ` before a piece that follows a space
(GPT-2, RoBERTa, which also write each byte beyond ASCII as a letter), `##` before a piece that continues a word (BERT), `</w>`
after one that ends a word (CLIP, XLM), `@@` after one whose word goes on (BERTweet, CTRL).
"""
import re
import unicodedata
from collections.abc import Collection
from itertools import accumulate, groupby

import torch
import torch.nn.functional as F
from torch import Tensor

from .. import InputError

__all__ = [
    "START", "END", "piece_label", "pieces_labelled", "written_out", "has_letter", "shown", "is_sign", "is_special",
    "word_starts", "group_words", "bare", "find",
]

START, END = "<start>", "<eos>"
CONTINUES = "·"  # before a piece that continues a word
BEGINS, SPACE, GOES_ON = BEFORE = "▁", "Ġ", "##"  # how SentencePiece, GPT-2's and BERT's tokenizers mark pieces
ENDS, JOINED = AFTER = "</w>", "@@"  # those that mark their ends
WHOLE = re.compile(r"<\w+>|\[\w+\]")  # such as <unk>, after which no mark is put

# Tokens that stand for no word: ours, those of BERT, T5, GPT and their relatives, and the language codes of translation models.
SPECIAL = re.compile(
    r"<(start|eos|pad|bos|s|/s|cls|sep)>|\[(CLS|SEP|PAD|BOS|EOS)\]|<[|｜][^<>]+[|｜]>"
    r"|>>[\w-]+<<|__\w+__|[a-z]{2}_[A-Z]{2}|[a-z]{3}_[A-Z][a-z]{3}"
)


def piece_label(
    piece: str,   # as SentencePiece writes it: "▁" begins a word
) -> str:
    "A piece as the figures show it: bare if it begins a word, with a dot before it if it continues one."
    if not piece.startswith("▁"):
        return CONTINUES + piece
    bare = piece[1:]
    return piece if not bare or bare.startswith(CONTINUES) else bare


def mark_of(pieces: Collection[str]) -> str:
    "The mark that most of these pieces begin or end with; an empty string if none has one."
    count = {mark: sum(piece.startswith(mark) and piece != mark for piece in pieces) for mark in BEFORE}
    count |= {mark: sum(piece.endswith(mark) and piece != mark for piece in pieces) for mark in AFTER}
    mark = max(count, key=count.get)
    return mark if count[mark] else ""


def byte_letters() -> dict[str, int]:
    "How GPT-2's tokenizer writes each byte: as the letter of that number if it is visible, else as one from 256 onwards."
    seen = [*range(33, 127), *range(161, 173), *range(174, 256)]
    hidden = [byte for byte in range(256) if byte not in seen]
    return {chr(byte): byte for byte in seen} | {chr(256 + n): byte for n, byte in enumerate(hidden)}


def spelled(
    pieces: list[str],   # written as bytes
) -> list[str]:          # as text; a split letter goes with the piece that begins it
    "What GPT-2's pieces say."
    table = byte_letters()
    run = [bytes(map(table.get, piece)) if table.keys() >= set(piece) else piece.encode() for piece in pieces]
    try:
        whole = b"".join(run).decode()
    except UnicodeDecodeError:
        return [piece.decode(errors="replace") for piece in run]
    texts, ends, place, at = [""] * len(run), [*accumulate(map(len, run))], 0, 0
    for letter in whole:
        while at >= ends[place]:
            place += 1
        texts[place] += letter
        at += len(letter.encode())
    return texts


def begins_word(text: str, mark: str) -> bool:
    "Whether a piece begins a word according to this mark; without a mark, each does."
    found = {BEGINS: text.startswith(BEGINS), SPACE: text[:1].isspace(), GOES_ON: not text.startswith(GOES_ON)}
    return found.get(mark, mark not in AFTER)


def goes_out(text: str, mark: str) -> bool:
    "Whether the next piece begins a word, whatever its own mark."
    ends = text.endswith(ENDS) or WHOLE.fullmatch(text)
    return text.endswith("\n") or mark == ENDS and bool(ends) or mark == JOINED and not text.endswith(JOINED)


def pieces_labelled(
    pieces: list[str],                    # as a Hugging Face tokenizer writes them
    vocabulary: Collection[str] = (),     # all of its pieces, which show how it marks them; only these if not given
    special: Collection[str] = (),        # tokens that are not pieces, besides those that `is_special` knows
) -> list[str]:
    "The labels of another tokenizer's pieces; the mark decides whether a piece continues a word."
    mark, labels, begins = mark_of(vocabulary or pieces), [], True
    for apart, run in groupby(pieces, lambda piece: piece in special or is_special(piece)):
        if apart:
            labels += run
            begins = True  # the next piece begins a word, marked or not
            continue
        for text in spelled([*run]) if mark == SPACE else run:
            begins = begins or begins_word(text, mark)
            own = text.removesuffix(mark) if mark in AFTER else text.removeprefix(mark)
            written = own.strip(" ").replace("\n", "↵").replace("\t", "⇥")
            labels.append(piece_label(BEGINS * begins + written))
            begins = goes_out(text, mark)
    return labels


NO_BLANKS = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
VARIANT = re.compile("[\ufe00-\ufe0f]")  # a mark that decides how the sign before it looks, as in ❤️
CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


def written_out(text: str) -> str:
    "A text with \\x01 instead of a control character: no program reads an SVG that holds one."
    return CONTROLS.sub(lambda found: ascii(found[0])[1:-1], text)


def has_letter(text: str) -> bool:
    "Whether a text has a letter, a digit, or a combining mark, as in Hindi and Thai vowels: `str.isalnum` ignores marks."
    return any(one.isalnum() or unicodedata.category(one) in ("Mn", "Mc") and not VARIANT.match(one) for one in text)


def shown(label: str) -> str:
    "A label as it is drawn: without control characters; punctuation alone gets no dot, because `·.` looks like dirt."
    label = written_out(label)
    rest = label.removeprefix(CONTINUES)
    return label if has_letter(rest) or not rest.strip(CONTINUES) else rest


def is_sign(label: str) -> bool:
    "Whether a label holds only punctuation."
    rest = label.removeprefix(CONTINUES).removeprefix("▁")
    return bool(rest) and not has_letter(rest)


def is_special(label: str) -> bool:
    "Whether a token stands for no word, like `<eos>` and `[CLS]`; punctuation, `<unk>` and `[MASK]` do stand for something."
    return SPECIAL.fullmatch(label) is not None


def word_starts(
    labels: list[str],      # of pieces
    signs_apart: bool,      # punctuation before and after a word is a separate word; inside, as in well-known, it is not
) -> list[bool]:
    """Which pieces begin a word: those without a dot, and the first. A piece without a whole letter does not begin one.

    In a script without spaces nothing shows where a word ends, so each piece is a word, unless it begins with a mark."""
    if CONTINUES in labels[1:]:  # part of a letter: another piece has the whole letter
        kept = [i for i, label in enumerate(labels) if i == 0 or label != CONTINUES]
        found = dict(zip(kept, word_starts([labels[i] for i in kept], signs_apart)))
        return [found.get(i, False) for i in range(len(labels))]
    starts = [i == 0 or not label.startswith(CONTINUES) for i, label in enumerate(labels)]
    for i in range(1, len(labels)):
        before, label = labels[i - 1], labels[i].removeprefix(CONTINUES)
        meets = NO_BLANKS.match(label) or NO_BLANKS.match(before[-1:]) and has_letter(label)
        starts[i] |= bool(meets) and before != BEGINS and not unicodedata.category(label[0]).startswith("M")
    if signs_apart:
        for i in range(len(labels) - 1, 0, -1):  # from the end, so that each of `?!` finds that a word begins after it
            starts[i] |= is_sign(labels[i]) and (i + 1 == len(labels) or starts[i + 1])
        for i in range(1, len(labels)):
            starts[i] |= is_sign(labels[i - 1]) and (starts[i - 1] or i > 1 and labels[i - 2] == BEGINS)
        for i in range(1, len(labels)):  # a space before a sign, as before `!` in French, is not a word
            starts[i] &= not (labels[i - 1] == BEGINS and labels[i].startswith(CONTINUES) and is_sign(labels[i]))
    return starts


def group_words(
    labels: list[str],                 # (n) of pieces
    signs_apart: bool = False,         # whether punctuation is a separate word
) -> tuple[list[str], Tensor]:         # labels of the W words, and (n, W): 1 where the piece belongs to the word
    "Which pieces make which word."
    if not labels:
        return [], torch.zeros(0, 0)
    starts = word_starts(labels, signs_apart)
    word = torch.tensor(starts, device="cpu").cumsum(0) - 1
    words = [""] * (int(word[-1]) + 1)
    for i, (label, number) in enumerate(zip(labels, word.tolist())):
        bare_label = words[number] or i and starts[i] and label.startswith(CONTINUES)
        words[number] += label.removeprefix(CONTINUES) if bare_label else label
    return [piece_label(text) if text.startswith("▁") else text for text in words], F.one_hot(word).float()


def bare(word: str) -> str:
    "The word without the punctuation around it."
    letters = [i for i, one in enumerate(word) if has_letter(one) or one == "_"]
    return word[letters[0] : letters[-1] + 1] if letters else ""


def find(
    labels: list[str],
    word: str,
) -> list[int]:    # positions of its pieces at every occurrence; those of punctuation only if `word` has it
    "Where a word occurs, whole or in pieces; InputError if it does not."
    words, belongs = group_words(labels)
    whole = [words[row.index(1)] for row in belongs.tolist()]
    found = [i for i, (label, of) in enumerate(zip(labels, whole)) if word in (label, of) or word == bare(of) and bare(label)]
    if not found:
        raise InputError(f"there is no word {word!r} to look from: choose one of {' '.join(words)}")
    return found
