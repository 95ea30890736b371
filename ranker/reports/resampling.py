"""Bootstrap over sources of additive statistics."""

from __future__ import annotations

import zlib

import numpy as np

from ranker.arrays import FloatArray
from ranker.evaluation.correlation.segment import Estimate

_CHUNK = 4_000_000


def resampled_sums(block: FloatArray, resamples: int, seed: int, stream: str) -> FloatArray:
    """Sum statistics over resampled sources.

    Parameters
    ----------
    block : float array, shape (sources, k)
    resamples : int
    seed : int
    stream : str
        Name of what is resampled; each name has draws of its own.

    Returns
    -------
    float array, shape (resamples, k)
    """
    generator = np.random.default_rng([seed, zlib.crc32(stream.encode())])
    size = len(block)
    sums = np.empty((resamples, block.shape[1]))
    chunk = max(1, _CHUNK // max(size, 1))
    for start in range(0, resamples, chunk):
        count = min(chunk, resamples - start)
        sums[start : start + count] = generator.multinomial(size, np.full(size, 1.0 / size), size=count) @ block
    return sums


def estimate(value: float, samples: FloatArray) -> Estimate:
    """Return `value` with the 95 % percentile interval of `samples`, shape (resamples,); NaN is left out."""
    known = samples[~np.isnan(samples)]
    if not len(known):
        return Estimate(float(value), float("nan"), float("nan"))
    low, high = np.percentile(known, [2.5, 97.5])
    return Estimate(float(value), float(low), float(high))
