"""The order that scores put the candidates of every source in."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd

from ranker.corpora.dataset import Dataset
from ranker.ranks import merge_ties


def rank_by(dataset: Dataset, scores: npt.ArrayLike) -> pd.DataFrame:
    """Rank the candidates of every source by their scores.

    Parameters
    ----------
    dataset : Dataset
    scores : array-like, shape (candidates,)
        Higher is better; for ties see `ranker.ranks.merge_ties`.

    Returns
    -------
    DataFrame
        One row a candidate, by source and rank: ``source`` and ``candidate`` (row numbers), ``system``, ``rank``
        (1 best, ties share the better rank), ``tied``, ``score``, ``margin`` (to the next score below; NaN where
        there is none).
    """
    values = np.asarray(scores, dtype=np.float64)
    merged = merge_ties(values, dataset.candidate_offsets)
    source = dataset.candidate_source
    order = np.lexsort((np.arange(len(values)), -merged, source))
    frame = pd.DataFrame(
        {
            "source": source[order],
            "candidate": order,
            "system": dataset.candidates["system"].to_numpy(object)[order],
            "score": values[order],
        }
    )
    key = pd.Series(merged[order])
    by_source = key.groupby(frame["source"])
    frame["rank"] = by_source.rank(method="min", ascending=False).astype(np.int64)
    frame["tied"] = key.groupby([frame["source"], frame["rank"]]).transform("size") > 1
    following = by_source.shift(-1)
    frame["margin"] = key - following
    return frame[["source", "candidate", "system", "rank", "tied", "score", "margin"]]
