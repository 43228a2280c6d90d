"""The small parser (§6.3): trained on the free treebank sample, chosen on its development split, scored.

    python -m benchmarks.parser [--seeds 1 2 3]     the parser, and right-branching beside it: results/parsing/parser.json
    python -m benchmarks.parser --curve             on 25 and 50% of the training sentences: results/parsing/parser.curve.json
    python -m benchmarks.parser --self-training     on its own parses as well: results/parsing/parser.self-training.json
    python -m benchmarks.parser --times             seconds per sentence by beam: results/parsing/parser.times.json
    python -m benchmarks.parser --tried RUN ...     what other settings reach on the development split: parser.tried.json

Each training has its own run under runs/parser/, which the same command continues if it was stopped; these commands share the
runs. The number of checkpoints to average, the beam and the length penalty are chosen by F1 on the development split, run by
run, once for the paper's free search and once for the search that writes only trees; the test split is parsed with each choice.
A run's results are kept in its measured.json and not measured again. To try other settings, use `annotated-transformer
train --preset parsing-small --precision auto --run RUN` with the same --steps for each (4250 for the results here, including the
recipe itself), and then --tried.
"""
import dataclasses
import functools
import json
import random
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from nltk.tree import Tree

from annotated_transformer import InputError
from annotated_transformer.config import PRESETS, Execution, TrainingConfig
from annotated_transformer.data import corpora
from annotated_transformer.data.trees import WORD, linearize, print_tree
from annotated_transformer.files import write_text_file
from annotated_transformer.model.transformer import count_parameters
from annotated_transformer.parsing.parser import PARSING, TREES, Parse, Parser, ParsingScores, score_parses
from annotated_transformer.parsing.self_training import confidences, sure
from annotated_transformer.training.loop import train
from annotated_transformer.training.runs import Run
from benchmarks.shared.baselines import right_branching_scores
from benchmarks.shared.command import Options, one_sentence
from benchmarks.shared.side_by_side import choose, mean_and_deviation, save, take_turns

RECIPE = dataclasses.replace(PRESETS["parsing-small"], execution=Execution(precision="auto"))  # as for Multi30k
AVERAGES, BEAMS, ALPHAS = (1, 5, 10, 20), (1, 4, 21), (0.0, 0.3, 0.6)  # the choices
BOUND_BEAMS, BOUND_ALPHAS = (4, 21), (0.3, 1.0, 2.0, 4.0)  # the same for the search that writes only trees
PAPER_ALPHA, USUAL_BEAM = PARSING.alpha, 4  # the beam while averages are compared
TRIED_AVERAGE = 5       # checkpoints, the same for every run that is compared
SHARES = (25, 50)       # per cent of the training sentences, besides 100
GOLD = 50               # per cent of them whose trees self-training may see; of the others it gets the words
ALONE, ROUNDS = 20, 3   # sentences parsed one at a time; each time is the median of this many
UNTOLD = ("steps", "keep", "validate_every", "checkpoint_every", "log_every", "execution")  # without effect, or reported apart
EXAMPLE = "The dog saw a cat in the garden ."  # our own: what the heads look at while it is parsed


def parse_trees(parser: Parser, gold: Sequence[Tree], beam: int, alpha: float) -> list[Parse]:
    "Parses of the words of these trees: the paper's way, as results/ has it."
    return parser.parse([tree.leaves() for tree in gold], dataclasses.replace(PARSING, beam_size=beam, alpha=alpha), free=True)


def f1_by(tables: dict[str, dict]) -> dict[str, dict]:
    "What `choose` compared, for the file of results."
    return {f"f1_by_{name}": {str(key): round(value, 3) for key, value in table.items()} for name, table in tables.items()}


def choose_on_development(run: Path, keep: int, gold: Sequence[Tree]) -> tuple[dict, ParsingScores]:  # and the scores with it
    "The number of checkpoints with the best F1 on these trees, at beam 4; for these the best beam; for this the best alpha."
    @functools.cache
    def scores(average: int, beam_size: int, alpha: float) -> ParsingScores:
        return score_parses(gold, parse_trees(Parser.from_pretrained(run, average), gold, beam_size, alpha))

    def f1(**how) -> float:
        return scores(**how).brackets.f1

    options = {"average": [n for n in AVERAGES if n <= keep], "beam_size": BEAMS}
    start = {"average": AVERAGES[0], "beam_size": USUAL_BEAM, "alpha": PAPER_ALPHA}
    chosen, by_setting = choose(f1, options, start)
    if chosen["beam_size"] > 1:  # greedy search has no alpha
        chosen, by_alpha = choose(f1, {"alpha": ALPHAS}, chosen)
    else:
        by_alpha = {"alpha": {PAPER_ALPHA: f1(**chosen)}}
    tables = {"average": by_setting["average"], "beam": by_setting["beam_size"], **by_alpha}
    return {**chosen, **f1_by(tables)}, scores(**chosen)


@dataclass(frozen=True)
class Laboratory:
    "Where the runs stand, and what they have in common."

    corpus: corpora.Treebank
    recipe: TrainingConfig
    runs: Path

    def run(self, name: str, seed: int) -> Path:
        return self.runs / f"{name}-seed{seed}"

    def train(self, name: str, seed: int, trees: str | None = None) -> dict:
        "Train on the corpus, or on other trees, or go on; then measure. What an earlier start measured is read."
        config, run = dataclasses.replace(self.recipe, seed=seed, corpus=trees or self.recipe.corpus), self.run(name, seed)
        train(config, run)
        kept = run / "measured.json"
        found = json.loads(kept.read_text(encoding="utf-8")) if kept.exists() else {}
        if found.get("updates") != config.steps:
            found = measure(run, self.corpus)
            write_json(kept, found)
        return found

    def train_on(self, share: int, seed: int) -> dict:
        "The same on so many per cent of the training sentences."
        return self.train(f"share{share}", seed, None if share == 100 else self.treebank(share))

    def treebank(self, share: int) -> str:
        "A treebank whose training split is a part of the corpus's, the other splits whole; with its leaves."
        directory = self.runs / f"treebank-{share}"
        write_trees(directory / "train.mrg", part_of(self.corpus.trees("train"), share)[0])
        for split in ("validation", "test"):
            write_trees(directory / f"{split}.mrg", self.corpus.trees(split))
        leaves = self.corpus.files["train"].leaves
        return f"{directory}" if leaves == WORD else f"{directory}-{leaves}"

    def parser(self, name: str, found: dict) -> Parser:
        "What `train` has trained."
        return Parser.from_pretrained(self.run(name, found["seed"]), found["average"])


def measure(run: Path, corpus: corpora.Treebank) -> dict:
    "What one run has reached."
    config, end = Run(run).config, Run(run).reached()
    chosen, development = choose_on_development(run, config.keep, corpus.trees("validation"))
    parser, gold = Parser.from_pretrained(run, chosen["average"]), corpus.trees("test")
    test = score_parses(gold, parse_trees(parser, gold, chosen["beam_size"], chosen["alpha"]))
    return {
        "seed": config.seed, "updates": end["step"], "minutes_of_updates": round(end["seconds"] / 60, 1),
        "validation_perplexity": end["validation_perplexity"], "parameters": count_parameters(parser.translator.model),
        **chosen, "scores": {"validation": development.to_dict(), "test": test.to_dict()},
        **bound_to_trees(run, config.keep, corpus),
    }


def bound_to_trees(run: Path, keep: int, corpus: corpora.Treebank) -> dict:
    "What the search that writes only trees reaches; the development split chooses the checkpoints, then the beam, then alpha."
    parser = functools.cache(functools.partial(Parser.from_pretrained, run))

    @functools.cache
    def scores(average: int, beam_size: int, alpha: float, split: str = "validation") -> ParsingScores:
        gold = corpus.trees(split)
        search = dataclasses.replace(PARSING, beam_size=beam_size, alpha=alpha)
        return score_parses(gold, parser(average).parse([tree.leaves() for tree in gold], search))

    averages = [n for n in AVERAGES if n <= keep]
    options = {"average": averages, "beam_size": BOUND_BEAMS, "alpha": BOUND_ALPHAS}
    chosen, tables = choose(lambda **how: scores(**how).brackets.f1, options,
                            {"average": averages[0], "beam_size": USUAL_BEAM, "alpha": TREES.alpha})
    tables["beam"] = tables.pop("beam_size")
    found = {split: scores(**chosen, split=split).to_dict() for split in ("validation", "test")}
    return {"bound": found, "bound_chosen": {**chosen, **f1_by(tables)}}


def spread(found: Sequence[dict], search: str = "scores") -> dict:
    "Mean and standard deviation over the seeds, in per cent: by the free search, or by the one that is bound to trees."
    def of(scores: list[dict]) -> dict:
        names = ("f1", "precision", "recall", "complete_match")
        malformed = mean_and_deviation([100 * score["malformed"] / score["sentences"] for score in scores])
        return {**{name: mean_and_deviation([score[name] for score in scores]) for name in names}, "malformed": malformed}

    return {"seeds": len(found), **{split: of([one[search][split] for one in found]) for split in found[0][search]}}


def example(parser: Parser, chosen: dict) -> dict:
    "A sentence of ours, its parse, and what every head looked at while it was written."
    search = dataclasses.replace(PARSING, beam_size=chosen["beam_size"], alpha=chosen["alpha"])
    parse, = parser.parse([EXAMPLE.split()], search, free=True)
    maps = parser.translator.attention(EXAMPLE, " ".join(linearize(parse.tree, parser.leaves)))
    weights = {
        kind: [[[" ".join(map(str, row)) for row in head] for head in layer] for layer in thousandths.tolist()]
        for kind in ("encoder", "decoder", "encoder_decoder") for thousandths in [getattr(maps, kind).mul(1000).round().int()]
    }
    labels = {"source": maps.source, "target_input": maps.target_input, "target": maps.target}
    return {"tree": print_tree(parse.tree), "repairs": dict(parse.repairs), "maps": labels, "thousandths": weights}


def part_of(trees: Sequence[Tree], share: int) -> tuple[list[Tree], list[Tree]]:
    "So many per cent of the trees, drawn at random, and the rest, both in the old order. A smaller share lies within a larger."
    numbers = list(range(len(trees)))
    random.Random(0).shuffle(numbers)
    taken = set(numbers[: round(len(trees) * share / 100)])
    return [tree for i, tree in enumerate(trees) if i in taken], [tree for i, tree in enumerate(trees) if i not in taken]


def write_json(path: Path, facts: dict) -> None:
    write_text_file(path, json.dumps(facts, indent=1) + "\n")


def write_trees(path: Path, trees: Iterable[Tree]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text_file(path, "".join(f"{print_tree(tree)}\n" for tree in trees))


def parser_itself(laboratory: Laboratory, seeds: Sequence[int]) -> dict[str, dict]:
    "The parser, the baseline, and the example by the seed that is best on the development split."
    corpus, found = laboratory.corpus, [laboratory.train_on(100, seed) for seed in seeds]
    best = max(found, key=lambda one: one["scores"]["validation"]["f1"])
    about = {"best_seed": best["seed"], "training_sentences": len(corpus.trees("train"))}
    summaries = {"summary": spread(found), "bound": spread(found, "bound")}
    figures = {**about, **summaries, "by_seed": found, "right_branching": right_branching_scores(corpus)}
    return {"": figures, ".attention": example(laboratory.parser("share100", best), best)}


def learning_curve(laboratory: Laboratory, seeds: Sequence[int]) -> dict[str, dict]:
    "The same recipe, and as many updates, on a part of the training sentences."
    points = []
    for share in (*SHARES, 100):
        found = [laboratory.train_on(share, seed) for seed in seeds]
        size = len(part_of(laboratory.corpus.trees("train"), share)[0])
        points.append({"share": share, "sentences": size, "summary": spread(found), "by_seed": found})
    return {".curve": {"rule": "sentences drawn at random, a smaller share within a larger", "points": points}}


def self_training(laboratory: Laboratory, seeds: Sequence[int]) -> dict[str, dict]:
    "Train on a part of the trees; parse the words of the rest; train anew on that part and on the parses the model is sure of."
    by_seed = []
    for seed in seeds:
        before = laboratory.train_on(GOLD, seed)
        name = f"self-training-after-{before['updates']}"  # a model with more updates would give different parses
        trees = laboratory.run(name, seed).with_suffix(".mrg")
        facts = trees.with_suffix(".json")
        if not facts.exists():
            write_json(facts, parse_the_rest(laboratory, before, trees))
        after = laboratory.train(name, seed, f"{laboratory.treebank(GOLD)}+{trees}")
        by_seed.append({**json.loads(facts.read_text(encoding="utf-8")), "seed": seed, "before": before, "after": after})
    rule = "a confidence not below the median of the development split"
    before, after = (spread([one[when] for one in by_seed]) for when in ("before", "after"))
    return {".self-training": {"rule": rule, "before": before, "after": after, "by_seed": by_seed}}


def parse_the_rest(laboratory: Laboratory, before: dict, out: Path) -> dict:
    "Write the parses that the model is sure of; how many they are and, since their gold trees are at hand, how good."
    gold, rest = part_of(laboratory.corpus.trees("train"), GOLD)
    parser, search = laboratory.parser(f"share{GOLD}", before), (before["beam_size"], before["alpha"])
    development = laboratory.corpus.trees("validation")
    parses = parse_trees(parser, development, *search)
    least = statistics.median(confidences(parser, [parse.tree for parse in parses]))
    on_development = by_sureness(development, parses, sure(parser, parses, least))
    parses = parse_trees(parser, rest, *search)
    chosen = sure(parser, parses, least)
    kept = [parse.tree for parse, good in zip(parses, chosen) if good]
    if not kept:
        raise InputError(f"the model of {before['updates']} updates is sure of none of its {len(rest):,} parses: train it longer")
    write_trees(out, kept)
    return {
        "gold": len(gold), "unlabelled": len(rest), "least_confidence": least, "kept": len(kept),
        "words_unlabelled": sum(len(tree.leaves()) for tree in rest), "words_kept": sum(len(tree.leaves()) for tree in kept),
        "validation": on_development, "parsed": by_sureness(rest, parses, chosen),
    }


def by_sureness(gold: Sequence[Tree], parses: Sequence[Parse], chosen: Sequence[bool]) -> dict:
    "Scores of the parses that the model is sure of, and of the others."
    return {name: score_parses(*zip(*pairs)).to_dict() if pairs else None for name, pairs in (
        (name, [(tree, parse) for tree, parse, good in zip(gold, parses, chosen) if good == wanted])
        for name, wanted in (("sure", True), ("others", False))
    )}


def tried(laboratory: Laboratory, runs: Sequence[Path]) -> dict[str, dict]:
    "What other runs do differently, and what they reach on the development split: beam 4, the mean of as many checkpoints."
    def flat(config: TrainingConfig) -> dict:
        values = config.to_dict()
        return {**values, **values.pop("model")}

    found, usual = [], flat(laboratory.recipe)
    for run in runs:
        config, end = Run(run).config, Run(run).reached()
        gold = corpora.load(config.corpus).trees("validation")
        scores = score_parses(gold, parse_trees(Parser.from_pretrained(run, TRIED_AVERAGE), gold, USUAL_BEAM, PAPER_ALPHA))
        change = {name: value for name, value in flat(config).items() if value != usual[name] and name not in UNTOLD}
        found.append({"change": change, "updates": end["step"], "minutes_of_updates": round(end["seconds"] / 60, 1),
                      "validation_perplexity": end["validation_perplexity"], "scores": scores.to_dict()})
    return {".tried": {"average": TRIED_AVERAGE, "beam_size": USUAL_BEAM, "alpha": PAPER_ALPHA, "runs": found}}


def decoding_times(laboratory: Laboratory, seeds: Sequence[int]) -> dict[str, dict]:
    "Seconds per sentence of the development split at each beam: all of it in batches, and some sentences one at a time."
    found = laboratory.train_on(100, seeds[0])
    parser, trees = laboratory.parser("share100", found), laboratory.corpus.trees("validation")
    times = {}
    for name, parts in (("in_batches", [trees]), ("one_at_a_time", [[tree] for tree in trees[:: max(1, len(trees) // ALONE)]])):
        contenders = {
            str(beam): lambda parts=parts, beam=beam: [parse_trees(parser, part, beam, PAPER_ALPHA) for part in parts]
            for beam in BEAMS
        }
        seconds = take_turns(contenders, ROUNDS, desc=name)
        n, words = (sum(map(len, some)) for some in (parts, [tree.leaves() for part in parts for tree in part]))
        each = {beam: statistics.median(values) / n for beam, values in seconds.items()}
        times[name] = {"sentences": n, "words": words, "seconds_per_sentence": each}
    return {".times": {"alpha": PAPER_ALPHA, "rounds": ROUNDS, "f1_by_beam": found["f1_by_beam"], **times}}


PARTS = {"curve": learning_curve, "self_training": self_training, "times": decoding_times, "tried": tried}


@one_sentence()
def main(options: Sequence[str] | None = None) -> None:
    parser = Options("benchmarks.parser", __doc__, "results/parsing/parser.json")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1])
    parser.add_argument("--steps", type=int, help="updates; the recipe's if not given, fewer for a first look")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--curve", action="store_true", help="the learning curve instead")
    what.add_argument("--self-training", action="store_true", help="self-training instead")
    what.add_argument("--times", action="store_true", help="decoding times of the first seed's parser instead")
    what.add_argument("--tried", type=Path, nargs="+", metavar="RUN", help="runs with other settings, on the development split")
    parser.add_argument("--runs", type=Path, default=Path("runs/parser"), help="where the runs stand")
    arguments = parser.parse_args(options)
    recipe = dataclasses.replace(RECIPE, steps=arguments.steps or RECIPE.steps)
    laboratory = Laboratory(corpora.load(recipe.corpus), recipe, arguments.runs)
    measured = next((part for name, part in PARTS.items() if getattr(arguments, name)), parser_itself)
    for name, figures in measured(laboratory, arguments.tried or arguments.seeds).items():
        out = arguments.out.with_name(f"{arguments.out.stem}{name}.json")
        config = {"recipe": recipe.to_dict(), "provisional": recipe.steps < RECIPE.steps}
        save(out, "benchmarks.parser", figures, config, figures.get("best_seed", arguments.seeds[0]), options)
        print(f"{out} is written")


if __name__ == "__main__":
    main()
