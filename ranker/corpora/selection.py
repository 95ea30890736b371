"""Selections from data sets: some language pairs, no references, or the outputs of two systems."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from ranker.arrays import Int64Array
from ranker.corpora.dataset import Dataset
from ranker.corpora.languages import contradict, is_locale, is_of_pair, language_pair, names_two_languages
from ranker.corpora.schema import TEXT
from ranker.errors import DataError, OptionError, counted, nearest


def without_references(dataset: Dataset) -> Dataset:
    """Return the data set without its references."""
    return dataclasses.replace(dataset, references=dataset.references.iloc[:0])


def select_language_pairs(dataset: Dataset, wanted: Sequence[str]) -> Dataset:
    """Select the sources of `wanted` pairs, such as ``*-en``; raise an error for a pair without sources."""
    keep = np.zeros(len(dataset.sources), dtype=bool)
    for pattern in wanted:
        matched = [lp for lp in dataset.language_pairs if is_of_pair(lp, pattern)]
        if not matched:
            listed = ", ".join(dataset.language_pairs)
            hint = nearest(pattern, dataset.language_pairs)
            raise DataError(f"no sources of language pair {pattern!r}{hint}; available: {listed}", file=dataset.name)
        keep |= np.isin(dataset.source_language_pairs, matched)
    return dataset.select_sources(keep)


def only_pair(wanted: Sequence[str]) -> str | None:
    """Return the single pair of the `wanted` language pairs, None if there are none or several."""
    return wanted[0] if len(wanted) == 1 else None


def of_language_pairs(dataset: Dataset, wanted: Sequence[str]) -> Dataset:
    """Select the sources of the `wanted` language pairs, or all sources if `wanted` is empty.

    A single wanted pair is first set as the pair of the sources that have none.
    """
    return select_language_pairs(with_language_pair(dataset, wanted), wanted) if wanted else dataset


def with_language_pair(dataset: Dataset, wanted: Sequence[str]) -> Dataset:
    """Set the single `wanted` language pair for sources that have none; return other data sets unchanged."""
    unknown = dataset.sources["lp"].isna()
    if not wanted or not unknown.any():
        return dataset
    pair = language_pair(wanted[0])
    if not unknown.all() and (len(wanted) > 1 or not names_two_languages(pair)):
        return dataset
    if is_locale(wanted[0]):
        what = f"--lp {wanted[0]} is one language with its region; expected two, such as --lp en-zh_CN"
        raise DataError(what, file=dataset.name)
    if len(wanted) > 1 or not names_two_languages(pair):
        what = f"has no language pair; expected --lp with one language pair, such as de-en, found {' '.join(wanted)}"
        raise DataError(what, file=dataset.name)
    stated = dataset.sources.assign(lp=dataset.sources["lp"].fillna(pair).astype(TEXT))
    twice = stated.duplicated(["lp", "seg_id"]).to_numpy(bool)
    if twice.any():
        what = f"is duplicated in language pair {pair}, which sources without a pair are given"
        raise DataError(
            f"seg_id {stated['seg_id'][int(np.argmax(twice))]!r} {what}: give lp for all", file=dataset.name
        )
    return dataclasses.replace(dataset, sources=stated)


def stated_language_pair(dataset: Dataset, lp: str | None) -> Dataset:
    """Set the pair `lp`, if given, for sources that have none; raise an error if a source has another pair."""
    if not lp:
        return dataset
    known = [pair for pair in dataset.language_pairs if pair.known]
    two = names_two_languages(language_pair(lp))
    for pair in known:
        if not is_of_pair(pair, lp) and not (two and not contradict(pair, lp)):
            number = counted(int((dataset.source_language_pairs == pair).sum()), "source")
            what = f"has {number} of language pair {pair}, but lp states {lp}: leave out lp, or select sources first"
            raise DataError(what, file=dataset.name)
    return with_language_pair(dataset, [lp])


def system_pair(dataset: Dataset, first: str, second: str) -> Int64Array:
    """Return the rows of each source's candidates by two systems, shape (sources, 2); -1 for a missing candidate."""
    names = list(dict.fromkeys(dataset.candidates["system"]))
    for name in (first, second):
        if name not in names:
            listed = ", ".join(map(repr, names))
            raise OptionError(f"no system {name!r} in {dataset.name}{nearest(name, names)}; available: {listed}")
    systems = dataset.candidates["system"].to_numpy(object)
    rows = np.full((len(dataset.sources), 2), -1, dtype=np.int64)
    for side, name in enumerate((first, second)):
        outputs = np.flatnonzero(systems == name)
        rows[dataset.candidate_source[outputs], side] = outputs
    return rows
