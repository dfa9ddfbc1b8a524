"""Communication volume: what collectives and ZeRO stages send, as formulas.

The ledger counts the same from what really travels; tests hold one against the other.
"""

from __future__ import annotations

from fractions import Fraction

from shardwise._checks import as_float, integer, whole

_ZERO_TRIPS = (2, 2, 2, 3)  # reduce-scatters and all-gathers of all parameters, by stage


def ring_all_reduce_bytes_exact(num_bytes: float, num_devices: int) -> Fraction:
    """Return 2(N-1)/N · M as an exact fraction; see `ring_all_reduce_bytes`.

    Example:
        >>> ring_all_reduce_bytes_exact(1000, 3)
        Fraction(4000, 3)
    """
    size = whole("num_bytes", num_bytes)
    count = integer("num_devices", num_devices, minimum=1)
    return Fraction(2 * (count - 1) * size, count)


def ring_all_reduce_bytes(num_bytes: float, num_devices: int) -> float:
    """Return the bytes that each device sends in one ring all-reduce: 2(N-1)/N · M.

    It receives as many. The number grows from M at N = 2 towards 2M. Where N does not divide the
    number of elements, devices differ by chunk sizes and this is their mean: the sum over all
    devices is 2(N-1)·M exactly. The latency, 2(N-1) steps, is not in it.

    Args:
        num_bytes: size M of one device's tensor in bytes.
        num_devices: N ≥ 1.

    Returns:
        Bytes sent per device.

    Raises:
        TypeError: if an argument is no number.
        ValueError: if M is negative or not whole, or N < 1.

    Example:
        >>> ring_all_reduce_bytes(4000, 4)
        6000.0

    Source: Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms", JPDC 69(2), 2009.
    """
    return as_float(
        ring_all_reduce_bytes_exact(num_bytes, num_devices), "use ring_all_reduce_bytes_exact"
    )


def zero_communication_elements_exact(psi: float, num_devices: int, stage: int) -> Fraction:
    """Return `zero_communication_elements` as an exact fraction.

    Example:
        >>> zero_communication_elements_exact(100, 3, 3)
        Fraction(200, 1)
    """
    count = whole("psi", psi)
    devices = integer("num_devices", num_devices, minimum=1)
    trips = _ZERO_TRIPS[integer("stage", stage, maximum=3)]
    return Fraction(trips * count * (devices - 1), devices)


def zero_communication_elements(psi: float, num_devices: int, stage: int) -> float:
    """Return the elements that each device sends in one optimizer step: kΨ(N-1)/N.

    k = 2 at stage 0 (an all-reduce of the gradients) and at stages 1 and 2 (a reduce-scatter of the
    gradients and an all-gather of the parameters: the same two trips), k = 3 at stage 3 (parameters
    gathered for the forward pass and again for the backward pass, gradients reduce-scattered).

    Args:
        psi: number of parameters Ψ ≥ 0; a whole number, which may be written 7.5e9.
        num_devices: data-parallel devices N ≥ 1.
        stage: 0 (plain data parallelism), 1, 2 or 3.

    Returns:
        Elements sent per device and step (as many are received); times bytes per element is bytes.

    Raises:
        TypeError: if an argument has the wrong type.
        ValueError: if an argument is out of range.

    Example:
        >>> [zero_communication_elements(1_000_000, 4, stage) for stage in range(4)]
        [1500000.0, 1500000.0, 1500000.0, 2250000.0]

    Source: Rajbhandari et al., "ZeRO", arXiv:1910.02054, section 7.
    """
    exact = zero_communication_elements_exact(psi, num_devices, stage)
    return as_float(exact, "use zero_communication_elements_exact")
