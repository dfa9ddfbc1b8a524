"""Distributed training from scratch, on torch.

Every algorithm runs on N simulated devices in one process, takes ordinary tensors, and equals one
device up to rounding. What the devices would send one another can be recorded. By subject:

    memory           bytes of parameters, gradients, optimizer state and activations
    communication    bytes that collectives and ZeRO send, as formulas
    collectives      all-reduce, reduce-scatter, all-gather and broadcast on a ring
    ledger           what was sent, message by message
    distributed      data parallelism: the batch is split, the gradients are averaged
    data_parallel    buckets of gradients, and gradient accumulation
    zero             data parallelism that splits the training state too, stages 1 to 3
    tensor_parallel  the matrices of each layer are split
    pipeline         the stack of layers is split into stages
    ring_attention   the sequence is split, and keys and values travel
    plan             which of these to combine on a cluster, with memory and time

>>> from shardwise import ledger
>>> from shardwise.collectives import ring_all_reduce
>>> import torch
>>> with ledger.record() as log:
...     total = ring_all_reduce([torch.tensor([1.0, 2.0]), torch.tensor([10.0, 20.0])])
>>> total[1].tolist(), log.sent_by(0)
([11.0, 22.0], 8)
"""
