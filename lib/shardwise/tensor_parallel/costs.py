"""What a split transformer layer communicates, as a formula.

The ledger counts the same from what really travels; tests hold one against the other.
"""

from __future__ import annotations

from fractions import Fraction

from shardwise._checks import as_float, flag, integer


def layer_communication_elements_exact(
    batch_size: int, seq_len: int, d_model: int, num_devices: int, *, recompute: bool = False
) -> Fraction:
    """Return `layer_communication_elements` as an exact fraction.

    Example:
        >>> layer_communication_elements_exact(1, 10, 1, 3)
        Fraction(160, 3)
    """
    size = 1
    for name, value in (("batch_size", batch_size), ("seq_len", seq_len), ("d_model", d_model)):
        size *= integer(name, value)
    count = integer("num_devices", num_devices, minimum=1)
    all_reduces = 6 if flag("recompute", recompute) else 4
    return Fraction(all_reduces * 2 * (count - 1) * size, count)


def layer_communication_elements(
    batch_size: int, seq_len: int, d_model: int, num_devices: int, *, recompute: bool = False
) -> float:
    """Return the elements that each device sends for one layer, both ways: 8(t-1)/t · bsh.

    Forward and backward make four all-reduces of an activation of b·s·h elements, 2(t-1)/t · bsh
    each; with full recomputation the forward pass and its two run again, which makes six. Where t
    does not divide b·s·h, devices differ by chunk sizes and this is their mean.

    Args:
        batch_size: sequences b in a micro-batch.
        seq_len: tokens s in a sequence.
        d_model: width h.
        num_devices: tensor-parallel devices t ≥ 1.
        recompute: whether the backward pass runs the whole forward pass again.

    Returns:
        Elements sent per device and micro-batch (as many are received); times bytes per element is
        bytes. Sequence parallelism moves the same.

    Raises:
        TypeError: if an argument has the wrong type.
        ValueError: if an argument is out of range.

    Example:
        >>> layer_communication_elements(1, 2048, 12288, 8) * 2 / 1e6  # GPT-3 in bf16, in MB
        352.321536

    Source: Narayanan et al., arXiv:2104.04473, section 3.2.
    """
    exact = layer_communication_elements_exact(
        batch_size, seq_len, d_model, num_devices, recompute=recompute
    )
    return as_float(exact, "use layer_communication_elements_exact")
