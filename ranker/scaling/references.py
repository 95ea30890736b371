"""What depends on the references of all shards, for what learns from the whole of the data being ranked.

Reference language models, NIST's information and the choice of features depend on the references of all sources, and
not on the candidates. So a first pass collects the references, whose language is looked at. What learns from them
learns from sums: the n-grams of every shard are counted, and the counts added up, once. Every shard is then scored with
the sums of its own n-grams: the same scores as in one data set.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from ranker.arrays import Int64Array
from ranker.corpora.dataset import Dataset
from ranker.corpora.reference_sums import ReferenceSums
from ranker.corpora.schema import table
from ranker.extractors.target_language import references_looked_at, unknown_looks_english
from ranker.extractors.text.reference_counts import CountsReferences, count_part
from ranker.learning.lm.merging import PartCounts
from ranker.scaling.tasks import Stage, read_result

_LOOKED_AT = 1000
"""Candidates that the language of data without references is told by."""


@dataclass(frozen=True)
class CollectReferences(Stage):
    """Collects language pairs and references, and the first candidates of sources whose language only they show."""

    name: ClassVar[str] = "references"
    references: bool = True
    """Whether references are used."""

    def signature(self) -> str:
        """Return what is collected."""
        return f"references={self.references}"

    def make(self, dataset: Dataset, number: int) -> tuple[pa.Table, str | None]:
        """Return one row per source: ``lp``, ``references`` and ``candidates``."""
        if not self.references:
            dataset = dataset.without_references()
        unknown = dataset.target_languages == ""
        rows = np.flatnonzero(unknown[dataset.candidate_source])[:_LOOKED_AT]
        if unknown[dataset.references["source"].to_numpy()].any():
            rows = rows[:0]
        taken = dataset.candidate_source[rows]
        columns = {
            "lp": pa.array(dataset.sources["lp"].array),
            "references": _lists(dataset.references["text"].array, dataset.reference_offsets),
            "candidates": _lists(
                dataset.candidates["text"].iloc[rows].array, np.searchsorted(taken, np.arange(len(unknown) + 1))
            ),
        }
        return pa.table(columns), None


@dataclass(frozen=True)
class AllReferences:
    """The references of all shards as a first pass wrote them.

    Parameters
    ----------
    folder : str
        Where it wrote them.
    shards : int
    digest : str
        Of all that was read.
    sums : ReferenceSums
        What shards have to know.
    """

    folder: str
    shards: int
    digest: str
    sums: ReferenceSums

    @classmethod
    def of(cls, folder: str, shards: int, digest: str) -> Self:
        """Return them before their n-grams are counted."""
        dataset = _load(folder, shards, digest)
        english = bool((dataset.target_languages == "").any()) and unknown_looks_english(dataset)
        return cls(folder, shards, digest, ReferenceSums(len(dataset.references), english, {}))

    def dataset(self) -> Dataset:
        """Return sources and references of all shards; the candidates are few, or none.

        References whose texts nothing looks at, because others show the language, are empty.
        """
        return _load(self.folder, self.shards, self.digest)


@dataclass(frozen=True)
class CountNgrams(Stage):
    """Counts the n-grams of the references of a shard.

    Parameters
    ----------
    learner : CountsReferences
    references : bool
        Whether references are used.
    """

    name: ClassVar[str] = "counts"
    learner: CountsReferences
    references: bool = True

    def signature(self) -> str:
        """Return what is counted."""
        return f"{self.learner.counting}\nreferences={self.references}"

    def make(self, dataset: Dataset, number: int) -> tuple[pa.Table, str | None]:
        """Return one row; each column is a list."""
        counts = count_part(self.learner, dataset if self.references else dataset.without_references())
        columns = {name: _one_list(getattr(counts, name)) for name in _COLUMNS}
        return pa.table({**columns, "sentences": pa.array([counts.sentences])}), None


def read_counts(folder: str | Path, number: int, order: int) -> PartCounts:
    """Read what `CountNgrams` wrote for a shard."""
    stored = read_result(folder, number)
    lists = {name: stored.column(name).combine_chunks().flatten() for name in _COLUMNS}
    texts = {name: lists.pop(name).to_pylist() for name in ("words", "first_text")}
    arrays = {name: values.to_numpy(zero_copy_only=False) for name, values in lists.items()}
    arrays["windows"] = arrays["windows"].reshape(-1, order)
    return PartCounts(**texts, **arrays, sentences=stored.column("sentences")[0].as_py())


_COLUMNS = ("words", "windows", "counts", "first_text", "first_row", "first_position")


def _one_list(values: Any) -> pa.Array:
    flat = pa.array(values, pa.large_string()) if isinstance(values, list) else pa.array(values.ravel())
    return pa.LargeListArray.from_arrays(pa.array([0, len(flat)]), flat)


@functools.lru_cache(maxsize=1)
def _load(folder: str, shards: int, digest: str) -> Dataset:
    """Read what is in `folder`; `digest` tells it from what was there before."""
    pairs, lengths = [], []
    for number in range(shards):
        stored = read_result(folder, number)
        pairs.append(stored.column("lp").cast(pa.large_string()).combine_chunks())
        lengths.append(_lengths(stored, "references"))
    source = np.repeat(np.arange(sum(map(len, pairs))), np.concatenate(lengths))
    unknown = np.concatenate([part.is_null().to_numpy(zero_copy_only=False) for part in pairs])
    lp = pa.chunked_array(pairs).to_pandas()
    without_texts = _dataset(lp, source, pa.array([""] * len(source), pa.large_string()))
    wanted = references_looked_at(without_texts)
    texts, outputs, taken = [], [], []
    first = first_source = 0
    for number, part in enumerate(lengths):
        stored = read_result(folder, number)
        references = _flat(stored, "references")
        texts.append(pc.if_else(pa.array(wanted[first : first + len(references)]), references, ""))
        outputs.append(_flat(stored, "candidates"))
        taken.append(first_source + np.repeat(np.arange(len(part)), _lengths(stored, "candidates")))
        first, first_source = first + len(references), first_source + len(part)
    if unknown[source].any():
        outputs, taken = outputs[:0], taken[:0]
    candidates = pa.chunked_array(outputs, pa.large_string())
    rows = np.concatenate([np.zeros(0, dtype=np.int64), *taken])
    return _dataset(lp, source, pa.chunked_array(texts, pa.large_string()), candidates, rows)


def _dataset(
    lp: pd.Series, source: Int64Array, references: pa.Array, candidates: pa.Array = (), rows: Int64Array | None = None
) -> Dataset:
    return Dataset(
        "references",
        table("sources", {"lp": lp, "text": [""] * len(lp)}),
        table("references", {"source": source, "text": pd.arrays.ArrowStringArray(references)}),
        table(
            "candidates",
            {
                "source": [] if rows is None else rows,
                "system": [str(number) for number in range(len(candidates))],
                "text": pd.Series(candidates, dtype=object) if rows is None else candidates.to_pandas(),
                "is_reference": np.zeros(len(candidates), dtype=bool),
            },
        ),
        table("ratings"),
        table("preferences"),
    )


def _flat(stored: pa.Table, column: str) -> pa.Array:
    return stored.column(column).combine_chunks().flatten()


def _lengths(stored: pa.Table, column: str) -> Int64Array:
    lengths: Int64Array = stored.column(column).combine_chunks().value_lengths().to_numpy(zero_copy_only=False)
    return lengths


def _lists(texts: object, offsets: object) -> pa.Array:
    values = pa.array(texts, pa.large_string())
    return pa.LargeListArray.from_arrays(pa.array(np.asarray(offsets, dtype=np.int64)), values)
