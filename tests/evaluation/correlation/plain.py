"""Correlations of tables of systems and items under every name of the WMT metrics tasks (Freitag et al. 2023).

``none`` takes all cells together, ``item`` one correlation for each source, ``system`` one for each system, and
averages those defined. Cells that people did not judge are NaN and left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from ranker.arrays import FloatArray, Int64Array
from ranker.errors import OptionError
from ranker.evaluation.correlation.correlation import group_pearson, judged_rows
from ranker.evaluation.correlation.pair_counts import (
    accuracy_with_ties,
    consistency_share,
    count_pairs,
    distinct,
    tau,
    tau_b,
    tau_c,
)
from ranker.evaluation.correlation.pairwise_accuracy import soft_accuracy
from ranker.ranks import group_spearman

Averaging = Literal["none", "item", "system"]
CORRELATIONS = (
    "pearson",
    "spearman",
    "spearman-ye07",
    "kendall-b",
    "kendall-c",
    "wmt12",
    "wmt13",
    "wmt14",
    "xties",
    "consistency",
    "accuracy",
)
"""Names that `correlate` knows; ``accuracy`` is pairwise accuracy with ties (acc23), without calibration."""


@dataclass(frozen=True)
class Average:
    """A mean over groups.

    Parameters
    ----------
    value : float
        NaN if it is undefined in every group.
    groups, undefined : int
        Groups that it is the mean of, and groups left out because it is undefined there.
    """

    value: float
    groups: int
    undefined: int


def correlate(
    human: npt.ArrayLike, scores: npt.ArrayLike, name: str = "pearson", average: Averaging = "none"
) -> Average:
    """Correlate a table of scores with a table of human scores.

    Parameters
    ----------
    human, scores : array-like, shape (systems, items)
        Higher is better in both; NaN in `human` where nobody judged.
    name : str
        One of `CORRELATIONS`.
    average : {"none", "item", "system"}, default "none"

    Raises
    ------
    OptionError
        If no correlation has that name.
    """
    values = group_correlation(*grouped_table(human, scores, average), name)
    known = values[~np.isnan(values)]
    return Average(float(known.mean()) if len(known) else float("nan"), len(known), len(values) - len(known))


def grouped_table(
    human: npt.ArrayLike, scores: npt.ArrayLike, average: Averaging
) -> tuple[FloatArray, FloatArray, Int64Array]:
    """Return the judged cells of two tables (systems, items) group by group: human, scores, offsets of the groups.

    Ties are merged inside a group.
    """
    target, values = (np.asarray(item, dtype=np.float64) for item in (human, scores))
    if average == "item":
        target, values = target.T, values.T
    elif average == "none":
        target, values = target.reshape(1, -1), values.reshape(1, -1)
    return judged_rows(target, values)


def group_correlation(human: npt.ArrayLike, scores: npt.ArrayLike, offsets: npt.ArrayLike, name: str) -> FloatArray:
    """Return one correlation a group, shape (groups,), NaN where it is undefined.

    Parameters
    ----------
    human, scores : array-like, shape (n,)
        Without NaN, in groups one behind the other.
    offsets : array-like of int, shape (groups + 1,)
    name : str
        One of `CORRELATIONS`.

    Raises
    ------
    OptionError
        If no correlation has that name.
    """
    bounds = np.asarray(offsets, dtype=np.int64)
    if name == "pearson":
        return group_pearson(human, scores, bounds)
    if name in ("spearman", "spearman-ye07"):
        return group_spearman(scores, human, bounds, tie_corrected=name == "spearman")
    if name not in CORRELATIONS:
        raise OptionError(f"no correlation is called {name!r}; available: {', '.join(CORRELATIONS)}")
    counts = count_pairs(human, scores, bounds)
    if name == "kendall-b":
        return tau_b(counts)
    if name == "kendall-c":
        group = np.repeat(np.arange(len(bounds) - 1), np.diff(bounds))
        classes = np.minimum(*(distinct(side, group, len(bounds) - 1) for side in (human, scores)))
        return tau_c(counts, np.diff(bounds), classes)
    if name == "consistency":
        return consistency_share(counts)
    if name == "accuracy":
        return accuracy_with_ties(counts)
    return tau(counts, name)  # type: ignore[arg-type]


def pairwise_p_values(scores: npt.ArrayLike, *, permutations: int = 1000, seed: int = 4) -> FloatArray:
    """One-sided p-values that one system is better than another, by swapping their scores segment by segment.

    Parameters
    ----------
    scores : array-like, shape (systems, segments)
        Without NaN. Sums are taken in single precision and with one set of swaps for all pairs, as in the WMT metrics
        task, so that equal seeds give equal figures.
    permutations : int, default 1000
    seed : int, default 4

    Returns
    -------
    float array, shape (pairs,)
        For the pairs ``(i, j)``, i < j, in row order: the share of permutations in which i is ahead of j by at least as
        much as it is.
    """
    values = np.asarray(scores, dtype=np.float64).astype(np.float32)
    generator = np.random.default_rng(seed)
    signs = np.rint(generator.random((permutations, values.shape[1]), dtype=np.float32)) * np.float32(2) - np.float32(1)
    swapped = signs @ values.T
    total = values.sum(axis=1)
    first, second = np.triu_indices(len(values), 1)
    extreme = swapped[:, first] - swapped[:, second] >= total[first] - total[second]
    return np.asarray(extreme.sum(axis=0) / permutations)


def soft_pairwise_accuracy(
    human: npt.ArrayLike, scores: npt.ArrayLike, *, permutations: int = 1000, seed: int = 4
) -> float:
    """Soft pairwise accuracy of complete tables of segment scores, shape (systems, segments)."""
    by_human, by_metric = (pairwise_p_values(item, permutations=permutations, seed=seed) for item in (human, scores))
    return float(soft_accuracy(by_human, by_metric))
