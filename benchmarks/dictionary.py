"""More words for the everyday translator: the sentences and phrases of a dictionary added to its pairs.

    apt-get download trans-de-en && dpkg -x trans-de-en_*.deb ding && pip install wordfreq   # here 1.9-6 and 3.1.1
    python -m benchmarks.dictionary pairs --ding ding/usr/share/trans/de-en --work W
    python -m benchmarks.dictionary learn SEED --work W --start DIRECTORY --updates N
    python -m benchmarks.dictionary report SEED --work W --control C [--out results/translation/dictionary.json]

Ding is the German-English dictionary of the Technische Universität Chemnitz (Frank Richter; GPL 2 or later), with 20,000
sentences that show how a word is used. `pairs` writes a corpus directory: what `benchmarks.everyday_extra --with-corpus` makes,
each of these sentences four times, and the phrases in which every English word is common (by `wordfreq`). We leave out every pair
whose English or German is also that of a sentence used for measuring translators.

`learn` continues from weights that `benchmarks.shared.earlier` kept. Half of each token's target is what those weights expect, as
in `benchmarks.distillation`, so that the student forgets little. `report` compares a training run with its control, C: `pairs
--work C` without `--ding`, and about as many updates from the same weights. For each, the mean of the last AVERAGE checkpoints
translates the validation split.
"""
import dataclasses
import random
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from annotated_transformer import Translator
from annotated_transformer.config import Execution
from annotated_transformer.data import corpora
from annotated_transformer.training import loop
from annotated_transformer.training.loop import train
from annotated_transformer.training.runs import Run
from benchmarks import everyday_extra
from benchmarks.copied_names import measured
from benchmarks.distillation import SHIPPED, made_by, ran, teach_by
from benchmarks.pretrained import EVERYDAY_GPU
from benchmarks.shared.command import Options, one_sentence
from benchmarks.shared.corpus_files import write_corpus
from benchmarks.shared.sentence_lists import sentences
from benchmarks.shared.side_by_side import save

COMMON = {1: 3.0, 2: 4.7}  # minimum Zipf frequency of each English word in a phrase of this many words or more
LONGEST, SENSES = 6, 3     # words of a side; translations of a phrase
AVERAGE = 8                # checkpoints, for the report
TIMES = 4                 # that each sentence of the dictionary is in the pairs
CONFIG = dataclasses.replace(
    EVERYDAY_GPU, model=dataclasses.replace(EVERYDAY_GPU.model, dropout=0.2), batch_tokens=4_096, warmup_steps=100,
    rate_factor=0.06, validate_every=200, checkpoint_every=25, keep=40, log_every=20, execution=Execution(precision="bfloat16"),
)
NOTES = re.compile(r"\{[^}]*\}|\[[^\]]*\]|\([^)]*\)|<[^>]*>")  # {f}, [coll.], (of a person), <another spelling>
SHORT = {
    "sth.": "something", "sb.": "somebody", "sb.'s": "somebody's", "sth.'s": "something's", "etw.": "etwas", "jd.": "jemand",
    "jdn.": "jemanden", "jdm.": "jemandem", "jds.": "jemandes",
}


def plain(text: str) -> str:
    "Without the dictionary's notes and short forms."
    words = NOTES.sub(" ", text).replace("’", "'").split()
    return re.sub(r" ([.,!?;:])", r"\1", " ".join(SHORT.get(word, word) for word in words)).strip(" ;")


def variants(side: str) -> list[str]:
    "What stands there for one meaning. What has a slash is left out: it is two texts in one."
    return [text for text in map(plain, side.split(";")) if text and "/" not in text]


def entries(lines: Iterable[str]) -> Iterator[tuple[list[str], list[str]]]:
    "English and German of each meaning: in a line the meanings of both sides stand in the same order."
    for line in lines:
        german, there, english = line.rstrip("\n").partition(" :: ")
        if there and not line.startswith("#"):
            for one, other in zip(english.split("|"), german.split("|"), strict=True):
                if (found := (variants(one), variants(other)))[0] and found[1]:
                    yield found


def is_sentence(text: str) -> bool:
    return text[-1] in ".!?" and text[0].isupper() and len(text.split()) > 2


def held() -> tuple[set[str], set[str]]:
    "English and German of what is measured, in small letters and without signs."
    english = everyday_extra.measured_on() | {everyday_extra.key(source) for source in sentences("everyday-2")[0]}
    splits = [split for name in ("tatoeba-en-de", SHIPPED) for corpus in [corpora.load(name)]
              for split in (corpus.validation, *corpus.tests.values())]
    return english, {everyday_extra.key(pair[1]) for split in splits for pair in split}


def from_dictionary(lines: Iterable[str]) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    "Its sentences, and its phrases of common words; of a meaning all English variants with the first two German ones."
    from wordfreq import zipf_frequency

    english_held, german_held = held()
    whole: dict[tuple[str, str], None] = {}
    phrases: dict[str, dict[str, None]] = {}
    for english, german in entries(lines):
        for source in english:
            for target in german[:2]:
                if everyday_extra.key(source) in english_held or everyday_extra.key(target) in german_held:
                    continue
                if is_sentence(source) and is_sentence(target):
                    whole[source, target] = None
                elif max(len(source.split()), len(target.split())) <= LONGEST and target[-1] not in ".!?":
                    words = source.removeprefix("to ").split()
                    if min(zipf_frequency(word, "en") for word in words) >= COMMON[min(2, len(words))]:
                        phrases.setdefault(source, {})[target] = None
    return list(whole), [(source, target) for source, targets in phrases.items() for target in list(targets)[:SENSES]]


def pairs(ding: Path | None, work: Path) -> None:
    "The corpus directory W/corpus; without a dictionary, the control's."
    corpus = corpora.load(SHIPPED)
    known = everyday_extra.renamed(corpus.train, everyday_extra.RENAMED, everyday_extra.measured_on(), everyday_extra.SEED)
    whole, phrases = from_dictionary(ding.read_text(encoding="utf-8").split("\n")) if ding else ([], [])
    train_on = [*known, *everyday_extra.made(), *TIMES * whole, *phrases]
    splits = {"train": train_on, "validation": list(corpus.validation)}
    random.Random(1).shuffle(splits["train"])
    write_corpus(splits, work / "corpus")
    print(f"{len(splits['train']):,} pairs: {len(whole):,} sentences of the dictionary, {TIMES} times; {len(phrases):,} phrases")


def learn(work: Path, seed: int, start: Path, updates: int) -> None:
    "One seed."
    usual = loop.learner_for
    teach_by([Translator.from_pretrained(start, device="cpu", precision="float32")], False)
    config = dataclasses.replace(CONFIG, corpus=str(work / "corpus"), seed=seed, steps=updates, start_from=str(start))
    train(config, work / f"{seed}")
    loop.learner_for = usual


def report(work: Path, control: Path, seed: int, out: Path, options: Sequence[str] | None) -> None:
    "Before, with the dictionary and without it, into one file."
    held_out = corpora.load(SHIPPED).validation
    before = Translator.from_pretrained(SHIPPED, device="cpu", precision="float32")
    figures, configs = {"before": measured(before, held_out, [])["validation_bleu"]}, {}
    for name, directory in (("dictionary", work), ("control", control)):
        run = directory / f"{seed}"
        after = Translator.from_pretrained(run, AVERAGE, device="cpu", precision="float32")
        after.search = before.search
        found = measured(after, held_out, [])["validation_bleu"]
        figures[name] = {**ran(run), "pairs": len(Run(run).pairs("train")), "validation_bleu": found}
        configs[name] = Run(run).config.to_dict()
    save(out, "benchmarks.dictionary", figures, configs, seed, options, trained=made_by(work / f"{seed}"))


@one_sentence()
def main(options: Sequence[str] | None = None) -> None:
    parser = Options("benchmarks.dictionary", __doc__, "results/translation/dictionary.json")
    parser.add_argument("do", choices=("pairs", "learn", "report"))
    parser.add_argument("seed", type=int, nargs="?", help="of learning, and of the report")
    parser.add_argument("--ding", type=Path, metavar="FILE", help="the dictionary, for the pairs; without it, those of a control")
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--start", type=Path, help="weights to go on from")
    parser.add_argument("--updates", type=int, default=1_400)
    parser.add_argument("--control", type=Path, help="for the report: the W of the control")
    arguments = parser.parse_args(options)
    if arguments.do == "learn" and None in (arguments.seed, arguments.start):
        parser.error("learn takes a seed, and --start")
    if arguments.do == "report" and None in (arguments.seed, arguments.control):
        parser.error("report takes a seed, and --control")
    if arguments.ding and not arguments.ding.is_file():
        parser.error(f"{arguments.ding} is no file")
    if arguments.do == "pairs":
        pairs(arguments.ding, arguments.work)
    elif arguments.do == "learn":
        learn(arguments.work, arguments.seed, arguments.start, arguments.updates)
    else:
        report(arguments.work, arguments.control, arguments.seed, arguments.out, options)


if __name__ == "__main__":
    main()
