"""Sequence parallelism: between the split blocks each device holds only its part of the sequence.

Tensor parallelism replicates what lies between the blocks: LayerNorms, sums, and their activations.
As these treat every position alone, the sequence can be split there. Then an all-gather takes the
place of f and a reduce-scatter that of g, and each is the other's backward:

    operator            forward          backward
    gather_sequence     all-gather       reduce-scatter
    scatter_sequence    reduce-scatter   all-gather

An all-reduce is a reduce-scatter and an all-gather, so a layer moves the same volume as before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch.nn import functional

from shardwise._tensors import split_dim
from shardwise.collectives import all_gather, reduce_scatter
from shardwise.tensor_parallel._heads import check_devices, heads_of_devices
from shardwise.tensor_parallel._matrices import shard_count, split_sizes
from shardwise.tensor_parallel.conjugates import Tensors, apply, check_floats, f, replicate
from shardwise.tensor_parallel.layer import LayerWeights, check_layer, layer_norm
from shardwise.tensor_parallel.linear import column_products, row_products

if TYPE_CHECKING:
    from collections.abc import Sequence


class GatherThenScatter(torch.autograd.Function):
    """All-gather along one dimension; on the way back a reduce-scatter along it."""

    @staticmethod
    def forward(ctx: Any, dim: int, *shards: torch.Tensor) -> Tensors:  # noqa: ANN401
        """Join the devices' shards on every device."""
        ctx.dim = dim
        return tuple(all_gather(shards, dim=dim))

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> Any:  # noqa: ANN401
        """Sum the gradients, and leave each device its own shard of the sum."""
        return (None, *apply(ScatterThenGather, ctx.dim, *gradients))


class ScatterThenGather(torch.autograd.Function):
    """Reduce-scatter along one dimension; on the way back an all-gather along it."""

    @staticmethod
    def forward(ctx: Any, dim: int, *tensors: torch.Tensor) -> Tensors:  # noqa: ANN401
        """Sum the tensors, and leave each device its own shard of the sum."""
        ctx.dim = dim
        return tuple(reduce_scatter(tensors, dim=dim))

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> Any:  # noqa: ANN401
        """Join the gradients of all shards on every device."""
        return (None, *apply(GatherThenScatter, ctx.dim, *gradients))


def check_parts(name: str, parts: Sequence[torch.Tensor], dim: int) -> int:
    """Return the dimension that is split, or say why `parts` are not a sequence cut for devices."""
    check_floats(parts, name=name, but_dim=dim)
    axis = split_dim("dim", dim, parts[0])
    sizes = [part.shape[axis] for part in parts]
    if 0 in sizes or sizes != split_sizes(sum(sizes), len(sizes)):
        raise ValueError(
            f"{name} hold {sizes} positions along dimension {dim}: cut the sequence with "
            f"tensor_split({len(sizes)}, dim={dim}), and let every device have at least one"
        )
    return axis


def gather_sequence(tensors: Sequence[torch.Tensor], *, dim: int = -2) -> list[torch.Tensor]:
    """Enter a split block from a split sequence: all-gather forward, reduce-scatter backward.

    Takes the place of f. Forward and backward move (N-1)/N · M bytes per device each, with M bytes
    for the joined sequence: together what f's all-reduce moves.

    Args:
        tensors: shard i of the sequence for each device i, float, of `torch.tensor_split` sizes.
        dim: the dimension of the sequence.

    Returns:
        N equal tensors that hold the whole sequence.

    Raises:
        TypeError: if an element is no dense float tensor.
        ValueError: if there are none, if they don't fit together, or a shard is empty.

    Example:
        >>> whole = gather_sequence([torch.zeros(1, 2, 8), torch.ones(1, 1, 8)])
        >>> [tuple(tensor.shape) for tensor in whole]
        [(1, 3, 8), (1, 3, 8)]

    Source: Korthikanti et al., arXiv:2205.05198, section 4.2.2, where it is called g.
    """
    axis = check_parts("tensors", tensors, dim)
    return list(apply(GatherThenScatter, axis, *tensors))


def scatter_sequence(tensors: Sequence[torch.Tensor], *, dim: int = -2) -> list[torch.Tensor]:
    """Leave a split block into a split sequence: reduce-scatter forward, all-gather backward.

    Takes the place of g. Forward and backward move (N-1)/N · M bytes per device each.

    Args:
        tensors: partial sums, one float tensor for each device, all of one shape, dtype and device.
        dim: the dimension of the sequence, of size at least N.

    Returns:
        Shard i of the sum for each device i, of `torch.tensor_split` sizes.

    Raises:
        TypeError: if an element is no dense float tensor.
        ValueError: if there are none, if they differ, or a device would get an empty shard.

    Example:
        >>> shards = scatter_sequence([torch.ones(3, 1), torch.ones(3, 1)])
        >>> [shard.flatten().tolist() for shard in shards]
        [[2.0, 2.0], [2.0]]

    Source: Korthikanti et al., arXiv:2205.05198, section 4.2.2, where it is called ḡ.
    """
    check_floats(tensors)
    axis = split_dim("dim", dim, tensors[0])
    if len(tensors) > tensors[0].shape[axis]:
        raise ValueError(
            f"{len(tensors)} devices share a sequence of {tensors[0].shape[axis]} positions: a "
            "device would hold an empty shard, use fewer devices"
        )
    return list(apply(ScatterThenGather, axis, *tensors))


def replicate_parameters(
    parameters: Sequence[torch.Tensor | None], num_devices: int
) -> list[list[torch.Tensor | None]]:
    """Give each device its copies of small parameters that it applies to its part of the sequence.

    Each device then knows the gradient of its own positions only: their sum is one all-reduce, f,
    of all the parameters in one message.
    """
    present = [parameter for parameter in parameters if parameter is not None]
    joined = f(replicate(torch.cat(present), num_devices))
    sizes = [parameter.numel() for parameter in present]
    copies = [iter(torch.split(flat, sizes)) for flat in joined]
    return [[None if p is None else next(own) for p in parameters] for own in copies]


def normalised(
    parts: Sequence[torch.Tensor], gains: Sequence[torch.Tensor], shifts: Sequence[torch.Tensor]
) -> list[torch.Tensor]:
    """Return LayerNorm of each device's positions."""
    return [layer_norm(x, *own) for x, *own in zip(parts, gains, shifts, strict=True)]


def add_to_parts(
    parts: Sequence[torch.Tensor],
    sums: Sequence[torch.Tensor],
    biases: Sequence[torch.Tensor | None],
) -> list[torch.Tensor]:
    """Return x + block(x) + bias of each device's positions."""
    return [
        x + y if bias is None else x + (y + bias)
        for x, y, bias in zip(parts, sums, biases, strict=True)
    ]


def sequence_parallel_layer(
    x_shards: Sequence[torch.Tensor],
    weights: LayerWeights,
    num_heads: int,
    *,
    causal: bool = False,
    num_kv_heads: int | None = None,
) -> list[torch.Tensor]:
    """Compute a transformer layer on N devices, each with its own part of the sequence.

    Forward and backward make four all-gathers and four reduce-scatters, each (N-1)/N · M bytes per
    device with M those of the whole x: 8(N-1)/N · M, as `megatron_layer`. The gradients of the
    LayerNorms and of the row-parallel biases need a sum over devices on top, one all-reduce of
    these few vectors. The gathered inputs of the blocks stay in memory for the backward pass;
    Megatron-LM keeps the parts only and gathers them again, which makes six all-gathers.

    Args:
        x_shards: positions (…, sequence/N, h) of each device, `x.tensor_split(N, dim=-2)`.
        weights: the layer's parameters, which are cut over the devices.
        num_heads: number of query heads.
        causal: whether a position sees only itself and those before it.
        num_kv_heads: number of key and value heads, a divisor of `num_heads` and a multiple of N.
            None for as many.

    Returns:
        The output's positions (…, sequence/N, h) of each device: joined along the sequence they are
        `single_device_layer` up to the order of additions.

    Raises:
        TypeError: if an argument has the wrong type or is no float tensor.
        ValueError: if shapes, dtypes, devices or head counts don't fit, or N does not divide them.

    Example:
        >>> eye, one, zero = torch.eye(2), torch.ones(2), torch.zeros(2)
        >>> weights = LayerWeights(eye, eye, eye, eye, eye, eye, one, zero, one, zero)
        >>> parts = torch.tensor([[1.0, 3.0], [1.0, 3.0]]).tensor_split(2)
        >>> sequence_parallel_layer(parts, weights, num_heads=2)
        [tensor([[-0.1587,  4.8413]]), tensor([[-0.1587,  4.8413]])]

    Source: Korthikanti et al., arXiv:2205.05198, section 4.2.2, figure 5.
    """
    check_parts("x_shards", x_shards, -2)
    w = weights
    kv_heads = check_layer(x_shards[0], w, num_heads, num_kv_heads, causal)
    count = check_devices(len(x_shards), num_heads, kv_heads)
    shard_count(count, w.A.shape[1], "columns of A")
    small = (w.attention_gain, w.attention_shift, w.bias_o, w.mlp_gain, w.mlp_shift, w.bias_B)
    gain, shift, bias_o, mlp_gain, mlp_shift, bias_B = zip(  # noqa: N806 - as in LayerWeights
        *replicate_parameters(small, count), strict=True
    )
    heads = heads_of_devices(
        gather_sequence(normalised(x_shards, gain, shift)),
        w.projections,
        w.projection_biases,
        num_heads=num_heads,
        num_kv_heads=kv_heads,
        causal=causal,
    )
    x = add_to_parts(x_shards, scatter_sequence(row_products(heads, w.Wo)), bias_o)
    entered = gather_sequence(normalised(x, mlp_gain, mlp_shift))
    hidden = [functional.gelu(h) for h in column_products(entered, w.A, w.bias_A)]
    return add_to_parts(x, scatter_sequence(row_products(hidden, w.B)), bias_B)
