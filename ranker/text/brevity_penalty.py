"""Penalty of BLEU and other metrics for candidates that are shorter than the reference."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ranker.arrays import FloatArray


def brevity_penalty(lengths: npt.ArrayLike, reference_lengths: npt.ArrayLike) -> FloatArray:
    """Return BLEU's penalties ``exp(min(0, 1 - r / c))`` for lengths c and reference lengths r; 0 where c is 0."""
    own_lengths, target_lengths = (np.asarray(values, dtype=np.float64) for values in (lengths, reference_lengths))
    ratio = np.divide(target_lengths, own_lengths, out=np.full(own_lengths.shape, np.inf), where=own_lengths > 0)
    return np.asarray(np.exp(np.minimum(0.0, 1.0 - ratio)))
