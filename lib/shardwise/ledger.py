"""The ledger: what was communicated, transfer by transfer.

Collectives write each transfer into every ledger that is being recorded, and nothing when none is.
Costs in the book, the frames of the ring widget and the checks of exercises are all read from it.

The recordings that are active live in a context variable, so threads and asyncio tasks don't see
one another's, and nested ones nest: the outer ledger also holds what the inner one recorded.
"""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import torch

from shardwise._checks import flag, integer

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True, slots=True, eq=False)
class Transfer:
    """One message from one device to another.

    Attributes:
        op: the kind of traffic it belongs to: "reduce_scatter", "all_gather", "send_forward", …
        step: when it travelled; transfers of one step are simultaneous. A ledger numbers its
            steps from 0, and the next collective continues where the last one stopped.
        source: rank of the sender.
        destination: rank of the receiver.
        num_bytes: size of the message in bytes.
        chunk: index of the chunk that travelled.
        payload: a detached copy of what was sent, where `record(payloads=True)` asked for it.
    """

    op: str
    step: int
    source: int
    destination: int
    num_bytes: int
    chunk: int
    payload: torch.Tensor | None = None


@dataclass(slots=True, eq=False)
class Ledger:
    """The transfers of one recording, in the order in which they happened.

    Attributes:
        transfers: every message.
        calls: name of every collective that ran, also of one that had nothing to move (N = 1).
        payloads: whether transfers keep a copy of what was sent.
        num_steps: number of steps so far; the latency of collectives that run one after the other
            is this many times alpha.
        recording: whether its block still runs.
    """

    transfers: list[Transfer] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)
    payloads: bool = False
    num_steps: int = field(default=0, init=False)
    recording: bool = field(default=True, init=False)

    def add(self, transfer: Transfer) -> None:
        """Write down one message."""
        self.transfers.append(transfer)
        self.num_steps = max(self.num_steps, transfer.step + 1)

    def total_bytes(self) -> int:
        """Bytes sent by all devices together, which are the bytes received by all together."""
        return sum(transfer.num_bytes for transfer in self.transfers)

    def sent_by(self, rank: int) -> int:
        """Bytes that device `rank` sent; 0 for one that sent nothing."""
        sender = integer("rank", rank)
        return sum(t.num_bytes for t in self.transfers if t.source == sender)

    def received_by(self, rank: int) -> int:
        """Bytes that device `rank` received; 0 for one that received nothing."""
        receiver = integer("rank", rank)
        return sum(t.num_bytes for t in self.transfers if t.destination == receiver)


_active: ContextVar[tuple[Ledger, ...]] = ContextVar("shardwise_ledgers", default=())


@contextmanager
def record(*, payloads: bool = False) -> Iterator[Ledger]:
    """Record what collectives move while the block runs.

    Args:
        payloads: keep a detached copy of every message as well (costs memory).

    Yields:
        The ledger, which stays readable after the block.

    Raises:
        TypeError: if `payloads` is no bool.

    Example:
        >>> import torch
        >>> from shardwise.collectives import ring_all_reduce
        >>> with record() as log:
        ...     _ = ring_all_reduce([torch.ones(1000) for _ in range(4)])
        >>> log.total_bytes(), log.sent_by(0), log.num_steps, log.calls
        (24000, 6000, 6, ['ring_all_reduce'])
    """
    ledger = Ledger(payloads=flag("payloads", payloads))
    _active.set((*_active.get(), ledger))
    try:
        # On CUDA, autograd runs backward in a thread of its own, which would not see the variable.
        with torch.autograd.set_multithreading_enabled(False):
            yield ledger
    finally:
        # A generator ends its block when and where it likes: others may have begun since and still
        # record, and the context that it began in may not be this one.
        ledger.recording = False
        _active.set(tuple(other for other in _active.get() if other is not ledger))


class Recorder:
    """Writes down the messages of one running collective, in the ledgers active at its start.

    Example:
        >>> import torch
        >>> with record() as log:
        ...     recorder = Recorder("greeting")
        ...     recorder.note("broadcast", 0, 0, 1, chunk=0, message=torch.ones(3))
        >>> log.transfers[0].num_bytes
        12
    """

    __slots__ = ("_ledgers",)

    def __init__(self, call: str) -> None:
        """Note the call, and the step from which each active ledger continues."""
        active = (ledger for ledger in _active.get() if ledger.recording)
        self._ledgers = [(ledger, ledger.num_steps) for ledger in active]
        for ledger, _ in self._ledgers:
            ledger.calls.append(call)

    def note(
        self,
        op: str,
        step: int,
        source: int,
        destination: int,
        chunk: int,
        message: torch.Tensor,
    ) -> None:
        """Record that `message` travels in `step` of this collective (counted from 0)."""
        for ledger, first_step in self._ledgers:
            ledger.add(
                Transfer(
                    op=op,
                    step=first_step + step,
                    source=source,
                    destination=destination,
                    num_bytes=message.numel() * message.element_size(),
                    chunk=chunk,
                    payload=message.detach().clone() if ledger.payloads else None,
                )
            )
