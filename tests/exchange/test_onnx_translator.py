"What is exported translates where PyTorch is not installed."
import importlib.util
import subprocess
import sys

import pytest

from annotated_transformer import Translator
from annotated_transformer.exchange.onnx import to_onnx

missing = [package for package in ("onnx", "onnxruntime") if importlib.util.find_spec(package) is None]
SENTENCES = ["forty-two", "on the third of March at half past six"]
PROGRAM = """
import sys

sys.modules["torch"] = None  # `import torch` fails from here on, as where it is not installed
from annotated_transformer.exchange.onnx_translator import OnnxTranslator

print(*OnnxTranslator(sys.argv[1]).translate(sys.argv[2:]), sep="\\n")
"""


@pytest.mark.skipif(bool(missing), reason="the extra `exchange` is not installed")
def test_it_translates_as_ours_does_without_pytorch(tmp_path):
    translator = Translator.from_pretrained("numbers-en-de", device="cpu")
    to_onnx(translator, tmp_path / "graphs")
    done = subprocess.run([sys.executable, "-c", PROGRAM, tmp_path / "graphs", *SENTENCES], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == translator.translate(SENTENCES)
