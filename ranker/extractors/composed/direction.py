"""Detection of scores, by people or programs, that run counter to chrF: a sign that their direction is misread.

chrF agrees with people in most sources of every corpus of judgements tested, so scores that run counter to it in
clearly more than half of the sources were more likely read in the wrong direction than right.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from ranker.arrays import BoolArray, FloatArray
from ranker.corpora.dataset import Dataset
from ranker.corpora.judgements import AUTO, PREFERENCES, Kind, human_scores, resolve_kind
from ranker.errors import DataError
from ranker.extractors.ngram.chrf import Chrf
from ranker.ranks import group_spearman, merge_ties

MOST_SOURCES = 500
"""Number of sources examined: enough to detect the wrong direction in every corpus tested."""
_SCORE = "score"
LEVEL = 0.001
"""Two-sided p-value of a sign test over sources below which scores count as running counter to chrF."""


def opposed_to_chrf(
    dataset: Dataset, score: Callable[[Dataset, BoolArray], FloatArray], *, seed: int = 0
) -> float | None:
    """Return the share of sources whose scores run counter to chrF, or None if it is not significantly above half."""
    compared = ~dataset.is_reference
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


def direction_note(
    dataset: Dataset, scores: FloatArray, kind: str, *, exclude_self: bool = False, seed: int = 0
) -> str | None:
    """Return a note if a ranker's `scores` on its training data run counter to chrF in most sources, else None."""
    scored = replace(dataset, candidates=dataset.candidates.assign(**{_SCORE: scores}))
    share = opposed_to_chrf(scored, lambda part, rows: part.candidates[_SCORE].to_numpy()[rows], seed=seed)
    if share is None:
        return None
    what = f"the model prefers candidates with lower chrF in {share:.0%} of the training sources"
    if exclude_self:
        return f"{what}; references match each other less than outputs match them; train without --exclude-self"
    return f"{what}; {_advice(Kind.parse(kind).directed())}"


def judgements_note(dataset: Dataset, kind: str = AUTO, learnt: Sequence[str] = ()) -> str | None:
    """Return a note if judgements run counter to chrF in most sources although their direction is stated, else None.

    Such ratings are refused if their direction was neither stated by `kind` nor `learnt` by a ranker, because
    conclusions from ratings read in the wrong direction are wrong.
    """
    used = resolve_kind(dataset, kind, learnt=learnt)
    share = opposed_to_chrf(dataset, lambda part, rows: human_scores(part.select_candidates(rows), used))
    if share is None:
        return None
    read = Kind.parse(used).directed()
    what = f"people prefer candidates with lower chrF in {share:.0%} of the sources"
    stated = any(each.name == read.name and each.lower is not None for each in map(Kind.parse, (kind, *learnt)))
    if stated or read.name == PREFERENCES:
        return f"{dataset.name}: {what}; {_advice(read)}"
    better, opposite = ("lower", "higher") if read.lower else ("higher", "lower")
    options = f"--kind {read.name}:{opposite} or --kind {read.name}:{better}"
    doubt = f"if {better} values of {read.name!r} are better, {what}, so the direction is in doubt; state it: {options}"
    raise DataError(doubt, file=dataset.name)


def _advice(kind: Kind) -> str:
    if kind.name == PREFERENCES:
        return "check the direction of the preferences"
    opposite = "higher" if kind.lower else "lower"
    return f"if {opposite} values of {kind.name!r} are better, use --kind {kind.name}:{opposite}"
