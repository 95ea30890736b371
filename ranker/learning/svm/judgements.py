"""Human judgements about the rows of an array: grades within groups, or preferences between two rows.

Both define the pairs of rows, can be divided by group for cross-validation, and can be compared with scores.
"""

from __future__ import annotations

import functools
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pandas as pd

from ranker.arrays import FloatArray, Int64Array
from ranker.errors import DataError
from ranker.learning.svm.pair_loss import PairSet
from ranker.ranks import group_offsets, group_spearman, merge_ties


class Judgements(Protocol):
    """Human judgements of rows, as grades or pairs with a preference, in units that cross-validation can hold out."""

    everything: Int64Array
    """Indices of all units."""

    def units(self) -> tuple[Int64Array, Int64Array]:
        """Return the indices of the units that are part of a pair, and the block of each unit.

        Blocks are held out as a whole.
        """

    def select(self, units: Int64Array) -> tuple[FloatArray, PairSet]:
        """Return the rows of `units`, centred near 0, and the pairs of these rows as a `PairSet`."""

    def agreement(self, coef: FloatArray, units: Int64Array) -> tuple[float, float]:
        """Return the summed agreement of `units` with the scores ``X coef``, and the weight to divide the sum by."""


class Grades:
    """Grades of rows: every two rows of the same group with different grades form a pair."""

    def __init__(self, X: FloatArray, grades: FloatArray, groups: Int64Array, blocks: Int64Array | None = None) -> None:
        self.X, self.grades, self.groups = X, grades, groups
        self.blocks = groups if blocks is None else blocks
        self.everything: Int64Array = np.arange(len(grades))

    def units(self) -> tuple[Int64Array, Int64Array]:
        """Return the indices of rows in groups with different grades, and each row's block."""
        order, offsets = group_offsets(self.groups)
        grades = self.grades[order]
        differ = np.maximum.reduceat(grades, offsets[:-1]) > np.minimum.reduceat(grades, offsets[:-1])
        in_pair = np.empty(len(order), dtype=bool)
        in_pair[order] = np.repeat(differ, np.diff(offsets))
        return np.flatnonzero(in_pair), self.blocks[in_pair]

    def select(self, units: Int64Array) -> tuple[FloatArray, PairSet]:
        """Return the rows with indices `units`, sorted by group and centred near 0, and the pairs of these rows."""
        order, offsets = group_offsets(self.groups[units])
        order = units[order]
        return _centred(self.X, order), PairSet.graded(offsets, self.grades[order])

    def agreement(self, coef: FloatArray, units: Int64Array) -> tuple[float, float]:
        """Return the sum of groups' Spearman correlations, 0 for a group of equal scores, and the number of groups."""
        order, offsets = group_offsets(self.groups[units])
        order = units[order]
        rho = group_spearman(self.X[order] @ coef, self.grades[order], offsets)
        return float(np.nansum(rho)), float(len(rho))


class Preferences:
    """Pairs of a preferred row and another row; each pair is a unit."""

    def __init__(
        self,
        X: FloatArray,
        pairs: Int64Array,
        weights: FloatArray,
        groups: Int64Array,
        blocks: Int64Array | None = None,
    ) -> None:
        self.X, self.pairs, self.weights, self.groups = X, pairs, weights, groups
        self.blocks = groups if blocks is None else blocks
        self.everything: Int64Array = np.arange(len(pairs))

    def units(self) -> tuple[Int64Array, Int64Array]:
        """Return the indices of the pairs with a positive weight, and the block of each pair."""
        units = np.flatnonzero(self.weights > 0.0)
        return units, self.blocks[self.pairs[units, 0]]

    def select(self, units: Int64Array) -> tuple[FloatArray, PairSet]:
        """Return the rows of the pairs with indices `units`, centred near 0, and the pairs as a `PairSet`."""
        rows, places = np.unique(self.pairs[units], return_inverse=True)
        better, worse = places.reshape(-1, 2).T
        return _centred(self.X, rows), PairSet(len(rows), better, worse, self.weights[units])

    @functools.cached_property
    def _by_group(self) -> tuple[Int64Array, Int64Array]:
        return group_offsets(self.groups)

    def agreement(self, coef: FloatArray, units: Int64Array) -> tuple[float, float]:
        """Return the weight of concordant pairs minus that of discordant pairs, and the weight of all pairs."""
        order, offsets = self._by_group
        scores = np.empty(len(self.X))
        scores[order] = merge_ties((self.X @ coef)[order], offsets)
        better, worse = self.pairs[units].T
        weights = self.weights[units]
        return float(weights @ np.sign(scores[better] - scores[worse])), float(weights.sum())


def checked_preferences(
    X: FloatArray,
    pairs: npt.ArrayLike,
    pair_weight: npt.ArrayLike | None,
    groups: Any,
    blocks: Int64Array | None = None,
) -> Preferences:
    """Check the arguments of a fit on pairs, and return them as `Preferences`."""
    indices = np.asarray(pairs)
    if indices.size == 0:
        indices = np.zeros((0, 2), dtype=np.int64)
    if indices.ndim != 2 or indices.shape[1] != 2 or indices.dtype.kind not in "iu":
        raise DataError(
            f"pairs of shape {indices.shape} and type {indices.dtype}: expected whole numbers of shape (n_pairs, 2), "
            "each row a better and a worse row of X"
        )
    if len(indices) and (indices.min() < 0 or indices.max() >= len(X)):
        outside = np.flatnonzero(((indices < 0) | (indices >= len(X))).any(axis=1))
        raise DataError(
            f"pairs[{outside[0]}] is {indices[outside[0]].tolist()}: expected row indices from 0 to {len(X) - 1}"
        )
    loops = np.flatnonzero(indices[:, 0] == indices[:, 1])
    if len(loops):
        raise DataError(f"pairs[{loops[0]}] prefers row {indices[loops[0], 0]} to itself: remove it")
    indices = indices.astype(np.int64)
    if groups is None:
        codes = _components(indices, len(X))
    else:
        codes = group_codes(groups, len(X))
        crossing = np.flatnonzero(codes[indices[:, 0]] != codes[indices[:, 1]])
        if len(crossing):
            raise DataError(
                f"pairs[{crossing[0]}] is {indices[crossing[0]].tolist()}, rows of two groups: "
                "expected pairs within a group"
            )
    if pair_weight is None:
        weights = np.ones(len(indices))
    else:
        weights = np.asarray(pair_weight, dtype=np.float64)
        if weights.shape != (len(indices),):
            raise DataError(f"pair_weight of shape {weights.shape}: expected {(len(indices),)}, one for each pair")
        wrong = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0.0)))
        if len(wrong):
            raise DataError(f"pair_weight[{wrong[0]}] is {weights[wrong[0]]}: expected a number of at least 0")
    return Preferences(X, indices, weights, codes, blocks)


def group_codes(groups: Any, n_rows: int) -> Int64Array:
    """Number the groups and return the number of each row's group; labels need only be hashable."""
    if groups is None:
        return np.zeros(n_rows, dtype=np.int64)
    labels = groups if isinstance(groups, np.ndarray) else list(groups)
    if isinstance(labels, np.ndarray) and labels.ndim != 1:
        raise DataError(f"groups of shape {labels.shape}: expected one label for each row, shape ({n_rows},)")
    if len(labels) != n_rows:
        raise DataError(f"groups has {len(labels)} labels, X has {n_rows} rows: expected one label for each row")
    if isinstance(labels, np.ndarray) and labels.dtype.kind in "iub":
        return np.unique(labels, return_inverse=True)[1].astype(np.int64)
    known: dict[Any, int] = {}
    codes = np.fromiter((known.setdefault(label, len(known)) for label in labels), dtype=np.int64, count=n_rows)
    unequal = next((label for label in known if label is pd.NA or label != label), None)
    if unequal is not None:
        raise DataError(f"groups has the label {unequal!r}, which names no group: give every row a group")
    return codes


def _components(pairs: Int64Array, n_rows: int) -> Int64Array:
    """Return the number of each row's component in the graph whose edges are the pairs."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    edges = coo_array((np.ones(len(pairs)), pairs.T), shape=(n_rows, n_rows))
    return np.asarray(connected_components(edges, directed=False)[1], dtype=np.int64)


def _centred(X: FloatArray, rows: Int64Array) -> FloatArray:
    """Return the rows `rows` of `X` minus their mean, which is rounded so that differences of rows stay exact."""
    chosen = np.take(X, rows, axis=0)
    if len(chosen):
        lowest = chosen.min(axis=0)
        spread = chosen.max(axis=0) - lowest
        unit = 2.0 ** np.floor(np.log2(np.where(spread > 0.0, spread, 1.0) / 16.0))
        chosen -= np.where(spread > 0.0, np.round(chosen.mean(axis=0) / unit) * unit, lowest)
    return chosen
