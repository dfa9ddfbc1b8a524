# ruff: noqa: N803, RUF001, RUF002 - A and B are letters of the chapter, minus and prime signs of formulas
"""A run of the feed-forward block cut over devices, forward and backward, step by step."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import torch
from torch.nn import functional

from shardwise import ledger
from shardwise.tensor_parallel import (
    column_parallel_shards,
    f,
    g,
    replicate,
    row_parallel_shards,
    single_device_mlp,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# Where the lanes of the devices lead: operators, and tensors with their gradients.
PLACES = (
    ("X", "dX"),
    "f",
    ("Xi", "dXi"),
    ("A", "dA"),
    ("H", "dH"),
    "GeLU",
    ("Y", "dY"),
    ("B", "dB"),
    ("P", "dP"),
    "g",
    ("Z", "dZ"),
)
NAMES = {
    "X": ("X", "the input"),
    "Xi": ("X", "f(X)"),
    "A": ("Aᵢ", "columns of A"),
    "H": ("Hᵢ", "X Aᵢ"),
    "Y": ("Yᵢ", "GeLU(Hᵢ)"),
    "B": ("Bᵢ", "rows of B"),
    "P": ("Zᵢ", "Yᵢ Bᵢ"),
    "Z": ("Z", "Σ Zᵢ"),
    "dZ": ("dZ", "∂L/∂Z"),
    "dP": ("dZᵢ", "dZ"),
    "dY": ("dYᵢ", "dZ Bᵢᵀ"),
    "dB": ("dBᵢ", "Yᵢᵀ dZ"),
    "dH": ("dHᵢ", "dYᵢ ⊙ GeLU′(Hᵢ)"),
    "dXi": ("dXᵢ", "dHᵢ Aᵢᵀ"),
    "dA": ("dAᵢ", "Xᵀ dHᵢ"),
    "dX": ("dX", "Σ dXᵢ"),
}
# Along which dimension the devices' parts make up a whole tensor: rows 0 or columns 1.
CUT = {"A": 1, "H": 1, "Y": 1, "B": 0}

SUM = (
    "{op} adds up the parts on every device; of the first element, {terms} = {total}. It is the "
    "only all-reduce of the {way} pass: each device sends 2(N−1)/N · b·s·h · {itemsize} B = {sent}."
)
SAYS = (
    "Every device has the whole X, its own columns of A and its own rows of B.",
    "f hands X on as it is: forward it is the identity, and its work comes in the backward pass.",
    "A GEMM on each device: the whole X times its columns of A, which gives its columns of H.",
    "GeLU acts on one element at a time, so no device needs the columns of another.",
    "A GEMM on each device: its columns of Y meet its rows of B. Zᵢ is a part of the sum Z.",
    f"{SUM} Z is that of one device up to {{Z}}.",
    "The loss is L = ½ ΣZ², so dZ = Z. Every device has Z, so every device has dZ.",
    "g hands dZ on as it is: the gradient of a sum is that of each of its terms.",
    "Two GEMMs on each device: the gradients of its rows of B and of its columns of Y.",
    "GeLU is differentiated one element at a time: again no device needs another.",
    "Two GEMMs on each device: the gradient of its columns of A, and a part of the sum dX.",
    f"{SUM} The gradients of X, A and B are those of one device up to {{dX}}, {{dA}} and {{dB}}.",
)


class Trace:
    """What each step of a run made on every device, and what the ledger saw travel."""

    def __init__(self, num_devices: int) -> None:
        """Begin with no steps."""
        self.num_devices = num_devices
        self.steps: list[dict[str, Any]] = []
        self.made: dict[str, dict[str, Any]] = {}

    @contextmanager
    def step(self, title: str) -> Iterator[dict[str, Sequence[torch.Tensor]]]:
        """Record a step; what it makes goes, one tensor for each device, into the yielded dict."""
        new: dict[str, Sequence[torch.Tensor]] = {}
        with ledger.record() as log:
            yield new
        for key, tensors in new.items():
            self._note(key, tensors)
        formula = ", ".join("{} = {}".format(*NAMES[key]) for key in new)
        sent = [log.sent_by(rank) for rank in range(self.num_devices)]
        self.steps.append({"title": title.format(formula), "sent": sent})

    def _note(self, key: str, tensors: Sequence[torch.Tensor]) -> None:
        name, formula = NAMES[key]
        if not all(bool(tensor.isfinite().all()) for tensor in tensors):
            raise ValueError(
                f"{name} holds values that are not finite: give smaller x, A or B, or a wider dtype"
            )
        weight, gradient = key in {"A", "B"}, key.startswith("d")
        self.made[key] = {
            "name": name,
            "formula": formula,
            "step": len(self.steps),
            "role": "gradients" if gradient else "parameters" if weight else "activations",
            "parts": _parts(tensors, CUT.get(key.removeprefix("d"))),
            "first": [number(tensor.flatten()[0].item()) for tensor in tensors],
        }


def number(value: float) -> str:
    """Return a value with three digits, as the drawing says it.

    >>> number(-0.08931), number(1e-7)
    ('−0.0893', '1e−07')
    """
    return f"{value:.3g}".replace("-", "−")


def _parts(tensors: Sequence[torch.Tensor], cut: int | None) -> list[list[int]]:
    """Return the first row, the first column, rows and columns of each part; tokens are rows."""
    at = [0, 0]
    parts = []
    for tensor in tensors:
        shape = [tensor.numel() // tensor.shape[-1], tensor.shape[-1]]
        parts.append([*at, *shape])
        if cut is not None:
            at[cut] += shape[cut]
    return parts


def _gradients(
    outputs: Sequence[torch.Tensor],
    inputs: Sequence[torch.Tensor],
    gradients: Sequence[torch.Tensor],
) -> list[list[torch.Tensor]]:
    """Return the gradients of `inputs` from those of `outputs`, N at a time."""
    found = torch.autograd.grad(outputs, inputs, gradients)
    count = len(outputs)
    return [list(found[at : at + count]) for at in range(0, len(found), count)]


def split_mlp(
    trace: Trace, x: torch.Tensor, A: torch.Tensor, B: torch.Tensor
) -> dict[str, torch.Tensor]:
    """Run the block forward and backward by the library's pieces, and return what it computes."""
    num = trace.num_devices
    with trace.step("Z = GeLU(X A) B") as made:
        made["X"] = copies = replicate(x, num)
        made["A"] = columns = column_parallel_shards(A, num)
        made["B"] = rows = row_parallel_shards(B, num)
    with trace.step("identity: {}") as made:
        made["Xi"] = inputs = f(copies)
    with trace.step("{}") as made:
        made["H"] = hidden = [xi @ a for xi, a in zip(inputs, columns, strict=True)]
    with trace.step("{}") as made:
        made["Y"] = active = [functional.gelu(h) for h in hidden]
    with trace.step("{}") as made:
        made["P"] = partials = [y @ b for y, b in zip(active, rows, strict=True)]
    with trace.step("all-reduce: {}") as made:
        made["Z"] = z = g(partials)
    with trace.step("loss: {}") as made:
        made["dZ"] = dz = [part.detach() for part in z]
    with trace.step("identity: {}") as made:
        (made["dP"],) = (dp,) = _gradients(z, partials, dz)
    with trace.step("{}") as made:
        made["dY"], made["dB"] = dy, db = _gradients(partials, [*active, *rows], dp)
    with trace.step("{}") as made:
        (made["dH"],) = (dh,) = _gradients(active, hidden, dy)
    with trace.step("{}") as made:
        made["dXi"], made["dA"] = dxi, da = _gradients(hidden, [*inputs, *columns], dh)
    with trace.step("all-reduce: {}") as made:
        (made["dX"],) = (dx,) = _gradients(inputs, copies, dxi)
    return {"Z": z[0], "dX": dx[0], "dA": torch.cat(da, dim=1), "dB": torch.cat(db)}


def one_device(x: torch.Tensor, A: torch.Tensor, B: torch.Tensor) -> dict[str, torch.Tensor]:
    """Return what one device computes of the same tensors."""
    z = single_device_mlp(x, A, B)
    dx, da, db = torch.autograd.grad(z, (x, A, B), z.detach())
    return {"Z": z, "dX": dx, "dA": da, "dB": db}


def _say(trace: Trace, itemsize: int, gaps: dict[str, float]) -> None:
    """Give each step its sentence; those of the sums have their numbers."""
    sums = {5: ("g", "forward", "P", "Z"), 11: ("f", "backward", "dXi", "dX")}
    for step, (says, entry) in enumerate(zip(SAYS, trace.steps, strict=True)):
        entry["says"] = says
        if step in sums:
            op, way, parts, total = sums[step]
            mean = sum(entry["sent"]) / trace.num_devices
            entry["says"] = says.format(
                op=op,
                way=way,
                terms=" + ".join(trace.made[parts]["first"]).replace("+ −", "− "),
                total=trace.made[total]["first"][0],
                itemsize=itemsize,
                sent=f"{mean:,.6g} B{' on average' if len(set(entry['sent'])) > 1 else ''}",
                **{name: number(gap) for name, gap in gaps.items()},
            )


def record(x: torch.Tensor, A: torch.Tensor, B: torch.Tensor, num_devices: int) -> dict[str, Any]:
    """Return the run on N devices of tensors that the block takes, ready for JSON."""
    trace = Trace(num_devices)
    with torch.inference_mode(mode=False), torch.enable_grad():
        inputs = [tensor.detach().clone().requires_grad_() for tensor in (x, A, B)]
        one, split = one_device(*inputs), split_mlp(trace, *inputs)
    gaps = {name: (split[name] - one[name]).abs().max().item() for name in one}
    _say(trace, x.element_size(), gaps)
    places = [
        place if isinstance(place, str) else [trace.made[key] for key in place] for place in PLACES
    ]
    return {
        "itemsize": x.element_size(),
        "difference": gaps,
        "places": places,
        "steps": trace.steps,
    }
