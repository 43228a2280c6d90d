"""Is a head's lead over the best positional rule clear, although its sentences share their verbs and their objects?

python -m benchmarks.repeated_words      (Tatoeba is downloaded once, 4 MB; some minutes)

benchmarks.heads treats every query as independent of the others (head.3). But a head may know only some words. So we resample,
with replacement, whole groups of sentences with the same verb, in all its forms, or with the same object, as written, and count
the lead each time. Which head and which rule are best is not chosen again.
"""
from collections import defaultdict
from collections.abc import Iterable, Sequence

import torch

from annotated_transformer import Translator
from annotated_transformer.data.corpora import load
from annotated_transformer.figures.head_scores import Tally, add_marked, best_head, read_marks
from annotated_transformer.progress_bar import progress_bar
from benchmarks.heads import BACK, marked_lists
from benchmarks.shared.command import Options, at_least, one_sentence
from benchmarks.shared.side_by_side import save
from benchmarks.word_pairs import VERB_OF

MODEL, CORPUS, QUESTION = "everyday-en-de", "tatoeba-en-de", "verb's object"


def leads(tallies: Sequence[Tally]) -> tuple[list[float], list[int]]:
    "Of each sentence by how many hits the best head of the other half beats the best rule of all, and how many queries it has."
    total = Tally()
    for number, one in enumerate(tallies):
        total.queries[number % 2] += one.queries[0]
        total.hits[number % 2] = total.hits[number % 2] + one.hits[0]
        total.rules.update(one.rules)
    rule, _ = max(total.rules.items(), key=lambda item: item[1])
    heads = [best_head(total.hits[1 - half]) for half in (0, 1)]
    found = [float(one.hits[0][heads[number % 2][0] - 1, heads[number % 2][1] - 1]) for number, one in enumerate(tallies)]
    return [hits - one.rules[rule] for hits, one in zip(found, tallies)], [one.queries[0] for one in tallies]


def drawn_anew(differences: Sequence[float], queries: Sequence[int], groups: Iterable[str], draws: int) -> dict:
    "The lead in all queries, and its 95% interval when whole groups are drawn."
    sums = defaultdict(lambda: [0.0, 0])
    for difference, n, group in zip(differences, queries, groups, strict=True):
        sums[group][0] += difference
        sums[group][1] += n
    table = torch.tensor([*sums.values()], dtype=torch.float64)  # (groups, 2)
    times = torch.multinomial(torch.ones(len(table)), draws * len(table), replacement=True,
                              generator=torch.Generator().manual_seed(0)).view(draws, -1)
    hits, n = table[times].sum(1).unbind(-1)
    low, high = (hits / n).quantile(torch.tensor([0.025, 0.975], dtype=torch.float64)).tolist()
    return {"groups": len(table), "interval": [round(low, 4), round(high, 4)]}


def measure(translator: Translator, lines: Sequence[str], draws: int) -> dict:
    "From verbs to their objects and back: the lead, and its interval by either word."
    tallies, verbs, objects = {QUESTION: [], BACK[QUESTION]: []}, [], []
    with progress_bar(total=len(lines), desc="verbs and objects", unit="sentence") as bar:
        for line in lines:
            of_one = defaultdict(Tally)
            add_marked(of_one, {QUESTION: False, BACK[QUESTION]: True}, translator.attention, [line])
            sentence, [(verb, its_object)] = read_marks(line)
            words = [word.lower().strip(".,!?") for word in sentence.split()]
            verbs.append(VERB_OF[words[verb]])
            objects.append(words[its_object])
            for question, those in tallies.items():
                those.append(of_one["encoder", question])
            bar.update()
    found = {}
    for question, those in tallies.items():
        differences, queries = leads(those)
        found[question] = {
            "queries": sum(queries), "lead": round(sum(differences) / sum(queries), 4),
            "by_verb": drawn_anew(differences, queries, verbs, draws),
            "by_object": drawn_anew(differences, queries, objects, draws),
        }
    return found


@one_sentence()
def main() -> None:
    parser = Options("benchmarks.repeated_words", __doc__, "results/heads/repeated-words.json")
    parser.add_argument("--limit", type=at_least(2), help="for trials: so many sentences")
    parser.add_argument("--draws", type=at_least(1), default=10_000)
    options = parser.parse_args()
    translator = Translator.from_pretrained(MODEL)
    lists, _ = marked_lists(translator, load(CORPUS), options.limit)
    figures = measure(translator, lists[QUESTION], options.draws)
    save(options.out, "benchmarks.repeated_words", figures, {"model": MODEL, "corpus": CORPUS, "draws": options.draws})
    for question, found in figures.items():
        print(question, found)


if __name__ == "__main__":
    main()
