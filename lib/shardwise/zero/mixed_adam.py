"""Adam in mixed precision on one flat slice of a model: low-precision weights, fp32 state."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass

import torch

from shardwise._checks import amount, flag, written
from shardwise._tensors import FLOATS, dense_tensor


@dataclass(frozen=True, slots=True)
class AdamSettings:
    """Adam's numbers, kept as floats.

    Attributes:
        lr: learning rate, at least 0.
        betas: decay of momentum and of variance per step, each in [0, 1).
        eps: added to the root of the variance, at least 0.
        weight_decay: λ, at least 0: what pulls the weights towards 0.
        decoupled_weight_decay: False adds λ · w to the gradient (as `torch.optim.Adam`); True
            multiplies the weights by 1 - lr · λ instead (as `torch.optim.AdamW`).

    Raises:
        TypeError: if a number is none, `betas` no pair, or `decoupled_weight_decay` no bool.
        ValueError: if a number is out of its range.

    Example:
        >>> AdamSettings(lr=3e-4, weight_decay=0.1, decoupled_weight_decay=True).betas
        (0.9, 0.999)

    Source: Kingma and Ba, "Adam", arXiv:1412.6980; Loshchilov and Hutter, "Decoupled weight decay
    regularization", arXiv:1711.05101, algorithm 2.
    """

    lr: float = 1e-3
    betas: tuple[float, float] = (0.9, 0.999)
    eps: float = 1e-8
    weight_decay: float = 0.0
    decoupled_weight_decay: bool = False

    def __post_init__(self) -> None:
        """Reject what is no number of its range."""
        for name in ("lr", "eps", "weight_decay"):
            object.__setattr__(self, name, _number(name, getattr(self, name)))
        if not isinstance(self.betas, (list, tuple)) or len(self.betas) != 2:  # noqa: PLR2004
            raise TypeError(f"betas={written(self.betas)} must be a pair, as (0.9, 0.999)")
        for index, beta in enumerate(self.betas):
            if _number(f"betas[{index}]", beta) >= 1:
                raise ValueError(f"betas[{index}]={written(beta)} must be below 1, as 0.9")
        object.__setattr__(self, "betas", tuple(map(float, self.betas)))
        flag("decoupled_weight_decay", self.decoupled_weight_decay)


def _number(name: str, value: float) -> float:
    """Return `value` as a float, or say why it is no number of at least 0."""
    exact = amount(name, value)
    if exact > sys.float_info.max:
        raise ValueError(f"{name}={written(value)} is larger than any float")
    return float(exact)


def state_dtype(dtype: torch.dtype) -> torch.dtype:
    """Return the dtype of the optimizer state that goes with weights of `dtype`.

    >>> state_dtype(torch.bfloat16), state_dtype(torch.float64)
    (torch.float32, torch.float64)
    """
    return dtype if dtype == torch.float64 else torch.float32


class MixedAdam:
    """Adam for a flat vector of weights, with a master copy where the weights have 16 bits.

    In step t, with gradient g in the state's precision:
    m ← β₁m + (1-β₁)g, v ← β₂v + (1-β₂)g²,
    w ← w - lr · m/(1-β₁ᵗ) / (√(v/(1-β₂ᵗ)) + eps).
    Weight decay adds λw to g, or, decoupled, takes lr · λw off w (AdamW).
    For 16-bit weights w is an fp32 master copy, which is rounded into the weights: updates that are
    too small for 16 bits add up instead of getting lost. Every element is on its own, so Adam on
    slices of a vector is Adam on the vector: the reason why ZeRO can split its state.

    Args:
        weights: 1-D float tensor, updated in place by `step`; may be a view.
        master: values (same shape) from which the master copy of 16-bit weights starts, where they
            are known more precisely than `weights` holds them; default: `weights`.
        settings: Adam's numbers; default: those of `AdamSettings`.

    Attributes:
        weights: the tensor given.
        master: what Adam updates: an fp32 copy, or `weights` itself where it is fp32 or fp64.
        momentum: m, fp32 (fp64 for fp64 weights).
        variance: v, likewise.
        steps: number of steps done, t.

    Raises:
        TypeError: if a tensor is no dense float tensor.
        ValueError: if shapes or devices don't fit, or `weights` can't be changed in place.

    Example:
        >>> weights = torch.tensor([1.0, 1.0], dtype=torch.bfloat16)
        >>> adam = MixedAdam(weights, settings=AdamSettings(lr=2**-10))
        >>> for _ in range(4):
        ...     adam.step(torch.tensor([1.0, -1.0]))
        >>> weights.tolist(), [round(w * 2**10) for w in adam.master.tolist()], adam.num_bytes()
        ([0.99609375, 1.0], [1020, 1028], 24)

    Source: Kingma and Ba, "Adam", arXiv:1412.6980, algorithm 1; the master copy: Micikevicius et
    al., "Mixed precision training", arXiv:1710.03740, section 3.1.
    """

    def __init__(
        self,
        weights: torch.Tensor,
        *,
        master: torch.Tensor | None = None,
        settings: AdamSettings | None = None,
    ) -> None:
        """Start with no momentum and no variance."""
        self.weights = _changeable(_flat("weights", weights).detach())
        self.settings = AdamSettings() if settings is None else settings
        if not isinstance(self.settings, AdamSettings):
            raise TypeError(f"settings={written(settings)} must be an AdamSettings")
        start = weights if master is None else _flat("master", master, like=weights)
        with torch.inference_mode(False):  # the state outlives the caller's mode
            if weights.dtype == state_dtype(weights.dtype):
                self.weights.copy_(start.detach())
                self.master = self.weights
            else:
                self.master = start.detach().to(state_dtype(weights.dtype), copy=True)
                self.weights.copy_(self.master)
            self.momentum = torch.zeros_like(self.master)
            self.variance = torch.zeros_like(self.master)
        self.steps = 0

    def step(self, grads: torch.Tensor) -> None:
        """Update master copy and weights with the gradient.

        Args:
            grads: gradient of the loss, of the weights' shape and any float dtype; left alone.

        Raises:
            TypeError: if it is no dense float tensor.
            ValueError: if its shape or device is another than the weights'.
        """
        gradient = _flat("grads", grads, like=self.weights).detach().to(self.master.dtype)
        numbers, (beta1, beta2) = self.settings, self.settings.betas
        if numbers.weight_decay and not numbers.decoupled_weight_decay:
            gradient = gradient.add(self.master, alpha=numbers.weight_decay)
        self.steps += 1
        self.momentum.mul_(beta1).add_(gradient, alpha=1 - beta1)
        self.variance.mul_(beta2).addcmul_(gradient, gradient, value=1 - beta2)
        spread = self.variance.sqrt().div_(math.sqrt(1 - beta2**self.steps))
        spread.add_(numbers.eps)
        if numbers.decoupled_weight_decay:
            self.master.mul_(1 - numbers.lr * numbers.weight_decay)
        self.master.addcdiv_(self.momentum, spread, value=-numbers.lr / (1 - beta1**self.steps))
        if self.master is not self.weights:
            self.weights.copy_(self.master)

    def state(self) -> list[torch.Tensor]:
        """Return the tensors that this optimizer keeps beside the weights."""
        copies = [] if self.master is self.weights else [self.master]
        return [*copies, self.momentum, self.variance]

    def num_bytes(self) -> int:
        """Return the bytes of `state`: 12 for each 16-bit weight, 8 for fp32, 16 for fp64."""
        return sum(tensor.untyped_storage().nbytes() for tensor in self.state())


def _flat(name: str, tensor: torch.Tensor, like: torch.Tensor | None = None) -> torch.Tensor:
    """Return `tensor`, or say why it is no flat vector of floats that fits `like`."""
    if dense_tensor(name, tensor).dtype not in FLOATS:
        raise TypeError(f"{name} has dtype {tensor.dtype}: give a float dtype")
    if like is None and tensor.ndim != 1:
        raise ValueError(f"{name} has shape {tuple(tensor.shape)}: flatten it with .view(-1)")
    if like is not None and (tensor.shape, tensor.device) != (like.shape, like.device):
        raise ValueError(
            f"{name} has shape {tuple(tensor.shape)} on {tensor.device}, weights have "
            f"{tuple(like.shape)} on {like.device}: give one value for each weight"
        )
    return tensor


def _changeable(weights: torch.Tensor) -> torch.Tensor:
    """Return a flat vector, or say why it can't be changed in place."""
    if weights.is_inference():
        raise ValueError("weights were made in inference mode: give a clone made outside of it")
    if len(weights) > 1 and weights.stride(0) == 0:
        raise ValueError("weights are one number expanded to a vector: give weights.clone()")
    return weights
