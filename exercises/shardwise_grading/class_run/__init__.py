"""Grading of a whole class: work spread over processes, results saved as they come."""
