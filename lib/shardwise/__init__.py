"""Distributed training from scratch, on torch."""
