"""Where gradients are computed inside a function, whatever mode its caller is in."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def recording_gradients() -> Iterator[None]:
    """Record a graph while the block runs, also where the caller's mode would record none."""
    with torch.inference_mode(False), torch.enable_grad():
        yield


def without_history(tensor: torch.Tensor) -> torch.Tensor:
    """Return a tensor of the same numbers that a graph can begin with.

    One that was made in inference mode has to be copied; others keep their memory.
    """
    return tensor.clone() if tensor.is_inference() else tensor.detach()
