"What benchmarks.gpu measures besides whole updates, and the sentences it uses."
import random
import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.nn.attention import SDPBackend

from annotated_transformer.data import corpora


def wait_for(device: torch.device) -> None:
    "A GPU works asynchronously: wait until it has finished all its work."
    if device.type == "cuda":
        torch.cuda.synchronize(device)


class Marks:
    "The seconds between points of a program, on the device, which nobody waits for until they are read."

    def __init__(self, device: torch.device):
        self.device, self.found = device, []

    def add(self) -> None:
        if self.device.type == "cuda":
            event = torch.cuda.Event(enable_timing=True)
            event.record()
            self.found.append(event)
        else:
            self.found.append(time.perf_counter())

    def seconds(self) -> list[float]:
        wait_for(self.device)
        pairs = list(zip(self.found, self.found[1:]))
        if self.device.type == "cuda":
            return [start.elapsed_time(end) / 1e3 for start, end in pairs]
        return [end - start for start, end in pairs]


@contextmanager
def group_of_one(device: torch.device) -> Iterator[None]:
    "Within it, this process is a group that exchanges gradients with itself, by NCCL on a GPU: whether that runs, and its cost."
    dist.init_process_group("nccl" if device.type == "cuda" else "gloo", store=dist.HashStore(), rank=0, world_size=1)
    try:
        yield
    finally:
        dist.destroy_process_group()


def spread(seconds: list[float]) -> dict:
    "Median and 90th percentile of the seconds of updates, and those that took more than twice the median, by number."
    median, ordered = statistics.median(seconds), sorted(seconds)
    slow = {number: found for number, found in enumerate(seconds, 1) if found > 2 * median}
    return {
        "median_seconds": median, "percentile_90_seconds": ordered[min(len(ordered) - 1, int(0.9 * len(ordered)))],
        "slow_updates": slow, "seconds_in_slow_updates": sum(slow.values()),
    }


def attention_kernels(
    device: torch.device,
    n_heads: int,
    d_head: int,
    rows: int = 860,      # sentences of a batch, and their tokens on either side
    source: int = 28,
    target: int = 29,
    new_shapes: int = 8,
) -> dict:
    "Which kernel each attention gets in bfloat16, and what a call takes, also of a shape that is new: without and with cuDNN."

    def forms(rows: int, source: int, target: int) -> dict[str, tuple]:
        def heads(*lengths: int):
            made = (torch.randn(rows, n, n_heads, d_head, device=device, dtype=torch.bfloat16) for n in lengths)
            return [x.transpose(1, 2).requires_grad_() for x in made]

        allowed = torch.ones(rows, 1, 1, source, dtype=torch.bool, device=device)
        allowed[::2, ..., -1] = False
        return {
            "encoder": (heads(source, source, source), allowed, False), "decoder": (heads(target, target, target), None, True),
            "memory": (heads(target, source, source), allowed, False),
        }

    def call(given: tuple) -> float:
        wait_for(device)
        start = time.perf_counter()
        F.scaled_dot_product_attention(*given[0], given[1], is_causal=given[2]).sum().backward()
        wait_for(device)
        return time.perf_counter() - start

    before, found = torch.backends.cuda.cudnn_sdp_enabled(), {}
    try:
        for name, allowed in (("without cuDNN", False), ("with cuDNN", True)):
            torch.backends.cuda.enable_cudnn_sdp(allowed)
            kernels = {}
            for form, given in forms(rows, source, target).items():
                chosen = SDPBackend(torch._fused_sdp_choice(*given[0], given[1], is_causal=given[2])).name.lower()
                first, *later = (call(given) for _ in range(6))
                kernels[form] = {"kernel": chosen, "first_seconds": first, "later_seconds": min(later)}
            unseen = [forms(rows - 10 - i, source + 2 + i, target + 2 + i).values() for i in range(new_shapes)]
            a_shape = [sum(map(call, givens)) for givens in unseen]
            found[name] = kernels | {"seconds_of_a_new_shape": statistics.median(a_shape)}
    finally:
        torch.backends.cuda.enable_cudnn_sdp(before)
    return found


def lengthened(corpus: str, pairs: int, directory: Path) -> Path:
    "A corpus with sentences about as long as those of WMT14, put together from another's: for speed, not for sense."
    data, chance = corpora.load(corpus), random.Random(0)
    whole = list(data.train)
    directory.mkdir(parents=True, exist_ok=True)
    for split, count in (("train", pairs), ("validation", min(pairs, 500))):
        sides: tuple[list[str], list[str]] = ([], [])
        for _ in range(count):
            words = max(1, min(180, round(chance.lognormvariate(3.0, 0.62))))
            texts: tuple[list[str], list[str]] = ([], [])
            while min(map(len, texts)) < words:
                for text, sentence in zip(texts, chance.choice(whole)):
                    text += sentence.split() or ["."]
            other = max(1, round(words * chance.lognormvariate(0.0, 0.2)))
            for side, text, most in zip(sides, texts, (words, other)):
                side.append(" ".join(text[:most]))
        for language, side in zip((data.source_language, data.target_language), sides):
            (directory / f"{split}.{language}").write_text("\n".join(side) + "\n", encoding="utf-8")
    return directory
