"""From scores and tests of systems to their comparison: ranks, clusters, differences, notes and the signature."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ranker.arrays import FloatArray
from ranker.corpora.dataset import Dataset
from ranker.corpora.languages import LanguagePair
from ranker.evaluation.choices import RANDOMISED_BELOW
from ranker.evaluation.correlation.pair_counts import count_pairs, tau_b
from ranker.evaluation.correlation.pearson import pearson_rows
from ranker.evaluation.resampling.bootstrap import Estimate, estimate
from ranker.evaluation.resampling.significance import few_sources, least_p, smallest_p, too_few_resamples
from ranker.evaluation.systems.human_ranking import HumanRanking, rank_clusters
from ranker.evaluation.systems.pair_tests import SystemPairTests
from ranker.evaluation.systems.people import AgreementCurve
from ranker.evaluation.systems.power import sources_needed
from ranker.evaluation.systems.result import ComparedSystem, SystemComparison, SystemPair, SystemsSettings
from ranker.ranks import merge_ties
from ranker.signature import make_signature
from ranker.version import VERSION


@dataclass(frozen=True, eq=False)
class MeasuredSystems:
    """The systems of one language pair with their scores, the tests of all pairs, and what is told about a system."""

    lp: LanguagePair
    metric: str
    sources: int
    names: list[str]
    tests: SystemPairTests
    baseline: str
    sign: float = 1.0
    """-1 if lower scores are better."""
    details: Mapping[str, FloatArray] = field(default_factory=dict)
    """Further figures of every system, such as BLEU's precisions."""
    human: HumanRanking | None = None
    people: Sequence[Estimate | None] = ()
    """Mean human score of every system, estimated with the help of the metric."""
    curve: AgreementCurve | None = None
    documents: int | None = None
    """Number of resampled documents; None if sources are resampled."""

    def comparison(self, settings: SystemsSettings) -> SystemComparison:
        """Return the systems, best first, with ranks and clusters, and the differences between all pairs."""
        tests, names = self.tests, self.names
        gain = merge_ties(self.sign * tests.scores)
        order = np.argsort(-gain, kind="stable")
        difference = self._differences(settings)
        low, high = tests.rank_ranges(gain, settings.alpha)
        cluster = rank_clusters(low[order], high[order])
        base = names.index(self.baseline)
        systems = [
            ComparedSystem(
                names[place],
                estimate(tests.scores[place], tests.sample[:, place]),
                int((gain > gain[place]).sum()) + 1,
                int(low[place]),
                int(high[place]),
                group,
                details={key: float(values[place]) for key, values in self.details.items()},
                people=self.people[place] if self.people else None,
                **(difference(place, base) if place != base else {}),
            )
            for place, group in zip(order.tolist(), cluster.tolist(), strict=True)
        ]
        pairs = [
            SystemPair(names[left], names[right], **difference(left, right))
            for left, right in itertools.combinations(order.tolist(), 2)
        ]
        return SystemComparison(
            self.lp,
            self.metric,
            self.sources,
            self.baseline,
            tuple(systems),
            tuple(pairs),
            *self._agreement(gain),
            test=tests.test,
            documents=self.documents,
        )

    def _differences(self, settings: SystemsSettings) -> Callable[[int, int], dict[str, Any]]:
        """Return the function of two systems that makes what `ComparedSystem` and `SystemPair` have in common."""
        tests = self.tests
        units = self.documents or self.sources
        errors = (tests.sample[:, tests.first] - tests.sample[:, tests.second]).std(axis=0)
        # resamples of n units vary by (n - 1) / n of the variance that other test sets do
        errors *= math.sqrt(units / (units - 1))
        apart = tests.scores[tests.first] - tests.scores[tests.second]
        needs = sources_needed(apart, errors, units, alpha=settings.alpha, power=settings.power)
        p, adjusted, needed, error = (tests.matrix(values) for values in (tests.p, tests.adjusted, needs, errors))

        def difference(left: int, right: int) -> dict[str, Any]:
            apart = tests.scores[left] - tests.scores[right]
            return {
                "difference": estimate(apart, tests.sample[:, left] - tests.sample[:, right]),
                "p": float(p[left, right]),
                "adjusted": float(adjusted[left, right]),
                "needed": int(needed[left, right]) if math.isfinite(needed[left, right]) else None,
                "error": float(error[left, right]),
                "agree": self.curve.at(apart) if self.curve else None,
            }

        return difference

    def _agreement(self, gain: FloatArray) -> tuple[int, float | None, float | None]:
        """Return the number of systems also ranked by people, and the metric's tau-b and Pearson's r with people."""
        people = {system.system: system.score for system in self.human.systems} if self.human else {}
        known = [place for place, name in enumerate(self.names) if name in people]
        if len(known) < 2:
            return len(known), None, None
        scores, wanted = gain[known], merge_ties([people[self.names[place]] for place in known])
        tau = float(tau_b(count_pairs(wanted, scores, [0, len(known)]))[0])
        r = float(pearson_rows(wanted, scores))
        return len(known), None if math.isnan(tau) else tau, None if math.isnan(r) else r


def notes_on(comparisons: Sequence[SystemComparison], settings: SystemsSettings) -> list[str]:
    """Return one-line notes on too few resamples, on few sources, and on randomisation in place of the bootstrap."""
    largest = max((len(comparison.pairs) for comparison in comparisons if comparison.test != "exact"), default=0)
    resamples = too_few_resamples(settings.resamples, largest, settings.correction, settings.alpha) if largest else None
    notes = [resamples, *(_few_sources(comparison, settings) for comparison in comparisons)]
    return [*dict.fromkeys(filter(None, notes))]


def _few_sources(comparison: SystemComparison, settings: SystemsSettings) -> str | None:
    """Return a one-line note on the effects of few sources on a comparison, or None if there are enough."""
    note = few_sources(comparison.units, comparison.lp.known, settings.unit)
    if note is None:
        randomised = settings.test == "bs" != comparison.test
        return f"fewer than {RANDOMISED_BELOW} {settings.unit}s: p-values are of randomisation" if randomised else None
    if settings.parity:
        return f"{note}, and p-values computed like {settings.parity} too small"
    if comparison.test not in ("exact", "bs"):
        return f"{note}; p-values are of randomisation"
    smallest = _smallest_p(comparison, settings)
    none = ", so that no difference can be significant" if smallest >= settings.alpha else ""
    what = "; p-values are of exact randomisation," if comparison.test == "exact" else " and p-values too small, but"
    return f"{note}{what} at least {smallest:.2g}{none}"


def _smallest_p(comparison: SystemComparison, settings: SystemsSettings) -> float:
    """Smallest corrected p-value possible with exact randomisation, or with the bootstrap of few sources."""
    if comparison.test == "bs":
        return least_p(comparison.units)
    return smallest_p(2 ** (comparison.units - 1) - 1, len(comparison.pairs), settings.correction)


def can_differ(comparison: SystemComparison, settings: SystemsSettings) -> bool:
    """True unless there are too few units for any difference to be significant."""
    return comparison.test == "ar" or _smallest_p(comparison, settings) < settings.alpha


def signature_of(
    dataset: Dataset, settings: SystemsSettings, baseline: str | None, human: Sequence[HumanRanking]
) -> str:
    """Return one line that states everything that affects the figures, but for the signatures of the metrics."""
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
        "people": human[0].title if human else None,
    }
    return make_signature(parts)
