"""Candidates that are references of their source: human translations that files list among the systems.

Compared with itself, such a candidate would match perfectly. So it is scored against the other references of its
source, and left out if there are none. The output of a system that happens to equal a reference is no such candidate.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from ranker.arrays import BoolArray, Int64Array
from ranker.corpora.dataset import Dataset, block_offsets, view
from ranker.corpora.schema import ALIGNMENT, table
from ranker.errors import DataError, counted, log_note

FEWEST_TEXTS = 10
"""Minimum number of different texts of a system, all equal to those of a reference, for it to be that reference."""


@view
def own_references(dataset: Dataset) -> Int64Array:
    """Return the row of the reference with the name or text of each candidate marked ``is_reference``; -1 if none."""
    own = np.full(len(dataset), -1, dtype=np.int64)
    marked = np.flatnonzero(dataset.is_reference)
    if not len(marked):
        return own
    rows: dict[tuple[str, int, str], int] = {}
    for column in ("name", "text"):
        values = dataset.references[column]
        known = np.flatnonzero(values.notna().to_numpy(bool))
        sources = dataset.references["source"].to_numpy()[known].tolist()
        for row, source, value in zip(known.tolist(), sources, values.iloc[known].tolist(), strict=True):
            rows.setdefault((column, source, value), row)
    candidates = dataset.candidates.iloc[marked]
    keys = zip(candidates["source"].tolist(), candidates["system"].tolist(), candidates["text"].tolist(), strict=True)
    own[marked] = [
        rows.get(("name", source, system), rows.get(("text", source, text), -1)) for source, system, text in keys
    ]
    return own


def own_texts(dataset: Dataset) -> dict[int, str]:
    """Map the row of each candidate that is a reference to the text of that reference; see `own_references`."""
    own = own_references(dataset)
    found = np.flatnonzero(own >= 0)
    return dict(zip(found.tolist(), dataset.references["text"].iloc[own[found]].tolist(), strict=True))


def with_references_as_candidates(dataset: Dataset) -> Dataset:
    """Add references as candidates ``reference1``, ..., after the other candidates of their source."""
    references = dataset.references
    slot = references.groupby("source").cumcount().to_numpy() + 1
    added = table(
        "candidates",
        {
            "source": references["source"],
            "system": [f"reference{number}" for number in slot],
            "text": references["text"],
            "is_reference": np.ones(len(references), dtype=bool),
        },
    )
    if ALIGNMENT in references:
        added[ALIGNMENT] = references[ALIGNMENT]
    taken = dataset.candidates["system"].isin(added["system"])
    if taken.any():
        name = dataset.candidates["system"][taken].iloc[0]
        raise DataError(f"the system name {name!r} is reserved for references; rename the system", file=dataset.name)
    together = pd.concat([dataset.candidates, added], ignore_index=True)
    order = np.argsort(together["source"].to_numpy(), kind="stable")
    code = np.argsort(order)
    preferences = {side: code[dataset.preferences[side].to_numpy()] for side in ("first", "second")}
    return dataclasses.replace(
        dataset,
        candidates=together.iloc[order].reset_index(drop=True),
        ratings=dataset.ratings.assign(candidate=code[dataset.ratings["candidate"].to_numpy()]),
        preferences=dataset.preferences.assign(**preferences),
        errors=dataset.errors.assign(candidate=code[dataset.errors["candidate"].to_numpy()]),
    )


def references_among_candidates(dataset: Dataset) -> tuple[Dataset, Int64Array]:
    """Add references as candidates; return the new data set and, for each reference, the row of the new candidate."""
    together = with_references_as_candidates(dataset)
    references = np.diff(dataset.reference_offsets)
    source = np.repeat(np.arange(len(references)), references)
    slot = np.arange(len(source)) - dataset.reference_offsets[source]
    return together, together.candidate_offsets[source + 1] - references[source] + slot


def scored_apart(dataset: Dataset) -> tuple[Int64Array, Int64Array]:
    """Return the rows of candidates that equal one of several references of a source, and the references' rows."""
    own = own_references(dataset)
    rows = np.flatnonzero((own >= 0) & (np.diff(dataset.reference_offsets) > 1)[dataset.candidate_source])
    return rows, own[rows]


@view
def only_references(dataset: Dataset) -> BoolArray:
    """True for candidates that are the only reference of their source; all False if there are no other candidates."""
    alone = (own_references(dataset) >= 0) & (np.diff(dataset.reference_offsets) == 1)[dataset.candidate_source]
    return np.asarray(alone & ~alone.all())


def check_texts(dataset: Dataset) -> None:
    """Refuse a data set of preferences between systems without texts, because nothing in it can be scored."""
    if not dataset.has_texts:
        remedy = "compare them with ranker systems, without --metric, --model and --html"
        what = f"contains preferences between systems without texts: {remedy}"
        raise DataError(what, file=dataset.name)


def without_only_references(dataset: Dataset) -> tuple[Dataset, str | None]:
    """Drop candidates that are the only reference of their source; return the data set and a note on references."""
    alone, apart = only_references(dataset), np.zeros(len(dataset), dtype=bool)
    apart[scored_apart(dataset)[0]] = True
    notes = []
    if alone.any():
        notes.append(f"left out {_described(dataset, alone)}, each the only reference of its source")
    if apart.any():
        what = "are references, scored against the other references only: one reference fewer than outputs"
        notes.append(f"{_described(dataset, apart)} {what}")
    note = f"{dataset.name}: {'; '.join(notes)}" if notes else None
    return dataset.select_candidates(~alone) if alone.any() else dataset, note


def drop_sole_references(dataset: Dataset) -> Dataset:
    """Drop candidates that are the only reference of their source, and log a note."""
    check_texts(dataset)
    dataset, note = without_only_references(dataset)
    if note:
        log_note(note)
    return dataset


def _described(dataset: Dataset, rows: BoolArray) -> str:
    systems = dataset.candidates["system"][rows].unique().tolist()
    more = f" and {len(systems) - 3} more" if len(systems) > 3 else ""
    return f"{counted(int(rows.sum()), 'candidate')} of {', '.join(systems[:3])}{more}"


def mark_references(candidates: Mapping[str, Any], references: Mapping[str, Any], sources: int) -> BoolArray:
    """Return the mask ``is_reference``, extended to the outputs of systems that only repeat references.

    All texts of such a system equal the first reference of their source, or all equal the second, and so on; and at
    least `FEWEST_TEXTS` of them are different, or these references have the system's name.
    """
    marked = np.asarray(candidates["is_reference"], dtype=bool)
    source, offsets = np.asarray(candidates["source"]), block_offsets(references["source"], sources)
    if not len(references["source"]) or not len(source):
        return marked
    texts, names = (pa.array(references[column]) for column in ("text", "name"))
    system, outputs = pd.factorize(candidates["system"])[0], pa.array(candidates["text"])
    suspects, sizes, named = np.unique(system, return_index=True)[1], np.bincount(system), names.null_count < len(names)
    for slot in range(int(np.diff(offsets).max())):
        rows = offsets[source] + slot

        def equal(chosen: Int64Array, slot_rows: Int64Array = rows) -> BoolArray:
            there = slot_rows[chosen] < offsets[source[chosen] + 1]
            same = pc.equal(texts.take(np.where(there, slot_rows[chosen], 0)), outputs.take(chosen))
            return np.asarray(there & np.asarray(same.fill_null(False)), dtype=bool)

        # most systems differ from the reference at their first output
        every = np.flatnonzero(np.isin(system, system[suspects[equal(suspects)]]))
        same = np.setdiff1d(system[every], system[every[~equal(every)]])
        for code in same if named else same[sizes[same] >= FEWEST_TEXTS]:
            own = np.flatnonzero(system == code)
            called = pc.all(pc.equal(names.take(rows[own]), candidates["system"][own[0]])).as_py()
            if called or len(pc.unique(outputs.take(own))) >= FEWEST_TEXTS:
                marked = marked | (system == code)
    return marked


def mark_systems(dataset: Dataset, systems: Iterable[str]) -> Dataset:
    """Mark the outputs of `systems`, known from other sources to be references, where all of them equal references."""
    candidates = dataset.candidates
    rows = np.flatnonzero(candidates["system"].isin([*systems]) & ~candidates["is_reference"])
    if not len(rows):
        return dataset
    texts = pd.MultiIndex.from_frame(dataset.references[["source", "text"]])
    equal = pd.MultiIndex.from_frame(candidates[["source", "text"]].iloc[rows]).isin(texts)
    every = pd.Series(equal).groupby(candidates["system"].to_numpy()[rows]).transform("all").to_numpy(bool)
    marked = dataset.is_reference.copy()
    marked[rows[every]] = True
    return dataclasses.replace(dataset, candidates=candidates.assign(is_reference=marked))
