"""Detection of scores, by people or programs, that point the other way than chrF: a sign of a misread direction.

chrF agrees with people in most sources of every corpus of judgements at hand, so scores that are opposed to it in
clearly more than half of the sources are more likely to be read in the wrong direction than to be right.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ranker.arrays import BoolArray, FloatArray
from ranker.corpora.dataset import Dataset
from ranker.extractors.ngram.chrf import Chrf
from ranker.ranks import group_spearman, merge_ties

MOST_SOURCES = 500
"""Sources that are looked at: enough to see the wrong direction of every corpus at hand."""
LEVEL = 0.001
"""Two-sided p-value of a sign test over sources below which scores count as opposed to chrF."""


def opposed_to_chrf(
    dataset: Dataset, score: Callable[[Dataset, BoolArray], FloatArray], *, seed: int = 0
) -> float | None:
    """Share of sources in which scores are opposed to chrF, if it is clearly more than half of them, else None."""
    compared = ~dataset.candidates["is_reference"].to_numpy(bool)
    outputs = dataset.select_candidates(compared)
    usable = np.flatnonzero((np.diff(outputs.reference_offsets) > 0) & (np.diff(outputs.candidate_offsets) > 1))
    if not len(usable):
        return None
    chosen = np.zeros(len(outputs.sources), dtype=bool)
    chosen[np.random.default_rng(seed).permutation(usable)[:MOST_SOURCES]] = True
    part = outputs.select_sources(chosen)
    scores = score(dataset.select_sources(chosen), compared[chosen[dataset.candidate_source]])
    known = ~np.isnan(scores)
    part, scores = part.select_candidates(known), scores[known]
    chrf = Chrf().transform(part)[:, 0]
    offsets = part.candidate_offsets
    rho = group_spearman(merge_ties(scores, offsets), merge_ties(chrf, offsets), offsets)
    opposed, decided = int((rho < 0).sum()), int(((rho < 0) | (rho > 0)).sum())
    if 2 * opposed <= decided:
        return None
    from scipy import stats  # takes .4 s to import

    return opposed / decided if stats.binomtest(opposed, decided, 0.5).pvalue < LEVEL else None
