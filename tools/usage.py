"What a tool says for --help, and for a word that it does not know."
import sys


def words_given(
    doc: str,                        # what --help prints
    known: tuple[str, ...] | None,   # the words that may follow, one at most; None: names, any number
) -> list[str]:
    "The words after a tool's name. For an unknown word it ends here with status 2, and nothing is written."
    given = sys.argv[1:]
    if {"-h", "--help"} & set(given):
        print(doc)
        sys.exit()
    wrong = [word for word in given if word.startswith("-") or known is not None and word not in known]
    if wrong or known is not None and len(given) > 1:
        print(f"not understood: {' '.join(wrong or given)}; --help says what may follow", file=sys.stderr)
        sys.exit(2)
    return given
