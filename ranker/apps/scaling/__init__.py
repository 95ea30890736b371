"""Scores, ranks and evaluation of shards: one function per shard, in a loop or on Dask."""
