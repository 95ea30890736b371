"""Comparison of systems by metrics; see `ranker.evaluation.systems.result` for the results."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Mapping, Sequence
from numbers import Real
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pandas as pd

from ranker.arrays import FloatArray, Int64Array
from ranker.corpora.catalogue.candidate_rows import Candidates, candidate_rows
from ranker.corpora.dataset import Dataset, source_place
from ranker.corpora.judgements import AUTO, PREFERENCES, resolve_kind
from ranker.corpora.languages import LanguagePair
from ranker.corpora.own_references import check_texts, without_only_references
from ranker.corpora.records import first_repeated
from ranker.corpora.sanity import nearly_identical
from ranker.errors import DataError, OptionError, RankerError, counted, nearest
from ranker.evaluation.choices import Correction, Parity, ResamplingLevel, SystemTest, check_resampling
from ranker.evaluation.correlation.pair_counts import count_pairs, tau_b
from ranker.evaluation.correlation.pearson import pearson_rows
from ranker.evaluation.resampling.bootstrap import LEVEL, Estimate, estimate, stream
from ranker.evaluation.resampling.significance import (
    centred,
    corrected,
    few_sources,
    least_p,
    resampled_p,
    smallest_p,
    too_few_resamples,
)
from ranker.evaluation.systems.bradley_terry import davidson
from ranker.evaluation.systems.control_variate import controlled_mean
from ranker.evaluation.systems.human_ranking import HumanRanking, comparisons, judged_by_people, rank_clusters
from ranker.evaluation.systems.levels import documents
from ranker.evaluation.systems.pair_tests import SystemPairTests, compare_pairs
from ranker.evaluation.systems.people import FEWEST_SOURCES, AgreementCurve, agreement_curve
from ranker.evaluation.systems.power import sources_needed
from ranker.evaluation.systems.result import (
    ComparedSystem,
    SystemComparison,
    SystemPair,
    SystemsMetric,
    SystemsResult,
    SystemsSettings,
)
from ranker.extractors.base import Metric
from ranker.ranking.ranker import Ranker
from ranker.ranking.scorers import (
    Scorer,
    fallback,
    is_fraction,
    sacrebleu_part,
    score_details,
    scorer_of,
    sign_of,
    systems_scorer,
    trained_on,
    type_of,
)
from ranker.ranks import merge_ties
from ranker.signature import make_signature
from ranker.text.target_languages import target_language
from ranker.version import VERSION

AnyScorer = str | Path | Metric | Ranker | Scorer
Scorers = AnyScorer | Sequence[AnyScorer] | Mapping[str, AnyScorer]
"""One or several metrics or rankers, or a mapping of names to them."""
RESAMPLES: Mapping[SystemTest, int] = {"bs": 1000, "ar": 10_000}
"""Default number of resamples per test, as in sacreBLEU."""


def compare_systems(
    candidates: Candidates,
    scorers: Scorers | None = None,
    *,
    baseline: str | None = None,
    test: SystemTest = "bs",
    correction: Correction = "westfall-young",
    resamples: int | None = None,
    seed: int = 0,
    parity: Parity | None = None,
    level: ResamplingLevel = "segment",
    kind: str | None = AUTO,
    alpha: float = 0.05,
    power: float = 0.8,
    statistics: Mapping[str, FloatArray] | None = None,
) -> SystemsResult:
    """Compare the systems of every language pair with a baseline and with each other.

    Parameters
    ----------
    candidates : Dataset, DataFrame, list of dict, str or Path
        One translation of every source by every system; see `ranker.ranking.ranker.Ranker.score` for the forms.
    scorers : list of str, Path, Metric or Ranker
        Metrics in their notation, names of included rankers, model files (as Path), or metrics and rankers themselves.
        The keys of a mapping are the scorers' names. Without scorers, systems are compared by the preferences in the
        data: log strengths by Davidson's extension of the Bradley-Terry model for ties, with a Bayesian bootstrap over
        sources; see `ranker.evaluation.systems.bradley_terry`.
    baseline : str, optional
        System that the other systems are compared with; by default the first.
    test : {"bs", "ar"}
        Paired bootstrap or approximate randomisation.
    correction : {"westfall-young", "holm", "none"}
        Multiple-testing correction for the p-values of all pairs of systems.
    resamples : int, optional
        By default 1,000, or 10,000 for approximate randomisation.
    seed : int, default 0
    parity : {"sacrebleu"}, optional
        Count uncorrected p-values exactly as this program does.
    level : {"segment", "document"}
        Resample sources, or whole documents.
    kind : str, optional
        Kind of judgement for the human ranking, if there are any; see `ranker.corpora.judgements`. None leaves it out.
    alpha : float, default 0.05
        A corrected p-value below it is a significant difference.
    power : float, default 0.8
        Probability of a significant difference for which the number of sources needed is computed.
    statistics : mapping of str to array, optional
        Statistics of the candidates by every scorer, if they are known.

    Returns
    -------
    SystemsResult
        ``to_frame()`` has one row per language pair, metric and system.

    Raises
    ------
    DataError
        If a system has no translation of a source, or several.
    OptionError
        For an unknown metric or option, or fewer than two systems.

    Examples
    --------
    >>> from ranker import compare_systems, from_texts
    >>> data = from_texts({"A": ["a b", "c d"], "B": ["a", "d c"]}, ["a b", "c d"])
    >>> result = compare_systems(data, ["bleu[order=1]", "chrf"], resamples=100)
    >>> result.to_frame()[["metric", "system", "rank"]].values.tolist()
    [['bleu[order=1]', 'A', 1], ['bleu[order=1]', 'B', 2], ['chrf', 'A', 1], ['chrf', 'B', 2]]
    """
    for name, value, known in (
        ("test", test, get_args(SystemTest)),
        ("correction", correction, get_args(Correction)),
        ("parity", parity, (None, *get_args(Parity))),
        ("level", level, get_args(ResamplingLevel)),
    ):
        if value not in known:
            raise OptionError(f"{name}: expected one of {', '.join(map(str, known))}, found {value!r}")
    for name, share in (("alpha", alpha), ("power", power)):
        if not (isinstance(share, Real) and 0 < share < 1):
            raise OptionError(f"{name}: expected a number between 0 and 1, found {share!r}")
    number = RESAMPLES[test] if resamples is None else resamples
    check_resampling(number, seed, fewest=1)
    settings = SystemsSettings(test, correction, number, seed, parity, LEVEL, alpha, power, level)
    dataset = candidate_rows(candidates).dataset
    if scorers is None:
        return _by_preferences(dataset, baseline, settings)
    check_texts(dataset)
    named = scorers_by_name(scorers)
    if not named:
        raise OptionError("scorers: expected a metric or ranker, found none; without scorers preferences are compared")
    # the rows of statistics that are known are those of the data set as it is
    dataset, left_out = without_only_references(dataset) if statistics is None else (dataset, None)
    if not len(dataset):
        raise DataError("contains no candidate, expected outputs of at least two systems", file=dataset.name)
    tables = [
        _SystemTable(dataset, lp) for lp in dict.fromkeys(dataset.source_language_pairs[dataset.candidate_source])
    ]
    units = documents(dataset)[0] if level == "document" else None
    tables, alone = _comparable(tables, units, left_out)
    for table in tables:
        _check_baseline(baseline, table.names, table.where)
    made = {name: systems_scorer(scorer) for name, scorer in named.items()}
    human = judged_by_people(dataset, kind, resamples=RESAMPLES["bs"], seed=seed)
    people = {ranking.lp: ranking for ranking in human.rankings}
    if statistics is None:
        statistics = {name: scorer.statistics(dataset) for name, scorer in made.items()}
    for name in made:
        if name not in statistics or len(statistics[name]) != len(dataset):
            found = counted(len(statistics[name]), "row") if name in statistics else "none"
            what = (
                f"statistics of {name}: expected a row for each of {counted(len(dataset), 'candidate')}, found {found}"
            )
            raise DataError(what, file=dataset.name)
    comparisons = [
        _compare(table, name, scorer, statistics[name], units, baseline, settings, people.get(table.lp), human.scores)
        for table in tables
        for name, scorer in made.items()
    ]
    return SystemsResult(
        dataset.name,
        _signature(dataset, settings, baseline, human.rankings),
        settings,
        tuple(_described(name, scorer, dataset) for name, scorer in made.items()),
        tuple(comparisons),
        human.rankings,
        (*filter(None, [left_out]), *alone, *human.notes, *_too_few(comparisons, settings)),
        tuple(names for names, _ in nearly_identical(dataset)),
    )


def scorers_by_name(scorers: Scorers) -> dict[str, Scorer]:
    """Turn one or several metrics or rankers into scorers, by name."""
    if isinstance(scorers, Mapping):
        return {str(name): scorer_of(scorer) for name, scorer in scorers.items()}
    several = [scorers] if isinstance(scorers, AnyScorer) else scorers
    named = [(scorer.name, scorer) for scorer in map(scorer_of, several)]
    if (twice := first_repeated([name for name, _ in named])) is not None:
        raise OptionError(f"{twice!r} is given twice; to compare several rankers, give a mapping of names to scorers")
    return dict(named)


def _too_few(comparisons: Sequence[SystemComparison], settings: SystemsSettings) -> list[str]:
    """Return one-line notes on too few resamples and on few sources."""
    largest = max((len(comparison.pairs) for comparison in comparisons if comparison.test != "exact"), default=0)
    resamples = too_few_resamples(settings.resamples, largest, settings.correction, settings.alpha) if largest else None
    notes = [resamples, *(_few_sources(comparison, settings) for comparison in comparisons)]
    return [*dict.fromkeys(filter(None, notes))]


def _few_sources(comparison: SystemComparison, settings: SystemsSettings) -> str | None:
    """Return a one-line note on the effects of few sources on a comparison, or None if there are enough."""
    note = few_sources(comparison.units, comparison.lp.known, settings.unit)
    if note is None:
        return None
    if settings.parity:
        return f"{note}, and p-values computed like {settings.parity} too small"
    if comparison.test not in ("exact", "bs"):
        return f"{note}; p-values are of randomisation"
    smallest = _smallest_p(comparison, settings)
    none = ", so that no difference can be significant" if smallest >= settings.alpha else ""
    exact = "of exact randomisation, " if comparison.test == "exact" else ""
    return f"{note}; p-values are {exact}at least {smallest:.2g}{none}"


def _smallest_p(comparison: SystemComparison, settings: SystemsSettings) -> float:
    """Smallest corrected p-value possible with exact randomisation, or with the bootstrap of few sources."""
    if comparison.test == "bs":
        return least_p(comparison.units)
    return smallest_p(2 ** (comparison.units - 1) - 1, len(comparison.pairs), settings.correction)


def can_differ(comparison: SystemComparison, settings: SystemsSettings) -> bool:
    """True unless there are too few units for any difference to be significant."""
    return comparison.test == "ar" or _smallest_p(comparison, settings) < settings.alpha


class _SystemTable:
    """Candidates of a data set by source and system, for one language pair.

    Systems are sorted by name, so that the order in which they are given changes nothing but the default baseline.
    """

    def __init__(self, dataset: Dataset, lp: LanguagePair) -> None:
        self.lp, self.target = lp, target_language(dataset, lp)
        self.where = lp.of(dataset.name)
        rows = np.flatnonzero(dataset.source_language_pairs[dataset.candidate_source] == lp)
        source, sources = pd.factorize(dataset.candidate_source[rows])
        row_systems = dataset.candidates["system"].to_numpy(object)[rows].astype(str)
        names, system = np.unique(row_systems, return_inverse=True)
        counts = np.bincount(source * len(names) + system, minlength=len(sources) * len(names)).reshape(-1, len(names))
        if (counts != 1).any():
            place, which = np.argwhere(counts != 1)[0]
            number = "two translations" if counts[place, which] else "no translation"
            raise DataError(
                f"{source_place(dataset, sources[place])} has {number} by system {str(names[which])!r}, but systems "
                "must be compared on the same sources: give systems with exactly one translation of every source"
            )
        self.names: list[str] = names.tolist()
        self.first = str(row_systems[0])
        self.candidates = np.empty(counts.shape, dtype=np.int64)
        self.candidates[source, system] = rows
        self.sources: Int64Array = np.asarray(sources, dtype=np.int64)

    def summed(self, cube: FloatArray, units: Int64Array | None) -> FloatArray:
        """Sum the statistics of sources over the sources of each unit, shape (units, systems, k)."""
        if units is None:
            return cube
        code = np.unique(units[self.sources], return_inverse=True)[1]
        sums = np.zeros((code.max() + 1, *cube.shape[1:]))
        np.add.at(sums, code, cube)
        return sums

    def single(self, units: Int64Array | None) -> tuple[str, RankerError] | None:
        """Return "system", "source" or "document" if there is only one, and an error that states it; otherwise None."""
        if len(self.names) < 2:
            what = f"{self.where} has the output of only one system, {self.first!r}"
            return "system", OptionError(f"a comparison requires at least two systems, but {what}")
        if len(self.candidates) < 2:
            what = f"{self.where} has only one source: comparing systems requires at least two sources"
            return "source", DataError(what)
        if units is not None and len(np.unique(units[self.sources])) < 2:
            what = f"{self.where} has only one document: resampling documents requires at least two documents"
            return "document", DataError(what)
        return None


def _comparable(
    tables: Sequence[_SystemTable], units: Int64Array | None, left_out: str | None
) -> tuple[list[_SystemTable], list[str]]:
    """Return tables with several systems and sources, and notes on the other tables; raise an error if none is left."""
    single = [table.single(units) for table in tables]
    if all(single):
        error = next(found[1] for found in single if found)
        raise type(error)(f"{error} ({left_out})") if left_out else error
    notes = [
        f"left out {table.where}, which has only one {found[0]}"
        for table, found in zip(tables, single, strict=True)
        if found
    ]
    return [table for table, found in zip(tables, single, strict=True) if not found], notes


def _check_baseline(baseline: str | None, names: Sequence[str], where: str) -> None:
    if baseline is not None and baseline not in names:
        listed = ", ".join(map(repr, names))
        what = f"no system {baseline!r} in {where}{nearest(baseline, names)}; available: {listed}"
        raise OptionError(f"--baseline: {what}")


def _compare(
    table: _SystemTable,
    name: str,
    scorer: Scorer,
    statistics: FloatArray,
    units: Int64Array | None,
    baseline: str | None,
    settings: SystemsSettings,
    human: HumanRanking | None,
    judged: FloatArray,
) -> SystemComparison:
    names = table.names
    rows = statistics[table.candidates]
    cube = table.summed(rows, units)
    tests = compare_pairs(
        scorer.score,
        cube,
        test=settings.test,
        correction=settings.correction,
        resamples=settings.resamples,
        seed=settings.seed,
        parity=settings.parity,
        scale=100.0 if settings.parity and is_fraction(scorer) else 1.0,
    )
    bad = np.flatnonzero(~np.isfinite(tests.scores))
    if len(bad):
        what = f"the score by {name} of system {names[bad[0]]!r} in {table.where} is {tests.scores[bad[0]]}"
        raise DataError(f"{what}; expected a finite number: exclude the system or the metric")
    details = score_details(scorer, cube.sum(axis=0))
    base = table.first if baseline is None else baseline
    by_system = zip(judged[table.candidates].T, scorer.score(rows).T, strict=True)
    controlled = [controlled_mean(judgements, scores) for judgements, scores in by_system]
    curve = agreement_curve(scorer, table.target) if len(rows) >= FEWEST_SOURCES else None
    found = names, tests, sign_of(scorer), base, settings, details, human, controlled, curve
    return _comparison(table.lp, name, len(rows), *found, resampled=None if units is None else len(cube))


def _comparison(
    lp: LanguagePair,
    name: str,
    sources: int,
    names: list[str],
    tests: SystemPairTests,
    sign: float,
    baseline: str,
    settings: SystemsSettings,
    details: Mapping[str, FloatArray],
    human: HumanRanking | None = None,
    controlled: Sequence[Estimate | None] = (),
    curve: AgreementCurve | None = None,
    resampled: int | None = None,
) -> SystemComparison:
    gain = merge_ties(sign * tests.scores)
    order = np.argsort(-gain, kind="stable")
    errors = (tests.sample[:, tests.first] - tests.sample[:, tests.second]).std(axis=0)
    apart = tests.scores[tests.first] - tests.scores[tests.second]
    needs = sources_needed(apart, errors, resampled or sources, alpha=settings.alpha, power=settings.power)
    p, adjusted, needed, error = (tests.matrix(values) for values in (tests.p, tests.adjusted, needs, errors))
    low, high = tests.rank_ranges(gain, settings.alpha)
    cluster = rank_clusters(low[order], high[order])
    base = names.index(baseline)

    def difference(left: int, right: int) -> dict[str, Any]:
        """Return the fields of a difference between systems that `ComparedSystem` and `SystemPair` have in common."""
        apart = tests.scores[left] - tests.scores[right]
        return {
            "difference": estimate(apart, tests.sample[:, left] - tests.sample[:, right]),
            "p": float(p[left, right]),
            "adjusted": float(adjusted[left, right]),
            "needed": int(needed[left, right]) if math.isfinite(needed[left, right]) else None,
            "error": float(error[left, right]),
            "agree": curve.at(apart) if curve else None,
        }

    systems = [
        ComparedSystem(
            names[place],
            estimate(tests.scores[place], tests.sample[:, place]),
            int((gain > gain[place]).sum()) + 1,
            int(low[place]),
            int(high[place]),
            group,
            details={key: float(values[place]) for key, values in details.items()},
            people=controlled[place] if controlled else None,
            **(difference(place, base) if place != base else {}),
        )
        for place, group in zip(order.tolist(), cluster.tolist(), strict=True)
    ]
    pairs = [
        SystemPair(names[left], names[right], **difference(left, right))
        for left, right in itertools.combinations(order.tolist(), 2)
    ]
    agreement = _agreement(names, gain, human)
    return SystemComparison(
        lp,
        name,
        sources,
        baseline,
        tuple(systems),
        tuple(pairs),
        *agreement,
        test=tests.test,
        documents=resampled,
    )


def _by_preferences(dataset: Dataset, baseline: str | None, settings: SystemsSettings) -> SystemsResult:
    """Compare systems by people's preferences between their outputs."""
    if settings.parity or settings.test != "bs" or settings.resampled != "segment":
        what = "preferences are compared by the bootstrap over sources only"
        raise OptionError(f"{what}: leave out test, parity and level, or give a metric")
    resolve_kind(dataset, PREFERENCES)
    systems, pairs = dataset.candidates["system"].to_numpy(object), dataset.source_language_pairs
    compared, alone = [], []
    for lp in dict.fromkeys(pairs[dataset.candidate_source]):
        first, second, outcome = comparisons(dataset, pairs == lp)
        where = lp.of(dataset.name)
        source = np.unique(dataset.candidate_source[first], return_inverse=True)[1].astype(np.int64)
        units = int(source.max(initial=-1)) + 1
        if units < 2:
            alone.append((where, "only one source" if units else "no preferences"))
            continue
        names, codes = np.unique(systems[np.concatenate([first, second])].astype(str), return_inverse=True)
        if all(re.fullmatch("candidate[0-9]+", name) for name in names):
            what = "the preferences name no systems: expected columns such as model_a and model_b, or chosen_system"
            raise DataError(what, file=where)
        _check_baseline(baseline, names.tolist(), where)
        sides = codes.reshape(2, -1).astype(np.int64)
        generator = stream(settings.seed, lp, PREFERENCES)
        scores, sample = davidson(
            sides[0], sides[1], outcome, source, names.tolist(), settings.resamples, generator, where
        )
        one, other = (side.astype(np.int64) for side in np.triu_indices(len(names), 1))
        observed, null = scores[one] - scores[other], centred(sample[:, one] - sample[:, other])
        p = np.maximum(resampled_p(null, observed), least_p(units))
        adjusted = np.maximum(corrected(p, null, observed, settings.correction), least_p(units))
        tests = SystemPairTests(scores, sample, one, other, p, adjusted, "bs", settings.resamples)

        def count(result: int, sides: Int64Array = sides, outcome: Int64Array = outcome) -> FloatArray:
            size = int(sides.max()) + 1
            won, lost = np.bincount(sides[0], outcome == result, size), np.bincount(sides[1], outcome == -result, size)
            return np.asarray(won + lost, dtype=np.float64)

        details = {"won": count(1), "lost": count(-1), "tied": count(0)}
        base = str(systems[first[0]]) if baseline is None else baseline
        compared.append(_comparison(lp, PREFERENCES, units, names.tolist(), tests, 1.0, base, settings, details))
    if not compared:
        where, what = alone[0]
        raise DataError(f"{where} has {what}: comparing systems requires at least two sources")
    signature = _signature(dataset, settings, baseline, ())
    notes = [f"left out {where}, which has {what}" for where, what in alone]
    notes += _too_few(compared, settings)
    metric = SystemsMetric(PREFERENCES, PREFERENCES, "davidson", True, False)
    return SystemsResult(
        dataset.name, signature, settings, (metric,), tuple(compared), notes=tuple(dict.fromkeys(notes))
    )


def _agreement(
    names: Sequence[str], gain: FloatArray, human: HumanRanking | None
) -> tuple[int, float | None, float | None]:
    """Return the number of systems also ranked by people, and the metric's tau-b and Pearson's r with people."""
    people = {system.system: system.score for system in human.systems} if human else {}
    known = [place for place, name in enumerate(names) if name in people]
    if len(known) < 2:
        return len(known), None, None
    scores, wanted = gain[known], merge_ties([people[names[place]] for place in known])
    tau = float(tau_b(count_pairs(wanted, scores, [0, len(known)]))[0])
    r = float(pearson_rows(wanted, scores))
    return len(known), None if math.isnan(tau) else tau, None if math.isnan(r) else r


def _described(name: str, scorer: Scorer, dataset: Dataset) -> SystemsMetric:
    notes = [note for note in (scorer.note(dataset),) if note]
    if trained := trained_on(scorer, dataset):
        notes.append(f"{name} {trained}")
    signature = "|".join([scorer.signature(dataset), *fallback(scorer, dataset)])
    signature += sacrebleu_part(scorer, dataset, ("system",))
    curves = {agreement_curve(scorer, target_language(dataset, lp)) for lp in dataset.language_pairs}
    curve = next(filter(None, curves), None)
    return SystemsMetric(
        name,
        type_of(scorer),
        signature,
        scorer.higher_is_better,
        is_fraction(scorer),
        tuple(notes),
        curve.data if curve else None,
    )


def _signature(dataset: Dataset, settings: SystemsSettings, baseline: str | None, human: Sequence[HumanRanking]) -> str:
    parts = {
        "ranker": VERSION,
        "systems": f"{dataset.name}#{dataset.fingerprint[:8]}",
        "baseline": baseline,
        "test": settings.test,
        "correction": settings.correction,
        "parity": settings.parity or None,
        "level": None if settings.resampled == "segment" else settings.resampled,
        "resamples": settings.resamples,
        "seed": settings.seed,
        "people": human[0].method if human else None,
    }
    return make_signature(parts)
