r"""Mean human score of a partly judged system, with a metric's scores of all outputs as control variate.

With human scores y of n of N outputs, metric scores x of all, and the slope b and the residual variance s^2 of the
regression of y on x (Cochran 1977, section 12.6, double sampling),

    mean = mean_n(y) + b (mean_N(x) - mean_n(x))
    variance = s^2 (1 / n + (mean_N(x) - mean_n(x))^2 / sum_n (x - mean_n(x))^2) + b^2 var_N(x) / N

which is less than that of the mean of y by as much as x explains of it. The judged part must be random. If it is one of
documents, the squares in s^2 and var_N(x) are those of sums over documents, and documents are counted, not outputs.
"""

from __future__ import annotations

import numpy as np

from ranker.arrays import FloatArray, Int64Array
from ranker.evaluation.resampling.bootstrap import LEVEL, Estimate

FEWEST = 10
"""Minimum number of judged outputs or documents; with fewer the slope and the variance cannot be estimated."""


def controlled_mean(human: FloatArray, metric: FloatArray, documents: Int64Array | None = None) -> Estimate | None:
    """Estimate the mean `human` score (NaN where missing) with its interval; None if all or too few are known.

    `documents` are those of the outputs, if whole documents were judged.
    """
    from scipy.special import stdtrit

    known = ~np.isnan(human)
    judged, number = int(known.sum()), len(human)
    unit = np.arange(number) if documents is None else np.unique(documents, return_inverse=True)[1]
    units, all_units = len(np.unique(unit[known])), int(unit.max()) + 1
    if units < FEWEST or judged == number:
        return None
    y, x = human[known], metric[known]
    apart = x - x.mean()
    squares = float(apart @ apart)
    slope = float(apart @ y) / squares if squares > 0.0 else 0.0
    residual = y - y.mean() - slope * apart
    shift = float(metric.mean() - x.mean())
    leverage = 1 / judged + (shift**2 / squares if squares > 0.0 else 0.0)
    unexplained, spread = np.bincount(unit[known], residual), np.bincount(unit, metric - metric.mean())
    variance = units / judged * float(unexplained @ unexplained) / (units - 2) * leverage
    variance += all_units / number**2 * slope**2 * float(spread @ spread) / (all_units - 1)
    reach = float(stdtrit(units - 2, (1 + LEVEL) / 2)) * variance**0.5
    mean = float(y.mean()) + slope * shift
    return Estimate(mean, mean - reach, mean + reach)
