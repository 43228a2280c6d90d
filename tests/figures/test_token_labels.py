"How tokens are written, and which of them make a word."
import pytest

from annotated_transformer import InputError
from annotated_transformer.figures.token_labels import find, group_words, is_special, piece_label, pieces_labelled, shown


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
    french = ["est", "là", "▁", "·:", "▁", "·«", "ça", "va", "▁", "·?", "·!", "▁", "·»", "▁", "·ß", "<eos>"]
    words, pieces = group_words(french, signs_apart=True)
    assert words == ["est", "là", ":", "«", "ça", "va", "?", "!", "»", "ß", "<eos>"]
    assert pieces.sum(0).tolist() == [1, 1, 2, 2, 1, 1, 2, 1, 2, 2, 1] and group_words(words, signs_apart=True)[0] == words
    opened = ["He", "left", "▁", "·(", "·«", "·it", "rain", "·ed", "▁", "·-", "·)", "·.", "▁", "·a", "·-", "·b"]  # a blank of its own
    words, pieces = group_words(opened, signs_apart=True)
    assert words == ["He", "left", "(", "«", "it", "rained", "-", ")", ".", "a-b"]
    assert pieces.sum(0).tolist() == [1, 1, 2, 1, 1, 2, 2, 1, 1, 4]
    assert [shown(label) for label in ("·.", "·,", "·ing", "··", "·", ".", "<eos>")] == [".", ",", "·ing", "··", "·", ".", "<eos>"]


def test_a_mark_of_a_letter_is_no_punctuation():
    hindi = ["वह", "नद", "·ी", "·।", "<eos>"]
    assert group_words(hindi, signs_apart=True)[0] == ["वह", "नदी", "।", "<eos>"] and shown("·ी") == "·ी" and shown("·।") == "।"
    assert find(hindi, "नदी") == [1, 2] and find(["«ที่»", "المُعَلِّمُ."], "ที่") == [0] and find(["«", "·هُ", "·."], "هُ") == [1]


@pytest.mark.parametrize("label, drawn", [
    ("a\nb", r"a\nb"), ("·\0", r"·\x00"), ("\x1b[31m", r"\x1b[31m"), ("·\x85a", r"·\x85a"), ("a\ud800", r"a\ud800"), ("\uffff", r"\uffff"),
    ("a\u200d\xa0\\é🐶", "a\u200d\xa0\\é🐶"),
])
def test_what_no_svg_can_hold_is_written_out_and_nothing_else(label, drawn):
    assert shown(label) == drawn


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


@pytest.mark.parametrize("pieces, labels, words", [
    (["▁The", "▁play", "ers", ".", "</s>"], ["The", "play", "·ers", "·.", "</s>"], ["The", "players.", "</s>"]),
    ([">>deu<<", "The", "▁", "ß", "a", "▁b", "</s>", "<pad>"], [">>deu<<", "The", "▁", "·ß", "·a", "b", "</s>", "<pad>"],
     [">>deu<<", "The", "ßa", "b", "</s>", "<pad>"]),
    (["<s>", "The", "Ġplay", "ers", ".", "</s>"], ["<s>", "The", "play", "·ers", "·.", "</s>"], ["<s>", "The", "players.", "</s>"]),
    (["Play", "ing", "Ċ", "Ċ", "Ball", "s", "Ġ", "Ġx"], ["Play", "·ing", "↵", "↵", "Ball", "·s", "▁", "x"],
     ["Playing", "↵", "↵", "Balls", "▁", "x"]),
    (["ĠÃ¤", "Å¡", "â", "Ĥ", "¬", "Ġna"], ["ä", "·š", "·€", "·", "·", "na"], ["äš€", "na"]),
    (["<s>", "ð", "Ł", "</s>", "ĠÃ¤"], ["<s>", "�", "·�", "</s>", "ä"], ["<s>", "��", "</s>", "ä"]),
    (["ĠâĢ", "ľ", "Hello", "âĢ", "Ŀ", "Ġyes"], ["“", "·", "·Hello", "·”", "·", "yes"], ["“Hello”", "yes"]),
    (["<s>", "un", "play", "able</w>", "dog</w>", ".</w>", "</s>"], ["<s>", "un", "·play", "·able", "dog", ".", "</s>"],
     ["<s>", "unplayable", "dog", ".", "</s>"]),
    (["un", "do</w>", "<unk>", "dog</w>", "s</w>"], ["un", "·do", "<unk>", "dog", "s"], ["undo", "<unk>", "dog", "s"]),
    (["un@@", "play@@", "able", "dog", "s@@"], ["un", "·play", "·able", "dog", "s"], ["unplayable", "dog", "s"]),
    (["[CLS]", "the", "play", "##ers", "'", "s", ".", "[SEP]"], ["[CLS]", "the", "play", "·ers", "'", "s", ".", "[SEP]"],
     ["[CLS]", "the", "players", "'", "s", ".", "[SEP]"]),
    (["no", "marks", "at", "·all", ""], ["no", "marks", "at", "▁·all", "▁"], ["no", "marks", "at", "▁·all", "▁"]),
])
def test_the_marks_of_other_tokenizers_say_where_a_word_begins(pieces, labels, words):
    assert pieces_labelled(pieces) == labels and group_words(labels)[0] == words


def test_a_piece_without_a_letter_of_its_own_is_no_word():
    assert group_words(["–", "·", "yes", "·!", "·"], signs_apart=True)[0] == ["–", "yes", "!"]
    assert group_words(["·", "a", "·"], signs_apart=True)[0] == ["·", "a"]
    assert group_words(["–", "·", "yes"], signs_apart=True)[1].tolist() == [[1, 0], [1, 0], [0, 1]]


def test_a_vocabulary_says_how_pieces_are_marked_that_show_no_mark_themselves():
    assert pieces_labelled(["play", "ing"], {"Ġthe": 0, "Ġa": 1, "##": 2, "###": 3}) == ["play", "·ing"]
    assert pieces_labelled(["play", "ing"], {"##s": 0, "▁": 1}) == ["play", "ing"]
    assert pieces_labelled(["play", "ing"], {"▁a": 0}) == ["play", "·ing"]
    assert pieces_labelled(["play", "<mask>", "ing"], {"▁a": 0}, {"<mask>"}) == ["play", "<mask>", "ing"]


def test_tokens_that_stand_for_no_word_are_known():
    special = "<start> <eos> <pad> <s> </s> [CLS] [SEP] [PAD] <|endoftext|> <|im_start|> <｜end▁of▁text｜> >>deu<< de_DE eng_Latn __fr__"
    assert all(map(is_special, special.split()))
    assert not any(map(is_special, "<unk> [UNK] [MASK] dog . < <b> [ [1] eos </ | || I_AM <start>x".split()))
    assert group_words([])[0] == [] and group_words([])[1].shape == (0, 0)


UNDIVIDED = [
    ("▁ ·你好 ·， ·世界 ·2024 ·年 ·！ <eos>", "你好 ， 世界 2024 年 ！ <eos>"),
    ("เพื่ ·อน ·ของ ·ี ·ฉัน <eos>", "เพื่ อน ของี ฉัน <eos>"),
    ("I like ·東京 ·Tower ·s ·.", "I like 東京 Towers ."),
]


@pytest.mark.parametrize("pieces, words", UNDIVIDED)
def test_in_a_script_without_blanks_each_piece_is_a_word(pieces, words):
    labels, belongs = group_words(pieces.split(), signs_apart=True)
    assert labels == words.split() and belongs.shape == (len(pieces.split()), len(labels))
    assert find(pieces.split(), labels[0])


def test_a_sign_with_a_variant_of_its_look_is_no_word():
    assert find(["schön", "·❤️", "<eos>"], "schön") == [0] and group_words(["schön", "·❤️"], signs_apart=True)[0] == ["schön", "❤️"]


def test_a_part_of_a_letter_begins_no_word():
    assert group_words(["東", "·", "·", "·京"])[0] == ["東", "京"]
