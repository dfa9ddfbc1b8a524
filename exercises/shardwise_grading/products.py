"""How many rows enter a matrix product: what tells one micro-batch from the whole batch."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

MATRIX = 2
PRODUCTS = {
    f"aten::{name}"
    for name in ("mm", "bmm", "addmm", "baddbmm", "addbmm", "mv", "addmv", "dot", "vdot", "linear")
}


class ProductRows(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Keeps the rows of the largest tensor that a matrix product got.

    It listens below autograd, so it sees the products of a backward pass, those that ``einsum`` is
    made of, and those inside ``torch.func.vmap``, which a ``TorchFunctionMode`` does not.

    Example:
        >>> x, weight = torch.ones(5, 3), torch.ones(2, 3, requires_grad=True)
        >>> with ProductRows() as rows:
        ...     (x @ weight.T).sum().backward()
        >>> rows.most
        5
    """

    def __init__(self) -> None:
        """Start with no product seen."""
        super().__init__()  # type: ignore[no-untyped-call]
        self.most = 0

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Have the method below called as it is: wrapping it imports torch's compiler (seconds)."""
        return False

    def __torch_dispatch__(
        self,
        func: Any,  # noqa: ANN401
        types: object,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:  # noqa: ANN401
        """Look at the operands of a product, and let it happen."""
        if func.name().partition(".")[0] in PRODUCTS:
            operands = [arg for arg in args if isinstance(arg, torch.Tensor)]
            self.most = max([self.most, *map(rows, operands)])
        return func(*args, **(kwargs or {}))


def rows(operand: torch.Tensor) -> int:
    """Count the rows of a tensor as a stack of matrices, whichever way round they are.

    Example:
        >>> rows(torch.ones(5, 3)), rows(torch.ones(3, 5)), rows(torch.ones(4, 5, 3))
        (5, 5, 20)
    """
    if operand.ndim < MATRIX:
        return operand.numel()
    smaller = min(operand.shape[-2:])
    return operand.numel() // smaller if smaller else 0
