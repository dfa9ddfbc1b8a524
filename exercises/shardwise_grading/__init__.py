"""Grading of the exercises: hidden checks, the world they run in, and a sample class."""

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
