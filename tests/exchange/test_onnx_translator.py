"What is exported translates where PyTorch is not installed: the same lines, cut alike, doubted alike."
import dataclasses
import importlib.util
import json
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from annotated_transformer import EOS, InputError, Transformer, TransformerConfig, Translator
from annotated_transformer.config import Search
from annotated_transformer.exchange.browser_page import write_page_graphs
from annotated_transformer.exchange.onnx import to_onnx
from annotated_transformer.exchange.onnx_translator import OnnxTranslator
from annotated_transformer.model_record import PRETRAINED

missing = [package for package in ("onnx", "onnxruntime") if importlib.util.find_spec(package) is None]
SENTENCES = ["forty-two", "on the third of March at half past six", "", "你好，世界。", "Hello.",
             "She counted twenty-one, then thirty-two. He paid forty-three euros and a cent. It was half past nine."]
PROGRAM = """
import sys

sys.modules["torch"] = None  # `import torch` fails from here on, as where it is not installed
from annotated_transformer.exchange.onnx_translator import OnnxTranslator

translator, lines = OnnxTranslator(sys.argv[1]), sys.argv[2:]
for one in translator.translations(lines):
    print(one.text, one.log_probability, one.tokens, one.doubtful, sep="\\t")
print(*translator.translate(lines), *translator.translate(lines, split=False), translator.translate(lines[0]), sep="\\n")
"""


@pytest.mark.skipif(bool(missing), reason="the extra `exchange` is not installed")
def test_it_translates_as_ours_does_without_pytorch(tmp_path):
    translator = Translator.from_pretrained("numbers-en-de", device="cpu")
    translator.record = dataclasses.replace(translator.record, doubtful_below=-0.3)
    to_onnx(translator, tmp_path / "graphs")
    done = subprocess.run([sys.executable, "-c", PROGRAM, tmp_path / "graphs", *SENTENCES], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    said, texts = done.stdout.split("\n")[: len(SENTENCES)], done.stdout.split("\n")[len(SENTENCES) : -1]
    ours = translator.translations(SENTENCES)
    portable = OnnxTranslator(tmp_path / "graphs")
    assert portable.search([]) == [] and str(tmp_path / "graphs") in repr(portable)
    assert portable.translate(SENTENCES[:3], batch=-1) == portable.translate(SENTENCES[:3], batch=0) == texts[:3]
    with pytest.raises(InputError, match="search must be a Search"):
        portable.translate(SENTENCES[:3], {"beam_size": 2})
    for one, line in zip(ours, said, strict=True):
        text, log_probability, tokens, doubtful = line.split("\t")
        assert (text, int(tokens), doubtful) == (one.text, one.tokens, str(one.doubtful))
        assert float(log_probability) == pytest.approx(one.log_probability, abs=1e-3)
    assert len({one.doubtful for one in ours}) == 2 and ours[3].doubtful, "letters that it lacks"
    brief, words = Search(beam_size=2, extra_length=0), ["the", "ten"]  # the first runs out of tokens, the second ends
    theirs, own = (one.translations(words, brief) for one in (portable, translator))
    assert [(one.tokens, one.doubtful) for one in theirs] == [(one.tokens, one.doubtful) for one in own] == [(2, True), (2, False)]
    assert [found[0].ended for found in portable.search([translator.tokenizer.encode(word) for word in words], brief)] == [False, True]
    assert texts == [*translator.translate(SENTENCES), *translator.translate(SENTENCES, split=False), translator.translate(SENTENCES[0])]
    assert texts[5] != texts[11], "cut, and whole"


@pytest.mark.skipif(bool(missing), reason="the extra `exchange` is not installed")
@pytest.mark.parametrize("write", [to_onnx, write_page_graphs])
def test_a_model_that_is_written_in_the_middle_of_a_training_stays_as_it_was(write, tmp_path):
    import onnxruntime

    torch.manual_seed(0)
    model = Transformer(TransformerConfig(11, n_layers=1, d_model=8, d_ff=12, n_heads=2, max_length=9)).train().double()
    place = tmp_path / "graphs" if write is to_onnx else tmp_path  # only one of them makes its directory
    write(model, place)
    assert all(module.training for module in model.modules()) and {one.dtype for one in model.parameters()} == {torch.float64}
    given = {"source": np.array([[3, 4, 5, EOS]])}
    if write is write_page_graphs:
        given |= {"switches": np.ones(3, np.float32), "heads": np.ones((3, 1, 2), np.float32)}
    memory, *_ = onnxruntime.InferenceSession(str(place / "encoder.onnx")).run(None, given)
    assert memory.dtype == np.float32 and np.isfinite(memory).all()


def test_an_attention_with_a_function_of_its_own_is_not_written_as_the_models(tmp_path):
    model = Transformer(TransformerConfig(11, n_layers=1, d_model=8, d_ff=12, n_heads=2, max_length=9))
    model.decoder.layers[0].memory_attention.sublayer.attend = lambda query, key, value, allowed, causal: query
    with pytest.raises(InputError, match="a function attends instead of the model's own"):
        to_onnx(model, tmp_path / "graphs")


@pytest.mark.skipif(bool(missing), reason="the extra `exchange` is not installed")
def test_threads_write_one_after_the_other(tmp_path):
    translator = Translator.from_pretrained("pronouns-en-de", device="cpu")
    with ThreadPoolExecutor(2) as threads:
        list(threads.map(lambda name: to_onnx(translator, tmp_path / name), "ab"))
    assert all((tmp_path / name / "decoder.onnx").is_file() for name in "ab")


@pytest.mark.skipif(bool(missing), reason="the extra `exchange` is not installed")
def test_files_that_do_not_belong_together_are_one_sentence(tmp_path):
    graphs = tmp_path / "graphs"
    to_onnx(Translator.from_pretrained("numbers-en-de", device="cpu"), graphs)
    settings = json.loads((graphs / "settings.json").read_text())
    for wrong in ({}, [], settings | {"search": {"alpha": "x"}}, settings | {"config": settings["config"] | {"max_length": "x"}}):
        (graphs / "settings.json").write_text(json.dumps(wrong))
        with pytest.raises(InputError, match="settings.json: the file is damaged"):
            OnnxTranslator(graphs)
    (graphs / "settings.json").write_text(json.dumps(settings))
    with pytest.raises(InputError, match="the beam size must be at most"):
        OnnxTranslator(graphs).translate(["one"], Search(beam_size=10_000))
    with pytest.raises(InputError, match="beam_size must be at least 1"):
        OnnxTranslator(graphs).translate(["one"], Search(beam_size=0))
    damaged = OnnxTranslator(graphs)
    run = damaged.decoder.run
    damaged.decoder = SimpleNamespace(run=lambda names, given: [run(names, given)[0] * float("nan"), *run(names, given)[1:]])
    with pytest.raises(InputError, match="decoder.onnx gives no numbers"):
        damaged.translate(["one"])
    tokenizer = (graphs / "tokenizer.model").read_bytes()
    (graphs / "tokenizer.model").unlink()
    with pytest.raises(InputError, match="no tokenizer.model"):
        OnnxTranslator(graphs).translate(["one"])
    shutil.copy(PRETRAINED / "parser-en" / "tokenizer.model", graphs)
    with pytest.raises(InputError, match="do not belong together"):
        OnnxTranslator(graphs)
    (graphs / "tokenizer.model").write_bytes(tokenizer)
    shutil.copy(graphs / "encoder.onnx", graphs / "decoder.onnx")
    with pytest.raises(InputError, match="decoder.onnx is a different graph"):
        OnnxTranslator(graphs)
