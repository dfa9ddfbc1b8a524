"""The bubble of a pipeline over the number of micro-batches, as a widget."""

from __future__ import annotations

from functools import partial
from typing import ClassVar

from shardwise_widgets._checks import Checked, count, one_of
from shardwise_widgets.base import ShardwiseWidget

MAX_STAGES, MAX_MICROBATCHES = 64, 256
TARGETS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5)


class PipelineBubble(ShardwiseWidget):
    """The share of time that a pipeline of equal stages idles, by both definitions in use.

    (P - 1)/(M + P - 1) of the total time, or (P - 1)/M of the ideal time. All traits can be set
    later and stay in step with the controls.

    Args:
        stages: stages P, 1 to 64.
        microbatches: micro-batches M, 1 to 256.
        target: a share of the total time, for which the fewest micro-batches are given: 0.01, 0.02,
            0.05, 0.1, 0.2 or 0.5.
        link: traits to share with other widgets, such as "stages".

    Raises:
        TypeError: if a number is given as something else; it is a traitlets.TraitError too.
        ValueError: if an argument is out of its range; likewise.

    Example:
        >>> bubble = PipelineBubble(stages=4, microbatches=8)
        >>> bubble.stages = 0
        Traceback (most recent call last):
        shardwise_widgets._checks.TraitValueError: stages=0 must be a whole number from 1 to 64
    """

    shown: ClassVar[tuple[str, ...]] = ("stages", "microbatches", "target")
    stages = Checked(partial(count, least=1, most=MAX_STAGES)).tag(sync=True)
    microbatches = Checked(partial(count, least=1, most=MAX_MICROBATCHES)).tag(sync=True)
    target = Checked(partial(one_of, choices=TARGETS)).tag(sync=True)

    def __init__(
        self,
        stages: int = 4,
        microbatches: int = 8,
        target: float = 0.1,
        *,
        link: str | None = None,
    ) -> None:
        """Check the arguments and open the widget."""
        super().__init__(stages=stages, microbatches=microbatches, target=target, link=link)
