"""Common mistakes: what each does to a small Transformer's loss, and to what it writes.

    python -m benchmarks.mistakes [--seeds 3] [--steps 800] [--out results/checks/mistakes.json]

Each model is docs/transformer.py with one piece of its text replaced. It learns to write one to eight digits backwards, in
padded batches, and is then tested on 1,024 sources: `right`, and again with four more <pad> after each: `right_padded`.
"""
import contextlib
import io
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType

import torch
import torch.nn.functional as F
from torch import Tensor

from annotated_transformer.progress_bar import progress_bar
from benchmarks.shared.command import Options, at_least, one_sentence
from benchmarks.shared.side_by_side import save

FILE = Path(__file__).parents[1] / "docs/transformer.py"
SIZES = {"n_layers": 1, "d_model": 64, "d_ff": 128, "n_heads": 4, "dropout": 0.1}
LENGTHS, OF_EACH, BATCHES = range(1, 9), 4, 32
MISTAKES = {  # name: (a piece of the file, what replaces it)
    "none": ("", ""),
    "the decoder sees what comes after": (".tril()", ""),
    "the decoder sees one token ahead": (".tril()", ".tril(1)"),
    "the target is not shifted": ("torch.cat([torch.full((n, 1), PAD), target[:, :-1]], dim=1), target", "target, target"),
    "another first token in use than in training": (
        "written = torch.full((len(source), 1), PAD)", "written = torch.full((len(source), 1), EOS)",
    ),
    "the first position's token is taken, not the last's": ("hidden[:, -1]", "hidden[:, 0]"),
    "dropout in use, too (`eval` forgotten)": ("memory = model.encode", "memory = model.train().encode"),
    "padding is not masked": ("return (ids != PAD)", "return (ids == ids)"),
    "the mask of padding inverted": ("return (ids != PAD)", "return (ids == PAD)"),
    "hidden scores are 1e-9, not -inf": ('float("-inf")', "1e-9"),
    "softmax over the queries": ("softmax(dim=-1)", "softmax(dim=-2)"),
    "heads cut without `transpose`": (
        "x.view(*x.shape[:2], self.n_heads, x.size(-1) // self.n_heads).transpose(1, 2)",
        "x.view(len(x), self.n_heads, x.size(1), x.size(-1) // self.n_heads)",
    ),
    "heads joined without `transpose`": ("heads.transpose(1, 2).flatten(2)", "heads.reshape(len(heads), heads.size(2), -1)"),
    "the decoder never looks at the source": (
        "self.memory_attention(x, memory, allowed)", "self.memory_attention(x, x, causal_mask(x.size(1), x.device))",
    ),
    "no positions": (" + self.table[:ids.size(1)]", ""),
    "positions along the batch": ("self.table[:ids.size(1)]", "self.table[:len(ids), None]"),
    "no residual connection": ("return self.norm(x + self.dropout", "return self.norm(self.dropout"),
    "no normalisation": ("return self.norm(x +", "return (x +"),
    "layers in a list, which the optimizer does not see": ("nn.ModuleList(layers)", "list(layers)"),
    "softmax twice": (".log_softmax(-1)  # 16", ".softmax(-1).log_softmax(-1)  # 16"),
    "the loss counts padding": ("real = target != PAD", "real = target == target"),
    "gradients are never set to zero": ("optimizer.zero_grad()", "pass"),
    "no warm-up": ("min(step**-0.5, step * warmup_steps**-1.5)", "step**-0.5"),
    "embeddings begin with deviation 1": ("std=d_model**-0.5", "std=1.0"),
    "embeddings not multiplied by the root of d_model": (" * math.sqrt(self.weight.size(1))", ""),
    "scores not divided by the root of d_k": (" / math.sqrt(query.size(-1))", ""),
    "no ReLU": (".relu_()", ""),
}


def planted(piece: str, instead: str) -> ModuleType:
    "docs/transformer.py as a module, with the piece exchanged, which stands there once."
    text, module = FILE.read_text(encoding="utf-8"), ModuleType("transformer")
    assert not piece or text.count(piece) == 1, f"{piece!r} stands {text.count(piece)} times in {FILE.name}"
    exec(compile(text.replace(piece, instead) if piece else text, FILE.name, "exec"), module.__dict__)
    return module


def mixed(module: ModuleType, of_each: int) -> list[Tensor]:
    "Sources, target inputs and targets of all lengths, by the module's own `pairs`, padded to the longest."
    batches = [module.pairs(of_each, length) for length in LENGTHS]
    return [torch.cat([F.pad(ids, (0, LENGTHS[-1] + 1 - ids.size(1))) for ids in side]) for side in zip(*batches)]


def right(module: ModuleType, model: torch.nn.Module, more: int) -> float:
    "Percent of 1,024 new sources, with so many <pad> more behind each, that are written backwards, up to <eos>."
    found = []
    for _ in range(BATCHES):
        source, _, target = mixed(module, OF_EACH)
        written = module.write(model.eval(), F.pad(source, (0, more)), target.size(1))
        found.append(((written == target) | (target == module.PAD)).all(1))
    return round(100 * torch.cat(found).double().mean().item(), 1)


def learn(piece: str, instead: str, seed: int, steps: int) -> dict:
    "Trains one model; its losses are those that the file itself prints."
    torch.manual_seed(seed)
    module = planted(piece, instead)
    model = module.Transformer(13, **SIZES)

    def batches() -> Iterator[list[Tensor]]:
        for _ in range(steps):
            yield mixed(module, OF_EACH)

    with contextlib.redirect_stdout(io.StringIO()) as printed:
        module.train(model, batches(), d_model=SIZES["d_model"], warmup_steps=100, factor=0.7, smoothing=0.0)
    losses = [None if loss == "nan" else float(loss) for loss in re.findall(r"loss +(\S+)", printed.getvalue())]
    written = {"right": right(module, model, 0), "right_padded": right(module, model, 4)}
    return {"first_loss": losses[0], "last_loss": losses[-1], **written}


@one_sentence()
def main(options: Sequence[str] | None = None) -> None:
    parser = Options("benchmarks.mistakes", __doc__, "results/checks/mistakes.json")
    parser.add_argument("--seeds", type=at_least(1), default=3)
    parser.add_argument("--steps", type=at_least(1), default=800)
    arguments = parser.parse_args(options)
    seeds, figures = range(1, arguments.seeds + 1), {}
    with progress_bar(total=len(MISTAKES), unit="mistake") as bar:
        for name, change in MISTAKES.items():
            rows = [learn(*change, seed, arguments.steps) for seed in seeds]
            figures[name] = {key: [row[key] for row in rows] for key in rows[0]}
            bar.update()
    config = {"sizes": SIZES, "steps": arguments.steps, "lengths": [*LENGTHS], "of_each_length": OF_EACH, "seeds": [*seeds]}
    save(arguments.out, "benchmarks.mistakes", figures, config, None, options)
    for name, found in figures.items():
        means = ["NaN" if None in values else f"{sum(values) / len(values):.2f}" for values in found.values()]
        print(f"{name:<55}" + "".join(f"{mean:>10}" for mean in means))


if __name__ == "__main__":
    main()
