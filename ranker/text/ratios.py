"""Ratios that several metrics use: parts of a whole, F scores."""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from ranker.arrays import FloatArray

Measure = Literal["f", "precision", "recall"]


def ratio(part: npt.ArrayLike, whole: npt.ArrayLike) -> FloatArray:
    """Divide `part` by `whole`; the result is 0 where `whole` is 0."""
    top, bottom = np.asarray(part, dtype=np.float64), np.asarray(whole, dtype=np.float64)
    return np.asarray(np.divide(top, bottom, out=np.zeros(top.shape), where=bottom > 0))


def f_score(precision: FloatArray, recall: FloatArray) -> FloatArray:
    """Return the harmonic mean of precision and recall, 0 where both are 0."""
    total = precision + recall
    return np.asarray(np.divide(2 * precision * recall, total, out=np.zeros(total.shape), where=total > 0))


def measured(measure: Measure, precision: FloatArray, recall: FloatArray) -> FloatArray:
    """Return precision, recall or F score, whichever `measure` names."""
    return {"f": f_score(precision, recall), "precision": precision, "recall": recall}[measure]
