"""Builds the book where the quarto program is not installed."""
