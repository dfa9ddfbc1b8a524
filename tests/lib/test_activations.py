"""The activation formulas against what autograd really keeps of a transformer layer."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from shardwise.memory.activations import RECOMPUTATIONS, activation_bytes

S, B, H, A = 16, 2, 32, 4  # tokens, sequences, width, heads
SBH = S * B * H


def dropout(x):
    """As functional.dropout on a GPU: with a 1-byte mask, where the CPU path keeps a wide one."""
    return torch.native_dropout(x, 0.1, True)[0]


class Layer(nn.Module):
    """What rank 0 of t tensor-parallel devices holds of one layer; its all-reduces are left out."""

    def __init__(self, t=1, recompute="none"):
        super().__init__()
        self.heads, self.recompute = A // t, recompute
        self.norm1, self.norm2 = nn.LayerNorm(H), nn.LayerNorm(H)
        self.qkv, self.out = nn.Linear(H, 3 * H // t), nn.Linear(H // t, H)
        self.up, self.down = nn.Linear(H, 4 * H // t), nn.Linear(4 * H // t, H)

    def core(self, q, k, v):
        scores = q @ k.mT * q.shape[-1] ** -0.5  # (B, heads, S, S)
        return dropout(scores.softmax(-1)) @ v

    def attention(self, x):
        def split(y):  # contiguous, so that a batched product keeps these and makes no copies
            return y.unflatten(-1, (self.heads, -1)).transpose(1, 2).contiguous()

        q, k, v = map(split, self.qkv(x).chunk(3, -1))  # (B, heads, S, H / A)
        if self.recompute == "selective":
            context = checkpoint(self.core, q, k, v, use_reentrant=False)
        else:
            context = self.core(q, k, v)
        return dropout(self.out(context.transpose(1, 2).flatten(2)))

    def mlp(self, x):
        return dropout(self.down(functional.gelu(self.up(x))))

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


def kept_bytes(function, x, weights):
    """Bytes of the storages that autograd keeps from `function(x)`, weights excepted."""
    known = {w.untyped_storage().data_ptr() for w in weights}
    kept = {}

    def note(tensor):
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in known:
            kept[storage.data_ptr()] = tensor  # holding it keeps the address from being reused
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        y = function(x)
    del y
    return sum(t.untyped_storage().nbytes() for t in kept.values())


def layer_and_input(device, t=1, recompute="none"):
    torch.manual_seed(0)
    layer = Layer(t, recompute).to(device, torch.bfloat16)
    x = torch.randn(B, S, H, device=device, dtype=torch.bfloat16).requires_grad_()
    return layer, x


def statistics_bytes(layer, x):
    """Mean and reciprocal deviation of each token, which the formulas leave out."""
    norm = kept_bytes(layer.norm1, x, layer.parameters()) - x.numel() * x.element_size()
    assert norm <= 8 * B * S
    return norm


def formula(**options):
    return activation_bytes(seq_len=S, micro_batch=B, hidden=H, num_heads=A, **options)


def test_each_part_of_a_layer(device):
    """Korthikanti et al., section 4.1: attention 11sbh + 5as²b, LayerNorms 4sbh, MLP 19sbh."""
    layer, x = layer_and_input(device)
    weights = list(layer.parameters())
    norms = 2 * (kept_bytes(layer.norm1, x, weights) - statistics_bytes(layer, x))
    attention = kept_bytes(layer.attention, x, weights)
    mlp = kept_bytes(layer.mlp, x, weights)
    assert attention == 11 * SBH + 5 * A * S * S * B
    assert norms == 4 * SBH
    assert mlp == 19 * SBH
    assert attention + norms + mlp == formula()


@pytest.mark.parametrize("recompute", ["none", "selective"])
@pytest.mark.parametrize("t", [1, 2, 4])
def test_a_whole_layer(device, t, recompute):
    layer, x = layer_and_input(device, t, recompute)
    measured = kept_bytes(layer, x, layer.parameters()) - 2 * statistics_bytes(layer, x)
    assert measured == formula(tensor_parallel=t, recompute=recompute)


@pytest.mark.parametrize("num_layers", [1, 3])
def test_full_recomputation_keeps_each_layers_input(device, num_layers):
    layers = [layer_and_input(device)[0] for _ in range(num_layers)]
    _, x = layer_and_input(device)

    def run(y):
        for layer in layers:
            y = checkpoint(layer, y, use_reentrant=False)
        return y

    weights = [w for layer in layers for w in layer.parameters()]
    measured = kept_bytes(run, x, weights)
    assert measured == formula(num_layers=num_layers, recompute="full") == num_layers * 2 * SBH


def test_how_the_options_compare():
    for t in (1, 2, 4):
        for sequence_parallel in (False, True):
            options = {"tensor_parallel": t, "sequence_parallel": sequence_parallel}
            sizes = [formula(recompute=r, **options) for r in RECOMPUTATIONS]
            assert sizes == sorted(sizes, reverse=True)
            assert formula(num_layers=7, **options) == 7 * sizes[0]
        assert formula(tensor_parallel=t, sequence_parallel=True) * t == formula()
        full = formula(tensor_parallel=t, sequence_parallel=True, recompute="full")
        assert full * t == 2 * SBH
    assert formula(num_layers=0) == 0


def test_sizes_that_do_not_divide_are_refused():
    shape = {"seq_len": 6, "micro_batch": 1, "hidden": 12, "num_heads": 4}
    with pytest.raises(ValueError, match="num_heads=4 does not divide hidden=10"):
        activation_bytes(**{**shape, "hidden": 10})
    with pytest.raises(ValueError, match="tensor_parallel=3 does not divide num_heads=4"):
        activation_bytes(**shape, tensor_parallel=3)
    with pytest.raises(ValueError, match="tensor_parallel=4 does not divide seq_len=6"):
        activation_bytes(**shape, tensor_parallel=4, sequence_parallel=True)
    assert activation_bytes(**shape, tensor_parallel=4) > 0
