"""Plans: the meshes on which a model fits a cluster, fastest first, with memory and time.

A cluster of your own, and the three fastest ways to train a model of 8 billion parameters on it:

>>> device = Device("mine", peak_flops=200e12, memory_bytes=64e9, memory_bandwidth=1.6e12)
>>> cluster = Cluster(
...     num_devices=32,
...     device=device,
...     devices_per_node=4,
...     intra_bandwidth=100e9,
...     inter_bandwidth=12.5e9,
... )
>>> model = llama_model(layers=32, hidden=4096, num_heads=32, kv_heads=8, d_ff=14336)
>>> plans = plan(model, cluster, global_batch=128, reserved_bytes=4e9)
>>> print(plan_table(plans, limit=3))
| data | context | ZeRO | micro-batch | GB | s | MFU | tokens/s |
| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
| 32 | 1 | 3 | 1 | 46.8 | 13.9 | 60.8 % | 75,658 |
| 8 | 4 | 3 | 4 | 46.8 | 13.9 | 60.5 % | 75,190 |
| 16 | 2 | 3 | 2 | 46.8 | 13.9 | 60.5 % | 75,190 |

What keeps another mesh from being among them:

>>> print(*explain(model, cluster, Mesh(data=4, tensor=8), global_batch=128))
tensor=8 does not divide devices_per_node=4: its all-reduces must stay within a node
"""

from __future__ import annotations

from shardwise.plan._step_parts import StepTime
from shardwise.plan.hardware import A100_80GB, H100_80GB, Cluster, Device, dgx_a100, dgx_h100
from shardwise.plan.layer_activations import layer_activation_bytes
from shardwise.plan.link_time import (
    Link,
    all_reduce_seconds,
    exposed_seconds,
    group_link,
    neighbour_link,
    ring_pass_seconds,
    send_seconds,
)
from shardwise.plan.mesh import Mesh, mesh_problems
from shardwise.plan.mesh_memory import MeshMemory, mesh_memory
from shardwise.plan.mesh_search import Choices, candidate_meshes
from shardwise.plan.model_shape import Model, gpt_params, llama_model
from shardwise.plan.plans import Plan, explain, plan
from shardwise.plan.table import plan_table
from shardwise.plan.training_time import step_time, training_seconds

__all__ = [
    "A100_80GB",
    "H100_80GB",
    "Choices",
    "Cluster",
    "Device",
    "Link",
    "Mesh",
    "MeshMemory",
    "Model",
    "Plan",
    "StepTime",
    "all_reduce_seconds",
    "candidate_meshes",
    "dgx_a100",
    "dgx_h100",
    "explain",
    "exposed_seconds",
    "gpt_params",
    "group_link",
    "layer_activation_bytes",
    "llama_model",
    "mesh_memory",
    "mesh_problems",
    "neighbour_link",
    "plan",
    "plan_table",
    "ring_pass_seconds",
    "send_seconds",
    "step_time",
    "training_seconds",
]
