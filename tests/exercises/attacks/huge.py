"""Results and messages that are larger or deeper than a checker can hold."""

from __future__ import annotations

from exercises.attacks.attack import COLLECTIVE, TENSORS, Attack

ATTACKS = [
    Attack("huge-list-returned", inside="return [0.0] * 30_000_000", outcome="data"),
    Attack("huge-int-returned", inside="return 1 << (1 << 28)", outcome="data"),
    Attack("huge-text-returned", inside="return 'x' * (100 << 20)", outcome="data"),
    Attack("huge-dict-returned", inside="return {n: n for n in range(200_000)}", outcome="data"),
    Attack(
        "long-texts-in-a-list-returned",
        inside="return ['x' * (1 << 20)] * 1000",
        outcome="data",
        human=None,
    ),
    Attack(
        "huge-tensor-returned",
        inside="import torch; return torch.zeros(50_000_000)",
        outcome="data",
    ),
    Attack(
        "many-tensors-returned",
        inside="import torch; return [torch.zeros(1 << 19)] * 5_000",
        outcome="data",
        human=None,
    ),
    Attack(
        "tensor-of-a-terabyte-in-one-number",
        inside="import torch; return torch.zeros(1).expand(1 << 38)",
        outcome="data",
    ),
    Attack(
        "gigabytes-through-the-all-reduce",
        before="import torch\nfrom shardwise.distributed import ring_all_reduce",
        inside="ring_all_reduce([torch.zeros(1 << 22)] * 40)",
        exercises=COLLECTIVE,
        outcome="at most half",
        human=None,
    ),
    Attack(
        "terabyte-through-the-all-reduce",
        before="import torch\nfrom shardwise.distributed import ring_all_reduce",
        inside="ring_all_reduce([torch.zeros(1).expand(1 << 38)] * 2)",
        exercises=COLLECTIVE,
        outcome="data",
        human=None,
    ),
    Attack(
        "a-million-small-all-reduces",
        before="import torch\nfrom shardwise.distributed import ring_all_reduce",
        inside="""
            for _ in range(1_000_000):
                ring_all_reduce([torch.zeros(1)])
            """,
        exercises=COLLECTIVE,
        outcome="data",
        human=None,
    ),
    Attack(
        "nested-without-a-bottom",
        inside="""
            nest = []
            nest.append(nest)
            return nest
            """,
        outcome="data",
    ),
    Attack(
        "nested-a-thousand-deep",
        inside="""
            nest = 1.0
            for _ in range(1000):
                nest = [nest]
            return nest
            """,
        outcome="data",
    ),
    Attack(
        "tensors-of-sixty-dimensions",
        inside="import torch; return torch.zeros([1] * 64)",
        exercises=TENSORS,
        outcome="data",
    ),
]
