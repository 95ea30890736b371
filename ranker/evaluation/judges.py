"""How far judges agree with each other."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

from ranker.corpora.dataset import Dataset
from ranker.errors import DataError


@dataclass(frozen=True)
class Consistency:
    """Agreement of judges on pairs of candidates of one source (Ye, Zhou and Lin 2007, section 2.1).

    Parameters
    ----------
    judges : int
        How many judges are compared at a time.
    pairs : int
        Comparisons: a pair of candidates counts once for every set of that many judges who scored both.
    agreeing : float
        Share on which all of them say the same: better, worse or equal. NaN without comparisons.
    with_ties : float
        Share on which none contradicts another: a tie contradicts nothing.
    """

    judges: int
    pairs: int
    agreeing: float
    with_ties: float


def consistency(dataset: Dataset, kind: str, judges: int = 2) -> Consistency:
    """Compare the orders that sets of `judges` judges put the candidates of a source in.

    Parameters
    ----------
    dataset : Dataset
    kind : str
        A rating with judges, as ``fluency``.
    judges : int, default 2

    Raises
    ------
    DataError
        If the data set has no scores of single judges of that kind.
    """
    codes, scores = _scores_by_judge(dataset, kind)
    agreeing = tolerated = pairs = 0
    for start, stop in zip(dataset.candidate_offsets[:-1], dataset.candidate_offsets[1:], strict=True):
        block = scores[start:stop]
        first, second = np.triu_indices(len(block), 1)
        order = np.sign(block[first] - block[second])
        present = [code for code in range(len(codes)) if not np.isnan(block[:, code]).all()]
        for group in combinations(present, judges):
            votes = order[:, group]
            votes = votes[~np.isnan(votes).any(axis=1)]
            pairs += len(votes)
            agreeing += int((votes == votes[:, :1]).all(axis=1).sum())
            tolerated += int((~((votes > 0).any(axis=1) & (votes < 0).any(axis=1))).sum())
    nothing = float("nan")
    return Consistency(judges, pairs, agreeing / pairs if pairs else nothing, tolerated / pairs if pairs else nothing)


def cohen_kappa(dataset: Dataset, kind: str) -> float:
    """Cohen's kappa (1960) on the absolute scores, averaged over pairs of judges by their common candidates.

    Raises
    ------
    DataError
        If the data set has no scores of single judges of that kind.
    """
    from sklearn.metrics import cohen_kappa_score

    _, scores = _scores_by_judge(dataset, kind)
    values, weights = [], []
    for first, second in combinations(scores.T, 2):
        common = ~np.isnan(first) & ~np.isnan(second)
        labels = np.unique(np.concatenate([first[common], second[common]]))
        if len(labels) > 1:
            values.append(cohen_kappa_score(first[common].astype(str), second[common].astype(str)))
            weights.append(int(common.sum()))
    return float(np.average(values, weights=weights)) if values else float("nan")


def _scores_by_judge(dataset: Dataset, kind: str) -> tuple[list[str], npt.NDArray[np.float64]]:
    """Return the judges, and their scores, shape (candidates, judges), NaN where one did not score."""
    ratings = dataset.ratings[(dataset.ratings["kind"] == kind).to_numpy(bool) & dataset.ratings["judge"].notna()]
    judges = sorted(ratings["judge"].unique())
    if len(judges) < 2:
        raise DataError(f"holds no {kind} scores of two judges by name", file=dataset.name)
    scores = np.full((len(dataset), len(judges)), np.nan)
    column = np.searchsorted(np.array(judges, dtype=object), ratings["judge"].to_numpy(object))
    scores[ratings["candidate"].to_numpy(np.int64), column] = ratings["value"].to_numpy(np.float64)
    return judges, scores
