"""The devices of an attention ring: who computes which block when, and what travels.

Nothing is checked here. Tensors hold the tokens of all devices, in device order, in dimension -2,
which is split into shards. Shapes as in `_tiles`, with L tokens; masks (B, 1, 1, L, 1).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Protocol

import torch

from shardwise.ledger import Recorder
from shardwise.ring_attention._tiles import Logits, State, Triple
from shardwise.ring_attention.layout import Runs, run_size, visible_parts

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Tensors = tuple[torch.Tensor, ...]


class Kernel(Protocol):
    """How a device computes one block."""

    def start(self, q: torch.Tensor, value_size: int, dtype: torch.dtype, /) -> State:
        """Return the state of queries that have seen nothing."""

    def absorb(
        self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, state: State, logits: Logits, /
    ) -> None:
        """Fold a block into the state."""

    def finish(self, state: State, /) -> tuple[torch.Tensor, torch.Tensor]:
        """Return output and log-sum-exp."""

    def add_gradients(self, qkv: Triple, saved: Triple, grads: Triple, logits: Logits, /) -> None:
        """Add what a block contributes to the gradients of q, k and v."""


@dataclass(frozen=True, slots=True)
class Ring:
    """P devices, and what each does with a block.

    Attributes:
        runs: the positions of each device's tokens.
        causal: whether a token sees only itself and earlier ones.
        scale: factor of the logits.
        kernel: how a block is computed.
    """

    runs: list[Runs]
    causal: bool
    scale: float
    kernel: Kernel

    def forward(
        self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: Tensors, dtype: torch.dtype
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return output and log-sum-exp in `dtype`, after P steps in which K and V travel.

        No device changes what travels, so one after the other goes through all its steps here,
        while its queries are in the cache.
        """
        recorder, num_devices = Recorder("ring_attention"), len(self.runs)
        state = self.kernel.start(q, v.shape[-1], dtype)
        mine, blocks = self._shards(q, *state), self._shards(k, v, *mask)
        for rank, step in product(range(num_devices), range(num_devices)):
            for block, rows, cols, triangular in self._work(rank, step):
                queries, *sums = _tokens(mine[rank], rows)
                keys, values, *seen = _tokens(blocks[block], cols)
                self.kernel.absorb(
                    queries, keys, values, tuple(sums), self._logits(triangular, seen)
                )
        for step in range(num_devices):
            self._pass_on(recorder, "ring_attention_kv", step, blocks)
        return self.kernel.finish(state)

    def backward(self, qkv: Triple, mask: Tensors, saved: Triple) -> Triple:
        """Return dQ, dK and dV in the dtype of lse; `saved` is the output, its gradient, lse.

        dK and dV travel with their block and take one hop more than it, to the device it came from.
        """
        recorder, num_devices = Recorder("ring_attention_backward"), len(self.runs)
        # Made from the gradient that comes in: torch.func may give many of them at once.
        dq, dk, dv = (saved[1].new_zeros(x.shape, dtype=saved[2].dtype) for x in qkv)
        mine, blocks = self._shards(qkv[0], *saved, dq), self._shards(*qkv[1:], *mask)
        travelling = self._shards(dk, dv)
        for step in range(num_devices):
            for rank in range(num_devices):
                for block, rows, cols, triangular in self._work(rank, step):
                    queries, out, grad_out, lse, dq_rows = _tokens(mine[rank], rows)
                    keys, values, *seen = _tokens(blocks[block], cols)
                    dk_rows, dv_rows = _tokens(travelling[block], cols)
                    self.kernel.add_gradients(
                        (queries, keys, values),
                        (out, grad_out, lse),
                        (dq_rows, dk_rows, dv_rows),
                        self._logits(triangular, seen),
                    )
            self._pass_on(recorder, "ring_attention_kv", step, blocks)
            self._pass_on(recorder, "ring_attention_dkv", step, travelling, home=True)
        return dq, dk, dv

    def _shards(self, *tensors: torch.Tensor) -> list[Tensors]:
        sizes = [sum(map(run_size, runs)) for runs in self.runs]
        return list(zip(*(torch.split(x, sizes, -2) for x in tensors), strict=True))

    def _work(self, rank: int, step: int) -> Iterator[tuple[int, slice, slice, bool]]:
        """Yield (block, rows, columns, triangular) for all that a device computes in a step."""
        block = (rank - step) % len(self.runs)
        for part in visible_parts(self.runs[rank], self.runs[block], causal=self.causal):
            yield block, part.rows, part.cols, part.triangular

    def _logits(self, triangular: bool, seen: Sequence[torch.Tensor]) -> Logits:
        return Logits(self.scale, triangular, seen[0].mT if seen else None)

    def _pass_on(
        self, recorder: Recorder, op: str, step: int, blocks: list[Tensors], *, home: bool = False
    ) -> None:
        """Send each block to the right neighbour; after the last step only what must go home."""
        num_devices = len(blocks)
        if num_devices == 1 or (step == num_devices - 1 and not home):
            return
        for rank in range(num_devices):
            block = (rank - step) % num_devices
            for message in blocks[block]:
                recorder.note(
                    op,
                    step,
                    source=rank,
                    destination=(rank + 1) % num_devices,
                    chunk=block,
                    message=message,
                )


def _tokens(tensors: Tensors, tokens: slice) -> Tensors:
    return tuple(x[..., tokens, :] for x in tensors)
