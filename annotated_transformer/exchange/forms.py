"""What other software has no form for is refused before anything is written, with the reason; and what its files say of a model
beside the weights."""
from pathlib import Path

from .. import InputError
from ..model.pretrained import facts, require_made
from ..model.transformer import Transformer
from ..model_record import ModelRecord

__all__ = ["require_form", "require_our_tokenizer", "require_ours", "require_widths", "write_card"]


def require_widths(software: str, d_model: int, n_heads: int, d_k: int, d_v: int) -> None:
    "InputError for heads that together are not as wide as the model."
    for name, width in (("d_k", d_k), ("d_v", d_v)):
        if n_heads * width != d_model:
            raise InputError(
                f"{software} takes the width of a head from d_model: {n_heads} heads of {name}={width} "
                f"would have to add up to d_model={d_model}, not to {n_heads * width}"
            )


def require_ours(model: Transformer, software: str) -> None:
    "InputError for a model of another class than the paper's, whose parts may compute anything."
    kind = type(model)
    if kind.__module__.startswith("annotated_transformer.exchange."):
        raise InputError(f"this model came out of other software and goes to {software} from there: take the files it came from")
    if kind is not Transformer:
        raise InputError(f"{kind.__name__} is a class of your own, which has no form in {software}: only Transformer itself has")


def require_our_tokenizer(tokenizer: object) -> None:
    "InputError for one of the user's own, of which other software knows nothing."
    if tokenizer is not None and not type(tokenizer).__module__.startswith("annotated_transformer."):
        raise InputError(f"{type(tokenizer).__name__} is a tokenizer of your own, and the files of an export hold that of "
                         "SentencePiece: export the model alone")


def require_form(
    model: Transformer,
    software: str,              # its name
    **known: tuple[str, ...],   # fields of the configuration, and the values that the software knows
) -> None:
    "InputError with the reason, for a model that the software has no form for."
    c = model.config
    require_ours(model, software)
    require_widths(software, c.d_model, c.n_heads, c.d_k, c.d_v)
    for name, values in {"compatibility": ("dot-product",), **known}.items():
        if getattr(c, name) not in values:
            raise InputError(f"{software} has no form for a model with {name}={getattr(c, name)!r}: it cannot be carried over")
    require_made(model, c, usual=Transformer)


def write_card(directory: Path, record: ModelRecord) -> None:
    "README.md beside a model's files: its languages, and for what its weights may be used, which go where the files go."
    text = f"# From `annotated_transformer`\n\n{facts(record)}\n"
    (directory / "README.md").write_text(text, encoding="utf-8", newline="\n")
