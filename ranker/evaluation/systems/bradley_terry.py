"""Strengths of systems from paired comparisons, by Davidson's extension of the Bradley-Terry model for ties.

::

    P(i better than j) = s[i] / (s[i] + s[j] + v sqrt(s[i] s[j])),   P(tie) = v sqrt(s[i] s[j]) / (the same)

Davidson (1970); without ties, ``v`` is 0, as in Bradley and Terry (1952). Strengths are reported as ``log s`` with mean
0 and estimated by maximum likelihood. The bootstrap is Bayesian (Rubin 1981): sources have weights drawn from an
exponential distribution, so no comparison vanishes, and strengths are finite in all samples if they are at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

import numpy as np

from ranker.arrays import FloatArray, Int64Array
from ranker.errors import DataError

_BLOCK = 4_000_000
_ITERATIONS, _PRECISION = 60, 1e-9
_LARGEST = 20.0  # of differences of log strengths that data of any size can tell


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

    `outcome` is 1 where the first of two systems was better, -1 where the second was, 0 for ties.
    """
    size = len(names)
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    def refuse(group: Int64Array, what: str) -> NoReturn:
        listed = ", ".join(names[place] for place in group[:5]) + (", ..." if len(group) > 5 else "")
        raise DataError(what.replace("{}", listed), file=where)

    edges = csr_array((np.ones(len(first)), (first, second)), shape=(size, size))
    number, part = connected_components(edges, directed=False)
    if number > 1:
        group = np.flatnonzero(part == np.argmin(np.bincount(part)))
        refuse(group, "no comparison connects {} with the other systems: add one, or leave systems out")
    swapped = first > second
    low, high, sign = np.minimum(first, second), np.maximum(first, second), np.where(swapped, -outcome, outcome)
    codes, pair = np.unique(low * size + high, return_inverse=True)
    pairs = (codes // size, codes % size)
    cell = pair * 3 + sign + 1
    width = 3 * len(codes)
    whole = fit(pairs, np.bincount(cell, minlength=width).reshape(1, -1, 3).astype(np.float64), size)
    order = np.argsort(whole[0])
    if np.ptp(whole) > _LARGEST:
        cut = int(np.argmax(np.diff(whole[0][order]))) + 1
        what = "{} won, or lost, all comparisons with the other systems, ties aside, so strengths are not finite"
        refuse(np.sort(min(order[:cut], order[cut:], key=len)), f"{what}: add judgements, or leave systems out")
    # sources with a single comparison differ in nothing but its cell: the sum of their weights is drawn at once
    alone = np.bincount(source)[source] == 1
    units, unit = np.unique(np.where(alone, cell, width + source), return_inverse=True)
    shape = np.ones(len(units))
    shape[units < width] = np.bincount(unit[alone], minlength=len(units))[units < width]
    counts = np.where(alone, 1.0 / shape[unit], 1.0)
    cells = csr_array((counts, (unit, cell)), shape=(len(units), width))
    sample = np.empty((resamples, size))
    step = max(1, _BLOCK // max(len(units), size * size, width))
    for start in range(0, resamples, step):
        weights = generator.standard_gamma(shape, size=(min(step, resamples - start), len(units)))
        sample[start : start + len(weights)] = fit(pairs, (weights @ cells).reshape(len(weights), -1, 3), size, whole)
    return whole[0], sample


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
        # where strengths are not finite, it is singular far out
        curvature[:, [*every, systems], [*every, systems]] += 1e-14 * total.sum(axis=1, keepdims=True)
        step = np.linalg.solve(curvature, gradient[:, :, np.newaxis])[:, :, 0]
        largest = np.abs(step).max(axis=1, keepdims=True)
        parameters += step / np.maximum(largest, 1.0)
        if largest.max() < _PRECISION:
            break
    strengths = parameters[:, :-1]
    return np.asarray(strengths - strengths.mean(axis=1, keepdims=True))
