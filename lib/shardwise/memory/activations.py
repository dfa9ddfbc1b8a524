"""Activation memory of transformer layers: what the backward pass needs kept from the forward pass.

Counted as Korthikanti et al. count: 16-bit activations, 1-byte dropout masks, a GeLU block of width
4h, softmax scores kept unless they are recomputed (a fused attention kernel keeps none of them:
that is `recompute="selective"`).
"""

from __future__ import annotations

from fractions import Fraction

from shardwise._checks import flag, integer, one_of, written

RECOMPUTATIONS = ("none", "selective", "full")
"""What the backward pass computes again: nothing, the attention core, or the whole layer."""


def activation_bytes(
    *,
    seq_len: int,
    micro_batch: int,
    hidden: int,
    num_heads: int,
    num_layers: int = 1,
    tensor_parallel: int = 1,
    sequence_parallel: bool = False,
    recompute: str = "none",
) -> int:
    """Return the bytes of activations that one device keeps for `num_layers` transformer layers.

    With s, b, h, a, L and t for the sizes in the order of the arguments, s·b·h·L times

    - "none": 10 + 24/t + 5as/(ht), and with sequence parallelism (34 + 5as/h)/t;
    - "selective" (the attention core is computed again): the same without the term in as/h;
    - "full" (only each layer's input is kept): 2, and with sequence parallelism 2/t.

    The source's table has 2 for "full" in every case. 2/t is ours: with sequence parallelism a
    layer's input reaches each device as its share of the tokens, and only that share is kept.

    Args:
        seq_len: tokens s in a sequence.
        micro_batch: sequences b in a micro-batch.
        hidden: width h of the model; a multiple of `num_heads`.
        num_heads: attention heads a; a multiple of `tensor_parallel`.
        num_layers: layers L on this device.
        tensor_parallel: devices t that share each layer.
        sequence_parallel: whether LayerNorms and dropouts are split over the t devices as well;
            then t must divide `seq_len`.
        recompute: one of `RECOMPUTATIONS`.

    Returns:
        Bytes for one micro-batch in flight, exact. Embedding and output layer are not counted.

    Raises:
        TypeError: if an argument has the wrong type.
        ValueError: if an argument is out of range or does not divide as stated.

    Example:
        >>> gpt3 = dict(seq_len=2048, micro_batch=1, hidden=12288, num_heads=96)
        >>> [activation_bytes(**gpt3, tensor_parallel=t) // 2**20 for t in (1, 8)]
        [2736, 552]

    Source: Korthikanti et al., "Reducing Activation Recomputation in Large Transformer Models",
    arXiv:2205.05198, table 2.
    """
    s = integer("seq_len", seq_len, minimum=1)
    b = integer("micro_batch", micro_batch, minimum=1)
    h = integer("hidden", hidden, minimum=1)
    a = integer("num_heads", num_heads, minimum=1)
    layers = integer("num_layers", num_layers)
    t = integer("tensor_parallel", tensor_parallel, minimum=1)
    split = t if flag("sequence_parallel", sequence_parallel) else 1
    _check_divides("num_heads", a, "hidden", h)
    _check_divides("tensor_parallel", t, "num_heads", a)
    if sequence_parallel:
        _check_divides("tensor_parallel", t, "seq_len", s)
    scores = Fraction(5 * a * s, h)
    per_element = {
        "none": Fraction(10, split) + (24 + scores) / t,
        "selective": Fraction(10, split) + Fraction(24, t),
        "full": Fraction(2, split),
    }[one_of("recompute", recompute, RECOMPUTATIONS)]
    return int(s * b * h * layers * per_element)


def _check_divides(small: str, divisor: int, large: str, number: int) -> None:
    if number % divisor:
        raise ValueError(
            f"{small}={written(divisor)} does not divide {large}={written(number)}: "
            "the formulas need equal parts"
        )
