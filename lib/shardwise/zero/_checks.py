"""What `ZeroTrainer` refuses: layers, dtypes and shards that can't be trained as they are."""

from __future__ import annotations

import reprlib
from typing import TYPE_CHECKING

import torch
from torch import nn
from torch.nn.parameter import is_lazy

from shardwise._tensors import FLOATS, dense_tensor, tensor_list

if TYPE_CHECKING:
    from collections.abc import Sequence


def check_layers(layers: Sequence[nn.Module] | nn.Sequential | nn.ModuleList) -> list[nn.Module]:
    """Return the layers as a list, or say why they are none."""
    if not isinstance(layers, (list, tuple, nn.ModuleList, nn.Sequential)):
        raise TypeError(
            f"layers must be a list of torch.nn.Module, not {type(layers).__name__}: "
            "put a single module into a list"
        )
    if not len(layers):
        raise ValueError("layers is empty: give at least one module")
    for index, layer in enumerate(layers):
        if not isinstance(layer, nn.Module):
            raise TypeError(f"layers[{index}]={reprlib.repr(layer)} must be a torch.nn.Module")
    return list(layers)


def check_parameters(layers: Sequence[nn.Module]) -> torch.device:
    """Return the device of all parameters, or say why they can't be trained."""
    named = {f"{i}.{n}": p for i, layer in enumerate(layers) for n, p in layer.named_parameters()}
    if not any(p.requires_grad for p in named.values()):
        raise ValueError("layers have no parameter that requires a gradient: nothing to train")
    first, place = next((name, p.device) for name, p in named.items())
    for name, parameter in named.items():
        if dense_tensor(f"parameter {name}", parameter).dtype not in FLOATS:
            raise TypeError(
                f"parameter {name} is {parameter.dtype}: convert it to a float dtype, as with "
                "layer.float()"
            )
        if parameter.device != place:
            raise ValueError(
                f"parameter {name} is on {parameter.device}, {first} on {place}: all simulated "
                "devices live on one real one, bring the layers together with .to(...)"
            )
    if place.type == "meta":
        raise ValueError(
            f"parameter {first} is on meta, where it has no values: make some, as with "
            "layer.to_empty(device='cpu')"
        )
    for index, layer in enumerate(layers):
        for name, buffer in layer.named_buffers():
            if is_lazy(buffer):
                raise ValueError(
                    f"buffer {index}.{name} has no shape yet: run the layers once before"
                )
    return place


def float_dtype(name: str, dtype: torch.dtype) -> torch.dtype:
    """Return `dtype`, or say why weights can't have it.

    >>> float_dtype("dtype", torch.float16)
    torch.float16
    """
    if not isinstance(dtype, torch.dtype):
        raise TypeError(f"{name}={reprlib.repr(dtype)} must be a dtype, as torch.bfloat16")
    if dtype not in FLOATS:
        choices = ", ".join(map(str, FLOATS))
        raise ValueError(f"{name}={dtype} can't be trained in: choose from {choices}")
    return dtype


def check_shards(
    x_shards: Sequence[torch.Tensor],
    y_shards: Sequence[torch.Tensor],
    num_devices: int,
    place: torch.device,
) -> list[float]:
    """Return each device's share of the batch, or say what is wrong with the shards."""
    for name, shards in (("x_shards", x_shards), ("y_shards", y_shards)):
        if len(tensor_list(name, shards)) != num_devices:
            raise ValueError(
                f"{name} has {len(shards)} tensors, num_devices={num_devices}: give one for each"
            )
        for rank, shard in enumerate(shards):
            _check_shard(f"{name}[{rank}]", shard, place)
    for rank, (x, y) in enumerate(zip(x_shards, y_shards, strict=True)):
        if len(x) != len(y):
            raise ValueError(
                f"x_shards[{rank}] has {len(x)} samples and y_shards[{rank}] has {len(y)}: "
                "give a target for each sample"
            )
    batch = sum(len(x) for x in x_shards)
    return [len(x) / batch for x in x_shards]


def _check_shard(name: str, shard: torch.Tensor, place: torch.device) -> None:
    """Say why a tensor is no shard of a batch."""
    if shard.device != place:
        raise ValueError(f"{name} is on {shard.device}, the parameters on {place}: use .to(...)")
    if shard.ndim == 0 or len(shard) == 0:
        raise ValueError(
            f"{name} has shape {tuple(shard.shape)}: give at least one sample along dimension 0"
        )
