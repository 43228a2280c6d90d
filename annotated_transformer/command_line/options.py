"""Options that depend on one another: those of `train` and `variations`, and those of a search.

Every setting of annotated_transformer.config is an option of the same name. A preset is a whole configuration, which single
options change, so `--preset` decides the defaults of all others; so does an existing run.
"""
import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from .. import InputError
from ..config import PRESETS, ROWS, Execution, Search, TrainingConfig, TransformerConfig
from .arguments import HELP, Argument, described, from_signature, help_text, parse, perhaps

__all__ = ["AS_USUAL", "RunDirectory", "SearchOptions", "Train", "Variations", "read_options", "require_between"]

# Under torchrun, Python before 3.12 takes `--run` for an abbreviated option of torchrun: hence the longer name.
RunDirectory = Annotated[Path | None, "--run-directory"]


def with_names(kind: type) -> type:
    "Put the names of the presets and of the rows of Table 3 into a docstring, and so into the help."
    kind.__doc__ = kind.__doc__.format(presets=", ".join(PRESETS), rows=" ".join(ROWS))
    return kind


@with_names
@dataclass(frozen=True)
class Train:
    """Train a model; the same command continues a run that was stopped.

    Args:
        preset: Gives the defaults: {presets}.
        run: Directory of the run; runs/CORPUS-PRESET if not given. With torchrun write --run-directory.

    More:
        profile: Trace this many updates into the run's trace.json, which chrome://tracing opens.

    Example:
        annotated-transformer train --corpus numbers-en-de --preset demo
        annotated-transformer train --corpus my_texts --preset tiny --steps 2000
        torchrun --nproc-per-node 8 -m annotated_transformer train --preset big
    """

    config: TrainingConfig
    preset: str = "tiny"
    run: RunDirectory = None
    profile: int | None = None

    def __post_init__(self):
        require_between("profile", self.profile, 1)


@with_names
@dataclass(frozen=True)
class Variations:
    """Train every row of Table 3 and compare it with the base.

    Args:
        preset: The base of the table. base and base-en-fr give the paper's own, whose last row is the paper's big model.
        rows: {rows}; all if none are named.
        seeds: Seeds of each row; two if not given, since one says nothing about chance.
        run: Directory of the runs; runs/CORPUS-PRESET-variations if not given.
        out: File that ends in .json, with a picture next to it; table.json in the directory of the runs if not given.

    Example:
        annotated-transformer variations --rows base A1 C1
    """

    config: TrainingConfig
    preset: str = "miniature"
    rows: tuple[str, ...] = ()
    seeds: tuple[int, ...] = ()
    run: RunDirectory = None
    out: Path | None = None


# The options that --help shows; --help-all shows the others too.
FIRST = ("preset", "corpus", "run", "rows", "seeds", "out", "steps", "batch_tokens", "vocab_size", "seed", "start_from", "device")
REFUSED = {Train: (), Variations: ("start_from",)}  # the rows of Table 3 differ in size and begin with random weights
SETTINGS = {"training": TrainingConfig, "model": TransformerConfig, "execution": Execution}


def names_of(kind: type) -> list[str]:
    "The names of a dataclass's fields."
    return [field.name for field in dataclasses.fields(kind)]


def training_arguments(kind: type[Train | Variations]) -> list[Argument]:
    "The options of `train` or `variations`: its own, then those of the configurations, whose defaults are a preset's."
    found = {argument.name: argument for argument in from_signature(kind)}
    for part in SETTINGS.values():
        for name in found.keys() & names_of(part):
            found[name] = found[name]._replace(required=False, default=None, first=name in FIRST)
    order = [name for part in (kind, *SETTINGS.values()) for name in names_of(part)]
    return [found[name] for name in order if name in found and name not in REFUSED[kind]]


def read_options(kind: type[Train | Variations], words: Sequence[str]) -> Train | Variations:
    """`--preset` or an existing `--run` decides the defaults of all other options, `--start-from` those of the model;
    d_k and d_v follow d_model and n_heads."""
    prog = f"annotated-transformer {kind.__name__.lower()}"
    arguments = sorted(training_arguments(kind), key=lambda argument: (*FIRST, argument.name).index(argument.name))
    asked = {word for word in words if word in HELP}
    if asked and "--help-all" not in asked:
        print(help_text(prog, described(kind.__doc__), arguments, False, {"preset": kind.preset}))
        raise SystemExit(0)
    given = parse(prog, arguments, [word for word in words if word not in asked])
    config, name = configuration(kind, given)
    if asked:
        defaults = {"preset": name, **vars(config), **vars(config.model), **vars(config.execution)}
        print(help_text(prog, described(kind.__doc__), arguments, True, defaults))
        raise SystemExit(0)
    corpus = Path(config.corpus).resolve().name.replace(":", "-")  # mine:fr-en; Windows has no colon in names
    run = Path("runs", f"{corpus}-{name.removesuffix('-en-fr')}{'-variations' * (kind is Variations)}")
    own = {field.name: given[field.name] for field in dataclasses.fields(kind) if field.name in given}
    return kind(**{"preset": name, "run": run} | own | {"config": config})


def configuration(
    kind: type[Train | Variations],
    given: dict[str, object],         # options, by name
) -> tuple[TrainingConfig, str]:      # and the name of the preset
    "The defaults that apply, changed by the given options."
    name, run, start = (given.get(option) for option in ("preset", "run", "start_from"))
    saved = saved_configuration(run) if kind is Train and name is None and run is not None else None
    name = name or kind.preset
    if name not in PRESETS:
        known = f"choose one of {', '.join(PRESETS)}{perhaps(name, list(PRESETS))}"
        raise InputError(f"--preset {name}: there is no such preset; {known}")
    default = saved or PRESETS[name]
    follow = {} if saved or start else {"d_k": None, "d_v": None}
    if start and not saved:
        from ..training.loading import load

        default = dataclasses.replace(default, model=load(start).model.config)
    chosen = {part: {one: given[one] for one in names_of(settings) if one in given} for part, settings in SETTINGS.items()}
    model = dataclasses.replace(default.model, **follow | chosen["model"])
    if start and not saved and model == dataclasses.replace(default.model, vocab_size=model.vocab_size) != default.model:
        sizes = f"vocab_size is {default.model.vocab_size} there and {model.vocab_size} here"
        raise InputError(f"--start-from {start}: {sizes}; its vocabulary comes with it, so leave --vocab-size out")
    execution = dataclasses.replace(default.execution, **chosen["execution"])
    return dataclasses.replace(default, **chosen["training"] | {"model": model, "execution": execution}), name


def saved_configuration(run: Path) -> TrainingConfig | None:
    "The configuration of a run; None if there is no run yet."
    if not run.exists():  # avoids loading PyTorch
        return None
    from ..training.runs import Run

    return Run(run).config if Run(run).exists() else None


def require_between(option: str, number: float | None, least: float, most: float | None = None) -> None:
    "InputError if a number is given and is too small or too large."
    name = f"--{option.replace('_', '-')}"
    if number is not None and not number >= least:  # so written, it also refuses NaN
        raise InputError(f"{name} must be at least {least}, not {number}")
    if number is not None and most is not None and number > most:
        raise InputError(f"{name} must be at most {most}, not {number}")


@dataclass(frozen=True)
class SearchOptions:
    """How an output is searched for (§6.1, §6.3).

    Args:
        beam_size: Hypotheses kept at each step. If not given: the model's own, or else the paper's, 4 to translate and 21 to
            parse.

    More:
        alpha: Strength of the length penalty; 0 is none. If not given: to translate the model's own or else 0.6, to parse 0.3,
            or 2 where the model copies the words and writes only trees.
        extra_length: Maximum number of tokens that an output may have beyond its source's length. If not given: the
            paper's, 50 to translate and 300 to parse.
        average: For a run: use the mean of its last N checkpoints; as many as it keeps if not given.
        precision: Of the weights in products: float32; on a CPU also float16 or int8, faster and nearly as good;
            auto: float16 on a CPU if that changes no weight, else float32.
    """

    beam_size: int | None = None
    alpha: float | None = None
    extra_length: int | None = None
    average: int | None = None
    precision: Literal["auto", "float32", "float16", "int8"] = "auto"

    def __post_init__(self):
        require_between("beam_size", self.beam_size, 1, 2**24)
        require_between("alpha", self.alpha, 0, 100)
        require_between("extra_length", self.extra_length, 0, 1_000_000)
        require_between("average", self.average, 1)

    def over(
        self,
        default: Search,
        vocabulary: int,  # tokens of the model
    ) -> Search:
        "The default search, with these values replacing its own where given."
        given = {field.name: value for field in dataclasses.fields(default) if (value := getattr(self, field.name)) is not None}
        return dataclasses.replace(default, **given).within(vocabulary)


AS_USUAL = SearchOptions()  # nothing given
