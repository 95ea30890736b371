"""Ratios that several metrics are made of: parts of a whole, F scores, the brevity penalty."""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from ranker.arrays import FloatArray

Measure = Literal["f", "precision", "recall"]


def ratio(part: npt.ArrayLike, whole: npt.ArrayLike) -> FloatArray:
    """Divide, 0 where the whole is 0."""
    top, bottom = np.asarray(part, dtype=np.float64), np.asarray(whole, dtype=np.float64)
    return np.asarray(np.divide(top, bottom, out=np.zeros(top.shape), where=bottom > 0))


def f_score(precision: FloatArray, recall: FloatArray) -> FloatArray:
    """Return the harmonic mean, 0 where both are 0."""
    total = precision + recall
    return np.asarray(np.divide(2 * precision * recall, total, out=np.zeros(total.shape), where=total > 0))


def measured(measure: Measure, precision: FloatArray, recall: FloatArray) -> FloatArray:
    """Return precision, recall or F score, as `measure` names."""
    return {"f": f_score(precision, recall), "precision": precision, "recall": recall}[measure]


def brevity_penalty(lengths: npt.ArrayLike, reference_lengths: npt.ArrayLike) -> FloatArray:
    """Return ``exp(min(0, 1 - r / c))`` elementwise, 0 of length 0 (Papineni et al. 2002, section 2.2)."""
    own_lengths, target_lengths = (np.asarray(values, dtype=np.float64) for values in (lengths, reference_lengths))
    ratio = np.divide(target_lengths, own_lengths, out=np.full(own_lengths.shape, np.inf), where=own_lengths > 0)
    return np.asarray(np.exp(np.minimum(0.0, 1.0 - ratio)))
