# ruff: noqa: N803 - A and B are the letters of the chapter
"""The two ways to cut a matrix product Y = XA over N devices: by columns of A, or by rows.

    columns   A = [A₁ | … | A_N]    Yᵢ = X Aᵢ          X replicated, Y split, f at the input
    rows      A = [A₁; …; A_N]      Y = Σᵢ Xᵢ Aᵢ       X split, Y replicated, g at the output

The output of the first is cut as the input of the second must be, so a pair needs one all-reduce.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch  # noqa: TC002 - the doctests use it

from shardwise._tensors import same_kind_tensors
from shardwise.tensor_parallel._matrices import activation, matrix, shard_count, split_sizes, vector
from shardwise.tensor_parallel.conjugates import f, g, replicate, take_one

if TYPE_CHECKING:
    from collections.abc import Sequence


def linear(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor:
    """Return x·W + b; every device and every single-device twin computes it by this line."""
    return x @ weight if bias is None else x @ weight + bias


def column_parallel_shards(A: torch.Tensor, num_devices: int) -> list[torch.Tensor]:
    """Cut a weight by its output columns, A = [A₁ | … | A_N].

    Args:
        A: weight (inputs, outputs), of a float dtype.
        num_devices: N, from 1 to the number of outputs.

    Returns:
        N shards (inputs, outputs/N) with storage of their own, through which gradients flow back
        to A. Where N does not divide, the first shards are one column wider.

    Raises:
        TypeError: if A is no dense float tensor or N no int.
        ValueError: if A is no matrix or empty, or N is out of range.

    Example:
        >>> [tuple(shard.shape) for shard in column_parallel_shards(torch.ones(2, 5), 3)]
        [(2, 2), (2, 2), (2, 1)]

    Source: Shoeybi et al., Megatron-LM, arXiv:1909.08053, section 3.
    """
    matrix("A", A)
    count = shard_count(num_devices, A.shape[1], "columns of A")
    return [shard.clone() for shard in A.tensor_split(count, dim=1)]


def row_parallel_shards(B: torch.Tensor, num_devices: int) -> list[torch.Tensor]:
    """Cut a weight by its input rows, B = [B₁; …; B_N].

    Args:
        B: weight (inputs, outputs), of a float dtype.
        num_devices: N, from 1 to the number of inputs.

    Returns:
        N shards (inputs/N, outputs) with storage of their own, through which gradients flow back
        to B. Where N does not divide, the first shards are one row taller.

    Raises:
        TypeError: if B is no dense float tensor or N no int.
        ValueError: if B is no matrix or empty, or N is out of range.

    Example:
        >>> [tuple(shard.shape) for shard in row_parallel_shards(torch.ones(5, 2), 3)]
        [(2, 2), (2, 2), (1, 2)]

    Source: Shoeybi et al., Megatron-LM, arXiv:1909.08053, section 3.
    """
    matrix("B", B)
    count = shard_count(num_devices, B.shape[0], "rows of B")
    return [shard.clone() for shard in B.tensor_split(count, dim=0)]


def column_products(
    inputs: Sequence[torch.Tensor], A: torch.Tensor, bias: torch.Tensor | None
) -> list[torch.Tensor]:
    """Return Xᵢ Aᵢ + biasᵢ of each device; what enters must have passed f or gather_sequence."""
    count = len(inputs)
    biases = [None] * count if bias is None else [b.clone() for b in bias.tensor_split(count)]
    devices = zip(inputs, column_parallel_shards(A, count), biases, strict=True)
    return [linear(x, shard, part) for x, shard, part in devices]


def row_products(inputs: Sequence[torch.Tensor], B: torch.Tensor) -> list[torch.Tensor]:
    """Return Yᵢ Bᵢ of each device; what leaves must pass g or scatter_sequence."""
    shards = row_parallel_shards(B, len(inputs))
    return [y @ shard for y, shard in zip(inputs, shards, strict=True)]


def row_sum(
    inputs: Sequence[torch.Tensor], B: torch.Tensor, bias: torch.Tensor | None
) -> torch.Tensor:
    """Return g(Yᵢ Bᵢ) + bias, one of the N equal copies."""
    z = take_one(g(row_products(inputs, B)))
    return z if bias is None else z + bias


def column_parallel_forward(
    x: torch.Tensor, A: torch.Tensor, num_devices: int, *, bias: torch.Tensor | None = None
) -> list[torch.Tensor]:
    """Multiply by a weight that is cut by columns: Yᵢ = f(X) Aᵢ + biasᵢ.

    The forward pass moves nothing; the backward is one all-reduce of X's gradient (f), 2(N-1)/N · M
    bytes per device with M those of X.

    Args:
        x: input (…, inputs), replicated.
        A: weight (inputs, outputs).
        num_devices: N, from 1 to the number of outputs.
        bias: (outputs,), split like the columns; None for none.

    Returns:
        N shards (…, outputs/N) of Y: joined along the last dimension they are X A + bias.

    Raises:
        TypeError: if an argument is no dense float tensor or N no int.
        ValueError: if shapes, dtypes or devices don't fit, or N is out of range.

    Example:
        >>> x, A = torch.tensor([[1.0, 2.0]]), torch.tensor([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]])
        >>> [shard.tolist() for shard in column_parallel_forward(x, A, 2)]
        [[[1.0, 2.0]], [[3.0]]]

    Source: Shoeybi et al., Megatron-LM, arXiv:1909.08053, section 3.
    """
    activation("x", x)
    matrix("A", A, rows=x.shape[-1], like=x)
    vector("bias", bias, A.shape[1], like=x)
    count = shard_count(num_devices, A.shape[1], "columns of A")
    return column_products(f(replicate(x, count)), A, bias)


def row_parallel_forward(
    y_shards: Sequence[torch.Tensor], B: torch.Tensor, *, bias: torch.Tensor | None = None
) -> torch.Tensor:
    """Multiply a split input by a weight that is cut by rows: Z = g(Yᵢ Bᵢ) + bias.

    The forward pass is one all-reduce of the N partial products (g), 2(N-1)/N · M bytes per device
    with M those of Z; the backward moves nothing. The bias is replicated and added once, after the
    sum: added to each partial product it would count N times.

    Args:
        y_shards: input (…, inputs/N) of each of N devices, as `column_parallel_forward` gives it.
        B: weight (inputs, outputs), N at most the number of inputs.
        bias: (outputs,), None for none.

    Returns:
        Z (…, outputs), which is replicated: one of the N equal copies.

    Raises:
        TypeError: if an argument is no dense float tensor.
        ValueError: if shapes, dtypes or devices don't fit, or there are more shards than rows.

    Example:
        >>> shards = [torch.tensor([[1.0, 2.0]]), torch.tensor([[3.0]])]
        >>> row_parallel_forward(shards, torch.ones(3, 2), bias=torch.tensor([0.0, 10.0]))
        tensor([[ 6., 16.]])

    Source: Shoeybi et al., Megatron-LM, arXiv:1909.08053, section 3.
    """
    same_kind_tensors("y_shards", y_shards, but_dim=-1)
    activation("y_shards[0]", y_shards[0])
    matrix("B", B, like=y_shards[0])
    vector("bias", bias, B.shape[1], like=B)
    count = shard_count(len(y_shards), B.shape[0], "rows of B")
    widths, wanted = [y.shape[-1] for y in y_shards], split_sizes(B.shape[0], count)
    if widths != wanted:
        raise ValueError(
            f"y_shards are {widths} wide, but B's rows are cut into {wanted}: cut the input with "
            f"tensor_split({count}, dim=-1)"
        )
    return row_sum(y_shards, B, bias)
