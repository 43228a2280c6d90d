"""How large the explorer's chart and page are, and how long a browser takes to draw the page and to answer.

python -m benchmarks.explorer --out results/speed/explorer.json

Needs playwright (`pip install playwright`) and a Chromium or Chrome on the PATH. The sentences are made up and the heads look
anywhere, which is the hardest case: few weights are too small to be drawn.
"""
import json
import shutil
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch

from annotated_transformer import InputError
from annotated_transformer.figures.attention_maps import AttentionMaps
from annotated_transformer.figures.explorer import explore
from annotated_transformer.progress_bar import progress_bar
from benchmarks.shared.command import Options, one_sentence, results_file
from benchmarks.shared.side_by_side import save

TOKENS = (5, 20, 60)  # of a sentence
NEXT_FRAME = "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"  # by then the change is drawn


@contextmanager
def chromium() -> Iterator:
    "A browser without a window. InputError when playwright or the browser is missing."
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        raise InputError("this needs playwright: pip install playwright") from None
    path = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if path is None:
        raise InputError("this needs Chromium or Chrome, and neither is on the PATH")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])  # root, in a container, has no sandbox
        try:
            yield browser
        finally:
            browser.close()


def random_maps(tokens: int, n_layers: int, n_heads: int) -> AttentionMaps:
    "A sentence and a translation of so many tokens each."
    torch.manual_seed(0)
    words = "a dog runs with the · ball ·s through Straßenbahnhaltestelle and back".split()
    labels = [*(tokens * words)[: tokens - 1], "<eos>"]
    scores = 2 * torch.randn(3, n_layers, n_heads, tokens, tokens)
    scores[1].masked_fill_(~torch.ones(tokens, tokens, dtype=torch.bool).tril(), float("-inf"))
    return AttentionMaps(labels, ["<start>", *labels[:-1]], labels, *scores.softmax(-1))


def measure(browser, tokens: int, rounds: int, config: dict) -> dict:
    "Sizes in bytes, and medians of seconds."
    explorer = explore(random_maps(tokens, config["n_layers"], config["n_heads"]))
    times = {"page_seconds": [], "choice_seconds": [], "pointed_seconds": []}
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "heads.html")
        explorer.save(path)
        for _ in range(rounds):
            page = browser.new_page(viewport={"width": 1400, "height": 1200})

            start = time.perf_counter()
            page.goto(path.as_uri())
            page.wait_for_selector(".lines .label")
            page.evaluate(NEXT_FRAME)
            times["page_seconds"].append(time.perf_counter() - start)
            second_head, query = page.locator(".heads button").nth(1), page.locator(".lines .label[data-query]").nth(1)
            corner = query.bounding_box()
            x, y = corner["x"] + 20, corner["y"] + 5
            for name, act, *arguments in (("choice_seconds", second_head.click), ("pointed_seconds", page.mouse.move, x, y)):
                start = time.perf_counter()
                act(*arguments)
                page.evaluate(NEXT_FRAME)
                times[name].append(time.perf_counter() - start)
            page.close()
        sizes = {"chart_bytes": len(json.dumps(explorer.specification)), "page_bytes": path.stat().st_size}
    return sizes | {name: round(statistics.median(seconds), 3) for name, seconds in times.items()}


@one_sentence()
def main() -> None:
    parser = Options("benchmarks.explorer", __doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out", type=results_file)
    options = parser.parse_args()
    with chromium() as browser, progress_bar(total=len(TOKENS), unit="page") as bar:
        config = {"n_layers": 4, "n_heads": 4, "rounds": options.rounds, "browser": f"Chromium {browser.version}"}
        figures = {}
        for tokens in TOKENS:
            figures[str(tokens)] = measure(browser, tokens, options.rounds, config)
            bar.update()
    print(json.dumps(figures, indent=1))
    if options.out:
        save(options.out, "benchmarks.explorer", figures, config)


if __name__ == "__main__":
    main()
