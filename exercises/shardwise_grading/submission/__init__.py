"""What a student handed in, brought into the order and the cells of the instructor's notebook."""

from shardwise_grading.submission.layout import Layout, layouts, read_layout
from shardwise_grading.submission.read import MAX_BYTES, missing, read_script

__all__ = ["MAX_BYTES", "Layout", "layouts", "missing", "read_layout", "read_script"]
