"""Trees as NLTK represents them: their labels, their picture, and a tree from any row of tokens, by six rules.

The page §6.3 Trees explains the rules and writes the rows (`data.trees`)."""
import re
import reprlib
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

from .. import InputError, extra

__all__ = ["DEEPEST", "EMPTY", "LEAVES", "ROOTS", "TOP", "WORD", "bracket_free", "draw_tree", "is_word", "repair",
           "require_clean"]

if TYPE_CHECKING:
    from nltk.tree import Tree as Tree
else:
    try:
        Tree = extra("nltk.tree").Tree  # of the extra `parsing`
    except InputError:
        class NotYetInstalled(type):
            def __call__(cls, *given):
                return extra("nltk.tree").Tree(*given)

            def __instancecheck__(cls, given) -> bool:
                return bool(there := sys.modules.get("nltk.tree")) and isinstance(given, there.Tree)

        class Tree(metaclass=NotYetInstalled):
            "Replaces NLTK's class if it was not installed: whoever makes a tree is told how to install it, and can then go on."

            @staticmethod
            def fromstring(*given):
                return extra("nltk.tree").Tree.fromstring(*given)

WORD = "XX"  # what stands for a word
LEAVES = (WORD, "tags", "words")  # how a row may write a word: as the same sign for all, its part of speech, or itself
TOP, EMPTY = "TOP", "-NONE-"
ROOTS = ("", TOP, "ROOT", "S1", "VROOT")  # what various treebanks call the outermost bracket
UNCLEAN = {*ROOTS, EMPTY} - {TOP}  # labels that `clean` removes, except from words
DEEPEST = 100  # brackets within brackets; the deepest tree of the free sample has 30


def is_word(tree: Tree) -> bool:
    "Whether a bracket holds one word with its tag. InputError for anything but a tree, and for an empty bracket."
    if not isinstance(tree, Tree):
        raise InputError(f"{reprlib.repr(tree)} is not a tree: give one from NLTK, such as Tree.fromstring(text)")
    if not tree:
        raise InputError(f"the bracket ({tree.label()}) is empty: give it a word, or remove it")
    return isinstance(tree[0], str)


def require_leaves(leaves: str) -> None:
    "InputError for anything not in LEAVES."
    if leaves not in LEAVES:
        raise InputError(f"leaves says how a row writes a word: one of {', '.join(LEAVES)}, not {leaves!r}")


def require_clean(tree: Tree, leaves: str) -> None:
    "InputError for a bracket that no row can have, an empty element or one without a label; also checks `require_leaves`."
    require_leaves(leaves)
    if isinstance(tree, Tree) and tree.label() in UNCLEAN and (tree.label() == EMPTY or not is_word(tree)):
        sign = f"the label {tree.label()}" if tree.label() else "no label"
        raise InputError(f"a bracket of the tree has {sign}, which no row can have: clean it first (`clean` of data.trees), or "
                         "use read_trees")


def bracket_free(word: str) -> str:
    "A word with round brackets written as in the treebank; otherwise they would be taken for the tree's own."
    return word.replace("(", "-LRB-").replace(")", "-RRB-")


def draw_tree(
    axis,          # of matplotlib
    tree: Tree,
    tags: bool = True,
) -> None:
    "Draw the words in a row, and each constituent above the middle of its children; no line crosses another."
    words = 0

    def place(part: Tree) -> tuple[float, int]:  # middle, and height above the words
        nonlocal words
        if is_word(part):
            x, words = words, words + 1
            axis.text(x, -0.55 if tags else -0.3, part[0], ha="center", va="center", style="italic", parse_math=False)
            y = 0
        else:
            middles = [place(child) for child in part]
            x, y = (middles[0][0] + middles[-1][0]) / 2, 1 + max(y for _, y in middles)
            for child_x, child_y in middles:  # across and then down: below a constituent there is nothing but its own children
                axis.plot([x, x, child_x, child_x], [y, y - 0.5, y - 0.5, child_y], color="0.7", zorder=0)
        if tags or not is_word(part):
            axis.text(x, y, part.label(), ha="center", va="center", bbox=dict(boxstyle="round,pad=0.15", fc="white", ec="none"),
                      parse_math=False)
        return x, y

    _, height = place(tree)
    axis.set(xlim=(-0.6, words - 0.4), ylim=(-0.9, height + 0.4))
    axis.axis("off")


def is_unreadable(token: str) -> bool:
    "Rule 4: a bracket inside a token, one without a label or with the outermost label, or a mark that is not a word."
    return is_bracket(token[1:]) or token[:1] in "()" and token[1:] in ROOTS or token in (TOP, EMPTY)  # an empty token, too


def without_hollow(children: list[Tree], repairs: Counter) -> list[Tree]:
    "Remove constituents without a word, from the innermost outwards."
    kept = []
    for child in children:
        if child and not is_word(child):
            child[:] = without_hollow(list(child), repairs)
        if child:
            kept.append(child)
        else:
            repairs["empty constituents removed"] += 1
    return kept


def is_bracket(token: str) -> bool:
    "Whether a token is not a word: a bracket with its label, or something unreadable with a bracket in it."
    return re.search("[()]", token) is not None


def put_in_place(
    tokens: Sequence[str],  # brackets, and words as a model wrote them
    words: Sequence[str],   # the sentence, as rows write it
) -> tuple[list[str], Counter]:  # the same brackets, WORD for each word of the sentence, and the repairs needed
    "Find the sentence in a row that repeats it: a skipped word is put after the one before it, a surplus word is dropped."
    places = [i for i, token in enumerate(tokens) if not is_bracket(token)]
    signs, repairs = Counter(), Counter()  # how many signs follow the token at an index; -1: before the first
    alike = SequenceMatcher(None, [tokens[i] for i in places], words, autojunk=False)
    for kind, start, end, first, last in alike.get_opcodes():
        written, wanted = end - start, last - first
        for i in places[start : start + min(written, wanted)]:
            signs[i] += 1
        if wanted > written:
            signs[places[end - 1] if end else -1] += wanted - written
        repairs["words added"] += max(0, wanted - written)
        repairs["words dropped"] += max(0, written - wanted)
        repairs["words exchanged"] += min(written, wanted) if kind == "replace" else 0
    row = [WORD] * signs[-1]
    for i, token in enumerate(tokens):
        row += [token] if is_bracket(token) else [WORD] * signs[i]
    return row, repairs


def repair(
    tokens: Iterable[str],  # what a model wrote
    words: Sequence[str],   # the sentence
    leaves: str = WORD,     # how it was to write a word: one of LEAVES
) -> tuple[Tree, Counter]:  # a tree over exactly these words, and how often each rule was needed
    "A tree from any row of tokens."
    for text, name in ((tokens, "tokens"), (words, "words")):
        if isinstance(text, str):
            raise InputError(f"the {name} are one text: give a list, {text[:40]!r}.split()")
    require_leaves(leaves)
    if not words:
        raise InputError("a sentence without words has no tree")
    top, used, repairs = Tree(TOP, []), 0, Counter()
    if leaves == "words":
        tokens, repairs = put_in_place(list(tokens), [bracket_free(word) for word in words])
    open_trees = [top]
    for token in tokens:
        if is_unreadable(token):
            repairs["unreadable tokens dropped"] += 1
        elif token[0] == "(":
            if len(open_trees) > DEEPEST:
                repairs["opening brackets dropped"] += 1
                continue
            open_trees[-1].append(Tree(token[1:], []))
            open_trees.append(open_trees[-1][-1])
        elif token[0] == ")":
            places = [i for i, tree in enumerate(open_trees) if tree.label() == token[1:]]
            if places:
                repairs["closing brackets added"] += len(open_trees) - 1 - places[-1]
                del open_trees[places[-1] :]
            else:
                repairs["closing brackets dropped"] += 1
        elif used < len(words):
            open_trees[-1].append(Tree(token, [words[used]]))
            used += 1
        else:
            repairs["words dropped"] += 1
    repairs["closing brackets added"] += len(open_trees) - 1
    top[:] = without_hollow(list(top), repairs)
    last = top if not top or is_word(top[-1]) else top[-1]
    last.extend(Tree(WORD, [word]) for word in words[used:])
    repairs["words added"] += len(words) - used
    return top, +repairs
