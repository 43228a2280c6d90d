"Start training in several processes on this machine from a notebook, which is a single process and cannot become eight."
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tqdm import tqdm

from .. import InputError
from ..config import TrainingConfig
from ..environment import with_this_package
from ..model.pretrained import planned
from ..model.transformer import Transformer
from ..progress_bar import progress_bar
from .metrics import METRICS, read_lines, record
from .runs import Run
from .starting import contents, undo

__all__ = ["launch"]


def show_progress(run: Run, bar: tqdm) -> None:
    "Move the bar to the last line that the run wrote."
    latest_first = map(record, reversed(read_lines(run.directory / METRICS)))
    if line := next((line for line in latest_first if line and "loss" in line), None):
        bar.update(line["step"] - bar.n)
        bar.set_postfix_str(f"loss {line['loss']:.3f}, {line['target_tokens_per_second']:,.0f} tokens/s")


def launch(
    config: TrainingConfig,
    directory: str | Path,  # of the run
    processes: int,
    restarts: int = 0,      # how many times the processes are restarted after one dies
) -> None:
    "Train with several processes on this machine, started by torchrun, and show their progress. Interrupting stops them."
    run = Run(directory)
    before = contents(run.directory)
    planned(Transformer, config.model)
    run.open(config)
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={processes}"]
    command = [*torchrun, f"--max-restarts={restarts}", "-m", "annotated_transformer", "train", "--run-directory", str(run)]
    file = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")  # the command writes UTF-8 in any locale
    with file as output, progress_bar(total=config.steps, unit="step", desc=run.directory.name) as bar:
        child = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, env=with_this_package())
        try:
            while child.poll() is None:
                time.sleep(0.2)
                show_progress(run, bar)
            show_progress(run, bar)
        finally:
            if child.poll() is None:
                child.terminate()
                child.wait()
        output.seek(0)
        said = output.read()
    if child.returncode:
        mark = "annotated-transformer: "
        mistakes = [line.removeprefix(mark) for line in said.splitlines() if line.startswith(mark)]
        if mistakes:
            if not run.checkpoints():
                undo(run.directory, before)
            raise InputError(mistakes[0])
        # torchrun's report has up to 4,000 characters; what a process said before it died comes before it
        raise RuntimeError(f"torchrun ended with status {child.returncode}:\n{said[-6000:]}")
