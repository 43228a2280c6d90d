"""Make the pictures of README.md in docs/pictures, all of them from the model that ships and from results/.

python tools/readme_pictures.py

`translation.svg` moves: a sentence is translated word by word while the lines show where one head of the decoder looks. The head
is the one that results/heads/everyday.json found best at aligning words, the sentence one of everyday-sentences.json.
"""
import inspect
import json
from html import escape
from pathlib import Path

from annotated_transformer import Translator
from annotated_transformer.figures.attention_plots import COLOURS, FAINTEST, ON_DARK, QUIET, plot_figure, save_drawing
from annotated_transformer.figures.canvas import Canvas
from annotated_transformer.model.layers import EncoderLayer

ROOT = Path(__file__).parents[1]
PICTURES = ROOT / "docs" / "pictures"
MODEL, SENTENCE = "everyday-en-de", "They built this bridge a hundred years ago."
LETTER, GAP, LEFT, TOP, BOTTOM, HEIGHT = 11.5, 18, 96, 64, 232, 300  # pixels: width of a letter, places of the two rows of words
TYPED, STEP, REST = 0.18, 0.9, 3.5                                   # seconds: for a word read, for one written, at the end
WIDE, HIGH = 4.0, 1.7                                                # inches of a card


def record(name: str) -> dict:
    "What was measured, from results/."
    return json.loads((ROOT / "results" / "translation" / f"{name}.json").read_text(encoding="utf-8"))


def middles(words: list[str]) -> list[float]:
    "Where the middle of each word stands in its row."
    ends = [LEFT + sum(map(len, words[: i + 1])) * LETTER + i * GAP for i in range(len(words))]
    return [end - len(word) * LETTER / 2 for end, word in zip(ends, words)]


def moving(maps, layer: int, head: int) -> str:
    "SVG that begins with the whole picture; then the words appear one by one, each with the lines of its row of weights."
    every, written, read = maps.of("encoder_decoder")
    weights, written, read = every[layer - 1, head - 1], written[:-1], read[:-1]  # without the end signs
    source, target, start = middles(read), middles(written), TYPED * len(read) + 0.6
    written_at = start + STEP * len(written) + 0.3
    total = written_at + REST
    styles, parts = [], []

    def animate(name: str, *points: tuple[float, float]) -> str:  # (second, opacity) of each turn
        frames = " ".join(f"{100 * second / total:.2f}% {{opacity: {shade}}}" for second, shade in points)
        when = f"{total:.2f}s linear {2.5 - total:.2f}s infinite"
        styles.append(f"@keyframes {name} {{{frames}}} .{name} {{animation: {name} {when}}}")
        return name

    for j, (x, word) in enumerate(zip(source, read)):
        name = animate(f"r{j}", (0, 0), (TYPED * j, 0), (TYPED * j + 0.05, 1), (total - 0.4, 1), (total, 0))
        parts.append(f'<text class="{name}" x="{x:.1f}" y="{TOP}">{escape(word)}</text>')
    for i, (x, word) in enumerate(zip(target, written)):
        now = start + STEP * i
        name = animate(f"w{i}", (0, 0), (now + 0.25, 0), (now + 0.4, 1), (total - 0.4, 1), (total, 0))
        parts.append(f'<text class="{name}" x="{x:.1f}" y="{BOTTOM}">{escape(word)}</text>')
        faint = [(now + STEP + 0.2, 0.35), (written_at, 0.35), (written_at + 0.4, 0.8), (total - 0.4, 0.8), (total, 0)]
        name = animate(f"l{i}", (0, 0), (now, 0), (now + 0.2, 1), (now + STEP, 1), *faint)
        parts.append(f'<g class="line {name}">' + "".join(
            f'<path d="M{x:.1f} {BOTTOM - 24}C{x:.1f} 140 {there:.1f} 150 {there:.1f} {TOP + 12}" '
            f'stroke-width="{1 + 5 * weight:.1f}" opacity="{weight ** (1 / 3):.2f}"/>'
            for there, weight in zip(source, weights[i].tolist()) if weight >= FAINTEST
        ) + "</g>")
    width = max(source[-1] + len(read[-1]) * LETTER / 2, target[-1] + len(written[-1]) * LETTER / 2) + 32
    about = f"{MODEL}: where head {head} of layer {layer} of the decoder looks while it writes"
    parts += [f'<text class="quiet" x="24" y="{y}">{side}</text>' for side, y in (("reads", TOP), ("writes", BOTTOM))]
    parts.append(f'<text class="quiet" x="24" y="{HEIGHT - 18}">{about}</text>')
    style = f"""text {{font: 19px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace}}
text {{text-anchor: middle; fill: #1b1f24}}
.quiet {{font: 14px system-ui, "DejaVu Sans", sans-serif; text-anchor: start; fill: {QUIET}}}
.line {{opacity: 0.8; fill: none; stroke: {COLOURS[0]}; stroke-linecap: round}} .ground {{fill: #ffffff; stroke: #d0d7de}}
@media (prefers-color-scheme: dark) {{text {{fill: #ececec}} .quiet {{fill: #a3a3a3}} .line {{stroke: {ON_DARK[0]}}}
.ground {{fill: #15181d; stroke: #30363d}}}}
@media (prefers-reduced-motion: no-preference) {{{" ".join(styles)}}}"""
    title = f"<title>{escape(' '.join(read))} {escape(' '.join(written))}</title>"
    box = f'<rect class="ground" x="0.5" y="0.5" width="{width - 1:.0f}" height="{HEIGHT - 1}" rx="10"/>'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {HEIGHT}" role="img">'
    return "\n".join([head, title, f"<style>{style}</style>", box, *parts, "</svg>", ""])


def cards(maps) -> None:
    "The four small pictures below it."
    page, code, curve = Canvas(), Canvas(), Canvas()
    page.text(WIDE / 2, 0.25, "§3.2.1", 12, ha="center", weight="bold")
    equation = r"$\mathrm{Attention}(Q, K, V) = \mathrm{softmax}\left(\frac{QK^T}{\sqrt{d_k}}\right)V$"
    page.text(WIDE / 2, 0.75, equation, 16, ha="center", va="center", parse_math=True)
    said = "claim · equation · code\nexample by hand · test · picture"
    page.text(WIDE / 2, 1.35, said, 11, ha="center", va="center", color=QUIET)
    save_drawing(page.finish(WIDE, HIGH), PICTURES / "read.svg")
    body = inspect.getsource(EncoderLayer.forward).splitlines()[-2:]
    for i, line in enumerate(["class EncoderLayer(Module):", "    def forward(self, x, allowed):", *body]):
        code.text(0.12, 0.4 + 0.3 * i, line, 9, family="monospace")
    save_drawing(code.finish(WIDE, HIGH), PICTURES / "write.svg")
    save_drawing(plot_figure(maps, 5), PICTURES / "heads.svg")
    metrics = ROOT / f"results/translation/{MODEL}.metrics.jsonl"
    rows = [json.loads(line) for line in metrics.read_text(encoding="utf-8").splitlines()]
    losses = [(row["step"], row["loss"]) for row in rows if "loss" in row]
    last, most = losses[-1][0], losses[0][1]
    across, up = ([0.4 + 2.9 * step / last for step, _ in losses], [1.25 - loss / most for _, loss in losses])
    curve.axes.plot(across, up, color=COLOURS[0], lw=2)
    for (_, loss), x, y in ((losses[0], across[0], up[0]), (losses[-1], across[-1], up[-1])):
        curve.text(x + 0.1, y, f"{loss:.1f}", 11, va="center")
    curve.text(WIDE / 2, 1.55, f"loss in {last:,} updates", 11, ha="center", color=QUIET)
    save_drawing(curve.finish(WIDE, HIGH), PICTURES / "train.svg")


def main() -> None:
    PICTURES.mkdir(exist_ok=True)
    translator, found = Translator.from_pretrained(MODEL), record("heads-everyday")
    best = found["figures"]["measures"]["encoder_decoder"]["aligned word"]["best"]
    maps = translator.attention(SENTENCE).words(signs_apart=False)
    (PICTURES / "translation.svg").write_text(moving(maps, best["layer"], best["head"]), encoding="utf-8")
    cards(translator.attention("Tom lost his key."))


if __name__ == "__main__":
    main()
