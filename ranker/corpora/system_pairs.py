"""Two systems of a data set, source by source."""

from __future__ import annotations

import numpy as np

from ranker.arrays import Int64Array
from ranker.corpora.dataset import Dataset
from ranker.errors import OptionError, nearest


def system_pair(dataset: Dataset, first: str, second: str) -> Int64Array:
    """Return the candidates of two systems for every source, shape (sources, 2); -1 for a missing candidate."""
    names = list(dict.fromkeys(dataset.candidates["system"]))
    for name in (first, second):
        if name not in names:
            listed = ", ".join(map(repr, names))
            raise OptionError(f"no system {name!r} in {dataset.name}{nearest(name, names)}; available: {listed}")
    systems = dataset.candidates["system"].to_numpy(object)
    rows = np.full((len(dataset.sources), 2), -1, dtype=np.int64)
    for side, name in enumerate((first, second)):
        outputs = np.flatnonzero(systems == name)
        rows[dataset.candidate_source[outputs], side] = outputs
    return rows
