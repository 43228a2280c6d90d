"""Our decoding beside that of Hugging Face's Marian and of CTranslate2: the same weights, sources and outputs, turn by turn.

    python -m benchmarks.decoding [--rounds 5] [--works NAME ...] [--out results/decoding.json]

The model has the sizes of the paper's base model and random weights, chosen so that it neither repeats itself nor ends a sentence
(in the work named "ends" it does end them). What the three write is compared token by token before anything is timed.
All compute in float32. A length penalty is set everywhere, by each one's own rule; where all outputs have the same length it
changes no order. Beam search over sentences that end at different steps is left out, since each of the three ends it by a rule
of its own: when to stop, and which finished hypotheses compete. Greedy search has no such choice.
"""
import argparse
import copy
import dataclasses
import importlib.util
import json
import statistics
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import torch

from annotated_transformer import EOS, PAD, InputError
from annotated_transformer.attention import MultiHeadAttention
from annotated_transformer.batching import pad
from annotated_transformer.decoding import beam_search, greedy_search
from annotated_transformer.feed_forward import FeedForward
from annotated_transformer.training_cost import forward_flops
from annotated_transformer.transformer import Transformer, TransformerConfig
from benchmarks.peers import to_ctranslate2, to_marian, token_names
from benchmarks.side_by_side import matrix_products, save, summary, take_turns

SIZES = {
    "base": TransformerConfig.base(37_000),
    "small": TransformerConfig(500, n_layers=2, d_model=64, d_ff=128, n_heads=4),  # to try this benchmark
}
SEED, ALPHA, SIDE = 0, 0.6, 2048  # of weights and sources; the length penalty's; of the matrices whose product is timed
PEERS = {"hugging_face": "transformers", "ctranslate2": "ctranslate2"}  # contender: the package it needs
Search = Callable[[], list[list[int]]]  # gives the best output of each sentence, without PAD and EOS


@dataclass(frozen=True)
class Work:
    "What is decoded at once."

    batch: int                            # sentences
    beams: int                            # 1: greedy search
    longest: int = 30                     # tokens that each sentence may get
    lengths: tuple[int, int] = (25, 25)   # shortest and longest source, EOS included
    ends: bool = False                    # the model ends its sentences before they are that long


WORKS = {
    "beam 4, batch 16": Work(16, 4),
    "beam 4, batch 64": Work(64, 4),
    "greedy, batch 1": Work(1, 1),
    "greedy, batch 64, ends": Work(64, 1, longest=100, lengths=(5, 45), ends=True),
}
GROWTH = {  # what grows: its value: the work
    "beams": {beams: Work(8, beams) for beams in (1, 2, 4, 8)},
    "length": {longest: Work(8, 4, longest) for longest in (30, 60, 90, 120)},
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
            model.embedding.weight[EOS] *= 3   # its logit varies three times as much as that of a word
    return model


def sources(work: Work, vocab_size: int) -> list[list[int]]:
    "Random sentences, each with its EOS."
    chance = torch.Generator().manual_seed(SEED)
    shortest, longest = work.lengths
    lengths = torch.randint(shortest, longest + 1, (work.batch,), generator=chance).tolist()
    return [[*torch.randint(3, vocab_size, (n - 1,), generator=chance).tolist(), EOS] for n in lengths]


def our_search(model: Transformer, sentences: list[list[int]], work: Work) -> Search:
    "Each sentence may get `longest` tokens; where the lengths differ, the longer sources a few more, which none of them needs."
    source, extra_length = pad(sentences), work.longest - work.lengths[0]
    if work.beams == 1:
        return partial(greedy_search, model, source, extra_length)
    return lambda: [found[0].tokens for found in beam_search(model, source, work.beams, ALPHA, extra_length)]


def marian_search(marian, sentences: list[list[int]], work: Work) -> Search:
    "`generate` with its own settings, apart from those that say what is searched."
    source = pad(sentences)
    options = {"num_beams": work.beams, "max_new_tokens": work.longest, "do_sample": False}
    if work.beams > 1:
        options["length_penalty"] = ALPHA

    def search() -> list[list[int]]:
        with torch.inference_mode():
            found = marian.generate(source, attention_mask=(source != PAD).long(), **options)
        rows = found[:, 1:].tolist()  # without the PAD that starts each
        return [row[: row.index(EOS)] if EOS in row else row for row in rows]

    return search


def ctranslate2_search(translator, names: list[str], sentences: list[list[int]], work: Work) -> Search:
    "`translate_batch`, all sentences in one batch."
    ids = {name: token for token, name in enumerate(names)}
    source = [[names[token] for token in sentence] for sentence in sentences]
    options = {
        "beam_size": work.beams, "length_penalty": ALPHA,
        "max_decoding_length": work.longest, "min_decoding_length": 0,  # by default the first token cannot be EOS
    }

    def search() -> list[list[int]]:
        return [[ids[name] for name in found.hypotheses[0]] for found in translator.translate_batch(source, **options)]

    return search


def compare(outputs: dict[str, list[list[int]]], exactly: Callable[[int], list[int]]) -> dict:
    """How many sentences came out as ours. InputError if one of ours is like neither of the others', unless that is rounding:
    `exactly` gives what our search finds for a sentence in float64, and then that is like one of the others'."""
    ours, others = outputs["ours"], {name: found for name, found in outputs.items() if name != "ours"}
    rounding = 0
    for i, tokens in enumerate(ours):
        theirs = [found[i] for found in others.values()]
        if tokens not in theirs:
            if exactly(i) not in theirs:
                raise InputError(f"not the same search: sentence {i} is {tokens} here, but {' and '.join(others)} gave {theirs}")
            rounding += 1
    equal = {name: sum(a == b for a, b in zip(ours, found)) for name, found in others.items()}
    return {"sentences": len(ours), "equal_to_ours": equal, "differ_by_our_rounding": rounding}


def in_float64(model: Transformer, sentences: list[list[int]], work: Work, i: int) -> list[int]:
    "What our search finds for sentence i alone where rounding plays no part."
    alone = dataclasses.replace(work, lengths=(work.lengths[0],) * 2)
    return our_search(copy.deepcopy(model).double(), sentences[i : i + 1], alone)()[0]


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


def reading(n_bytes: int) -> Callable[[], object]:
    "A contender that reads a matrix of that many bytes and does little else: its product with a vector."
    matrix = torch.randn(n_bytes // 4 // 512, 512)
    vector, out = torch.randn(512), torch.empty(len(matrix))
    return lambda: torch.mv(matrix, vector, out=out)


def measure(model: Transformer, marian, translator, work: Work, rounds: int, desc: str) -> dict:
    "Compare what the three write, then time them, with the machine's own rates taking their turns."
    sentences, names = sources(work, model.config.vocab_size), token_names(model.config)
    searches = {
        "ours": our_search(model, sentences, work),
        "hugging_face": marian_search(marian, sentences, work),
        "ctranslate2": ctranslate2_search(translator, names, sentences, work),
    }
    outputs = {name: search() for name, search in searches.items()}  # warms them up, too
    compared = compare(outputs, partial(in_float64, model, sentences, work))
    written = np.array([min(len(tokens) + 1, work.longest) for tokens in outputs["ours"]])
    if not work.ends and written.min() < work.longest or work.ends and written.max() == work.longest:
        raise InputError(f"{desc}: the random model ended its sentences after {written.tolist()} tokens; choose another seed")
    flops = decoding_flops(model.config, np.array([len(s) for s in sentences]), written, work.beams)
    machine = {"matrix_products": matrix_products(SIDE)}
    if work.batch * work.beams == 1:
        once, each_step = weight_bytes(model)
        machine["reading"] = reading(each_step)
    seconds = take_turns(searches | machine, rounds, desc=desc)

    figures = summary({name: seconds[name] for name in searches})
    for name, found in figures.items():
        found["output_tokens_per_second"] = round(written.sum() / found["median_seconds"], 1)
        found["model_flops_per_second"] = flops / found["median_seconds"]
        found["share_of_matrix_products"] = share(flops, seconds[name], 2 * SIDE**3, seconds["matrix_products"])
        if "reading" in machine:
            n_bytes = once + int(written[0]) * each_step
            found["share_of_reading"] = share(n_bytes, seconds[name], each_step, seconds["reading"])
    rates = {"matrix_products_flops_per_second": 2 * SIDE**3 / statistics.median(seconds["matrix_products"])}
    if "reading" in machine:
        rates["reading_bytes_per_second"] = each_step / statistics.median(seconds["reading"])
    return {"outputs": compared, "tokens_written": int(written.sum()), "model_flops": flops, "by": figures, "machine": rates}


def share(amount: float, seconds: list[float], machine_amount: float, machine_seconds: list[float]) -> float:
    "The rate of one as a share of the machine's, by the median of the rounds."
    return round(statistics.median(amount / a / (machine_amount / b) for a, b in zip(seconds, machine_seconds)), 4)


def measure_all(config: TransformerConfig, names: Sequence[str], rounds: int, growth_rounds: int) -> dict:
    "The chosen works, and their growth if that is chosen."
    import ctranslate2

    chosen = {name: (WORKS[name], rounds) for name in names if name in WORKS}
    if "growth" in names:
        chosen |= {str(work): (work, growth_rounds) for works in GROWTH.values() for work in works.values()}
    found = {}
    for ends in sorted({work.ends for work, _ in chosen.values()}):
        model = random_model(config, ends)
        marian = to_marian(model)
        with tempfile.TemporaryDirectory() as directory:
            to_ctranslate2(model, directory)
            threads = {"intra_threads": torch.get_num_threads(), "inter_threads": 1}
            translator = ctranslate2.Translator(directory, device="cpu", compute_type="float32", **threads)
            for name, (work, n) in chosen.items():
                if work.ends == ends:
                    found[name] = measure(model, marian, translator, work, n, name)
    figures = {"works": {name: found[name] for name in names if name in WORKS}}
    if "growth" in names:
        figures["growth"] = {what: {n: found[str(work)] for n, work in works.items()} for what, works in GROWTH.items()}
    return figures


def main(options: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.decoding", description=__doc__.split("\n")[0])
    parser.add_argument("--size", choices=SIZES, default="base", help="small: to try this benchmark")
    parser.add_argument("--works", nargs="+", choices=[*WORKS, "growth"], default=[*WORKS, "growth"], metavar="WORK",
                        help=", ".join(map(repr, [*WORKS, "growth"])))
    parser.add_argument("--rounds", type=int, default=5, help="how often each one's turn comes; in growth half as often")
    parser.add_argument("--out", type=Path, default=Path("results/decoding.json"))
    arguments = parser.parse_args(options)
    if arguments.rounds < 1:
        parser.exit(2, f"--rounds must be at least 1, not {arguments.rounds}.\n")
    for package in PEERS.values():
        if importlib.util.find_spec(package) is None:
            parser.exit(2, f"{package} is not installed: install the extra: pip install 'annotated_transformer[exchange]'\n")
    config, growth_rounds = SIZES[arguments.size], max(1, arguments.rounds // 2)
    try:
        figures = measure_all(config, arguments.works, arguments.rounds, growth_rounds)
    except InputError as error:
        parser.exit(1, f"{error}\n")
    works = {name: dataclasses.asdict(WORKS[name]) for name in arguments.works if name in WORKS}
    about = {
        "model": dataclasses.asdict(config), "works": works, "rounds": arguments.rounds, "growth_rounds": growth_rounds,
        "alpha": ALPHA, "side_of_the_matrices": SIDE,
        "peers": {package: importlib.import_module(package).__version__ for package in PEERS.values()},
    }
    save(arguments.out, "benchmarks.decoding", figures, about, SEED, options)
    print(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
