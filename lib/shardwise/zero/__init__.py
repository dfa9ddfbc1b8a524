"""ZeRO, executed: data parallelism on N simulated devices that split their training state."""

from __future__ import annotations

from shardwise.zero.mixed_adam import AdamSettings, MixedAdam
from shardwise.zero.trainer import ZeroTrainer

__all__ = ["AdamSettings", "MixedAdam", "ZeroTrainer"]
