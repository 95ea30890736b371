"""Counts of candidate pairs by their order in two sets of scores, correlations from these counts, and tie calibration.

All forms of Kendall's tau are functions of five counts, which add up over groups, so that every form can be resampled
from sums.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from ranker.arrays import FloatArray, Int64Array
from ranker.errors import OptionError
from ranker.ranks import sort_counting, stable_order
from ranker.storage.kernels import kernel

TauVariant = Literal["wmt12", "wmt13", "wmt14", "xties"]
CONCORDANT, DISCORDANT, SCORE_TIED, HUMAN_TIED, BOTH_TIED = range(5)
_LARGE = 48


@kernel(elements=0)
def _count_small(human: FloatArray, scores: FloatArray, epsilon: float, counts: Int64Array) -> None:
    for first in range(len(human)):
        for second in range(first):
            by_human = human[first] - human[second]
            by_score = scores[first] - scores[second]
            if abs(by_score) <= epsilon:
                counts[4 if by_human == 0.0 else 2] += 1
            elif by_human == 0.0:
                counts[3] += 1
            elif (by_human > 0.0) == (by_score > 0.0):
                counts[0] += 1
            else:
                counts[1] += 1


@kernel(elements=0)
def _tied(values: FloatArray) -> int:
    """Number of pairs of equal values in sorted `values`."""
    pairs = run = 0
    for place in range(1, len(values)):
        run = run + 1 if values[place] == values[place - 1] else 0
        pairs += run
    return pairs


@kernel(elements=0)
def _count_large(human: FloatArray, scores: FloatArray, counts: Int64Array) -> None:
    """Count pairs by Knight's method (1966): discordant pairs are inversions among scores sorted by human score."""
    size = len(human)
    order = stable_order(scores)
    order = order[stable_order(human[order])]
    by_human, by_score = human[order], scores[order]
    tied_in_both = run = 0
    for place in range(1, size):
        same = by_human[place] == by_human[place - 1] and by_score[place] == by_score[place - 1]
        run = run + 1 if same else 0
        tied_in_both += run
    human_tied = _tied(by_human)
    discordant = sort_counting(by_score, np.empty(size))
    score_tied = _tied(by_score)
    counts[1] = discordant
    counts[2] = score_tied - tied_in_both
    counts[3] = human_tied - tied_in_both
    counts[4] = tied_in_both
    counts[0] = size * (size - 1) // 2 - discordant - score_tied - human_tied + tied_in_both


def _count_by_rows(
    human: FloatArray, scores: FloatArray, offsets: Int64Array, epsilon: float, large: int
) -> Int64Array:
    """Count pairs like `_count` but without compiled code, comparing each row with all earlier rows at once."""
    counts = np.zeros((len(offsets) - 1, 5), dtype=np.int64)
    for group in range(len(offsets) - 1):
        start, stop = offsets[group], offsets[group + 1]
        for row in range(start + 1, stop):
            by_human, by_score = human[row] - human[start:row], scores[row] - scores[start:row]
            tied, equal = np.abs(by_score) <= epsilon, by_human == 0.0
            same = (by_human > 0.0) == (by_score > 0.0)
            kinds = np.where(tied, np.where(equal, 4, 2), np.where(equal, 3, np.where(same, 0, 1)))
            counts[group] += np.bincount(kinds, minlength=5)
    return counts


def _pairs_to_count(human: FloatArray, scores: FloatArray, offsets: Int64Array, *_: object) -> int:
    sizes = np.diff(offsets)
    # a row of numbers costs as much as hundreds of them
    return int((sizes * sizes + 1000 * sizes).sum())


@kernel(elements=10_000_000, size=_pairs_to_count, plain=_count_by_rows, offsets=("offsets",))
def _count(human: FloatArray, scores: FloatArray, offsets: Int64Array, epsilon: float, large: int) -> Int64Array:
    counts = np.zeros((len(offsets) - 1, 5), dtype=np.int64)
    for group in range(len(offsets) - 1):
        start, stop = offsets[group], offsets[group + 1]
        if stop - start > large and epsilon == 0.0:
            _count_large(human[start:stop], scores[start:stop], counts[group])
        else:
            _count_small(human[start:stop], scores[start:stop], epsilon, counts[group])
    return counts


def count_pairs(
    human: npt.ArrayLike, scores: npt.ArrayLike, offsets: npt.ArrayLike, *, epsilon: float = 0.0
) -> Int64Array:
    """Count the pairs of candidates within each group by their order in human and automatic scores."""
    target, values = (np.ascontiguousarray(values, dtype=np.float64) for values in (human, scores))
    bounds = np.ascontiguousarray(offsets, dtype=np.int64)
    return _count(target, values, bounds, float(epsilon), _LARGE)


def tau(counts: npt.ArrayLike, variant: TauVariant = "wmt14") -> FloatArray:
    """Kendall's tau from pair counts, as defined by the WMT shared tasks."""
    columns = np.moveaxis(np.asarray(counts, dtype=np.float64), -1, 0)
    concordant, discordant, tied = columns[:3]
    total = concordant + discordant + (0.0 if variant == "wmt13" else tied)
    if variant == "wmt12":
        discordant = discordant + tied
    elif variant == "xties":
        if len(columns) < BOTH_TIED + 1:
            raise OptionError("tau variant xties: expected five counts of pairs, with those of human ties, found three")
        concordant = concordant + columns[BOTH_TIED]
        total = total + columns[HUMAN_TIED] + columns[BOTH_TIED]
    with np.errstate(invalid="ignore"):
        return np.asarray((concordant - discordant) / total)


def consistency_share(counts: npt.ArrayLike) -> FloatArray:
    """Proportion of strict human preferences that the scores agree with (Birch and Osborne 2011).

    `counts` are as in `tau`; a score tie agrees with no preference. In [0, 1], NaN where there is no pair.
    """
    columns = np.moveaxis(np.asarray(counts, dtype=np.float64), -1, 0)
    with np.errstate(invalid="ignore"):
        return np.asarray(columns[CONCORDANT] / columns[:3].sum(axis=0))


def accuracy_with_ties(counts: npt.ArrayLike) -> FloatArray:
    """Proportion of pairs in the same order, or tied, by scores and by people (acc-eq; Deutsch et al. 2023, eq. 8).

    The last axis of `counts` has the five counts. In [0, 1], NaN where there is no pair.
    """
    values = np.asarray(counts, dtype=np.float64)
    with np.errstate(invalid="ignore"):
        return np.asarray((values[..., CONCORDANT] + values[..., BOTH_TIED]) / values.sum(axis=-1))


def tau_b(counts: npt.ArrayLike) -> FloatArray:
    """Kendall's tau-b (1945) from five pair counts in the last axis; NaN where scores or human scores are constant."""
    values = np.asarray(counts, dtype=np.float64)
    total = values.sum(axis=-1)
    by_score = total - values[..., SCORE_TIED] - values[..., BOTH_TIED]
    by_human = total - values[..., HUMAN_TIED] - values[..., BOTH_TIED]
    with np.errstate(invalid="ignore", divide="ignore"):
        result = (values[..., CONCORDANT] - values[..., DISCORDANT]) / np.sqrt(by_score) / np.sqrt(by_human)
    return np.asarray(np.clip(result, -1.0, 1.0))


def tau_c(counts: npt.ArrayLike, size: npt.ArrayLike, classes: npt.ArrayLike) -> FloatArray:
    """Stuart's tau-c (1953) from five pair counts in the last axis; NaN where scores or human scores are constant.

    `size` is the number of candidates, and `classes` the lower of the numbers of different scores and human scores.
    """
    values = np.asarray(counts, dtype=np.float64)
    fewest = np.asarray(classes, dtype=np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        scale = np.asarray(size, dtype=np.float64) ** 2 * (fewest - 1) / fewest
        result = 2 * (values[..., CONCORDANT] - values[..., DISCORDANT]) / scale
    return np.asarray(np.clip(np.where(fewest > 1, result, np.nan), -1.0, 1.0))


def distinct(values: npt.ArrayLike, group: npt.ArrayLike, groups: int) -> Int64Array:
    """Number of different values in each group, shape (groups,)."""
    pairs = pd.DataFrame({"group": group, "value": values}).drop_duplicates()
    return np.bincount(pairs["group"].to_numpy(), minlength=groups).astype(np.int64)
