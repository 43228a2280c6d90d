"""The shipped translators in 8 and 16 bits compared with float32: BLEU, sentences that change, time, other roundings.

    python -m benchmarks.eight_bits [--models NAME ...] [--sentences N] [--out results/speed/int8.json]

The outputs and scores of float32 are in results/translation/MODEL.SPLIT.txt and .json. The ways of rounding are computed with
floats, so they do not depend on the processor: we measure how far they move the model's probabilities of each next word when it
is fed the references. The time is that of sixteen sentences of Tatoeba one at a time, beam 4: the median of five rounds in turns.
"""
import copy
import json
import statistics
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from annotated_transformer import PAD, Transformer, Translator
from annotated_transformer.data import corpora
from annotated_transformer.data.batching import pad, shift_right
from annotated_transformer.model.attention import MultiHeadAttention
from annotated_transformer.translation.bleu import sacre_bleu
from annotated_transformer.translation.packed_weights import largest_weight
from benchmarks.shared.command import Options, at_least, one_sentence
from benchmarks.shared.side_by_side import save, take_turns

RESULTS = Path("results/translation")
MODELS = ("everyday-en-de", "multi30k-en-de")
SPLITS = {"test2016": "multi30k-en-de", "test2017": "multi30k-en-de", "mscoco": "multi30k-en-de", "test": "tatoeba-en-de"}
FORMS = {  # the largest whole number of a weight, the steps of the inputs' range
    "weights to 127, inputs in 255 steps": (127, 255),  # where sums of two products may pass 16 bits
    "weights to 63, inputs in 255 steps": (63, 255),    # where they may not
    "weights to 127, inputs in 127 steps": (127, 127),  # PyTorch's reduce_range
}
PRECISIONS = ("int8", "float16")   # compared with float32
TIMED, ROUNDS = 16, 5              # sentences, turns
LED = 192  # pairs whose references are fed to the model


class Rounded:
    "A matrix that `F.linear` takes, with the rounding of our 8 bits and float arithmetic."

    def __init__(self, matrix: Tensor, most: int, steps: int):
        scale = matrix.detach().abs().amax(1, True).clamp(min=1e-30) / most
        self.matrix, self.steps = (matrix.detach() / scale).round() * scale, steps

    def __getitem__(self, rows: slice) -> "Rounded":
        part = copy.copy(self)
        part.matrix = self.matrix[rows]
        return part

    @classmethod
    def __torch_function__(cls, function, types, arguments=(), options=None):
        x, rounded, bias = (*arguments, None)[:3]
        low, high = x.min().clamp(max=0), x.max().clamp(min=0)
        step = (high - low) / rounded.steps
        return F.linear((x / step).round() * step, rounded.matrix, bias)


def rounded_model(model: Transformer, most: int, steps: int) -> Transformer:
    "The same model with its matrices rounded, the words' among them."
    found = copy.deepcopy(model)
    for module in list(found.modules()):
        name = {nn.Linear: "weight", MultiHeadAttention: "in_projection"}.get(type(module))
        if name:
            matrix = getattr(module, name)
            delattr(module, name)
            setattr(module, name, Rounded(matrix, most, steps))
    words = Rounded(found.embedding.weight, most, steps)
    found.embedding.project = lambda x: F.linear(x, words)
    return found


@torch.inference_mode()
def log_probabilities(model: Transformer, sources: list[list[int]], targets: list[list[int]]) -> Tensor:
    "Of each word at each place of the targets, PAD left out."
    found = []
    for start in range(0, len(sources), 64):
        source, target = pad(sources[start : start + 64]), pad(targets[start : start + 64])
        hidden = model.decode(shift_right(target), model.encode(source), source)[target != PAD]
        found.append(model.embedding.project(hidden)[:, PAD + 1 :].log_softmax(-1))
    return torch.cat(found)


def divergences(translator: Translator, pairs: list[tuple[str, str]]) -> dict[str, dict]:
    "How far each way of rounding moves the probabilities (mean Kullback-Leibler divergence), and how often the likeliest word."
    sources, targets = (translator.tokenizer.encode_all([pair[side] for pair in pairs]) for side in (0, 1))
    exact, found = log_probabilities(translator.model, sources, targets), {}
    for name, (most, steps) in FORMS.items():
        moved = log_probabilities(rounded_model(translator.model, most, steps), sources, targets)
        found[name] = {
            "nats": round(float((exact.exp() * (exact - moved)).sum(1).mean()), 6),
            "likeliest_changes": round(float((exact.argmax(1) != moved.argmax(1)).float().mean()), 5),
        }
    return found


def measure(name: str, most: int | None) -> dict:
    "Of one model, all splits."
    translators = {how: Translator.from_pretrained(name, precision=how) for how in ("float32", *PRECISIONS)}
    translator, found = translators["float32"], {}
    for split, corpus in SPLITS.items():
        pairs = list(corpora.load(corpus).split(split))
        record = RESULTS / f"{name}.{'tatoeba' if corpus == 'tatoeba-en-de' else split}"
        before = record.with_suffix(record.suffix + ".txt").read_text(encoding="utf-8").splitlines()
        pairs, before = pairs[:most], before[:most]
        sources, references = map(list, zip(*pairs))
        after = {how: translators[how].translate(sources, split=False) for how in PRECISIONS}
        found[record.suffix[1:]] = {
            "sentences": len(pairs),
            "bleu": {how: round(sacre_bleu(lines, references).score, 2) for how, lines in ({"float32": before} | after).items()},
            "changed": {how: sum(a != b for a, b in zip(lines, before)) for how, lines in after.items()},
        }
        print(name, split, json.dumps(found[record.suffix[1:]]), flush=True)
    led = list(corpora.load("multi30k-en-de").split("test2016"))[:LED]
    return {"alpha": translator.search.alpha, "tests": found, "seconds": seconds(translators),
            "rounding": divergences(translator, led[:most])}


def seconds(translators: dict[str, Translator]) -> dict[str, float]:
    "By each precision, one sentence at a time."
    sources = [source for source, _ in list(corpora.load("tatoeba-en-de").split("test"))[:TIMED]]

    def search(translator: Translator) -> None:
        for source in sources:
            translator.translate(source, split=False)

    taken = take_turns({how: partial(search, one) for how, one in translators.items()}, ROUNDS, desc="in turns")
    return {how: round(statistics.median(times), 4) for how, times in taken.items()}


@one_sentence()
def main(options: Sequence[str] | None = None) -> None:
    parser = Options("benchmarks.eight_bits", __doc__, "results/speed/int8.json")
    parser.add_argument("--models", nargs="+", choices=MODELS, default=MODELS, metavar="NAME", help=", ".join(MODELS))
    parser.add_argument("--sentences", type=at_least(1), help="of each test set; all if not given")
    arguments = parser.parse_args(options)
    figures = {name: measure(name, arguments.sentences) for name in arguments.models}
    config = {"models": list(arguments.models), "sentences": arguments.sentences, "forms": FORMS, "led": LED,
              "largest_weight": largest_weight(), "engine": torch.backends.quantized.engine}
    save(arguments.out, "benchmarks.eight_bits", {"models": figures}, config, options=options)


if __name__ == "__main__":
    main()
