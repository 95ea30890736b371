"""Bootstrap over sources from sums: weights are drawn once, and every statistic is a function of weighted sums."""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ranker.arrays import FloatArray, Int64Array

LEVEL = 0.95
_CHUNK = 4_000_000
_INDICES = 1_000_000


@dataclass(frozen=True)
class Estimate:
    """A figure with its bootstrap interval; NaN where it is undefined."""

    value: float
    low: float
    high: float

    def scaled(self, factor: float) -> Estimate:
        """Return the estimate multiplied by `factor`, which must be positive."""
        return Estimate(factor * self.value, factor * self.low, factor * self.high)

    def columns(self, name: str) -> dict[str, float]:
        """Return the figure and its interval as columns of a data frame."""
        return {name: self.value, f"{name}_low": self.low, f"{name}_high": self.high}


UNKNOWN = Estimate(math.nan, math.nan, math.nan)


def estimate(value: float | np.floating, sample: FloatArray, level: float = LEVEL) -> Estimate:
    """Return `value` with the percentile interval of its bootstrap `sample`, shape (resamples,), ignoring NaN."""
    known = sample[~np.isnan(sample)]
    if not len(known):
        # one object, so that estimates without an interval can be equal
        return Estimate(float(value), math.nan, math.nan)
    tail = 50 * (1 - level)
    low, high = np.percentile(known, [tail, 100 - tail])
    return Estimate(float(value), float(low), float(high))


def stream(seed: int, *names: str | int) -> np.random.Generator:
    """Return a separate random generator for each `seed` and `names`, so that figures do not depend on one another."""
    keys = [name if isinstance(name, int) else zlib.crc32(name.encode()) for name in names]
    return np.random.default_rng([seed, *keys])


def draws(size: int, resamples: int, generator: np.random.Generator) -> Iterator[tuple[int, Int64Array]]:
    """Yield blocks of bootstrap weights: the number of draws of each of `size` units, shape (block, size)."""
    chunk = max(1, _CHUNK // max(size, 1))
    for start in range(0, resamples, chunk):
        count = min(chunk, resamples - start)
        yield start, generator.multinomial(size, np.full(size, 1.0 / size), size=count)


def weights_of_draws(size: int, resamples: int, generator: np.random.Generator) -> FloatArray:
    """Return the bootstrap weights of all blocks of `draws` as one array, shape (resamples, size)."""
    weights = np.empty((resamples, size))
    for start, block in draws(size, resamples, generator):
        weights[start : start + len(block)] = block
    return weights


def index_draws(size: int, resamples: int, seed: int) -> Iterator[tuple[int, FloatArray]]:
    """Yield blocks of bootstrap weights like those of `draws`, from the indices that sacreBLEU draws with `seed`.

    The units of a resample do not depend on the size of the blocks.
    """
    generator = np.random.default_rng(seed)
    for start, count in _blocks(resamples, size):
        places = generator.choice(size, size=(count, size), replace=True)
        places += np.arange(count)[:, np.newaxis] * size
        yield start, np.bincount(places.reshape(-1), minlength=count * size).reshape(count, size).astype(np.float64)


def swap_draws(size: int, resamples: int, seed: int) -> Iterator[tuple[int, FloatArray]]:
    """Yield blocks of random swaps, shape (block, size): 1 for a unit that is kept, 0 for one that is swapped.

    The swaps are those that sacreBLEU draws from `seed`, for any size of the blocks.
    """
    generator = np.random.default_rng(seed)
    for start, count in _blocks(resamples, size):
        yield start, generator.integers(2, size=(count, size), dtype=bool).astype(np.float64)


def every_swap(size: int) -> Iterator[tuple[int, FloatArray]]:
    """Yield all ``2 ** (size - 1) - 1`` distinct nonempty swaps, in blocks like those of `swap_draws`.

    The first unit is never swapped, because swapping all other units instead has the same effect.
    """
    number = 2 ** (size - 1) - 1
    for start, count in _blocks(number, size):
        codes = np.arange(start + 1, start + count + 1)[:, np.newaxis]
        swapped = codes >> np.arange(size - 1) & 1
        yield start, np.hstack([np.ones((count, 1)), 1.0 - swapped])


def _blocks(resamples: int, size: int) -> Iterator[tuple[int, int]]:
    # a multiple of 32 rows: the generator makes 32 booleans at a time, and drops those left over at the end of a call
    chunk = max(32, _INDICES // max(size, 1) // 32 * 32)
    for start in range(0, resamples, chunk):
        yield start, min(chunk, resamples - start)


def resampled_sums(columns: FloatArray, resamples: int, generator: np.random.Generator) -> FloatArray:
    """Return the sums of `columns` (units, k) over units drawn with replacement, shape (resamples, k)."""
    sums = np.empty((resamples, columns.shape[1]))
    for start, weights in draws(len(columns), resamples, generator):
        sums[start : start + len(weights)] = weights @ columns
    return sums
