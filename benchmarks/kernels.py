"""The products of a search with PyTorch's kernels, each alone and in whole searches: which are kept, and which dropped?

    python -m benchmarks.kernels [--rounds 7] [--sentences 64] [--parts products searches] [--out results/speed/kernels.json]

All take turns, in one thread. Each product uses many matrices in turn, more than the caches hold, as in a search. The searches
are those of a shipped translator for sentences of Tatoeba's test split: seconds relative to float32 (median of the rounds'
ratios), and how many sentences change. A kernel is kept if it is the fastest of those that will stay; an operator that PyTorch
plans to delete is kept if it is more than 10% faster than these.
"""
import os
import statistics
import warnings
from collections.abc import Callable, Sequence
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor

from annotated_transformer import Transformer, Translator
from annotated_transformer.config import Search
from annotated_transformer.data import corpora
from annotated_transformer.data.batching import pad
from annotated_transformer.translation.fast_search import beam_search, greedy_search
from annotated_transformer.translation.few_rows import HalvedMatrix
from annotated_transformer.translation.packed_weights import (
    PackedMatrix,
    largest_weight,
    old_product,
    times_short,
    times_whole,
    whole_rows,
    with_matrices,
)
from benchmarks.shared.command import Options, at_least, one_sentence
from benchmarks.shared.side_by_side import one_thread, save, take_turns

MODEL, CORPUS, SEED = "everyday-en-de", "tatoeba-en-de", 0
PRODUCTS = ((256, 256), (256, 1024), (1024, 256), (256, 8000))  # columns and rows of a matrix
ROWS = (1, 4, 16, 64, 256)
CACHES = 2**23  # weights, of all matrices of a product together
Product = Callable[[Tensor], Tensor]


def old_by_onednn(matrix: Tensor, bias: Tensor | None, few: int) -> Product:
    "The old operator for 8 bits, by the library that is not its usual one."
    usual = torch.backends.quantized.engine
    torch.backends.quantized.engine = "onednn"
    try:
        return old_product(8, matrix, bias)
    finally:
        torch.backends.quantized.engine = usual


def by_int_mm(matrix: Tensor, bias: Tensor | None, few: int) -> Product:
    "PyTorch's plain product of whole numbers, inputs with a scale for each row."
    whole, scale = whole_rows(matrix)
    columns = whole.T.contiguous()

    def times(x: Tensor) -> Tensor:
        own = x.abs().amax(-1, True).clamp_(min=1e-30).div_(127)
        inputs = (x / own).round_().to(torch.int8).flatten(0, -2)
        found = torch._int_mm(inputs, columns).float().view(*x.shape[:-1], -1).mul_(own).mul_(scale)
        return found if bias is None else found.add_(bias)

    return times


def by_packed(dtype: torch.dtype, matrix: Tensor, bias: Tensor | None, few: int) -> Product:
    "oneDNN's product with weights that it has packed."
    operators = torch.ops.mkldnn
    packed = operators._reorder_linear_weight(matrix.to(dtype, copy=True), 64)
    bias = None if bias is None else bias.to(dtype)
    return lambda x: operators._linear_pointwise(x.to(dtype), packed, bias, "none", [], "").float()


def by_columns(matrix: Tensor, bias: Tensor | None, few: int) -> Product:
    "Floats, the matrix stored column by column: some libraries read that faster when rows are few."
    columns = matrix.T.contiguous()
    return lambda x: x @ columns if bias is None else torch.addmm(bias, x.flatten(0, -2), columns).view(*x.shape[:-1], -1)


def by_linear(dtype: torch.dtype, matrix: Tensor, bias: Tensor | None, few: int) -> Product:
    "`F.linear`, weights and inputs rounded."
    matrix, bias = matrix.to(dtype), None if bias is None else bias.to(dtype)
    return lambda x: F.linear(x.to(dtype), matrix, bias).float()


def new_eight_bits(matrix: Tensor, bias: Tensor | None, few: int) -> Product:
    "`EightBits`, as where the old operators are gone."
    whole, scale = whole_rows(matrix)
    short, long = times_short(whole, scale, bias), times_whole(whole, scale, bias)
    return lambda x: (short if x.numel() * len(whole) <= few else long)(x)


KERNELS: dict[str, Callable[[Tensor, Tensor | None, int], Product]] = {
    "float32": partial(by_linear, torch.float32),
    "float32, few rows by halves": HalvedMatrix.product,
    "float32, column by column": by_columns,
    "float32, oneDNN packed": partial(by_packed, torch.float32),
    "bfloat16, F.linear": partial(by_linear, torch.bfloat16),
    "bfloat16, oneDNN packed": partial(by_packed, torch.bfloat16),
    "float16, oneDNN packed": partial(by_packed, torch.float16),
    "float16 weights, old operator": lambda matrix, bias, few: old_product(16, matrix, bias),
    "int8, old operator": lambda matrix, bias, few: old_product(8, matrix, bias),
    "int8, old operator by oneDNN": old_by_onednn,
    "int8, _int_mm": by_int_mm,
    "int8, oneDNN": lambda matrix, bias, few: times_whole(*whole_rows(matrix), bias),
    "int8 weights, inputs in bfloat16": lambda matrix, bias, few: times_short(*whole_rows(matrix), bias),
    "int8, oneDNN, or inputs in bfloat16 where multiplications are few": new_eight_bits,
}
def runs(kernel: Callable) -> bool:
    "Whether this processor has what the kernel needs."
    try:
        kernel(torch.randn(32, 32), None, 2**20)(torch.randn(4, 32))
    except RuntimeError:
        return False
    return True


def available(searched: bool = False) -> list[str]:
    "The kernels to compare here; some only as products."
    names = [name for name in KERNELS if not searched or not name.endswith(("F.linear", "in bfloat16"))]
    return [name for name in names if runs(KERNELS[name])]


def products(rounds: int) -> dict[str, dict[str, float]]:
    "By the product, microseconds of each kernel: the medians of the rounds."
    found, names = {}, available()
    for columns, n in PRODUCTS:
        weights = [torch.randn(n, columns) * columns**-0.5 for _ in range(max(2, CACHES // (n * columns)))]
        kernels = {name: [KERNELS[name](weight, None, 2**20) for weight in weights] for name in names}
        for rows in ROWS:
            x = torch.randn(rows, columns)
            works = {who: (lambda many=many, x=x: [times(x) for times in many]) for who, many in kernels.items()}
            seconds = take_turns(works, rounds, desc=f"{rows} × {columns} × {n}")
            name = f"{rows} × {columns} × {n}"
            found[name] = {who: round(statistics.median(each) / len(weights) * 1e6, 1) for who, each in seconds.items()}
            print(name, found[name], flush=True)
    return found


def ways(ids: list[list[int]], search: Search) -> dict[str, Callable[[Transformer], list]]:
    "Searches for these sentences, by a model."
    def beams(model: Transformer, batch: int) -> list:
        parts = [pad(ids[start : start + batch]) for start in range(0, len(ids), batch)]
        return [found[0].tokens for part in parts for found in beam_search(model, part, search)]

    return {
        "greedy, one sentence at a time": lambda model: [greedy_search(model, pad([each]))[0] for each in ids],
        "beam 4, one at a time": partial(beams, batch=1),
        "beam 4, batch 16": partial(beams, batch=16),
        "beam 4, all at once": partial(beams, batch=len(ids)),
    }


def first_sentences(translator: Translator, most: int) -> list[list[int]]:
    "The first of Tatoeba's test split."
    return translator.tokenizer.encode_all([source for source, _ in list(corpora.load(CORPUS).split("test"))[:most]])


def searches(rounds: int, sentences: int) -> dict[str, dict]:
    "By the search, of each kernel: its seconds beside float32's, and how many sentences change."
    translator = Translator.from_pretrained(MODEL)
    models = {name: with_matrices(translator.model, form(KERNELS[name])) for name in available(searched=True)}
    works = ways(first_sentences(translator, sentences), translator.search)
    found = {}
    for name, search in works.items():
        outputs = {who: search(model) for who, model in models.items()}
        seconds = take_turns({who: partial(search, model) for who, model in models.items()}, rounds, 0, desc=name)
        found[name] = {
            who: {"of_float32": round(statistics.median(a / b for a, b in zip(each, seconds["float32"])), 3),
                  "changed": sum(a != b for a, b in zip(outputs[who], outputs["float32"]))}
            for who, each in seconds.items()
        }
        print(name, found[name], flush=True)
    return found


def form(kernel: Callable) -> type[PackedMatrix]:
    "A packed matrix that multiplies by this kernel."
    return type("Tried", (PackedMatrix,), {"product": staticmethod(kernel)})


@one_sentence()
@one_thread()
def main(options: Sequence[str] | None = None) -> None:
    parser = Options("benchmarks.kernels", __doc__, "results/speed/kernels.json")
    parser.add_argument("--rounds", type=at_least(1), default=7)
    parser.add_argument("--sentences", type=at_least(1), default=64)
    parser.add_argument("--parts", nargs="+", choices=("products", "searches"), default=("products", "searches"))
    arguments = parser.parse_args(options)
    warnings.simplefilter("ignore", UserWarning)  # the old operators say at each use what is to become of them
    torch.manual_seed(SEED)
    with torch.inference_mode():
        figures = {}
        if "products" in arguments.parts:
            figures["microseconds"] = products(arguments.rounds)
        if "searches" in arguments.parts:
            figures["searches"] = searches(arguments.rounds, arguments.sentences)
    config = {"models": [MODEL], "corpus": CORPUS, "rounds": arguments.rounds, "sentences": arguments.sentences,
              "instructions": torch.backends.cpu.get_cpu_capability(), "amx": torch.cpu._is_amx_tile_supported(),
              "missing_here": sorted({*KERNELS} - {*available()}), "largest_weight": largest_weight(),
              "onednn_limit": os.environ.get("ONEDNN_MAX_CPU_ISA")}
    save(arguments.out, "benchmarks.kernels", figures, config, SEED, options)


if __name__ == "__main__":
    main()
