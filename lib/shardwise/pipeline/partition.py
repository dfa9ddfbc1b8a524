"""Which layers a pipeline stage holds."""

from __future__ import annotations

from itertools import pairwise

from shardwise._checks import integer, written

_MOST_LAYERS = 10_000_000  # about half a gigabyte of indices


def partition_layers(num_layers: int, num_stages: int) -> list[list[int]]:
    """Return the layers that each stage holds: consecutive, and as equal in number as can be.

    Each stage holds ⌊L/P⌋ layers, and the first L mod P stages one more.

    Args:
        num_layers: number of layers L ≥ P.
        num_stages: number of stages P ≥ 1.

    Returns:
        P lists of layer indices; together 0 … L-1 in order.

    Raises:
        TypeError: if an argument is no integer.
        ValueError: if P < 1, a stage would hold no layer, or L is above ten million.

    Example:
        >>> partition_layers(7, 3)
        [[0, 1, 2], [3, 4], [5, 6]]

    Source: Huang et al., "GPipe", arXiv:1811.06965, section 2.2 (consecutive layers in cells).
    """
    layers = integer("num_layers", num_layers, minimum=1, maximum=_MOST_LAYERS)
    stages = integer("num_stages", num_stages, minimum=1)
    if stages > layers:
        raise ValueError(
            f"num_stages={written(stages)} is more than num_layers={layers}: a stage without "
            f"layers only passes messages on. Use at most {layers} stages"
        )
    size, longer = divmod(layers, stages)
    bounds = [stage * size + min(stage, longer) for stage in range(stages + 1)]
    return [list(range(start, stop)) for start, stop in pairwise(bounds)]
