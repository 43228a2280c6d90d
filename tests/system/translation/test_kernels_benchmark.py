"The benchmark of kernels, tried on tiny sizes: all multiply by the same matrix, and the record says what was done."
import json
from types import SimpleNamespace

import pytest
import torch

from benchmarks import kernels


@pytest.mark.parametrize("name", kernels.KERNELS)
def test_every_kernel_that_this_processor_has_multiplies(name):
    if not kernels.runs(kernels.KERNELS[name]):
        assert "packed" in name, "only oneDNN's packed weights need instructions that some processors lack"
        pytest.skip(f"this processor has not what {name} needs")
    torch.manual_seed(0)
    weight, bias, x = torch.randn(80, 48), torch.randn(80), torch.randn(3, 2, 48)
    exact = x.double() @ weight.double().T + bias
    found = kernels.KERNELS[name](weight, bias, 2**20)(x)
    most = 1e-6 if name.startswith("float32") else 1e-3 if name.startswith("float16") else 5e-3 if name.startswith("bf") else 2e-2
    assert found.shape == (3, 2, 80) and found.dtype == torch.float32
    assert most / 100 < float((found - exact).norm() / exact.norm()) < most


def test_the_record_says_what_was_measured(tmp_path, monkeypatch, capsys, refused):
    monkeypatch.setattr(kernels, "PRODUCTS", ((32, 48),))
    monkeypatch.setattr(kernels, "ROWS", (1, 3))
    monkeypatch.setattr(kernels, "CACHES", 1)
    monkeypatch.setattr(kernels, "MODEL", "numbers-en-de")  # a small one
    two = SimpleNamespace(split=lambda name: [("half past six", ""), ("eight euros and sixty-one cents", "")])
    monkeypatch.setattr(kernels.corpora, "load", lambda name: two)
    out, threads = tmp_path / "kernels.json", torch.get_num_threads()
    kernels.main(["--rounds", "1", "--sentences", "2", "--out", str(out)])
    record = json.loads(out.read_text())
    assert torch.get_num_threads() == threads and "beam 4, batch 16" in capsys.readouterr().out
    assert set(record["figures"]["microseconds"]) == {"1 × 32 × 48", "3 × 32 × 48"}
    assert all(set(found) == set(kernels.available()) for found in record["figures"]["microseconds"].values())
    for found in record["figures"]["searches"].values():
        assert set(found) == set(kernels.available(searched=True)) and found["float32"] == {"of_float32": 1.0, "changed": 0}
    assert "must be at least 1" in refused(kernels.main, ["--rounds", "0"])
