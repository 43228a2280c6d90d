"Words of running text."
from annotated_transformer.data.treebank_words import joined_word, split_words


def test_stops_quotes_and_short_forms_are_words_of_their_own():
    for text, words in (
        ("She didn't go.", "She did n't go ."), ("Ann’s dog, isn’t it?", "Ann 's dog , is n't it ?"),
        ("“Stop,” he said (twice).", "`` Stop , '' he said ( twice ) ."), ("I cannot.", "I can not ."),
        ("Mr. Smith paid $3.50, i.e. 40%.", "Mr. Smith paid $ 3.50 , i.e. 40 % ."), (" \t", ""), ("Go .", "Go ."),
    ):
        assert split_words(text) == words.split(), text


def test_the_first_joined_word_is_named():
    for line, word in (("He saw it.", "it."), ("Don’t go .", "Don’t"), ("Well, he said so .", "Well,"), ("So \"it is!\"", "is!\""),
                       ("The U.S. won 1,000 of 2.5 .", ""), ("dogs ' tails", ""), ("", ""), (" it is? \n", "is?")):
        assert joined_word(line) == word, line
