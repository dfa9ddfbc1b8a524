"""Ring attention: the sequence is split over P devices, whose keys and values travel around a ring.

Device p keeps its queries. In step t it holds the keys and values of device (p - t) mod P, absorbs
them, and passes them on to device p + 1; no device ever holds keys of more than two blocks. In the
backward pass the gradients of keys and values travel with them, and one hop further, back home.
"""

from __future__ import annotations

from typing import Any, NoReturn

import torch
from torch.autograd.function import once_differentiable

from shardwise._checks import flag, integer, one_of
from shardwise._precision import without_autocast
from shardwise.ring_attention import _merge, _tiles
from shardwise.ring_attention._checks import (
    check_block,
    check_mask,
    softmax_scale,
    wide,
)
from shardwise.ring_attention._ring import Kernel, Ring
from shardwise.ring_attention.layout import (
    LAYOUTS,
    device_runs,
    permute_sequence,
    unpermute_sequence,
)

KERNELS: dict[str, Kernel] = {"streaming": _tiles, "sdpa": _merge}
"""How a device computes one block: our online softmax, or PyTorch's operator."""


class _RingAttention(torch.autograd.Function):
    """The ring as one operation on (B, heads, L, d) tensors, whose backward pass is a ring too."""

    @staticmethod
    def forward(
        q: torch.Tensor,
        k: torch.Tensor,
        v: torch.Tensor,
        mask: torch.Tensor | None,
        deal: tuple[int, str],
        ring: Ring,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        groups = (k.shape[1], q.shape[1] // k.shape[1])
        queries, keys, values = (permute_sequence(x, *deal) for x in (q, k, v))
        seen = () if mask is None else (permute_sequence(mask, *deal),)
        with without_autocast(q.device):
            o, lse = ring.forward(
                torch.unflatten(queries, 1, groups), keys, values, seen, wide(q.dtype)
            )
        return unpermute_sequence(o.flatten(1, 2).to(q.dtype), *deal), lse

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[torch.Tensor, ...]) -> None:  # noqa: ANN401 - so autograd types it
        *qkv_mask, ctx.deal, ctx.ring = inputs
        ctx.mark_non_differentiable(output[1])
        ctx.save_for_backward(*qkv_mask, *output)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_out: torch.Tensor, _: object) -> tuple[torch.Tensor | None, ...]:  # noqa: ANN401
        q, k, v, mask, out, lse = ctx.saved_tensors
        groups = (k.shape[1], q.shape[1] // k.shape[1])
        queries, keys, values, o, do = (
            permute_sequence(x, *ctx.deal) for x in (q, k, v, out, grad_out)
        )
        queries, o, do = (torch.unflatten(x, 1, groups) for x in (queries, o, do))
        seen = () if mask is None else (permute_sequence(mask, *ctx.deal),)
        saved = (o, do, lse.masked_fill(lse == -torch.inf, torch.inf))
        with without_autocast(q.device):
            grads = ctx.ring.backward((queries, keys, values), seen, saved)
        dq, dk, dv = (
            unpermute_sequence(grad.to(q.dtype), *ctx.deal)
            for grad in (grads[0].flatten(1, 2), *grads[1:])
        )
        return dq, dk, dv, None, None, None

    @staticmethod
    def vmap(*_: object) -> NoReturn:
        raise TypeError(
            "ring_attention can't be mapped by torch.func.vmap: move the mapped dimension into the "
            "batch, as with q.flatten(0, 1), and call it once"
        )


def ring_attention(  # noqa: PLR0913 - keywords with defaults
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    *,
    num_devices: int,
    causal: bool = False,
    layout: str = "contiguous",
    scale: float | None = None,
    kernel: str = "streaming",
    key_mask: torch.Tensor | None = None,
) -> torch.Tensor:
    """Compute attention over a sequence that is split over P simulated devices in a ring.

    out = softmax(scale · Q Kᵀ + mask) V, up to rounding whatever P and layout; sums are kept in
    float32 for 16-bit inputs. Under the causal mask blocks in a device's future are passed on but
    not computed. A query that may see no key gets 0, and gradients of 0. Differentiable once, by
    torch.func.grad as well; torch.func.vmap is refused, as the batch does its work.

    The ledger gets, in P-1 steps, "ring_attention_kv": (P-1) · (bytes of k, v and key_mask) in all.
    The backward pass moves that again, and in P steps (none if P = 1) dK and dV as
    "ring_attention_dkv": P · (elements of k and v) · (4 bytes; 8 for float64). On a GPU autograd
    runs it in a thread of its own, which the ledger does not see: keep it in the caller's with
    torch.autograd.set_multithreading_enabled(False).

    A NaN, or a logit of +inf, makes the queries that see it NaN; what `key_mask` hides is not read.
    But a NaN or infinity in V may reach queries of the same tile for which it lies in the future,
    as 0·NaN is NaN; so it does in `softmax(masked logits) @ v`.

    Args:
        q: (B, H, L, d) queries in order of position; float16, bfloat16, float32 or float64.
        k: (B, K, L, d) keys; K divides H, and query head h reads key head h·K // H.
        v: (B, K, L, e) values.
        num_devices: P, from 1 to L; it need not divide L.
        causal: whether a token sees only itself and those before it.
        layout: which tokens a device holds: "contiguous", "striped" or "zigzag".
        scale: factor of the logits; None is 1/√d.
        kernel: "streaming" is our own online softmax; "sdpa" calls PyTorch's attention for each
            block and merges by log-sum-exp, which is faster, for CPU tensors with e = d only.
        key_mask: (B, L) bool, True for keys that may be seen, False for padding; None sees all.

    Returns:
        (B, H, L, e) in the dtype of `q`, in order of position.

    Raises:
        TypeError: if an argument has the wrong type or dtype.
        ValueError: if shapes, dtypes or devices don't fit together, P is below 1 or above L, or a
            name is unknown.

    Example:
        >>> q, k, v = (torch.randn(1, 2, 10, 4, dtype=torch.float64) for _ in range(3))
        >>> full = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        >>> ring = ring_attention(q, k, v, num_devices=4, causal=True, layout="zigzag")
        >>> bool((ring - full).abs().max() < 1e-14)
        True

    Source: Liu, Zaharia and Abbeel, "Ring Attention", arXiv:2310.01889; Brandon et al., "Striped
    Attention", arXiv:2311.09431.
    """
    check_block(q, k, v)
    length = _same_length(q, k)
    count = integer("num_devices", num_devices, minimum=1, maximum=length)
    runs = device_runs(length, count, one_of("layout", layout, LAYOUTS))
    chosen = KERNELS[one_of("kernel", kernel, tuple(KERNELS))]
    factor = softmax_scale(scale, q.shape[3])
    if kernel == "sdpa":
        _check_operator(q, v)
        if factor <= 0:  # the operator masks before it scales, and -inf · factor must stay -inf
            q, factor = (-q, -factor) if factor else (q * 0, 1.0)
    if key_mask is not None:
        check_mask("key_mask", key_mask, (q.shape[0], length), q)
        key_mask = key_mask.expand(q.shape[0], length)[:, None, :, None]
        k, v = k.masked_fill(~key_mask, 0), v.masked_fill(~key_mask, 0)  # padding may hold NaN
        key_mask = key_mask.unsqueeze(1)
    ring = Ring(runs, flag("causal", causal), factor, chosen)
    out: torch.Tensor
    out, _ = _RingAttention.apply(  # type: ignore[no-untyped-call]
        q, k, v, key_mask, (count, layout), ring
    )
    return out


def _same_length(q: torch.Tensor, k: torch.Tensor) -> int:
    if q.shape[2] != k.shape[2] or q.shape[2] == 0:
        raise ValueError(
            f"q has {q.shape[2]} tokens and k has {k.shape[2]}: the ring attends from a sequence "
            f"to itself, so give both the same number, at least 1"
        )
    return q.shape[2]


def _check_operator(q: torch.Tensor, v: torch.Tensor) -> None:
    if q.device.type != "cpu" or q.shape[3] != v.shape[3]:
        raise ValueError(
            f"kernel='sdpa' takes CPU tensors whose q and v have one head size, not {q.device} and "
            f"{q.shape[3]}, {v.shape[3]}: use kernel='streaming'"
        )
