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
from ranker.evaluation.choices import LEVELS, Correction, Level, Test
from ranker.evaluation.compare.candidates import CandidateScores, Slice, part_of, slices
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
from ranker.evaluation.compare.statistics import DEFAULT, FINER, STATISTICS, DocumentFigures, Family, SegmentFigures
from ranker.evaluation.compare.system_statistics import SystemFigures
from ranker.evaluation.significance import centred, clusters, corrected, resampled_p
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
    """Compare metrics with people and with each other.

    Parameters
    ----------
    data : sequence of (Dataset, sequence of CandidateScores)
        Data sets with the scores of their candidates; the same metrics in the same order for all.
    kind : str, default "auto"
        Kind of judgement; ``auto`` takes for each data set the first that it has.
    levels : sequence of {"segment", "document", "system"}
        ``segment`` needs scores of the judged candidates; ``system`` takes all candidates that have one.
    resamples : int, default 1000
        Bootstrap samples, and permutations of the test; 0 for figures alone.
    seed : int, default 0
    test : {"bootstrap", "randomisation", "perm-both", "williams"}, default "bootstrap"
        Of two metrics: paired bootstrap over sources; whole sources swapped; single outputs swapped (Deutsch et al.
        2021); Williams' test (Graham and Baldwin 2014). Where a test does not apply, the bootstrap stands in, and the
        contest says so: ``randomisation`` does not to systems scored by their summed statistics, ``perm-both`` only
        does to tau, consistency, Pearson's r and pairwise accuracy, ``williams`` only to Pearson's r in a language
        pair.
    correction : {"westfall-young", "holm", "none"}, default "westfall-young"
        Multiple-testing correction of the p-values of all pairs of metrics in one contest. `Comparison.notes` says when
        there are too few resamples for any difference to be significant.
    alpha : float, default 0.05
    learnt : sequence of str
        Kinds that the rankers among the metrics learnt from; see `ranker.corpora.judgements.resolve_kind`.
    statistics : collection of str
        Statistics of the segment level to make; ids of `STATISTICS` and `FINER`.
    human : sequence of (float array or None), optional
        By data set, human scores of the candidates instead of those of `kind`.

    Returns
    -------
    Comparison

    Raises
    ------
    OptionError
        If there is nothing to compare, or an option has no such value.
    DataError
        If a data set has no such judgements, or a judged candidate has no score.
    """
    _check(data)
    metrics = tuple(ComparedMetric(one.name, one.type, one.signature, one.notes) for one in data[0][1])
    settings = ComparisonSettings(kind, resamples, seed, LEVEL, test, correction, alpha)
    results: list[_Results] = []
    for number, (dataset, scored) in enumerate(data):
        used = resolve_kind(dataset, kind, learnt=learnt)
        pieces = _judged_slices(dataset, scored, used, human[number] if human else None)
        mine = [_measure(dataset, piece, scored, used, number, levels, settings, statistics) for piece in pieces]
        results += [*mine, *_means(dataset.name, mine)]
    results += _overall(results, len(data))
    made = [one for one in (*STATISTICS, *FINER) if any(one.id in result.figures for result in results)]
    names = [one.name for one in metrics]
    cells: list[Cell] = []
    contests: list[Contest] = []
    for statistic in made:
        for result in results:
            figure = result.figures.get(statistic.id)
            if figure is not None:
                contest = _contest(statistic, result.scope, figure, settings)
                contests += [contest] if contest else []
                cells += _cells(statistic, result.scope, names, figure, contest)
    return Comparison(
        _signature(data, settings, [one.scope.kind for one in results]),
        settings,
        metrics,
        tuple(made),
        tuple(one.scope for one in results),
        tuple(cells),
        tuple(contests),
    )


def _check(data: Sequence[tuple[Dataset, Sequence[CandidateScores]]]) -> None:
    if not data or not data[0][1]:
        raise OptionError("nothing to compare: give at least one data set and one metric")
    names = [one.name for one in data[0][1]]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise OptionError(f"two metrics are called {twice!r}; names must be unique")
    for dataset, scored in data:
        if [one.name for one in scored] != names:
            raise OptionError(f"{dataset.name}: not scored by the same metrics as {data[0][0].name}")
    titles = [dataset.name for dataset, _ in data]
    if len(set(titles)) < len(titles):
        twice = next(title for title in titles if titles.count(title) > 1)
        raise OptionError(f"two data sets are called {twice!r}; give each once or rename a file")


def _judged_slices(
    dataset: Dataset, scored: Sequence[CandidateScores], kind: str, human: FloatArray | None
) -> list[Slice]:
    """Return the language pairs, with human scores of `kind` unless others are given."""
    target = human_scores(dataset, kind) if human is None else human
    selections = {"official": preference_pairs(dataset, primary=False), "primary": preference_pairs(dataset)}
    pieces = slices(dataset, target, selections)
    for one in scored:
        for piece in pieces:
            if np.isnan(one.scores[piece.rows[piece.needed]]).any():
                raise DataError(f"a judged candidate has no score for {one.name}", file=dataset.name)
    return pieces


def _measure(
    dataset: Dataset,
    piece: Slice,
    scored: Sequence[CandidateScores],
    kind: str,
    number: int,
    levels: Sequence[Level],
    settings: ComparisonSettings,
    statistics: Collection[str],
) -> _Results:
    """Make all figures of one language pair."""
    documents = len(np.unique(piece.document[piece.document >= 0]))
    scope = Scope(
        id=f"{dataset.name}/{piece.lp}",
        type="language-pair",
        title=f"{dataset.name} {piece.lp}",
        data=dataset.name,
        lp=piece.lp,
        members=(),
        kind=kind,
        sources=piece.sources,
        documents=documents,
        systems=len(piece.systems),
        candidates=int(piece.judged.sum()),
        pairs={name: len(pairs.better) for name, pairs in piece.pairs.items()},
    )
    families: list[Family] = []
    if "segment" in levels:
        families.append(SegmentFigures(piece, statistics))
    if "document" in levels and documents > 1:
        families.append(DocumentFigures(piece))
    if "system" in levels and len(piece.systems) > 1:
        families.append(SystemFigures(piece, settings.resamples))
    # the streams of the first data set are those of `evaluate`, so that the two give the same intervals
    names: list[str | int] = [piece.lp, *([number] if number else [])]
    found = _Results(scope)
    parts = [part_of(one, piece) for one in scored]
    for streamed in dict.fromkeys(family.stream for family in families):
        mine = [family for family in families if family.stream == streamed]
        keys = [*names, *([streamed] if streamed else [])]
        found.figures.update(_resampled(mine, parts, settings, keys))
    if settings.test == "williams" and settings.resamples and len(scored) > 1:
        for family in families:
            for identity, p in williams_tests(family, parts).items():
                if identity in found.figures:
                    found.figures[identity].p = p
    elif settings.test != "bootstrap" and settings.resamples and len(scored) > 1:
        even = [part_of(one, piece, standardised=True) for one in scored]
        for family in families:
            for identity, null in _null(family, piece, parts, even, settings, names).items():
                if identity in found.figures:
                    found.figures[identity].null = null
    return found


def _null(
    family: Family,
    piece: Slice,
    parts: Sequence[CandidateScores],
    even: Sequence[CandidateScores],
    settings: ComparisonSettings,
    names: Sequence[str | int],
) -> dict[str, FloatArray]:
    """Return differences of all pairs of metrics under the null hypothesis, where the test applies."""
    generator = stream(settings.seed, *names, settings.test, type(family).__name__)
    by_sums = any(one.statistics is not None for one in parts)
    if settings.test == "randomisation":
        if isinstance(family, SystemFigures) and by_sums:
            return {}
        return randomised_units(family, even, settings.resamples, generator)
    if isinstance(family, SegmentFigures):
        return perm_both_outputs(piece, even, settings.resamples, generator)
    if isinstance(family, SystemFigures):
        metric = [family.metric(family.measure(one).columns.sum(axis=0), one) for one in parts]
        return perm_both_systems(family.human(family.shared.sum(axis=0)), metric, settings.resamples, generator)
    return {}


def _resampled(
    families: Sequence[Family],
    parts: Sequence[CandidateScores],
    settings: ComparisonSettings,
    names: Sequence[str | int],
) -> dict[str, _Figure]:
    """Make the figures of families that share their units, and resample them with the same weights."""
    units = families[0].units
    weights = np.empty((settings.resamples, units), dtype=np.float64)
    for start, block in draws(units, settings.resamples, stream(settings.seed, *names)):
        weights[start : start + len(block)] = block
    found: dict[str, _Figure] = {}
    for family in families:
        shared = family.shared.sum(axis=0), weights @ family.shared
        for place, one in enumerate(parts):
            measured = family.measure(one)
            totals, sampled = measured.columns.sum(axis=0), weights @ measured.columns
            values = family.figures(shared[0], totals, one)
            samples = family.figures(shared[1], sampled, one)
            for identity, value in values.items():
                figure = found.setdefault(
                    identity,
                    _Figure(np.empty(len(parts)), np.empty((settings.resamples, len(parts))), [], [], []),
                )
                if identity in measured.values:
                    figure.values.append(measured.values[identity])
                place_of_sum = family.pooled(identity)
                if place_of_sum is not None:
                    figure.sums.append(np.vstack([totals, sampled])[:, place_of_sum : place_of_sum + 2])
                figure.value[place], figure.sample[:, place] = float(value), samples[identity]
                figure.count.append(measured.count.get(identity, 0))
                figure.undefined.append(measured.undefined.get(identity, 0))
                figure.detail.append(measured.detail.get(identity, {}))
    return found


def _means(name: str, members: Sequence[_Results]) -> list[_Results]:
    """Return the means over the language pairs of a data set, if there are several."""
    if len(members) < 2:
        return []
    english = [one for one in members if one.scope.lp.endswith("-en")]
    some = 0 < len(english) < len(members)
    found = [_mean(f"{name}/{INTO_ENGLISH}", f"{name} {INTO_ENGLISH}", name, english)] if some else []
    return [*found, _mean(f"{name}/{ALL}", f"{name} {ALL}", name, members)]


def _overall(results: Sequence[_Results], sets: int) -> list[_Results]:
    """Return the means over several data sets: of what is into English, unless that is all, and of everything."""
    if sets < 2:
        return []
    widest, english = [], []
    for name in dict.fromkeys(one.scope.data for one in results):
        mine = [one for one in results if one.scope.data == name]
        widest.append(mine[-1])
        if all(one.scope.lp.endswith("-en") for one in mine if one.scope.lp):
            english.append(mine[-1])
        else:
            english += [one for one in mine if one.scope.id == f"{name}/{INTO_ENGLISH}"]
    some = len(english) == sets and [one.scope.id for one in english] != [one.scope.id for one in widest]
    chosen = {**({INTO_ENGLISH: english} if some else {}), ALL: widest}
    return [_mean(title, f"{title}, {sets} data sets", "", members) for title, members in chosen.items()]


def _mean(identity: str, title: str, data: str, members: Sequence[_Results]) -> _Results:
    scopes = [one.scope for one in members]
    selections = dict.fromkeys(name for one in scopes for name in one.pairs)
    scope = Scope(
        id=identity,
        type="mean",
        title=title,
        data=data,
        lp="",
        members=tuple(one.id for one in scopes),
        kind=scopes[0].kind if data else "",
        sources=sum(one.sources for one in scopes),
        documents=sum(one.documents for one in scopes),
        systems=sum(one.systems for one in scopes),
        candidates=sum(one.candidates for one in scopes),
        pairs={name: sum(one.pairs.get(name, 0) for one in scopes) for name in selections},
    )
    found = _Results(scope)
    for identity in members[0].figures:
        each = [one.figures[identity] for one in members if identity in one.figures]
        if len(each) < len(members):
            continue
        nulls = [one.null for one in each]
        value, sample = (np.mean([getattr(one, part) for one in each], axis=0) for part in ("value", "sample"))
        sums = [np.sum(parts, axis=0) for parts in zip(*(one.sums for one in each), strict=True)]
        if sums:
            with np.errstate(invalid="ignore"):
                ratios = np.stack([one[:, 0] / one[:, 1] for one in sums], axis=1)
            value, sample = ratios[0], ratios[1:]
        found.figures[identity] = _Figure(
            value,
            sample,
            [sum(numbers) for numbers in zip(*(one.count for one in each), strict=True)],
            [sum(numbers) for numbers in zip(*(one.undefined for one in each), strict=True)],
            [{} for _ in each[0].detail],
            [np.concatenate(parts) for parts in zip(*(one.values for one in each), strict=True)],
            sums,
            None if any(one is None for one in nulls) else np.mean([one for one in nulls if one is not None], axis=0),
        )
    return found


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
    test = "bootstrap" if figure.null is None and figure.p is None else settings.test
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
    found = []
    for place, name in enumerate(names):
        one = _interval(statistic, figure.value[place], figure.sample[:, place])
        detail = dict(figure.detail[place])
        if figure.values and len(figure.values[place]) > 1:
            detail["variance"] = float(figure.values[place].var(ddof=1))
        rank = int((figure.value[known] > one.value).sum()) + 1 if known[place] else 0
        found.append(
            Cell(
                statistic.id,
                scope.id,
                name,
                one.value,
                one.low,
                one.high,
                rank,
                int(group[place]),
                figure.count[place],
                figure.undefined[place],
                detail,
            )
        )
    return found


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
    return "|".join(f"{key}:{value}" for key, value in parts.items())
