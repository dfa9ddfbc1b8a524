"""How much time and space the work of one student may take."""

from __future__ import annotations

from dataclasses import dataclass, field

from shardwise_grading.sandbox import Limits


@dataclass(frozen=True, slots=True)
class GradingLimits:
    """Limits of one notebook.

    Args:
        cell_seconds: how long a cell may run, in seconds.
        notebook_seconds: how long all cells and checks of a notebook may take together, in seconds.
        output: characters that a cell may show; the rest is dropped.
        sandbox: what the student's processes may hold.
    """

    cell_seconds: float = 30.0
    notebook_seconds: float = 120.0
    output: int = 50_000
    sandbox: Limits = field(default_factory=Limits)
