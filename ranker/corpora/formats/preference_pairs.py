"""Preference pairs as tab-separated values, the companion file of a JSONL corpus.

``NAME.pairs.tsv`` (or ``.gz``) holds one comparison a line: ``lp seg_id judge sysA sysB relation rankA rankB task
primary``. ``relation`` is ``>`` (A better), ``<``, ``=`` or ``-`` (unknown); only the first five and the relation
are required, ``-`` stands for "not known", and ``primary`` is 1 unless the same judgement stands elsewhere.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ranker.arrays import Int64Array
from ranker.corpora.dataset import Dataset
from ranker.corpora.languages import language_pair
from ranker.corpora.records import first_repeated, shown
from ranker.corpora.schema import table
from ranker.errors import DataError
from ranker.files import display_name, read_text

COLUMNS = ["lp", "seg_id", "judge", "sysA", "sysB", "relation", "rankA", "rankB", "task", "primary"]
_REQUIRED = ["lp", "seg_id", "sysA", "sysB", "relation"]
_SEPARATORS = re.compile(r"[\t\n\r]")
RELATIONS = (">", "<", "=", "-")


def companion(path: str | Path) -> Path | None:
    """Return the pairs file beside the corpus file `path`, if there is one."""
    path = Path(path)
    name = companion_name(path).removesuffix(".gz")
    candidates = (path.with_name(file_name) for file_name in (name, f"{name}.gz"))
    return next((candidate for candidate in candidates if candidate != path and _is_file(candidate)), None)


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:
        # the name is too long
        return False


def companion_name(path: str | Path) -> str:
    """Return the name of the pairs file that belongs to the corpus file `path`, gzipped if that is."""
    plain = Path(path).name.removesuffix(".gz")
    stem = plain[: plain.rfind(".")] if "." in plain else plain
    return f"{stem}.pairs.tsv" + (".gz" if Path(path).name.endswith(".gz") else "")


def read_pairs(path: str | Path, dataset: Dataset) -> Dataset:
    """Return `dataset` with the preferences of the pairs file `path`, or of relative rankings as WMT has them."""
    name = display_name(path)
    text = read_text(path)
    from ranker.corpora.formats.wmt_rankings import is_rankings, with_rankings

    if is_rankings(text):
        return with_rankings(dataset, text, name)
    columns = _columns(text, name)
    if not len(columns["relation"]):
        return dataset
    _check_values(columns, "relation", RELATIONS, name)
    if "primary" in columns:
        _check_values(columns, "primary", ("0", "1"), name)
    first, second = (_candidates(columns, side, dataset, name) for side in ("sysA", "sysB"))
    same = np.flatnonzero(first == second)
    if len(same):
        raise DataError(
            f"system {shown(columns['sysA'][same[0]])} is compared with itself; expected two different systems",
            file=name,
            line=int(same[0]) + 2,
        )
    optional = {
        key: [None if value == "-" else value for value in columns[header]]
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
        unfit = next((value for value in dict.fromkeys(column) if _SEPARATORS.search(value)), None)
        if unfit is not None:
            what = (
                f"{title} {shown(unfit)} contains a tab or line break, which is not allowed in a pairs file: rename it"
            )
            raise DataError(what, file=dataset.name)
    rows = ["\t".join(row) for row in zip(*columns, strict=True)]
    return ("\n".join(["\t".join(COLUMNS), *rows]) + "\n").encode()


def _columns(text: str, name: str) -> dict[str, npt.NDArray[np.object_]]:
    """Return the columns by name; row ``i`` stands on line ``i + 2``."""
    lines = text.removesuffix("\n").split("\n")
    header = lines[0].split("\t")
    missing = [column for column in _REQUIRED if column not in header]
    if missing:
        raise DataError(
            f"column {missing[0]!r} is missing; expected a first line with {' '.join(COLUMNS)}",
            file=name,
            line=1,
        )
    twice = first_repeated(header)
    if twice is not None:
        raise DataError(f"column {shown(twice)} is duplicated; remove one of them", file=name, line=1)
    for number, line in enumerate(lines, 1):
        if line.count("\t") != len(header) - 1:
            raise DataError(
                f"expected {len(header)} fields as in the first line, found {line.count(chr(9)) + 1}",
                file=name,
                line=number,
            )
    fields = np.array("\t".join(lines[1:]).split("\t") if len(lines) > 1 else [], dtype=object)
    return dict(zip(header, fields.reshape(-1, len(header)).T, strict=True))


def _check_values(
    columns: Mapping[str, npt.NDArray[np.object_]], column: str, allowed: tuple[str, ...], name: str
) -> None:
    wrong = np.flatnonzero(~np.isin(columns[column].astype(str), allowed))
    if len(wrong):
        raise DataError(
            f"{column}: expected one of {' '.join(allowed)}, found {shown(columns[column][wrong[0]])}",
            file=name,
            line=int(wrong[0]) + 2,
        )


def _candidates(columns: Mapping[str, npt.NDArray[np.object_]], side: str, dataset: Dataset, name: str) -> Int64Array:
    sources = dataset.sources
    source = _find(
        [sources["lp"].fillna("-").to_numpy(object), sources["seg_id"].to_numpy(object)],
        [np.array([*map(language_pair, columns["lp"])], dtype=object), columns["seg_id"]],
    )
    unknown = np.flatnonzero(source < 0)
    if len(unknown):
        index = int(unknown[0])
        raise DataError(
            f"lp and seg_id: expected a source of {dataset.name}, found {_source(columns, index)}",
            file=name,
            line=index + 2,
        )
    rows = _find([dataset.candidate_source, dataset.candidates["system"].to_numpy(object)], [source, columns[side]])
    unknown = np.flatnonzero(rows < 0)
    if len(unknown):
        index = int(unknown[0])
        raise DataError(
            f"{side}: expected a system that translated {_source(columns, index)}, found {shown(columns[side][index])}",
            file=name,
            line=index + 2,
        )
    return rows


def _source(columns: Mapping[str, npt.NDArray[np.object_]], row: int) -> str:
    return f"{shown(columns['lp'][row])} {shown(columns['seg_id'][row])}"


def _find(keys: list[npt.NDArray[Any]], wanted: list[npt.NDArray[Any]]) -> Int64Array:
    """Return the row of `keys` that holds each of the `wanted` key pairs, -1 where none does."""
    index = pd.MultiIndex.from_arrays(keys)
    return np.asarray(index.get_indexer(pd.MultiIndex.from_arrays(wanted)), dtype=np.int64)
