"""References as candidates that rank above every output of their source (Ye, Zhou and Lin 2007).

As published, each reference is scored against all references of its source, including itself. With `exclude_self` it is
scored against the other references only, and features learnt from references do not learn from it; references match
each other less than outputs match them, so a ranker trained in this way may prefer outputs that match little.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from ranker.arrays import FloatArray, take_rows
from ranker.corpora.dataset import Dataset, view
from ranker.corpora.judgements import PREFERENCES, Judged
from ranker.corpora.own_references import with_references_as_candidates
from ranker.corpora.schema import SCHEMA, TEXT, empty_table
from ranker.errors import DataError, counted, log_note


@dataclass(frozen=True, eq=False)
class ReferenceCandidates:
    """Judged outputs, and a data set that also has the references of their sources as candidates."""

    judged: Judged
    together: Dataset
    exclude_self: bool

    @classmethod
    def of(cls, dataset: Dataset, kind: str, *, exclude_self: bool = False) -> ReferenceCandidates:
        """Add the references of judged sources as candidates, in place of candidates that are references already.

        Sources with too few references are skipped, with a note.
        """
        if kind == PREFERENCES:
            what = "references as candidates require scores of outputs, which preferences do not have"
            raise DataError(f"{what}: choose another kind of judgement, such as --kind win-rate", file=dataset.name)
        whole = dataset.select_candidates(~dataset.is_reference)
        outputs = Judged.of(whole, kind).dataset
        has_outputs = np.diff(outputs.candidate_offsets) > 0
        references, fewest = np.diff(outputs.reference_offsets), 2 if exclude_self else 1
        used = has_outputs & (references >= fewest)
        if not used.any():
            what, remedy = "no judged source has a reference", "remove --references-as-candidates"
            if exclude_self:
                what = "no judged source has two references; each reference is scored against the others"
                remedy = "remove --exclude-self"
            raise DataError(f"{what}: {remedy}", file=dataset.name)
        few, alone = int((has_outputs & ~used).sum()), int((used & (references == 1)).sum())
        notes = {
            f"sources with fewer than {counted(fewest, 'reference')}, skipped": few,
            "sources with one reference, which as a candidate is compared with itself alone": alone,
        }
        for what, number in notes.items():
            if number:
                log_note(f"{what}: {number:,} of {has_outputs.sum():,}", dataset.name)
        outputs = outputs.select_sources(used)
        return cls(Judged(outputs, kind), with_references_as_candidates(outputs), exclude_self)

    @property
    def outputs(self) -> Dataset:
        """The judged outputs."""
        return self.judged.dataset

    def merge(self, outputs: FloatArray, references: FloatArray) -> FloatArray:
        """Merge the rows of `outputs` and of `references` in the order of the candidates of `together`."""
        merged = np.empty((len(self.together), *outputs.shape[1:]))
        merged[self.together.is_reference], merged[~self.together.is_reference] = references, outputs
        return merged

    @property
    def human(self) -> FloatArray:
        """Human scores of the candidates of `together`; all references have one score, higher than any output's."""
        outputs = self.judged.human
        return self.merge(outputs, np.full(int(self.together.is_reference.sum()), outputs.max() + 1))


@view
def leave_one_out(dataset: Dataset) -> Dataset:
    """Return a data set in which each reference is a candidate to compare with the other references of its source.

    The only reference of a source is compared with itself.
    """
    references = dataset.references
    source = references["source"].to_numpy(np.int64)
    others, offsets = take_rows(dataset.reference_offsets, source)
    number = np.diff(offsets)
    row = np.repeat(np.arange(len(source)), number)
    kept = (others != row) | (number[row] == 1)
    compared = references.iloc[others[kept]].reset_index(drop=True)
    keys = pd.array([f"{code}.{row}" for row, code in enumerate(source.tolist())], dtype=TEXT)
    sources = dataset.sources.iloc[source].reset_index(drop=True).assign(doc=None, seg_id=keys)
    outputs = references.drop(columns="name").assign(source=np.arange(len(source)), system="reference")
    return Dataset(
        dataset.name,
        sources.astype(SCHEMA["sources"]),
        compared.assign(source=row[kept], name=None).astype(SCHEMA["references"]),
        outputs.assign(is_reference=False).astype(SCHEMA["candidates"]),
        empty_table("ratings"),
        empty_table("preferences"),
    )
