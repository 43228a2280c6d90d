"The paper's four presets, and two of their runs on a few hundred made-up pairs where WMT 2014 would lie: from files to Table 2."
import gzip
import json
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import sacrebleu
import torch
from sacrebleu.dataset import DATASETS
from safetensors.torch import load_file

from annotated_transformer import UNK
from annotated_transformer.command_line import main as cli
from annotated_transformer.config import PRESETS
from annotated_transformer.data.large_corpora import TokenizedPairs
from annotated_transformer.data.tokenizer import Tokenizer
from annotated_transformer.training.checkpoints import checkpoint_directories
from benchmarks.shared.side_by_side import free_port

STEPS = 120  # enough to translate a few words rightly, so that no two scores are alike by being 0
SMALL = f"""--vocab-size 120 --n-layers 1 --d-model 64 --d-ff 80 --n-heads 2 --batch-tokens 900
    --steps {STEPS} --warmup-steps 40 --rate-factor 0.5 --checkpoint-every 15 --validate-every 60""".split()
WORDS = {  # the hyphens and the apostrophes are there for the paper's BLEU, which parts words at them
    "en": "house tree water bread stone window garden summer winter morning letter friend music old new small sees takes and the",
    "de": "Haus Baum Wasser Brot Stein Fenster Garten-Tor Sommer-Tag Winter Morgen Brief Freund Musik-Saal "
          "alte neue kleine sieht nimmt und das",
    "fr": "maison l'arbre l'eau pain pierre fenêtre jardin l'été l'hiver matin lettre l'ami musique ancien nouveau petit "
          "voit prend et le",
}
FILES = {  # as the archives hold them
    "europarl": "training/europarl-v7.{other}-en.{side}",
    "commoncrawl": "commoncrawl.{other}-en.{side}",
    "news": "training/news-commentary-v9.{other}-en.{side}",
    "giga": "giga-fren.release2.fixed.{side}.gz",
    "un": "un/undoc.2000.{other}-en.{side}",
}
SIZES = {  # pairs
    "de": {"europarl": 120, "commoncrawl": 70, "news": 50},
    "fr": {"europarl": 80, "commoncrawl": 50, "news": 40, "giga": 60, "un": 30},
}
NEWSTEST = {"wmt13": 9, "wmt14/full": 7}  # pairs
# Letters that stand in no other place, so that the vocabulary tells what it was learnt from.
ONCE, REMOVED, ONLY_2013, ONLY_2014 = "ñщψξ"


def sentences(rng: random.Random, other: str, n_source: int, n_target: int | None = None) -> tuple[str, str]:
    "So many words of each language, those of the second after those of the first; the last is a full stop."
    order = rng.choices(range(8), k=max(n_source, n_target or 0) - 1)
    return tuple(
        " ".join([WORDS[side].split()[i] for i in order[: n - 1]] + ["."])
        for side, n in (("en", n_source), (other, n_target or n_source))
    )


def training_pairs(other: str) -> dict[str, list[tuple[bool, str, str]]]:
    "By file: whether the pair is to be kept, and the pair."
    rng = random.Random(other)
    parts = {part: [(True, *sentences(rng, other, rng.randint(3, 12))) for _ in range(n)] for part, n in SIZES[other].items()}
    german = other == "de"  # for which only blank sides count
    source, target = sentences(rng, other, 5)
    special = [
        (True, f"{ONCE} {source}", target),
        (True, source.replace(" ", "\u2028", 1), target),  # no line ends there
        (False, source, ""),
        (False, " \t", target),
        (True, *sentences(rng, other, 175)),
        (german, *sentences(rng, other, 176)),
        (True, *sentences(rng, other, 2, 3)),
        (german, *sentences(rng, other, 2, 4)),
        (True, *sentences(rng, other, 6, 4)),
        (german, *sentences(rng, other, 7, 4)),
    ]
    for n, pair in enumerate(special):
        pairs = parts[list(parts)[n % len(parts)]]
        pairs.insert(rng.randrange(len(pairs) + 1), pair)

    def marked(kept, *sides):
        return kept, *(side if kept else side.replace(".", REMOVED) for side in sides)

    return {part: [marked(*pair) for pair in pairs] for part, pairs in parts.items()}


def newstest_pairs(name: str, other: str) -> list[tuple[str, str]]:
    rng, mark = random.Random(name), {"wmt13": ONLY_2013, "wmt14/full": ONLY_2014}[name]
    found = [sentences(rng, other, rng.randint(4, 9)) for _ in range(NEWSTEST[name])]
    return [(f"{mark} {source}", f"{mark} {target}") for source, target in found]


def text(lines) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode()


def write_training_files(directory: Path) -> None:
    for other in SIZES:
        for part, pairs in training_pairs(other).items():
            _, *sides = zip(*pairs)
            for side, lines in zip(("en", other), sides):
                path = directory / "wmt14" / FILES[part].format(other=other, side=side)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(gzip.compress(text(lines)) if path.suffix == ".gz" else text(lines))


def write_newstests(directory: Path) -> None:
    "What sacreBLEU leaves after its first download. It looks for all five files of a pair of languages."
    for name, n in NEWSTEST.items():
        (directory / name).mkdir(parents=True)
        for other in SIZES:
            sides = dict(zip(("src", "ref"), zip(*newstest_pairs(name, other))))
            for field in ("src", "ref", "docid", "genre", "origlang"):
                path = directory / name / f"{name.replace('/', '_')}.en-{other}.{field}"
                path.write_bytes(text(sides.get(field, [field] * n)))


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    "A directory with the training files in `data`, the test sets in `sacrebleu`, and runs where the command puts them."
    directory = tmp_path_factory.mktemp("wmt14")
    write_training_files(directory / "data")
    write_newstests(directory / "sacrebleu")
    return directory


def places(data: Path, newstests: Path) -> dict[str, str]:
    "The environment of the commands. What is not there is asked for where nobody answers, and never on the real network."
    proxies = [name for proxy in ("http_proxy", "https_proxy", "all_proxy") for name in (proxy, proxy.upper())]
    nobody = {name: f"http://127.0.0.1:{free_port()}" for name in proxies}
    return {**nobody, "no_proxy": "", "NO_PROXY": "", "ANNOTATED_TRANSFORMER_DATA": str(data), "SACREBLEU": str(newstests)}


def take_places(monkeypatch, data: Path, newstests: Path) -> None:
    "The same for commands in this process, where sacreBLEU has read its variable long ago."
    for name, value in places(data, newstests).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sacrebleu, "SACREBLEU_DIR", str(newstests))
    for name in NEWSTEST:
        monkeypatch.setattr(DATASETS[name], "_outdir", str(newstests / name))
        monkeypatch.setattr(DATASETS[name], "_rawdir", str(newstests / name / "raw"))


def process(home: Path, *words, stdin: bytes = b"") -> str:
    "Standard output of a Python process that ends well and has nothing to complain of."
    path = os.pathsep.join([str(Path(cli.__file__).parents[2]), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {**os.environ, **places(home / "data", home / "sacrebleu"), "OMP_NUM_THREADS": "1", "PYTHONPATH": path}
    ended = subprocess.run([sys.executable, *map(str, words)], env=environment, cwd=home, input=stdin, capture_output=True)
    assert ended.returncode == 0, ended.stderr.decode()
    return ended.stdout.decode()


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    "What is so small is not shared out; and sums come out as in the processes, which have one each."
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def runs(home):
    "By their presets: base with German by two processes, big with French in this one, in the directory that it chooses."
    made = {"base": home / "runs" / "together"}
    torchrun = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "-m", "annotated_transformer"]
    printed = process(home, *torchrun, "train", "--preset", "base", *SMALL, "--run-directory", made["base"])
    assert printed == f"Trained: {made['base']}\nNext: annotated-transformer score {made['base']}\n"
    with pytest.MonkeyPatch.context() as monkeypatch:
        take_places(monkeypatch, home / "data", home / "sacrebleu")
        monkeypatch.chdir(home)
        cli.main(["train", "--preset", "big-en-fr", *SMALL])
    return made | {"big-en-fr": home / "runs" / "wmt14-en-fr-big"}


@pytest.fixture
def command(home, command, monkeypatch):
    "The command, with the small corpora in the places where it looks for the real ones."
    take_places(monkeypatch, home / "data", home / "sacrebleu")
    return command


@pytest.fixture
def good(command):
    "Standard output of a command that ends well."

    def call(*arguments, stdin: bytes = b""):
        status, out, err = command(*arguments, stdin=stdin)
        assert (status, err) == (0, "")
        return out

    return call


# What the presets say


THE_SAME_IN_ALL = {
    "batch_tokens": 25_000, "warmup_steps": 4_000, "rate_factor": 1.0, "init_gain": 1.0,
    "smoothing": 0.1, "consistency": 0.0, "start_from": None, "clip_norm": None,
    "checkpoint_minutes": None, "seed": 1,
}
BASE = {"n_layers": 6, "d_model": 512, "d_ff": 2048, "n_heads": 8, "d_k": 64, "d_v": 64, "dropout": 0.1}
BIG = {**BASE, "d_model": 1024, "d_ff": 4096, "n_heads": 16, "dropout": 0.3}
PAPER = {  # Table 3, §5.1 to §5.4 and §6.1
    "base": ({"corpus": "wmt14-en-de", "steps": 100_000, "checkpoint_every": 1_500, "keep": 5}, {**BASE, "vocab_size": 37_000}),
    "big": ({"corpus": "wmt14-en-de", "steps": 300_000, "checkpoint_every": 600, "keep": 20}, {**BIG, "vocab_size": 37_000}),
    "base-en-fr": (
        {"corpus": "wmt14-en-fr", "steps": 100_000, "checkpoint_every": 1_500, "keep": 5}, {**BASE, "vocab_size": 32_000},
    ),
    "big-en-fr": (
        {"corpus": "wmt14-en-fr", "steps": 300_000, "checkpoint_every": 600, "keep": 20},
        {**BIG, "vocab_size": 32_000, "dropout": 0.1},
    ),
}
RUN = ("base", "big-en-fr")


@pytest.mark.parametrize("preset", PAPER)
def test_the_preset_is_the_paper(preset):
    saved = PRESETS[preset].to_dict()
    training, model = PAPER[preset]
    assert {name: saved[name] for name in THE_SAME_IN_ALL} == THE_SAME_IN_ALL
    assert {name: saved[name] for name in training} == training
    assert {name: saved["model"][name] for name in model} == model
    assert set(saved["execution"].values()) == {None}


@pytest.mark.parametrize("preset", RUN)
def test_what_the_command_leaves_alone_stays_the_papers(preset, runs):
    record = json.loads((runs[preset] / "config.json").read_text())
    saved, (training, model) = record["training"], PAPER[preset]
    given = {"batch_tokens": 900, "steps": STEPS, "warmup_steps": 40, "rate_factor": 0.5}
    given |= {"checkpoint_every": 15, "validate_every": 60}
    sizes = {"vocab_size": 120, "n_layers": 1, "d_model": 64, "d_ff": 80, "n_heads": 2, "d_k": 32, "d_v": 32}
    expected = {**THE_SAME_IN_ALL, **training, **given, "log_every": 10}
    assert {name: saved[name] for name in saved.keys() - {"model", "execution"}} == expected
    kinds = {"positions": "sinusoidal", "compatibility": "dot-product", "norm": "post"}
    assert saved["model"] == {**model, **sizes, **kinds, "max_length": 1024}
    processes = {"base": 2}.get(preset, 1)
    assert [(start["processes"], start["parts"]) for start in record["starts"]] == [(processes, processes)]
    steps = range(STEPS - 60 if training["keep"] == 5 else 15, STEPS + 1, 15)
    assert [directory.name for directory in checkpoint_directories(runs[preset])] == [f"step-{step:08d}" for step in steps]


# What a run has read


@pytest.mark.parametrize("preset", RUN)
def test_training_reads_the_pairs_that_the_rule_keeps_and_validation_newstest2013(preset, runs):
    other = PAPER[preset][0]["corpus"][-2:]
    tokenizer = Tokenizer.load(runs[preset] / "tokenizer.model")
    pairs = [pair for part in training_pairs(other).values() for pair in part]
    kept = [(source, target) for keep, source, target in pairs if keep]
    assert (len(pairs), len(kept)) == {"de": (250, 248), "fr": (270, 265)}[other]
    facts = json.loads((runs[preset] / "data" / "train.json").read_text())
    assert (facts["rows"], facts["left_out"]) == (len(kept), 0)
    expected = {"train": kept, "validation": newstest_pairs("wmt13", other)}
    for name, texts in expected.items():
        found = TokenizedPairs.open(runs[preset] / "data", name)
        assert len(found) == len(texts)
        for i, sides in enumerate(texts):
            ids = [row.tolist() for row in found[i]]
            assert ids == tokenizer.encode_all(list(sides))
            plain = [" ".join(side.replace(ONLY_2013, tokenizer.decode([UNK]).strip()).split()) for side in sides]
            assert [" ".join(tokenizer.decode(row).split()) for row in ids] == plain


@pytest.mark.parametrize("preset", RUN)
def test_the_vocabulary_saw_training_text_only(preset, runs):
    tokenizer = Tokenizer.load(runs[preset] / "tokenizer.model")
    assert tokenizer.vocab_size == 120
    assert {letter: UNK in tokenizer.encode(letter) for letter in (ONCE, REMOVED, ONLY_2013, ONLY_2014)} == {
        ONCE: False, REMOVED: True, ONLY_2013: True, ONLY_2014: True,
    }


@pytest.mark.parametrize("preset", RUN)
def test_perplexity_is_measured_when_it_is_asked_for(preset, runs):
    lines = [json.loads(line) for line in (runs[preset] / "metrics.jsonl").read_text().splitlines()]
    assert [line["step"] for line in lines if "validation_perplexity" in line] == [60, 120]
    assert [line["step"] for line in lines if "loss" in line] == list(range(10, STEPS + 1, 10))


# From a run to a row of Table 2


@pytest.mark.parametrize("preset", RUN)
def test_average_score_and_the_row_of_table_2(preset, runs, tmp_path, good):
    run, out = shutil.copytree(runs[preset], tmp_path / preset), tmp_path / "figures.json"
    (corpus, keep), last = (PAPER[preset][0][name] for name in ("corpus", "keep")), 5
    other = corpus[-2:]
    assert good("average", run, "--last", last) == f"{run / 'average-5'}: the mean of the last 5 checkpoints of {run}\n"
    files = [directory / "model.safetensors" for directory in checkpoint_directories(run)]
    for name, weight in load_file(run / "average-5" / "model.safetensors").items():
        torch.testing.assert_close(weight, sum(load_file(file)[name].double() for file in files[-5:]).div(5).float())

    printed = good("score", run, "--split", "newstest2014", "--out", out)
    assert printed.startswith(f"{corpus} newstest2014: 7 sentences, beam 4, alpha 0.6\n")
    record = json.loads(out.read_text())
    assert record["search"] == {"beam_size": 4, "alpha": 0.6, "extra_length": 50, "average": None}
    assert record["training"]["step"] == STEPS and record["config"]["keep"] == keep
    assert f"moses-{other}-" in record["figures"]["paper_bleu"]["signature"]
    sources, references = zip(*newstest_pairs("wmt14/full", other))
    translations = out.with_suffix(".txt").read_text().splitlines()
    assert len(translations) == 7 and len(set(translations) - {""}) > 1
    bleus = {kind: record["figures"][kind]["score"] for kind in ("paper_bleu", "sacre_bleu")}
    assert 0 < bleus["paper_bleu"] != bleus["sacre_bleu"] > 0
    assert abs(sacrebleu.corpus_bleu(translations, [references]).score - bleus["sacre_bleu"]) < 1e-9

    assert good("score", run, "--average", len(files), "--split", "newstest2014") == printed  # of all that the run keeps
    of_the_mean = good("score", run / "average-5", "--corpus", corpus, "--split", "newstest2014")
    assert of_the_mean == good("score", run, "--average", last, "--split", "newstest2014")
    assert good("translate", run, stdin=text(sources)).splitlines() == translations
    if keep == last:
        assert of_the_mean == printed
        assert good("translate", run / "average-5", stdin=text(sources)).splitlines() == translations
    assert good("score", run, "--split", "validation").startswith(f"{corpus} validation: 9 sentences")

    said = good("cost", run, "--rate", "9.5", "--scored", out).splitlines()
    assert said[0].split() == ["updates", str(STEPS)]
    head, rule, row = ([cell.strip() for cell in line.strip("|").split("|")] for line in said[-3:])
    assert head == ["model", "BLEU as in Table 2", "sacreBLEU", "FLOPs by the paper's rule", "model FLOPs"]
    state = json.loads((files[-1].parent / "state.json").read_text())
    assert row[:4] == [preset, *(f"{bleu:.2f}" for bleu in bleus.values()), f"{state['device_seconds'] * 9.5e12:.1e}"]
    assert abs(state["device_seconds"] / state["seconds"] - {"base": 2}.get(preset, 1)) < 1e-9
    assert float(row[4]) == float(f"{float(said[3].split()[2]):.1e}") > 0 and said[3].startswith("model FLOPs")


def test_a_process_of_its_own_prints_the_same_score(runs, home, good):
    expected = good("score", runs["big-en-fr"], "--split", "newstest2014")
    assert process(home, "-m", "annotated_transformer", "score", runs["big-en-fr"], "--split", "newstest2014") == expected


# With less than everything


def test_scoring_and_going_on_need_no_training_files(runs, home, tmp_path, monkeypatch, good):
    everything = good("score", runs["big-en-fr"], "--split", "newstest2014")
    take_places(monkeypatch, tmp_path / "nothing", home / "sacrebleu")
    for corpus in ([], ["--corpus", "wmt14-en-fr"]):
        assert good("score", runs["big-en-fr"], *corpus, "--split", "newstest2014") == everything
    assert not (tmp_path / "nothing").exists()

    take_places(monkeypatch, tmp_path / "nothing", tmp_path / "nothing")  # a run has all it needs to go on with
    run = shutil.copytree(runs["big-en-fr"], tmp_path / "run")
    assert "Trained" in good("train", "--run", run, "--steps", str(STEPS + 1))
    assert checkpoint_directories(run)[-1].name == f"step-{STEPS + 1:08d}"
    assert good("translate", run, stdin=b"the old house .\n").count("\n") == 1
    assert not (tmp_path / "nothing").exists()


@pytest.mark.parametrize("preset", RUN)
def test_no_files_and_no_network(preset, runs, home, tmp_path, monkeypatch, complaint):
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage._replace(free=10**12))
    corpus = PAPER[preset][0]["corpus"]
    training = ["train", "--preset", preset, *SMALL, "--run", tmp_path / "run"]

    take_places(monkeypatch, tmp_path / "data", home / "sacrebleu")
    for call in (training, ["corpora", corpus], ["score", runs[preset], "--split", "train"]):
        message = complaint(*call)
        assert f"{tmp_path / 'data' / 'wmt14' / 'training-parallel-europarl-v7.tgz'} is missing" in message
        assert "try again with a network" in message and "ANNOTATED_TRANSFORMER_DATA" in message

    take_places(monkeypatch, home / "data", tmp_path / "sacrebleu")
    for call in (training, ["corpora", corpus], ["score", runs[preset], "--split", "newstest2014"]):
        message = complaint(*call)
        assert "sacreBLEU could not fetch its test set wmt14/full" in message
        assert "try again with a network" in message and "variable SACREBLEU" in message
    assert not (tmp_path / "run").exists()
    assert [path for path in tmp_path.rglob("*") if path.is_file() and path.suffix != ".lock"] == []
