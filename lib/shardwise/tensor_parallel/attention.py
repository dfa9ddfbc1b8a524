# ruff: noqa: N803 - Wq, Wk, Wv, Wo are the letters of the chapter
"""Multi-head attention, on one device and cut by heads over N devices."""

from __future__ import annotations

import torch  # noqa: TC002 - the doctests use it

from shardwise.tensor_parallel._heads import (
    check_attention,
    check_devices,
    heads_of_devices,
    multi_head_attention,
)
from shardwise.tensor_parallel.conjugates import f, replicate
from shardwise.tensor_parallel.linear import linear, row_sum


def single_device_attention(  # noqa: PLR0913 - the seed's six, and options
    x: torch.Tensor,
    Wq: torch.Tensor,
    Wk: torch.Tensor,
    Wv: torch.Tensor,
    Wo: torch.Tensor,
    num_heads: int,
    *,
    causal: bool = False,
    num_kv_heads: int | None = None,
    bias_q: torch.Tensor | None = None,
    bias_k: torch.Tensor | None = None,
    bias_v: torch.Tensor | None = None,
    bias_o: torch.Tensor | None = None,
) -> torch.Tensor:
    """Compute multi-head self-attention on one device: O = [head₁ | … | head_H] Wo + bias_o.

    head = softmax(Q Kᵀ/√d) V with Q = X Wq, K = X Wk, V = X Wv of that head, d columns wide each.

    Args:
        x: input (…, sequence, d_model), of a float dtype.
        Wq: (d_model, num_heads · d).
        Wk: (d_model, num_kv_heads · d).
        Wv: (d_model, num_kv_heads · d).
        Wo: (num_heads · d, d_model).
        num_heads: H, the number of query heads.
        causal: whether a position sees only itself and those before it.
        num_kv_heads: number of key and value heads, a divisor of H: consecutive query heads share
            one. None for H.
        bias_q: (num_heads · d,), None for none.
        bias_k: (num_kv_heads · d,), None for none.
        bias_v: (num_kv_heads · d,), None for none.
        bias_o: (d_model,), None for none.

    Returns:
        O (…, sequence, d_model).

    Raises:
        TypeError: if an argument has the wrong type or is no float tensor.
        ValueError: if shapes, dtypes, devices or head counts don't fit.

    Example:
        >>> x, eye = torch.tensor([[1.0, 0.0], [0.0, 1.0]]), torch.eye(2)
        >>> single_device_attention(x, eye, eye, eye, eye, num_heads=2, causal=True)
        tensor([[1.0000, 0.0000],
                [0.5000, 0.7311]])

    Source: Vaswani et al., arXiv:1706.03762, section 3.2; Ainslie et al., arXiv:2305.13245.
    """
    biases = (bias_q, bias_k, bias_v, bias_o)
    kv_heads = check_attention(x, (Wq, Wk, Wv, Wo), biases, num_heads, num_kv_heads, causal)
    q, k, v = linear(x, Wq, bias_q), linear(x, Wk, bias_k), linear(x, Wv, bias_v)
    heads = multi_head_attention(q, k, v, num_heads=num_heads, num_kv_heads=kv_heads, causal=causal)
    return linear(heads, Wo, bias_o)


def megatron_attention(  # noqa: PLR0913 - the seed's seven, and options
    x: torch.Tensor,
    Wq: torch.Tensor,
    Wk: torch.Tensor,
    Wv: torch.Tensor,
    Wo: torch.Tensor,
    num_heads: int,
    num_devices: int,
    *,
    causal: bool = False,
    num_kv_heads: int | None = None,
    bias_q: torch.Tensor | None = None,
    bias_k: torch.Tensor | None = None,
    bias_v: torch.Tensor | None = None,
    bias_o: torch.Tensor | None = None,
) -> torch.Tensor:
    """Compute multi-head self-attention on N devices: O = g([heads of device i] Woᵢ) + bias_o.

    Heads don't look at one another, so device i computes heads i·H/N … (i+1)·H/N - 1 on its own:
    Wq, Wk and Wv are cut by columns at the edges of heads, Wo by rows. One all-reduce forward and
    one backward, each 2(N-1)/N · M bytes per device with M those of X.

    Args:
        x: input (…, sequence, d_model), of a float dtype, replicated.
        Wq: (d_model, num_heads · d), cut by columns.
        Wk: (d_model, num_kv_heads · d), cut by columns.
        Wv: (d_model, num_kv_heads · d), cut by columns.
        Wo: (num_heads · d, d_model), cut by rows.
        num_heads: H, the number of query heads.
        num_devices: N, a divisor of `num_kv_heads` (and so of H): no head is on two devices.
        causal: whether a position sees only itself and those before it.
        num_kv_heads: number of key and value heads, a divisor of H. None for H.
        bias_q: (num_heads · d,), cut like the columns; None for none.
        bias_k: (num_kv_heads · d,), cut like the columns; None for none.
        bias_v: (num_kv_heads · d,), cut like the columns; None for none.
        bias_o: (d_model,), replicated and added once, after the sum; None for none.

    Returns:
        O (…, sequence, d_model): `single_device_attention` up to the order of additions;
        exactly where N = 1 and the tensors are contiguous.

    Raises:
        TypeError: if an argument has the wrong type or is no float tensor.
        ValueError: if shapes, dtypes, devices or head counts don't fit, or N does not divide them.

    Example:
        >>> x, eye = torch.tensor([[1.0, 0.0], [0.0, 1.0]]), torch.eye(2)
        >>> megatron_attention(x, eye, eye, eye, eye, num_heads=2, num_devices=2, causal=True)
        tensor([[1.0000, 0.0000],
                [0.5000, 0.7311]])

    Source: Shoeybi et al., Megatron-LM, arXiv:1909.08053, section 3, figure 3b.
    """
    biases = (bias_q, bias_k, bias_v, bias_o)
    kv_heads = check_attention(x, (Wq, Wk, Wv, Wo), biases, num_heads, num_kv_heads, causal)
    count = check_devices(num_devices, num_heads, kv_heads)
    heads = heads_of_devices(
        f(replicate(x, count)),  # once for q, k and v: one all-reduce backward, not three
        (Wq, Wk, Wv),
        biases,
        num_heads=num_heads,
        num_kv_heads=kv_heads,
        causal=causal,
    )
    return row_sum(heads, Wo, bias_o)
