"""Ring attention, replayed from a recording, as a widget."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar

import torch
import traitlets

from shardwise.ring_attention import LAYOUTS
from shardwise_widgets._checks import Checked, TraitTypeError, count, one_of, shown
from shardwise_widgets.attention_run import Inputs, record_run, sample
from shardwise_widgets.base import ShardwiseWidget

MIN_DEVICES, MAX_DEVICES = 2, 8
MAX_TOKENS = 4096  # scores are counted pair by pair


def _flag(name: str, value: Any) -> bool:  # noqa: ANN401 - whatever a front end sends
    if not isinstance(value, bool):
        raise TraitTypeError(f"{name}={shown(value)} must be True or False")
    return value


class RingAttention(ShardwiseWidget):
    """P devices on a ring that attend to one sequence, step by step, as `ring_attention` did it.

    Each device keeps its queries; blocks of keys and values travel. The picture of all queries by
    all keys shows what is done. All traits can be set later and stay in step with the controls.
    Setting `devices`, `causal` or `layout` records another run, of the same tensors if the widget
    was made by `from_run`, and brings `step` back to one that it has.

    Args:
        devices: number of devices P, 2 to 8.
        step: how many blocks each device has absorbed, 0 to P.
        causal: whether a token sees only itself and those before it.
        layout: which tokens a device holds: "contiguous", "striped" or "zigzag".
        link: traits to share with other widgets, such as "devices".

    Raises:
        TypeError: if an argument has the wrong type; it is a traitlets.TraitError too.
        ValueError: if an argument is out of its range; likewise.

    Example:
        >>> ring = RingAttention(devices=4, step=2, causal=True)
        >>> ring.layout = "spiral"
        Traceback (most recent call last):
        shardwise_widgets._checks.TraitValueError: layout='spiral' must be one of contiguous, \
striped, zigzag

    Source: Liu, Zaharia and Abbeel, "Ring Attention", arXiv:2310.01889.
    """

    shown: ClassVar[tuple[str, ...]] = ("devices", "step", "causal", "layout")
    devices = Checked(partial(count, least=MIN_DEVICES, most=MAX_DEVICES)).tag(sync=True)
    # Its range follows `devices`, which may be set in the same go: it is checked when both are.
    step: traitlets.TraitType[int, Any] = traitlets.TraitType().tag(sync=True)
    causal = Checked(_flag).tag(sync=True)
    layout = Checked(partial(one_of, choices=LAYOUTS)).tag(sync=True)
    steps = traitlets.Dict(read_only=True).tag(sync=True)
    _inputs: tuple[Inputs, float | None] | None = None

    def __init__(
        self,
        devices: int = 4,
        step: int = 0,
        *,
        causal: bool = False,
        layout: str = "contiguous",
        link: str | None = None,
    ) -> None:
        """Check the arguments, record the run and open the widget."""
        super().__init__(devices=devices, step=step, causal=causal, layout=layout, link=link)

    @classmethod
    def from_run(
        cls,
        q: torch.Tensor,
        k: torch.Tensor,
        v: torch.Tensor,
        *,
        num_devices: int = 4,
        causal: bool = False,
        layout: str = "contiguous",
        scale: float | None = None,
        link: str | None = None,
    ) -> RingAttention:
        """Run `ring_attention` on your own tensors and show that run; its arguments are the same.

        The tensors are copied, and the controls run the ring on them again. A ledger alone would
        not do: it holds no queries.

        Args:
            q: (B, H, L, d) queries with 8 to 4096 tokens.
            k: (B, K, L, d) keys; K divides H.
            v: (B, K, L, e) values.
            num_devices: P, 2 to 8.
            causal: whether a token sees only itself and those before it.
            layout: "contiguous", "striped" or "zigzag".
            scale: factor of the logits; None is 1/√d.
            link: traits to share with other widgets.

        Returns:
            The widget, before the first step.

        Raises:
            TypeError: if an argument has the wrong type.
            ValueError: if shapes don't fit together, a number is out of its range, or the attention
                is not finite.

        Example:
            >>> q, k, v = torch.randn(3, 1, 2, 12, 4, dtype=torch.float64)
            >>> ring = RingAttention.from_run(q, k, v, num_devices=3, causal=True)
            >>> ring.steps["error"] < 1e-14
            True
        """
        devices = count("num_devices", num_devices, MIN_DEVICES, MAX_DEVICES)
        for name, tensor in (("q", q), ("k", k), ("v", v)):
            if not isinstance(tensor, torch.Tensor):
                raise TypeError(f"{name} must be a tensor, not {type(tensor).__name__}")
        tokens = q.shape[2] if q.ndim == 4 else MAX_DEVICES  # noqa: PLR2004 - else the ring says it
        if not MAX_DEVICES <= tokens <= MAX_TOKENS:
            raise ValueError(
                f"q has {tokens} tokens: give {MAX_DEVICES} to {MAX_TOKENS}, so that each of up to "
                f"{MAX_DEVICES} devices has one and all pairs can be counted; q[:, :, :96] is a cut"
            )
        own = (q.detach().clone(), k.detach().clone(), v.detach().clone())
        run = record_run(*own, num_devices=devices, causal=causal, layout=layout, scale=scale)
        widget = cls(devices, causal=causal, layout=layout, link=link)
        widget._inputs = (own, scale)
        widget.set_trait("steps", run)
        return widget

    @traitlets.validate("step")
    def _check_step(self, proposal: dict[str, Any]) -> int:
        return count("step", proposal["value"], 0, self.devices)

    @traitlets.observe("devices", "causal", "layout")
    def _record_again(self, _change: dict[str, Any]) -> None:
        options = (self.devices, self.causal, self.layout)
        if tuple(map(self.steps.get, ("devices", "causal", "layout"))) != options:
            self.set_trait("steps", self._record(*options))
        self.step = min(self.step, self.devices)

    def _record(self, devices: int, causal: bool, layout: str) -> dict[str, Any]:
        tensors, scale = self._inputs or (sample(devices), None)
        return record_run(*tensors, num_devices=devices, causal=causal, layout=layout, scale=scale)

    def book_state(self) -> dict[str, object]:
        """Return the recordings of all rings that the controls reach: a page has no kernel."""
        runs = {
            f"{devices},{int(causal)},{layout}": self._record(devices, causal, layout)
            for devices in range(MIN_DEVICES, MAX_DEVICES + 1)
            for causal in (False, True)
            for layout in LAYOUTS
        }
        return {**super().book_state(), "runs": runs}
