"How tokens are written, and which of them make a word."
import pytest

from annotated_transformer import InputError
from annotated_transformer.figures.token_labels import find, group_words, piece_label, shown


def test_a_label_says_whether_its_piece_begins_a_word():
    pieces = ["▁play", "ing", "▁", "ß", "▁·x", "·", "▁<", "eos", ">"]
    labels = [piece_label(piece) for piece in pieces]
    assert labels == ["play", "·ing", "▁", "·ß", "▁·x", "··", "<", "·eos", "·>"]
    assert group_words(labels)[0] == ["playing", "ß", "▁·x·", "<eos>"]
    assert group_words(["·ing", "a"])[0] == ["·ing", "a"]
    said = ["(", "·a", "dog", "·s", "·)", "·!", "well", "·-", "·known", "·.", "<eos>"]
    assert group_words(said)[0] == ["(a", "dogs)!", "well-known.", "<eos>"]
    apart, pieces = group_words(said, signs_apart=True)
    assert apart == ["(", "a", "dogs", ")", "!", "well-known", ".", "<eos>"] and pieces.sum(0).tolist() == [1, 1, 2, 1, 1, 3, 1, 1]
    assert group_words(apart, signs_apart=True)[0] == apart
    assert [shown(label) for label in ("·.", "·,", "·ing", "··", "·", ".", "<eos>")] == [".", ",", "·ing", "··", "·", ".", "<eos>"]


def test_a_word_is_found_with_its_pieces_and_without_its_punctuation():
    labels = ["in", "its", "mou", "·th", "·.", "·its", "its", "mouth", "<eos>"]
    assert find(labels, "its") == [1, 6]
    assert find(labels, "mouth.its") == [2, 3, 4, 5]
    assert find(labels[:5], "mouth") == [2, 3] and find(labels[:5], "mouth.") == [2, 3, 4]
    assert find(labels, "·.") == [4] and find(labels, "<eos>") == [8]
    assert find(["in", "its", "mouth.", "<eos>"], "mouth") == [2]
    with pytest.raises(InputError) as refused:
        find(labels, "teeth")
    assert "'teeth'" in str(refused.value) and "in its mouth.its" in str(refused.value)
