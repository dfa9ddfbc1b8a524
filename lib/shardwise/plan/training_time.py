"""Time of training on a mesh: seconds of one optimizer step by part, and of a whole run.

Kernels take the time of their FLOPs or of their bytes (`Device`), communication that of the
alpha-beta model of `link_time`. The slowest pipeline stage sets the pace. What data, context and
pipeline axes send, and the gradients of inputs that the tensor axis sends, hides behind as much of
the concurrent kernels as `overlap` says; the rest of tensor parallelism is on the critical path.

Not modelled, so that reality is slower: launches of kernels, and tiles that small matrices do not
fill (a stage of a few hundred tokens or a few dozen columns is slower than it looks here); what the
first and the last message of a step cannot hide behind; the all-reduce of tied embeddings;
vocabulary-parallel collectives; congestion; stragglers; input; checkpoints. Not modelled, so that
reality may be faster: larger matrices that reach more of the peak, reductions inside switches.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shardwise._checks import flag
from shardwise.memory.recipes import find_recipe
from shardwise.plan._checks import instance, positive, quantity, share, size
from shardwise.plan._step_parts import StepTime, step_parts
from shardwise.plan.hardware import Cluster
from shardwise.plan.mesh import Mesh, mesh_problems
from shardwise.plan.model_shape import Model

if TYPE_CHECKING:
    from shardwise.memory.recipes import Recipe


def step_time(
    model: Model,
    cluster: Cluster,
    mesh: Mesh,
    *,
    global_batch: int,
    recipe: str | Recipe = "2+2+12",
    overlap: float = 1.0,
) -> StepTime:
    """Return the seconds of one optimizer step of a mesh, by part.

    With M micro-batches, v chunks on a stage, and w seconds of one micro-batch on a stage, M·w of
    the slowest stage (kernels, tensor-parallel collectives, waits for keys and values); a bubble of
    w/v for each other stage; exposed sends between stages; exposed reductions and gathers; and the
    optimizer's reads and writes.

    Args:
        model: what is trained.
        cluster: on what.
        mesh: how; it must keep the rules of `mesh_problems`. Whether it fits is not looked at.
        global_batch: sequences in one optimizer step.
        recipe: name from `RECIPES`, or a `Recipe`: bytes of weights and gradients on the way.
        overlap: share of the concurrent kernels, from 0 to 1, that communication can hide behind.
            1 is the best case; most published runs lie between 0 and 1.

    Returns:
        Seconds by part, MFU, and tokens per second.

    Raises:
        TypeError: if an argument has the wrong type.
        ValueError: if an argument is out of range, or the mesh breaks a rule.

    Example:
        >>> from shardwise.plan.hardware import dgx_a100
        >>> gpt3 = Model(layers=96, hidden=12288, num_heads=96, vocab=51200, seq_len=2048)
        >>> mesh = Mesh(data=16, tensor=8, pipeline=8, recompute="full")
        >>> time = step_time(gpt3, dgx_a100(128), mesh, global_batch=1536, overlap=0)
        >>> round(time.total, 1), round(time.bubble, 1), round(time.mfu, 2)
        (30.2, 2.0, 0.35)

    Source: Narayanan et al., arXiv:2104.04473, sections 2 and 3, whose equation 1 is the case of
    equal stages without communication.
    """
    instance("model", model, Model)
    instance("cluster", cluster, Cluster)
    instance("mesh", mesh, Mesh)
    problems = mesh_problems(model, cluster, mesh, global_batch=global_batch)
    if problems:
        raise ValueError(f"mesh={mesh} breaks a rule: {problems[0]}")
    count = mesh.num_microbatches(global_batch)
    chosen = find_recipe(recipe)
    return step_parts(model, cluster, mesh, count, chosen, share("overlap", overlap))


def training_seconds(
    num_tokens: float,
    num_params: float,
    num_devices: int,
    flops_per_device: float,
    *,
    recompute: bool = True,
) -> float:
    """Return the time of a whole training run: 8·T·P/(n·X), or 6·T·P/(n·X) without recomputation.

    Args:
        num_tokens: tokens T ≥ 0.
        num_params: parameters P ≥ 0.
        num_devices: devices n ≥ 1.
        flops_per_device: FLOP/s X > 0 that each achieves; with recomputation they include it.
        recompute: whether the backward pass computes the forward pass again.

    Returns:
        Seconds.

    Raises:
        TypeError: if an argument has the wrong type.
        ValueError: if an argument is out of range.

    Example:
        >>> round(training_seconds(300e9, 175e9, 1024, 140e12) / 86400)
        34

    Source: Narayanan et al., arXiv:2104.04473, equation 4.
    """
    flag("recompute", recompute)
    work = (8 if recompute else 6) * quantity("num_tokens", num_tokens)
    work *= quantity("num_params", num_params)
    return work / (
        size("num_devices", num_devices) * positive("flops_per_device", flops_per_device)
    )
