"""The weights that ship with the package: train them, choose by the validation split, score, and put the best into the package.

    python -m benchmarks.pretrained multi30k-en-de [--seeds 1 2 3] [--parts N] [--steps N ...] [--as-it-stands [N]] [--ship]

A recipe has one or more parts. Each is a run of its own under runs/pretrained/ and starts from the weights of the part before;
the same command continues a run that was stopped. For each seed, BLEU on the validation split alone decides how many checkpoints
of the last part are averaged; the test sets are translated once, with that choice. The length penalty is the paper's, except for
`everyday-en-de`, which uses the one that is best on the validation split; what others would give there is recorded. `--ship`
writes the seed with the best validation BLEU to annotated_transformer/pretrained/NAME/. Figures go to
results/translation/NAME.json; next to it go that seed's scores, as `score --out` writes them, its translations and its training
log. `--parts 1 --steps 22000` shows what the first part alone reaches if it is trained longer.

`--as-it-stands` uses the runs with the updates that they have made so far, when the time is up before the recipe's last update;
`--as-it-stands 1` does so for the first part and trains the others. No update depends on how many are planned, so the recorded
command gives these numbers as `--steps` and reaches the same weights without any stop.

`--start DIRECTORY ...` trains only the last part, for each seed from these weights: for a recipe whose first parts are done and
whose runs no longer exist. earlier.json next to such weights says how they were trained (`benchmarks.shared.earlier`).
`--made DIRECTORY` trains nothing: such weights, from a run that a GPU did elsewhere, are scored, and shipped, as they are.
"""
import argparse
import dataclasses
import functools
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from annotated_transformer import InputError, Translator, results
from annotated_transformer.config import PRESETS, Execution, Search, TrainingConfig, TransformerConfig, changed
from annotated_transformer.data import corpora
from annotated_transformer.files import sha256, write_text_file
from annotated_transformer.model.transformer import count_parameters
from annotated_transformer.model_record import PRETRAINED
from annotated_transformer.progress_bar import progress_bar
from annotated_transformer.training.loop import train
from annotated_transformer.training.runs import Run
from annotated_transformer.translation.bleu import multi30k_bleu, sacre_bleu
from annotated_transformer.translation.scores import score_split
from benchmarks.shared.cards import ABOUT, CARD, PART
from benchmarks.shared.command import Options, one_sentence, results_file
from benchmarks.shared.earlier import COSTS, course, earlier, kept_course, part
from benchmarks.shared.shipping import put_into, round_weights
from benchmarks.shared.side_by_side import choose, command_of, mean_and_deviation

TINY = PRESETS["tiny"]
MULTI30K = dataclasses.replace(  # three and a half times the preset's updates, on fewer pieces, and a mean over more of them
    TINY, model=dataclasses.replace(TINY.model, vocab_size=6_000), execution=Execution(precision="auto"),
    steps=14_000, validate_every=500, checkpoint_every=250, keep=20,
)
FINISH = dataclasses.replace(  # then with two draws of little dropout that must agree, instead of much dropout
    MULTI30K, model=dataclasses.replace(MULTI30K.model, dropout=0.1), consistency=5.0, steps=2_500, warmup_steps=200,
    rate_factor=0.2, validate_every=250, checkpoint_every=100,
)
PLAIN_FINISH = dataclasses.replace(FINISH, consistency=0.0)  # the control: all that FINISH changes but the two draws
WIDE = dataclasses.replace(  # an attempt at more, which does not ship: half as wide again, two draws that agree from the start
    MULTI30K, model=dataclasses.replace(MULTI30K.model, d_model=192, d_ff=384, n_heads=6, dropout=0.2), consistency=5.0,
    batch_tokens=1_024, rate_factor=1.3, warmup_steps=1_500, steps=16_000,
)
WIDE_FINISH = dataclasses.replace(
    FINISH, model=dataclasses.replace(WIDE.model, dropout=0.1), batch_tokens=2_048, rate_factor=0.12, warmup_steps=100,
    steps=2_000,
)
EVERYDAY = TrainingConfig(  # ten million weights for seven times as many pairs
    TransformerConfig(8_000, n_layers=4, d_model=256, d_ff=1024, n_heads=8, dropout=0.1, max_length=512), corpus="everyday-en-de",
    batch_tokens=2_048, steps=60_000, init_gain=0.5, warmup_steps=1_500, validate_every=500, checkpoint_every=250,
    checkpoint_minutes=None, keep=20,
)
EVERYDAY_MORE = dataclasses.replace(  # more dropout, once it knows its pairs by heart: the last of five parts on CPUs
    EVERYDAY, model=dataclasses.replace(EVERYDAY.model, dropout=0.2), steps=12_000, rate_factor=0.12, warmup_steps=500,
    validate_every=1_000, keep=24, execution=Execution(precision="auto"),
)
EVERYDAY_GPU = dataclasses.replace(  # on a GPU that gave seven minutes: four times the batch, still more dropout
    EVERYDAY, model=dataclasses.replace(EVERYDAY.model, dropout=0.3), batch_tokens=8_192, steps=11_533, rate_factor=0.7,
    validate_every=2_000, checkpoint_every=600, keep=5, log_every=50, execution=Execution(compile=True),
)
EVERYDAY_LAST = dataclasses.replace(EVERYDAY_GPU, steps=4_156, rate_factor=0.1, warmup_steps=200, checkpoint_every=200, keep=20)
RECIPES = {
    "multi30k-en-de": (MULTI30K, FINISH),
    "multi30k-en-de-plain-finish": (MULTI30K, PLAIN_FINISH),
    "multi30k-en-de-wide": (WIDE, WIDE_FINISH),
    "numbers-en-de": (dataclasses.replace(PRESETS["demo"], steps=2_600),),
    "everyday-en-de": (EVERYDAY, EVERYDAY_MORE, EVERYDAY_GPU, EVERYDAY_LAST),
}
JUDGES = {"everyday-en-de": sacre_bleu}  # what is chosen by; for the others Multi30k's BLEU
IN_16_BITS = ("everyday-en-de",)         # stored so, and measured as stored; loaded into 32 bits
CHOOSES_ALPHA = ("everyday-en-de",)      # by validation; the others keep the paper's
AVERAGES = (1, 5, 10, 20)                # what is chosen from
ALPHAS = (0.6, 0.7, 0.8, 0.9, 1.0)       # from the paper's on; above 1 an output that never ends scores best
EXAMPLES = {  # our own sentences: what the shipped model makes of them must be what the run made of them
    "multi30k-en-de": [
        "Two dogs are playing in the snow.",
        "A woman in a red coat is waiting for the bus.",
        "A man is repairing his bicycle while a child watches him.",
        "An old man with a beard is reading a newspaper on a bench.",
        "The girl throws the ball and her dog runs after it.",
        "A dog runs with a ball in its mouth.",
        "Three cyclists are racing down a narrow street past cheering spectators.",
    ],
    "numbers-en-de": ["ninety-nine thousand and one", "on the third of March at half past seven", "seven euros and six cents"],
    "everyday-en-de": [
        "Where is the station?",
        "I don't know what she said.",
        "My brother has lost his key, and now he cannot open the door.",
        "If it rains tomorrow, we will stay at home.",
        "Could you speak a little more slowly, please?",
        "The soup was too hot, so she waited until it was cold.",
        "A dog runs along the beach with a stick in its mouth.",
    ],
}
EXAMPLES["multi30k-en-de-wide"] = EXAMPLES["multi30k-en-de-plain-finish"] = EXAMPLES["multi30k-en-de"]


def parts(
    name: str, seed: int, runs: Path, number: int | None = None, steps: Sequence[int] = (), start: str | None = None,
) -> dict[Path, TrainingConfig]:
    """The runs of a recipe, or of its first `number` parts, the last of them with so many updates: where each stands, what it is.

    From the weights in `start`, the last part alone.
    """
    if start is not None:
        config = dataclasses.replace(RECIPES[name][-1], seed=seed, start_from=start)
        return {runs / f"{name}-seed{seed}-last": dataclasses.replace(config, steps=(*steps, config.steps)[0])}
    found: dict[Path, TrainingConfig] = {}
    for config in RECIPES[name][:number]:
        before = str(list(found)[-1]) if found else None
        run = runs / f"{name}-seed{seed}{f'-part{len(found) + 1}' * bool(found)}"
        found[run] = dataclasses.replace(config, seed=seed, start_from=before)
    if len(steps) > len(found):
        raise InputError(f"--steps names {len(steps)} parts, and there are {len(found)}")
    last = list(found)[len(found) - len(steps) :]
    return found | {run: dataclasses.replace(found[run], steps=updates) for run, updates in zip(last, steps)}


def as_it_stands(run: Path, config: TrainingConfig) -> TrainingConfig:
    "This part of a recipe with the updates that the run has come to; InputError when the run is no run of this part."
    there = Run(run).config
    for name, (old, new) in changed(there, config).items():
        if name not in ("corpus", "start_from"):  # the same pairs may lie in a directory; the run before may have moved
            raise InputError(f"{run}: {name} is {old!r} there and {new!r} in the recipe")
    return dataclasses.replace(config, steps=Run(run).last()["step"], execution=there.execution)


def open_translator(name: str, run: Path, average: int | None) -> Translator:
    "The mean of so many checkpoints, rounded as it will be stored; None: weights that are a mean already."
    translator = Translator.from_pretrained(run, average)
    if name in IN_16_BITS:
        round_weights(translator.model)
    return translator


def choose_on_validation(
    name: str,
    mean_of: Callable[[int], Translator],   # so many checkpoints
    averages: Sequence[int],                # to choose from
    pairs: Sequence[tuple[str, str]],
) -> dict:
    "The number of checkpoints with the best BLEU on these pairs, at the paper's alpha; then what other alphas bring."
    sources, references = zip(*pairs)

    @functools.cache
    def bleu(average: int, alpha: float) -> float:
        found = mean_of(average).translate(list(sources), Search(alpha=alpha), split=False)
        return JUDGES.get(name, multi30k_bleu)(found, list(references)).score

    options = {"average": list(averages), "alpha": ALPHAS}
    chosen, scores = choose(bleu, options, {setting: values[0] for setting, values in options.items()})
    tables = {f"bleu_by_{setting}": {str(n): round(score, 3) for n, score in some.items()} for setting, some in scores.items()}
    alpha = chosen["alpha"] if name in CHOOSES_ALPHA else Search.alpha
    return {**chosen, "alpha": alpha, "validation_bleu": scores["alpha"][alpha], **tables}


@dataclass(frozen=True)
class Trained:
    "One seed: its weights, all that they have had, what they have reached, and their translations of the test sets."

    weights: Path          # a run, or a directory that `benchmarks.shared.earlier` kept
    average: int | None    # checkpoints of the run; None: the weights are a mean already
    parts: list[dict]      # with what came before: `benchmarks.shared.earlier`
    course: list[dict]     # what the runs reported
    reached: dict          # the last measure on the validation split, and where the last checkpoint stands
    corpus: str
    found: dict
    translations: dict[str, list[str]]

    def search(self) -> Search:
        return Search(alpha=self.found["alpha"])

    def translator(self, name: str) -> Translator:
        return open_translator(name, self.weights, self.average)


def measure(name: str, runs: dict[Path, TrainingConfig], corpus: corpora.Corpus) -> Trained:
    "What one seed has reached at the end of its last run, and what all of its runs have cost."
    (first, *_), (*_, (run, config)) = runs.values(), runs.items()
    had = [*earlier(first.start_from), *(part(run, config) for run, config in runs.items())]
    averages, mean_of = [n for n in AVERAGES if n <= config.keep], functools.partial(open_translator, name, run)
    chosen = choose_on_validation(name, mean_of, averages, list(corpus.validation))
    return scored(name, Trained(
        run, chosen["average"], had, list(course(runs)), Run(run).reached(), config.corpus, chosen, {},
    ), corpus)


def measure_made(name: str, directory: Path, corpus: corpora.Corpus) -> Trained:
    "The same of weights that were trained elsewhere and kept."
    had = earlier(directory)
    if not had:
        raise InputError(f"{directory} holds no weights that benchmarks.shared.earlier kept: earlier.json is missing")
    lines = kept_course(directory)
    reached = {**[line for line in lines if "validation_perplexity" in line][-1], **had[-1]["cost"]}
    kept = open_translator(name, directory, None)
    chosen = choose_on_validation(name, lambda _: kept, [had[-1]["average"]], list(corpus.validation))
    return scored(name, Trained(directory, None, had, lines, reached, had[-1]["config"]["corpus"], chosen, {}), corpus)


def scored(name: str, trained: Trained, corpus: corpora.Corpus) -> Trained:
    "With its translations of the test sets and their scores."
    translator, search, had = trained.translator(name), trained.search(), trained.parts
    tests, translations = {}, {}
    for test in corpus.tests:
        translations[test], scores = score_split(translator, corpus, test, search)
        tests[test] = {"sentences": len(translations[test]), **scores.to_dict()}
    about = {
        "seed": had[-1]["config"]["seed"], "updates": [one["cost"]["updates"] for one in had],
        "minutes_of_updates": round(sum(one["cost"]["seconds"] for one in had) / 60, 1),
        "validation_perplexity": trained.reached["validation_perplexity"], "parameters": count_parameters(translator.model),
    }
    examples = list(zip(EXAMPLES[name], translator.translate(EXAMPLES[name], search)))
    cost = {count: sum(one["cost"][count] for one in had) for count in COSTS}
    found = {**about, **trained.found, "tests": tests, "examples": examples, "cost": cost}
    return dataclasses.replace(trained, found=found, translations=translations)


def spread(seeds: Sequence[dict]) -> dict:
    "Mean and standard deviation over the seeds of what people compare."
    def of(test: str) -> dict:
        tests = [found["tests"][test] for found in seeds]
        bleu = {kind: mean_and_deviation([one[kind]["score"] for one in tests]) for kind in ("multi30k_bleu", "sacre_bleu")}
        return bleu | {"exact": mean_and_deviation([one["exact"] for one in tests])}

    return {
        "seeds": len(seeds),
        "validation_perplexity": mean_and_deviation([found["validation_perplexity"] for found in seeds]),
        "tests": {test: of(test) for test in seeds[0]["tests"]},
    }


def where(parts: list[dict]) -> str:
    "How many minutes the parts of a training took, and on what."
    said = []
    for kind, words in (("processor", "on one or two cores that it shared, of"), ("accelerator", "on one")):
        there = [one for one in parts if ("accelerator" in one["hardware"]) == (kind == "accelerator")]
        if there:
            minutes, names = sum(one["cost"]["seconds"] for one in there) / 60, sorted({one["hardware"][kind] for one in there})
            said.append(f"{minutes:.0f} minutes by the clock {words} {' and '.join(names)}")
    return ",\n  and ".join(said)


def card(name: str, trained: Trained, tokenizer_size: int, command: str) -> str:
    "What README.md of the model says."
    found, configs = trained.found, [TrainingConfig.from_dict(one["config"]) for one in trained.parts]
    recipe = [
        PART.format(
            config, precision=config.execution.precision or "float32",
            agreement=f", two draws of dropout asked to agree (R-Drop, {config.consistency:g})" * bool(config.consistency),
        ) + (f";\n  {one['teachers']}" if "teachers" in one else "")
        for one, config in zip(trained.parts, configs)
    ]
    scores = "; ".join(
        f"{test}: {figures['multi30k_bleu']['score']:.2f} BLEU lower-cased and tokenised, {figures['sacre_bleu']['score']:.2f} "
        f"sacreBLEU, {figures['exact']:.1%} exactly right" for test, figures in found["tests"].items()
    )
    model = configs[-1].model
    return CARD.format(
        name=name, parameters=found["parameters"], layers=model.n_layers, d_model=model.d_model, heads=model.n_heads,
        vocab=tokenizer_size, parts=";\n  then ".join(recipe), average=found["average"], seed=found["seed"],
        stored=", stored in 16 bits" * (name in IN_16_BITS), where=where(trained.parts),
        beams=Search.beam_size, alpha=found["alpha"],
        scores=scores, by="Scored and packed by" if "--made" in command else "Reproduced by", command=command,
        **{"habits": ""} | ABOUT[name],
    )


def ship(name: str, trained: Trained, command: str, directory: Path) -> None:
    "Put the model of the last run into `directory`, with its card."
    translator = Translator.from_pretrained(trained.weights, trained.average, device="cpu")
    if name in IN_16_BITS:
        translator.model.half()
    text = card(name, trained, translator.tokenizer.vocab_size, command)
    put_into(directory, translator, text, trained.corpus, dataclasses.asdict(trained.search()))


def write_scores(out: Path, name: str, trained: Trained, shipped: bool) -> None:
    "A file for each test set, as `score --out` writes it, the translations, and the course of the training."
    average = {"average": trained.average} if trained.average else {}
    model, average = (name, {}) if shipped else (trained.weights, average)
    search = dataclasses.asdict(trained.search()) | average
    for test, lines in trained.translations.items():
        place = out.with_name(f"{out.stem}.{test}.json")
        options = {"corpus": trained.corpus, "split": test, "out": place, **search}
        words = [str(word) for option, value in options.items() for word in (f"--{option.replace('_', '-')}", value)]
        results.write(
            place, trained.found["tests"][test], command=["annotated-transformer", "score", model, *words],
            search=search, config=trained.parts[-1]["config"], training=trained.reached, models=[model],
        )
        write_text_file(place.with_suffix(".txt"), "".join(f"{line}\n" for line in lines))
    write_text_file(out.with_name(f"{out.stem}.metrics.jsonl"), "".join(f"{json.dumps(line)}\n" for line in trained.course))


def usual_file(name: str) -> Path:
    "Where the figures go unless the command says otherwise."
    return Path(f"results/translation/{name}.json")


def options_read(options: Sequence[str] | None) -> argparse.Namespace:
    parser = Options("benchmarks.pretrained", __doc__)
    parser.add_argument("name", choices=RECIPES)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1])
    parser.add_argument("--parts", type=int, help="only so many parts of the recipe; all if not given")
    parser.add_argument("--steps", type=int, nargs="+", default=[], help="updates of the last part or parts; else the recipe's")
    parser.add_argument("--as-it-stands", type=int, nargs="?", const=99, default=0, metavar="N",
                        help="of the first N parts, or of all, take what there is and train no further; for one seed")
    parser.add_argument("--start", nargs="+", metavar="DIRECTORY", help="the last part alone, of each seed from these weights")
    parser.add_argument("--made", type=Path, metavar="DIRECTORY", help="train nothing: score and ship the weights kept there")
    parser.add_argument("--runs", type=Path, default=Path("runs/pretrained"), help="where the runs stand")
    parser.add_argument("--ship", action="store_true", help="put the best seed into the package")
    parser.add_argument("--out", type=results_file, help="results/translation/NAME.json if not given")
    arguments = parser.parse_args(options)
    if arguments.as_it_stands and len(arguments.seeds) > 1:
        parser.error("--as-it-stands takes one seed: each has come to another update")
    if arguments.start and len(arguments.start) != len(arguments.seeds):
        parser.error(f"--start names {len(arguments.start)} weights, and there are {len(arguments.seeds)} seeds")
    if arguments.ship and arguments.name not in ABOUT:
        parser.error(f"{arguments.name} is a trial, and does not ship")
    arguments.out = arguments.out or usual_file(arguments.name)
    return arguments


def train_and_measure(arguments: argparse.Namespace, seed: int, corpus: corpora.Corpus) -> Trained:
    "All parts of one seed."
    if arguments.made:
        return measure_made(arguments.name, arguments.made, corpus)
    start = arguments.start and arguments.start[arguments.seeds.index(seed)]
    runs = parts(arguments.name, seed, arguments.runs, arguments.parts, arguments.steps, start)
    for number, (run, config) in enumerate(runs.items()):
        if number < arguments.as_it_stands:
            runs[run] = as_it_stands(run, config)
        else:
            train(config, run)
    return measure(arguments.name, runs, corpus)


def command_again(arguments: argparse.Namespace, options: Sequence[str] | None, trained: Trained) -> list[str]:
    "What makes the figures again; of runs that were taken as they stood, with their numbers of updates."
    if not arguments.as_it_stands:
        return command_of("benchmarks.pretrained", options)
    steps = [str(updates) for updates in trained.found["updates"][len(earlier((arguments.start or [None])[0])) :]]
    which = ["--start", *arguments.start] if arguments.start else ["--parts", str(len(steps))]
    given = ["--seeds", str(trained.found["seed"]), *which, "--steps", *steps, *["--ship"] * arguments.ship]
    if arguments.out != usual_file(arguments.name):
        given += ["--out", str(arguments.out)]
    return command_of("benchmarks.pretrained", [arguments.name, *given])


@one_sentence()
def main(options: Sequence[str] | None = None) -> None:
    arguments = options_read(options)
    name, out = arguments.name, arguments.out
    corpus = corpora.load(RECIPES[name][0].corpus)
    bar = progress_bar(iterable=arguments.seeds, unit="seed", desc=name)
    trained = [train_and_measure(arguments, seed, corpus) for seed in bar]
    seeds = {one.found["seed"]: one for one in trained}
    best = max(seeds, key=lambda seed: seeds[seed].found["validation_bleu"])
    by_seed = [trained.found for trained in seeds.values()]
    figures = {"best_seed": best, "summary": spread(by_seed), "by_seed": by_seed}
    config = {"recipe": [one["config"] for one in seeds[best].parts], "beam_size": Search.beam_size}
    about = {"command": command_again(arguments, options, seeds[best]), "config": config, "seed": best}
    record = results.write(out, figures, **about)
    if arguments.ship:
        ship(name, seeds[best], record["command"], PRETRAINED / name)
        figures["weights_sha256"] = sha256(PRETRAINED / name / "model.safetensors")
        results.write(out, figures, **about, models=[name])
    write_scores(out, name, seeds[best], arguments.ship)
    print(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
