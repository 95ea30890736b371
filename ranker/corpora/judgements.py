"""From judgements to what the ranker learns from and is judged by: scores per candidate, and preference pairs.

A *kind* names what people were asked. ``fluency`` and ``adequacy`` are scores of judges, standardised per judge
over the data set and averaged over a candidate's judges (else the corpus's own ``fluency_z``, else
``fluency_raw``); ``win-rate`` is wins / (wins + losses) of a candidate against its peers; ``mean-rank`` its mean
place in relative rankings; ``mqm`` the error penalty of MQM. Any other rating of the corpus goes by its own
name. Scores come out so that higher is better.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from ranker.corpora.dataset import Dataset
from ranker.errors import DataError, nearest

PREFERENCES = "preferences"
AUTO = "auto"
_FROM_RATINGS = {
    "fluency": ("fluency", "fluency_z", "fluency_raw"),
    "adequacy": ("adequacy", "adequacy_z", "adequacy_raw"),
    "win-rate": ("rr_win_rate",),
    "mean-rank": ("rr_mean_rank",),
    "mqm": ("mqm_total",),
}
_LOWER_IS_BETTER = ("mqm", "rr_mean_rank", "rr_losses")
_AUTO_ORDER = ("fluency", "win-rate", "adequacy", "mqm", "mean-rank")


@dataclass(frozen=True)
class PreferencePairs:
    """Strict preferences as rows of the candidate table.

    Parameters
    ----------
    better, worse : int array, shape (pairs,)
    weight : float array, shape (pairs,)
        Positive.
    """

    better: npt.NDArray[np.int64]
    worse: npt.NDArray[np.int64]
    weight: npt.NDArray[np.float64]


def kinds(dataset: Dataset) -> list[str]:
    """Return the kinds of judgement that `dataset` can be trained on or evaluated by, best first."""
    keys = _rating_keys(dataset)
    named = [kind for kind in _AUTO_ORDER if _key_of(kind, keys) or (kind == "win-rate" and _compared(dataset))]
    counts = ("_n", "_sd", "rr_wins", "rr_losses", "rr_ties")
    return (
        ([PREFERENCES] if _compared(dataset) else [])
        + named
        + [key for key in keys if key not in named and not key.endswith(counts)]
    )


def resolve_kind(dataset: Dataset, kind: str = AUTO, *, scores: bool = False) -> str:
    """Return `kind`, or for ``auto`` the first of `kinds`; with `scores`, one that gives each candidate a score.

    Raises
    ------
    DataError
        If the data set has no such judgements; the message lists what there is.
    """
    there = kinds(dataset)
    if not there:
        raise DataError("holds no human judgements to learn from or to compare with", file=dataset.name)
    if kind == AUTO:
        kind = there[0]
    elif kind not in there:
        raise DataError(
            f"no judgements of kind {kind!r}{nearest(kind, there)}; there are: {', '.join(there)}",
            file=dataset.name,
        )
    return "win-rate" if scores and kind == PREFERENCES else kind


def human_scores(dataset: Dataset, kind: str = AUTO) -> npt.NDArray[np.float64]:
    """Return a human score for every candidate, higher is better.

    Parameters
    ----------
    dataset : Dataset
    kind : str
        One of `kinds`; ``preferences`` gives win rates.

    Returns
    -------
    float array, shape (candidates,)
        NaN where nobody judged the candidate.
    """
    kind = resolve_kind(dataset, kind, scores=True)
    key = _key_of(kind, _rating_keys(dataset))
    if key is None:
        return _win_rates(dataset)
    ratings = dataset.ratings[(dataset.ratings["kind"] == key).to_numpy(bool)]
    values = ratings["value"].to_numpy(np.float64)
    judges = ratings["judge"].fillna("").to_numpy(object)
    if any(judges):
        values = _standardised(values, pd.factorize(judges)[0])
    if key.startswith(_LOWER_IS_BETTER):
        values = -values
    rows = ratings["candidate"].to_numpy(np.int64)
    counts = np.bincount(rows, minlength=len(dataset))
    with np.errstate(invalid="ignore"):
        return np.asarray(np.bincount(rows, weights=values, minlength=len(dataset)) / counts)


def preference_pairs(dataset: Dataset, *, primary: bool = True, aggregated: bool = False) -> PreferencePairs:
    """Return the strict preferences of `dataset`.

    Parameters
    ----------
    dataset : Dataset
    primary : bool, default True
        Leave out rows that repeat a judgement for another system with the same output.
    aggregated : bool, default False
        False: one pair of weight 1 a judgement. True: one pair for two candidates, towards the majority of
        the judgements on them, weighted by (votes for - votes against) / judgements, ties counted in the
        denominator; even votes give no pair.
    """
    preferences = dataset.preferences
    if primary:
        preferences = preferences[preferences["primary"].to_numpy(bool)]
    first, second = (preferences[side].to_numpy(np.int64) for side in ("first", "second"))
    relation = preferences["relation"].to_numpy(object)
    vote = (relation == ">").astype(np.int64) - (relation == "<")
    if aggregated:
        known = relation != "-"
        first, second, vote = first[known], second[known], vote[known]
        low, high = np.minimum(first, second), np.maximum(first, second)
        vote = np.where(first == low, vote, -vote)
        keys, code = np.unique(np.stack([low, high], axis=1), axis=0, return_inverse=True)
        code = code.reshape(-1)
        net = np.bincount(code, weights=vote, minlength=len(keys))
        weight = np.abs(net) / np.bincount(code, minlength=len(keys))
        first, second, vote = keys[:, 0], keys[:, 1], np.sign(net).astype(np.int64)
    else:
        weight = np.ones(len(first))
    strict = vote != 0
    first, second, vote, weight = first[strict], second[strict], vote[strict], weight[strict]
    return PreferencePairs(np.where(vote > 0, first, second), np.where(vote > 0, second, first), weight)


def balanced(pairs: PreferencePairs, group: npt.ArrayLike) -> PreferencePairs:
    """Return `pairs` with weights that add up to the same in every group, and to as much as before in all.

    Parameters
    ----------
    pairs : PreferencePairs
    group : array-like, shape (pairs,)
        Label of the group of every pair, as its language pair.
    """
    labels, code = np.unique(np.asarray(group).astype(str), return_inverse=True)
    total = np.bincount(code.reshape(-1), weights=pairs.weight, minlength=len(labels))
    share = pairs.weight.sum() / max(len(labels), 1)
    weight = pairs.weight * (share / total)[code.reshape(-1)]
    return PreferencePairs(pairs.better, pairs.worse, weight)


def judged(dataset: Dataset, kind: str = AUTO) -> npt.NDArray[np.bool_]:
    """Return a mask (candidates,) of the candidates that have a judgement of `kind`."""
    kind = resolve_kind(dataset, kind)
    if kind != PREFERENCES:
        return ~np.isnan(human_scores(dataset, kind))
    mask = np.zeros(len(dataset), dtype=bool)
    for side in ("first", "second"):
        mask[dataset.preferences[side].to_numpy()] = True
    return mask


def _rating_keys(dataset: Dataset) -> list[str]:
    return dataset.memo("rating keys", lambda: sorted(dataset.ratings["kind"].unique()))


def _key_of(kind: str, keys: list[str]) -> str | None:
    return next((key for key in _FROM_RATINGS.get(kind, (kind,)) if key in keys), None)


def _compared(dataset: Dataset) -> bool:
    return len(dataset.preferences) > 0


def _standardised(values: npt.NDArray[np.float64], judge: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    counts = np.bincount(judge)
    mean = np.bincount(judge, weights=values) / counts
    deviation = values - mean[judge]
    spread = np.sqrt(np.bincount(judge, weights=deviation**2) / counts)
    return np.asarray(deviation / np.where(spread > 0, spread, 1.0)[judge])


def _win_rates(dataset: Dataset) -> npt.NDArray[np.float64]:
    pairs = preference_pairs(dataset)
    wins = np.bincount(pairs.better, minlength=len(dataset))
    losses = np.bincount(pairs.worse, minlength=len(dataset))
    with np.errstate(invalid="ignore"):
        return np.asarray(wins / (wins + losses))
