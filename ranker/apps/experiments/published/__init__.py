"""Published figures of papers, one table per file, as printed, for comparison in the tables."""

from __future__ import annotations

import functools
from pathlib import Path

import pandas as pd


@functools.cache
def published_table(name: str, keys: int = 1) -> pd.DataFrame:
    """Return a published table, indexed by its first `keys` columns."""
    path = Path(__file__).with_name(f"{name}.csv")
    index = list(range(keys))
    return pd.read_csv(path, index_col=index, skipinitialspace=True)
