"""The files of the page that translates: its tokenizer under node, what is written and what is refused, its policy.

tests/browser/test_page.py looks at the page itself.
"""
import dataclasses
import importlib.util
import json
import random
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from annotated_transformer import InputError, Transformer, TransformerConfig, Translator
from annotated_transformer.command_line import main as cli
from annotated_transformer.data import corpora
from annotated_transformer.data.downloads import cache_directory
from annotated_transformer.data.sentences import PATTERNS, split_sentences
from annotated_transformer.data.tokenizer import Tokenizer
from annotated_transformer.exchange import browser_page as live_page
from annotated_transformer.figures.token_labels import group_words
from annotated_transformer.translation.lines import UNSURE, WHOLE, Translation, in_capitals, joined, numbers_differ

ROOT = Path(__file__).parents[3]
FILES = ROOT / "annotated_transformer" / "exchange" / "page"
SENTENCES = 10_000
needs_onnx = pytest.mark.skipif(not all(map(importlib.util.find_spec, ("onnx", "onnxruntime"))), reason="no extra `exchange`")

ODD = [
    "", "  ", "a  b\tc\u3000d ", "ﬁne ① Ⅳ ｆｕｌｌ", "e\u0301 a\u0308 o\u0308\u0301", "\ufeffhi a\ufeffb", "▁▁x ▁",
    "日本語 ｶﾞ", "a\ufdfab", "🐶🐶 👨‍👩‍👧",
    "</script>", "x" * 300, "\x00\x01a\x07", "a\u200bb\u00adc", "\ud55c\u1112\u1161\u11ab", "½ ™ „…“", "<unk> <s> </s> <pad>",
]


@pytest.fixture
def in_node(tmp_path):
    "Calls a function in JavaScript, which may use what one of the page's scripts exports: what it returns."
    if not shutil.which("node"):
        pytest.skip("there is no node")

    def call(script: str, exported: str, function: str, *given):
        shutil.copy(FILES / f"{script}.js", tmp_path / "script.mjs")
        (tmp_path / "given.json").write_text(json.dumps(given))
        program = f"""
import {{readFileSync}} from "node:fs";
import {{{exported}}} from "./script.mjs";
console.log(JSON.stringify(({function})(...JSON.parse(readFileSync("given.json", "utf-8")))));
"""
        words = ["node", "--input-type=module", "-e", program]
        return json.loads(subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=True).stdout)

    return call


def sentences() -> list[str]:
    "Ten thousand real ones that a clone has: translations on record, and the built-in corpus."
    paths = sorted((ROOT / "results" / "translation").glob("*.txt"))
    found = [line for path in paths for line in path.read_text(encoding="utf-8").splitlines()]
    train = iter(corpora.load("numbers-en-de").train)
    found += [side for _, pair in zip(range(3_000), train) for side in pair]
    found = list(dict.fromkeys(found))
    assert len(found) >= SENTENCES
    return found[:SENTENCES]


def made_up(draw: random.Random, n: int) -> list[str]:
    "Texts of any letters at all, and of such as normalisation changes."
    anywhere = [(1, 0x2000), (0x300, 0x370), (0x2000, 0x2200), (0x3000, 0x3100), (0xFF00, 0xFFF0), (0xE000, 0x110000)]

    def letter() -> str:
        return chr(draw.randrange(*draw.choice(anywhere))) if draw.random() < 0.5 else draw.choice("abc deEß ")

    return ["".join(letter() for _ in range(draw.randrange(30))) for _ in range(n)]


@pytest.mark.parametrize("name", ["everyday-en-de", "numbers-en-de", "of a Chinese target"])
def test_the_pages_tokenizer_gives_the_same_ids_and_texts_as_sentencepiece(name, tmp_path, in_node):
    model, draw = ROOT / "annotated_transformer" / "pretrained" / name / "tokenizer.model", random.Random(0)
    if name == "of a Chinese target":
        model = tmp_path / "kept.model"
        Tokenizer.train([*ODD, "你好，世界！（真的）", "นำ ㎡ ８ ﬁ\u3000ﬁ"] * 3, 250, as_written=True).save(model)
    ours = Tokenizer.load(model)
    texts = [*sentences(), *ODD, *made_up(draw, 2_000)]
    expected = [ours.encode(text)[:-1] for text in texts]
    rows = expected + [[draw.randrange(ours.vocab_size) for _ in range(draw.randrange(12))] for _ in range(1_000)]
    rows += [[], [2], [2, 2, 50], [0, 1, 50], [50, 2], [0, 2]]
    begins = [ours.pieces(range(ours.vocab_size)).index("▁"), *expected[0][:2], 2]  # a lone ▁, a word, an unknown letter
    rows += [draw.choices(begins, k=4) for _ in range(50)]
    both = """(model, texts, rows) => {
        const own = new Tokenizer(new Uint8Array(readFileSync(model)));
        return [texts.map(text => own.encode(text)), rows.map(row => own.decode(row))];
    }"""
    encoded, decoded = in_node("tokenizer", "Tokenizer", both, str(model), texts, rows)
    assert [text for text, a, b in zip(texts, expected, encoded) if a != b] == []
    decode = ours._processor.decode
    assert [row for row, text in zip(rows, decoded) if decode(row) != text] == [] and len(decoded) == len(rows)


def test_the_page_cuts_a_text_where_python_does(in_node):
    words = "Mr. U.S. a.m. No. St. J. I It Paul he 5 1990. end. end! end?! end... … “So” \"So.\" (So.) z. B. Ärger.".split()
    words += "« » Œuvre Mme.".split()
    draw = random.Random(1)
    cases = (ROOT / "tests/data/sentences.txt").read_text(encoding="utf-8").replace(" | ", " ").splitlines()
    blanks = [" "] * 20 + list("\x1c\x1d\x1e\x1f\x85\ufeff\u3000\xa0\v\u2028")
    texts = [*cases, *sentences()[:2_000], *ODD,
             *("".join(word + draw.choice(blanks) for word in draw.choices(words, k=12)) for _ in range(2_000))]
    cut = "(texts, patterns) => texts.map(text => splitSentences(text, patterns))"
    expected, found = list(map(split_sentences, texts)), in_node("sentences", "splitSentences", cut, texts, PATTERNS)
    assert [text for text, a, b in zip(texts, expected, found, strict=True) if a != b] == []
    assert sum(len(parts) > 1 for parts in expected[-2_000:]) > 500


def test_the_page_joins_translations_as_python_does(in_node):
    cases = [["「好。」 他说。"], ["好。", "「好。」 他说。"], ["Yes.", "", "No. "], ["", "好！"], [""]]
    found = in_node("sentences", "joinSentences", "cases => cases.map(joinSentences)", cases)
    assert found == [joined([*map(Translation, texts)]).text for texts in cases]


def test_the_page_makes_the_words_of_pieces_that_python_makes(in_node):
    draw, some = random.Random(2), ["▁", "·!", "·?", "·«", "«", "ça", "·ing", "·ß", "<eos>", "▁·x", "·-", "5", "·ी", "·่", "น"]
    some += ["·น", "·你好", "·2", "·、", "·コ", "·𠀀x", "·❤️"]
    french = ["là", "▁", "·:", "▁", "·«", "ça", "▁", "·?", "·!", "▁", "·»", "▁", "·ß"]
    rows = [french, *(draw.choices(some, k=8) for _ in range(2_000))]
    found = in_node("words", "grouped", "rows => rows.map(grouped)", rows)
    assert [word["label"] for word in found[0]] == ["là", ":", "«", "ça", "?", "!", "»", "ß"]
    for row, words in zip(rows, found, strict=True):
        labels, belongs = group_words(row, signs_apart=True)
        assert [word["label"] for word in words] == labels, row
        assert [len(word["pieces"]) for word in words] == belongs.sum(0).tolist(), row


def test_the_page_doubts_the_capitals_and_numbers_that_python_doubts(in_node):
    draw, blanks = random.Random(3), [" ", "", "\u3000", ".", "-", "’", "\x1c", "\x85", "\ufeff"]
    some = ["0", "1", "2", "14", "24", "25", "13", "00", "0014", "86,400", "86400", "1990", "90", "2:30", "0-4",
            "٣", "A", "b", "ß"]
    pairs = [["".join(word + draw.choice(blanks) for word in draw.choices(some, k=k)) for k in (3, 2)]
             for _ in range(3_000)]
    doubt = "(pairs, patterns) => pairs.map(([a, b]) => [inCapitals(a, patterns), numbersDiffer(a, b)])"
    found = in_node("doubt", "inCapitals, numbersDiffer", doubt, pairs, PATTERNS)
    expected = [[in_capitals(a), numbers_differ(a, b)] for a, b in pairs]
    assert [pair for pair, a, b in zip(pairs, expected, found, strict=True) if a != b] == []
    assert all(100 < sum(column) < 2_900 for column in zip(*expected)), [*map(sum, zip(*expected))]


def test_the_files_are_short_and_the_page_asks_nobody_else():
    sources = {path.name: path.read_text(encoding="utf-8") for path in FILES.iterdir()}
    scripts = {name: text for name, text in sources.items() if name.endswith(".js")}
    assert len(scripts) == 9 and max(text.count("\n") for text in sources.values()) < 400
    page = sources["translate.html"]
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1]
    assert policy.split("; ")[:3] == ["default-src 'none'", "script-src 'self' 'wasm-unsafe-eval'", "style-src 'self'"]
    spoken = re.findall(r" lang=[^ >]*", page)
    assert spoken == [' lang="en"', ' lang="zh"'], "of the page and of a link: the model's languages come from settings.json"
    assert "connect-src 'self'" in policy and "unsafe-inline" not in policy and "*" not in policy
    assert re.findall(r"<script[^>]*>", page) == ['<script type="module" src="translate/translate.js">']
    assert not re.search(r"\son\w+=|\sstyle=|<style", page), "no script and no style within the page"
    asked = re.findall(r'(?:src|<link[^>]*href)="([^"]*)"', page)
    assert asked.pop(0) == "data:," and {"translate/style.css", "translate/translate.js", "translate/ort.wasm"} <= set(asked)
    assert all(re.fullmatch(r"translate/[a-z.]+", one) for one in asked)
    for name, text in scripts.items():
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function", text), name
        assert [one for one in re.findall(r"https?://[^\s\"')]+", text) if one != "http://www.w3.org/2000/svg"] == [], name


class Said(HTMLParser):
    "The texts of a page that readers see or hear, each in one line; without those that stay and one that is soon another."

    def __init__(self, page: str):
        super().__init__()
        self.texts, self.within = [], []
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        if tag not in ("meta", "link", "input", "br"):
            self.within.append(found.get("id") or tag)
        self.texts += [found["aria-label"]] if "aria-label" in found else []

    def handle_endtag(self, tag):
        self.within.pop()

    def handle_data(self, text):
        kept = {"status", "language", "sub"} & {*self.within} or self.within and self.within[-1] == "sentence"
        if re.search(r"[^\W\d_]", text) and not kept:
            self.texts.append(" ".join(text.split()))


def test_every_word_of_the_page_has_its_chinese():
    sources = {path.name: path.read_text(encoding="utf-8") for path in FILES.iterdir()}
    names = {"“Attention Is All You Need”", "annotated_transformer"}
    scripts = "".join(sources[name] for name in ("drawing.js", "translate.js"))
    spoken = re.findall(r"\bt`([^`]*)`", re.sub(r"\$\{(?:[^{}`]|\{[^{}]*\}|t?`[^`]*`)*\}", "{}", scripts))
    rows = re.search(r"CHINESE = \{(.*?),\n\};", sources["chinese.js"], re.DOTALL)[1]
    table = json.loads("{" + re.sub(r"(?m)^ *//.*\n", "", rows) + "}")
    texts = {*Said(sources["translate.html"]).texts, *spoken, *live_page.SWITCHES, UNSURE} - names
    assert len(spoken) > 30 and texts == table.keys(), texts ^ table.keys()
    assert [text for text, chinese in table.items() if text.count("{}") != chinese.count("{}")] == []


@pytest.fixture
def fake_runtime(monkeypatch):
    monkeypatch.setattr(live_page, "runtime_files", lambda: {"ort.js": b"js", "ort.wasm": b"wasm"})


@needs_onnx
def test_a_page_is_written_whole_or_not_at_all(tmp_path, fake_runtime, monkeypatch, capsys, refused):
    page = tmp_path / "new" / "page"
    cli.main(["page", str(page), "numbers-en-de"])
    assert "python -m http.server --directory" in capsys.readouterr().out
    assert sorted(path.name for path in page.iterdir()) == ["translate", "translate.html"]
    beside = {path.name for path in (page / "translate").iterdir()}
    assert beside == {path.name for path in FILES.iterdir()} - {"translate.html"} | {
        "ort.js", "ort.wasm", "encoder.onnx", "decoder.onnx", "tokenizer.model", "settings.json", "MODEL.md"}
    shipped = Translator.from_pretrained("numbers-en-de", device="cpu")
    settings = json.loads((page / "translate" / "settings.json").read_text())
    assert settings["model"] == "numbers-en-de" and settings["ids"] == {"pad": 0, "eos": 1, "unk": 2}
    assert settings["switches"] == ["scaling", "positions", "causal"] and settings["search"]["alpha"] == shipped.search.alpha
    assert settings["config"]["max_length"] == shipped.model.config.max_length and settings["longest"] == 60
    assert settings["sentences"] == {"whole": WHOLE, **PATTERNS} and settings["unsure"] == UNSURE
    assert settings["doubtful_below"] == shipped.record.doubtful_below < 0
    assert settings["languages"] == ["en", "de"]
    loaded = [path.stat().st_size for path in (page / "translate").iterdir() if path.suffix in (".onnx", ".wasm", ".model")]
    assert settings["bytes"] == sum(loaded) and len(loaded) == 4
    short = Transformer(TransformerConfig(shipped.tokenizer.vocab_size, n_layers=1, d_model=8, d_ff=16, n_heads=2, max_length=20))
    assert live_page.page_settings(Translator(short, shipped.tokenizer))["longest"] == 20
    everyday = Translator.from_pretrained("everyday-en-de", device="cpu")
    told = live_page.page_settings(everyday)
    assert told["doubtful_below"] < 0 and told["head"] == everyday.record.alignment_head is not None
    everyday.record = dataclasses.replace(everyday.record, languages=("en", "pt_BR"))
    assert live_page.page_settings(everyday)["languages"] == ["en", "pt-BR"], "a browser knows no pt_BR"
    for name in settings["switches"]:
        assert f'name="{name}"' in (page / "translate.html").read_text()
    assert [path.name for path in page.parent.iterdir()] == ["page"]
    assert "already exists" in refused(cli.main, ["page", str(page), "numbers-en-de"])

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(live_page, "write_page_graphs", fail)
    with pytest.raises(OSError):
        live_page.write_page(shipped, tmp_path / "other" / "page")
    assert list((tmp_path / "other").iterdir()) == []


@needs_onnx
def test_matrices_are_rounded_to_the_nearest_of_255_steps_and_vectors_not_at_all(tmp_path):
    import onnx

    model = Transformer(TransformerConfig(50, n_layers=1, d_model=8, d_ff=14, n_heads=2, max_length=9)).eval()
    for eight_bits in (False, True):
        (tmp_path / str(eight_bits)).mkdir()
        live_page.write_page_graphs(model, tmp_path / str(eight_bits), eight_bits)
    for name in ("encoder.onnx", "decoder.onnx"):
        sides = [onnx.load(tmp_path / side / name).graph.initializer for side in ("False", "True")]
        exact, rounded = ({one.name: onnx.numpy_helper.to_array(one) for one in side} for side in sides)
        matrices = [key for key, numbers in exact.items() if numbers.ndim == 2 and numbers.dtype == np.float32]
        assert len(matrices) >= 4
        for key in matrices:
            numbers, scale = rounded.pop(f"{key}.int8"), rounded.pop(f"{key}.scale")
            assert numbers.dtype == np.int8 and scale.size == max(numbers.shape)
            assert (np.abs(numbers * scale - exact.pop(key)) <= scale / 2 + 1e-7).all() and np.abs(numbers).max() == 127
        assert rounded.keys() == exact.keys() and all((rounded[key] == exact[key]).all() for key in exact)


def test_what_no_page_can_show_is_refused_before_anything_is_written(tmp_path, fake_runtime):
    class Own(Transformer):
        pass

    sizes = {"n_layers": 1, "d_model": 8, "d_ff": 16, "n_heads": 2}
    tokenizer = Translator.from_pretrained("numbers-en-de", device="cpu").tokenizer
    additive = Transformer(TransformerConfig(tokenizer.vocab_size, compatibility="additive", **sizes))
    own = Own(TransformerConfig(tokenizer.vocab_size, **sizes))
    if importlib.util.find_spec("onnx") and importlib.util.find_spec("onnxruntime"):
        for model, reason in ((additive, "scaling of a dot product"), (own, "Own is a class of your own")):
            with pytest.raises(InputError, match=reason):
                live_page.write_page(Translator(model, tokenizer), tmp_path / "page")
    with pytest.raises(InputError, match="already exists"):
        live_page.write_page(Translator(additive, tokenizer), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_the_licences_beside_the_page_lead_to_the_notices_of_the_runtime_that_it_has():
    [version] = re.findall(r"-([\d.]+)\.tgz", live_page.RUNTIME)
    said = Path(live_page.__file__).with_name("page").joinpath("LICENSES.txt").read_text(encoding="utf-8")
    assert f"/blob/v{version}/ThirdPartyNotices.txt" in said


def test_without_a_network_and_a_cache_a_sentence_says_where_the_runtime_would_be(tmp_path, monkeypatch):
    monkeypatch.setenv("ANNOTATED_TRANSFORMER_DATA", str(tmp_path))
    monkeypatch.setattr(live_page, "RUNTIME_URL", "http://127.0.0.1:9/")
    with pytest.raises(InputError, match=r"onnxruntime-web.*is missing and could not be fetched from http://127.0.0.1:9/onnxruntime-web-"):
        live_page.runtime_files()


def test_the_runtime_is_what_the_page_asks_for():
    if not (cache_directory() / "onnxruntime-web" / live_page.RUNTIME).exists():
        pytest.skip("the runtime has not been downloaded yet")
    files = live_page.runtime_files()
    assert b"MIT License" in files["ort.js"][:300] and files["ort.wasm"][:4] == b"\0asm"
