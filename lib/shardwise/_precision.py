"""Arithmetic in the dtypes of the tensors themselves, whatever autocast its caller is in."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from contextlib import AbstractContextManager


def without_autocast(device: torch.device) -> AbstractContextManager[object]:
    """Return a block in which operations on `device` keep the dtypes of what they are given.

    >>> x = torch.ones(2, 2)
    >>> with torch.autocast("cpu", dtype=torch.bfloat16), without_autocast(x.device):
    ...     (x @ x).dtype
    torch.float32
    """
    if torch.amp.is_autocast_available(device.type):
        return torch.autocast(device.type, enabled=False)
    return nullcontext()  # devices without numbers, as "meta"
