"The other programs that `benchmarks.decoding` measures: each in its own process, which reports its time."
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from multiprocessing import get_context

import torch

from annotated_transformer.config import Search
from annotated_transformer.exchange.ctranslate2 import to_ctranslate2
from annotated_transformer.exchange.onnx import to_onnx
from annotated_transformer.exchange.onnx_translator import OnnxTranslator
from annotated_transformer.model.transformer import Transformer

CTRANSLATE2 = {  # as it comes; with its other matrix library; in 8 bits, with the scale of each row
    "ctranslate2": {}, "ctranslate2_onednn": {"CT2_USE_MKL": "0"}, "ctranslate2_int8": {"compute_type": "int8"},
}


def open_translator(directory: str, threads: int, variables: dict[str, str]) -> None:
    "Make this process one that translates."
    global translator
    variables = {"compute_type": "float32", **variables}
    compute_type = variables.pop("compute_type")
    os.environ.update(variables)
    import ctranslate2

    threads = {"intra_threads": threads, "inter_threads": 1}
    translator = ctranslate2.Translator(directory, device="cpu", compute_type=compute_type, **threads)


def translate(source: list[list[str]], options: dict) -> tuple[list[list[str]], float]:
    "The work of that process, and the processor's seconds for it."
    before = time.process_time()
    return [found.hypotheses[0] for found in translator.translate_batch(source, **options)], time.process_time() - before


def open_graphs(directory: str, threads: int) -> None:
    "Make this process one that translates by ONNX Runtime."
    global translator
    translator = OnnxTranslator(directory, threads)


def search_graphs(sentences: list[list[int]], search: Search) -> tuple[list[list[int]], float]:
    "The work of that process, and the processor's seconds for it."
    before = time.process_time()
    return [found[0].tokens for found in translator.search(sentences, search)], time.process_time() - before


class Elsewhere:
    "A process that works for this one. `seconds`: the processor time of all answers of all such processes."

    seconds = 0.0

    def __init__(self, pool: ProcessPoolExecutor):
        self.pool = pool

    def ask(self, function: Callable, *arguments) -> list:
        "What the function finds there."
        found, seconds = self.pool.submit(function, *arguments).result()
        Elsewhere.seconds += seconds
        return found


@contextmanager
def translating_processes(model: Transformer) -> Iterator[dict[str, Elsewhere]]:
    """A process for each form of CTranslate2, and one for ONNX Runtime. In one process, their threads and PyTorch's would be more
    than the machine has cores; such threads sleep after each of their many small tasks, and for one sentence ours and Marian's
    took up to 1.7 times as long."""
    with tempfile.TemporaryDirectory() as directory, ExitStack() as stack:
        to_ctranslate2(model, os.path.join(directory, "ctranslate2"))
        pools = {}
        for name, variables in CTRANSLATE2.items():
            arguments = (os.path.join(directory, "ctranslate2"), torch.get_num_threads(), variables)
            pool = ProcessPoolExecutor(1, get_context("spawn"), initializer=open_translator, initargs=arguments)
            pools[name] = Elsewhere(stack.enter_context(pool))
        arguments = (os.path.join(directory, "onnx"), torch.get_num_threads())
        to_onnx(model, arguments[0])
        pool = ProcessPoolExecutor(1, get_context("spawn"), initializer=open_graphs, initargs=arguments)
        pools["onnx_runtime"] = Elsewhere(stack.enter_context(pool))
        yield pools
