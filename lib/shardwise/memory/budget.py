"""Training memory: bytes of parameters, gradients and optimizer state, whole and under ZeRO.

Ψ (`psi`) is the number of parameters, N (`num_devices`) the size of the data-parallel group. A
recipe says how many bytes each parameter costs. Counted is the persistent state, split evenly: not
activations, buffers, padding where N does not divide Ψ, or the layer that stage 3 gathers.
"""

from __future__ import annotations

from fractions import Fraction

from shardwise._checks import amount, as_float, integer, whole
from shardwise.memory.recipes import PARTS, Recipe, find_recipe

__all__ = [
    "fewest_devices",
    "training_memory_bytes",
    "zero_memory_breakdown",
    "zero_memory_breakdown_exact",
    "zero_memory_per_device",
    "zero_memory_per_device_exact",
]

_PARTITIONED: tuple[frozenset[str], ...] = (
    frozenset(),
    frozenset({"optimizer"}),
    frozenset({"optimizer", "grads"}),
    frozenset({"optimizer", "grads", "params"}),
)


def training_memory_bytes(num_params: float, *, recipe: str | Recipe = "2+2+12") -> dict[str, int]:
    """Return the bytes of training state on one device that holds all of it.

    total = (params + grads + optimizer) · Ψ; 16Ψ for the default recipe: 2 bytes of weights, 2 of
    gradients and 12 of optimizer state (fp32 master copy, momentum, variance). The sum is what the
    recipe counts; what it leaves out, as 2+0+8 does the gradients, needs room for a while all the
    same.

    Args:
        num_params: number of parameters Ψ ≥ 0; a whole number, which may be written 7.5e9.
        recipe: name from `RECIPES`, or a `Recipe`.

    Returns:
        Exact bytes under "params", "grads", "optimizer" and "total".

    Raises:
        TypeError: if an argument has the wrong type.
        ValueError: if Ψ is negative, not whole or not finite, or the recipe is unknown.

    Example:
        >>> training_memory_bytes(1000)
        {'params': 2000, 'grads': 2000, 'optimizer': 12000, 'total': 16000}

    Source: Rajbhandari et al., "ZeRO", arXiv:1910.02054, section 3.1.
    """
    count = whole("num_params", num_params)
    chosen = find_recipe(recipe)
    parts = {part: count * int(getattr(chosen, part)) for part in PARTS}
    return {**parts, "total": sum(parts.values())}


def zero_memory_breakdown_exact(
    psi: float, num_devices: int, stage: int, *, recipe: str | Recipe = "2+2+12"
) -> dict[str, Fraction]:
    """Return `zero_memory_breakdown` as exact fractions.

    Example:
        >>> zero_memory_breakdown_exact(1, 3, 2)["total"]
        Fraction(20, 3)
    """
    count = whole("psi", psi)
    devices = integer("num_devices", num_devices, minimum=1)
    split = _PARTITIONED[integer("stage", stage, maximum=3)]
    whole_parts = training_memory_bytes(count, recipe=recipe)
    parts = {part: Fraction(whole_parts[part], devices if part in split else 1) for part in PARTS}
    return {**parts, "total": sum(parts.values(), Fraction(0))}


def zero_memory_breakdown(
    psi: float, num_devices: int, stage: int, *, recipe: str | Recipe = "2+2+12"
) -> dict[str, float]:
    """Return the bytes of each kind of state on one of N devices under a ZeRO stage.

    A part that the stage partitions counts 1/N: the optimizer state from stage 1, gradients from
    stage 2, parameters at stage 3.

    Args:
        psi: number of parameters Ψ ≥ 0; a whole number, which may be written 7.5e9.
        num_devices: data-parallel devices N ≥ 1.
        stage: 0 (plain data parallelism), 1, 2 or 3.
        recipe: name from `RECIPES`, or a `Recipe`.

    Returns:
        Bytes per device under "params", "grads", "optimizer" and "total", each rounded once.

    Raises:
        TypeError: if an argument has the wrong type.
        ValueError: if an argument is out of range or the recipe unknown.

    Example:
        >>> zero_memory_breakdown(1_000_000, 8, 2)
        {'params': 2000000.0, 'grads': 250000.0, 'optimizer': 1500000.0, 'total': 3750000.0}

    Source: Rajbhandari et al., "ZeRO", arXiv:1910.02054, figure 1.
    """
    exact = zero_memory_breakdown_exact(psi, num_devices, stage, recipe=recipe)
    return {part: as_float(size, "use zero_memory_breakdown_exact") for part, size in exact.items()}


def zero_memory_per_device_exact(
    psi: float, num_devices: int, stage: int, *, recipe: str | Recipe = "2+2+12"
) -> Fraction:
    """Return `zero_memory_per_device` as an exact fraction.

    Example:
        >>> zero_memory_per_device_exact(1, 3, 3)
        Fraction(16, 3)
    """
    return zero_memory_breakdown_exact(psi, num_devices, stage, recipe=recipe)["total"]


def zero_memory_per_device(
    psi: float, num_devices: int, stage: int, *, recipe: str | Recipe = "2+2+12"
) -> float:
    """Return the bytes of training state on one of N devices under a ZeRO stage.

    For the default recipe 16Ψ, 4Ψ + 12Ψ/N, 2Ψ + 14Ψ/N and 16Ψ/N at stages 0, 1, 2 and 3.

    Args:
        psi: number of parameters Ψ ≥ 0; a whole number, which may be written 7.5e9.
        num_devices: data-parallel devices N ≥ 1.
        stage: 0 (plain data parallelism), 1, 2 or 3.
        recipe: name from `RECIPES`, or a `Recipe`.

    Returns:
        Bytes per device, rounded once from the exact value.

    Raises:
        TypeError: if an argument has the wrong type.
        ValueError: if an argument is out of range or the recipe unknown.

    Example:
        >>> zero_memory_per_device(1_000_000, 8, 2)
        3750000.0

    Source: Rajbhandari et al., "ZeRO", arXiv:1910.02054, figure 1 and table 1.
    """
    exact = zero_memory_per_device_exact(psi, num_devices, stage, recipe=recipe)
    return as_float(exact, "use zero_memory_per_device_exact")


def fewest_devices(
    psi: float,
    stage: int,
    gpu_bytes: float,
    *,
    recipe: str | Recipe = "2+2+12",
    reserved_bytes: float = 0,
) -> int | None:
    """Return the smallest N at which state and reserved bytes fit into a GPU, or None.

    With R bytes per parameter replicated and S partitioned: the least N ≥ 1 such that
    RΨ + SΨ/N + reserved ≤ gpu_bytes, found exactly and without a search.

    Args:
        psi: number of parameters Ψ ≥ 0; a whole number, which may be written 7.5e9.
        stage: ZeRO stage 0, 1, 2 or 3.
        gpu_bytes: memory of one GPU in bytes, as 80e9 or 80 * 2**30.
        recipe: name from `RECIPES`, or a `Recipe`.
        reserved_bytes: bytes per device to leave free, for activations and all else.

    Returns:
        N, or None where the replicated part alone does not leave room at any N.

    Raises:
        TypeError: if an argument has the wrong type.
        ValueError: if an argument is negative or out of range, or the recipe unknown.

    Example:
        >>> fewest_devices(70e9, 3, 80e9), fewest_devices(70e9, 2, 80e9)
        (14, None)

    Source: Rajbhandari et al., "ZeRO", arXiv:1910.02054, figure 1, solved for N.
    """
    state = zero_memory_breakdown_exact(psi, 1, stage, recipe=recipe)
    split = sum((state[part] for part in _PARTITIONED[stage]), Fraction(0))
    room = amount("gpu_bytes", gpu_bytes) - amount("reserved_bytes", reserved_bytes)
    room -= state["total"] - split
    if room < 0 or (room == 0 and split > 0):
        return None
    return -(-split // room) if split else 1  # rounded up, without a float in between
