"""Which token sits on which device of a ring, and what each may see of another under a causal mask.

A device holds one arithmetic run of positions ("contiguous", "striped") or two ("zigzag"). Two runs
meet under a causal mask in one of three ways only: all pairs are visible, none is, or they form a
triangle. The kernels of ring attention and the counts of its work are both built on that.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import torch

from shardwise._checks import integer, one_of
from shardwise._tensors import dense_tensor, split_dim

if TYPE_CHECKING:
    from collections.abc import Iterator

LAYOUTS = ("contiguous", "striped", "zigzag")
"""How a sequence may be dealt out to the devices."""
_MOST_DEVICES = 1_000_000  # each has a list entry or more in what is returned

Runs = tuple[range, ...]  # the positions of one device, none of the runs empty


def _cut(length: int, pieces: int) -> list[range]:
    """Cut 0 … length-1 as `torch.tensor_split` does: the first pieces are longer by one."""
    size, longer = divmod(length, pieces)
    edges = [piece * size + min(piece, longer) for piece in range(pieces + 1)]
    return [range(start, end) for start, end in pairwise(edges)]


def device_runs(seq_len: int, num_devices: int, layout: str) -> list[Runs]:
    """Return each device's positions, as one or two runs; `sequence_layout` lists them."""
    length = integer("seq_len", seq_len, minimum=1)
    count = integer("num_devices", num_devices, minimum=1, maximum=min(length, _MOST_DEVICES))
    chosen = one_of("layout", layout, LAYOUTS)
    if chosen == "striped":
        return [(range(rank, length, count),) for rank in range(count)]
    if chosen == "contiguous":
        return [(run,) for run in _cut(length, count)]
    halves = _cut(length, 2 * count)
    pairs = [(halves[rank], halves[2 * count - 1 - rank]) for rank in range(count)]
    return [tuple(run for run in pair if run) for pair in pairs]


def sequence_layout(
    seq_len: int, num_devices: int, layout: str = "contiguous"
) -> list[torch.Tensor]:
    """Return the position ids of the tokens that each device holds, in ascending order.

    With P devices, device p holds "contiguous": piece p of P; "striped": positions p, p + P,
    p + 2P, …; "zigzag": pieces p and 2P-1-p of 2P. Pieces are cut as `torch.tensor_split` cuts, so
    P need not divide the length. Rotary embeddings must be given these ids, as a token keeps its
    position wherever it is computed.

    Args:
        seq_len: tokens L ≥ 1.
        num_devices: P, from 1 to L: no device is left empty. At most a million.
        layout: "contiguous", "striped" or "zigzag".

    Returns:
        P int64 tensors; together they hold 0 … L-1 once each.

    Raises:
        TypeError: if an argument has the wrong type.
        ValueError: if L < 1, P < 1, P > L, or the layout is unknown.

    Example:
        >>> [ids.tolist() for ids in sequence_layout(8, 2, "zigzag")]
        [[0, 1, 6, 7], [2, 3, 4, 5]]
        >>> [ids.tolist() for ids in sequence_layout(8, 3, "striped")]
        [[0, 3, 6], [1, 4, 7], [2, 5]]

    Source: Brandon et al., "Striped Attention", arXiv:2311.09431, section 3; zigzag: Grattafiori et
    al., "The Llama 3 Herd of Models", arXiv:2407.21783, section 3.3.2.
    """
    length = integer("seq_len", seq_len, minimum=1, maximum=2**63 - 1)  # which int64 can count
    return _position_ids(device_runs(length, num_devices, layout))


def _position_ids(devices: list[Runs], where: torch.device | None = None) -> list[torch.Tensor]:
    return [
        torch.cat([torch.arange(r.start, r.stop, r.step, device=where) for r in runs])
        for runs in devices
    ]


def _reorder(
    x: torch.Tensor, dim: int, num_devices: int, layout: str, *, back: bool
) -> torch.Tensor:
    axis = split_dim("dim", dim, dense_tensor("x", x))
    if x.shape[axis] == 0:
        raise ValueError(f"x has no tokens along dim={dim}: give at least one")
    runs = device_runs(x.shape[axis], num_devices, layout)
    if layout == "contiguous" or num_devices == 1:
        return x
    order = torch.cat(_position_ids(runs, x.device))
    return x.index_select(axis, order.argsort() if back else order)


def permute_sequence(
    x: torch.Tensor, num_devices: int, layout: str = "contiguous", *, dim: int = -2
) -> torch.Tensor:
    """Return `x` with its tokens in device order: those of device 0 first, then device 1's, ….

    Splitting it by the lengths that `sequence_layout` gives makes the shards. Differentiable.

    Args:
        x: any tensor with L tokens along `dim`: activations, labels, position ids.
        num_devices: P, from 1 to L.
        layout: "contiguous" (`x` itself comes back), "striped" or "zigzag".
        dim: the dimension that counts tokens; -2 suits (batch, heads, L, d).

    Returns:
        A tensor of the shape of `x`.

    Raises:
        TypeError: if `x` is no dense tensor or an argument has the wrong type.
        ValueError: as `sequence_layout`, or if `x` has no dimension `dim` or no tokens along it.

    Example:
        >>> shuffled = permute_sequence(torch.arange(8), 4, "zigzag", dim=0)
        >>> shuffled.tolist(), unpermute_sequence(shuffled, 4, "zigzag", dim=0).tolist()
        ([0, 7, 1, 6, 2, 5, 3, 4], [0, 1, 2, 3, 4, 5, 6, 7])

    Source: as `sequence_layout`.
    """
    return _reorder(x, dim, num_devices, layout, back=False)


def unpermute_sequence(
    x: torch.Tensor, num_devices: int, layout: str = "contiguous", *, dim: int = -2
) -> torch.Tensor:
    """Return `x` with its tokens in the order of their positions: undo `permute_sequence`.

    Args:
        x: a tensor with L tokens along `dim` in device order.
        num_devices: P, from 1 to L.
        layout: "contiguous" (`x` itself comes back), "striped" or "zigzag".
        dim: the dimension that counts tokens.

    Returns:
        A tensor of the shape of `x`.

    Raises:
        TypeError: as `permute_sequence`.
        ValueError: as `permute_sequence`.

    Example:
        >>> unpermute_sequence(torch.tensor([0, 2, 4, 1, 3]), 2, "striped", dim=0).tolist()
        [0, 1, 2, 3, 4]

    Source: as `sequence_layout`.
    """
    return _reorder(x, dim, num_devices, layout, back=True)


@dataclass(frozen=True, slots=True)
class VisiblePart:
    """A rectangle of a device's queries by a block's keys in which something is to be computed.

    Attributes:
        rows: queries, as a slice of the device's tokens.
        cols: keys, as a slice of the block's tokens.
        triangular: whether row i of the part sees only its columns 0 … i.
    """

    rows: slice
    cols: slice
    triangular: bool

    @property
    def pairs(self) -> int:
        """Number of (query, key) pairs that are visible."""
        rows: int = self.rows.stop - self.rows.start
        cols: int = self.cols.stop - self.cols.start
        return rows * cols - (cols * (cols - 1) // 2 if self.triangular else 0)


def run_size(run: range) -> int:
    """Return how many positions a run holds; len() stops at 2**63."""
    return (run[-1] - run[0]) // run.step + 1


def _offsets(runs: Runs) -> Iterator[tuple[range, int]]:
    offset = 0
    for run in runs:
        yield run, offset
        offset += run_size(run)


def visible_parts(queries: Runs, keys: Runs, *, causal: bool) -> Iterator[VisiblePart]:
    """Yield the parts of a device's score block that the mask leaves visible; none for the future.

    Striped devices p < j differ by a shift: query a of p sees keys 0 … a-1 of j, so that the part
    starts at the second row; where p ≥ j it sees keys 0 … a.
    """
    if not causal:
        rows, cols = (slice(0, sum(map(run_size, runs))) for runs in (queries, keys))
        yield VisiblePart(rows, cols, triangular=False)
        return
    for query, row in _offsets(queries):
        for key, col in _offsets(keys):
            if key[0] > query[-1]:
                continue
            triangular = key[-1] > query[0]
            first = row + (1 if query[0] < key[0] else 0)
            end = row + run_size(query)
            width = min(run_size(key), end - first) if triangular else run_size(key)
            yield VisiblePart(slice(first, end), slice(col, col + width), triangular)
