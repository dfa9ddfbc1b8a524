# ruff: noqa: N803 - A and B are the letters of the chapter
"""The feed-forward block cut over devices, replayed from a recording, as a widget."""

from __future__ import annotations

import functools
from functools import partial
from typing import Any, ClassVar

import torch
import traitlets

from shardwise.tensor_parallel import single_device_mlp
from shardwise_widgets._checks import Checked, count
from shardwise_widgets._megatron_run import record
from shardwise_widgets.base import ShardwiseWidget

MIN_DEVICES, MAX_DEVICES = 2, 4
LAST_STEP = 11
SEED = 11


def record_runs(x: torch.Tensor, A: torch.Tensor, B: torch.Tensor) -> dict[str, Any]:
    """Run the split block forward and backward, and return what it did, step by step.

    The pieces are those of `shardwise.tensor_parallel`; the loss is L = ½ ΣZ².

    Args:
        x: input (…, d_model), of a float dtype.
        A: up-projection (d_model, d_ff).
        B: down-projection (d_ff, d_model).

    Returns:
        A run for each number of devices, 2 to 4, by that number, with "itemsize" (bytes of an
        element), "difference" (the largest one to a single device, of Z and of the gradients),
        "places" along the lanes, which are operators, or a tensor and its gradient, and "steps". A
        tensor has its "name" and "formula", the "step" that makes it and, by device, its "parts"
        (first row, first column, rows, columns; tokens are rows) and "first" element. A step has
        the bytes that each device "sent", from the ledger.

    Raises:
        TypeError: if an argument is no dense float tensor.
        ValueError: if shapes, dtypes or devices don't fit, there are no tokens, fewer than four
            columns, or values that are not finite.

    Example:
        >>> runs = record_runs(torch.ones(3, 2), torch.ones(2, 4), torch.ones(4, 2))
        >>> [step["sent"][0] for step in runs["2"]["steps"]]
        [0, 0, 0, 0, 0, 24, 0, 0, 0, 0, 0, 24]

    Source: Shoeybi et al., Megatron-LM, arXiv:1909.08053, section 3, figure 3a.
    """
    single_device_mlp(x, A, B)  # says what is wrong with the tensors
    if x.numel() == 0:
        raise ValueError(f"x has shape {tuple(x.shape)}: give at least one token")
    if A.shape[1] < MAX_DEVICES:
        raise ValueError(
            f"A has {A.shape[1]} columns: give at least {MAX_DEVICES}, one for each device"
        )
    return {str(n): record(x, A, B, n) for n in range(MIN_DEVICES, MAX_DEVICES + 1)}


@functools.cache
def example_runs() -> dict[str, Any]:
    """Return the runs of two sequences of four tokens, d_model = 12 and d_ff = 48."""
    source = torch.Generator().manual_seed(SEED)
    x = torch.randn(2, 4, 12, generator=source)
    up = torch.randn(12, 48, generator=source) / 12**0.5
    down = torch.randn(48, 12, generator=source) / 48**0.5
    return record_runs(x, up, down)


class MegatronMLP(ShardwiseWidget):
    """Z = GeLU(X A) B with A cut by columns and B by rows, forward and backward, step by step.

    What is shown was recorded from `shardwise.tensor_parallel` at work. Steps 0 to 5 are the
    forward pass, 6 to 11 the backward pass. All traits can be set later and stay in step with the
    controls.

    Args:
        devices: number of devices N, 2 to 4.
        step: how many of the 11 steps are done.
        link: traits to share with other widgets, such as "devices".

    Raises:
        TypeError: if an argument is no number; it is a traitlets.TraitError too.
        ValueError: if an argument is out of its range; likewise.

    Example:
        >>> mlp = MegatronMLP(devices=4, step=5)
        >>> mlp.steps["4"]["steps"][5]["sent"]
        [576, 576, 576, 576]
        >>> mlp.devices = 5
        Traceback (most recent call last):
        shardwise_widgets._checks.TraitValueError: devices=5 must be a whole number from 2 to 4
    """

    shown: ClassVar[tuple[str, ...]] = ("devices", "step", "steps")
    devices = Checked(partial(count, least=MIN_DEVICES, most=MAX_DEVICES)).tag(sync=True)
    step = Checked(partial(count, least=0, most=LAST_STEP)).tag(sync=True)
    steps: traitlets.Dict[str, Any] = traitlets.Dict(read_only=True).tag(sync=True)

    def __init__(self, devices: int = 2, step: int = 0, *, link: str | None = None) -> None:
        """Check the arguments, record the runs and open the widget."""
        self.set_trait("steps", example_runs())
        super().__init__(devices=devices, step=step, link=link)

    @classmethod
    def from_weights(
        cls,
        x: torch.Tensor,
        A: torch.Tensor,
        B: torch.Tensor,
        num_devices: int = 2,
        step: int = 0,
        *,
        link: str | None = None,
    ) -> MegatronMLP:
        """Show the run of your own tensors.

        Args:
            x: input (…, d_model), of a float dtype.
            A: up-projection (d_model, d_ff), with four columns or more.
            B: down-projection (d_ff, d_model).
            num_devices: number of devices N, 2 to 4.
            step: how many of the 11 steps are done.
            link: as above.

        Returns:
            The widget.

        Raises:
            TypeError: if a tensor is no dense float tensor, or N no number.
            ValueError: if shapes, dtypes or devices don't fit, N or the step is out of range, or
                values are not finite.

        Example:
            >>> x, A, B = torch.ones(3, 2), torch.ones(2, 6), torch.ones(6, 2)
            >>> own = MegatronMLP.from_weights(x, A, B, num_devices=4)
            >>> own.steps["4"]["places"][3][0]["parts"]  # rows and columns of A
            [[0, 0, 2, 2], [0, 2, 2, 2], [0, 4, 2, 1], [0, 5, 2, 1]]
        """
        devices = count("num_devices", num_devices, MIN_DEVICES, MAX_DEVICES)
        runs = {n: {**run, "own": True} for n, run in record_runs(x, A, B).items()}
        widget = cls(devices=devices, step=step, link=link)
        widget.set_trait("steps", runs)
        return widget
