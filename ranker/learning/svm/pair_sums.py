r"""Losses over pairs of rows, without a list of the pairs where nobody gave one.

Row ``i`` is *better* than row ``j``; with scores ``z`` the pair's *margin* is ``z_i - z_j`` and its *slack*
``u = max(0, 1 - margin)``. Every loss here is 0 at slack 0, a parabola up to slack `width` (the *zone*) and a
straight line beyond it (the *cap*), so its derivative, the pair's dual variable, is

    alpha(u) = slope * u  in the zone,    cap  beyond it.

All that a Newton method asks of such a loss is sums over pairs: the alphas added up by row, three totals, and the
second derivative ``slope * X' L X``, where ``L`` is the Laplacian of the graph whose edges are the pairs in the
zone. Two kinds of pairs know how to compute them:

- `GradedPairs`: all pairs inside a group whose grades differ. Small groups run over their pairs. Large groups are
  cut in two by grade again and again; across a cut every row of the upper half is better than every row of the lower
  half, both sorted by score, so a row's pairs in the zone are one window, which slides as the row advances:
  O(n log n) for n rows. Lee and Lin (2014, section 4) count with order-statistic trees; the cuts do the same work in
  sequential sweeps and keep no tree.
- `WeightedPairs`: pairs given one by one, each with a weight.

Work is divided into blocks, by its size alone, whose results are added in order: the number of threads never changes
a bit of the result.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, cast

import numpy as np

from ranker.arrays import BoolArray, FloatArray, Int64Array, offsets_of
from ranker.learning.svm.graded_pairs import Groups, graded_alphas, graded_laplacian, plan_cuts
from ranker.learning.svm.loss import PairLoss, Totals, Wins
from ranker.learning.svm.tight_pairs import graded_tight, listed_tight
from ranker.storage.kernels import kernel
from ranker.threads import for_each_block

BLOCKS = 64
"""Units of parallel work at most; not the number of threads, because the order of additions depends on it."""

BLOCK_WORK = 5_000.0
"""Pairs for which a block of its own is worth its call."""

LARGE_GROUP = 128
"""Groups with more rows than this are swept; up to it running over the pairs is faster."""


class PairSet:
    """Pairs over n rows, as a solver sees them."""

    total_weight: float
    """Number of pairs, each counted with its weight."""

    _alphas: Callable[..., None]
    _laplacian: Callable[..., None]
    _tight: Callable[..., tuple[Int64Array, FloatArray]]
    _pairs: tuple[NamedTuple, ...]

    def _divide(self, cost: FloatArray, first_rows: Int64Array) -> None:
        """Divide the units of work (groups or rows) into blocks of about equal `cost`, in pairs."""
        self._work = float(cost.sum())
        self._blocks = _equal_blocks(cost)
        self._first_rows = first_rows[self._blocks]

    def alphas(self, scores: FloatArray, loss: PairLoss) -> tuple[FloatArray, Totals]:
        """Return, for every row, the alphas of the pairs it wins minus those of the pairs it loses; and totals."""
        row_alpha, totals = np.zeros(len(scores)), np.zeros((len(self._blocks) - 1, len(Totals._fields)))

        def run(block: int) -> None:
            self._alphas(block, self._blocks, *self._pairs, scores, loss, row_alpha, totals)

        for_each_block(run, len(totals), self._work)
        return row_alpha, Totals(*totals.sum(axis=0).tolist())

    def curvature(self, scores: FloatArray, rows: FloatArray, width: float) -> FloatArray:
        """Return ``rows' L rows`` with L the weighted Laplacian of the pairs in the zone."""
        n_columns = rows.shape[1]
        parts = np.empty((len(self._blocks) - 1, n_columns, n_columns))

        def run(block: int) -> None:
            own = rows[self._first_rows[block] : self._first_rows[block + 1]]
            product, touched = np.zeros_like(own), np.zeros(len(own), dtype=np.bool_)
            self._laplacian(block, self._blocks, *self._pairs, scores, rows, width, product, touched)
            some = np.flatnonzero(touched)
            # A narrow zone touches few rows, and the others' products are 0.
            if len(some) < 0.5 * len(own):
                own, product = own[some], product[some]
            np.matmul(own.T, product, out=parts[block])

        for_each_block(run, len(parts), self._work * n_columns)
        return cast(FloatArray, parts.sum(axis=0))

    def tight(self, scores: FloatArray, width: float, limit: int) -> tuple[Int64Array, FloatArray] | None:
        """Return the pairs whose margin is 1 but for `width`: (better, worse), shape (k, 2), and their weights.

        None if there are `limit` or more.
        """
        lists: list[tuple[Int64Array, FloatArray]] = [(np.zeros((0, 2), dtype=np.int64), np.zeros(0))] * (
            len(self._blocks) - 1
        )

        def run(block: int) -> None:
            lists[block] = self._tight(block, self._blocks, *self._pairs, scores, width, limit)

        for_each_block(run, len(lists), self._work)
        pairs, weights = (
            np.concatenate([block_pairs for block_pairs, _ in lists]),
            np.concatenate([block_weights for _, block_weights in lists]),
        )
        return (pairs, weights) if len(pairs) < limit else None


class GradedPairs(PairSet):
    """All pairs inside a group in which one row has the higher grade, each with weight 1."""

    def __init__(self, offsets: Int64Array, grades: FloatArray, *, large_group: int = LARGE_GROUP) -> None:
        sizes = np.diff(offsets)
        opens_level = np.ones(len(grades) + 1, dtype=bool)
        opens_level[1:-1] = grades[1:] != grades[:-1]
        opens_level[offsets] = True
        level_starts = np.flatnonzero(opens_level)
        level = np.cumsum(opens_level[:-1]) - 1
        level_stop = level_starts[level + 1]
        self.total_weight = float(np.sum(np.repeat(offsets[1:], sizes) - level_stop))
        is_large = sizes > large_group
        # Each cut makes one more block of levels, so a group with k levels takes k - 1 cuts.
        n_cuts = np.where(is_large, np.diff(np.searchsorted(level_starts, offsets)) - 1, 0)
        cut_offsets = offsets_of(n_cuts)
        cuts = plan_cuts(offsets, level_starts[level], level_stop, cut_offsets)
        self._pairs = (Groups(offsets, level_stop, is_large, cut_offsets, cuts),)
        self._alphas, self._laplacian, self._tight = graded_alphas, graded_laplacian, graded_tight
        self._divide(np.where(is_large, 40.0 * sizes * np.log2(sizes + 1.0), 0.5 * sizes * sizes), offsets)


class WeightedPairs(PairSet):
    """Pairs given one by one."""

    def __init__(self, offsets: Int64Array, better: Int64Array, worse: Int64Array, weights: FloatArray) -> None:
        self.total_weight = float(weights.sum())
        starts = offsets_of(np.bincount(better, minlength=offsets[-1]))
        wins = Wins(offsets, starts, np.empty(len(worse), dtype=np.int64), np.empty(len(weights)))
        _list_wins(better, worse, weights, starts[:-1].copy(), wins)
        self._pairs = (wins,)
        self._alphas, self._laplacian, self._tight = _listed_alphas, _listed_laplacian, listed_tight
        self._divide(np.diff(starts[offsets]) + 0.5 * np.diff(offsets), offsets)


@kernel(elements=0)
def _list_wins(better: Int64Array, worse: Int64Array, weights: FloatArray, places: Int64Array, wins: Wins) -> None:
    for pair in range(len(better)):
        place = places[better[pair]]
        places[better[pair]] += 1
        wins.losers[place] = worse[pair]
        wins.weights[place] = weights[pair]


def _equal_blocks(cost: FloatArray) -> Int64Array:
    """Cut a sequence of units into runs of about the same summed cost, and return where they start and end."""
    reached = np.concatenate([[0.0], np.cumsum(cost)])
    bounds = np.searchsorted(reached, np.linspace(0.0, reached[-1], count_blocks(reached[-1]) + 1))
    bounds[0], bounds[-1] = 0, len(cost)
    return np.unique(bounds).astype(np.int64)


def count_blocks(work: float) -> int:
    """Return the number of blocks for so much work, the same for any number of threads."""
    return int(min(max(work / BLOCK_WORK, 1.0), BLOCKS))


@kernel(elements=0)
def _listed_alphas(
    block: int,
    blocks: Int64Array,
    wins: Wins,
    scores: FloatArray,
    loss: PairLoss,
    row_alpha: FloatArray,
    totals: FloatArray,
) -> None:
    cap_slack = zone_slack = zone_squares = 0.0
    for row in range(wins.offsets[blocks[block]], wins.offsets[blocks[block + 1]]):
        own = 0.0
        for pair in range(wins.starts[row], wins.starts[row + 1]):
            loser, weight = wins.losers[pair], wins.weights[pair]
            slack = 1.0 - (scores[row] - scores[loser])
            if slack <= 0.0:
                continue
            if slack <= loss.width:
                alpha = weight * loss.slope * slack
                zone_slack += weight * slack
                zone_squares += weight * slack * slack
            else:
                alpha = weight * loss.cap
                cap_slack += weight * slack
            own += alpha
            row_alpha[loser] -= alpha
        row_alpha[row] += own
    totals[block, 0], totals[block, 1], totals[block, 2] = cap_slack, zone_slack, zone_squares


@kernel(elements=0)
def _listed_laplacian(
    block: int,
    blocks: Int64Array,
    wins: Wins,
    scores: FloatArray,
    rows: FloatArray,
    width: float,
    product: FloatArray,
    touched: BoolArray,
) -> None:
    first = wins.offsets[blocks[block]]
    for row in range(first, wins.offsets[blocks[block + 1]]):
        for pair in range(wins.starts[row], wins.starts[row + 1]):
            loser, weight = wins.losers[pair], wins.weights[pair]
            if 0.0 < 1.0 - (scores[row] - scores[loser]) <= width:
                touched[row - first] = touched[loser - first] = True
                for column in range(rows.shape[1]):
                    pull = weight * (rows[row, column] - rows[loser, column])
                    product[row - first, column] += pull
                    product[loser - first, column] -= pull
