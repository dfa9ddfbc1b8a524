"""Memory of training: bytes per parameter, what the stages of ZeRO split, and activations."""

from __future__ import annotations

from shardwise.memory.activations import RECOMPUTATIONS, activation_bytes
from shardwise.memory.budget import (
    fewest_devices,
    training_memory_bytes,
    zero_memory_breakdown,
    zero_memory_breakdown_exact,
    zero_memory_per_device,
    zero_memory_per_device_exact,
)
from shardwise.memory.recipes import RECIPES, Recipe

__all__ = [
    "RECIPES",
    "RECOMPUTATIONS",
    "Recipe",
    "activation_bytes",
    "fewest_devices",
    "training_memory_bytes",
    "zero_memory_breakdown",
    "zero_memory_breakdown_exact",
    "zero_memory_per_device",
    "zero_memory_per_device_exact",
]
