"""What a ranker was trained on and how, as its model file records it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

from ranker.defaults import PAIRS, PairCounting

GRADED = "graded"
GIVEN, SEARCHED, ONE_SOURCE = "given", "cross-validation", "one source"


@dataclass(frozen=True)
class Training:
    """What a ranker was trained on and how: all that changes its weights.

    Parameters
    ----------
    data : str
        Names of the corpora.
    data_hash : str
        Fingerprint of the data set.
    kind : str
        Kind of judgement learnt from.
    pairs : str
        ``graded`` (scores), or how preferences were counted.
    sources, candidates, preferences : int
        Sizes; `preferences` is the number of training pairs, None for graded judgements.
    C : float
        Penalty used; found by cross-validation if it was ``auto``.
    chosen_by : str
        ``given``, ``cross-validation``, or ``one source`` where ``auto`` had nothing to hold out.
    loss : str
    objective, duality_gap : float
        Of the solution.
    seed : int or None
        Only where it made a difference.
    targets : str or None
        Languages of the translations, as ``de`` or ``de+fr``; None where they are not known, or not kept.
    references : int or None
        Number of references learnt from as candidates, None if they were not.
    """

    data: str
    data_hash: str
    kind: str
    pairs: str
    sources: int
    candidates: int
    preferences: int | None
    C: float
    chosen_by: str
    loss: str
    objective: float
    duality_gap: float
    seed: int | None
    targets: str | None = None
    references: int | None = None

    def settings(self) -> dict[str, Any]:
        """Return the options of a `Ranker` that trains the same on the same data."""
        return {
            "C": self.C if self.chosen_by == GIVEN else "auto",
            "loss": self.loss,
            "kind": self.kind,
            "pairs": self.counting,
            "seed": self.seed or 0,
            "references_as_candidates": self.references is not None,
        }

    @property
    def counting(self) -> PairCounting:
        """How preferences were counted; for graded judgements the default, which changes nothing."""
        return PAIRS if self.pairs == GRADED else cast(PairCounting, self.pairs)
