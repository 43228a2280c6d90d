"What the corpus of pronouns keeps in memory."
from annotated_transformer.data.pronouns import made, pronouns


def test_sentences_of_many_seeds_are_not_all_kept():
    for seed in range(9):
        pronouns(3, 1, 1, seed)
    assert made.cache_info().currsize < 9
