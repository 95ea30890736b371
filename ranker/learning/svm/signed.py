r"""Minimises the ranking SVM's objective with each weight restricted to one sign or 0.

With ``v = X'a`` of the alphas at w, the dual of the bounded problem has the part of v that is allowed in place of v, so

    primal(w) - dual(alpha) = 1/2 |w - max(v, 0)|^2 + w.max(-v, 0)

once each column is flipped so that its weight may not be negative. An active set finds the minimum (Lawson and Hanson
1974, chapter 23, for least squares): columns are free or have weight 0, the free ones are minimised exactly, those that
would become negative leave, and of those at 0 the one along which the objective falls most joins, until it falls along
none. The objective decreases from one set to the next, so no set comes twice.
"""

from __future__ import annotations

import numpy as np

from ranker.arrays import FloatArray
from ranker.learning.svm.newton import Solution, minimise
from ranker.learning.svm.pair_loss import PairLoss, PairSet
from ranker.learning.svm.polish import exact_product

NOISE = 1e-10
"""Slopes smaller than this, relative to the sum of their terms' sizes, are rounding errors."""


def minimise_signed(
    rows: FloatArray, pairs: PairSet, C: float, signs: FloatArray, *, tol: float, max_iter: int
) -> Solution:
    """Minimise the squared hinge objective as `minimise` does, but subject to ``signs * w >= 0``."""
    rows = rows * signs
    coef, free = np.zeros(rows.shape[1]), np.ones(rows.shape[1], dtype=bool)
    steps = 0
    while True:
        solution = minimise(rows[:, free], pairs, C, "squared_hinge", tol=tol, max_iter=max_iter, exact=True)
        steps += solution.n_iter
        wanted = np.zeros_like(coef)
        wanted[free] = solution.coef
        negative = np.flatnonzero(wanted < 0.0)
        if len(negative):
            reach = coef[negative] / (coef[negative] - wanted[negative])
            coef = coef + reach.min() * (wanted - coef)
            free[negative[reach <= reach.min()]] = False
            coef[~free] = 0.0
            continue
        coef = wanted
        row_alpha, _ = pairs.alphas(rows @ coef, PairLoss(np.inf, 2.0 * C, 0.0))
        pull = exact_product(rows, row_alpha)
        rise = np.where(free, 0.0, pull - NOISE * (np.abs(rows).T @ np.abs(row_alpha)))
        if steps >= max_iter or rise.max(initial=0.0) <= 0.0:
            break
        free[np.argmax(rise)] = True
    off = coef - np.maximum(pull, 0.0)
    gap = 0.5 * float(off @ off) + float(coef @ np.maximum(-pull, 0.0))
    return Solution(coef * signs + 0.0, solution.objective, gap, steps)
