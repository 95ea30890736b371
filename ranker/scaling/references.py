"""The references of all shards, for what learns from the whole of the data being ranked.

Reference language models, NIST's information and the choice of features depend on the references of all sources, and
not on the candidates. So a first pass collects the references, and every shard is then scored with what is learnt from
all of them: the same as in one data set.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa

from ranker.corpora.dataset import Dataset, table
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
    first : tuple of int
        Number of the first source of every shard; the last number is that of all sources.
    digest : str
        Of all that was read.
    """

    folder: str
    first: tuple[int, ...]
    digest: str

    def dataset(self) -> Dataset:
        """Return sources and references of all shards; the candidates are few, or none."""
        return _load(self)

    def within(self, dataset: Dataset, number: int) -> Dataset:
        """Return shard `number`, which is `dataset`, as a part of the whole."""
        return dataset.within(self.dataset(), self.first[number])


@functools.lru_cache(maxsize=1)
def _load(whole: AllReferences) -> Dataset:
    parts = pa.concat_tables([read_result(whole.folder, number) for number in range(len(whole.first) - 1)])
    sources = parts.num_rows
    texts = {}
    for column in ("references", "candidates"):
        lists = parts.column(column).combine_chunks()
        lengths = lists.value_lengths().to_numpy(zero_copy_only=False)
        texts[column] = np.repeat(np.arange(sources), lengths), lists.flatten()
    rows, references = texts["references"]
    unknown = parts.column("lp").is_null().to_numpy()
    if unknown[rows].any():
        texts["candidates"] = rows[:0], texts["candidates"][1][:0]
    candidates, outputs = texts["candidates"]
    return Dataset(
        "references",
        table("sources", {"lp": parts.column("lp").cast(pa.large_string()).to_pandas(), "text": [""] * sources}),
        table("references", {"source": rows, "text": references.to_pandas()}),
        table(
            "candidates",
            {
                "source": candidates,
                "system": [str(number) for number in range(len(candidates))],
                "text": outputs.to_pandas(),
                "is_reference": np.zeros(len(candidates), dtype=bool),
            },
        ),
        table("ratings"),
        table("preferences"),
    )


def _lists(texts: object, offsets: object) -> pa.Array:
    values = pa.array(texts, pa.large_string())
    return pa.LargeListArray.from_arrays(pa.array(np.asarray(offsets, dtype=np.int64)), values)
