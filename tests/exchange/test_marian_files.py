"A stranger's Marian directory: no pickle, no code from elsewhere, and no more memory than its weights take."
import json
import shutil

import pytest
import torch
from safetensors.torch import load

from annotated_transformer import InputError, Transformer, TransformerConfig
from annotated_transformer.data.tokenizer import Tokenizer
from annotated_transformer.exchange.marian import load_marian, save_marian
from annotated_transformer.exchange.marian_files import read_config
from annotated_transformer.exchange.marian_parts import MarianPieces
from annotated_transformer.translation.translator import Translator

pytest.importorskip("transformers")


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    tokenizer = Tokenizer.train(["a dog sees a cat", "two cats see dogs"], 30)
    config = TransformerConfig(tokenizer.vocab_size, n_layers=1, d_model=8, d_ff=16, n_heads=2, max_length=40)
    directory = tmp_path_factory.mktemp("kept") / "marian"
    save_marian(Translator(Transformer(config).eval(), tokenizer), directory)
    return directory


@pytest.fixture
def marian(kept, tmp_path, monkeypatch):
    "The directory of a model, where nothing may be unpickled."
    def load(*_, **__):
        raise AssertionError("a pickle is loaded")

    monkeypatch.setattr(torch, "load", load)
    return shutil.copytree(kept, tmp_path / "marian")


def say(directory, **more):
    path = directory / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | more))


@pytest.mark.parametrize("name", ["weights.bin", "../weights.safetensors", "part/weights.safetensors"])
def test_a_list_of_weights_leads_to_no_pickle_and_to_no_other_directory(marian, tmp_path, name):
    weights = load((marian / "model.safetensors").read_bytes())  # `load_file` would map it, and Windows removes no mapped file
    (marian / "part").mkdir()
    if name.endswith(".bin"):
        torch.save(weights, marian / name)
        (marian / "model.safetensors").unlink()
    else:
        (marian / "model.safetensors").rename(marian / name)
    said = {"metadata": {}, "weight_map": dict.fromkeys(weights, name)}
    (marian / "model.safetensors.index.json").write_text(json.dumps(said))
    with pytest.raises(InputError, match=f"index.json names '{name}', and weights are taken only from safetensors next to it"):
        load_marian(marian, device="cpu")


def test_weights_in_several_files_are_read(marian):
    weights = load((marian / "model.safetensors").read_bytes())
    (marian / "model.safetensors").rename(marian / "model-1.safetensors")
    said = {"metadata": {}, "weight_map": dict.fromkeys(weights, "model-1.safetensors")}
    (marian / "model.safetensors.index.json").write_text(json.dumps(said))
    found = load_marian(marian, device="cpu").model.embedding.weight[1:]  # its order of columns is ours again
    assert found.sum().item() == pytest.approx(weights["model.shared.weight"].sum().item(), abs=1e-4)


def test_settings_that_name_other_weights_or_code_are_not_passed_on(marian):
    before = load_marian(marian, device="cpu").model.state_dict()
    (marian / "adapter_model.bin").write_bytes(b"a pickle")
    say(marian, transformers_weights="adapter_model.bin", _attn_implementation="owner/kernel", attn_implementation="owner/kernel",
        auto_map={"AutoConfig": "evil.Config"})
    assert read_config(marian)._attn_implementation != "owner/kernel"
    after = load_marian(marian, device="cpu").model.state_dict()
    assert all(torch.equal(after[name], weight) for name, weight in before.items())


@pytest.mark.parametrize("said", [{"num_labels": 10**12}, {"id2label": {"x": 1}}])
def test_labels_that_no_translator_has_take_no_memory(marian, said):
    say(marian, **said)
    assert read_config(marian).num_labels == 2


@pytest.mark.parametrize("said, match", [
    ({"max_position_embeddings": 2**18, "d_model": 64}, "asks for 262,144 positions, far too many for weights that hold"),
    ({"max_position_embeddings": 2**30}, "max_length must be at least 1 and can be at most"),
    ({"quantization_config": {"quant_method": "bitsandbytes"}}, "whole numbers with scales"),
    ({"vocab_size": 2**40}, "vocab_size must be at least 2"), ({"model_type": "t5"}, "that of a model of 't5'"),
])
def test_sizes_that_cannot_be_are_refused_before_the_model_is_made(marian, said, match):
    say(marian, **said)
    with pytest.raises(InputError, match=match):
        load_marian(marian, device="cpu")


def test_a_list_is_read_where_the_weights_are_looked_for(marian):
    weights = load((marian / "model.safetensors").read_bytes())
    said = json.dumps({"metadata": {}, "weight_map": dict.fromkeys(weights, "weights.bin")})
    (marian / "model.safetensors.index.json").write_text(said)
    load_marian(marian, device="cpu")  # beside model.safetensors nobody reads it
    (marian / "model.safetensors.index.fp16.json").write_text(said)
    with pytest.raises(InputError, match="index.fp16.json names 'weights.bin'"):
        load_marian(marian, device="cpu", variant="fp16")


def test_options_and_names_of_other_versions_are_taken(marian, tmp_path):
    before = load_marian(marian, device="cpu").model.state_dict()
    said = json.loads((marian / "config.json").read_text())
    said["hidden_size"] = said.pop("d_model")
    (marian / "config.json").write_text(json.dumps(said))
    shutil.copytree(marian, tmp_path / "models" / "marian")
    for place, options in ((marian, {"attn_implementation": "sdpa"}), (marian, {"use_safetensors": False}),
                           (tmp_path / "models", {"subfolder": "marian"})):
        after = load_marian(place, device="cpu", **options).model.state_dict()
        assert all(torch.equal(after[name], weight) for name, weight in before.items())


def test_a_pickle_below_the_directory_is_not_loaded_either(marian, tmp_path):
    torch.save(load((marian / "model.safetensors").read_bytes()), marian / "pytorch_model.bin")
    (marian / "model.safetensors").unlink()
    with pytest.raises(InputError, match="not a Marian model, or it is damaged .*model.safetensors"):
        load_marian(marian.parent, device="cpu", subfolder=marian.name)


def test_pieces_that_are_numbered_otherwise_keep_their_numbers(marian):
    before, vocabulary = load_marian(marian, device="cpu").tokenizer, json.loads((marian / "vocab.json").read_text())
    ids = before.encode("a dog")
    one, other = before.pieces(ids[:2])
    vocabulary |= {one: vocabulary[other], other: vocabulary[one]}
    (marian / "vocab.json").write_text(json.dumps(vocabulary))
    after = load_marian(marian, device="cpu").tokenizer
    assert isinstance(before, Tokenizer) and isinstance(after, MarianPieces)
    assert after.encode("a dog")[:2] == [ids[1], ids[0]] and after.decode(after.encode("a dog")) == "a dog"


def test_the_library_speaks_again_after_a_model_is_read(marian):
    load_marian(marian, device="cpu")
    logging = pytest.importorskip("transformers").logging
    assert logging.get_verbosity() < logging.CRITICAL and logging.is_progress_bar_enabled()


def test_the_precision_that_is_asked_for_is_taken(marian):
    assert [load_marian(marian, device="cpu", precision=name).precision for name in ("float32", "int8")] == ["float32", "int8"]
