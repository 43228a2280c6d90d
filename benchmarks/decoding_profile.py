"""Where the time of our decoding goes, in 8 bits and in float32, and how long PyTorch's kernels for 16 and 8 bits take.

    python -m benchmarks.decoding_profile [--rounds 3] [--out results/speed/int8-profile.json]

The works are those of `benchmarks.decoding`, with one thread. The profiler records when an operation began and ended, so other
work on the machine lengthens it: we keep the shares of the fastest round. `seconds` are processor time
without the profiler, the minimum of the rounds. The kernels are timed alone, with the weights already in the processor's memory.

`--shipped NAME` does only the same for a shipped translator and 32 sentences of Tatoeba: it shows what share of a search
the vocabulary takes, and so how much faster a search that looks at only a few words could be at most.
"""
import functools
import os
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from unittest.mock import patch

import torch
from torch.profiler import profile, record_function

from annotated_transformer import Translator
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.translation import fast_search as decoding
from annotated_transformer.translation.packed_weights import in_eight_bits, largest_weight
from benchmarks.decoding import SEED, SIZES, WORKS, Decoder, our_search, random_model, sources
from benchmarks.kernels import KERNELS, available, first_sentences, ways
from benchmarks.shared.command import Options, at_least, one_sentence
from benchmarks.shared.side_by_side import one_thread, save

PROFILED = ("beam 4, batch 16", "beam 4, batch 64", "greedy, batch 1")
VOCABULARY, CHOICE = "products: vocabulary", "likeliest words, log Z"
OTHER, WHOLE = "sums, copies, masks", "between the operations"
INSIDE = {  # what an operation is for, by the name of the operation that contains it; the first match counts
    VOCABULARY: (VOCABULARY,),
    CHOICE: (CHOICE,),
    "products: layers": (
        "quantized::linear_dynamic", "onednn::qlinear_pointwise", "aten::_weight_int8pack_mm",
        "aten::linear", "aten::mm", "aten::addmm",
    ),
    "attention": ("aten::scaled_dot_product_attention",),
    "layer norm": ("aten::layer_norm",),
}
KINDS = [*INSIDE, OTHER, WHOLE]
PRODUCTS = ((512, 512), (512, 2048), (2048, 512), (512, 37_000))  # columns and rows of a matrix
ROWS = (1, 64, 256)


def named(name: str, function: Callable) -> Callable:
    "The function, its operations told apart in the profile."
    @functools.wraps(function)
    def run(*arguments, **options):
        with record_function(name):
            return function(*arguments, **options)

    return run


@contextmanager
def parts_named(model: Transformer) -> Iterator[None]:
    "Within it, the profile tells the output projection and the choice of words from all else."
    own = model.embedding.__dict__.get("project_into")
    model.embedding.project_into = named(VOCABULARY, model.embedding.project_into)
    try:
        choices = {name: named(CHOICE, getattr(decoding, name)) for name in ("likeliest", "continuations")}
        with patch.multiple(decoding, **choices):
            yield
    finally:
        del model.embedding.project_into
        if own is not None:
            model.embedding.project_into = own


def kind_of(event) -> str:
    "What a profiled operation is for: the first kind that it, or what it is a part of, belongs to."
    if event.name == WHOLE:
        return WHOLE
    names = []
    while event is not None:
        names.append(event.name)
        event = event.cpu_parent
    return next((kind for kind, inside in INSIDE.items() if any(name in inside for name in names)), OTHER)


def where_the_time_goes(search: Decoder) -> tuple[float, dict[str, float]]:
    "Seconds of a profiled search, and the shares of each kind."
    os.environ.setdefault("KINETO_LOG_LEVEL", "99")  # keeps the profiler from reporting its own start and stop
    spent = dict.fromkeys(KINDS, 0.0)
    with profile() as found, record_function(WHOLE):
        search()
    for event in found.events():
        spent[kind_of(event)] += event.self_cpu_time_total / 1e6
    total = sum(spent.values())
    return total, {kind: round(seconds / total, 4) for kind, seconds in spent.items()}


def profile_of(model: Transformer, search: Decoder, rounds: int) -> dict:
    "The least seconds of the rounds, and the shares of the round with the least."
    search()
    seconds = []
    for _ in range(rounds):
        start = time.thread_time()
        search()
        seconds.append(time.thread_time() - start)
    with parts_named(model):
        profiled, shares = min(where_the_time_goes(search) for _ in range(rounds))
    return {"seconds": round(min(seconds), 4), "profiled_seconds": round(profiled, 4), "shares": shares}


def shipped(name: str, rounds: int) -> dict[str, dict]:
    "By precision and search: seconds, shares, and the gain if the vocabulary's product and the choice of words took no time."
    found: dict[str, dict] = {}
    for precision in ("float32", "float16", "int8"):
        translator = Translator.from_pretrained(name, precision=precision)
        found[precision] = {}
        for work, search in ways(first_sentences(translator, 32), translator.search).items():
            part = profile_of(translator.searched, functools.partial(search, translator.searched), rounds)
            words = part["shares"][VOCABULARY] + part["shares"][CHOICE]
            found[precision][work] = part | {"at_most": round(1 / (1 - words), 2)}
            print(precision, work, found[precision][work], flush=True)
    return found


def kernels(x: torch.Tensor, weight: torch.Tensor) -> dict[str, Callable[[], object]]:
    "Ways to multiply by the same matrix; without VNNI one of them takes seconds for the largest."
    slow = ("int8, _int_mm",) if x.size(0) > 64 or weight.size(0) > 2048 else ()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return {name: functools.partial(KERNELS[name](weight, None, 2**20), x) for name in available() if name not in slow}


def least_microseconds(run: Callable[[], object], budget: float) -> int:
    "Of the processor, the least of as many runs as the budget's seconds allow, two at least."
    run()
    taken, start = [], time.thread_time()
    while len(taken) < 2 or time.thread_time() - start < budget:
        before = time.thread_time()
        run()
        taken.append(time.thread_time() - before)
    return round(min(taken) * 1e6)


@one_sentence()
@one_thread()
def main(options: Sequence[str] | None = None) -> None:
    parser = Options("benchmarks.decoding_profile", __doc__, "results/speed/int8-profile.json")
    parser.add_argument("--size", choices=SIZES, default="base", help="small: to try this benchmark")
    parser.add_argument("--rounds", type=at_least(1), default=3)
    parser.add_argument("--shipped", metavar="NAME", help="profile this translator alone, in 32, 16 and 8 bits")
    parser.add_argument("--budget", type=float, default=0.3, help="seconds for each kernel")
    arguments = parser.parse_args(options)
    if arguments.shipped:
        config = {"models": [arguments.shipped], "rounds": arguments.rounds}
        figures = shipped(arguments.shipped, arguments.rounds)
        save(arguments.out, "benchmarks.decoding_profile", figures, config, SEED, options)
        return
    model = random_model(SIZES[arguments.size], ends=False)
    models = {"int8": in_eight_bits(model), "float32": model}
    works = {}
    for name in PROFILED:
        sentences = sources(model, WORKS[name])
        works[name] = {precision: profile_of(one, our_search(one, sentences, WORKS[name]), arguments.rounds)
                       for precision, one in models.items()}
        print(name, works[name], flush=True)
    products = {}
    for columns, n in PRODUCTS if arguments.size == "base" else PRODUCTS[:1]:
        for rows in ROWS:
            found, name = kernels(torch.randn(rows, columns), torch.randn(n, columns)), f"{rows} × {columns} × {n}"
            products[name] = {who: least_microseconds(run, arguments.budget) for who, run in found.items()}
            print(name, products[name], flush=True)
    config = {"size": arguments.size, "rounds": arguments.rounds, "budget": arguments.budget,
              "instructions": torch.backends.cpu.get_cpu_capability(), "largest_weight": largest_weight()}
    save(arguments.out, "benchmarks.decoding_profile", {"works": works, "microseconds": products}, config, SEED, options)


if __name__ == "__main__":
    main()
