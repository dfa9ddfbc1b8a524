"""What data parallelism is made of beside the average of gradients in `shardwise.distributed`."""

from __future__ import annotations

from shardwise.data_parallel.accumulation import accumulate_gradients
from shardwise.data_parallel.buckets import bucket_gradients, bucketed_all_reduce

__all__ = ["accumulate_gradients", "bucket_gradients", "bucketed_all_reduce"]
