"""The shipped model as ONNX in 32, 16 and 8 bits, compared with our own search: which translations differ, and the file sizes.

    python -m benchmarks.onnx [--model everyday-en-de] [--sentences 500] [--out results/speed/onnx.json]

Both search the first sentences of two test sets, captions and everyday sentences, greedily and with beam 4.
"""
import json
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from annotated_transformer.config import Search
from annotated_transformer.data import corpora
from annotated_transformer.exchange.onnx import PRECISIONS, to_onnx
from annotated_transformer.exchange.onnx_translator import OnnxTranslator
from annotated_transformer.translation.bleu import sacre_bleu
from annotated_transformer.translation.translator import Translator
from benchmarks.shared.command import Options, at_least, one_sentence
from benchmarks.shared.sentence_lists import spread
from benchmarks.shared.side_by_side import require_packages, save, versions

PACKAGES = ("onnx", "onnxruntime")
SPLITS = {"captions": "test2016", "everyday sentences": "tatoeba"}  # of the corpus that has the model's name
BEAMS = (1, 4)


def operations(path: Path) -> int:
    "How many the graph has."
    import onnx

    return len(onnx.load(str(path)).graph.node)


def measure(translator: Translator, texts: dict[str, list[tuple[str, str]]]) -> dict:
    "By precision: the files; by text and beam: translations that are letter for letter ours, and BLEU."
    sources, references = ({name: [pair[k] for pair in pairs] for name, pairs in texts.items()} for k in (0, 1))

    def translations(who) -> dict[str, dict[int, list[str]]]:
        return {name: {beams: who.translate(lines, Search(beams), split=False) for beams in BEAMS}
                for name, lines in sources.items()}

    def bleu(found: dict[str, dict[int, list[str]]]) -> dict:
        return {name: {beams: round(sacre_bleu(lines, references[name]).score, 2) for beams, lines in by_beam.items()}
                for name, by_beam in found.items()}

    ours = translations(translator)
    figures = {"sentences": {name: len(lines) for name, lines in sources.items()}, "bleu_of_ours": bleu(ours), "precisions": {}}
    for precision in PRECISIONS:
        with TemporaryDirectory() as directory:
            files = Path(directory, "model")
            to_onnx(translator, files, precision=precision)
            theirs = translations(OnnxTranslator(files))
            figures["precisions"][precision] = {
                "bytes": {path.name: path.stat().st_size for path in sorted(files.iterdir())},
                "operations": {path.name: operations(path) for path in sorted(files.glob("*.onnx"))},
                "equal_to_ours": {
                    name: {beams: sum(a == b for a, b in zip(lines, theirs[name][beams])) for beams, lines in by_beam.items()}
                    for name, by_beam in ours.items()
                },
                "bleu": bleu(theirs),
            }
    return figures


@one_sentence()
def main(options: Sequence[str] | None = None) -> None:
    parser = Options("benchmarks.onnx", __doc__, "results/speed/onnx.json")
    parser.add_argument("--model", default="everyday-en-de", help="shipped weights")
    parser.add_argument("--sentences", type=at_least(1), default=500, help="of each text")
    arguments = parser.parse_args(options)
    require_packages(parser, PACKAGES)
    corpus = corpora.load(arguments.model)
    texts = {name: spread(corpus.split(split), arguments.sentences) for name, split in SPLITS.items()}
    figures = measure(Translator.from_pretrained(arguments.model, device="cpu"), texts)
    config = {
        "model": arguments.model, "splits": SPLITS, "beams": BEAMS,
        "packages": versions(PACKAGES),
    }
    save(arguments.out, "benchmarks.onnx", figures, config, options=options)
    print(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
