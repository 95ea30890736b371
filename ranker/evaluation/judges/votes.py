"""Votes of individual judges in one long table: unit, judge, category."""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ranker.arrays import BoolArray, FloatArray, Int64Array, offsets_of, pairs_in_blocks
from ranker.corpora.dataset import Dataset
from ranker.corpora.judgements import ratings_of
from ranker.errors import DataError
from ranker.evaluation.judges.equal_outputs import once_per_output
from ranker.ranks import merge_ties


@dataclass(frozen=True)
class VotePairs:
    """All pairs of votes by different judges on the same unit."""

    code: Int64Array
    first: Int64Array
    second: Int64Array
    source: Int64Array


@dataclass(frozen=True)
class Votes:
    """Votes of judges, sorted by unit and judge, with at most one vote per judge on a unit.

    Votes that are `orders` of two candidates (-1, 0 or 1) are counted for both ways to list the candidates, with half
    weight each, so that agreement by chance does not depend on the candidate that is listed first.
    """

    unit: Int64Array
    judge: Int64Array
    category: Int64Array
    source: Int64Array
    judges: tuple[str, ...]
    categories: FloatArray
    sources: int
    again: Int64Array
    orders: bool = False

    @classmethod
    def of(
        cls, unit: Int64Array, judge: npt.NDArray[np.object_], value: FloatArray, source: Int64Array, sources: int
    ) -> Votes:
        """Create `Votes` from columns of shape (votes,), setting aside a judge's repeated votes on a unit."""
        codes, names = pd.factorize(judge, sort=True)
        categories, category = np.unique(merge_ties(value), return_inverse=True)
        order = np.lexsort((codes, unit))
        unit, codes, category, source = unit[order], codes[order], category[order], source[order]
        new = np.ones(len(unit), dtype=bool)
        new[1:] = (unit[1:] != unit[:-1]) | (codes[1:] != codes[:-1])
        first = category[np.maximum.accumulate(np.where(new, np.arange(len(unit)), 0))]
        again = np.stack([source, first, category], axis=1)[~new]
        return cls(
            _renumbered(unit[new]),
            codes[new].astype(np.int64),
            category[new].astype(np.int64),
            source[new],
            tuple(map(str, names)),
            categories,
            sources,
            again.astype(np.int64),
        )

    def of_sources(self, chosen: BoolArray) -> Votes:
        """Return the votes on the sources selected by the mask `chosen` (sources,), and the categories used there.

        Orders keep all three categories.
        """
        code = np.cumsum(chosen) - 1
        rows, again = chosen[self.source], self.again[chosen[self.again[:, 0]]]
        used = np.isin(np.arange(len(self.categories)), np.append(self.category[rows], again[:, 1:])) | self.orders
        place = np.cumsum(used) - 1
        again = np.column_stack([code[again[:, 0]], place[again[:, 1:]]])
        votes = self._take(rows)
        return replace(
            votes,
            category=place[votes.category],
            source=code[votes.source],
            categories=self.categories[used],
            sources=int(chosen.sum()),
            again=again,
        )

    def _take(self, rows: BoolArray) -> Votes:
        """Return the votes selected by the mask `rows` (votes,), with units renumbered."""
        unit = _renumbered(self.unit[rows])
        return replace(self, unit=unit, judge=self.judge[rows], category=self.category[rows], source=self.source[rows])

    def several(self) -> Votes:
        """Return the votes on units that at least two judges voted on."""
        return self._take(np.bincount(self.unit)[self.unit] > 1 if len(self.unit) else np.zeros(0, dtype=bool))

    def counts(self) -> FloatArray:
        """Number of judges who put each unit into each category, shape (units, categories)."""
        size = len(self.categories)
        units = int(self.unit[-1]) + 1 if len(self.unit) else 0
        code = self.unit * size + self.category
        return np.bincount(code, minlength=units * size).reshape(units, size).astype(np.float64)

    def per_source(self, columns: FloatArray) -> FloatArray:
        """Sum `columns` (units, k) over the units of each source, shape (sources, k)."""
        first = np.searchsorted(self.unit, np.arange(len(columns)))
        source = self.source[first]
        return np.stack([np.bincount(source, weights=column, minlength=self.sources) for column in columns.T], axis=1)

    def repeated(self) -> FloatArray:
        """Return, for each source, how many repeated votes agree with the first one, and how many there are in all.

        The array is empty if no vote is repeated.
        """
        if not len(self.again):
            return np.empty((0, 2))
        same = (self.again[:, 1] == self.again[:, 2]).astype(np.float64)
        columns = same, np.ones_like(same)
        sums = [np.bincount(self.again[:, 0], weights=column, minlength=self.sources) for column in columns]
        return np.stack(sums, axis=1)

    def both_ways(self, table: FloatArray, axes: int | tuple[int, ...]) -> FloatArray:
        """Average counts with the counts of reversed votes, if votes are orders; `axes` are those of categories."""
        return (table + np.flip(table, axes)) / 2 if self.orders else table

    @functools.cached_property
    def pairs(self) -> VotePairs:
        """All pairs of votes on the same unit."""
        sizes = np.bincount(self.unit) if len(self.unit) else np.zeros(0, dtype=np.int64)
        first, second = pairs_in_blocks(offsets_of(sizes))
        code = self.judge[first] * len(self.judges) + self.judge[second]
        return VotePairs(code, self.category[first], self.category[second], self.source[first])

    def pair_matrix(self, pairs: Int64Array) -> Any:
        """Return confusion counts by source as a sparse matrix (sources, pairs of judges * categories^2), one way."""
        from scipy import sparse

        size = len(self.categories)
        column = (np.searchsorted(pairs, self.pairs.code) * size + self.pairs.first) * size + self.pairs.second
        shape = (self.sources, len(pairs) * size * size)
        return sparse.csr_matrix((np.ones(len(column)), (self.pairs.source, column)), shape=shape)


def rating_votes(dataset: Dataset, kind: str) -> Votes:
    """Return judges' scores of `kind`, as votes on outputs: equal outputs of a source count once."""
    ratings = ratings_of(dataset, kind)
    ratings = once_per_output(dataset, ratings[ratings["judge"].notna()], "judge")
    if ratings["judge"].nunique() < 2:
        advice = "; for the agreement on marked errors, use --spans" if len(dataset.errors) else ""
        what = f"has {kind} scores by fewer than two named judges, expected at least two{advice}"
        raise DataError(what, file=dataset.name)
    rows = ratings["candidate"].to_numpy(np.int64)
    values = ratings["value"].to_numpy(np.float64)
    source = dataset.candidate_source[rows]
    return Votes.of(rows, ratings["judge"].to_numpy(object), values, source, len(dataset.sources))


def rating_orders(dataset: Dataset, kind: str) -> Votes:
    """Return each judge's order of any two outputs of a source, from scores of `kind`, as votes -1, 0 or 1."""
    votes = rating_votes(dataset, kind)
    order = np.lexsort((votes.unit, votes.judge, votes.source))
    output, judge, source, category = (
        column[order] for column in (votes.unit, votes.judge, votes.source, votes.category)
    )
    new = np.ones(len(output), dtype=bool)
    new[1:] = (judge[1:] != judge[:-1]) | (source[1:] != source[:-1])
    first, second = pairs_in_blocks(np.append(np.flatnonzero(new), len(output)))
    value = np.sign(category[first] - category[second]).astype(np.float64)
    unit = output[first] * len(dataset) + output[second]
    votes = Votes.of(unit, np.array(votes.judges, dtype=object)[judge[first]], value, source[first], votes.sources)
    return _three_way(votes)


def preference_votes(dataset: Dataset) -> Votes:
    """Return preferences as votes on pairs of candidates: -1 worse, 0 equal, 1 better, without repeated rows."""
    rows = dataset.preferences
    rows = rows[rows["primary"].to_numpy(bool) & rows["judge"].notna() & rows["relation"].isin([">", "<", "="])]
    if rows["judge"].nunique() < 2:
        raise DataError("has preferences by fewer than two named judges, expected at least two", file=dataset.name)
    first, second = (rows[side].to_numpy(np.int64) for side in ("first", "second"))
    relation = rows["relation"].to_numpy(object)
    vote = (relation == ">").astype(np.float64) - (relation == "<")
    low, high = np.minimum(first, second), np.maximum(first, second)
    vote = np.where(first == low, vote, -vote)
    source = dataset.candidate_source[low]
    judge = rows["judge"].to_numpy(object)
    return _three_way(Votes.of(low * len(dataset) + high, judge, vote, source, len(dataset.sources)))


def _three_way(votes: Votes) -> Votes:
    """Give orders all three categories -1, 0 and 1, even if some are unused."""
    place = (votes.categories + 1).astype(np.int64)
    again = votes.again.copy()
    again[:, 1:] = place[again[:, 1:]]
    return replace(
        votes, category=place[votes.category], categories=np.array([-1.0, 0.0, 1.0]), again=again, orders=True
    )


def _renumbered(unit: Int64Array) -> Int64Array:
    """Renumber sorted units from 0 without gaps."""
    new = np.ones(len(unit), dtype=np.int64)
    new[1:] = unit[1:] != unit[:-1]
    return np.asarray(np.cumsum(new) - 1, dtype=np.int64)
