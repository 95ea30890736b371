"""The agreement of one scorer with people at segment level: a comparison of one."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd

from ranker.arrays import FloatArray
from ranker.corpora.judgements import AUTO
from ranker.errors import DataError, counted
from ranker.evaluation.compare.candidates import CandidateScores
from ranker.evaluation.compare.result import Comparison, Scope
from ranker.evaluation.compare.run import ALL, INTO_ENGLISH, compare
from ranker.evaluation.compare.statistics import TAUS
from ranker.frames.labelled import Candidates, dataset_of

SPEARMAN = {"tie-corrected": "segment.spearman", "ye07": "segment.spearman-ye07"}
"""Statistics that are means of Spearman's rho, by form."""
KENDALL = {"b": "segment.kendall-b", "c": "segment.kendall-c"}
"""Statistics that are means of Kendall's tau, by form."""
EVALUATED = (
    *SPEARMAN.values(),
    *KENDALL.values(),
    *(f"{coefficient}.pooled" for coefficient in SPEARMAN.values()),
    *(identity for taus in TAUS.values() for identity in taus.values()),
)


def evaluate(
    candidates: Candidates,
    scores: npt.ArrayLike | pd.DataFrame,
    *,
    kind: str = AUTO,
    human: FloatArray | None = None,
    resamples: int = 1000,
    seed: int = 0,
) -> Comparison:
    """Compare scores with human judgements.

    Parameters
    ----------
    candidates : Dataset, DataFrame, list of dict, str or Path
        With human judgements; see `ranker.ranking.Ranker.score` for the forms.
    scores : array-like, shape (candidates,), or DataFrame
        Higher is better; or what `Ranker.score` or `Ranker.rank` returned for these candidates. Only candidates that
        people judged count.
    kind : str
        Kind of judgement; see `ranker.corpora.judgements`.
    human : float array, shape (candidates,), optional
        Human scores; by default those of `kind`.
    resamples : int, default 1000
        Bootstrap samples of sources, for 95% intervals; 0 gives none.
    seed : int, default 0

    Returns
    -------
    Comparison
        Of one scorer, with the statistics `EVALUATED`; ``estimate("segment.spearman")`` is the mean over language
        pairs of the mean rho of their sources.

    Raises
    ------
    DataError
        If nothing was judged so, a judged candidate has no score, or the scores are not one number per candidate.

    Examples
    --------
    >>> from ranker import Dataset, evaluate
    >>> frame = Dataset.from_texts({"A": ["a b", "c d"], "B": ["a", "d c"]}, ["a b", "c d"]).to_frame()
    >>> found = evaluate(frame.assign(fluency=[5, 3, 4, 2]), [0.9, 0.1, 0.5, 0.2], resamples=0)
    >>> round(found.estimate("segment.spearman").value, 3)
    1.0
    """
    dataset, labels = dataset_of(candidates)
    candidate_scores = CandidateScores("scores", _in_order(scores, labels))
    return compare(
        [(dataset, [candidate_scores])],
        kind=kind,
        levels=("segment",),
        resamples=resamples,
        seed=seed,
        statistics=EVALUATED,
        human=[human],
    )


def _in_order(scores: npt.ArrayLike | pd.DataFrame, labels: pd.Index) -> FloatArray:
    """Return scores in the order of the candidates."""
    if isinstance(scores, pd.DataFrame):
        index = scores.index
        if "score" not in scores or len(index) != len(labels) or not index.is_unique or not labels.isin(index).all():
            raise DataError(
                f"a data frame with {len(scores):,} rows as scores of {counted(len(labels), 'candidate')}: "
                "expected the "
                "result of Ranker.score or Ranker.rank for the same candidates",
                file="scores",
            )
        scores = scores["score"].loc[labels]
    try:
        in_order = np.asarray(scores, dtype=np.float64)
    except (TypeError, ValueError):
        what = f"found {type(scores).__name__}, expected one number per candidate, such as the result of Ranker.score"
        raise DataError(what, file="scores") from None
    if in_order.shape != (len(labels),):
        what = f"found an array of shape {in_order.shape}, expected one number for each of"
        raise DataError(f"{what} {counted(len(labels), 'candidate')}", file="scores")
    return in_order


def named_scopes(comparison: Comparison) -> dict[str, Scope]:
    """Return the scopes of a comparison on one data set by language pair, then the means, that into English first.

    Where all is into English, the two means are the same.
    """
    named = {scope.lp: scope for scope in comparison.scopes if scope.lp}
    if len(named) > 1:
        means = {scope.id.rpartition("/")[2]: scope for scope in comparison.scopes if not scope.lp}
        if all(lp.endswith("-en") for lp in named):
            means = {INTO_ENGLISH: means[ALL], **means}
        named |= means
    return named


def main_scope(comparison: Comparison) -> tuple[str, Scope]:
    """Return name and scope of what sums a data set up: the mean into English, else over all, else the only pair."""
    named = named_scopes(comparison)
    name = next((name for name in (INTO_ENGLISH, ALL) if name in named), next(reversed(named)))
    return name, named[name]
