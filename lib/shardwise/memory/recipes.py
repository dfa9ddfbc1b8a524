"""Recipes: how many bytes of state each parameter costs in training, and where they go."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from shardwise._checks import integer, written

if TYPE_CHECKING:
    from collections.abc import Mapping

PARTS = ("params", "grads", "optimizer")
"""The three kinds of state, in the order in which a recipe's name lists their bytes."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """Bytes that one parameter costs in training.

    Attributes:
        name: "params+grads+optimizer" in bytes.
        params: bytes of the weights that forward and backward use.
        grads: bytes of the gradients.
        optimizer: bytes of the optimizer state, with the fp32 master copy where there is one.
        description: who trains like this.

    Raises:
        TypeError: if a byte count is no int, or a text no str.
        ValueError: if a byte count is negative.

    Example:
        >>> Recipe("2+2+6", 2, 2, 6, "bf16 weights, 8-bit Adam with fp32 master").bytes_per_param
        10
    """

    name: str
    params: int
    grads: int
    optimizer: int
    description: str

    def __post_init__(self) -> None:
        """Reject names that are no text, and byte counts that are no integers or negative."""
        for word in ("name", "description"):
            if not isinstance(getattr(self, word), str):
                raise TypeError(f"{word}={written(getattr(self, word))} must be a str")
        for part in PARTS:  # ints of Python, as others may overflow in sums
            object.__setattr__(self, part, integer(part, getattr(self, part)))

    @property
    def bytes_per_param(self) -> int:
        """Bytes of all three parts together."""
        return self.params + self.grads + self.optimizer


RECIPES: Mapping[str, Recipe] = MappingProxyType(
    {
        recipe.name: recipe
        for recipe in (
            Recipe("2+2+12", 2, 2, 12, "16-bit weights and gradients, Adam with fp32 master copy"),
            Recipe("2+4+12", 2, 4, 12, "Megatron-LM: as 2+2+12 with fp32 gradients"),
            Recipe("2+6+12", 2, 6, 12, "bf16 gradients plus an fp32 accumulation buffer"),
            Recipe(
                "4+4+8", 4, 4, 8, "fp32 weights and gradients: torch AMP, FSDP2 on fp32 weights"
            ),
            Recipe(
                "2+0+8",
                2,
                0,
                8,
                "bf16 weights, fp32 Adam moments, no master; "
                "gradients applied and freed as they come, so none is counted",
            ),
            Recipe("2+2+4", 2, 2, 4, "pure bf16, Adam moments too"),
        )
    }
)
"""The recipes in use, by name."""


def find_recipe(recipe: str | Recipe) -> Recipe:
    """Return the recipe of that name, or the recipe itself.

    Example:
        >>> find_recipe("4+4+8").bytes_per_param
        16
    """
    if isinstance(recipe, Recipe):
        return recipe
    if not isinstance(recipe, str):
        raise TypeError(f"recipe={written(recipe)} must be a name from RECIPES or a Recipe")
    if recipe not in RECIPES:
        raise ValueError(f"recipe={written(recipe)} is unknown: choose from {', '.join(RECIPES)}")
    return RECIPES[recipe]
