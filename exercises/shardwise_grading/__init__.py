"""Grading of the exercises: hidden checks, the world they run in, and the student's own check."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shardwise_grading.results import Report, Result, first_message, judge, show
    from shardwise_grading.runner import grade
    from shardwise_grading.world import CollectiveCall, LocalWorld, Outcome, World

__all__ = [
    "CollectiveCall",
    "LocalWorld",
    "Outcome",
    "Report",
    "Result",
    "World",
    "first_message",
    "grade",
    "judge",
    "show",
]
MODULES = {
    "results": ("Report", "Result", "first_message", "judge", "show"),
    "runner": ("grade",),
    "world": ("CollectiveCall", "LocalWorld", "Outcome", "World"),
}


def __getattr__(name: str) -> Any:  # noqa: ANN401
    """Import what is asked for; torch takes a second, and a student's `check` has none to lose."""
    for module, names in MODULES.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def load_ipython_extension(shell: Any) -> None:  # noqa: ANN401
    """Give a notebook ``%check``, after ``%load_ext shardwise_grading``."""
    import_module(f"{__name__}.check.magic").register(shell)
