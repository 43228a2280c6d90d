"A program of one's own, in NumPy, from the equations and docs/other-software.md alone: names, shapes, numbers."
import itertools
import json
import re
from pathlib import Path

import numpy as np
import pytest
import torch

from annotated_transformer import EOS, PAD
from annotated_transformer.training.loading import load

ROOT = Path(__file__).parents[3]
SHIPPED = ["everyday-en-de", "multi30k-en-de", "numbers-en-de", "parser-en", "pronouns-en-de"]


def opened(name):
    "The sizes, and the tensors by name, read without the package and without PyTorch."
    place = ROOT / "annotated_transformer/pretrained" / name
    read = (place / "model.safetensors").read_bytes()
    start = 8 + int.from_bytes(read[:8], "little")
    tensors = {}
    for tensor, said in json.loads(read[8:start]).items():
        begin, end = said["data_offsets"]
        kind = {"F16": "<f2", "F32": "<f4"}[said["dtype"]]
        tensors[tensor] = np.frombuffer(read[start + begin : start + end], kind).reshape(said["shape"])
    return json.loads((place / "config.json").read_text()), tensors


def of_the_page(c):
    "Names and shapes by the table of docs/other-software.md."
    sizes = {"V": c["vocab_size"], "h": c["n_heads"], **{name: c[name] for name in ("d_model", "d_ff", "d_k", "d_v")}}
    page = (ROOT / "docs/other-software.md").read_text(encoding="utf-8").split("| tensor | shape |")[1]
    found = {}
    for name, shape in re.findall(r"^\| `(\S+)` \| ([^|]+) \|", page, re.MULTILINE):
        shape = tuple(eval(size.replace("·", "*"), {}, sizes) for size in shape.split(","))
        parts = re.split(r"\{([^}]+)\}", name.replace("{i}", "{" + ",".join(map(str, range(c["n_layers"]))) + "}"))
        for choice in itertools.product(*(part.split(",") if at % 2 else [part] for at, part in enumerate(parts))):
            found["".join(choice)] = shape
    return found


@pytest.mark.parametrize("name", SHIPPED)
def test_names_and_shapes_are_those_of_the_page(name):
    config, tensors = opened(name)
    assert {tensor: numbers.shape for tensor, numbers in tensors.items()} == of_the_page(config)
    page = (ROOT / "docs/other-software.md").read_text(encoding="utf-8")
    sixteen, = re.findall(r"or in 16 for (.*?)\. Layers", page)
    assert {numbers.itemsize for numbers in tensors.values()} == {2 if f"`{name}`" in sixteen else 4}


class Port:
    "The model by (model.1) to (model.3), in float64."

    def __init__(self, name):
        self.c, tensors = opened(name)
        self.weights = {tensor: numbers.astype(np.float64) for tensor, numbers in tensors.items()}

    def attention(self, name, x, memory, allowed):
        h, d_k, d_v = (self.c[size] for size in ("n_heads", "d_k", "d_v"))
        w_q, w_k, w_v = np.split(self.weights[f"{name}.in_projection"], [h * d_k, 2 * h * d_k])
        heads = []
        for i in range(h):
            query, key = x @ w_q[i * d_k : (i + 1) * d_k].T, memory @ w_k[i * d_k : (i + 1) * d_k].T
            scores = np.where(allowed, query @ key.swapaxes(1, 2) / d_k**0.5, -np.inf)
            shares = np.exp(scores - scores.max(-1, keepdims=True))
            heads.append(shares / shares.sum(-1, keepdims=True) @ (memory @ w_v[i * d_v : (i + 1) * d_v].T))
        return np.concatenate(heads, -1) @ self.weights[f"{name}.out_projection.weight"].T

    def feed_forward(self, name, x):
        inner, outer = (f"{name}.{part}" for part in ("inner", "outer"))
        units = np.maximum(0, x @ self.weights[f"{inner}.weight"].T + self.weights[f"{inner}.bias"])
        return units @ self.weights[f"{outer}.weight"].T + self.weights[f"{outer}.bias"]

    def residual(self, name, x, function, *others):
        z = x + function(f"{name}.sublayer", x, *others)
        z = (z - z.mean(-1, keepdims=True)) / np.sqrt(z.var(-1, keepdims=True) + 1e-5)
        return z * self.weights[f"{name}.norm.weight"] + self.weights[f"{name}.norm.bias"]

    def embed(self, ids):
        d = self.c["d_model"]
        angles = np.arange(ids.shape[1])[:, None] * 10000.0 ** (-np.arange(0, d, 2) / d)
        positions = np.stack([np.sin(angles), np.cos(angles)], -1).reshape(len(angles), d)
        return d**0.5 * self.weights["embedding.weight"][ids] + positions

    def log_probabilities(self, source, target_input):
        padding, causal = (source != PAD)[:, None], np.tri(target_input.shape[1], dtype=bool)
        memory, x = self.embed(source), self.embed(target_input)
        for stack in ("encoder", "decoder"):
            for i in range(self.c["n_layers"]):
                name = f"{stack}.layers.{i}"
                if stack == "encoder":
                    memory = self.residual(f"{name}.self_attention", memory, lambda at, x: self.attention(at, x, x, padding))
                    memory = self.residual(f"{name}.feed_forward", memory, self.feed_forward)
                else:
                    x = self.residual(f"{name}.self_attention", x, lambda at, x: self.attention(at, x, x, causal))
                    x = self.residual(f"{name}.memory_attention", x, self.attention, memory, padding)
                    x = self.residual(f"{name}.feed_forward", x, self.feed_forward)
        logits = x @ self.weights["embedding.weight"].T
        return logits - np.log(np.exp(logits).sum(-1, keepdims=True))


@pytest.mark.parametrize("name", SHIPPED)
def test_a_port_to_numpy_gives_the_same_probabilities(name):
    port, draw = Port(name), np.random.default_rng(0)
    source, written = draw.integers(3, port.c["vocab_size"], (2, 9)), draw.integers(3, port.c["vocab_size"], (2, 6))
    source[0, 4:], source[1, -1], written[:, 0] = (EOS, *[PAD] * 4), EOS, PAD
    with torch.no_grad():
        ours = load(name).model(torch.from_numpy(source), torch.from_numpy(written)).log_softmax(-1).numpy()
    assert np.abs(port.log_probabilities(source, written) - ours).max() < 1e-4
