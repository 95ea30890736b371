"""Columns of the six tables of a data set, described in `ranker.corpora.dataset`, and construction of the tables."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sized
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from ranker.corpora.languages import LONGEST_PAIR

TEXT = pd.StringDtype("pyarrow")
PLACE = pd.Int64Dtype()
ALIGNMENT = "alignment"
"""A column that `references` and `candidates` may have in addition to `SCHEMA`."""

OF_FILES = "given "
"""Start of the names of columns that `candidates` may have in addition: scores of files, which metrics sign."""

LONGEST_NAMES = {
    "lp": LONGEST_PAIR,
    **dict.fromkeys(("doc", "seg_id", "name", "system", "judge", "kind", "rater", "severity", "category"), 1000),
}
"""Maximum number of characters of a name in columns of names, which are repeated in rows, messages and results."""

SCHEMA: dict[str, dict[str, Any]] = {
    "sources": {"lp": TEXT, "doc": TEXT, "seg_id": TEXT, "text": TEXT},
    "references": {"source": np.int64, "name": TEXT, "text": TEXT},
    "candidates": {"source": np.int64, "system": TEXT, "text": TEXT, "is_reference": np.bool_},
    "ratings": {"candidate": np.int64, "judge": TEXT, "kind": TEXT, "value": np.float64},
    "preferences": {
        "first": np.int64,
        "second": np.int64,
        "relation": TEXT,
        "judge": TEXT,
        "task": TEXT,
        "rank_first": TEXT,
        "rank_second": TEXT,
        "primary": np.bool_,
    },
    "errors": {
        "candidate": np.int64,
        "rater": TEXT,
        "start": PLACE,
        "end": PLACE,
        "severity": TEXT,
        "category": TEXT,
        "side": TEXT,
    },
}


def table(name: str, columns: Mapping[str, Sized] | None = None) -> pd.DataFrame:
    """Make a table of `SCHEMA` with its column types; columns left out have missing or empty values."""
    arrays = typed_columns(name, columns or {})
    return pd.DataFrame(arrays, copy=False) if len(next(iter(arrays.values()))) else empty_table(name)


def typed_columns(name: str, columns: Mapping[str, Sized]) -> dict[str, Any]:
    """Return the columns of a table of `SCHEMA` as newly made arrays of the declared types."""
    size = max(map(len, columns.values()), default=0)
    return {column: _typed(columns.get(column), kind, size) for column, kind in SCHEMA[name].items()}


def _typed(values: Any, kind: Any, size: int) -> Any:
    if kind is PLACE:
        return pd.array([None] * size if values is None else values, dtype=PLACE)
    if kind is not TEXT:
        return np.array([None] * size if values is None else values, dtype=kind)
    return pd.array(pa.nulls(size, pa.large_string()) if values is None else values, dtype=TEXT)


def empty_table(name: str) -> pd.DataFrame:
    """Return a table of `SCHEMA` without rows."""
    return _empty_table(name).copy(deep=False)


@functools.cache
def _empty_table(name: str) -> pd.DataFrame:
    return pd.DataFrame(typed_columns(name, {}))
