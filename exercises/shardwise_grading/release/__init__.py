"""What students get of an assignment: one folder that is complete on its own."""

from shardwise_grading.release.folder import make_release

__all__ = ["make_release"]
