"How good translations are: every score for a set of them, and for a whole split of a corpus."
import dataclasses
from dataclasses import dataclass

from .. import InputError
from ..config import Search
from ..data.parallel_text import Corpus, references
from .bleu import Bleu, multi30k_bleu, paper_bleu, sacre_bleu
from .translator import Translator

__all__ = ["Scores", "SeveralReferences", "score", "score_several", "score_split"]


@dataclass(frozen=True)
class SeveralReferences:
    "Each source once, against all references that the split has for it, and against only the first; by sacreBLEU."

    sources: int
    references: int
    all_references: Bleu
    first_reference: Bleu

    def __str__(self) -> str:
        count = f"{self.sources:,} different sources with {self.references:,} references"
        return f"{count}\n  all references  {self.all_references}\n  the first alone {self.first_reference}"


@dataclass(frozen=True)
class Scores:
    "Translations against references, measured in every way used in publications."

    sacre_bleu: Bleu      # cased, raw text: comparable with current papers
    paper_bleu: Bleu      # tokenised, compounds split: comparable with Table 2
    multi30k_bleu: Bleu   # lower-cased, normalised, tokenised: comparable with the scores published for Multi30k
    exact: float          # share of the sentences that equal the reference, letter for letter
    several: SeveralReferences | None = None  # if a source occurs more than once

    def __str__(self) -> str:
        rows = {"sacreBLEU": self.sacre_bleu, "paper's BLEU": self.paper_bleu, "Multi30k's BLEU": self.multi30k_bleu}
        lines = [*(f"{name:<16} {value}" for name, value in rows.items()), f"exactly right    {self.exact:.2%}"]
        return "\n".join(lines if self.several is None else [*lines, str(self.several)])

    def to_dict(self) -> dict:
        "The form in which results are written."
        return {name: value for name, value in dataclasses.asdict(self).items() if value is not None}


def score(
    hypotheses: list[str],
    references: list[str],
    language: str,   # of both; it decides the tokeniser's rules
) -> Scores:
    "All scores of one set of translations. InputError if a translation has a list of references: `sacre_bleu` takes those."
    if not all(isinstance(reference, str) for reference in references):
        raise InputError("give one reference, a text, for each translation; sacre_bleu takes lists of references")
    return Scores(
        sacre_bleu(hypotheses, references, language),
        paper_bleu(hypotheses, references, language),
        multi30k_bleu(hypotheses, references, language),
        sum(h == r for h, r in zip(hypotheses, references)) / len(references),
    )


def score_several(
    pairs: list[tuple[str, str]],
    hypotheses: list[str],           # one for each pair
    language: str = "",              # as for `sacre_bleu`
) -> SeveralReferences | None:       # None if no source occurs twice; the same reference twice counts as two
    "BLEU against every wording in the split: what one reference lacks, another may have."
    sources, found = references(pairs)
    if len(sources) == len(pairs):
        return None
    translation = {source: hypothesis for (source, _), hypothesis in zip(pairs, hypotheses)}
    once = [translation[source] for source in sources]
    first = [own[0] for own in found]
    whole, alone = (sacre_bleu(once, references, language) for references in (found, first))
    return SeveralReferences(len(sources), sum(map(len, found)), whole, alone)


def score_split(
    translator: Translator,
    corpus: Corpus,
    split: str,
    search: Search | None = None,  # None: the translator's own
) -> tuple[list[str], Scores]:  # the translations and their scores
    "Translate a split of a corpus and score it."
    pairs = list(corpus.split(split))
    hypotheses = translator.translate([source for source, _ in pairs], search, split=False)
    scores = score(hypotheses, [reference for _, reference in pairs], corpus.target_language)
    return hypotheses, dataclasses.replace(scores, several=score_several(pairs, hypotheses, corpus.target_language))
