"""The parser that ships (§6.3, semi-supervised): gold trees mixed with another parser's, and then gold trees alone.

    python -m benchmarks.semi FILE ... [--least N ...] [--seeds 1 2 3] [--steps N N] [--as-it-stands [N]] [--ship]

FILE holds trees as a parser prints them, one per line (nbs/parsing/self_training shows how). From each file, sentences with at
least `--least` words (by default 3; one number for each file) and at most 40 are used; repeated sentences, and those in the
development or test split, are left out. The gold trees are mixed in five times. The second part continues with the gold trees
and the same number of new ones, in which constituents are replaced by others with the same label.

How many checkpoints are averaged is chosen by F1 on the development split, with the search that writes only trees, beam 4, and
weights rounded to the 16 bits in which they are stored; the test split is parsed with that choice, with the paper's beam, and
with a free search. All figures go to results/parsing/parser.semi.json. The same command continues a run that was stopped;
`--as-it-stands` and `--steps` are as in `benchmarks.pretrained`; `--ship` puts the best seed into the package.
"""
import argparse
import dataclasses
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from nltk.tree import Tree

from annotated_transformer import Translator
from annotated_transformer.config import TrainingConfig, TransformerConfig
from annotated_transformer.data import corpora
from annotated_transformer.data.treebanks import TreeFiles
from annotated_transformer.data.trees import print_tree
from annotated_transformer.files import sha256
from annotated_transformer.model.transformer import count_parameters
from annotated_transformer.model_record import PRETRAINED
from annotated_transformer.parsing.evalb import PUNCTUATION, constituents
from annotated_transformer.parsing.parser import PARSING, TREES, Parse, Parser, score_parses
from annotated_transformer.parsing.self_training import exchange_constituents
from annotated_transformer.training.loop import train
from annotated_transformer.training.runs import Run
from benchmarks.parser import EXAMPLE, spread, write_trees
from benchmarks.pretrained import as_it_stands
from benchmarks.shared.cards import PART
from benchmarks.shared.command import Options, one_sentence
from benchmarks.shared.shipping import put_into, round_weights
from benchmarks.shared.side_by_side import choose, command_of, save

NAME = "parser-en"
CORPUS = "treebank-words"
GOLD_TIMES, LONGEST, ROUNDS = 5, 40, 1  # of the gold trees in the mixture; words; of exchanges in the second part
MIXED = TrainingConfig(
    TransformerConfig(4_000, n_layers=4, d_model=192, d_ff=480, n_heads=6, dropout=0.1, max_length=1024), corpus=CORPUS,
    batch_tokens=2_048, steps=7_000, init_gain=0.5, warmup_steps=800, validate_every=500, checkpoint_every=100,
    checkpoint_minutes=None, keep=12,
)
FINISH = dataclasses.replace(  # at a rate that is lower from the start
    MIXED, steps=900, warmup_steps=100, rate_factor=0.1, validate_every=100, checkpoint_every=50)
AVERAGES, BEAM = (1, 8), 4  # checkpoints: what is chosen from; hypotheses
EXAMPLES = [  # our own sentences: what the shipped parser makes of them must be what the run made of them
    EXAMPLE,
    "Ann 's sister , who lives in Vienna , did n't want to sell the house that she had inherited .",
    "What did he say ?",
    "Glorp zibbed the quandlewock .",
    "Stop",
]
LENGTHS = (10, 20, 30, 40, 1_000)  # words: the rows of the table of what is lost


def taken(files: Sequence[Path], least: Sequence[int], held_out: set[tuple[str, ...]]) -> Iterator[Tree]:
    "The trees to learn from: each sentence once, none of those held out, none too short or too long."
    seen = set(held_out)
    for path, words in zip(files, least, strict=True):
        for tree in TreeFiles([path]).trees():
            sentence = tuple(tree.leaves())
            if words <= len(sentence) <= LONGEST and sentence not in seen:
                seen.add(sentence)
                yield tree


def mixture(files: Sequence[Path], least: Sequence[int], directory: Path, corpus: corpora.Treebank) -> tuple[str, dict]:
    "The corpus of the first part, whose files it writes if they are not there; and how much of what it holds."
    gold, others = directory / "gold.mrg", directory / "others.mrg"
    if not others.exists():
        held_out = {tuple(tree.leaves()) for split in ("validation", "test") for tree in corpus.trees(split)}
        write_trees(gold, corpus.trees("train"))
        write_trees(others, taken(files, least, held_out))
    sizes = {name: sum(1 for _ in path.open(encoding="utf-8")) for name, path in (("gold", gold), ("others", others))}
    return "+".join([CORPUS, *[str(gold)] * (GOLD_TIMES - 1), str(others)]), sizes | {"gold_times": GOLD_TIMES}


def finishing(directory: Path, seed: int, corpus: corpora.Treebank) -> str:
    "The corpus of the second part, whose file it writes if it is not there."
    path, gold = directory / f"exchanged-seed{seed}.mrg", corpus.trees("train")
    if not path.exists():
        write_trees(path, (tree for epoch in range(ROUNDS) for tree in exchange_constituents(gold, seed, epoch)))
    return f"{CORPUS}+{path}"


def open_parser(run: Path, average: int) -> Parser:
    "The mean of so many checkpoints, rounded as it will be stored."
    parser = Parser.from_pretrained(run, average)
    round_weights(parser.translator.model)
    return sooner(parser)


def sooner(parser: Parser) -> Parser:
    "The same, its products in 16 bits if that changes no weight, as they are now."
    own = parser.translator
    return Parser(Translator(own.model, own.tokenizer, own.search, precision="auto"))


def parses_of(parser: Parser, gold: Sequence[Tree], beam_size: int = BEAM, free: bool = False) -> list[Parse]:
    search = dataclasses.replace(PARSING if free else parser.search, beam_size=beam_size)
    return parser.parse([tree.leaves() for tree in gold], search, free)


def choose_on_development(run: Path, gold: Sequence[Tree]) -> dict:
    "The number of checkpoints with the best F1 at beam 4."
    def f1(average: int) -> float:
        return score_parses(gold, parses_of(open_parser(run, average), gold)).brackets.f1

    averages = [n for n in AVERAGES if n <= len(Run(run).checkpoints())]
    chosen, found = choose(f1, {"average": averages}, {"average": averages[0]})
    return {**chosen, "f1_by_average": {str(n): round(value, 3) for n, value in found["average"].items()}}


def words_numbered(tree: Tree, counted: Sequence[bool]) -> list[str]:
    "Parts of speech of the words that count."
    return [tag for (_, tag), number in zip(tree.pos(), counted) if number]


def what_was_written_instead(ours: Counter, theirs: Counter, tags: Sequence[str]) -> tuple[Counter, Counter]:
    """Each constituent that was missed, by what stands in its place; and those of which only the end is wrong, by what was moved.

    Ends before: a part at its end was attached too high. Ends after: something that follows was attached too low. That part is
    a coordination if it begins with a conjunction, or else has the label of the longest gold constituent that begins it.
    """
    instead, moved = Counter(), Counter()
    written = theirs - ours
    for label, start, end in sorted((ours - theirs).elements(), key=lambda one: (one[1], -one[2], one[0])):
        same_words = [one for one in written if one[1:] == (start, end)]
        same_start = sorted((one for one in written if one[:2] == (label, start)), key=lambda one: abs(one[2] - end))
        same_end = [one for one in written if (one[0], one[2]) == (label, end)]
        if same_words:
            instead["another label"] += 1
        elif same_start:
            instead["another end"] += 1
            first, last = sorted((end, same_start[0][2]))
            inside = [one for one in ours if one[1] == first and one[2] <= last]
            part = max(inside, key=lambda one: one[2])[0] if inside else "words"
            moved["coordination" if tags[first] == "CC" else part, "too_high" if last == end else "too_low"] += 1
        elif same_end:
            instead["another beginning"] += 1
        else:
            instead["nothing like it"] += 1
        written.subtract([(same_words + same_start + same_end or [None])[0]])
        written = +written
    return instead, moved


def where_brackets_are_lost(gold: Sequence[Tree], parses: Sequence[Parse]) -> dict:
    "Constituents that were to be found, that were found, and that are right: by label, by length of the sentence, by attachment."
    instead, moved = Counter(), Counter()
    kinds = {"gold": 0, "predicted": 0, "matched": 0}
    labels, lengths = defaultdict(lambda: Counter(kinds)), defaultdict(lambda: Counter(kinds))
    for right, parse in zip(gold, parses):
        counted = [tag not in PUNCTUATION for _, tag in right.pos()]
        if not any(counted):
            continue
        ours, theirs = constituents(right, counted), constituents(parse.tree, counted)
        for total, found in zip((instead, moved), what_was_written_instead(ours, theirs, words_numbered(right, counted))):
            total.update(found)
        words = next(most for most in LENGTHS if len(counted) <= most)
        for kind, found in (("gold", ours), ("predicted", theirs), ("matched", ours & theirs)):
            lengths[words][kind] += found.total()
            for (label, *_), n in found.items():
                labels[label][kind] += n

    def table(counts: dict) -> list[dict]:
        return [{"of": key, "f1": 200 * count["matched"] / (count["gold"] + count["predicted"]), **count}
                for key, count in counts.items()]

    return {"by_label": sorted(table(labels), key=lambda row: row["matched"] - row["gold"]),
            "by_length": sorted(table(lengths), key=lambda row: row["of"]),
            "instead": dict(instead.most_common()),
            "by_attachment": sorted(({"of": part, "too_high": moved[part, "too_high"], "too_low": moved[part, "too_low"]}
                                     for part in sorted({part for part, _ in moved})),
                                    key=lambda row: -row["too_high"] - row["too_low"])}


def searched(parser: Parser, corpus: corpora.Treebank) -> dict:
    "What a parser makes of the development and the test split by each search, where it fails, and of our own sentences."
    trees = {split: corpus.trees(split) for split in ("validation", "test")}
    found = {split: parses_of(parser, gold) for split, gold in trees.items()}
    scores = {
        split: {
            "constrained": score_parses(gold, found[split]).to_dict(),
            "free": score_parses(gold, parses_of(parser, gold, free=True)).to_dict(),
        } for split, gold in trees.items()
    }
    scores["test"]["papers_beam"] = score_parses(trees["test"], parses_of(parser, trees["test"], PARSING.beam_size)).to_dict()
    examples = parser.parse([line.split() for line in EXAMPLES])
    return {"beam_size": BEAM, "alpha": TREES.alpha, "scores": scores,
            "lost": where_brackets_are_lost(trees["test"], found["test"]),
            "examples": [print_tree(parse.tree) for parse in examples]}


def measure(runs: dict[Path, TrainingConfig], corpus: corpora.Treebank) -> dict:
    "What one seed has reached at the end of its last part, and at the end of the first."
    development = corpus.trees("validation")
    (first, _), *_, (last, config) = runs.items()
    chosen = choose_on_development(last, development)
    parser = open_parser(last, chosen["average"])
    before = parses_of(open_parser(first, min(chosen["average"], config.keep)), development)
    ends = [Run(run).reached() for run in runs]
    return {
        "seed": config.seed, "updates": [end["step"] for end in ends], "parameters": count_parameters(parser.translator.model),
        "minutes_of_updates": round(sum(end["seconds"] for end in ends) / 60, 1),
        "validation_perplexity": [end["validation_perplexity"] for end in ends],
        "target_tokens": sum(end["target_tokens"] for end in ends), **chosen, **searched(parser, corpus),
        "validation_f1_before_finish": score_parses(development, before).brackets.f1,
    }


CARD = """---
license: other
language: [en]
library_name: annotated_transformer
tags: [parsing]
---

# {name}

A parser of English: words in, the tree of their phrases out. {parameters:,} parameters: {layers} + {layers} layers, \
d_model {d_model}, {heads} heads, {vocab:,} pieces.

- **Data:** the training part (files 0001 to 0159, 3,396 sentences) of the sample of the Penn Treebank that NLTK distributes, \
{gold_times} times over, and {others:,} sentences parsed by the Berkeley parser 1.7 (Petrov et al. 2006), which was trained on \
the same part: English sides of the news test sets of WMT 2019 and 2021 to 2023, and sentences of Tatoeba (CC BY 2.0) and \
Europarl. None of these texts is in this package.
- **Licence:** the README of the sample says: "This is a ~5% fragment of Penn Treebank, (C) LDC 1995. It is made available under \
fair use for the purposes of illustrating NLTK tools for tokenizing, tagging, chunking and parsing. This data is for \
non-commercial use only." It says nothing about weights. Use these for non-commercial study and research.
- **Recipe:** {parts};
  mean of the last {average} checkpoints, stored in 16 bits; seed {seed}. {minutes:.0f} minutes by the clock on {hardware}, \
which it shared.
- **Search:** only tokens that continue a tree over the given words. `annotated-transformer parse` takes the paper's beam \
of {papers.beam_size} unless told otherwise; {beam} is much faster.
- **Scores:** F1 as EVALB counts it on files 0180 to 0199, 245 sentences: {constrained:.2f}; with the paper's beam \
{as_usual:.2f}; not restricted to trees, but repaired afterwards, {free:.2f}. One seed.
  `results/parsing/parser.semi.json` in the repository says how it was counted.
- **Reproduced by:** `{command}`

It expects words as the treebank cuts them (*do n't*, *Ann 's*, full stop and comma separate). It learnt from the Wall Street \
Journal of 1989 and from a parser that makes mistakes: do not use it where a wrong tree does harm.
"""


def card(found: dict, runs: dict[Path, TrainingConfig], sizes: dict, vocab: int, record: dict) -> str:
    "What README.md of the model says."
    model, test, machine = runs[list(runs)[-1]].model, found["scores"]["test"], record["hardware"]
    hardware = f"{machine['threads']} of {machine['cores']} cores of {machine['processor']}"
    parts = [PART.format(config, agreement="", precision=config.execution.precision or "float32") for config in runs.values()]
    return CARD.format(
        name=NAME, parameters=found["parameters"], layers=model.n_layers, d_model=model.d_model, heads=model.n_heads, vocab=vocab,
        gold_times=sizes["gold_times"], others=sizes["others"], average=found["average"], seed=found["seed"],
        parts="on the mixture " + ";\n  then on the gold trees and their exchanges ".join(parts),
        minutes=found["minutes_of_updates"], hardware=hardware, beam=found["beam_size"], papers=PARSING,
        constrained=test["constrained"]["f1"], as_usual=test["papers_beam"]["f1"], free=test["free"]["f1"],
        command=record["command"],
    )


def parser_with_files(module: str, doc: str, out: str) -> Options:
    "The options of all that learns from another parser's trees."
    parser = Options(module, doc, out)
    parser.add_argument("files", type=Path, nargs="+", metavar="FILE", help="trees of another parser, one a line")
    parser.add_argument("--least", type=int, nargs="+", help="words of the shortest sentence, one number for each file; else 3")
    parser.add_argument("--runs", type=Path, default=Path("runs/semi"), help="where the runs stand")
    return parser


def parsed_with_files(parser: Options, options: Sequence[str] | None) -> argparse.Namespace:
    "What was given, with a least number of words for each file."
    arguments = parser.parse_args(options)
    arguments.least = arguments.least or [3] * len(arguments.files)
    if len(arguments.least) != len(arguments.files):
        parser.error(f"--least has {len(arguments.least)} numbers for {len(arguments.files)} files")
    return arguments


def options_read(options: Sequence[str] | None) -> argparse.Namespace:
    parser = parser_with_files("benchmarks.semi", __doc__, "results/parsing/parser.semi.json")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1])
    parser.add_argument("--steps", type=int, nargs=2, default=[MIXED.steps, FINISH.steps], help="updates of both parts")
    parser.add_argument("--as-it-stands", type=int, nargs="?", const=2, default=0, metavar="N",
                        help="of the first N parts, or of both, take what there is and train no further; for one seed")
    parser.add_argument("--ship", action="store_true", help="put the best seed into the package")
    arguments = parsed_with_files(parser, options)
    if arguments.as_it_stands and len(arguments.seeds) > 1:
        parser.error("--as-it-stands takes one seed: each has come to another update")
    return arguments


def both_parts(
    directory: Path, seed: int, updates: Sequence[int], trees: Sequence[str], standing: int = 0,
) -> dict[Path, TrainingConfig]:
    "Train on these two corpora, but for the first parts that are taken as they stand; where each part stands, and what it is."
    runs: dict[Path, TrainingConfig] = {}
    for config, steps, corpus in zip((MIXED, FINISH), updates, trees, strict=True):
        run = directory / f"part{len(runs) + 1}-seed{seed}"
        start = str(list(runs)[-1]) if runs else None
        config = dataclasses.replace(config, seed=seed, steps=steps, corpus=corpus, start_from=start)
        if len(runs) < standing:
            config = as_it_stands(run, config)
        else:
            train(config, run)
        runs[run] = config
    return runs


def command_again(arguments: argparse.Namespace, options: Iterable[str] | None, runs: dict[Path, TrainingConfig]) -> list[str]:
    "What makes the figures again; of runs that were taken as they stood, with their numbers of updates."
    if not arguments.as_it_stands:
        return command_of("benchmarks.semi", options)
    steps = [str(config.steps) for config in runs.values()]
    given = ["--least", *map(str, arguments.least), "--seeds", str(arguments.seeds[0]), "--steps", *steps]
    return command_of("benchmarks.semi", [*map(str, arguments.files), *given, *["--ship"] * arguments.ship])


@one_sentence()
def main(options: Sequence[str] | None = None) -> None:
    arguments = options_read(options)
    corpus = corpora.load(CORPUS)
    mixed, sizes = mixture(arguments.files, arguments.least, arguments.runs, corpus)
    seeds = {}
    for seed in arguments.seeds:
        trees = mixed, finishing(arguments.runs, seed, corpus)
        seeds[seed] = both_parts(arguments.runs, seed, arguments.steps, trees, arguments.as_it_stands)
    found = {seed: measure(runs, corpus) for seed, runs in seeds.items()}
    best = max(found, key=lambda seed: found[seed]["scores"]["validation"]["constrained"]["f1"])
    summary = {how: spread([{"scores": {split: one["scores"][split][how] for split in one["scores"]}} for one in found.values()])
               for how in found[best]["scores"]["validation"]}
    figures = {"best_seed": best, "trees": sizes, "summary": summary, "by_seed": list(found.values())}
    config = {"recipe": [part.to_dict() for part in seeds[best].values()], "longest": LONGEST, "least": arguments.least}
    words = command_again(arguments, options, seeds[best])
    record = save(arguments.out, "benchmarks.semi", figures, config, best, words[3:])
    if arguments.ship:
        run, directory = list(seeds[best])[-1], PRETRAINED / NAME
        translator = Parser.from_pretrained(run, found[best]["average"]).translator
        translator.model.half()
        text = card(found[best], seeds[best], sizes, translator.tokenizer.vocab_size, record)
        put_into(directory, translator, text, CORPUS, {})  # how it is searched, `Parser` says
        figures["weights_sha256"] = sha256(directory / "model.safetensors")
        save(arguments.out, "benchmarks.semi", figures, config, best, words[3:])
    print(f"{arguments.out} is written")


if __name__ == "__main__":
    main()
