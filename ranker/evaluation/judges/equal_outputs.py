"""Equal outputs of several systems: what a judge said about one of them was said about all."""

from __future__ import annotations

import numpy as np
import pandas as pd

from ranker.arrays import Int64Array
from ranker.corpora.dataset import Dataset, view


@view
def first_equal(dataset: Dataset) -> Int64Array:
    """Return the number of the first candidate with the same source and text as each candidate, shape (candidates,)."""
    text = pd.factorize(dataset.candidates["text"])[0]
    output, _ = pd.factorize(dataset.candidate_source * (len(text) + 1) + text)
    return np.asarray(np.unique(output, return_index=True)[1][output], dtype=np.int64)


def once_per_output(dataset: Dataset, rows: pd.DataFrame, judge: str) -> pd.DataFrame:
    """Keep the rows of each judge, named in the column `judge`, on the first of equal outputs that they judged.

    The column ``candidate`` becomes the first candidate with this output, for all judges.
    """
    output = first_equal(dataset)[rows["candidate"].to_numpy(np.int64)]
    first = rows.groupby([output, rows[judge]])["candidate"].transform("min")
    return rows.assign(candidate=output)[rows["candidate"] == first]
