"""Functions that rank, score and explain candidates by a ranker or metric given by name."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from ranker.corpora.catalogue.candidate_rows import Candidates, candidate_rows, labelled
from ranker.corpora.own_references import drop_sole_references, only_references
from ranker.errors import log_note
from ranker.extractors.base import Metric
from ranker.ranking.included import default_model
from ranker.ranking.ranker import Ranker
from ranker.ranking.scorers import RankerScorer, candidate_scores, scorer_of, sign_of


def rank(candidates: Candidates, *, model: str | Path | None = None, checks: bool = True) -> pd.DataFrame:
    """Rank the candidate translations of every source by an included ranker or a model file.

    Parameters
    ----------
    candidates : Dataset, DataFrame, list of dict, str or Path
        In any form that `Ranker.score` takes.
    model : str or Path, optional
        Name of an included ranker, or a model file; by default the one that suits the language of the translations.
    checks : bool, default True
        As in `Ranker.rank`.

    Returns
    -------
    DataFrame
        As from `Ranker.rank`.

    Raises
    ------
    DataError, MissingError
        As in `Ranker.score`.
    ModelError
        If `model` is neither a model file nor the name of an included ranker.

    Examples
    --------
    >>> import ranker
    >>> candidates = {"source": "Es regnet.", "references": ["It rains."], "candidates": ["It rain.", "It rains."]}
    >>> ranker.rank([candidates])["text"].tolist()
    ['It rains.', 'It rain.']
    """
    rows = candidate_rows(candidates)
    ranking = Ranker.load(default_model(rows.dataset) if model is None else model).rank(rows.dataset, checks=checks)
    return ranking.set_axis(rows.index[rows.first][ranking.index])


def score(candidates: Candidates, scorer: str | Path | Metric | Ranker | None = None) -> pd.DataFrame:
    """Score candidate translations by a metric or a ranker.

    Parameters
    ----------
    candidates : Dataset, DataFrame, list of dict, str or Path
        In any form that `Ranker.score` takes.
    scorer : str, Path, Metric or Ranker, optional
        A metric or its notation, a ranker, the name of an included ranker, or a model file as Path; by default the
        ranker that `rank` chooses.

    Returns
    -------
    DataFrame
        As from `Ranker.score`. Scores of a metric are in its own unit; lower scores may be better, as for `ter`.

    Raises
    ------
    DataError, MissingError, ModelError
        As in `Ranker.score` and `rank`.
    OptionError
        If there is no metric of that notation.

    Examples
    --------
    >>> import ranker
    >>> candidates = {"source": "Es regnet.", "references": ["It rains."], "candidates": ["It rain.", "It rains."]}
    >>> ranker.score([candidates], "chrf")["score"].round(3).tolist()
    [0.639, 1.0]
    """
    rows = candidate_rows(candidates)
    made = scorer_of(Ranker.load(default_model(rows.dataset)) if scorer is None else scorer)
    if isinstance(made, RankerScorer):
        return rows.frame_by_row(made.ranker.score(rows.dataset))
    scored = drop_sole_references(rows.dataset)
    if note := made.note(scored):
        log_note(note)
    scores = np.full(len(rows.dataset), np.nan)
    scores[~only_references(rows.dataset)] = sign_of(made) * candidate_scores(made, scored)
    return rows.frame_by_row(labelled(rows.dataset).assign(score=scores))


def explain(candidates: Candidates, *, model: str | Path | None = None, checks: bool = True) -> pd.DataFrame:
    """Return each feature's contribution to the score that an included ranker or a model file gives to each candidate.

    Parameters
    ----------
    candidates : Dataset, DataFrame, list of dict, str or Path
        In any form that `Ranker.score` takes.
    model : str or Path, optional
        As of `rank`.
    checks : bool, default True
        As in `rank`.

    Returns
    -------
    DataFrame
        As from `Ranker.explain`.

    Raises
    ------
    DataError, MissingError, ModelError
        As in `rank`.

    Examples
    --------
    >>> import ranker
    >>> candidates = {"source": "Es regnet.", "references": ["It rains."], "candidates": ["It rain.", "It rains."]}
    >>> parts = ranker.explain([candidates], model="full-lexical")
    >>> bool(abs(parts.iloc[:, 5:].sum(axis=1) - parts["score"]).max() < 1e-9)
    True
    """
    rows = candidate_rows(candidates)
    chosen = default_model(rows.dataset) if model is None else model
    return rows.frame_by_row(Ranker.load(chosen).explain(rows.dataset, checks=checks))
