"""Comparison of systems by people's preferences between their outputs: Davidson's strengths."""

from __future__ import annotations

import numpy as np

from ranker.arrays import FloatArray, Int64Array
from ranker.corpora.dataset import Dataset
from ranker.corpora.judgements import PREFERENCES, resolve_kind
from ranker.corpora.numbered_systems import are_numbered
from ranker.errors import DataError, OptionError, joined
from ranker.evaluation.resampling.bootstrap import stream
from ranker.evaluation.resampling.significance import centred, corrected, least_p, resampled_p
from ranker.evaluation.systems.bradley_terry import davidson
from ranker.evaluation.systems.comparison import MeasuredSystems, notes_on, signature_of
from ranker.evaluation.systems.human_ranking import comparisons
from ranker.evaluation.systems.pair_tests import SystemPairTests
from ranker.evaluation.systems.power import fewest_sources
from ranker.evaluation.systems.result import SystemComparison, SystemsMetric, SystemsResult, SystemsSettings
from ranker.evaluation.systems.tables import baseline_among, check_baseline


def compare_by_preferences(dataset: Dataset, baseline: str | None, settings: SystemsSettings) -> SystemsResult:
    """Compare systems by people's preferences between their outputs."""
    if settings.parity or settings.test != "bs" or settings.resampled != "segment":
        what = "preferences are compared by the bootstrap over sources only"
        raise OptionError(f"{what}: leave out test, parity and level, or give a metric")
    resolve_kind(dataset, PREFERENCES)
    systems, pairs = dataset.candidates["system"].to_numpy(object), dataset.source_language_pairs
    compared: list[SystemComparison] = []
    alone, sparse = [], []
    for lp in dict.fromkeys(pairs[dataset.candidate_source]):
        first, second, outcome = comparisons(dataset, pairs == lp)
        where = lp.of(dataset.name)
        source = np.unique(dataset.candidate_source[first], return_inverse=True)[1].astype(np.int64)
        units = int(source.max(initial=-1)) + 1
        if units < 2:
            alone.append((where, "only one source" if units else "no preferences"))
            continue
        names, codes = np.unique(systems[np.concatenate([first, second])].astype(str), return_inverse=True)
        if are_numbered(names):
            what = "the preferences name no systems: expected columns such as model_a and model_b, or chosen_system"
            raise DataError(what, file=where)
        check_baseline(baseline, names.tolist(), where)
        sides = codes.reshape(2, -1).astype(np.int64)
        generator = stream(settings.seed, lp, PREFERENCES)
        scores, sample = davidson(
            sides[0], sides[1], outcome, source, names.tolist(), settings.resamples, generator, where
        )
        one, other = (side.astype(np.int64) for side in np.triu_indices(len(names), 1))
        observed, null = scores[one] - scores[other], centred(sample[:, one] - sample[:, other])
        judged = np.bincount(np.unique(np.stack([codes, np.tile(source, 2)]), axis=1)[0])
        least = np.array([least_p(int(number)) for number in np.minimum(judged[one], judged[other])])
        p = np.maximum(resampled_p(null, observed), least)
        adjusted = np.maximum(corrected(p, null, observed, settings.correction), least)
        fewest = fewest_sources(settings.alpha)
        few = [name for name, number in zip(names.tolist(), judged.tolist(), strict=True) if number < fewest <= units]
        if few:
            what = f"compared on fewer than {fewest} sources, so that no difference can be significant"
            few = few if len(few) <= 8 else [*few[:7], f"{len(few) - 7} more"]
            sparse.append(f"{where}: {joined(few)} {'was' if len(few) == 1 else 'were'} {what}")
        tests = SystemPairTests(scores, sample, one, other, p, adjusted, "bs", settings.resamples)

        def count(result: int, sides: Int64Array = sides, outcome: Int64Array = outcome) -> FloatArray:
            size = int(sides.max()) + 1
            won, lost = np.bincount(sides[0], outcome == result, size), np.bincount(sides[1], outcome == -result, size)
            return np.asarray(won + lost, dtype=np.float64)

        details = {"won": count(1), "lost": count(-1), "tied": count(0)}
        common = compared[0].baseline if compared else None
        base = baseline_among(names.tolist(), baseline, common, str(systems[first[0]]))
        measured = MeasuredSystems(lp, PREFERENCES, units, names.tolist(), tests, base, details=details)
        compared.append(measured.comparison(settings))
    if not compared:
        where, what = alone[0]
        raise DataError(f"{where} has {what}: comparing systems requires at least two sources")
    signature = signature_of(dataset, settings, baseline, ())
    notes = [f"left out {where}, which has {what}" for where, what in alone]
    notes += sparse + notes_on(compared, settings)
    metric = SystemsMetric(PREFERENCES, PREFERENCES, "davidson", True, False)
    return SystemsResult(
        dataset.name, signature, settings, (metric,), tuple(compared), notes=tuple(dict.fromkeys(notes))
    )
