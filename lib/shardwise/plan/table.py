"""Plans beside each other, as a Markdown table that a page or a notebook shows."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

from shardwise.plan._checks import instance, one_of, size
from shardwise.plan.mesh import Mesh
from shardwise.plan.plans import Plan

TITLES = {
    "data": "data",
    "tensor": "tensor",
    "pipeline": "pipeline",
    "context": "context",
    "zero_stage": "ZeRO",
    "micro_batch": "micro-batch",
    "chunks": "chunks",
    "recompute": "recompute",
}
"""Attributes of a mesh that a table shows, with their titles."""


def plan_table(plans: Iterable[Plan], *, show: str = "totals", limit: int = 5) -> str:
    """Return a Markdown table of the first plans, one a row.

    Columns in which no row says anything (1, no recomputation, a part of 0) are left out; `data` is
    always there.

    Args:
        plans: what `plan` returned, or some of it.
        show: beside the mesh, "totals" (GB, seconds, MFU and tokens per second), "memory" (GB of
            each part) or "time" (seconds of each part). A GB is 1e9 bytes.
        limit: rows at most, from 1.

    Returns:
        Lines of text, the last without a line break; a sentence if there is no plan.

    Raises:
        TypeError: if an argument has the wrong type.
        ValueError: if `show` is unknown or `limit` out of range.

    Example:
        >>> from shardwise.plan import Model, dgx_a100, plan
        >>> gpt = Model(layers=36, hidden=4096, num_heads=32, vocab=51200, seq_len=2048)
        >>> print(plan_table(plan(gpt, dgx_a100(2), global_batch=64), limit=2))
        | data | ZeRO | GB | s | MFU | tokens/s |
        | ---: | ---: | ---: | ---: | ---: | ---: |
        | 16 | 3 | 43.2 | 2.37 | 53.6 % | 55,295 |
        | 16 | 2 | 56.3 | 2.37 | 53.6 % | 55,295 |
    """
    one_of("show", show, tuple(COLUMNS))
    if not isinstance(plans, Iterable):
        raise TypeError(f"plans={plans!r} must be a list of plans, as `plan` returns it")
    shown = list(islice(plans, size("limit", limit)))
    for each in shown:
        instance("each of plans", each, Plan)
    if not shown:
        return "No plan fits."
    rows = [{**_mesh(each.mesh), **COLUMNS[show](each)} for each in shown]
    silent = {**_mesh(Mesh()), "data": ""}
    titles = [
        title
        for title in rows[0]
        if any(row[title] not in (silent.get(title), "0", "0.0") for row in rows)
    ]
    lines = [titles, ["---:"] * len(titles), *([row[title] for title in titles] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _mesh(mesh: Mesh) -> dict[str, str]:
    return {title: str(getattr(mesh, name)) for name, title in TITLES.items()}


def _totals(plan: Plan) -> dict[str, str]:
    return {
        "GB": f"{plan.memory.total / 1e9:.1f}",
        "s": f"{plan.time.total:.3g}",
        "MFU": f"{100 * plan.time.mfu:.1f} %",
        "tokens/s": f"{plan.time.tokens_per_second:,.0f}",
    }


def _memory(plan: Plan) -> dict[str, str]:
    parts = {**plan.memory.parts, "total": plan.memory.total}
    return {f"{name} GB": f"{part / 1e9:.1f}" for name, part in parts.items()}


def _time(plan: Plan) -> dict[str, str]:
    parts = {**plan.time.parts, "total": plan.time.total}
    return {f"{name} s": f"{part:.3g}" for name, part in parts.items()}


COLUMNS = {"totals": _totals, "memory": _memory, "time": _time}
"""What a table can show beside the mesh."""
