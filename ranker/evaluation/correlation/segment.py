"""Agreement with people at segment level: Spearman's rho per source, and agreement of scores with preference pairs."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ranker.arrays import FloatArray, Int64Array, offsets_of
from ranker.corpora.dataset import Dataset
from ranker.corpora.judgements import PreferencePairs
from ranker.ranks import group_spearman


def source_spearman(
    dataset: Dataset, scores: npt.ArrayLike, human: npt.ArrayLike, *, tie_corrected: bool = True, constant: bool = False
) -> FloatArray:
    """Spearman's rho between the scores and human scores of each source's judged candidates."""
    target = np.asarray(human, dtype=np.float64)
    judged = ~np.isnan(target)
    counts = np.bincount(dataset.candidate_source[judged], minlength=len(dataset.sources))
    offsets = offsets_of(counts)
    sides = np.asarray(scores)[judged], target[judged]
    return group_spearman(*sides, offsets, tie_corrected=tie_corrected, constant=constant)


def tau_counts(scores: npt.ArrayLike, pairs: PreferencePairs, group: npt.ArrayLike, groups: int) -> Int64Array:
    """Numbers of strict human preferences that the scores agree with, contradict or tie, shape (groups, 3)."""
    values = np.asarray(scores, dtype=np.float64)
    difference = values[pairs.better] - values[pairs.worse]
    outcome = np.where(difference == 0, 2, np.where(difference > 0, 0, 1))
    code = np.asarray(group)[pairs.better] * 3 + outcome
    return np.bincount(code, minlength=3 * groups).reshape(groups, 3).astype(np.int64)
