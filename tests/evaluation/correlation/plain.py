"""Correlations of tables of systems and items, by the package, under the names of the WMT metrics tasks.

``none`` takes all cells together, ``item`` one correlation for each source, ``system`` one for each system, and
averages those defined. Cells that people did not judge are NaN and left out. Higher is better.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ranker.arrays import FloatArray, Int64Array
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
from ranker.evaluation.correlation.pearson import group_pearson, judged_rows
from ranker.ranks import group_spearman

COUNTED = {"kendall-b": tau_b, "consistency": consistency_share, "accuracy": accuracy_with_ties}
CORRELATIONS = ("pearson", "spearman", "spearman-ye07", "kendall-c", *COUNTED, "wmt12", "wmt13", "wmt14", "xties")


class Average(NamedTuple):
    """A mean over groups, NaN if it is undefined in every group, and how many are defined and undefined."""

    value: float
    groups: int
    undefined: int


def correlate(human: npt.ArrayLike, scores: npt.ArrayLike, name: str = "pearson", average: str = "none") -> Average:
    """Correlate two tables (systems, items)."""
    values = group_correlation(*grouped_table(human, scores, average), name)
    known = values[~np.isnan(values)]
    return Average(float(known.mean()) if len(known) else float("nan"), len(known), len(values) - len(known))


def grouped_table(
    human: npt.ArrayLike, scores: npt.ArrayLike, average: str
) -> tuple[FloatArray, FloatArray, Int64Array]:
    """Return the judged cells group by group: human, scores with ties merged, offsets of the groups."""
    tables = [np.asarray(item, dtype=np.float64) for item in (human, scores)]
    if average != "system":
        tables = [item.T if average == "item" else item.reshape(1, -1) for item in tables]
    return judged_rows(*tables)


def group_correlation(human: npt.ArrayLike, scores: npt.ArrayLike, offsets: npt.ArrayLike, name: str) -> FloatArray:
    """Return one correlation for each group, NaN where it is undefined."""
    bounds = np.asarray(offsets, dtype=np.int64)
    if name == "pearson":
        return group_pearson(human, scores, bounds)
    if name.startswith("spearman"):
        return group_spearman(scores, human, bounds, tie_corrected=name == "spearman")
    counts = count_pairs(human, scores, bounds)
    if name == "kendall-c":
        group = np.repeat(np.arange(len(bounds) - 1), np.diff(bounds))
        classes = np.minimum(*(distinct(side, group, len(bounds) - 1) for side in (human, scores)))
        return tau_c(counts, np.diff(bounds), classes)
    return COUNTED[name](counts) if name in COUNTED else tau(counts, name)  # type: ignore[arg-type]


def pairwise_p_values(
    scores: npt.ArrayLike, *, permutations: int = 1000, seed: int = 4
) -> tuple[FloatArray, FloatArray]:
    """One-sided p-values that the first of two systems is better, by swapping their scores segment by segment.

    With one set of swaps for all pairs, as in the WMT metrics task, so that equal seeds give equal figures. It takes
    sums in single precision, where a swap that changes nothing may come out below the total, unless these sums are
    exact: returned are p-values without such swaps and with all of them.
    """
    values = np.asarray(scores, dtype=np.float64)
    generator = np.random.default_rng(seed)
    signs = np.rint(generator.random((permutations, values.shape[1]), dtype=np.float32)) * np.float32(2) - np.float32(1)
    swapped = signs.astype(np.float64) @ values.T
    total = values.sum(axis=1)
    first, second = np.triu_indices(len(values), 1)
    above = swapped[:, first] - swapped[:, second] - (total[first] - total[second])
    noise = 1e-7 * np.abs(values).sum() if (values % 2**-10).any() else 0.0
    return (above >= noise).mean(axis=0), (above >= -noise).mean(axis=0)


def soft_pairwise_accuracy(human: npt.ArrayLike, scores: npt.ArrayLike) -> tuple[float, float]:
    """Soft pairwise accuracy of complete tables (systems, segments), and how far ties of single precision move it."""
    p_values = [pairwise_p_values(table) for table in (human, scores)]
    middle = [(low + high) / 2 for low, high in p_values]
    noise = sum(float(np.mean(high - low)) / 2 for low, high in p_values)
    return float(soft_accuracy(*middle)), noise
