"""Commands on data sets that do not fit into memory: shard by shard, on one machine or on a Dask cluster."""
