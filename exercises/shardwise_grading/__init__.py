"""Grading of the exercises."""
