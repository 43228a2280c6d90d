"""Models that other software cannot represent are refused before anything is written, with the reason; and what exported files
say about a model besides the weights."""
from pathlib import Path

from .. import InputError
from ..model.pretrained import facts, require_made
from ..model.transformer import Transformer
from ..model_record import ModelRecord

__all__ = ["require_form", "require_our_tokenizer", "require_ours", "require_widths", "write_card"]


def require_widths(software: str, d_model: int, n_heads: int, d_k: int, d_v: int) -> None:
    "InputError for heads whose widths do not add up to the model's."
    for name, width in (("d_k", d_k), ("d_v", d_v)):
        if n_heads * width != d_model:
            raise InputError(
                f"{software} takes the width of a head from d_model: {n_heads} heads of {name}={width} "
                f"would have to add up to d_model={d_model}, not to {n_heads * width}"
            )


def require_ours(model: Transformer, software: str) -> None:
    "InputError for a model of a class other than the paper's, whose parts may compute anything."
    kind = type(model)
    if kind.__module__.startswith("annotated_transformer.exchange."):
        raise InputError(f"this model came from other software: export to {software} from the files it came from")
    if kind is not Transformer:
        raise InputError(f"{kind.__name__} is a class of your own, which has no form in {software}: only Transformer itself has")


def require_our_tokenizer(tokenizer: object) -> None:
    "InputError for a user's own tokenizer, which other software does not know."
    if tokenizer is not None and not type(tokenizer).__module__.startswith("annotated_transformer."):
        raise InputError(f"{type(tokenizer).__name__} is a tokenizer of your own, and the files of an export hold that of "
                         "SentencePiece: export the model alone")


def require_form(
    model: Transformer,
    software: str,              # its name
    **known: tuple[str, ...],   # fields of the configuration, and the values that the software knows
) -> None:
    "InputError with the reason, for a model that the software cannot represent."
    c = model.config
    require_ours(model, software)
    require_widths(software, c.d_model, c.n_heads, c.d_k, c.d_v)
    for name, values in {"compatibility": ("dot-product",), **known}.items():
        if getattr(c, name) not in values:
            raise InputError(f"{software} has no form for a model with {name}={getattr(c, name)!r}: it cannot be carried over")
    require_made(model, c, usual=Transformer)


def write_card(directory: Path, record: ModelRecord) -> None:
    "README.md next to a model's files: its languages, and what its weights may be used for, so that this travels with the files."
    text = f"# From `annotated_transformer`\n\n{facts(record)}\n"
    (directory / "README.md").write_text(text, encoding="utf-8", newline="\n")
