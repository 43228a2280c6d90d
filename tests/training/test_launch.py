"Tests of training.launch."
from tqdm import tqdm

from annotated_transformer.training.launch import show_progress
from annotated_transformer.training.metrics import Metrics
from annotated_transformer.training.runs import Run


def test_the_bar_follows_the_last_whole_line_of_the_run(tmp_path):
    run, bar = Run(tmp_path), tqdm(total=50, disable=False, file=open(tmp_path / "shown", "w"))
    show_progress(run, bar)
    assert bar.n == 0
    with Metrics(tmp_path, 0) as metrics:
        for step in (10, 20):
            place = {"step": step, "epoch": 0, "seconds": step / 8}
            metrics.record(place, loss=30 / step, target_tokens_per_second=1234.5)
        metrics.record(place, validation_loss=9.0)
    with open(tmp_path / "metrics.jsonl", "a") as file:
        file.write('{"step": 30, "lo')
    show_progress(run, bar)
    assert bar.n == 20 and bar.postfix == "loss 1.500, 1,234 tokens/s"
    bar.close()
    bar.fp.close()
