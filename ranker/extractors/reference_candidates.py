"""References as candidates (Ye, Zhou and Lin 2007): people's translations, above every output of their source.

A reference that is compared with itself matches whatever it holds, so each one is scored against the other references
of its source only, and is left out of what is learnt from the references.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ranker.arrays import BoolArray, FloatArray
from ranker.corpora.dataset import Dataset
from ranker.corpora.judgements import PREFERENCES, judged
from ranker.corpora.records import Candidate, Record, assemble
from ranker.corpora.schema import ALIGNMENT
from ranker.errors import DataError, note_logger

_LOG = note_logger(__name__)


@dataclass(frozen=True, eq=False)
class ReferenceCandidates:
    """Outputs, and the references of their sources as candidates.

    Parameters
    ----------
    outputs : Dataset
        Judged outputs of sources with two or more references.
    others : Dataset
        Every reference of `outputs`, in order, as the candidate of a source of its own; see `references_apart`.
    together : Dataset
        The outputs, those of each source followed by its references.
    """

    outputs: Dataset
    others: Dataset
    together: Dataset

    @classmethod
    def of(cls, dataset: Dataset, kind: str) -> ReferenceCandidates:
        """Take the references of a data set whose candidates are all judged.

        Candidates that are references already give way to them. Sources with fewer than two references are left out,
        which a note says.

        Raises
        ------
        DataError
            If no source has two references, or `kind` gives no scores.
        """
        if kind == PREFERENCES:
            what = "references as candidates require scores of outputs, which preferences do not have"
            raise DataError(f"{what}: choose another kind of judgement, such as --kind win-rate", file=dataset.name)
        outputs = dataset.select_candidates(~dataset.candidates["is_reference"].to_numpy(bool), peers=True)
        outputs = outputs.select_candidates(judged(outputs, kind), peers=True)
        has_outputs = np.diff(outputs.candidate_offsets) > 0
        enough = np.diff(outputs.reference_offsets) > 1
        if not (has_outputs & enough).any():
            what = "no judged source has two references; each reference is scored against the others"
            raise DataError(f"{what}: remove --references-as-candidates", file=dataset.name)
        few = int((has_outputs & ~enough).sum())
        if few:
            what = "sources with fewer than two references, skipped"
            _LOG.warning("ranker: note: %s: %s: %s of %s", dataset.name, what, f"{few:,}", f"{has_outputs.sum():,}")
        outputs = outputs.select_sources(has_outputs & enough)
        return cls(outputs, references_apart(outputs), outputs.with_references_as_candidates())

    @property
    def is_reference(self) -> BoolArray:
        """Which candidates of `together` are references."""
        return self.together.candidates["is_reference"].to_numpy(bool)

    def merge(self, outputs: FloatArray, references: FloatArray) -> FloatArray:
        """Return rows of `outputs` and of references in the order of the candidates of `together`."""
        merged = np.empty((len(self.together), *outputs.shape[1:]))
        merged[self.is_reference], merged[~self.is_reference] = references, outputs
        return merged

    def human(self, outputs: FloatArray) -> FloatArray:
        """Return human scores of `together`: those of the outputs, and one above them all for every reference."""
        return self.merge(outputs, np.full(len(self.others), outputs.max() + 1))


def references_apart(dataset: Dataset) -> Dataset:
    """Return every reference as the candidate of a source of its own, with the other references of its source."""
    texts = dataset.references["text"].tolist()
    alignments = dataset.references[ALIGNMENT].tolist() if ALIGNMENT in dataset.references else None
    offsets = dataset.reference_offsets.tolist()
    sources = dataset.sources[["lp", "text"]].astype(object)
    facts = sources.where(sources.notna(), None).itertuples(index=False, name=None)
    records = []
    for source, (lp, text) in enumerate(facts):
        rows = range(offsets[source], offsets[source + 1])
        for row in rows:
            other_rows = [other_row for other_row in rows if other_row != row]
            records.append(
                Record(
                    text,
                    [texts[other_row] for other_row in other_rows],
                    [Candidate("reference", texts[row], alignment=alignments[row] if alignments else None)],
                    lp=lp,
                    seg_id=f"{source}.{row}",
                    reference_alignments=[alignments[other_row] for other_row in other_rows] if alignments else None,
                )
            )
    return assemble(records, dataset.name)
