"What a run reports: metrics.jsonl for programs, and curves for TensorBoard; and how its lines are read."
import json
import logging
from contextlib import suppress
from pathlib import Path
from typing import TypedDict

from .. import InputError
from ..files import opened, write_text_file
from ..json_files import parsed

__all__ = ["METRICS", "Metrics", "curves", "read_lines", "record"]

METRICS = "metrics.jsonl"


class Line(TypedDict):
    "What a line holds, whatever it reports."
    step: int


def read_lines(path: Path) -> list[bytes]:
    "The lines of metrics.jsonl; none if there is no such file."
    if not path.exists():
        return []
    with opened(path) as file:
        return file.read().splitlines()


def record(line: bytes) -> dict | None:
    "The values of a line; None if it is incomplete: a damaged log must not stop a run."
    try:
        return parsed(line, Line)
    except InputError:
        return None


class Metrics:
    "metrics.jsonl and tensorboard/ of a run, from its current step on."

    def __init__(self, run: Path, step: int):
        path = run / METRICS
        if lines := read_lines(path):
            records = list(map(record, lines))
            if damaged := records[:-1].count(None):  # the last one may simply have been cut off
                what = "line is" if damaged == 1 else "lines are"
                logging.getLogger(__name__).warning("%s: %d damaged %s left out", path, damaged, what)
            text = "".join(f"{json.dumps(values)}\n" for values in records if values and values["step"] <= step)
            write_text_file(path, text)
        self.log = open(path, "a", buffering=1, encoding="utf-8", newline="\n")
        self.curves = run / "tensorboard"
        self.board = curves(self.curves, step)

    def __enter__(self) -> "Metrics":
        return self

    def __exit__(self, *error) -> None:
        with suppress(OSError):  # a full disk was already reported when the line was written
            self.log.close()
        if self.board:
            with suppress(FileNotFoundError):  # somebody has removed the curves since the last line
                self.board.close()

    def record(self, state: dict, **values: float | dict) -> dict:
        "Write one line, which is returned, and one point of each curve; for slow updates, which the line lists, their number."
        place = {"step": state["step"], "epoch": state["epoch"], "seconds": round(state["seconds"], 2)}
        try:
            self.log.write(json.dumps(place | values) + "\n")
        except OSError as error:
            error.filename = self.log.name  # the error of a full disk names no file
            raise
        if self.board and not self.curves.is_dir():  # TensorBoard's thread would fail at the next write and end the run
            logging.getLogger(__name__).warning("%s is gone: no more curves for TensorBoard; metrics.jsonl has all", self.curves)
            with suppress(OSError):  # its thread may just have failed
                self.board.close()
            self.board = None
        for name, value in values.items() if self.board else ():
            self.board.add_scalar(name, len(value) if isinstance(value, dict) else value, state["step"])
        return place | values


def curves(directory: Path, step: int):
    "TensorBoard's writer, from the run's current step on; None if TensorBoard, an extra, is not installed."
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ModuleNotFoundError:
        how = 'pip install "annotated_transformer[tensorboard]"'
        logging.getLogger(__name__).warning("no curves for TensorBoard, which is not installed (%s); metrics.jsonl has them", how)
        return None
    return SummaryWriter(directory, purge_step=step + 1)
