"A model alone goes to the hub by huggingface_hub's own mixin; the steps that need a network are played by a stand-in."
from pathlib import Path
from types import SimpleNamespace

import huggingface_hub
import torch
from huggingface_hub import hub_mixin

from annotated_transformer.config import TransformerConfig
from annotated_transformer.model.transformer import Transformer


def test_a_pushed_model_is_loaded_with_its_weights_and_sizes(tmp_path, monkeypatch):
    class StandIn:
        def __init__(self, token=None):
            pass

        def create_repo(self, repo_id, **_):
            return SimpleNamespace(repo_id=repo_id)

        def upload_folder(self, repo_id, folder_path, **_):
            Path(folder_path).rename(tmp_path / "hub")
            return f"commit to {repo_id}"

    monkeypatch.setattr(hub_mixin, "HfApi", StandIn)
    monkeypatch.setattr(huggingface_hub, "snapshot_download", lambda repo_id, **_: str(tmp_path / "hub"))
    torch.manual_seed(0)
    model = Transformer(TransformerConfig(19, n_layers=1, d_model=12, d_ff=20, n_heads=3, d_v=5, norm="pre", max_length=9))
    assert model.push_to_hub("ann/model") == "commit to ann/model"
    assert {path.name for path in (tmp_path / "hub").iterdir()} == {"README.md", "config.json", "model.safetensors"}
    loaded = Transformer.from_pretrained("ann/model")
    assert loaded.config == model.config and not loaded.training
    assert all(weight.equal(loaded.state_dict()[name]) for name, weight in model.state_dict().items())
