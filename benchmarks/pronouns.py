"""What "it" means to a small translator: trainings on the corpus pronouns-en-de, and which head looks at the noun that is meant.

    python -m benchmarks.pronouns --seeds 1 2 3 4 5 [--ship] [--heads N] [--main-clause-first]

Each seed is a run under runs/pronouns/, which the same command continues or, if it is complete, only measures. With --ship, the
seed with the smallest loss on the validation split ships as pronouns-en-de. The sentences measured are those of the test split
(with --split validation, those of the validation split, which is the one to choose by) whose nouns all have different genders in
German. At the position where the decoder writes er, sie or es: how often does each head put its strongest weight on the noun
that is meant? The end sign and the full stop are left out. Then, for each head: how many pronouns change when the head gives
zeros, and when all its weight is forced onto another noun?
"""
import dataclasses
from pathlib import Path

import torch
from torch import Tensor

from annotated_transformer import EOS, InputError
from annotated_transformer.config import Execution, TrainingConfig, TransformerConfig
from annotated_transformer.data.batching import pad, shift_right
from annotated_transformer.data.pronouns import KINDS, PRONOUNS, Meaning, nouns_of, sentences
from annotated_transformer.data.tokenizer import Tokenizer
from annotated_transformer.figures.head_changes import changed_heads, every_head, without_heads
from annotated_transformer.files import sha256
from annotated_transformer.model.transformer import Transformer, count_parameters
from annotated_transformer.model_record import PRETRAINED
from annotated_transformer.training.loop import train
from annotated_transformer.training.runs import Run
from annotated_transformer.translation.translator import Translator
from benchmarks.shared.command import Options, one_sentence
from benchmarks.shared.corpus_files import write_corpus
from benchmarks.shared.shipping import keep, put_into
from benchmarks.shared.side_by_side import save

Sentence = tuple[str, str, Meaning]
EXAMPLES = {  # never in the training split; what German must say
    "The animal didn't cross the street because it was too tired.": "es",
    "The animal didn't cross the street because it was too wide.": "sie",
    "The ball didn't fit into the bag because it was too big.": "er",
    "The ball didn't fit into the bag because it was too small.": "sie",
}


def recipe(corpus: str, heads: int, seed: int) -> TrainingConfig:
    "The configuration of one training."
    model = TransformerConfig(1_800, n_layers=2, d_model=128, d_ff=256, n_heads=heads, dropout=0.1, max_length=128)
    return TrainingConfig(
        model, corpus=corpus, batch_tokens=2_048, steps=1_000, init_gain=1.0, warmup_steps=300, rate_factor=1.0, seed=seed,
        validate_every=500, checkpoint_every=250, checkpoint_minutes=None, keep=1, execution=Execution(precision="auto"),
    )


def before_pronoun(target: str, meaning: Meaning) -> str:
    "What German says before er, sie or es, which follow the link of the clause."
    words = target.split()
    at = next(i for i, word in enumerate(words) if word == meaning.pronoun and words[i - 1].lower() in ("weil", "da", "obwohl"))
    return " ".join(words[:at])


def place_told(source: str, meaning: Meaning) -> int:
    "Where the word stands that tells which noun is meant: the last of the clause, the adjective."
    return next(i for i, word in enumerate(source.split()) if i > meaning.it and word[-1] in ",.")


class Words:
    "Sentences as a batch, with the columns that belong to each word of the source."

    def __init__(self, tokenizer: Tokenizer, chosen: list[Sentence]):
        rows = tokenizer.encode_all([source for source, _, _ in chosen])
        self.meanings = [meaning for _, _, meaning in chosen]
        self.told = torch.tensor([place_told(source, meaning) for source, _, meaning in chosen])  # (B)
        self.source = pad(rows)                                            # (B, S)
        pieces = [tokenizer.pieces(row) for row in rows]
        self.word = torch.full(self.source.shape, -1)                      # (B, S): which word; -1 for signs, the end and padding
        for row, names in enumerate(pieces):
            count = -1
            for column, name in enumerate(names[:-1]):
                count += name.startswith("▁")
                if any(letter.isalnum() for letter in name):
                    self.word[row, column] = count
        links = tokenizer.encode_all([before_pronoun(target, meaning) for _, target, meaning in chosen])
        self.at = torch.tensor([len(link) - 1 for link in links])          # (B): where the pronoun is written
        self.target_input = shift_right(pad([[*link[:-1], EOS] for link in links]))
        ids = [tokenizer.encode(pronoun)[:-1] for pronoun in PRONOUNS]
        if any(len(one) != 1 for one in ids):
            raise InputError("er, sie and es must be one piece each: the vocabulary is too small")
        self.pronouns = torch.tensor([one[0] for one in ids])
        self.right = torch.tensor([meaning.gender for meaning in self.meanings])

    def by_word(self, weights: Tensor) -> Tensor:  # (..., B, S) -> (..., B, words)
        "Sums over the pieces of each word; signs and the end left out."
        onto = torch.nn.functional.one_hot(self.word + 1, int(self.word.max()) + 2)[..., 1:].to(weights)
        return torch.einsum("...bs,bsw->...bw", weights, onto)

    def columns_of(self, places: list[int]) -> Tensor:  # (B, S), rows sum to one
        "Equal weight on the pieces of one word of each sentence."
        mask = (self.word == torch.tensor(places)[:, None]).float()
        return mask / mask.sum(1, keepdim=True)


@torch.inference_mode()
def written(model: Transformer, words: Words) -> Tensor:  # (B) 0 er, 1 sie, 2 es, -1 something else
    "Which pronoun the model writes."
    logits = model.eval()(words.source, words.target_input)[torch.arange(len(words.at)), words.at]
    found = logits.argmax(-1)[:, None] == words.pronouns
    return torch.where(found.any(1), found.float().argmax(1), -1)


@torch.inference_mode()
def looks(model: Transformer, words: Words) -> dict[str, Tensor]:  # (L, h, B, words) of each kind
    "Where the heads of the decoder look while they write the pronoun, and those of the encoder from `it`."
    maps, rows = model.eval().attention_maps(words.source, words.target_input), torch.arange(len(words.at))
    it = torch.tensor([[*line].index(meaning.it) for line, meaning in zip(words.word.tolist(), words.meanings)])
    return {
        "decoder": words.by_word(maps.encoder_decoder[:, rows, :, words.at].permute(1, 2, 0, 3)),
        "encoder": words.by_word(maps.encoder[:, rows, :, it].permute(1, 2, 0, 3)),
    }


def by_head(words: Words, weights: Tensor) -> list[dict]:  # of each head
    "How often the strongest weight is on the noun meant, also by its place among the nouns, on another, on the adjective."
    strongest = weights.argmax(-1)                                                  # (L, h, B)
    meant = torch.tensor([meaning.place for meaning in words.meanings])
    others = [[place for _, place, _ in meaning.others] for meaning in words.meanings]
    order = torch.tensor([sum(place < meaning.place for place in some) for meaning, some in zip(words.meanings, others)])
    last = torch.tensor([order_ == len(some) for order_, some in zip(order.tolist(), others)])
    found = []
    for layer, head in torch.cartesian_prod(*map(torch.arange, weights.shape[:2])).tolist():
        one, at = weights[layer, head], strongest[layer, head]
        right = at == meant
        on_other = torch.tensor([place in some for place, some in zip(at.tolist(), others)])
        weight_other = torch.tensor([max(row[place].item() for place in some) for row, some in zip(one, others)])
        found.append({
            "layer": layer + 1, "head": head + 1, "meant": share(right), "other_noun": share(on_other),
            "first_noun_meant": share(right[order == 0]), "last_noun_meant": share(right[last]),
            "middle_noun_meant": share(right[(order > 0) & ~last]),
            "adjective": share(at == words.told), "weight_on_meant": round(one[torch.arange(len(meant)), meant].mean().item(), 4),
            "weight_on_other": round(weight_other.mean().item(), 4), "weight_on_words": round(one.sum(-1).mean().item(), 4),
        })
    return found


def share(found: Tensor) -> float | None:
    "Of the true ones."
    return round(found.float().mean().item(), 4) if len(found) else None


def ablation(model: Transformer, words: Words) -> list[dict]:
    "Of each head of the decoder: how many pronouns change without it, and with all its weight on another noun."
    before = written(model, words)
    other = [meaning.others[0] for meaning in words.meanings]
    onto = words.columns_of([place for _, place, _ in other])[:, None]  # (B, 1, S)
    its_gender = torch.tensor([gender for _, _, gender in other])
    found = []
    for layer, head in every_head(model, "encoder_decoder"):
        with without_heads(model, {"encoder_decoder": [(layer, head)]}):
            off = written(model, words)
        with changed_heads(model, {"encoder_decoder": {(layer, head): onto}}):
            forced = written(model, words)
        found.append({
            "layer": layer, "head": head, "changed_when_off": share(off != before),
            "changed_when_forced": share(forced != before), "of_the_other_noun_when_forced": share(forced == its_gender),
        })
    return found


def measure(model: Transformer, tokenizer: Tokenizer, chosen: list[Sentence]) -> dict:
    "All figures of one model."
    words = Words(tokenizer, [sentence for sentence in chosen if sentence[2].tells()])
    pronouns = written(model, words)
    kinds = {kind: by_head(words, weights) for kind, weights in looks(model, words).items()}
    return {
        "sentences": len(words.meanings), "pronouns_right": share(pronouns == words.right),
        "best": {kind: max(heads, key=lambda one: one["meant"]) for kind, heads in kinds.items()},
        **kinds, "ablation": ablation(model, words),
    }


def examples(translator: Translator) -> list[dict]:
    "The sentences that everybody knows, translated."
    found = []
    for source, pronoun in EXAMPLES.items():
        translation = translator.translate(source)
        found.append({"source": source, "translation": translation, "right": translation.split()[1:2] == [pronoun]})
    return found


CARD = """---
license: apache-2.0
language: [en, de]
library_name: annotated_transformer
tags: [translation]
---

# pronouns-en-de

English to German, {parameters:,} parameters: {model.n_layers} + {model.n_layers} layers, heads a layer: {model.n_heads},
d_model {model.d_model}, {model.vocab_size:,} pieces, stored in 16 bits. For sentences in which the meaning decides what
*it* refers to: head {head} of layer {layer} of the decoder looks at that noun while it writes *er*, *sie* or *es*.
The page Figures 3 to 5 of the book draws it.

- **Data:** the built-in corpus `pronouns-en-de`, generated by rules.
- **Recipe:** {config.steps:,} updates of {config.batch_tokens:,} positions a side, dropout {model.dropout}, label smoothing
  {config.smoothing}, {config.warmup_steps} updates of warm-up, peak rate {config.rate_factor} times the paper's formula; the last
  checkpoint; {name}, the one of {seeds} whose validation loss is smallest.
- **Scores:** {right:.1%} of {n:,} pronouns of test sentences right; the head's strongest weight is on the noun that is meant in
  {meant:.1%}. `results/heads/pronouns.json` in the repository says how each was counted, and has the other seeds.
- **Reproduced by:** `{command}`

Not for use outside such sentences: it knows {nouns} nouns, and writes fluent German about anything else, too.
"""


def ship(run: Run, name: str, found: dict, seeds: int) -> dict:
    "Put a model into the package, with its card and its record; which one it is."
    translator, best, config = Translator.from_pretrained(run.directory), found["best"]["decoder"], run.config
    translator.model.half()
    text = CARD.format(
        nouns=len({noun for kind in KINDS for group in nouns_of(kind) for noun in group}),
        parameters=count_parameters(translator.model), model=config.model, config=config, name=name, seeds=seeds,
        head=best["head"], layer=best["layer"], right=found["pronouns_right"], n=found["sentences"], meant=best["meant"],
        command="python -m benchmarks.pronouns --ship",
    )
    directory = PRETRAINED / "pronouns-en-de"
    put_into(directory, translator, text, "pronouns-en-de", {})
    about = "English to German, for sentences in which the meaning decides what \"it\" stands for"
    keep(directory, about=about, languages=("en", "de"), licence="Apache-2.0", pronoun_head=(best["layer"], best["head"]))
    return {
        "shipped": {"seed": int(name.split()[1]), "layer": best["layer"], "head": best["head"]},
        "weights_sha256": sha256(directory / "model.safetensors"),
    }


def by_place(chosen: list[Sentence]) -> dict[str, float]:
    "How often a head would be right that always looks at the first, the second or the last of the nouns."
    orders = [(sorted([m.place, *[place for _, place, _ in m.others]]), m.place) for _, _, m in chosen if m.tells()]
    picks = {"first": lambda places: places[0], "second": lambda places: places[1], "last": lambda places: places[-1]}
    return {name: share(torch.tensor([pick(places) == meant for places, meant in orders])) for name, pick in picks.items()}


def say(seed: int | str, one: dict) -> None:
    "The main figures of a model on a line."
    best = one["best"]
    parts = [f"seed {seed}: {one['pronouns_right']:.1%} of {one['sentences']} pronouns right"]
    for kind in ("decoder", "encoder"):
        b = best[kind]
        parts.append(f"{kind} {b['layer']}.{b['head']}: {b['meant']:.1%} (first {b['first_noun_meant']:.0%}, last "
                     f"{b['last_noun_meant']:.0%}; other {b['other_noun']:.0%}; weight on words {b['weight_on_words']:.2f})")
    most = max(one["ablation"], key=lambda head: head["changed_when_forced"])
    parts.append(f"forced {most['layer']}.{most['head']}: {most['changed_when_forced']:.0%}, off {most['changed_when_off']:.0%}")
    print("; ".join(parts), flush=True)


@one_sentence()
def main() -> None:
    parser = Options("benchmarks.pronouns", __doc__, "results/heads/pronouns.json")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3, 4, 5])
    parser.add_argument("--heads", type=int, default=1, help="of a layer")
    parser.add_argument("--main-clause-first", action="store_true",
                        help="train and measure on the same sentences with the German main clause first: a control")
    parser.add_argument("--split", default="test")
    parser.add_argument("--name", default="recipe", help="of the directories of the runs")
    parser.add_argument("--ship", action="store_true", help="put the seed with the smallest validation loss into the package")
    arguments = parser.parse_args()
    splits = sentences(clause_first=0) if arguments.main_clause_first else sentences()
    chosen, figures, runs = splits[arguments.split], {}, {}
    corpus = "pronouns-en-de"
    if arguments.main_clause_first:
        corpus = "runs/pronouns/main-clause-first"
        write_corpus(splits, Path(corpus))
    for seed in arguments.seeds:
        config, run = recipe(corpus, arguments.heads, seed), Run(Path("runs/pronouns", f"{arguments.name}-{seed}"))
        model = train(config, run.directory)
        losses = [line["validation_loss"] for line in run.metrics() if "validation_loss" in line]
        runs[f"seed {seed}"] = run
        figures[f"seed {seed}"] = {
            "validation_loss": round(losses[-1], 5), "minutes": round(run.metrics()[-1]["seconds"] / 60, 1),
            **measure(model, run.tokenizer, chosen),
            "examples": examples(Translator(model, run.tokenizer)),
        }
        say(seed, figures[f"seed {seed}"])
    torch.manual_seed(0)
    untrained = measure(Transformer(model.config), run.tokenizer, chosen)
    say("none, untrained", untrained)
    best = min(runs, key=lambda name: figures[name]["validation_loss"])
    figures |= {"untrained": untrained, "by_place": by_place(chosen), "parameters": count_parameters(model)}
    if arguments.ship:
        figures |= ship(runs[best], best, figures[best], len(runs))
    save(arguments.out, "benchmarks.pronouns", figures, dataclasses.asdict(config) | {"split": arguments.split}, arguments.seeds)


if __name__ == "__main__":
    main()
