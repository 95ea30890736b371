"""Explanation of a ranker's order of two candidates: contributions summed by feature family and by extractor.

A ranker is linear, so the difference of two scores is the sum of what its features add to one and to the other. Many
features measure nearly the same thing, and their weights differ in sign; their sum is what counts, so it is taken by
family (words, fluency, ...) and by extractor.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, get_args

import numpy as np

from ranker.arrays import FloatArray, Int64Array
from ranker.corpora.dataset import Dataset
from ranker.corpora.selection import system_pair
from ranker.errors import OptionError, counted
from ranker.evaluation.explanations.evidence import Evidence, evidence_of
from ranker.evaluation.table_result import TableResult
from ranker.extractors.base import FeatureFamily
from ranker.ranking.ranker import Ranker
from ranker.ranking.weight_sets import usable
from ranker.ranks import TIE

if TYPE_CHECKING:
    import pandas as pd

STRONGEST = 5
FAMILIES: tuple[FeatureFamily, ...] = get_args(FeatureFamily)


@dataclass(frozen=True)
class ExtractorDifference:
    """Contribution of an extractor, summed over its variants and options, to the difference between two scores."""

    extractor: str
    """Name in the registry; for variants such as ``rouge_l`` and ``rouge_w`` their common part, ``rouge``."""
    family: FeatureFamily
    features: int
    """Number of the extractor's features."""
    difference: float
    evidence: Evidence


@dataclass(frozen=True, repr=False)
class PairExplanation(TableResult):
    """Explanation of the score difference between two candidates of a source."""

    source: int
    """Row of the source."""
    first: str
    second: str
    first_text: str
    second_text: str
    first_score: float
    second_score: float
    difference: float
    """Score of the first candidate minus the score of the second."""
    families: dict[str, float]
    """Contribution of every family to the difference, in the order of `FAMILIES`; they add up to it."""
    strongest: tuple[ExtractorDifference, ...]
    """The extractors with the largest contributions, by absolute value."""
    features: dict[str, float]
    """Contribution of every feature to the difference."""

    @property
    def headline(self) -> str:
        """One-line summary: the order of the two candidates, their score difference, and each family's contribution."""
        return headline(self.first, self.second, self.difference, self.families)

    def to_frame(self) -> pd.DataFrame:
        """Return the strongest differences, one row per extractor: name, family, features, difference, evidence."""
        import pandas as pd

        rows = [
            (feature.extractor, feature.family, feature.features, feature.difference, feature.evidence.text)
            for feature in self.strongest
        ]
        return pd.DataFrame(rows, columns=["extractor", "family", "features", "difference", "evidence"])

    @property
    def reasons(self) -> tuple[str, ...]:
        """One line per strong difference, with a plus sign if it favours the better-scored candidate.

        Evidence that several differences share is given only once.
        """
        sign = -1.0 if self.difference < 0 else 1.0
        digits = decimals(self.difference)
        reported: set[str] = set()
        lines = []
        for feature in self.strongest:
            words = (
                f": {feature.evidence.text}" if feature.evidence.text and feature.evidence.text not in reported else ""
            )
            reported.add(feature.evidence.text)
            number = counted(feature.features, "feature")
            lines.append(
                f"{sign * feature.difference:+.{digits}f} {feature.extractor} ({feature.family}, {number}){words}"
            )
        return tuple(lines)


def check_pair(dataset: Dataset, first: str, second: str, sources: Int64Array | None = None) -> Int64Array:
    """Return the rows of each source's candidates by two different systems; raise an error if no source has both."""
    if first == second:
        raise OptionError(f"--pair: expected two different systems, found {first!r} twice")
    rows = system_pair(dataset, first, second)
    rows = rows if sources is None else rows[sources]
    if not (rows >= 0).all(axis=1).any():
        raise OptionError(f"--pair: {first!r} and {second!r} share no source in {dataset.name}: give other systems")
    return rows


def explain_pairs(
    ranker: Ranker, dataset: Dataset, contributions: FloatArray, rows: Int64Array
) -> Iterator[PairExplanation]:
    """Yield an explanation of the score difference for every source that has translations by both systems."""
    explainer = _Explainer(ranker, dataset, contributions)
    for first, second in rows[(rows >= 0).all(axis=1)].tolist():
        yield explainer.explain((first, second), STRONGEST)


def left_out(rows: Int64Array) -> int:
    """Number of sources that have a translation by only one of the two systems."""
    return int((rows >= 0).any(axis=1).sum() - (rows >= 0).all(axis=1).sum())


def mean_difference(explanations: Sequence[PairExplanation]) -> tuple[float, dict[str, float]]:
    """Return the mean score difference over sources, and the mean contribution of each feature family."""
    names = explanations[0].families
    means = {name: float(np.mean([each.families[name] for each in explanations])) for name in names}
    return float(np.mean([each.difference for each in explanations])), means


def by_family(contributions: FloatArray, families: Sequence[FeatureFamily]) -> dict[str, FloatArray]:
    """Sum the contributions of columns (last axis) by feature family; families without columns are left out."""
    family = np.array(families, dtype=object)
    return {name: contributions[..., family == name].sum(axis=-1) for name in FAMILIES if name in families}


def explain_pair(
    ranker: Ranker, dataset: Dataset, contributions: FloatArray, first: int, second: int, *, strongest: int = STRONGEST
) -> PairExplanation:
    """Explain the difference between the scores of two candidates of one source."""
    return _Explainer(ranker, dataset, contributions).explain((first, second), strongest)


class _Explainer:
    """Explainer of score differences between candidates, which adds up the variants and options of each extractor."""

    def __init__(self, ranker: Ranker, dataset: Dataset, contributions: FloatArray) -> None:
        self.features, self.dataset, self.contributions = ranker.feature_set, dataset, contributions
        extractors = self.features.extractors
        # rouge_l and rouge_w are variants of one metric, consensus.mean and consensus.near columns of one extractor
        named = [(each.family, each.name.partition(".")[0].partition("_")[0]) for each in extractors]
        self.groups = list(dict.fromkeys(named))
        self.group = [self.groups.index(name) for name in named]
        self.group_of_column = np.repeat(self.group, [len(each.columns) for each in extractors])
        self.usable = usable(extractors, dataset)

    def explain(self, rows: tuple[int, int], strongest: int) -> PairExplanation:
        """Explain the difference between the scores of two candidates of one source."""
        first, second = (self.contributions[row] for row in rows)
        scores = float(first.sum()), float(second.sum())
        source = int(self.dataset.candidate_source[rows[0]])
        systems, texts = (self.dataset.candidates[name].iloc[[*rows]].tolist() for name in ("system", "text"))
        sums = np.bincount(self.group_of_column, weights=first - second)
        sizes = np.bincount(self.group_of_column)
        largest = [place for place in np.argsort(-np.abs(sums), kind="stable").tolist() if abs(sums[place]) > TIE]

        def evidence(place: int) -> Evidence:
            known = zip(self.features.extractors, self.group, self.usable[source], strict=True)
            extractors = [extractor for extractor, group, has_all in known if group == place and has_all]
            return evidence_of(extractors, self.dataset, rows, (systems[0], systems[1]))

        return PairExplanation(
            source=source,
            first=systems[0],
            second=systems[1],
            first_text=texts[0],
            second_text=texts[1],
            first_score=scores[0],
            second_score=scores[1],
            difference=scores[0] - scores[1],
            families={name: float(value) for name, value in by_family(first - second, self.features.families).items()},
            strongest=tuple(
                ExtractorDifference(
                    extractor=self.groups[place][1],
                    family=self.groups[place][0],
                    features=int(sizes[place]),
                    difference=float(sums[place]),
                    evidence=evidence(place),
                )
                for place in largest[:strongest]
            ),
            features=dict(zip(self.features.columns, (first - second).tolist(), strict=True)),
        )


def headline(first: str, second: str, difference: float, families: Mapping[str, float]) -> str:
    """Return a line with the order and score difference of two candidates and each family's contribution.

    The rounded contributions add up to the rounded difference.
    """
    if abs(difference) <= TIE:
        return f"{first} and {second} tie"
    if difference < 0:
        first, second, difference = second, first, -difference
        families = {name: -value for name, value in families.items()}
    digits = decimals(difference)
    figures = round_to_sum(list(families.values()), difference, digits)
    parts = sorted((pair for pair in zip(families, figures, strict=True) if pair[1]), key=lambda pair: -abs(pair[1]))
    listed = ", ".join(f"{name} {value:+.{digits}f}" for name, value in parts)
    return f"{first} is above {second} by {difference:.{digits}f}: {listed}"


def decimals(difference: float) -> int:
    """Number of decimals with which to show a difference: two, or more if it is below 0.1."""
    if abs(difference) <= TIE:
        return 2
    return min(max(2, 1 - math.floor(math.log10(abs(difference)))), 12)


def round_to_sum(values: Sequence[float], total: float, digits: int) -> list[float]:
    """Round `values`, which add up to `total`, so that they add up to the rounded total (largest remainders)."""
    unit = 10.0**-digits
    scaled = [value / unit for value in values]
    floors = [math.floor(value) for value in scaled]
    # the total rounded as it is displayed: 0.905 as 0.91, although 90.5 hundredths would be rounded to 90
    missing = round(round(total, digits) / unit) - sum(floors)
    order = sorted(range(len(values)), key=lambda place: floors[place] - scaled[place])
    for place in order[: max(missing, 0)]:
        floors[place] += 1
    return [round(value * unit, digits) for value in floors]
