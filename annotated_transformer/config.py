"""Every setting: for the model, training, execution and search; and the presets.

Nothing here needs PyTorch, so the command line can show all settings at once. The text under `Args` is also the help
text of the setting's option. `PARTS` names the model's parts, one per line; they are imported when a model is built from
them.
"""
import dataclasses
import math
import reprlib
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import PurePath
from types import MappingProxyType
from typing import Any, get_args, get_type_hints

from . import InputError
from .json_files import WORDS, checked

__all__ = [
    "MAY_CHANGE", "PARTS", "PRESETS", "ROWS", "TRANSLATION", "Execution", "Search", "TrainingConfig", "TransformerConfig",
    "changed", "require_plain", "require_search",
]

PARTS = MappingProxyType({  # the parts of a model and where to find the class of each; the first is the paper's
    "positions": {
        "sinusoidal": "annotated_transformer.model.position:PositionalEncoding",
        "learned": "annotated_transformer.model.variants:LearnedPositions",
    },
    "compatibility": {
        "dot-product": "annotated_transformer.model.attention:MultiHeadAttention",
        "additive": "annotated_transformer.model.variants:AdditiveMultiHeadAttention",
    },
    "norm": {
        "post": "annotated_transformer.model.layers:Residual",
        "pre": "annotated_transformer.model.variants:PreNormResidual",
    },
})

MOST = 10**12  # upper limit of every count: sums of such numbers still fit into 64 bits


def require_types(settings: object) -> None:
    "InputError names the first setting whose type is not the one its class declares; a NumPy number becomes a Python number."
    for name, kind in get_type_hints(type(settings)).items():
        value, kinds = getattr(settings, name), get_args(kind) or (kind,)
        if getattr(value, "ndim", None) == 0:
            value = value.item()
            object.__setattr__(settings, name, value)
        if not isinstance(value, kind | int if float in kinds else kind) or type(value) is bool and bool not in kinds:
            wanted = kinds[0].__name__
            wanted = WORDS.get(kinds[0], f"{'an' if wanted[0] in 'AEIOU' else 'a'} {wanted}")
            raise InputError(f"{name} must be {wanted}, not {reprlib.repr(value)}")


def require_between(settings: object, name: str, least: float, most: float) -> None:
    "InputError if a setting is given and is too small or too large."
    value = getattr(settings, name)
    if value is not None and not least <= value <= most:
        power = math.log2(most)
        highest = f"2^{power:.0f}" if power > 15 and power.is_integer() else f"{most:,}"
        bounds = f"at least {least}" + f" and can be at most {highest}" * (most != MOST or value > most)
        raise InputError(f"{name} must be {bounds}, not {value}")


def require_plain(*given: object) -> None:
    "InputError for settings of a user's own class, because a file that holds them could not be read again."
    for settings in given:
        if type(settings).__module__ != __name__:
            ours = next((kind.__name__ for kind in type(settings).__mro__ if kind.__module__ == __name__), "TransformerConfig")
            raise InputError(f"{type(settings).__name__} is a class of your own, and config.json holds only what {ours} has: "
                             "make a setting of your own an attribute of your model's class, such as `scale = 3.0` in its body")


@dataclass(frozen=True)
class TransformerConfig:
    """Every size that Table 3 varies. A row of that table is `dataclasses.replace(base, n_heads=1, d_k=512, d_v=512)`.
    `replace` keeps d_k and d_v, so name them where n_heads or d_model change; on the command line they follow.

    Args:
        vocab_size: V, the size of the vocabulary that source and target share
        n_layers: N, in the encoder and in the decoder
        d_model: width of every sub-layer's output
        d_ff: inner width of the feed-forward network
        n_heads: h
        d_k: width of a head's queries and keys; d_model // n_heads if not given
        d_v: width of a head's values; d_model // n_heads if not given
        dropout: P_drop
        positions: or "learned" (row E)
        compatibility: of a query and a key; or "additive", which the paper asks about (row B) but does not try
        norm: after each residual sum; or "pre", before each sub-layer, which is not the paper's
        max_length: longest sequence in tokens, EOS included
    """

    vocab_size: int
    n_layers: int = 6
    d_model: int = 512
    d_ff: int = 2048
    n_heads: int = 8
    d_k: int | None = None
    d_v: int | None = None
    dropout: float = 0.1
    positions: str = "sinusoidal"
    compatibility: str = "dot-product"
    norm: str = "post"
    max_length: int = 1024

    def __post_init__(self):
        require_types(self)
        for name in ("vocab_size", "n_layers", "d_model", "d_ff", "n_heads", "d_k", "d_v", "max_length"):
            size = getattr(self, name)
            if size is None and name in ("d_k", "d_v"):
                if self.d_model % self.n_heads:
                    raise InputError(f"d_model={self.d_model} is not divisible by n_heads={self.n_heads}: give d_k and d_v")
                object.__setattr__(self, name, self.d_model // self.n_heads)  # frozen from here on
            else:
                least = 2 if name == "vocab_size" else 1  # with PAD alone nothing can be written
                most = {"n_layers": 1_000, "n_heads": 1_024, "max_length": 2**18}.get(name, 2**24)
                require_between(self, name, least, most)
        if not 0 <= self.dropout < 1:
            raise InputError(f"dropout must be at least 0 and less than 1, not {self.dropout}")
        for name, parts in PARTS.items():
            if getattr(self, name) not in parts:
                raise InputError(f"{name} must be {' or '.join(map(repr, parts))}, not {reprlib.repr(getattr(self, name))}")

    @classmethod
    def base(cls, vocab_size: int) -> "TransformerConfig":
        "The paper's base model (Table 3)."
        return cls(vocab_size)

    @classmethod
    def big(cls, vocab_size: int) -> "TransformerConfig":
        "The paper's big model (Table 3)."
        return cls(vocab_size, d_model=1024, d_ff=4096, n_heads=16, dropout=0.3)

    @classmethod
    def tiny(cls, vocab_size: int) -> "TransformerConfig":
        "Not in the paper: a size for 29,000 sentence pairs and two CPU cores (Wu et al. 2021)."
        return cls(vocab_size, n_layers=4, d_model=128, d_ff=256, n_heads=4, dropout=0.3)


@dataclass(frozen=True)
class Execution:
    """How the work is done. Settings that are None are chosen for the device (training.devices: `on_device`).

    Args:
        device: "cuda", "cpu" or "mps"; by default a CUDA GPU where there is one, else the CPU
        device_tokens: positions a device takes at a time, on the longer side, twice each with `consistency`; more is accumulated
        precision: of products: float32, tf32, bfloat16 or auto: the faster of the first and third; by default auto on a GPU only
        compile: torch.compile for every layer; by default only for the loss, and only on a GPU
    """

    device: str | None = None
    device_tokens: int | None = None
    precision: str | None = None
    compile: bool | None = None

    def __post_init__(self):
        require_types(self)
        require_between(self, "device_tokens", 1, MOST)
        if self.device is not None and self.device.partition(":")[0] not in ("cuda", "cpu", "mps"):
            raise InputError(f"device {reprlib.repr(self.device)[1:-1]}: choose cuda, cpu or mps")
        if self.precision not in (None, "auto", "bfloat16", "tf32", "float32"):
            raise InputError(f"precision must be auto, bfloat16, tf32 or float32, not {reprlib.repr(self.precision)[1:-1]}")

    def parts(self, batch_tokens: int, processes: int) -> int:
        "How many parts a batch is cut into: equally many per process, none larger than `device_tokens`, give or take a sentence."
        return processes * math.ceil(batch_tokens / (processes * (self.device_tokens or batch_tokens)))


@dataclass(frozen=True)
class Search:
    """How an output is searched for. The defaults are the paper's for translation (§6.1).

    Args:
        beam_size: K; 1 is greedy search
        alpha: strength of the length penalty
        extra_length: maximum number of tokens that an output may have beyond its source's length
    """

    beam_size: int = 4
    alpha: float = 0.6
    extra_length: int = 50

    def __post_init__(self):
        require_types(self)
        require_between(self, "beam_size", 1, 2**24)
        require_between(self, "alpha", 0, 100)
        require_between(self, "extra_length", 0, 1_000_000)

    def within(self, vocabulary: int) -> "Search":
        "The same search, for a model with this many tokens: a beam wider than the vocabulary would only waste memory."
        if self.beam_size > vocabulary:
            raise InputError(f"the beam size must be at most {vocabulary}, the tokens of the model, not {self.beam_size}")
        return self


TRANSLATION = Search()  # §6.1


def require_search(given: object) -> Search:
    "Return it; InputError if it is not a Search."
    if not isinstance(given, Search):
        raise InputError(f"search must be a Search, such as Search(beam_size=4), not {reprlib.repr(given)}")
    return given


@dataclass(frozen=True)
class TrainingConfig:
    """Everything that decides what a run computes, how often it reports and saves, and how the work is done.

    Args:
        model: sizes of the model; its vocab_size is the number of pieces to learn
        corpus: a name (see `corpora`), a directory, DIRECTORY:fr-en, or hub:OWNER/NAME; TREEBANK+FILE adds parsed trees
        batch_tokens: padded positions of a batch, on the side that has more (§5.1: 25,000 tokens a side)
        steps: updates
        init_gain: factor on Glorot's range, for the initial matrices of encoder and decoder that require gradients
        warmup_steps: §5.3
        rate_factor: factor on the paper's learning rate
        smoothing: ε_ls, §5.4
        consistency: α of R-Drop: weight of the disagreement between two draws of dropout; the paper has none
        start_from: weights and vocabulary to start from: a run, a model or a shipped name; new ones if not given
        clip_norm: maximum norm of the gradient; the paper does not clip
        seed: decides the initial weights, the order of the batches and the dropout
        validate_every: steps between two measurements on the validation split
        checkpoint_every: steps between two checkpoints
        checkpoint_minutes: or minutes between them (§6.1: every 10, then 1,500 updates of base or 600 of big)
        keep: checkpoints kept, and averaged before translation (§6.1: 5 for base, 20 for big)
        log_every: steps between two lines of metrics.jsonl
        execution: devices and number formats; may change between two starts
    """

    model: TransformerConfig
    corpus: str = "numbers-en-de"
    batch_tokens: int = 25_000
    steps: int = 100_000
    init_gain: float = 1.0
    warmup_steps: int = 4_000
    rate_factor: float = 1.0
    smoothing: float = 0.1
    consistency: float = 0.0
    start_from: str | None = None
    clip_norm: float | None = None
    seed: int = 1
    validate_every: int = 1_000
    checkpoint_every: int | None = None
    checkpoint_minutes: float | None = 10.0
    keep: int = 5
    log_every: int = 10
    execution: Execution = field(default_factory=Execution)

    def __post_init__(self):
        require_types(self)
        for name in ("batch_tokens", "steps", "warmup_steps", "validate_every", "checkpoint_every", "keep", "log_every"):
            require_between(self, name, 1, MOST)
        for name in ("rate_factor", "init_gain", "clip_norm", "checkpoint_minutes"):
            value = getattr(self, name)
            if value is not None and not 0 < value < math.inf:
                raise InputError(f"{name} must be a number that is more than 0, not {value}")
        if not 0 <= self.consistency < math.inf:
            raise InputError(f"consistency must be a number that is at least 0, not {self.consistency}")
        if not 0 <= self.seed < 2**64:
            raise InputError(f"seed must be at least 0 and less than 2^64, not {self.seed}")
        if not 0 <= self.smoothing < 1:
            raise InputError(f"smoothing must be at least 0 and less than 1, not {self.smoothing}")

    def to_dict(self) -> dict[str, Any]:
        "The form in which config.json stores it."
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "TrainingConfig":
        "From the output of `to_dict`, also of earlier versions; InputError names a setting that this version does not have."
        values = {name: value for name, value in values.items() if name not in FORMER}
        for part in values.keys() & {"model", "execution"}:
            if isinstance(values[part], dict):
                values[part] = {name: value for name, value in values[part].items() if name not in FORMER}
        return checked(values, cls)


FORMER = {"fused_adam"}  # settings of earlier versions that affected no result: they are ignored


MAY_CHANGE = {"steps", "validate_every", "checkpoint_every", "checkpoint_minutes", "keep", "log_every", "execution"}


def changed(before: TrainingConfig, now: TrainingConfig, free: Collection[str] = MAY_CHANGE) -> dict[str, tuple[Any, Any]]:
    """The settings in which two configurations differ, except the free ones: by name, the old and the new value.
    `mine`, `mine/` and `./mine` are the same corpus."""
    old, new = ({name: value for name, value in {**config.to_dict(), **config.to_dict()["model"]}.items()
                 if name not in {*free, "model"}} for config in (before, now))
    if PurePath(before.corpus) == PurePath(now.corpus):
        new["corpus"] = before.corpus
    return {name: (value, new[name]) for name, value in old.items() if new[name] != value}


# §6.1 averages checkpoints of the base models that are 10 minutes apart, 1,500 updates of 0.4 s (§5.2); for the big
# ones, with 1.0 s, we use the same interval. On a faster GPU 10 minutes are a larger part of the training.
BASE_CHECKPOINTS = {"checkpoint_every": 1_500, "checkpoint_minutes": None, "keep": 5}
BIG_CHECKPOINTS = {"checkpoint_every": 600, "checkpoint_minutes": None, "keep": 20}

PRESETS = {
    # Learns the built-in corpus in a few minutes on two CPU cores.
    "demo": TrainingConfig(
        TransformerConfig(600, n_layers=2, d_model=128, d_ff=256, n_heads=4, dropout=0.0, max_length=128), corpus="numbers-en-de",
        batch_tokens=2_000, steps=1_300, warmup_steps=300, validate_every=250, checkpoint_every=100, checkpoint_minutes=None,
    ),
    # Close to the published recipe for Multi30k (Wu et al. 2021).
    "tiny": TrainingConfig(
        TransformerConfig.tiny(10_000), corpus="multi30k-en-de",
        batch_tokens=4_096, steps=4_000, init_gain=0.5, warmup_steps=1_000, rate_factor=1.4,
        validate_every=250, checkpoint_every=125, checkpoint_minutes=None, keep=10,
    ),
    # The base of our Table 3: the same with fewer updates, since that table takes some thirty times as many.
    "miniature": TrainingConfig(
        TransformerConfig.tiny(4_000), corpus="multi30k-en-de",
        batch_tokens=2_048, steps=2_000, init_gain=0.5, warmup_steps=1_000, rate_factor=1.4,
        validate_every=500, checkpoint_every=500, checkpoint_minutes=None, keep=1,
    ),
    # The paper's two models (Table 3) on its two corpora, with its batch, schedule and checkpoints.
    "base": TrainingConfig(TransformerConfig.base(37_000), corpus="wmt14-en-de", **BASE_CHECKPOINTS),
    "big": TrainingConfig(TransformerConfig.big(37_000), corpus="wmt14-en-de", steps=300_000, **BIG_CHECKPOINTS),
    "base-en-fr": TrainingConfig(TransformerConfig.base(32_000), corpus="wmt14-en-fr", **BASE_CHECKPOINTS),
    "big-en-fr": TrainingConfig(
        dataclasses.replace(TransformerConfig.big(32_000), dropout=0.1), corpus="wmt14-en-fr", steps=300_000, **BIG_CHECKPOINTS,
    ),
    # Parsing (§6.3, Table 4): 4 layers of width 1024, the rest as in `base`; then the same with a file of parsed sentences.
    "parsing": TrainingConfig(TransformerConfig(16_000, n_layers=4, d_model=1024), corpus="wsj", **BASE_CHECKPOINTS),
    "parsing-semi": TrainingConfig(
        TransformerConfig(32_000, n_layers=4, d_model=1024), corpus="wsj+parsed.mrg", **BASE_CHECKPOINTS,
    ),
    # For the 3,396 sentences of the free sample and two CPU cores: it must write the words to learn where they are (§6.3).
    "parsing-small": TrainingConfig(
        dataclasses.replace(TransformerConfig.tiny(1_500), dropout=0.2), corpus="treebank-words", batch_tokens=2_048, steps=8_000,
        init_gain=0.5, warmup_steps=600, validate_every=250, checkpoint_every=250, checkpoint_minutes=None, keep=20,
    ),
}

# The rows of Table 3, the last of which is the big model, and two of ours; tables.variations says what each changes.
ROWS = ("base", "A1", "A2", "A3", "A4", "B1", "B2", "C1", "C2", "C3", "C4", "C5", "C6", "C7", "D1", "D2", "D3", "D4", "E", "big",
        "additive", "pre-norm")
