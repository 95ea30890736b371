"""Ranking by a ranker that is included, without training anything."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ranker.frames.labelled import Candidates, candidate_rows
from ranker.included_models import default_model
from ranker.ranking import Ranker

if TYPE_CHECKING:
    import pandas as pd


def rank(candidates: Candidates, *, model: str | Path | None = None) -> pd.DataFrame:
    """Rank the candidate translations of every source by an included ranker, or by one of yours.

    Parameters
    ----------
    candidates : Dataset, DataFrame, list of dict, str or Path
        As of `Ranker.score`.
    model : str or Path, optional
        Name of an included ranker, or a model file; by default the one that suits the language of the translations.

    Returns
    -------
    DataFrame
        As `Ranker.rank`.

    Raises
    ------
    DataError, MissingError
        As `Ranker.score`.
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
    ranking = Ranker.load(default_model(rows.dataset) if model is None else model).rank(rows.dataset)
    return ranking.set_axis(rows.index[rows.first][ranking.index])
