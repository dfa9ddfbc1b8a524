"""What each stage of ZeRO leaves on a device, and what a step sends, as a widget."""

from __future__ import annotations

from functools import partial
from typing import ClassVar

from shardwise_widgets._checks import Checked, count
from shardwise_widgets.base import ShardwiseWidget
from shardwise_widgets.memory_budget import MAX_DEVICES, MAX_PARAMS, MIN_PARAMS

LAST_STAGE = 3


class ZeroStages(ShardwiseWidget):
    """What each of N devices holds under a stage of ZeRO, and the collectives of a training step.

    A parameter costs 2 bytes of weights, 2 of gradients and 12 of optimizer state, as in
    `shardwise.memory`; what travels has 2 bytes, and is counted as in `shardwise.communication`.
    Not counted are padding where N does not divide the parameters, activations, and the layer that
    stage 3 gathers. All traits can be set later and stay in step with the controls.

    Args:
        params: number of parameters, 1e8 to 2e12.
        devices: data-parallel devices N, 1 to 4096.
        step: the ZeRO stage: 0 (plain data parallelism), 1, 2 or 3.
        link: traits to share with other widgets, such as "devices".

    Raises:
        TypeError: if a number is given as something else; it is a traitlets.TraitError too.
        ValueError: if an argument is out of its range; likewise.

    Example:
        >>> stages = ZeroStages(params=7.5e9, devices=64, step=2)
        >>> stages.step = 4
        Traceback (most recent call last):
        shardwise_widgets._checks.TraitValueError: step=4 must be a whole number from 0 to 3
    """

    shown: ClassVar[tuple[str, ...]] = ("params", "devices", "step")
    params = Checked(partial(count, least=MIN_PARAMS, most=MAX_PARAMS)).tag(sync=True)
    devices = Checked(partial(count, least=1, most=MAX_DEVICES)).tag(sync=True)
    step = Checked(partial(count, least=0, most=LAST_STAGE)).tag(sync=True)

    def __init__(
        self,
        params: float = 7.5e9,
        devices: int = 64,
        step: int = 0,
        *,
        link: str | None = None,
    ) -> None:
        """Check the arguments and open the widget."""
        super().__init__(params=params, devices=devices, step=step, link=link)
