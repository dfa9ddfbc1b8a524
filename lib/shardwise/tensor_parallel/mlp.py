# ruff: noqa: N803 - A and B are the letters of the chapter
"""The feed-forward block, on one device and cut by hidden units over N devices."""

from __future__ import annotations

import torch  # noqa: TC002 - the doctests use it
from torch.nn import functional

from shardwise.tensor_parallel._matrices import activation, matrix, shard_count, vector
from shardwise.tensor_parallel.conjugates import f, replicate
from shardwise.tensor_parallel.linear import column_products, linear, row_sum


def check_mlp(
    x: torch.Tensor,
    A: torch.Tensor,
    B: torch.Tensor,
    bias_A: torch.Tensor | None,
    bias_B: torch.Tensor | None,
) -> None:
    """Say what is wrong with the arguments of an MLP block."""
    activation("x", x)
    matrix("A", A, rows=x.shape[-1], like=x)
    matrix("B", B, rows=A.shape[1], like=x)
    vector("bias_A", bias_A, A.shape[1], like=x)
    vector("bias_B", bias_B, B.shape[1], like=x)


def single_device_mlp(
    x: torch.Tensor,
    A: torch.Tensor,
    B: torch.Tensor,
    *,
    bias_A: torch.Tensor | None = None,
    bias_B: torch.Tensor | None = None,
) -> torch.Tensor:
    """Compute the feed-forward block on one device: Z = GeLU(X A + bias_A) B + bias_B.

    Args:
        x: input (…, d_model), of a float dtype.
        A: up-projection (d_model, d_ff).
        B: down-projection (d_ff, d_model).
        bias_A: (d_ff,), None for none.
        bias_B: (d_model,), None for none.

    Returns:
        Z (…, d_model).

    Raises:
        TypeError: if an argument is no dense float tensor.
        ValueError: if shapes, dtypes or devices don't fit.

    Example:
        >>> x, A, B = torch.tensor([[2.0]]), torch.tensor([[1.0, -1.0]]), torch.ones(2, 1)
        >>> single_device_mlp(x, A, B).round(decimals=4)
        tensor([[1.9090]])

    Source: Hendrycks and Gimpel, arXiv:1606.08415, for GeLU(x) = x Φ(x), in its exact form.
    """
    check_mlp(x, A, B, bias_A, bias_B)
    return linear(functional.gelu(linear(x, A, bias_A)), B, bias_B)


def megatron_mlp(
    x: torch.Tensor,
    A: torch.Tensor,
    B: torch.Tensor,
    num_devices: int,
    *,
    bias_A: torch.Tensor | None = None,
    bias_B: torch.Tensor | None = None,
) -> torch.Tensor:
    """Compute the feed-forward block on N devices: Z = g(GeLU(f(X) Aᵢ + bias_Aᵢ) Bᵢ) + bias_B.

    GeLU acts element by element, so each device applies it to its own columns. One all-reduce
    forward and one backward, each 2(N-1)/N · M bytes per device with M those of X.

    Args:
        x: input (…, d_model), of a float dtype, replicated.
        A: up-projection (d_model, d_ff), cut by columns.
        B: down-projection (d_ff, d_model), cut by rows.
        num_devices: N, from 1 to d_ff.
        bias_A: (d_ff,), cut like the columns; None for none.
        bias_B: (d_model,), replicated and added once, after the sum; None for none.

    Returns:
        Z (…, d_model): `single_device_mlp` up to the order of additions; exactly where N = 1
        and the tensors are contiguous.

    Raises:
        TypeError: if an argument is no dense float tensor, or N no int.
        ValueError: if shapes, dtypes or devices don't fit, or N is out of range.

    Example:
        >>> x, A, B = torch.tensor([[2.0]]), torch.tensor([[1.0, -1.0]]), torch.ones(2, 1)
        >>> megatron_mlp(x, A, B, num_devices=2).round(decimals=4)
        tensor([[1.9090]])

    Source: Shoeybi et al., Megatron-LM, arXiv:1909.08053, section 3, figure 3a.
    """
    check_mlp(x, A, B, bias_A, bias_B)
    count = shard_count(num_devices, A.shape[1], "columns of A")
    hidden = column_products(f(replicate(x, count)), A, bias_A)
    return row_sum([functional.gelu(h) for h in hidden], B, bias_B)
