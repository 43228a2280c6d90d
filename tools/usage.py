"What a tool says for --help, and where it is told what it does not know."
import sys


def words_given(
    doc: str,                        # what --help prints
    known: tuple[str, ...] | None,   # the words that may follow, one at most; None: names, any number
) -> list[str]:
    "The words behind the name of a tool. It ends here with status 2 for one that it does not know: nothing is written then."
    given = sys.argv[1:]
    if {"-h", "--help"} & set(given):
        print(doc)
        sys.exit()
    wrong = [word for word in given if word.startswith("-") or known is not None and word not in known]
    if wrong or known is not None and len(given) > 1:
        print(f"not understood: {' '.join(wrong or given)}; --help says what may follow", file=sys.stderr)
        sys.exit(2)
    return given
