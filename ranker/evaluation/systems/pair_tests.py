"""Significance tests of all pairs of systems at once, from the additive statistics of the sources."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from ranker.arrays import FloatArray, Int64Array
from ranker.errors import OptionError
from ranker.evaluation.choices import RANDOMISED_BELOW, Correction, Parity, SystemTest
from ranker.evaluation.resampling.bootstrap import every_swap, index_draws, swap_draws
from ranker.evaluation.resampling.significance import centred, corrected, resampled_p

PairTest = Literal["bs", "ar", "exact"]
Score = Callable[[FloatArray], FloatArray]
_CHUNK = 1_000_000
_LARGEST = 50_000_000
"""Maximum number of resampled differences in memory at once; a few copies are made of them."""
_MOST_PAIRS = 2_500_000


@dataclass(frozen=True, eq=False)
class SystemPairTests:
    """Scores of systems, and p-values of all pairs of systems."""

    scores: FloatArray
    sample: FloatArray
    first: Int64Array
    second: Int64Array
    p: FloatArray
    adjusted: FloatArray
    test: PairTest
    resamples: int

    def matrix(self, values: FloatArray) -> FloatArray:
        """Expand values of pairs to a symmetric matrix (systems, systems) with ones on the diagonal."""
        matrix = np.ones((len(self.scores), len(self.scores)))
        matrix[self.first, self.second] = matrix[self.second, self.first] = values
        return matrix

    def rank_ranges(self, gain: FloatArray, alpha: float) -> tuple[Int64Array, Int64Array]:
        """Return each system's best and worst possible rank, both of shape (systems,).

        A system ranks below all that are significantly better, by `adjusted`, and above all that are significantly
        worse; `gain` is the score of every system, higher is better.
        """
        ahead = (self.matrix(self.adjusted) < alpha) & (gain[:, np.newaxis] > gain)
        return 1 + ahead.sum(axis=0), len(gain) - ahead.sum(axis=1)


def compare_pairs(
    score: Score,
    statistics: npt.ArrayLike,
    *,
    test: SystemTest = "bs",
    correction: Correction = "westfall-young",
    resamples: int = 1000,
    seed: int = 0,
    parity: Parity | None = None,
    scale: float = 1.0,
) -> SystemPairTests:
    """Test the differences between all pairs of systems with the same resamples."""
    rows = np.asarray(statistics, dtype=np.float64)
    systems = rows.shape[1]
    pairs = systems * (systems - 1) // 2
    if pairs > _MOST_PAIRS:
        what = f"{systems:,} systems are too many to compare all {pairs:,} pairs"
        raise OptionError(f"{what}, expected {_MOST_PAIRS:,} pairs or fewer: use fewer systems")
    if pairs * resamples > _LARGEST:
        raise OptionError(
            f"--resamples {resamples}: {pairs:,} pairs of {systems:,} systems need too much memory with this number of "
            f"resamples; expected at most {_LARGEST // pairs:,}, or fewer systems"
        )
    first, second = (side.astype(np.int64) for side in np.triu_indices(systems, 1))
    scores = score(rows.sum(axis=0))
    sample = bootstrap_scores(score, rows, resamples, seed)
    observed = scores[first] - scores[second]
    used = test if parity else _test(test, len(rows), resamples)
    if used == "bs":
        drawn = sample[:, first] - sample[:, second]
        null = centred(drawn)
    else:
        exact = every_swap(len(rows)) if used == "exact" else None
        drawn = swapped_differences(score, rows, (first, second), resamples, seed, scale, exact)
        null = drawn / scale
    p = resampled_p(null, observed)
    adjusted = corrected(p, null, observed, correction)
    if parity == "sacrebleu":
        folded = np.abs(drawn)
        if test == "bs":
            folded = (folded - folded.mean(axis=0)) * scale
        extreme = folded > np.abs(scale * scores[first] - scale * scores[second])
        _, alike = np.unique(rows.swapaxes(0, 1).reshape(systems, -1), axis=0, return_inverse=True)
        p = np.where(alike[first] == alike[second], 1.0, (1 + extreme.sum(axis=0)) / (1 + resamples))
    return SystemPairTests(scores, sample, first, second, p, adjusted, used, len(null))


def _test(test: SystemTest, sources: int, resamples: int) -> PairTest:
    """Choose the test: randomisation unless there are many sources, exact if `resamples` covers all swaps."""
    if test == "bs" and sources >= RANDOMISED_BELOW:
        return "bs"
    return "exact" if 2 ** (sources - 1) - 1 <= resamples else "ar"


def bootstrap_scores(score: Score, statistics: FloatArray, resamples: int, seed: int) -> FloatArray:
    """Return the scores of all systems in bootstrap samples of sources, shape (resamples, systems)."""
    sample = np.empty((resamples, statistics.shape[1]))
    for start, weights in index_draws(len(statistics), resamples, seed):
        sample[start : start + len(weights)] = score(_weighted_sums(weights, statistics))
    return sample


def _weighted_sums(weights: FloatArray, statistics: FloatArray) -> FloatArray:
    """Return the sums of statistics over weighted sources, shape (samples, systems, width).

    Each system has its own matrix product, because in a joint one its last bit would depend on the other systems.
    """
    sums = weights @ np.ascontiguousarray(statistics.swapaxes(0, 1))
    return np.ascontiguousarray(sums.swapaxes(0, 1))


def swapped_differences(
    score: Score,
    statistics: FloatArray,
    pairs: tuple[Int64Array, Int64Array],
    resamples: int,
    seed: int,
    scale: float = 1.0,
    exact: Iterator[tuple[int, FloatArray]] | None = None,
) -> FloatArray:
    """Return score differences of system pairs, times `scale`, after swapping the outputs of some sources.

    The shape is (resamples, pairs). The swaps are random unless `exact` gives all of them, from `every_swap`.
    """
    sources, _, width = statistics.shape
    total = statistics.sum(axis=0)
    differences = np.empty((resamples if exact is None else 2 ** (sources - 1) - 1, len(pairs[0])))
    for start, draws in swap_draws(sources, resamples, seed) if exact is None else exact:
        own = _weighted_sums(draws, statistics)
        # sums that a system receives from the other system for the swapped sources
        rest = total - own
        step = max(1, _CHUNK // (len(draws) * width))
        for place in range(0, len(pairs[0]), step):
            first, second = (side[place : place + step] for side in pairs)
            left, right = score(own[:, first] + rest[:, second]), score(own[:, second] + rest[:, first])
            differences[start : start + len(draws), place : place + step] = scale * left - scale * right
    return differences
