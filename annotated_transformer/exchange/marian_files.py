"""What the files of a Marian model may ask of Hugging Face's library: their own weights as safetensors, no code,
and no more memory than the weights take.

Its config.json may name other weight files, pickles among them, formats that need code from elsewhere, and a million labels:
only the settings of the model are passed on.
"""
from pathlib import Path
from typing import Any, TypedDict

from .. import InputError, extra
from ..config import TransformerConfig
from ..files import named
from ..json_files import read_json

__all__ = ["read_config", "require_safetensors"]

SHARDS = "model.safetensors.index.json"  # names the file of each weight, if there are several
NOT_PASSED_ON = {"architectures", "id2label", "label2id", "problem_type", "transformers_version"}
PASSED_ON = {"add_final_layer_norm", "length_penalty", "normalize_before", "normalize_embedding", "num_beams"}  # of older files
FEW = 2**22  # numbers in a table; computing them takes some seconds


class Shards(TypedDict):
    "What SHARDS holds, among other things."
    weight_map: dict[str, str]


def place_of(path_or_name: str | Path, options: dict[str, Any]) -> Path:
    "Where its files are, if they are on this machine."
    return named(path_or_name) / (options.get("subfolder") or "")


def require_safetensors(path_or_name: str | Path, **options: Any) -> None:
    "InputError if a list of weight files, here or on the hub, names one that is not safetensors or is in another place."
    variant = f"{options['variant']}." if options.get("variant") else ""
    if (place_of(path_or_name, options) / f"model.{variant}safetensors").is_file():
        return  # then the library does not look at the list
    given = {"_raise_exceptions_for_missing_entries": False, **options}
    if found := extra("transformers.utils").cached_file(path_or_name, SHARDS.replace("json", f"{variant}json"), **given):
        for name in read_json(Path(found), Shards, "copy it again")["weight_map"].values():
            if Path(name).name != name or not name.endswith(".safetensors"):
                raise InputError(
                    f"{Path(found).name} names {name[:40]!r}, and weights are taken only from safetensors next to it: if you "
                    "trust it, load it by MarianMTModel of transformers, whose save_pretrained writes safetensors")


def read_config(path_or_name: str | Path, **options: Any):  # transformers.MarianConfig
    "The settings of the model and no others. InputError for impossible sizes, before anything takes memory."
    kind, directory = extra("transformers").MarianConfig, place_of(path_or_name, options)
    said, _ = kind.get_config_dict(path_or_name, **options)
    if (other := said.get("model_type", kind.model_type)) != kind.model_type:
        raise InputError(f"config.json is that of a model of {str(other)[:40]!r}")
    if said.get("quantization_config"):
        raise InputError("config.json says that the weights are whole numbers with scales, which are not supported here: save it "
                         "as it was before")
    known = {name for name in kind().to_dict() if not name.startswith("_")} - NOT_PASSED_ON | PASSED_ON | {*kind.attribute_map}
    c = kind(**{name: value for name, value in said.items() if name in known})
    longest = c.max_position_embeddings
    for layers in (c.encoder_layers, c.decoder_layers):
        TransformerConfig(c.vocab_size, layers, c.d_model, c.encoder_ffn_dim, d_k=1, d_v=1, max_length=longest)
    if directory.is_dir():  # the library computes the sinusoid table number by number
        held = sum(path.stat().st_size for path in directory.glob("*.safetensors")) // 4
        if longest * c.d_model > max(16 * held, FEW):
            raise InputError(f"config.json asks for {longest:,} positions, far too many for weights that hold {held:,} numbers")
    return c
