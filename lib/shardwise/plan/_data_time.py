"""Time of data parallelism: what replicas reduce and gather in one step, and what of it shows."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from shardwise.plan.link_time import ring_pass

if TYPE_CHECKING:
    from shardwise.memory.recipes import Recipe
    from shardwise.plan.link_time import Link

_LARGEST_GRADIENT = 4  # bytes: what is summed over devices is a 32-bit float at most


def gradient_bytes(recipe: Recipe) -> int:
    """Return the bytes in which one gradient travels.

    As many as the recipe keeps of it, but 4 at most, as one of two buffers is sent; and those of a
    weight where the recipe does not count gradients.

    Example:
        >>> from shardwise.memory.recipes import RECIPES
        >>> [gradient_bytes(RECIPES[name]) for name in ("2+2+12", "2+6+12", "2+0+8")]
        [2, 4, 2]
    """
    return min(recipe.grads, _LARGEST_GRADIENT) or recipe.params


class Traffic(NamedTuple):
    """What goes once around the ring of replicas in one step.

    Attributes:
        num_bytes: bytes of all collectives together.
        collectives: how many there are, each a reduce-scatter or an all-gather.
        passes: forward (or backward) passes of a micro-batch beside which they run.
    """

    num_bytes: float
    collectives: int
    passes: int


def data_traffic(
    params: float, layers: int, zero_stage: int, num_microbatches: int, recipe: Recipe
) -> tuple[Traffic, Traffic]:
    """Return what runs beside forward passes, and what beside backward passes.

    With P and G for the bytes of weights and gradients and M micro-batches, 0 and 2G at stage 0 (an
    all-reduce goes around twice), P and G at stage 1, P and M·G at stage 2 (gradients are
    partitioned after every micro-batch, and only the own part is kept), M·P and M·(P + G) at stage
    3, layer by layer.

    Example:
        >>> from shardwise.memory.recipes import RECIPES
        >>> [sum(part.num_bytes for part in data_traffic(1e6, 1, stage, 1, RECIPES["2+2+12"]))
        ...     for stage in range(4)]
        [4000000.0, 4000000.0, 4000000.0, 6000000.0]

    Source: Rajbhandari et al., "ZeRO", arXiv:1910.02054, section 7, for one micro-batch; that
    stages 2 and 3 repeat it, deepspeedai/DeepSpeed issue 2252 and pytorch/pytorch pull request
    126166 (which names the other choice: keep whole gradients and reduce once, as stage 1 does).
    """
    weights, gradients = params * recipe.params, params * gradient_bytes(recipe)
    count = num_microbatches
    match zero_stage:
        case 0:
            return Traffic(0.0, 0, 0), Traffic(2 * gradients, 2, 1)
        case 1:
            return Traffic(weights, 1, 1), Traffic(gradients, 1, 1)
        case 2:
            return Traffic(weights, 1, 1), Traffic(count * gradients, count, count)
    both = weights + gradients
    return (
        Traffic(count * weights, count * layers, count),
        Traffic(count * both, 2 * count * layers, count),
    )


def exposed_traffic(traffic: Traffic, num_devices: int, link: Link, hidden: float) -> float:
    """Return the seconds for which replicas wait, as each pass hides `hidden` seconds.

    Example:
        >>> from shardwise.plan.link_time import Link
        >>> exposed_traffic(Traffic(8e9, 1, 2), 2, Link(0.0, 1e9), 0.5)
        3.0
    """
    seconds = ring_pass(traffic.num_bytes, num_devices, link, traffic.collectives)
    return max(0.0, seconds - traffic.passes * hidden)
