"The commands that train, measure and count: `train`, `variations`, `score`, `average`, `corpora`, `cost`."
import contextlib
import dataclasses
import itertools
import math
import re
import shlex
import signal
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from .. import InputError
from ..config import PRESETS
from ..environment import launched
from ..model_record import record_of
from ..progress_bar import one_line
from ..threads import choose_threads
from .options import AS_USUAL, SearchOptions, Train, Variations, read_options, require_between
from .terminal import as_typed, draw_into_files, may_be_interrupted, plain_line
from .translate_and_parse import Model, open_translator

if TYPE_CHECKING:
    from ..data.parallel_text import Corpus
    from ..training.runs import Run
    from ..translation.translator import Translator

__all__ = ["average", "cost", "list_corpora", "score_command", "train_command", "variations_command"]


def train_command(arguments: list[str]) -> None:
    "`train`: under torchrun only one process prints; for options, one on each machine, where they may be typed differently."
    leads = launched().rank == 0
    try:
        options = read_options(Train, arguments)
    except InputError:
        if launched().local:
            sys.exit(2)
        raise
    from ..tables.training_cost import training_flops
    from ..training.loop import train

    may_be_interrupted()
    with stopped_in_one_sentence(options.run, leads):
        train(options.config, options.run, options.profile or 0, training_flops)
    if leads:
        print(f"Trained: {options.run}\nNext: annotated-transformer score {as_typed(options.run)}")


def variations_command(arguments: list[str]) -> None:
    "`variations`: the table is written after every run."
    options = read_options(Variations, arguments)
    from .. import results
    from ..files import write_file
    from ..tables.variations import plot_variations, run_variations, variations_table

    out = options.out or options.run / "table.json"
    beside = require_both(out, ".png")
    big = PRESETS.get(options.preset.replace("base", "big")) if options.preset.startswith("base") else None
    command = shlex.join(["annotated-transformer", "variations", *arguments])

    def report(table: dict) -> None:
        results.write(out, table, command=command, config=options.config.to_dict(), seed=options.config.seed)
        picture = plot_variations(table)
        write_file(beside, lambda path: picture.savefig(path, format="png", dpi=150))

    may_be_interrupted()
    draw_into_files()
    with stopped_in_one_sentence(options.run):
        table = run_variations(options.config, options.run, options.rows, options.seeds, big, report)
    report(table)
    print(f"{variations_table(table)}\n\n{out}, {beside}")


def require_both(out: Path, ending: str) -> Path:
    """The path of the file next to a results file, with the same name and this ending. InputError or OSError, before the work,
    if one of them cannot be written, or if the second exists and the first does not: then it is the user's."""
    from ..files import require_place

    if out.suffix != ".json" or out.is_dir():
        raise InputError(f"--out {out}: give the name of a file that ends in .json")
    beside = out.with_suffix(ending)
    if beside.exists() and not out.exists():
        raise InputError(f"--out {out} also writes {beside}, which already exists: choose another name, or move that file away")
    for path in (out, beside):
        require_place(path)
    return beside


@contextlib.contextmanager
def stopped_in_one_sentence(run: Path, leads: bool = True) -> Iterator[None]:
    "SIGTERM, as schedulers send it: a special exit status says that it is worth trying again, even before the first update."
    from ..training.stopping import STOPPED, Stopped

    def stop(number, frame):
        raise Stopped(f"{run} is stopped") if leads else SystemExit(STOPPED)

    in_main = threading.current_thread() is threading.main_thread()  # other threads may not handle signals
    before = signal.signal(signal.SIGTERM, stop) if in_main else None  # during training, `noted_signals` takes over
    try:
        yield
    except Stopped as stopped:
        print(f"{stopped}; the same command goes on from there", file=sys.stderr)
        sys.exit(STOPPED)
    finally:
        if before is not None:
            signal.signal(signal.SIGTERM, before)


def score_command(
    model: Model,
    corpus: str | None = None,
    split: str | None = None,
    out: Path | None = None,
    search: SearchOptions = AS_USUAL,
) -> None:
    """Translate a split of a corpus, or parse it, and print the scores.

    Args:
        model: Directory of a run or of a model, or a name as `translate` takes it.
        corpus: A name or a directory; if not given, the corpus of the run or of the shipped model.
        split: validation, train, or a test set's name, like test or mscoco; the first test set, or else validation, if not given.
        out: Write the figures as JSON, with configuration, versions, hardware and date; the outputs go next to it as .txt.

    Example:
        annotated-transformer score runs/mine --out results/mine.json
        annotated-transformer score multi30k-en-de --split test2017
    """
    beside = None if out is None else require_both(out, ".txt")
    from .. import results
    from ..data import corpora
    from ..files import write_text_file
    from ..training.runs import Run

    translator = open_translator(model, search)
    run = Run(model) if Run(model).exists() else None
    own = run.config.corpus if run else record_of(model).corpus
    if corpus is None and own is None:
        raise InputError(f"{model} is not a run, so it names no corpus: say which with --corpus")
    data = corpora.load(corpus or own) if corpus or not run else corpus_of(run)
    split = split or next(iter(data.tests), "validation")
    data.split(split)  # complains about an unknown name
    if said := other_languages(translator.record.languages, data):
        print(one_line(f"{model} {said}"), file=sys.stderr)
    subject, score_split = scoring(data, translator)
    settings = search.over(subject.search, translator.model.config.vocab_size)
    about = {"config": run and run.config.to_dict(), "training": run and run.reached()} if out is not None else {}
    choose_threads()
    hypotheses, scores = score_split(subject, data, split, settings)
    how = f"{len(hypotheses):,} sentences, beam {settings.beam_size}, alpha {settings.alpha}"
    try:
        if out is not None:
            found = dataclasses.asdict(settings) | {"average": search.average}
            if translator.precision != "float32":
                found["precision"] = translator.precision
            options = {"corpus": corpus, "split": split, "out": out, **found}
            given = {f"--{name.replace('_', '-')}": str(value) for name, value in options.items() if value is not None}
            text = "".join(f"{plain_line(line)}\n" for line in hypotheses)
            results.write(
                out, {"sentences": len(hypotheses), **scores.to_dict()}, search=found,
                command=["annotated-transformer", "score", model, *itertools.chain(*given.items())], models=[model], **about,
            )
            write_text_file(beside, text)
    finally:  # with a full disk they are still shown, with a closed terminal still written
        print(f"{plain_line(data.name)} {split}: {how}\n{scores}")


def other_languages(
    languages: tuple[str, ...],  # of a model; none if they are not known
    corpus: "Corpus",
) -> str:                        # empty if they are those of the corpus
    "Says that a model and a corpus have different languages. en and en_GB are the same; es may be spa, and deu ger."
    there = (corpus.source_language, corpus.target_language)
    known = corpus.scorer == "translation" and len(languages) == 2
    bases = [[re.split("[-_]", language.lower())[0] for language in pair] for pair in (languages, there)]
    if not known or all(one == other or {len(one), len(other)} != {2} for one, other in zip(*bases)):
        return ""
    return f"translates {languages[0]} to {languages[1]}, and {corpus.name} is {there[0]} to {there[1]}"


def corpus_of(run: "Run") -> "Corpus":
    """The corpus that a run was trained on. InputError if its name does not lead there: in another working directory the name of
    a directory leads elsewhere. The validation pairs, which the run keeps as tokens, show that."""
    from ..data import corpora

    name, longest = run.config.corpus, run.config.model.max_length
    if name in corpora.CORPORA or name.startswith("hub:"):
        return corpora.load(name)
    try:
        data = corpora.load(name)
    except InputError as error:
        raise InputError(f"{run} was trained on {name!r}: if that is elsewhere now, give it with --corpus ({error})") from None
    if run.has_data():
        pairs = zip(*(run.tokenizer.encode_all(list(side)) for side in zip(*data.validation)))
        here = [pair for pair in pairs if max(map(len, pair)) <= longest]
        if here != [(source.tolist(), target.tolist()) for source, target in run.pairs("validation")]:
            raise InputError(f"{run} was trained on {name!r}, and what has this name here has other validation pairs: give the "
                             "corpus by --corpus")
    return data


def scoring(corpus: "Corpus", translator: "Translator") -> tuple:
    "What to score, which the corpus decides: the translator, or the parser made from it; and the function that scores it."
    if corpus.scorer == "parsing":
        from ..parsing.parser import Parser, score_split

        return Parser(translator), score_split
    from ..translation.scores import score_split

    return translator, score_split


def average(run: Annotated[Path, "RUN"], out: Annotated[Path | None, "OUT"] = None, last: int | None = None) -> None:
    """Write the mean of a run's last checkpoints as a model (§6.1).

    Args:
        run: Directory of the run.
        out: Directory to write: model.safetensors, config.json, tokenizer.model. RUN/average-N of N checkpoints if not given.
        last: Number of checkpoints, at least 1; if not given, as many as the run keeps, or all if there are fewer.

    Example:
        annotated-transformer average runs/mine my-model --last 5
    """
    require_between("last", last, 1)
    from ..files import new_directory, write_directory
    from ..training.runs import Run
    from ..translation.translator import Translator

    if not Run(run).exists():
        raise InputError(f"{run} is not a run, so it has no checkpoints to average: name the directory of a run")
    Run(run).require_checkpoints(last)
    number = min(last or Run(run).config.keep, len(Run(run).checkpoints()))
    out = out or run / f"average-{number}"
    new_directory(out)
    may_be_interrupted()
    write_directory(out, lambda beside: Translator.from_pretrained(run, last).save_pretrained(beside))
    print(f"{out}: {'the last checkpoint' if number == 1 else f'the mean of the last {number} checkpoints'} of {run}")


def list_corpora(name: Annotated[str | None, "NAME"] = None, examples: int = 3) -> None:
    """List the corpora, or show the sizes and first pairs of one.

    Args:
        name: A name or a directory; if not given, all names are listed.
        examples: Pairs to show from each split.

    Example:
        annotated-transformer corpora numbers-en-de --examples 5
    """
    require_between("examples", examples, 0, sys.maxsize)
    from ..data import corpora

    if name is None:
        for name in corpora.CORPORA:
            print(f"{name:<16}{corpora.about(name)}")
        return
    corpus = corpora.load(name)
    for split in ("train", "validation", *corpus.tests):
        pairs = iter(corpus.split(split))
        first = list(itertools.islice(pairs, examples))
        print(f"{split}: {len(first) + sum(1 for _ in pairs):,} pairs")
        for source, target in first:
            for language, text in ((corpus.source_language, source), (corpus.target_language, target)):
                print(plain_line(f"  {language}: {text}"))


def cost(
    run: Annotated[Path | None, "RUN"] = None,
    rate: float | None = None,
    scored: Path | None = None,
    tokens_per_second: float | None = None,
    size: str | None = None,
    devices: int | None = None,
    watts: float | None = None,
    efficiency: float | None = None,
) -> None:
    """Show what a run has cost, or what the paper's runs would take.

    Args:
        run: Directory of a run.
        rate: TFLOP/s that one device sustains: adds the cost by the paper's rule.
        scored: File that `score --out` wrote: adds the run as a row of Table 2.
        tokens_per_second: Without a run: target tokens that one device alone processes in a second.
        size: The model that this was measured with: base or big; base if not given.
        devices: Number of devices; 1, 8, 16 and 64 if not given.
        watts: Power that one device draws: adds the energy.
        efficiency: Share of its speed that a device keeps when working with others; all if not given.

    Example:
        annotated-transformer cost runs/mine
        annotated-transformer cost --tokens-per-second 50000 --devices 8
    """
    if (run is None) == (tokens_per_second is None):
        raise InputError("name a run, or give --tokens-per-second to see what the paper's runs would take")
    of_paper = {"devices": devices, "watts": watts, "size": size, "efficiency": efficiency}
    for name, value in ({"rate": rate, "scored": scored} if run is None else of_paper).items():
        if value is not None:
            raise InputError(f"--{name} goes {'with' if run is None else 'without'} a run: leave it out")
    if rate is not None and not 0 < rate * 1e12 < math.inf:
        raise InputError(f"--rate must be a number above 0, not {rate:g}")
    size, efficiency = size or "base", 1.0 if efficiency is None else efficiency
    from ..tables.training_cost import predict_table, run_cost, table_row

    if run is None:
        print(predict_table({size: tokens_per_second}, (1, 8, 16, 64) if devices is None else (devices,), watts, efficiency))
        return
    found = run_cost(run, None if rate is None else rate * 1e12)
    row = "" if scored is None else f"\n\n{table_row(Path(run).resolve().name, scored, found)}"
    print(f"{found}{row}")
