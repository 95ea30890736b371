"""Candidates that are certainly not translations; they are ranked last and have no influence on other candidates."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
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


def without_votes(
    dataset: Dataset, extractors: Iterable[Extractor], compute: Callable[[Dataset], FloatArray]
) -> FloatArray:
    """Compute values of all candidates; the faulty candidates that `outranked` marks do not influence other values.

    The other candidates of a source get 0 if they are too few to be compared and the source has no reference.
    """
    values, out, extractors = compute(dataset), outranked(dataset), [*extractors]
    if not out.any() or not any(extractor.needs.other_candidates for extractor in extractors):
        return values
    source = dataset.candidate_source
    affected = np.bincount(source[out], minlength=len(dataset.sources)) > 0
    voting = ~out & ~dataset.is_reference
    few = np.bincount(source[voting], minlength=len(dataset.sources)) < _FEWEST
    few &= np.diff(dataset.reference_offsets) == 0
    values = values.copy()
    values[~out & (affected & few)[source]] = 0.0
    # extractors that learn from all ranked data must not learn from a few sources
    whole = any(extractor.fit_scope == "ranked" or extractor.needs.other_sources for extractor in extractors)
    again = ~few & (affected | whole)
    if again.any():
        values[~out & again[source]] = compute(dataset.select_candidates(~out).select_sources(again))
    return values
