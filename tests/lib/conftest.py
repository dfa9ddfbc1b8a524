"""What the tests of the library share: devices, tolerances, and bits."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import torch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]


@pytest.fixture(scope="session", autouse=True)
def _one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session", params=DEVICES)
def device(request: pytest.FixtureRequest) -> str:
    """Each device that this machine has."""
    return request.param


@pytest.fixture(scope="session")
def rounding_bound() -> Callable[[torch.dtype, int, float], float]:
    """The one tolerance: how far `terms` rounded operations can lead from the exact value.

    Each operation errs by at most eps/2 relative to sums whose absolute values add up to
    `magnitude`. Twice that covers second-order terms while terms·eps < 1, and the smallest
    subnormal for each operation covers underflow.
    """

    def bound(dtype: torch.dtype, terms: int, magnitude: float) -> float:
        info = torch.finfo(dtype)
        assert terms * info.eps < 1, "too many terms for this dtype: the bound would say nothing"
        return terms * (info.eps * magnitude + info.smallest_normal * info.eps)

    return bound


@pytest.fixture(scope="session")
def bits() -> Callable[[torch.Tensor], list[int]]:
    """The bytes of a tensor's elements, in which NaNs and signed zeros can be compared."""

    def read(tensor: torch.Tensor) -> list[int]:
        packed = tensor.detach().cpu().clone(memory_format=torch.contiguous_format)
        return packed.view(-1).view(torch.uint8).tolist()

    return read
