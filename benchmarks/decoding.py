"""Our decoding next to Hugging Face's Marian, CTranslate2 and ONNX Runtime: the same weights, sources and outputs, in turns.

    python -m benchmarks.decoding [--rounds 6] [--works NAME ...] [--clock processor] [--resume] [--out FILE.json]

The model has the sizes of the paper's base model and random weights, made so that it neither repeats itself forever nor ends a
sentence (in the work named `ends` it does). The outputs of all are compared token by token before anything is timed.
All use the same number of threads and compute in float32, except ours with 16-bit and 8-bit weights and CTranslate2 in 8 bits.
CTranslate2 takes part twice in float32: as it comes, and with the other matrix product library in its package, since
on some processors the one it chooses is not the faster one.

Each has its own rule for the length penalty; if all outputs have the same length, none of the rules changes an order.
Beam search over sentences that end at different steps is left out: each decides differently when to stop and which finished
hypotheses count, so the outputs may differ, and with them the amount of work. Greedy search leaves nothing to decide.

If the machine has other work, `--clock processor` counts processor seconds instead of the wall clock's: with one thread
they are the same on an otherwise idle machine. The file is written after each work, and `--resume` continues it.
"""
import copy
import dataclasses
import json
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch

from annotated_transformer import EOS, PAD, InputError, results
from annotated_transformer.command_line.translate_and_parse import SHIPPED
from annotated_transformer.config import Search, TransformerConfig
from annotated_transformer.data.batching import pad
from annotated_transformer.exchange.ctranslate2 import token_names
from annotated_transformer.exchange.marian import to_marian
from annotated_transformer.model.attention import MultiHeadAttention
from annotated_transformer.model.feed_forward import FeedForward
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.tables.training_cost import forward_flops
from annotated_transformer.translation.fast_search import beam_search, greedy_search
from annotated_transformer.translation.packed_weights import in_eight_bits, in_sixteen_bits, largest_weight
from benchmarks.installation import COMMANDS, ROOT, cpu_seconds
from benchmarks.shared.command import Options, at_least, one_sentence
from benchmarks.shared.decoding_chart import chart
from benchmarks.shared.decoding_elsewhere import CTRANSLATE2, Elsewhere, search_graphs, translate, translating_processes
from benchmarks.shared.side_by_side import matrix_products, require_packages, save, save_picture, summary, take_turns, versions

SIZES = {
    "base": TransformerConfig.base(37_000),
    "small": TransformerConfig(500, n_layers=2, d_model=64, d_ff=128, n_heads=4),  # to try this benchmark
}
SEED = 0                    # of weights and sources
SIDE = 2048                 # of the matrices whose product is timed
PACKAGES = ("transformers", "ctranslate2", "onnx", "onnxruntime")  # of the other programs
PACKED = {"ours_float16": in_sixteen_bits, "ours_int8": in_eight_bits}
ROUNDED = (*PACKED, "ctranslate2_int8")  # their outputs may differ
IMPORT = "from annotated_transformer import Translator"
STARTS = {  # fresh processes, whose processor time is taken: each does what the one before does, and more
    "import torch": COMMANDS["import torch"],
    "import Translator": ["-c", IMPORT],
    "load the weights": ["-c", f"{IMPORT}; Translator.from_pretrained({SHIPPED!r})"],
    "translate, one sentence": COMMANDS["translate, one sentence"],
}
PRECISIONS = ("float32", "int8")  # besides the one that `translate` uses by default
Decoder = Callable[[], list[list[int]]]  # gives the best output of each sentence, without PAD and EOS


@dataclass(frozen=True)
class Work:
    "What is decoded at once."

    batch: int                            # sentences
    beams: int                            # 1: greedy search
    longest: int = 30                     # maximum number of tokens of each output
    lengths: tuple[int, int] = (25, 25)   # shortest and longest source, EOS included
    ends: bool = False                    # the model ends its sentences before they are that long
    rounds: float = 1.0                   # share of the rounds that it gets


WORKS = {
    "beam 4, batch 16": Work(16, 4),
    "beam 4, batch 64": Work(64, 4, rounds=0.5),
    "greedy, batch 1": Work(1, 1),
    "greedy, batch 64, sentences end": Work(64, 1, longest=60, lengths=(5, 45), ends=True),
}
GROWTH = {  # what grows: its value: the work
    "beams": {beams: Work(4, beams, rounds=0.5) for beams in (1, 2, 4, 8)},
    "length": {longest: Work(4, 4, longest, rounds=0.5) for longest in (30, 60, 120)},
}


def random_model(config: TransformerConfig, ends: bool) -> Transformer:
    """A model that talks. As initialised it would write one word for ever: what every position hears alike drowns the last word,
    and a word's own vector makes that word likely. So all sub-layers speak softly, and at last one network drowns that vector."""
    torch.manual_seed(SEED)
    model = Transformer(config).eval()
    with torch.no_grad():
        for module in model.modules():
            if isinstance(module, MultiHeadAttention):
                module.out_projection.weight *= 0.2
            elif isinstance(module, FeedForward):
                module.outer.weight *= 0.2
        last = model.decoder.layers[-1].feed_forward
        last.sublayer.outer.weight *= 150
        last.norm.weight *= 4              # far from ties: the likeliest of 37,000 words gets a quarter of the probability
        if ends:
            model.embedding.weight[EOS] *= 2.5  # its logit varies that much more than the logit of a word
    return model


def sources(model: Transformer, work: Work) -> list[list[int]]:
    "Random sentences, each with its EOS: all of whose outputs end, or none."
    chance, (shortest, longest) = torch.Generator().manual_seed(SEED), work.lengths
    lengths = torch.randint(shortest, longest + 1, (2 * work.batch,), generator=chance).tolist()
    drawn = [[*torch.randint(3, model.config.vocab_size, (n - 1,), generator=chance).tolist(), EOS] for n in lengths]
    if work.ends:
        drawn = [source for source, found in zip(drawn, our_search(model, drawn, work)()) if len(found) < work.longest]
    return drawn[: work.batch]


def our_search(model: Transformer, sentences: list[list[int]], work: Work) -> Decoder:
    "Each sentence may get `longest` tokens; where the lengths differ, the longer sources a few more, which none of them needs."
    source, extra_length = pad(sentences), work.longest - work.lengths[0]
    if work.beams == 1:
        return partial(greedy_search, model, source, Search(extra_length=extra_length))
    return lambda: [found[0].tokens for found in beam_search(model, source, Search(work.beams, extra_length=extra_length))]


def marian_search(marian, sentences: list[list[int]], work: Work) -> Decoder:
    "`generate` with its own settings, apart from those that say what is searched. Marian's ids are ours less one, PAD the last."
    source, V = pad(sentences), marian.config.vocab_size
    options = {"num_beams": work.beams, "max_length": work.longest + 1, "do_sample": False}  # with the PAD that starts each
    if work.beams > 1:
        options["length_penalty"] = Search.alpha

    def search() -> list[list[int]]:
        with torch.inference_mode():
            found = marian.generate((source - 1) % V, attention_mask=(source != PAD).long(), **options)
        rows = ((found[:, 1:] + 1) % V).tolist()
        return [row[: row.index(EOS)] if EOS in row else row for row in rows]

    return search


CLOCKS = {"wall": time.perf_counter, "processor": lambda: time.process_time() + Elsewhere.seconds}


def ctranslate2_search(process: Elsewhere, names: list[str], sentences: list[list[int]], work: Work) -> Decoder:
    "`translate_batch`, all sentences in one batch."
    ids = {name: token for token, name in enumerate(names)}
    source = [[names[token] for token in sentence[:-1]] for sentence in sentences]  # EOS is put there
    options = {
        "beam_size": work.beams, "length_penalty": Search.alpha,
        "max_decoding_length": work.longest, "min_decoding_length": 0,  # by default the first token cannot be EOS
    }

    def search() -> list[list[int]]:
        return [[ids[name] for name in found] for found in process.ask(translate, source, options)]

    return search


def onnx_search(process: Elsewhere, sentences: list[list[int]], work: Work) -> Decoder:
    "The search of `OnnxTranslator`, all sentences in one batch."
    search = Search(work.beams, extra_length=work.longest - work.lengths[0])
    return lambda: process.ask(search_graphs, sentences, search)


def compare(outputs: dict[str, list[list[int]]], exactly: Callable[[int], list[int]]) -> dict:
    """How many sentences came out as ours. InputError if one of ours is like neither of the others', unless that is rounding:
    `exactly` gives what our search finds for a sentence in float64, and then that is like one of the others'. Those that
    round the weights are counted, and witness nothing."""
    ours, others = outputs["ours"], {name: found for name, found in outputs.items() if name not in ("ours", *ROUNDED)}
    rounding = 0
    for i, tokens in enumerate(ours):
        theirs = [found[i] for found in others.values()]
        if tokens not in theirs:
            if exactly(i) not in theirs:
                raise InputError(f"not the same search: sentence {i} is {tokens} here, but {' and '.join(others)} gave {theirs}")
            rounding += 1
    equal = {name: sum(a == b for a, b in zip(ours, found)) for name, found in outputs.items() if name != "ours"}
    return {"sentences": len(ours), "equal_to_ours": equal, "differ_by_our_rounding": rounding}


def in_float64(model: Transformer, sentences: list[list[int]], work: Work, i: int) -> list[int]:
    "What our search finds for sentence i alone where rounding plays no part."
    return our_search(copy.deepcopy(model).double(), sentences[i : i + 1], work)()[0]


def decoding_flops(
    config: TransformerConfig,
    source_length: np.ndarray,   # S of each sentence
    target_length: np.ndarray,   # T of each: tokens written, EOS included
    beams: int,                  # K
) -> int:
    "What the matrix products need: the source once, each step for every beam, each position looking back only."
    source = forward_flops(config, source_length, 0).total
    target = forward_flops(config, source_length, target_length).total - source
    ahead = config.n_layers * target_length * (target_length - 1) * config.n_heads * (config.d_k + config.d_v)
    return int((source + beams * (target - ahead)).sum())


def weight_bytes(model: Transformer) -> tuple[int, int]:
    "Bytes of the weights that are read once for a sentence, and of those that each step reads."
    def size(*modules: torch.nn.Module) -> int:
        return sum(p.numel() * p.element_size() for module in modules for p in module.parameters())

    c, layers = model.config, model.decoder.layers
    to_memory = len(layers) * c.n_heads * (c.d_k + c.d_v) * c.d_model * 4  # W^K and W^V of the attention over it
    return size(model.encoder) + to_memory, size(model.decoder, model.embedding) - to_memory


def reading(n_bytes: int, times: int) -> Callable[[], object]:
    "A contender that reads a matrix of that many bytes, again and again as the steps of decoding do, and only adds it up."
    matrix = torch.randn(max(1, n_bytes // 4))

    def read() -> None:
        for _ in range(times):
            matrix.sum()

    return read


def measure(
    model: Transformer, packed: dict[str, Transformer], marian, pools: dict[str, Elsewhere], work: Work, rounds: int, clock: str,
) -> dict:
    "Compare what they write, then time them, with the machine's own rates taking their turns."
    sentences, names = sources(model, work), token_names(model.config.vocab_size)
    searches = {
        "ours": our_search(model, sentences, work),
        **{name: our_search(one, sentences, work) for name, one in packed.items()},
        "hugging_face": marian_search(marian, sentences, work),
        **{name: ctranslate2_search(pools[name], names, sentences, work) for name in CTRANSLATE2},
        "onnx_runtime": onnx_search(pools["onnx_runtime"], sentences, work),
    }
    outputs = {name: search() for name, search in searches.items()}  # warms them up, too
    compared = compare(outputs, partial(in_float64, model, sentences, work))
    written = np.array([min(len(tokens) + 1, work.longest) for tokens in outputs["ours"]])
    if len(sentences) < work.batch or not work.ends and written.min() < work.longest:
        raise InputError(f"{work}: the random model ends its outputs too seldom or too soon ({written.tolist()} tokens)")
    flops = decoding_flops(model.config, np.array([len(s) for s in sentences]), written, work.beams)
    machine = {"matrix_products": matrix_products(SIDE)}
    if work.batch * work.beams == 1:
        once, each_step = weight_bytes(model)
        machine["reading"] = reading(each_step, work.longest)
    for run in machine.values():
        run()  # memory touched for the first time is slow
    load, desc = results.machine_load(), f"{work.beams} beams, {work.batch} sentences"
    seconds = take_turns(searches | machine, rounds, warmup=0, desc=desc, clock=CLOCKS[clock])

    product, found = 2 * SIDE**3, summary({name: seconds[name] for name in searches})
    rates = {"matrix_products_flops_per_second": product / statistics.median(seconds["matrix_products"])}
    for name, figures in found.items():
        figures["output_tokens_per_second"] = round(written.sum() / figures["median_seconds"], 1)
        figures["model_flops_per_second"] = flops / figures["median_seconds"]
        figures["share_of_matrix_products"] = share(flops, seconds[name], product, seconds["matrix_products"])
    if "reading" in machine:
        steps = work.longest * each_step
        rates["reading_bytes_per_second"] = steps / statistics.median(seconds["reading"])
        for name, figures in found.items():
            figures["share_of_reading"] = share(once + steps, seconds[name], steps, seconds["reading"])
    about = {"work": dataclasses.asdict(work), "outputs": compared, "tokens_written": int(written.sum()), "model_flops": flops}
    return about | {"rounds": rounds, "load_before": load, "by": found, "machine": rates}


def share(amount: float, seconds: list[float], machine_amount: float, machine_seconds: list[float]) -> float:
    "The rate of one as a share of the machine's, by the median of the rounds."
    return round(statistics.median(amount / a / (machine_amount / b) for a, b in zip(seconds, machine_seconds)), 4)


def measure_all(
    config: TransformerConfig, names: Sequence[str], rounds: int, clock: str, known: dict, keep: Callable[[dict], object],
) -> dict:
    "The chosen works, their growth and the start of a command if those are chosen; what is known already is not done again."
    figures: dict = {"works": {name: WORKS[name] for name in names if name in WORKS}}
    if "growth" in names:
        figures["growth"] = GROWTH
    chosen = list(dict.fromkeys(works_of(figures)))  # each once
    found: dict[Work, dict] = {work_of(part): part for part in works_of(known)}

    def filled(part):
        if isinstance(part, dict):
            return {str(name): filled(inner) for name, inner in part.items() if isinstance(inner, dict) or inner in found}
        return found[part]

    more = {"start": known["start"]} if "start" in known else {}
    for ends in sorted({work.ends for work in chosen if work not in found}):
        model = random_model(config, ends)
        packed, (marian, _) = {name: pack(model) for name, pack in PACKED.items()}, to_marian(model)
        with translating_processes(model) as pools:
            for work in chosen:
                if work.ends == ends and work not in found:
                    found[work] = measure(model, packed, marian, pools, work, max(1, int(rounds * work.rounds)), clock)
                    keep(filled(figures) | more)
    if "start" in names and not more:
        more = {"start": start(rounds)}
        keep(filled(figures) | more)
    return filled(figures) | more


def works_of(figures: dict) -> list:
    "What stands in `figures` for each work, be it a `Work` or what was measured."
    growth = figures.get("growth", {}).values()
    return [*figures.get("works", {}).values(), *(part for parts in growth for part in parts.values())]


def work_of(part: dict) -> Work:
    "The work that was measured."
    return Work(**part["work"] | {"lengths": tuple(part["work"]["lengths"])})


def start(rounds: int) -> dict:
    "Seconds of processor time of fresh processes, the least of the rounds: imports, loading, the first sentence."
    line = STARTS["translate, one sentence"]
    words = STARTS | {f"translate --precision {one}": [*line, "--precision", one] for one in PRECISIONS}
    return {name: round(min(cpu_seconds(ROOT, command) for _ in range(rounds)), 2) for name, command in words.items()}


@one_sentence()
def main(options: Sequence[str] | None = None) -> None:
    choices = [*WORKS, "growth", "start"]
    parser = Options("benchmarks.decoding", __doc__, "results/speed/decoding.json")
    parser.add_argument("--size", choices=SIZES, default="base", help="small: to try this benchmark")
    parser.add_argument("--works", nargs="+", choices=choices, default=choices, metavar="WORK",
                        help=", ".join(map(repr, choices)))
    parser.add_argument("--rounds", type=at_least(1), default=6, help="turns of each; half as many where the work is long")
    parser.add_argument("--clock", choices=CLOCKS, default="wall", help="processor: where the machine has other work")
    parser.add_argument("--resume", action="store_true", help="keep what --out has from the same settings, and do the rest")
    arguments = parser.parse_args(options)
    require_packages(parser, PACKAGES)
    config = {
        "model": dataclasses.asdict(SIZES[arguments.size]), "rounds": arguments.rounds, "alpha": Search.alpha,
        "clock": arguments.clock, "side_of_the_matrices": SIDE, "ctranslate2_variables": CTRANSLATE2,
        "instructions": torch.backends.cpu.get_cpu_capability(), "largest_weight": largest_weight(),
        "packages": versions(PACKAGES),
    }

    def keep(figures: dict) -> None:
        record = save(arguments.out, "benchmarks.decoding", figures, config, SEED, options)
        if figures["works"]:
            save_picture(chart(record), arguments.out.with_suffix(".png"))

    known: dict = {}
    if arguments.resume and arguments.out.exists():
        record = json.loads(arguments.out.read_text(encoding="utf-8"))
        same = record["config"] == config and record["hardware"]["threads"] == torch.get_num_threads()
        if not same:
            parser.exit(2, f"{arguments.out} was made with other settings; leave --resume out, or name another file.\n")
        known = record["figures"]
    figures = measure_all(SIZES[arguments.size], arguments.works, arguments.rounds, arguments.clock, known, keep)
    print(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
