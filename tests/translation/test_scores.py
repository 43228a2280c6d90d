"Tests of translation.scores."
import dataclasses

import pytest

from annotated_transformer import InputError
from annotated_transformer.translation.scores import score, score_several


def test_exactly_right_counts_whole_sentences():
    gold = ["ein Hund läuft über die Wiese", "zwei Katzen schlafen auf dem Sofa"]
    scores = score(["ein Hund läuft über die Wiese", "zwei Katzen schlafen auf dem sofa"], gold, "de")
    assert scores.exact == 0.5
    assert scores.sacre_bleu.score < 99 and abs(scores.multi30k_bleu.score - 100) < 1e-9, "capitals count in one and not in the other"


def test_the_language_must_be_said_since_it_decides_how_words_are_cut():
    with pytest.raises(TypeError, match="language"):
        score(["un chien"], ["un chien"])


def test_a_list_of_references_is_refused_and_no_translation_called_inexact():
    with pytest.raises(InputError, match="^give one reference, a text, for each translation; sacre_bleu takes lists"):
        score(["ein Hund", "eine Katze"], ["ein Hund", ["eine Katze"]], "de")


def test_several_references_count_where_a_source_stands_there_twice():
    pairs = [("a dog runs", "ein Hund rennt über die Wiese"), ("a cat", "eine Katze schläft auf dem Sofa"),
             ("a dog runs", "ein Hund läuft über das Gras")]
    found = score_several(pairs, ["ein Hund läuft über das Gras", "eine Katze schläft auf dem Sofa", "ein Hund läuft über das Gras"])
    assert (found.sources, found.references) == (2, 3)
    assert abs(found.all_references.score - 100) < 1e-9 > found.first_reference.score - 90
    assert score_several(pairs[:2], ["ein Hund", "eine Katze"]) is None
    scores = score(["ein Hund"], ["ein Hund rennt"], "de")
    assert "several" not in scores.to_dict() and "references" not in str(scores)
    scores = dataclasses.replace(scores, several=found)
    assert scores.to_dict()["several"]["references"] == 3 and "2 different sources with 3 references" in str(scores)
