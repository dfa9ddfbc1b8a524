"""Widgets that run in Jupyter and, without a kernel, in the book."""
