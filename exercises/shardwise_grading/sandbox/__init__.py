"""Enclose a student's code: what it sees, whom it reaches, and how much it takes."""

from shardwise_grading.sandbox.bubblewrap import bubblewrap_command, settle
from shardwise_grading.sandbox.enclosure import enter
from shardwise_grading.sandbox.limits import Limits
from shardwise_grading.sandbox.privileges import die_with
from shardwise_grading.sandbox.protections import (
    PROTECTIONS,
    Protection,
    ProtectionError,
    available,
    best,
    describe,
)
from shardwise_grading.sandbox.readable import readable_paths
from shardwise_grading.sandbox.watch import stop, watch

__all__ = [
    "PROTECTIONS",
    "Limits",
    "Protection",
    "ProtectionError",
    "available",
    "best",
    "bubblewrap_command",
    "describe",
    "die_with",
    "enter",
    "readable_paths",
    "settle",
    "stop",
    "watch",
]
