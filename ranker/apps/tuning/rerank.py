"""Choice of the best of several hypotheses for every source, in Python."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from ranker.apps.tuning.hypotheses import without_outputs
from ranker.apps.tuning.hypothesis_files import of_dataset
from ranker.apps.tuning.reranking import (
    best_hypotheses,
    expected_gains,
    gain_by,
    language_note,
    oracle_choice,
    outranked_hypotheses,
    posterior,
    sound_scores,
)
from ranker.corpora.catalogue.candidate_rows import Candidates, candidate_rows, labelled
from ranker.errors import DataError, OptionError, log_note
from ranker.ranking.included import default_model
from ranker.ranking.ranker import Ranker
from ranker.ranking.scorers import AnyScorer, scorer_of, sign_of, votes_of


def rerank(
    candidates: Candidates,
    *,
    model: str | Path | Ranker | None = None,
    mbr: AnyScorer | None = None,
    oracle: AnyScorer | None = None,
    checks: bool = True,
) -> pd.DataFrame:
    """Choose the best candidate of every source: by a ranker, by minimum Bayes risk, or by an oracle.

    Parameters
    ----------
    candidates : Dataset, DataFrame, list of dict, str or Path
        In any form that `Ranker.score` takes.
    model : str, Path or Ranker, optional
        A ranker, the name of an included one, or a model file; without `mbr` and `oracle`, by default the one that
        suits the language of the translations.
    mbr : str, Path, Metric or Ranker, optional
        Gain of minimum Bayes risk: each candidate is scored against all candidates of its source as references, by this
        metric or by this ranker without consensus, and the highest mean is chosen. No reference is needed.
    oracle : str, Path, Metric or Ranker, optional
        Metric or ranker whose joint score of the choice against the references is as high as possible.
    checks : bool, default True
        Choose a candidate that is no translation (see `ranker.check_outputs`) only if its source has no other, and let
        it not vote; without effect on `oracle`.

    Returns
    -------
    DataFrame
        One row per source with candidates, with the columns of `Ranker.score`: ``score`` is the ranker's score, the
        expected gain, or the score by `oracle` in its own unit. The index is that of the candidate's row, or its first.

    Raises
    ------
    DataError, MissingError, ModelError
        As in `rank`.
    OptionError
        If more than one of `model`, `mbr` and `oracle` is given, or `mbr` compares no two texts.

    Examples
    --------
    >>> import ranker
    >>> candidates = {"source": "Es regnet.", "candidates": ["It is raining.", "It's raining.", "Rain it is."]}
    >>> ranker.rerank([candidates], mbr="chrf")["text"].tolist()
    ['It is raining.']
    """
    if sum(each is not None for each in (model, mbr, oracle)) > 1:
        raise OptionError("give at most one of model, mbr and oracle")
    rows = candidate_rows(candidates)
    nbest, dataset = of_dataset(rows.dataset)
    references = without_outputs(dataset)
    out = np.zeros(len(nbest), dtype=bool)
    if checks and oracle is None:
        out, note = outranked_hypotheses(nbest, references)
        if note:
            log_note(f"{note}; choose by score alone with checks=False", dataset.name)
    if mbr is not None:
        gain = gain_by(scorer_of(mbr))
        if note := language_note(gain, nbest, references):
            log_note(note, dataset.name)
        scores = expected_gains(nbest, gain, posterior(nbest, out=out), references)
    else:
        if oracle is not None and not len(references.references):
            raise DataError("has no references, which an oracle needs: use mbr", file=dataset.name)
        if oracle is not None:
            objective = scorer_of(oracle)
        else:
            loaded = model if isinstance(model, Ranker) else Ranker.load(model or default_model(dataset))
            objective = scorer_of(loaded)
        if note := objective.note(votes_of(objective).voters(dataset) if out.any() else dataset):
            log_note(note, dataset.name)
        scores = sign_of(objective) * sound_scores(nbest, references, objective, out)
    if oracle is not None:
        chosen = oracle_choice(nbest, references, objective)
    else:
        # a ranker's scores and gains are better if higher
        chosen = best_hypotheses(nbest, scores, len(dataset.sources), out)
    chosen = chosen[chosen >= 0]
    found = labelled(dataset).iloc[chosen].assign(score=scores[chosen])
    return found.set_axis(rows.index[rows.first][chosen])
