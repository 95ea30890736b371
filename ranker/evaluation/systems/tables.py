"""Candidates of a data set by source and system, for a comparison of the systems of one language pair."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from ranker.arrays import FloatArray, Int64Array
from ranker.corpora.dataset import Dataset, source_place
from ranker.corpora.languages import LanguagePair
from ranker.corpora.numbered_systems import note_numbered
from ranker.errors import DataError, OptionError, RankerError, nearest
from ranker.text.target_languages import target_language


class SystemTable:
    """Candidates of a data set by source and system, for one language pair.

    Systems are sorted by name, so that the order in which they are given changes nothing but the default baseline.
    """

    def __init__(self, dataset: Dataset, lp: LanguagePair) -> None:
        self.lp, self.where = lp, lp.of(dataset.name)
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
        self.target = target_language(dataset, lp)

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


def comparable(
    dataset: Dataset, units: Int64Array | None, baseline: str | None, left_out: str | None
) -> tuple[list[SystemTable], list[str]]:
    """Return the tables of language pairs with several systems and sources, and notes on the others.

    If no table is left, an error says why, followed by what was `left_out` of the data. Every table has the `baseline`.
    """
    note_numbered(dataset.candidates["system"], dataset.name)
    pairs = dict.fromkeys(dataset.source_language_pairs[dataset.candidate_source])
    tables = [SystemTable(dataset, lp) for lp in pairs]
    single = [table.single(units) for table in tables]
    if all(single):
        error = next(found[1] for found in single if found)
        raise type(error)(f"{error} ({left_out})") if left_out else error
    notes = [
        f"left out {table.where}, which has only one {found[0]}"
        for table, found in zip(tables, single, strict=True)
        if found
    ]
    compared = [table for table, found in zip(tables, single, strict=True) if not found]
    for table in compared:
        check_baseline(baseline, table.names, table.where)
    return compared, notes


def baseline_among(names: Sequence[str], *choices: str | None) -> str:
    """Return the first of the `choices` that is one of the systems; the last one must be."""
    return next(choice for choice in choices if choice is not None and choice in names)


def check_baseline(baseline: str | None, names: Sequence[str], where: str) -> None:
    """Refuse a baseline that is none of the systems."""
    if baseline is not None and baseline not in names:
        listed = ", ".join(map(repr, names))
        what = f"no system {baseline!r} in {where}{nearest(baseline, names)}; available: {listed}"
        raise OptionError(f"--baseline: {what}")
