"""What queries, keys and values must look like, and what to do where they don't."""

from __future__ import annotations

import math
from itertools import combinations
from numbers import Real

import torch

from shardwise._checks import written
from shardwise._tensors import FLOATS, dense_tensor


def wide(dtype: torch.dtype) -> torch.dtype:
    """Return the dtype to accumulate in: float32 for 16-bit floats, else the dtype itself."""
    return torch.float32 if dtype in (torch.float16, torch.bfloat16) else dtype


def check_floats(name: str, value: torch.Tensor) -> torch.Tensor:
    """Return `value`, or say why it is no (batch, heads, tokens, head size) tensor of floats."""
    tensor = dense_tensor(name, value)
    if tensor.dtype not in FLOATS:
        raise TypeError(f"{name} of {tensor.dtype} has no softmax: convert it, as {name}.float()")
    if tensor.ndim != 4 or not (tensor.shape[1] and tensor.shape[3]):  # noqa: PLR2004 - B, H, L, d
        raise ValueError(
            f"{name} has shape {tuple(tensor.shape)}: give (batch, heads, tokens, head size) "
            f"with at least one head of size at least 1"
        )
    return tensor


def check_kind(name: str, tensor: torch.Tensor, like: torch.Tensor) -> None:
    """Say in which of dtype and device `tensor` differs from `like`, which is q."""
    for what in ("dtype", "device"):
        mine, theirs = getattr(tensor, what), getattr(like, what)
        if mine != theirs:
            raise ValueError(
                f"{name} has {what} {mine}, q has {theirs}: bring all to one {what} with .to(...)"
            )


def check_block(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> None:
    """Say what keeps queries, keys and values from fitting together, if anything does."""
    for name, tensor in (("q", q), ("k", k), ("v", v)):
        check_floats(name, tensor)
        check_kind(name, tensor, q)
    shapes = f"q {tuple(q.shape)}, k {tuple(k.shape)}, v {tuple(v.shape)}"
    if k.shape[:3] != v.shape[:3]:
        raise ValueError(f"k and v must agree in batch, heads and tokens, not {shapes}")
    if q.shape[0] != k.shape[0] or q.shape[3] != k.shape[3]:
        raise ValueError(f"q and k must agree in batch and head size, not {shapes}")
    if q.shape[1] % k.shape[1]:
        raise ValueError(
            f"the heads of k must divide those of q (grouped-query attention), not {shapes}"
        )


def check_sums(m: torch.Tensor, ell: torch.Tensor, o: torch.Tensor) -> None:
    """Say what keeps m, ell and o from being one state, if anything does."""
    kinds = {}
    for name, tensor in (("m", m), ("ell", ell), ("o", o)):
        if dense_tensor(name, tensor).dtype not in FLOATS:
            raise TypeError(f"{name} of {tensor.dtype} is no state: it must hold floats")
        kinds[name] = (tuple(tensor.shape), tensor.dtype, tensor.device)
    shape, *kind = kinds["o"]
    if o.ndim == 0 or not kinds["m"] == kinds["ell"] == (shape[:-1], *kind):
        raise ValueError(
            f"m, ell and o must share dtype and device, and have shapes (…), (…) and (…, e), "
            f"not {kinds}"
        )


def check_state(
    q: torch.Tensor, v: torch.Tensor, m: torch.Tensor, ell: torch.Tensor, o: torch.Tensor
) -> None:
    """Say what keeps m, ell and o from being the state of these queries, if anything does."""
    wanted = {
        "m": (m, q.shape[:3]),
        "ell": (ell, q.shape[:3]),
        "o": (o, (*q.shape[:3], v.shape[3])),
    }
    for name, (tensor, shape) in wanted.items():
        kind = (tuple(dense_tensor(name, tensor).shape), tensor.dtype, tensor.device)
        right = (tuple(shape), wide(q.dtype), q.device)
        if kind != right:
            raise ValueError(
                f"{name} has (shape, dtype, device) {kind}, but these queries need {right}: "
                f"start with m, ell, o = start_softmax(q, v)"
            )
        if tensor.requires_grad:
            raise ValueError(f"{name} requires grad, but is updated in place: detach it")
        if any(n > 1 and step == 0 for n, step in zip(tensor.shape, tensor.stride(), strict=True)):
            raise ValueError(f"{name} is expanded, but is updated in place: clone it")


def check_apart(state: dict[str, torch.Tensor], inputs: dict[str, torch.Tensor]) -> None:
    """Say which tensor of the state, which is written to, shares memory with another, if one does.

    >>> a, b = torch.zeros(2, 3), torch.zeros(3)
    >>> check_apart({"a": a}, {"b": b})
    """
    places = {name: _memory(name, tensor) for name, tensor in (*state.items(), *inputs.items())}
    for mine, other in combinations(places, 2):
        one, two = places[mine], places[other]
        if mine in state and one.start < two.stop and two.start < one.stop:
            raise ValueError(
                f"{mine} shares memory with {other}, but is updated in place: "
                f"give each its own, as {mine}.clone()"
            )


def _memory(name: str, tensor: torch.Tensor) -> range:
    """Return the addresses of a tensor's elements, and of what lies between them."""
    if tensor.numel() == 0 or tensor.is_meta:
        return range(0)
    last = sum((n - 1) * step for n, step in zip(tensor.shape, tensor.stride(), strict=True))
    try:
        first = tensor.data_ptr()
    except RuntimeError as error:
        raise TypeError(
            f"{name} stands for other tensors, as in torch.func: what is updated in place must be "
            "a plain torch.Tensor, and what it is updated with as well"
        ) from error
    return range(first, first + (last + 1) * tensor.element_size())


def softmax_scale(scale: float | None, head_size: int) -> float:
    """Return the factor of the logits: 1/√d for None, else `scale` if it is a finite number."""
    if scale is None:
        return 1.0 / math.sqrt(head_size)
    if isinstance(scale, bool) or not isinstance(scale, Real):
        raise TypeError(
            f"scale={written(scale)} must be a number or None, not {type(scale).__name__}"
        )
    try:
        factor = float(scale)
    except OverflowError:
        factor = math.inf
    if not math.isfinite(factor):
        raise ValueError(
            f"scale={written(scale)} must be finite, and a float must hold it: None gives "
            "1/sqrt(head size)"
        )
    return factor


def check_mask(name: str, mask: torch.Tensor, shape: tuple[int, ...], like: torch.Tensor) -> None:
    """Say why `mask` is no bool tensor on the device of `like` that `shape` can be made of."""
    if dense_tensor(name, mask).dtype is not torch.bool:
        raise TypeError(f"{name} of {mask.dtype} must be bool, True where a key may be seen")
    if mask.device != like.device:
        raise ValueError(
            f"{name} is on {mask.device}, q on {like.device}: bring both to one device"
        )
    fits = mask.ndim <= len(shape) and all(
        mine in (1, theirs) for mine, theirs in zip(mask.shape[::-1], shape[::-1], strict=False)
    )
    if not fits:
        raise ValueError(
            f"{name} has shape {tuple(mask.shape)}, which does not broadcast to {shape}"
        )
