"A model alone goes to the hub; the steps that need a network are played by a stand-in."
import shutil

import huggingface_hub
import torch

from annotated_transformer.config import TransformerConfig
from annotated_transformer.model.transformer import Transformer


def test_a_pushed_model_is_loaded_with_its_weights_and_sizes(tmp_path, monkeypatch):
    class StandIn:
        def create_repo(self, repo_id, **_):
            pass

        def file_exists(self, repo_id, name):
            return (tmp_path / "hub" / name).exists()

        def upload_folder(self, repo_id, folder_path, **_):
            shutil.copytree(folder_path, tmp_path / "hub")
            return f"commit to {repo_id}"

    monkeypatch.setattr(huggingface_hub, "HfApi", StandIn)
    monkeypatch.setattr(huggingface_hub, "snapshot_download", lambda repo_id, **_: str(tmp_path / "hub"))
    torch.manual_seed(0)
    model = Transformer(TransformerConfig(19, n_layers=1, d_model=12, d_ff=20, n_heads=3, d_v=5, norm="pre", max_length=9))
    assert model.push_to_hub("ann/model") == "commit to ann/model"
    assert {path.name for path in (tmp_path / "hub").iterdir()} == {"README.md", "config.json", "model.safetensors"}
    loaded = Transformer.from_pretrained("ann/model")
    assert loaded.config == model.config and not loaded.training
    assert all(weight.equal(loaded.state_dict()[name]) for name, weight in model.state_dict().items())
