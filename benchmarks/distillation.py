"""A small translator that learns from larger ones, next to one that goes on as before: for a GPU that is lent for minutes.

    python -m benchmarks.distillation teach SEED --work W --until 250 310
    python -m benchmarks.distillation translate SEED --work W --until 365
    python -m benchmarks.distillation learn taught --work W --until 610 690
    python -m benchmarks.distillation learn plain --work W --until 610 690
    python -m benchmarks.distillation report --work W [--out results/translation/distillation.json]

W/prepared is a run of `everyday-en-de` whose pairs `prepare` has tokenised with the shipped vocabulary. Two teachers, twice as
wide as the shipped model, learn these pairs; each translates half of the English sentences once more (Kim and Rush 2016). Then
the shipped weights learn both pairs and translations: half of each token's target is the mean of what the teachers and
the shipped model itself expect (Hinton et al. 2015), the other half is the token with label smoothing. `plain` is the control:
the same weights, settings and seed, only the pairs, no teacher. Every training run lasts until the given number of seconds after
`--since` (by default, now): until the first number at the full rate, until the second at a seventh of it, as `EVERYDAY_GPU` and
`EVERYDAY_LAST` did. For each learner, the mean of the last checkpoints, their number chosen on the validation split, is kept in
W/taught-kept and so on; `benchmarks.pretrained everyday-en-de --made` scores and ships them.

The second round (distillation-names.json) was about names: its pairs come from `benchmarks.everyday_extra --with-corpus --names
DIRECTORY --draws 2`. Its teachers also learnt from the shipped weights: `teach 1 --from-shipped`, `teach 2 --from-shipped --cut`.
Besides `taught`, `learn cut` reads half of the sources in other pieces (BPE-dropout); its teachers read the usual ones.
`benchmarks.copied_names` counts the names that they copy.
"""
import dataclasses
import json
import os
import random
import re
import shutil
import signal
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import torch
from sentencepiece import SentencePieceProcessor
from torch import Tensor, nn

from annotated_transformer import EOS, PAD, Translator
from annotated_transformer.config import Search, TrainingConfig
from annotated_transformer.data.batching import pad
from annotated_transformer.data.large_corpora import TokenizedPairs
from annotated_transformer.data.tokenizer import Tokenizer
from annotated_transformer.training import loop
from annotated_transformer.training.devices import autocast
from annotated_transformer.training.loop import WithLoss, train
from annotated_transformer.training.processes import Stopped
from annotated_transformer.training.runs import Run
from annotated_transformer.translation.bleu import sacre_bleu
from benchmarks.pretrained import EVERYDAY_GPU
from benchmarks.shared.command import Options, one_sentence
from benchmarks.shared.earlier import write_start
from benchmarks.shared.shipping import round_weights
from benchmarks.shared.side_by_side import save

TEACHERS = (1, 2)   # their seeds
FROM_TEACHERS = 0.5  # of the target of a token
CUT, ROWS = 0.1, 0.5  # the share of joins that a cut leaves out, and of sources that are cut differently
LEARNERS = ("taught", "cut", "plain")
AVERAGES = (5, 10, 20)  # numbers of checkpoints to choose from
SHIPPED = "everyday-en-de"
STEPS = 1_000_000   # the time ends a training
STUDENT = dataclasses.replace(
    EVERYDAY_GPU, model=dataclasses.replace(EVERYDAY_GPU.model, dropout=0.2), steps=STEPS, batch_tokens=16_384, warmup_steps=500,
    rate_factor=0.35, validate_every=1_000, checkpoint_every=300, start_from=SHIPPED, seed=11,
)
TEACHER = dataclasses.replace(
    EVERYDAY_GPU, model=dataclasses.replace(EVERYDAY_GPU.model, d_model=512, d_ff=2_048, d_k=64, d_v=64), steps=STEPS,
    batch_tokens=16_384, warmup_steps=1_000, rate_factor=0.8, validate_every=1_000, checkpoint_every=450,
)


def last(config: TrainingConfig, start: Path) -> TrainingConfig:
    "The second part: from the mean of the first one's last checkpoints, at a low rate."
    return dataclasses.replace(
        config, rate_factor=round(config.rate_factor / 7, 3), warmup_steps=100, keep=20,
        checkpoint_every=config.checkpoint_every // 3, start_from=str(start), seed=config.seed + 100,
    )


class Taught(WithLoss):
    "A model with the loss of this file, in place of the usual one."

    def __init__(self, learner: WithLoss, teachers: Sequence[nn.Module]):
        super().__init__(learner.model, learner.smoothing, learner.precision)
        self.teachers = list(teachers)  # a list: their weights are not the learner's
        weight = self.model.embedding.weight
        weight.register_hook(lambda gradient: gradient.index_fill(0, gradient.new_tensor([PAD], dtype=torch.long), 0.0))

    def forward(self, source: Tensor, target_input: Tensor, target: Tensor, tokens: int) -> Tensor:
        with autocast(source.device.type, self.precision):
            with torch.no_grad():
                expected = sum(self.logits(teacher, source, target_input).softmax(-1) for teacher in self.teachers)
            logs = self.logits(self.model, self.read(source), target_input).log_softmax(-1)
        off = self.smoothing / (logs.size(-1) - 1)
        taught = (expected * logs).sum(-1) / len(self.teachers)
        smoothed = off * logs.sum(-1) + (1 - self.smoothing - off) * logs.gather(-1, target[..., None])[..., 0]
        found = FROM_TEACHERS * taught + (1 - FROM_TEACHERS) * smoothed
        return -(found * (target != PAD)).sum() / tokens

    def read(self, source: Tensor) -> Tensor:
        "What the learner reads where its teachers read this."
        return source

    @staticmethod
    def logits(model: nn.Module, source: Tensor, target_input: Tensor) -> Tensor:
        hidden = model.decode(target_input, model.encode(source), source)
        return (hidden @ model.embedding.weight.to(hidden.dtype).T).float()


class CutAnew(Taught):
    "The teachers read the sources as they are, the learner some of them in other pieces (BPE-dropout, Provilkov et al. 2020)."

    def __init__(
        self,
        learner: WithLoss,
        teachers: Sequence[nn.Module],
        tokenizer: Tokenizer,
        share: float,       # of the joins that a cut leaves out
        longest: int,       # tokens that the model reads
        rows: float = 1.0,  # the share of the sources that are cut anew
    ):
        super().__init__(learner, teachers)
        self.pieces, self.share, self.longest = SentencePieceProcessor(model_proto=tokenizer.model), share, longest
        self.rows = rows

    def read(self, source: Tensor) -> Tensor:
        if not self.training:
            return source
        usual = [[token for token in row if token not in (PAD, EOS)] for row in source.tolist()]
        drawn = (torch.rand(len(usual)) < self.rows).tolist()
        texts = self.pieces.decode([ids for ids, anew in zip(usual, drawn) if anew])
        cut = iter(self.pieces.encode(texts, enable_sampling=True, alpha=self.share))
        rows = [next(cut) if anew else ids for ids, anew in zip(usual, drawn)]
        padded = pad([[*ids[: self.longest - 1], EOS] for ids in rows])
        return padded.to(source.device)


def until(config: TrainingConfig, run: Path, prepared: Path, when: float) -> None:
    "Train until then."
    if not run.exists():
        shutil.copytree(prepared, run)
    timer = threading.Timer(max(1.0, when - time.time()), os.kill, (os.getpid(), signal.SIGTERM))
    timer.daemon = True
    timer.start()
    try:
        train(config, run)
    except Stopped as stop:
        print(run, stop, flush=True)
    timer.cancel()


def both(config: TrainingConfig, run: Path, prepared: Path, ends: Sequence[float]) -> None:
    "Both parts of a training, RUN and RUN-last."
    until(config, run, prepared, ends[0])
    until(last(config, run), run.with_name(f"{run.name}-last"), prepared, ends[1])


def bleu(translator: Translator, prepared: Path) -> float:
    "sacreBLEU of the validation split, by the weights as they would be stored."
    round_weights(translator.model)
    pairs = Run(prepared).pairs("validation")
    sources, references = ([translator.tokenizer.decode(pairs[i][side].tolist()) for i in range(len(pairs))] for side in (0, 1))
    return sacre_bleu(translator.translate(sources, Search(), batch_tokens=65_536, split=False), references).score


def decoded(tokenizer: Tokenizer, pairs: TokenizedPairs) -> list[tuple[str, str]]:
    "The texts of these pairs."
    pieces, rows = SentencePieceProcessor(model_proto=tokenizer.model), [pairs[i] for i in range(len(pairs))]
    sides = ([[token for token in row[side].tolist() if token != EOS] for row in rows] for side in (0, 1))
    return list(zip(*map(pieces.decode, sides)))


def translate(work: Path, seed: int, when: float) -> None:
    "What a teacher makes of its half of the sentences, as far as it comes until then."
    translator = Translator.from_pretrained(work / f"teacher-{seed}-last", 10)
    (work / f"teacher-{seed}.json").write_text(json.dumps({10: bleu(translator, work / "prepared")}), encoding="utf-8")
    sources = list(dict.fromkeys(source for source, _ in decoded(translator.tokenizer, Run(work / "prepared").pairs("train"))))
    random.Random(0).shuffle(sources)
    own, size = sources[TEACHERS.index(seed) :: len(TEACHERS)], 8_000
    (work / f"translated-{seed}.part").unlink(missing_ok=True)
    with open(work / f"translated-{seed}.part", "a", encoding="utf-8") as file:
        for start in range(0, len(own), size):
            if time.time() > when:
                break
            part = own[start : start + size]
            found = translator.translate(part, Search(), batch_tokens=65_536, split=False)
            file.writelines(f"{source}\t{target}\n" for source, target in zip(part, found) if target)
            file.flush()
            print(seed, start + len(part), "of", len(own), flush=True)
    os.replace(work / f"translated-{seed}.part", work / f"translated-{seed}.tsv")


def names(sentence: str) -> set[str]:
    "The words with a capital letter."
    return {word for word in re.findall(r"\w+", sentence) if word[0].isupper()}


def mixed(work: Path, name: str) -> Path:
    "A prepared run with the pairs and the translations: none that repeats itself, none without the names that its pair has."
    out, prepared = work / f"{name}-mixed", Run(work / "prepared")
    shutil.copytree(work / "prepared", out)
    tokenizer, pairs = prepared.tokenizer, prepared.pairs("train")
    texts = decoded(tokenizer, pairs)
    kept = {source: names(source) & names(target) for source, target in texts}
    for seed in TEACHERS:
        lines = (work / f"translated-{seed}.tsv").read_text(encoding="utf-8").splitlines()
        found = [tuple(line.split("\t")) for line in lines if line.count("\t") == 1]
        texts += [
            (source, said) for source, said in found
            if len(said.split()) <= 2 * len(source.split()) + 4 and kept.get(source, set()) <= names(said)
        ]
    (out / "data" / "SHA256SUMS").unlink(missing_ok=True)
    TokenizedPairs.write(out / "data", "train", texts, tokenizer, STUDENT.model.max_length, total=len(texts))
    print(len(pairs), "pairs and", len(texts) - len(pairs), "translations", flush=True)
    return out


def teach_by(teachers: Sequence[Translator], anew: bool) -> None:
    "What `train` trains from now on learns from these, too."
    usual, tokenizer = loop.learner_for, teachers[0].tokenizer
    known = [teacher.model.eval().requires_grad_(False) for teacher in teachers]
    if torch.cuda.is_available():
        known = [teacher.bfloat16() for teacher in known]

    def learner_for(model, *others):
        learner = usual(model, *others)
        return CutAnew(learner, known, tokenizer, CUT, model.config.max_length, ROWS) if anew else Taught(learner, known)

    loop.learner_for = learner_for


def teach(work: Path, seed: int, ends: Sequence[float], from_shipped: bool, anew: bool) -> None:
    "A teacher."
    if from_shipped:
        teach_by([Translator.from_pretrained(SHIPPED)], anew)
    both(dataclasses.replace(TEACHER, seed=seed), work / f"teacher-{seed}", work / "prepared", ends)


def learn(work: Path, name: str, ends: Sequence[float]) -> None:
    "The student, or its control."
    prepared = work / "prepared"
    if name != "plain":
        prepared = mixed(work, name)
        teachers = [Translator.from_pretrained(work / f"teacher-{seed}-last", 10) for seed in TEACHERS]
        teach_by([*teachers, Translator.from_pretrained(SHIPPED)], name == "cut")
    both(STUDENT, work / name, prepared, ends)
    runs = work / name, work / f"{name}-last"
    found = {average: bleu(Translator.from_pretrained(runs[1], average), prepared) for average in AVERAGES}
    write_start(runs, max(found, key=found.get), work / f"{name}-kept")
    (work / f"{name}.json").write_text(json.dumps(found), encoding="utf-8")


def ran(run: Path) -> dict:
    "What a run has come to."
    lines = Run(run).metrics()
    last = [line for line in lines if "loss" in line][-1]
    perplexity = {line["step"]: round(line["validation_perplexity"], 3) for line in lines if "validation_perplexity" in line}
    return {
        "updates": last["step"], "epochs": last["epoch"], "seconds": last["seconds"], "training_loss_at_the_end": last["loss"],
        "validation_perplexity": perplexity,
    }


def made_by(run: Path) -> dict:
    "With which versions, on what and when a run began."
    started = json.loads((run / "config.json").read_text(encoding="utf-8"))
    return {name: started[name] for name in ("versions", "hardware", "date")}


def report(work: Path, out: Path, options: Sequence[str] | None) -> None:
    "What the four trainings came to, into one file."
    figures, configs = {}, {}
    learnt = [name for name in LEARNERS if (work / f"{name}.json").exists()]
    for name in (*(f"teacher-{seed}" for seed in TEACHERS), *learnt):
        runs = work / name, work / f"{name}-last"
        scores = json.loads((work / f"{name}.json").read_text(encoding="utf-8"))
        figures[name] = {"parts": [ran(run) for run in runs], "validation_bleu": scores}
        configs[name] = [Run(run).config.to_dict() for run in runs]
    lines = {seed: (work / f"translated-{seed}.tsv").read_text(encoding="utf-8").splitlines() for seed in TEACHERS}
    figures["translations"] = {seed: len(found) for seed, found in lines.items()}
    save(out, "benchmarks.distillation", figures, configs, STUDENT.seed, options, trained=made_by(work / learnt[0]))


@one_sentence()
def main(options: Sequence[str] | None = None) -> None:
    parser = Options("benchmarks.distillation", __doc__, "results/translation/distillation.json")
    parser.add_argument("do", choices=("teach", "translate", "learn", "report"))
    parser.add_argument("who", nargs="?", default="", help=f"a teacher's seed, or {', '.join(LEARNERS)}")
    parser.add_argument("--from-shipped", action="store_true", help="the teacher learns from the weights that ship, too")
    parser.add_argument("--cut", action="store_true", help="the teacher reads half of the sources in other pieces")
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--since", type=float, default=time.time(), help="seconds of the clock (default: now)")
    parser.add_argument("--until", type=float, nargs="+", default=[0.0, 0.0], metavar="SECONDS")
    arguments = parser.parse_args(options)
    known = {"report": [""], "learn": list(LEARNERS)}.get(arguments.do, [str(seed) for seed in TEACHERS])
    if arguments.who not in known:
        parser.error(f"{arguments.do} takes {' or '.join(known) or 'nothing more'}, not {arguments.who or 'nothing'}")
    ends = [arguments.since + seconds for seconds in arguments.until]
    if arguments.do == "teach":
        if arguments.cut and not arguments.from_shipped:
            parser.error("--cut needs --from-shipped")
        teach(arguments.work, int(arguments.who), ends, arguments.from_shipped, arguments.cut)
    elif arguments.do == "translate":
        translate(arguments.work, int(arguments.who), ends[0])
    elif arguments.do == "learn":
        learn(arguments.work, arguments.who, ends)
    else:
        report(arguments.work, arguments.out, options)


if __name__ == "__main__":
    main()
