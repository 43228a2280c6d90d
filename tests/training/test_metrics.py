"Tests of training.metrics."
import json
import time
from pathlib import Path

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from annotated_transformer.training.metrics import Metrics, curves


def test_metrics_drop_what_will_be_done_again(tmp_path):
    with Metrics(tmp_path, 0) as metrics:
        for step in (10, 20, 30):
            metrics.record({"step": step, "epoch": 0, "seconds": step / 8}, loss=100.0 / step)
    with open(tmp_path / "metrics.jsonl", "a") as file:
        file.write('{"step": 40, "los')                       # a kill in the middle of a line
    time.sleep(1)  # TensorBoard reads its files in the order of their names: the second, and a count where 10 precedes 9
    with Metrics(tmp_path, 20) as metrics:
        metrics.record({"step": 30, "epoch": 0, "seconds": 4.0}, loss=3.0)
    lines = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    assert [(line["step"], line["loss"]) for line in lines] == [(10, 10.0), (20, 5.0), (30, 3.0)]
    shown = EventAccumulator(str(tmp_path / "tensorboard")).Reload().Scalars("loss")
    assert [(event.step, event.value) for event in shown] == [(10, 10.0), (20, 5.0), (30, 3.0)]


def test_runs_go_on_with_a_log_of_what_was_done(tmp_path, caplog):
    good = [{"step": step, "loss": 5.0 - step} for step in (1, 2, 3)]
    for damaged, said in (([], None), (["{"], "1 damaged line is"), (["{", '{"loss": 3}'], "2 damaged lines are")):
        lines = [json.dumps(good[0]), *damaged, *(json.dumps(line) for line in good[1:]), '{"step": 4, "lo']
        (tmp_path / "metrics.jsonl").write_text("\n".join(lines))
        caplog.clear()
        with Metrics(tmp_path, 2) as metrics:
            metrics.record({"step": 3, "epoch": 1, "seconds": 1.23456}, loss=2.5)
            told = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]  # seen at once
        assert told == [*good[:2], {"step": 3, "epoch": 1, "seconds": 1.23, "loss": 2.5}]
        assert [said] == [record.getMessage().split(": ")[1].split(" left")[0] for record in caplog.records] or not said


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a disk that is always full")
def test_a_full_disk_is_told_with_the_name_of_the_file(tmp_path):
    with pytest.raises(OSError, match="No space left on device: '/dev/full'"), Metrics(tmp_path, 0) as metrics:
        metrics.log = open("/dev/full", "a", buffering=1)
        metrics.record({"step": 1, "epoch": 0, "seconds": 1.0}, loss=2.5)


def test_they_draw_their_curves_anew_from_where_they_stand(tmp_path, monkeypatch):
    monkeypatch.setattr("torch.utils.tensorboard.SummaryWriter", lambda directory, purge_step: (directory, purge_step))
    assert curves(tmp_path, 7) == (tmp_path, 8)
