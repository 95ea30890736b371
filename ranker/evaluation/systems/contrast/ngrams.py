"""N-grams of the references that one of two systems matches more often than the other."""

from __future__ import annotations

import numpy as np

from ranker.arrays import FloatArray, Int64Array
from ranker.evaluation.resampling.bootstrap import estimate, resampled_sums, stream
from ranker.evaluation.systems.contrast.estimates import Bootstrap
from ranker.evaluation.systems.contrast.pairing import ContrastedSystems
from ranker.evaluation.systems.contrast.result import NgramContrast
from ranker.evaluation.systems.contrast.words import UnitCounts
from ranker.text.weighted_ngrams import ReferenceNgrams

ORDER = 4


def one_sided_ngrams(
    pair: ContrastedSystems, count: int, bootstrap: Bootstrap
) -> tuple[tuple[NgramContrast, ...], tuple[NgramContrast, ...]]:
    r"""Return, for each system, the n-grams of 1 to 4 words that it matches more often than the other system.

    With :math:`m_1` and :math:`m_2` clipped matches summed over the sources, they are ordered by the ratio

    .. math:: (m_1 + 1) / (m_1 + m_2 + 2)

    smoothed so that rare n-grams do not come first (Akabe et al. 2014; Neubig et al. 2019, compare-mt); then by the
    number of matches, longer ones first.
    """
    segments, sources = pair.batch.segments, len(pair.rows)
    numbers = ReferenceNgrams.of(pair.batch, ORDER).find(segments)
    counts = [UnitCounts.of(unit_numbers, segments.offsets, pair.sentences) for unit_numbers in numbers]
    # one row for every n-gram of every order
    order, unit, first, second = (
        np.concatenate(parts)
        for parts in zip(*(_totals(unit_counts, n) for n, unit_counts in enumerate(counts, 1)), strict=True)
    )
    ratio = (first + 1) / (first + second + 2)
    sides = []
    for sign, better in ((1, first > second), (-1, second > first)):
        rows = np.flatnonzero(better)
        best = rows[np.lexsort((unit[rows], -order[rows], -(first + second)[rows], -sign * ratio[rows]))][:count]
        texts = [_text(pair, numbers[order[row] - 1], int(unit[row]), int(order[row])) for row in best]
        columns = np.zeros((sources, len(best), 2))
        for place, row in enumerate(best):
            table = counts[order[row] - 1]
            units = np.flatnonzero(table.unit == unit[row])
            for side, matched in enumerate(table.matches):
                columns[table.source[units], place, side] = matched[units]
        # the swapped pair of systems draws the same sources
        generator = stream(bootstrap.seed, "n-grams")
        sums = resampled_sums(columns.reshape(sources, -1), bootstrap.resamples, generator)
        sample = _ratio(sums.reshape(bootstrap.resamples, len(best), 2))
        sides.append(
            tuple(
                NgramContrast(
                    texts[place],
                    int(order[row]),
                    int(first[row]),
                    int(second[row]),
                    estimate(ratio[row], sample[:, place]),
                )
                for place, row in enumerate(best)
            )
        )
    return sides[0], sides[1]


def _ratio(sums: FloatArray) -> FloatArray:
    return np.asarray((sums[..., 0] + 1) / (sums.sum(axis=-1) + 2))


def _totals(counts: UnitCounts, order: int) -> tuple[Int64Array, Int64Array, Int64Array, Int64Array]:
    """Return the order, id and number of matches by each system of all n-grams of one order, as four columns."""
    first, second = counts.matches
    size = int(counts.unit.max(initial=-1)) + 1
    sums = [np.bincount(counts.unit, weights=column, minlength=size).astype(np.int64) for column in (first, second)]
    return np.full(size, order, dtype=np.int64), np.arange(size, dtype=np.int64), sums[0], sums[1]


def _text(pair: ContrastedSystems, numbers: Int64Array, unit: int, order: int) -> str:
    """Return the words of an n-gram at its first occurrence."""
    segments = pair.batch.segments
    at = int(np.argmax(numbers == unit))
    return " ".join(segments.vocabulary[word] for word in segments.values[at : at + order])
