"""Candidates that are certainly not translations; they are ranked last and have no influence on other candidates."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from ranker.arrays import BoolArray, FloatArray
from ranker.checks.copies import mixed
from ranker.checks.outputs import CHECKS, Failures, repetition
from ranker.checks.pairs import PairedTexts
from ranker.corpora.dataset import Dataset, view
from ranker.errors import counted
from ranker.extractors.base import Extractor
from ranker.text.target_languages import in_english

SURE: dict[str, Callable[[PairedTexts], Failures]] = {
    **{name: CHECKS[name] for name in ("empty", "copy", "language", "refusal")},
    "repetition": partial(repetition, least=0.5),
    "mixed": partial(mixed, least=1 / 3),
}
"""Checks whose failure ranks a candidate last (the first failed one is named); a few repeated words do not fail."""
_FEWEST = 3


@view
def faults(dataset: Dataset) -> npt.NDArray[np.object_]:
    """Return the name of the first check in `SURE` that each candidate fails, or "" if none, shape (candidates,)."""
    texts, found = PairedTexts(dataset), np.full(len(dataset), "", dtype=object)
    for name in [*SURE][::-1]:
        found[[row for row, _ in SURE[name](texts)]] = name
    found[~texts.outputs] = ""
    return found


def outranked(dataset: Dataset) -> BoolArray:
    """True for candidates with a fault whose source has candidates without faults, shape (candidates,)."""
    faulty = faults(dataset) != ""
    sound = np.bincount(dataset.candidate_source[~faulty], minlength=len(dataset.sources))
    return np.asarray(faulty & (sound > 0)[dataset.candidate_source])


def fault_note(dataset: Dataset) -> str | None:
    """Return a note on the candidates that are ranked last for their faults; None if there is no such candidate."""
    rows = outranked(dataset)
    if not rows.any():
        return None
    kinds = ", ".join(f"{name} {number}" for name, number in Counter(faults(dataset)[rows].tolist()).most_common())
    number = int(rows.sum())
    what = "is no translation and is" if number == 1 else "are no translations and are"
    return f"{number:,} of {counted(len(dataset), 'candidate')} {what} ranked behind the other candidates ({kinds})"


@dataclass(frozen=True)
class Votes:
    """The votes of candidates for one another in the values of extractors; candidates that `outranked` marks have none.

    If they leave too few candidates to compare in a source without a reference, its other candidates tie; likewise in a
    language other than English, if `by_language` is true and all extractors that do not compare are for English.
    """

    extractors: tuple[Extractor, ...]
    by_language: bool = False

    def voters(self, dataset: Dataset) -> Dataset:
        """Return the data set with the candidates whose values tell candidates apart."""
        return dataset.select_candidates(~outranked(dataset) & ~self._tied(dataset)[dataset.candidate_source])

    def values(
        self, dataset: Dataset, compute: Callable[[Dataset], FloatArray], *, references: bool = False
    ) -> FloatArray:
        """Compute values of all candidates, or of all `references` as candidates; they are 0 where candidates tie."""
        values, out = compute(dataset), outranked(dataset)
        if not out.any() or not self._compares:
            return values
        source, voting = dataset.candidate_source, ~out
        if references:
            source = dataset.references["source"].to_numpy(np.int64)
            voting = np.ones(len(source), dtype=bool)
        values = values.copy()
        values[voting & self._tied(dataset)[source]] = 0.0
        # extractors that learn from all ranked data must not learn from a few sources
        whole = any(each.fit_scope == "ranked" or each.needs.other_sources for each in self.extractors)
        again = ~self._few(dataset) & (_affected(dataset) | whole)
        if again.any():
            values[voting & again[source]] = compute(dataset.select_candidates(~out).select_sources(again))
        return values

    def note(self, dataset: Dataset) -> str | None:
        """Return the note of `fault_note`, with the number of sources whose other candidates tie."""
        note, sound = fault_note(dataset), dataset.candidate_source[~outranked(dataset)]
        tied = int((self._tied(dataset) & (np.bincount(sound, minlength=len(dataset.sources)) > 1)).sum())
        return f"{note}; in {counted(tied, 'source')} the others tie, too few to be compared" if tied else note

    @property
    def _compares(self) -> bool:
        return any(extractor.needs.other_candidates for extractor in self.extractors)

    def _tied(self, dataset: Dataset) -> BoolArray:
        """True for sources whose sound candidates tie because of the faults of others."""
        return _affected(dataset) & self._few(dataset) & self._compares

    def _few(self, dataset: Dataset) -> BoolArray:
        """True for sources with too few candidates to compare, and without references that may be used."""
        voting = ~outranked(dataset) & ~dataset.is_reference
        few = np.bincount(dataset.candidate_source[voting], minlength=len(dataset.sources)) < _FEWEST
        unusable = np.diff(dataset.reference_offsets) == 0
        others = [extractor.needs.language for extractor in self.extractors if not extractor.needs.other_candidates]
        if self.by_language and others and all(others):
            unusable |= ~in_english(dataset)
        return np.asarray(few & unusable)


def _affected(dataset: Dataset) -> BoolArray:
    """True for sources with candidates that `outranked` marks."""
    return np.bincount(dataset.candidate_source[outranked(dataset)], minlength=len(dataset.sources)) > 0
