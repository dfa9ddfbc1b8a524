"""The causal work of each device under three layouts, as a widget."""

from __future__ import annotations

from functools import partial
from typing import ClassVar

from shardwise.ring_attention import LAYOUTS
from shardwise_widgets._checks import Checked, count, one_of
from shardwise_widgets.base import ShardwiseWidget

MIN_DEVICES, MAX_DEVICES = 2, 32
MAX_BLOCK = 256


class CausalBalance(ShardwiseWidget):
    """How many causal (query, key) pairs each device of an attention ring computes.

    The three layouts stand beside one another, the chosen one in front. With P devices, each waits
    for the busiest: the ring takes max ÷ mean times as long as with even work, which is 2 - 1/P for
    long contiguous blocks. All traits can be set later and stay in step with the controls.

    Args:
        devices: number of devices P, 2 to 32.
        block: tokens on each device, 1 to 256.
        layout: which tokens a device holds: "contiguous", "striped" or "zigzag".
        link: traits to share with other widgets, such as "devices".

    Raises:
        TypeError: if a number is given as something else; it is a traitlets.TraitError too.
        ValueError: if an argument is out of its range; likewise.

    Example:
        >>> balance = CausalBalance(devices=8, block=16, layout="striped")
        >>> balance.block = 0
        Traceback (most recent call last):
        shardwise_widgets._checks.TraitValueError: block=0 must be a whole number from 1 to 256

    Source: Brandon et al., "Striped Attention", arXiv:2311.09431, section 3.
    """

    shown: ClassVar[tuple[str, ...]] = ("devices", "block", "layout")
    devices = Checked(partial(count, least=MIN_DEVICES, most=MAX_DEVICES)).tag(sync=True)
    block = Checked(partial(count, least=1, most=MAX_BLOCK)).tag(sync=True)
    layout = Checked(partial(one_of, choices=LAYOUTS)).tag(sync=True)

    def __init__(
        self,
        devices: int = 8,
        block: int = 16,
        layout: str = "contiguous",
        *,
        link: str | None = None,
    ) -> None:
        """Check the arguments and open the widget."""
        super().__init__(devices=devices, block=block, layout=layout, link=link)
