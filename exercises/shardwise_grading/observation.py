"""What only the process of a student's code can see: what a call did to the tensors it was given.

A student who attacks the grader can forge these, so they are worth few points; values and
collectives are worth the rest.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

from shardwise_grading.data import tensor_type

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch import Tensor

CONTAINERS = {id(list), id(tuple)}
DEEPEST = 3
SHOWN = 3


@dataclass(frozen=True, slots=True)
class Observation:
    """What one call did to tensors, beside what it returned.

    Args:
        changed: what of the arguments is not what it was: ``"args[0][2]"`` for other values or
            another item in the list, ``"args[0].requires_grad"``, ``"args[0].grad"``.
        shared: pairs that use the same memory, as ``("result[0]", "args[0][1]")``.
        product_rows: rows of the largest tensor that entered a matrix product, forward or backward.
    """

    changed: tuple[str, ...] = ()
    shared: tuple[tuple[str, str], ...] = ()
    product_rows: int = 0

    def changes(self, *arguments: str) -> str:
        """Say what was changed, with the names of the arguments; empty when nothing was.

        Example:
            >>> Observation(changed=("args[1][0]", "args[0].grad")).changes("W", "xs")
            'changed xs[0] and W.grad; expected nothing to change'
        """
        names = list(self.changed[:SHOWN])
        for place, argument in enumerate(arguments):
            names = [name.replace(f"args[{place}]", argument) for name in names]
        return f"changed {' and '.join(names)}; expected nothing to change" if names else ""


class Observer:
    """Copies the arguments of a call, watches its products, and compares afterwards.

    Args:
        args: what the check wants to pass; never handed on itself.

    Example:
        >>> import torch
        >>> observer = Observer(([torch.ones(2), torch.zeros(2)],))
        >>> with observer.watching():
        ...     result = observer.given[0][0].add_(1)
        >>> observer.seen(result)
        Observation(changed=('args[0][0]',), shared=(('result', 'args[0][0]'),), product_rows=0)
    """

    def __init__(self, args: tuple[object, ...]) -> None:
        """Copy the arguments; a student's code gets the copies, laid out in memory alike."""
        self._args = args
        self.given = tuple(self._copy(argument) for argument in args)
        # A second reference to each item: the list itself may be changed by the call.
        self._items = dict(self._tensors("args", self.given))
        self._rows: Any = None

    def watching(self) -> AbstractContextManager[object]:
        """Count the rows that enter matrix products while the context lasts."""
        if not self._items:
            return nullcontext()
        from shardwise_grading.products import ProductRows  # noqa: PLC0415  (imports torch)

        self._rows = ProductRows()
        return self._rows  # type: ignore[no-any-return]

    def seen(self, value: object) -> Observation:
        """Compare arguments with what they were, and look for memory that results share."""
        if not self._items:
            return Observation()
        before = dict(self._tensors("args", self._args))
        now = dict(self._tensors("args", self.given))
        changed: list[str] = []
        for name in now | self._items:
            same = now.get(name) is self._items.get(name)
            changed += [name + part for part in _parts(now[name], before[name])] if same else [name]
        results = dict(self._tensors("result", value))
        places = [(name, _memory(tensor)) for name, tensor in (results | self._items).items()]
        shared = tuple(
            (one, other)
            for (one, here), (other, there) in combinations(places, 2)
            if one in results and here and here == there
        )
        return Observation(tuple(changed), shared, self._rows.most)

    def _copy(self, value: Any) -> Any:  # noqa: ANN401
        if id(type(value)) in CONTAINERS:
            return type(value)(self._copy(item) for item in value)
        return _copy_tensor(value) if type(value) is tensor_type() else value

    def _tensors(self, name: str, value: Any, depth: int = 0) -> Iterator[tuple[str, Any]]:  # noqa: ANN401
        if type(value) is tensor_type():
            yield name, value
        elif id(type(value)) in CONTAINERS and depth < DEEPEST:
            for index, item in enumerate(value):
                yield from self._tensors(f"{name}[{index}]", item, depth + 1)


def _copy_tensor(tensor: Tensor) -> Tensor:
    """Copy a tensor with its strides, so that a column of a matrix arrives as one."""
    whole = tensor.detach()
    copy = whole.new_empty(0).set_(
        whole.untyped_storage().clone(),  # type: ignore[no-untyped-call]
        whole.storage_offset(),
        whole.size(),
        whole.stride(),
    )
    copy.requires_grad_(tensor.requires_grad)
    if tensor.grad is not None:
        copy.grad = tensor.grad.clone()
    return copy


def _parts(now: Tensor, before: Tensor) -> list[str]:
    """Name what of a tensor is not what it was."""
    same = {
        "": _equal(now, before),
        ".requires_grad": now.requires_grad == before.requires_grad,
        ".grad": _equal(now.grad, before.grad),
    }
    return [part for part, is_same in same.items() if not is_same]


def _equal(one: Tensor | None, other: Tensor | None) -> bool:
    if one is None or other is None:
        return one is other
    return one.dtype == other.dtype and one.shape == other.shape and bool((one == other).all())


def _memory(tensor: Tensor) -> int:
    """Where the numbers of a dense tensor are; 0 where there are none."""
    try:
        return tensor.untyped_storage().data_ptr() if tensor.numel() else 0
    except (RuntimeError, NotImplementedError):  # sparse, for one: another check says so
        return 0
