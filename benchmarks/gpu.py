"""How a GPU handles the paper's models: its speed, the share of its peak that it uses, and whether a run resumes exactly.

    python -m benchmarks.gpu [--sizes base big] [--lengthened 150000] [--peak TFLOPS] [--out results/speed/gpu.json]
    torchrun --standalone --nproc-per-node 8 -m benchmarks.gpu ...

Each size trains on real batches, which the functions of training cut, pad, move and process; each update is timed, and
those that took more than twice the median are listed. The sentences are Multi30k's by default: they give fewer pieces than the
model has rows, so we keep the paper's number of rows, and some are never looked up. They are half as long as WMT14's:
--lengthened joins them. The sizes may be measured one by one: the file keeps the others. Of several processes, the leader writes.
"""
import argparse
import dataclasses
import gc
import json
import math
import shlex
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import partial
from itertools import islice
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from annotated_transformer import InputError, results
from annotated_transformer.config import PRESETS, Execution, TrainingConfig
from annotated_transformer.data.large_corpora import TokenizedPairs
from annotated_transformer.progress_bar import progress_bar
from annotated_transformer.tables.training_cost import training_flops
from annotated_transformer.training import devices
from annotated_transformer.training.devices import on_device
from annotated_transformer.training.loop import batches_from, learner_for, own_parts, train, train_step
from annotated_transformer.training.optimizer import adam, learning_rate
from annotated_transformer.training.processes import Group, exchanging_gradients, join, part_seed
from annotated_transformer.training.runs import prepare
from annotated_transformer.training.starting import new_model
from benchmarks.shared.command import Options, at_least, one_sentence
from benchmarks.shared.gpu_parts import Marks, attention_kernels, group_of_one, lengthened, spread, wait_for
from benchmarks.shared.side_by_side import command_of, resident_peak

SETTINGS = {  # name: precision of the products; torch.compile of every layer and the loss, or None: only of the loss
    "bfloat16": ("bfloat16", None),
    "bfloat16 uncompiled": ("bfloat16", False),
    "bfloat16 compiled": ("bfloat16", True),
    "bfloat16 exchanged": ("bfloat16", None),  # DistributedDataParallel, even if one process has nobody to exchange with
    "tf32": ("tf32", None),
    "float32": ("float32", None),
}


def matrix_rates(device: torch.device, side: int, products: int = 5, times: int = 9) -> dict[str, float]:
    "FLOP/s of this device in products of large square matrices, by precision: what no training step on it can beat."
    rates = {}
    for precision in ("bfloat16", "float32", *["tf32"] * (device.type == "cuda")):
        a, b = (torch.randn(side, side, device=device).to(getattr(torch, precision, torch.float32)) for _ in range(2))
        seconds = []
        with devices.products(precision):
            for _ in range(2 + times):  # two to warm up
                wait_for(device)
                start = time.perf_counter()
                for _ in range(products):
                    a @ b
                wait_for(device)
                seconds.append(time.perf_counter() - start)
        rates[precision] = 2 * side**3 * products / statistics.median(seconds[2:])
    return rates


def time_updates(
    config: TrainingConfig, pairs: TokenizedPairs, group: Group, warmup: int, steps: int, bar, exchanged: bool = False,
) -> dict:
    "Train for `warmup` updates and then for `steps` more, each of which is timed; what they did, without any rate."
    device, execution = group.device, on_device(config.execution, group.device)
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)
    model = new_model(config, config.model.vocab_size).to(device)
    optimizer = adam(model.parameters(), fused=True)
    learner = learner_for(model, config, execution, group)
    learner = exchanging_gradients(learner, group) if exchanged else learner
    model.train()
    n_parts = execution.parts(config.batch_tokens, group.size)
    lengths: list[np.ndarray] = []
    losses: list[Tensor] = []  # on the device: reading one would make the program wait
    positions, marks, host = 0, Marks(device), []
    for step, (_, _, rows) in enumerate(islice(batches_from(pairs, config, 0, 0), warmup + steps), 1):
        if step == warmup + 1:
            wait_for(device)
            lengths, positions, marks, host = [], 0, Marks(device), []
            marks.add()
        start = time.perf_counter()
        lengths.append(pairs.lengths_of(rows))
        rate = learning_rate(step, config.model.d_model, config.warmup_steps, config.rate_factor)
        own = own_parts(pairs, rows, lengths[-1], n_parts, group)
        parts = [(part_seed(config.seed, step, number), part) for number, part in own]
        positions += sum(part.source.numel() + part.target.numel() for _, part in parts)
        losses.append(train_step(learner, optimizer, parts, int(lengths[-1][:, 1].sum()), rate, config.clip_norm, group.size))
        marks.add()
        host.append(time.perf_counter() - start)  # until the program could go on
        bar.update()
    seconds = marks.seconds()
    source, target = np.concatenate(lengths).T
    first, last, positions = group.total(float(losses[0]), float(losses[-1]), positions)
    return {
        "updates": steps, "seconds": sum(seconds), **spread(seconds), "median_seconds_of_the_program": statistics.median(host),
        "processes": group.size, "parts_of_a_batch": n_parts,
        "source_tokens": int(source.sum()), "target_tokens": int(target.sum()), "padded_positions": int(positions),
        "model_flops": int(training_flops(config.model, source, target).sum()),
        "peak_bytes": torch.cuda.max_memory_allocated(device) if device.type == "cuda" else resident_peak(),
        "reserved_bytes": torch.cuda.max_memory_reserved(device) if device.type == "cuda" else None,
        "losses": {"first": first, "last": last},
    }


def with_rates(found: dict, matrix_rate: float, peak: float | None) -> dict:
    "The same with what was done in a second, and as a share of what the device can do."
    counted = ("source_tokens", "target_tokens", "padded_positions", "model_flops")
    a_second = {name: found[name] / found["seconds"] for name in counted}
    achieved = a_second["model_flops"] / found["processes"]
    losses = {name: loss if math.isfinite(loss) else None for name, loss in found["losses"].items()}  # JSON knows no infinity
    return found | {
        "target_tokens_per_second": round(a_second["target_tokens"], 1),
        "source_and_target_tokens_per_second": round(a_second["source_tokens"] + a_second["target_tokens"], 1),
        "padded_positions_per_second": round(a_second["padded_positions"], 1),
        "seconds_per_update": found["seconds"] / found["updates"],
        "model_flops_per_second": achieved,
        "share_of_its_matrix_products": achieved / matrix_rate,
        "share_of_the_given_peak": None if peak is None else achieved / peak,
        "losses": losses,
        "finite": None not in losses.values(),
    }


def attempt(action: Callable[[], dict], processes: int = 1) -> dict:
    "What `action` gives. What does not fit into the device, or does not run there, is a finding and ends nothing."
    try:
        found = action()
    except torch.cuda.OutOfMemoryError:
        if processes > 1:  # the others wait for this one
            raise
        found = {"out_of_memory": True}
    except (RuntimeError, InputError) as error:  # no compiler for torch.compile, no room for checkpoints
        if processes > 1:
            raise
        lines = str(error).strip().splitlines()
        found = {"failed": f"{type(error).__name__}: {lines[0] if lines else ''}"}
    torch.compiler.reset()  # here nothing holds the model any more
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
    return found


def difference(one: dict[str, Tensor], other: dict[str, Tensor]) -> dict:
    "Whether two sets of weights are equal to the bit; else how far the worst is off, against the largest number beside it."
    pairs = [(weight, other[name]) for name, weight in one.items() if not weight.equal(other[name])]
    off = [float((a - b).abs().max() / a.abs().max()) for a, b in pairs]
    return {"equal": not off, "weights_that_differ": len(off), "largest_relative_difference": max(off, default=0.0)}


def resume(config: TrainingConfig, steps: int, prepared: Path, directory: Path) -> dict:
    "Train twice without a break, and once with one; kernels whose sums come in any order differ already in the first two."
    every = max(1, steps // 2)
    config = dataclasses.replace(
        config, steps=steps, checkpoint_every=every, checkpoint_minutes=None, validate_every=steps, log_every=every, keep=1,
    )

    def weights(name: str, *stops: int) -> dict[str, Tensor]:
        run = directory / name
        shutil.copytree(prepared, run)
        try:
            for stop in stops:
                model = train(dataclasses.replace(config, steps=stop), run)
            return {name: weight.cpu() for name, weight in model.state_dict().items()}
        finally:
            shutil.rmtree(run)

    first = weights("first", steps)
    return {
        "updates": steps, "stopped_after": every, "precision": config.execution.precision,
        "stopped_and_resumed": difference(first, weights("resumed", every, steps)),
        "uninterrupted_twice": difference(first, weights("second", steps)),
    }


def summary(device_name: str, rates: dict[str, float], peak: float | None, by_setting: dict[str, dict]) -> dict:
    "The best setting of a size, and all of them."
    rated = {name: found for name, found in by_setting.items() if found.get("finite")}
    best = max(rated, key=lambda name: rated[name]["target_tokens_per_second"], default=None)
    share = "share_of_its_matrix_products" if peak is None else "share_of_the_given_peak"
    return {
        "device": device_name,
        "best_setting": best,
        "target_tokens_per_second": best and rated[best]["target_tokens_per_second"],
        "share_of_peak": best and rated[best][share],
        "peak": "its own matrix products of the same precision, measured here" if peak is None else "the data sheet's, as given",
        "matrix_products_flops_per_second": rates,
        "given_peak_flops_per_second": peak,
        "by_setting": by_setting,
    }


def configured(size: str, arguments: argparse.Namespace, device: torch.device) -> TrainingConfig:
    "The preset of this size, on the given corpus. The model has as many rows as it wants, or as the pieces need."
    preset = dataclasses.replace(PRESETS[size], batch_tokens=arguments.batch_tokens or PRESETS[size].batch_tokens)
    model = dataclasses.replace(preset.model, vocab_size=max(preset.model.vocab_size, arguments.vocab_size))
    execution = Execution(device.type, arguments.device_tokens)
    return dataclasses.replace(preset, model=model, corpus=arguments.corpus, execution=execution)


def measure(size: str, arguments: argparse.Namespace, group: Group, rates: dict, directory: Path, save) -> None:
    "All settings of one size, then resuming; `save` gets what is known so far after each."
    config = configured(size, arguments, group.device)
    learnt = dataclasses.replace(config, model=dataclasses.replace(config.model, vocab_size=arguments.vocab_size))
    prepared = directory / "prepared"
    if arguments.lengthened:
        corpus = str(lengthened(arguments.corpus, arguments.lengthened, directory / "corpus"))
        config, learnt = (dataclasses.replace(one, corpus=corpus) for one in (config, learnt))
    tokenizer, pairs, _ = prepare(learnt, prepared)  # each process for itself: all find the same
    peak = arguments.peak and arguments.peak * 1e12
    hardware = results.environment(group.device)["hardware"]
    by_setting: dict[str, dict] = {}
    about = {
        "training": config.to_dict(), "rows_of_the_model": config.model.vocab_size, "pieces_learnt": tokenizer.vocab_size,
        "pairs": len(pairs), "warmup": arguments.warmup, "steps": arguments.steps, "lengthened": arguments.lengthened,
    }
    kernels = attempt(partial(attention_kernels, group.device, config.model.n_heads, config.model.d_k, arguments.attention_rows))
    total = arguments.warmup + arguments.steps
    for name in arguments.settings:
        precision, compiled = SETTINGS[name]
        execution = dataclasses.replace(config.execution, precision=precision, compile=compiled)
        chosen = dataclasses.replace(config, execution=execution)
        shown = {"desc": f"{size}, {name}", "shown": group.rank == 0}
        exchanged = name.endswith("exchanged") and group.size == 1  # several processes exchange in every setting
        alone = group_of_one(group.device) if exchanged else nullcontext()
        with progress_bar(total=total, unit="step", **shown) as bar, devices.products(precision), alone:
            timed = partial(time_updates, chosen, pairs, group, arguments.warmup, arguments.steps, bar, exchanged)
            found = attempt(timed, group.size)
        if "seconds" in found:
            found = with_rates(found, rates[precision], peak if precision == "bfloat16" else None)
        by_setting[name] = found
        figures = summary(hardware.get("accelerator") or hardware["processor"], rates, peak, by_setting) | {"attention": kernels}
        save(size, figures, about)
    if arguments.resume_steps and group.size == 1:  # `train` would join the same processes once more
        chosen = dataclasses.replace(learnt, execution=on_device(config.execution, group.device))
        save(size, figures | {"resume": attempt(partial(resume, chosen, arguments.resume_steps, prepared, directory))}, about)


def earlier(path: Path) -> dict:
    "Figures and configurations of an earlier run, to be kept for the sizes that this one does not measure."
    if not path.exists():
        return {"figures": {}, "config": {}}
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        return {name: dict(record[name]) for name in ("figures", "config")}
    except (ValueError, KeyError, TypeError):
        raise InputError(f"{path}: this is no earlier result of this benchmark; remove it, or choose another --out") from None


def positive(text: str) -> float:
    if not 0 < float(text) < math.inf:
        raise argparse.ArgumentTypeError(f"must be a number above 0, not {text}")
    return float(text)


@one_sentence()
def main(options: Sequence[str] | None = None) -> None:
    parser = Options("benchmarks.gpu", __doc__, "results/speed/gpu.json")
    parser.add_argument("--sizes", nargs="+", choices=PRESETS, default=["base", "big"], metavar="PRESET")
    parser.add_argument("--settings", nargs="+", choices=SETTINGS, metavar="SETTING",
                        help=f"all that the device has, if none are named, of {', '.join(map(repr, SETTINGS))}")
    parser.add_argument("--device", choices=("cuda", "cpu"), help="by default cuda; the CPU is only for trials of this benchmark")
    parser.add_argument("--device-tokens", type=at_least(1), help="positions taken at a time, by default a whole batch")
    parser.add_argument("--peak", type=positive, metavar="TFLOPS", help="of 16-bit products without sparsity, by the data sheet")
    parser.add_argument("--corpus", default="multi30k-en-de", help="its name, or a directory")
    parser.add_argument("--vocab-size", type=at_least(1), default=10_000, help="pieces to learn; Multi30k has no 37,000")
    parser.add_argument("--lengthened", type=at_least(1), metavar="PAIRS", help="join its sentences to ones like WMT14's")
    parser.add_argument("--batch-tokens", type=at_least(1), help="in place of the preset's; one of eight GPUs does 3125")
    parser.add_argument("--attention-rows", type=at_least(20), default=860, help="sentences that attention is timed on")
    parser.add_argument("--warmup", type=at_least(0), default=10, help="updates that are not timed")
    parser.add_argument("--steps", type=at_least(1), default=50, help="updates that are timed")
    parser.add_argument("--resume-steps", type=at_least(0), default=12, help="updates of the run that is resumed; 0: none")
    arguments = parser.parse_args(options)
    if arguments.device is None and not torch.cuda.is_available():
        parser.exit(2, "This benchmark is meant for a GPU and PyTorch finds none; give --device cpu to try it on the CPU.\n")
    if arguments.resume_steps == 1:
        parser.exit(2, "A run of one update cannot be stopped in its middle: give --resume-steps 2 or more, or 0.\n")
    arguments.settings = arguments.settings or [name for name in SETTINGS if name != "tf32" or arguments.device != "cpu"]
    command = shlex.join(command_of("benchmarks.gpu", options))
    record, unsound = earlier(arguments.out), []
    with join(arguments.device or "cuda") as group:
        products = {"float32_products": torch.get_float32_matmul_precision()}
        rates = matrix_rates(group.device, side=8192 if group.device.type == "cuda" else 128)

        def save(size: str, figures: dict, config: dict) -> None:
            if group.rank:
                return
            record["figures"][size] = figures
            record["config"][size] = config | {"command": command, **results.environment(group.device), **products}
            more = {"seed": config["training"]["seed"], "device": group.device, **products}
            results.write(arguments.out, record["figures"], command=command, config=record["config"], **more)

        for size in arguments.sizes:
            with tempfile.TemporaryDirectory() as directory:
                measure(size, arguments, group, rates, Path(directory), save)
            if group.rank:
                continue
            found = record["figures"][size]
            print(json.dumps({size: found}, indent=1), flush=True)
            parts = {**found["by_setting"], "resume": found.get("resume", {})}
            unsound += [f"{size}, {name}" for name, part in parts.items() if "failed" in part or part.get("finite") is False]
    if unsound:
        parser.exit(1, f"Not everything ran as it should; see {arguments.out} for {'; '.join(unsound)}.\n")


if __name__ == "__main__":
    main()
