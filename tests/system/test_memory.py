"A laptop is enough: what a training step takes, measured as `python -m benchmarks.footprint` does."
import json
import subprocess
import sys
from pathlib import Path

PROGRAM = "import json; from benchmarks.footprint import peak_of_training; print(json.dumps(peak_of_training()))"


def test_a_training_step_of_tiny_at_4096_tokens_stays_under_2_gibibytes():
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", PROGRAM], cwd=root, stdout=subprocess.PIPE, check=True, text=True)
    found = json.loads(done.stdout)
    assert (found["tokens"], found["vocabulary"]) == (4096, 10_000)
    assert found["losses"][1] < found["losses"][0], "no step was taken"
    assert found["peak_bytes_before_the_first_step"] < found["peak_bytes"] < 2 * 2**30
