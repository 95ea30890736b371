"""Agreement of scorers with people: evaluation of one scorer at segment level, or comparison of several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pandas as pd

from ranker.arrays import FloatArray
from ranker.corpora.catalogue.candidate_rows import NUMBER, CandidateRows, Candidates, candidate_rows
from ranker.corpora.dataset import Dataset
from ranker.corpora.judgements import AUTO, Judged
from ranker.corpora.languages import is_of_pair
from ranker.corpora.own_references import only_references
from ranker.corpora.records import shown
from ranker.corpora.sanity import tied_scores
from ranker.errors import DataError, counted, log_note
from ranker.evaluation.choices import LEVELS, Correction, Level, Test
from ranker.evaluation.metrics.candidates import CandidateScores
from ranker.evaluation.metrics.result import Comparison, Scope
from ranker.evaluation.metrics.run import ALL, INTO_ENGLISH, compare
from ranker.evaluation.metrics.statistics import TAUS
from ranker.extractors.composed.direction import judgements_note
from ranker.ranking.scorers import AnyScorer, Scorer, candidate_scores, learnt_kinds, scorer_of, scorers_by_name

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
    scores: npt.ArrayLike | pd.DataFrame | AnyScorer | Sequence[AnyScorer] | Mapping[str, Any],
    *,
    kind: str = AUTO,
    human: FloatArray | None = None,
    levels: Sequence[Level] | None = None,
    resamples: int = 1000,
    test: Test = "bootstrap",
    correction: Correction = "westfall-young",
    seed: int = 0,
) -> Comparison:
    """Compare scores with human judgements, and several scorers with each other.

    Parameters
    ----------
    candidates : Dataset, DataFrame, list of dict, str or Path
        With human judgements; see `ranker.ranking.ranker.Ranker.score` for the forms.
    scores : array-like, shape (candidates,), Series or DataFrame, scorer, list of scorers, or mapping
        One score per candidate (for a frame, per row), higher is better; or a Series, which is matched by its index; or
        what `Ranker.score` or `Ranker.rank` returned for these candidates; or a metric or ranker that scores them, or
        its name. Only judged candidates count, but for systems by preferences or win rates all candidates of judged
        sources. A candidate that is the only reference of its source may have the score NaN. The members of a list of
        metrics and rankers, or of a mapping of names to any of these, are compared.
    kind : str
        Kind of judgement; see `ranker.corpora.judgements`.
    human : float array, shape (candidates,), optional
        Human scores (for a frame, one per row, equal for the rows of one candidate); by default those of `kind`.
    levels : sequence of {"segment", "document", "system"}, optional
        Levels at which several scorers are compared (default: all). A single scorer is evaluated at segment level, or
        at these levels if they are given.
    resamples : int, default 1000
        Bootstrap samples of sources, for 95% intervals; 0 for no intervals.
    test : {"bootstrap", "randomisation", "perm-both", "williams"}
        Significance test for the difference between two scorers.
    correction : {"westfall-young", "holm", "none"}
        Multiple-testing correction for the p-values.
    seed : int, default 0

    Returns
    -------
    Comparison
        For one scorer, with the statistics `EVALUATED`; ``estimate("segment.spearman")`` is the mean over language
        pairs of the mean rho of their sources. For several scorers, with the statistics of
        ``ranker evaluate -m A,B``, the signatures and the notes, which are logged too.

    Raises
    ------
    DataError
        If there are no judgements of `kind`, a judged candidate has no score, the scores are not one number per
        candidate, or the ratings seem to be read in the wrong direction and `kind` does not state the direction.

    Examples
    --------
    >>> from ranker import evaluate, from_texts
    >>> frame = from_texts({"A": ["a b", "c d"], "B": ["a", "d c"]}, ["a b", "c d"]).to_frame()
    >>> judged = frame.assign(fluency=[5, 3, 4, 2])
    >>> found = evaluate(judged, [0.9, 0.1, 0.5, 0.2], resamples=0)
    >>> round(found.estimate("segment.spearman").value, 3)
    1.0
    >>> several = evaluate(judged, ["chrf", "ter"], resamples=0)
    >>> several.to_frame().query("statistic == 'segment.spearman'")["metric"].tolist()
    ['chrf', 'ter']
    """
    rows = candidate_rows(candidates)
    several = isinstance(scores, list | tuple) and scores and all(isinstance(each, AnyScorer) for each in scores)
    named: Mapping[str, Any] = {"scores": scores}
    if isinstance(scores, Mapping):
        named = {str(name): scorer_of(each) if isinstance(each, AnyScorer) else each for name, each in scores.items()}
    elif several or isinstance(scores, AnyScorer):
        named = scorers_by_name(cast("AnyScorer | Sequence[AnyScorer]", scores))
    given = {name: each if isinstance(each, Scorer) else _in_order(each, rows, name) for name, each in named.items()}
    by_people = None if human is None else _in_order(human, rows, "human")
    if by_people is not None and np.isnan(by_people).all():
        raise DataError("no candidate has a score, expected a number for those that people judged", file="human")
    # nothing scores a candidate that is the only reference of its source
    alone = only_references(rows.dataset)
    dataset, learnt = rows.dataset.select_candidates(~alone), _learnt(given)
    if human is None and (note := judgements_note(Judged.of(dataset, kind, learnt), kind, *learnt)):
        log_note(note)
    if levels is None and not (several or isinstance(scores, Mapping)):
        ((name, values),) = given.items()
        if isinstance(values, Scorer):
            scorer, values = values, np.full(len(rows.dataset), np.nan)
            values[~alone] = candidate_scores(scorer, dataset)
        scored = ~(alone & np.isnan(values))
        outputs = rows.dataset.select_candidates(scored)
        for tied in tied_scores(outputs, values[scored], "score" if name == "scores" else f"score by {name}"):
            log_note(str(tied))
        return agreement(
            outputs,
            values[scored],
            name=name,
            kind=kind,
            human=None if by_people is None else by_people[scored],
            resamples=resamples,
            seed=seed,
            learnt=learnt,
        )
    levels = LEVELS if levels is None else levels
    compared = {name: each if isinstance(each, Scorer) else each[~alone] for name, each in given.items()}
    data = scored_by(dataset, compared, kind=None if human is not None else kind, levels=levels)
    for each in data[1]:
        for note in each.notes:
            log_note(note, each.name)
    return compare(
        [data],
        kind=kind,
        levels=levels,
        resamples=resamples,
        seed=seed,
        test=test,
        correction=correction,
        learnt=learnt,
        human=[None if by_people is None else by_people[~alone]],
    )


def agreement(
    dataset: Dataset,
    scores: FloatArray,
    *,
    kind: str,
    name: str = "scores",
    human: FloatArray | None = None,
    resamples: int = 1000,
    seed: int = 0,
    learnt: Sequence[str] = (),
) -> Comparison:
    """Measure how well scores, one per candidate, agree with people at segment level, by the statistics `EVALUATED`."""
    return compare(
        [(dataset, [CandidateScores(name, scores)])],
        kind=kind,
        levels=("segment",),
        resamples=resamples,
        seed=seed,
        learnt=learnt,
        statistics=EVALUATED,
        human=[human],
    )


def scored_by(
    dataset: Dataset, scorers: Mapping[str, Scorer | FloatArray], *, kind: str | None, levels: Sequence[Level]
) -> tuple[Dataset, list[CandidateScores]]:
    """Score the candidates that a comparison needs; return their data set and the scores by each scorer.

    All candidates are needed unless only segments are compared: then those with judgements of `kind` are enough.
    """
    outputs = dataset
    if [*levels] == ["segment"] and kind is not None:
        outputs = Judged.of(dataset, kind, _learnt(scorers)).dataset
    rows = outputs.context_rows[dataset.context_rows]
    scored = []
    for name, each in scorers.items():
        by_name = (
            CandidateScores.of(each, outputs, name=name, levels=levels)
            if isinstance(each, Scorer)
            else CandidateScores(name, each[rows])
        )
        tied = tied_scores(outputs, by_name.scores, "score", only_near="segment" not in levels)
        scored.append(replace(by_name, notes=(*by_name.notes, *map(str, tied))))
    return outputs, scored


def _learnt(scorers: Mapping[str, Any]) -> list[str]:
    return [kind for scorer in scorers.values() if isinstance(scorer, Scorer) for kind in learnt_kinds(scorer)]


def _in_order(scores: Any, rows: CandidateRows, name: str) -> FloatArray:
    """Return one score per candidate, in the order of the candidates."""
    if isinstance(scores, pd.DataFrame | pd.Series):
        scores = _by_label(scores, rows, name)
    try:
        by_row = np.asarray(scores, dtype=np.float64)
    except (TypeError, ValueError):
        what = f"found {type(scores).__name__}, expected one number per candidate, such as the result of Ranker.score"
        raise DataError(what, file=name) from None
    if by_row.shape != (len(rows.index),):
        expected = counted(len(rows.index), "candidate" if rows.candidate is None else "row")
        raise DataError(
            f"found an array of shape {by_row.shape}, expected one number for each of {expected}", file=name
        )
    if len(infinite := np.flatnonzero(np.isinf(by_row))):
        raise DataError(f"row {infinite[0]} is {by_row[infinite[0]]}, expected finite numbers", file=name)
    first = rows.first
    if rows.candidate is not None:
        same = by_row[first][rows.candidate]
        differ = np.flatnonzero((by_row != same) & ~(np.isnan(by_row) & np.isnan(same)))
        if len(differ):
            row, other = int(differ[0]), int(first[rows.candidate[differ[0]]])
            what = f"rows {other} and {row} are of one candidate and have {by_row[other]:g} and {by_row[row]:g}"
            raise DataError(f"{what}, expected one number per candidate, such as the mean", file=name)
    return np.asarray(by_row[first])


def _by_label(scores: pd.DataFrame | pd.Series, rows: CandidateRows, name: str) -> pd.Series:
    """Match scores to rows: in order if both have the same index, else by index label."""
    size = f"found {type(scores).__name__} with {counted(len(scores), 'row')} as scores of"
    wanted = f"{size} {counted(len(rows.dataset), 'candidate')}, expected the result of Ranker.score or Ranker.rank"
    frame = scores if isinstance(scores, pd.DataFrame) else scores.to_frame("score")
    if "score" not in frame:
        raise DataError(f"{wanted} for the same candidates", file=name)
    of_row = _matched(frame["score"], rows, name, wanted)
    if {"source", "system", "text"} <= {*frame}:
        _check_texts(frame.reindex(of_row.index) if frame.index.is_unique else frame, rows, name)
    else:
        _check_numbers(frame.index, rows, name)
    return of_row


def _check_numbers(index: pd.Index, rows: CandidateRows, name: str) -> None:
    """Refuse scores by the numbers of candidates for a frame whose rows are numbered in another order."""
    plain = rows.index.equals(pd.RangeIndex(len(rows.index))) and rows.index.name is None
    if index.name == NUMBER and plain and not np.array_equal(rows.first, np.arange(len(rows.first))):
        what = "the index has the numbers of candidates in a data set, but the rows of the frame are in another order"
        raise DataError(f"{what}: score the same data, in the same form", file=name)


def _check_texts(frame: pd.DataFrame, rows: CandidateRows, name: str) -> None:
    """Refuse a result of `Ranker.score` whose texts are not those of the rows that it is for."""
    candidate = np.arange(len(rows.dataset)) if rows.candidate is None else rows.candidate
    expected = rows.dataset.candidates["text"].to_numpy(object)[candidate]
    if len(frame) != len(expected):
        return
    found = frame["text"].to_numpy(object)
    # numbers become text when they are read
    other = np.array([isinstance(text, str) and text != read for text, read in zip(found, expected, strict=True)])
    differ = np.flatnonzero(other & frame["score"].notna().to_numpy(bool))
    if len(differ):
        row = int(differ[0])
        what = f"row {row} has the score of {shown(found[row])}, but the text of the data is {shown(expected[row])}"
        advice = "score the same data, in the same form: the rows of a frame are not in the order of a data set"
        raise DataError(f"{what}: {advice}", file=name)


def _matched(scores: pd.Series, rows: CandidateRows, name: str, wanted: str) -> pd.Series:
    if scores.index.equals(rows.index):
        return scores
    # if a candidate has several rows, its score is that of the first row
    labels = rows.index[rows.first]
    if not (scores.index.is_unique and labels.is_unique):
        what = "the index has duplicate labels, so scores cannot be matched to candidates: use reset_index on the frame"
        raise DataError(what, file=name)
    needed = labels[~only_references(rows.dataset)]
    if len(scores) not in (len(needed), len(labels), len(rows.index)) or not needed.isin(scores.index).all():
        raise DataError(f"{wanted} for the same candidates, or an array in their order", file=name)
    of_candidate = scores.reindex(labels)
    return of_candidate if rows.candidate is None else of_candidate.iloc[rows.candidate]


def named_scopes(comparison: Comparison) -> dict[str, Scope]:
    """Return the scopes of one data set by name: language pairs, then the mean into English and the mean of all.

    If all language pairs are into English, the two means are the same.
    """
    named = {scope.lp: scope for scope in comparison.scopes if scope.lp}
    if len(named) > 1:
        means = {scope.id.rpartition("/")[2]: scope for scope in comparison.scopes if not scope.lp}
        if all(is_of_pair(lp, "*-en") for lp in named):
            means = {INTO_ENGLISH: means[ALL], **means}
        named |= means
    return named


def main_scope(comparison: Comparison) -> tuple[str, Scope]:
    """Return the name and the scope that sum up a data set.

    This is the mean into English, else the mean of all language pairs, else the only language pair.
    """
    named = named_scopes(comparison)
    name = next((name for name in (INTO_ENGLISH, ALL) if name in named), next(reversed(named)))
    return name, named[name]
