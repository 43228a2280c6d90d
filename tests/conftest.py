"What tests of several wings share."
import copy

import pytest


@pytest.fixture
def closed_figures():
    "No figure of pyplot's is open before, and none stays open."
    import matplotlib.pyplot as plt

    plt.close("all")
    yield
    plt.close("all")


@pytest.fixture
def zeroed():
    "A function that copies a model and zeroes the rows of W^O that belong to a head: another way to switch it off."
    import torch

    def copied(model, kind, layer, head):
        found = copy.deepcopy(model)
        stack = found.encoder if kind == "encoder" else found.decoder
        place = stack.layers[layer - 1].memory_attention if kind == "encoder_decoder" else stack.layers[layer - 1].self_attention
        weight = place.sublayer.out_projection.weight
        with torch.no_grad():
            weight.unflatten(1, (model.config.n_heads, -1))[:, head - 1] = 0
        return found

    return copied
