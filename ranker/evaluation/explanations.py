"""Why a ranker puts one candidate above another: contributions added up by what the features are about.

A ranker is linear, so the difference of two scores is the sum of what its features add to one and to the other. Many
features measure nearly the same thing, and their weights differ in sign; their sum is what counts, so it is taken by
family (words, fluency, ...) and by extractor.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import get_args

import numpy as np

from ranker.arrays import FloatArray, Int64Array
from ranker.corpora.dataset import Dataset, view
from ranker.corpora.system_pairs import system_pair
from ranker.errors import OptionError, counted
from ranker.extractors.base import Extractor, FeatureFamily
from ranker.extractors.text.matched_words import readable_batch, stretches, words_matched_by_one
from ranker.extractors.text.ngrams import closest_reference_lengths
from ranker.extractors.text.reference_pairs import reference_pairs
from ranker.extractors.text.repeated_words import align_contexts
from ranker.extractors.text.tokens import token_batch
from ranker.ranking import Ranker
from ranker.ranks import TIE

STRONGEST = 5
FAMILIES: tuple[FeatureFamily, ...] = get_args(FeatureFamily)
_SHOWN = 3
"""Stretches of text that a line shows."""
_LONGEST = 6
"""Words of a stretch that a line shows."""
_SIMILARITY = re.compile(r" -?\d\.\d\d\Z")


@dataclass(frozen=True)
class Evidence:
    """The words behind a difference of two candidates.

    Parameters
    ----------
    first, second : tuple of str
        What only the one candidate has.
    text : str
        The same in words, empty if there is nothing to show.
    """

    first: tuple[str, ...] = ()
    second: tuple[str, ...] = ()
    text: str = ""


@dataclass(frozen=True)
class ExtractorDifference:
    """What all features of one extractor, with its variants and options, add to the difference of two scores.

    Parameters
    ----------
    extractor : str
        Name in the registry; of variants such as ``rouge_l`` and ``rouge_w`` what they share, ``rouge``.
    family : str
    features : int
        Number of its features.
    difference : float
        Contribution to the first score minus that to the second.
    evidence : Evidence
    """

    extractor: str
    family: FeatureFamily
    features: int
    difference: float
    evidence: Evidence


@dataclass(frozen=True)
class PairExplanation:
    """Why one candidate of a source scores higher than another.

    Parameters
    ----------
    source : int
        Row of the source.
    first, second, first_text, second_text : str
        Systems and their translations.
    first_score, second_score, difference : float
        The difference is first minus second.
    families : dict of str to float
        What every family adds to the difference, in the order of `FAMILIES`; they add up to it.
    strongest : tuple of ExtractorDifference
        The largest differences, by absolute value.
    features : dict of str to float
        What every feature adds to the difference.
    """

    source: int
    first: str
    second: str
    first_text: str
    second_text: str
    first_score: float
    second_score: float
    difference: float
    families: dict[str, float]
    strongest: tuple[ExtractorDifference, ...]
    features: dict[str, float]

    @property
    def headline(self) -> str:
        """Who is above whom by how much, and what each family adds."""
        return headline(self.first, self.second, self.difference, self.families)


@dataclass(frozen=True)
class SystemExplanation:
    """Why one system scores higher than another on average.

    Parameters
    ----------
    first, second : str
    difference : float
        Mean of the differences of their scores, first minus second.
    families : dict of str to float
        What every family adds to it.
    left_out : int
        Sources with a translation by only one of the two.
    sources : tuple of PairExplanation
    """

    first: str
    second: str
    difference: float
    families: dict[str, float]
    left_out: int
    sources: tuple[PairExplanation, ...]

    @property
    def headline(self) -> str:
        """Who is above whom by how much on average, and what each family adds."""
        return headline(self.first, self.second, self.difference, self.families)


def check_pair(dataset: Dataset, first: str, second: str) -> Int64Array:
    """Return the candidates of two systems, as `system_pair`, if there is something to compare.

    Raises
    ------
    OptionError
        If a system is not known, both are the same, or no source has a translation by both.
    """
    if first == second:
        raise OptionError(f"--pair compares two systems, and {first!r} is given twice")
    rows = system_pair(dataset, first, second)
    if not (rows >= 0).all(axis=1).any():
        raise OptionError(f"--pair: no source of {dataset.name} has a translation by both {first!r} and {second!r}")
    return rows


def explain_systems(
    ranker: Ranker, dataset: Dataset, contributions: FloatArray, first: str, second: str
) -> SystemExplanation:
    """Explain the differences between the scores of two systems, source by source and on average.

    Raises
    ------
    OptionError
        As `check_pair`.
    """
    rows = check_pair(dataset, first, second)
    both = (rows >= 0).all(axis=1)
    found = tuple(explain_pair(ranker, dataset, contributions, *pair) for pair in rows[both].tolist())
    return SystemExplanation(
        first,
        second,
        float(np.mean([one.difference for one in found])),
        {name: float(np.mean([one.families[name] for one in found])) for name in found[0].families},
        int(((rows >= 0).any(axis=1) & ~both).sum()),
        found,
    )


def by_family(contributions: FloatArray, families: Sequence[FeatureFamily]) -> dict[str, FloatArray]:
    """Add up contributions (..., columns) by family; families without a column are left out.

    Returns
    -------
    dict of str to float array, shape (...)
    """
    family = np.array(families, dtype=object)
    return {one: contributions[..., family == one].sum(axis=-1) for one in FAMILIES if one in families}


def explain_pair(
    ranker: Ranker, dataset: Dataset, contributions: FloatArray, first: int, second: int, *, strongest: int = STRONGEST
) -> PairExplanation:
    """Explain the difference between the scores of two candidates of one source.

    Parameters
    ----------
    ranker : Ranker
    dataset : Dataset
    contributions : float array, shape (candidates, columns)
        What `Ranker.explain` returned for `dataset`.
    first, second : int
        Rows of the candidates.
    strongest : int, default 5
        Differences of extractors to give.
    """
    difference = contributions[first] - contributions[second]
    scores = contributions[first].sum(), contributions[second].sum()
    systems = dataset.candidates["system"]
    names = str(systems.iloc[first]), str(systems.iloc[second])
    groups: dict[tuple[FeatureFamily, str], list[Extractor]] = {}
    sums: dict[tuple[FeatureFamily, str], float] = {}
    start = 0
    for extractor in ranker.feature_set.extractors:
        stop = start + len(extractor.columns)
        # rouge_l and rouge_w are variants of one metric
        key = extractor.family, extractor.name.partition("_")[0]
        groups.setdefault(key, []).append(extractor)
        sums[key] = sums.get(key, 0.0) + float(difference[start:stop].sum())
        start = stop
    largest = sorted((key for key in sums if abs(sums[key]) > TIE), key=lambda key: -abs(sums[key]))[:strongest]
    unusable = ranker.feature_set.unusable(dataset) is not None
    return PairExplanation(
        source=int(dataset.candidate_source[first]),
        first=names[0],
        second=names[1],
        first_text=str(dataset.candidates["text"].iloc[first]),
        second_text=str(dataset.candidates["text"].iloc[second]),
        first_score=float(scores[0]),
        second_score=float(scores[1]),
        difference=float(scores[0] - scores[1]),
        families={name: float(value) for name, value in by_family(difference, ranker.feature_set.families).items()},
        strongest=tuple(
            ExtractorDifference(
                extractor=key[1],
                family=key[0],
                features=sum(len(one.columns) for one in groups[key]),
                difference=sums[key],
                evidence=_evidence(
                    [one for one in groups[key] if not (unusable and one.fit_scope == "ranked")],
                    dataset,
                    (first, second),
                    names,
                ),
            )
            for key in largest
        ),
        features=dict(zip(ranker.feature_set.columns, difference.tolist(), strict=True)),
    )


def headline(first: str, second: str, difference: float, families: Mapping[str, float]) -> str:
    """Say who is above whom by how much, and what each family adds; the figures add up as they are written."""
    if abs(difference) <= TIE:
        return f"{first} and {second} tie"
    if difference < 0:
        first, second, difference = second, first, -difference
        families = {name: -value for name, value in families.items()}
    digits = decimals(difference)
    figures = round_to_sum(list(families.values()), difference, digits)
    parts = sorted((pair for pair in zip(families, figures, strict=True) if pair[1]), key=lambda pair: -abs(pair[1]))
    told = ", ".join(f"{name} {value:+.{digits}f}" for name, value in parts)
    return f"{first} is above {second} by {difference:.{digits}f}: {told}"


def decimals(difference: float) -> int:
    """Return how many decimals show a difference: two, and more for one below a tenth."""
    if abs(difference) <= TIE:
        return 2
    return min(max(2, 1 - math.floor(math.log10(abs(difference)))), 12)


def round_to_sum(values: Sequence[float], total: float, digits: int) -> list[float]:
    """Round `values`, which add up to `total`, so that they add up to the rounded total (largest remainders)."""
    unit = 10.0**-digits
    scaled = [value / unit for value in values]
    floors = [math.floor(value) for value in scaled]
    missing = round(total / unit) - sum(floors)
    order = sorted(range(len(values)), key=lambda place: floors[place] - scaled[place])
    for place in order[: max(missing, 0)]:
        floors[place] += 1
    return [round(value * unit, digits) for value in floors]


def _evidence(
    extractors: Sequence[Extractor], dataset: Dataset, rows: tuple[int, int], names: tuple[str, str]
) -> Evidence:
    """Return what only the one or only the other of two candidates has, for the extractors of one name."""
    if not extractors:
        return Evidence()
    matches = [_matches(extractors, dataset, row) for row in rows]
    if any(matches):
        only = tuple((matches[0] - matches[1]).elements()), tuple((matches[1] - matches[0]).elements())
        return _only(only, names, "matches")
    family = extractors[0].family
    if family == "length":
        return _lengths(dataset, rows, names)
    if family == "word order":
        return _only(_out_of_order(dataset, rows), names, "has out of order")
    if family == "fluency":
        return _only(_unseen(dataset, rows), names, "has, found in no other reference:")
    if family in ("words", "meaning"):
        return _only(words_matched_by_one(readable_batch(dataset), *rows), names, "matches")
    return Evidence()


def _matches(extractors: Sequence[Extractor], dataset: Dataset, row: int) -> Counter[str]:
    """Count what of one candidate matched, as often as in the reference where it matched most."""
    found: Counter[str] = Counter()
    for extractor in extractors:
        for told in extractor.evidence(dataset, row).values():
            found |= Counter(match for one in told if (match := _readable(one)))
    return found


def _readable(evidence: str) -> str:
    """Write a match of equal words as one word, without its similarity; what is no match becomes empty."""
    if evidence.startswith(("+ ", "- ")) or evidence.endswith("(substitution)"):
        return ""
    match = _SIMILARITY.sub("", evidence)
    for sign in (" = ", "~"):
        left, found, right = match.partition(sign)
        if found and right == "(none)":
            return ""
        if found and left == right:
            return left
    return match


def _only(found: tuple[tuple[str, ...], tuple[str, ...]], names: tuple[str, str], does: str) -> Evidence:
    told = [
        f"only {name} {does} {', '.join(map(_quoted, one[:_SHOWN]))}{', ...' if len(one) > _SHOWN else ''}"
        for name, one in zip(names, found, strict=True)
        if one
    ]
    return Evidence(*found, "; ".join(told))


def _quoted(stretch: str) -> str:
    words = stretch.split(" ")
    return repr(" ".join([*words[:_LONGEST], "..."] if len(words) > _LONGEST else words))


def _lengths(dataset: Dataset, rows: tuple[int, int], names: tuple[str, str]) -> Evidence:
    batch = readable_batch(dataset)
    lengths, closest = batch.candidate_lengths, closest_reference_lengths(batch)
    told = [
        f"{name} has {counted(int(lengths[row]), 'word')}, its closest reference {closest[row]}"
        for name, row in zip(names, rows, strict=True)
    ]
    return Evidence(text="; ".join(told))


def _out_of_order(dataset: Dataset, rows: tuple[int, int]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return for each of two candidates the stretches of a reference whose words only it has in another order.

    Of several references the one counts that shares most words; words out of order are those outside a longest
    ascending sequence of reference positions.
    """
    batch, pairs = token_batch(dataset, "13a", lowercase=True), reference_pairs(dataset)
    orders = align_contexts(dataset, "isozaki", "13a", lowercase=True)
    source = batch.candidate_source[rows[0]]
    references = np.arange(*batch.reference_offsets[source : source + 2])
    displaced: list[Counter[tuple[int, int]]] = []
    for row in rows:
        block = pairs.offsets[references] + row - batch.candidate_offsets[source]
        best = int(np.argmax(orders.lengths[block]))
        positions = orders.positions[slice(*orders.offsets[block[best] : block[best] + 2])].tolist()
        kept = set(_longest_ascending(positions))
        displaced.append(Counter((int(references[best]), at) for at in dict.fromkeys(positions) if at not in kept))
    found = []
    for mine, other in zip(displaced, reversed(displaced), strict=True):
        only = mine - other
        told: list[str] = []
        for reference in sorted({one for one, _ in only}):
            words = batch.segments.words(int(batch.reference[reference]))
            flagged = [(reference, at) in only for at in range(len(words))]
            told.extend(stretches(batch.texts[batch.reference[reference]], words, flagged))
        found.append(tuple(told))
    return found[0], found[1]


def _longest_ascending(values: Sequence[int]) -> list[int]:
    """Return a longest strictly ascending subsequence (patience sorting)."""
    tops: list[int] = []
    before: list[int] = []
    for place, value in enumerate(values):
        low = int(np.searchsorted([values[top] for top in tops], value))
        before.append(tops[low - 1] if low else -1)
        tops[low : low + 1] = [place]
    at = tops[-1] if tops else -1
    found = []
    while at >= 0:
        found.append(values[at])
        at = before[at]
    return found[::-1]


def _unseen(dataset: Dataset, rows: tuple[int, int]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return for each of two candidates the stretches whose pairs of words no reference of another source has."""
    batch = readable_batch(dataset)
    size = len(batch.segments.vocabulary)
    source = int(batch.candidate_source[rows[0]])
    start, stop = batch.reference_offsets[source : source + 2]
    pairs = []
    for row in rows:
        ids = batch.segments.values[slice(*batch.segments.offsets[batch.candidate[row] : batch.candidate[row] + 2])]
        pairs.append(ids[:-1].astype(np.int64) * size + ids[1:])
    every, reference = _reference_pairs_of_words(dataset)
    known = every[(reference < start) | (reference >= stop)]
    found = []
    for row, mine, other in zip(rows, pairs, reversed(pairs), strict=True):
        unseen = ~np.isin(mine, known) & ~np.isin(mine, other)
        sentence = int(batch.candidate[row])
        words = batch.segments.words(sentence)
        # a word is in a stretch if the pair that it begins or ends is
        padded = np.concatenate([[False], unseen, [False]]) if len(words) else np.zeros(1, dtype=bool)
        found.append(stretches(batch.texts[sentence], words, (padded[:-1] | padded[1:]).tolist()))
    return found[0], found[1]


@view
def _reference_pairs_of_words(dataset: Dataset) -> tuple[Int64Array, Int64Array]:
    """Return the pairs of neighbouring words of all references, as numbers, and the reference of each."""
    batch = readable_batch(dataset)
    values, offsets = batch.segments.take(batch.reference)
    reference = np.repeat(np.arange(len(batch.reference)), np.diff(offsets))
    inside = reference[:-1] == reference[1:]
    codes = values[:-1].astype(np.int64) * len(batch.segments.vocabulary) + values[1:]
    return codes[inside], reference[:-1][inside]
