"""Rankings of each source's candidates by score."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd

from ranker.corpora.dataset import Dataset
from ranker.ranks import merge_ties


def rank_by(dataset: Dataset, scores: npt.ArrayLike, faults: npt.NDArray[np.object_] | None = None) -> pd.DataFrame:
    """Rank each source's candidates by score; candidates with a fault come last.

    The margin between sound and faulty candidates is NaN. If there are `faults`, a column ``fault`` holds them.
    """
    values = np.asarray(scores, dtype=np.float64)
    merged = merge_ties(values, dataset.candidate_offsets)
    source = dataset.candidate_source
    faulty = np.zeros(len(values), dtype=bool) if faults is None else faults != ""
    order = np.lexsort((np.arange(len(values)), -merged, faulty, source))
    frame = pd.DataFrame(
        {
            "source": source[order],
            "candidate": order,
            "system": dataset.candidates["system"].to_numpy(object)[order],
            "score": values[order],
        }
    )
    key, behind = pd.Series(merged[order]), pd.Series(faulty[order])
    groups = key.groupby([frame["source"], behind])
    sound = frame["source"].map(frame["source"][~behind].value_counts()).fillna(0)
    frame["rank"] = (groups.rank(method="min", ascending=False) + sound.where(behind, 0)).astype(np.int64)
    frame["tied"] = key.groupby([frame["source"], frame["rank"]]).transform("size") > 1
    frame["margin"] = key - groups.shift(-1)
    columns = ["source", "candidate", "system", "rank", "tied", "score", "margin"]
    if faults is not None and faulty.any():
        frame["fault"] = pd.Series([fault or None for fault in faults[order].tolist()], dtype=object)
        columns.append("fault")
    return frame[columns]
