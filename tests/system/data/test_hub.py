"A model alone goes to the hub; the steps that need a network are played by a stand-in."
import shutil
from pathlib import Path

import huggingface_hub
import pytest
import torch

from annotated_transformer import load
from annotated_transformer.config import TransformerConfig
from annotated_transformer.data.tokenizer import Tokenizer
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.training.loading import save


@pytest.fixture
def hub(tmp_path, monkeypatch):
    "A directory in its place."
    place = tmp_path / "hub"

    class StandIn:
        def create_repo(self, repo_id, **_):
            pass

        def file_exists(self, repo_id, name):
            return (place / name).exists()

        def hf_hub_download(self, repo_id, name, local_dir):
            shutil.copy(place / name, Path(local_dir, name))

        def upload_folder(self, repo_id, folder_path, ignore_patterns, **_):
            shutil.copytree(folder_path, place, ignore=shutil.ignore_patterns(*ignore_patterns or ()), dirs_exist_ok=True)
            return f"commit to {repo_id}"

    monkeypatch.setattr(huggingface_hub, "HfApi", StandIn)
    monkeypatch.setattr(huggingface_hub, "snapshot_download", lambda repo_id, **_: str(place))
    return place


def test_a_pushed_model_is_loaded_with_its_weights_and_sizes(hub):
    torch.manual_seed(0)
    model = Transformer(TransformerConfig(19, n_layers=1, d_model=12, d_ff=20, n_heads=3, d_v=5, norm="pre", max_length=9))
    assert model.push_to_hub("ann/model") == "commit to ann/model"
    assert {path.name for path in hub.iterdir()} == {"README.md", "config.json", "model.safetensors"}
    loaded = Transformer.from_pretrained("ann/model")
    assert loaded.config == model.config and not loaded.training
    assert all(weight.equal(loaded.state_dict()[name]) for name, weight in model.state_dict().items())


def test_a_model_pushed_alone_to_where_a_whole_one_is_can_be_loaded(hub):
    tokenizer = Tokenizer.train(["a dog runs", "ein Hund"], 30)
    config = TransformerConfig(tokenizer.vocab_size, n_layers=1, d_model=12, d_ff=20, n_heads=3, max_length=9)
    save(hub, Transformer(config), tokenizer)
    model = Transformer(config)
    model.push_to_hub("ann/model")
    assert load("ann/model").model.embedding.weight.equal(model.embedding.weight)
