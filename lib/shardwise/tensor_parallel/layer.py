# ruff: noqa: N815 - A and B are the letters of the chapter
"""One transformer layer, on one device and on N.

The layer normalises before each block: X ← X + Attention(LayerNorm(X)), X ← X + MLP(LayerNorm(X)).
The blocks are split; the LayerNorms, the row-parallel biases and the sums are replicated.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch  # noqa: TC002 - the doctests use it
from torch.nn import functional

from shardwise.tensor_parallel._heads import check_attention
from shardwise.tensor_parallel._matrices import vector
from shardwise.tensor_parallel.attention import megatron_attention, single_device_attention
from shardwise.tensor_parallel.mlp import check_mlp, megatron_mlp, single_device_mlp


@dataclass(frozen=True, slots=True, eq=False)
class LayerWeights:
    """The parameters of one layer, whole: h is d_model, d the width of a head.

    Attributes:
        Wq: query projection (h, num_heads · d).
        Wk: key projection (h, num_kv_heads · d).
        Wv: value projection (h, num_kv_heads · d).
        Wo: output projection (num_heads · d, h).
        A: up-projection (h, d_ff).
        B: down-projection (d_ff, h).
        attention_gain: factor (h,) of the LayerNorm before the attention.
        attention_shift: summand (h,) of that LayerNorm.
        mlp_gain: factor (h,) of the LayerNorm before the MLP.
        mlp_shift: summand (h,) of that LayerNorm.
        bias_q: (num_heads · d,), None for none; likewise the following.
        bias_k: (num_kv_heads · d,).
        bias_v: (num_kv_heads · d,).
        bias_o: (h,), replicated.
        bias_A: (d_ff,).
        bias_B: (h,), replicated.
    """

    Wq: torch.Tensor
    Wk: torch.Tensor
    Wv: torch.Tensor
    Wo: torch.Tensor
    A: torch.Tensor
    B: torch.Tensor
    attention_gain: torch.Tensor
    attention_shift: torch.Tensor
    mlp_gain: torch.Tensor
    mlp_shift: torch.Tensor
    bias_q: torch.Tensor | None = None
    bias_k: torch.Tensor | None = None
    bias_v: torch.Tensor | None = None
    bias_o: torch.Tensor | None = None
    bias_A: torch.Tensor | None = None
    bias_B: torch.Tensor | None = None

    @property
    def projections(self) -> tuple[torch.Tensor, ...]:
        """Wq, Wk, Wv and Wo."""
        return self.Wq, self.Wk, self.Wv, self.Wo

    @property
    def projection_biases(self) -> tuple[torch.Tensor | None, ...]:
        """The biases of Wq, Wk, Wv and Wo."""
        return self.bias_q, self.bias_k, self.bias_v, self.bias_o

    def attention(self) -> dict[str, Any]:
        """Return the parameters of the attention block, by argument."""
        names = ("Wq", "Wk", "Wv", "Wo", "bias_q", "bias_k", "bias_v", "bias_o")
        return {name: getattr(self, name) for name in names}

    def mlp(self) -> dict[str, Any]:
        """Return the parameters of the MLP block, by argument."""
        return {name: getattr(self, name) for name in ("A", "B", "bias_A", "bias_B")}


def check_layer(
    x: torch.Tensor,
    weights: LayerWeights,
    num_heads: int,
    num_kv_heads: int | None,
    causal: bool,
) -> int:
    """Return the number of key and value heads, or say which argument does not fit."""
    if not isinstance(weights, LayerWeights):
        raise TypeError(f"weights must be LayerWeights, not {type(weights).__name__}")
    kv_heads = check_attention(
        x, weights.projections, weights.projection_biases, num_heads, num_kv_heads, causal
    )
    check_mlp(x, weights.A, weights.B, weights.bias_A, weights.bias_B)
    width = x.shape[-1]
    for name in ("Wo", "B"):
        if getattr(weights, name).shape[1] != width:
            raise ValueError(
                f"{name} has {getattr(weights, name).shape[1]} columns: what a block adds to x "
                f"must be as wide as x, {width}"
            )
    for name in ("attention_gain", "attention_shift", "mlp_gain", "mlp_shift"):
        if getattr(weights, name) is None:
            raise TypeError(f"{name} is None: give a vector ({width},)")
        vector(name, getattr(weights, name), width, like=x)
    return kv_heads


def layer_norm(x: torch.Tensor, gain: torch.Tensor, shift: torch.Tensor) -> torch.Tensor:
    """Return (x - mean)/√(variance + 1e-5) · gain + shift over the last dimension."""
    return functional.layer_norm(x, x.shape[-1:], gain, shift)


def single_device_layer(
    x: torch.Tensor,
    weights: LayerWeights,
    num_heads: int,
    *,
    causal: bool = False,
    num_kv_heads: int | None = None,
) -> torch.Tensor:
    """Compute a transformer layer on one device.

    Args:
        x: input (…, sequence, h), of a float dtype.
        weights: the layer's parameters.
        num_heads: number of query heads.
        causal: whether a position sees only itself and those before it.
        num_kv_heads: number of key and value heads, a divisor of `num_heads`. None for as many.

    Returns:
        The layer's output (…, sequence, h).

    Raises:
        TypeError: if an argument has the wrong type or is no float tensor.
        ValueError: if shapes, dtypes, devices or head counts don't fit.

    Example:
        >>> eye, one, zero = torch.eye(2), torch.ones(2), torch.zeros(2)
        >>> weights = LayerWeights(eye, eye, eye, eye, eye, eye, one, zero, one, zero)
        >>> single_device_layer(torch.tensor([[1.0, 3.0]]), weights, num_heads=1)
        tensor([[-0.1587,  4.8413]])

    Source: Radford et al., "Language models are unsupervised multitask learners", 2019.
    """
    check_layer(x, weights, num_heads, num_kv_heads, causal)
    w = weights
    x = x + single_device_attention(
        layer_norm(x, w.attention_gain, w.attention_shift),
        num_heads=num_heads,
        causal=causal,
        num_kv_heads=num_kv_heads,
        **w.attention(),
    )
    return x + single_device_mlp(layer_norm(x, w.mlp_gain, w.mlp_shift), **w.mlp())


def megatron_layer(
    x: torch.Tensor,
    weights: LayerWeights,
    num_heads: int,
    num_devices: int,
    *,
    causal: bool = False,
    num_kv_heads: int | None = None,
) -> torch.Tensor:
    """Compute a transformer layer on N devices with two all-reduces, and two more in its backward.

    Each moves 2(N-1)/N · M bytes per device with M those of x, so that forward and backward of the
    layer move 8(N-1)/N · M.

    Args:
        x: input (…, sequence, h), of a float dtype, replicated.
        weights: the layer's parameters, which are cut over the devices.
        num_heads: number of query heads.
        num_devices: N, a divisor of `num_kv_heads`, at most d_ff.
        causal: whether a position sees only itself and those before it.
        num_kv_heads: number of key and value heads, a divisor of `num_heads`. None for as many.

    Returns:
        The layer's output (…, sequence, h): `single_device_layer` up to the order of additions.

    Raises:
        TypeError: if an argument has the wrong type or is no float tensor.
        ValueError: if shapes, dtypes, devices or head counts don't fit, or N does not divide them.

    Example:
        >>> from shardwise import ledger
        >>> from shardwise.tensor_parallel.costs import layer_communication_elements
        >>> eye, one, zero = torch.eye(2), torch.ones(2), torch.zeros(2)
        >>> weights = LayerWeights(eye, eye, eye, eye, eye, eye, one, zero, one, zero)
        >>> x = torch.tensor([[1.0, 3.0]], requires_grad=True)
        >>> with ledger.record() as log:
        ...     megatron_layer(x, weights, num_heads=2, num_devices=2).sum().backward()
        >>> log.calls, log.sent_by(0) == layer_communication_elements(1, 1, 2, 2) * 4
        (['ring_all_reduce', 'ring_all_reduce', 'ring_all_reduce', 'ring_all_reduce'], True)

    Source: Shoeybi et al., Megatron-LM, arXiv:1909.08053, section 3, figure 4.
    """
    check_layer(x, weights, num_heads, num_kv_heads, causal)
    w = weights
    x = x + megatron_attention(
        layer_norm(x, w.attention_gain, w.attention_shift),
        num_heads=num_heads,
        num_devices=num_devices,
        causal=causal,
        num_kv_heads=num_kv_heads,
        **w.attention(),
    )
    normalised = layer_norm(x, w.mlp_gain, w.mlp_shift)
    return x + megatron_mlp(normalised, num_devices=num_devices, **w.mlp())
