"""Results of a comparison of systems by metrics: scores, differences, p-values, clusters, and people's ranking.

``SystemsResult.document`` returns the whole result as one object of JSON values; `FORMAT` identifies its keys.

===========  ========================================================================================================
key          holds
===========  ========================================================================================================
format       `FORMAT`
data         name of the data set
signature    one line with everything that affects the figures; the signatures of the metrics are in ``metrics``
settings     `SystemsSettings`: the settings of the comparison
notes        list of notes for the reader
metrics      list of `SystemsMetric`, in the order given
comparisons  list of `SystemComparison`: every language pair, and in it every metric
human        list of `HumanRanking`, one for each language pair whose systems people judged
nearly_identical  list of language pair and two systems whose outputs are mostly the same
===========  ========================================================================================================

Objects have the fields of their class, in its order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import combinations, groupby
from numbers import Real
from typing import TYPE_CHECKING, Any, get_args

from ranker.corpora.languages import LanguagePair
from ranker.errors import OptionError, counted, joined
from ranker.evaluation.choices import Correction, Parity, ResamplingLevel, SystemTest, check_resampling
from ranker.evaluation.resampling.bootstrap import UNKNOWN, Estimate
from ranker.evaluation.systems.human_ranking import HumanRanking, RankedSystem
from ranker.evaluation.systems.pair_tests import PairTest
from ranker.evaluation.table_result import TableResult

if TYPE_CHECKING:
    import pandas as pd

FORMAT = "ranker-systems/1"
_MOST_NAMES = 4


@dataclass(frozen=True)
class SystemsSettings:
    """Settings of a comparison of systems."""

    test: SystemTest
    correction: Correction
    """Multiple-testing correction for the p-values of all pairs of systems."""
    resamples: int
    seed: int
    parity: Parity | None
    """Program whose method of counting is used for uncorrected p-values."""
    level: float
    """Confidence level of the intervals."""
    alpha: float
    """Significance level: a difference with a corrected p-value below it is significant."""
    power: float
    """Probability of a significant difference for which the number of sources needed is computed."""
    resampled: ResamplingLevel = "segment"
    """Unit of resampling, and of ``needed``."""

    def __post_init__(self) -> None:
        """Refuse values that are unknown or out of range."""
        for name, value, known in (
            ("test", self.test, get_args(SystemTest)),
            ("correction", self.correction, get_args(Correction)),
            ("parity", self.parity, (None, *get_args(Parity))),
            ("level", self.resampled, get_args(ResamplingLevel)),
        ):
            if value not in known:
                raise OptionError(f"{name}: expected one of {', '.join(map(str, known))}, found {value!r}")
        for name, share in (("alpha", self.alpha), ("power", self.power)):
            if not (isinstance(share, Real) and 0 < share < 1):
                raise OptionError(f"{name}: expected a number between 0 and 1, found {share!r}")
        check_resampling(self.resamples, self.seed, fewest=1)

    @property
    def unit(self) -> str:
        """Name of the resampling unit, for display."""
        return "source" if self.resampled == "segment" else "document"

    @property
    def correction_title(self) -> str:
        """Name of the multiple-testing correction, for display."""
        return "no correction" if self.correction == "none" else f"{self.correction.title()} correction"


@dataclass(frozen=True)
class SystemsMetric:
    """A metric or a ranker that scored the systems, with notes on its scores."""

    name: str
    type: str
    signature: str
    higher_is_better: bool
    is_fraction: bool
    notes: tuple[str, ...] = ()
    people: str | None = None
    """Data from which people's agreement with score differences was learnt; None if the agreement is unknown."""

    def scale(self, *, percent: bool) -> float:
        """Factor for scores in tables: 100 for fractions shown in per cent, else 1."""
        return 100.0 if percent and self.is_fraction else 1.0


@dataclass(frozen=True)
class ComparedSystem:
    """A system's score, rank and significance by one metric."""

    system: str
    score: Estimate
    rank: int
    """Rank from 1 for the best; equal scores share the better rank."""
    low: int
    """Range of its rank: below every system that is significantly better, above every one that is significantly
    worse."""
    high: int
    cluster: int
    """Cluster of the system, from 1 for the best; rank ranges of different clusters do not overlap."""
    difference: Estimate | None = None
    """Score minus the baseline's score; this and the following values are None for the baseline."""
    p: float | None = None
    adjusted: float | None = None
    """The p-value corrected for the number of all pairs of systems."""
    needed: int | None = None
    """Sources or documents needed to find the difference significant; None for a difference of 0."""
    error: float | None = None
    """Standard error of the difference: that of the bootstrap times the square root of n / (n - 1), with n sources or
    documents."""
    agree: Estimate | None = None
    """Share of people's decisions that agree with a difference of this size; None if unknown."""
    details: Mapping[str, float] = field(default_factory=dict)
    """Details of the score from `ranker.ranking.scorers.score_details`."""
    people: Estimate | None = None
    """Mean human score of all sources, estimated from the judged part with this metric as control variate; None unless
    people scored a part of the outputs."""


@dataclass(frozen=True)
class SystemPair:
    """Comparison of two systems by one metric; if scores are equal, the first by name counts as better."""

    better: str
    worse: str
    difference: Estimate
    """Score of the better system minus the score of the worse, so it is negative where lower is better."""
    p: float
    adjusted: float
    needed: int | None
    error: float
    agree: Estimate | None = None


@dataclass(frozen=True)
class SystemComparison:
    """Comparison of the systems of one language pair by one metric."""

    lp: LanguagePair
    """Language pair, ``?`` if unknown."""
    metric: str
    sources: int
    baseline: str
    systems: tuple[ComparedSystem, ...]
    """Systems, best first; equal scores are ordered by name."""
    pairs: tuple[SystemPair, ...]
    """All pairs of systems, in the order of `systems`."""
    judged: int = 0
    """Number of systems that people ranked too."""
    kendall: float | None = None
    """Tau-b of scores (negated where lower is better) and human scores; None where undefined, as is `pearson`."""
    pearson: float | None = None
    test: PairTest = "bs"
    """Test of the p-values: randomisation if there are few sources, ``exact`` if all possible swaps are made."""
    documents: int | None = None
    """Number of documents, if they were resampled."""

    @property
    def units(self) -> int:
        """Number of sources or documents that were resampled."""
        return self.sources if self.documents is None else self.documents

    @property
    def people_known(self) -> bool:
        """True if people's agreement with score differences is known."""
        return any(pair.agree is not None for pair in self.pairs)

    def ahead(self, alpha: float) -> set[tuple[str, str]]:
        """Return the pairs of systems, by name, in which the first is significantly better than the second."""
        return {(pair.better, pair.worse) for pair in self.pairs if pair.adjusted < alpha}


@dataclass(frozen=True, repr=False)
class SystemsResult(TableResult):
    """Comparison of a data set's systems by several metrics; see the module for its JSON form."""

    data: str
    signature: str
    settings: SystemsSettings
    metrics: tuple[SystemsMetric, ...]
    comparisons: tuple[SystemComparison, ...]
    human: tuple[HumanRanking, ...] = ()
    notes: tuple[str, ...] = ()
    nearly_identical: tuple[tuple[str, str, str], ...] = ()
    """Language pair and names of two systems whose outputs are mostly the same."""

    @property
    def conclusions(self) -> tuple[str, ...]:
        """Conclusions in words, one sentence per language pair."""
        return tuple(conclusion(self, lp) for lp in self.language_pairs)

    @property
    def headline(self) -> str:
        """One-line description: the data set and the metrics."""
        return f"systems of {self.data} by {', '.join(metric.name for metric in self.metrics)}"

    def to_frame(self) -> pd.DataFrame:
        """Return one row per language pair, metric and system, best first.

        Returns
        -------
        DataFrame
            ``lp``, ``metric``, ``system``; ``score`` with ``score_low`` and ``score_high``; ``rank``, its range ``low``
            to ``high``, and ``cluster``; ``difference`` from the baseline with ``difference_low`` and
            ``difference_high``, ``p``, ``adjusted``, ``needed`` and ``agree`` with ``agree_low`` and ``agree_high``, as
            of `ComparedSystem`, missing for the baseline.
        """
        import pandas as pd

        rows = []
        for compared in self.comparisons:
            for system in compared.systems:
                row: dict[str, Any] = {"lp": compared.lp, "metric": compared.metric, "system": system.system}
                row |= system.score.columns("score")
                row |= {key: getattr(system, key) for key in ("rank", "low", "high", "cluster")}
                row |= (system.difference or UNKNOWN).columns("difference")
                row |= {key: getattr(system, key) for key in ("p", "adjusted", "needed")}
                rows.append(row | (system.agree or UNKNOWN).columns("agree"))
        return pd.DataFrame(rows)

    def _brief(self) -> pd.DataFrame:
        columns = ["lp", "metric", "system", "score", "score_low", "score_high", "rank", "cluster", "adjusted"]
        return self.to_frame()[columns]

    def tested_by(self, lp: str | None = None) -> str:
        """Names of the tests that p-values come from, of a language pair or of all, with the number of resamples."""
        tests = dict.fromkeys(each.test for each in self.comparisons if lp in (None, each.lp))
        resamples = counted(self.settings.resamples, "resample")
        return " and ".join(_TITLES[test] + (f" with {resamples}" if test != "exact" else "") for test in tests)

    @property
    def language_pairs(self) -> tuple[LanguagePair, ...]:
        """The language pairs, in the order of the comparisons."""
        return tuple(dict.fromkeys(comparison.lp for comparison in self.comparisons))

    def of_language_pair(self, lp: str) -> list[SystemComparison]:
        """Return the comparisons of a language pair, in the order of the metrics."""
        return [comparison for comparison in self.comparisons if comparison.lp == lp]

    def main_comparison(self, lp: str) -> SystemComparison:
        """Return the comparison of a language pair by the last ranker, or by the first metric if there is no ranker."""
        rankers = [each for each in self.of_language_pair(lp) if self.metric(each.metric).type == "ranker"]
        return [*self.of_language_pair(lp)[:1], *rankers][-1]

    def metric(self, name: str) -> SystemsMetric:
        """Return the metric with this name."""
        return {metric.name: metric for metric in self.metrics}[name]

    def people(self, lp: str) -> dict[str, RankedSystem]:
        """Return the systems of a language pair as ranked by people, by name; empty if people judged none."""
        return {each.system: each for ranking in self.human if ranking.lp == lp for each in ranking.systems}

    def document(self) -> dict[str, Any]:
        """Return the result as JSON values."""
        return {"format": FORMAT, **asdict(self)}


_TITLES: Mapping[PairTest, str] = {
    "bs": "paired bootstrap",
    "ar": "approximate randomisation",
    "exact": "exact randomisation",
}


def conclusion(result: SystemsResult, lp: str) -> str:
    """Name the best and tied systems of a language pair by the main metric, and metrics or people that disagree."""
    main = result.main_comparison(lp)
    ahead = main.ahead(result.settings.alpha)
    parts = _standings(main, ahead) if ahead else ["no system is significantly better than another"]
    if ahead:
        best = {each.system for each in main.systems if each.low == 1}
        judged = [each.system for each in result.people(lp).values() if each.cluster == 1]
        firsts = {
            each.metric: [system.system for system in each.systems if system.low == 1]
            for each in result.of_language_pair(lp)
        } | {"people": judged}
        for name, first in firsts.items():
            if first and best.isdisjoint(first):
                parts.append(f"{name} {'put' if name == 'people' else 'puts'} {_named(first)} first")
    same = [names for pair, *names in result.nearly_identical if pair == lp]
    if same:
        more = f", and those of {counted(len(same) - 1, 'more pair')}" if len(same) > 1 else ""
        parts.append(f"the outputs of {joined(same[0])} are nearly identical{more}")
    by = f"by {main.metric}, {'; '.join(parts)}."
    return f"{lp}: {by}" if len(result.language_pairs) > 1 else f"B{by[1:]}"


def _standings(comparison: SystemComparison, ahead: set[tuple[str, str]]) -> list[str]:
    """Name the systems that no other system beats, the next cluster, and the systems that beat no other system."""
    systems = comparison.systems
    if len(systems) == 2:
        return [f"{systems[0].system} is better than {systems[1].system}"]
    best = [each.system for each in systems if each.low == 1]
    last = [each.system for each in systems if each.system not in {better for better, _ in ahead}]
    clusters = [[each.system for each in group] for _, group in groupby(systems, lambda each: each.cluster)]
    alone = clusters[0] == best
    parts = [
        f"{best[0]} {'is best' if alone else 'leads'}" if len(best) == 1 else f"{_named(best)} tie for first place"
    ]
    second = clusters[1] if alone else []
    if second and second != last:
        if len(second) == 1:
            parts.append(f"{second[0]} follows")
        elif ahead.isdisjoint(combinations(second, 2)):
            parts.append(f"{_named(second)} tie")
    tied = f"{_named(last)} tie{'' if second == last else ' for last place'}"
    return [*parts, f"{last[0]} is last" if len(last) == 1 else tied]


def _named(systems: Sequence[str]) -> str:
    if len(systems) <= _MOST_NAMES:
        return joined(systems)
    return joined([*systems[: _MOST_NAMES - 1], f"{len(systems) - _MOST_NAMES + 1} more"])
