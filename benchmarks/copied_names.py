"""How many names the everyday translator copies: the shipped weights, and those of two trainings that saw more names.

    pip download names==0.3.0 --no-deps && tar xf names-0.3.0.tar.gz
    python -m benchmarks.copied_names --names names-0.3.0/names --work W [--out results/translation/copied_names.json]

W holds what `benchmarks.distillation` trained on pairs with names from a census (its second round): `taught`, and `cut`, which
also read half of the sources in other pieces. Each is mixed with the shipped weights, in these shares. We count copied names: in
the validation pairs with one Tom on either side, each Tom becomes one of the census's rare family names that the
corpus lacks. (Some of them are among the names made for these trainings: 10 of the 218 on record.)
"""
import random
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import torch

from annotated_transformer import Translator
from annotated_transformer.data import corpora
from annotated_transformer.training.runs import Run
from annotated_transformer.translation.bleu import sacre_bleu
from benchmarks import everyday_extra
from benchmarks.distillation import SHIPPED
from benchmarks.everyday_extra import LISTED, TOM
from benchmarks.shared.command import Options, one_sentence
from benchmarks.shared.shipping import round_weights
from benchmarks.shared.side_by_side import save

SHARES = {"taught": (0.0, 0.2, 0.3, 0.5, 1.0), "cut": (1.0,)}  # of the new weights


def with_rare_names(names: Path) -> Iterator[tuple[str, str]]:
    "Sentences with a name that the corpus lacks, and the name."
    corpus, held = corpora.load(SHIPPED), everyday_extra.measured_on()
    known = {word.lower() for pair in corpus.train for side in pair for word in re.findall(r"\w+", side)}
    known |= {word for sentence in held for word in sentence.split()}
    lines = (names / "dist.all.last").read_text(encoding="ascii").splitlines()[LISTED:]
    rare = [name for name in (line.split()[0].capitalize() for line in lines) if len(name) > 3 and name.lower() not in known]
    rng = random.Random(1)
    for english, german in corpus.validation:
        if len(TOM.findall(english)) == len(TOM.findall(german)) == 1:
            name = rng.choice(rare)
            yield TOM.sub(name, english), name


def copied(translator: Translator, asked: Sequence[tuple[str, str]]) -> dict:
    "How many of these names stand in the translation, letter by letter, and the first that do not."
    found = list(zip(asked, translator.translate([sentence for sentence, _ in asked])))
    wrong = [{"source": sentence, "translation": said} for (sentence, name), said in found if not re.search(rf"\b{name}\b", said)]
    return {"copied": len(asked) - len(wrong), "of": len(asked), "first_not_copied": wrong[:10]}


def mixed(old: str | Path, new: Translator, share: float) -> Translator:
    "So much of the new weights, and the rest of the old ones (Wortsman et al. 2022)."
    translator, weights = Translator.from_pretrained(old, device="cpu", precision="float32"), new.model.state_dict()
    with torch.no_grad():
        for name, weight in translator.model.state_dict().items():
            weight.lerp_(weights[name], share)
    return translator


def measured(translator: Translator, pairs: Sequence[tuple[str, str]], asked: Sequence[tuple[str, str]]) -> dict:
    "BLEU of the validation split and its two halves, by the weights as they would be stored and the search that ships; names."
    round_weights(translator.model)
    found = translator.translate([source for source, _ in pairs], batch_tokens=8_192, split=False)
    captions = len(corpora.load("multi30k-en-de").validation)
    parts = {"all": (0, None), "tatoeba": (0, len(pairs) - captions), "captions": (len(pairs) - captions, None)}
    bleus = {part: sacre_bleu(found[i:j], [target for _, target in pairs[i:j]]).score for part, (i, j) in parts.items()}
    return {"validation_bleu": bleus, "rare_names": copied(translator, asked)}


@one_sentence()
def main(options: Sequence[str] | None = None) -> None:
    parser = Options("benchmarks.copied_names", __doc__, "results/translation/copied_names.json")
    parser.add_argument("--names", type=Path, required=True, metavar="DIRECTORY", help="the lists of the package `names`")
    parser.add_argument("--work", type=Path, required=True, help="of `benchmarks.distillation`")
    arguments = parser.parse_args(options)
    asked, pairs = list(with_rare_names(arguments.names)), corpora.load(SHIPPED).validation
    figures = {}
    for name, shares in SHARES.items():
        new = Translator.from_pretrained(arguments.work / f"{name}-kept", device="cpu", precision="float32")
        for share in shares:
            found = figures[f"{share:g} of {name}"] = measured(mixed(SHIPPED, new, share), pairs, asked)
            print(share, name, found["validation_bleu"], found["rare_names"]["copied"], "of", len(asked), flush=True)
    config = {name: Run(arguments.work / f"{name}-last").config.to_dict() for name in SHARES}
    save(arguments.out, "benchmarks.copied_names", figures, config, config["taught"]["seed"], options)


if __name__ == "__main__":
    main()
