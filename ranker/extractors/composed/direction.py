"""Detection of scores, by people or programs, that run counter to chrF: a sign that their direction is misread.

chrF agrees with people in most sources of every corpus of judgements tested, so scores that run counter to it in
clearly more than half of the sources were more likely read in the wrong direction than right.
"""

from __future__ import annotations

import numpy as np

from ranker.arrays import FloatArray
from ranker.corpora.dataset import Dataset
from ranker.corpora.judgements import PREFERENCES, Judged, Kind
from ranker.errors import DataError
from ranker.extractors.ngram.chrf import Chrf
from ranker.ranks import group_spearman, merge_ties

MOST_SOURCES = 500
"""Maximum number of sources examined: enough to detect the wrong direction in every corpus tested."""
LEVEL = 0.001
"""Two-sided p-value of a sign test over sources below which scores count as running counter to chrF."""


def opposed_to_chrf(dataset: Dataset, scores: FloatArray, *, seed: int = 0) -> float | None:
    """Return the share of sources whose scores run counter to chrF, or None if it is not significantly above half.

    Candidates that are references, and those whose score is NaN, do not count.
    """
    known = ~(dataset.is_reference | np.isnan(scores))
    part, scores = dataset.select_candidates(known), scores[known]
    usable = np.flatnonzero((np.diff(part.reference_offsets) > 0) & (np.diff(part.candidate_offsets) > 1))
    if not len(usable):
        return None
    chosen = np.zeros(len(part.sources), dtype=bool)
    chosen[np.random.default_rng(seed).permutation(usable)[:MOST_SOURCES]] = True
    scores, part = scores[chosen[part.candidate_source]], part.select_sources(chosen)
    chrf = Chrf().transform(part)[:, 0]
    offsets = part.candidate_offsets
    rho = group_spearman(merge_ties(scores, offsets), merge_ties(chrf, offsets), offsets)
    opposed, decided = int((rho < 0).sum()), int(((rho < 0) | (rho > 0)).sum())
    if 2 * opposed <= decided:
        return None
    from scipy import stats  # takes .4 s to import

    return opposed / decided if stats.binomtest(opposed, decided, 0.5).pvalue < LEVEL else None


def direction_note(
    dataset: Dataset, scores: FloatArray, kind: str, *, exclude_self: bool = False, seed: int = 0
) -> str | None:
    """Return a note if a ranker's `scores` on its training data run counter to chrF in most sources, else None."""
    share = opposed_to_chrf(dataset, scores, seed=seed)
    if share is None:
        return None
    what = f"the model prefers candidates with lower chrF in {share:.0%} of the training sources"
    if exclude_self:
        return f"{what}; references match each other less than outputs match references: train without --exclude-self"
    return f"{what}; {_advice(Kind.parse(kind).directed())}"


def judgements_note(people: Judged, *stated: str) -> str | None:
    """Return a note if judgements run counter to chrF in most sources although their direction is stated, else None.

    The direction is stated by the kinds in `stated`, which a user asked for or a ranker learnt from. Ratings without a
    stated direction are refused, because conclusions from ratings read in the wrong direction are wrong.
    """
    share = opposed_to_chrf(people.dataset, people.human)
    if share is None:
        return None
    read, name = Kind.parse(people.kind).directed(), people.dataset.name
    what = f"people prefer candidates with lower chrF in {share:.0%} of the sources"
    known = any(each.name == read.name and each.lower is not None for each in map(Kind.parse, stated))
    if known or read.name == PREFERENCES:
        return f"{name}: {what}; {_advice(read)}"
    better, opposite = ("lower", "higher") if read.lower else ("higher", "lower")
    options = f"--kind {read.name}:{opposite} or --kind {read.name}:{better}"
    doubt = f"if {better} values of {read.name!r} are better, {what}, so the direction is in doubt; state it: {options}"
    raise DataError(doubt, file=name)


def _advice(kind: Kind) -> str:
    if kind.name == PREFERENCES:
        return "check the direction of the preferences"
    opposite = "higher" if kind.lower else "lower"
    return f"if {opposite} values of {kind.name!r} are better, use --kind {kind.name}:{opposite}"
