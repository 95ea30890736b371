"""Comparison of several metrics with people: statistics, intervals, and significance of differences."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

import numpy as np

from ranker.arrays import FloatArray
from ranker.corpora.dataset import Dataset
from ranker.corpora.judgements import AUTO, human_scores, preference_pairs, resolve_kind
from ranker.corpora.languages import is_of_pair
from ranker.corpora.numbered_systems import note_numbered
from ranker.corpora.records import first_repeated
from ranker.errors import DataError, OptionError, log_note
from ranker.evaluation.choices import FEW_SOURCES, LEVELS, Correction, Level, Test
from ranker.evaluation.metrics.candidates import CandidateScores, LanguagePairData, by_language_pair, part_of
from ranker.evaluation.metrics.pairwise_tests import null_differences, williams_tests
from ranker.evaluation.metrics.result import (
    Cell,
    ComparedMetric,
    Comparison,
    ComparisonSettings,
    PairwiseTests,
    Scope,
    Statistic,
)
from ranker.evaluation.metrics.statistics import (
    DEFAULT,
    FINER,
    STATISTICS,
    Basis,
    DocumentStatistics,
    SegmentStatistics,
    StatisticSet,
)
from ranker.evaluation.metrics.system_statistics import SystemStatistics
from ranker.evaluation.resampling.bootstrap import LEVEL, estimate, stream, weights_of_draws
from ranker.evaluation.resampling.significance import centred, clusters, corrected, least_p, resampled_p
from ranker.ranks import merge_ties
from ranker.signature import make_signature
from ranker.version import VERSION

ALL = "mean"
INTO_ENGLISH = "mean into English"


@dataclass
class _Values:
    """Values of one statistic in one scope, for all metrics."""

    values: FloatArray
    """Values, shape (1 + resamples, metrics): first observed, then resampled."""
    basis: list[Basis]
    units: tuple[int, ...]
    """Number of units that are resampled in each language pair."""
    sums: FloatArray | None = None
    """Numerator and denominator of a pooled mean, shape (1 + resamples, metrics, 2)."""
    null: FloatArray | None = None
    """Differences under the null hypothesis, the observed ones first; None for the bootstrap test."""
    null_test: Test = "bootstrap"
    p: FloatArray | None = None
    """P-values of a test that does not resample, shape (pairs,)."""


@dataclass
class _ScopeValues:
    scope: Scope
    statistics: dict[str, _Values] = field(default_factory=dict)


def compare(
    data: Sequence[tuple[Dataset, Sequence[CandidateScores]]],
    *,
    kind: str = AUTO,
    levels: Sequence[Level] = LEVELS,
    resamples: int = 1000,
    seed: int = 0,
    test: Test = "bootstrap",
    correction: Correction = "westfall-young",
    alpha: float = 0.05,
    learnt: Sequence[str] = (),
    statistics: Collection[str] = DEFAULT,
    human: Sequence[FloatArray | None] | None = None,
) -> Comparison:
    """Compare metrics with people and with each other."""
    _check(data)
    unknown = [level for level in ([levels] if isinstance(levels, str) else levels) if level not in LEVELS]
    if unknown or not levels:
        given = repr(unknown[0]) if unknown else "none"
        raise OptionError(f"levels: expected some of {', '.join(LEVELS)}, found {given}")
    metrics = tuple(_about([scored[place] for _, scored in data]) for place in range(len(data[0][1])))
    settings = ComparisonSettings(kind, resamples, seed, LEVEL, test, correction, alpha)
    results: list[_ScopeValues] = []
    for number, (dataset, scored) in enumerate(data):
        own = human[number] if human else None
        used = resolve_kind(dataset, kind, learnt=learnt) if own is None else "human"
        language_pairs = _judged_language_pairs(dataset, scored, used, own)
        for pair in language_pairs if "segment" in levels else ():
            if not pair.orders_candidates:
                log_note(f"{pair.where}: people order no two candidates of a source: only Pearson's r can be computed")
        measured = [_measure(pair, scored, used, number, levels, settings, statistics) for pair in language_pairs]
        results += [*measured, *_means(dataset.name, measured)]
    results += _overall(results)
    computed = [item for item in (*STATISTICS, *FINER) if any(item.id in result.statistics for result in results)]
    if not computed:
        if all(set(dataset.preferences["relation"]) == {"="} for dataset, _ in data):
            what = "all preferences are ties, which order no candidates"
            raise DataError(f"{what}: give preferences for one of two candidates", file=data[0][0].name)
        if not results:
            what = "no candidate has a human score or is preferred to another: give other judgements"
            raise DataError(what, file=data[0][0].name)
        what = f"nothing to evaluate by {' and '.join(levels)}: expected judged outputs of at least two systems"
        documents = "" if "system" in levels else ", in documents (doc)"
        raise DataError(f"{what}{documents}; use the level segment", file=data[0][0].name)
    if any(statistic.level != "segment" for statistic in computed):
        for dataset, _ in data:
            note_numbered(dataset.candidates["system"], dataset.name)
    names = [metric.name for metric in metrics]
    cells: list[Cell] = []
    pairwise_tests: list[PairwiseTests] = []
    for statistic in computed:
        for result in results:
            found = result.statistics.get(statistic.id)
            if found is not None:
                tests = _test_pairs(statistic, result.scope, found, settings)
                pairwise_tests += [tests] if tests else []
                cells += _cells(statistic, result.scope, names, found, tests)
    return Comparison(
        _signature(data, settings, [result.scope.kind for result in results]),
        settings,
        metrics,
        tuple(computed),
        tuple(result.scope for result in results),
        tuple(cells),
        tuple(pairwise_tests),
    )


def _check(data: Sequence[tuple[Dataset, Sequence[CandidateScores]]]) -> None:
    if not data or not data[0][1]:
        raise OptionError("nothing to compare: give at least one data set and one metric")
    names = [metric.name for metric in data[0][1]]
    if (twice := first_repeated(names)) is not None:
        raise OptionError(f"two metrics are called {twice!r}: give each a different name")
    if (twice := first_repeated([dataset.name for dataset, _ in data])) is not None:
        raise OptionError(f"two data sets are called {twice!r}; give each once or rename a file")


def _judged_language_pairs(
    dataset: Dataset, scored: Sequence[CandidateScores], kind: str, human: FloatArray | None
) -> list[LanguagePairData]:
    """Split a data set by language pair, with the scores in `human`, or those of `kind` if `human` is None."""
    target = of_systems = human if human is not None else human_scores(dataset, kind)
    if human is None and len(dataset.preferences):
        of_systems = human_scores(dataset, kind, repeated=True)
    selections = {"official": preference_pairs(dataset, primary=False), "primary": preference_pairs(dataset)}
    language_pairs = by_language_pair(dataset, target, selections, of_systems)
    for metric_scores in scored:
        for language_pair in language_pairs:
            if np.isnan(metric_scores.scores[language_pair.rows[language_pair.needed]]).any():
                raise DataError(
                    f"a judged candidate has no score by {metric_scores.name}: score every judged candidate",
                    file=dataset.name,
                )
    return language_pairs


def _measure(
    language_pair: LanguagePairData,
    scored: Sequence[CandidateScores],
    kind: str,
    number: int,
    levels: Sequence[Level],
    settings: ComparisonSettings,
    statistics: Collection[str],
) -> _ScopeValues:
    """Compute the statistics of one language pair and the values that their tests need.

    `number` is the index of the data set in the comparison.
    """
    documents = len(np.unique(language_pair.document[language_pair.document >= 0]))
    scope = Scope(
        id=f"{language_pair.data}/{language_pair.lp}",
        type="language-pair",
        title=f"{language_pair.data} {language_pair.lp}",
        data=language_pair.data,
        lp=language_pair.lp,
        members=(),
        kind=kind,
        sources=language_pair.sources,
        documents=documents,
        systems=len(language_pair.systems),
        candidates=int(language_pair.judged.sum()),
        pairs={name: len(pairs.better) for name, pairs in language_pair.pairs.items()},
    )
    groups: list[StatisticSet] = []
    if "segment" in levels:
        groups.append(SegmentStatistics(language_pair, statistics))
    if "document" in levels and documents > 1:
        groups.append(DocumentStatistics(language_pair))
    if "system" in levels and len(language_pair.systems) > 1:
        systems = SystemStatistics(language_pair, settings.resamples, kind=kind)
        groups.append(systems)
        if systems.note:
            log_note(systems.note, language_pair.where)
    # the streams of the first data set are those of `evaluate`, so that the two give the same intervals
    names: list[str | int] = [language_pair.lp, *([number] if number else [])]
    parts = [part_of(metric_scores, language_pair) for metric_scores in scored]
    found: dict[str, _Values] = {}
    weights: dict[str, FloatArray] = {}
    for group in groups:
        if group.stream not in weights:
            keys = [*names, *([group.stream] if group.stream else [])]
            weights[group.stream] = weights_of_draws(group.units, settings.resamples, stream(settings.seed, *keys))
        found |= _resampled(group, parts, weights[group.stream])
    for group in groups if settings.resamples and len(scored) > 1 else ():
        if settings.test == "williams":
            for identity, p in williams_tests(group, parts).items():
                if identity in found:
                    found[identity].p = p
        # with few units, randomisation replaces the bootstrap, also where the requested test does not apply
        tests: list[Test] = ["randomisation"] if group.units < FEW_SOURCES else []
        for test in dict.fromkeys([*tests, settings.test]):
            if test in ("bootstrap", "williams"):
                continue
            generator = stream(settings.seed, *names, test, group.test_stream)
            for identity, null in null_differences(group, parts, test, settings.resamples, generator).items():
                if identity in found:
                    found[identity].null, found[identity].null_test = null, test
    return _ScopeValues(scope, found)


def _resampled(group: StatisticSet, parts: Sequence[CandidateScores], weights: FloatArray) -> dict[str, _Values]:
    """Return the statistics of `group` for all metrics, observed and resampled with `weights` (resamples, units)."""

    def sums(columns: FloatArray) -> FloatArray:
        return np.vstack([columns.sum(axis=0), weights @ columns])

    shared = sums(group.shared)
    values: dict[str, list[FloatArray]] = {}
    basis: dict[str, list[Basis]] = {}
    pooled: dict[str, list[FloatArray]] = {}
    for part in parts:
        columns, known = group.measure(part)
        own = sums(columns)
        for identity, column in group.values(shared, own, part).items():
            values.setdefault(identity, []).append(column)
            basis.setdefault(identity, []).append(known.get(identity, Basis()))
            place = group.pooled(identity)
            if place is not None:
                pooled.setdefault(identity, []).append(own[:, place : place + 2])
    return {
        identity: _Values(
            np.stack(columns, axis=1),
            Basis.compared(basis[identity]),
            (group.units,),
            np.stack(pooled[identity], axis=1) if identity in pooled else None,
        )
        for identity, columns in values.items()
    }


def _means(name: str, members: Sequence[_ScopeValues]) -> list[_ScopeValues]:
    """Return the mean over a data set's language pairs, after the mean over those into English if only some are.

    The list is empty for a single language pair.
    """
    if len(members) < 2:
        return []
    english = [member for member in members if is_of_pair(member.scope.lp, "*-en")]
    some = 0 < len(english) < len(members)
    means = [_mean(f"{name}/{INTO_ENGLISH}", f"{name} {INTO_ENGLISH}", name, english)] if some else []
    return [*means, _mean(f"{name}/{ALL}", f"{name} {ALL}", name, members)]


def _overall(results: Sequence[_ScopeValues]) -> list[_ScopeValues]:
    """Return the means over data sets: of language pairs into English, and of all language pairs.

    The mean into English requires that every data set has pairs into English and some have other pairs.
    """
    names = dict.fromkeys(result.scope.data for result in results)
    if len(names) < 2:
        return []
    widest, english = [], []
    for name in names:
        own_results = [result for result in results if result.scope.data == name]
        widest.append(own_results[-1])
        if all(is_of_pair(result.scope.lp, "*-en") for result in own_results if result.scope.lp):
            english.append(own_results[-1])
        else:
            english += [result for result in own_results if result.scope.id == f"{name}/{INTO_ENGLISH}"]
    some = len(english) == len(names) and [result.scope.id for result in english] != [
        result.scope.id for result in widest
    ]
    chosen = {**({INTO_ENGLISH: english} if some else {}), ALL: widest}
    return [_mean(title, f"{title}, {len(names)} data sets", "", members) for title, members in chosen.items()]


def _mean(identity: str, title: str, data: str, members: Sequence[_ScopeValues]) -> _ScopeValues:
    scopes = [member.scope for member in members]
    selections = dict.fromkeys(name for scope in scopes for name in scope.pairs)
    scope = Scope(
        id=identity,
        type="mean",
        title=title,
        data=data,
        lp="",
        members=tuple(scope.id for scope in scopes),
        kind=scopes[0].kind if data else "",
        sources=sum(scope.sources for scope in scopes),
        documents=sum(scope.documents for scope in scopes),
        systems=sum(scope.systems for scope in scopes),
        candidates=sum(scope.candidates for scope in scopes),
        pairs={name: sum(scope.pairs.get(name, 0) for scope in scopes) for name in selections},
    )
    result = _ScopeValues(scope)
    for identity in members[0].statistics:
        each = [member.statistics[identity] for member in members if identity in member.statistics]
        if len(each) < len(members):
            continue
        values = np.mean([found.values for found in each], axis=0)
        sums = [found.sums for found in each if found.sums is not None]
        if sums:
            with np.errstate(invalid="ignore"):
                total = np.sum(sums, axis=0)
                values = total[..., 0] / total[..., 1]
        nulls = [found.null for found in each if found.null is not None]
        tested = len(nulls) == len(each)
        result.statistics[identity] = _Values(
            values,
            [Basis.together(parts) for parts in zip(*(found.basis for found in each), strict=True)],
            tuple(units for found in each for units in found.units),
            total if sums else None,
            np.mean(nulls, axis=0) if tested else None,
            each[0].null_test if tested else "bootstrap",
        )
    return result


def _test_pairs(
    statistic: Statistic, scope: Scope, found: _Values, settings: ComparisonSettings
) -> PairwiseTests | None:
    """Test all pairs of metrics, or return None if there is only one metric or no resampling."""
    value, sample = found.values[0], found.values[1:]
    size = len(value)
    if size < 2 or not settings.resamples:
        return None
    first, second = np.triu_indices(size, 1)
    observed = value[first] - value[second]
    if found.null is None:
        null = centred(sample[:, first] - sample[:, second])
    else:
        observed, null = np.where(np.isnan(observed), np.nan, found.null[0]), found.null[1:]
    p = resampled_p(null, observed) if found.p is None else np.where(np.isnan(observed), np.nan, found.p)
    least = 0.0
    if found.null is None and found.p is None:
        least = math.prod(map(least_p, found.units))
    matrices = np.ones((2, size, size))
    for matrix, values in zip(matrices, (p, corrected(p, null, observed, settings.correction)), strict=True):
        matrix[first, second] = matrix[second, first] = np.maximum(values, least)
    with np.errstate(invalid="ignore"):
        ahead = (matrices[1] < settings.alpha) & (value[:, np.newaxis] > value)
    test = found.null_test if found.p is None else "williams"
    rows = [tuple(map(tuple, matrix.tolist())) for matrix in (*matrices, ahead)]
    return PairwiseTests(statistic.id, scope.id, test, *rows)


def _cells(
    statistic: Statistic, scope: Scope, names: Sequence[str], found: _Values, tests: PairwiseTests | None
) -> list[Cell]:
    value, sample = found.values[0], found.values[1:]
    known, merged = ~np.isnan(value), merge_ties(value)
    group = clusters(value, tests.ahead) if tests else np.where(known & (len(names) == 1), 1, 0)
    cells = []
    for place, name in enumerate(names):
        resampled = sample[:, place]
        if statistic.level == "system" and (~np.isnan(resampled)).any():
            # resampling sources adds noise to people and metric both, so resampled values come out lower
            resampled = resampled + (value[place] - np.nanmean(resampled))
            resampled = np.clip(resampled, statistic.low, statistic.high)
        resampled = resampled if max(found.units) > 1 else resampled[:0]
        interval, basis = estimate(value[place], resampled), found.basis[place]
        detail = dict(basis.detail)
        if len(basis.values) > 1:
            detail["variance"] = float(basis.values.var(ddof=1))
        if basis.left_out_alone:
            detail["left_out_alone"] = basis.left_out_alone
        cells.append(
            Cell(
                statistic.id,
                scope.id,
                name,
                interval.value,
                interval.low,
                interval.high,
                int((merged[known] > merged[place]).sum()) + 1 if known[place] else 0,
                int(group[place]),
                basis.count,
                basis.undefined,
                detail,
            )
        )
    return cells


def _about(scored: Sequence[CandidateScores]) -> ComparedMetric:
    """Describe a metric, with its notes and distinct signatures on all data sets."""
    first = scored[0]
    notes = dict.fromkeys(note for each in scored for note in each.notes)
    return ComparedMetric(
        first.name, first.type, "; ".join(dict.fromkeys(each.signature for each in scored)), (*notes,)
    )


def _signature(
    data: Sequence[tuple[Dataset, Sequence[CandidateScores]]], settings: ComparisonSettings, kinds: Sequence[str]
) -> str:
    parts = {
        "ranker": VERSION,
        "compared on": ",".join(f"{dataset.name}#{dataset.fingerprint[:8]}" for dataset, _ in data),
        "against": "+".join(dict.fromkeys(filter(None, kinds))),
        "resamples": settings.resamples,
    }
    if settings.resamples:
        parts |= {"test": settings.test, "correction": settings.correction, "alpha": settings.alpha}
        parts |= {"seed": settings.seed}
    return make_signature(parts)
