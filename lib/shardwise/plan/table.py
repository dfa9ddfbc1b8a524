"""Plans beside each other, as a Markdown table that a page or a notebook shows."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import TYPE_CHECKING

from shardwise._checks import one_of
from shardwise.plan._checks import instance, size
from shardwise.plan.mesh import Mesh
from shardwise.plan.plans import Plan

if TYPE_CHECKING:
    from collections.abc import Iterator

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

_NOTHING = "-"


def plan_table(
    plans: Iterable[Plan], *, show: str = "totals", distinct: tuple[str, ...] = (), limit: int = 5
) -> str:
    """Return a Markdown table of the first plans, one a row.

    Columns in which no row says anything (1, no recomputation, a part of 0) are left out; `data` is
    always there.

    Args:
        plans: what `plan` returned, or some of it.
        show: beside the mesh, "totals" (GB, seconds, MFU and tokens per second), "memory" (GB of
            each part) or "time" (seconds of each part). A GB is 1e9 bytes.
        distinct: attributes of a mesh, as ("tensor", "pipeline"): of plans that are equal in all of
            them only the first is shown; () shows all.
        limit: rows at most, from 1.

    Returns:
        Lines of text, the last without a line break; a sentence if there is no plan.

    Raises:
        TypeError: if an argument has the wrong type.
        ValueError: if `show` or a name in `distinct` is unknown, or `limit` is out of range.

    Example:
        >>> from shardwise.plan import Model, dgx_a100, plan
        >>> gpt = Model(layers=36, hidden=4096, num_heads=32, vocab=51200, seq_len=2048)
        >>> plans = plan(gpt, dgx_a100(2), global_batch=64)
        >>> print(plan_table(plans, distinct=("tensor", "pipeline"), limit=3))
        | data | tensor | pipeline | ZeRO | micro-batch | chunks | GB | s | MFU | tokens/s |
        | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
        | 16 | 1 | 1 | 3 | 1 | 1 | 43.2 | 2.37 | 53.6 % | 55,295 |
        | 8 | 2 | 1 | 3 | 4 | 1 | 77.6 | 2.43 | 52.2 % | 53,889 |
        | 8 | 1 | 2 | 3 | 1 | 8 | 45.1 | 2.46 | 51.5 % | 53,199 |
    """
    one_of("show", show, tuple(COLUMNS))
    if not isinstance(plans, Iterable):
        raise TypeError(f"plans={plans!r} must be a list of plans, as `plan` returns it")
    if not isinstance(distinct, tuple):
        raise TypeError(f'distinct={distinct!r} must be a tuple, as ("tensor", "pipeline")')
    for name in distinct:
        one_of("distinct", name, tuple(TITLES))
    shown = list(islice(_first_of_each(plans, distinct), size("limit", limit)))
    if not shown:
        return "No plan fits."
    rows = [{**_mesh(each.mesh), **COLUMNS[show](each)} for each in shown]
    silent = {**dict.fromkeys(rows[0], _NOTHING), **_mesh(Mesh()), "data": _NOTHING}
    titles = [title for title in rows[0] if any(row[title] != silent[title] for row in rows)]
    lines = [titles, ["---:"] * len(titles), *([row[title] for title in titles] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _first_of_each(plans: Iterable[Plan], names: tuple[str, ...]) -> Iterator[Plan]:
    """Yield all plans, or those whose named attributes no earlier one has."""
    seen = set()
    for each in plans:
        instance("each of plans", each, Plan)
        key = tuple(getattr(each.mesh, name) for name in names)
        if not names or key not in seen:
            yield each
        seen.add(key)


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
    return {f"{name} GB": f"{part / 1e9:.1f}" if part else _NOTHING for name, part in parts.items()}


def _time(plan: Plan) -> dict[str, str]:
    parts = {**plan.time.parts, "total": plan.time.total}
    return {f"{name} s": f"{part:.3g}" if part else _NOTHING for name, part in parts.items()}


COLUMNS = {"totals": _totals, "memory": _memory, "time": _time}
"""What a table can show beside the mesh."""
