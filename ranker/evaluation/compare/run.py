"""Compares several metrics with people: figures, intervals, and which differences are significant."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ranker.arrays import FloatArray
from ranker.corpora.dataset import Dataset
from ranker.corpora.judgements import AUTO, human_scores, preference_pairs, resolve_kind
from ranker.errors import DataError, OptionError
from ranker.evaluation.bootstrap import LEVEL, Estimate, draws, estimate, stream
from ranker.evaluation.choices import FEW_SOURCES, LEVELS, Correction, Level, Test
from ranker.evaluation.compare.candidates import CandidateScores, LanguagePairData, by_language_pair, part_of
from ranker.evaluation.compare.metric_tests import randomised_units, williams_tests
from ranker.evaluation.compare.perm_both import perm_both_outputs, perm_both_systems
from ranker.evaluation.compare.result import (
    Cell,
    ComparedMetric,
    Comparison,
    ComparisonSettings,
    Contest,
    Scope,
    Statistic,
)
from ranker.evaluation.compare.statistics import DEFAULT, FINER, STATISTICS, DocumentFigures, FigureSet, SegmentFigures
from ranker.evaluation.compare.system_statistics import SystemFigures
from ranker.evaluation.significance import centred, clusters, corrected, resampled_p
from ranker.signature import make_signature
from ranker.version import VERSION

ALL = "mean"
INTO_ENGLISH = "mean into English"


@dataclass
class _Figure:
    """One statistic in one scope, for all metrics."""

    value: FloatArray
    sample: FloatArray
    count: list[int]
    undefined: list[int]
    detail: list[Mapping[str, float]]
    values: list[FloatArray] = field(default_factory=list)
    """What the mean is taken over, by metric; none of statistics that are no means over sources."""
    sums: list[FloatArray] = field(default_factory=list)
    """By metric, numerator and denominator of a pooled mean, first observed, then resampled; none of others."""
    null: FloatArray | None = None
    """Differences under the null hypothesis, the observed ones first; None for the bootstrap test."""
    p: FloatArray | None = None
    """P-values of a test that does not resample, shape (pairs,)."""


@dataclass
class _Results:
    scope: Scope
    figures: dict[str, _Figure] = field(default_factory=dict)


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
    metrics = tuple(ComparedMetric(metric.name, metric.type, metric.signature, metric.notes) for metric in data[0][1])
    settings = ComparisonSettings(kind, resamples, seed, LEVEL, test, correction, alpha)
    results: list[_Results] = []
    for number, (dataset, scored) in enumerate(data):
        used = resolve_kind(dataset, kind, learnt=learnt)
        language_pairs = _judged_language_pairs(dataset, scored, used, human[number] if human else None)
        measured = [
            _measure(dataset, pair, scored, used, number, levels, settings, statistics) for pair in language_pairs
        ]
        results += [*measured, *_means(dataset.name, measured)]
    results += _overall(results, len(data))
    computed = [item for item in (*STATISTICS, *FINER) if any(item.id in result.figures for result in results)]
    names = [metric.name for metric in metrics]
    cells: list[Cell] = []
    contests: list[Contest] = []
    for statistic in computed:
        for result in results:
            figure = result.figures.get(statistic.id)
            if figure is not None:
                contest = _contest(statistic, result.scope, figure, settings)
                contests += [contest] if contest else []
                cells += _cells(statistic, result.scope, names, figure, contest)
    return Comparison(
        _signature(data, settings, [result.scope.kind for result in results]),
        settings,
        metrics,
        tuple(computed),
        tuple(result.scope for result in results),
        tuple(cells),
        tuple(contests),
    )


def _check(data: Sequence[tuple[Dataset, Sequence[CandidateScores]]]) -> None:
    if not data or not data[0][1]:
        raise OptionError("nothing to compare: give at least one data set and one metric")
    names = [metric.name for metric in data[0][1]]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise OptionError(f"two metrics are called {twice!r}; names must be unique")
    for dataset, scored in data:
        if [metric.name for metric in scored] != names:
            raise OptionError(f"{dataset.name}: not scored by the same metrics as {data[0][0].name}")
    titles = [dataset.name for dataset, _ in data]
    if len(set(titles)) < len(titles):
        twice = next(title for title in titles if titles.count(title) > 1)
        raise OptionError(f"two data sets are called {twice!r}; give each once or rename a file")


def _judged_language_pairs(
    dataset: Dataset, scored: Sequence[CandidateScores], kind: str, human: FloatArray | None
) -> list[LanguagePairData]:
    """Return the language pairs, with human scores of `kind` unless others are given."""
    target = human_scores(dataset, kind) if human is None else human
    selections = {"official": preference_pairs(dataset, primary=False), "primary": preference_pairs(dataset)}
    language_pairs = by_language_pair(dataset, target, selections)
    for metric_scores in scored:
        for language_pair in language_pairs:
            if np.isnan(metric_scores.scores[language_pair.rows[language_pair.needed]]).any():
                raise DataError(f"a judged candidate has no score for {metric_scores.name}", file=dataset.name)
    return language_pairs


def _measure(
    dataset: Dataset,
    language_pair: LanguagePairData,
    scored: Sequence[CandidateScores],
    kind: str,
    number: int,
    levels: Sequence[Level],
    settings: ComparisonSettings,
    statistics: Collection[str],
) -> _Results:
    """Make all figures of one language pair."""
    documents = len(np.unique(language_pair.document[language_pair.document >= 0]))
    scope = Scope(
        id=f"{dataset.name}/{language_pair.lp}",
        type="language-pair",
        title=f"{dataset.name} {language_pair.lp}",
        data=dataset.name,
        lp=language_pair.lp,
        members=(),
        kind=kind,
        sources=language_pair.sources,
        documents=documents,
        systems=len(language_pair.systems),
        candidates=int(language_pair.judged.sum()),
        pairs={name: len(pairs.better) for name, pairs in language_pair.pairs.items()},
    )
    groups: list[FigureSet] = []
    if "segment" in levels:
        groups.append(SegmentFigures(language_pair, statistics))
    if "document" in levels and documents > 1:
        groups.append(DocumentFigures(language_pair))
    if "system" in levels and len(language_pair.systems) > 1:
        groups.append(SystemFigures(language_pair, settings.resamples))
    # the streams of the first data set are those of `evaluate`, so that the two give the same intervals
    names: list[str | int] = [language_pair.lp, *([number] if number else [])]
    results = _Results(scope)
    parts = [part_of(metric_scores, language_pair) for metric_scores in scored]
    for streamed in dict.fromkeys(group.stream for group in groups):
        resampled = [group for group in groups if group.stream == streamed]
        keys = [*names, *([streamed] if streamed else [])]
        results.figures.update(_resampled(resampled, parts, settings, keys))
    if settings.test == "williams" and settings.resamples and len(scored) > 1:
        for group in groups:
            for identity, p in williams_tests(group, parts).items():
                if identity in results.figures:
                    results.figures[identity].p = p
    elif settings.resamples and len(scored) > 1:
        even = [part_of(metric_scores, language_pair, standardised=True) for metric_scores in scored]
        for group in groups:
            test = "randomisation" if settings.test == "bootstrap" and group.units < FEW_SOURCES else settings.test
            nulls = {} if test == "bootstrap" else _null(group, language_pair, parts, even, test, settings, names)
            for identity, null in nulls.items():
                if identity in results.figures:
                    results.figures[identity].null = null
    return results


def _null(
    group: FigureSet,
    language_pair: LanguagePairData,
    parts: Sequence[CandidateScores],
    even: Sequence[CandidateScores],
    test: Test,
    settings: ComparisonSettings,
    names: Sequence[str | int],
) -> dict[str, FloatArray]:
    """Return differences of all pairs of metrics under the null hypothesis, where the test applies."""
    generator = stream(settings.seed, *names, test, type(group).__name__)
    by_sums = any(part.statistics is not None for part in parts)
    if test == "randomisation":
        if isinstance(group, SystemFigures) and by_sums:
            return {}
        return randomised_units(group, even, settings.resamples, generator)
    if isinstance(group, SegmentFigures):
        return perm_both_outputs(language_pair, even, settings.resamples, generator)
    if isinstance(group, SystemFigures):
        metric = [group.metric(group.measure(part).columns.sum(axis=0), part) for part in parts]
        return perm_both_systems(group.human(group.shared.sum(axis=0)), metric, settings.resamples, generator)
    return {}


def _resampled(
    groups: Sequence[FigureSet],
    parts: Sequence[CandidateScores],
    settings: ComparisonSettings,
    names: Sequence[str | int],
) -> dict[str, _Figure]:
    """Make the figures of groups that share their units, and resample them with the same weights."""
    units = groups[0].units
    weights = np.empty((settings.resamples, units), dtype=np.float64)
    for start, block in draws(units, settings.resamples, stream(settings.seed, *names)):
        weights[start : start + len(block)] = block
    figures: dict[str, _Figure] = {}
    for group in groups:
        shared = group.shared.sum(axis=0), weights @ group.shared
        for place, part in enumerate(parts):
            measured = group.measure(part)
            totals, sampled = measured.columns.sum(axis=0), weights @ measured.columns
            values = group.figures(shared[0], totals, part)
            samples = group.figures(shared[1], sampled, part)
            for identity, value in values.items():
                figure = figures.setdefault(
                    identity,
                    _Figure(np.empty(len(parts)), np.empty((settings.resamples, len(parts))), [], [], []),
                )
                if identity in measured.values:
                    figure.values.append(measured.values[identity])
                place_of_sum = group.pooled(identity)
                if place_of_sum is not None:
                    figure.sums.append(np.vstack([totals, sampled])[:, place_of_sum : place_of_sum + 2])
                figure.value[place], figure.sample[:, place] = float(value), samples[identity]
                figure.count.append(measured.count.get(identity, 0))
                figure.undefined.append(measured.undefined.get(identity, 0))
                figure.detail.append(measured.detail.get(identity, {}))
    return figures


def _means(name: str, members: Sequence[_Results]) -> list[_Results]:
    """Return the means over the language pairs of a data set, if there are several."""
    if len(members) < 2:
        return []
    english = [member for member in members if member.scope.lp.endswith("-en")]
    some = 0 < len(english) < len(members)
    means = [_mean(f"{name}/{INTO_ENGLISH}", f"{name} {INTO_ENGLISH}", name, english)] if some else []
    return [*means, _mean(f"{name}/{ALL}", f"{name} {ALL}", name, members)]


def _overall(results: Sequence[_Results], sets: int) -> list[_Results]:
    """Return the means over several data sets: of what is into English, unless that is all, and of everything."""
    if sets < 2:
        return []
    widest, english = [], []
    for name in dict.fromkeys(result.scope.data for result in results):
        own_results = [result for result in results if result.scope.data == name]
        widest.append(own_results[-1])
        if all(result.scope.lp.endswith("-en") for result in own_results if result.scope.lp):
            english.append(own_results[-1])
        else:
            english += [result for result in own_results if result.scope.id == f"{name}/{INTO_ENGLISH}"]
    some = len(english) == sets and [result.scope.id for result in english] != [result.scope.id for result in widest]
    chosen = {**({INTO_ENGLISH: english} if some else {}), ALL: widest}
    return [_mean(title, f"{title}, {sets} data sets", "", members) for title, members in chosen.items()]


def _mean(identity: str, title: str, data: str, members: Sequence[_Results]) -> _Results:
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
    result = _Results(scope)
    for identity in members[0].figures:
        each = [member.figures[identity] for member in members if identity in member.figures]
        if len(each) < len(members):
            continue
        nulls = [figure.null for figure in each]
        value, sample = (np.mean([getattr(figure, part) for figure in each], axis=0) for part in ("value", "sample"))
        sums = [np.sum(parts, axis=0) for parts in zip(*(figure.sums for figure in each), strict=True)]
        if sums:
            with np.errstate(invalid="ignore"):
                ratios = np.stack([totals[:, 0] / totals[:, 1] for totals in sums], axis=1)
            value, sample = ratios[0], ratios[1:]
        result.figures[identity] = _Figure(
            value,
            sample,
            [sum(numbers) for numbers in zip(*(figure.count for figure in each), strict=True)],
            [sum(numbers) for numbers in zip(*(figure.undefined for figure in each), strict=True)],
            [{} for _ in each[0].detail],
            [np.concatenate(parts) for parts in zip(*(figure.values for figure in each), strict=True)],
            sums,
            None
            if any(null is None for null in nulls)
            else np.mean([null for null in nulls if null is not None], axis=0),
        )
    return result


def _contest(statistic: Statistic, scope: Scope, figure: _Figure, settings: ComparisonSettings) -> Contest | None:
    """Test all pairs of metrics; None if there is nothing to test."""
    size = len(figure.value)
    if size < 2 or not settings.resamples:
        return None
    first, second = np.triu_indices(size, 1)
    if figure.null is None:
        observed = figure.value[first] - figure.value[second]
        null = centred(figure.sample[:, first] - figure.sample[:, second])
    else:
        observed, null = figure.null[0], figure.null[1:]
    p = resampled_p(null, observed) if figure.p is None else figure.p
    matrices = []
    for values in (p, corrected(p, null, observed, settings.correction)):
        matrix = np.ones((size, size))
        matrix[first, second] = matrix[second, first] = values
        matrices.append(matrix)
    with np.errstate(invalid="ignore"):
        ahead = (matrices[1] < settings.alpha) & (figure.value[:, np.newaxis] > figure.value)
    test = settings.test
    if figure.null is None and figure.p is None:
        test = "bootstrap"
    elif test == "bootstrap":
        test = "randomisation"
    return Contest(
        statistic.id, scope.id, test, _rows(matrices[0]), _rows(matrices[1]), tuple(map(tuple, ahead.tolist()))
    )


def _rows(matrix: FloatArray) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(row) for row in matrix.tolist())


def _interval(statistic: Statistic, value: float, sample: FloatArray) -> Estimate:
    """Return a figure with its interval.

    Resampling sources adds noise to people and metric both, so figures about systems come out lower than the figure
    itself; their sample is moved by that difference, within the range of the statistic.
    """
    if statistic.level == "system" and (~np.isnan(sample)).any():
        sample = np.clip(sample + (value - np.nanmean(sample)), statistic.low, statistic.high)
    return estimate(value, sample)


def _cells(
    statistic: Statistic, scope: Scope, names: Sequence[str], figure: _Figure, contest: Contest | None
) -> list[Cell]:
    known = ~np.isnan(figure.value)
    group = clusters(figure.value, contest.ahead) if contest else np.where(known & (len(names) == 1), 1, 0)
    cells = []
    for place, name in enumerate(names):
        interval = _interval(statistic, figure.value[place], figure.sample[:, place])
        detail = dict(figure.detail[place])
        if figure.values and len(figure.values[place]) > 1:
            detail["variance"] = float(figure.values[place].var(ddof=1))
        rank = int((figure.value[known] > interval.value).sum()) + 1 if known[place] else 0
        cells.append(
            Cell(
                statistic.id,
                scope.id,
                name,
                interval.value,
                interval.low,
                interval.high,
                rank,
                int(group[place]),
                figure.count[place],
                figure.undefined[place],
                detail,
            )
        )
    return cells


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
