"""Ring attention against PyTorch's own ring, on real processes over gloo.

PyTorch's public context_parallel has no kernel for the CPU. Its ring is a template around any
attention operator, and is driven here with the one for the CPU. It is private: where a version of
PyTorch keeps it elsewhere, these tests are skipped.
"""

from __future__ import annotations

import pytest
import torch
import torch.distributed as dist
from gloo_ranks import import_for_all, on_ranks

from shardwise.ring_attention import KERNELS, permute_sequence, ring_attention, unpermute_sequence

attention = pytest.importorskip(
    "torch.distributed.tensor.experimental._context_parallel._attention",
    reason="PyTorch's private ring is not where it was in 2.13",
)
NUM_RANKS, LENGTH, SIZE = 4, 32, 8
# (layout, causal), and whether PyTorch's ring balances the load: its round robin is the zigzag
CASES = {("contiguous", False): False, ("contiguous", True): False, ("zigzag", True): True}


@pytest.fixture(scope="module", autouse=True)
def _imported():
    import_for_all("torch._dynamo")


@pytest.fixture(scope="module")
def tensors():
    """Queries, keys, values, and the gradient of the output."""
    generator = torch.Generator().manual_seed(0)
    return [torch.randn(2, 3, LENGTH, SIZE, generator=generator) for _ in range(4)]


def theirs(tensors, layout, causal, folder):
    """Return what PyTorch's ring leaves: output, dQ, dK and dV, in order of position."""
    shards = [permute_sequence(x, NUM_RANKS, layout).chunk(NUM_RANKS, 2) for x in tensors]
    operator = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
    backward = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward

    def work(rank):
        attention._cp_options.enable_load_balance = CASES[layout, causal]
        q, k, v, grad = (pieces[rank].contiguous() for pieces in shards)
        ring = dist.group.WORLD, 2
        options = {"is_causal": causal, "dropout_p": 0.0}
        out, lse, *_ = attention._templated_ring_attention(*ring, operator, q, k, v, **options)
        saved = {"query": q, "key": k, "value": v, "out": out, "logsumexp": lse}
        gradients = attention._templated_ring_attention_backward(
            *ring, backward, grad_out=grad, grad_out_name="grad_out", **saved, **options
        )
        return [out, *gradients[:3]]

    devices = zip(*on_ranks(work, NUM_RANKS, folder), strict=True)
    return [unpermute_sequence(torch.cat(pieces, 2), NUM_RANKS, layout) for pieces in devices]


@pytest.mark.parametrize(("layout", "causal"), CASES)
def test_output_and_gradients(tensors, layout, causal, tmp_path, rounding_bound):
    wanted = theirs(tensors, layout, causal, tmp_path)
    for kernel in KERNELS:
        leaves = [x.clone().requires_grad_() for x in tensors[:3]]
        out = ring_attention(
            *leaves, num_devices=NUM_RANKS, causal=causal, layout=layout, kernel=kernel
        )
        got = [out.detach(), *torch.autograd.grad(out, leaves, tensors[3])]
        for mine, other in zip(got, wanted, strict=True):
            size = other.abs().max().item()
            assert (mine - other).abs().max() <= rounding_bound(torch.float32, LENGTH, size)
