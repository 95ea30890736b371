"""Ranks and rank correlation inside groups of rows, as kernels over CSR offsets.

A *group* is a block of consecutive rows: group ``g`` is ``rows[offsets[g]:offsets[g + 1]]``. In this project a
group is the candidates of one source.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit, prange

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

TIE = 1e-10
"""Scores closer than this are the same score, everywhere in the project."""


def snap(scores: npt.ArrayLike) -> FloatArray:
    """Round `scores` to multiples of `TIE`, so that what differs by rounding noise alone ties."""
    values = np.asarray(scores, dtype=np.float64)
    return np.asarray(np.round(values / TIE) * TIE)


def group_offsets(groups: npt.ArrayLike) -> tuple[IntArray, IntArray]:
    """Return a stable order that makes equal `groups` adjacent, and the offsets of the blocks.

    Parameters
    ----------
    groups : array-like, shape (n,)
        Any sortable labels.

    Returns
    -------
    order : int array, shape (n,)
        ``groups[order]`` is sorted; rows of one group keep their order.
    offsets : int array, shape (n_groups + 1,)
    """
    labels = np.asarray(groups)
    _, codes = np.unique(labels, return_inverse=True)
    order = np.argsort(codes, kind="stable").astype(np.int64)
    counts = np.bincount(codes) if len(codes) else np.zeros(0, dtype=np.int64)
    return order, np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


@njit(cache=True, nogil=True)
def _rank_block(values: FloatArray, ranks: FloatArray) -> None:
    order = np.argsort(values, kind="mergesort")
    start = 0
    while start < len(values):
        stop = start + 1
        while stop < len(values) and values[order[stop]] == values[order[start]]:
            stop += 1
        for position in range(start, stop):
            ranks[order[position]] = 0.5 * (start + stop + 1)
        start = stop


@njit(cache=True, nogil=True, parallel=True)
def _average_ranks(values: FloatArray, offsets: IntArray) -> FloatArray:
    ranks = np.empty_like(values)
    for group in prange(len(offsets) - 1):
        start, stop = offsets[group], offsets[group + 1]
        _rank_block(values[start:stop], ranks[start:stop])
    return ranks


@njit(cache=True, nogil=True, parallel=True)
def _correlate(
    first: FloatArray, second: FloatArray, offsets: IntArray, tie_corrected: bool, constant: bool
) -> FloatArray:
    result = np.empty(len(offsets) - 1)
    for group in prange(len(offsets) - 1):
        start, stop = offsets[group], offsets[group + 1]
        size = stop - start
        mean = 0.5 * (size + 1)
        product = squares_first = squares_second = distance = 0.0
        for row in range(start, stop):
            a, b = first[row] - mean, second[row] - mean
            product += a * b
            squares_first += a * a
            squares_second += b * b
            distance += (a - b) * (a - b)
        if (squares_first == 0.0 or squares_second == 0.0) and (size < 2 or not constant):
            result[group] = np.nan
        elif tie_corrected:
            value = product / np.sqrt(squares_first * squares_second)
            result[group] = min(1.0, max(-1.0, value))
        else:
            result[group] = 1.0 - 6.0 * distance / (size * (size * size - 1.0))
    return result


def average_ranks(values: npt.ArrayLike, offsets: npt.ArrayLike) -> FloatArray:
    """Rank the rows of every group from 1 for the smallest value; equal values share their mean rank.

    Parameters
    ----------
    values : array-like, shape (n,)
    offsets : array-like of int, shape (n_groups + 1,)

    Returns
    -------
    float array, shape (n,)
    """
    rows = np.ascontiguousarray(values, dtype=np.float64)
    return _average_ranks(rows, np.ascontiguousarray(offsets, dtype=np.int64))


def group_spearman(
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    offsets: npt.ArrayLike,
    *,
    tie_corrected: bool = True,
    constant: bool = False,
) -> FloatArray:
    """Spearman's rank correlation of two sets of values inside every group.

    Parameters
    ----------
    first, second : array-like, shape (n,)
        Values without NaN; only their order inside a group counts.
    offsets : array-like of int, shape (n_groups + 1,)
    tie_corrected : bool, default True
        True: Pearson correlation of average ranks. False: ``1 - 6 sum D^2 / (N (N^2 - 1))`` on average ranks,
        the form of Ye, Zhou and Lin (2007), equation 1. They differ only where there are ties.
    constant : bool, default False
        With ``tie_corrected=False``, also evaluate the formula where a side is constant: it gives 0.5 to 1, whatever
        the other side is.

    Returns
    -------
    float array, shape (n_groups,)
        In [-1, 1]; NaN in groups of one row and, without `constant`, where either side is constant.

    Raises
    ------
    ValueError
        If `constant` is asked for in the tie-corrected form, which is undefined there.
    """
    if constant and tie_corrected:
        raise ValueError("constant=True needs tie_corrected=False")
    bounds = np.ascontiguousarray(offsets, dtype=np.int64)
    ranks = average_ranks(first, bounds), average_ranks(second, bounds)
    return _correlate(*ranks, bounds, tie_corrected, constant)
