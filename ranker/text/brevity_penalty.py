"""Penalty of BLEU and other metrics for candidates that are shorter than the reference."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ranker.arrays import FloatArray


def brevity_penalty(lengths: npt.ArrayLike, reference_lengths: npt.ArrayLike) -> FloatArray:
    """Return the brevity penalty ``exp(min(0, 1 - r / c))``, 0 if c is 0, elementwise (Papineni et al. 2002, 2.2)."""
    own_lengths, target_lengths = (np.asarray(values, dtype=np.float64) for values in (lengths, reference_lengths))
    ratio = np.divide(target_lengths, own_lengths, out=np.full(own_lengths.shape, np.inf), where=own_lengths > 0)
    return np.asarray(np.exp(np.minimum(0.0, 1.0 - ratio)))
