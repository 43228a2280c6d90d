"The rule for French; damaged files, failed downloads and archives are tested in tests/system/data/test_corpora_input.py."
from annotated_transformer.data.downloads import similar_length
from annotated_transformer.data.parallel_text import both_sides


def test_pairs_of_unlike_length_do_not_count():
    kept = {(1, 1), (2, 3), (3, 2), (4, 6), (117, 175), (175, 175), (175, 117)}  # 1.5 x 117 = 175.5
    gone = {(0, 0), (0, 1), (1, 0), (1, 2), (2, 4), (4, 7), (7, 4), (116, 175), (175, 176), (176, 176)}  # 1.5 x 116 = 174
    for n, m in kept | gone:
        assert similar_length(" un" * n, "one " * m) == ((n, m) in kept)
    assert similar_length("\u00a0one \ttwo", "un  deux ") and not both_sides("\u00a0", "un") and both_sides(" one", "un")
