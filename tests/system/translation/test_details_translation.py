"Details of translation that no page tells: each was changed by hand without a test that noticed. Names begin with the module's."
import pytest

from annotated_transformer import InputError
from annotated_transformer.translation.bleu import multi30k_bleu, multi30k_tokens, paper_bleu, paper_tokens, sacre_bleu


def test_bleu_cuts_a_language_by_its_own_rules():
    french = ["l'homme d'or, qu'il a vu"]  # each apostrophe ends a token in French, and stands for itself in German
    for bleu, tokens in ((paper_bleu, paper_tokens), (multi30k_bleu, multi30k_tokens)):
        assert bleu(french, french, language="fr").reference_length == len(tokens(french[0], "fr").split()) == 9
        assert bleu(french, french).reference_length == bleu(french, french, language="de").reference_length == 12


@pytest.mark.parametrize("bleu", [sacre_bleu, paper_bleu, multi30k_bleu])
def test_bleu_refuses_one_string_and_sides_of_unequal_length(bleu):
    for sides in (("a dog", ["a dog"]), (["a dog"], "a dog")):
        with pytest.raises(TypeError, match="not one string"):
            bleu(*sides)
    for sides, said in (((["a", "b"], ["a"]), "^2 translations but 1 references"), ((["a"], ["a", "b"]), "^1 translations but 2")):
        with pytest.raises(InputError, match=said):
            bleu(*sides)


@pytest.mark.parametrize("curly, plain", [("„“”«»", '"'), ("‚‘’‹›", "'")])
def test_bleu_of_the_paper_takes_every_quotation_mark_for_a_plain_one(curly, plain):
    for mark in curly:
        assert paper_tokens(f"ein {mark} Wort") == paper_tokens(f"ein {plain} Wort")
