"""Everyday sentences in which one can be sure which noun a pronoun stands for, and which noun is a verb's object.

python -m benchmarks.word_pairs --corpus tatoeba-en-de --out results/heads

They are found by rules in plain Python that know some hundred words and no grammar. The rules would rather miss nine sentences
than accept a wrong one. The command draws a hundred of each kind, to be judged by hand.
"""
import hashlib
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from annotated_transformer.data.corpora import load
from annotated_transformer.data.parallel_text import Corpus
from annotated_transformer.figures.token_labels import bare
from annotated_transformer.files import write_text_file
from benchmarks.shared.command import Options, one_sentence, results_directory


class Found(NamedTuple):
    "A sentence, and which of its words looks where."

    sentence: str
    query: int  # number of the pronoun or of the verb among the words between blanks, from 0
    key: int    # of the noun


def words(text: str) -> frozenset[str]:
    "The words of a list."
    return frozenset(text.split())


# A pronoun's noun.

HE, SHE, IT, THEY = words("he his himself"), words("she her herself"), words("its itself"), words("they their themselves")
THIRD = HE | SHE | THEY | words("him hers them theirs")
POSSESSIVE = words("his her its their")
MEN = words(
    "Tom John Ken Jim Bob Bill Jack Mike Mark Peter Paul George David Robert Jiro Taro Max Karl Hans Kenji Dick Fred Sami"
)
WOMEN = words(
    "Mary Alice Jane Emily Kate Lucy Nancy Susan Linda Ann Anne Helen Betty Maria Anna Julia Layla Sarah Emi Yumi Marie"
)
HIS = words(
    "father dad grandfather grandpa uncle brother son husband boyfriend man boy king prince gentleman nephew policeman"
)
HERS = words(
    "mother mom grandmother grandma aunt sister daughter wife girlfriend woman girl queen princess lady niece actress "
    "waitress"
)
ANYBODY = words(
    "doctor teacher student boss friend baby child neighbor cousin lawyer driver soldier author writer artist singer actor "
    "player patient professor president thief manager secretary nurse clerk captain pilot farmer prisoner poet painter "
    "scientist"
)
THEIRS = words(
    "children parents students boys girls men women people kids teachers friends neighbors brothers sisters players workers "
    "farmers soldiers dogs cats birds passengers customers prisoners animals trees grandparents sons daughters doctors babies "
    "americans"
)
THINGS = words(
    "dog cat bird horse cow lion tiger bear elephant monkey rabbit mouse fish snake bee spider animal company country city "
    "town river tree government car ship train plane house church school university museum hotel restaurant club team army "
    "bank planet moon sun earth machine computer book story newspaper song flower plant leaf swan fox wolf turtle cub kitten "
    "puppy hen duck airport island Japan Germany France China Italy America Boston London Tokyo Paris Kyoto Australia Canada "
    "Spain Russia England"
)
PEOPLE = HIS | HERS | ANYBODY | THEIRS | words(
    "person family couple guy nobody everybody somebody anybody everyone someone anyone each one another other others who "
    "whoever whose whom police crowd audience class both guys ladies gentlemen enemy victim killer stranger husbands wives "
    "sir folks mr mrs ms"
)
PLACES = THINGS | words(
    "Boston French English German Japanese Chinese Spanish Italian Russian American Canadian Australian Europe Africa Asia "
    "Christmas Monday Tuesday Wednesday Thursday Friday Saturday Sunday January February March April May June July August "
    "September October November December I I'm I'd I'll I've Facebook Internet TV Chicago Hawaii Harvard Easter Halloween "
    "Park Street Hilton"
)
NO_NOUN_AFTER_HER = words(
    "her Mary told to go a an the and or but in on at with for that if when because as from about again yesterday today "
    "tomorrow now then so very too not out up down off away back some any this these those all every what who where how why "
    "my your our his their its i you he she we they it is was has had by of into over than like before after since until "
    "while though alone once twice immediately often always never much more better well there here home anymore tonight late "
    "early everything something nothing anything first"
)
OPENERS = words("when if before after although though while since because once until whenever as unless")
ARTICLES = words("the a an my our your this that these those two some")
FORMS_OF_BE = words(
    "is was are were be been being am isn't wasn't aren't weren't not really becomes became that's it's like named called"
)


def gender(noun: str) -> frozenset[str]:
    "The pronouns that may stand for a noun; none for what is not on the lists."
    if noun in MEN or noun in HIS:
        return HE
    if noun in WOMEN or noun in HERS:
        return SHE
    if noun in ANYBODY:
        return HE | SHE
    return THEY if noun in THEIRS else IT if noun in THINGS else frozenset()


def pronoun_and_noun(sentence: str) -> Found | None:
    "The one pronoun of a sentence and the noun that it stands for, if there can be no doubt."
    if re.search(r"[.!?]\W+\w|[:;\"“”()…-]", sentence):  # one plain sentence
        return None
    split = sentence.split()
    plain = [bare(word) for word in split]
    lower = [word.lower() for word in plain]
    pronouns = [i for i, word in enumerate(lower) if word in THIRD | IT]
    stems = [re.sub(r"'\w*$", "", word) for word in plain]
    hidden = [stem for stem, word in zip(stems, plain) if stem != word and stem.lower() in THIRD]  # he's, they'll
    if len(pronouns) != 1 or hidden:
        return None
    at, pronoun = pronouns[0], lower[pronouns[0]]
    strange = [i for i, word in enumerate(stems) if i and word[:1].isupper() and not gender(word) and word not in PLACES]
    nouns = [i for i, word in enumerate(stems) if gender(word) or gender(word.lower()) or word.lower() in PEOPLE]
    nouns = [i for i in nouns if i < at or not gender(stems[i].lower()) or stems[i] in MEN | WOMEN or pronoun not in POSSESSIVE]
    if pronoun not in IT | THEY:  # things do not compete for "his"
        nouns = [i for i in nouns if gender(stems[i]) != IT and gender(stems[i].lower()) != IT]
    if strange or len(nouns) != 1:
        return None
    noun = nouns[0]
    fits = pronoun in gender(plain[noun]) | gender(lower[noun])  # neither "Tom's" nor another gender
    return Found(sentence, at, noun) if fits and is_certain(split, lower, at, noun) else None


def is_certain(split: list[str], lower: list[str], at: int, noun: int) -> bool:
    "Whether nobody else can be meant by the pronoun at this place."
    pronoun, last = lower[at], at == len(split) - 1
    named = split[noun].strip(",.!?") in MEN | WOMEN | THINGS and split[noun][0].isupper()
    if not named and not ARTICLES & set(lower[max(0, noun - 2) : noun]):
        return False
    if noun > at:  # "When he came home, Tom was tired."
        clause = lower[0] in OPENERS and at == 1 and pronoun in words("he she they")
        return clause and split[noun - 1 if named else max(0, noun - 2)].endswith(",")
    if split[noun].endswith(",") and noun < 2 or noun and lower[noun - 1] in ("and", "or") or lower[noun + 1] in ("and", "or"):
        return False  # spoken to, or one of two
    if pronoun in POSSESSIVE:
        follows = not last and not split[at].endswith((",", ".")) and lower[at + 1] not in NO_NOUN_AFTER_HER
        return follows and lower[at - 1] not in FORMS_OF_BE
    if pronoun.endswith(("self", "selves")):
        return True
    return noun + 1 < at and lower[at - 1] not in FORMS_OF_BE  # he, she, they


# A verb's object.

VERB_OF = {form: forms.split()[0] for forms in (  # of each form its verb, which is the first of its forms here
    "buy buys bought buying, sell sells sold selling, eat eats ate eaten eating, drink drinks drank drinking, read reads "
    "reading, write writes wrote written writing, open opens opened opening, close closes closed closing, lose lost losing, "
    "find found finding, break broke broken, steal stole stolen stealing, build built building, sing sang singing, speak "
    "speaks spoke speaking, drive drives drove driving, wear wears wore wearing, watch watches watched watching, wash "
    "washed washing, clean cleaned cleaning, cook cooked cooking, paint painted painting, fix fixed fixing, repair repaired "
    "repairing, catch caught catching, throw threw throwing, borrow borrowed borrowing, hate hates hated, love loves loved, "
    "like likes liked, enjoy enjoyed enjoying, visit visited visiting, answer answered answering, solve solved solving, "
    "sign signed signing, finish finished finishing, win won winning, cut cutting, feed fed feeding, ride rode riding, "
    "climb climbed climbing, cross crossed crossing, miss missed missing, change changed changing, check checked checking, "
    "choose chose chosen, spend spent spending, pay paid, shut, lock locked locking, hit, kick kicked kicking, kill killed "
    "killing, hear heard, see saw seen, need needs needed, want wants wanted, play plays played playing, make makes made "
    "making, bring brought bringing, take took taking, use used using, know knows knew, understand understood, remember "
    "remembered, forget forgot forgotten, believe, learn learned learning, teach taught teaching, study studied studying "
    "studies, bake baked baking, burn burned, destroy destroyed, hide hid, hold held holding, carry carried carrying, join "
    "joined joining"
).split(",") for form in forms.split()}
VERBS = frozenset(VERB_OF)
BEFORE_VERB = words(
    "i you he she we they who it tom mary to don't doesn't didn't not can can't cannot could couldn't will won't would "
    "wouldn't must should shouldn't have has had haven't hasn't hadn't never always often just already also is are was were "
    "am been i'm you're he's she's we're they're i've you've we've they've i'd he'd she'd you'd i'll you'll he'll she'll "
    "we'll they'll usually still finally really nobody somebody someone everybody everyone please let's may might"
)
DETERMINERS = words("a an the my your his our their this that these those some any no its another every")
BARE_OBJECTS = words(
    "french english german japanese chinese spanish music coffee tea milk beer wine water meat fish bread rice tennis "
    "football soccer baseball golf chess money books letters pictures cats dogs horses apples oranges eggs vegetables fruit "
    "glasses shoes homework lunch dinner breakfast supper cake cookies candy chocolate chicken cheese sugar salt classical "
    "mathematics history movies songs"
)
AFTER_OBJECT = words(
    "in on at to from for with by yesterday today tomorrow now again every last this next before after when because if and "
    "but or tonight here there together too already alone twice once until while during without about as right very"
)
ADJECTIVES = words(
    "new old big small good bad red blue green black white yellow nice beautiful expensive cheap long short whole same wrong "
    "right large great own pretty young other hot cold fresh used second first last best favorite difficult easy strange "
    "important interesting funny sad famous foreign broken dirty clean empty heavy light wonderful stupid silly huge tall "
    "rich poor lovely delicious different better larger bigger front back entire real popular golden wooden fast next dark "
    "warm few three two four five ten"
)
NO_OBJECTS = ADJECTIVES | AFTER_OBJECT | VERBS | DETERMINERS | words(
    "one ones much more day time way kind lot little bit deal couple coming"
)


def verb_and_object(sentence: str) -> Found | None:
    "The one verb of the list in a sentence and the noun that is its object, if the words around them leave no doubt."
    if re.search(r"[.!?]\W+\w|[:;\"“”()…-]", sentence):
        return None
    split = sentence.split()
    lower = [bare(word).lower() for word in split]
    verbs = [i for i, word in enumerate(lower) if word in VERBS and (i == 0 or lower[i - 1] in BEFORE_VERB)]
    if len(verbs) != 1 or verbs[0] + 1 >= len(split):
        return None
    verb = verbs[0]
    start = at = verb + 1
    if lower[at] in DETERMINERS:
        at += 1
    while at < len(split) and lower[at] in ADJECTIVES:
        at += 1
    if at >= len(split) or any(word.endswith((",", "'s", "s'")) for word in split[verb:at]):
        return None
    if lower[at + 1 : at + 2] == ["to"] and lower[verb][:4] in ("want", "like", "need"):  # "I want the rain to stop."
        return None
    noun, ends = lower[at], at == len(split) - 1 or split[at].endswith(",") or lower[at + 1] in AFTER_OBJECT
    known = noun not in NO_OBJECTS if lower[start] in DETERMINERS else noun in BARE_OBJECTS
    return Found(sentence, verb, at) if known and ends and noun.isalpha() and not noun.endswith("ly") else None


# Finding, drawing, judging.


class Search(NamedTuple):
    "What is looked for."

    rule: Callable[[str], Found | None]
    place: Callable[[Found], int]  # what a head that knows only positions could use
    most: int                      # maximum taken per position; otherwise nearly all would have the same
    file: str                      # the drawn ones, judged by hand


SEARCHES = {
    "pronoun's noun": Search(pronoun_and_noun, lambda found: found.key, 160, "pronouns-checked.txt"),
    "verb's object": Search(verb_and_object, lambda found: found.key - found.query, 500, "objects-checked.txt"),
}
SPLITS = "validation", "test", "train"


def lot(found: Found, purpose: str) -> str:
    "As good as drawn at random, and the same in every order and corpus."
    return hashlib.sha256(f"{purpose}: {found.sentence}".encode()).hexdigest()


def find(corpus: Corpus, name: str) -> tuple[list[tuple[str, Found]], Counter]:
    "Pairs to be measured, each with the split that its sentence is from, and how many the rule found in each split."
    search, first = SEARCHES[name], {}
    for split in SPLITS:
        for source, _ in corpus.split(split):
            first.setdefault(source, split)
    found = [(split, pair) for source, split in first.items() if (pair := search.rule(source))]
    found.sort(key=lambda one: (one[0] == "train", lot(one[1], "choice")))  # first those that a model was not trained on
    taken, kept = Counter(), []
    for split, pair in found:
        if taken[search.place(pair)] < search.most:
            taken[search.place(pair)] += 1
            kept.append((split, pair))
    return sorted(kept, key=lambda one: lot(one[1], "second order")), Counter(split for split, _ in found)


def mark(found: Found) -> str:
    "In the notation of the lists in benchmarks/sentences: the query in brackets, the right place in braces."
    split = found.sentence.split()
    for place, signs in ((found.query, r"[\g<0>]"), (found.key, r"{\g<0>}")):
        split[place] = re.sub(r"\w+(?:'\w+)?", signs, split[place], count=1)
    return " ".join(split)


def read_judged(path: Path) -> dict[str, str]:
    "The verdict on each marked sentence: right, wrong or open."
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return {marked: verdict for verdict, _, marked in (line.partition("  ") for line in lines if not line.startswith("#"))}


@one_sentence()
def main() -> None:
    parser = Options("benchmarks.word_pairs", __doc__)
    parser.add_argument("--corpus", default="tatoeba-en-de", help="name or directory")
    parser.add_argument("--out", type=results_directory, default="results/heads",
                        help="directory of the lists; their verdicts are kept")
    arguments = parser.parse_args()
    corpus = load(arguments.corpus)
    for name, search in SEARCHES.items():
        kept, everywhere = find(corpus, name)
        path = arguments.out / search.file
        verdicts, drawn = read_judged(path), [mark(pair) for _, pair in kept[:100]]
        about = f"{len(drawn)} of {len(kept)} sentences of {arguments.corpus}, drawn by lot, judged by hand: right or wrong"
        lines = [f"# {name}: {about}"]
        lines += [f"{verdicts.get(marked, 'open')}  {marked}" for marked in drawn]
        write_text_file(path, "\n".join([*lines, ""]))
        print(f"{path}: {len(drawn)} of {len(kept)}; found in {dict(everywhere)}")


if __name__ == "__main__":
    main()
