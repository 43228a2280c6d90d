"""Kill a training run at random instants and compare its result with that of a run that nobody killed.

    python -m benchmarks.kills [--kills 50] [--processes 1 2] [--seed 0] [--out results/checks/kills.json]

A kill is SIGKILL, which a process cannot see coming, sent to all processes of the run at once. After each kill the same training
is started again; when it ends, its last checkpoint and its metrics are compared byte by byte, and a new run begins.
Every child is forked from a server that has already imported PyTorch, so the time goes into training, not into imports.
"""
import os
import random
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from annotated_transformer.config import TrainingConfig, TransformerConfig
from annotated_transformer.training.checkpoints import FILES
from annotated_transformer.training.loop import train
from annotated_transformer.training.runs import Run
from benchmarks.shared.command import Options, one_sentence
from benchmarks.shared.corpus_files import write_corpus
from benchmarks.shared.side_by_side import free_port, save, server

# Small, so that many runs fit into a minute; a checkpoint at every third update, so that much of the time goes into writing.
MODEL = TransformerConfig(30, n_layers=1, d_model=32, d_ff=64, n_heads=2, dropout=0.2, max_length=24)
STEPS, EVERY = 90, 3
PAIRS = {  # of unequal lengths
    split: [(f"{'a b c d e f g'[: 1 + 2 * (i % 7)]} {i % 10}", f"{i % 10} {'u v w x y z'[: 1 + 2 * (i % 5)]}") for i in range(n)]
    for split, n in (("train", 80), ("validation", 8))
}


def worker(config: TrainingConfig, run: Path, rank: int, size: int, port: int) -> None:
    "One process of a run, as torchrun would start it."
    import torch
    from torch.optim.optimizer import register_optimizer_step_pre_hook

    torch.set_num_threads(1)
    if size > 1:
        meeting = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": size, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
        os.environ.update({name: str(value) for name, value in meeting.items()})
    sys.stderr = open(os.devnull, "w")  # a process that briefly survives the other complains
    register_optimizer_step_pre_hook(lambda *_: marker(run).touch())  # before each update
    train(config, run)


def marker(run: Path) -> Path:
    "A file that says that the run is at its updates."
    return run.with_name(f"{run.name}.computes")


class Killer:
    "Starts, kills and compares runs of one number of processes."

    def __init__(self, directory: Path, size: int):
        self.directory, self.size = directory, size
        self.context = server("annotated_transformer.training.loop")
        self.config = TrainingConfig(
            MODEL, corpus=str(directory / "corpus"), batch_tokens=100, steps=STEPS, warmup_steps=20, log_every=1,
            validate_every=30, checkpoint_every=EVERY, checkpoint_minutes=None, keep=4,
        )

    def start(self, run: Path) -> list:
        marker(run).unlink(missing_ok=True)
        port = free_port()
        work = [(self.config, run, rank, self.size, port) for rank in range(self.size)]
        children = [self.context.Process(target=worker, args=arguments) for arguments in work]
        for child in children:
            child.start()
        return children

    def whole_run(self, name: str) -> tuple[float, float]:
        "Train without a break; the seconds until the first update, and those from there to the end."
        run, begin = self.directory / name, time.monotonic()
        children = self.start(run)
        while not marker(run).exists() and any(child.is_alive() for child in children):
            time.sleep(0.001)
        computing = time.monotonic()
        for child in children:
            child.join()
            assert child.exitcode == 0, f"{name} ended with status {child.exitcode}"
        return computing - begin, time.monotonic() - computing

    def outcome(self, name: str) -> list:
        "All that a finished run leaves, but for dates and times."
        run = Run(self.directory / name)
        told = [(line["step"], line.get("loss"), line.get("validation_loss")) for line in run.metrics()]
        bits = [(path / name).read_bytes() for path in run.checkpoints() for name in FILES[:2]]
        return [told, sorted(path.name for path in (run.directory / "checkpoints").iterdir()), bits]

    def doing(self, run: Path, began: float) -> str:
        "What the run was at when it was killed, by what it left."
        if any(path.stat().st_mtime > began for path in (run / "checkpoints").glob("*.tmp")):
            return "writing a checkpoint or removing one"
        return "computing" if marker(run).exists() else "starting"

    def many_kills(self, kills: int, seed: int) -> dict:
        "Kill `kills` times at random instants, over as many runs as that takes."
        self.whole_run("warming-up")  # the first children wait for the server's imports
        chance, (start_span, span) = random.Random(seed), self.whole_run("untouched")
        expected = self.outcome("untouched")
        done, runs, same, instants = 0, 0, 0, []
        while True:
            run = self.directory / f"killed-{runs}"
            while True:
                began, children = time.time(), self.start(run)
                early = chance.random() < 0.2    # one in five may strike before the first update, the others after it
                writing = chance.random() < 0.3  # and some wait for the next checkpoint, to strike in the middle of it

                def alive(children=children) -> bool:
                    return any(child.is_alive() for child in children)

                while not early and not marker(run).exists() and alive():
                    time.sleep(0.001)
                deadline = time.monotonic() + chance.uniform(0, start_span if early else 0.5 * span)
                while alive() and (done >= kills or time.monotonic() < deadline):
                    time.sleep(0.001)
                while writing and not early and alive() and not list((run / "checkpoints").glob("*.tmp")):
                    pass
                if not alive():
                    break
                for child in chance.sample(children, len(children)):
                    child.kill()
                for child in children:
                    child.join()
                done += 1
                instants.append({"run": runs, "reached": len(Run(run).metrics()), "doing": self.doing(run, began)})
            assert [child.exitcode for child in children] == [0] * self.size, f"{run.name} ended by itself, and not well"
            runs += 1
            same += self.outcome(run.name) == expected
            if done >= kills:
                doing = [instant["doing"] for instant in instants]
                return {
                    "processes": self.size, "kills": done, "runs": runs, "runs_equal_to_the_uninterrupted_one": same,
                    "killed_while": {what: doing.count(what) for what in sorted(set(doing))}, "instants": instants,
                }


@one_sentence()
def main(options: Sequence[str] | None = None) -> None:
    parser = Options("benchmarks.kills", __doc__, "results/checks/kills.json")
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--processes", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args(options)
    figures, config = [], None
    for size in arguments.processes:
        with tempfile.TemporaryDirectory() as directory:
            write_corpus(PAIRS, Path(directory, "corpus"))
            killer = Killer(Path(directory), size)
            figures.append(killer.many_kills(arguments.kills, arguments.seed))
            config = killer.config.to_dict() | {"corpus": "eighty made-up pairs"}
        print({name: value for name, value in figures[-1].items() if name != "instants"}, flush=True)
    save(arguments.out, "benchmarks.kills", figures, config, arguments.seed, options)


if __name__ == "__main__":
    main()
