"""The page that translates: its size, how long a browser takes until the first translation, and how often it agrees with ours.

    python -m benchmarks.page [--model everyday-en-de] [--rounds 5] [--sentences 200] [--out results/speed/page.json]

A round opens the page in a new window, with nothing kept from earlier rounds, and ends when its example is translated. Then
the page's own graphs (matrices in 8 bits) search the first sentences of two test sets in Python, greedily and with beam 4; the
browser tests check that the page finds the same.

Needs playwright, Chromium, the extra `exchange`, and a network the first time: the page's runtime is downloaded.
"""
import functools
import http.server
import json
import os
import statistics
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from annotated_transformer import EOS, PAD, extra
from annotated_transformer.config import Search
from annotated_transformer.data import corpora
from annotated_transformer.data.tokenizer import Tokenizer
from annotated_transformer.exchange.browser_page import PAGE, SWITCHES, write_page
from annotated_transformer.exchange.onnx_translator import continuations
from annotated_transformer.figures.head_changes import KINDS
from annotated_transformer.progress_bar import progress_bar
from annotated_transformer.translation.bleu import sacre_bleu
from annotated_transformer.translation.search import length_penalty
from annotated_transformer.translation.translator import Translator
from benchmarks.explorer import chromium
from benchmarks.onnx import BEAMS, PACKAGES, SPLITS
from benchmarks.shared.command import Options, at_least, one_sentence
from benchmarks.shared.side_by_side import require_packages, save

PATIENCE = 600_000  # milliseconds


class PageGraphs:
    "The files of a page, searched in Python as the page does it."

    def __init__(self, directory: Path):
        files = Path(directory, "translate")
        runtime, self.settings = extra("onnxruntime"), json.loads((files / "settings.json").read_text(encoding="utf-8"))
        self.tokenizer = Tokenizer.load(files / "tokenizer.model")
        self.encoder, self.decoder = (runtime.InferenceSession(str(files / f"{name}.onnx")) for name in ("encoder", "decoder"))

    def given(self, ids: list[int], off: Sequence = ()) -> dict[str, np.ndarray]:
        "The inputs of both graphs; `off` holds names of switches, and heads: a kind, a layer and a head, both from 1."
        config = self.settings["config"]
        heads = np.ones((len(KINDS), config["n_layers"], config["n_heads"]), np.float32)
        for kind, layer, head in (one for one in off if one not in SWITCHES):
            heads[KINDS.index(kind), layer - 1, head - 1] = 0
        switches = np.array([name not in off for name in SWITCHES], np.float32)
        return {"source": np.array([ids]), "switches": switches, "heads": heads}

    def decode(self, ids: list[int], off: Sequence = ()):
        "A function from beginnings, all of one length, to the logits of what follows (K, V) and the weights."
        given = self.given(ids, off)
        memory, _ = self.encoder.run(None, given)

        def decode(beginnings: list[list[int]]) -> list[np.ndarray]:
            return self.decoder.run(None, given | {"memory": memory, "target": np.array([[PAD, *row] for row in beginnings])})

        return decode

    def translate(self, sentence: str, beams: int = 4, off: Sequence = (), forced: Sequence[int] = ()) -> list[int]:
        "Tokens of the translation without EOS, which begins with those that are `forced`."
        ids, search = self.tokenizer.encode(sentence), self.settings["search"]
        decode, alpha = self.decode(ids, off), search["alpha"]
        longest = min(len(ids) + search["extra_length"], self.settings["config"]["max_length"])
        alive, finished = [(0.0, [])], []
        for length in count(1):
            logits = decode([tokens for _, tokens in alive])[0].astype(np.float64)
            so_far, V = np.array([[p for p, _ in alive]]), logits.shape[1]
            n = V if length <= len(forced) else 2 * beams if beams > 1 else 1
            values, places = (one[0] for one in continuations(so_far, logits[None], n))
            found = [(p, [*alive[place // V][1], place % V]) for p, place in zip(values, places)]
            top = [(p, row) for p, row in found if p > -np.inf and (length > len(forced) or row[-1] == forced[length - 1])]
            finished += [(p / length_penalty(length, alpha), tokens[:-1]) for p, tokens in top if tokens[-1] == EOS]
            alive = [one for one in top if one[1][-1] != EOS][:beams]
            best = max(finished, default=None)
            if length == longest or not alive or best and best[0] >= alive[0][0] / length_penalty(longest, alpha):
                return best[1] if best else alive[0][1]


@contextmanager
def served(directory: Path) -> Iterator[str]:
    "The address of the page in a directory, from a static server on this machine."
    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *arguments):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(directory)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/{PAGE}"
    finally:
        server.shutdown()


def first_translations(directory: Path, rounds: int) -> dict:
    "Seconds from opening to the first translation, round by round; of these the search; processor time of the page."
    opened, searched, worked = [], [], []
    with chromium() as browser, served(directory) as address:
        for _ in range(rounds):
            window = browser.new_context()
            page = window.new_page()
            counters = window.new_cdp_session(page)
            counters.send("Performance.enable")
            page.goto(address)
            page.locator("#about").filter(has_text="log-probability").wait_for(timeout=PATIENCE)
            opened.append(page.evaluate("performance.getEntriesByName('translated')[0].startTime") / 1000)
            searched.append(float(page.locator("#about").text_content().split(" s")[0].split()[-1]))
            found = {one["name"]: one["value"] for one in counters.send("Performance.getMetrics")["metrics"]}
            worked.append(found["ProcessTime"])  # all threads of the page's process, without other programs
            text = page.locator("#translation").text_content()
            window.close()
    seconds = {"first_translation": opened, "of_these_search": searched, "processor": worked}
    return {name: {"median": round(statistics.median(found), 3), "rounds": [round(one, 3) for one in found]}
            for name, found in seconds.items()} | {"example": text}


def compare(graphs: PageGraphs, translator: Translator, texts: dict[str, list[tuple[str, str]]]) -> dict:
    "By text and beam: translations that are letter for letter those of our search in 32 bits, and BLEU of both."
    figures = {}
    with progress_bar(total=len(BEAMS) * sum(map(len, texts.values())), unit="sentence") as bar:
        for name, pairs in texts.items():
            sources, references = zip(*pairs)
            for beams in BEAMS:
                ours, theirs = translator.translate(list(sources), Search(beam_size=beams), split=False), []
                for line in sources:
                    theirs.append(graphs.tokenizer.decode(graphs.translate(line, beams)))
                    bar.update()
                figures.setdefault(name, {})[beams] = {
                    "sentences": len(sources), "equal_to_ours": sum(a == b for a, b in zip(ours, theirs)),
                    "bleu_of_ours": round(sacre_bleu(ours, list(references)).score, 2),
                    "bleu": round(sacre_bleu(theirs, list(references)).score, 2),
                }
    return figures


@one_sentence()
def main(options: Sequence[str] | None = None) -> None:
    parser = Options("benchmarks.page", __doc__, "results/speed/page.json")
    parser.add_argument("--model", default="everyday-en-de", help="shipped weights")
    parser.add_argument("--rounds", type=at_least(1), default=5, help="times the page is opened")
    parser.add_argument("--sentences", type=at_least(1), default=200, help="of each text")
    arguments = parser.parse_args(options)
    require_packages(parser, PACKAGES)
    corpus = corpora.load(arguments.model)
    texts = {name: list(corpus.split(split))[: arguments.sentences] for name, split in SPLITS.items()}
    translator = Translator.from_pretrained(arguments.model, device="cpu")
    with TemporaryDirectory() as directory:
        page = Path(directory, "page")
        began = time.perf_counter()
        write_page(translator, page)
        written = time.perf_counter() - began
        files = {str(path.relative_to(page)): path.stat().st_size for path in sorted(page.rglob("*")) if path.is_file()}
        seconds = {"write": round(written, 1)} | first_translations(page, arguments.rounds)
        print(json.dumps(seconds), flush=True)
        figures = {"bytes": files, "total_bytes": sum(files.values()), "seconds": seconds,
                   "compared": compare(PageGraphs(page), translator, texts)}
    config = {"model": arguments.model, "splits": SPLITS, "rounds": arguments.rounds, "niceness": os.nice(0)}
    save(arguments.out, "benchmarks.page", figures, config, options=options)
    print(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
