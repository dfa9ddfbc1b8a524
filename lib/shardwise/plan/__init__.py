"""Plans: the meshes on which a model fits a cluster, fastest first, with memory and time."""

from __future__ import annotations

from shardwise.plan._device_memory import MeshMemory
from shardwise.plan._step_parts import StepTime
from shardwise.plan.hardware import A100_80GB, H100_80GB, Cluster, Device, dgx_a100, dgx_h100
from shardwise.plan.mesh import Mesh, mesh_problems
from shardwise.plan.mesh_memory import mesh_memory
from shardwise.plan.mesh_search import Choices
from shardwise.plan.model_shape import Model, gpt_params, llama_model
from shardwise.plan.plans import Plan, explain, plan

__all__ = [
    "A100_80GB",
    "H100_80GB",
    "Choices",
    "Cluster",
    "Device",
    "Mesh",
    "MeshMemory",
    "Model",
    "Plan",
    "StepTime",
    "dgx_a100",
    "dgx_h100",
    "explain",
    "gpt_params",
    "llama_model",
    "mesh_memory",
    "mesh_problems",
    "plan",
]
