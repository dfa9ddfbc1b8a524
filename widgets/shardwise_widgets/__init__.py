"""Widgets and figures that run in Jupyter and, without a kernel, in the book."""

from shardwise_widgets import look
from shardwise_widgets.causal_balance import CausalBalance
from shardwise_widgets.context_scaling import ContextScaling
from shardwise_widgets.figures import figure
from shardwise_widgets.megatron_mlp import MegatronMLP
from shardwise_widgets.memory_budget import MemoryBudget
from shardwise_widgets.pipeline_bubble import PipelineBubble
from shardwise_widgets.pipeline_schedule import PipelineSchedule
from shardwise_widgets.ring_all_reduce import RingAllReduce
from shardwise_widgets.ring_attention import RingAttention
from shardwise_widgets.tensor_parallel_cost import TensorParallelCost
from shardwise_widgets.zero_stages import ZeroStages

__all__ = [
    "CausalBalance",
    "ContextScaling",
    "MegatronMLP",
    "MemoryBudget",
    "PipelineBubble",
    "PipelineSchedule",
    "RingAllReduce",
    "RingAttention",
    "TensorParallelCost",
    "ZeroStages",
    "figure",
    "look",
]
