"""Feedback pages: each property with its message, beside the student's own code."""

from shardwise_grading.feedback.write import feedback_pages, write_feedback

__all__ = ["feedback_pages", "write_feedback"]
