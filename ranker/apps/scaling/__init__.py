"""Scoring, ranking and evaluation of data in shards: one function per shard, in a loop or on Dask."""
