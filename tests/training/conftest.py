"A training that takes a moment."
import pytest

from annotated_transformer.config import TrainingConfig, TransformerConfig


@pytest.fixture
def config(tmp_path):
    for split, n in (("train", 30), ("validation", 4)):
        for language in ("en", "de"):
            (tmp_path / f"{split}.{language}").write_text("".join("abcdef "[: 1 + i % 6] + "\n" for i in range(n)))
    sizes = TransformerConfig(14, n_layers=1, d_model=8, d_ff=12, n_heads=2, dropout=0.1, max_length=30)
    return TrainingConfig(
        sizes, corpus=str(tmp_path), batch_tokens=60, steps=6, validate_every=2, checkpoint_every=2, log_every=1, keep=2,
    )
