"""The memory budget of training, as a widget."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, ClassVar

import traitlets

from shardwise.recipes import RECIPES
from shardwise_widgets._checks import count, number, one_of
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
        recipe: bytes per parameter, a name from `shardwise.recipes.RECIPES`.
        activations: GB of activations on each device, 0 to 192.

    Raises:
        TypeError: if a number is given as something else.
        ValueError: if an argument is out of its range.

    Example:
        >>> budget = MemoryBudget(params=70e9, devices=64, stage=3)
        >>> budget.stage = 4
        Traceback (most recent call last):
        ValueError: stage=4 must be one of 0, 1, 2, 3
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
    params = traitlets.Any().tag(sync=True)
    devices = traitlets.Any().tag(sync=True)
    stage = traitlets.Any().tag(sync=True)
    gpu = traitlets.Any().tag(sync=True)
    recipe = traitlets.Any().tag(sync=True)
    activations = traitlets.Any().tag(sync=True)
    recipes: traitlets.List[dict[str, Any]] = traitlets.List(read_only=True).tag(sync=True)

    def __init__(
        self,
        params: float = 7.5e9,
        devices: int = 64,
        stage: int = 0,
        gpu: int = 80,
        recipe: str = "2+2+12",
        activations: float = 0,
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
        )

    @traitlets.validate("params")
    def _check_params(self, proposal: dict[str, Any]) -> int:
        return count("params", proposal["value"], MIN_PARAMS, MAX_PARAMS)

    @traitlets.validate("devices")
    def _check_devices(self, proposal: dict[str, Any]) -> int:
        return count("devices", proposal["value"], 1, MAX_DEVICES)

    @traitlets.validate("stage")
    def _check_stage(self, proposal: dict[str, Any]) -> int:
        one_of("stage", proposal["value"], STAGES)
        return int(proposal["value"])

    @traitlets.validate("gpu")
    def _check_gpu(self, proposal: dict[str, Any]) -> int:
        one_of("gpu", proposal["value"], GPUS)
        return int(proposal["value"])

    @traitlets.validate("recipe")
    def _check_recipe(self, proposal: dict[str, Any]) -> str:
        one_of("recipe", proposal["value"], tuple(RECIPES))
        return str(proposal["value"])

    @traitlets.validate("activations")
    def _check_activations(self, proposal: dict[str, Any]) -> float:
        return number("activations", proposal["value"], max(GPUS))
