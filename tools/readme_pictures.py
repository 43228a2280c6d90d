"""Make the pictures of README.md in docs/pictures, all of them from the shipped model and from results/.

python tools/readme_pictures.py

`translation.svg` is animated: two sentences that differ only in their last word are translated word by word while the lines show
where one head of the decoder looks. It is the head that the model's record names as best at finding the noun that is meant.
"""
import inspect
import json
from html import escape
from pathlib import Path
from unittest.mock import patch

from matplotlib.colors import to_rgb
from usage import words_given

from annotated_transformer import Translator
from annotated_transformer.data.pronouns import PRONOUNS
from annotated_transformer.figures import attention_plots
from annotated_transformer.figures.attention_plots import FAINTEST
from annotated_transformer.figures.canvas import Canvas
from annotated_transformer.figures.colours import COLOURS, ON_DARK, QUIET
from annotated_transformer.figures.saving import save_drawing
from annotated_transformer.model.layers import EncoderLayer
from annotated_transformer.model_record import record_of

ROOT = Path(__file__).parents[1]
PICTURES = ROOT / "docs" / "pictures"
EVERYDAY, SENTENCE = "everyday-en-de", "They built this bridge a hundred years ago."  # of the example below the picture
FROM_NOTHING = "multi30k-en-de"  # whose loss is drawn: its first part began with new weights
MODEL = "pronouns-en-de"
SENTENCES = [f"The animal didn't cross the street because it was too {word}." for word in ("tired", "wide")]
LAYER, HEAD = record_of(MODEL).pronoun_head
LETTER, GAP, LEFT, TOP, DOWN, HEIGHT = 11.5, 18, 96, 52, 128, 196  # pixels: of a letter; first row, second row, next sentence
TYPED, STEP, REST, FADED = 0.18, 0.7, 4, 0.22                      # seconds for a word read, one written, at the end; opacity
WIDE, HIGH = 4.0, 1.7                                              # inches of a card


def middles(words: list[str]) -> list[float]:
    "Where the middle of each word stands in its row."
    ends = [LEFT + sum(map(len, words[: i + 1])) * LETTER + i * GAP for i in range(len(words))]
    return [end - len(word) * LETTER / 2 for end, word in zip(ends, words)]


def animated(styles: list[str], name: str, total: float, *points: tuple[float, float]) -> str:  # (second, opacity) of each turn
    "The name of a class that appears and goes; the picture begins whole."
    frames = " ".join(f"{100 * second / total:.2f}% {{opacity: {shade}}}" for second, shade in points)
    styles.append(f"@keyframes {name} {{{frames}}} .{name} {{animation: {name} {total:.2f}s linear {2.5 - total:.2f}s 2}}")
    return name


def scene(maps, styles: list[str], number: int) -> tuple[list[str], float]:  # SVG, and how wide it is
    "A sentence that is read, and below it its translation, written word by word with the lines of each row of weights."
    every, written, read = maps.of("encoder_decoder")
    weights, written, read = every[LAYER - 1, HEAD - 1], written[:-1], read[:-1]  # without the end signs
    source, target, start = middles(read), middles(written), TYPED * len(read) + 0.6
    written_at = start + STEP * len(written) + 0.3
    total, top, parts = written_at + REST, TOP + number * HEIGHT, []
    for j, (x, word) in enumerate(zip(source, read)):
        turns = (0, 0), (TYPED * j, 0), (TYPED * j + 0.05, 1), (total - 0.4, 1), (total, 0)
        name = animated(styles, f"r{number}_{j}", total, *turns)
        parts.append(f'<text class="{name}" x="{x:.1f}" y="{top}">{escape(word)}</text>')
    for i, (x, word) in enumerate(zip(target, written)):
        now, pronoun = start + STEP * i, word.lower() in PRONOUNS
        turns = (0, 0), (now + 0.25, 0), (now + 0.4, 1), (total - 0.4, 1), (total, 0)
        name = animated(styles, f"w{number}_{i}", total, *turns)
        bold = ' font-weight="bold"' if pronoun else ""
        parts.append(f'<text class="{name}" x="{x:.1f}" y="{top + DOWN}"{bold}>{escape(word)}</text>')
        rest, turned = 1 if pronoun else FADED, now + STEP + 0.2
        turns = (0, 0), (now, 0), (now + 0.2, 1), (now + STEP, 1), (turned, rest), (total - 0.4, rest), (total, 0)
        name, middle = animated(styles, f"l{number}_{i}", total, *turns), top + DOWN / 2
        parts.append(f'<g class="line {"pronoun " * pronoun}{name}">' + "".join(
            f'<path d="M{x:.1f} {top + DOWN - 24}C{x:.1f} {middle - 4:.0f} {there:.1f} {middle - 4:.0f} {there:.1f} {top + 12}" '
            f'stroke-width="{1 + 5 * weight:.1f}" opacity="{weight ** (1 / 3):.2f}"/>'
            for there, weight in zip(source, weights[i].tolist()) if weight >= FAINTEST
        ) + "</g>")
    sides = (("reads", top), ("writes", top + DOWN))
    parts += [f'<text class="quiet" x="24" y="{y}">{side}</text>' for side, y in sides]
    return parts, max(source[-1] + len(read[-1]) * LETTER / 2, target[-1] + len(written[-1]) * LETTER / 2) + 32


def moving(translator: Translator) -> str:
    "SVG of both sentences, one above the other."
    styles: list[str] = []
    drawn = [translator.attention(sentence).words(signs_apart=False) for sentence in SENTENCES]
    scenes = [scene(maps, styles, number) for number, maps in enumerate(drawn)]
    width, height = max(wide for _, wide in scenes), HEIGHT * len(scenes) + 34
    about = f"{MODEL}: where head {HEAD} of layer {LAYER} of the decoder looks; in colour, while it writes the pronoun"
    parts = [part for parts, _ in scenes for part in parts]
    parts.append(f'<text class="quiet" x="24" y="{height - 16}">{about}</text>')
    style = f"""text {{font: 19px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace}}
text {{text-anchor: middle; fill: #1b1f24}} text[font-weight] {{font-weight: bold; fill: {COLOURS[1]}}}
.quiet {{font: 14px system-ui, "DejaVu Sans", sans-serif; text-anchor: start; fill: {QUIET}}}
.line {{opacity: {FADED}; fill: none; stroke: {COLOURS[0]}; stroke-linecap: round}} .pronoun {{opacity: 1; stroke: {COLOURS[1]}}}
.ground {{fill: #ffffff; stroke: #d0d7de}}
@media (prefers-color-scheme: dark) {{text {{fill: #ececec}} text[font-weight] {{fill: {ON_DARK[1]}}} .quiet {{fill: #a3a3a3}}
.line {{stroke: {ON_DARK[0]}}} .pronoun {{stroke: {ON_DARK[1]}}} .ground {{fill: #15181d; stroke: #30363d}}}}
@media (prefers-reduced-motion: no-preference) {{{" ".join(styles)}}}"""
    title = " ".join(word for maps in drawn for word in maps.source[:-1] + maps.target[:-1])
    box = f'<rect class="ground" x="0.5" y="0.5" width="{width - 1:.0f}" height="{height - 1}" rx="10"/>'
    svg = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" role="img">'
    return "\n".join([svg, f"<title>{escape(title)}</title>", f"<style>{style}</style>", box, *parts, "</svg>", ""])


def two_heads(maps):
    "The two heads that Figure 5 would show, with shorter lines, so that they have a card's size and no letter is made smaller."
    maps, kind, ends = attention_plots.asked_for(maps, None, whole_words=True, hide_end=True)
    weights, words, _ = maps.of(kind)
    apart, card = attention_plots.difference(weights.flatten(0, 1)), Canvas()
    for x, place in zip((0.12, 2.09), sorted(divmod(int(apart.argmax()), len(apart)))):
        layer, head = divmod(place, weights.size(1))
        card.text(x, 0.2, f"layer {layer + 1}, head {head + 1}", 11, color=COLOURS[head])
        lines, rows, sides = [(weights[layer, head], to_rgb(COLOURS[head]), "")], range(len(words)), ("a word", "looks at")
        with patch.object(attention_plots, "LINES", 0.7):
            attention_plots.draw_panel(card, x, 0.5, lines, rows, words, words, sides, False, FAINTEST)
    card.text(0.12, 1.65, "left out: " + ", ".join(ends), 8.5, color=QUIET)
    return card.finish(WIDE, HIGH)


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
        code.text(0.12, 0.4 + 0.3 * i, line, 8.6, family="monospace")
    save_drawing(code.finish(WIDE, HIGH), PICTURES / "write.svg")
    save_drawing(two_heads(maps), PICTURES / "heads.svg")
    metrics = ROOT / f"results/translation/{FROM_NOTHING}.metrics.jsonl"
    rows = [json.loads(line) for line in metrics.read_text(encoding="utf-8").splitlines()]
    losses = [(row["step"], row["loss"]) for row in rows if "loss" in row and row["part"] == 1]
    losses = [*losses[:-1:10], losses[-1]]
    last, most = losses[-1][0], losses[0][1]
    across, up = ([0.4 + 2.9 * step / last for step, _ in losses], [1.25 - loss / most for _, loss in losses])
    curve.axes.plot(across, up, color=COLOURS[0], lw=2)
    for (_, loss), x, y in ((losses[0], across[0], up[0]), (losses[-1], across[-1], up[-1])):
        curve.text(x + 0.1, y, f"{loss:.1f}", 11, va="center")
    curve.text(WIDE / 2, 1.55, f"loss in {last:,} updates", 11, ha="center", color=QUIET)
    save_drawing(curve.finish(WIDE, HIGH), PICTURES / "train.svg")


def main() -> None:
    PICTURES.mkdir(exist_ok=True)
    (PICTURES / "translation.svg").write_text(moving(Translator.from_pretrained(MODEL)), encoding="utf-8", newline="\n")
    cards(Translator.from_pretrained(EVERYDAY).attention("Tom lost his key."))


if __name__ == "__main__":
    words_given(__doc__, ())
    main()
