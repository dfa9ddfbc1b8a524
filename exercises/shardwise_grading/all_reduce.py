"""What a check asks of a solution whose devices add up by one ring all-reduce."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from shardwise_grading.world import Outcome, World

RING = "shardwise.collectives.ring_all_reduce"
POISON = 7
POISONED = f"with an all-reduce whose sums are {POISON} times too large: "


def poisoned(world: World) -> AbstractContextManager[None]:
    """Let the all-reduce answer with sums that are `POISON` times too large.

    A result that does not grow with them was not made from them.
    """
    return world.answering(RING, lambda tensors: [POISON * sum(tensors) for _ in tensors])


def not_one_all_reduce(outcome: Outcome, call: str, num_devices: int, num_bytes: int) -> str:
    """Say how a call's collectives differ from one all-reduce; empty when they don't.

    Args:
        outcome: what came of the call.
        call: the call as a message shows it.
        num_devices: how many tensors the all-reduce has to get.
        num_bytes: bytes of all of them together.

    Example:
        >>> from shardwise_grading import Outcome
        >>> not_one_all_reduce(Outcome(), "f(x)", 2, 8)
        'f(x) called ring_all_reduce 0 times; expected once'
    """
    calls = outcome.collectives
    if len(calls) != 1:
        return f"{call} called ring_all_reduce {len(calls)} times; expected once"
    got = len(calls[0].shapes)
    if got != num_devices:
        return f"{call} gave ring_all_reduce {got} tensors; expected {num_devices}"
    if calls[0].num_bytes != num_bytes:
        return f"{call} all-reduced {calls[0].num_bytes} bytes; expected {num_bytes}"
    return ""
