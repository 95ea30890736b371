"""Preference pairs as tab-separated values, the companion file of a JSONL corpus.

``NAME.pairs.tsv`` (or ``.gz``) holds one comparison per line: ``lp seg_id judge sysA sysB relation rankA rankB task
primary``. ``relation`` is ``>`` (A better), ``<``, ``=`` or ``-`` (unknown); only the first five and the relation
are required, ``-`` stands for "not known", and ``primary`` is 1 unless the same judgement is also given elsewhere.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ranker.arrays import BoolArray, Int64Array
from ranker.corpora.dataset import Dataset
from ranker.corpora.formats.tables import Columns, parse_table
from ranker.corpora.languages import language_pair
from ranker.corpora.records import first_repeated, shown
from ranker.corpora.schema import table
from ranker.errors import DataError
from ranker.files import display_name, exists, read_text, without_gz

COLUMNS = ["lp", "seg_id", "judge", "sysA", "sysB", "relation", "rankA", "rankB", "task", "primary"]
_REQUIRED = ["lp", "seg_id", "sysA", "sysB", "relation"]
_SEPARATORS = re.compile(r"[\t\n\r]")
RELATIONS = (">", "<", "=", "-")


def companion(path: str | Path) -> Path | None:
    """Return the pairs file next to the corpus file `path`, if it exists."""
    path = Path(path)
    name = companion_name(path).removesuffix(".gz")
    candidates = (path.with_name(file_name) for file_name in (name, f"{name}.gz"))
    return next((candidate for candidate in candidates if candidate != path and exists(candidate)), None)


def companion_name(path: str | Path) -> str:
    """Return the name of the pairs file for the corpus file `path`; the pairs file is gzipped if the corpus file is."""
    name = Path(path).name
    plain = without_gz(name)
    stem = plain[: plain.rfind(".")] if "." in plain else plain
    return f"{stem}.pairs.tsv" + ("" if plain == name else ".gz")


def read_pairs(path: str | Path, dataset: Dataset) -> Dataset:
    """Return `dataset` with the preferences of a pairs file, or of relative rankings in WMT's format."""
    name = display_name(path)
    text = read_text(path)
    from ranker.corpora.formats.wmt_rankings import is_rankings, with_rankings

    if is_rankings(text):
        return with_rankings(dataset, text, name)
    given = parse_table(text, name, "\t", quoted=False)
    columns = _checked(given)
    if not len(given.lines):
        return dataset
    first, second = (_candidates(columns, side, dataset, given) for side in ("sysA", "sysB"))
    what = "is compared with itself; expected two different systems"
    _refuse(given, first == second, lambda row: f"system {shown(columns['sysA'][row])} {what}")
    optional = {
        key: [None if value in ("-", "") else value for value in columns[header]]
        for key, header in (
            ("judge", "judge"),
            ("task", "task"),
            ("rank_first", "rankA"),
            ("rank_second", "rankB"),
        )
        if header in columns
    }
    preferences = table(
        "preferences",
        {
            "first": first,
            "second": second,
            "relation": columns["relation"],
            "primary": columns["primary"] == "1" if "primary" in columns else np.ones(len(first), dtype=bool),
            **optional,
        },
    )
    return dataclasses.replace(dataset, preferences=preferences)


def pairs_bytes(dataset: Dataset) -> bytes:
    """Return the preferences of `dataset` as tab-separated values."""
    preferences = dataset.preferences
    candidates = dataset.candidates
    sources = dataset.sources.iloc[candidates["source"].to_numpy()[preferences["first"]]]

    def known(values: pd.Series) -> list[str]:
        return [str(value) for value in values.fillna("-")]

    columns = [
        known(sources["lp"]),
        known(sources["seg_id"]),
        known(preferences["judge"]),
        *(known(candidates["system"].iloc[preferences[side]]) for side in ("first", "second")),
        known(preferences["relation"]),
        *(known(preferences[side]) for side in ("rank_first", "rank_second", "task")),
        ["1" if primary else "0" for primary in preferences["primary"]],
    ]
    for title, column in zip(COLUMNS, columns, strict=True):
        check_cells(title, column, dataset.name)
    rows = ["\t".join(row) for row in zip(*columns, strict=True)]
    return ("\n".join(["\t".join(COLUMNS), *rows]) + "\n").encode()


def check_cells(title: str, values: Iterable[str], file: str) -> None:
    """Raise a `DataError` for the first value that a pairs file cannot hold, if any."""
    unfit = next((value for value in dict.fromkeys(values) if _SEPARATORS.search(value)), None)
    if unfit is not None:
        what = f"{title} {shown(unfit)} contains a tab or line break, which is not allowed in a pairs file: rename it"
        raise DataError(what, file=file)


def _checked(given: Columns) -> dict[str, npt.NDArray[np.object_]]:
    """Check the columns of a pairs file, and return them by name."""
    missing = [column for column in _REQUIRED if column not in given.header]
    if missing:
        what = f"column {missing[0]!r} is missing; expected a first line with {' '.join(COLUMNS)}"
        raise DataError(what, file=given.file, line=1)
    twice = first_repeated(given.header)
    if twice is not None:
        raise DataError(f"column {shown(twice)} is duplicated; rename or remove one column", file=given.file, line=1)
    columns = {name: values.fill_null("").to_numpy() for name, values in zip(given.header, given.values, strict=True)}
    for name, allowed in (("relation", RELATIONS), ("primary", ("0", "1"))):
        for row in np.flatnonzero(~np.isin(columns.get(name, np.array([])).astype(str), allowed))[:1].tolist():
            what = f"{name}: expected one of {' '.join(allowed)}, found {shown(columns[name][row])}"
            raise DataError(what, file=given.file, line=int(given.lines[row]))
    return columns


def _refuse(given: Columns, wrong: BoolArray, what: Callable[[int], str]) -> None:
    """Raise an error for the first row where the mask `wrong` is true, if any."""
    for row in np.flatnonzero(wrong)[:1].tolist():
        raise DataError(what(row), file=given.file, line=int(given.lines[row]))


def _candidates(
    columns: Mapping[str, npt.NDArray[np.object_]], side: str, dataset: Dataset, given: Columns
) -> Int64Array:
    sources = dataset.sources
    source = _find(
        [sources["lp"].fillna("-").to_numpy(object), sources["seg_id"].to_numpy(object)],
        [np.array([*map(language_pair, columns["lp"])], dtype=object), columns["seg_id"]],
    )
    what = f"lp and seg_id: expected a source of {dataset.name}, found"
    _refuse(given, source < 0, lambda row: f"{what} {_source(columns, row)}")
    rows = _find([dataset.candidate_source, dataset.candidates["system"].to_numpy(object)], [source, columns[side]])
    what = f"{side}: expected a system that translated"
    _refuse(given, rows < 0, lambda row: f"{what} {_source(columns, row)}, found {shown(columns[side][row])}")
    return rows


def _source(columns: Mapping[str, npt.NDArray[np.object_]], row: int) -> str:
    return f"{shown(columns['lp'][row])} {shown(columns['seg_id'][row])}"


def _find(keys: list[npt.NDArray[Any]], wanted: list[npt.NDArray[Any]]) -> Int64Array:
    """Return the row in `keys` of each pair of keys in `wanted`, -1 if absent."""
    index = pd.MultiIndex.from_arrays(keys)
    return np.asarray(index.get_indexer(pd.MultiIndex.from_arrays(wanted)), dtype=np.int64)
