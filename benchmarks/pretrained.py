"""The weights that ship with the package: train them, choose by the validation split, score, and put the best into the package.

    python -m benchmarks.pretrained multi30k-en-de [--seeds 1 2 3] [--parts N] [--steps N] [--ship]

A recipe has one part or several, each a run of its own under runs/pretrained/ that starts from the weights of the one before;
the same command continues what was stopped. What is chosen (how many checkpoints of the last part to average, the strength of
the length penalty) is chosen by BLEU on the validation split alone, seed by seed; the test sets are translated once, with that
choice. `--ship` writes the seed with the best validation BLEU to annotated_transformer/pretrained/NAME/. All figures go to
results/NAME.json; that seed's scores by split, as `score --out` writes them, its translations and its course of training beside
it. `--parts 1 --steps 22000` looks at what comes of the first part alone when it goes on.
"""
import argparse
import dataclasses
import json
import statistics
import tempfile
from collections.abc import Sequence
from pathlib import Path

from annotated_transformer import InputError, Translator, corpora, progress_bar
from annotated_transformer.bleu import multi30k_bleu
from annotated_transformer.checkpoints import read_sums, sha256, write_file, write_sums
from annotated_transformer.cli import Search, last_record, score_command
from annotated_transformer.processes import Execution
from annotated_transformer.runs import PRESETS, TrainingConfig, read_config
from annotated_transformer.training import train
from annotated_transformer.training_cost import run_cost
from annotated_transformer.transformer import PRETRAINED, count_parameters
from annotated_transformer.translation import SEARCH, score
from benchmarks.side_by_side import save

TINY = PRESETS["tiny"]
MULTI30K = dataclasses.replace(  # three and a half times the preset's updates, on fewer pieces, and a mean over more of them
    TINY, model=dataclasses.replace(TINY.model, vocab_size=6_000), execution=Execution(precision="bfloat16"),
    steps=14_000, validate_every=500, checkpoint_every=250, keep=20,
)
FINISH = dataclasses.replace(  # then with two draws of little dropout that must agree, instead of much dropout (room 54)
    MULTI30K, model=dataclasses.replace(MULTI30K.model, dropout=0.1), consistency=5.0, steps=2_500, warmup_steps=200,
    rate_factor=0.2, validate_every=250, checkpoint_every=100,
)
RECIPES = {"multi30k-en-de": (MULTI30K, FINISH), "numbers-en-de": (dataclasses.replace(PRESETS["demo"], steps=2_600),)}
BEAMS, AVERAGES = 4, (1, 5, 10, 20)  # the paper's beam; what is chosen from
ALPHAS = (0.6, 0.7, 0.8, 0.9, 1.0)  # from the paper's on; above 1 an output that never ends scores best (room 61d)
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
}
CARD = """---
license: {licence}
language: [en, de]
library_name: annotated_transformer
tags: [translation]
---

# {name}

English to German, {parameters:,} parameters: {layers} + {layers} layers, d_model {d_model}, {heads} heads, {vocab:,} pieces.
{what}

- **Data:** {data}
- **Recipe:** {parts};
  mean of the last {average} checkpoints; seed {seed}. {minutes:.0f} minutes by the clock on {hardware}, which it shared.
- **Search:** beam {beams}, length penalty {alpha}, chosen on the validation split (`search.json`).
- **Scores:** {scores}.
  How each was counted stands in `results/{name}.json` of the repository.
- **Made again by:** `{command}`

Not for use where a wrong translation does harm: it knows {knows}, and writes fluent German about anything else, too.
"""
ABOUT = {
    "multi30k-en-de": {
        "licence": "other", "knows": "29,000 captions of photographs",
        "what": "For sentences that describe what a picture shows.",
        "data": "Multi30k (Elliott et al. 2016), training split, raw cased text. Its repository names no licence. It "
                "translates captions of Flickr30k, given out for research and education that is not commercial: take the weights "
                "for that.",
    },
    "numbers-en-de": {
        "licence": "apache-2.0", "knows": "numbers, dates, times and prices",
        "what": "For numbers, dates, times and prices written out.",
        "data": "the embedded corpus `numbers-en-de`, generated with num2words and Babel.",
    },
}


PART = (
    "{0.steps:,} updates of {0.batch_tokens:,} positions a side, dropout {0.model.dropout}, label smoothing {0.smoothing}"
    "{agreement},\n  {0.warmup_steps:,} updates of warm-up, rate {0.rate_factor} times the paper's formula, "
    "matrix products in {precision}"
)


def parts(name: str, seed: int, runs: Path, number: int | None = None, steps: int | None = None) -> dict[Path, TrainingConfig]:
    "The runs of a recipe, or of its first `number` parts, the last one with `steps` updates: where each stands and what it is."
    found: dict[Path, TrainingConfig] = {}
    for config in RECIPES[name][:number]:
        start = str(list(found)[-1]) if found else None
        run = runs / f"{name}-seed{seed}{f'-part{len(found) + 1}' * bool(found)}"
        found[run] = dataclasses.replace(config, seed=seed, start_from=start)
    found[run] = dataclasses.replace(found[run], steps=steps or found[run].steps)
    return found


def choose(run: Path, config: TrainingConfig, pairs: Sequence[tuple[str, str]]) -> dict:
    "The number of checkpoints with the best BLEU on these pairs, at the paper's alpha; then for these the best alpha."
    sources, references = zip(*pairs)

    def bleu(average: int, alpha: float) -> float:
        translator = Translator.from_pretrained(run, average)
        return multi30k_bleu(translator.translate(list(sources), BEAMS, alpha), list(references)).score

    averages = {n: bleu(n, ALPHAS[0]) for n in AVERAGES if n <= config.keep}
    average = max(averages, key=averages.get)
    alphas = {alpha: averages[average] if alpha == ALPHAS[0] else bleu(average, alpha) for alpha in ALPHAS}
    alpha = max(alphas, key=alphas.get)
    return {
        "average": average, "alpha": alpha, "validation_bleu": alphas[alpha],
        "bleu_by_average": {str(n): round(value, 3) for n, value in averages.items()},
        "bleu_by_alpha": {str(a): round(value, 3) for a, value in alphas.items()},
    }


def measure(runs: Sequence[Path], corpus: corpora.Corpus) -> dict:
    "What one seed has reached at the end of its last run, and what all of its runs have cost."
    run, costs = runs[-1], [run_cost(part) for part in runs]
    config, end = read_config(run), last_record(run)
    chosen = choose(run, config, list(corpus.validation))
    translator = Translator.from_pretrained(run, chosen["average"])
    tests = {}
    for name, pairs in corpus.tests.items():
        sources, references = zip(*pairs)
        found = translator.translate(list(sources), BEAMS, chosen["alpha"])
        tests[name] = {"sentences": len(sources), **score(found, list(references), corpus.target_language).to_dict()}
    about = {
        "seed": config.seed, "updates": [cost.updates for cost in costs],
        "minutes_of_updates": round(sum(cost.seconds for cost in costs) / 60, 1),
        "validation_perplexity": end["validation_perplexity"], "parameters": count_parameters(translator.model),
    }
    examples = list(zip(EXAMPLES[corpus.name], translator.translate(EXAMPLES[corpus.name], BEAMS, chosen["alpha"])))
    counts = ("updates", "seconds", "device_seconds", "target_tokens", "flops", "source_tokens")
    cost = {name: sum(getattr(part, name) for part in costs) for name in counts}
    return {**about, **chosen, "tests": tests, "examples": examples, "cost": cost}


def spread(seeds: Sequence[dict]) -> dict:
    "Mean and standard deviation over the seeds (None for one) of what people compare."
    def both(values: list[float]) -> dict:
        return {"mean": statistics.mean(values), "deviation": statistics.stdev(values) if len(values) > 1 else None}

    return {
        "seeds": len(seeds),
        "validation_perplexity": both([found["validation_perplexity"] for found in seeds]),
        "tests": {
            name: {
                "multi30k_bleu": both([found["tests"][name]["multi30k_bleu"]["score"] for found in seeds]),
                "sacre_bleu": both([found["tests"][name]["sacre_bleu"]["score"] for found in seeds]),
                "exact": both([found["tests"][name]["exact"] for found in seeds]),
            }
            for name in seeds[0]["tests"]
        },
    }


def ship(runs: Sequence[Path], found: dict, name: str, hardware: dict, command: str, directory: Path) -> None:
    "Put the model of the last run into `directory`, with its card; there stands the old one, or the new one whole."
    configs = [read_config(run) for run in runs]
    recipe = [
        PART.format(
            config, precision=config.execution.precision or "float32",
            agreement=f", two draws of dropout asked to agree (R-Drop, {config.consistency:g})" * bool(config.consistency),
        ) for config in configs
    ]
    run = runs[-1]
    translator = Translator.from_pretrained(run, found["average"], device="cpu")
    translator.alpha = found["alpha"]
    scores = "; ".join(
        f"{test}: {figures['multi30k_bleu']['score']:.2f} BLEU lower-cased and tokenised, {figures['sacre_bleu']['score']:.2f} "
        f"sacreBLEU, {figures['exact']:.1%} exactly right" for test, figures in found["tests"].items()
    )
    model = configs[-1].model
    cores = f"{hardware['threads']} of {hardware['cores']} cores of {hardware['processor']}"
    card = CARD.format(
        name=name, parameters=found["parameters"], layers=model.n_layers, d_model=model.d_model, heads=model.n_heads,
        vocab=translator.tokenizer.vocab_size, parts=";\n  then ".join(recipe), average=found["average"], seed=found["seed"],
        minutes=found["minutes_of_updates"], hardware=cores, beams=BEAMS, alpha=found["alpha"], scores=scores, command=command,
        **ABOUT[name],
    )
    directory.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=directory.parent) as beside:
        beside = Path(beside, "model")
        translator.save_pretrained(beside)
        (beside / "README.md").write_text(card, encoding="utf-8")
        (beside / "model.safetensors").chmod(0o644)  # safetensors keeps its files to their owner
        write_sums(beside, (*read_sums(beside), "README.md"))
        if directory.exists():
            directory.rename(beside.with_name("old"))
        beside.rename(directory)


def main(options: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pretrained", description=__doc__.split("\n")[0])
    parser.add_argument("name", choices=RECIPES)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1])
    parser.add_argument("--parts", type=int, help="only so many parts of the recipe; all if not given")
    parser.add_argument("--steps", type=int, help="updates of the last part; the recipe's if not given")
    parser.add_argument("--runs", type=Path, default=Path("runs/pretrained"), help="where the runs stand")
    parser.add_argument("--ship", action="store_true", help="put the best seed into the package")
    parser.add_argument("--out", type=Path, help="results/NAME.json if not given")
    arguments = parser.parse_args(options)
    name, out = arguments.name, arguments.out or Path(f"results/{arguments.name}.json")
    try:
        corpus = corpora.load(RECIPES[name][0].corpus)
        seeds, runs = {}, {}
        for seed in progress_bar(iterable=arguments.seeds, unit="seed", desc=name):
            runs[seed] = parts(name, seed, arguments.runs, arguments.parts, arguments.steps)
            for run, config in runs[seed].items():
                train(config, run)
            seeds[seed] = measure(list(runs[seed]), corpus)
    except InputError as error:
        parser.exit(2, f"{error}\n")
    best = max(seeds, key=lambda seed: seeds[seed]["validation_bleu"])
    figures = {"best_seed": best, "summary": spread(list(seeds.values())), "by_seed": list(seeds.values())}
    config = {"recipe": [config.to_dict() for config in runs[best].values()], "beam_size": BEAMS}
    save(out, "benchmarks.pretrained", figures, config, best, options)
    record = json.loads(out.read_text(encoding="utf-8"))
    for test in corpus.tests:
        search = Search(BEAMS, seeds[best]["alpha"], average=seeds[best]["average"])
        score_command(str(list(runs[best])[-1]), split=test, out=out.with_name(f"{out.stem}.{test}.json"), search=search)
    course = "".join(
        json.dumps({"part": number, **json.loads(line)}) + "\n"
        for number, run in enumerate(runs[best], 1)
        for line in (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    )
    write_file(out.with_name(f"{out.stem}.metrics.jsonl"), lambda path: path.write_text(course, encoding="utf-8"))
    if arguments.ship:
        directory = PRETRAINED / name
        ship(list(runs[best]), seeds[best], name, record["hardware"], record["command"], directory)
        figures["weights_sha256"] = sha256(directory / "model.safetensors")
        save(out, "benchmarks.pretrained", figures, config, best, options)
        assert set(read_sums(directory)) >= {"model.safetensors", "config.json", "tokenizer.model", SEARCH, "README.md"}
    print(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
