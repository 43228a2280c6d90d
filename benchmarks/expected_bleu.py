"""A finish for the everyday translator: among its own translations of a sentence, the better ones become more probable.

    python -m benchmarks.expected_bleu candidates --work W [--first 0 --last 20000]
    python -m benchmarks.expected_bleu learn 0.03 --work W --start DIRECTORY --updates N
    python -m benchmarks.expected_bleu report --work W [--out results/translation/expected_bleu.json]

W/prepared is a run of `everyday-en-de` whose pairs `prepare` has tokenised with the shipped vocabulary. `candidates` draws
sentences from them and translates each by beam search. The whole beam is kept in W/candidates-FIRST.jsonl, each translation with
its sentence BLEU against all translations in the pairs. Two calls with different sentences may run side by side.

`learn` continues from the weights in DIRECTORY (kept by `benchmarks.shared.earlier`). Its loss is the expected lack of BLEU:
1 - BLEU of each candidate, weighted by its share of the probability (minimum risk training: Shen et al. 2016; candidates from a
beam and scores per token: Edunov et al. 2018), plus the given share of the usual loss on the pair itself. The candidates are
those of the first weights throughout. `report` scores each W/NUMBER, the mean of its last AVERAGE checkpoints, on the validation
split.
"""
import dataclasses
import json
import os
import random
import re
import shutil
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import torch
from sacrebleu.metrics import BLEU
from sentencepiece import SentencePieceProcessor
from torch import Tensor

from annotated_transformer import EOS, PAD, Translator
from annotated_transformer.config import Execution, Search
from annotated_transformer.data import corpora
from annotated_transformer.data.batching import pad, shift_right
from annotated_transformer.data.large_corpora import TokenizedPairs
from annotated_transformer.model.regularization import label_smoothed_cross_entropy
from annotated_transformer.training import loop
from annotated_transformer.training.devices import autocast
from annotated_transformer.training.loop import WithLoss, train
from annotated_transformer.training.runs import Run
from annotated_transformer.translation.fast_search import beam_search
from annotated_transformer.translation.translator import in_batches
from benchmarks.copied_names import measured
from benchmarks.distillation import SHIPPED, decoded, made_by, ran
from benchmarks.pretrained import EVERYDAY_GPU
from benchmarks.shared.command import Options, one_sentence
from benchmarks.shared.side_by_side import save

BEAM = 8               # candidates
SEARCH = Search(alpha=1.0)
SHARPNESS = 5.0        # times the mean log-probability of a token, before the candidates' softmax
DRAWN = 5              # seed of which sentences are drawn
AVERAGE = 8            # checkpoints
FINISH = dataclasses.replace(
    EVERYDAY_GPU, model=dataclasses.replace(EVERYDAY_GPU.model, dropout=0.1), batch_tokens=512, warmup_steps=100, seed=21,
    rate_factor=0.008, validate_every=200, checkpoint_every=50, keep=20, log_every=20, execution=Execution(precision="bfloat16"),
)


class Candidates(NamedTuple):
    "Translations of one sentence."

    tokens: list[list[int]]   # with EOS
    lack: list[float]         # of BLEU: from 0, as the pairs have it, to 1


def references(pairs: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    "Each sentence once, with all translations of it."
    found: dict[str, dict[str, None]] = {}
    for source, target in pairs:
        found.setdefault(source, {})[target] = None
    return {source: list(targets) for source, targets in found.items()}


def translated(translator: Translator, sources: Sequence[str]) -> list[list[list[int]]]:
    "The whole beam of each sentence, without EOS."
    search = dataclasses.replace(SEARCH, beam_size=BEAM)

    def beams(source: Tensor, _) -> list[list[list[int]]]:
        return [[found.tokens for found in one] for one in beam_search(translator.searched, source, search)]

    return [found or [] for found in in_batches(translator.tokenizer.encode_all(list(sources)), 8_192 // BEAM, beams)]


def candidates(work: Path, first: int, last: int) -> None:
    "Write the candidates of the sentences from number `first` to `last`, in an order that DRAWN decides."
    run = Run(work / "prepared")
    known = references(decoded(run.tokenizer, run.pairs("train")))
    sources = list(known)
    random.Random(DRAWN).shuffle(sources)
    sources = sources[first:last]
    pieces, score = SentencePieceProcessor(model_proto=run.tokenizer.model), BLEU(effective_order=True).sentence_score
    part = work / f"candidates-{first}.part"
    with open(part, "w", encoding="utf-8") as file:
        for source, beam in zip(sources, translated(Translator.from_pretrained(SHIPPED, precision="int8"), sources)):
            scores = [round(score(pieces.decode(tokens), known[source]).score, 2) for tokens in beam]
            one = {"source": source, "targets": known[source], "candidates": beam, "bleu": scores}
            file.write(f"{json.dumps(one)}\n")
    os.replace(part, part.with_suffix(".jsonl"))


def kept(work: Path) -> Iterator[dict]:
    "The sentences with candidates that are not all equally good: from the others nothing is learnt."
    for file in sorted(work.glob("candidates-*.jsonl")):
        with open(file, encoding="utf-8") as lines:
            yield from (one for one in map(json.loads, lines) if len(set(one["bleu"])) > 1)


def expected_lack(
    scores: Tensor,     # (N) of the candidates of several sentences
    lack: Tensor,       # (N)
    sentence: Tensor,   # (N) which sentence each belongs to: 0 to B - 1
    sentences: int,     # B
) -> Tensor:            # (B)
    "Each sentence's mean lack of BLEU, its candidates weighed by a softmax of their scores."
    own = torch.full((sentences, len(scores)), float("-inf"), dtype=scores.dtype)
    own[sentence, torch.arange(len(scores))] = 0.0
    return (own + scores).softmax(-1) @ lack


class Risk(WithLoss):
    "A model with the loss of this file, in place of the usual one."

    def __init__(self, learner: WithLoss, known: dict[tuple[int, ...], Candidates], on_the_pair: float):
        super().__init__(learner.model, learner.smoothing, learner.precision)
        self.known, self.on_the_pair = known, on_the_pair
        weight = self.model.embedding.weight
        weight.register_hook(lambda gradient: gradient.index_fill(0, gradient.new_tensor([PAD], dtype=torch.long), 0.0))

    def forward(self, source: Tensor, target_input: Tensor, target: Tensor, tokens: int) -> Tensor:
        found = [self.known[tuple(token for token in row if token != PAD)] for row in source.tolist()]
        sentence = torch.tensor([i for i, one in enumerate(found) for _ in one.tokens])
        lack = torch.tensor([lack for one in found for lack in one.lack])
        own = (target[target != PAD]).split((target != PAD).sum(1).tolist())
        rows = pad([*(tokens for one in found for tokens in one.tokens), *(row.tolist() for row in own)])
        of = torch.cat([sentence, torch.arange(len(source))])
        real = rows != PAD
        with autocast(source.device.type, self.precision):
            hidden = self.model.decode(shift_right(rows), self.model.encode(source)[of], source[of])[real]
            logits = (hidden @ self.model.embedding.weight.to(hidden.dtype).T).float()
        right = logits.gather(-1, rows[real][:, None])[:, 0] - logits.logsumexp(-1)
        row = real.nonzero()[:, 0]
        score = right.new_zeros(len(rows)).index_add(0, row, right)[: len(lack)] / real.sum(1)[: len(lack)]
        risk = expected_lack(SHARPNESS * score, lack, sentence, len(source)).mean()
        pair = row >= len(lack)
        usual = label_smoothed_cross_entropy(logits[pair], rows[real][pair], self.smoothing)
        return (risk + self.on_the_pair * usual) * (target != PAD).sum() / tokens


def prepared(work: Path, run: Path) -> dict[tuple[int, ...], Candidates]:
    "A run with the pairs of the sentences that have candidates; these candidates, by the sentence's ids."
    shutil.copytree(work / "prepared", run)
    (run / "data" / "SHA256SUMS").unlink(missing_ok=True)
    tokenizer, found, pairs = Run(run).tokenizer, {}, []
    for one in kept(work):
        ids = tokenizer.encode(one["source"])
        found[tuple(ids)] = Candidates([[*row, EOS] for row in one["candidates"]], [1 - score / 100 for score in one["bleu"]])
        pairs += [(one["source"], target) for target in one["targets"]]
    TokenizedPairs.write(run / "data", "train", pairs, tokenizer, FINISH.model.max_length, total=len(pairs))
    print(f"{len(found):,} sentences with {sum(len(one.lack) for one in found.values()):,} candidates", flush=True)
    return found


def learn(work: Path, on_the_pair: float, start: Path, updates: int) -> None:
    "With so much of the usual loss."
    run, usual = work / f"{on_the_pair:g}", loop.learner_for
    known = prepared(work, run)
    loop.learner_for = lambda *options: Risk(usual(*options), known, on_the_pair)
    train(dataclasses.replace(FINISH, steps=updates, start_from=str(start)), run)
    loop.learner_for = usual


def report(work: Path, out: Path, options: Sequence[str] | None) -> None:
    "What each came to, into one file."
    pairs = corpora.load(SHIPPED).validation
    before = Translator.from_pretrained(SHIPPED, device="cpu", precision="float32")
    figures, configs = {"before": {"validation_bleu": measured(before, pairs, [])["validation_bleu"]}}, {}
    runs = sorted(path for path in work.iterdir() if re.fullmatch(r"[\d.]+", path.name))
    for run in runs:
        after = Translator.from_pretrained(run, AVERAGE, device="cpu", precision="float32")
        after.search = before.search
        figures[run.name] = {**ran(run), "validation_bleu": measured(after, pairs, [])["validation_bleu"]}
        configs[run.name] = Run(run).config.to_dict()
    drawn = list(kept(work))
    figures["candidates"] = {
        "sentences": len(drawn), "translations": sum(len(one["bleu"]) for one in drawn),
        "mean_bleu_of_the_first": sum(one["bleu"][0] for one in drawn) / len(drawn),
        "mean_bleu_of_the_best": sum(max(one["bleu"]) for one in drawn) / len(drawn),
    }
    save(out, "benchmarks.expected_bleu", figures, configs, FINISH.seed, options, trained=made_by(runs[0]))


@one_sentence()
def main(options: Sequence[str] | None = None) -> None:
    parser = Options("benchmarks.expected_bleu", __doc__, "results/translation/expected_bleu.json")
    parser.add_argument("do", choices=("candidates", "learn", "report"))
    parser.add_argument("share", nargs="?", type=float, help="of the usual loss, for learning")
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--first", type=int, default=0, help="number of the first sentence")
    parser.add_argument("--last", type=int, default=20_000, help="number after the last one")
    parser.add_argument("--start", type=Path, help="weights to go on from")
    parser.add_argument("--updates", type=int, default=1_200)
    arguments = parser.parse_args(options)
    if arguments.do == "candidates":
        candidates(arguments.work, arguments.first, arguments.last)
    elif arguments.do == "report":
        report(arguments.work, arguments.out, options)
    elif arguments.share is None or not arguments.start:
        parser.error("learn takes a share of the usual loss, such as 0.03, and --start")
    else:
        learn(arguments.work, arguments.share, arguments.start, arguments.updates)


if __name__ == "__main__":
    main()
