"""Judgements, and rankers learnt from them, that point the other way than the references do: refused or noted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ranker.corpora.dataset import Dataset
from ranker.corpora.judgements import AUTO, PREFERENCES, Kind, human_scores, resolve_kind
from ranker.errors import DataError
from ranker.extractors.composed.direction import opposed_to_chrf

if TYPE_CHECKING:
    from ranker.ranking.ranker import Ranker
    from ranker.ranking.training import TrainingTable

_SCORE = "score"


def direction_note(ranker: Ranker, table: TrainingTable, *, seed: int = 0) -> str | None:
    """Note on a ranker that is opposed to chrF on the candidates of `table` that it learnt from, or None."""
    weights = ranker.weight_sets.of_candidates(table.dataset)
    candidates = table.dataset.candidates.assign(**{_SCORE: (weights * table.columns).sum(axis=1)})
    scored = replace(table.dataset, candidates=candidates)
    share = opposed_to_chrf(scored, lambda part, rows: part.candidates[_SCORE].to_numpy()[rows], seed=seed)
    if share is None:
        return None
    what = f"the model prefers candidates with lower chrF in {share:.0%} of the training sources"
    if ranker.settings.exclude_self:
        return f"{what}; references match each other less than outputs match them; train without --exclude-self"
    return f"{what}; {_advice(Kind.parse(table.kind).directed())}"


def judgements_note(dataset: Dataset, kind: str = AUTO, learnt: Sequence[str] = ()) -> str | None:
    """Note on judgements of `kind` that are opposed to chrF although their direction was stated, or None.

    Ratings whose direction neither `kind` states nor a ranker has `learnt` are refused then: conclusions from ratings
    that are read upside down are wrong.
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
