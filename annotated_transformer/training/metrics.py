"What a run reports: metrics.jsonl for programs, and curves for TensorBoard; and how its lines are read."
import json
import logging
from pathlib import Path

from ..files import write_file

__all__ = ["METRICS", "Metrics", "curves", "read_lines", "record"]

METRICS = "metrics.jsonl"


def read_lines(path: Path) -> list[bytes]:
    "The lines of metrics.jsonl; none when there is no such file."
    return path.read_bytes().splitlines() if path.exists() else []


def record(line: bytes) -> dict | None:
    "The values of a line; None if it is not whole: a damaged log must not stop a run."
    try:
        values = json.loads(line)
        return values if isinstance(values["step"], int) else None
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


class Metrics:
    "metrics.jsonl and tensorboard/ of a run, from the step on where it stands."

    def __init__(self, run: Path, step: int):
        path = run / METRICS
        if lines := read_lines(path):
            records = [values for values in map(record, lines) if values]
            if damaged := sum(record(line) is None for line in lines[:-1]):  # the last one may just have been broken off
                what = "line is" if damaged == 1 else "lines are"
                logging.getLogger(__name__).warning("%s: %d damaged %s left out", path, damaged, what)
            text = "".join(f"{json.dumps(values)}\n" for values in records if values["step"] <= step)
            write_file(path, lambda path: path.write_text(text, encoding="utf-8"))
        self.log = open(path, "a", buffering=1, encoding="utf-8")
        self.board = curves(run / "tensorboard", step)

    def __enter__(self) -> "Metrics":
        return self

    def __exit__(self, *error) -> None:
        self.log.close()
        if self.board:
            self.board.close()

    def record(self, state: dict, **values: float | dict) -> None:
        "One line, and one point in each curve; of slow updates, which the line names, the curve has their number."
        place = {"step": state["step"], "epoch": state["epoch"], "seconds": round(state["seconds"], 2)}
        self.log.write(json.dumps(place | values) + "\n")
        for name, value in values.items() if self.board else ():
            self.board.add_scalar(name, len(value) if isinstance(value, dict) else value, state["step"])


def curves(directory: Path, step: int):
    "TensorBoard's writer, from the step on where the run stands; None where TensorBoard, an extra, is not installed."
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ModuleNotFoundError:
        how = "pip install 'annotated_transformer[tensorboard]'"
        logging.getLogger(__name__).warning("no curves for TensorBoard, which is not installed (%s); metrics.jsonl has them", how)
        return None
    return SummaryWriter(directory, purge_step=step + 1)
