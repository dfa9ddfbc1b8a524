"""The memory budget of training, as a widget."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from typing import Any, ClassVar

import traitlets

from shardwise.memory.recipes import RECIPES
from shardwise_widgets._checks import Checked, count, number, one_of
from shardwise_widgets.base import ShardwiseWidget

GPUS = (24, 40, 80, 141, 192)
STAGES = (0, 1, 2, 3)
MIN_PARAMS, MAX_PARAMS = 10**8, 2 * 10**12
MAX_DEVICES = 4096


class MemoryBudget(ShardwiseWidget):
    """What training a model takes on each device under ZeRO, against the memory of one GPU.

    All traits can be set later and stay in step with the controls. GB is 10⁹ bytes.

    Args:
        params: number of parameters, 1e8 to 2e12.
        devices: data-parallel devices, 1 to 4096.
        stage: ZeRO stage 0 (plain data parallelism), 1, 2 or 3.
        gpu: GB of one GPU: 24, 40, 80, 141 or 192.
        recipe: bytes per parameter, a name from `shardwise.memory.recipes.RECIPES`.
        activations: GB of activations on each device, 0 to 192.
        link: traits to share with other widgets, such as "devices".

    Raises:
        TypeError: if a number is given as something else; it is a traitlets.TraitError too.
        ValueError: if an argument is out of its range; likewise.

    Example:
        >>> budget = MemoryBudget(params=70e9, devices=64, stage=3)
        >>> budget.stage = 4
        Traceback (most recent call last):
        shardwise_widgets._checks.TraitValueError: stage=4 must be one of 0, 1, 2, 3
    """

    shown: ClassVar[tuple[str, ...]] = (
        "params",
        "devices",
        "stage",
        "gpu",
        "recipe",
        "activations",
        "recipes",
    )
    params = Checked(partial(count, least=MIN_PARAMS, most=MAX_PARAMS)).tag(sync=True)
    devices = Checked(partial(count, least=1, most=MAX_DEVICES)).tag(sync=True)
    stage = Checked(partial(one_of, choices=STAGES)).tag(sync=True)
    gpu = Checked(partial(one_of, choices=GPUS)).tag(sync=True)
    recipe = Checked(partial(one_of, choices=tuple(RECIPES))).tag(sync=True)
    activations = Checked(partial(number, most=max(GPUS))).tag(sync=True)
    recipes: traitlets.List[dict[str, Any]] = traitlets.List(read_only=True).tag(sync=True)

    def __init__(
        self,
        params: float = 7.5e9,
        devices: int = 64,
        stage: int = 0,
        gpu: int = 80,
        recipe: str = "2+2+12",
        activations: float = 0,
        *,
        link: str | None = None,
    ) -> None:
        """Check the arguments and open the widget."""
        self.set_trait("recipes", [asdict(entry) for entry in RECIPES.values()])
        super().__init__(
            params=params,
            devices=devices,
            stage=stage,
            gpu=gpu,
            recipe=recipe,
            activations=activations,
            link=link,
        )
