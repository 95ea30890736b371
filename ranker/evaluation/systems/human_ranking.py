"""Ranking of systems by people: scores, ranges of ranks, and clusters of systems without significant differences."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ranker.arrays import BoolArray, FloatArray, Int64Array
from ranker.corpora.dataset import Dataset
from ranker.corpora.judgements import (
    AUTO,
    PREFERENCES,
    WITHIN_SOURCES,
    Judged,
    Kind,
    human_scores,
    rating_names,
    standardised_language_pairs,
)
from ranker.corpora.languages import LanguagePair
from ranker.corpora.numbered_systems import note_numbered
from ranker.errors import DataError, OptionError, counted, log_note
from ranker.evaluation.choices import RankingMethod
from ranker.evaluation.resampling.bootstrap import draws, resampled_sums, stream
from ranker.evaluation.systems.bradley_terry import davidson
from ranker.evaluation.systems.power import fewest_sources
from ranker.evaluation.systems.trueskill import TrueSkill
from ranker.extractors.composed.direction import judgements_note
from ranker.ranks import merge_ties

_METHODS: Mapping[str, tuple[RankingMethod, ...]] = {PREFERENCES: ("expected-wins", "bradley-terry", "trueskill")}
"""Ranking methods by kind of judgement, the default first; for all other kinds, the mean of the scores."""
_CHUNK = 2_000_000
_COMPARABLE = 0.9
"""Proportion of the judged sources on which a system must be judged to compare means of scores."""


@dataclass(frozen=True)
class RankedSystem:
    """A system's score, rank and cluster in a ranking by people."""

    system: str
    score: float
    """Expected wins (Bojar et al. 2013), log strength (`ranker.evaluation.systems.bradley_terry`), the mean of its
    TrueSkill over the resamples, or its mean human score."""
    rank: int
    low: int
    """Lower end of the range of its rank in 95% of the resamples; 1 if the system was judged on fewer than six sources
    (or documents, if these are resampled). Such systems are left out of the ranges of the others."""
    high: int
    cluster: int
    """Cluster of the system, from 1 for the best; rank ranges of different clusters do not overlap (Koehn 2012), except
    those of systems judged on fewer than six sources, which are in the cluster of the system above them."""
    judgements: int
    """Number of strict and tied comparisons, or of scores."""


@dataclass(frozen=True)
class HumanRanking:
    """The systems of one language pair, best first."""

    lp: LanguagePair
    method: str
    systems: tuple[RankedSystem, ...]
    standardised: bool = False
    """True if the scores are means of ratings standardised per judge."""

    @property
    def title(self) -> str:
        """Name of the method, with the scale of the scores."""
        return f"{self.method}, standardised per judge" if self.standardised else self.method


@dataclass(frozen=True, eq=False)
class HumanJudgements:
    """Human judgements of systems: rankings of the systems, and the human scores of their outputs."""

    rankings: tuple[HumanRanking, ...]
    scores: FloatArray
    """Human score of each candidate; NaN if people did not score it."""
    notes: tuple[str, ...] = ()


def judged_by_people(
    dataset: Dataset, kind: str | None, *, units: Int64Array | None = None, resamples: int, seed: int
) -> HumanJudgements:
    """Return the human judgements of the systems in `dataset`; empty if `kind` is None or ``auto`` finds no kind.

    `units` are the documents of the sources, if documents are resampled.
    """
    people, notes = people_of(dataset, kind)
    if people is None:
        return HumanJudgements((), np.full(len(dataset), np.nan), notes)
    note = judgements_note(people, *filter(None, [kind]))
    scores = _system_scores(dataset, people.kind)
    method = _METHODS.get(people.kind, ("mean",))[0]
    rankings, uneven = _rankings(dataset, people.kind, scores, method, units, resamples, seed)
    return HumanJudgements(rankings, scores, (*notes, *filter(None, [note]), *uneven))


def _system_scores(dataset: Dataset, kind: str) -> FloatArray:
    """Return the candidates' human scores, to be averaged over a system's outputs; all NaN for preferences."""
    return np.full(len(dataset), np.nan) if kind == PREFERENCES else human_scores(dataset, kind, repeated=True)


def people_of(dataset: Dataset, kind: str | None) -> tuple[Judged | None, tuple[str, ...]]:
    """Return the judgements for the human ranking (None if unwanted, or if ``auto`` finds none), and notes."""
    if kind is None:
        return None, ()
    try:
        return Judged.of(dataset, kind), ()
    except DataError as error:
        if kind != AUTO:
            raise
        return None, ((f"no human ranking: {error}",) if rating_names(dataset) or len(dataset.errors) else ())


def rank_systems(
    dataset: Dataset,
    kind: str = AUTO,
    *,
    method: RankingMethod = "auto",
    resamples: int = 1000,
    seed: int = 0,
) -> tuple[HumanRanking, ...]:
    """Rank the systems of each language pair by human judgements."""
    people = Judged.of(dataset, kind)
    note_numbered(people.dataset.candidates["system"], dataset.name)
    fitting = _METHODS.get(people.kind, ("mean",))
    chosen = fitting[0] if method == "auto" else method
    if chosen not in fitting:
        raise OptionError(f"systems cannot be ranked with {method!r} from {people.kind}; use {' or '.join(fitting)}")
    scores = _system_scores(dataset, people.kind)
    rankings, notes = _rankings(dataset, people.kind, scores, chosen, None, resamples, seed)
    for note in notes:
        log_note(note)
    return rankings


def _rankings(
    dataset: Dataset,
    kind: str,
    human: FloatArray,
    method: RankingMethod,
    units: Int64Array | None,
    resamples: int,
    seed: int,
) -> tuple[tuple[HumanRanking, ...], list[str]]:
    """Return the systems of each language pair ranked by the mean of `human` scores or by preferences, and notes.

    The `units` of the sources are resampled, by default the sources themselves.
    """
    rankings, notes = [], []
    unit_name = "source" if units is None else "document"
    units = np.arange(len(dataset.sources)) if units is None else units
    standardised = standardised_language_pairs(dataset, kind) if method == "mean" else ()
    systems = dataset.candidates["system"].to_numpy(object)
    for lp in dataset.language_pairs:
        inside = dataset.source_language_pairs == lp
        generator = stream(seed, lp, method)
        if method == "mean":
            rows = np.flatnonzero(~np.isnan(human) & inside[dataset.candidate_source])
        else:
            first, second, outcome = comparisons(dataset, inside)
            rows = np.concatenate([first, second])
        if not len(rows):
            continue
        names, code = np.unique(systems[rows].astype(str), return_inverse=True)
        unit = np.unique(units[dataset.candidate_source[rows]], return_inverse=True)[1].astype(np.int64)
        on = np.stack([code, unit])
        if method != "mean":
            pairs = code[: len(first)], code[len(first) :], outcome
            unit = unit[: len(first)]
            # a tie is no win, so it tells nothing about expected wins
            on = on[:, np.tile(outcome != 0, 2)] if method == "expected-wins" else on
        if method == "mean":
            columns = np.zeros((unit.max() + 1, 2, len(names)))
            np.add.at(columns[:, 0], (unit, code), human[rows])
            np.add.at(columns[:, 1], (unit, code), 1.0)
            judged = np.zeros((len(dataset.sources), len(names)), dtype=bool)
            judged[dataset.candidate_source[rows], code] = True
            if Kind.parse(kind).name not in WITHIN_SOURCES and (uneven := uneven_sources(judged, names.tolist())):
                notes.append(f"{lp.of(dataset.name)}: {uneven}")
            score, sample = _resampled(columns, _ratio, resamples, generator)
        elif method == "bradley-terry":
            score, sample = davidson(*pairs, unit, names.tolist(), resamples, generator, f"{dataset.name} {lp}")
        elif method == "expected-wins":
            score, sample = _resampled(_wins(pairs, unit, len(names)), expected_wins, resamples, generator)
        else:
            score, sample = _trueskill(pairs, unit, len(names), resamples, generator)
        known = ~np.isnan(score)
        if not known.all():
            unranked = ", ".join(names[~known].tolist()[:8]) + (", ..." if (~known).sum() > 8 else "")
            where = f"{dataset.name} {lp.known or ''}".strip()
            log_note(f"systems without a rank, because they neither won nor lost a comparison: {unranked}", where)
        if not known.any():
            continue
        number = np.bincount(code)[known]
        fewest = fewest_sources(0.05)
        sure = np.bincount(np.unique(on, axis=1)[0], minlength=len(names))[known] >= fewest
        if resamples and unit.max() + 1 >= fewest and not sure.all():
            listed = ", ".join(names[known][~sure].tolist()[:8]) + (", ..." if (~sure).sum() > 8 else "")
            what = f"systems with judgements of fewer than {fewest} {unit_name}s, so that any rank is possible"
            notes.append(f"{lp.of(dataset.name)}: {what}: {listed}")
        ranked = _ranked(names[known], score[known], sample[:, known], number, sure)
        rankings.append(HumanRanking(lp, method, ranked, lp in standardised))
    return tuple(rankings), notes


def uneven_sources(present: BoolArray, names: Sequence[str], *, judged: bool = True) -> str | None:
    """Return a note on systems with so few of the sources that means of scores do not compare them, or None.

    `present`, of shape (sources, systems), is true where a system was judged or, if not `judged`, has an output.
    """
    counts, sources = present.sum(axis=0), int(present.any(axis=1).sum())
    few = np.flatnonzero(counts < _COMPARABLE * sources)
    if not len(few):
        return None
    listed = ", ".join(f"{names[place]} on {counts[place]:,}" for place in few[:4]) + (", ..." if len(few) > 4 else "")
    different = f"different sources (of {counted(sources, 'source')}: {listed}), so"
    if not judged:
        return f"systems have outputs for {different} metric scores do not compare them: use sources that all translate"
    advice = "use sources on which all were judged, or preferences"
    return f"systems were judged on {different} their mean scores do not compare them: {advice}"


def expected_wins(wins: npt.ArrayLike) -> FloatArray:
    """Expected wins of each system: proportion of comparisons won, averaged over its opponents (Bojar et al. 2013)."""
    won = np.asarray(wins, dtype=np.float64)
    played = won + np.swapaxes(won, -1, -2)
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.where(played > 0, won / played, 0.0)
        return np.asarray(share.sum(axis=-1) / (played > 0).sum(axis=-1))


def rank_clusters(low: npt.ArrayLike, high: npt.ArrayLike) -> Int64Array:
    """Split competitors, best first, into as many clusters with disjoint rank ranges as possible (Koehn 2012)."""
    best, worst = np.asarray(low), np.asarray(high)
    if not len(best):
        return np.zeros(0, dtype=np.int64)
    so_far = np.maximum.accumulate(worst)[:-1]
    to_come = np.minimum.accumulate(best[::-1])[::-1][1:]
    return np.concatenate([[1], 1 + np.cumsum(so_far < to_come)]).astype(np.int64)


def comparisons(dataset: Dataset, inside: BoolArray) -> tuple[Int64Array, Int64Array, Int64Array]:
    """Return both candidates' rows and the outcome (1, 0 or -1) of each comparison in the sources `inside`.

    `inside` is a mask. Repeated comparisons count, because a judgement of an output is one of every system that gave
    it, except ties of an output with itself, which nobody compared.
    """
    rows = dataset.preferences
    rows = rows[rows["relation"].isin([">", "<", "="]).to_numpy(bool)]
    first, second = (rows[side].to_numpy(np.int64) for side in ("first", "second"))
    relation = rows["relation"].to_numpy(object)
    outcome = (relation == ">").astype(np.int64) - (relation == "<")
    chosen = inside[dataset.candidate_source[first]]
    ties = np.flatnonzero(chosen & (outcome == 0) & ~rows["primary"].to_numpy(bool))
    text = dataset.candidates["text"]
    chosen[ties] = text.iloc[first[ties]].to_numpy(object) != text.iloc[second[ties]].to_numpy(object)
    return first[chosen], second[chosen], outcome[chosen]


def _wins(pairs: tuple[Int64Array, Int64Array, Int64Array], unit: Int64Array, systems: int) -> FloatArray:
    """Number of wins of each system over every other system per unit, shape (units, systems, systems)."""
    first, second, outcome = (side[pairs[2] != 0] for side in pairs)
    wins = np.zeros((unit.max() + 1, systems, systems))
    cells = np.where(outcome > 0, first, second), np.where(outcome > 0, second, first)
    np.add.at(wins, (unit[pairs[2] != 0], *cells), 1.0)
    return wins


def _ratio(sums: FloatArray) -> FloatArray:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(sums[..., 0, :] / sums[..., 1, :])


def _resampled(
    columns: FloatArray, score: Callable[[FloatArray], FloatArray], resamples: int, generator: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Return systems' scores from sums of `columns` (units, ...), and their scores in bootstrap samples."""
    sums = resampled_sums(columns.reshape(len(columns), -1), resamples, generator)
    return score(columns.sum(axis=0)), score(sums.reshape(resamples, *columns.shape[1:]))


def _trueskill(
    pairs: tuple[Int64Array, Int64Array, Int64Array],
    unit: Int64Array,
    systems: int,
    resamples: int,
    generator: np.random.Generator,
) -> tuple[FloatArray, FloatArray]:
    model, size = TrueSkill(), len(unit)
    if not resamples:
        return model.rate(*pairs, systems, np.arange(size))[0][0], np.empty((0, systems))
    order = np.argsort(unit, kind="stable")
    ratings = []
    for _, weights in draws(int(unit.max()) + 1, resamples, generator):
        step = max(1, _CHUNK // size)
        for start in range(0, len(weights), step):
            rows = [
                generator.permutation(np.repeat(order, weight[unit[order]])) for weight in weights[start : start + step]
            ]
            orders = np.full((len(rows), max(map(len, rows))), -1, dtype=np.int64)
            for place, row in enumerate(rows):
                orders[place, : len(row)] = row
            ratings.append(model.rate(*pairs, systems, orders)[0])
    sample = np.concatenate(ratings)
    return sample.mean(axis=0), sample


def _ranks(scores: FloatArray) -> Int64Array:
    """Rank of each score: 1 plus the number of higher scores."""
    return len(scores) + 1 - np.searchsorted(np.sort(scores), scores, side="right").astype(np.int64)


def _ranked(
    names: npt.NDArray[np.str_], score: FloatArray, sample: FloatArray, judgements: Int64Array, sure: BoolArray
) -> tuple[RankedSystem, ...]:
    # a system that a resample leaves without judgements keeps its place
    score, sample = merge_ties(score), merge_ties(np.where(np.isnan(sample), score, sample))
    rank = _ranks(score)
    low, high, order = rank.copy(), rank.copy(), np.lexsort((np.arange(len(names)), -score))
    group = rank_clusters(low[order], high[order])
    if len(sample):
        low[:], high[:], group[:] = 1, len(rank), 1
        ranks = np.stack([_ranks(row) for row in sample[:, sure]])
        low[sure] = np.percentile(ranks, 2.5, axis=0, method="inverted_cdf")
        high[sure] = np.percentile(ranks, 97.5, axis=0, method="inverted_cdf")
        among = order[sure[order]]
        group[sure[order]] = rank_clusters(low[among], high[among])
        group = np.maximum.accumulate(group)
        high = np.maximum(high, rank)
    return tuple(
        RankedSystem(
            str(names[place]),
            float(score[place]),
            int(rank[place]),
            int(low[place]),
            int(high[place]),
            int(group[index]),
            int(judgements[place]),
        )
        for index, place in enumerate(order)
    )
