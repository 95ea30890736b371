"""Strengths of systems from paired comparisons, by Davidson's extension of the Bradley-Terry model for ties.

::

    P(i better than j) = s[i] / (s[i] + s[j] + v sqrt(s[i] s[j])),   P(tie) = v sqrt(s[i] s[j]) / (the same)

Davidson (1970); without ties, ``v`` is 0, as in Bradley and Terry (1952). Strengths are reported as ``log s`` with mean
0 and estimated by maximum likelihood. The bootstrap is Bayesian (Rubin 1981): sources have weights drawn from an
exponential distribution, so no comparison vanishes, and strengths are finite in all samples if they are at all.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ranker.arrays import FloatArray, Int64Array
from ranker.errors import DataError

_BLOCK = 4_000_000
"""Number of weights drawn at a time, which bounds the memory."""
_ITERATIONS, _PRECISION = 1000, 1e-9
_NO_GAIN = 1e-4
"""Largest sum of the gaps between winners' and losers' strengths, from -1 to 1, that counts as 0."""


def davidson(
    first: Int64Array,
    second: Int64Array,
    outcome: Int64Array,
    source: Int64Array,
    names: Sequence[str],
    resamples: int,
    generator: np.random.Generator,
    where: str,
) -> tuple[FloatArray, FloatArray]:
    """Return the log strengths of systems, shape (systems,), and their bootstrap samples, shape (resamples, systems).

    `first`, `second`, `outcome` and `source` (comparisons,) are the numbers of both systems and of the source, and 1
    where the first system was better, -1 where the second was, 0 for ties; `where` is the data, for messages.
    """
    from scipy.sparse import csr_array

    size = len(names)
    swapped = first > second
    low, high, sign = np.minimum(first, second), np.maximum(first, second), np.where(swapped, -outcome, outcome)
    codes, pair = np.unique(low * size + high, return_inverse=True)
    pairs = (codes // size, codes % size)
    cell = pair * 3 + sign + 1
    width = 3 * len(codes)
    counts = np.bincount(cell, minlength=width).reshape(-1, 3).astype(np.float64)
    if problem := _not_finite(pairs, counts, names):
        raise DataError(problem, file=where)
    whole = fit(pairs, counts[np.newaxis], size)
    # sources with a single comparison differ in nothing but its cell: the sum of their weights is drawn at once, since
    # a sum of k exponential weights has a gamma distribution of shape k
    alone = np.bincount(source)[source] == 1
    units, unit = np.unique(np.where(alone, cell, width + source), return_inverse=True)
    shape = np.ones(len(units))
    shape[units < width] = np.bincount(unit[alone], minlength=len(units))[units < width]
    shares = csr_array((np.where(alone, 1.0 / shape[unit], 1.0), (unit, cell)), shape=(len(units), width))
    sample = np.empty((resamples, size))
    block = max(1, _BLOCK // max(len(units), size * size, width))
    for start in range(0, resamples, block):
        weights = generator.standard_gamma(shape, size=(min(block, resamples - start), len(units)))
        sample[start : start + len(weights)] = fit(pairs, (weights @ shares).reshape(len(weights), -1, 3), size, whole)
    return whole[0], sample


def _not_finite(pairs: tuple[Int64Array, Int64Array], counts: FloatArray, names: Sequence[str]) -> str | None:
    """Return the reason why the most likely strengths are not finite, or None; `counts` are those of a single `fit`.

    Strengths are finite unless they, and ``log v``, can grow apart without limit while no outcome becomes less likely;
    a linear program decides this.
    """
    from scipy.optimize import linprog
    from scipy.sparse import csr_array, hstack, vstack
    from scipy.sparse.csgraph import connected_components

    def listed(group: Int64Array) -> str:
        return ", ".join(names[place] for place in group[:5]) + (", ..." if len(group) > 5 else "")

    size, every = len(names), np.arange(len(counts))
    number, part = connected_components(csr_array((np.ones(len(every)), pairs), shape=(size, size)), directed=False)
    if number > 1:
        group = np.flatnonzero(part == np.argmin(np.bincount(part)))
        return f"no comparison connects {listed(group)} with the other systems: add one, or leave systems out"
    gap = csr_array((np.repeat([1.0, -1.0], len(every)), (np.tile(every, 2), np.concatenate(pairs))))
    lost, tied, won = (gap[column > 0] for column in counts.T)
    # a winner gains at least 2 log v, and ties differ by at most that
    limits = vstack([lost, -won, tied, -tied])
    ties = np.repeat([2.0, -2.0], [lost.shape[0] + won.shape[0], 2 * tied.shape[0]])
    most = [(-1.0, 1.0)] * size + [(0.0, float(tied.shape[0] > 0))]
    gains = np.append(lost.sum(axis=0) - won.sum(axis=0), 0.0)
    rows = hstack([limits, csr_array(ties[:, np.newaxis])])
    growth = np.asarray(linprog(gains, rows, np.zeros(len(ties)), bounds=most).x, dtype=np.float64)
    if -gains @ growth < _NO_GAIN:
        return None
    order = np.argsort(growth[:-1].round(6), kind="stable")
    # rounded more than the program's tolerance, so that equal gaps are cut at the same place on every machine
    cut = int(np.argmax(np.diff(growth[:-1][order]).round(6))) + 1
    outcome, group = min(("lost", order[:cut]), ("won", order[cut:]), key=lambda part: len(part[1]))
    what = f"{listed(np.sort(group))} {outcome} all comparisons with the other systems, ties aside"
    return f"{what}, so strengths are not finite: add judgements, or leave systems out"


def fit(
    pairs: tuple[Int64Array, Int64Array], counts: FloatArray, systems: int, start: FloatArray | float = 0.0
) -> FloatArray:
    """Return the maximum-likelihood log strengths, shape (fits, systems), by Newton's method from `start`.

    `counts` are losses, ties and wins of the first of every pair, shape (fits, pairs, 3).
    """
    losses, ties, wins = np.moveaxis(np.asarray(counts, dtype=np.float64), 2, 0)
    total, tied = losses + ties + wins, bool(ties.any())
    design = np.zeros((len(pairs[0]), systems))
    design[np.arange(len(design)), pairs[0]], design[np.arange(len(design)), pairs[1]] = 1.0, -1.0
    # the last parameter is log v
    parameters = np.zeros((len(total), systems + 1))
    parameters[:, :-1] = start
    every = np.arange(systems)
    for _ in range(_ITERATIONS):
        half = parameters[:, :-1] @ design.T / 2
        tie_logit = parameters[:, -1:] if tied else -np.inf
        powers = np.stack([-half, np.broadcast_to(tie_logit, half.shape), half])
        powers = np.exp(powers - powers.max(axis=0))
        below, tie, above = powers / powers.sum(axis=0)
        mean = (above - below) / 2
        gradient = np.concatenate(
            [((wins - losses) / 2 - total * mean) @ design, (ties - total * tie).sum(axis=1, keepdims=True)], axis=1
        )
        curvature = np.zeros((len(total), systems + 1, systems + 1))
        between = total * ((above + below) / 4 - mean**2)
        curvature[:, pairs[0], pairs[1]] = curvature[:, pairs[1], pairs[0]] = -between
        curvature[:, every, every] = -curvature.sum(axis=2)[:, :-1]
        # keeps the mean at 0
        curvature[:, :-1, :-1] += between.mean(axis=1)[:, np.newaxis, np.newaxis]
        curvature[:, :-1, -1] = curvature[:, -1, :-1] = -(total * mean * tie) @ design
        curvature[:, -1, -1] = (total * tie * (1 - tie)).sum(axis=1) if tied else 1.0
        step = np.linalg.solve(curvature, gradient[:, :, np.newaxis])[:, :, 0]
        largest = np.abs(step).max(axis=1, keepdims=True)
        parameters += step / np.maximum(largest, 1.0)
        if largest.max() < _PRECISION:
            break
    strengths = parameters[:, :-1]
    return np.asarray(strengths - strengths.mean(axis=1, keepdims=True))
