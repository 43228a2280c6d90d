"A large corpus: memory that does not grow with it, and work that survives `kill -9`."
import json
import os
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest

from annotated_transformer.data import corpora
from annotated_transformer.data.large_corpora import TokenizedPairs
from annotated_transformer.data.tokenizer import Tokenizer
from benchmarks import preparation
from benchmarks.shared.side_by_side import server

ROOT = Path(__file__).parents[3]


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="a new process's peak starts with its parent's memory here")
def test_twice_the_pairs_need_no_more_memory(tmp_path, monkeypatch):
    def in_own_process(function: str, *arguments):
        with ProcessPoolExecutor(1, server("benchmarks.preparation")) as pool:
            return pool.submit(getattr(preparation, function), *arguments).result()

    monkeypatch.setattr(preparation, "in_own_process", in_own_process)  # to start Python takes longer than the work
    found = preparation.measure(
        str(tmp_path), 40_000, words=10_000, vocab_size=2_000, batch_tokens=4_096, most=3_000, block=4_000, chunk=1_000
    )
    for size, pairs in (("half", 20_000), ("whole", 40_000)):
        assert found[size]["prepare"]["pairs"] == found[size]["epoch"]["pairs"] == pairs
        assert 0.0 < found[size]["epoch"]["padding_share"] < 0.25
    # 20,000 more pairs of strings would take 9 MiB, and to sort them 2.
    for stage, most in (("prepare", 5 * 2**20), ("epoch", 2**20)):
        half, whole = (found[size][stage]["peak_bytes"] for size in ("half", "whole"))
        assert half > found["half"][stage]["peak_bytes_before"] + 2**20, "nothing was measured"
        assert abs(whole - half) < min(0.05 * half, most), f"{stage}: {half:,} bytes for half, {whole:,} for the whole"


# A process that starts the same `write` again and again, and ends each one with kill -9 somewhere behind the recorded place
# that it was given, until the last one is let through. It prints how many pairs were on record when it struck.
KILLER = """
import json, os, random, signal, sys, time
from pathlib import Path
from annotated_transformer.data.large_corpora import TokenizedPairs
from annotated_transformer.data.tokenizer import Tokenizer
from annotated_transformer.data import corpora

corpus, out, model, seed = sys.argv[1:]
moments, progress, struck = random.Random(int(seed)), Path(out, "train.progress"), []

def recorded():
    try:
        return json.loads(progress.read_text())["read"]
    except FileNotFoundError:
        return 0

for place in (0, 1, 700, 1500, 2800, 3600, None):
    child, status = os.fork(), None
    if not child:
        TokenizedPairs.write(out, "train", corpora.load(corpus).train, Tokenizer.load(model), max_length=30, chunk=97)
        os._exit(0)
    while place is not None and recorded() < place:
        time.sleep(0.0005)
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            break
    else:
        if place is not None:
            time.sleep(moments.uniform(0, 0.01))
            os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
    if not os.WIFSIGNALED(status):  # let through, or too fast to be struck
        assert status == 0
        break
    assert not Path(out, "train.json").exists()
    struck.append(recorded())
print(json.dumps(struck))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_what_kill_9_breaks_off_goes_on_to_the_same_bytes(tmp_path):
    corpus, broken, straight, model = (tmp_path / name for name in ("corpus", "broken", "straight", "model"))
    preparation.write_corpus(str(corpus), 8_000, words=3_000)
    pairs = corpora.load(corpus / "whole").train
    tokenizer = Tokenizer.train((sentence for pair in list(pairs)[:1_000] for sentence in pair), 800)
    tokenizer.save(model)
    undisturbed = TokenizedPairs.write(straight, "train", pairs, tokenizer, max_length=30)
    assert undisturbed.left_out > 1_000 and len(undisturbed) > 1_000
    call = [sys.executable, "-c", KILLER, str(corpus / "whole"), str(broken), str(model), str(os.getpid())]
    done = subprocess.run(call, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    struck = json.loads(done.stdout)
    assert struck == sorted(struck) and len(struck) > 2 and struck[2] >= 700, "each goes on where the one before was killed"
    files = {path.name: path.read_bytes() for path in straight.iterdir()}
    assert sorted(files) == ["train.json", "train.offsets", "train.tokens"]
    assert {path.name: path.read_bytes() for path in broken.iterdir()} == files
