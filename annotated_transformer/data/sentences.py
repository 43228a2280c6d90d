"""Where a sentence ends, so that a line with several sentences can be split.

The patterns mean the same in Python and in JavaScript: the page that translates takes them from here.
"""
import re

__all__ = ["PATTERNS", "SEVERAL_WORDS", "is_chinese", "split_sentences", "writes_blanks"]

CHINESE = "zh zho cmn yue cn".split()  # cn and jp are countries, and not codes of languages
OTHERS = "ja jpn jp th tha lo lao km khm my mya".split()

BLANK = r"\s\x1c-\x1f\x85\ufeff"  # within [ ]: in Python and in JavaScript \s lacks some of these
OPENING, LETTER = rf"""["'“‘«»‹›„‚¿¡(\[]*(?:«[{BLANK}])?""", "[A-Za-zÀ-ÖØ-öø-ÿŒœ]"  # French: « Oui ! »

# Chinese and Japanese, Hindi, Arabic. A closed quotation may be a part of a sentence (“真的？”他问。): no cut.
OTHER_ENDS = rf"""[。！？।॥؟]{{1,10}}(?=[{BLANK}]*[^{BLANK}。！？।॥؟"'”’»)\]」』）])"""

# These take a full stop within a sentence, as do single letters (J. Smith), dotted ones (U.S., a.m.) and short numbers (3. Mai).
SHORTENED = (
    "Mr Mrs Ms Messrs Dr Prof Rev Hon St Mt Ft Jr Sr Gen Col Lt Sgt Capt Maj Adm Gov Sen Rep Pres Hr Fr Mme Mlle "
    "MM Mgr No Nos Nr pp Fig Figs Vol Ch Sec Art Eq approx ca vs cf al Jan Feb Mar Apr Jun Jul Aug Sep Sept Oct Nov Dec "
    "Hrn Frl Ing Mrz Okt Dez bzw bzgl evtl geb ggf inkl sog vgl zzgl"  # German, where nouns have capitals
)
# These before a number: "no." alone is an answer.
NUMBERED = "no nos vol ch fig figs sec art est Mon Tue Tues Wed Thu Thurs Fri Sat Sun Abb Bd Kap Tel Mo Di Mi Do Sa So"
NUMBER = rf"(?:{'|'.join(rf'(?<=(?<!{LETTER}){word}[.])' for word in NUMBERED.split())}|(?<=[Ss]tr[.]))[{BLANK}]+[0-9]"
# After a full stop of the former, only these begin a sentence.
BEGINNERS = (
    "I You He She It We They My Your His Her Its Our Their This That These Those There Here The A An "
    "What When Where Which Who Whose Why How And But Or So Then If In On At As For After Before Now Yes No Not Maybe Perhaps "
    "Is Are Was Were Do Does Did Don't Can Could Will Would Should Have Has Let Let's Please Go Come Nobody Everybody Everyone "
    "Somebody Someone Nothing Everything Something Some Many Most All One Today Tomorrow Yesterday"
)
# German: 20 Mio. Euro. After those, these words also begin a sentence.
GERMAN = "Der Die Das Den Dem Dies Diese Dieser Ich Er Sie Es Wir Ihr Man Ein Eine Im Am Bei Mit Davon Dazu Damit Aber Und Auch"
EITHER = "|".join([*BEGINNERS.split(), *GERMAN.split()])
MILLIONS = rf"(?<=(?<!{LETTER})(?:Mio|Mrd)[.])[{BLANK}]+(?!{OPENING}(?:{EITHER})(?!{LETTER}))"
PATTERNS = {
    # The signs of an end and closing marks after them, ten at most, so that no text takes long; a space; then opening marks, and
    # a capital letter, a digit or an ellipsis. Or signs of other scripts, which need no space; nothing closes after them.
    "end": rf"""([.!?…](?!{NUMBER}|{MILLIONS})[.!?…"'”’“‘«»‹›)\]]{{0,9}}(?:[{BLANK}]»)?"""
           rf"""(?=[{BLANK}]+{OPENING}(?:[A-ZÀ-ÖØ-ÞŒ0-9]|\.\.\.|…))|{OTHER_ENDS})[{BLANK}]*""",
    # An apostrophe begins a word here: the 't of "don't" is not a word.
    "shortened": rf"""(?:(?<![.@0-9]|{LETTER})(?:{"|".join(SHORTENED.split())})|"""
                 rf"""(?:^|[{BLANK}"“‘«»‹›„‚¿¡(\[]|(?<!{LETTER})')(?:(?:{LETTER}\.)*{LETTER}|[0-9]{{1,2}}))\.$""",
    "beginner": rf"^{OPENING}(?!{LETTER}\.)(?:{'|'.join(BEGINNERS.split())})(?!{LETTER})",
    "after_ellipsis": rf"^I(?!{LETTER})",  # a capital that tells nothing: "Well... I know."
    "several": f"[^{BLANK}][{BLANK}]+[^{BLANK}]",
}
END, SHORT, BEGINNER, CAPITAL_I, SEVERAL_WORDS = (re.compile(pattern) for pattern in PATTERNS.values())
NEAR = 40  # characters before and after an end that decide


def ends(before: str, signs: str, after: str) -> bool:
    "Whether a sentence ends between these two pieces of text; the first ends with these signs."
    if signs.startswith(("...", "…")):
        return not CAPITAL_I.search(after)
    return signs != "." or not SHORT.search(before) or bool(BEGINNER.search(after))


def split_sentences(text: str) -> list[str]:
    "The sentences of a text, without the spaces between them; in case of doubt it does not cut."
    found, start = [], 0
    for end in END.finditer(text):
        if ends(text[max(start, end.end(1) - NEAR) : end.end(1)], end[1], text[end.end() : end.end() + NEAR]):
            found.append(text[start : end.end(1)])
            start = end.end()
    return [*found, text[start:]]


def is_chinese(
    language: str,  # as in file names: zh, zh_CN, cmn-Hans
) -> bool:
    "Whether it is Chinese."
    return re.split("[-_]", language.lower())[0] in CHINESE


def writes_blanks(
    language: str,  # as above
) -> bool:
    "Whether it puts spaces between words, as most languages do; Chinese, Japanese, Thai, Lao, Khmer and Burmese do not."
    return not is_chinese(language) and re.split("[-_]", language.lower())[0] not in OTHERS
