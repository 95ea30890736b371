"""Comparison of systems by metrics; see `ranker.evaluation.systems.result` for the results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ranker.arrays import FloatArray, Int64Array
from ranker.corpora.catalogue.candidate_rows import Candidates, candidate_rows
from ranker.corpora.dataset import Dataset
from ranker.corpora.judgements import AUTO
from ranker.corpora.own_references import check_texts, without_only_references
from ranker.corpora.sanity import nearly_identical, tied_scores
from ranker.errors import DataError, OptionError, counted, log_note
from ranker.evaluation.choices import Correction, Parity, ResamplingLevel, SystemTest
from ranker.evaluation.resampling.bootstrap import LEVEL
from ranker.evaluation.systems.by_preferences import compare_by_preferences
from ranker.evaluation.systems.comparison import MeasuredSystems, notes_on, signature_of
from ranker.evaluation.systems.control_variate import controlled_mean
from ranker.evaluation.systems.human_ranking import HumanJudgements, judged_by_people
from ranker.evaluation.systems.levels import documents
from ranker.evaluation.systems.pair_tests import compare_pairs
from ranker.evaluation.systems.people import FEWEST_SOURCES, agreement_curve
from ranker.evaluation.systems.result import SystemsMetric, SystemsResult, SystemsSettings
from ranker.evaluation.systems.tables import SystemTable, baseline_among, comparable
from ranker.ranking.scorers import (
    Scorer,
    Scorers,
    fallback,
    is_fraction,
    sacrebleu_part,
    score_details,
    scorers_by_name,
    sign_of,
    systems_scorer,
    trained_on,
    type_of,
)

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
        System that the other systems are compared with; by default the first of the data, or of a language pair
        without that one.
    test : {"bs", "ar"}
        Paired bootstrap or approximate randomisation. With fewer than 200 sources (or documents, if these are
        resampled) p-values are of randomisation, unless `parity` is given.
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
    if resamples is None:
        resamples = next((number for name, number in RESAMPLES.items() if name == test), 0)
    settings = SystemsSettings(test, correction, resamples, seed, parity, LEVEL, alpha, power, level)
    dataset = candidate_rows(candidates).dataset
    if scorers is None:
        return compare_by_preferences(dataset, baseline, settings)
    check_texts(dataset)
    named = scorers_by_name(scorers)
    if not named:
        raise OptionError("scorers: expected a metric or ranker, found none; without scorers preferences are compared")
    # the rows of statistics that are known are those of the data set as it is
    dataset, left_out = without_only_references(dataset) if statistics is None else (dataset, None)
    if not len(dataset):
        raise DataError("contains no candidate, expected outputs of at least two systems", file=dataset.name)
    units = documents(dataset)[0] if level == "document" else None
    tables, alone = comparable(dataset, units, baseline, left_out)
    made = {name: systems_scorer(scorer) for name, scorer in named.items()}
    human = judged_by_people(dataset, kind, units=units, resamples=RESAMPLES["bs"], seed=seed)
    if statistics is None:
        statistics = {name: scorer.statistics(dataset) for name, scorer in made.items()}
    _check_statistics(statistics, made, dataset)
    for name, scorer in made.items():
        for tied in tied_scores(dataset, scorer.score(statistics[name]), f"score by {name}", only_near=True):
            log_note(str(tied))
    comparisons = [
        _measured(table, name, scorer, statistics[name], units, base, settings, human).comparison(settings)
        for table in tables
        for base in [baseline_among(table.names, baseline, tables[0].first, table.first)]
        for name, scorer in made.items()
    ]
    return SystemsResult(
        dataset.name,
        signature_of(dataset, settings, baseline, human.rankings),
        settings,
        tuple(_described(name, scorer, dataset, tables) for name, scorer in made.items()),
        tuple(comparisons),
        human.rankings,
        (*filter(None, [left_out]), *alone, *human.notes, *notes_on(comparisons, settings)),
        tuple(names for names, _ in nearly_identical(dataset)),
    )


def _check_statistics(statistics: Mapping[str, FloatArray], made: Mapping[str, Scorer], dataset: Dataset) -> None:
    for name in made:
        if name not in statistics or len(statistics[name]) != len(dataset):
            found = counted(len(statistics[name]), "row") if name in statistics else "none"
            expected = f"expected a row for each of {counted(len(dataset), 'candidate')}"
            raise DataError(f"statistics of {name}: {expected}, found {found}", file=dataset.name)


def _measured(
    table: SystemTable,
    name: str,
    scorer: Scorer,
    statistics: FloatArray,
    units: Int64Array | None,
    baseline: str,
    settings: SystemsSettings,
    human: HumanJudgements,
) -> MeasuredSystems:
    """Score the systems of a language pair by a metric or ranker, and test their differences."""
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
        what = f"the score by {name} of system {table.names[bad[0]]!r} in {table.where} is {tests.scores[bad[0]]}"
        raise DataError(f"{what}; expected a finite number: exclude the system or the metric")
    documents = None if units is None else units[table.sources]
    by_system = zip(human.scores[table.candidates].T, scorer.score(rows).T, strict=True)
    return MeasuredSystems(
        table.lp,
        name,
        len(rows),
        table.names,
        tests,
        baseline,
        sign_of(scorer),
        score_details(scorer, cube.sum(axis=0)),
        next((ranking for ranking in human.rankings if ranking.lp == table.lp), None),
        [controlled_mean(judgements, scores, documents) for judgements, scores in by_system],
        agreement_curve(scorer, table.target) if len(rows) >= FEWEST_SOURCES else None,
        documents=None if documents is None else len(cube),
    )


def _described(name: str, scorer: Scorer, dataset: Dataset, tables: Sequence[SystemTable]) -> SystemsMetric:
    signature = "|".join([scorer.signature(dataset), *fallback(scorer, dataset)])
    signature += sacrebleu_part(scorer, dataset, ("system",))
    trained = trained_on(scorer, dataset)
    notes = [scorer.note(dataset), f"{name} {trained}" if trained else None]
    curve = next(filter(None, (agreement_curve(scorer, table.target) for table in tables)), None)
    return SystemsMetric(
        name,
        type_of(scorer),
        signature,
        scorer.higher_is_better,
        is_fraction(scorer),
        tuple(filter(None, notes)),
        curve.data if curve else None,
    )
