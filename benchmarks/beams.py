"""What a wider beam brings: BLEU on the validation split, by beam width and length penalty.

    python -m benchmarks.beams [--model multi30k-en-de] [--beams 1 2 4 8 16 32 64] [--alphas 0 0.6 1] [--out FILE.json]

The weights are a mean chosen at the paper's beam of 4 and α of 0.6, on the same split. Besides BLEU, the table shows how long the
translations are (words, as a share of the reference's) and how many are empty. Greedy search has no α, and so only one row.
"""
from collections.abc import Sequence

from annotated_transformer import Translator
from annotated_transformer.config import Search
from annotated_transformer.data import corpora
from annotated_transformer.progress_bar import progress_bar
from annotated_transformer.translation.bleu import multi30k_bleu
from benchmarks.shared.command import Options, one_sentence
from benchmarks.shared.side_by_side import save

MODEL = "multi30k-en-de"
BEAMS, ALPHAS = (1, 2, 4, 8, 16, 32, 64), (0.0, 0.6, 1.0)


def scored(translator: Translator, sources: list[str], references: list[str], search: Search) -> dict:
    "BLEU, length and emptiness of what this search finds."
    found = translator.translate(sources, search, split=False, batch_tokens=max(256, 16_384 // search.beam_size))
    words = [sum(len(line.split()) for line in lines) for lines in (found, references)]
    return {
        "bleu": round(multi30k_bleu(found, references).score, 2), "words_of_the_reference": round(words[0] / words[1], 3),
        "empty": sum(not line for line in found),
    }


def measure(model: str, beams: Sequence[int], alphas: Sequence[float]) -> dict:
    "By α and beam."
    translator, pairs = Translator.from_pretrained(model), corpora.load(model).split("validation")
    sources, references = map(list, zip(*pairs))
    searches = [Search(beam_size=beam, alpha=alpha) for beam in beams for alpha in alphas if beam > 1 or alpha == alphas[0]]
    found: dict[str, dict[str, dict]] = {str(alpha): {} for alpha in alphas}
    for search in progress_bar(iterable=searches, unit="search"):
        one = scored(translator, sources, references, search)
        for alpha in alphas if search.beam_size == 1 else (search.alpha,):
            found[str(alpha)][str(search.beam_size)] = one
    return {"sentences": len(sources), "by_alpha_and_beam": found}


@one_sentence()
def main(options: Sequence[str] | None = None) -> None:
    parser = Options("benchmarks.beams", __doc__, "results/translation/beams.json")
    parser.add_argument("--model", default=MODEL, help="shipped weights, named after their corpus")
    parser.add_argument("--beams", type=int, nargs="+", default=BEAMS)
    parser.add_argument("--alphas", type=float, nargs="+", default=ALPHAS)
    arguments = parser.parse_args(options)
    figures = measure(arguments.model, arguments.beams, arguments.alphas)
    config = {"models": [arguments.model], "beams": list(arguments.beams), "alphas": list(arguments.alphas)}
    save(arguments.out, "benchmarks.beams", figures, config, options=options)
    for alpha, row in figures["by_alpha_and_beam"].items():
        print(f"α = {alpha}: {row}")


if __name__ == "__main__":
    main()
