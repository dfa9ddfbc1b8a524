"""What tensor parallelism takes from a device, and what it costs: the count, and the widget.

Counted is one layer of a GPT, with biases, and one micro-batch, forward and backward, in 16 bits.
"""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar

import traitlets

from shardwise.plan import Cluster, Model, all_reduce_seconds, dgx_a100, dgx_h100, group_link
from shardwise.tensor_parallel import layer_communication_elements
from shardwise_widgets._checks import Checked, TraitValueError, count, one_of
from shardwise_widgets.base import ShardwiseWidget

DEVICES = (1, 2, 4, 8, 16, 32, 64)
MIN_WIDTH, MAX_WIDTH = 1024, 16384
MAX_TOKENS = 2**17
ELEMENT = 2  # bytes
CLUSTERS = {"A100": dgx_a100(8), "H100": dgx_h100(8)}


def layer_cost(
    num_devices: int, d_model: int, tokens: int, cluster: Cluster
) -> dict[str, int | float]:
    """Return what one layer keeps, sends and takes on each of N tensor-parallel devices.

    The split matrices and their biases are (12d² + 7d)/N parameters; LayerNorms and the biases of
    row-parallel products, 6d, are on every device. Four all-reduces of tokens · d elements send
    8(N-1)/N · tokens · d of them. The matrix products take 72d² · tokens/N FLOPs forward and
    backward; attention's own work, which depends on the length of the sequences, is not counted.

    Args:
        num_devices: N, a divisor of `d_model`.
        d_model: width d of the layer; its MLP is four times as wide.
        tokens: of the micro-batch, sequences times their length.
        cluster: whose devices compute and send, at the share of the peak that it states.

    Returns:
        "params" and "bytes" sent by each device, and seconds of "compute" and of "all_reduces".

    Example:
        >>> cost = layer_cost(8, 12288, 2048, CLUSTERS["A100"])
        >>> cost["params"], cost["bytes"] / 1e6
        (226576896, 352.321536)

    Source: Shoeybi et al., arXiv:1909.08053, section 3; Narayanan et al., arXiv:2104.04473, section
    3.2 and appendix; `shardwise.plan` for the times.
    """
    model = Model(layers=1, hidden=d_model, num_heads=1, vocab=1, seq_len=1)
    kept = model.layer_vector_params
    speed = cluster.device.peak_flops * cluster.device.efficiency
    all_reduce = all_reduce_seconds(
        ELEMENT * tokens * d_model, num_devices, group_link(cluster, num_devices)
    )
    return {
        "params": (model.layer_params - kept) // num_devices + kept,
        "bytes": ELEMENT * layer_communication_elements(1, tokens, d_model, num_devices),
        "compute": 3 * model.layer_matrix_flops * tokens / (num_devices * speed),
        "all_reduces": 4 * all_reduce,
    }


def _numbers(cluster: Cluster) -> dict[str, Any]:
    """Return what the view computes with: speed, devices in a node, and the link of each ring."""
    links = [group_link(cluster, num_devices) for num_devices in DEVICES]
    return {
        "flops": cluster.device.peak_flops * cluster.device.efficiency,
        "node": cluster.devices_per_node,
        "links": [[link.latency, link.bandwidth] for link in links],
    }


def _width(name: str, value: Any) -> int:  # noqa: ANN401 - whatever a front end sends
    width = count(name, value, MIN_WIDTH, MAX_WIDTH)
    if width % DEVICES[-1]:
        raise TraitValueError(
            f"{name}={width} must be a multiple of {DEVICES[-1]}, so that every number of devices "
            f"cuts it into equal parts: {width - width % DEVICES[-1]} is one"
        )
    return width


class TensorParallelCost(ShardwiseWidget):
    """Parameters of a layer on each device against what it sends, over the number of devices.

    All traits can be set later and stay in step with the controls. `layer_cost` has the equations.
    MB is 10⁶ bytes.

    Args:
        devices: tensor-parallel devices N: 1, 2, 4, 8, 16, 32 or 64.
        d_model: width d of the layer, a multiple of 64 from 1024 to 16384.
        tokens: of a micro-batch, sequences times their length, 1 to 131072.
        cluster: whose devices and links: "A100" or "H100", eight to a node.
        link: traits to share with other widgets, such as "devices".

    Raises:
        TypeError: if a number is given as something else; it is a traitlets.TraitError too.
        ValueError: if an argument is out of its range; likewise.

    Example:
        >>> cost = TensorParallelCost(devices=16, d_model=8192)
        >>> cost.devices = 3
        Traceback (most recent call last):
        shardwise_widgets._checks.TraitValueError: devices=3 must be one of 1, 2, 4, 8, 16, 32, 64
    """

    shown: ClassVar[tuple[str, ...]] = ("devices", "d_model", "tokens", "cluster", "clusters")
    devices = Checked(partial(one_of, choices=DEVICES)).tag(sync=True)
    d_model = Checked(_width).tag(sync=True)
    tokens = Checked(partial(count, least=1, most=MAX_TOKENS)).tag(sync=True)
    cluster = Checked(partial(one_of, choices=tuple(CLUSTERS))).tag(sync=True)
    clusters: traitlets.Dict[str, Any] = traitlets.Dict(read_only=True).tag(sync=True)

    def __init__(
        self,
        devices: int = 8,
        d_model: int = 12288,
        tokens: int = 2048,
        cluster: str = "A100",
        *,
        link: str | None = None,
    ) -> None:
        """Check the arguments and open the widget."""
        self.set_trait("clusters", {name: _numbers(each) for name, each in CLUSTERS.items()})
        super().__init__(
            devices=devices, d_model=d_model, tokens=tokens, cluster=cluster, link=link
        )
